"""Published algorithms, as their papers print them.

Willard and Louf 2023: Algorithms 1 and 2 sample tokens from a language model, freely and with a mask; both stop after
``length`` tokens, whether or not the text is complete. Algorithms 3 and 4 find the tokens that the states of a machine
M = (Q, Σ, δ, q0, F) read, in as many steps as the vocabulary has characters, times the states that read them.

Clay 2024: a decoder that spells one of some words. It is a trie; each word ends with ``*``, which tells the word
``hot`` from the beginning of ``hotel``. As in the original, the end is the state -1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfgen import arguments
from sfgen.errors import DeadEnd, UsageError

if TYPE_CHECKING:
    from interegular.fsm import FSM


Probabilities: TypeAlias = NDArray[np.floating]


LanguageModel: TypeAlias = Callable[[Sequence[int]], Probabilities]
"""The tokens so far → the probability of each token of the vocabulary to be the next."""


MaskOfText: TypeAlias = Callable[[Sequence[int]], NDArray[Any]]
"""The tokens so far → 1 for each token that may be the next, else 0."""


def sample_tokens(lm: LanguageModel, length: int, eos: int, random: np.random.Generator) -> list[int]:
    """Sample tokens freely (Algorithm 1).

    Args:
        lm: The language model.
        length: The most tokens.
        eos: The end token, which is not returned.
        random: The source of chance.

    Returns:
        The tokens before the end token, at most ``length``.

    >>> sample_tokens(lambda s: np.array([0.0, 1.0, 0.0]), 3, 2, np.random.default_rng(0))
    [1, 1, 1]
    """
    _check(lm, length, eos, random)
    s: list[int] = []
    for _ in range(length):
        alpha = lm(s)
        token = categorical(alpha, random)
        if token == eos:
            break
        s.append(token)
    return s


def sample_masked_tokens(
    lm: LanguageModel, mask: MaskOfText, length: int, eos: int, random: np.random.Generator
) -> list[int]:
    """Sample tokens under a mask (Algorithm 2).

    Args:
        lm: The language model.
        mask: Multiplied with the probabilities.
        length: The most tokens.
        eos: The end token, which is not returned.
        random: The source of chance.

    Returns:
        The tokens before the end token, at most ``length``.

    Raises:
        DeadEnd: No token is left.

    >>> uniform = lambda s: np.full(3, 1 / 3)
    >>> sample_masked_tokens(uniform, lambda s: [len(s) < 2, 0, len(s) == 2], 9, 2, np.random.default_rng(0))
    [0, 0]
    """
    _check(lm, length, eos, random)
    arguments.function("mask", mask)
    s: list[int] = []
    for _ in range(length):
        alpha = lm(s)
        m = np.asarray(mask(s))
        alpha_masked = m * alpha
        token = categorical(alpha_masked, random)
        if token == eos:
            break
        s.append(token)
    return s


def _check(lm: LanguageModel, length: int, eos: int, random: np.random.Generator) -> None:
    arguments.function("lm", lm)
    arguments.whole_number("length", length, least=0)
    arguments.whole_number("eos", eos)
    arguments.instance("random", random, np.random.Generator, hint="Give numpy.random.default_rng(seed).")


def categorical(weights: Probabilities, random: np.random.Generator) -> int:
    """Draw one token in proportion to weights, float ``[vocabulary]``, with one random number."""
    total = weights.sum()
    if not total > 0:
        raise DeadEnd("no token has any probability")
    return int(random.choice(weights.size, p=weights / total))


class Machine:
    """A machine of interegular with the names of Willard and Louf.

    States that lead to no end are left out.

    Args:
        fsm: The machine; transitions may be missing, and states may lead nowhere.

    Attributes:
        states: Q, ascending: those of the machine's states from which an end can be reached.
        delta: δ: state → symbol → next state.
        inverse: δ⁻¹: symbol → the states that read it, ascending.
        start: q0; ``None`` if no end can be reached from it.
        finals: F.
    """

    def __init__(self, fsm: FSM) -> None:
        from interegular.fsm import FSM

        self.fsm = arguments.instance("fsm", fsm, FSM)
        live = _live_states(fsm)
        rows: dict[Any, Any] = {**fsm.map}
        self.states: list[int] = sorted(live)
        self.start: int | None = fsm.initial if fsm.initial in live else None
        self.finals: frozenset[int] = frozenset(fsm.finals)
        self.delta: dict[int, dict[int, int]] = {}
        self.inverse: dict[int, list[int]] = {}
        for state in self.states:
            read = rows.get(state, {})
            self.delta[state] = {symbol: target for symbol, target in read.items() if target in live}
            for symbol in self.delta[state]:
                self.inverse.setdefault(symbol, []).append(state)

    def symbols(self, text: str) -> list[int]:
        """Return the numbers of characters in Σ; -1: none.

        All characters that have no number of their own are ``anything_else``.

        >>> from sfgen.reference.fsm import reference_fsm
        >>> Machine(reference_fsm("[0-9]+a")).symbols("09aé")
        [0, 0, 2, 1]
        """
        arguments.text("text", text)
        alphabet = self.fsm.alphabet
        numbers: list[int | None] = [alphabet[character] for character in text]
        return [-1 if number is None else number for number in numbers]


def _live_states(fsm: FSM) -> set[int]:
    """The states from which a final one can be reached."""
    before: dict[int, list[int]] = {}
    rows: dict[Any, Any] = {**fsm.map}
    for state, row in rows.items():
        for target in row.values():
            before.setdefault(target, []).append(state)
    live: set[int] = set(fsm.finals)
    waiting: list[int] = list(live)
    while waiting:
        for state in before.get(waiting.pop(), ()):
            if state not in live:
                live.add(state)
                waiting.append(state)
    return live


def find_sub_sequences(machine: Machine, v: str) -> list[tuple[int, ...]]:
    """Find the sequences of states that read a string (Algorithm 3).

    Each begins in another state. The inner loop of Willard and Louf 2023 begins at the second character, and so never
    reads the first; here it begins at the first. A sequence that stops on its way is left out, where theirs appends an
    empty one.

    Args:
        machine: The machine.
        v: The string, not empty.

    Raises:
        UsageError: The string is empty.

    >>> from sfgen.reference.fsm import reference_fsm
    >>> find_sub_sequences(Machine(reference_fsm(r"([0-9]+)?\\.[0-9]+")), ".2")
    [(0, 2, 4), (1, 2, 4), (3, 2, 4)]
    """
    res = []
    arguments.instance("machine", machine, Machine)
    if not arguments.text("v", v):
        raise UsageError("v is the empty string: it is read without reaching any state", hint="Leave it out.")
    symbols = machine.symbols(v)
    for r in machine.inverse.get(symbols[0], ()):
        p = [r]
        for symbol in symbols:
            target = machine.delta[p[-1]].get(symbol)
            if target is None:  # the FSM does not read it: try the next start state
                break
            p.append(target)
        else:
            res.append(tuple(p))
    return res


def map_states_to_vocab(machine: Machine, vocabulary: Iterable[str]) -> dict[int, set[str]]:
    """Map each state to the tokens that it reads (Algorithm 4).

    Args:
        machine: The machine.
        vocabulary: The tokens as texts.

    Returns:
        For each state the tokens that can be read from it.

    >>> from sfgen.reference.fsm import reference_fsm
    >>> sigma = map_states_to_vocab(Machine(reference_fsm(r"[0-9]+\\.[0-9]")), ["a", ".", ".2", "1"])
    >>> {state: sorted(tokens) for state, tokens in sigma.items()}
    {0: ['1'], 1: ['.', '.2', '1'], 2: ['.', '.2', '1'], 3: ['1'], 4: []}
    """
    arguments.instance("machine", machine, Machine)
    vocabulary = arguments.texts("vocabulary", vocabulary)
    sigma: dict[int, set[str]] = {state: set() for state in machine.states}
    for v in vocabulary:
        for z in find_sub_sequences(machine, v):
            sigma[z[0]].add(v)
    return sigma


END = -1


class FSMDecoder:
    """A decoder that reads characters while they spell a word.

    Args:
        valid_words: The words, each with ``*`` at its end.

    Attributes:
        states: (state, character) → the next state, in the order of the words.
        current_state: Its state; it starts in 0.

    Raises:
        UsageError: A word without ``*``, or with something after it.

    >>> decoder = FSMDecoder(["hot*", "cold*", "hotel*"])
    >>> for char in "xhot*":
    ...     print(char, decoder.decode(char), decoder.current_state, decoder.is_valid())
    x False 0 False
    h True 1 False
    o True 2 False
    t True 3 False
    * True -1 True
    """

    def __init__(self, valid_words: Sequence[str]) -> None:
        self.valid_words = list(arguments.texts("valid_words", valid_words))
        self.states: dict[tuple[int, str], int] = {}
        self.current_state = 0
        last = 0
        for word in self.valid_words:
            if not word.endswith("*") or "*" in word[:-1]:
                raise UsageError(f"the word {word!r} must end with *, and have no other", hint="For example: hot*")
            state = 0
            for char in word:
                if (state, char) not in self.states:
                    last += char != "*"
                    self.states[state, char] = END if char == "*" else last
                state = self.states[state, char]

    def decode(self, char: str) -> bool:
        """Read a character if it can follow.

        Returns:
            Whether it could.
        """
        arguments.text("char", char)
        if (self.current_state, char) in self.states:
            self.current_state = self.states[self.current_state, char]
            return True
        return False

    def is_valid(self) -> bool:
        """Return whether a word is complete: exactly at the end.

        The code of Clay 2024 is true before it, and false there.
        """
        return self.current_state == END
