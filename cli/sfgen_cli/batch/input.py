"""Prompts from JSON Lines or plain lines, one at a time: the input may be larger than memory, or not there yet."""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import stat
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from sfgen.errors import InputError
from sfgen_cli.options.batch import STDIN_OR_STDOUT
from sfgen_cli.options.prompts import without_newline

LONGEST_LINE = 16 * 2**20
"""Bytes; a line that is longer is no record."""

_KEYS_SHOWN = 3
_DEPTH = 100
_HINT = "--input reads JSON Lines: an object on each line. Plain lines of text need --lines."
_KINDS = {list: "an array", str: "a string", bool: "true or false", type(None): "null"}  # else a number


@dataclass(frozen=True)
class Entry:
    """A record of the input.

    Attributes:
        line: The number of its line, from 1 on.
        prompt: The prompt; ``None``: it has none.
        name: Its ``id`` under that key, any JSON value; empty if it has none.
        fault: Why it has no prompt.
        hint: What to do about that, where there is something to say.
    """

    line: int
    prompt: str | None
    name: Mapping[str, Any] = field(default_factory=dict)
    fault: str = ""
    hint: str = ""


class Source:
    """The input of a run.

    Args:
        file: Its name; ``-`` is stdin.
        stream: Its bytes.
        plain: Whether each line is a prompt, and not JSON.
    """

    def __init__(self, file: Path, stream: BinaryIO, *, plain: bool) -> None:
        self.name = "stdin" if str(file) == STDIN_OR_STDOUT else str(file)
        self._stream = stream
        self._plain = plain

    def entries(self) -> Iterator[Entry]:
        """The records, each as soon as its line is there. Blank lines are no records, unless lines are prompts."""
        for number, data in enumerate(self._lines(), 1):
            if data is None:
                yield Entry(number, None, fault=f"longer than {LONGEST_LINE:,} bytes")
                continue
            entry = _entry(number, data.removeprefix(b"\xef\xbb\xbf") if number == 1 else data, plain=self._plain)
            if entry is not None:
                yield entry

    def line_count(self) -> int | None:
        """The number of lines of a regular file; ``None`` for what can be read once only. For before the reading."""
        try:
            if not stat.S_ISREG(os.fstat(self._stream.fileno()).st_mode):
                return None
        except OSError:  # nothing that the system knows
            return None
        count, last = 0, b"\n"
        while chunk := self._stream.read(2**20):
            count += chunk.count(b"\n")
            last = chunk[-1:]
        self._stream.seek(0)
        return count + (last != b"\n")

    def is_typed(self) -> bool:
        """Whether somebody types it at a terminal."""
        return self._stream.isatty()

    def _lines(self) -> Iterator[bytes | None]:
        """The lines; ``None`` for one that is too long."""
        try:
            while line := self._stream.readline(LONGEST_LINE + 1):
                is_whole = line.endswith(b"\n") or len(line) <= LONGEST_LINE
                yield line if is_whole else None
                while not is_whole:
                    line = self._stream.readline(LONGEST_LINE)
                    is_whole = not line or line.endswith(b"\n")
        except OSError as error:
            raise InputError(f"cannot read {self.name}: {error.strerror}") from error


@contextlib.contextmanager
def opened(file: Path, *, plain: bool) -> Iterator[Source]:
    """The input, open.

    Raises:
        InputError: It cannot be opened.
    """
    if str(file) == STDIN_OR_STDOUT:
        yield Source(file, _stdin(), plain=plain)
        return
    try:
        stream = open(file, "rb")  # noqa: SIM115
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from error
    with stream:
        yield Source(file, stream, plain=plain)


def _stdin() -> BinaryIO:
    if sys.stdin is None:  # closed by the caller
        return io.BytesIO()
    stream: BinaryIO | None = getattr(sys.stdin, "buffer", None)
    return io.BytesIO(sys.stdin.read().encode("utf-8", "replace")) if stream is None else stream


def _entry(number: int, data: bytes, *, plain: bool) -> Entry | None:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        return Entry(number, None, fault=f"no UTF-8: byte {error.start + 1} of the line")
    if plain:
        return Entry(number, without_newline(text))
    if not text.strip(" \t\r\n"):
        return None
    try:
        value = json.loads(text, parse_constant=_constant, parse_float=_float)
    except json.JSONDecodeError as error:
        return Entry(number, None, fault=f"no JSON: {error.msg} at character {error.pos + 1}", hint=_HINT)
    except ValueError as error:  # of the two functions, or a whole number of thousands of digits
        return Entry(number, None, fault=f"JSON that cannot be kept: {str(error).partition(';')[0]}")
    except RecursionError:
        return Entry(number, None, fault="JSON that is nested too deeply")
    if not isinstance(value, dict):
        return Entry(number, None, fault=f"no JSON object but {_KINDS.get(type(value), 'a number')}", hint=_HINT)
    name = {"id": value["id"]} if "id" in value else {}
    if _is_deep(name):
        return Entry(number, None, fault="JSON that is nested too deeply")
    fault = _fault(value)
    return Entry(number, None, name, fault) if fault else Entry(number, value["prompt"], name)


def _fault(value: dict[str, Any]) -> str:
    """What is wrong with the prompt of a record; empty if nothing is."""
    if "prompt" not in value:
        keys = ", ".join(json.dumps(key) for key in list(value)[:_KEYS_SHOWN])
        more = ", …" if len(value) > _KEYS_SHOWN else ""
        return f'no "prompt" in the object{", which has " + keys + more if keys else ""}'
    prompt = value["prompt"]
    if not isinstance(prompt, str):
        kind = "an object" if isinstance(prompt, dict) else _KINDS.get(type(prompt), "a number")
        return f'"prompt" is no string but {kind}'
    try:
        prompt.encode()
    except UnicodeEncodeError as error:
        return f'"prompt" has half of a surrogate pair, at character {error.start + 1}'
    return ""


def _is_deep(value: Any) -> bool:
    """Whether a value is nested more deeply than can surely be written again."""
    level = [value]
    for _ in range(_DEPTH):
        nested = [inner for inner in level if isinstance(inner, (list, dict))]
        if not nested:
            return False
        level = [part for inner in nested for part in (inner.values() if isinstance(inner, dict) else inner)]
    return True


def _constant(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")


def _float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits[:20]} is too large")
    return number
