"""A recursive transition network: one automaton for each rule, with calls between them (Woods 1970).

All automata are in one table. An entry is the next state, ``DEAD``, or an *action*: several ways to read the byte. A
call is no separate step. A state that calls a rule reads the rule's first byte at once and pushes the return state; if
the rule begins with another call, several are pushed (see ``_WaysThroughCalls``). Leaves stay automata.

A frame of the stack has a return state and a register: the memory of its rule (see ``registers``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sfgen.automata.by_character import distinct
from sfgen.errors import InternalError, UsageError
from sfgen.grammar.network.analysis import Analysis
from sfgen.grammar.network.registers.registers import RegistersBuilder, RuleRegisters
from sfgen.grammar.network.rule_automata import RuleAutomaton, automata_of
from sfgen.grammar.network.rules import CountedText, GrammarRules, GrammarTooLarge, Leaf
from sfgen.grammar.network.simplify import simplify, without_copies
from sfgen.grammar.network.table import DEAD, IS_DISTINCT, KEEPS_REGISTER, Actions, CallSite, Table

MAX_CELLS = 60_000_000
"""The most entries of the table."""

MAX_FRAMES = 300_000
"""The most frames in the ways of all rules. The number grows with the cube of a chain of rules, each of which begins
with a call of the next.
"""


@dataclass(frozen=True, eq=False)
class Network(Table):
    """The automata of rules. Immutable.

    Attributes:
        names: The rules, the start rule first, without those copied into others.
        start: The first state.
        shortest: The fewest bytes of a text; texts that must differ are not compared.
        leaves: The rules that are leaves, by their first states.
        registers: The memory of the rules.
    """

    names: tuple[str, ...]
    start: int
    shortest: int
    leaves: Mapping[int, Leaf | CountedText] = field(repr=False)
    registers: RuleRegisters = field(repr=False)

    def __repr__(self) -> str:
        """Show the size and the start rule."""
        return f"Network(rules={len(self.names)}, states={len(self)}, start={self.names[0]!r})"


def network_of(grammar: GrammarRules, analysis: Analysis | None = None) -> Network:
    """Make the network of a grammar; ``analysis`` is the analysis of its rules, if there is one already.

    >>> from sfgen.grammar.network.rules import Call, Concatenation, Literal, Repeat
    >>> pairs = Concatenation((Literal(b"("), Repeat(Call("pairs"), 0, None), Literal(b")")))
    >>> network_of(GrammarRules({"pairs": pairs}, "pairs"))
    Network(rules=1, states=3, start='pairs')
    """
    return _network(grammar, analysis or Analysis(grammar.rules), simplify)


def network_as_written(grammar: GrammarRules) -> Network:
    """Make the network of a grammar with all its rules and calls.

    It reads the same texts as :func:`network_of`'s network, but slower: every call pushes a frame, so that positions
    contain the rules as written.

    >>> from sfgen.grammar.network.rules import Call, Concatenation, Literal
    >>> rules = {"pair": Concatenation((Call("a"), Call("a"))), "a": Literal(b"a")}
    >>> network_of(GrammarRules(rules, "pair")).names, network_as_written(GrammarRules(rules, "pair")).names
    (('pair',), ('pair', 'a'))
    """
    return _network(grammar, Analysis(grammar.rules), without_copies, pushes_all=True)


def _network(
    grammar: GrammarRules,
    analysis: Analysis,
    simplified: Callable[[GrammarRules, Analysis], GrammarRules],
    *,
    pushes_all: bool = False,
) -> Network:
    """Make the network of the simplified rules; refuse a grammar that has no text."""
    shortest = analysis.lengths.get(grammar.start)
    if shortest is None:
        raise UsageError(
            f"the rule {grammar.start!r} matches no text at all", hint="Look for a recursion that never ends."
        )
    simple = simplified(grammar, analysis)
    automata = automata_of(simple, analysis.nullable)
    return _joined(tuple(simple.rules), automata, shortest, pushes_all=pushes_all)


class _States:
    """The states of all rules under one numbering, while the network is built."""

    def __init__(self, names: tuple[str, ...], parts: Sequence[RuleAutomaton]) -> None:
        firsts = np.cumsum([0, *[len(part.transitions) for part in parts]]).tolist()
        self._bytes, classes = distinct(np.stack([part.byte_classes for part in parts], axis=1).astype(np.int32))
        if firsts[-1] * len(self._bytes) > MAX_CELLS:
            raise GrammarTooLarge(names[0], f"{MAX_CELLS:,} entries of a table")
        self._names = names
        self._number_of = {name: number for number, name in enumerate(names)}
        self.entries = {name: first + entry for first, part in zip(firsts, parts, strict=False)
                        for name, entry in part.entries.items()}  # fmt: skip
        self.byte_classes = classes.astype(np.uint8)
        self.table = np.full((firsts[-1], len(self._bytes)), DEAD, dtype=np.int32)
        self.accepting = np.zeros(firsts[-1], dtype=np.bool_)
        self.rule_of = np.zeros(firsts[-1], dtype=np.int32)
        self._size = firsts[-1]
        self._copied = list[int]()
        self._registers = RegistersBuilder()
        self.calls: dict[int, tuple[CallSite, ...]] = {}
        self.leaves: dict[int, Leaf | CountedText] = {}
        for first, part in zip(firsts, parts, strict=False):
            self._add(first, part)

    def _add(self, first: int, part: RuleAutomaton) -> None:
        """Copy an automaton into the table, from state ``first`` on."""
        own = slice(first, first + len(part.transitions))
        rows = self.table[own]  # a leaf may have millions of entries: they are copied once
        np.take(part.transitions, part.byte_classes[self._bytes], axis=1, out=rows, mode="clip")
        np.add(rows, np.int32(first), out=rows, where=rows >= 0)
        self.accepting[own] = part.accepting
        self.rule_of[own] = np.array([self._number_of[name] for name in part.entries], dtype=np.int32)[part.rules]
        self._registers.add(first, [self._number_of[name] for name in part.entries], part.registers)
        shared = dict[CallSite, tuple[CallSite, ...]]()
        for state, call, target in part.calls:
            site = CallSite(self.entries[call.rule], first + target, call.distinct)
            sites = shared.setdefault(site, (site,))  # most states have one, and several states the same
            before = self.calls.get(first + state)
            self.calls[first + state] = sites if before is None else before + sites
        if part.leaf is not None:
            self.leaves[first] = part.leaf

    def split_empty(self) -> None:
        """Redirect calls of rules that have the empty text to a copy of the entry that does not accept.

        The automata of the callers can already skip such a call.
        """
        sites = [site for sites in self.calls.values() for site in sites]
        empty = sorted({site.entry for site in sites if self.accepting[site.entry]})
        if not empty:
            return
        copies = {entry: len(self.table) + number for number, entry in enumerate(empty)}
        self.table, self.rule_of = (np.concatenate([array, array[empty]]) for array in (self.table, self.rule_of))
        self._copied = empty
        self.accepting = np.concatenate([self.accepting, np.zeros(len(empty), dtype=np.bool_)])
        self.calls |= {copies[entry]: self.calls[entry] for entry in empty if entry in self.calls}
        self.calls = {
            state: tuple(site._replace(entry=copies.get(site.entry, site.entry)) for site in sites)
            for state, sites in self.calls.items()
        }

    def registers(self) -> RuleRegisters:
        """Return the registers of the rules; called after ``split_empty``."""
        return self._registers.joined(self._size, self._copied, self.calls, self.leaves)

    def ends(self) -> NDArray[np.bool_]:
        """Return the states in which a rule must end, since nothing can be read there, bool ``[states]``."""
        is_end = self.accepting.copy()
        is_end[list(self.calls)] = False
        is_end[is_end] = (self.table[is_end] < 0).all(axis=1)
        return is_end

    def write_calls(self, needs_no_frame: NDArray[np.bool_]) -> Actions:
        """Write the ways through calls into the table as actions; return the actions."""
        through_calls = _WaysThroughCalls(
            self.table, self.calls, needs_no_frame, lambda state: self._names[self.rule_of[state]]
        )
        places, numbers = dict[tuple[_Way, ...], int](), list[int]()
        states, byte_classes, entries = list[int](), list[int](), list[int]()
        for state in self.calls:
            for group, ways in through_calls.of(state):
                if len(ways) == 1 and not ways[0][1]:
                    continue
                place = places.setdefault(ways, len(numbers))
                if place == len(numbers):
                    numbers.append(len(ways))
                    for way in ways:
                        numbers += way
                states += [state] * len(group)
                byte_classes += group
                entries += [-2 - place] * len(group)
        self.table[states, byte_classes] = entries
        return Actions(np.array(numbers, dtype=np.int32))


def _joined(names: tuple[str, ...], parts: Sequence[RuleAutomaton], shortest: int, *, pushes_all: bool) -> Network:
    """Join all automata in one table; with ``pushes_all``, calls at the end of a rule push a frame, too."""
    states = _States(names, parts)
    states.split_empty()
    is_end = states.ends()
    actions = states.write_calls(np.zeros_like(is_end) if pushes_all else is_end)
    for array in (states.table, states.accepting, is_end, states.rule_of):
        array.setflags(write=False)
    return Network(
        states.rule_of, states.table, states.byte_classes, states.accepting, is_end, actions, states.calls,
        names, states.entries[names[0]], shortest, states.leaves, states.registers(),
    )  # fmt: skip


_Way = tuple[int, ...]
"""A way to read a byte, encoded as in ``Actions``: state, whether its register is new, number of pushes, pushes."""

_Ways = list[tuple[list[int], tuple[_Way, ...]]]
"""Groups of byte classes, and the ways to read each class of a group."""


class _WaysThroughCalls:
    """Finds the ways to read a byte in states that call rules."""

    def __init__(
        self,
        table: NDArray[np.int32],
        calls: Mapping[int, Sequence[CallSite]],
        is_end: NDArray[np.bool_],
        name_of: Callable[[int], str],
    ) -> None:
        self._calls = calls
        self._is_end = is_end
        self._name_of = name_of
        self._of_entry: dict[int, _Ways] = {}
        self._of_site: dict[CallSite, _Ways] = {}  # shared by all states with the same call
        self._frames = 0  # the frames in the ways of all entries
        states = [*dict.fromkeys([*calls, *(site.entry for sites in calls.values() for site in sites)])]
        rows = table[states]
        numbers, byte_classes = np.nonzero(rows >= 0)
        self._classes_to: dict[int, dict[int, list[int]]] = {state: {} for state in states}
        """For each state: the byte classes that lead to each next state without a call."""
        for number, byte_class, target in zip(
            *(each.tolist() for each in (numbers, byte_classes, rows[numbers, byte_classes])), strict=True
        ):
            self._classes_to[states[number]].setdefault(target, []).append(byte_class)

    def of(self, state: int) -> _Ways:
        """Return the ways of a state: its own steps, and the ways of the rules that it calls."""
        found: _Ways = [(byte_classes, ((target, 0, 0),)) for target, byte_classes in self._classes_to[state].items()]
        sites = self._calls.get(state, ())
        is_alone = len(sites) + bool(found) <= 1
        for site in sites:
            found += self._through(site)
        return found if is_alone else _merged(found)

    def _through(self, site: CallSite) -> _Ways:
        """Return the ways through a call."""
        found = self._of_site.get(site)
        if found is None:
            outer: tuple[int, ...] = ()
            if site.is_distinct or not self._is_end[site.target]:
                outer = (site.target, KEEPS_REGISTER + IS_DISTINCT * site.is_distinct)
            more = len(outer) // 2
            found = self._of_site[site] = [
                (byte_classes, tuple([(state, 1, count + more, *outer, *pushes) for state, _, count, *pushes in ways]))
                for byte_classes, ways in self._entry(site.entry)
            ]
        return found

    def _entry(self, entry: int) -> _Ways:
        """Return the ways of the first state of a rule, with a new register."""
        if entry not in self._of_entry:
            self._find([entry])
        return self._of_entry[entry]

    def _find(self, opened: list[int]) -> None:
        """Find the ways of an entry, after the ways of all rules with which it begins."""
        while opened:
            entry = opened[-1]
            called = (site.entry for site in self._calls.get(entry, ()))
            missing = next((each for each in called if each not in self._of_entry), None)
            if missing is None:
                self._of_entry[opened.pop()] = self._fresh(entry)
            elif missing in opened:
                raise InternalError(f"the rule {self._name_of(entry)!r} calls itself before it reads anything")
            else:
                opened.append(missing)

    def _fresh(self, entry: int) -> _Ways:
        """Make the ways of an entry from the ways of the rules with which it begins."""
        found = self.of(entry)
        if entry in self._calls:
            found = [(byte_classes, tuple([_without_register(*way) for way in ways])) for byte_classes, ways in found]
        self._frames += sum(len(byte_classes) * sum([1 + way[2] for way in ways]) for byte_classes, ways in found)
        if self._frames > MAX_FRAMES:
            limit = f"{MAX_FRAMES:,} frames of rules that begin with each other"
            raise GrammarTooLarge(self._name_of(entry), limit)
        return found


def _merged(several: _Ways) -> _Ways:
    """Regroup ways by byte class where several groups contain the same class."""
    numbers_of: dict[int, list[int]] = {}
    for number, (byte_classes, _) in enumerate(several):
        for byte_class in byte_classes:
            numbers_of.setdefault(byte_class, []).append(number)
    if len(numbers_of) == sum([len(byte_classes) for byte_classes, _ in several]):
        return several  # no class is in two groups
    classes_of: dict[tuple[int, ...], list[int]] = {}
    for byte_class, numbers in numbers_of.items():
        classes_of.setdefault(tuple(numbers), []).append(byte_class)
    return [
        (byte_classes, tuple(dict.fromkeys([way for number in numbers for way in several[number][1]])))
        for numbers, byte_classes in classes_of.items()
    ]


def _without_register(state: int, is_fresh: int, count: int, *pushes: int) -> _Way:
    """Return a way whose frames keep no register."""
    return (
        state,
        is_fresh,
        count,
        *(number & ~KEEPS_REGISTER if at % 2 else number for at, number in enumerate(pushes)),
    )
