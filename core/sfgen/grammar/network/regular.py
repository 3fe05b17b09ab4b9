"""Finite automata of grammars: an exact one for an expression without calls, a superset for a whole grammar."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfgen.automata import Dfa
from sfgen.automata.determinize import determinize
from sfgen.automata.minimize import minimize
from sfgen.automata.nfa import Nfa
from sfgen.errors import PatternTooLarge
from sfgen.grammar.network.analysis import Analysis, calls
from sfgen.grammar.network.registers.expressions import RegisterRule
from sfgen.grammar.network.rule_automata import BYTES, RuleAutomaton, RulesAutomaton, automata_of
from sfgen.grammar.network.rules import NOTHING, Expression, GrammarRules, GrammarTooLarge
from sfgen.grammar.network.simplify import simplify, size
from sfgen.protocols import Superset

MAX_SIZE = 100_000
"""The most bytes, parts and states of an expression that becomes one automaton."""


def regular_automaton(name: str, expression: Expression) -> Dfa:
    """Build the minimal automaton of an expression; it may accept nothing.

    >>> from sfgen.grammar.network.rules import Bytes, Concatenation, Literal, Repeat
    >>> letters = Repeat(Bytes(((97, 98),)), 1, 2)
    >>> regular_automaton("pair", Concatenation((letters, Literal(b":"), letters))).accepts("ab:b")
    True
    """
    if size(expression) > MAX_SIZE:
        raise GrammarTooLarge(name, f"{MAX_SIZE:,} bytes and parts")
    nfa = RulesAutomaton({name: expression}, ()).nfa
    ends = nfa.edges[:, 1] >= BYTES  # the entry and the end of the rule, which read nothing
    epsilons = nfa.edges[ends][:, [0, 3, 0]]
    epsilons[:, 2] = 0
    plain = replace(nfa, edges=nfa.edges[~ends], epsilons=np.concatenate([nfa.epsilons, epsilons]))
    try:
        return Dfa(*minimize(determinize(plain, name)))
    except PatternTooLarge as error:
        raise GrammarTooLarge(name, error.reason) from None


MAX_SUPERSET = 8_000
"""The most states of a superset before the subset construction; a ban is not subtracted from a larger one."""


def regular_superset(grammar: GrammarRules, analysis: Analysis | None = None) -> Superset | None:
    """Build an automaton that accepts all texts of a grammar, and some more (Nederhof 2000: superset approximation).

    A call becomes a jump into a copy of the called rule. A recursive rule has one copy, from which a text may return
    to any of its callers; if there are too many copies, every rule has one copy only. Counts are ignored, and names or
    items need not differ. The result is ``None`` beyond a limit.

    >>> from sfgen.grammar.network.rules import Alternation, Call, Concatenation, Literal
    >>> nested = Alternation((Concatenation((Literal(b"("), Call("a"), Literal(b")"))), Literal(b"x")))
    >>> superset = regular_superset(GrammarRules({"a": nested}, "a"))
    >>> superset.is_exact, [superset.dfa.accepts(text) for text in ("((x))", "(x", "()")]
    (False, [True, True, False])
    """
    try:
        analysis = analysis or Analysis(grammar.rules)
        grammar = simplify(grammar, analysis)
        if grammar.rules[grammar.start] == NOTHING or sum(map(size, grammar.rules.values())) > MAX_SUPERSET:
            return None
        copies = _Copies(automata_of(grammar, analysis.nullable))
        recursive = frozenset(_recursive(grammar))
        keeps_all = not recursive and not any(map(_forgets, grammar.rules.values()))
        copied = copies.of(grammar.start, recursive)
        if copied is None:
            keeps_all, copied = False, copies.of(grammar.start, grammar.rules)
        if copied is None:
            return None
        return Superset(Dfa(*minimize(determinize(copied, grammar.start))), keeps_all)
    except (GrammarTooLarge, PatternTooLarge):
        return None


def _forgets(rule: Expression) -> bool:
    """Return whether the automaton of a rule accepts more texts than the rule."""
    return isinstance(rule, RegisterRule) or any(call.distinct for call in calls(rule))


def _recursive(grammar: GrammarRules) -> Collection[str]:
    """Return the rules that are on a cycle of calls or lead to one."""
    waits = {name: {call.rule for call in calls(rule)} for name, rule in grammar.rules.items()}
    callers = dict[str, list[str]]()
    for name, called in waits.items():
        for rule in called:
            callers.setdefault(rule, []).append(name)
    ready = [name for name, called in waits.items() if not called]
    while ready:
        rule = ready.pop()
        for name in callers.get(rule, ()):
            waits[name].discard(rule)
            if not waits[name]:
                ready.append(name)
    return [name for name, called in waits.items() if called]


class _Rule(NamedTuple):
    """The automaton of one rule, its states numbered from 0."""

    entry: int
    edges: NDArray[np.int32]  # source, lowest byte, highest byte, target; shape [edges, 4]
    accepting: NDArray[np.int64]
    calls: list[tuple[int, str, int]]
    states: int


class _Copies:
    """Builds one automaton from copies of the automata of rules."""

    def __init__(self, parts: Sequence[RuleAutomaton]) -> None:
        self._rules = {name: _rule_in(part, name) for part in parts for name in part.entries}

    def of(self, start: str, shared: Collection[str]) -> Nfa | None:
        """Return the automaton of the rule ``start``, with one copy of each shared rule; ``None`` beyond the limit."""
        states, edges, epsilons = 2, list[NDArray[np.int32]](), list[tuple[int, int, int]]()
        first_of = dict[str, int]()  # the first state of each shared rule
        waiting = [(start, 0, 1)]
        while waiting:
            name, before, after = waiting.pop()
            rule = self._rules[name]
            first = first_of.get(name, states)
            epsilons.append((before, first + rule.entry, 0))
            epsilons += [(first + state, after, 0) for state in rule.accepting.tolist()]
            if first < states:
                continue
            if name in shared:
                first_of[name] = first
            states += rule.states
            if states > MAX_SUPERSET:
                return None
            edges.append(rule.edges + np.array([first, 0, 0, first], dtype=np.int32))
            waiting += [(called, first + state, first + target) for state, called, target in rule.calls]
        return Nfa(states, np.concatenate(edges), np.array(epsilons, dtype=np.int32))


def _rule_in(part: RuleAutomaton, name: str) -> _Rule:
    own = part.rules == list(part.entries).index(name)
    number = np.cumsum(own) - 1
    runs = np.flatnonzero(np.diff(part.byte_classes, prepend=-1))
    ends = np.append(runs[1:], BYTES) - 1
    targets = part.transitions[own][:, part.byte_classes[runs]]
    states, columns = np.nonzero(targets >= 0)
    edges = np.stack([states, runs[columns], ends[columns], number[targets[states, columns]]], axis=1)
    return _Rule(
        int(number[part.entries[name]]),
        edges.astype(np.int32),
        np.flatnonzero(part.accepting[own]),
        [(int(number[state]), call.rule, int(number[target])) for state, call, target in part.calls if own[state]],
        int(own.sum()),
    )
