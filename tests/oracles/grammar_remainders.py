"""The small steps of the recogniser: the unread part of one text of a rule, and how it reads a byte.

Independent of the engine, but for the rules of a grammar and the automata of their leaves.

A ``Rest`` is a linked list: an expression, how much of it was read, and what comes after it. ``Rests`` makes them,
equal ones once, so that they can be compared and remembered by what they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TypeAlias

from sfgen.automata import Dfa
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

Done: TypeAlias = int | bytes | tuple[int, int] | tuple[frozenset[int], int]
"""How much of an expression was read.

Bytes of a ``Literal``; parts of a ``Concatenation``; times of a ``Repeat``; the state of a ``Leaf``; the text so far
of a distinct ``Call``; the next member of a ``Series``, and whether one was read; the members of ``AnyOrder`` that were
read and how many with others, -1 before its opening; the state of a ``StateMachine``; the items of a ``CountedList``,
-1 before its opening; the state and the count of a ``CountedText``. Counts stop where more makes no difference.
"""

Names: TypeAlias = frozenset[bytes]
"""The texts that distinct calls have read in one text of a rule."""


class Rest:
    """An expression read in part, and what comes after it.

    ``Rests`` makes them.
    """

    __slots__ = ("done", "expression", "next")

    def __init__(self, expression: Expression, done: Done, following: Rest | None) -> None:
        self.expression = expression
        self.done = done
        self.next = following

    def __repr__(self) -> str:
        return f"{type(self.expression).__name__}@{self.done!r} {self.next or ''}".rstrip()


Remainder: TypeAlias = tuple[Rest | None, Names]
"""What is still to be read of one text of a rule, and the names that were read in it; ``None``: nothing."""


class Rests:
    """The rests of a grammar's rules, and their steps."""

    def __init__(self, grammar: GrammarRules) -> None:
        self._grammar = grammar
        self._made: dict[tuple[int, Done, Rest | None], Rest] = {}

    def of_rule(self, rule: str) -> Rest:
        """Return all of a rule."""
        return self.before(self._grammar.rules[rule], None)

    def before(self, expression: Expression, following: Rest | None) -> Rest:
        """Return all of an expression, and then a rest."""
        return self._rest(expression, _nothing_done(expression), following)

    def _rest(self, expression: Expression, done: Done, following: Rest | None) -> Rest:
        key = id(expression), done, following
        return self._made.setdefault(key, Rest(expression, done, following))

    def leaf(self, rule: str) -> Dfa:
        """Return the automaton of a rule that ``distinct`` calls."""
        return leaf_of(self._grammar, rule)

    def without_reading(self, rest: Rest, names: Names) -> Iterator[Remainder]:
        """Yield what a rest becomes without reading a byte.

        A branch is chosen, a part begins, or all of an expression was read.
        """
        following = rest.next
        match rest.expression, rest.done:
            case Literal(data), int(count):
                if count == len(data):
                    yield following, names
            case Concatenation(parts) as whole, int(count):
                if count == len(parts):
                    yield following, names
                else:
                    is_last = count + 1 == len(parts)
                    yield (
                        self.before(parts[count], following if is_last else self._rest(whole, count + 1, following)),
                        names,
                    )
            case Alternation(branches), _:
                for branch in branches:
                    yield self.before(branch, following), names
            case Repeat(child, minimum, maximum) as whole, int(count):
                if count >= minimum:
                    yield following, names
                if maximum is None or count < maximum:
                    more = _counted(count + 1, maximum, minimum)
                    yield self.before(child, self._rest(whole, more, following)), names
            case Series() as series, (int(number), int(begun)):
                for member in self._members(series, number, begun, following):
                    yield member, names
            case StateMachine(states) as machine, int(state):
                for expression, target in states[state]:
                    yield (
                        self.before(
                            expression, following if target is None else self._rest(machine, target, following)
                        ),
                        names,
                    )
            case CountedList() as counted, int(count):
                for part in self._items(counted, count, following):
                    yield part, names
            case AnyOrder() as members, (frozenset() as read, int(count)):
                for part in self._in_any_order(members, read, count, following):
                    yield part, names
            case Leaf(dfa), int(state):
                if dfa.accepting[state]:
                    yield following, names
            case CountedText(dfa), (int(state), int()):
                if dfa.accepting[state]:
                    yield following, names
            case Call(rule, distinct=True), bytes(text):
                if text not in names and self.leaf(rule).accepts(text):
                    yield following, names | {text}

    def _members(self, series: Series, number: int, begun: int, following: Rest | None) -> Iterator[Rest | None]:
        """The members that may come next, and the end of the series."""
        count = len(series.members)
        for later in range(number, count):
            yield self._member(series, series.members[later].expression, later + 1, begun, following)
            if series.members[later].is_needed:
                return
        yield following
        if series.more is not None:
            yield self._member(series, series.more, count, begun, following)

    def _member(self, series: Series, member: Expression, number: int, begun: int, following: Rest | None) -> Rest:
        rest = self.before(member, self._rest(series, (number, 1), following))
        return self.before(series.separator, rest) if begun else rest

    def _items(self, counted: CountedList, count: int, following: Rest | None) -> Iterator[Rest]:
        """The opening, the next item, or the closing."""
        if count < 0:
            yield self.before(_literal(counted.opening), self._rest(counted, 0, following))
            return
        if count >= counted.minimum:
            yield self.before(_literal(counted.closing), following)
        if counted.maximum is None or count < counted.maximum:
            more = _counted(count + 1, counted.maximum, max(counted.minimum, 1))
            item = self.before(counted.item, self._rest(counted, more, following))
            yield self.before(_literal(counted.separator), item) if count else item

    def _in_any_order(
        self, members: AnyOrder, read: frozenset[int], count: int, following: Rest | None
    ) -> Iterator[Rest]:
        """The opening or the text without members, the next member, or the closing."""
        is_enough = count >= members.minimum and all(
            number in read for number, member in enumerate(members.members) if member.is_needed
        )
        if count < 0:
            if members.minimum == 0 and not any(member.is_needed for member in members.members):
                yield self.before(_literal(members.empty), following)
            yield self.before(_literal(members.opening), self._rest(members, (read, 0), following))
            return
        if count and is_enough:
            yield self.before(_literal(members.closing), following)
        if members.maximum is not None and count >= members.maximum:
            return
        more = _counted(count + 1, members.maximum, max(members.minimum, 1))

        def member(name: Expression, value: Expression, read: frozenset[int]) -> Rest:
            behind = self.before(value, self._rest(members, (read, more), following))
            rest = self.before(name, self.before(members.colon, behind))
            return self.before(members.separator, rest) if count else rest

        for number, each in enumerate(members.members):
            if number not in read:
                yield member(_literal(each.name), each.value, read | {number})
        for other in members.others:
            yield member(other.name, other.value, read)

    def after(self, rest: Rest, byte: int) -> list[Rest | None]:
        """Return what a rest that ``reads_a_byte`` becomes by a byte; nothing where it is refused."""
        following = rest.next
        match rest.expression, rest.done:
            case Literal(data) as literal, int(count):
                return [self._rest(literal, count + 1, following)] if data[count] == byte else []
            case Bytes(ranges), _:
                return [following] if any(lowest <= byte <= highest for lowest, highest in ranges) else []
            case Leaf(dfa) as leaf, int(state):
                state = dfa.step(state, byte)
                return [self._rest(leaf, state, following)] if state >= 0 else []
            case CountedText() as text, (int(state), int(count)):
                done = counted_step(text, state, count, byte)
                return [self._rest(text, done, following)] if done is not None else []
            case Call(rule, distinct=True) as call, bytes(read):
                read += bytes([byte])
                return [self._rest(call, read, following)] if self.leaf(rule).walk(read) >= 0 else []
        raise AssertionError(f"{rest} reads no byte")


def reads_a_byte(rest: Rest) -> bool:
    """Return whether the first expression itself reads the next byte."""
    match rest.expression, rest.done:
        case Literal(data), int(count):
            return count < len(data)
        case ((Bytes() | Leaf() | CountedText() | Call(distinct=True)), _):
            return True
    return False


def calls(rest: Rest) -> str | None:
    """Return the rule that is called first, if any.

    Calls with ``distinct`` do not count.
    """
    expression = rest.expression
    return expression.rule if isinstance(expression, Call) and not expression.distinct else None


def called_rules(expression: Expression) -> set[str]:
    """Return the rules that an expression calls, anywhere in it."""
    match expression:
        case Call(rule):
            return {rule}
        case Concatenation(parts):
            return set[str]().union(*map(called_rules, parts))
        case Alternation(branches):
            return set[str]().union(*map(called_rules, branches))
        case Repeat(child):
            return called_rules(child)
        case Series(members, separator, more):
            other = [separator] if more is None else [separator, more]
            return set[str]().union(*map(called_rules, [*(member.expression for member in members), *other]))
        case StateMachine(states):
            return set[str]().union(*(called_rules(step.expression) for steps in states for step in steps))
        case CountedList():
            return called_rules(expression.item)
        case AnyOrder(members, others):
            return {member.value.rule for member in members}.union(
                *({other.name.rule, other.value.rule} for other in others)
            )
    return set()


def leaf_of(grammar: GrammarRules, rule: str) -> Dfa:
    """Return the automaton of a rule that is a leaf."""
    expression = grammar.rules[rule]
    if not isinstance(expression, Leaf):
        raise ValueError(f"only a leaf may be called with distinct: {rule} is none")
    return expression.dfa


def counted_step(text: CountedText, state: int, count: int, byte: int) -> tuple[int, int] | None:
    """Return the state and the count after a byte; ``None`` where it is refused."""
    state = text.dfa.step(state, byte)
    if state < 0:
        return None
    count += int(text.counts[state])
    if (text.maximum is not None and count > text.maximum) or (text.needs_minimum[state] and count < text.minimum):
        return None
    return state, _counted(count, text.maximum, text.minimum)


def _counted(count: int, maximum: int | None, enough: int) -> int:
    """A count that need not be told from higher ones once it is enough, where there is no maximum."""
    return count if maximum is not None else min(count, enough)


def _nothing_done(expression: Expression) -> Done:
    match expression:
        case Call(distinct=True):
            return b""
        case Series() | CountedText():
            return (0, 0)
        case CountedList():
            return -1
        case AnyOrder():
            return frozenset[int](), -1
    return 0


@cache
def _literal(data: bytes) -> Literal:
    """One object for the same bytes: rests are told apart by which expression they have."""
    return Literal(data)
