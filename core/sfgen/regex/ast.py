"""The syntax tree of a pattern: what it means, without how it was written.

The nodes are the operators of regular expressions over code points (empty text, character set, concatenation,
alternation, repeat) plus three that plain automata do not have: :class:`Anchor` and :class:`Look`, which look at the
text around a place without reading it, and :class:`Atomic`, which gives up the other ways to match what it contains.
Groups, flags and escapes are gone: they were resolved while the tree was made. No pattern contains a :class:`Border`;
it is put into trees that say where in a text a pattern matches.

Nodes are made through the functions :func:`concatenation`, :func:`alternation` and :func:`repeat`, which keep the tree
flat and drop what cannot matter.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from itertools import groupby
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


class AnchorKind(Enum):
    """What an anchor demands; the value is the name for messages."""

    TEXT_START = "start of the text"
    LINE_START = "start of a line"
    TEXT_END = "end of the text"
    FINAL_LINE_END = "end of the text, or before the newline that ends it"
    LINE_END = "end of a line"


@dataclass(frozen=True, slots=True)
class Anchor:
    """Matches the empty text where ``kind`` holds; ``text`` and ``position`` say how and where it was written."""

    kind: AnchorKind
    text: str
    position: int


@dataclass(frozen=True, slots=True)
class Look:
    """Matches the empty text at a place where ``child`` matches there too (or does not, if ``negative``).

    ``behind`` says whether the match of ``child`` must end at the place (lookbehind) or begin there (lookahead).
    """

    child: Node
    behind: bool
    negative: bool


@dataclass(frozen=True, slots=True)
class Atomic:
    """Matches what ``child`` would match first, and nothing else that it could match at that place.

    A possessive repeat is ``Atomic(Repeat(...))``. ``position`` is that of ``(?>`` or of the quantifier.
    """

    child: Node
    position: int


@dataclass(frozen=True, slots=True)
class Border:
    """Matches a border, which is no character: it stands between two, and nothing that looks around itself sees it."""


Node: TypeAlias = Empty | Characters | Concatenation | Alternation | Repeat | Anchor | Look | Atomic | Border

NOTHING = Characters(())


def is_nothing(node: Node) -> bool:
    """Whether ``node`` is the empty set of characters."""
    return isinstance(node, Characters) and not node.ranges


def concatenation(parts: Iterable[Node]) -> Node:
    """The parts one after another, flattened.

    >>> concatenation([Empty(), Characters(((97, 97),))])
    Characters(ranges=((97, 97),))
    """
    flat: list[Node] = []
    for part in parts:
        if is_nothing(part):
            return NOTHING
        if isinstance(part, Concatenation):
            flat.extend(part.parts)
        elif not isinstance(part, Empty):
            flat.append(part)
    if len(flat) > 1:
        return Concatenation(tuple(flat))
    return flat[0] if flat else Empty()


def alternation(branches: Iterable[Node]) -> Node:
    """One of the branches, flattened; neighbours that are character sets become one set.

    Only neighbours: inside :class:`Atomic` the order of branches of different length decides.

    >>> alternation([Characters(((97, 97),)), Characters(((98, 98),))])
    Characters(ranges=((97, 98),))
    """
    options = [
        option
        for branch in branches
        for option in (branch.branches if isinstance(branch, Alternation) else (branch,))
        if not is_nothing(option)
    ]
    flat: list[Node] = []
    for are_sets, run in groupby(options, lambda option: isinstance(option, Characters)):
        if are_sets:
            flat.append(Characters(union(*(option.ranges for option in run if isinstance(option, Characters)))))
            continue
        for option in run:
            if not (isinstance(option, Empty) and option in flat):
                flat.append(option)
    if len(flat) > 1:
        return Alternation(tuple(flat))
    return flat[0] if flat else NOTHING


def repeat(child: Node, minimum: int, maximum: int | None, *, lazy: bool = False, position: int | None = None) -> Node:
    """``child`` from ``minimum`` to ``maximum`` times.

    >>> repeat(Characters(((97, 97),)), 0, 0)
    Empty()
    """
    if maximum == 0 or isinstance(child, Empty) or (is_nothing(child) and minimum == 0):
        return Empty()
    if is_nothing(child) or (minimum, maximum) == (1, 1):
        return child
    return Repeat(child, minimum, maximum, lazy, position)


def look(child: Node, *, behind: bool, negative: bool) -> Node:
    """A lookahead or lookbehind for ``child``.

    >>> look(Empty(), behind=False, negative=True)
    Characters(ranges=())
    """
    if isinstance(child, Empty):
        return NOTHING if negative else child
    if is_nothing(child):
        return Empty() if negative else NOTHING
    return Look(child, behind, negative)


def children(node: Node) -> tuple[Node, ...]:
    """The nodes right below a node, in the order of the pattern."""
    match node:
        case Concatenation(nodes) | Alternation(nodes):
            return nodes
        case Repeat(child) | Atomic(child) | Look(child):
            return (child,)
        case _:
            return ()


def contains(tree: Node, kinds: type[Node] | tuple[type[Node], ...]) -> bool:
    """Whether a node of one of the kinds is in the tree.

    >>> contains(Repeat(Empty(), 0, 1), Empty)
    True
    """
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, kinds):
            return True
        waiting.extend(children(node))
    return False


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
