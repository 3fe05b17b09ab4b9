"""The shortest way to complete a text, and its fewest tokens.

The shortest text from a position joins the shortest rests of the rules on the stack; of equally short ones it is the
first in byte order. Then the rest behind some of its tokens is again the shortest text from there. So the fewest tokens
that write it fall by one with each token: a limit of that many tokens can always be kept.
"""

from __future__ import annotations

import heapq
import threading
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from typing import cast

import numpy as np

from sfgen.errors import InternalError, TextTooLong
from sfgen.grammar.any_order import texts_read, with_name, with_text
from sfgen.grammar.distances import FAR, Distances
from sfgen.grammar.network import DEAD, Network, Push, Way
from sfgen.grammar.read import Reader
from sfgen.grammar.rule_automata import CLOSES, COUNTS
from sfgen.grammar.stack import Configuration, Frame, Node, Position, Register, Shortest
from sfgen.index.distance import LONGEST_TEXT, UNREACHABLE, fewest_tokens
from sfgen.vocabulary import Vocabulary

_KEPT = 1 << 14
"""The configurations whose fewest tokens are cached."""

_KEPT_SEARCHES = 256
"""The searches for new texts that are kept, to be continued."""

_NO_WAY = Shortest(b"", np.full(1, UNREACHABLE, dtype=np.int32))
"""The rest where too few distinct texts are left for any way to the end."""


class _Unknown(Exception):
    """The rest of a rule is not known yet."""

    def __init__(self, state: int, register: Register) -> None:
        super().__init__(state, register)
        self.key = state, register


class _NoTextLeft(Exception):
    """Every distinct text was read."""


class Completion:
    """Finds shortest completions over one vocabulary. Safe to share between threads."""

    def __init__(self, network: Network, distances: Distances, vocabulary: Vocabulary | None) -> None:
        self._distances = distances
        self._vocabulary = vocabulary
        usable = np.ones(256, dtype=np.bool_)
        if vocabulary is not None and not vocabulary.trie.single_bytes.all():
            usable = vocabulary.trie.single_bytes
        self._network = network if usable.all() else network.over(usable)
        # The smallest usable byte of each class, with the class, in byte order.
        classes, first = np.unique(network.byte_classes[usable], return_index=True)
        smallest = np.flatnonzero(usable)[first]
        self._labels = sorted(zip(smallest.tolist(), classes.tolist(), strict=True))
        self._bytes = [(byte, int(network.byte_classes[byte])) for byte in np.flatnonzero(usable).tolist()]
        self._takes = network.takes
        self._has_distinct = any(site.is_distinct for sites in network.calls.values() for site in sites)
        self._rests: dict[tuple[int, Register], tuple[bytes, Register]] = {}
        self._tokens: dict[Configuration, int] = {}
        self._in_order: dict[tuple[tuple[bytes, int], ...], _TextsInOrder] = {}

    def text(self, position: Position) -> bytes:
        """Return the shortest text from a position to an end, which must exist."""
        least = min(map(self._bytes_left, position))
        if least > LONGEST_TEXT:
            raise TextTooLong(min(least, FAR), LONGEST_TEXT, is_exact=least < FAR)
        best = _shortest(
            self._of(configuration) for configuration in position if self._bytes_left(configuration) <= LONGEST_TEXT
        )
        if best is _NO_WAY:
            raise InternalError("there is no way to complete a text")
        return best.text

    def tokens_left(self, position: Position) -> int:
        """Return the fewest tokens of the shortest text to an end; ``UNREACHABLE`` if it cannot be written.

        Beyond ``LONGEST_TEXT`` bytes it is a bound: their number, or the highest where distinct texts may be longer.
        """
        least = int(UNREACHABLE)
        for configuration in position:
            length = self._bytes_left(configuration)
            if LONGEST_TEXT < length < FAR:
                most = int(UNREACHABLE) - 1
                least = min(least, most if self._has_distinct else length, most)
            elif length < FAR:
                known = self._tokens.get(configuration)
                if known is None:
                    if len(self._tokens) > _KEPT:
                        self._tokens.clear()
                    known = self._tokens[configuration] = int(self._of(configuration).tokens[0])
                least = min(least, known)
        return least

    def _bytes_left(self, configuration: Configuration) -> int:
        """Return the fewest bytes from a configuration to an end, distinct texts not compared."""
        state, register, node = configuration
        return self._distances.of(state, register) + node.distance

    def _of(self, configuration: Configuration) -> Shortest:
        """Return the shortest text from a configuration to an end, through the best of its frames."""
        state, register, node = configuration
        if node.is_distinct:
            text = cast(bytes, register)
            return _shortest(self._by_new_text(state, text, frame) for frame in self._open(node))
        try:
            rest = self.rest(state, register)
        except _NoTextLeft:
            return _NO_WAY
        return self._before(rest, self._below(node))

    def _by_new_text(self, state: int, text: bytes, frame: Frame) -> Shortest:
        """Return the shortest text to an end in which the open distinct text becomes a new one."""
        try:
            rest = self._new_rest(state, text, texts_read(frame.register))
        except _NoTextLeft:
            return _NO_WAY
        below = self._of(Configuration(frame.state, with_text(frame.register, text + rest), frame.below))
        return self._before(rest, below)

    def _below(self, node: Node) -> Shortest:
        """Return the shortest text from a return on; cached in the node."""
        waiting = [node]
        while waiting:  # no recursion: a stack may be deep
            last = waiting[-1]
            if last.shortest is None and not last.frames:
                last.shortest = Shortest(b"", np.zeros(1, dtype=np.int32))
            if last.shortest is None:
                unknown = [frame.below for frame in self._open(last) if frame.below.shortest is None]
                if unknown:
                    waiting += unknown
                    continue
                last.shortest = _shortest(self._of(Configuration(*frame)) for frame in self._open(last))
            waiting.pop()
        assert node.shortest is not None
        return node.shortest

    def _open(self, node: Node) -> list[Frame]:
        """Return the frames with a way to the end that can be written out."""
        if len(node.frames) == 1:
            return list(node.frames)
        return [
            frame
            for frame in node.frames
            if self._distances.of(frame.state, frame.register) + frame.below.distance <= LONGEST_TEXT
        ]

    def _before(self, rest: bytes, below: Shortest) -> Shortest:
        """Put a text before a known one, and count its tokens."""
        if below is _NO_WAY:
            return _NO_WAY
        text = rest + below.text
        tokens = np.concatenate([np.full(len(rest), UNREACHABLE, dtype=np.int32), below.tokens])
        if self._vocabulary is not None and rest:
            trie = self._vocabulary.trie
            fewest_tokens(
                np.frombuffer(text, dtype=np.uint8), len(rest), tokens,
                trie.bytes, trie.subtree_ends, trie.token_starts, trie.roots,
            )  # fmt: skip
        return Shortest(text, tokens)

    # ---- the rest of a rule ----------------------------------------------------------------------------------------

    def rest(self, state: int, register: Register) -> bytes:
        """Return the shortest text to the end of a state's rule, the first in byte order."""
        return self._rest(state, register)[0]

    def later_texts(self, configuration: Configuration) -> frozenset[bytes]:
        """Return the texts that later distinct calls read in the shortest completions of the open one."""
        state, register, node = configuration
        later: frozenset[bytes] = frozenset()
        for frame in self._open(node) if node.is_distinct else ():
            if self._distances.of(frame.state, frame.register) > LONGEST_TEXT:
                continue  # no limit is near
            text = cast(bytes, register)
            with suppress(_NoTextLeft):
                after = with_text(frame.register, text + self._new_rest(state, text, texts_read(frame.register)))
                later |= texts_read(self._rest(frame.state, after)[1]) - after.texts
        return later

    def _rest(self, state: int, register: Register) -> tuple[bytes, Register]:
        """Return the shortest text to the end of a state's rule, and the register there."""
        waiting = [(state, register)]
        while waiting:  # no recursion: chains of rules may be long
            try:
                if waiting[-1] not in self._rests:
                    self._rests[waiting[-1]] = self._find_rest(*waiting[-1])
                waiting.pop()
            except _Unknown as unknown:
                waiting.append(unknown.key)
        return self._rests[state, register]

    def _known(self, state: int, register: Register) -> bytes:
        """Return the shortest text to the end of a rule, or raise ``_Unknown``."""
        known = self._rests.get((state, register))
        if known is None:
            raise _Unknown(state, register)
        return known[0]

    def _find_rest(self, state: int, register: Register) -> tuple[bytes, Register]:
        text = bytearray()
        while not self._network.accepting[state]:
            byte, way, after = self._best_step(state, register)
            if way.pushes:
                called, after = self._called(state, byte, way, after)
                text += called
                state, register = way.pushes[0].state, after
            else:
                text.append(byte)
                state, register = way.state, after
        return bytes(text), register

    def _best_step(self, state: int, register: Register) -> tuple[int, Way, Register]:
        """Return the smallest byte of a shortest way, the way, and the rule's register behind it."""
        wanted = self._distances.of(state, register) - 1
        row = self._network.table[state].tolist()
        least: tuple[int, int, list[tuple[Way, Register]]] | None = None
        for byte, label in self._labels:
            if row[label] == DEAD:
                continue
            ways = (Way(row[label], (), False),) if row[label] >= 0 else self._network.actions[-2 - row[label]]
            for way in ways:
                kept = self._entered(way, register)
                if kept is not None and not self._is_used_up(byte, way, register):
                    length = self._length(way, kept, register)
                    if length >= FAR:
                        continue
                    after = way, kept if not way.pushes else register if way.pushes[0].keeps else 0
                    if least is None or length < least[0]:
                        least = length, byte, [after]
                    elif (length, byte) == least[:2]:
                        least[2].append(after)
            if least is not None and least[0] == wanted:
                break
        if least is None:
            raise _NoTextLeft
        _, byte, good = least
        way, behind = min(good, key=lambda way: self._text_of(state, byte, *way)) if len(good) > 1 else good[0]
        return byte, way, behind

    def _is_used_up(self, byte: int, way: Way, register: Register) -> bool:
        """Tell whether all texts of a distinct call that begin with a byte were read; distances ignore that."""
        if len(way.pushes) != 1 or not way.pushes[0].is_distinct or way.state not in self._network.completions:
            return False
        own, texts = int(self._network.byte_classes[byte]), texts_read(register)
        alike = [bytes([other]) for other, label in self._bytes if label == own]
        return all(self._network.new_texts(way.state, begun, texts) == 0 for begun in alike)

    def _entered(self, way: Way, register: Register) -> Register | None:
        """Return the register behind a way; ``None`` where the count forbids it."""
        kind = self._network.kinds[way.state]
        if way.is_fresh:
            register = 0
        if way.state in self._takes:
            return with_name(register, self._takes[way.state])
        if not isinstance(register, int) or kind not in (COUNTS, CLOSES):
            return register
        least, most = int(self._network.minimum[way.state]), int(self._network.maximum[way.state])
        if kind == CLOSES:
            return 0 if register >= least else None
        return register + 1 if register + 1 + int(self._network.owes[way.state]) <= most else None

    def _length(self, way: Way, kept: Register, register: Register) -> int:
        """Return the bytes behind a way to the end of the rule."""
        pushed = sum(self._distances.of(push.state, register if push.keeps else 0) for push in way.pushes)
        return self._distances.of(way.state, kept) + pushed

    def _text_of(self, state: int, byte: int, way: Way, after: Register) -> bytes:
        if not way.pushes:
            return bytes([byte]) + self._known(way.state, after)
        called, after = self._called(state, byte, way, after)
        return called + self._known(way.pushes[0].state, after)

    def _called(self, state: int, byte: int, way: Way, register: Register) -> tuple[bytes, Register]:
        """Return the text of a way and its byte until its outermost call returns, and the register then.

        A distinct text that was read before is replaced by the shortest new one of the same call.
        """
        text = bytes([byte]) + self._known(way.state, 0)
        if len(way.pushes) == 1 and way.pushes[0].is_distinct:
            if text in texts_read(register):
                text = self._new_text(self._first_bytes(state, way.pushes), texts_read(register))
            return text, with_text(register, text)
        for push in way.pushes[:0:-1]:
            text += self._known(push.state, with_text(0, text) if push.is_distinct else 0)
        return text, register

    def _new_rest(self, state: int, text: bytes, texts: frozenset[bytes]) -> bytes:
        """Return the shortest rest of a leaf that makes a text outside ``texts``."""
        rest = self.rest(state, 0)
        if text + rest not in texts:
            return rest
        begun = frozenset(other[len(text) :] for other in texts if other.startswith(text))
        return self._new_text([(b"", state)], begun)

    def _first_bytes(self, state: int, pushes: tuple[Push, ...]) -> list[tuple[bytes, int]]:
        """Return the first bytes of a call in a state, with the called rule's states behind them."""
        row = self._network.table[state].tolist()
        return [
            (bytes([byte]), way.state)
            for byte, label in self._bytes
            if row[label] < DEAD
            for way in self._network.actions[-2 - row[label]]
            if way.pushes == pushes
        ]

    def _new_text(self, begun: list[tuple[bytes, int]], texts: frozenset[bytes]) -> bytes:
        """Return the first text of a leaf, by length, then bytes, outside ``texts``; ``begun`` are beginnings and
        states.
        """
        key = tuple(begun)
        search = self._in_order.get(key)
        if search is None:
            if len(self._in_order) >= _KEPT_SEARCHES:
                self._in_order.clear()
            search = self._in_order[key] = _TextsInOrder(self._network, self._distances, self._bytes, key)
        return search.first_beside(texts)


def shortest_text(reader: Reader) -> bytes:
    """Return the shortest text of a network, the smallest of several.

    >>> from sfgen.grammar.network import network_of
    >>> from sfgen.grammar.rules import Alternation, Grammar, Literal
    >>> shortest_text(Reader(network_of(Grammar({"word": Alternation((Literal(b"hot"), Literal(b"hi")))}, "word"))))
    b'hi'
    """
    return Completion(reader.network, reader.stacks.distances, None).text(reader.start)


class _TextsInOrder:
    """The texts of a leaf with some beginnings, by length, then bytes. Safe to share between threads."""

    def __init__(
        self,
        network: Network,
        distances: Distances,
        labels: Sequence[tuple[int, int]],
        begun: Sequence[tuple[bytes, int]],
    ) -> None:
        self._network = network
        self._distances = distances
        self._labels = labels
        self._found: list[bytes] = []
        self._waiting = [(len(text) + distances.of(state, 0), text, state) for text, state in begun]
        heapq.heapify(self._waiting)
        self._lock = threading.Lock()

    def first_beside(self, texts: Collection[bytes]) -> bytes:
        """Return the first text outside ``texts``."""
        number = 0
        while True:
            with self._lock:
                while number >= len(self._found):
                    self._find()
            if self._found[number] not in texts:
                return self._found[number]
            number += 1

    def _find(self) -> None:
        """Take a step of the search."""
        if not self._waiting:
            raise _NoTextLeft
        _, text, state = heapq.heappop(self._waiting)
        if self._network.accepting[state]:
            self._found.append(text)
        row = self._network.table[state].tolist()
        for byte, label in self._labels:  # every byte: bytes of one class make different texts
            if row[label] >= 0 and (left := self._distances.of(row[label], 0)) < FAR:
                heapq.heappush(self._waiting, (len(text) + 1 + left, text + bytes([byte]), row[label]))


def _shortest(completions: Iterable[Shortest]) -> Shortest:
    """Return the shortest text, the first in byte order; ``_NO_WAY`` of none."""
    return min(
        (each for each in completions if each is not _NO_WAY), key=lambda each: _by_length(each.text), default=_NO_WAY
    )


def _by_length(text: bytes) -> tuple[int, bytes]:
    return len(text), text
