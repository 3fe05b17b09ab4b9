"""Every command that the README shows is read by bash as typed, and prints what the README says it prints."""

from __future__ import annotations

import ast
import contextlib
import io
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from readme_examples import README, Example, blocks, lines
from typed import typed

Sfgen = Callable[..., Any]
TEXT = README.read_text(encoding="utf-8")
EXAMPLES = blocks(TEXT)


@pytest.mark.parametrize("block", EXAMPLES, ids=[block[0].command for block in EXAMPLES])
def test_commands_print_what_the_readme_says(
    sfgen: Sfgen, block: list[Example], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of a block one after the other: a file that one writes is read by the next. There are no other models."""
    for name in ("HF_HUB_CACHE", "OLLAMA_MODELS"):
        monkeypatch.setenv(name, str(tmp_path / "nowhere"))
    for tool in {"bash", *re.findall(r"\b(jq) ", " ".join(example.command for example in block))}:
        if not shutil.which(tool):
            pytest.skip(f"{tool} is not installed")
    for example in block:
        done = typed(f"set -o pipefail; {example.command}", sfgen, tmp_path)
        assert (example.command, done.returncode) == (example.command, 0), done.stderr.decode()
        assert lines(done.stdout.decode()) == lines(example.output)


def test_the_readme_has_examples_of_every_command() -> None:
    shown = {name for block in EXAMPLES for each in block for name in re.findall(r"sfgen (\w+)", each.command)}
    assert shown == {"gen", "ban", "index", "check", "models", "replay"}


@pytest.fixture(scope="module")
def python_examples() -> list[str]:
    """What each of the README's Python examples prints, with names of its own."""
    printed = []
    for number, code in enumerate(re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, f"README, example {number}", "exec"), {"__name__": "__main__"})
        printed.append(out.getvalue())
    return printed


DATE = r"[0-9]{4}-(0[1-9]|1[0-2])"


def test_the_example_of_the_library_runs(python_examples: list[str]) -> None:
    date, rest = python_examples[0].split("\n", 1)
    assert re.fullmatch(rf"{DATE} (complete|end_token) \d+", date)
    assert "[took back 'talk" in rest


def test_the_example_of_a_constraint_of_ones_own_runs(python_examples: list[str]) -> None:
    alone, answer = python_examples[1].splitlines()
    for text in (alone, answer.removeprefix("Answer: ")):
        depths = [text[:end].count("(") - text[:end].count(")") for end in range(len(text) + 1)]
        assert set(text) == {"(", ")"}
        assert depths[-1] == 0
        assert 0 not in depths[1:-1]
    assert answer.startswith("Answer: ")


def test_the_example_of_a_class_runs(python_examples: list[str]) -> None:
    assert python_examples[2] == "Person True\n"


def test_the_example_of_grammars_runs(python_examples: list[str]) -> None:
    assert python_examples[3].splitlines() == ["""True b'a' ('","', '")"')""", "True"]


def test_the_example_of_a_loaded_model_runs(python_examples: list[str]) -> None:
    assert python_examples[4].strip()
    assert not re.search(r"\b(talk|listen)\b", python_examples[4])


def test_the_example_of_the_processors_runs(python_examples: list[str]) -> None:
    dates, beams, answer = map(ast.literal_eval, python_examples[5].splitlines())
    assert (len(dates), len(beams), len(answer)) == (2, 4, 1)
    assert all(re.fullmatch(DATE, date) for date in (*dates, *beams))
    assert len(set(beams)) == 4
    assert not re.search(r"\b(talk|listen)\b", answer[0])
    assert len(python_examples) == 6
