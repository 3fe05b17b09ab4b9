"""Lookaheads and lookbehinds: an NFA with guards becomes a plain one.

A lookahead is an obligation on text that is not read yet. So a state of the new automaton is a thread: a state of the
old one and a set of obligations, and an obligation is a polarity and the threads of the lookahead's own automaton,
which read on beside it. When one of them accepts, the obligation is met (or, if negative, broken); when none is left,
the other way round. A thread with a broken obligation ends. A lookbehind is a fact about text that has been read: its
automaton starts anew at every place of the text, and the lookbehind holds where it accepts; so a state of the new
automaton also holds the states of the lookbehinds that its thread may still ask for. This takes the alternation out of
an alternating automaton (Chandra, Kozen and Stockmeyer, 1981), one obligation at a time.

The automata read bytes, but every guard stands between two characters, since only whole characters lead from and to
states with empty transitions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from sfgen.automata.determinize import byte_classes_of
from sfgen.automata.nfa import Nfa
from sfgen.errors import PatternTooLarge

MAX_LOOKAROUND_WORK = 500_000
"""Elementary steps of this construction, which is slower than that of plain patterns."""

# The types are recursive: an obligation holds threads, and these hold obligations.
Obligations: TypeAlias = "frozenset[tuple[bool, Threads]]"
Thread: TypeAlias = tuple[int, Obligations]
Threads: TypeAlias = frozenset[Thread]

Trackers: TypeAlias = "tuple[Threads | None, ...]"
"""The threads of each lookbehind; ``None`` for a lookahead, and where it will not be asked for any more."""

State: TypeAlias = tuple[Thread, Trackers]
"""A state of the new automaton: a thread, and the trackers of the lookbehinds that it may ask for."""

_NONE: Obligations = frozenset()


def without_lookarounds(nfa: Nfa, pattern: str) -> Nfa:
    """Build a plain automaton of the same language."""
    machine = _PatternMachine(nfa, pattern)
    first_byte = np.unique(machine.byte_classes, return_index=True)[1].tolist()
    numbers: dict[State, int] = {}
    waiting: list[State] = []

    def number_of(state: State) -> int:
        number = numbers.get(state)
        if number is None:
            number = numbers[state] = len(numbers) + 2  # after the start and the accepting state
            waiting.append(state)
        return number

    epsilons = [(0, number_of(state), 0) for state in machine.start()]
    edges = []
    for state in waiting:
        source = numbers[state]
        if machine.accepts(state[0]):
            epsilons.append((source, 1, 0))
        cuts = machine.cuts(state)
        for low, high in zip(cuts, [*cuts[1:], machine.classes], strict=True):
            last_byte = first_byte[high] - 1 if high < machine.classes else 255
            for target in machine.follow(state, low):
                edges.append((source, first_byte[low], last_byte, number_of(target)))
    return Nfa(
        len(numbers) + 2,
        np.array(edges, dtype=np.int32).reshape(-1, 4),
        np.array(epsilons, dtype=np.int32).reshape(-1, 3),
    )


class Machine:
    """The automata of a text and of its lookarounds, numbered together."""

    def __init__(
        self,
        edges: Mapping[int, list[tuple[int, int, int]]],  # state → first and last label, target
        epsilons: Mapping[int, list[tuple[int, int]]],  # state → target, and the guard as in `Nfa.epsilons`
        behind: Sequence[bool],  # of each lookaround; those inside others come before these
        starts: Sequence[int],  # of each lookaround; the state after it is its only accepting one
        classes: int,  # the number of labels
    ) -> None:
        self.edges = edges
        self.epsilons = epsilons
        self.behind = behind
        self.starts = starts
        self.classes = classes
        self.ends = frozenset(start + 1 for start in starts)
        self.work = 0

    def spend(self, steps: int) -> None:
        """Count elementary steps of the construction."""
        self.work += steps

    def met_at_end(self, obligation: tuple[bool, Threads]) -> bool:
        """Return whether an obligation is met where the text ends."""
        negative, threads = obligation
        matched = any(state in self.ends and all(map(self.met_at_end, inner)) for state, inner in threads)
        return matched != negative


class _PatternMachine(Machine):
    """The automata of a pattern: its own, then its lookarounds'."""

    def __init__(self, nfa: Nfa, pattern: str) -> None:
        self.pattern = pattern
        automata = [nfa, *(lookaround.nfa for lookaround in nfa.lookarounds)]
        self.byte_classes = byte_classes_of(np.concatenate([automaton.edges for automaton in automata]))
        all_edges: defaultdict[int, list[tuple[int, int, int]]] = defaultdict(list)
        all_epsilons: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        offsets = np.cumsum([0, *(automaton.states for automaton in automata)]).tolist()
        behind = [lookaround.behind for lookaround in nfa.lookarounds]
        super().__init__(all_edges, all_epsilons, behind, offsets[1:-1], int(self.byte_classes[-1]) + 1)
        for offset, automaton in zip(offsets, automata, strict=False):
            self.spend(len(automaton.edges) + len(automaton.epsilons))
            for source, low, high, target in automaton.edges.tolist():
                first, last = self.byte_classes[low], self.byte_classes[high]
                all_edges[source + offset].append((int(first), int(last), target + offset))
            for source, target, guard in automaton.epsilons.tolist():
                all_epsilons[source + offset].append((target + offset, guard))
        self.asked = self._lookbehinds_asked()
        self._places: dict[tuple[Trackers, int], Place] = {}
        self._cuts: dict[Threads, frozenset[int]] = {}
        self._needed: dict[Threads, int] = {}

    def spend(self, steps: int) -> None:
        super().spend(steps)
        if self.work > MAX_LOOKAROUND_WORK:
            raise PatternTooLarge(
                f"the automaton passes the limit of {MAX_LOOKAROUND_WORK:,} steps of construction for patterns with "
                "lookarounds and word boundaries",
                self.pattern,
                hint="Use smaller counts, or write the pattern without lookarounds and word boundaries.",
            )

    def _lookbehinds_asked(self) -> defaultdict[int, int]:
        """For each state, as bits, the lookbehinds that some way from it asks for."""
        before = defaultdict(list)
        asked: defaultdict[int, int] = defaultdict(int)
        for source, edges in self.edges.items():
            for _, _, target in edges:
                before[target].append(source)
        for source, epsilons in self.epsilons.items():
            for target, guard in epsilons:
                before[target].append(source)
                if guard:
                    before[self.starts[abs(guard) - 1]].append(source)
                    if self.behind[abs(guard) - 1]:
                        asked[source] |= 1 << (abs(guard) - 1)
        waiting = list(asked)
        while waiting:
            state = waiting.pop()
            for source in before[state]:
                if asked[source] | asked[state] != asked[source]:
                    asked[source] |= asked[state]
                    waiting.append(source)
        return asked

    def start(self) -> list[State]:
        """Return the states in which the text may begin."""
        position = Place(self, None, 0)
        return [self._state(thread, position) for thread in position.closure([(0, _NONE)])]

    def follow(self, before: State, label: int) -> list[State]:
        """Return the states after a byte class."""
        thread, trackers = before
        if not any(low <= label <= high for low, high, _ in self.edges.get(thread[0], ())):
            return []
        position = self._places.get((trackers, label))
        if position is None:
            position = self._places[trackers, label] = Place(self, trackers, label)
        self.spend(1)
        return [self._state(target, position) for target in position.step(thread)]

    def _state(self, thread: Thread, position: Place) -> State:
        needed = self.needed(frozenset([thread]))
        return thread, tuple(
            tracker if needed >> number & 1 else None for number, tracker in enumerate(position.trackers)
        )

    def needed(self, threads: Threads) -> int:
        """The lookbehinds that the threads may still ask for, as bits."""
        if threads not in self._needed:
            bits = 0
            for state, obligations in threads:
                bits |= self.asked.get(state, 0)
                for _, inner in obligations:
                    bits |= self.needed(inner)
            self._needed[threads] = bits
        return self._needed[threads]

    def cuts(self, state: State) -> list[int]:
        """The byte classes at which some edge begins or has ended; all between two of them lead to the same states."""
        thread, trackers = state
        cuts = {0, *self._cuts_of(frozenset([thread]))}
        for tracker in trackers:
            if tracker:
                cuts |= self._cuts_of(tracker)
        return sorted(cuts - {self.classes})

    def _cuts_of(self, threads: Threads) -> frozenset[int]:
        if threads not in self._cuts:
            cuts: set[int] = set()
            for state, obligations in threads:
                for low, high, _ in self.edges.get(state, ()):
                    cuts.update((low, high + 1))
                for _, inner in obligations:
                    cuts |= self._cuts_of(inner)
            self._cuts[threads] = frozenset(cuts)
        return self._cuts[threads]

    def accepts(self, thread: Thread) -> bool:
        """Whether the text may end here."""
        return thread[0] == 1 and all(map(self.met_at_end, thread[1]))


class Place:
    """A kind of position: the byte before it, and the lookbehinds' state.

    All its answers depend on these two alone, so that each is worked out once for all positions of the kind.
    """

    def __init__(self, machine: Machine, before: Trackers | None, label: int) -> None:
        """Enter byte class ``label``; ``before``: the trackers of lookbehinds before it (``None``: at the start)."""
        self.machine = machine
        self.label = label
        self.trackers: list[Threads | None] = [None] * len(machine.behind)
        self.guards: dict[int, bool | Obligations] = {}
        self.advanced: dict[tuple[bool, Threads], bool | Obligations] = {}
        self.steps: dict[Thread, Threads] = {}
        for number, start in enumerate(machine.starts):
            going = before[number] if before is not None else frozenset() if machine.behind[number] else None
            if going is not None:
                # The lookbehinds inside others come first, so what is asked for here is known. Each starts anew.
                self.trackers[number] = _smallest([*self.read(going), *self.closure([(start, _NONE)])])

    def read(self, threads: Threads, *, ends_stay: bool = False) -> Threads:
        """Read the byte with some threads."""
        self.machine.spend(len(threads))
        after: list[Thread] = []
        for thread in threads:
            if ends_stay and thread[0] in self.machine.ends:
                left = self.keep(thread[1])
                if left is not None:
                    after.append((thread[0], left))
                continue
            after.extend(self.step(thread))
        return _smallest(after)

    def step(self, thread: Thread) -> Threads:
        """Read the byte with one thread."""
        if thread not in self.steps:
            state, obligations = thread
            targets = [target for low, high, target in self.machine.edges.get(state, ()) if low <= self.label <= high]
            left = self.keep(obligations) if targets else None
            seeds = [] if left is None else [(target, left) for target in targets]
            self.steps[thread] = self.closure(seeds)
        return self.steps[thread]

    def keep(self, obligations: Obligations) -> Obligations | None:
        """Advance obligations by the byte; ``None`` if one is broken."""
        left: Obligations = _NONE
        for obligation in obligations:
            outcome = self.advanced.get(obligation)
            if outcome is None:
                negative, threads = obligation
                outcome = self.advanced[obligation] = self.decide(negative, self.read(threads, ends_stay=True))
            if outcome is False:
                return None
            if outcome is not True:
                left |= outcome
        return left

    def closure(self, seeds: list[Thread]) -> Threads:
        """Follow the transitions that read nothing from some threads.

        Only threads in states that read or accept are kept.
        """
        machine = self.machine
        seen: set[Thread] = set()
        stack = seeds
        while stack:
            thread = stack.pop()
            if thread in seen:
                continue
            seen.add(thread)
            state, obligations = thread
            for target, guard in machine.epsilons.get(state, ()):
                outcome = self.guard(guard) if guard else True
                if outcome is True:
                    stack.append((target, obligations))
                elif outcome is not False and not any((not negative, t) in obligations for negative, t in outcome):
                    stack.append((target, obligations | outcome))
        machine.spend(len(seen))
        return _smallest(
            thread for thread in seen if thread[0] in machine.edges or thread[0] == 1 or thread[0] in machine.ends
        )

    def guard(self, guard: int) -> bool | Obligations:
        """Decide whether a guard holds here."""
        if guard not in self.guards:
            number = abs(guard) - 1
            start = self.machine.starts[number]
            if self.machine.behind[number]:
                threads = frozenset(thread for thread in self.trackers[number] or () if thread[0] == start + 1)
            else:
                threads = self.closure([(start, _NONE)])
            self.guards[guard] = self.decide(guard < 0, threads)
        return self.guards[guard]

    def decide(self, negative: bool, threads: Threads) -> bool | Obligations:
        """Simplify an obligation: met, broken, or what remains to be met."""
        if not threads:
            return negative
        if any(state in self.machine.ends and not inner for state, inner in threads):
            return not negative
        if len(threads) == 1:
            ((state, inner),) = threads
            if state in self.machine.ends:
                if not negative:
                    return inner
                if len(inner) == 1:
                    ((inner_negative, inner_threads),) = inner
                    return frozenset([(not inner_negative, inner_threads)])
        return frozenset([(negative, threads)])


def _smallest(threads: Iterable[Thread]) -> Threads:
    """Threads without those whose obligations include another's in the same state."""
    unique = frozenset(threads)
    states = {state for state, _ in unique}
    if len(states) == len(unique):
        return unique
    kept: dict[int, list[Obligations]] = {}
    for state, obligations in sorted(unique, key=lambda thread: len(thread[1])):
        known = kept.setdefault(state, [])
        if not any(fewer <= obligations for fewer in known):
            known.append(obligations)
    return frozenset((state, obligations) for state, sets in kept.items() for obligations in sets)
