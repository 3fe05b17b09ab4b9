"""The texts of a grammar up to a length, by what the expressions mean: sets of texts, to the least fixpoint.

A set holds each text with the names that distinct calls read in it. Nothing of sfgen has a part in it but the shape of
the expressions and the tables of their automata.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np

from sfgen import Dfa
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
    Leaf,
    Literal,
    Repeat,
    Series,
    StateMachine,
)

Texts: TypeAlias = frozenset[tuple[bytes, frozenset[bytes]]]
"""Texts, and the names in each."""

EMPTY: Texts = frozenset({(b"", frozenset())})


def alphabet_of(expressions: Iterable[Expression]) -> set[int]:
    """All bytes that some expression reads."""
    found = set[int]()
    for expression in expressions:
        match expression:
            case Literal(data):
                found |= set(data)
            case Bytes(ranges):
                found |= {byte for lowest, highest in ranges for byte in range(lowest, highest + 1)}
            case Leaf(dfa) | CountedText(dfa):
                live = set(np.flatnonzero((dfa.transitions >= 0).any(axis=0)).tolist())
                found |= {byte for byte in range(256) if int(dfa.byte_classes[byte]) in live}
            case Concatenation(inner) | Alternation(inner):
                found |= alphabet_of(inner)
            case Repeat(child):
                found |= alphabet_of([child])
            case Series(members, separator, more):
                found |= alphabet_of([*(member.expression for member in members), separator, *([more] if more else [])])
            case StateMachine(states):
                found |= alphabet_of(step.expression for steps in states for step in steps)
            case CountedList() as counted:
                found |= set(counted.opening + counted.separator + counted.closing)
            case AnyOrder() as members:
                found |= set(members.opening + members.closing + members.empty)
                found |= {byte for member in members.members for byte in member.name}
                found |= alphabet_of([members.colon, members.separator])
    return found


class Enumerated:
    """All texts of at most ``longest`` bytes of a grammar, of each rule.

    Args:
        grammar: The rules.
        longest: The most bytes.
    """

    def __init__(self, grammar: GrammarRules, longest: int) -> None:
        self.grammar = grammar
        self.longest = longest
        self.alphabet = sorted(alphabet_of(grammar.rules.values()))
        self.rules: dict[str, frozenset[bytes]] = dict.fromkeys(grammar.rules, frozenset())
        while True:
            found = {
                rule: frozenset(text for text, _ in self.of(expression)) for rule, expression in grammar.rules.items()
            }
            if found == self.rules:
                break
            self.rules = found
        self.texts = self.rules[grammar.start]

    def of(self, expression: Expression) -> Texts:
        match expression:
            case Literal(data):
                return self.short([data])
            case Bytes():
                return self.short(bytes([byte]) for byte in alphabet_of([expression]))
            case Call(rule, distinct):
                return frozenset((text, frozenset({text} if distinct else ())) for text in self.rules[rule])
            case Concatenation(parts):
                found = EMPTY
                for part in parts:
                    found = self.both(found, self.of(part))
                return found
            case Alternation(branches):
                return frozenset[tuple[bytes, frozenset[bytes]]]().union(*map(self.of, branches))
            case Repeat(child, minimum, maximum):
                return self.times(self.of(child), minimum, maximum)
            case Leaf(dfa):
                return self.short(self.accepted(dfa))
            case Series() as series:
                return self.series(series)
            case StateMachine() as machine:
                return self.machine(machine)
            case CountedList() as counted:
                return self.counted_list(counted)
            case AnyOrder() as members:
                return self.any_order(members)
            case CountedText() as text:
                return self.short(each for each in self.accepted(text.dfa) if _counts_well(text, each))
        raise AssertionError(expression)

    def short(self, texts: Iterable[bytes]) -> Texts:
        return frozenset((text, frozenset()) for text in texts if len(text) <= self.longest)

    def both(self, first: Texts, second: Texts) -> Texts:
        return frozenset(
            (text + more, names | others)
            for text, names in first
            for more, others in second
            if len(text) + len(more) <= self.longest and not names & others
        )

    def times(self, child: Texts, minimum: int, maximum: int | None) -> Texts:
        found: Texts = frozenset()
        layer, count = EMPTY, 0
        while maximum is None or count <= maximum:
            if count >= minimum:
                if layer <= found:
                    break
                found |= layer
            if not layer:
                break
            layer, count = self.both(layer, child), count + 1
        return found

    def series(self, series: Series) -> Texts:
        """All choices of members, written out."""
        separator = self.of(series.separator)
        without, begun = EMPTY, frozenset[tuple[bytes, frozenset[bytes]]]()  # no member yet, or some
        for member in series.members:
            one = self.of(member.expression)
            after = self.both(self.both(begun, separator), one) | self.both(without, one)
            begun, without = (after, frozenset()) if member.is_needed else (begun | after, without)
        if series.more is not None:
            more = self.of(series.more)
            again = self.times(self.both(separator, more), 0, None)
            begun = self.both(begun | self.both(without, more), again)
        return begun | without

    def machine(self, machine: StateMachine) -> Texts:
        """The texts from each state to the end, to the least fixpoint."""
        steps = [[(self.of(each), target) for each, target in state] for state in machine.states]
        found: list[Texts] = [frozenset() for _ in steps]
        while True:
            after = [
                frozenset[tuple[bytes, frozenset[bytes]]]().union(
                    *(texts if target is None else self.both(texts, found[target]) for texts, target in state)
                )
                for state in steps
            ]
            if after == found:
                return found[0]
            found = after

    def counted_list(self, counted: CountedList) -> Texts:
        item, opening, closing = self.of(counted.item), self.short([counted.opening]), self.short([counted.closing])
        again = self.both(self.short([counted.separator]), item)
        most = None if counted.maximum is None else counted.maximum - 1
        found: Texts = frozenset()
        if most is None or most >= 0:
            found = self.both(item, self.times(again, max(counted.minimum - 1, 0), most))
        if counted.minimum == 0:
            found |= EMPTY
        return self.both(self.both(opening, found), closing)

    def any_order(self, members: AnyOrder) -> Texts:
        """All sequences of members, as if each name were a distinct text with a mark before it."""
        needed = frozenset(b"!" + member.name for member in members.members if member.is_needed)
        sorts = [
            (frozenset({(member.name, frozenset({b"!" + member.name}))}), member.value) for member in members.members
        ]
        sorts += [(self.of(other.name), other.value) for other in members.others]
        colon = self.of(members.colon)
        one = frozenset[tuple[bytes, frozenset[bytes]]]().union(
            *(self.both(self.both(name, colon), self.of(value)) for name, value in sorts)
        )
        more = self.both(self.of(members.separator), one)
        most = None if members.maximum is None else members.maximum - 1
        some = self.both(one, self.times(more, max(members.minimum - 1, 0), most)) if most != -1 else frozenset()
        found = self.both(self.both(self.short([members.opening]), some), self.short([members.closing]))
        if members.minimum == 0:
            found |= self.short([members.empty]) if not needed else frozenset()
        return frozenset(
            (text, frozenset(name for name in names if not name.startswith(b"!")))
            for text, names in found
            if needed <= names
        )

    def accepted(self, dfa: Dfa) -> list[bytes]:
        """The short texts of an automaton."""
        level, found = [(b"", 0)], list[bytes]()
        for _ in range(self.longest + 1):
            found += [text for text, state in level if dfa.accepting[state]]
            level = [
                (text + bytes([byte]), int(dfa.transitions[state, dfa.byte_classes[byte]]))
                for text, state in level
                for byte in self.alphabet
                if dfa.transitions[state, dfa.byte_classes[byte]] >= 0
            ]
        return found


def _counts_well(text: CountedText, data: bytes) -> bool:
    states = [0]
    for byte in data:
        states.append(int(text.dfa.transitions[states[-1], text.dfa.byte_classes[byte]]))
    for number, state in enumerate(states[1:], start=2):
        count = sum(bool(text.counts[each]) for each in states[1:number])
        if text.needs_minimum[state] and count < text.minimum:
            return False
        if text.maximum is not None and count > text.maximum:
            return False
    return True
