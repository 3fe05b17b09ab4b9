"""PromptList from JSON Lines, plain lines or a list, one at a time: they may not fit in memory, or not be there yet."""

from __future__ import annotations

import contextlib
import json
import math
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from sfgen import arguments
from sfgen.errors import InputError

LONGEST_LINE = 16 * 2**20
"""Bytes; a line that is longer is no record."""

_KEYS_SHOWN = 3
_DEPTH = 100
_KINDS = {list: "an array", str: "a string", bool: "true or false", type(None): "null"}  # else a number


@dataclass(frozen=True)
class PromptRecord:
    """A record of the input.

    Attributes:
        line: The number of its line, from 1 on.
        prompt: The prompt; ``None``: it has none.
        id: Its ``id`` under that key, any JSON value; empty if it has none.
        fault: Why it has no prompt.
        is_object: False where its line is no JSON object: perhaps all lines are plain text.
    """

    line: int
    prompt: str | None
    id: Mapping[str, Any] = field(default_factory=dict)
    fault: str = ""
    is_object: bool = True

    @property
    def hint(self) -> str:
        """What to do about the fault, where there is something to say."""
        return "" if self.is_object else "Each line is a JSON object; where lines are plain text, say so: plain=True."


class PromptSource(Protocol):
    """Where prompts come from."""

    @property
    def name(self) -> str:
        """What people call it."""

    def records(self) -> Iterator[PromptRecord]:
        """The records, each as soon as it is there."""


class PromptList:
    """PromptList that are in memory; the first is said to stand in line 1.

    Args:
        prompts: Texts, or dictionaries with ``prompt`` and, if you like, ``id``.

    >>> [record.prompt for record in PromptList(["a", {"prompt": "b", "id": 7}]).records()]
    ['a', 'b']
    """

    name = "the prompts"

    def __init__(self, prompts: Iterable[str | Mapping[str, Any]]) -> None:
        self._prompts = arguments.items("prompts", prompts, "a list of texts or of dictionaries with a prompt")

    def records(self) -> Iterator[PromptRecord]:
        """The records, each as soon as it is asked for.

        Raises:
            UsageError: A prompt is neither a text nor a dictionary.
        """
        for number, prompt in enumerate(self._prompts, 1):
            if isinstance(prompt, str):
                yield PromptRecord(number, prompt)
            else:
                yield record_of(number, arguments.mapping(f"prompt {number}", prompt))


class PromptFile:
    """PromptList of a file: an object on each line, or a prompt.

    Args:
        name: What people call it.
        stream: Its bytes.
        plain: Whether each line is a prompt, and not JSON.
    """

    def __init__(self, name: str, stream: BinaryIO, *, plain: bool = False) -> None:
        self.name = name
        self._stream = stream
        self._plain = plain

    def records(self) -> Iterator[PromptRecord]:
        """The records, each as soon as its line is there. Blank lines are no records, unless lines are prompts."""
        for number, data in enumerate(self._lines(), 1):
            if data is None:
                yield PromptRecord(number, None, fault=f"longer than {LONGEST_LINE:,} bytes")
                continue
            record = _parsed(number, data.removeprefix(b"\xef\xbb\xbf") if number == 1 else data, plain=self._plain)
            if record is not None:
                yield record

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
def opened(file: Path, *, plain: bool = False) -> Iterator[PromptFile]:
    """The prompts of a file, open.

    Args:
        file: The file.
        plain: Whether each line is a prompt, and not JSON.

    Raises:
        InputError: It cannot be opened.
    """
    try:
        stream = open(file, "rb")  # noqa: SIM115
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from error
    with stream:
        yield PromptFile(str(file), stream, plain=plain)


def _parsed(number: int, data: bytes, *, plain: bool) -> PromptRecord | None:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        return PromptRecord(number, None, fault=f"no UTF-8: byte {error.start + 1} of the line")
    if plain:
        return PromptRecord(number, text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text)
    if not text.strip(" \t\r\n"):
        return None
    try:
        value = json.loads(text, parse_constant=_constant, parse_float=_float)
    except json.JSONDecodeError as error:
        return PromptRecord(number, None, fault=f"no JSON: {error.msg} at character {error.pos + 1}", is_object=False)
    except ValueError as error:  # of the two functions, or a whole number of thousands of digits
        return PromptRecord(number, None, fault=f"JSON that cannot be kept: {str(error).partition(';')[0]}")
    except RecursionError:
        return PromptRecord(number, None, fault="JSON that is nested too deeply")
    return record_of(number, value)


def record_of(number: int, value: object) -> PromptRecord:
    """The record of a value of JSON.

    Args:
        number: The number of its line, from 1 on.
        value: The value: an object with a ``prompt``, or what is wrong with it is the record's fault.
    """
    if not isinstance(value, Mapping):
        fault = f"no JSON object but {_KINDS.get(type(value), 'a number')}"
        return PromptRecord(number, None, fault=fault, is_object=False)
    name = {"id": value["id"]} if "id" in value else {}
    if _is_deep(name):
        return PromptRecord(number, None, fault="JSON that is nested too deeply")
    fault = _fault(value)
    return PromptRecord(number, None, name, fault) if fault else PromptRecord(number, value["prompt"], name)


def _fault(value: Mapping[str, Any]) -> str:
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
