"""A finite state machine of interegular, over characters, as an automaton over bytes.

Each symbol becomes its UTF-8. What interegular calls ``anything_else`` is every character that is no symbol of the
machine's alphabet; a surrogate is no character, so a symbol that is one can never be read. Several characters share
their first bytes, which makes the automaton nondeterministic until the subset construction.
"""

from __future__ import annotations

from array import array
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from sfgen.automata.determinize import Deterministic, determinize
from sfgen.automata.nfa import MAX_NFA_SIZE, Nfa
from sfgen.automata.utf8 import byte_automaton
from sfgen.errors import PatternTooLarge, UsageError
from sfgen.regex.characters import Ranges, complement, union

if TYPE_CHECKING:
    from interegular.fsm import FSM, Alphabet, State, TransitionKey


def over_bytes(fsm: FSM) -> Deterministic:
    """Convert a finite state machine of interegular to one over bytes.

    It accepts the UTF-8 of the same texts, and is not minimal.

    Args:
        fsm: The machine. Transitions may be missing, and states may lead nowhere.

    Raises:
        UsageError: It is not a machine of interegular, or a symbol of its alphabet is not a single character.
        PatternTooLarge: The automaton passes a limit.
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
    """The characters that each transition key stands for."""
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
