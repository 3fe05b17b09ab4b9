"""The two automata behind banned words: all words at once, one step per byte or character.

:class:`AhoCorasick` finds byte strings. It serves the entries that are made of word characters and white space, nearly
all of a usual list, over a stream in which separators are bytes of their own (see :mod:`sfgen.ban.matcher`).

:class:`GapTrie` finds entries that contain literal punctuation. There, a gap between two words swallows any run of
non-word characters while the very same characters may also be literal (``c++ ++c``), so the set of partial matches is
not told by the longest one, as failure links need. It is followed as a set of trie nodes instead, never more than the
trie has nodes that fit the end of the text.
"""

from __future__ import annotations

import threading
import unicodedata
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise, product
from math import prod
from typing import Final

ROOT: Final = 0

LINKED: Final = 1
ACCEPTING: Final = 2


class AhoCorasick:
    """The automaton of Aho and Corasick (1975) over bytes.

    It is a trie of all keywords with failure and output links. A node stands for the longest suffix of the text read so
    far that begins some keyword; the root is node 0. Steps cost amortised constant time per byte, whatever the number
    of keywords. Immutable once made, but for what it remembers: a text meets few of the nodes of a long list, so nodes
    and links are made when one is met. Until then a node is only the keywords that begin with it, side by side in their
    order.

    Attributes:
        goto: The child of a node by ``node << 8 | byte``, where there is one and the children of the node were made;
            those of the root always are.
        known: Of each node that a text has reached ``LINKED`` or ``ACCEPTING``; 0 of the others.

    >>> automaton = AhoCorasick([b"she", b"he", b"hers"])
    >>> node = ROOT
    >>> for byte in b"ushe":
    ...     node = automaton.step(node, byte)
    >>> list(automaton.outputs(node)), automaton.depth(node)
    ([0, 1], 3)
    """

    def __init__(self, keywords: Iterable[bytes]) -> None:
        given = list(keywords)
        if b"" in given:
            raise ValueError(f"keyword {given.index(b'')} is empty")
        self._order = array("i", sorted(range(len(given)), key=given.__getitem__))
        self._keywords = [given[number] for number in self._order]
        # goto[node << 8 | byte] is the child of a node; a missing key is the function's "fail".
        self.goto: Final[dict[int, int]] = {}
        self._byte_of, self._first, self._inner = bytearray(1), bytearray(1), bytearray([bool(given)])
        # The keywords of each node: the first in order, and the one after the last.
        self._low, self._high = array("i", [0]), array("i", [len(given)])
        self._parent, self._depth = array("i", [ROOT]), array("i", [0])
        self._ends: dict[int, tuple[int, ...]] = {}
        self._is_open = bytearray(1)  # of the nodes whose children were made
        self._fail, self._output, self._pending = array("i", [ROOT]), array("i", [ROOT]), array("i", [ROOT])
        self.known: Final = bytearray([LINKED])
        self._lock = threading.Lock()
        self._open(ROOT)

    def _child(self, node: int, byte: int) -> int | None:
        """Return the child of a node by a byte, or ``None``."""
        if not self._is_open[node]:
            self._open(node)
        return self.goto.get(node << 8 | byte)

    def _open(self, node: int) -> None:
        """Make the children of a node."""
        with self._lock:
            if self._is_open[node]:
                return
            keywords, depth, high = self._keywords, self._depth[node], self._high[node]
            at = self._low[node] + len(self._ends.get(node, ()))
            while at < high:
                keyword = keywords[at]
                byte = keyword[depth]
                behind = high if byte == 255 else bisect_left(keywords, keyword[:depth] + bytes([byte + 1]), at, high)
                self._add(node, byte, at, behind)
                at = behind
            self._is_open[node] = 1

    def _add(self, parent: int, byte: int, low: int, high: int) -> None:
        """Make the node of some keywords below another one."""
        node, depth = len(self._depth), self._depth[parent] + 1
        end = low
        while end < high and len(self._keywords[end]) == depth:
            end += 1
        if end > low:
            self._ends[node] = tuple(self._order[low:end])
        self._inner.append(end < high)
        self._low.append(low)
        self._high.append(high)
        self._byte_of.append(byte)
        self._first.append(byte if parent == ROOT else self._first[parent])
        self._parent.append(parent)
        self._is_open.append(0)
        for links in (self._fail, self._output, self._pending):
            links.append(ROOT)
        self.known.append(0)
        self._depth.append(depth)
        self.goto[parent << 8 | byte] = node  # last: other threads look here

    def _link(self, node: int) -> None:
        """Make the failure link of a node, after the links that it takes, of smaller depth.

        Threads may compute equal links at the same time.
        """
        fail, ends = self._fail, self._ends
        wanted = [node]
        while wanted:
            node = wanted[-1]
            suffix = self._suffix(node)
            if suffix < 0:
                wanted.append(~suffix)
                continue
            wanted.pop()
            self._output[node] = suffix if suffix in ends else self._output[suffix]
            self._pending[node] = node if self._inner[node] else self._pending[suffix]
            fail[node] = suffix
            # Last: it says that the others are there.
            self.known[node] = ACCEPTING if node in ends or self.known[suffix] == ACCEPTING else LINKED

    def _suffix(self, node: int) -> int:
        """Return the node of a failure link; ``~other`` if the link of another node must be made first."""
        fail, known = self._fail, self.known
        ancestor, byte = self._parent[node], self._byte_of[node]
        if ancestor == ROOT:
            return ROOT
        while known[ancestor]:
            ancestor = fail[ancestor]
            child = self._child(ancestor, byte)
            if child is not None:
                return child if known[child] else ~child
            if ancestor == ROOT:
                return ROOT
        return ~ancestor

    def step(self, node: int, byte: int) -> int:
        """Return the node after one more byte."""
        fail = self._fail
        child = self._child(node, byte)
        while child is None:
            if node == ROOT:
                return ROOT
            node = fail[node]
            child = self._child(node, byte)
        if not self.known[child]:
            self._link(child)
        return child

    def accepts(self, node: int) -> bool:
        """Tell whether some keyword ends at a node."""
        return self.known[node] == ACCEPTING

    def outputs(self, node: int) -> Iterator[int]:
        """Yield the indices of all keywords that end here, longest first."""
        while node != ROOT:
            yield from self._ends.get(node, ())
            node = self._output[node]

    def depth(self, node: int) -> int:
        """Return the number of bytes that a node stands for."""
        return self._depth[node]

    def place(self, node: int) -> tuple[int, int]:
        """Return a key of a node that does not depend on when nodes were made.

        It is the first of its keywords in order, by number, and its depth.

        >>> automaton = AhoCorasick([b"abc", b"cd"])
        >>> automaton.place(automaton.step(ROOT, ord("c"))), automaton.place(automaton.step(ROOT, ord("a")))
        ((1, 1), (0, 1))
        """
        return self._low[node], self._depth[node]

    def pending(self, node: int) -> int:
        """Return the longest suffix of a node that begins a longer keyword: the node itself at most.

        >>> automaton = AhoCorasick([b"abc", b"cd"])
        >>> node = ROOT
        >>> for byte in b"abc":
        ...     node = automaton.step(node, byte)
        >>> automaton.depth(node), automaton.depth(automaton.pending(node))
        (3, 1)
        """
        return self._pending[node]

    def suffix(self, node: int) -> int:
        """Return the next shorter suffix that begins a longer keyword; else the root."""
        return self._pending[self._fail[node]]

    def ends_with(self, node: int, suffix: int) -> bool:
        """Tell whether the text of a node ends with that of another; both have been reached.

        >>> automaton = AhoCorasick([b"abc", b"bcd"])
        >>> one = automaton.step(automaton.step(ROOT, ord("a")), ord("b"))
        >>> automaton.ends_with(one, automaton.step(ROOT, ord("b"))), automaton.ends_with(ROOT, one)
        (True, False)
        """
        while self._depth[node] > self._depth[suffix]:
            node = self._fail[node]
        return node == suffix

    def below(self, node: int, most: int) -> list[int]:
        """List at most ``most`` keywords that a node begins, short ones first.

        >>> automaton = AhoCorasick([b"abcd", b"abc", b"b"])
        >>> automaton.below(automaton.step(ROOT, ord("a")), most=5)
        [1, 0]
        """
        keywords: list[int] = []
        waiting = [node]
        for other in waiting:
            children = [self._child(other, byte) for byte in range(256)] if self._inner[other] else []
            waiting += [child for child in children if child is not None]
            keywords += self._ends.get(other, ()) if other != node else ()
            if len(keywords) >= most:
                break
        return keywords[:most]

    def first_byte(self, node: int) -> int:
        """Return the first byte of a node's text; 0 for the root."""
        return self._first[node]


def _is_mark(symbol: str) -> bool:
    return len(symbol) == 1 and unicodedata.combining(symbol) > 0


def orders(text: str) -> int:
    """Return a bound on the nodes of a :class:`GapTrie` for a run of combining marks.

    >>> orders("cafe\\u0301"), orders("a\\u0323\\u0302")
    (2, 4)
    """
    most = 1
    for marks, run in groupby(text, _is_mark):
        if marks:
            most = max(most, prod(len(list(same)) + 1 for _, same in groupby(run, unicodedata.combining)))
    return most


def has_orders(text: str) -> bool:
    """Tell whether marks of a text in canonical order could stand in another order."""
    classes = [unicodedata.combining(character) for character in text]
    return any(0 < one < other for one, other in pairwise(classes))


BOUNDARY = "boundary"
GAP = "gap"
"""Symbols of a :class:`GapTrie` beside single characters (both are longer than one character)."""

FREE_ROOT = 0
BOUND_ROOT = 1

Threads = dict[int, int]
"""Active node → where its earliest thread began. Never changed in place, so that states can share it."""


class GapTrie:
    """A trie over characters, boundaries and gaps, run nondeterministically.

    A keyword is a sequence of symbols: single characters, ``GAP`` between two words (at least one non-word character),
    and ``BOUNDARY`` as the first or the last symbol. Threads start everywhere; those of keywords that begin with
    ``BOUNDARY`` start at boundaries only. Immutable once made.

    A keyword has its combining marks in canonical order, a text need not: between marks of different combining classes
    the order means nothing (Unicode's annex 15). So a run of marks is a lattice: each of its nodes stands for the marks
    that were read, in whatever order.

    >>> trie = GapTrie([["c", "+", "+", GAP, "d"]])
    >>> threads: Threads = {}
    >>> for place, character in enumerate("c++++d"):
    ...     threads, done = trie.step(threads, character, character == "+", False, place)
    >>> done
    [(0, 0)]
    """

    def __init__(self, keywords: Iterable[Sequence[str]]) -> None:
        self._children: list[dict[str, int]] = [{}, {}]
        self._loops: set[int] = set()
        self._behind_marks: dict[tuple[int, tuple[str, ...]], int] = {}  # where marks stand on → the node behind them
        self._ends: dict[int, list[int]] = {}
        for index, keyword in enumerate(keywords):
            node = BOUND_ROOT if keyword[0] == BOUNDARY else FREE_ROOT
            for is_marks, run in groupby(keyword[1:] if node == BOUND_ROOT else keyword, _is_mark):
                node = (self._add_marks if is_marks else self._add)(node, list(run))
            self._ends.setdefault(node, []).append(index)

    def _add(self, node: int, symbols: Iterable[str]) -> int:
        """Add symbols below a node; return the last node."""
        for symbol in symbols:
            child = self._children[node].get(symbol)
            if child is None:
                child = self._children[node][symbol] = self._new_node()
                if symbol == GAP:
                    self._loops.add(child)
            node = child
        return node

    def _add_marks(self, node: int, marks: list[str]) -> int:
        """Add combining marks below a node, in any order that means the same; return the last node."""
        by_class = [list(run) for _, run in groupby(marks, unicodedata.combining)]
        child = node
        for counts in product(*(range(len(run) + 1) for run in by_class)):
            read = tuple([mark for run, count in zip(by_class, counts, strict=True) for mark in run[:count]])
            child = self._behind_marks.setdefault((node, read), len(self._children)) if read else node
            if child == len(self._children):
                self._new_node()
            for number, count in enumerate(counts):
                if count:
                    fewer = [*counts[:number], count - 1, *counts[number + 1 :]]
                    before = tuple([mark for run, of in zip(by_class, fewer, strict=True) for mark in run[:of]])
                    source = self._behind_marks[node, before] if before else node
                    self._children[source][by_class[number][count - 1]] = child
        return child

    def _new_node(self) -> int:
        self._children.append({})
        return len(self._children) - 1

    def below(self, node: int, most: int) -> list[int]:
        """List at most ``most`` keywords that a node begins, short ones first."""
        keywords: list[int] = []
        waiting = {node: None}
        queue = [node]
        for other in queue:
            queue += [child for child in self._children[other].values() if child not in waiting]
            waiting.update(dict.fromkeys(queue))
            keywords += self._ends.get(other, ()) if other != node else ()
            if len(keywords) >= most:
                break
        return keywords[:most]

    def at_boundary(self, threads: Threads) -> list[tuple[int, int]]:
        """Return the keywords that a boundary after the text completes, as (start, index) pairs."""
        return [
            (start, index)
            for node, start in threads.items()
            if (closed := self._children[node].get(BOUNDARY)) is not None
            for index in self._ends[closed]
        ]

    def step(
        self, threads: Threads, character: str, non_word: bool, bounded: bool, position: int
    ) -> tuple[Threads, list[tuple[int, int]]]:
        """Read one folded character; return the threads after it, and the completed (start, index) pairs."""
        # ``non_word``: a gap may swallow it; ``bounded``: a boundary is before it; ``position``: the start of new
        # threads.
        children = self._children
        after: Threads = {}

        def reach(node: int, start: int) -> None:
            if start < after.get(node, start + 1):
                after[node] = start

        for node, start in threads.items():
            child = children[node].get(character)
            if child is not None:
                reach(child, start)
            if non_word:
                if node in self._loops:
                    reach(node, start)
                child = children[node].get(GAP)
                if child is not None:
                    reach(child, start)
        for root in (FREE_ROOT, BOUND_ROOT) if bounded else (FREE_ROOT,):
            child = children[root].get(character)
            if child is not None:
                reach(child, position)
        if not after:
            return after, []
        done = [(start, index) for node, start in after.items() for index in self._ends.get(node, ())]
        return {node: start for node, start in after.items() if children[node]}, done
