"""From the text of a pattern to its minimal automaton: the steps of this package one after another.

A lookahead at the very start of a pattern says something about the whole text, and so does a lookbehind at its very
end. Such a pattern is the intersection of plain languages, ``(?=A)R`` that of ``R`` and ``A.*``, which the fast kernels
make; only what is left of lookarounds needs :mod:`sfgen.automata.lookaround`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from sfgen.automata.algebra import Keep, product
from sfgen.automata.atomic import without_atomics
from sfgen.automata.determinize import Deterministic, determinize
from sfgen.automata.lookaround import without_lookarounds
from sfgen.automata.minimize import minimize
from sfgen.automata.nfa import build
from sfgen.automata.symbols import Symbols, by_symbol
from sfgen.errors import PatternTooLarge
from sfgen.regex import parse, settle
from sfgen.regex.ast import (
    Anchor,
    Atomic,
    Border,
    Characters,
    Concatenation,
    Look,
    Node,
    concatenation,
    contains,
    repeat,
)
from sfgen.regex.characters import TEXT

_ANYTHING = repeat(Characters(TEXT), 0, None)


def compile_pattern(pattern: str) -> Deterministic:
    """Build the minimal automaton of the texts that a pattern matches.

    It may be that of the empty language.

    Raises:
        PatternError: The pattern cannot be read, or is not supported.
        PatternTooLarge: The automaton passes a limit.
    """
    with nesting_limit(pattern):
        return compile_tree(parse(pattern), pattern)


def compile_tree(tree: Node, pattern: str) -> Deterministic:
    """Build the minimal automaton of the texts that a whole tree matches.

    It may be that of the empty language.

    Args:
        tree: What a pattern means, whoever read it.
        pattern: The pattern, for messages.

    Raises:
        PatternError: An atomic group that is not supported.
        PatternTooLarge: The automaton passes a limit.
        RecursionError: The tree is too deep; :func:`nesting_limit` makes an error of it.
    """
    if not contains(tree, (Anchor, Atomic, Look)):
        return _automaton(tree, pattern)
    tree = without_atomics(settle(tree), pattern)
    demands, rest = demands_on_the_whole(tree)
    automaton = _automaton(rest, pattern)
    for demand in demands:
        parts = [_ANYTHING, demand.child] if demand.behind else [demand.child, _ANYTHING]
        keep = Keep.LEFT_ONLY if demand.negative else Keep.BOTH
        automaton = minimize(product(automaton, _automaton(concatenation(parts), pattern), keep, pattern))
    return automaton


class Bordered(NamedTuple):
    """An automaton of texts with borders, over symbols (see :mod:`sfgen.automata.symbols`).

    Args:
        automaton: Minimal; it reads the UTF-8 of symbols, and :data:`sfgen.automata.nfa.BORDER`.
        anything: The minimal automaton of all texts of symbols.
        symbols: Which characters the symbols stand for.
    """

    automaton: Deterministic
    anything: Deterministic
    symbols: Symbols


def compile_bordered(pattern: str) -> Bordered:
    r"""Build the automaton of texts with two borders around a match.

    A match sees the whole text, with what stands before the first border and behind the second. The pattern means what
    it does for ``re.search``: classes, ``\b`` and case are those of Unicode unless it says ``(?a)``.

    Raises:
        PatternError: The pattern cannot be read, or is not supported.
        PatternTooLarge: The automaton passes a limit.
    """
    with nesting_limit(pattern):
        tree = concatenation([_ANYTHING, Border(), parse(pattern, ascii_only=False), Border(), _ANYTHING])
        tree, symbols = by_symbol(settle(tree))
        every_symbol = Characters(((0, len(symbols.members) - 1),))
        return Bordered(
            _automaton(without_atomics(tree, pattern), pattern), _automaton(repeat(every_symbol, 0, None), ""), symbols
        )


@contextmanager
def nesting_limit(pattern: str) -> Iterator[None]:
    """Turn a ``RecursionError`` inside into an error of the pattern.

    Raises:
        PatternTooLarge: The tree is too deep for the functions that walk it.
    """
    try:
        yield
    except RecursionError:
        raise PatternTooLarge("groups are nested too deep", pattern, hint="Take away groups inside groups.") from None


def demands_on_the_whole(tree: Node) -> tuple[list[Look], Node]:
    """Split off lookaheads at a tree's start and lookbehinds at its end.

    Returns:
        These, and the tree without them.
    """
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
