"""The automaton of an expression that calls nothing: a regular language, where a rule would be a network's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sfgen.automata import Dfa
from sfgen.automata.determinize import determinize
from sfgen.automata.minimize import minimize
from sfgen.errors import PatternTooLarge
from sfgen.grammar.rules import Expression
from sfgen.grammar.simplify import size
from sfgen.grammar.thompson import BYTES, GrammarTooLarge, RulesAutomaton

MAX_SIZE = 100_000
"""The most bytes, parts and states of an expression that becomes one automaton."""


def regular_automaton(name: str, expression: Expression) -> Dfa:
    """Build the minimal automaton of an expression; it may accept nothing.

    Args:
        name: What the expression is called, for messages.
        expression: The expression: it calls nothing and counts by no register.

    Raises:
        GrammarTooLarge: It passes a limit.

    >>> from sfgen.grammar.rules import Bytes, Concatenation, Literal, Repeat
    >>> letters = Repeat(Bytes(((97, 98),)), 1, 2)
    >>> regular_automaton("pair", Concatenation((letters, Literal(b":"), letters))).accepts("ab:b")
    True
    """
    if size(expression) > MAX_SIZE:
        raise GrammarTooLarge(name, f"{MAX_SIZE:,} bytes and parts")
    nfa = RulesAutomaton({name: expression}, ()).nfa
    ends = nfa.edges[:, 1] >= BYTES  # the entry and the end of the rule: nothing is read there
    epsilons = nfa.edges[ends][:, [0, 3, 0]]
    epsilons[:, 2] = 0
    plain = replace(nfa, edges=nfa.edges[~ends], epsilons=np.concatenate([nfa.epsilons, epsilons]))
    try:
        return Dfa(*minimize(determinize(plain, name)))
    except PatternTooLarge as error:
        raise GrammarTooLarge(name, error.reason) from None
