"""One mistake of a user, and what is said about it."""

from __future__ import annotations

import errno
import io
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

Before = Callable[[pytest.MonkeyPatch], object]


class Terminal(io.StringIO):
    """A stdin that is a terminal."""

    def isatty(self) -> bool:
        return True


class Broken(io.StringIO):
    """A stdin that cannot be read."""

    def read(self, *_: Any) -> str:
        raise OSError(errno.EIO, "Input/output error")


@dataclass(frozen=True)
class Case:
    """A command line that fails.

    Attributes:
        line: What is typed after ``sfgen``; a list where a shell's words could not say it.
        code: The exit code.
        says: What the message, or the lines that help, have in them.
        before: Makes the files in the current folder that it needs, or breaks something.
        stdin: What is piped in; ``None`` closes it.
        writes: Whether stdout may have a part of the text already, as where text is written while it comes.
        needs: The module of a package that may not be installed; empty if all are.
    """

    line: str | list[str]
    code: int
    says: str
    before: Before | None = None
    stdin: str | bytes | io.TextIOBase | None = ""
    writes: bool = False
    needs: str = ""

    @property
    def arguments(self) -> list[str]:
        """The words of the line."""
        return self.line if isinstance(self.line, list) else shlex.split(self.line)

    def __str__(self) -> str:
        return " ".join(self.arguments).encode("ascii", "backslashreplace").decode()[:70]


def files(**contents: str | bytes) -> Before:
    """Files in the current folder; ``__`` in a name stands for the dot before the ending."""

    def write(_: pytest.MonkeyPatch) -> None:
        for name, content in contents.items():
            data = content.encode() if isinstance(content, str) else content
            Path(name.replace("__", ".")).write_bytes(data)

    return write


def patched(target: str, value: Any) -> Before:
    """Something of the program that is otherwise, for what no test can bring about: full memory, another machine."""
    return lambda monkeypatch: monkeypatch.setattr(target, value)


def both(*steps: Before) -> Before:
    """One after the other."""
    return lambda monkeypatch: [step(monkeypatch) for step in steps]


def raising(error: BaseException) -> Callable[..., Any]:
    """A function that fails."""

    def fail(*_: Any, **__: Any) -> Any:
        raise error

    return fail
