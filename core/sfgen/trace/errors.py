"""The errors of a trace: faults of its file, and of one value in it."""

from __future__ import annotations

import io
from typing import BinaryIO

from sfgen import arguments
from sfgen.errors import SfgenError
from sfgen.printable import on_one_line

_SHOWN = 40  # characters of a value in a message


class TraceError(SfgenError):
    """A trace that is damaged, foreign, unreadable or cannot be written."""


class NoTrace(TraceError):
    """A file that is not a trace."""


class MalformedError(Exception):
    """A value that is wrong at its place in a trace."""

    def __init__(self, path: str, problem: str, *, hint: str = "") -> None:
        super().__init__(f"{path}: {problem}" if path else problem)
        self.hint = hint


def wrong(path: str, expected: str, value: object) -> MalformedError:
    """Make the error for a value of another type or range."""
    return MalformedError(path, f"expected {expected}, found {described(value)}")


def described(value: object) -> str:
    r"""Describe a value of JSON in a few words, whatever it contains.

    >>> described({"a": 1}), described("\x1b[2J"), described(True), described(None), described(3)
    ('an object', "'\\x1b[2J'", 'true', 'null', '3')
    """
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int) and abs(value) >= 10**_SHOWN:
        return "a huge number"
    if isinstance(value, str):
        value = value[: _SHOWN + 1]  # cut before it is escaped, as it may be long
    shown = on_one_line(repr(value))
    return shown if len(shown) <= _SHOWN + 2 else shown[:_SHOWN] + "…"


def binary_file(name: str, value: BinaryIO, wanted: str, *methods: str) -> BinaryIO:
    """Check that a file is one of bytes, and open."""
    hint = "Open a file in binary mode: open('run.jsonl', 'rb') to read, 'wb' to write."
    if isinstance(value, io.TextIOBase):
        raise arguments.refusal(name, wanted, value, hint=hint)
    arguments.given(name, value, wanted, *methods, hint=hint)
    if getattr(value, "closed", False):
        raise TraceError(f"{name} is closed: open the file before a trace is written or read")
    return value
