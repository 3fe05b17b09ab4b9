"""The tokens that a ban forbids, for masks: by the state of its matcher, one number for each.

A strategy that can take tokens back may find out afterwards that a token completed a banned match. A mask must know it
before, of all tokens, also of those in which the whole match lies. And it cannot take a token back: one that ends
inside a character is forbidden, too, if every ending of that completes a match.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, NamedTuple

import numpy as np

from sfgen.ban.ban_automata import BanAutomata
from sfgen.ban.completing_tokens import Finds, Flags, TokenWalks
from sfgen.ban.matcher_states import COMPLETE
from sfgen.ban.seam import SeamMatcher
from sfgen.protocols import Int32
from sfgen.vocabulary.trie import TokenTrie

_MOST_CELLS: Final = 32 << 20
_BYTES_KEPT: Final = 64 << 20
_MOST_WALKS: Final = 4  # that are kept to compare others with
_SHARE: Final = 4  # at most one in N tokens is followed anew


class Verdict(NamedTuple):
    """The tokens that may not follow.

    Attributes:
        tokens: Int32, ascending; the tokens of text that complete a match, or after which every continuation would.
        end: Whether the end of the text completes a match.
    """

    tokens: Int32
    end: bool


class _Walk(NamedTuple):
    """What was found on a walk.

    Attributes:
        states: int32 ``[stops]``, the state at each stop; see ``TokenWalks.walk``.
        forbidden: bool ``[ids]``, what was found.
    """

    states: Int32
    forbidden: Flags


class ForbiddenTokens:
    """The tokens that a ban forbids in a vocabulary, by state.

    It belongs to one thread. States are numbers, valid until ``forget``; ``COMPLETE`` is the one after a match.

    Args:
        automata: The ban.
        trie: The tokens.

    >>> from sfgen.ban import BannedWords
    >>> trie = TokenTrie.from_tokens([b"ta", b"lk", b"l", b"k", b"ing", b" "])
    >>> forbidden = ForbiddenTokens(BannedWords(["talk"]).automata, trie)
    >>> state = forbidden.begin(b"we ")
    >>> for token in (b"ta", b"lk"):
    ...     state = forbidden.next_state(state, token)
    >>> forbidden.verdict(state)
    Verdict(tokens=array([5], dtype=int32), end=True)
    """

    def __init__(self, automata: BanAutomata, trie: TokenTrie) -> None:
        self._automata = automata
        self._walks = TokenWalks(automata, trie)
        self._states = self._walks.states()
        self._size = len(trie.token_ids)
        self.forget()

    def forget(self) -> None:
        """Forget all states."""
        self._states.forget()
        self._verdicts: OrderedDict[tuple[int, bool], Verdict] = OrderedDict()
        self._bytes_kept = 0
        self._kept: dict[bool, list[_Walk]] = {False: [], True: []}

    @property
    def is_full(self) -> bool:
        """Whether its caches should be dropped between two texts."""
        return self._states.cells > _MOST_CELLS

    def begin(self, prompt: bytes) -> int:
        """Return the state after a prompt."""
        return self._states.begin(SeamMatcher(self._automata, prompt).mark())

    def next_state(self, state: int, data: bytes) -> int:
        """Return the state after the bytes of a token.

        Args:
            state: The state before it.
            data: Its bytes.
        """
        return self._states.read(state, data)

    def verdict(self, state: int, *, last: bool = False) -> Verdict:
        """Return the tokens that may not follow a state.

        Args:
            state: The state.
            last: Whether the text is over after one more token.
        """
        verdict = self._verdicts.get((state, last))
        if verdict is None:
            tokens = np.flatnonzero(self._find(state, last)).astype(np.int32)
            verdict = self._verdicts[state, last] = Verdict(tokens, self._states.ends_in_match(state))
            self._bytes_kept += verdict.tokens.nbytes
            while self._bytes_kept > _BYTES_KEPT and len(self._verdicts) > 1:
                self._bytes_kept -= self._verdicts.popitem(last=False)[1].tokens.nbytes
        return verdict

    def _find(self, state: int, last: bool) -> Flags:
        """Read all tokens from a state.

        Most tokens do the same in many states: those that do not go on with a partial match. So they are compared
        with a walk from another state, and only followed as long as they come to another state than there.
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
