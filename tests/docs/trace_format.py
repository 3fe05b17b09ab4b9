"""The format of a trace as Markdown, made of the classes that are written: what they say of themselves.

``reference.py`` writes it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, assert_never

import sfgen.trace
from sfgen.trace.events import EVENTS
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
from sfgen.trace.lines import FAILURE, HEADING, Failure, Stamp, event_key, lines
from sfgen.trace.values import to_json

FILE = Path(sfgen.trace.__file__).with_name("FORMAT.md")

_HEAD = """\
<!-- written by `make docs` from the classes that are written to a trace, do not edit -->
# The format of a trace, version {version}

A trace is JSON Lines in UTF-8: each line is an object, ends in a newline, and is written as soon as it is known. A run
that was killed leaves a trace whose last line may be cut short; readers leave that line out. Lines of nothing but white
space mean nothing. Readers pass over keys that they do not know; within a version keys may be added, none go away, and
none change their meaning. A key that has something under *if missing* may be missing, and means that then.

Each sample of a run begins with a line that has the key `trace`, and has a number from 0. All other lines are events of
a sample, in the order in which they happened. The lines of several samples may stand side by side, as they do where
several texts are generated at once. A sample ends with `finished` or `error`, and nothing follows; one without an end
was killed.

*Whole numbers* have 64 bits where nothing else is said, and are written without a fraction. A *number* that is not
finite is written as 0; probabilities are between 0 and 1 up to rounding. *Text* and *bytes* are strings; what is not
Unicode text, that is bytes that are not UTF-8 and text with lone surrogates, is an object `{{"hex": "e8a9"}}` with the
bytes in hexadecimal digits (of surrogates those that UTF-8 would give them if it could).

`sfgen.read_trace` reads a trace in Python; every value is what the run had. `sfgen.trace.schema()` is the JSON Schema
of a line.
"""


def trace_format() -> str:
    """All lines of a trace, and the objects in them."""
    shown: set[str] = set()
    types: dict[str, Any] = {**EVENTS, FAILURE: Failure}
    parts = [
        _HEAD.format(version=sfgen.trace.VERSION),
        "## The first line of a sample\n",
        _table(lines()[HEADING]),
        "## Every other line\n",
        _table((*record_of(Stamp).keys, event_key(*types))),
    ]
    for name, type_ in types.items():
        parts += _sections(f"### `{name}`", record_of(type_), shown)
    return "\n".join(parts).rstrip("\n") + "\n"


def _sections(title: str, record: Record, shown: set[str]) -> Iterator[str]:
    """What a record is and has, and then each object in it that has not been shown."""
    shown.add(record.type.__name__)
    yield f"{title}\n\n{in_json_words(record.meaning)}\n"
    yield _table(record.keys)
    for key in record.keys:
        inner = _innermost(key.kind)
        if isinstance(inner, Record) and inner.type.__name__ not in shown:
            yield from _sections(f"#### {inner.type.__name__}", inner, shown)


def _table(keys: tuple[Key, ...]) -> str:
    rows = ["| key | value | if missing | meaning |", "| --- | --- | --- | --- |"]
    for key in keys:
        default = "" if key.is_needed else f"`{json.dumps(to_json(key.default))}`"
        rows.append(f"| `{key.name}` | {_words(key.kind)} | {default} | {_cell(in_json_words(key.meaning))} |")
    return "\n".join(rows) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _words(kind: Kind) -> str:
    """The values of a kind in words."""
    match kind:
        case Truth():
            return "true or false"
        case Number():
            return kind.range.words
        case BytesKind():
            return "bytes"
        case TextKind():
            return "text"
        case Json():
            return "any value"
        case OneOf():
            return " or ".join(f"`{json.dumps(value)}`" for value in kind.values)
        case Nullable():
            return f"null, or {_words(kind.kind)}"
        case ListOf():
            return f"a list, each {_words(kind.kind)}"
        case Record():
            return f"[{kind.type.__name__}](#{_anchor(kind.type)})"
        case _:
            assert_never(kind)


def _anchor(type_: type) -> str:
    """Where the section of a class is: that of its event, if it has one."""
    return next((name for name, event in EVENTS.items() if event is type_), type_.__name__.lower())


def _innermost(kind: Kind) -> Kind:
    while isinstance(kind, Nullable | ListOf):
        kind = kind.kind
    return kind
