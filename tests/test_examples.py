"""Each example runs as it stands, and prints what its head says."""

from __future__ import annotations

import ast
import contextlib
import io
import re
import runpy
import textwrap
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "examples"
EXAMPLES = sorted(FOLDER.glob("*.py"))
MOST_LINES = 60
HEAD = re.compile(r".+?\n\n.*?What it prints:\n\n(.+)", re.DOTALL)


def said(example: Path) -> str:
    """What the head of an example says that it prints."""
    head = HEAD.fullmatch(ast.get_docstring(ast.parse(example.read_text(encoding="utf-8"))) or "")
    assert head is not None, "its head says what it shows, and what it prints"
    return textwrap.dedent(head[1])


def printed(example: Path) -> str:
    """What an example prints, without spaces at the ends of lines."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        runpy.run_path(str(example), run_name="__main__")
    return "\n".join(line.rstrip() for line in out.getvalue().strip().splitlines())


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_an_example_prints_what_it_says(example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert printed(example) == said(example).strip()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_an_example_is_short(example: Path) -> None:
    assert len(example.read_text(encoding="utf-8").splitlines()) <= MOST_LINES


def test_the_guide_names_every_example() -> None:
    guide = (FOLDER.parents[1] / "core" / "README.md").read_text(encoding="utf-8")
    assert len(EXAMPLES) == 10
    assert [example.name for example in EXAMPLES if f"(../tests/examples/{example.name})" not in guide] == []


def test_the_brackets_of_the_own_constraint_close() -> None:
    alone, answer = said(FOLDER / "own_constraint.py").splitlines()
    for text in (alone, answer.removeprefix("Answer: ")):
        depths = [text[:end].count("(") - text[:end].count(")") for end in range(len(text) + 1)]
        assert set(text) == {"(", ")"}
        assert depths[-1] == 0
        assert 0 not in depths[1:-1]
    assert answer.startswith("Answer: ")


def test_no_banned_word_is_read_in_the_chat() -> None:
    read = re.sub(r"\[.*?\]|^You: .*$", "", said(FOLDER / "ban_in_chat.py"), flags=re.MULTILINE)
    assert read.strip()
    assert not re.search(r"\b(talk\w*|listen)\b|[Gg]o for \w+", read)
