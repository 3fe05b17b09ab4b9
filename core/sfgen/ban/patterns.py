r"""Banned patterns: their matches in a text that is still being written.

Each pattern becomes the minimal automaton of all texts with two borders, between which it matches (see
:func:`sfgen.automata.compile.compile_bordered`). Before a border that automaton only reads the context: the one of
``\btalk`` then knows whether a word may begin. A border begins a match: a thread, which lives as long as the rest of
the text can complete it. A second border ends the match, and then the thread's state tells which texts may follow. If
any text may, the match is complete; else it waits, as ``talk\b`` does for the next character or the end of the text.

The number of threads has a bound by the patterns alone, since of two in the same state only the earlier one is kept.
Contexts change little, and there are few sets of them. They are kept apart from the threads, so that of a thousand
patterns only those that have begun to match take time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from functools import cached_property
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfgen.automata.by_character import CharacterMap
from sfgen.automata.compile import Symbols, compile_bordered
from sfgen.automata.determinize import Deterministic
from sfgen.automata.nfa import BORDER
from sfgen.ban.entries import Fate, Fates, Guards
from sfgen.ban.entries import Thread as WordThread
from sfgen.errors import BannedWordsError, PatternError

Labels: TypeAlias = tuple[bytes, ...]
"""A character as each pattern reads it: the byte classes of its symbol."""

Spans: TypeAlias = tuple[tuple[int, int], ...]
"""End and start of matches, in ascending order; no end comes twice."""

Thread: TypeAlias = tuple[int, int, Guards]
"""Pattern and state, and the guards of :mod:`sfgen.ban.automaton`."""

Waiting: TypeAlias = tuple[int, int, Guards, bool]
"""Pattern and state, and the guards; whether the match is late."""


class Contexts:
    """The state of each pattern outside of its matches.

    Attributes:
        states: By pattern, -1 where no match can begin any more.
    """

    __slots__ = ("_hash", "states", "steps")

    def __init__(self, states: tuple[int, ...]) -> None:
        self.states: Final = states
        self.steps: Final[dict[int, tuple[Contexts, tuple[tuple[int, int], ...]]]] = {}
        """By class of characters: the next contexts, and the patterns that begin a match, with their states."""
        self._hash = hash(states)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Contexts) and self.states == other.states)

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type[Contexts], tuple[tuple[int, ...]]]:
        return Contexts, (self.states,)


class PatternState(NamedTuple):
    """The state of all patterns at a position, without offsets."""

    contexts: Contexts | None  # ``None`` where no match may begin any more
    threads: tuple[Thread, ...]  # partial matches, in ascending order
    waiting: tuple[Waiting, ...]  # matches that wait for what follows, in ascending order


class PatternSources(NamedTuple):
    """The origins of matches that are now in the same state."""

    waiting: tuple[int, ...]  # the indices of the states in which matches have waited
    threads: tuple[int, ...]  # the indices of the threads that end with this character

    def of(self, begun: Sequence[int], waiting: Sequence[Spans], end: int) -> Spans:
        """Return the matches."""
        new = ((end, min([begun[thread] for thread in self.threads])),) if self.threads else ()
        if not self.waiting:
            return new
        if len(self.waiting) == 1:
            return waiting[self.waiting[0]] + new
        first: dict[int, int] = {}  # end → earliest start
        for span_end, start in sorted(span for index in self.waiting for span in waiting[index]):
            first.setdefault(span_end, start)
        return (*first.items(), *new)


class PatternStep(NamedTuple):
    """The effect of a character; threads are counted from the first one on, and the one that begins is the last."""

    target: PatternState
    threads: tuple[tuple[int, ...], ...]  # the sources of each thread of the target
    waiting: tuple[PatternSources, ...]  # the sources of its matches that wait
    complete: tuple[tuple[int, Guards, bool, PatternSources], ...]  # patterns that match now, as those that wait


class PatternAutomata:
    """The automata of some patterns; threads may share them.

    They are immutable except for their caches.
    """

    def __init__(self, patterns: Sequence[str], compiled: tuple[_Automaton, ...] | None = None) -> None:
        self.patterns: Final = tuple(patterns)
        self.automata: Final = tuple(map(_Automaton.of, self.patterns)) if compiled is None else compiled
        self._contexts: Final[dict[tuple[int, ...], Contexts]] = {}
        self._walked: list[Contexts] = []  # those that have steps
        self.start: Final = PatternState(self._known((0,) * len(self.patterns)), (), ())

    def __reduce__(self) -> tuple[Any, ...]:
        return PatternAutomata, (self.patterns, self.automata)

    def labels(self, character: str) -> Labels:
        """Return a character as each pattern reads it."""
        return tuple([automaton.labels.of_character(character) for automaton in self.automata])

    def step(
        self,
        state: PatternState,
        number: int,
        labels: Labels,
        first: int,
        in_text: bool,
        is_kept: bool,
        fates: Fates,
    ) -> PatternStep:
        """Compute the effect of a character, not a surrogate, of a class with this number.

        Threads are counted from ``first`` on. Within the prompt no match ends. ``is_kept``: words see the character.
        """
        contexts, threads, waiting = state
        new = first + len(threads)
        begun: Iterable[tuple[int, int]] = ()
        if contexts is not None:
            contexts, begun = contexts.steps.get(number) or self._read_contexts(contexts, number, labels)
        read: dict[Thread, list[int]] = {}
        ends: dict[Waiting, tuple[list[int], list[int]]] = {}  # what has waited, and the threads that end
        for index, (pattern, before, guards, is_late) in enumerate(waiting):
            after, fate = self.automata[pattern].read(before, labels[pattern]), fates(guards)
            if after >= 0 and not fate.excuses(is_late):
                ends.setdefault(_waiting(pattern, after, fate.alive, is_late and not is_kept), ([], []))[0].append(
                    index
                )

        def reach(index: int, pattern: int, after: int, fate: Fate) -> None:
            read.setdefault((pattern, after, fate.after), []).append(index)
            ended = self.automata[pattern].read_border(after) if in_text and not fate.ends else -1
            if ended >= 0:
                ends.setdefault(_waiting(pattern, ended, fate.alive, not is_kept), ([], []))[1].append(index)

        for index, (pattern, before, guards) in enumerate(threads, first):
            if (after := self.automata[pattern].read(before, labels[pattern])) >= 0:
                reach(index, pattern, after, fates(guards))
        for pattern, after in begun:
            reach(new, pattern, after, fates(None))
        complete = sorted([each for each in ends if each[1] == self.automata[each[0]].anything])
        found = [
            (pattern, guards, is_late, _sources(ends.pop((pattern, at, guards, is_late))))
            for pattern, at, guards, is_late in complete
        ]
        alive = sorted([thread for thread in read if self.automata[thread[0]].goes_on[thread[1]]])
        waits = sorted(ends)
        return PatternStep(
            PatternState(contexts, tuple(alive), tuple(waits)),
            tuple([tuple(read[thread]) for thread in alive]),
            tuple([_sources(ends[each]) for each in waits]),
            tuple(found),
        )

    def at_end(self, waiting: Sequence[Waiting], excusing: Set[WordThread]) -> list[tuple[int, PatternSources]]:
        """Return the waiting matches that are complete if the text ends, except those that guards excuse."""
        return [
            (pattern, PatternSources((index,), ()))
            for index, (pattern, state, guards, is_late) in enumerate(waiting)
            if self.automata[pattern].accepting[state] and (is_late or excusing.isdisjoint(guards))
        ]

    def _read_contexts(
        self, contexts: Contexts, number: int, labels: Labels
    ) -> tuple[Contexts, tuple[tuple[int, int], ...]]:
        """Compute and cache the contexts after a character, and the threads that begin with it."""
        states, begun = [], []
        for pattern, (automaton, state, label) in enumerate(zip(self.automata, contexts.states, labels, strict=True)):
            states.append(automaton.read(state, label))
            if (after := automaton.read(automaton.read_border(state), label)) >= 0:
                begun.append((pattern, after))
        step = contexts.steps[number] = self._known(tuple(states)), tuple(begun)
        self._walked.append(contexts)
        return step

    def forget(self) -> None:
        """Empty the cache of contexts."""
        walked, self._walked = self._walked, []
        for contexts in walked:
            contexts.steps.clear()
        self._contexts.clear()

    def _known(self, states: tuple[int, ...]) -> Contexts:
        """Return contexts, equal ones once."""
        return self._contexts.setdefault(states, Contexts(states))


def _waiting(pattern: int, state: int, guards: Guards, is_late: bool) -> Waiting:
    """Return a waiting match; without guards it makes no difference whether it is late."""
    return pattern, state, guards, is_late and bool(guards)


def _sources(indices: tuple[list[int], list[int]]) -> PatternSources:
    return PatternSources(tuple(indices[0]), tuple(indices[1]))


class _Automaton:
    """One pattern, compiled; it is pickled so."""

    def __init__(self, automaton: Deterministic, symbols: Symbols, anything: int) -> None:
        self._compiled: Final = automaton, symbols, anything
        transitions, byte_classes, accepting = automaton
        self.labels: Final = _Labels(symbols, byte_classes.tobytes())
        self._classes = transitions.shape[1]
        self._border = int(byte_classes[BORDER])
        self.transitions = transitions.reshape(-1).data
        self.accepting: Final[list[bool]] = accepting.tolist()
        self.anything: Final = anything
        # Whether a match in this state can go on; if not, it can only end here.
        goes_on = np.any(np.delete(transitions, self._border, axis=1) >= 0, axis=1)
        self.goes_on: Final[list[bool]] = goes_on.tolist()

    @classmethod
    def of(cls, pattern: str) -> _Automaton:
        """Compile a pattern."""
        automaton, anything, symbols = compile_bordered(pattern)
        transitions, byte_classes, accepting = automaton
        if not accepting.any():
            raise PatternError(
                "the banned pattern matches no text at all",
                pattern,
                hint="Look for an anchor that cannot hold where it stands, or for a character class that is empty.",
            )
        begun = transitions[:, byte_classes[BORDER]]
        ended = np.append(begun, -1)[begun]
        if (ended >= 0).any():
            scope = "every text" if ended[0] >= 0 else "every text with a place where it does"
            raise BannedWordsError(
                f"the banned pattern {pattern!r} matches the empty text and would ban {scope}",
                hint="Let it match one character at least, as a+ does in place of a*.",
            )
        return cls(automaton, symbols, _state_of_all_texts(automaton, anything, len(symbols.members)))

    def __reduce__(self) -> tuple[Any, ...]:
        return _Automaton, self._compiled

    def read(self, state: int, label: Iterable[int]) -> int:
        """Return the state after the byte classes of a character; -1: none."""
        for byte_class in label:
            if state < 0:
                break
            state = self.transitions[state * self._classes + byte_class]
        return state

    def read_border(self, state: int) -> int:
        """Return the state after a border; -1: none."""
        return -1 if state < 0 else self.transitions[state * self._classes + self._border]


class _Labels:
    """The byte classes of the symbols of characters."""

    def __init__(self, symbols: Symbols, byte_classes: bytes) -> None:
        self._symbols = symbols
        self._of_symbols = [chr(symbol).encode().translate(byte_classes) for symbol in range(len(symbols.members))]

    def of_character(self, character: str) -> bytes:
        """Return the label of a character, not a surrogate."""
        return self._of_symbols[self._symbols.number(character)]

    @cached_property
    def _of_runs(self) -> NDArray[np.int32]:
        """The number of the label of each run of characters, int32; equal ones for equal labels, -1 for surrogates."""
        numbers: dict[bytes, int] = {}
        of_symbols = [*(numbers.setdefault(label, len(numbers)) for label in self._of_symbols), -1]
        return np.array(of_symbols, dtype=np.int32)[self._symbols.numbers]

    def of(self, codes: NDArray[np.uint32]) -> NDArray[np.int32]:
        """Number characters in ascending order, equal numbers for equal labels, int32; -1 for surrogates."""
        ends = np.searchsorted(codes, self._symbols.firsts[1:])
        return np.repeat(self._of_runs, np.diff(ends, prepend=0, append=len(codes)))

    def classes(self) -> CharacterMap:
        """Number all characters, equal numbers for equal labels."""
        return CharacterMap.of_runs(self._symbols.firsts, self._of_runs)


def _state_of_all_texts(automaton: Deterministic, texts: Deterministic, symbols: int) -> int:
    """Return the state that accepts every text; -1: none. A minimal automaton has one at most."""
    transitions, byte_classes, accepting = automaton
    # Every symbol of one byte leads back to it. Few other states have that property, so each can be tried.
    single = np.unique(byte_classes[: min(symbols, 0x80)])
    back = (transitions[:, single] == np.arange(len(accepting))[:, None]).all(axis=1)
    for state in np.flatnonzero(back & accepting).tolist():
        waiting = [(state, 0)]  # side by side with all texts, whose one accepting state is the start
        seen = set(waiting)
        for one, other in waiting:
            row, expected = transitions[one, byte_classes], texts.transitions[other, texts.byte_classes]
            if (one == state) != (other == 0) or np.any((row >= 0) != (expected >= 0)):
                break
            new = set(zip(row[row >= 0].tolist(), expected[expected >= 0].tolist(), strict=True)) - seen
            seen |= new
            waiting += new
        else:
            return int(state)
    return -1
