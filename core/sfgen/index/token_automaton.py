"""An automaton over a vocabulary: the tokens that each state allows, their targets, and the fewest tokens to the end.

A mask is made when it is asked for, and kept while there is room (see ``sfgen.index.mask_store``). The next state is
found by walking the bytes of the token, so no table of transitions is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfgen import arguments
from sfgen.automata import Dfa
from sfgen.errors import DeadEnd, LimitTooSmall, UsageError
from sfgen.index.distance import UNREACHABLE, byte_distances, token_distances
from sfgen.index.mask_ids import TOKEN_IDS
from sfgen.index.mask_store import MadeMask, MaskStore
from sfgen.protocols import Int32, Mask, Tokens
from sfgen.vocabulary import TokenTrie, Vocabulary

_SHOWN = 60  # characters of a match in a message
_STEP = 256  # states between two calls of `progress`


class TokenAutomaton:
    """The token masks and transitions of a DFA's states.

    It is immutable and lazy, and threads may share it. A token is allowed in a state if the automaton can read all its
    bytes from there and if, from the state it leads to, some sequence of tokens still reaches an accepting state. End
    tokens are allowed exactly in accepting states.

    Attributes:
        dfa: The automaton.
        vocabulary: The tokens.
        masks: The mask of each state that is kept at present, read-only; ``None`` for the others. For guides.

    >>> vocabulary = Vocabulary([b"1", b"12", b".", b".5", b"a", None], end_token_ids=[5])
    >>> index = TokenAutomaton(Dfa.from_regex(r"[0-9]+\\.[0-9]"), vocabulary)
    >>> index.allowed_tokens(0).tolist()
    [0, 1]
    >>> index.allowed_tokens(index.next_state(0, 0)).tolist()
    [0, 1, 2, 3]
    """

    def __init__(self, dfa: Dfa, vocabulary: Tokens) -> None:
        self.dfa = arguments.instance("dfa", dfa, Dfa, hint="Make one of a pattern: sfgen.Dfa.from_regex(pattern).")
        hint = "A model has one: model.vocabulary."
        vocabulary = self.vocabulary = arguments.instance("vocabulary", vocabulary, Vocabulary, hint=hint)
        if not dfa.accepting.any():
            raise UsageError("the automaton accepts no text at all", hint="Look at the automata that it was made from.")
        # Where every byte that the pattern can need is a token by itself, no state is a dead end.
        goal = None
        single_bytes = vocabulary.trie.single_bytes
        if not single_bytes.all() and not single_bytes[self._bytes_read()].all():
            goal = self.distance != UNREACHABLE
            if not goal[0]:
                raise DeadEnd(
                    "no sequence of tokens of this vocabulary writes a match of the pattern",
                    details=self._missing_bytes(),
                    hint="Use a model whose tokenizer can write these bytes, or change the pattern.",
                )
        self._store = MaskStore(dfa, vocabulary, goal)
        self.masks = self._store.masks
        self._token_bytes = vocabulary.tokens
        self._end_tokens = frozenset(vocabulary.end_token_ids)
        # Plain Python reads single numbers from these faster than from arrays.
        self._steps = dfa.transitions.reshape(-1).data
        self._width = dfa.transitions.shape[1]
        self._classes = dfa.byte_classes.tobytes()
        self._accepting = dfa.accepting.tobytes()
        self._size = len(self._accepting)
        self._live = None if goal is None else goal.tobytes()

    # ---- what a state allows -----------------------------------------------------------------------------------

    @property
    def masks_nbytes(self) -> int:
        """The bytes of the different masks that are kept."""
        return self._store.nbytes

    def row(self, state: int) -> Mask:
        """Return the token mask of a state.

        Returns:
            Uint32 ``[ceil(len(vocabulary) / 32)]``, read-only and shared. Bit ``t % 32`` of word ``t // 32`` is set
            where token ``t`` is allowed.

        Raises:
            UsageError: There is no such state.
        """
        if state.__class__ is not int or not 0 <= state < self._size:
            state = self._known(state)
        row = self.masks[state]
        return self._store.made(state)[0] if row is None else row

    def made(self, state: int) -> MadeMask:
        """Return a state's token mask, its number of tokens and a digest."""
        return self._store.made(self._known(state))

    def allowed_count(self, state: int) -> int:
        """Return the number of tokens that a state allows, with end tokens."""
        return self.made(state)[1]

    def allowed_tokens(self, state: int) -> Int32:
        """Return the ids of a state's allowed tokens, ascending, int32.

        They are read-only and shared.
        """
        return TOKEN_IDS.of(self.row(state))

    def is_ready(self, state: int) -> bool:
        """Return whether the mask of a state is made.

        One that takes microseconds is made now.
        """
        return self._store.made_if_quick(self._known(state)) is not None

    def allows_several(self, state: int) -> bool | None:
        """Return whether a state allows two tokens or more, if quickly known.

        All end tokens count as one.

        Returns:
            ``None`` if the answer takes longer than microseconds; once the mask is made, it is known.
        """
        return self._store.several(self._known(state))

    def next_state(self, state: int, token_id: int) -> int:
        """Return the state after a token.

        Args:
            state: The state before it.
            token_id: The token.

        Returns:
            -1 where the token is not allowed, or is an end token, which leads nowhere.

        Raises:
            UsageError: There is no such state.
        """
        if state.__class__ is not int or not 0 <= state < self._size:
            state = self._known(state)
        if token_id.__class__ is not int:
            token_id = arguments.whole_number("token_id", token_id)
        data = self._token_bytes[token_id] if 0 <= token_id < len(self._token_bytes) else None
        if data is None or token_id in self._end_tokens:
            return -1
        steps, width = self._steps, self._width
        for label in data.translate(self._classes):
            state = steps[state * width + label]
            if state < 0:
                return -1
        return state if self._live is None or self._live[state] else -1

    def walk(self, state: int, data: bytes) -> int:
        """Return the state after some bytes, which may be inside a token.

        Args:
            state: The state before them.
            data: The bytes.

        Returns:
            -1 where they are refused.

        Raises:
            UsageError: There is no such state.
        """
        steps, width = self._steps, self._width
        state = self._known(state)
        if data.__class__ is not bytes:
            data = arguments.data("data", data)
        for label in data.translate(self._classes):
            state = steps[state * width + label]
            if state < 0:
                return -1
        return state

    def is_accepting(self, state: int) -> bool:
        """Return whether the text may end in a state."""
        if state.__class__ is not int or not 0 <= state < self._size:
            state = self._known(state)
        return self._accepting[state] > 0

    def is_final(self, state: int) -> bool:
        """Return whether a state is accepting and has no transitions."""
        if state.__class__ is not int or not 0 <= state < self._size:
            state = self._known(state)
        return self._accepting[state] > 0 and max(self._steps[state * self._width : (state + 1) * self._width]) < 0

    def only_step(self, state: int) -> tuple[int, int] | None:
        """Return the only byte that can follow, and the state after it.

        Returns:
            ``None`` where there is a choice, or the text may end.
        """
        if self._accepting[self._known(state)]:
            return None
        targets = self._steps[state * self._width : (state + 1) * self._width].tolist()
        read = [label for label, target in enumerate(targets) if target >= 0]
        byte = self._classes.find(read[0])
        if len(read) > 1 or self._classes.rfind(read[0]) != byte:
            return None
        return byte, targets[read[0]]

    def forced_bytes(self, state: int, most: int | None = None) -> bytes:
        """Return the bytes that must follow a state, up to a choice.

        They also stop at the first accepting state.

        Args:
            state: The state.
            most: The most bytes to return; ``None``: any number.
        """
        forced = bytearray()
        if most is not None:
            most = arguments.whole_number("most", most, least=0)
        while (most is None or len(forced) < most) and (step := self.only_step(state)) is not None:
            byte, state = step
            forced.append(byte)
        return bytes(forced)

    def transitions(self, state: int) -> tuple[Int32, Int32]:
        """List the text tokens that a state allows, and their targets.

        Returns:
            Token ids, ascending, and the state that each leads to, both int32 ``[k]``.
        """
        return self._store.transitions(self._known(state))

    def tokens_behind(self, state: int, trie: TokenTrie, room: int | None = None) -> Int32:
        """Return the tokens whose end a state can read, ascending, int32.

        Args:
            state: Where that end begins.
            trie: Their ends: ``TokenTrie.below`` a node.
            room: How many more tokens may follow such a token to an accepting state; ``None``: any number.
        """
        arguments.instance("trie", trie, TokenTrie)
        tokens, targets = self._store.transitions(self._known(state), trie)
        if room is not None:
            room = arguments.whole_number("room", room, least=0)
        if room is None or room >= self.longest_way:
            return tokens
        return tokens[self.distance[targets] <= room]

    def bounded_row(self, state: int, tokens_left: int) -> Mask:
        """Return the token mask of a state near the limit.

        A token is allowed only if the text can still be completed with the tokens that remain after it.

        Args:
            state: The state.
            tokens_left: The tokens that may still be written, without the end token.
        """
        tokens_left = arguments.whole_number("tokens_left", tokens_left)
        if tokens_left > self.longest_way or tokens_left > self._longest_exact:
            return self.row(state)
        return self._store.within(self._known(state), self.distance < tokens_left)

    # ---- the way to the end ------------------------------------------------------------------------------------

    @cached_property
    def distance(self) -> Int32:
        """D(s), the fewest tokens from each state to an accepting one.

        Int32 ``[states]``; ``UNREACHABLE`` where no tokens lead there.
        """
        return token_distances(self.dfa, self.vocabulary.trie)

    @cached_property
    def longest_way(self) -> int:
        """An upper bound of the tokens from any live state to acceptance."""
        return self._longest_exact if self._byte_distance is None else int(self._byte_distance.max())

    def check_limit(self, max_tokens: int) -> None:
        """Refuse a token limit below the shortest match.

        Raises:
            LimitTooSmall: No match can be written with ``max_tokens`` tokens.
        """
        max_tokens = arguments.whole_number("max_tokens", max_tokens, least=0)
        if self._byte_distance is not None and max_tokens >= self._byte_distance[0]:
            return
        if max_tokens >= self.distance[0]:
            return
        shortest = self.shortest_tokens()
        text = b"".join(self.vocabulary.tokens[token] or b"" for token in shortest).decode("utf-8", "replace")
        raise LimitTooSmall(
            f"a limit of {max_tokens} tokens is too small: the shortest match takes {len(shortest)}",
            details=(f"  for example {text[:_SHOWN]!r}{'…' if len(text) > _SHOWN else ''}",),
            hint=f"Allow at least {len(shortest)} tokens.",
        )

    def shortest_tokens(self) -> list[int]:
        """Return a shortest sequence of tokens from the start to acceptance.

        Of several such sequences it is the one with the lowest ids.
        """
        state, path = 0, []
        while self.distance[state]:
            tokens, targets = self.transitions(state)
            nearer = int(np.argmax(self.distance[targets] < self.distance[state]))
            path.append(int(tokens[nearer]))
            state = int(targets[nearer])
        return path

    def build(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Make the masks of all states now, one after the other.

        They are kept as far as there is room.

        Args:
            progress: Called with (states done, states in all).
        """
        if progress is not None:
            arguments.function("progress", progress)
        for state in range(self._size):
            self._store.made(state)
            if progress is not None and (state + 1 == self._size or state % _STEP == _STEP - 1):
                progress(state + 1, self._size)

    @property
    def steps_byte_by_byte(self) -> bool:
        """Whether every byte that the automaton reads is a token.

        Tokens then reach every state.
        """
        return self._live is None

    @cached_property
    def _byte_distance(self) -> Int32 | None:
        """An upper bound of ``distance`` where every byte is a token by itself; it is found in far less time."""
        return byte_distances(self.dfa) if self._live is None else None

    @cached_property
    def _longest_exact(self) -> int:
        return int(self.distance[self.distance != UNREACHABLE].max())

    def _known(self, state: int) -> int:
        """Check the number of a state."""
        if not 0 <= (number := arguments.whole_number("state", state)) < self._size:
            raise UsageError(f"there is no state {number}: the automaton has {self._size}")
        return number

    def _bytes_read(self) -> NDArray[np.intp]:
        """The bytes that label at least one transition."""
        read: NDArray[np.bool_] = np.any(self.dfa.transitions >= 0, axis=0)
        return np.flatnonzero(read[self.dfa.byte_classes])

    def _missing_bytes(self) -> tuple[str, ...]:
        """List the bytes of the pattern that the vocabulary lacks, as lines for people."""
        trie = self.vocabulary.trie
        missing = [byte for byte in self._bytes_read().tolist() if not trie.single_bytes[byte]]
        inside = frozenset(trie.bytes.tolist())
        nowhere = [byte for byte in missing if byte not in inside]
        within = [byte for byte in missing if byte in inside]
        lines = ("bytes that are in no token", nowhere), ("bytes that are only inside longer tokens", within)
        return tuple(f"  {title}: {_listed(found)}" for title, found in lines if found)


def _listed(found: list[int]) -> str:
    shown = ", ".join(chr(byte) if 0x20 < byte < 0x7F else f"0x{byte:02X}" for byte in found[:12])
    return shown + (", …" if len(found) > 12 else "")
