"""What the documents show is run as typed, and prints what they say: commands by bash, Python by Python."""

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
from tests.support.command.typed import typed
from tests.support.real.model import FILE, needs_file
from tests.support.sources.documents import DOCUMENTS, Example, asks_for, console_blocks, lines, name_of, python_blocks

Sfgen = Callable[..., Any]
TEXTS = {name_of(document): document.read_text(encoding="utf-8") for document in DOCUMENTS}
COMMANDS = {f"{name}: {block[0].code}": block for name, text in TEXTS.items() for block in console_blocks(text)}
PYTHON = {f"{name}: {number}": each for name, text in TEXTS.items() for number, each in enumerate(python_blocks(text))}


@pytest.mark.parametrize(
    "block",
    [pytest.param(block, id=name, marks=needs_file() * asks_for(block, FILE.name)) for name, block in COMMANDS.items()],
)
def test_commands_print_what_the_readme_says(
    sfgen: Sfgen, block: list[Example], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of a block one after the other: a file that one writes is read by the next. There are no other models
    but the real one, for blocks that name it.
    """
    if asks_for(block, FILE.name):
        (tmp_path / "work").mkdir()
        (tmp_path / "work" / FILE.name).symlink_to(FILE.resolve())
    for name in ("HF_HUB_CACHE", "OLLAMA_MODELS"):
        monkeypatch.setenv(name, str(tmp_path / "nowhere"))
    for tool in {"bash", *re.findall(r"\b(jq) ", " ".join(example.code for example in block))}:
        if not shutil.which(tool):
            pytest.skip(f"{tool} is not installed")
    for example in block:
        done = typed(example.code, sfgen, tmp_path)
        assert (example.code, done.returncode) == (example.code, 0), done.stderr.decode()
        assert lines(done.stdout.decode()) == lines(example.output or "")


def test_the_readme_has_examples_of_every_command() -> None:
    shown = {name for block in COMMANDS.values() for each in block for name in re.findall(r"sfgen (\w+)", each.code)}
    assert shown == {"gen", "ban", "index", "check", "models", "replay"}


@pytest.mark.parametrize("example", PYTHON.values(), ids=PYTHON)
def test_python_prints_what_the_documents_say(
    example: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert example.output, "a block of text with what it prints must follow"
    assert lines(printed_by(example, tmp_path, monkeypatch)) == lines(example.output)


def printed_by(example: Example, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """What Python prints in a folder of its own, with names of its own."""
    monkeypatch.chdir(folder)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(example.code, "an example", "exec"), {"__name__": "__main__"})
    return out.getvalue()


def output_of(part: str) -> str:
    """What the one Python example of the guides prints that has this part."""
    (found,) = (each for name, each in PYTHON.items() if name.startswith(("core/", "cli/")) and part in each.code)
    return found.output or ""


DATE = r"[0-9]{4}-(0[1-9]|1[0-2])"


def test_the_examples_of_the_library() -> None:
    date = output_of("result.forward_passes").splitlines()[0]
    assert re.fullmatch(rf"{DATE} (complete|end_token) \d+", date)
    assert "[took back 'talk" in output_of("sfgen.RolledBack")


def test_the_example_of_grammars() -> None:
    assert output_of("Grammar.from_lark").splitlines() == ["""True b'a' ('","', '")"')""", "True"]


def test_the_example_of_a_loaded_model() -> None:
    assert output_of("from_transformers").strip()
    assert not re.search(r"\b(talk|listen)\b", output_of("from_transformers"))


def test_the_example_of_the_processors() -> None:
    dates, beams, answer = map(ast.literal_eval, output_of("GuidedLogitsProcessor").splitlines())
    assert (len(dates), len(beams), len(answer)) == (2, 4, 1)
    assert all(re.fullmatch(DATE, date) for date in (*dates, *beams))
    assert len(set(beams)) == 4
    assert not re.search(r"\b(talk|listen)\b", answer[0])
