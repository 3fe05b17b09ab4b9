"""Stacks of a network that are shared: a graph-structured stack (Tomita, 1986).

A node is what lies below a rule: the frames that the text may return to when the rule ends. Mostly it is one frame;
where a text can be read in several ways it may be more. Equal nodes are the same object, so that positions are compared
and looked up quickly, and lists whose items look alike share their masks.
"""

from __future__ import annotations

import threading
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfgen.grammar.any_order import Seen, names_taken, texts_read
from sfgen.grammar.distances import FAR, Distances
from sfgen.grammar.network import Network

_KEPT = 1 << 16
"""Nodes that are known by what they are made of. When there are more, they are forgotten; equal ones are then made."""

Register: TypeAlias = int | bytes | Seen
"""What a rule remembers: a count, or the names that were read; in a rule that was called with ``distinct``, the text
that it has read; in the rule that made such calls, also the texts that they have read."""


_NO_TEXTS: frozenset[bytes] = frozenset()


def texts_in(register: Register) -> int:
    """Count the texts that a register remembers."""
    return 0 if isinstance(register, int) else 1 if isinstance(register, bytes) else len(register.texts)


class Shortest(NamedTuple):
    """A shortest text to the end, and its fewest tokens.

    Attributes:
        text: The bytes.
        tokens: ``tokens[i]`` is the fewest tokens that write ``text[i:]``, int32 ``[len(text) + 1]``.
    """

    text: bytes
    tokens: NDArray[np.int32]


class Node:
    """What lies below a rule. Made by ``Stacks``; compared by identity.

    Attributes:
        frames: The state to return to, the register of its rule, and what lies below; none at the bottom.
        distance: The fewest bytes from the return to the end of the text.
        is_distinct: Whether the rule above was called with ``distinct``, so that it keeps the text that it reads.
        depth: The number of frames below, along the first.
        remembers: The most texts that a register below has in it.
        canonical: The node with canonical registers; see ``Stacks.canonical_register``.
        shortest: A shortest text from here on, once it was looked for.
    """

    __slots__ = ("_texts", "canonical", "depth", "distance", "frames", "is_distinct", "remembers", "shortest")

    def __init__(self, frames: tuple[Frame, ...], distance: int, is_distinct: bool) -> None:
        self.frames = frames
        self.distance = distance
        self.is_distinct = is_distinct
        self.depth: int = frames[0].below.depth + 1 if frames else 0
        self.remembers: int = max((max(frame.below.remembers, texts_in(frame.register)) for frame in frames), default=0)
        self.canonical: Node = self
        self.shortest: Shortest | None = None
        self._texts: frozenset[bytes] | None = None

    @property
    def texts(self) -> frozenset[bytes]:
        """The texts that the registers below remember."""
        waiting: list[Node] = [self]
        while waiting:  # not by recursion: a stack may be deep
            unknown = [frame.below for frame in waiting[-1].frames if frame.below._texts is None]
            if not unknown:
                node = waiting.pop()
                node._texts = frozenset[bytes]().union(
                    *(texts_read(frame.register) | (frame.below._texts or _NO_TEXTS) for frame in node.frames)
                )
            waiting += unknown
        assert self._texts is not None
        return self._texts

    def __repr__(self) -> str:
        """The states to return to, the last pushed first."""
        found, node = [], self
        while node.frames:
            found.append("|".join(str(frame.state) for frame in node.frames))
            node = node.frames[0].below
        return f"Node({' '.join(found)})"


class Frame(NamedTuple):
    """A frame of the stack.

    Attributes:
        state: The state to return to.
        register: The register of its rule.
        below: What lies below.
    """

    state: int
    register: Register
    below: Node


class Configuration(NamedTuple):
    """A state, the register of its rule, and the stack below."""

    state: int
    register: Register
    node: Node


Position: TypeAlias = tuple[Configuration, ...]
"""All the ways to read a text so far, at least one."""


class Stacks:
    """Makes the stack nodes over one network, equal ones once.

    They can be shared between threads.
    """

    def __init__(self, network: Network, distances: Distances, longest: int) -> None:
        self.network = network
        self.distances = distances
        self.bottom = Node((), 0, False)
        self._known: dict[tuple[frozenset[Frame], bool] | tuple[int, Register, Node, bool], Node] = {}
        self._lock = threading.Lock()
        self._most: list[int] = network.maximum.tolist()
        self._least: list[int] = network.minimum.tolist()
        self._longest = longest

    def push(self, state: int, register: Register, below: Node, is_distinct: bool = False) -> Node:
        """Return the node of one frame."""
        key = (state, register, below, is_distinct)
        node = self._known.get(key)
        if node is None:
            distance = min(self.distances.of(state, register) + below.distance, FAR)
            made = Node((Frame(state, register, below),), distance, is_distinct)
            canonical = self.canonical_register(state, register)
            if canonical != register or below.canonical is not below:
                made.canonical = self.push(state, canonical, below.canonical, is_distinct)
            node = self._keep(key, made)
        return node

    def joined(self, nodes: list[Node]) -> Node:
        """Return the node of the frames of several nodes."""
        frames = tuple(dict.fromkeys(frame for node in nodes for frame in node.frames))
        if len(frames) == len(nodes[0].frames):
            return nodes[0]
        is_distinct = nodes[0].is_distinct
        key = frozenset(frames), is_distinct
        node = self._known.get(key)
        if node is None:
            made = Node(frames, min(node.distance for node in nodes), is_distinct)
            if any(node.canonical is not node for node in nodes):
                made.canonical = self.joined([node.canonical for node in nodes])
            node = self._keep(key, made)
        return node

    def _keep(self, key: tuple[frozenset[Frame], bool] | tuple[int, Register, Node, bool], made: Node) -> Node:
        with self._lock:
            if len(self._known) > _KEPT:
                self._known.clear()
            return self._known.setdefault(key, made)

    def distance(self, position: Position) -> int:
        """Return the fewest bytes from a position to the end.

        It is ``FAR`` or more where there is no way.
        """
        least = FAR
        for state, register, node in position:
            least = min(least, self.distances.of(state, register) + node.distance)
        return least

    def canonical_register(self, state: int, register: Register) -> int:
        """Return the register that stands for all with the same masks.

        Texts are forgotten, counts matter near their bounds only, names are kept. Masks are cached by canonical
        registers; what they do not see of texts is checked besides.
        """
        if state in self.distances.members:
            return names_taken(register)
        if not isinstance(register, int):
            return 0
        count, longest = register, self._longest
        if self._most[state] - count <= longest:
            return count
        least = self._least[state]
        if count >= least:
            return least
        return 0 if least - count > longest else count
