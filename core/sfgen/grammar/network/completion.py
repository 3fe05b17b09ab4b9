"""The shortest text of a network's configuration: the shortest rests of the rules on the stack, one after the other.

Each rest is found once, and each node caches the text from its return to the end. If the text of a distinct call was
read before, the shortest new text replaces it, so the result may be longer than the distance.
"""

from __future__ import annotations

from contextlib import suppress
from typing import cast

import numpy as np

from sfgen.grammar.network.distances import FAR, RuleDistances
from sfgen.grammar.network.network import Network
from sfgen.grammar.network.read import NetworkReader
from sfgen.grammar.network.registers.register import NOTHING_BELOW, Register, texts_read, with_text
from sfgen.grammar.network.registers.texts import NewTexts, NoTextLeft
from sfgen.grammar.network.stack import Frame, NetworkConfiguration, Node
from sfgen.grammar.network.table import DEAD, Way
from sfgen.grammar.shell.completion import AT_END, NO_WAY, Completion, Shortest, shortest_of
from sfgen.index.distance import LONGEST_TEXT
from sfgen.vocabulary import Vocabulary


class _Unknown(Exception):
    """The rest of a rule is not known yet."""

    def __init__(self, state: int, register: Register) -> None:
        super().__init__(state, register)
        self.key = state, register


class NetworkCompletion(Completion[NetworkConfiguration]):
    """Finds shortest completions over one vocabulary. Safe to share between threads."""

    def __init__(self, network: Network, distances: RuleDistances, vocabulary: Vocabulary | None) -> None:
        super().__init__(vocabulary, FAR, is_exact=not network.registers.distinct.leaves)
        self._distances = distances
        usable = np.ones(256, dtype=np.bool_)
        if vocabulary is not None and not vocabulary.trie.single_bytes.all():
            usable = vocabulary.trie.single_bytes
        self._network = network
        self._registers = distances.registers
        # the smallest usable byte of each class, and the class, in byte order
        classes, first = np.unique(network.byte_classes[usable], return_index=True)
        smallest = np.flatnonzero(usable)[first]
        self._smallest = sorted(zip(smallest.tolist(), classes.tolist(), strict=True))
        by_byte = [(byte, int(network.byte_classes[byte])) for byte in np.flatnonzero(usable).tolist()]
        distinct = network.registers.distinct
        self._new_texts = NewTexts(
            network, distinct if usable.all() else distinct.over(usable), distances.base, by_byte
        )
        self._rests: dict[tuple[int, Register], tuple[bytes, Register]] = {}

    def distance(self, configuration: NetworkConfiguration) -> int:
        """Return the fewest bytes from a configuration to an end, distinct texts not compared."""
        state, register, node = configuration
        return self._distances.of(state, register) + node.distance

    def _text_of(self, configuration: NetworkConfiguration) -> bytes:
        return self._of(configuration).text

    def _of(self, configuration: NetworkConfiguration) -> Shortest:
        """Return the shortest text from a configuration to an end, through the best of its frames."""
        state, register, node = configuration
        if node.is_distinct:
            text = cast(bytes, register)
            return shortest_of(self._by_new_text(state, text, frame) for frame in self._open(node))
        try:
            rest = self.rest(state, register)
        except NoTextLeft:
            return NO_WAY
        return self._before(rest, self._below(node))

    def _by_new_text(self, state: int, text: bytes, frame: Frame) -> Shortest:
        """Return the shortest text to an end in which the open distinct text becomes a new one."""
        try:
            rest = self._new_rest(state, text, texts_read(frame.register))
        except NoTextLeft:
            return NO_WAY
        below = self._of(NetworkConfiguration(frame.state, with_text(frame.register, text + rest), frame.below))
        return self._before(rest, below)

    def _below(self, node: Node) -> Shortest:
        """Return the shortest text from a return to the end; cached in the node."""
        waiting = [node]
        while waiting:  # no recursion: a stack may be deep
            last = waiting[-1]
            if last.shortest is None and not last.frames:
                last.shortest = AT_END
            if last.shortest is None:
                unknown = [frame.below for frame in self._open(last) if frame.below.shortest is None]
                if unknown:
                    waiting += unknown
                    continue
                last.shortest = shortest_of(self._of(NetworkConfiguration(*frame)) for frame in self._open(last))
            waiting.pop()
        assert node.shortest is not None
        return node.shortest

    def _open(self, node: Node) -> list[Frame]:
        """Return the frames whose way to the end is short enough to be written out."""
        if len(node.frames) == 1:
            return list(node.frames)
        return [
            frame
            for frame in node.frames
            if self._distances.of(frame.state, frame.register) + frame.below.distance <= LONGEST_TEXT
        ]

    # ---- the rest of a rule ----------------------------------------------------------------------------------------

    def rest(self, state: int, register: Register) -> bytes:
        """Return the shortest text to the end of a state's rule, the first in byte order."""
        return self._rest(state, register)[0]

    def later_texts(self, configuration: NetworkConfiguration) -> frozenset[bytes]:
        """Return the texts that later distinct calls read in the shortest completions of an open distinct call."""
        state, register, node = configuration
        later: frozenset[bytes] = frozenset()
        for frame in self._open(node) if node.is_distinct else ():
            if self._distances.of(frame.state, frame.register) > LONGEST_TEXT:
                continue  # no limit is near
            text = cast(bytes, register)
            with suppress(NoTextLeft):
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
        """Return the smallest byte that begins a shortest way, the way, and the rule's register after it."""
        wanted = self._distances.of(state, register) - 1
        row = self._network.table[state].tolist()
        least: tuple[int, int, list[tuple[Way, Register]]] | None = None
        for byte, byte_class in self._smallest:
            if row[byte_class] == DEAD:
                continue
            ways = (
                (Way(row[byte_class], (), False),)
                if row[byte_class] >= 0
                else self._network.actions[-2 - row[byte_class]]
            )
            for way in ways:
                kept = self._entered(way, register, byte)
                if kept is not None and not self._new_texts.is_used_up(byte, way, register):
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
            raise NoTextLeft
        _, byte, good = least
        way, after_way = min(good, key=lambda way: self._text_through(state, byte, *way)) if len(good) > 1 else good[0]
        return byte, way, after_way

    def _entered(self, way: Way, register: Register, byte: int) -> Register | None:
        """Return the register after a way; ``None`` where the register forbids it."""
        return self._registers.after_step(way.state, 0 if way.is_fresh else register, byte, NOTHING_BELOW)

    def _length(self, way: Way, kept: Register, register: Register) -> int:
        """Return the fewest bytes from the end of a way to the end of the rule."""
        pushed = sum(self._distances.of(push.state, register if push.keeps else 0) for push in way.pushes)
        return self._distances.of(way.state, kept) + pushed

    def _text_through(self, state: int, byte: int, way: Way, after: Register) -> bytes:
        if not way.pushes:
            return bytes([byte]) + self._known(way.state, after)
        called, after = self._called(state, byte, way, after)
        return called + self._known(way.pushes[0].state, after)

    def _called(self, state: int, byte: int, way: Way, register: Register) -> tuple[bytes, Register]:
        """Return the text of a byte and its way until the outermost call returns, and the register then.

        A distinct text that was read before is replaced by the shortest new text of the same call.
        """
        text = bytes([byte]) + self._known(way.state, 0)
        if len(way.pushes) == 1 and way.pushes[0].is_distinct:
            if text in texts_read(register):
                text = self._new_texts.of_call(state, way.pushes, texts_read(register))
            return text, with_text(register, text)
        for push in way.pushes[:0:-1]:
            text += self._known(push.state, with_text(0, text) if push.is_distinct else 0)
        return text, register

    def _new_rest(self, state: int, text: bytes, texts: frozenset[bytes]) -> bytes:
        """Return the shortest rest of a leaf with which its text is not in ``texts``."""
        return self._new_texts.rest(state, text, self.rest(state, 0), texts)


def shortest_text(reader: NetworkReader) -> bytes:
    """Return the shortest text of a network, the first in byte order.

    >>> from sfgen.grammar.network.network import network_of
    >>> from sfgen.grammar.network.rules import Alternation, GrammarRules, Literal
    >>> words = GrammarRules({"word": Alternation((Literal(b"hot"), Literal(b"hi")))}, "word")
    >>> shortest_text(NetworkReader(network_of(words)))
    b'hi'
    """
    return NetworkCompletion(reader.network, reader.stacks.distances, None).text(reader.start)
