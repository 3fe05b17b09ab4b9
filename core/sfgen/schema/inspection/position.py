"""The position of an unfinished text in its JSON, and a description of the value that a schema expects there.

The reader keeps its own stack of open arrays and objects, so that a text may stop anywhere: inside a name, an escape or
a character. It assumes that the text is the beginning of JSON, and does not check it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Literal, NamedTuple, TypeAlias

from sfgen import arguments
from sfgen.automata.label import characters_from
from sfgen.grammar.network.read import NetworkReader
from sfgen.grammar.network.rules import Alternation, AnyOrder, Call, Leaf
from sfgen.schema.inspection.validity import json_path
from sfgen.schema.reading.words import alternatives, shown
from sfgen.schema.scalars.written_text import write
from sfgen.schema.writing.compile import Compiled
from sfgen.schema.writing.skeleton import RulePart

_BLANKS = b" \t\r\n"
_QUOTE, _BACKSLASH = b'"\\'
_MOST_NAMES = 5  # of properties in a description


class Expects(Enum):
    """The part of JSON at a position."""

    VALUE = auto()
    """A value begins or continues."""
    FIRST = auto()
    """The first item of an array begins, or the array ends."""
    NAME = auto()
    """The name of a property begins or continues, or the object ends."""
    COLON = auto()
    MORE = auto()
    """A value is complete: a comma comes next, or the end of the array, object or document around it."""


class _Inside(NamedTuple):
    """An open array or object."""

    key: int | str | None  # the index of the item, or the name of the property; ``None`` before a name
    before: tuple[str, ...] = ()  # the names of complete properties


Way: TypeAlias = tuple[str | int, ...]
"""The path to a value: names and indexes."""


@dataclass(frozen=True, slots=True)
class JsonPosition:
    """A position in a JSON text.

    >>> position = START.read(b'{"address": {"street": "Ma')
    >>> position.way, position.expects.name
    (('address', 'street'), 'VALUE')
    >>> position.read(b'in", "num').way
    ('address',)
    """

    open: tuple[_Inside, ...] = ()  # the arrays and objects around it, the outermost first
    expects: Expects = Expects.VALUE
    token: bytes = b""  # the bytes of the open string, number or word; empty outside of them
    is_escape: bool = False  # whether a backslash was read last

    @property
    def way(self) -> Way:
        """The path of the innermost open or next value; in a name that of the object."""
        around = self.open[:-1] if self.expects in (Expects.NAME, Expects.COLON, Expects.MORE) else self.open
        return tuple(inside.key for inside in around if inside.key is not None)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the complete properties of the innermost object, in order."""
        if not self.open:
            return ()
        key, before = self.open[-1]
        return (*before, key) if self.expects is Expects.MORE and isinstance(key, str) else before

    @property
    def is_in_array(self) -> bool:
        """Whether the innermost open value is an array."""
        return bool(self.open) and isinstance(self.open[-1].key, int)

    @property
    def is_whole(self) -> bool:
        """Whether the document is complete; a number may continue."""
        return not self.open and self.expects is Expects.MORE

    def read(self, data: bytes) -> JsonPosition:
        """Return the position after some bytes."""
        position, start = self, 0
        while start < len(data):
            position, start = position._step(data, start)
        return position

    def _step(self, data: bytes, start: int) -> tuple[JsonPosition, int]:
        """Read one byte, or the bytes of a string up to a quote or backslash."""
        byte = data[start]
        if self.token.startswith(b'"'):
            return self._in_string(data, start)
        if self.token:  # a number or a word ends before the next blank, comma or bracket
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
        """Read a byte outside of strings, numbers and words."""
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
        """Return the position after a name."""
        return JsonPosition((*self.open[:-1], _Inside(str(json.loads(self.token)), self.names)), Expects.COLON)

    def _closed(self) -> JsonPosition:
        """Return the position after a string, number or word that is a value."""
        return JsonPosition(self.open, Expects.MORE)


START = JsonPosition()
"""The position before a text."""


# ---- the expected value at a position --------------------------------------------------------------------------------


def expected_at(compiled: Compiled, there: JsonPosition, running: Collection[str] = ()) -> str:
    """Describe the value, name or sign that a schema expects at a position."""
    rules = rules_at(compiled, there.way)
    rules = [rule for rule in rules if rule in running] or rules
    match there.expects:
        case Expects.NAME:
            return _names(part for rule in rules for part in _following(compiled, rule, there))
        case Expects.COLON:
            return "a colon"
        case Expects.MORE:
            if there.is_whole:
                return "nothing more"
            has_more = any(_following(compiled, rule, there) for rule in rules)
            return "a comma or the end" if has_more or there.is_in_array else "the end"
        case _:
            return alternatives(compiled.descriptions[rule] for rule in rules)


def rules_at(compiled: Compiled, way: Way) -> list[str]:
    """Find the rules of the value at a path.

    Unions are replaced by their branches.

    >>> from sfgen.schema.writing.compile import compile_schema
    >>> from sfgen.schema.writing.layout import WritingOptions
    >>> from sfgen.schema.reading.read import read_schema
    >>> compiled = compile_schema(read_schema("name, tags str[]"), WritingOptions())
    >>> [compiled.descriptions[rule] for rule in rules_at(compiled, ("tags", 7))]
    ['a string']
    """
    rules = _branches(compiled, [compiled.grammar.start])
    for step in way:
        rules = _branches(compiled, [part.rule for rule in rules for part in _leading(compiled, rule, step)])
    return rules


def _leading(compiled: Compiled, rule: str, step: str | int) -> list[RulePart]:
    """Return the parts of a rule for a name or an index."""
    several = compiled.parts[rule]
    if isinstance(step, int):
        named = [part for part in several if part.label.partition(" ")[0] == f"[{step}]"]
        return named or [part for part in several if part.label.partition(" ")[0] == "[]"]
    named = [part for part in several if part.label == step and not part.name]
    return named or [part for part in several if part.name and _is_name(compiled, part.name, step)]


def _is_name(compiled: Compiled, rule: str, name: str) -> bool:
    """Return whether a rule of names accepts a name."""
    names = compiled.grammar.rules[rule]
    return not isinstance(names, Leaf) or names.dfa.accepts(write(name))


def _branches(compiled: Compiled, rules: Iterable[str]) -> list[str]:
    """Replace unions among rules by their branches."""
    found: dict[str, None] = {}
    seen, waiting = set[str](), list(rules)[::-1]
    while waiting:
        rule = waiting.pop()
        if rule in seen:
            continue
        seen.add(rule)
        if is_union(compiled, rule):
            waiting += [part.rule for part in reversed(compiled.parts[rule])]
        else:
            found[rule] = None
    return list(found)


def is_union(compiled: Compiled, rule: str) -> bool:
    """Return whether a rule is only a choice between other rules."""
    expression = compiled.grammar.rules[rule]
    return isinstance(expression, Alternation) and all(isinstance(branch, Call) for branch in expression.branches)


def _following(compiled: Compiled, rule: str, there: JsonPosition) -> list[RulePart]:
    """List the properties of an object whose names may come next."""
    if isinstance(compiled.grammar.rules[rule], AnyOrder):
        parts: Sequence[RulePart] = [
            part for part in compiled.parts[rule] if part.name or part.label not in there.names
        ]
    else:
        parts = _after(compiled.parts[rule], there.names)
    return [part for part in parts if part.name or write(part.label).startswith(there.token)]


def _after(parts: Sequence[RulePart], names: Sequence[str]) -> Sequence[RulePart]:
    """List the properties after the last of these names, up to a required one."""
    parts = [part for part in parts if part.name or not part.hits]  # parts with hits repeat names of others
    known = [part.label for part in parts if not part.name]
    if not names:
        after = parts
    elif names[-1] in known:
        after = parts[known.index(names[-1]) + 1 :]
    else:
        after = [part for part in parts if part.name]
    needed = next((number for number, part in enumerate(after) if part.is_needed), len(after))
    return after[: needed + 1]


def _names(parts: Iterable[RulePart]) -> str:
    """Describe the possible names of a property."""
    several = list(parts)
    names = list(dict.fromkeys(shown(part.label) for part in several if not part.name))
    more = ["another name"] if any(part.name for part in several) else []
    if len(names) > _MOST_NAMES:
        more = [f"one of {len(names) - _MOST_NAMES} more", *more]
    words = [*names[:_MOST_NAMES], *more]
    return f"the name {alternatives(words)}" if names else "a name"


# ---- a text, divided by its positions --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stretch:
    """Consecutive characters of a text with the same path and expectation."""

    read: str
    path: str  # the path of their value: ``$.address.street``
    expected: str  # the expectation there, in words


@dataclass(frozen=True)
class Walk:
    """The result of reading a text."""

    text: str
    # the stretches in order; the last one is empty, and describes the position after the characters that were read
    stretches: tuple[Stretch, ...]
    # the index of the first character that is not allowed; ``None``: all were read
    stopped: int | None
    may_end: bool
    follows: str  # the characters that may follow the last position, as a class; empty if there are none

    @property
    def verdict(self) -> Literal["match", "start", "stopped"]:
        """Whether the text is complete, the beginning of one, or neither."""
        if self.stopped is not None:
            return "stopped"
        return "match" if self.may_end else "start"


def walk(reader: NetworkReader, compiled: Compiled, text: str) -> Walk:
    """Read a text up to its end, or to the first character that is not allowed.

    >>> from sfgen import JsonSchema
    >>> schema = JsonSchema("name, age int")
    >>> found = walk(schema.reader, schema.compiled, '{"name": "Ada", "age": "36"}')
    >>> found.stopped, found.stretches[-1].path, found.stretches[-1].expected, found.follows
    (23, '$.age', 'an integer', '[0-9-]')
    """
    names, rule_of = reader.network.names, reader.network.rule_of
    position, there, stopped = reader.start, START, None
    stretches: list[tuple[list[str], str, str]] = []

    def note(at: JsonPosition) -> None:
        path = json_path(at.way)
        expected = expected_at(compiled, at, {names[rule_of[state]] for state, _, _ in position})
        if not stretches or stretches[-1][1:] != (path, expected):
            stretches.append(([], path, expected))

    note(there)
    for number, character in enumerate(arguments.text("text", text)):
        data = character.encode("utf-8", "surrogatepass")
        after = reader.read(position, data)
        if after is None:
            stopped = number
            break
        stretches[-1][0].append(character)
        position, there = after, there.read(data)
        note(there)
    if stretches[-1][0]:
        stretches.append(([], *stretches[-1][1:]))
    return Walk(
        text,
        tuple(Stretch("".join(read), path, expected) for read, path, expected in stretches),
        stopped,
        reader.accepts(position),
        characters_from(byte for byte in range(256) if reader.read(position, bytes([byte])) is not None),
    )
