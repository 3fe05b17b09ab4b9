"""The lines of a trace: their keys, how they are read, and their JSON Schema.

A sample begins with a *heading*, which has the *scene*: all that a view needs to know of a run before its first event,
so that it can be replayed. Every other line is an event, or the failure that ended the sample, after a *stamp*.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import MISSING, dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, assert_never, get_args

from sfgen.errors import SfgenError
from sfgen.number_ranges import Count, PositiveCount, Seconds, Unbounded
from sfgen.printable import on_one_line
from sfgen.trace.errors import MalformedError, described
from sfgen.trace.kinds import (
    BytesKind,
    Json,
    Key,
    Kind,
    ListOf,
    Nullable,
    Number,
    OneOf,
    Record,
    TextKind,
    Truth,
    in_json_words,
    record_of,
)
from sfgen.trace.values import from_json, take, to_json

if TYPE_CHECKING:
    from sfgen.decoding import Event


@dataclass(frozen=True)
class Scene:
    """A run before its first event.

    Attributes:
        prompt: The user's text.
        model: The model, as the user named it.
        vocabulary_size: Number of tokens, to compare the allowed ones with.
        pattern: What the text must match; ``None``: free text, or choices.
        choices: The texts that it is one of; ``None``: no choices.
        words: Banned words.
        banned_patterns: Banned patterns.
        seed: What the text is drawn from, however large; ``None``: nothing is drawn.
        line: The line of a file of many prompts that has the prompt, from 1; ``None``: there is no such file.
        schema: What people call the schema that the text is written by; ``None``: no schema.
        schema_json: That schema with the options of how it is written, as JSON; ``None``: no schema.
        grammar: What people call the grammar that the text is one of; ``None``: no grammar.
        grammar_json: That grammar with the options of how it is read, as JSON; ``None``: no grammar.
        template: What people call the template that the text is one of; ``None``: no template.
        template_json: That template with the schemas and grammars of its holes, as JSON; ``None``: no template.
        rendered: The prompt as the model's chat template writes it; ``None``: there is no chat.
        when: Behind which calls begin inside free text; ``None``: the whole text is what the constraint says.
        after: Behind which the text begins, after a thought; ``None``: there is no thought.
        substring: What people call the document that the text is quoted from; ``None``: no document.
        word_bias: The words with a bias, each with it: ``talk=-2``.
        draws: The version of what is drawn token by token: from one seed another version draws another text. ``None``:
            the first version, or nothing is drawn so.
    """

    prompt: str
    model: str
    vocabulary_size: PositiveCount
    pattern: str | None = None
    choices: tuple[str, ...] | None = None
    words: tuple[str, ...] = ()
    banned_patterns: tuple[str, ...] = ()
    seed: Unbounded | None = None
    line: Count | None = None
    schema: str | None = None
    schema_json: str | None = None
    grammar: str | None = None
    grammar_json: str | None = None
    template: str | None = None
    template_json: str | None = None
    after: str | None = None
    when: str | None = None
    substring: str | None = None
    rendered: str | None = None
    word_bias: tuple[str, ...] = ()
    draws: PositiveCount | None = None

    @property
    def is_guided(self) -> bool:
        """Whether the text has a constraint: there are states to follow."""
        return self.pattern is not None or self.choices is not None or self.tells_where

    @property
    def tells_where(self) -> bool:
        """Whether the guide describes its position in the constraint."""
        return any(name is not None for name in (self.schema, self.grammar, self.template, self.substring))

    @property
    def is_ban(self) -> bool:
        """Whether something is banned, or made less likely."""
        return bool(self.words or self.banned_patterns or self.word_bias)

    @property
    def is_constrained(self) -> bool:
        """Whether there is a mask."""
        return self.is_guided or bool(self.words or self.banned_patterns)


Version: TypeAlias = Literal[1]
VERSION: Version = get_args(Version)[0]
"""The version of the format that is written, and read."""

HEADING = "heading"
"""The name of the first line of a sample."""

FAILURE = "error"
"""The event of the last line of a sample that failed."""


@dataclass(frozen=True, kw_only=True)
class Heading:
    """A sample begins: the keys before those of its scene.

    Attributes:
        trace: The version of the format.
        sfgen: The version of sfgen that wrote it, for people.
        sample: The number of the text in the run, from 0.
    """

    trace: Version
    sfgen: str = ""
    sample: Count


@dataclass(frozen=True)
class Stamp:
    """The keys with which every line but the first begins.

    Attributes:
        sample: The number of the sample.
        seconds: When, in seconds since the sample began, rounded to microseconds.
    """

    sample: Count
    seconds: Seconds


@dataclass(frozen=True)
class Failure:
    """The error that a sample ended in, as it was told.

    Attributes:
        message: What was wrong, on one line.
        details: Lines that show where.
        hint: What to do instead.
    """

    message: str
    details: tuple[str, ...] = ()
    hint: str = ""

    @property
    def error(self) -> SfgenError:
        """The same as an error, with texts that are safe to print."""
        message, hint = on_one_line(self.message), on_one_line(self.hint)
        return SfgenError(message, details=tuple(map(on_one_line, self.details[:4])), hint=hint)


def read_heading(fields: dict[str, Any]) -> tuple[Heading, Scene]:
    """Read the first line of a sample: one with the key ``trace``."""
    version = take(fields, "trace", Count)
    if version != VERSION:
        made_by = on_one_line(str(fields.get("sfgen", "another version")))[:40]
        raise MalformedError(
            "trace",
            f"a trace of version {version}, and this sfgen reads version {VERSION}",
            hint=f"It was written by sfgen {made_by}.",
        )
    return from_json(Heading, fields), from_json(Scene, fields)


def read_event(fields: dict[str, Any]) -> tuple[Stamp, Event | Failure]:
    """Read the line of an event or of a failure."""
    from sfgen.trace.events import EVENTS

    stamp, name = from_json(Stamp, fields), take(fields, "event", Any)
    if name == FAILURE:
        return stamp, from_json(Failure, fields)
    if not isinstance(name, str) or name not in EVENTS:
        raise MalformedError("event", f"there is no event {described(name)}")
    event: Event = from_json(EVENTS[name], fields)
    return stamp, event


@cache
def lines() -> dict[str, tuple[Key, ...]]:
    """Map each kind of line to its keys: ``heading``, then the names of all events."""
    from sfgen.trace.events import EVENTS

    types: dict[str, Any] = {**EVENTS, FAILURE: Failure}
    return {
        HEADING: (*record_of(Heading).keys, *record_of(Scene).keys),
        **{name: (*record_of(Stamp).keys, event_key(name), *record_of(type_).keys) for name, type_ in types.items()},
    }


def event_key(*names: str) -> Key:
    """Make the key whose value is one of these names of events."""
    return Key("event", OneOf(names), MISSING, "What happened.")


class View(Protocol):
    """An observer of one run's events: the live view, a trace."""

    def show(self, event: Event, seconds: float) -> None:
        """Show one event."""


_SPACE = "[ \\t\\n\\v\\f\\r]*"


def schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of one line of a trace.

    It describes the keys of a line and their values. Only ``read_trace`` checks the order of lines, the validity of
    JSON, and texts whose bytes are not text.

    >>> schema()["$defs"]["block_closed"]["required"]
    ['sample', 'seconds', 'event', 'position']
    """
    of_lines = lines()
    records = {record.type.__name__: record for keys in of_lines.values() for record in _records(keys)}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A line of a trace of sfgen",
        "oneOf": [{"$ref": f"#/$defs/{name}"} for name in of_lines],
        "$defs": {
            **{name: _line(name, keys) for name, keys in of_lines.items()},
            **{name: _described(record) for name, record in records.items()},
            "text": _text(),
        },
    }


def _line(name: str, keys: tuple[Key, ...]) -> dict[str, Any]:
    """Return the schema of one kind of line."""
    result = _object(keys)
    if name != HEADING:  # any line with the key ``trace`` is a heading
        result["properties"]["trace"] = False
    return result


def _object(keys: tuple[Key, ...]) -> dict[str, Any]:
    """Return the schema of an object with these keys."""
    return {
        "type": "object",
        "properties": {key.name: _value(key) for key in keys},
        "required": [key.name for key in keys if key.is_needed],
    }


def _described(record: Record) -> dict[str, Any]:
    """Return the schema of a record with its description."""
    return {"description": in_json_words(record.meaning), **_object(record.keys)}


def _text() -> dict[str, Any]:
    """Return the schema of a text."""
    bytes_ = {"type": "string", "pattern": f"^{_SPACE}([0-9A-Fa-f]{{2}}{_SPACE})*$"}
    return {
        "description": "A string; what is not Unicode text as an object with its bytes in hexadecimal digits.",
        "anyOf": [{"type": "string"}, {"type": "object", "properties": {"hex": bytes_}, "required": ["hex"]}],
    }


def _value(key: Key) -> dict[str, Any]:
    """Return the schema of a key's values."""
    result = _schema(key.kind)
    if key.meaning:
        result["description"] = in_json_words(key.meaning)
    if not key.is_needed:
        result["default"] = to_json(key.default)
    return result


def _schema(kind: Kind) -> dict[str, Any]:
    """Return the schema of the values of a kind."""
    match kind:
        case Truth():
            return {"type": "boolean"}
        case Number(type_, range_):
            numbers: dict[str, Any] = {"type": "integer" if type_ is int else "number", "minimum": range_.least}
            return numbers if range_.most is None else {**numbers, "maximum": range_.most}
        case BytesKind() | TextKind():
            return {"$ref": "#/$defs/text"}
        case Json():
            return {}
        case OneOf((value,)):
            return {"const": value}
        case OneOf(values):
            return {"enum": list(values)}
        case Nullable(inner):
            return {"anyOf": [_schema(inner), {"type": "null"}]}
        case ListOf(inner):
            return {"type": "array", "items": _schema(inner)}
        case Record(type_, _):
            return {"$ref": f"#/$defs/{type_.__name__}"}
        case _:
            assert_never(kind)


def _records(keys: Iterable[Key]) -> Iterator[Record]:
    """Yield the records in these keys, and in the keys of those records."""
    for key in keys:
        kind = key.kind
        while isinstance(kind, Nullable | ListOf):
            kind = kind.kind
        if isinstance(kind, Record):
            yield kind
            yield from _records(kind.keys)
