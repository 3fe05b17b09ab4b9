r"""The engine ``fsm``: interegular's machine of a pattern, and the index that Algorithms 3 and 4 make of it.

Limits: interegular reads no anchors (``^ $ \b``) and lookarounds, no flags but ``i`` and ``s``, and some patterns
otherwise than ``re``; all these are refused. It may take long to make a machine. Tokens that lead to a dead end stay: a
token is allowed if some text can follow it, even if the vocabulary cannot write that text, or the text does not fit
into the limit of tokens.
"""

from __future__ import annotations

from array import array
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sfgen import arguments
from sfgen.errors import PatternError, UsageError
from sfgen.groups import Group
from sfgen.reference.guide import CharacterClasses, ReferenceGuide, characters_from, refusal, split
from sfgen.reference.interegular_machine import (
    USE_THE_DEFAULT,
    characters_of,
    check_size,
    disagreement,
    made_by_interegular,
)
from sfgen.reference.published import Machine, find_sub_sequences
from sfgen.regex import oracle, parse
from sfgen.regex.ast import Anchor, Atomic, Look, contains
from sfgen.vocabulary import Vocabulary

if TYPE_CHECKING:
    from interegular.fsm import FSM


def reference_fsm(pattern: str) -> FSM:
    r"""Make the machine of a pattern by interegular.

    It is not the smallest, and its states may lead nowhere.

    interegular numbers the symbols by chance, in the order of a set, and the states after them. So that every run gives
    the same machine, here the symbols are numbered as the pattern names them; that of Louf, Klett and Simpson 2023
    comes out.

    Returns:
        interegular's machine; its alphabet is numbered in the order of the pattern.

    Raises:
        PatternError: The pattern cannot be read, by ``re`` or by interegular, or not in the same way by both, or it
            matches no text at all.

    >>> fsm = reference_fsm(r"([0-9]+)?\.[0-9]+")
    >>> fsm.finals, fsm.map[0]
    (frozenset({4, 5}), {0: 1, 2: 2})
    """
    tree = parse(pattern)
    if contains(tree, (Anchor, Look, Atomic)):
        raise PatternError(
            "the engine fsm reads no anchors, lookarounds, possessive repeats and atomic groups",
            pattern,
            hint=USE_THE_DEFAULT,
        )
    check_size(tree, pattern)
    fsm = made_by_interegular(pattern)
    machine = Machine(fsm)
    text = disagreement(machine, list(characters_of(fsm.alphabet, pattern).values()), tree)
    if text is not None:
        raise PatternError(
            f"interegular, on which the engine fsm is built, reads the pattern otherwise than re: for {text!r:.60}",
            pattern,
            hint=USE_THE_DEFAULT,
        )
    if machine.start is None:
        raise PatternError("it matches no text at all", pattern)
    return fsm


def fsm_table(fsm: FSM) -> str:
    """Return the text that interegular prints of a machine.

    These are its table, its final states, its alphabet, and its map.
    """
    from interegular.fsm import FSM

    arguments.instance("fsm", fsm, FSM)
    alphabet, transitions = str(fsm.alphabet), str(fsm.map)
    return f"{fsm}\nfinals\n{fsm.finals}\n\nalphabet\n{alphabet}\n\nmap\n{transitions}\n"


class FsmIndex:
    r"""The index of a pattern by Algorithm 4 (Willard and Louf 2023).

    It has for each state of interegular's machine the tokens that it reads, and is made at once, in time that grows
    with the vocabulary times the states; a step is a lookup in it.

    States up to ``len(index)`` are those of ``fsm``. A token may end within a character: the state after it is a state
    of the machine with the bytes of that character. Such states are numbered from ``len(index)`` on, in the order in
    which they first occur; see ``position``.

    Args:
        pattern: The pattern.
        vocabulary: The tokens.

    Attributes:
        fsm: The machine.
        classes: The classes of characters that the machine tells apart.

    Raises:
        PatternError: As for ``reference_fsm``.

    >>> index = FsmIndex(r"[0-9]+\.[0-9]", Vocabulary([b"a", b".", b".2", b"1"]))
    >>> [array.tolist() for array in index.transitions(1)]
    [[1, 2, 3], [3, 4, 2]]
    """

    start = 0

    def __init__(self, pattern: str, vocabulary: Vocabulary) -> None:
        self.pattern = pattern
        self.vocabulary = arguments.instance("vocabulary", vocabulary, Vocabulary)
        self.fsm = reference_fsm(pattern)
        self._machine = Machine(self.fsm)
        self.classes = CharacterClasses(characters_of(self.fsm.alphabet, pattern).values())
        self._places: list[tuple[int, bytes]] = [(state, b"") for state in range(len(self.fsm.states))]
        self._numbers = {position: number for number, position in enumerate(self._places)}
        self._within: dict[bytes, list[int]] = {}  # for the bytes of an unfinished character: what can follow them
        self._rows = self._map_states_to_vocab()

    def __len__(self) -> int:
        """The number of states of the machine."""
        return len(self.fsm.states)

    @property
    def accepting(self) -> frozenset[int]:
        """The states in which the text may end."""
        return self._machine.finals

    def position(self, state: int) -> tuple[int, bytes]:
        """Return the machine's state and the unfinished character of a state.

        Args:
            state: Its number.

        Returns:
            The state of the machine, and the bytes of the character.

        Raises:
            UsageError: There is no such state.
        """
        return self._places[self._known(state)]

    def transitions(self, state: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """List the text tokens that a state reads, and their targets.

        Returns:
            Token ids, ascending, and the state that each leads to, both int32 ``[k]``.
        """
        if self._known(state) not in self._rows:
            self._rows[state] = self._row_within(state)
        tokens, targets = self._rows[state]
        return np.array(tokens, dtype=np.int32), np.array(targets, dtype=np.int32)

    def allowed_tokens(self, state: int) -> NDArray[np.int32]:
        """Return the text tokens that a state reads, ascending, int32."""
        return self.transitions(state)[0]

    def next_state(self, state: int, token_id: int) -> int | None:
        """Return the state after a token; ``None`` if it is refused.

        Args:
            state: The state before it.
            token_id: The token.
        """
        arguments.whole_number("token_id", token_id)
        tokens, targets = self.transitions(state)
        position = int(np.searchsorted(tokens, token_id))
        return int(targets[position]) if position < tokens.size and tokens[position] == token_id else None

    def read(self, state: int, data: bytes) -> int | None:
        """Return the state after some bytes; ``None`` if they are refused.

        Args:
            state: The state before them.
            data: The bytes, which need not be those of a token.
        """
        start, begun = self.position(state)
        if (parts := split(begun + arguments.data("data", data))) is None:
            return None
        v, pending = parts
        end = self._walk(start, v)
        return None if end is None or not self._can_read(end, pending) else self._number(end, pending)

    def pending(self, state: int) -> bytes:
        """Return the bytes of the unfinished character at the end."""
        return self.position(state)[1]

    def is_accepting(self, state: int) -> bool:
        """Return whether the text may end in a state."""
        return self._known(state) in self._machine.finals

    def number(self, state: int) -> int:
        """Return the state itself, which is a number."""
        return self._known(state)

    def accepts(self, data: bytes) -> bool:
        """Return whether the machine accepts a text in UTF-8."""
        text = split(arguments.data("data", data))
        return text is not None and not text[1] and bool(self.fsm.accepts(text[0]))

    def groups(self, text: str | bytes) -> tuple[Group, ...] | None:
        """Return the named groups of the pattern in a matching text.

        See ``sfgen.Dfa.groups``.
        """
        data = arguments.utf8("text", text)
        return None if data is None else oracle.groups(self.pattern, data.decode("utf-8", "replace"))

    def refusal(self, text: bytes) -> dict[str, str] | None:
        """Check a finished text with the machine and ``re``.

        Args:
            text: The text as UTF-8.

        Returns:
            ``None`` if both accept it; else the pattern and who refuses, for a report.
        """
        return refusal(self, text)

    def guide(self, max_tokens: int | None = None) -> ReferenceGuide[int]:
        """Return a new guide at the start, for one sequence.

        Args:
            max_tokens: The most tokens of the text, without the end token; ``None``: any number.
        """
        return ReferenceGuide(self, max_tokens)

    def _known(self, state: int) -> int:
        if not 0 <= arguments.whole_number("state", state) < len(self._places):
            raise UsageError(f"there is no state {state}: {len(self._places)} are known")
        return state

    # ---- Algorithm 4 over bytes ------------------------------------------------------------------------------------

    def _map_states_to_vocab(self) -> dict[int, tuple[array[int], array[int]]]:
        """Algorithm 4, which keeps of each sequence where it ends, for tokens that may end within a character."""
        sigma = {state: (array("i"), array("i")) for state in range(len(self))}
        for token in self.vocabulary.text_token_ids.tolist():
            if (parts := split(self.vocabulary.tokens[token] or b"")) is None:
                continue  # it begins within a character, or is no text at all
            v, pending = parts
            sequences = find_sub_sequences(self._machine, v) if v else [(state,) for state in self._machine.states]
            for z in sequences:
                if self._can_read(z[-1], pending):
                    tokens, targets = sigma[z[0]]
                    tokens.append(token)
                    targets.append(self._number(z[-1], pending))
        return sigma

    def _row_within(self, state: int) -> tuple[array[int], array[int]]:
        """The row of a state within a character: each token is read together with the bytes before it."""
        tokens, targets = array("i"), array("i")
        for token in self._tokens_within:
            target = self.read(state, self.vocabulary.tokens[token] or b"")
            if target is not None:
                tokens.append(token)
                targets.append(target)
        return tokens, targets

    def _walk(self, state: int, v: str) -> int | None:
        """Return the state of the machine after v; ``None`` if it does not read it."""
        for symbol in self._machine.symbols(v):
            target = self._machine.delta[state].get(symbol)
            if target is None:
                return None
            state = target
        return state

    def _can_read(self, state: int, pending: bytes) -> bool:
        """Whether a character that begins with these bytes can be read; nothing pending: always."""
        if not pending:
            return True
        if pending not in self._within:
            letters = self.classes.representatives(*characters_from(pending))
            self._within[pending] = self._machine.symbols("".join(letters))
        return any(symbol in self._machine.delta[state] for symbol in self._within[pending])

    def _number(self, state: int, pending: bytes) -> int:
        number = self._numbers.setdefault((state, pending), len(self._places))
        if number == len(self._places):
            self._places.append((state, pending))
        return number

    @cached_property
    def _tokens_within(self) -> list[int]:
        """The text tokens that begin within a character."""
        tokens = self.vocabulary.tokens
        return [token for token in self.vocabulary.text_token_ids.tolist() if 0x80 <= (tokens[token] or b" ")[0] < 0xC0]
