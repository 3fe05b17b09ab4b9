"""The automaton of each rule: deterministic over bytes and calls, and minimal unless the rule is a leaf.

Several rules are built together, so that the subset construction runs once. ``RulesAutomaton`` makes one
nondeterministic automaton of them (Thompson 1968). Its symbols are the bytes and, from 256 on, the calls, an *entry*
symbol for each rule from the common start, and an *end* symbol for each rule to the common end. The ends differ, so
minimization never merges states of different rules. Rules with members in any order are assembled from such automata
(see ``registers.members``).
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfgen.automata.determinize import subset_automaton
from sfgen.automata.minimize import equal_states, numbered
from sfgen.automata.nfa import Nfa
from sfgen.errors import InternalError, PatternTooLarge
from sfgen.grammar.network.analysis import calls
from sfgen.grammar.network.registers.counts import CountedAutomaton, counted_list, counted_text
from sfgen.grammar.network.registers.expressions import RegisterRule, check
from sfgen.grammar.network.registers.members import (
    NAME,
    VALUE,
    Scaffold,
    member_automaton,
    scaffold_expression,
    without_members,
)
from sfgen.grammar.network.registers.registers import AutomatonRegisters
from sfgen.grammar.network.rules import (
    Alternation,
    AnyOrder,
    Bytes,
    Call,
    Concatenation,
    CountedList,
    CountedText,
    Expression,
    GrammarRules,
    GrammarTooLarge,
    Leaf,
    Literal,
    Repeat,
    Series,
    StateMachine,
)

BYTES = 256
"""The number of byte symbols; the symbols of calls, entries and ends follow."""

MAX_EDGES = 2_000_000
"""The most states and edges of a nondeterministic automaton, checked during construction."""

_TOGETHER = 48
"""The most rules that are built together: the table has a column for each of their calls."""

_CALLS_TOGETHER = 64
"""The most calls of the rules that are built together: the table has a sparse column for each."""


class RuleAutomaton(NamedTuple):
    """The automaton of one or several rules."""

    transitions: NDArray[np.int32]  # int32 ``[states, classes]``; -1 is no transition
    byte_classes: NDArray[np.int32]  # int32 ``[256]``
    accepting: NDArray[np.bool_]  # whether a rule may end in each state, bool ``[states]``
    calls: Sequence[tuple[int, Call, int]]  # state, call, return state
    entries: Mapping[str, int]  # the first state of each rule, by name
    rules: NDArray[np.int32]  # the rule of each state, as its number in ``entries``, int32 ``[states]``
    leaf: Leaf | CountedText | None
    registers: AutomatonRegisters = AutomatonRegisters()


def automata_of(grammar: GrammarRules, nullable: Collection[str]) -> list[RuleAutomaton]:
    """Build the automata of simplified rules; the ``nullable`` ones have the empty text."""
    automata, together, called = list[RuleAutomaton](), dict[str, Expression](), set[Call]()
    for name, expression in grammar.rules.items():
        if isinstance(expression, RegisterRule):
            check(name, expression, nullable)
        match expression:
            case Leaf():
                automata.append(_leaf(name, expression))
            case CountedText():
                automata.append(_counted(name, counted_text(expression), expression))
            case CountedList():
                automata.append(_counted(name, counted_list(expression), None))
            case AnyOrder():
                automata.append(_any_order(name, expression))
            case _:
                own = set(calls(expression))
                if together and (len(together) == _TOGETHER or len(called | own) > _CALLS_TOGETHER):
                    automata.append(_deterministic(together, nullable))
                    together, called = {}, set()
                together[name] = expression
                called |= own
    if together:
        automata.append(_deterministic(together, nullable))
    return automata


def _deterministic(rules: Mapping[str, Expression], nullable: Collection[str]) -> RuleAutomaton:
    """Build the automaton of several rules by one subset construction, without the common start and end."""
    automaton = RulesAutomaton(rules, nullable)
    first = next(iter(rules))
    try:
        table, class_of_symbol, accepting = subset_automaton(automaton.nfa, automaton.symbols, first)
    except PatternTooLarge as error:
        raise GrammarTooLarge(first, error.reason) from None
    blocks, block_of = equal_states(np.ascontiguousarray(table), accepting)
    table, joined, accepting = numbered(table, accepting, blocks, block_of)
    class_of_symbol = joined[class_of_symbol]
    entries = {name: int(table[0, class_of_symbol[symbol]]) for name, symbol in automaton.entries.items()}
    ends = np.zeros(len(table), dtype=np.bool_)
    targets = table.T[class_of_symbol[BYTES : BYTES + len(automaton.calls)]]
    numbers, states = np.nonzero(targets >= 0)
    sites = [
        (state, automaton.calls[number], target)
        for number, state, target in zip(
            numbers.tolist(), states.tolist(), targets[numbers, states].tolist(), strict=True
        )
    ]
    for symbol in automaton.entries.values():
        ends |= table[:, class_of_symbol[symbol + len(rules)]] >= 0
    used = np.unique(class_of_symbol[: BYTES + len(automaton.calls)])
    rule_of = _rule_of(table[:, used], list(entries.values()))
    kept = np.flatnonzero(rule_of >= 0)  # all states but the common start and end
    renumbered = np.full(len(table) + 1, -1, dtype=np.int32)  # the last entry maps -1
    renumbered[kept] = np.arange(len(kept))
    return RuleAutomaton(
        renumbered[table[kept]],
        class_of_symbol[:BYTES],
        ends[kept],
        [(int(renumbered[state]), call, int(renumbered[target])) for state, call, target in sites],
        {name: int(renumbered[entry]) for name, entry in entries.items()},
        rule_of[kept],
        None,
    )


def _rule_of(table: NDArray[np.int32], entries: list[int]) -> NDArray[np.int32]:
    """Return the number of each state's rule; -1 where no entry leads to the state.

    A state belongs to the rule of its predecessors, since rules share no states. States are numbered so that each state
    except the entries has a predecessor with a smaller number.
    """
    sources, columns = np.nonzero(table >= 0)
    before = np.arange(len(table))
    before[table[sources, columns][::-1]] = sources[::-1]  # the smallest predecessor
    before[entries] = entries
    while not np.array_equal(further := before[before], before):
        before = further
    rule_of = np.full(len(table), -1, dtype=np.int32)
    rule_of[entries] = np.arange(len(entries))
    return rule_of[before]


def _leaf(name: str, leaf: Leaf) -> RuleAutomaton:
    dfa = leaf.dfa
    return RuleAutomaton(
        dfa.transitions, dfa.byte_classes.astype(np.int32), dfa.accepting, (), {name: 0},
        np.zeros(len(dfa), dtype=np.int32), leaf,
    )  # fmt: skip


def _counted(name: str, automaton: CountedAutomaton, leaf: CountedText | None) -> RuleAutomaton:
    transitions, byte_classes, accepting, calls, counter = automaton
    rules = np.zeros(len(transitions), dtype=np.int32)
    return RuleAutomaton(
        transitions, byte_classes, accepting, calls, {name: 0}, rules, leaf, AutomatonRegisters(counter)
    )


def _any_order(name: str, members: AnyOrder) -> RuleAutomaton:
    """Build the automaton of a rule with members in any order."""
    scaffold = _scaffold(without_members(members))
    if len(scaffold.names) * sum(len(member.name) for member in members.members) > MAX_EDGES:
        raise GrammarTooLarge(name, f"{MAX_EDGES:,} states and edges")
    transitions, byte_classes, accepting, sites, names = member_automaton(members, scaffold)
    rules = np.zeros(len(transitions), dtype=np.int32)
    return RuleAutomaton(
        transitions, byte_classes, accepting, sites, {name: 0}, rules, None, AutomatonRegisters(names={0: names})
    )


@lru_cache(maxsize=64)
def _scaffold(members: AnyOrder) -> Scaffold:
    """Build the scaffold of an object from ``without_members``: its names and values are calls."""
    automaton = _deterministic({"": scaffold_expression(members)}, frozenset())
    targets = automaton.transitions[:, automaton.byte_classes]
    steps: list[list[tuple[int, int]]] = [[] for _ in targets]
    for state, byte in zip(*(each.tolist() for each in np.nonzero(targets >= 0)), strict=True):
        steps[state].append((byte, int(targets[state, byte])))
    sites = {call: {state: target for state, each, target in automaton.calls if each == call} for call in (NAME, VALUE)}
    accepting = np.flatnonzero(automaton.accepting).tolist()
    return Scaffold(
        len(automaton.transitions), steps, accepting, sites[NAME], sites[VALUE], members.minimum, members.maximum
    )


class RulesAutomaton:
    """The nondeterministic automaton of several rules.

    Attributes:
        calls: The calls, in the order of their symbols from ``BYTES`` on.
        entries: The entry symbol of each rule; its end symbol is ``len(rules)`` more.
        symbols: The number of symbols.
        nfa: The automaton.
    """

    def __init__(self, rules: Mapping[str, Expression], nullable: Collection[str]) -> None:
        self._edges = array("i")
        self._epsilons = array("i")
        self._states = 2
        self._nullable = nullable
        self._symbol_of_call: dict[Call, int] = {}
        ends = dict[str, tuple[int, int]]()
        self._rule = ""
        for name, expression in rules.items():
            self._rule = name
            start, end = self._state(), self._state()
            self._fragment(expression, start, end)
            ends[name] = start, end
        self.calls: Sequence[Call] = tuple(self._symbol_of_call)
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
        """Add the states and edges that read an expression from ``start`` to ``end``.

        No edge leads into ``start`` or out of ``end``, so fragments can share these states.
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
        if not data:
            self._epsilon(start, end)
            return
        first, edges = self._states, self._edges
        self._states += len(data) - 1
        for number, byte in enumerate(data[:-1], first):
            edges.extend((start, byte, byte, number))
            start = number
        edges.extend((start, data[-1], data[-1], end))
        self._check_size()

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
        """Add two chains of states: before the first member, and after a member, where a separator comes first."""
        nothing, something = self._state(), self._state()
        self._epsilon(start, nothing)
        for member in series.members:
            next_nothing, next_something, separated = self._state(), self._state(), self._state()
            self._fragment(member.expression, nothing, next_something)
            self._fragment(series.separator, something, separated)
            self._fragment(member.expression, separated, next_something)
            if not member.is_needed:
                self._epsilon(nothing, next_nothing)
                self._epsilon(something, next_something)
            nothing, something = next_nothing, next_something
        if series.more is not None:
            again, separated = self._state(), self._state()
            self._epsilon(something, again)
            self._fragment(series.more, nothing, again)
            self._fragment(series.separator, again, separated)
            self._fragment(series.more, separated, again)
            something = again
        self._epsilon(nothing, end)
        self._epsilon(something, end)
