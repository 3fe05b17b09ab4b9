"""Name the rules that are open at a position, and the terminals that may come there.

A state of an LALR parser knows some items: rules of which the beginning was read. An item that was read as far as its
``n``-th symbol began ``n`` states below; the state there knows the rule around it, and so on to the bottom.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfgen.lalr.distances import FAR
from sfgen.lalr.read import Position, Reader
from sfgen.lalr.stack import BOTTOM
from sfgen.lalr.tables import NO_STATE, ParseTables


class OpenRules:
    """Names open rules and expected terminals of one grammar.

    Args:
        reader: The grammar.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        tables = reader.tables
        self._start = tables.nonterminals[int(np.flatnonzero(tables.gotos[tables.start] == tables.end)[0])]

    # All below are large where there are many terminals, and of no use until somebody asks what may come.

    @cached_property
    def items(self) -> list[list[tuple[int, int]]]:
        """The rules of which each state has read the beginning, and how many symbols of each."""
        return kernel_items(self._reader.tables)

    @cached_property
    def reach(self) -> NDArray[np.bool_]:
        """The terminals that each control can come to, bool ``[controls, terminals]``."""
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

    def at(self, position: Position) -> tuple[tuple[str, ...], str]:
        """Name the open rules, the outermost first, and the open terminal.

        The terminal is empty where it is not sure which one is being written. Of several ways to read the text the
        first one counts.
        """
        node, names = position[0].node, list[str]()
        stacks, rules = self._reader.stacks, self._reader.tables.rules
        while node != BOTTOM:
            rule, read = self.items[stacks.states[node]][0]
            name = name_of(self._reader.tables.nonterminals[rules[rule].nonterminal])
            if name and (not names or names[-1] != name):
                names.append(name)
            node = stacks.pop(node, read)
        return tuple(reversed(names)) or (self._start,), self._being_written(position)

    def _being_written(self, position: Position) -> str:
        """The terminal of which the beginning was read, where it can be one only.

        It counts as begun where its end is nearer than from any gap: behind what is ignored, none is begun.
        """
        found = set[int]()
        for control, node in position:
            possible = self._possible(control, node)
            found.update(possible)
            if not all(self._costs[control, each] < self._costs_at_gaps[each] for each in possible):
                return ""
        return self._reader.tables.terminals[found.pop()].shown if len(found) == 1 else ""

    def _possible(self, control: int, node: int) -> list[int]:
        """The terminals that a configuration can come to and the parser takes."""
        stacks = self._reader.stacks
        terminals = np.flatnonzero(self.reach[control, :-1]).tolist()
        return [terminal for terminal in terminals if stacks.after(node, terminal) != NO_STATE]

    def expected(self, position: Position) -> tuple[str, ...]:
        """Name the terminals that may come next, as the grammar shows them.

        One that must be written to its end is named; one that may end here is taken to have ended.
        """
        found = set[int]()
        for configuration in position:
            ended = {terminal for terminal, _ in self._reader.commits_of(configuration.control)}
            found.update(each for each in self._possible(*configuration) if each not in ended)
            for gap in self._reader.commits(configuration):
                found.update(self._possible(*gap))
        return tuple(self._reader.tables.terminals[terminal].shown for terminal in sorted(found))

    def rules_expected(self, position: Position) -> tuple[str, ...]:
        """Name what may come next in the words of the open rules.

        Where a rule may end there, these are terminals.
        """
        tables, found = self._reader.tables, dict[str, None]()
        for configuration in position:
            if self._reader.commits(configuration):
                return self.expected(position)
            state = self._reader.stacks.states[configuration.node]
            items = self.items[state] or [
                (rule, 0)
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
                found[name] = None
        return tuple(found)


def name_of(nonterminal: str) -> str:
    """Name a nonterminal; the name is empty where lark made it up.

    >>> name_of("value"), name_of("__value_star_0")
    ('value', '')
    """
    return "" if nonterminal.startswith(("__", "$")) else nonterminal


def kernel_items(tables: ParseTables) -> list[list[tuple[int, int]]]:
    """List the rules of which each state has read the beginning.

    With each comes the number of symbols that were read, ascending.
    """
    found: list[set[tuple[int, int]]] = [set() for _ in range(len(tables.actions))]
    by_nonterminal: dict[int, list[int]] = {}
    for number, rule in enumerate(tables.rules):
        by_nonterminal.setdefault(rule.nonterminal, []).append(number)
    for state, nonterminal in np.argwhere(tables.gotos != NO_STATE).tolist():
        for number in by_nonterminal.get(nonterminal, ()):
            _follow(tables, number, state, found)
    return [sorted(items) for items in found]


def _follow(tables: ParseTables, rule: int, state: int, found: list[set[tuple[int, int]]]) -> None:
    """Add the items of one rule that begins in a state."""
    for read, symbol in enumerate(tables.rules[rule].symbols, start=1):
        after = int(tables.actions[state, symbol]) - 1 if symbol >= 0 else int(tables.gotos[state, -1 - symbol])
        if after < 0:
            return
        state = after
        found[state].add((rule, read))
