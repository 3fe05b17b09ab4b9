"""The library says nothing of the command line: no option, no command, and no stdin of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

CORE = Path(__file__).resolve().parents[1] / "core" / "sfgen"
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*|\bsfgen (?:gen|ban|index|check|replay|models)\b")

OF_OTHER_PROGRAMS = {
    ("integrations/llm.py", "llm -m"): "llm",
    ("models/checkpoint.py", "pip install --upgrade"): "pip",
    ("models/gguf/library.py", "pip install --upgrade"): "pip",
    ("models/gguf/loaded_model.py", "pip install --upgrade"): "pip",
}
"""Where an option stands, a piece of the line, and why it may."""


def found_in(text: str) -> Iterator[tuple[int, str]]:
    """The lines that name options or commands, and which."""
    for number, line in enumerate(text.splitlines(), 1):
        for option in _OPTION.findall(line):
            yield number, option


def test_no_option_of_the_command_line_is_named() -> None:
    wrong, passed = [], set()
    for file in sorted(CORE.rglob("*.py")):
        name, text = file.relative_to(CORE).as_posix(), file.read_text(encoding="utf-8")
        for number, option in found_in(text):
            line = text.splitlines()[number - 1]
            reasons = {key for key in OF_OTHER_PROGRAMS if key[0] == name and key[1] in line}
            passed |= reasons
            if not reasons:
                wrong.append(f"{name}:{number} names {option}")
    assert wrong == []
    assert passed == set(OF_OTHER_PROGRAMS)


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ('hint="Raise --max-rollbacks, or"', ["--max-rollbacks"]),
        ("``--seed S`` and --n", ["--seed", "--n"]),
        ("a -- b, ----, x--y", []),
        ("make it with: sfgen index", ["sfgen index"]),
        ("# ---- texts ----", []),
    ],
)
def test_an_option_is_seen(text: str, options: list[str]) -> None:
    assert [option for _, option in found_in(text)] == options


def test_stdin_is_not_read() -> None:
    """But by the program that a run starts to share its work with, whose stdin is a pipe of that run."""
    readers = [file.name for file in CORE.rglob("*.py") if re.search(r"sys\.stdin|\binput\(", file.read_text())]
    assert readers == ["worker.py"]
