"""The syntax tree of a pattern: its meaning, without its notation.

The nodes are the operators of regular expressions over code points (empty text, character set, concatenation,
alternation, repeat) plus three that plain automata do not have: :class:`Anchor` and :class:`Look`, which look at the
text around a place without reading it, and :class:`Atomic`, which keeps the first match of its content and gives up the
others.
Groups, flags and escapes are gone: they were resolved while the tree was made. No pattern contains a :class:`Border`;
it is put into trees that say where in a text a pattern matches.

Nodes are made through the functions :func:`concatenation`, :func:`alternation` and :func:`repeat`, which keep the tree
flat and drop parts without effect.

:func:`settle` takes the anchors out of a tree. An anchor at a place that is certainly the start (or the end) of the
text matches the empty text there; one that certainly never holds matches nothing. Most anchors of real patterns are of
these two kinds, and a plain automaton suffices for them. Any other becomes the lookaround that means the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from itertools import groupby
from typing import TypeAlias

from sfgen import arguments
from sfgen.regex.characters import Ranges, complement, union


@dataclass(frozen=True, slots=True)
class Empty:
    """Matches the empty text."""


@dataclass(frozen=True, slots=True)
class Characters:
    """Matches one character of a set; the empty set never matches.

    Args:
        ranges: First and last code point of each range, sorted, neither overlapping nor touching, no surrogates.
    """

    ranges: Ranges


@dataclass(frozen=True, slots=True)
class Concatenation:
    """Matches the parts one after another.

    Attributes:
        parts: Two or more, none of them a concatenation.
    """

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Alternation:
    """Matches what one of the branches matches.

    Attributes:
        branches: Two or more, none of them an alternation.
    """

    branches: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """Matches a node several times in a row.

    Attributes:
        child: The node that is repeated.
        minimum: The fewest times.
        maximum: The most times; ``None``: any number.
        lazy: Whether fewer times are tried first. It makes no difference to the language, except inside
            :class:`Atomic`.
        position: The position of the quantifier in the pattern.
    """

    child: Node
    minimum: int
    maximum: int | None
    lazy: bool = False
    position: int | None = None


class AnchorKind(Enum):
    """The condition of an anchor; the value is the name for messages."""

    TEXT_START = "start of the text"
    LINE_START = "start of a line"
    TEXT_END = "end of the text"
    FINAL_LINE_END = "end of the text, or before the newline that ends it"
    LINE_END = "end of a line"


@dataclass(frozen=True, slots=True)
class Anchor:
    """Matches the empty text where ``kind`` holds.

    Attributes:
        kind: Its condition.
        text: The anchor as written.
        position: Its offset in the pattern, in characters.
    """

    kind: AnchorKind
    text: str
    position: int


@dataclass(frozen=True, slots=True)
class Look:
    """Matches the empty text at a position where ``child`` matches, too.

    Attributes:
        child: The node that is looked for.
        behind: Whether its match must end at the position (lookbehind) or begin there (lookahead).
        negative: Whether it must not match.
    """

    child: Node
    behind: bool
    negative: bool


@dataclass(frozen=True, slots=True)
class Atomic:
    """Matches only what ``child`` would match first at that position.

    A possessive repeat is ``Atomic(Repeat(...))``.

    Attributes:
        child: The node that is matched.
        position: Where ``(?>`` or the quantifier stands in the pattern.
    """

    child: Node
    position: int


@dataclass(frozen=True, slots=True)
class Border:
    """Matches a border between two characters, which is no character.

    Lookarounds do not see it.
    """


Node: TypeAlias = Empty | Characters | Concatenation | Alternation | Repeat | Anchor | Look | Atomic | Border

NOTHING = Characters(())


def is_nothing(node: Node) -> bool:
    """Return whether ``node`` is the empty set of characters."""
    return isinstance(node, Characters) and not node.ranges


def concatenation(parts: Iterable[Node]) -> Node:
    """Join the parts one after another, flattened.

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
    """Join the branches, flattened, with neighbouring character sets as one set.

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
    """Repeat a node; simplify where the counts or the node allow.

    >>> repeat(Characters(((97, 97),)), 0, 0)
    Empty()
    """
    if maximum == 0 or isinstance(child, Empty) or (is_nothing(child) and minimum == 0):
        return Empty()
    if is_nothing(child) or (minimum, maximum) == (1, 1):
        return child
    return Repeat(child, minimum, maximum, lazy, position)


def look(child: Node, *, behind: bool, negative: bool) -> Node:
    """Make a lookahead or lookbehind for ``child``; simplify where possible.

    >>> look(Empty(), behind=False, negative=True)
    Characters(ranges=())
    """
    if isinstance(child, Empty):
        return NOTHING if negative else child
    if is_nothing(child):
        return Empty() if negative else NOTHING
    return Look(child, behind, negative)


def children(node: Node) -> tuple[Node, ...]:
    """Return the direct children of a node in the pattern's order."""
    match node:
        case Concatenation(nodes) | Alternation(nodes):
            return nodes
        case Repeat(child) | Atomic(child) | Look(child):
            return (child,)
        case _:
            return ()


def contains(tree: Node, kinds: type[Node] | tuple[type[Node], ...]) -> bool:
    """Return whether the tree has a node of one of the kinds.

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
    """Bound the number of characters that ``node`` can match.

    A node that cannot match at all (the empty set) counts as one character, so that the bounds stay bounds.
    """
    match node:
        case Characters():
            return 1, 1
        case Concatenation(parts):
            return _add_widths(width(part) for part in parts)
        case Alternation(branches):
            widths = [width(branch) for branch in branches]
            most = [high for _, high in widths]
            return min(low for low, _ in widths), None if None in most else max(high or 0 for high in most)
        case Repeat(child, minimum, maximum):
            return _scale_width(width(child), minimum, maximum)
        case Atomic(child):
            return width(child)
        case _:
            return 0, 0


def _add_widths(widths: Iterable[tuple[int, int | None]]) -> tuple[int, int | None]:
    """Add the widths of consecutive nodes."""
    low, high = 0, 0
    unlimited = False
    for least, most in widths:
        low += least
        unlimited = unlimited or most is None
        high += most or 0
    return low, None if unlimited else high


def _scale_width(one: tuple[int, int | None], minimum: int, maximum: int | None) -> tuple[int, int | None]:
    """Multiply a width by the counts of a repeat."""
    least, most = one
    if most == 0:
        return 0, 0
    return least * minimum, None if most is None or maximum is None else most * maximum


Width: TypeAlias = tuple[int, int | None]
_NONE: Width = (0, 0)
_UNKNOWN: Width = (0, None)

_ANYTHING = Characters(complement(()))
_NEWLINE = Characters(((10, 10),))
_NOT_NEWLINE = Characters(complement(((10, 10),)))

# Every anchor says that something does not stand on one side of its place.
_MEANING = {
    AnchorKind.TEXT_START: Look(_ANYTHING, behind=True, negative=True),
    AnchorKind.LINE_START: Look(_NOT_NEWLINE, behind=True, negative=True),
    AnchorKind.TEXT_END: Look(_ANYTHING, behind=False, negative=True),
    AnchorKind.FINAL_LINE_END: Look(
        alternation([_NOT_NEWLINE, concatenation([_NEWLINE, _ANYTHING])]), behind=False, negative=True
    ),
    AnchorKind.LINE_END: Look(_NOT_NEWLINE, behind=False, negative=True),
}

# With so many characters between an anchor and its end of the text the anchor certainly does not hold.
_TOO_FAR = {AnchorKind.TEXT_START: 1, AnchorKind.TEXT_END: 1, AnchorKind.FINAL_LINE_END: 2}


def settle(tree: Node, *, within_text: bool = False) -> Node:
    """Replace the anchors of a tree; the language stays the same.

    Args:
        tree: What :func:`sfgen.regex.parse.parse` made of the whole pattern.
        within_text: Whether other text may stand before and after it. Else the pattern is for a whole text.

    Returns:
        A tree without anchors, with lookarounds where they matter.

    Raises:
        UsageError: ``tree`` is not a syntax tree.

    >>> settle(Anchor(AnchorKind.TEXT_START, "^", 0))
    Empty()
    """
    if not isinstance(tree, Node):
        raise arguments.refusal("tree", "a syntax tree", tree, hint="sfgen.regex.parse makes one of a pattern.")
    around = _UNKNOWN if arguments.flag("within_text", within_text) else _NONE
    return _settle(tree, around, around) if contains(tree, Anchor) else tree


def _settle(node: Node, before: Width, after: Width) -> Node:
    """Replace the anchors of ``node``, by the number of characters before and after it."""
    match node:
        case Anchor(kind):
            at_start = kind in (AnchorKind.TEXT_START, AnchorKind.LINE_START)
            fewest, most = before if at_start else after
            if most == 0:
                return Empty()
            return NOTHING if fewest >= _TOO_FAR.get(kind, fewest + 1) else _MEANING[kind]
        case Concatenation(parts):
            # The widths of what stands after each part, from the last part to the first.
            following = [after]
            for part in reversed(parts[1:]):
                following.append(_add_widths((width(part), following[-1])))
            settled: list[Node] = []
            for part, rest in zip(parts, reversed(following), strict=True):
                settled.append(_settle(part, before, rest))
                before = _add_widths((before, width(settled[-1])))
            return concatenation(settled)
        case Alternation(branches):
            options = []
            for branch in branches:
                options.append(_settle(branch, before, after))
            return alternation(options)
        case Repeat(child, minimum, maximum):
            if maximum != 1:
                others = (0, _scale_width(width(child), 1, None if maximum is None else maximum - 1)[1])
                before, after = _add_widths((before, others)), _add_widths((after, others))
            return repeat(_settle(child, before, after), minimum, maximum, lazy=node.lazy, position=node.position)
        case Atomic(child):
            # The text that an atomic group takes does not depend on whether the rest of the pattern can match.
            return replace(node, child=_settle(child, before, _UNKNOWN))
        case Look(child, behind):
            # Outside a lookahead's own match anything can follow, and before a lookbehind's.
            child = _settle(child, _UNKNOWN, after) if behind else _settle(child, before, _UNKNOWN)
            return look(child, behind=behind, negative=node.negative)
        case _:
            return node
