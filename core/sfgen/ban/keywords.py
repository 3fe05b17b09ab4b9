"""Words in the order of their bytes: which of them begin with what was read.

A word is a *key* here: its folded characters in UTF-8, :data:`GAP` between two words of a phrase, and :data:`BOUNDARY`
where a match must begin or end at one. Keys that begin alike lie side by side, so that a node of their trie is a
range: the first key, the one behind the last, and the bytes that they have in common. It is found by bisection when a
text comes to it, and no trie is ever made.

Combining marks of different classes mean the same in any order (Unicode's annex 15). A key has them in canonical order,
a text need not. So marks are not read off the keys one by one: a thread keeps those that it has read since the last
other character, in canonical order, as long as some key has them all.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from heapq import nsmallest
from itertools import groupby
from math import prod
from typing import Final, TypeAlias
from unicodedata import combining

BOUNDARY: Final = b"\xfe"
GAP: Final = b"\xfd"
"""Symbols beside characters: no byte of UTF-8 is one of them, nor comes behind them."""

_FIRST_MARK: Final = "\u0300".encode()
_MOST_LISTED: Final = 1_000

Node: TypeAlias = tuple[int, int, int]
"""A run of keys that begin alike: the first, the one behind the last, and how many bytes they share."""


class Keywords:
    r"""Keys in order.

    Attributes:
        free: The node of the keys that may begin anywhere; ``None``: there are none.
        bound: The node of those that begin at a boundary, behind that; ``None``: there are none.

    >>> words = Keywords([b"\xfetalk\xfe", b"all", b"\xfetall\xfdtales"])
    >>> node = words.bound
    >>> for letter in (b"t", b"a", b"l"):
    ...     node = words.child(node, letter)
    >>> node, words.child(node, b"k"), words.child(node, b"e")
    ((1, 3, 4), (1, 2, 5), None)
    """

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._order = array("i", sorted(range(len(keys)), key=keys.__getitem__))
        self._keys = [keys[number] for number in self._order]
        first_bound = bisect_left(self._keys, BOUNDARY)
        self.free: Final[Node | None] = (0, first_bound, 0) if first_bound else None
        self.bound: Final[Node | None] = (first_bound, len(keys), 1) if first_bound < len(keys) else None

    def child(self, node: Node, symbol: bytes) -> Node | None:
        """Return the node after one more symbol."""
        low, high, depth = node
        keys = self._keys
        if high - low > 1:
            wanted = keys[low][:depth] + symbol
            low = bisect_left(keys, wanted, low, high)
            if low == high:
                return None
            if high - low > 1:
                high = bisect_left(keys, wanted[:-1] + bytes([wanted[-1] + 1]), low, high)
        return (low, high, depth + len(symbol)) if high > low and keys[low].startswith(symbol, depth) else None

    def ends(self, node: Node) -> Sequence[int]:
        """Return the numbers of the keys that are complete at a node."""
        low, high, depth = node
        behind = low
        while behind < high and len(self._keys[behind]) == depth:
            behind += 1
        return self._order[low:behind]

    def goes_on(self, node: Node) -> bool:
        """Tell whether a node begins a longer key."""
        return len(self._keys[node[1] - 1]) > node[2]

    def is_in_gap(self, node: Node) -> bool:
        """Tell whether the last symbol of a node is a gap."""
        low, _, depth = node
        return self._keys[low].startswith(GAP, depth - 1)

    def longer(self, node: Node, most: int) -> list[int]:
        """List the numbers of some keys that a node begins, short ones first."""
        low, high, depth = node
        longer = (at for at in range(low, min(high, low + _MOST_LISTED)) if len(self._keys[at]) > depth)
        return [self._order[at] for at in nsmallest(most, longer, key=lambda at: len(self._keys[at]))]

    # ---- combining marks -----------------------------------------------------------------------------------------

    def behind_marks(self, node: Node, marks: str) -> Node | None:
        """Return the node after marks in canonical order."""
        behind: Node | None = node
        for mark in marks:
            behind = behind and self.child(behind, mark.encode())
        return behind

    def goes_on_with(self, node: Node, marks: str) -> bool:
        """Tell whether a node and marks behind it, in any order that means the same, begin a longer key."""
        behind = self.behind_marks(node, marks)
        if behind is not None and self.goes_on(behind):
            return True
        return any(_begins(marks, run) for run in self._runs_of_marks(node, ""))

    def _runs_of_marks(self, node: Node, before: str) -> Iterator[str]:
        """Yield the marks that follow a node in some key, behind those ``before`` it."""
        low, high, depth = node
        at = bisect_left(self._keys, self._keys[low][:depth] + _FIRST_MARK, low, high)
        while at < high:
            symbol = _first_symbol(self._keys[at], depth)
            child = self.child((at, high, depth), symbol)
            assert child is not None
            at = child[1]
            if symbol < GAP and combining(symbol.decode()):
                run = before + symbol.decode()
                yield run
                yield from self._runs_of_marks(child, run)


def _first_symbol(key: bytes, at: int) -> bytes:
    """Return the symbol at a position of a key."""
    lead = key[at]
    return key[at : at + (1 if lead < 0xC0 or lead >= GAP[0] else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4)]


def with_mark(marks: str, mark: str) -> str:
    r"""Add a mark behind others in canonical order.

    >>> with_mark("\u0302", "\u0323") == "\u0323\u0302"
    True
    """
    at = len(marks)
    while at and combining(marks[at - 1]) > combining(mark):
        at -= 1
    return marks[:at] + mark + marks[at:]


def _begins(marks: str, run: str) -> bool:
    """Tell whether more marks can make a longer run of these, read in an order that means the same."""
    return len(run) > len(marks) and all(
        _of_class(run, each).startswith(_of_class(marks, each)) for each in set(map(combining, marks))
    )


def _of_class(marks: str, each: int) -> str:
    return "".join(mark for mark in marks if combining(mark) == each)


def orders(text: str) -> int:
    """Return a bound on the ways to read a run of combining marks of a text in part.

    >>> orders("cafe\\u0301"), orders("a\\u0323\\u0302")
    (2, 4)
    """
    if text.isascii():
        return 1
    runs = (list(run) for is_mark, run in groupby(text, lambda letter: combining(letter) > 0) if is_mark)
    return max((prod(len(list(same)) + 1 for _, same in groupby(run, combining)) for run in runs), default=1)
