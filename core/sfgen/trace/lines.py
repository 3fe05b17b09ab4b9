"""The lines of a trace: what each begins with, which keys it has, and each by itself read again."""

from __future__ import annotations

from dataclasses import MISSING, dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from sfgen.errors import SfgenError
from sfgen.printable import on_one_line
from sfgen.quantities import Count, Seconds
from sfgen.trace.errors import MalformedError, found
from sfgen.trace.kinds import Key, OneOf, record_of
from sfgen.trace.scene import Scene
from sfgen.trace.values import from_json, take

if TYPE_CHECKING:
    from sfgen.decoding import Event

Version: TypeAlias = Literal[1]
VERSION: Version = get_args(Version)[0]
"""The version of the format that is written, and read."""

HEADING = "heading"
"""The name of the line that a sample begins with."""

FAILURE = "error"
"""The event of the line that a sample ends with where it failed."""


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
        raise MalformedError("event", f"there is no event {found(name)}")
    event: Event = from_json(EVENTS[name], fields)
    return stamp, event


@cache
def lines() -> dict[str, tuple[Key, ...]]:
    """Map each kind of line to its keys.

    The first line of a sample is ``heading``; all others go by the name of their event.
    """
    from sfgen.trace.events import EVENTS

    types: dict[str, Any] = {**EVENTS, FAILURE: Failure}
    return {
        HEADING: (*record_of(Heading).keys, *record_of(Scene).keys),
        **{name: (*record_of(Stamp).keys, event_key(name), *record_of(type_).keys) for name, type_ in types.items()},
    }


def event_key(*names: str) -> Key:
    """Make the key whose value is one of these names of events."""
    return Key("event", OneOf(names), MISSING, "What happened.")
