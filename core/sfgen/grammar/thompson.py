"""Expressions to a nondeterministic automaton over bytes and calls (Thompson's construction, 1968).

Several rules are one automaton, so that the subset construction runs once. Its symbols are the bytes and, from 256 on,
the calls that the rules make and the marks behind names, an *entry* for each rule, which leads from the common start to
the rule's own, and an *end* for each rule, which leads from the rule's end to the common one. As the ends differ,
states of different rules are never joined.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from sfgen.automata.nfa import Nfa
from sfgen.errors import InternalError
from sfgen.grammar.rules import (
    Alternation,
    Bytes,
    Call,
    Concatenation,
    Expression,
    GrammarTooLarge,
    Leaf,
    Literal,
    Repeat,
    Series,
    StateMachine,
    Take,
)

BYTES = 256
"""The symbols that are bytes; those behind are calls, entries and ends."""

MAX_EDGES = 2_000_000
"""States and edges of the automaton of some rules; counted while it is built."""


class RulesAutomaton:
    """The automaton of some rules, and what its symbols mean.

    Args:
        rules: The rules, none of them a leaf or counted.
        nullable: The names of all rules that have the empty text, of others than these too.

    Attributes:
        calls: The calls and marks, in the order of their symbols, from ``BYTES`` on.
        entries: The symbol of the entry of each rule; that of its end is ``len(rules)`` more.
        symbols: The number of symbols.
        nfa: The automaton.
    """

    def __init__(self, rules: Mapping[str, Expression], nullable: Collection[str]) -> None:
        self._edges = array("i")
        self._epsilons = array("i")
        self._states = 2
        self._nullable = nullable
        self._symbol_of_call: dict[Call | Take, int] = {}
        ends = dict[str, tuple[int, int]]()
        self._rule = ""
        for name, expression in rules.items():
            self._rule = name
            start, end = self._state(), self._state()
            self._fragment(expression, start, end)
            ends[name] = start, end
        self.calls: Sequence[Call | Take] = tuple(self._symbol_of_call)
        self.entries = {name: BYTES + len(self.calls) + number for number, name in enumerate(rules)}
        self.symbols = BYTES + len(self.calls) + 2 * len(rules)
        for name, (start, end) in ends.items():
            self._edge(0, self.entries[name], self.entries[name], start)
            self._edge(end, self.entries[name] + len(rules), self.entries[name] + len(rules), 1)
        self.nfa = Nfa(
            self._states,
            np.array(self._edges, dtype=np.int32).reshape(-1, 4),
            np.array(self._epsilons, dtype=np.int32).reshape(-1, 3),
        )

    def _state(self) -> int:
        self._states += 1
        self._check_size()
        return self._states - 1

    def _check_size(self) -> None:
        if self._states + len(self._edges) // 4 > MAX_EDGES:
            raise GrammarTooLarge(self._rule, f"{MAX_EDGES:,} states and edges")

    def _edge(self, source: int, low: int, high: int, target: int) -> None:
        self._edges.extend((source, low, high, target))

    def _epsilon(self, source: int, target: int) -> None:
        self._epsilons.extend((source, target, 0))

    def _fragment(self, expression: Expression, start: int, end: int) -> None:
        """What reads the texts of an expression from ``start`` to ``end``.

        Nothing leads into the one or out of the other, so that fragments can share them.
        """
        match expression:
            case Literal(data):
                self._literal(data, start, end)
            case Bytes(ranges):
                for low, high in ranges:
                    self._edge(start, low, high, end)
            case Call():
                symbol = self._symbol_of_call.setdefault(expression, BYTES + len(self._symbol_of_call))
                self._edge(start, symbol, symbol, end)
                if expression.rule in self._nullable:
                    self._epsilon(start, end)
            case Take():
                symbol = self._symbol_of_call.setdefault(expression, BYTES + len(self._symbol_of_call))
                self._edge(start, symbol, symbol, end)
            case Concatenation(parts):
                for part in parts[:-1]:
                    middle = self._state()
                    self._fragment(part, start, middle)
                    start = middle
                if parts:
                    self._fragment(parts[-1], start, end)
                else:
                    self._epsilon(start, end)
            case Alternation(branches):
                for branch in branches:
                    self._fragment(branch, start, end)
            case Repeat(child, minimum, maximum):
                self._repeat(child, minimum, maximum, start, end)
            case Leaf():
                self._leaf(expression, start, end)
            case Series():
                self._series(expression, start, end)
            case StateMachine():
                self._machine(expression, start, end)
            case _:
                raise InternalError(f"{type(expression).__name__} is only allowed as a whole rule")

    def _literal(self, data: bytes, start: int, end: int) -> None:
        for byte in data[:-1]:
            middle = self._state()
            self._edge(start, byte, byte, middle)
            start = middle
        if data:
            self._edge(start, data[-1], data[-1], end)
        else:
            self._epsilon(start, end)

    def _repeat(self, child: Expression, minimum: int, maximum: int | None, start: int, end: int) -> None:
        for _ in range(minimum):
            middle = self._state()
            self._fragment(child, start, middle)
            start = middle
        if maximum is None:
            loop, again = self._state(), self._state()
            self._epsilon(start, loop)
            self._fragment(child, loop, again)
            self._epsilon(again, loop)
            self._epsilon(loop, end)
            return
        for _ in range(maximum - minimum):
            self._epsilon(start, end)
            middle = self._state()
            self._fragment(child, start, middle)
            start = middle
        self._epsilon(start, end)

    def _leaf(self, leaf: Leaf, start: int, end: int) -> None:
        dfa = leaf.dfa
        first = self._states
        self._states += len(dfa)
        self._epsilon(start, first)
        runs = np.flatnonzero(np.diff(dfa.byte_classes.astype(np.int32), prepend=-1))
        ends = np.append(runs[1:], 256) - 1
        targets = dfa.transitions[:, dfa.byte_classes[runs]]
        states, numbers = np.nonzero(targets >= 0)
        edges = np.stack([first + states, runs[numbers], ends[numbers], first + targets[states, numbers]], axis=1)
        self._edges.frombytes(edges.astype(np.int32).tobytes())
        self._check_size()
        for state in np.flatnonzero(dfa.accepting).tolist():
            self._epsilon(first + state, end)

    def _machine(self, machine: StateMachine, start: int, end: int) -> None:
        states = [self._state() for _ in machine.states]
        self._epsilon(start, states[0])
        for state, steps in zip(states, machine.states, strict=True):
            for expression, target in steps:
                self._fragment(expression, state, end if target is None else states[target])

    def _series(self, series: Series, start: int, end: int) -> None:
        """Two chains of states: nothing was read yet, and something was, so that a separator must come first."""
        nothing, something = self._state(), self._state()
        self._epsilon(start, nothing)
        for member in series.members:
            next_nothing, next_something, behind = self._state(), self._state(), self._state()
            self._fragment(member.expression, nothing, next_something)
            self._fragment(series.separator, something, behind)
            self._fragment(member.expression, behind, next_something)
            if not member.is_needed:
                self._epsilon(nothing, next_nothing)
                self._epsilon(something, next_something)
            nothing, something = next_nothing, next_something
        if series.more is not None:
            again, behind = self._state(), self._state()
            self._epsilon(something, again)
            self._fragment(series.more, nothing, again)
            self._fragment(series.separator, again, behind)
            self._fragment(series.more, behind, again)
            something = again
        self._epsilon(nothing, end)
        self._epsilon(something, end)
