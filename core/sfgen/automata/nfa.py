"""Syntax tree to nondeterministic automaton over bytes, as flat arrays (Thompson's construction, 1968).

Every fragment runs between two given states. It adds no transition into the first and none out of the second, so
fragments can share them and few empty transitions are needed. A counted repeat is built once and copied with shifted
state numbers.

A lookahead or lookbehind is an automaton of its own, and an empty transition that may be taken only where it holds.

A border is a byte that is in no text. Where a tree has one, the automata of its lookarounds read over borders.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfgen.automata.acyclic import byte_automaton
from sfgen.errors import InternalError, PatternTooLarge
from sfgen.regex.ast import (
    Alternation,
    Border,
    Characters,
    Concatenation,
    Empty,
    Look,
    Node,
    Repeat,
    children,
    contains,
)

MAX_NFA_SIZE = 1_800_000
"""States and transitions together; known from the tree before anything is built."""

BORDER = 0xFF
"""The byte of a border: it is never in UTF-8."""


_FEW = 6  # up to this number, copies of a fragment are made faster one by one


@dataclass(frozen=True, eq=False)
class Nfa:
    """A nondeterministic automaton over bytes.

    State 0 is the start, state 1 the only accepting state.
    """

    states: int
    edges: NDArray[np.int32]  # source, lowest byte, highest byte, target; shape [edges, 4]
    # source, target and guard of the transitions that read nothing; shape [epsilons, 3]. Guard 0 is none, ``k`` says
    # that the lookaround ``lookarounds[k - 1]`` of the whole pattern must hold, ``-k`` that it must not.
    epsilons: NDArray[np.int32]
    lookarounds: tuple[Lookaround, ...] = ()  # all of the whole pattern, those inside others before these


@dataclass(frozen=True, eq=False)
class Lookaround:
    """The automaton of a lookahead or, if ``behind``, of a lookbehind."""

    behind: bool
    nfa: Nfa


def build(tree: Node, pattern: str) -> Nfa:
    """Build the automaton of a tree without anchors and atomic groups (``settle``, ``without_atomics``)."""
    plan = Plan()
    size = plan.total(tree)
    if size > MAX_NFA_SIZE:
        largest = _largest_repeat(tree)
        raise PatternTooLarge(
            f"the automaton needs {size:,} states and transitions before it is made deterministic, "
            f"more than the limit of {MAX_NFA_SIZE:,}",
            pattern,
            None if largest is None else largest.position,
            hint="Use smaller counts, or * and + in place of large counts.",
        )
    lookarounds = [Lookaround(behind, _Builder(plan).build(child)) for behind, child in plan.looks]
    if contains(tree, Border):
        lookarounds = [replace(lookaround, nfa=_over_borders(lookaround.nfa)) for lookaround in lookarounds]
    return replace(_Builder(plan).build(tree), lookarounds=tuple(lookarounds))


def _over_borders(nfa: Nfa) -> Nfa:
    """The same automaton, in which every state stays where it is when it reads a border."""
    # States that only lead on without reading need no edge: what they lead to has one.
    states = np.union1d(nfa.edges[:, 0], 1).astype(np.int32)
    border = np.full_like(states, BORDER)
    return replace(nfa, edges=np.concatenate([nfa.edges, np.stack([states, border, border, states], axis=1)]))


class Plan:
    """The sizes of what :class:`_Builder` will make, known before it does."""

    def __init__(self) -> None:
        self.looks: dict[tuple[bool, Node], int] = {}
        """The number of each lookaround: whether after, and for what. Equal ones are built once, inner ones first."""
        self.repeated: dict[int, int] = {}
        """The states inside of what is repeated, by the identity of the node."""
        self.lookaround_size = 0

    def total(self, tree: Node) -> int:
        """Count all states and transitions of a pattern."""
        return sum(self.size(tree)) + self.lookaround_size

    def size(self, node: Node) -> tuple[int, int]:
        """States between the two ends of the fragment, and transitions."""
        match node:
            case Characters(ranges):
                automaton = byte_automaton(ranges)
                return automaton.inner, len(automaton.edges)
            case Concatenation(parts):
                sizes = [self.size(part) for part in parts]
                return sum(inner for inner, _ in sizes) + len(parts) - 1, sum(transitions for _, transitions in sizes)
            case Alternation(branches):
                sizes = [self.size(branch) for branch in branches]
                return sum(inner for inner, _ in sizes), sum(transitions for _, transitions in sizes)
            case Repeat(child, minimum, maximum):
                inner, transitions = self.size(child)
                self.repeated[id(child)] = inner
                if maximum is None:
                    copies, extra = max(minimum, 1), 2 if minimum == 0 else 3
                    return copies * inner + copies + (minimum > 0), copies * transitions + extra
                return maximum * (inner + 1) + 1, maximum * transitions + 1 + maximum - minimum + 1
            case Empty():
                return 0, 1
            case Look(child, behind):
                if (behind, child) not in self.looks:
                    self.lookaround_size += sum(self.size(child))
                    self.looks[behind, child] = len(self.looks) + 1
                return 0, 1
            case Border():
                return 0, 1
            case _:
                raise InternalError(f"{type(node).__name__} is not settled")


def _largest_repeat(node: Node) -> Repeat | None:
    """The repeat that makes the most copies."""
    match node:
        case Repeat(child):
            inside = [node, _largest_repeat(child)]
        case _:
            inside = [_largest_repeat(child) for child in children(node)]
    return max((each for each in inside if each), key=lambda each: each.maximum or each.minimum, default=None)


class _Builder:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.states = 2
        self.edges = array("i")
        self.epsilons = array("i")

    def state(self) -> int:
        self.states += 1
        return self.states - 1

    def epsilon(self, source: int, target: int, guard: int = 0) -> None:
        self.epsilons.extend((source, target, guard))

    def build(self, tree: Node) -> Nfa:
        self.fragment(tree, 0, 1)
        return Nfa(
            self.states,
            np.array(self.edges, dtype=np.int32).reshape(-1, 4),
            np.array(self.epsilons, dtype=np.int32).reshape(-1, 3),
        )

    def fragment(self, node: Node, start: int, end: int) -> None:
        match node:
            case Characters(ranges):
                inner, edges = byte_automaton(ranges)
                if not inner:
                    for _, low, high, _ in edges:
                        self.edges.extend((start, low, high, end))
                    return
                first = self.states - 2
                self.states += inner
                states = [start, end, *range(first + 2, first + 2 + inner)]
                for source, low, high, target in edges:
                    self.edges.extend((states[source], low, high, states[target]))
            case Concatenation(parts):
                for part in parts[:-1]:
                    middle = self.state()
                    self.fragment(part, start, middle)
                    start = middle
                self.fragment(parts[-1], start, end)
            case Alternation(branches):
                for branch in branches:
                    self.fragment(branch, start, end)
            case Repeat(child, minimum, None):
                self.unlimited(child, minimum, start, end)
            case Repeat(child, minimum, int() as maximum):
                self.copies(child, minimum, maximum, start, end)
            case Empty():
                self.epsilon(start, end)
            case Look(child, behind, negative):
                number = self.plan.looks[behind, child]
                self.epsilon(start, end, -number if negative else number)
            case Border():
                self.edges.extend((start, BORDER, BORDER, end))

    def unlimited(self, child: Node, minimum: int, start: int, end: int) -> None:
        """Copies one after another, of which the last may be repeated (or, from none, a loop)."""
        if minimum == 0:
            loop = self.state()
            self.epsilon(start, loop)
            self.fragment(child, loop, loop)
            self.epsilon(loop, end)
            return
        joints = self.chain(child, minimum)
        self.epsilon(start, joints[0])
        self.epsilon(joints[-1], joints[-2])
        self.epsilon(joints[-1], end)

    def copies(self, child: Node, minimum: int, maximum: int, start: int, end: int) -> None:
        """Copies one after another, with a way out after each but the first ``minimum - 1``."""
        joints = self.chain(child, maximum)
        self.epsilon(start, joints[0])
        for joint in joints[minimum:]:
            self.epsilon(joint, end)

    def chain(self, child: Node, count: int) -> range:
        """``count`` copies of a fragment between ``count + 1`` new states, which are returned."""
        start = self.state()
        edges_before, epsilons_before = len(self.edges), len(self.epsilons)
        # The end of a copy stands right after its inner states, so that every copy looks the same but for a shift.
        stride = self.plan.repeated[id(child)] + 1
        by_shifting = count > _FEW
        for copy in range(1 if by_shifting else count):
            self.states = start + copy * stride + 1
            self.fragment(child, start + copy * stride, start + (copy + 1) * stride)
        self.states = start + count * stride + 1
        if by_shifting and count > 1:
            shifts = np.arange(1, count, dtype=np.int32)[:, None, None] * np.int32(stride)
            _append_shifted(self.edges, edges_before, shifts * np.array([1, 0, 0, 1], dtype=np.int32))
            _append_shifted(self.epsilons, epsilons_before, shifts * np.array([1, 1, 0], dtype=np.int32))
        return range(start, start + count * stride + 1, stride)


def _append_shifted(numbers: array[int], start: int, shifts: NDArray[np.int32]) -> None:
    """Append the rows from ``start`` on once for each shift; ``shifts`` has the shape [copies, 1, columns]."""
    rows = np.array(numbers[start:], dtype=np.int32).reshape(1, -1, shifts.shape[-1])
    numbers.frombytes((rows + shifts).astype(np.int32).tobytes())
