r"""Banned patterns: where in a text that is still being written do they match.

Each pattern becomes the minimal automaton of all texts with two borders, between which it matches (see
:func:`sfgen.automata.compile.compile_bordered`). Without a border that automaton only reads the context, and that of
``\btalk`` knows then whether a word may begin. A border read there begins a match: a thread, which is alive as long as
the rest of the text can complete it. A second border ends it, and the thread's state says what must follow. If
anything may, the match is complete; else it waits, as ``talk\b`` does for the next character or the end of the text.

The number of threads depends on the pattern alone, for of two in the same state only the one that began first is
kept. All that a pattern knows at one position, but for offsets, is a configuration. The effect of a character on one is
computed once and kept, so that a character costs a look-up for each pattern, and the offsets.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from sfgen.automata.by_character import CharacterMap
from sfgen.automata.compile import compile_bordered
from sfgen.automata.determinize import Deterministic
from sfgen.automata.nfa import BORDER
from sfgen.errors import BannedWordsError, PatternError

MOST_STEPS = 20_000
"""Steps that a pattern remembers; then it begins anew."""

PatternMatch: TypeAlias = tuple[int, bool, int, int]
"""End, whether what follows (or the end of the text) completed it, start, number of the pattern: first things first."""

_Spans: TypeAlias = tuple[tuple[int, int], ...]
"""End and start of matches, in ascending order; no end comes twice."""

_State: TypeAlias = tuple[int, tuple[int, ...], tuple[int, ...]]
"""The knowledge of a pattern at a position, but for offsets: the states of the context (-1: no match can begin any
more), of the threads, and of the matches that wait for what follows."""


class PatternAutomata:
    """The automata of some patterns; threads may share them.

    They are immutable but for what they remember.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        self.patterns: Final = tuple(patterns)
        self.automata: Final = tuple(map(_Automaton, self.patterns))


class PatternThreads:
    r"""The partial matches of patterns in one text.

    The text is given character by character, the prompt first. Offsets are the caller's: they must grow, and what ends
    at 0 or before lies in the prompt and is no match. It belongs to one text.

    >>> threads = PatternThreads(PatternAutomata([r"\btalk\b"]), 0)
    >>> [threads.step(character, offset, offset + 1) for offset, character in enumerate("talk")]
    [[], [], [], []]
    >>> threads.open_from(), threads.at_end(), threads.step("!", 4, 5)
    (0, [(4, True, 0, 0)], [(4, True, 0, 0)])
    """

    def __init__(self, automata: PatternAutomata, position: int) -> None:
        self._automata = automata.automata
        self._positions = tuple(_Position(automaton.start, (), ()) for automaton in self._automata)

    def step(self, character: str, start: int, end: int) -> list[PatternMatch]:
        """Read the next character, not a surrogate; return the matches that are complete now.

        They are complete whatever follows, and were not before. Of those with the same end that became complete in the
        same way, the longest only.
        """
        matches: list[PatternMatch] = []
        if not self._positions:
            return matches
        positions: list[_Position] = []
        for number, (automaton, position) in enumerate(zip(self._automata, self._positions, strict=True)):
            configuration, starts, waiting = position
            label = automaton.labels[character]
            remembered = configuration.in_text if end > 0 else configuration.in_prompt
            step = remembered.get(label) or automaton.step(configuration, label, end > 0)
            if step.is_idle:
                positions.append(step.target.alone)
                continue
            begun = (*starts, start)
            positions.append(
                _Position(
                    step.target,
                    tuple([min([begun[thread] for thread in threads]) for threads in step.threads]),
                    tuple([spans.of(begun, waiting, end) for spans in step.waiting]),
                )
            )
            if step.found is not None:
                for match_end, match_start in step.found.of(begun, waiting, end):
                    matches.append((match_end, match_end < end, match_start, number))
        self._positions = tuple(positions)
        return matches

    def at_end(self) -> list[PatternMatch]:
        """Return the matches that the end of the text would complete."""
        return [
            (end, True, start, number)
            for number, position in enumerate(self._positions)
            for index in position.configuration.complete_at_end
            for end, start in position.waiting[index]
        ]

    def open_from(self) -> int | None:
        """Return where the earliest partial match begins, or ``None``."""
        starts = self.starts()
        starts += [start for spans in self.waiting() for _, start in spans]
        return min(starts, default=None)

    def starts(self) -> list[int]:
        """Return where each thread began, ordered by :attr:`state`."""
        return [start for position in self._positions for start in position.starts]

    def under_way(self) -> list[int]:
        """Return the numbers of the partially matched patterns."""
        return [number for number, position in enumerate(self._positions) if position.starts or any(position.waiting)]

    def waiting(self) -> list[tuple[tuple[int, int], ...]]:
        """Return the matches that wait for what follows, as (end, start) pairs in groups.

        Of a group all become complete, or none. The order of the groups is fixed by :attr:`state`.
        """
        return [spans for position in self._positions for spans in position.waiting]

    @property
    def state(self) -> Hashable:
        """The state without offsets; from equal states the same characters complete matches."""
        return tuple([position.configuration.state for position in self._positions])

    def mark(self) -> object:
        """Return the position, for ``reset``."""
        return self._positions

    def reset(self, mark: object) -> None:
        """Return to a mark, any number of times."""
        self._positions = mark  # type: ignore[assignment]


class _Configuration:
    """A state with the steps from it that were taken already."""

    __slots__ = ("alone", "complete_at_end", "in_prompt", "in_text", "state")

    def __init__(self, state: _State, complete_at_end: tuple[int, ...]) -> None:
        self.state: Final = state
        self.complete_at_end: Final = complete_at_end
        """Which of the matches that wait are complete if the text ends."""
        # By the label of a character. Within the prompt no match ends.
        self.in_prompt: Final[dict[bytes, _Step]] = {}
        self.in_text: Final[dict[bytes, _Step]] = {}
        self.alone: Final = _Position(self, (), ())
        """The position without a partial match; meant only for such configurations."""


class _Position(NamedTuple):
    """One pattern at one position of a text."""

    configuration: _Configuration  # all that it knows but for offsets
    starts: tuple[int, ...]  # of its threads
    waiting: tuple[_Spans, ...]  # the matches that wait, by state


class _Sources(NamedTuple):
    """The origins of matches that are now in the same state."""

    waiting: tuple[int, ...]  # the indices of the states in which matches have waited
    threads: tuple[int, ...]  # the indices of the threads that end with this character

    def of(self, begun: tuple[int, ...], waiting: tuple[_Spans, ...], end: int) -> _Spans:
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


class _Step(NamedTuple):
    """The effect of a character on a configuration."""

    target: _Configuration
    # by thread of the target: its source threads, as indices; the number of threads stands for the one that begins
    threads: tuple[tuple[int, ...], ...]
    waiting: tuple[_Sources, ...]  # by state of waiting matches in the target: their origins
    found: _Sources | None  # the origins of the matches that are complete; ``None``: none is
    is_idle: bool  # whether the target has no partial match, and nothing is found


class _Automaton:
    """One pattern."""

    def __init__(self, pattern: str) -> None:
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
        self._set(automaton, symbols.numbers, _state_of_all_texts(automaton, anything, len(symbols.members)))

    def _set(self, automaton: Deterministic, symbols: CharacterMap, anything: int) -> None:
        """Make the tables of what was compiled."""
        self._compiled = automaton, symbols, anything
        transitions, byte_classes, accepting = automaton
        self.labels = _Labels(symbols, byte_classes.tobytes())
        self._classes = transitions.shape[1]
        self._border = int(byte_classes[BORDER])
        self.transitions = transitions.reshape(-1).data
        self.accepting: list[bool] = accepting.tolist()
        self._anything = anything
        # Whether a match that has come so far can go on; another can only end here.
        goes_on = np.any(np.delete(transitions, self._border, axis=1) >= 0, axis=1)
        self._goes_on: list[bool] = goes_on.tolist()
        self._configurations: dict[_State, _Configuration] = {}
        self._remembered = 0
        self.start = self._configuration((0, (), ()))

    def __reduce__(self) -> tuple[Any, ...]:
        return _Automaton._of_compiled, self._compiled

    @classmethod
    def _of_compiled(cls, automaton: Deterministic, symbols: CharacterMap, anything: int) -> _Automaton:
        made = object.__new__(cls)
        made._set(automaton, symbols, anything)
        return made

    def step(self, configuration: _Configuration, label: bytes, in_text: bool) -> _Step:
        """Compute the step of a configuration with a label, and keep it."""
        context, threads, waiting = configuration.state
        read: dict[int, list[int]] = {}  # state → the threads that come to it
        for index, state in enumerate((*threads, self._read_border(context))):
            if (target := self._read(state, label)) >= 0:
                read.setdefault(target, []).append(index)
        wait: dict[int, tuple[list[int], list[int]]] = {}  # state → what has waited, and the threads that end
        for index, state in enumerate(waiting):
            if (target := self._read(state, label)) >= 0:
                wait.setdefault(target, ([], []))[0].append(index)
        if in_text:
            for state, sources in read.items():
                if (target := self._read_border(state)) >= 0:
                    wait.setdefault(target, ([], []))[1].extend(sources)
        complete = wait.pop(self._anything, None)
        alive = sorted(state for state in read if self._goes_on[state])
        waits = sorted(wait)
        step = _Step(
            self._configuration((self._read(context, label), tuple(alive), tuple(waits))),
            tuple(tuple(read[state]) for state in alive),
            tuple(_sources(wait[state]) for state in waits),
            None if complete is None else _sources(complete),
            not alive and not waits and complete is None,
        )
        if self._remembered >= MOST_STEPS:
            self._forget()
        self._remembered += 1
        (configuration.in_text if in_text else configuration.in_prompt)[label] = step
        return step

    def _read(self, state: int, label: Iterable[int]) -> int:
        """Return the state after the byte classes of a character; -1: none."""
        for byte_class in label:
            if state < 0:
                break
            state = self.transitions[state * self._classes + byte_class]
        return state

    def _read_border(self, state: int) -> int:
        """Return the state after a border; -1: none."""
        return -1 if state < 0 else self.transitions[state * self._classes + self._border]

    def _configuration(self, state: _State) -> _Configuration:
        """Return the configuration of a state, each made once."""
        known = self._configurations.get(state)
        if known is None:
            complete_at_end = tuple(index for index, match in enumerate(state[2]) if self.accepting[match])
            known = self._configurations.setdefault(state, _Configuration(state, complete_at_end))
        return known

    def _forget(self) -> None:
        """Forget all steps; texts go on from their configurations."""
        for configuration in list(self._configurations.values()):
            configuration.in_prompt.clear()
            configuration.in_text.clear()
        self._configurations = {self.start.state: self.start}
        self._remembered = 0


def _sources(indices: tuple[list[int], list[int]]) -> _Sources:
    return _Sources(tuple(indices[0]), tuple(indices[1]))


class _Labels(dict[str, bytes]):
    """Character → the byte classes of its symbol, filled as characters are met."""

    def __init__(self, symbols: CharacterMap, byte_classes: bytes) -> None:
        super().__init__()
        self._symbols = symbols
        self._byte_classes = byte_classes

    def __missing__(self, character: str) -> bytes:
        label = chr(self._symbols.number(ord(character))).encode().translate(self._byte_classes)
        if len(self) >= MOST_STEPS:
            self.clear()
        self[character] = label
        return label

    def classes(self) -> CharacterMap:
        """Number the characters, equal numbers for equal labels."""
        numbers: dict[bytes, int] = {}
        symbols = range(int(self._symbols.rows.max()) + 1)
        labels = [chr(symbol).encode().translate(self._byte_classes) for symbol in symbols]
        return self._symbols.renumbered(
            np.array([numbers.setdefault(label, len(numbers)) for label in labels], dtype=np.int32)
        )


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
