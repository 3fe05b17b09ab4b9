"""Take the atomic groups and possessive repeats out of a tree.

An atomic group keeps the first match that it finds at a position and gives up the others. Where no match of it is the
beginning of another, as with ``(?>[a-z]*;)``, there are no others, and it is a plain group. Otherwise negative
lookaheads, which read nothing, exclude the others. At every choice the less preferred way may be taken only where the
more preferred one, with all that follows it in the group, does not match: ``(?>A|B)`` is ``A|(?!A)B``, ``X*+`` is
``X*(?!X)``.

Inside an atomic group, a repeat of something that can be empty cannot be written in this way, and is refused.
"""

from __future__ import annotations

from collections.abc import Sequence

from sfgen.automata.determinize import determinize
from sfgen.automata.minimize import minimize
from sfgen.automata.nfa import build
from sfgen.errors import PatternError
from sfgen.regex.ast import (
    NOTHING,
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
from sfgen.regex.characters import Ranges, disjoint, union

_ANYTHING: Ranges = ((0, 0x10FFFF),)


def without_atomics(tree: Node, pattern: str, *, within_text: bool = False) -> Node:
    """Remove atomic groups and possessive repeats; the language stays the same.

    ``within_text``: other text may follow; else the pattern is for a whole text.
    """
    return _Rewriter(pattern).rewrite(tree, _ANYTHING if within_text else ()) if contains(tree, Atomic) else tree


class _Rewriter:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern

    def rewrite(self, node: Node, follow: Ranges) -> Node:
        """``node`` without atomic groups, where the next character after it, if any, is in ``follow``."""
        match node:
            case Atomic(Repeat(Atomic() | Characters() as child, lazy=False) as node, _):
                return self.possessive(node, self.rewrite(child, _ANYTHING), follow)
            case Atomic(child, position):
                return self.group(self.rewrite(child, follow), follow, position)
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

    def possessive(self, node: Repeat, once: Node, follow: Ranges) -> Node:
        """Repeat as often as possible; an empty round is the last.

        ``once`` matches what ``re`` takes first each time.
        """
        minimum, maximum = node.minimum, node.maximum
        onward = once if width(once)[0] else _nonempty(once)
        if minimum == maximum:
            return repeat(once, minimum, maximum, position=node.position)
        if onward == once and disjoint(first(once), follow) and not contains(once, Look):
            return repeat(once, minimum, maximum, position=node.position)  # nothing else can follow fewer times
        stop = look(onward, behind=False, negative=True)
        required = repeat(once, minimum, minimum, position=node.position)
        if maximum is None:
            return concatenation([required, repeat(onward, 0, None), stop])
        fewer = concatenation([repeat(onward, 0, maximum - minimum - 1, position=node.position), stop])
        most = repeat(onward, maximum - minimum, maximum - minimum, position=node.position)
        return concatenation([required, alternation([fewer, most])])

    def group(self, node: Node, follow: Ranges, position: int) -> Node:
        """Restrict ``node``, which has no atomic groups inside, to the match that it tries first."""
        if self.matches_one_way(node):
            return node
        match node:
            case Repeat(child, minimum, _, lazy) if width(child)[0] and self.matches_one_way(child):
                return repeat(child, minimum, minimum) if lazy else self.possessive(node, child, follow)
            case Concatenation((part, *others)) if self.matches_one_way(part):
                return concatenation([part, self.group(concatenation(others), follow, position)])
        return self.first_choice(node, Empty(), position)

    def first_choice(self, node: Node, then: Node, position: int) -> Node:
        """Keep the first match, in the order of ``re``, after which ``then``, the rest of the group, matches."""
        match node:
            case Concatenation((part, *others)):
                rest = concatenation(others)
                chosen = self.first_choice(part, concatenation([rest, then]), position)
                return concatenation([chosen, self.first_choice(rest, then, position)])
            case Alternation(branches):
                return self.in_order(branches, then, position)
            case Repeat(child, minimum, maximum, lazy) if width(child)[0]:
                fewer = None if maximum is None else maximum - 1
                if minimum:
                    rest = repeat(child, minimum - 1, fewer, lazy=lazy)
                    return self.first_choice(Concatenation((child, rest)), then, position)
                if maximum is not None:
                    ways = (concatenation([child, repeat(child, 0, fewer, lazy=lazy)]), Empty())
                    return self.in_order(ways[::-1] if lazy else ways, then, position)
                again = concatenation([node, then])
                once = self.first_choice(child, again, position)
                if lazy:
                    return repeat(concatenation([look(then, behind=False, negative=True), once]), 0, None)
                more = concatenation([child, again])
                return concatenation([repeat(once, 0, None), look(more, behind=False, negative=True)])
            case Repeat():
                raise PatternError(
                    "a repeat of something that can be empty is not supported in a possessive repeat or atomic group",
                    self.pattern,
                    position,
                    hint="Let what is repeated have at least one character, or leave out the + or the ?>.",
                )
            case _:
                return node

    def in_order(self, ways: Sequence[Node], then: Node, position: int) -> Node:
        """Keep the first of the ways after which ``then`` matches."""
        options = []
        for number, way in enumerate(ways):
            wanted = alternation([concatenation([before, then]) for before in ways[:number]])
            none_before = look(wanted, behind=False, negative=True)
            options.append(concatenation([none_before, self.first_choice(way, then, position)]))
        return alternation(options)

    def matches_one_way(self, node: Node) -> bool:
        """Return whether no match of ``node`` is the beginning of another, so that it has one end only.

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
    """Return the characters that a non-empty match of ``node`` can begin with."""
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


def _nonempty(node: Node) -> Node:
    """Restrict ``node`` to its matches that are not empty."""
    match node:
        case Empty() | Look():
            return NOTHING
        case Concatenation((part, *others)):
            rest = concatenation(others)
            return alternation([concatenation([_nonempty(part), rest]), concatenation([empty(part), _nonempty(rest)])])
        case Alternation(branches):
            return alternation([_nonempty(branch) for branch in branches])
        case Repeat(child, minimum, maximum):
            # The first time that is not empty, before it empty ones to make up the minimum, and what may follow.
            later = None if maximum is None else maximum - 1
            ways = [concatenation([_nonempty(child), repeat(child, max(minimum - 1, 0), later)])]
            if minimum > 1:
                most = None if maximum is None else maximum - 2
                ways.append(concatenation([empty(child), _nonempty(child), repeat(child, 0, most)]))
            return alternation(ways)
        case _:
            return node


def empty(node: Node) -> Node:
    """Return the conditions under which ``node`` matches the empty text."""
    match node:
        case Characters():
            return NOTHING
        case Concatenation(parts):
            return concatenation([empty(part) for part in parts])
        case Alternation(branches):
            return alternation([empty(branch) for branch in branches])
        case Repeat(child, minimum):
            return empty(child) if minimum else Empty()
        case _:
            return node
