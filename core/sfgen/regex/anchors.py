"""Take the anchors out of a tree: an anchor is certain where it stands, or it is a lookaround.

An anchor at a place that is certainly the start (or the end) of the text matches the empty text there; one that
certainly never holds matches nothing. Most anchors of real patterns are of this kind, and then the plain automaton will
do. Any other becomes the lookaround that means the same.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from sfgen import arguments
from sfgen.regex.ast import (
    NOTHING,
    Alternation,
    Anchor,
    AnchorKind,
    Atomic,
    Characters,
    Concatenation,
    Empty,
    Look,
    Node,
    Repeat,
    add_widths,
    alternation,
    concatenation,
    contains,
    look,
    repeat,
    scale_width,
    width,
)
from sfgen.regex.characters import complement

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

# The fewest characters between an anchor and its end of the text with which it certainly does not hold.
_TOO_FAR = {AnchorKind.TEXT_START: 1, AnchorKind.TEXT_END: 1, AnchorKind.FINAL_LINE_END: 2}


def settle(tree: Node, *, within_text: bool = False) -> Node:
    """Replace the anchors of a tree; the language stays the same.

    Args:
        tree: What :func:`sfgen.regex.parse.parse` made of the whole pattern.
        within_text: Whether other text may stand before and behind it. Else the pattern is for a whole text.

    Returns:
        A tree without anchors, with lookarounds where they matter.

    Raises:
        UsageError: No tree.

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
                following.append(add_widths((width(part), following[-1])))
            settled: list[Node] = []
            for part, rest in zip(parts, reversed(following), strict=True):
                settled.append(_settle(part, before, rest))
                before = add_widths((before, width(settled[-1])))
            return concatenation(settled)
        case Alternation(branches):
            options = []
            for branch in branches:
                options.append(_settle(branch, before, after))
            return alternation(options)
        case Repeat(child, minimum, maximum):
            if maximum != 1:
                others = (0, scale_width(width(child), 1, None if maximum is None else maximum - 1)[1])
                before, after = add_widths((before, others)), add_widths((after, others))
            return repeat(_settle(child, before, after), minimum, maximum, lazy=node.lazy, position=node.position)
        case Atomic(child):
            # What an atomic group takes does not depend on whether the rest of the pattern can match behind it.
            return replace(node, child=_settle(child, before, _UNKNOWN))
        case Look(child, behind):
            # Outside a lookahead's own match anything can follow, and before a lookbehind's.
            child = _settle(child, _UNKNOWN, after) if behind else _settle(child, before, _UNKNOWN)
            return look(child, behind=behind, negative=node.negative)
        case _:
            return node
