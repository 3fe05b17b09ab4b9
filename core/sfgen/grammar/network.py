"""A recursive transition network: one automaton for each rule, with calls between them (Woods, 1970).

All automata lie in one table. An entry is the next state, ``DEAD``, or an *action*: several ways to read the byte. A
call is no step of its own. A state that calls a rule reads the rule's first byte at once and pushes the return state; a
rule that begins with another call pushes several (see ``_Openings``). Leaves stay automata.

A frame of the stack has a return state and a register. A step into a state of ``COUNTS`` adds one, and is dead beyond
the maximum; a step into a state of ``CLOSES`` is dead below the minimum. A caller of *distinct* calls remembers the
texts that they have read. A rule with members in any order remembers the set of their names (see
``sfgen.grammar.any_order``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfgen.automata.by_character import distinct
from sfgen.automata.completions import completions
from sfgen.errors import UsageError
from sfgen.grammar.any_order import Names
from sfgen.grammar.rule_automata import UNBOUNDED, RuleAutomaton, automata_of
from sfgen.grammar.rules import NOTHING, CountedText, Grammar, GrammarTooLarge, Leaf
from sfgen.grammar.simplify import simplify, without_copies

DEAD = -1
"""The entry of a refused byte; an entry ``v`` below is the action at ``-2 - v`` in ``FlatTable.actions``."""

MAX_CELLS = 60_000_000
"""The most entries of the table."""

MAX_FRAMES = 300_000
"""The most frames pushed by the ways of all rules; they grow with the cube of a chain of first calls."""


class LeftRecursion(UsageError):
    """A rule calls itself before it has read anything."""

    def __init__(self, message: str, rules: Sequence[str], *, hint: str = "") -> None:
        self.rules = tuple(rules)
        super().__init__(message, hint=hint)


class Push(NamedTuple):
    """A frame to push.

    Attributes:
        state: The return state.
        keeps: Whether the frame keeps the register.
        is_distinct: Whether the call is distinct.
    """

    state: int
    keeps: bool
    is_distinct: bool


class Way(NamedTuple):
    """One way to read a byte.

    Attributes:
        state: The next state.
        pushes: The frames to push first, the outermost first.
        is_fresh: Whether the register is new. A call at the end of a rule pushes no frame and has a new register
            too.
    """

    state: int
    pushes: tuple[Push, ...]
    is_fresh: bool


class CallSite(NamedTuple):
    """A call in a state.

    Attributes:
        entry: The first state of the called rule.
        target: The return state.
        is_distinct: Whether the texts of such calls differ from each other.
    """

    entry: int
    target: int
    is_distinct: bool


class FlatTable(NamedTuple):
    """A table and its actions, for kernels.

    Attributes:
        table: The network's table, flat, int32.
        actions: The actions end to end, int32. Each has its number of ways. Each way has its state, whether its
            register is new, its number of pushes, and for each push the return state and flags: 1 if the frame
            keeps the register, 2 if the call is distinct.
    """

    table: NDArray[np.int32]
    actions: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Network:
    """The automata of rules. Immutable.

    Attributes:
        names: The rules, that of a whole text first, without those copied into others.
        start: The first state.
        rule_of: The rule of each state, int32 ``[states]``.
        table: The next state, ``DEAD`` or an action, int32 ``[states, classes]``.
        byte_classes: uint8 ``[256]``.
        accepting: Whether the rule may end in each state, bool ``[states]``.
        is_end: Whether it must end there, as nothing is read; bool ``[states]``.
        kinds: ``PLAIN``, ``COUNTS`` or ``CLOSES``, uint8 ``[states]``.
        minimum: The least count of the state's rule, int32 ``[states]``.
        maximum: The highest count of the state's rule, int32 ``[states]``; ``UNBOUNDED`` without one.
        owes: The count still to come on the shortest way to the closing step, int32 ``[states]``: 1 inside a
            character.
        actions: The ways of each action, by its place in ``flat.actions``.
        calls: The calls of each state with some.
        leaves: The leaf of each rule that is one, by its first state.
        completions: The number of ways to complete a text of a distinct call, by state, where it is finite.
        usable: The bytes of these ways, bool ``[256]``; see :meth:`over`.
        names_in: The names of each rule with members in any order, by the rule's number.
    """

    names: tuple[str, ...]
    start: int
    rule_of: NDArray[np.int32]
    table: NDArray[np.int32]
    byte_classes: NDArray[np.uint8]
    accepting: NDArray[np.bool_]
    is_end: NDArray[np.bool_]
    kinds: NDArray[np.uint8]
    minimum: NDArray[np.int32]
    maximum: NDArray[np.int32]
    owes: NDArray[np.int32]
    actions: Mapping[int, tuple[Way, ...]]
    calls: Mapping[int, tuple[CallSite, ...]] = field(repr=False)
    leaves: Mapping[int, Leaf | CountedText] = field(repr=False)
    completions: Mapping[int, int] = field(repr=False)
    names_in: Mapping[int, Names] = field(repr=False)
    usable: NDArray[np.bool_] = field(default_factory=lambda: np.ones(256, dtype=np.bool_), repr=False)

    def __len__(self) -> int:
        """The number of states."""
        return len(self.accepting)

    @cached_property
    def flat(self) -> FlatTable:
        """The table and the actions for kernels."""
        numbers = list[int]()
        for ways in self.actions.values():
            numbers.append(len(ways))
            for way in ways:
                numbers += [way.state, way.is_fresh, len(way.pushes)]
                for push in way.pushes:
                    numbers += [push.state, push.keeps + 2 * push.is_distinct]
        return FlatTable(self.table.reshape(-1), np.array(numbers, dtype=np.int32))

    def over(self, usable: NDArray[np.bool_]) -> Network:
        """Restrict the texts of distinct calls to some bytes, bool ``[256]``."""
        return replace(self, completions=_completions(self.calls, self.leaves, usable), usable=usable)

    def new_texts(self, state: int, begun: bytes, texts: Collection[bytes]) -> int | None:
        """Count the texts of a leaf that begin with ``begun``, without some others; ``None`` if infinitely many."""
        count = self.completions.get(state)
        if count is None:
            return None
        return count - sum(text.startswith(begun) and self._ends(state, text[len(begun) :]) for text in texts)

    def _ends(self, state: int, rest: bytes) -> bool:
        """Tell whether a leaf ends behind usable bytes."""
        for byte in rest:
            state = int(self.table[state, self.byte_classes[byte]])
            if state < 0 or not self.usable[byte]:
                return False
        return bool(self.accepting[state])

    @cached_property
    def takes(self) -> dict[int, int]:
        """The number of the name that a step into each state completes."""
        return {state: number for names in self.names_in.values() for state, number in names.takes.items()}

    def __repr__(self) -> str:
        """One line."""
        return f"Network(rules={len(self.names)}, states={len(self)}, start={self.names[0]!r})"


def network_of(grammar: Grammar) -> Network:
    """Make the network of a grammar.

    >>> from sfgen.grammar.rules import Call, Concatenation, Literal, Repeat
    >>> pairs = Concatenation((Literal(b"("), Repeat(Call("pairs"), 0, None), Literal(b")")))
    >>> network_of(Grammar({"pairs": pairs}, "pairs"))
    Network(rules=1, states=3, start='pairs')
    """
    return _network(simplify(grammar))


def network_as_written(grammar: Grammar) -> Network:
    """Make the network of a grammar with all its rules and calls.

    It reads the same texts as that of :func:`network_of`, slower: every call pushes a frame, so that positions name
    the rules as written.

    >>> from sfgen.grammar.rules import Call, Concatenation, Literal
    >>> rules = {"pair": Concatenation((Call("a"), Call("a"))), "a": Literal(b"a")}
    >>> network_of(Grammar(rules, "pair")).names, network_as_written(Grammar(rules, "pair")).names
    (('pair',), ('pair', 'a'))
    """
    return _network(without_copies(grammar), pushes_all=True)


def _network(grammar: Grammar, *, pushes_all: bool = False) -> Network:
    """Make the network of simplified rules."""
    if grammar.rules[grammar.start] == NOTHING:
        raise UsageError(f"the rule {grammar.start!r} has no text at all", hint="Look for a rule that never ends.")
    return _joined(tuple(grammar.rules), automata_of(grammar), pushes_all=pushes_all)


def is_empty(grammar: Grammar) -> bool:
    """Tell whether a grammar has no text."""
    return simplify(grammar).rules[grammar.start] == NOTHING


class _States:
    """The states of all rules under one numbering, while they become a network."""

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
        self.kinds = np.zeros(firsts[-1], dtype=np.uint8)
        self.minimum, self.maximum, self.owes, self.rule_of = np.zeros((4, firsts[-1]), dtype=np.int32)
        self.maximum[:] = UNBOUNDED
        self.calls: dict[int, tuple[CallSite, ...]] = {}
        self.leaves: dict[int, Leaf | CountedText] = {}
        self.names_in: dict[int, Names] = {}
        for first, part in zip(firsts, parts, strict=False):
            self._add(first, part)

    def _add(self, first: int, part: RuleAutomaton) -> None:
        """Copy an automaton to the states from ``first`` on."""
        own = slice(first, first + len(part.transitions))
        rows = self.table[own]  # a leaf may have millions of entries: they are copied once
        np.take(part.transitions, part.byte_classes[self._bytes], axis=1, out=rows, mode="clip")
        np.add(rows, np.int32(first), out=rows, where=rows >= 0)
        self.accepting[own] = part.accepting
        self.rule_of[own] = np.array([self._number_of[name] for name in part.entries], dtype=np.int32)[part.rules]
        if part.counter is not None:
            self.kinds[own], self.owes[own] = part.counter.kinds, part.counter.owes
            self.minimum[own], self.maximum[own] = part.counter.minimum, part.counter.maximum
        for state, call, target in part.calls:
            site = CallSite(self.entries[call.rule], first + target, call.distinct)
            self.calls[first + state] = (*self.calls.get(first + state, ()), site)
        if part.leaf is not None:
            self.leaves[first] = part.leaf
        for name, told in part.names.items():
            takes = {first + state: number for state, number in told.takes.items()}
            self.names_in[self._number_of[name]] = told._replace(takes=takes)

    def split_empty(self) -> None:
        """Call a copy of each entry whose rule has the empty text; the copy reads something.

        The automata of the callers skip such a call already.
        """
        sites = [site for sites in self.calls.values() for site in sites]
        empty = sorted({site.entry for site in sites if self.accepting[site.entry]})
        if not empty:
            return
        copies = {entry: len(self.table) + number for number, entry in enumerate(empty)}
        self.table, self.rule_of, self.kinds, self.minimum, self.maximum, self.owes = (
            np.concatenate([array, array[empty]])
            for array in (self.table, self.rule_of, self.kinds, self.minimum, self.maximum, self.owes)
        )
        self.accepting = np.concatenate([self.accepting, np.zeros(len(empty), dtype=np.bool_)])
        self.calls |= {copies[entry]: self.calls[entry] for entry in empty if entry in self.calls}
        self.calls = {
            state: tuple(site._replace(entry=copies.get(site.entry, site.entry)) for site in sites)
            for state, sites in self.calls.items()
        }

    def ends(self) -> NDArray[np.bool_]:
        """Tell in which states a rule must end, since nothing is read there."""
        is_end = self.accepting.copy()
        is_end[list(self.calls)] = False
        is_end[is_end] = (self.table[is_end] < 0).all(axis=1)
        return is_end

    def open_calls(self, needs_no_frame: NDArray[np.bool_]) -> dict[int, tuple[Way, ...]]:
        """Write the ways through calls into the table, as actions; return these by their places."""
        openings = _Openings(self.table, self.calls, needs_no_frame, lambda state: self._names[self.rule_of[state]])
        opened = [(state, label, ways) for state in self.calls for label, ways in openings.of(state).items()
                  if len(ways) > 1 or ways[0].is_fresh]  # fmt: skip
        places, size = dict[tuple[Way, ...], int](), 0
        for state, label, ways in opened:
            if ways not in places:
                places[ways] = size
                size += 1 + sum(3 + 2 * len(way.pushes) for way in ways)
            self.table[state, label] = -2 - places[ways]
        return {place: ways for ways, place in places.items()}


def _joined(names: tuple[str, ...], parts: Sequence[RuleAutomaton], *, pushes_all: bool) -> Network:
    """Join all automata in one table; with ``pushes_all`` a return to a bare end is pushed, too."""
    states = _States(names, parts)
    states.split_empty()
    is_end = states.ends()
    actions = states.open_calls(np.zeros_like(is_end) if pushes_all else is_end)
    network = Network(
        names, states.entries[names[0]], states.rule_of, states.table, states.byte_classes, states.accepting, is_end,
        states.kinds, states.minimum, states.maximum, states.owes, actions, states.calls, states.leaves,
        _completions(states.calls, states.leaves, None), states.names_in,
    )  # fmt: skip
    arrays = (
        network.table,
        network.accepting,
        is_end,
        network.kinds,
        network.minimum,
        network.maximum,
        network.owes,
        network.rule_of,
    )
    for array in arrays:
        array.setflags(write=False)
    return network


def _completions(
    calls: Mapping[int, tuple[CallSite, ...]],
    leaves: Mapping[int, Leaf | CountedText],
    usable: NDArray[np.bool_] | None,
) -> dict[int, int]:
    """Count the ways to complete a text of a distinct call from each state, where there are finitely many."""
    counts: dict[int, int] = {}
    for entry in sorted({site.entry for sites in calls.values() for site in sites if site.is_distinct}):
        leaf = leaves.get(entry)
        if isinstance(leaf, Leaf):
            counts |= {entry + state: number for state, number in completions(leaf.dfa, usable).items()}
    return counts


_Ways = dict[int, tuple[Way, ...]]
"""The ways to read each byte class."""


class _Openings:
    """Finds the ways to read a byte in states that call rules."""

    def __init__(
        self,
        table: NDArray[np.int32],
        calls: Mapping[int, Sequence[CallSite]],
        is_end: NDArray[np.bool_],
        name_of: Callable[[int], str],
    ) -> None:
        self._table = table
        self._calls = calls
        self._is_end = is_end
        self._name_of = name_of
        self._of_entry: dict[int, _Ways] = {}
        self._frames = 0  # in the ways of all entries

    def of(self, state: int) -> _Ways:
        """Return a state's ways by byte class: its own steps, and those of the rules that it calls."""
        ways_of: dict[int, list[Way]] = {}
        row = self._table[state]
        for label in np.flatnonzero(row >= 0).tolist():
            ways_of[label] = [Way(int(row[label]), (), False)]
        for site in self._calls.get(state, ()):
            outer: tuple[Push, ...] = ()
            if site.is_distinct or not self._is_end[site.target]:
                outer = (Push(site.target, True, site.is_distinct),)
            for label, ways in self._entry(site.entry).items():
                ways_of.setdefault(label, []).extend(Way(way.state, outer + way.pushes, True) for way in ways)
        return {label: tuple(dict.fromkeys(ways)) for label, ways in ways_of.items()}

    def _entry(self, entry: int) -> _Ways:
        """Return the ways of the first state of a rule, with a new register."""
        if entry not in self._of_entry:
            self._find([entry])
        return self._of_entry[entry]

    def _find(self, opened: list[int]) -> None:
        """Find the ways of an entry after those of all rules that it begins with."""
        while opened:
            entry = opened[-1]
            called = (site.entry for site in self._calls.get(entry, ()))
            missing = next((each for each in called if each not in self._of_entry), None)
            if missing is None:
                self._of_entry[opened.pop()] = self._fresh(entry)
            elif missing in opened:
                names = [self._name_of(state) for state in [*opened[opened.index(missing) :], missing]]
                raise LeftRecursion(
                    f"the rule {names[0]!r} calls itself before it has read anything: {' → '.join(names)}",
                    names,
                    hint="Write such a list as a repetition.",
                )
            else:
                opened.append(missing)

    def _fresh(self, entry: int) -> _Ways:
        """Make the ways of an entry from those of the rules that it begins with."""
        ways = {
            label: tuple(Way(way.state, _without_register(way.pushes), way.is_fresh) for way in ways)
            for label, ways in self.of(entry).items()
        }
        self._frames += sum(1 + len(way.pushes) for label in ways for way in ways[label])
        if self._frames > MAX_FRAMES:
            limit = f"{MAX_FRAMES:,} frames of rules that begin with each other"
            raise GrammarTooLarge(self._name_of(entry), limit)
        return ways


def _without_register(pushes: tuple[Push, ...]) -> tuple[Push, ...]:
    return tuple(push._replace(keeps=False) for push in pushes)
