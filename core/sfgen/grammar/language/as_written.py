"""The rules of a GBNF grammar as they are written: the open rules, the terminals that may follow, the states.

Every rule is kept, and each literal, class and token becomes a rule of its own, named by its spelling. Such a name
begins with ``"``, ``[``, ``.``, ``<`` or ``!``; no written rule has such a name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sfgen.automata.label import CUT, characters_from
from sfgen.errors import SfgenError
from sfgen.grammar.language.gbnf import Gbnf
from sfgen.grammar.language.language import Failure, Move, StateOutline, Stretch, Walk
from sfgen.grammar.network.network import Network, network_as_written
from sfgen.grammar.network.read import NetworkReader
from sfgen.grammar.network.rules import EMPTY, Alternation, Call, Concatenation, Expression, GrammarRules, Repeat, Rules
from sfgen.grammar.network.stack import NetworkConfiguration, NetworkPosition, Node
from sfgen.grammar.shell.token_symbols import SymbolTokens

_MOST_OPEN = 32  # open rules named from each end
_MOST_EXPECTED = 8  # terminals; if there are more, their rules are named


class RulePath(NamedTuple):
    """The open rules, the outermost first, and the open terminal or an empty string."""

    open_rules: tuple[str, ...]
    terminal: str


def with_terminals(source: Gbnf) -> GrammarRules:
    """Give each literal and class a rule of its own.

    >>> from sfgen.grammar.language.gbnf import read_gbnf
    >>> grammar = with_terminals(read_gbnf('root ::= "a" [0-9]'))
    >>> grammar.rules["root"]
    Concatenation(parts=(Call(rule='"a"', distinct=False), Call(rule='[0-9]', distinct=False)))
    """
    names = {terminal: name for terminal, (name, _) in source.terminals.items() if terminal != EMPTY}
    rules = {name: _with_calls(expression, names) for name, expression in source.grammar.rules.items()}
    return GrammarRules({**rules, **{name: terminal for terminal, name in names.items()}}, source.grammar.start)


def _with_calls(expression: Expression, names: Mapping[Expression, str]) -> Expression:
    match expression:
        case Concatenation(parts):
            return Concatenation(tuple([_with_calls(part, names) for part in parts]))
        case Alternation(branches):
            return Alternation(tuple([_with_calls(branch, names) for branch in branches]))
        case Repeat(child, minimum, maximum):
            return Repeat(_with_calls(child, names), minimum, maximum)
        case _ if expression in names:
            return Call(names[expression])
        case _:
            return expression


class AsWritten:
    """Reads texts by the rules as they are written. Safe to share between threads."""

    def __init__(self, rules: Rules, terminals: frozenset[str], network: Network, symbols: SymbolTokens) -> None:
        self.rules = rules
        self.network = network
        # Without end states a position stays in the rule that just ended, which is the rule of the last character.
        self.reader = NetworkReader(replace(network, is_end=np.zeros_like(network.is_end)))
        self._terminals = terminals
        self._symbols = symbols

    @classmethod
    def of(cls, source: Gbnf, fallback: Network, grammar: GrammarRules | None = None) -> AsWritten:
        """Make the reader of a grammar with a rule for each terminal.

        ``fallback`` is used if the network of all rules passes a limit. ``grammar`` contains the rules to read;
        ``None``: ``with_terminals(source)``.
        """
        grammar = with_terminals(source) if grammar is None else grammar
        try:
            network = network_as_written(grammar)
        except (SfgenError, RecursionError):
            network = fallback
        return cls(grammar.rules, frozenset(name for name, _ in source.terminals.values()), network, source.symbols)

    # ---- positions -------------------------------------------------------------------------------------------------

    def rules_at(self, position: NetworkPosition) -> RulePath:
        """Return the open rules of a position's first configuration, without rules that have certainly ended."""
        state, register, node = position[0]
        while self.network.is_end[state] and node.frames:
            state, register, node = node.frames[0]
        return self._path_of(NetworkConfiguration(state, register, node), {})

    def _path_of(self, configuration: NetworkConfiguration, known: dict[Node, tuple[str, ...]]) -> RulePath:
        """Return the open rules of a configuration; ``known`` caches those of nodes."""
        rules, name = self._open_rules(configuration.node, known), self._name(configuration.state)
        return RulePath(rules, name) if name in self._terminals else RulePath(_with_inner(rules, name), "")

    def _open_rules(self, node: Node, known: dict[Node, tuple[str, ...]]) -> tuple[str, ...]:
        """Return the rules that a node returns to, the outermost first."""
        unknown = list[Node]()
        while node.frames and node not in known:
            unknown.append(node)
            node = node.frames[0].below
        rules = known.get(node, ())
        for each in reversed(unknown):
            rules = known[each] = _with_inner(rules, self._name(each.frames[0].state))
        return rules

    def _name(self, state: int) -> str:
        name: str = self.network.names[self.network.rule_of[state]]
        return name

    def expected(self, position: NetworkPosition) -> tuple[str, ...]:
        """Name the terminals that may follow, or their rules if there are many."""
        names, rule_of = self.network.names, self.network.rule_of
        terminals, direct = dict[str, None](), dict[str, None]()
        for state, _, _ in self.reader.with_returns(position):
            if (name := names[rule_of[state]]) in self._terminals:
                if not self.network.is_end[state]:
                    terminals[name] = direct[name] = None
                continue
            for site in self.network.calls.get(state, ()):
                if first := self._first_terminals(site.entry):  # empty for a rule with only the empty text
                    direct[names[rule_of[site.entry]]] = None
                    terminals |= dict.fromkeys(first)
        if not direct:  # the fallback network has copies instead of terminals
            following = [byte for byte in range(256) if self.reader.read(position, bytes([byte])) is not None]
            return (characters_from(following),) if following else ()
        return tuple(terminals if terminals and len(terminals) <= _MOST_EXPECTED else direct)

    def _first_terminals(self, entry: int) -> list[str]:
        """Return the terminals with which a rule may begin."""
        names, rule_of = self.network.names, self.network.rule_of
        terminals, seen, waiting = dict[str, None](), {entry}, [entry]
        while waiting:
            state = waiting.pop()
            if (name := names[rule_of[state]]) in self._terminals:
                terminals[name] = None
            entries = [site.entry for site in self.network.calls.get(state, ()) if site.entry not in seen]
            seen.update(entries)
            waiting += reversed(entries)
        return list(terminals)

    # ---- texts -----------------------------------------------------------------------------------------------------

    def walk(self, text: str) -> Walk:
        """Read a text as far as the grammar allows."""
        positions = [self.reader.start]
        for character in text:
            after = self._read(positions[-1], character)
            if after is None:
                break
            positions.append(after)
        known = dict[Node, tuple[str, ...]]()
        paths = [self._path_of(configuration, known) for configuration in self._one_reading(text, positions)]
        failure = self._failure(text, positions[-1], len(positions) - 1)
        return Walk(text, Stretch.of(text, paths), failure, self.expected(positions[-1]))

    def _one_reading(self, text: str, positions: Sequence[NetworkPosition]) -> list[NetworkConfiguration]:
        """Choose a configuration after each character so that each leads to the next."""
        last = positions[-1]
        chosen = [next((each for each in last if self.reader.accepts((each,))), last[0])]
        for number in range(len(positions) - 2, 0, -1):
            before = positions[number]
            chosen.append(next((each for each in before if self._leads(each, text[number], chosen[-1])), before[0]))
        return chosen[::-1][: len(positions) - 1]

    def _leads(self, before: NetworkConfiguration, character: str, after: NetworkConfiguration) -> bool:
        """Return whether a character leads from one configuration to another, which may have more frames."""
        return any(
            (each.state, each.register) == (after.state, after.register)
            and set(each.node.frames) <= set(after.node.frames)
            for each in self._read((before,), character) or ()
        )

    def _read(self, position: NetworkPosition, character: str) -> NetworkPosition | None:
        return self.reader.read(position, character.encode("utf-8", "surrogatepass"))

    def reached(self, text: str) -> set[str]:
        """Return the rules and terminals that a text uses."""
        names = set[str]()
        for stretch in self.walk(text).stretches:
            names.update(stretch.open_rules, (stretch.terminal,))
        return names

    def failure(self, text: str) -> Failure | None:
        """Find the failure of a text; ``None`` if it is complete."""
        position = self.reader.start
        for number, character in enumerate(text):
            after = self._read(position, character)
            if after is None:
                return self._failure(text, position, number)
            position = after
        return self._failure(text, position, len(text))

    def _failure(self, text: str, position: NetworkPosition, stopped: int) -> Failure | None:
        may_end, open_rules = self.reader.accepts(position), self.rules_at(position).open_rules
        return Failure.at(text, stopped, self.expected(position), open_rules, may_end=may_end)

    # ---- automata --------------------------------------------------------------------------------------------------

    def states_of(self) -> dict[str, int]:
        """Count the states of each reachable rule and terminal."""
        counts = np.bincount(self.network.rule_of, minlength=len(self.network.names)).tolist()
        return dict(zip(self.network.names, counts, strict=True))

    def state(self, number: int) -> StateOutline:
        """Describe one of the states."""
        network = self.network
        names, rule_of = network.names, network.rule_of
        moves = [Move(names[rule_of[site.entry]], site.target) for site in network.calls.get(number, ())]
        by_target = dict[int, list[int]]()
        for byte, entry in enumerate(network.table[number, network.byte_classes].tolist()):
            if entry >= 0:
                by_target.setdefault(entry, []).append(byte)
        moves += [Move(self._symbols.label(bytes_), target) for target, bytes_ in by_target.items()]
        return StateOutline(number, (names[rule_of[number]],), bool(network.accepting[number]), tuple(moves))


def _with_inner(rules: tuple[str, ...], name: str) -> tuple[str, ...]:
    """Append an open rule unless it is the last one; drop rules in the middle of a long list."""
    if rules[-1:] == (name,):
        return rules
    if len(rules) < 2 * _MOST_OPEN:
        return (*rules, name)
    return (*rules[:_MOST_OPEN], CUT, *rules[1 - _MOST_OPEN :], name)
