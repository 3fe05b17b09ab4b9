"""The tokens that complete a banned match.

Where a match is partial, some of the tokens that could come next complete it, and none of them needs to be tried. One
walk over the characters of all tokens (:mod:`sfgen.vocabulary.character_trie`) finds them, with the states of the
automaton as numbers (:mod:`sfgen.ban.state_table`): the characters of one depth are one look-up in the table of steps.
The walk stops where a match is complete, whatever follows, and where no partial match is left.

A token that ends inside a character completes nothing yet. But after ``talk`` the first half of an emoji is *dead*
where ``talk`` is banned: whichever emoji it becomes, it ends the word.

A strategy that can take tokens back may notice afterwards that a token completed a banned match, so
:class:`CompletingTokens` may miss some. A mask must have all of them beforehand, also tokens that contain the whole
match, and the dead ones: :class:`ForbiddenTokens` finds them by the state of the matcher, a number.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterator
from enum import Enum, auto
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfgen.ban.automaton import Automaton
from sfgen.ban.seam import SeamMatcher
from sfgen.ban.state_table import COMPLETE, CUT, GONE, StateTable, characters_from, is_dead, text_classes
from sfgen.kernels import FlagsOut, Int, Int32s, kernel
from sfgen.protocols import Int32
from sfgen.vocabulary.character_trie import character_trie, ranges
from sfgen.vocabulary.trie import TokenTrie

Flags = NDArray[np.bool_]

_MOST_STEPS: Final = 5_000
"""The most steps of the matcher in one walk, which then ends with the tokens that it has. Long lists need more."""

_MOST_CELLS: Final = 1 << 20
"""The size of the table of steps beyond which it is made anew."""

_MOST_ANSWERS: Final = 32
"""The most answers that are kept."""

# Of ``ForbiddenTokens``:
_MOST_CELLS_KEPT: Final = 32 << 20  # of the table of steps
_BYTES_KEPT: Final = 64 << 20  # of answers
_MOST_WALKS: Final = 4  # that are kept to compare others with
_SHARE: Final = 4  # at most one in N tokens is followed anew

_UNSEEN: Final = -2
"""The state of a stop that a walk has not reached."""


class Finds(Enum):
    """The tokens that a walk looks for."""

    COMPLETING = auto()  # tokens that complete a match
    DEAD = auto()  # tokens that end inside a character, whose every ending completes a match
    FORBIDDEN = auto()  # both
    LAST = auto()  # tokens that complete a match if the text ends after them


class CompletingTokens:
    r"""The search for tokens that complete a banned match.

    Threads may share it.

    >>> from sfgen.ban import BannedWords
    >>> banned, trie = BannedWords(["talk"]), TokenTrie.from_tokens([b"alk", b"alk.", b"ing", b".", b"\xf0\x9f\x98"])
    >>> tokens, matcher = CompletingTokens(banned.automata, trie), banned.matcher()
    >>> matcher.advance(b"t"), tokens.of(matcher).tolist()
    (None, [1])
    >>> matcher.advance(b"alk"), tokens.of(matcher).tolist(), tokens.dead(matcher).tolist()
    (None, [3], [4])
    """

    def __init__(self, automata: Automaton, trie: TokenTrie) -> None:
        self._walks = TokenWalks(automata, trie)
        self._open = self._walks.states(only_open=True)
        self._all = self._walks.states()
        self._answers: dict[tuple[Finds, Hashable], Int32] = {}
        self._lock = threading.Lock()

    def of(self, matcher: SeamMatcher) -> Int32:
        """Return the tokens that complete a partial match, int32, ascending; read-only.

        A match counts as complete where :meth:`~sfgen.ban.detection.Matcher.advance` reports it. After a half-read
        character, tokens that complete a match which begins within them may be among them.
        """
        if matcher.open_from() is None:
            return np.empty(0, np.int32)
        return self._find(self._open, matcher, Finds.COMPLETING)

    def dead(self, matcher: SeamMatcher) -> Int32:
        """Return the tokens after which every continuation is banned, int32, ascending; read-only."""
        return self._find(self._all, matcher, Finds.DEAD)

    @staticmethod
    def is_dead(matcher: SeamMatcher) -> bool:
        """Return whether every continuation of the text is banned; it then ends inside a character."""
        return is_dead(matcher)

    def _find(self, states: StateTable, matcher: SeamMatcher, finds: Finds) -> Int32:
        key = finds, matcher.state
        answer = self._answers.get(key)
        if answer is None:
            with self._lock:
                if states.cells > _MOST_CELLS:
                    states.forget()
                chosen = self._walks.nothing()
                most = _MOST_STEPS if finds is Finds.COMPLETING else None
                self._walks.walk(states, states.begin(matcher.mark()), finds, chosen, most_steps=most)
                answer = np.flatnonzero(chosen).astype(np.int32)
                answer.flags.writeable = False
                if len(self._answers) >= _MOST_ANSWERS:
                    self._answers.clear()
                self._answers[key] = answer
        return answer


@lru_cache(maxsize=8)
def completing_tokens(automata: Automaton, trie: TokenTrie) -> CompletingTokens:
    """Return the search of a ban and a vocabulary; the last few are kept and shared by texts."""
    return CompletingTokens(automata, trie)


class Forbidden(NamedTuple):
    """The tokens that may not follow."""

    tokens: Int32  # int32, ascending: those that complete a match, or after which every continuation would
    end: bool  # whether the end of the text completes a match


class _Walk(NamedTuple):
    """The result of a walk."""

    states: Int32  # int32 [stops], the state at each stop
    forbidden: Flags  # bool [ids], the tokens that were found


class ForbiddenTokens:
    """The tokens that a ban forbids in a vocabulary, by state.

    It belongs to one thread. States are numbers, valid until ``forget``; ``COMPLETE`` is the one after a match.

    >>> from sfgen.ban import BannedWords
    >>> trie = TokenTrie.from_tokens([b"ta", b"lk", b"l", b"k", b"ing", b" "])
    >>> forbidden = ForbiddenTokens(BannedWords(["talk"]).automata, trie)
    >>> state = forbidden.begin(b"we ")
    >>> for token in (b"ta", b"lk"):
    ...     state = forbidden.next_state(state, token)
    >>> forbidden.verdict(state)
    Forbidden(tokens=array([5], dtype=int32), end=True)
    """

    def __init__(self, automata: Automaton, trie: TokenTrie) -> None:
        self._automata = automata
        self._walks = TokenWalks(automata, trie)
        self._states = self._walks.states()
        self._size = len(trie.token_ids)
        self.forget()

    def forget(self) -> None:
        """Forget all states."""
        self._states.forget()
        self._verdicts: OrderedDict[tuple[int, bool], Forbidden] = OrderedDict()
        self._bytes_kept = 0
        self._kept: dict[bool, list[_Walk]] = {False: [], True: []}

    @property
    def is_full(self) -> bool:
        """Whether its caches are so large that they should be dropped between two texts."""
        return self._states.cells > _MOST_CELLS_KEPT

    def begin(self, prompt: bytes) -> int:
        """Return the state after a prompt."""
        return self._states.begin(SeamMatcher(self._automata, prompt).mark())

    def next_state(self, state: int, data: bytes) -> int:
        """Return the state after the bytes of a token."""
        return self._states.read(state, data)

    def verdict(self, state: int, *, last: bool = False) -> Forbidden:
        """Return the tokens that may not follow a state; ``last``: one more token ends the text."""
        verdict = self._verdicts.get((state, last))
        if verdict is None:
            tokens = np.flatnonzero(self._find(state, last)).astype(np.int32)
            verdict = self._verdicts[state, last] = Forbidden(tokens, self._states.ends_in_match(state))
            self._bytes_kept += verdict.tokens.nbytes
            while self._bytes_kept > _BYTES_KEPT and len(self._verdicts) > 1:
                self._bytes_kept -= self._verdicts.popitem(last=False)[1].tokens.nbytes
        return verdict

    def _find(self, state: int, last: bool) -> Flags:
        """Read all tokens from a state; return which are forbidden, bool ``[ids]``.

        Most tokens do the same in many states: those that do not continue a partial match. So they are compared with a
        walk from another state, and followed only as long as their states differ from those there.
        """
        walks, states, finds = self._walks, self._states, Finds.LAST if last else Finds.FORBIDDEN
        kept = self._kept[last]
        if state != COMPLETE and not states.is_inside(state):
            first = walks.first(states, state)
            differing = [walks.differing(first, walk.states) for walk in kept]
            if differing and min(differing) <= self._size // _SHARE:
                other = kept[int(np.argmin(differing))]
                forbidden = other.forbidden.copy()
                walks.walk(states, state, finds, forbidden, other=other.states)
                return forbidden
        forbidden = walks.nothing()
        seen = walks.unseen()
        walks.walk(states, state, finds, forbidden, seen=seen)
        if not states.is_inside(state):
            self._kept[last] = [*kept[-_MOST_WALKS + 1 :], _Walk(seen, forbidden)]
        return forbidden


class TokenWalks:
    """Walks over the characters of all tokens, by states of the matcher."""

    def __init__(self, automata: Automaton, trie: TokenTrie) -> None:
        self._automata = automata
        self._trie = trie
        self._characters = character_trie(trie)
        self._classes, self._members = _stop_classes(automata, trie)
        # Whether a character that was begun can always be written to its end.
        self._writes_any_ending = bool(trie.single_bytes[0x80:0xC0].all())

    def states(self, *, only_open: bool = False) -> StateTable:
        """Make states for walks; see :class:`~sfgen.ban.state_table.StateTable`."""
        return StateTable(self._automata, self._members, only_open=only_open)

    def nothing(self) -> Flags:
        """Return false for each id, bool ``[ids]``."""
        return np.zeros(self._trie.vocabulary_size, dtype=np.bool_)

    def unseen(self) -> Int32:
        """Return the state at each stop before a walk, int32 ``[stops]``."""
        return np.full(len(self._classes), _UNSEEN, dtype=np.int32)

    def first(self, states: StateTable, state: int) -> Int32:
        """Return the states after the first characters of all tokens, int32 ``[roots]``."""
        roots = self._characters.roots
        return states.after(np.full(roots, state, np.int32), self._classes[:roots])

    def differing(self, first: Int32, other: Int32) -> int:
        """Count the tokens after whose first character two walks are in different states."""
        return int(self._characters.below[first != other[: len(first)]].sum())

    def walk(
        self,
        states: StateTable,
        start: int,
        finds: Finds,
        chosen: Flags,
        *,
        most_steps: int | None = None,
        other: Int32 | None = None,
        seen: Int32 | None = None,
    ) -> None:
        """Find tokens from the state ``start``; set them in ``chosen``, bool ``[ids]``."""
        # ``most_steps``: the matcher's steps that may be needed. ``other``: the states of another walk for the same,
        # from a state outside a character; only tokens that come to other states are followed, and ``chosen`` begins as
        # its result. ``seen``: takes the state at each stop that the walk reaches.
        characters, classes = self._characters, self._classes
        halves = dict(self._halves(states, start))
        wanted = None
        if finds is Finds.DEAD:
            wanted = characters.leads_to_tail.copy()
            wanted[list(halves)] = True
        complete: list[Int32] = []
        if finds is not Finds.COMPLETING or states.is_inside(start):
            self._judge(states, finds, chosen, np.array([-1]), np.array([start], np.int32))
        stops, before = np.arange(characters.roots), np.full(characters.roots, start, dtype=np.int32)
        # A token without a tail is not judged, unless a character was half read before it, or the text ends.
        judges_all = finds is Finds.LAST or other is not None or states.is_inside(start)
        steps = 0
        while len(stops):
            if wanted is not None:
                stops, before = stops[wanted[stops]], before[wanted[stops]]
            if most_steps is not None:
                steps += _number_of_pairs(before, classes[stops]) if steps else states.classes
                if steps > most_steps:
                    break
            after = states.after(before, classes[stops])
            for stop, behind in halves.items():
                after[stops == stop] = behind
            if seen is not None:
                seen[stops] = after
            if other is not None:
                differs = after != other[stops]
                stops, after = stops[differs], after[differs]
            if finds is not Finds.DEAD:
                complete.append(characters.nodes[stops[after == COMPLETE]])
            is_open = (after != COMPLETE) & (after != GONE)
            stops, after = stops[is_open], after[is_open]
            judged = slice(None) if judges_all else characters.ends_in_tail[stops]
            if finds is not Finds.COMPLETING:
                self._judge(states, finds, chosen, stops[judged], after[judged])
            first, beyond = characters.first[stops], characters.after[stops]
            stops, before = ranges(first, beyond), np.repeat(after, beyond - first)
        trie = self._trie
        nodes = np.concatenate([np.empty(0, np.int32), *complete])
        _choose_below(nodes, trie.subtree_ends, trie.token_starts, trie.token_ids, chosen)

    def _halves(self, states: StateTable, start: int) -> Iterator[tuple[int, int]]:
        """Yield the stops at which tokens go on with a half-read character, and their states.

        Read alone, each byte that can continue a character is a character (U+FFFD), so it is a stop. If the half-read
        character is still not whole after such a stop, the rest of the token is read anew.
        """
        if not states.is_inside(start):
            return
        trie, stops = self._trie, self._characters.stops
        waiting = [(-1, start)]
        while waiting:
            node, before = waiting.pop()
            child, end = node + 1, len(trie) if node < 0 else int(trie.subtree_ends[node])
            while child < end:
                if trie.bytes[child] & 0xC0 == 0x80:
                    behind = states.read(before, bytes([trie.bytes[child]]))
                    yield int(stops[child]), behind
                    if states.is_inside(behind):
                        waiting.append((child, behind))
                child = int(trie.subtree_ends[child])

    # ---- tokens that end without a match ---------------------------------------------------------------------------

    def _judge(self, states: StateTable, finds: Finds, chosen: Flags, stops: NDArray[np.int64], behind: Int32) -> None:
        """Decide about the tokens that end after ``stops`` (-1: the root) without a complete match."""
        characters = self._characters
        first, beyond = characters.edges[stops + 1], characters.edges[stops + 2]
        positions = ranges(first, beyond)
        tokens, tails = characters.tokens[positions], characters.tails[positions]
        chosen[tokens] = False
        numbers = np.repeat(behind, beyond - first)
        matters = tails > 0
        if finds is Finds.LAST:
            matters[:] = True
        elif finds is not Finds.COMPLETING:
            for number in np.unique(behind).tolist():
                if states.is_inside(number):
                    matters |= numbers == number
        tokens, tails, numbers = tokens[matters], tails[matters], numbers[matters]
        for number in np.unique(numbers).tolist():
            here = numbers == number
            chosen[tokens[here]] = self._by_tail(states, finds, number)[tails[here]]

    def _by_tail(self, states: StateTable, finds: Finds, state: int) -> Flags:
        """Tell of each tail whether a token with it after a state is wanted, bool ``[tails]``; the first is no tail."""
        tails = np.zeros(len(self._characters.tail_texts), dtype=np.bool_)
        tails[0] = self._is_found_without_tail(states, finds, state)
        # A tail begins a character. So it cuts one short that is half read, and after that all tails are alike, but
        # for what they may become.
        cut = states.read(state, CUT)
        if len(tails) == 1:
            return tails
        if cut == COMPLETE:
            tails[1:] = finds is not Finds.DEAD
        elif finds is Finds.LAST or (finds is Finds.FORBIDDEN and not self._writes_any_ending):
            tails[1:] = states.ends_in_match(cut)
        elif finds is not Finds.COMPLETING and states.ends_in_match(cut) and states.completes(cut, CUT):
            known: dict[int, bool] = {}  # by class of characters: whether one completes a match

            def completes(label: int, character: bytes) -> bool:
                if label not in known:
                    known[label] = states.completes(state, character)
                return known[label]

            tails[1:] = [
                all(completes(*each) for each in characters_from(self._automata, tail))
                for tail in self._characters.tail_texts[1:]
            ]
        return tails

    def _is_found_without_tail(self, states: StateTable, finds: Finds, state: int) -> bool:
        """Return whether a token that ends between characters, in a state, is wanted."""
        if finds is Finds.LAST:
            return states.ends_in_match(state)
        if finds is Finds.COMPLETING or not states.is_inside(state):
            return False
        if finds is Finds.FORBIDDEN and not self._writes_any_ending:
            return states.ends_in_match(state)
        return is_dead(states.at(state))


class _StopClasses(NamedTuple):
    """The characters of a vocabulary in the classes of a ban."""

    classes: Int32  # int32 [stops], the class of the text that each stop completes
    members: tuple[bytes, ...]  # the bytes of one text of each class


@lru_cache(maxsize=8)
def _stop_classes(automata: Automaton, trie: TokenTrie) -> _StopClasses:
    """Return the characters of the tokens as classes that a ban tells apart; the last few are kept."""
    characters = character_trie(trie)
    classes = text_classes(automata, characters.texts)
    _, first = np.unique(classes, return_index=True)
    members = tuple(characters.texts[position].encode() for position in first.tolist())
    return _StopClasses(classes[characters.symbols], members)


def _number_of_pairs(states: Int32, classes: Int32) -> int:
    """Count the distinct pairs."""
    return len(np.unique(states.astype(np.int64) << 32 | classes))


@kernel
def _choose_below(
    nodes: Int32s, subtree_ends: Int32s, token_starts: Int32s, token_ids: Int32s, chosen: FlagsOut
) -> Int:
    """Choose the tokens of some nodes and of all below them; return their number."""
    count = np.int64(0)
    for number in range(len(nodes)):
        node = nodes[number]
        for position in range(token_starts[node], token_starts[subtree_ends[node]]):
            chosen[token_ids[position]] = True
            count += 1
    return count
