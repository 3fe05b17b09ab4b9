"""The syntax tree of a pattern: what it means, without how it was written.

The nodes are the operators of regular expressions over code points (empty text, character set, concatenation,
alternation, repeat) plus two that plain automata do not have: :class:`Assertion`, which looks at the text around a
place without reading it, and :class:`Atomic`, which gives up the other ways to match what it contains. Groups, flags
and escapes are gone: they were resolved while the tree was made.

Nodes are made through the functions :func:`concatenation`, :func:`alternation` and :func:`repeat`, which keep the tree
flat and drop what cannot matter.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from sfgen.regex.characters import Ranges, union


@dataclass(frozen=True, slots=True)
class Empty:
    """Matches the empty text."""


@dataclass(frozen=True, slots=True)
class Characters:
    """Matches one character of a set; the empty set matches nothing at all.

    Args:
        ranges: First and last code point of each range, sorted, neither overlapping nor touching, no surrogates.
    """

    ranges: Ranges


@dataclass(frozen=True, slots=True)
class Concatenation:
    """Matches the parts one after another; two parts or more, none of them a concatenation."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Alternation:
    """Matches what one of the branches matches; two branches or more, none of them an alternation."""

    branches: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """Matches ``child`` from ``minimum`` to ``maximum`` times; ``None`` is no limit.

    ``lazy`` says which of the matches is tried first. It makes no difference to the language, except inside
    :class:`Atomic`. ``position`` is where the quantifier stands in the pattern.
    """

    child: Node
    minimum: int
    maximum: int | None
    lazy: bool = False
    position: int | None = None


class AssertionKind(Enum):
    """What an assertion demands; the value is the name for messages."""

    TEXT_START = "start of the text"
    LINE_START = "start of a line"
    TEXT_END = "end of the text"
    FINAL_LINE_END = "end of the text, or before the newline that ends it"
    LINE_END = "end of a line"


@dataclass(frozen=True, slots=True)
class Assertion:
    """Matches the empty text where ``kind`` holds; ``text`` and ``position`` say how and where it was written."""

    kind: AssertionKind
    text: str
    position: int


@dataclass(frozen=True, slots=True)
class Atomic:
    """Matches what ``child`` would match first, and nothing else that it could match at that place.

    A possessive repeat is ``Atomic(Repeat(...))``. ``position`` is that of ``(?>`` or of the quantifier.
    """

    child: Node
    position: int


Node: TypeAlias = Empty | Characters | Concatenation | Alternation | Repeat | Assertion | Atomic

NOTHING = Characters(())


def concatenation(parts: Iterable[Node]) -> Node:
    """The parts one after another, flattened.

    >>> concatenation([Empty(), Characters(((97, 97),))])
    Characters(ranges=((97, 97),))
    """
    flat: list[Node] = []
    for part in parts:
        if part == NOTHING:
            return NOTHING
        if isinstance(part, Concatenation):
            flat.extend(part.parts)
        elif not isinstance(part, Empty):
            flat.append(part)
    if len(flat) > 1:
        return Concatenation(tuple(flat))
    return flat[0] if flat else Empty()


def alternation(branches: Iterable[Node]) -> Node:
    """One of the branches, flattened; branches that are character sets become one set.

    >>> alternation([Characters(((97, 97),)), Characters(((98, 98),))])
    Characters(ranges=((97, 98),))
    """
    flat: list[Node] = []
    sets: list[Ranges] = []
    for branch in branches:
        for option in branch.branches if isinstance(branch, Alternation) else (branch,):
            if isinstance(option, Characters):
                if not sets:
                    flat.append(NOTHING)  # holds the place of the joined set
                sets.append(option.ranges)
            elif not (isinstance(option, Empty) and option in flat):
                flat.append(option)
    if sets:
        joined = Characters(union(*sets))
        flat = [joined if option == NOTHING else option for option in flat]
        flat = [option for option in flat if option != NOTHING]
    if len(flat) > 1:
        return Alternation(tuple(flat))
    return flat[0] if flat else NOTHING


def repeat(child: Node, minimum: int, maximum: int | None, *, lazy: bool = False, position: int | None = None) -> Node:
    """``child`` from ``minimum`` to ``maximum`` times.

    >>> repeat(Characters(((97, 97),)), 0, 0)
    Empty()
    """
    if maximum == 0 or isinstance(child, Empty) or (child == NOTHING and minimum == 0):
        return Empty()
    if child == NOTHING or (minimum, maximum) == (1, 1):
        return child
    return Repeat(child, minimum, maximum, lazy, position)


def width(node: Node) -> tuple[int, int | None]:
    """The fewest and the most characters that ``node`` can match; ``None`` is no limit.

    What cannot match at all (the empty set) counts as one character, so that the bounds stay bounds.
    """
    match node:
        case Characters():
            return 1, 1
        case Concatenation(parts):
            return add_widths(width(part) for part in parts)
        case Alternation(branches):
            widths = [width(branch) for branch in branches]
            most = [high for _, high in widths]
            return min(low for low, _ in widths), None if None in most else max(high or 0 for high in most)
        case Repeat(child, minimum, maximum):
            return scale_width(width(child), minimum, maximum)
        case Atomic(child):
            return width(child)
        case _:
            return 0, 0


def add_widths(widths: Iterable[tuple[int, int | None]]) -> tuple[int, int | None]:
    """The width of things that stand one after another."""
    low, high = 0, 0
    unlimited = False
    for least, most in widths:
        low += least
        unlimited = unlimited or most is None
        high += most or 0
    return low, None if unlimited else high


def scale_width(one: tuple[int, int | None], minimum: int, maximum: int | None) -> tuple[int, int | None]:
    """The width of ``minimum`` to ``maximum`` things of width ``one``."""
    least, most = one
    if most == 0:
        return 0, 0
    return least * minimum, None if most is None or maximum is None else most * maximum
