"""The lookaheads of LALR(1), found again from the tables: they show which conflicts lark resolved without a word.

The method is that of DeRemer and Pennello (1982): what follows a nonterminal that is read in a state is what can be
shifted behind it, and what follows each nonterminal that ends with it. Sets of terminals are the bits of integers.
"""

from __future__ import annotations

from sfgen.lalr.items import Items
from sfgen.lalr.tables import NO_STATE

Transition = tuple[int, int]
"""A state and a nonterminal that is read there."""


def has_conflicts(items: Items) -> bool:
    """Tell whether lark resolved conflicts of the grammar.

    That is where a rule could be reduced before a terminal before which the tables do something else.
    """
    for (state, rule), lookaheads in _lookaheads(items).items():
        reduced = sum(1 << terminal for terminal in items.reduces(state, rule).nonzero()[0].tolist())
        if lookaheads & ~reduced:
            return True
    return False


def _lookaheads(items: Items) -> dict[tuple[int, int], int]:
    """The terminals before which each rule could be reduced in each state."""
    rules = items.tables.rules
    ends_with: dict[Transition, list[Transition]] = {}
    reductions: list[tuple[Transition, int, int]] = []
    transitions = [
        (state, nonterminal)
        for nonterminal in range(len(items.rules_of))
        for state in (items.tables.gotos[:, nonterminal] != NO_STATE).nonzero()[0].tolist()
    ]
    nullable = _nullable(items)
    for start, nonterminal in transitions:
        for rule in items.rules_of[nonterminal]:
            symbols = rules[rule].symbols
            states = [start]
            for symbol in symbols:
                states.append(items.after(states[-1], symbol))
            reductions.append(((start, nonterminal), states[-1], rule))
            for state, symbol in zip(states[-2::-1], reversed(symbols), strict=True):
                if symbol >= 0:
                    break
                ends_with.setdefault((start, nonterminal), []).append((state, -1 - symbol))
                if -1 - symbol not in nullable:
                    break
    follow = {transition: _shifted_behind(items, transition, nullable) for transition in transitions}
    waiting = list(transitions)
    while waiting:
        transition = waiting.pop()
        for last in ends_with.get(transition, ()):
            if follow[transition] & ~follow[last]:
                follow[last] |= follow[transition]
                waiting.append(last)
    found: dict[tuple[int, int], int] = {}
    for transition, state, rule in reductions:
        found[state, rule] = found.get((state, rule), 0) | follow[transition]
    return found


def _nullable(items: Items) -> set[int]:
    """The nonterminals that expand to nothing."""
    found: set[int] = set()
    while True:
        more = {rule.nonterminal for rule in items.tables.rules if all(-1 - symbol in found for symbol in rule.symbols)}
        if more <= found:
            return found
        found |= more


def _shifted_behind(items: Items, transition: Transition, nullable: set[int]) -> int:
    """The terminals that can be shifted behind a nonterminal, be it behind others that expand to nothing."""
    start, nonterminal = transition
    state = items.after(start, -1 - nonterminal)
    terminals = 1 << len(items.tables.terminals) - 1 if state == items.tables.end else 0
    seen, waiting = {state}, [state]
    while waiting:
        state = waiting.pop()
        for terminal in (items.tables.actions[state] > 0).nonzero()[0].tolist():
            terminals |= 1 << terminal
        for empty in nullable:
            behind = items.after(state, -1 - empty)
            if behind != NO_STATE and behind not in seen:
                seen.add(behind)
                waiting.append(behind)
    return terminals
