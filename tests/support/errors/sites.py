"""Where errors of sfgen are made: the places in the source, and which of them a run has passed."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from sfgen.errors import SfgenError

ROOT = Path(__file__).resolve().parents[3]
SOURCES = ("core/sfgen", "cli/sfgen_cli")


@dataclass(frozen=True)
class Site:
    """A call in the source that makes an error.

    Attributes:
        file: Relative to the repository.
        line: Where it begins.
        end: Where it ends.
        name: Which error.
        says: The source of what is said.
    """

    file: str
    line: int
    end: int
    name: str
    says: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.name}({self.says})"


def sites() -> list[Site]:
    """All places where an ``SfgenError`` or one of its kinds is made."""
    trees = {
        file.relative_to(ROOT).as_posix(): ast.parse(file.read_text(encoding="utf-8"))
        for source in SOURCES
        for file in sorted((ROOT / source).rglob("*.py"))
    }
    kinds = (ast.ClassDef, ast.Call)
    nodes = [(file, node) for file, tree in trees.items() for node in ast.walk(tree) if isinstance(node, kinds)]
    classes = [node for _, node in nodes if isinstance(node, ast.ClassDef)]
    names = {"SfgenError"}
    size = 0
    while size < len(names):  # kinds of kinds, wherever they are defined
        size = len(names)
        names |= {node.name for node in classes if any(_name(base) in names for base in node.bases)}
    return [
        Site(
            file,
            node.lineno,
            node.end_lineno or node.lineno,
            _name(node.func),
            ", ".join(map(ast.unparse, node.args)),
        )
        for file, node in nodes
        if isinstance(node, ast.Call) and _name(node.func) in names
    ]


@contextmanager
def recorded(monkeypatch: pytest.MonkeyPatch) -> Iterator[set[tuple[str, int]]]:
    """File and line of every error that is made inside the ``with`` statement."""
    made: set[tuple[str, int]] = set()
    original = SfgenError.__init__

    def record(self: SfgenError, *arguments: Any, **named: Any) -> None:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_name == "__init__" and frame.f_locals.get("self") is self:
            frame = frame.f_back  # of the kinds that pass something on
        if frame is not None and frame.f_code.co_filename.startswith(str(ROOT)):
            made.add((Path(frame.f_code.co_filename).relative_to(ROOT).as_posix(), frame.f_lineno))
        original(self, *arguments, **named)

    with monkeypatch.context() as patched:
        patched.setattr(SfgenError, "__init__", record)
        yield made


def passed(site: Site, made: set[tuple[str, int]]) -> bool:
    """Whether an error was made there."""
    return any(file == site.file and site.line <= line <= site.end for file, line in made)


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
