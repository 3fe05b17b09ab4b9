"""Automata without a pattern: of a list of literal texts, and of a machine of interegular.

The states of a list's automaton are numbered in the order in which the texts first reach them.

interegular's machines read characters: each symbol becomes its UTF-8. Its ``anything_else`` is every character that is
not a symbol of the machine's alphabet. A surrogate is not a character, so a symbol that is a surrogate is never read.
Several characters share their first bytes, so the automaton is nondeterministic until the subset construction.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from sfgen import arguments
from sfgen.automata.acyclic import byte_automaton, minimal_acyclic
from sfgen.automata.determinize import MAX_DFA_STATES, Deterministic, determinize
from sfgen.automata.minimize import minimize
from sfgen.automata.nfa import MAX_NFA_SIZE, Nfa
from sfgen.errors import PatternTooLarge, UsageError
from sfgen.regex.characters import Ranges, complement, union

if TYPE_CHECKING:
    from interegular.fsm import FSM, Alphabet, State, TransitionKey


def compile_choices(choices: Iterable[str]) -> Deterministic:
    """Build the minimal automaton of the texts, in UTF-8.

    A text that occurs twice counts once.

    >>> compile_choices(["a", "ab"]).accepting.tolist()
    [False, True, True]
    """
    if not (choices := arguments.text_list("choices", choices)):
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
    """An automaton of the texts, with a class for each byte that occurs, and the last one for all others."""
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
    """Number an automaton's states in the order in which the texts, which visit them all, first reach them."""
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


def over_bytes(fsm: FSM) -> Deterministic:
    """Convert a finite state machine of interegular to one over bytes.

    It accepts the UTF-8 of the same texts, and is not minimal.
    """
    from interegular.fsm import FSM

    if not isinstance(fsm, FSM):
        raise UsageError(
            f"an interegular.FSM is needed, not {type(fsm).__name__}",
            hint="interegular makes one of a pattern with: interegular.parse_pattern(P).to_fsm()",
        )
    name = f"an FSM of {len(fsm.states):,} states"
    sets = _characters(fsm.alphabet)

    @cache
    def joined(keys: frozenset[TransitionKey]) -> Ranges:
        return union(*(sets.get(key, ()) for key in keys))

    number = {fsm.initial: 0}
    size = 2  # the start, and the end that state 1 is
    edges, epsilons = array("i"), array("i")
    queue = [fsm.initial]
    for state in queue:
        keys_to: dict[State, list[TransitionKey]] = {}
        for key, target in fsm.map.get(state, {}).items():
            keys_to.setdefault(target, []).append(key)
        for target, keys in keys_to.items():
            if target not in number:
                number[target] = size
                size += 1
                queue.append(target)
            inner, steps = byte_automaton(joined(frozenset(keys)))
            states = [number[state], number[target], *range(size, size + inner)]
            size += inner
            for source, low, high, end in steps:
                edges.extend((states[source], low, high, states[end]))
        if state in fsm.finals:
            epsilons.extend((number[state], 1, 0))
        if size + len(edges) // 4 > MAX_NFA_SIZE:
            raise PatternTooLarge(
                f"over bytes, the automaton passes the limit of {MAX_NFA_SIZE:,} states and transitions",
                name,
                hint="Use a smaller machine; fsm.reduce() makes the smallest one.",
            )
    nfa = Nfa(
        size,
        np.array(edges, dtype=np.int32).reshape(-1, 4),
        np.array(epsilons, dtype=np.int32).reshape(-1, 3),
    )
    return determinize(nfa, name)


def _characters(alphabet: Alphabet) -> dict[TransitionKey, Ranges]:
    """Return the characters of each transition key."""
    from interegular.fsm import anything_else

    codes: dict[TransitionKey, list[int]] = {}
    for symbol, key in alphabet.items():
        if symbol is anything_else:
            continue
        if not isinstance(symbol, str) or len(symbol) != 1:
            raise UsageError(
                f"the symbol {symbol!r} of the FSM is not a single character",
                hint="A Dfa reads text: every symbol must be one character, or interegular's anything_else.",
            )
        codes.setdefault(key, []).append(ord(symbol))
    sets = {key: union((code, code) for code in members) for key, members in codes.items()}
    if anything_else in alphabet:
        key = alphabet[anything_else]
        sets[key] = union(sets.get(key, ()), complement(union(*sets.values())))
    return sets
