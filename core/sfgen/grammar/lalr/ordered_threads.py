"""Patterns as programs, and ordered lists of their threads: the trials of a backtracking engine, in parallel.

``Programs`` compiles patterns by Thompson's construction (1968). Epsilons are ordered as ``re`` tries them: the
branches of an alternation from left to right, another round before the exit of a greedy repeat and after the exit of a
lazy one (Pike; Cox, "Regular Expression Matching: the Virtual Machine Approach", 2009). Programs read symbols: sets of
characters that no pattern distinguishes.

A thread is a state of a program with its obligations about the text that follows (lookaheads; see
:mod:`sfgen.automata.lookaround`). The first thread of a list that matches in the end is the match of ``re``. So threads
after one that matches here without an obligation are cut off (Pike's virtual machine; Cox, 2009).

Automata of lookbehinds run in parallel. Their states are kept only while they can still be needed: a lookbehind has one
width, so each of its threads is evaluated at one position or never.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from sfgen.automata.lookaround import Machine, Obligations, Place, Thread, Threads, Trackers
from sfgen.errors import InternalError
from sfgen.grammar.lalr.lark_quotations import QuotingState
from sfgen.grammar.network.rules import GrammarTooLarge
from sfgen.regex.ast import Alternation, Characters, Concatenation, Empty, Look, Node, Repeat, width

MAX_PROGRAM_STATES = 100_000
"""The most states of all programs."""


class Programs:
    """The programs of all terminals, under one numbering of states.

    A state has edges (it reads), or epsilons, or it is an end.

    Attributes:
        edges: First symbol, last symbol and target, by reading state.
        epsilons: Targets and guards in order of preference, by other states. Guard 0 is none; ``k`` demands
            lookaround ``k - 1``, ``-k`` forbids it.
        heads: The state after a repeated part that may be empty, by the state before it.
        exits: The next state after an empty round, by the state after the part.
        behind: Whether each lookaround is a lookbehind.
        starts: The first state of each lookaround; the next one is its end.
        terminal_of: The terminal that ends in a state.
    """

    def __init__(self, quoting: Mapping[int, Sequence[QuotingState]] | None = None) -> None:
        self._quoting = quoting or {}
        self.edges: dict[int, list[tuple[int, int, int]]] = {}
        self.epsilons: dict[int, list[tuple[int, int]]] = {}
        self.heads: dict[int, int] = {}
        self.exits: dict[int, int] = {}
        self.behind: list[bool] = []
        self.starts: list[int] = []
        self.terminal_of: dict[int, int] = {}
        self._states = 2  # 0 and 1 are reserved, as for lookarounds of plain patterns
        self._looks: dict[tuple[bool, Node], int] = {}
        self._name = ""
        self._firsts: list[int] = []
        self._terminals: list[int] = []

    def add(self, tree: Node, terminal: int, name: str) -> int:
        """Compile a terminal's program; return its first state."""
        self._name = name
        self._firsts.append(self._states)
        self._terminals.append(terminal)
        end = self._state()
        self.terminal_of[end] = terminal
        return self._fragment(tree, end)

    def terminal_at(self, state: int) -> int:
        """Return the terminal whose program contains a state."""
        return self._terminals[bisect_right(self._firsts, state) - 1]

    def _state(self) -> int:
        self._states += 1
        if self._states > MAX_PROGRAM_STATES:
            raise GrammarTooLarge(self._name, f"{MAX_PROGRAM_STATES:,} states for the terminals", "terminal")
        return self._states - 1

    def _choice(self, *targets: int) -> int:
        state = self._state()
        self.epsilons[state] = [(target, 0) for target in targets]
        return state

    def _fragment(self, node: Node, end: int) -> int:
        """Return the state that reads ``node`` and then continues in ``end``."""
        match node:
            case Empty():
                return end
            case Characters(((symbol, _),)) if symbol in self._quoting:
                return self._quotation(self._quoting[symbol], end)
            case Characters(ranges):
                state = self._state()
                self.edges[state] = [(low, high, end) for low, high in ranges]
                return state
            case Concatenation(parts):
                for part in reversed(parts):
                    end = self._fragment(part, end)
                return end
            case Alternation(branches):
                return self._choice(*[self._fragment(branch, end) for branch in branches])
            case Repeat():
                return self._repeat(node, end)
            case Look(child, behind, negative):
                number = self._look(behind, child)
                state = self._state()
                self.epsilons[state] = [(end, -number if negative else number)]
                return state
            case _:
                raise InternalError(f"{type(node).__name__} is not settled")

    def _quotation(self, states: Sequence[QuotingState], end: int) -> int:
        """Make the states of a quotation, which prefers to continue."""
        reading = [self._state() for _ in states]
        begins = [
            self._choice(state, end) if each.may_end else state for state, each in zip(reading, states, strict=True)
        ]
        for state, each in zip(reading, states, strict=True):
            self.edges[state] = [(symbol, symbol, begins[target]) for symbol, target in each.after.items()]
        return reading[0]

    def _look(self, behind: bool, child: Node) -> int:
        key = behind, child
        if key not in self._looks:
            start = self._state()
            end = self._state()
            self.epsilons[start] = [(self._fragment(child, end), 0)]  # inner lookarounds are numbered first
            self.behind.append(behind)
            self.starts.append(start)
            self._looks[key] = len(self.starts)
        return self._looks[key]

    def _repeat(self, node: Repeat, end: int) -> int:
        child, minimum, maximum = node.child, node.minimum, node.maximum
        if maximum is None:
            head = self._state()
            self._optional(node, head, head, end)
            end = head
        else:
            out = end
            for _ in range(maximum - minimum):
                head = self._state()
                self._optional(node, head, end, out)
                end = head
        for _ in range(minimum):
            end = self._fragment(child, end)
        return end

    def _optional(self, node: Repeat, head: int, again: int, out: int) -> None:
        """Make ``head`` the choice between another round, which ends in ``again``, and ``out``."""
        after = again
        if width(node.child)[0] == 0:
            # `re` tries no further round after an empty one.
            after = self._choice(again, out)
            self.heads[head] = after
            self.exits[after] = out
        once = self._fragment(node.child, after)
        self.epsilons[head] = [(out, 0), (once, 0)] if node.lazy else [(once, 0), (out, 0)]


OrderedThreads: TypeAlias = tuple[Thread, ...]

NO_OBLIGATIONS: Obligations = frozenset()
_NEVER = 1 << 30


class OrderedMachine(Machine):
    """The programs of all terminals, and their steps at positions of a text."""

    def __init__(self, programs: Programs, symbols: int) -> None:
        super().__init__(programs.edges, programs.epsilons, programs.behind, programs.starts, symbols)
        self.programs = programs
        self.terminal_of = programs.terminal_of
        self.ends |= self.terminal_of.keys()
        self.has_lookbehinds = any(programs.behind)
        self._evaluated_in, self._always_evaluated = (
            self._distances_to_lookbehinds() if self.has_lookbehinds else ([], frozenset())
        )
        self._left = self._left_of_lookbehinds() if self.has_lookbehinds else {}
        self._places: dict[tuple[Trackers, int], OrderedPlace] = {}
        self._gaps: dict[Trackers, OrderedPlace] = {}
        self._symbols: dict[int, int] = {}

    def symbols_of(self, state: int) -> int:
        """Return the symbols that a state reads, a bit for each."""
        symbols = self._symbols.get(state)
        if symbols is None:
            symbols = 0
            for low, high, _ in self.edges.get(state, ()):
                symbols |= (2 << high) - (1 << low)
            self._symbols[state] = symbols
        return symbols

    def position(self, before: Trackers, label: int) -> OrderedPlace:
        """Return the position after a symbol."""
        key = before, label
        position = self._places.get(key)
        if position is None:
            position = self._places[key] = OrderedPlace(self, before, label)
        return position

    def text_start(self) -> Trackers:
        """Return the lookbehind states at the start of the text."""
        return tuple(Place(self, None, 0).trackers)

    def gap(self, trackers: Trackers) -> OrderedPlace:
        """Return a position with given lookbehind states, at which guards are evaluated."""
        position = self._gaps.get(trackers)
        if position is None:
            position = self._gaps[trackers] = OrderedPlace(self, None, 0)
            position.trackers = list(trackers)
            position.guards = {}
        return position

    def evaluated_in(self, threads: Iterable[Thread]) -> tuple[int, ...]:
        """Return the fewest characters until the threads evaluate each lookbehind."""
        if not self.has_lookbehinds:
            return (_NEVER,) * len(self.behind)
        fewest = [0 if number in self._always_evaluated else _NEVER for number in range(len(self.behind))]
        waiting = [threads]
        while waiting:
            for state, obligations in waiting.pop():
                for number, distances in enumerate(self._evaluated_in):
                    fewest[number] = min(fewest[number], distances.get(state, _NEVER))
                waiting.extend(inner for _, inner in obligations)
        return tuple(fewest)

    def needed(self, trackers: Sequence[Threads | None], evaluated_in: Sequence[int]) -> Trackers:
        """Drop the lookbehind states that no thread will use."""
        left = self._left
        return tuple(
            None if known is None else frozenset(t for t in known if left.get(t[0], _NEVER) >= evaluated_in[number])
            for number, known in enumerate(trackers)
        )

    def _distances_to_lookbehinds(self) -> tuple[list[dict[int, int]], frozenset[int]]:
        """Return the fewest characters from each state to each lookbehind's evaluation, and the nested lookbehinds."""
        before: dict[int, list[tuple[int, int]]] = {}
        evaluating: list[list[int]] = [[] for _ in self.behind]
        for source, edges in self.edges.items():
            for _, _, target in edges:
                before.setdefault(target, []).append((source, 1))
        for source, epsilons in self.epsilons.items():
            for target, guard in epsilons:
                before.setdefault(target, []).append((source, 0))
                if guard:
                    number = abs(guard) - 1
                    before.setdefault(self.starts[number], []).append((source, 0))
                    if self.behind[number]:
                        evaluating[number].append(source)
        distances = [_distances(sources, before) for sources in evaluating]
        lookbehinds = [start for start, behind in zip(self.starts, self.behind, strict=True) if behind]
        inside = [n for n, found in enumerate(distances) if any(start in found for start in lookbehinds)]
        return distances, frozenset(inside)

    def _left_of_lookbehinds(self) -> dict[int, int]:
        """Return the characters that each state of a lookbehind still reads."""
        before: dict[int, list[tuple[int, int]]] = {}
        for source, edges in self.edges.items():
            for _, _, target in edges:
                before.setdefault(target, []).append((source, 1))
        for source, epsilons in self.epsilons.items():
            for target, _ in epsilons:
                before.setdefault(target, []).append((source, 0))
        ends = [start + 1 for start, behind in zip(self.starts, self.behind, strict=True) if behind]
        return _distances(ends, before)


def _distances(targets: list[int], before: dict[int, list[tuple[int, int]]]) -> dict[int, int]:
    """Return the fewest characters from each state to one of the targets."""
    distances = dict.fromkeys(targets, 0)
    waiting = deque(targets)
    while waiting:
        state = waiting.popleft()
        for source, cost in before.get(state, ()):
            distance = distances[state] + cost
            if distance < distances.get(source, _NEVER):
                distances[source] = distance
                if cost:
                    waiting.append(source)
                else:
                    waiting.appendleft(source)
    return distances


class OrderedPlace(Place):
    """A position of a text, for ordered threads."""

    machine: OrderedMachine

    def __init__(self, machine: OrderedMachine, before: Trackers | None, label: int) -> None:
        super().__init__(machine, before, label)
        self._ordered_steps: dict[Thread, OrderedThreads] = {}
        self._lists: dict[OrderedThreads, OrderedThreads] = {}

    def read_in_order(self, threads: OrderedThreads) -> OrderedThreads:
        """Read the symbol with a list of threads."""
        after = self._lists.get(threads)
        if after is None:
            # Of many keywords few read a given symbol.
            symbols, label = self.machine.symbols_of, self.label
            going = [thread for thread in threads if symbols(thread[0]) >> label & 1]
            after = self._lists[threads] = self._without_redundant(
                target for thread in going for target in self._step_in_order(thread)
            )
        return after

    def begin(self, states: Iterable[int]) -> OrderedThreads:
        """Start the threads of some programs, in their order."""
        return self.closure_in_order([(state, NO_OBLIGATIONS) for state in states])

    def _step_in_order(self, thread: Thread) -> OrderedThreads:
        after = self._ordered_steps.get(thread)
        if after is None:
            state, obligations = thread
            label = self.label
            targets = [target for low, high, target in self.machine.edges.get(state, ()) if low <= label <= high]
            left = self.keep(obligations) if targets else None
            seeds = [] if left is None else [(target, left) for target in targets]
            after = self._ordered_steps[thread] = self.closure_in_order(seeds)
        return after

    def _without_redundant(self, threads: Iterable[Thread]) -> OrderedThreads:
        """Drop threads that a preferred one makes redundant; cut after a match without an obligation.

        Threads after a match with an obligation are kept only for the texts that break it.
        """
        machine = self.machine
        kept: list[Thread] = []
        known: dict[int, list[Obligations]] = {}
        unless_matched = NO_OBLIGATIONS
        for state, obligations in threads:
            if unless_matched:
                if any((not negative, inner) in obligations for negative, inner in unless_matched):
                    continue
                obligations |= unless_matched
            others = known.setdefault(state, [])
            if any(fewer <= obligations for fewer in others):
                continue
            others.append(obligations)
            kept.append((state, obligations))
            if state in machine.ends:
                outcome = self.decide(True, frozenset([(state, obligations)]))
                if isinstance(outcome, bool):
                    break
                unless_matched |= outcome
        machine.spend(len(kept) + 1)
        return tuple(kept)

    def closure_in_order(self, seeds: Sequence[Thread]) -> OrderedThreads:
        """Follow epsilons in order of preference."""
        machine = self.machine
        programs = machine.programs
        ends: list[Thread] = []
        seen: dict[tuple[int, frozenset[int]], list[Obligations]] = {}
        nothing: frozenset[int] = frozenset()
        # Each entry has the states after the repeated parts whose heads were passed here.
        stack = [(state, obligations, nothing) for state, obligations in reversed(seeds)]
        while stack:
            state, obligations, passed = stack.pop()
            others = seen.setdefault((state, passed), [])
            if any(fewer <= obligations for fewer in others):
                continue
            others.append(obligations)
            epsilons = machine.epsilons.get(state)
            if epsilons is None:
                ends.append((state, obligations))
                continue
            if state in passed:
                epsilons = [(programs.exits[state], 0)]
            elif state in programs.heads:
                passed |= {programs.heads[state]}
            for target, guard in reversed(epsilons):
                outcome = self.guard(guard) if guard else True
                if outcome is True:
                    stack.append((target, obligations, passed))
                elif outcome is not False and not any((not negative, t) in obligations for negative, t in outcome):
                    stack.append((target, obligations | outcome, passed))
        machine.spend(len(seen))
        return self._without_redundant(ends)
