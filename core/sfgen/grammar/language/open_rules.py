"""The open rules of a position in a Lark grammar, and the terminals that may follow.

A state of an LALR parser has items: rules of which some symbols are read. An item with ``n`` symbols read began ``n``
states below on the stack; the state there has the item of the enclosing rule, and so on to the bottom.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfgen.grammar.lalr.distances import FAR
from sfgen.grammar.lalr.items import Item
from sfgen.grammar.lalr.read import LalrPosition, LalrReader
from sfgen.grammar.lalr.stack import BOTTOM
from sfgen.grammar.lalr.tables import NO_STATE


class OpenRules:
    """Names the open rules and expected terminals of one grammar."""

    def __init__(self, reader: LalrReader) -> None:
        self._reader = reader
        tables = reader.tables
        self._start = tables.nonterminals[int(np.flatnonzero(tables.gotos[tables.start] == tables.end)[0])]

    # These tables are large with many terminals, and only needed for descriptions.

    @property
    def items(self) -> list[list[Item]]:
        """The items of each state of the parser."""
        return self._reader.distances.items.kernels

    @cached_property
    def reach(self) -> NDArray[np.bool_]:
        """The terminals that each lexer state can reach, bool ``[lexer_states, terminals]``."""
        reach: NDArray[np.bool_] = self._costs < FAR
        return reach

    @cached_property
    def _costs(self) -> NDArray[np.int32]:
        return self._reader.distances.to_terminals()

    @cached_property
    def _costs_at_gaps(self) -> NDArray[np.int32]:
        starts = self._reader.lexer.starts
        costs: NDArray[np.int32] = self._costs[np.unique(starts[starts != NO_STATE])].min(axis=0)
        return costs

    def at(self, position: LalrPosition) -> tuple[tuple[str, ...], str]:
        """Name the first configuration's open rules, the outermost first, and the open terminal if it is certain."""
        node, names = position[0].node, list[str]()
        stacks, rules = self._reader.stacks, self._reader.tables.rules
        while node != BOTTOM:
            rule, read = self.items[stacks.states[node]][0]
            name = name_of(self._reader.tables.nonterminals[rules[rule].nonterminal])
            if name and (not names or names[-1] != name):
                names.append(name)
            node = stacks.pop(node, read)
        return tuple(reversed(names)) or (self._start,), self._open_terminal(position)

    def _open_terminal(self, position: LalrPosition) -> str:
        """Return the name of the open terminal if only one is possible, else an empty name.

        A terminal is open if its end is nearer than from any gap. After ignored text none is open.
        """
        terminals = set[int]()
        for lexer_state, node in position:
            possible = self._possible(lexer_state, node)
            terminals.update(possible)
            if not all(self._costs[lexer_state, each] < self._costs_at_gaps[each] for each in possible):
                return ""
        return self._reader.tables.terminals[terminals.pop()].shown if len(terminals) == 1 else ""

    def _possible(self, lexer_state: int, node: int) -> list[int]:
        """List the terminals that a configuration can reach and the parser takes."""
        stacks = self._reader.stacks
        terminals = np.flatnonzero(self.reach[lexer_state, :-1]).tolist()
        return [terminal for terminal in terminals if stacks.after(node, terminal) != NO_STATE]

    def expected(self, position: LalrPosition) -> tuple[str, ...]:
        """Name the terminals that may follow, as the grammar spells them.

        A terminal that may end here counts as ended.
        """
        terminals = set[int]()
        for configuration in position:
            ended = {terminal for terminal, _ in self._reader.commits_of(configuration.lexer_state)}
            terminals.update(each for each in self._possible(*configuration) if each not in ended)
            for gap in self._reader.commits(configuration):
                terminals.update(self._possible(*gap))
        return tuple(self._reader.tables.terminals[terminal].shown for terminal in sorted(terminals))

    def rules_expected(self, position: LalrPosition) -> tuple[str, ...]:
        """Name the rules that may follow, or the terminals if a rule may end."""
        tables, names = self._reader.tables, dict[str, None]()
        for configuration in position:
            if self._reader.commits(configuration):
                return self.expected(position)
            state = self._reader.stacks.states[configuration.node]
            items = self.items[state] or [
                Item(rule, 0)
                for rule in range(len(tables.rules))
                if tables.gotos[state, tables.rules[rule].nonterminal] == tables.end
            ]
            for rule, read in items:
                if read == len(tables.rules[rule].symbols):
                    return self.expected(position)
                symbol = tables.rules[rule].symbols[read]
                name = tables.terminals[symbol].shown if symbol >= 0 else name_of(tables.nonterminals[-1 - symbol])
                if not name:
                    return self.expected(position)
                names[name] = None
        return tuple(names)


def name_of(nonterminal: str) -> str:
    """Return the name of a nonterminal; empty if lark generated the nonterminal.

    >>> name_of("value"), name_of("__value_star_0")
    ('value', '')
    """
    return "" if nonterminal.startswith(("__", "$")) else nonterminal
