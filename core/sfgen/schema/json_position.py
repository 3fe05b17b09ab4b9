"""Where in a document a text stands that is written so far: the way to the value, and what comes next there.

The bytes are read one after the other with a stack of its own, so that a text may stop anywhere: inside a name, an
escape or a character. It trusts the text to be the beginning of JSON.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import NamedTuple, TypeAlias

_BLANKS = b" \t\r\n"
_QUOTE, _BACKSLASH = b'"\\'


class Expects(Enum):
    """What stands at a position, or comes next."""

    VALUE = auto()
    """A value begins, or goes on."""
    FIRST = auto()
    """The first item of an array begins, or the array ends."""
    NAME = auto()
    """The name of a property begins or goes on, or the object ends."""
    COLON = auto()
    MORE = auto()
    """A value is whole: a comma comes next, or the end of what it is in."""


class _Inside(NamedTuple):
    """An array or object that is open.

    Args:
        key: The number of the item, or the name of the property; ``None`` where its name comes next.
        before: The names of the properties before that one.
    """

    key: int | str | None
    before: tuple[str, ...] = ()


Way: TypeAlias = tuple[str | int, ...]
"""The way to a value: names and indexes."""


@dataclass(frozen=True, slots=True)
class JsonPosition:
    """Where a text stands.

    Args:
        open: The arrays and objects around it, the outermost first.
        expects: What comes next.
        token: The bytes of the string, number or word that goes on here; empty between them.
        is_escape: Whether the last byte was the backslash of an escape.

    >>> position = START.read(b'{"address": {"street": "Ma')
    >>> position.way, position.expects.name
    (('address', 'street'), 'VALUE')
    >>> position.read(b'in", "num').way
    ('address',)
    """

    open: tuple[_Inside, ...] = ()
    expects: Expects = Expects.VALUE
    token: bytes = b""
    is_escape: bool = False

    @property
    def way(self) -> Way:
        """The path to the value that the text is in.

        While a name is written it is the path to its object.
        """
        around = self.open[:-1] if self.expects in (Expects.NAME, Expects.COLON, Expects.MORE) else self.open
        return tuple(inside.key for inside in around if inside.key is not None)

    @property
    def names(self) -> tuple[str, ...]:
        """The complete properties of the object around it, in their order."""
        if not self.open:
            return ()
        key, before = self.open[-1]
        return (*before, key) if self.expects is Expects.MORE and isinstance(key, str) else before

    @property
    def is_in_array(self) -> bool:
        """Whether the text is in an array: in or between items."""
        return bool(self.open) and isinstance(self.open[-1].key, int)

    @property
    def is_whole(self) -> bool:
        """Whether the document is complete; a number may go on."""
        return not self.open and self.expects is Expects.MORE

    def read(self, data: bytes) -> JsonPosition:
        """Return the position after some bytes."""
        position, start = self, 0
        while start < len(data):
            position, start = position._step(data, start)
        return position

    def _step(self, data: bytes, start: int) -> tuple[JsonPosition, int]:
        """Read one byte, or all of a stretch of a string that has neither quotes nor backslashes."""
        byte = data[start]
        if self.token.startswith(b'"'):
            return self._in_string(data, start)
        if self.token:  # a number or a word ends before what follows it
            if byte in b",]}" or byte in _BLANKS:
                return self._closed(), start
            return replace(self, token=self.token + data[start : start + 1]), start + 1
        if byte in _BLANKS:
            return self, start + 1
        return self._between(byte), start + 1

    def _in_string(self, data: bytes, start: int) -> tuple[JsonPosition, int]:
        if self.is_escape:
            return replace(self, token=self.token + data[start : start + 1], is_escape=False), start + 1
        ends = [place for mark in (b'"', b"\\") if (place := data.find(mark, start)) >= 0]
        end = min(ends, default=len(data))
        token = self.token + data[start:end]
        if end == len(data):
            return replace(self, token=token), end
        if data[end] == _BACKSLASH:
            return replace(self, token=token + b"\\", is_escape=True), end + 1
        read = replace(self, token=token + b'"')
        return (read._named() if self.expects is Expects.NAME else read._closed()), end + 1

    def _between(self, byte: int) -> JsonPosition:
        """Read a byte that is in no string, number or word."""
        if byte == _QUOTE or (self.expects not in (Expects.COLON, Expects.MORE) and byte not in b"[]{}"):
            expects = Expects.NAME if self.expects is Expects.NAME else Expects.VALUE
            return replace(self, expects=expects, token=bytes([byte]))
        if byte in b"{[":
            inside = _Inside(None if byte == b"{"[0] else 0)
            return JsonPosition((*self.open, inside), Expects.NAME if inside.key is None else Expects.FIRST)
        if byte in b"}]":
            return JsonPosition(self.open[:-1], Expects.MORE)
        if byte == b":"[0]:
            return JsonPosition(self.open, Expects.VALUE)
        key = self.open[-1].key  # a comma
        if isinstance(key, int):
            return JsonPosition((*self.open[:-1], _Inside(key + 1)), Expects.VALUE)
        return JsonPosition((*self.open[:-1], _Inside(None, self.names)), Expects.NAME)

    def _named(self) -> JsonPosition:
        """The position behind a name."""
        return JsonPosition((*self.open[:-1], _Inside(str(json.loads(self.token)), self.names)), Expects.COLON)

    def _closed(self) -> JsonPosition:
        """The position behind a string, number or word that was a value."""
        return JsonPosition(self.open, Expects.MORE)


START = JsonPosition()
"""The position before a text."""
