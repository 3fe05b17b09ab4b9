"""Take the atomic groups and possessive repeats out of a tree.

An atomic group keeps the first match that it finds at a place and gives up the others. Where there is no other, it is
a plain group: if no match of it is the beginning of another, as with ``(?>[a-z]*;)``. Otherwise what it gives up is
said with negative lookaheads, which only look: ``X*+`` is ``X*(?!X)``, and ``(?>A|B)`` is ``(?>A)|(?!A)(?>B)``. What
neither covers is refused.
"""

from __future__ import annotations

from dataclasses import replace

from sfgen.automata.determinize import determinize
from sfgen.automata.minimize import minimize
from sfgen.automata.nfa import build
from sfgen.errors import PatternError
from sfgen.regex.characters import Ranges, disjoint, union
from sfgen.regex.tree import (
    Alternation,
    Atomic,
    Characters,
    Concatenation,
    Empty,
    Look,
    Node,
    Repeat,
    alternation,
    children,
    concatenation,
    contains,
    look,
    repeat,
    width,
)

_ANYTHING: Ranges = ((0, 0x10FFFF),)


def without_atomics(tree: Node, pattern: str) -> Node:
    """The same language without atomic groups.

    Args:
        tree: A tree without anchors.
        pattern: The pattern, for messages.

    Raises:
        PatternError: An atomic group whose other matches may make a difference that is not expressed, with its place.
    """
    return _Rewriter(pattern).rewrite(tree, ()) if contains(tree, Atomic) else tree


class _Rewriter:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern

    def rewrite(self, node: Node, follow: Ranges) -> Node:
        """``node`` without atomic groups, where the next character after it, if any, is in ``follow``."""
        match node:
            case Atomic(child, position):
                return self.atomic(self.rewrite(child, follow), follow, position)
            case Concatenation(parts):
                rewritten: list[Node] = []
                for part in reversed(parts):
                    rewritten.append(self.rewrite(part, follow))
                    follow = union(first(part), follow) if width(part)[0] == 0 else first(part)
                return concatenation(reversed(rewritten))
            case Alternation(branches):
                options = []
                for branch in branches:
                    options.append(self.rewrite(branch, follow))
                return alternation(options)
            case Repeat(child, minimum, maximum):
                inner = follow if maximum == 1 else union(first(child), follow)
                child = self.rewrite(child, inner)
                return repeat(child, minimum, maximum, lazy=node.lazy, position=node.position)
            case Look(child):
                return look(self.rewrite(child, _ANYTHING), behind=node.behind, negative=node.negative)
            case _:
                return node

    def atomic(self, node: Node, follow: Ranges, position: int) -> Node:
        """What ``node``, which has no atomic groups inside, matches first."""
        match node:
            case Repeat(child, minimum, _, lazy) if self.matches_one_way(child) and width(child)[0] > 0:
                return (
                    self.possessive(replace(node, lazy=False), follow) if not lazy else repeat(child, minimum, minimum)
                )
            case _ if self.matches_one_way(node):
                return node
            case Alternation(branches):
                options = []
                for number, branch in enumerate(branches):
                    none_before = look(alternation(branches[:number]), behind=False, negative=True)
                    options.append(concatenation([none_before, self.atomic(branch, follow, position)]))
                return alternation(options)
            case Concatenation((part, *others)):
                rest = concatenation(others)
                if self.matches_one_way(part):
                    return concatenation([part, self.atomic(rest, follow, position)])
                match part:
                    case Repeat(child, lazy=False) if (
                        self.matches_one_way(child)
                        and width(child)[0] > 0
                        and not contains(rest, Look)
                        and disjoint(first(child), first(rest))
                    ):
                        # The rest cannot match where the repeat could have stopped earlier.
                        after = union(first(rest), follow) if width(rest)[0] == 0 else first(rest)
                        return concatenation([self.possessive(part, after), self.atomic(rest, follow, position)])
        raise PatternError(
            "this possessive repeat or atomic group is not supported: what it gives up may make a difference",
            self.pattern,
            position,
            hint="Write it without the + or the ?> if it need not give anything up, or let it end in something that it "
            "cannot match before.",
        )

    def possessive(self, node: Repeat, follow: Ranges) -> Node:
        """As many times as it goes; the child matches in one way, and not the empty text."""
        child, minimum, maximum = node.child, node.minimum, node.maximum
        if minimum == maximum or (disjoint(first(child), follow) and not contains(child, Look)):
            return node
        stop = look(child, behind=False, negative=True)
        if maximum is None:
            return concatenation([node, stop])
        fewer = repeat(child, minimum, maximum - 1, position=node.position)
        return alternation([repeat(child, maximum, maximum, position=node.position), concatenation([fewer, stop])])

    def matches_one_way(self, node: Node) -> bool:
        """Whether no match of ``node`` is the beginning of another, so that it can end in one place only.

        Decided without the lookarounds in it, with which it can only match less.
        """
        match node:
            case Empty() | Characters() | Look():
                return True
            case Concatenation(parts) if all(isinstance(part, Characters) for part in parts):
                return True
        _, _, accepting = automaton = minimize(determinize(build(_without_looks(node), self.pattern), self.pattern))
        return not (automaton.transitions[accepting] >= 0).any()


def first(node: Node) -> Ranges:
    """The characters that a non-empty match of ``node`` can begin with."""
    match node:
        case Characters(ranges):
            return ranges
        case Concatenation(parts):
            sets = []
            for part in parts:
                sets.append(first(part))
                if width(part)[0] > 0:
                    break
            return union(*sets)
        case Look():
            return ()
        case _:
            return union(*[first(child) for child in children(node)])


def _without_looks(node: Node) -> Node:
    match node:
        case Look():
            return Empty()
        case Concatenation(parts):
            return concatenation([_without_looks(part) for part in parts])
        case Alternation(branches):
            return alternation([_without_looks(branch) for branch in branches])
        case Repeat(child, minimum, maximum):
            return repeat(_without_looks(child), minimum, maximum)
        case _:
            return node
