"""The minimal automaton of a list of literal texts, its states numbered as the texts first come to them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sfgen import arguments
from sfgen.automata.acyclic import minimal_acyclic
from sfgen.automata.determinize import MAX_DFA_STATES, Deterministic
from sfgen.automata.minimize import minimize
from sfgen.errors import UsageError


def compile_choices(choices: Iterable[str]) -> Deterministic:
    """Build the minimal automaton of the texts, in UTF-8.

    A text that occurs twice counts once.

    Raises:
        UsageError: The list is empty, is one string, contains what is not text, or is too long.

    >>> compile_choices(["a", "ab"]).accepting.tolist()
    [False, True, True]
    """
    if isinstance(choices, str) or not (choices := arguments.texts("choices", choices)):
        raise UsageError("choices must be a list of at least one text")
    encoded: dict[bytes, None] = {}  # a set that keeps the order
    for choice in choices:
        try:
            encoded[choice.encode()] = None
        except UnicodeEncodeError:
            raise UsageError(
                f"choice {choice!r} contains a surrogate code point, which is not text",
                hint="Read the file that it came from as UTF-8.",
            ) from None
    return _numbered_by(minimize(_acyclic(encoded)), encoded)


def _acyclic(texts: Iterable[bytes]) -> Deterministic:
    """An automaton of the texts, with a class for each byte that occurs, and the last one for all others.

    Raises:
        UsageError: It has more than :data:`~sfgen.automata.determinize.MAX_DFA_STATES` states.
    """
    states = minimal_acyclic(sorted(texts))[::-1]
    if len(states) > MAX_DFA_STATES:
        raise UsageError(
            f"the choices need {len(states):,} states, more than the limit of {MAX_DFA_STATES:,}",
            hint="Give fewer or shorter choices.",
        )
    letters = sorted({byte for state in states for byte, _ in state.edges})
    byte_classes = np.full(256, len(letters), dtype=np.int32)
    byte_classes[letters] = np.arange(len(letters))
    transitions = np.full((len(states), len(letters) + 1), -1, dtype=np.int32)
    for number, state in enumerate(states):
        for byte, target in state.edges:
            transitions[number, byte_classes[byte]] = len(states) - 1 - target
    if len(letters) == 256:
        transitions = transitions[:, :256]
    accepting = np.array([state.accepting for state in states], dtype=np.bool_)
    return Deterministic(transitions, byte_classes.astype(np.uint8), accepting)


def _numbered_by(automaton: Deterministic, texts: Iterable[bytes]) -> Deterministic:
    """The same automaton, its states numbered as the texts, which visit them all, first come to them."""
    rows = automaton.transitions.tolist()
    classes = automaton.byte_classes.tolist()
    numbers = {0: 0}  # old number → new one
    for text in texts:
        state = 0
        for byte in text:
            state = rows[state][classes[byte]]
            numbers.setdefault(state, len(numbers))
    old = np.fromiter(numbers, dtype=np.int32, count=len(numbers))
    new = np.full(len(numbers) + 1, -1, dtype=np.int32)  # the last one: no transition stays none
    new[old] = np.arange(len(numbers))
    return Deterministic(new[automaton.transitions[old]], automaton.byte_classes, automaton.accepting[old])
