r"""From the text of a pattern to its minimal automaton: the steps of this package one after another.

A lookahead at the very start of a pattern restricts the whole text, and so does a lookbehind at its very end. Such a
pattern is the intersection of plain languages, ``(?=A)R`` that of ``R`` and ``A.*``, which the fast kernels make; only
the other lookarounds need :mod:`sfgen.automata.lookaround`.

A banned pattern is compiled over *symbols*: a pattern names sets of characters, and all characters that are in the same
sets make one symbol. The tree over symbols has the same shape, and its automaton few states and few byte classes,
though ``\w`` has 770 ranges: with up to 128 symbols each is one byte.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfgen.automata.algebra import Keep, product
from sfgen.automata.atomic import without_atomics
from sfgen.automata.by_character import CharacterMap, distinct
from sfgen.automata.determinize import Deterministic, determinize
from sfgen.automata.lookaround import without_lookarounds
from sfgen.automata.minimize import minimize
from sfgen.automata.nfa import build
from sfgen.errors import PatternTooLarge
from sfgen.regex import parse, settle
from sfgen.regex.ast import (
    Alternation,
    Anchor,
    Atomic,
    Border,
    Characters,
    Concatenation,
    Look,
    Node,
    Repeat,
    children,
    concatenation,
    contains,
    repeat,
)
from sfgen.regex.characters import TEXT, Ranges, union

_ANYTHING = repeat(Characters(TEXT), 0, None)


def compile_pattern(pattern: str) -> Deterministic:
    """Build the minimal automaton of the texts that a pattern matches.

    It may be that of the empty language.
    """
    with nesting_limit(pattern):
        return compile_tree(parse(pattern), pattern)


def compile_tree(tree: Node, pattern: str) -> Deterministic:
    """Build the minimal automaton of the texts that a whole tree matches.

    It may be that of the empty language.
    """
    if not contains(tree, (Anchor, Atomic, Look)):
        return _automaton(tree, pattern)
    tree = without_atomics(settle(tree), pattern)
    demands, rest = _demands_on_the_whole(tree)
    automaton = _automaton(rest, pattern)
    for demand in demands:
        parts = [_ANYTHING, demand.child] if demand.behind else [demand.child, _ANYTHING]
        keep = Keep.LEFT_ONLY if demand.negative else Keep.BOTH
        automaton = minimize(product(automaton, _automaton(concatenation(parts), pattern), keep, pattern))
    return automaton


class Bordered(NamedTuple):
    """An automaton of texts with borders, over symbols."""

    automaton: Deterministic  # minimal; it reads the UTF-8 of symbols, and :data:`sfgen.automata.nfa.BORDER`
    anything: Deterministic
    symbols: Symbols


def compile_bordered(pattern: str) -> Bordered:
    r"""Build the automaton of texts with two borders around a match.

    Lookarounds of the match see the whole text, also before the first border and after the second. The pattern has the
    meaning that it has for ``re.search``: classes, ``\b`` and case are those of Unicode unless it says ``(?a)``.
    """
    with nesting_limit(pattern):
        tree = concatenation([_ANYTHING, Border(), parse(pattern, ascii_only=False), Border(), _ANYTHING])
        tree, symbols = by_symbol(settle(tree))
        automaton = _automaton(without_atomics(tree, pattern), pattern)
    return Bordered(automaton, _texts_of(len(symbols.members)), symbols)


@lru_cache(maxsize=64)
def _texts_of(symbols: int) -> Deterministic:
    """Build the automaton of all texts of N symbols."""
    return _automaton(repeat(Characters(((0, symbols - 1),)), 0, None), "")


@contextmanager
def nesting_limit(pattern: str) -> Iterator[None]:
    """Turn a ``RecursionError`` inside into an error of the pattern."""
    try:
        yield
    except RecursionError:
        raise PatternTooLarge("groups are nested too deep", pattern, hint="Take away groups inside groups.") from None


def _demands_on_the_whole(tree: Node) -> tuple[list[Look], Node]:
    """Split off lookaheads at a tree's start and lookbehinds at its end."""
    parts = list(tree.parts) if isinstance(tree, Concatenation) else [tree]
    demands: list[Look] = []
    while parts and isinstance(part := parts[0], Look) and not part.behind:
        demands.append(part)
        del parts[0]
    while parts and isinstance(part := parts[-1], Look) and part.behind:
        demands.append(part)
        del parts[-1]
    return demands, concatenation(parts)


def _automaton(tree: Node, pattern: str) -> Deterministic:
    nfa = build(tree, pattern)
    if nfa.lookarounds:
        nfa = without_lookarounds(nfa, pattern)
    return minimize(determinize(nfa, pattern))


class Symbols(NamedTuple):
    """The characters, grouped by the sets of a tree that they are in."""

    firsts: NDArray[np.int32]  # where each run of characters begins that are one symbol, int32, from 0 on
    numbers: NDArray[np.int32]  # the symbol of each run, int32; -1 for surrogates, which are in no text
    members: tuple[str, ...]

    def map(self) -> CharacterMap:
        """Return the symbols of all characters."""
        return CharacterMap.of_runs(self.firsts, self.numbers)

    def number(self, character: str) -> int:
        """Return the symbol of a character."""
        return self.numbers.data[bisect_right(self.firsts.data, ord(character)) - 1]


def by_symbol(tree: Node) -> tuple[Node, Symbols]:
    """Replace characters by symbols.

    >>> tree, symbols = by_symbol(Characters(((97, 99), (101, 101))))
    >>> tree, symbols.members, [symbols.number(letter) for letter in "abcde"]
    (Characters(ranges=((1, 1),)), ('\\x00', 'a'), [1, 1, 1, 0, 1])
    """
    sets = list(dict.fromkeys([TEXT, *_sets(tree)]))
    edges = [_edges(ranges) for ranges in sets]
    cuts = np.unique(np.concatenate(edges))
    is_in = np.stack([np.searchsorted(each, cuts, side="right") % 2 == 1 for each in edges])
    runs = np.flatnonzero(is_in[0])  # of text; from each cut to the next one every set has all characters or none
    chosen, symbol_of_run = distinct(np.packbits(is_in[:, runs], axis=0).T.astype(np.int32))
    numbers = np.full(len(cuts), -1, dtype=np.int32)
    numbers[runs] = symbol_of_run
    over_symbols = {
        ranges: union((symbol, symbol) for symbol in np.flatnonzero(inside).tolist())
        for ranges, inside in zip(sets, is_in[:, runs[chosen]], strict=True)
    }
    members = tuple(map(chr, cuts[runs[chosen]].tolist()))
    return _replaced(tree, over_symbols), Symbols(cuts.astype(np.int32), numbers, members)


@lru_cache(maxsize=64)
def _edges(ranges: Ranges) -> NDArray[np.int64]:
    """Return the code points at which a set begins or has ended, int64."""
    return np.array([edge for first, last in ranges for edge in (first, last + 1)], dtype=np.int64)


def _sets(tree: Node) -> Iterator[Ranges]:
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Characters):
            yield node.ranges
        waiting.extend(children(node))


def _replaced(node: Node, symbols: dict[Ranges, Ranges]) -> Node:
    match node:
        case Characters(ranges):
            return Characters(symbols[ranges])
        case Concatenation(parts):
            return Concatenation(tuple([_replaced(part, symbols) for part in parts]))
        case Alternation(branches):
            return Alternation(tuple([_replaced(branch, symbols) for branch in branches]))
        case Repeat(child) | Atomic(child) | Look(child):
            return replace(node, child=_replaced(child, symbols))
        case _:
            return node
