"""The way of a text through a document that a schema writes: where each part of it stands, and where it fails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sfgen import arguments
from sfgen.automata.label import characters_from
from sfgen.schema.expected import json_path
from sfgen.schema.json_position import START, JsonPosition
from sfgen.schema.json_schema import JsonSchema
from sfgen.schema.where import expected_at


@dataclass(frozen=True)
class Stretch:
    """Characters of a text that are read at one position.

    Args:
        read: The characters.
        path: Where that is: ``$.address.street``.
        expected: What was expected there, in words.
    """

    read: str
    path: str
    expected: str


@dataclass(frozen=True)
class Walk:
    """What became of a text.

    Args:
        text: The text.
        stretches: What was read, in order; the last one is where the text ends or stops, and has read nothing.
        stopped: The number of the character that cannot stand where it is, from 0; ``None``: all could be read.
        may_end: Whether the text may end where it was read to.
        follows: The characters that may follow there, in words; empty where none may.
    """

    text: str
    stretches: tuple[Stretch, ...]
    stopped: int | None
    may_end: bool
    follows: str

    @property
    def verdict(self) -> Literal["match", "start", "stopped"]:
        """Whether it is a text of the schema, its start, or neither."""
        if self.stopped is not None:
            return "stopped"
        return "match" if self.may_end else "start"


def walk(schema: JsonSchema, text: str) -> Walk:
    """Read a text as far as it goes.

    Args:
        schema: The schema that writes it.
        text: The text, complete or not.

    >>> found = walk(JsonSchema("name, age int"), '{"name": "Ada", "age": "36"}')
    >>> found.stopped, found.stretches[-1].path, found.stretches[-1].expected, found.follows
    (23, '$.age', 'an integer', '[0-9-]')
    """
    reader, compiled = schema.reader, schema.compiled
    names, rule_of = schema.network.names, schema.network.rule_of
    position, there, stopped = reader.start, START, None
    stretches: list[tuple[list[str], str, str]] = []

    def stand(place: JsonPosition) -> None:
        path = json_path(place.way)
        expected = expected_at(compiled, place, {names[rule_of[state]] for state, _, _ in position})
        if not stretches or stretches[-1][1:] != (path, expected):
            stretches.append(([], path, expected))

    stand(there)
    for number, character in enumerate(arguments.text("text", text)):
        data = character.encode("utf-8", "surrogatepass")
        after = reader.read(position, data)
        if after is None:
            stopped = number
            break
        stretches[-1][0].append(character)
        position, there = after, there.read(data)
        stand(there)
    if stretches[-1][0]:
        stretches.append(([], *stretches[-1][1:]))
    return Walk(
        text,
        tuple(Stretch("".join(read), path, expected) for read, path, expected in stretches),
        stopped,
        reader.accepts(position),
        characters_from(byte for byte in range(256) if reader.read(position, bytes([byte])) is not None),
    )
