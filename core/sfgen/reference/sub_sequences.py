"""Algorithms 3 and 4 of Willard and Louf 2023: which tokens the states of a machine read.

The machine is their M = (Q, Σ, δ, q0, F), made by interegular. Algorithm 4 takes as many steps as the
vocabulary has characters, times the states that read them. It is done once, before anything is generated.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from sfgen import arguments
from sfgen.errors import UsageError

if TYPE_CHECKING:
    from interegular.fsm import FSM


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
