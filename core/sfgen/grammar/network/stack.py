"""The shared stacks of a network: a graph-structured stack (Tomita 1986).

A node contains the frames to which a rule may return at its end: mostly one, and several where a text has several
readings. Equal nodes are the same object. So positions are compared and looked up quickly, and list items in equal
positions share their masks.
"""

from __future__ import annotations

import threading
from typing import NamedTuple, TypeAlias

from sfgen.grammar.network.distances import FAR, RuleDistances
from sfgen.grammar.network.network import Network
from sfgen.grammar.network.registers.register import NO_TEXTS, Register, texts_in, texts_read
from sfgen.grammar.shell.completion import Shortest

_KEPT = 1 << 16
"""The most nodes that are cached by their frames; beyond that the cache is emptied."""


class Node:
    """The stack below a rule. Made by ``FrameStacks``; compared by identity.

    Attributes:
        frames: The frames to return to; none at the bottom.
        distance: The fewest bytes from the return to the end of the text.
        is_distinct: Whether a distinct call entered the rule above, so that its register is the text read so far.
        depth: The number of frames below, along the first frame of each node.
        most_texts: The most texts in a register below.
        canonical: The node with canonical registers; see ``FrameStacks.canonical_register``.
        shortest: A shortest text from the return to the end; ``None`` until it is found.
    """

    __slots__ = ("_texts", "canonical", "depth", "distance", "frames", "is_distinct", "most_texts", "shortest")

    def __init__(self, frames: tuple[Frame, ...], distance: int, is_distinct: bool) -> None:
        self.frames = frames
        self.distance = distance
        self.is_distinct = is_distinct
        self.depth: int = frames[0].below.depth + 1 if frames else 0
        self.most_texts: int = max(
            (max(frame.below.most_texts, texts_in(frame.register)) for frame in frames), default=0
        )
        self.canonical: Node = self
        self.shortest: Shortest | None = None
        self._texts: frozenset[bytes] | None = None

    @property
    def texts(self) -> frozenset[bytes]:
        """The texts in all registers below."""
        waiting: list[Node] = [self]
        while waiting:  # no recursion: a stack may be deep
            unknown = [frame.below for frame in waiting[-1].frames if frame.below._texts is None]
            if not unknown:
                node = waiting.pop()
                node._texts = frozenset[bytes]().union(
                    *(texts_read(frame.register) | (frame.below._texts or NO_TEXTS) for frame in node.frames)
                )
            waiting += unknown
        assert self._texts is not None
        return self._texts

    def __repr__(self) -> str:
        """Show the return states, the last pushed first."""
        found, node = [], self
        while node.frames:
            found.append("|".join(str(frame.state) for frame in node.frames))
            node = node.frames[0].below
        return f"Node({' '.join(found)})"


class Frame(NamedTuple):
    """A frame of the stack.

    Attributes:
        state: The return state.
        register: The register of its rule.
        below: The stack below.
    """

    state: int
    register: Register
    below: Node


class NetworkConfiguration(NamedTuple):
    """A state, the register of its rule, and the stack below."""

    state: int
    register: Register
    node: Node


NetworkPosition: TypeAlias = tuple[NetworkConfiguration, ...]
"""All ways to read a text so far, at least one."""


class FrameStacks:
    """Makes the stack nodes of one network, one object for equal nodes. Safe to share between threads."""

    def __init__(self, network: Network, distances: RuleDistances, longest: int) -> None:
        self.network = network
        self.distances = distances
        self.bottom = Node((), 0, False)
        self._known: dict[tuple[frozenset[Frame], bool] | tuple[int, Register, Node, bool], Node] = {}
        self._lock = threading.Lock()
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
        """Return the node with the frames of several nodes."""
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

    def distance(self, position: NetworkPosition) -> int:
        """Return the fewest bytes from a position to the end; ``FAR`` or more if there is no way."""
        least = FAR
        for state, register, node in position:
            least = min(least, self.distances.of(state, register) + node.distance)
        return least

    def canonical_register(self, state: int, register: Register) -> int:
        """Return one register for all registers with the same masks."""
        return self.distances.registers.canonical(state, register, self._longest)
