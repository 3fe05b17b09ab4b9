"""The items of a parser's states and the LALR(1) lookaheads, recovered from its tables.

An item is a rule and the number of its symbols that are read (DeRemer and Pennello, 1982, walk the tables in the same
way). A *reading* is a nonterminal that is read in a state. It depends only on the states after the symbols with which
the nonterminal may begin, so readings of many states are equal: lark's Python grammar has 4 483 readings in 253
classes.

Lookaheads show the conflicts that lark resolved silently. The terminals that follow a nonterminal in a state are those
that can be shifted after it, and the followers of every nonterminal that ends with it (DeRemer and Pennello, 1982).
Sets of terminals are the bits of integers.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfgen.grammar.lalr.tables import NO_STATE, ParseTables


class Item(NamedTuple):
    """A rule and the number of its symbols that are read."""

    rule: int
    read: int


class Items:
    """The items of all states.

    Attributes:
        rules_of: The rules of each nonterminal.
        first_symbols: The symbols with which each nonterminal may begin, through any number of rules: symbols as in
            ``Rule``.
        first_empty: The empty rules that may be reduced before the first symbol of each nonterminal.
    """

    def __init__(self, tables: ParseTables) -> None:
        self.tables = tables
        self._actions: list[list[int]] = tables.actions.tolist()
        self._gotos: list[list[int]] = tables.gotos.tolist()
        self.rules_of: list[list[int]] = [[] for _ in tables.nonterminals]
        for number, rule in enumerate(tables.rules):
            self.rules_of[rule.nonterminal].append(number)
        self.first_symbols: list[list[int]] = []
        self.first_empty: list[list[int]] = []
        for nonterminal in range(len(tables.nonterminals)):
            symbols, empty = self._firsts(nonterminal)
            self.first_symbols.append(symbols)
            self.first_empty.append(empty)

    def after(self, state: int, symbol: int) -> int:
        """Return the state after a symbol; ``NO_STATE`` if it is refused."""
        return self._gotos[state][-1 - symbol] if symbol < 0 else max(0, self._actions[state][symbol]) - 1

    def reduces(self, state: int, rule: int) -> NDArray[np.bool_]:
        """Return the terminals before which a state reduces a rule, bool ``[terminals]``."""
        is_reduced: NDArray[np.bool_] = self.tables.actions[state] == -1 - rule
        return is_reduced

    def _firsts(self, nonterminal: int) -> tuple[list[int], list[int]]:
        """Return the symbols and the empty rules with which a nonterminal may begin."""
        seen, waiting = {nonterminal}, [nonterminal]
        symbols, empty = set(), []
        while waiting:
            for rule in self.rules_of[waiting.pop()]:
                expansion = self.tables.rules[rule].symbols
                if not expansion:
                    empty.append(rule)
                    continue
                symbols.add(expansion[0])
                if expansion[0] < 0 and -1 - expansion[0] not in seen:
                    seen.add(-1 - expansion[0])
                    waiting.append(-1 - expansion[0])
        return sorted(symbols), sorted(empty)

    @property
    def readings(self) -> list[tuple[int, int]]:
        """A state and a nonterminal for each class of readings."""
        return self._found_readings[0]

    @property
    def reading_of(self) -> NDArray[np.int32]:
        """The class of each nonterminal's reading in each state, int32 ``[states, nonterminals]``; -1 for none."""
        return self._found_readings[1]

    @cached_property
    def _found_readings(self) -> tuple[list[tuple[int, int]], NDArray[np.int32]]:
        readings = list[tuple[int, int]]()
        tables = self.tables
        shifts = np.maximum(tables.actions, 0) - 1
        after = np.concatenate([shifts, tables.gotos], axis=1)
        reading_of = np.full(tables.gotos.shape, -1, dtype=np.int32)
        for nonterminal, symbols in enumerate(self.first_symbols):
            columns = [symbol if symbol >= 0 else shifts.shape[1] - 1 - symbol for symbol in symbols]
            known: dict[bytes, int] = {}
            for state in np.flatnonzero(tables.gotos[:, nonterminal] >= 0).tolist():
                key = after[state, columns].tobytes()
                for rule in self.first_empty[nonterminal]:
                    key += self.reduces(state, rule).tobytes()
                if key not in known:
                    known[key] = len(readings)
                    readings.append((state, nonterminal))
                reading_of[state, nonterminal] = known[key]
        return readings, reading_of

    @cached_property
    def kernels(self) -> list[list[Item]]:
        """The items of each state with at least one symbol read, ascending."""
        kernels: list[set[Item]] = [set() for _ in self._actions]
        for start, nonterminal in np.argwhere(self.tables.gotos != NO_STATE).tolist():
            for number in self.rules_of[nonterminal]:
                state = start
                for read, symbol in enumerate(self.tables.rules[number].symbols, start=1):
                    state = self.after(state, symbol)
                    kernels[state].add(Item(number, read))
        return [sorted(items) for items in kernels]


_Transition = tuple[int, int]
"""A state, and a nonterminal that is read there."""


def has_conflicts(items: Items) -> bool:
    """Return whether lark resolved conflicts of the grammar.

    In a conflict a rule could be reduced before a terminal, and the tables have another action.
    """
    for (state, rule), lookaheads in _lookaheads(items).items():
        reduced = sum(1 << terminal for terminal in items.reduces(state, rule).nonzero()[0].tolist())
        if lookaheads & ~reduced:
            return True
    return False


def _lookaheads(items: Items) -> dict[tuple[int, int], int]:
    """Return the terminals before which each rule could be reduced in each state."""
    rules = items.tables.rules
    ends_with: dict[_Transition, list[_Transition]] = {}
    reductions: list[tuple[_Transition, int, int]] = []
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
    follow = {transition: _shifted_after(items, transition, nullable) for transition in transitions}
    waiting = list(transitions)
    while waiting:
        transition = waiting.pop()
        for last in ends_with.get(transition, ()):
            if follow[transition] & ~follow[last]:
                follow[last] |= follow[transition]
                waiting.append(last)
    lookaheads: dict[tuple[int, int], int] = {}
    for transition, state, rule in reductions:
        lookaheads[state, rule] = lookaheads.get((state, rule), 0) | follow[transition]
    return lookaheads


def _nullable(items: Items) -> set[int]:
    """Return the nonterminals that expand to nothing."""
    empty: set[int] = set()
    while True:
        more = {rule.nonterminal for rule in items.tables.rules if all(-1 - symbol in empty for symbol in rule.symbols)}
        if more <= empty:
            return empty
        empty |= more


def _shifted_after(items: Items, transition: _Transition, nullable: set[int]) -> int:
    """Return the terminals that can be shifted after a nonterminal, perhaps with empty nonterminals between."""
    start, nonterminal = transition
    state = items.after(start, -1 - nonterminal)
    terminals = 1 << len(items.tables.terminals) - 1 if state == items.tables.end else 0
    seen, waiting = {state}, [state]
    while waiting:
        state = waiting.pop()
        for terminal in (items.tables.actions[state] > 0).nonzero()[0].tolist():
            terminals |= 1 << terminal
        for empty in nullable:
            after = items.after(state, -1 - empty)
            if after != NO_STATE and after not in seen:
                seen.add(after)
                waiting.append(after)
    return terminals
