"""Take assertions and atomic groups out of a tree where they make no difference, or a certain one.

The plain automaton has neither. An anchor at a place that is certainly the start (or the end) of the text matches the
empty text there; one that certainly never holds matches nothing. A possessive repeat of one character set is the plain
repeat where what follows cannot begin with that set. Whatever is not decided by so simple an argument is refused, with
its position.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from sfgen.errors import PatternError
from sfgen.regex.characters import Ranges, disjoint, union
from sfgen.regex.tree import (
    NOTHING,
    Alternation,
    Assertion,
    AssertionKind,
    Atomic,
    Characters,
    Concatenation,
    Empty,
    Node,
    Repeat,
    add_widths,
    alternation,
    concatenation,
    repeat,
    scale_width,
    width,
)

Width: TypeAlias = tuple[int, int | None]
_NONE: Width = (0, 0)


def settle(tree: Node, pattern: str) -> Node:
    """The same language without assertions and atomic groups.

    Args:
        tree: What :func:`sfgen.regex.parse.parse` made of the whole pattern.
        pattern: The pattern, for messages.

    Raises:
        PatternError: An anchor or an atomic group that may make a difference, with its position.
    """
    if _contains(tree, Assertion):
        tree = _settle_assertions(tree, _NONE, _NONE, pattern)
    if _contains(tree, Atomic):
        tree = _settle_atomics(tree, (), pattern)
    return tree


def _children(node: Node) -> tuple[Node, ...]:
    match node:
        case Concatenation(children) | Alternation(children):
            return children
        case Repeat(child) | Atomic(child):
            return (child,)
        case _:
            return ()


def _contains(tree: Node, kind: type[Assertion] | type[Atomic]) -> bool:
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, kind):
            return True
        waiting.extend(_children(node))
    return False


def _settle_assertions(node: Node, before: Width, after: Width, pattern: str) -> Node:
    """``node`` without assertions, where the text before and after it is so many characters long."""
    match node:
        case Assertion():
            return _settle_assertion(node, before, after, pattern)
        case Concatenation(parts):
            # The widths of what stands after each part, from the last part to the first.
            following = [after]
            for part in reversed(parts[1:]):
                following.append(add_widths((width(part), following[-1])))
            settled: list[Node] = []
            for part, rest in zip(parts, reversed(following), strict=True):
                settled.append(_settle_assertions(part, before, rest, pattern))
                before = add_widths((before, width(settled[-1])))
            return concatenation(settled)
        case Alternation(branches):
            options = []
            for branch in branches:
                options.append(_settle_assertions(branch, before, after, pattern))
            return alternation(options)
        case Repeat(child, minimum, maximum):
            if maximum != 1:
                others = (0, scale_width(width(child), 1, None if maximum is None else maximum - 1)[1])
                before, after = add_widths((before, others)), add_widths((after, others))
            settled_child = _settle_assertions(child, before, after, pattern)
            return repeat(settled_child, minimum, maximum, lazy=node.lazy, position=node.position)
        case Atomic(child):
            return replace(node, child=_settle_assertions(child, before, after, pattern))
        case _:
            return node


def _settle_assertion(node: Assertion, before: Width, after: Width, pattern: str) -> Node:
    at_start = node.kind in (AssertionKind.TEXT_START, AssertionKind.LINE_START)
    fewest, most = before if at_start else after
    if most == 0:
        return Empty()
    # The fewest characters between this place and the end in question with which the assertion is certainly false.
    too_far = {AssertionKind.TEXT_START: 1, AssertionKind.TEXT_END: 1, AssertionKind.FINAL_LINE_END: 2}.get(node.kind)
    if too_far is not None and fewest >= too_far:
        return NOTHING
    raise PatternError(
        f"the anchor {node.text} ({node.kind.value}) is not supported at a place that is not certainly the "
        f"{'start' if at_start else 'end'} of the text",
        pattern,
        node.position,
        hint="A pattern always describes the whole text: leave the anchor out where the text starts and ends anyway.",
    )


def _settle_atomics(node: Node, follow: Ranges, pattern: str) -> Node:
    """``node`` without atomic groups, where the next character after it, if any, is in ``follow``."""
    match node:
        case Atomic(child):
            child = _settle_atomics(child, follow, pattern)
            if _matches_one_way(child, follow):
                return child
            raise PatternError(
                "this possessive repeat or atomic group is not supported: what it gives up may make a difference",
                pattern,
                node.position,
                hint="Write it without the + or the ?> if it need not give anything up, or let it be followed by "
                "something that it cannot match itself.",
            )
        case Concatenation(parts):
            settled: list[Node] = []
            for part in reversed(parts):
                settled.append(_settle_atomics(part, follow, pattern))
                follow = union(_first(part), follow) if width(part)[0] == 0 else _first(part)
            return concatenation(reversed(settled))
        case Alternation(branches):
            options = []
            for branch in branches:
                options.append(_settle_atomics(branch, follow, pattern))
            return alternation(options)
        case Repeat(child, minimum, maximum):
            inner = follow if maximum == 1 else union(_first(child), follow)
            return repeat(
                _settle_atomics(child, inner, pattern), minimum, maximum, lazy=node.lazy, position=node.position
            )
        case _:
            return node


def _matches_one_way(node: Node, follow: Ranges) -> bool:
    """Whether ``node`` can match at a place in one way only, given what may follow."""
    match node:
        case Characters() | Empty():
            return True
        case Concatenation(parts):
            return all(isinstance(part, Characters) for part in parts)
        case Repeat(Characters(ranges), minimum, maximum, lazy):
            return minimum == maximum or (not lazy and disjoint(ranges, follow))
        case _:
            return False


def _first(node: Node) -> Ranges:
    """The characters that a non-empty match of ``node`` can begin with."""
    match node:
        case Characters(ranges):
            return ranges
        case Concatenation(parts):
            sets = []
            for part in parts:
                sets.append(_first(part))
                if width(part)[0] > 0:
                    break
            return union(*sets)
        case Alternation(branches):
            return union(*[_first(branch) for branch in branches])
        case Repeat(child) | Atomic(child):
            return _first(child)
        case _:
            return ()
