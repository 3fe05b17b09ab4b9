"""The tokens that a ban forbids, in each state of its matcher.

A strategy that can take tokens back may find out afterwards that a token completed a banned match. A mask must know it
before, of all tokens. They are read at once, character by character (:mod:`sfgen.integrations.char_trie`): the matcher
has finitely many states, and characters that it cannot tell apart form one class, so it is asked once what a class does
in a state, and all else is looking up.

A mask cannot take a token back either. So a token is forbidden, too, that ends inside a character of which every
ending completes a match.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterator
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfgen.ban import BannedWords, SeamMark, SeamMatcher
from sfgen.ban.completing_tokens import ranges, table_of
from sfgen.ban.half_character import is_dead
from sfgen.integrations.char_trie import layers
from sfgen.vocabulary import Vocabulary

Int32 = NDArray[np.int32]

COMPLETE = 0
"""The state behind a banned match."""

_UNKNOWN = -1
_MOST_CELLS = 32 << 20
_BYTES_KEPT = 64 << 20
_MOST_WALKS = 4  # that are kept to compare others with
_SHARE = 4  # at most one in so many tokens is followed anew


class Verdict(NamedTuple):
    """What may not follow.

    Attributes:
        tokens: The tokens of text that complete a match, or after which everything would, int32.
        end: Whether the end of the text completes one.
    """

    tokens: Int32
    end: bool


class _Walk(NamedTuple):
    """What was found on a walk.

    Attributes:
        states: int32 ``[stops]``, the state at each stop.
        guilty: bool, for each token of the layers whether it completes a match.
    """

    states: Int32
    guilty: NDArray[np.bool_]


class Forbidden:
    """What a list of banned words forbids in a vocabulary.

    States are numbers, valid until ``forget``; 0 is the one behind a match.

    Args:
        banned: What must not be written.
        vocabulary: The tokens.

    Attributes:
        epoch: An object for as long as the numbers of states mean the same.

    >>> vocabulary = Vocabulary([b"ta", b"lk", b"l", b"k", b"ing", b" ", None], end_token_ids=[6])
    >>> forbidden = Forbidden(BannedWords(["talk"]), vocabulary)
    >>> state = forbidden.begin(b"we ")
    >>> for token in (0, 1):
    ...     state = forbidden.next_state(state, token)
    >>> forbidden.verdict(state)
    Verdict(tokens=array([5], dtype=int32), end=True)
    """

    def __init__(self, banned: BannedWords, vocabulary: Vocabulary) -> None:
        self._banned = banned
        self._vocabulary = vocabulary
        self._table = table_of(vocabulary.trie, banned.automata)
        self._layers = layers(vocabulary.trie)
        self._classes = self._table.classes[self._layers.symbols]
        self._first = len(self._layers.below)
        self._has_tail = np.array([bool(tail) for tail in self._layers.tails], dtype=np.bool_)
        self.forget()

    def forget(self) -> None:
        """Forget all states."""
        self._numbers: dict[Hashable, int] = {}
        self._marks: list[tuple[SeamMatcher, SeamMark] | None] = [None]
        self._steps = np.full((64, len(self._table.members)), _UNKNOWN, dtype=np.int32)
        self._steps[COMPLETE] = COMPLETE
        self._verdicts: OrderedDict[tuple[int, bool], Verdict] = OrderedDict()
        self._bytes_kept = 0
        self._walks: dict[bool, list[_Walk]] = {False: [], True: []}
        self._after_tail: dict[tuple[int, bytes], int] = {}
        self._ends: dict[int, bool] = {COMPLETE: True}
        self._hopeless: dict[int, bool] = {}
        self.epoch = object()

    @property
    def is_full(self) -> bool:
        """Whether it knows so much that it should forget it between two texts."""
        return self._steps.size > _MOST_CELLS

    def begin(self, prompt: bytes) -> int:
        """The state behind a prompt."""
        return self._number(self._banned.matcher(prompt))

    def next_state(self, state: int, token_id: int) -> int:
        """The state after a token; the same one after a token that is no text."""
        vocabulary = self._vocabulary
        data = vocabulary.tokens[token_id] if 0 <= token_id < len(vocabulary) else None
        return state if data is None or token_id in vocabulary.end_token_ids else self._read(state, data)

    def verdict(self, state: int, *, last: bool = False) -> Verdict:
        """What may not follow a state; with ``last``, if the text is over after one more token."""
        verdict = self._verdicts.get((state, last))
        if verdict is None:
            verdict = self._verdicts[state, last] = self._find(state, last)
            self._bytes_kept += verdict.tokens.nbytes
            while self._bytes_kept > _BYTES_KEPT and len(self._verdicts) > 1:
                self._bytes_kept -= self._verdicts.popitem(last=False)[1].tokens.nbytes
        return verdict

    # ---- the walk --------------------------------------------------------------------------------------------------

    def _find(self, state: int, last: bool) -> Verdict:
        """Read all tokens from a state.

        Most tokens do the same in many states: those that do not go on with what is under way. So they are compared
        with a walk from another state, and only followed as long as they come to another state than there.
        """
        if self._is_inside(state):
            guilty = self._walk(state, last).guilty
        else:
            first = self._after(np.full(len(self._layers.below), state, np.int32), self._classes[: self._first])
            walks = self._walks[last]
            differ = [int(self._layers.below[first != walk.states[: self._first]].sum()) for walk in walks]
            if differ and min(differ) <= len(self._layers.tokens) // _SHARE:
                guilty = self._compare(walks[int(np.argmin(differ))], state, first, last)
            else:
                walk = self._walk(state, last)
                guilty = walk.guilty
                self._walks[last] = [*walks[-_MOST_WALKS + 1 :], walk]
        tokens = self._layers.tokens[guilty]
        tokens.sort()
        return Verdict(tokens, self._ends_in_match(state))

    def _compare(self, walk: _Walk, state: int, first: Int32, last: bool) -> NDArray[np.bool_]:
        """Which tokens complete a match, from another walk and the states in the first layer."""
        parts = self._layers
        guilty = walk.guilty.copy()
        stops: NDArray[np.int64] = np.flatnonzero(first != walk.states[: self._first])
        states = first[stops]
        self._judge(guilty, np.array([-1]), np.array([state], np.int32), last)
        while len(stops):
            self._judge(guilty, stops, states, last)
            starts, ends = parts.children[stops], parts.children[stops + 1]
            stops = ranges(starts, ends)
            states = self._after(np.repeat(states, ends - starts), self._classes[stops])
            differ = states != walk.states[stops]
            stops, states = stops[differ], states[differ]
        return guilty

    def _walk(self, state: int, last: bool) -> _Walk:
        """Read all tokens from a state, layer after layer."""
        parts, classes = self._layers, self._classes
        states = np.empty(len(classes), dtype=np.int32)
        halves = dict(self._halves(state))
        for start, stop in pairwise(parts.edges):
            before = states[parts.parents[start:stop]] if start else np.full(stop - start, state, dtype=np.int32)
            states[start:stop] = self._after(before, classes[start:stop])
            for place in [place for place in halves if start <= place < stop]:
                states[place] = halves.pop(place)
        guilty = np.zeros(len(parts.tokens), dtype=np.bool_)
        self._judge(guilty, np.arange(-1, len(states)), np.append(np.int32(state), states), last)
        return _Walk(states, guilty)

    def _judge(self, guilty: NDArray[np.bool_], stops: NDArray[np.int64], states: Int32, last: bool) -> None:
        """Say of the tokens whose last stop is one of ``stops``, in ``states``, whether they complete a match."""
        parts = self._layers
        first, beyond = parts.endings[stops + 1], parts.endings[stops + 2]
        places = parts.by_stop[ranges(first, beyond)]
        behind = np.repeat(states, beyond - first)
        numbers = np.flatnonzero(np.bincount(behind, minlength=len(self._marks))).tolist()
        ends, half = np.zeros((2, len(self._marks)), dtype=np.bool_)
        ends[numbers] = [last and self._ends_in_match(number) for number in numbers]
        half[numbers] = [number != COMPLETE and self._is_inside(number) for number in numbers]
        has_tail, is_complete = self._has_tail[places], behind == COMPLETE
        guilty[places] = is_complete | (ends[behind] & ~has_tail)
        # What ends inside a character may have completed a match before it, and may leave no way to go on.
        tailed = np.flatnonzero((has_tail | (half & ~ends)[behind]) & ~is_complete)
        for place, number in zip(places[tailed].tolist(), behind[tailed].tolist(), strict=True):
            question = number, parts.tails[place]
            after = self._after_tail.get(question)
            if after is None:
                after = self._after_tail[question] = self._read(*question)
            guilty[place] = after == COMPLETE or (last and self._ends_in_match(after)) or self._is_hopeless(after)

    def _is_hopeless(self, state: int) -> bool:
        """Whether a character is half read, and whatever it becomes completes a match, as the end would.

        After ``talk`` the first half of an emoji leads nowhere: the whole one ends the word.
        """
        if not self._is_inside(state) or not self._ends_in_match(state):
            return False
        answer = self._hopeless.get(state)
        if answer is None:
            answer = self._hopeless[state] = not self._writes_any_ending or is_dead(self._at(state))
        return answer

    @cached_property
    def _writes_any_ending(self) -> bool:
        """Whether a character that was begun can always be written to its end."""
        return bool(self._vocabulary.trie.single_bytes[0x80:0xC0].all())

    def _halves(self, state: int) -> Iterator[tuple[int, int]]:
        """Where tokens go on with a character that is half read: the stops on that way, and their states.

        Read by itself, each byte that can go on with a character is one (U+FFFD), so it is a stop. What follows such a
        stop is read anew where the character is still not whole.
        """
        if not self._is_inside(state):
            return
        trie, stops = self._vocabulary.trie, self._layers.stops
        waiting = [(-1, state)]
        while waiting:
            node, before = waiting.pop()
            child, end = node + 1, len(trie) if node < 0 else int(trie.subtree_ends[node])
            while child < end:
                if trie.bytes[child] & 0xC0 == 0x80:
                    behind = self._read(before, bytes([trie.bytes[child]]))
                    yield int(stops[child]), behind
                    if behind != COMPLETE and self._is_inside(behind):
                        waiting.append((child, behind))
                child = int(trie.subtree_ends[child])

    def _after(self, states: Int32, classes: Int32) -> Int32:
        """The states after characters of some classes."""
        after: Int32 = self._steps[states, classes]
        unknown = after == _UNKNOWN
        if unknown.any():
            width = self._steps.shape[1]
            for question in np.unique(states[unknown].astype(np.int64) * width + classes[unknown]).tolist():
                state, label = divmod(question, width)
                answer = self._read(state, self._table.members[label])  # may make room
                self._steps[state, label] = answer
            after = self._steps[states, classes]
        return after

    # ---- the matcher -----------------------------------------------------------------------------------------------

    def _read(self, state: int, data: bytes) -> int:
        """The state after some bytes."""
        if state == COMPLETE:
            return COMPLETE
        matcher = self._at(state)
        return COMPLETE if matcher.advance(data) is not None else self._number(matcher)

    def _is_inside(self, state: int) -> bool:
        """Whether a character is half read."""
        mark = self._marks[state]
        return mark is not None and bool(mark[1].pending)

    def _ends_in_match(self, state: int) -> bool:
        """Whether the end of the text completes a match."""
        answer = self._ends.get(state)
        if answer is None:
            answer = self._ends[state] = self._at(state).finish() is not None
        return answer

    def _at(self, state: int) -> SeamMatcher:
        """A matcher in a state."""
        kept = self._marks[state]
        assert kept is not None
        kept[0].reset(kept[1])
        return kept[0]

    def _number(self, matcher: SeamMatcher) -> int:
        """The number of a matcher's state."""
        number = self._numbers.setdefault(matcher.state, len(self._marks))
        if number == len(self._marks):
            self._marks.append((matcher, matcher.mark()))
            if number == len(self._steps):
                self._steps = np.concatenate([self._steps, np.full_like(self._steps, _UNKNOWN)])
        return number
