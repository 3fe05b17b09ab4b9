"""A tree over as few characters as it can tell apart.

A pattern names sets of characters, and two characters that are in the same sets are the same to it. All that are make
one *symbol*. The tree in which the symbols stand for their characters has the same shape, and its automaton has few
states and few byte classes, though ``\\w`` has 770 ranges: with up to 128 symbols each is one byte.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sfgen.automata.character_map import CharacterMap
from sfgen.regex.ast import Alternation, Atomic, Characters, Concatenation, Look, Node, Repeat, children
from sfgen.regex.characters import TEXT, Ranges, union

_EVERY = 0x110000


class Symbols(NamedTuple):
    """The characters by what a tree sees in them.

    Args:
        numbers: The symbol of each character; -1 for surrogates, which are in no text.
        members: A character of each symbol.
    """

    numbers: CharacterMap
    members: tuple[str, ...]


def by_symbol(tree: Node) -> tuple[Node, Symbols]:
    """Put symbols in the place of characters.

    Args:
        tree: Over characters.

    Returns:
        The same tree over the characters U+0000, U+0001 and so on, each of which is the symbol with this number.

    >>> tree, symbols = by_symbol(Characters(((97, 99), (101, 101))))
    >>> tree, symbols.members, [symbols.numbers.number(ord(letter)) for letter in "abcde"]
    (Characters(ranges=((1, 1),)), ('\\x00', 'a'), [1, 1, 1, 0, 1])
    """
    sets = list(dict.fromkeys([TEXT, *_sets(tree)]))
    numbers = np.full(_EVERY, -1, dtype=np.int32)
    symbol_of: dict[int, int] = {}  # which sets, as bits → symbol
    members: list[str] = []
    found: dict[Ranges, list[int]] = {ranges: [] for ranges in sets}
    for first, after, inside in _spans(sets):
        symbol = symbol_of.setdefault(inside, len(symbol_of))
        if symbol == len(members):
            members.append(chr(first))
            for number, ranges in enumerate(sets):
                if inside >> number & 1:
                    found[ranges].append(symbol)
        numbers[first:after] = symbol
    over_symbols = {ranges: union((symbol, symbol) for symbol in of_set) for ranges, of_set in found.items()}
    return _replaced(tree, over_symbols), Symbols(CharacterMap.of_numbers(numbers), tuple(members))


def _sets(tree: Node) -> Iterator[Ranges]:
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Characters):
            yield node.ranges
        waiting.extend(children(node))


def _spans(sets: list[Ranges]) -> Iterator[tuple[int, int, int]]:
    """The longest runs of text in which every set has all characters or none: first, end, the sets as bits."""
    changes: dict[int, int] = {}
    for number, ranges in enumerate(sets):
        for first, last in ranges:
            changes[first] = changes.get(first, 0) ^ 1 << number
            changes[last + 1] = changes.get(last + 1, 0) ^ 1 << number
    start, inside = 0, 0
    for position in sorted(changes):
        if inside & 1:  # text
            yield start, position, inside
        inside ^= changes[position]
        start = position


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
