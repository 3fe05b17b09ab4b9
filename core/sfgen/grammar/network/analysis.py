"""The analysis of rules before automata are made: the rules that have a text, and the length of the shortest.

The shortest length of an expression follows from the shortest lengths of the rules that it calls; without a text it is
infinite. A rule is computed once, after all rules that it calls. Only rules that call each other in a cycle are
computed together: each again whenever a rule that it calls became shorter, until nothing changes.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import TypeAlias

from sfgen.automata import Dfa
from sfgen.grammar.network.registers.expressions import calls_of, shortest_of
from sfgen.grammar.network.registers.register import FAR
from sfgen.grammar.network.rules import (
    Alternation,
    AnyOrder,
    Bytes,
    Call,
    Concatenation,
    CountedList,
    CountedText,
    Expression,
    Leaf,
    Literal,
    Repeat,
    Rules,
    Series,
    StateMachine,
    Step,
)
from sfgen.weak_cache import kept_while_it_lives

Lengths: TypeAlias = Mapping[str, int]
"""The fewest bytes of the rules that have a text, by name; at most ``FAR``."""

Called: TypeAlias = Mapping[str, Sequence[str]]
"""The rules that each rule calls."""


class Analysis:
    """The result of the analysis of some rules. Immutable.

    Attributes:
        lengths: The fewest bytes of each rule that has a text. Texts that must differ are not compared, so a shortest
            text with such texts may be longer.
        nullable: The rules that have the empty text.
        cycles: The groups of rules that call each other, or that call themselves; called groups first.
    """

    def __init__(self, rules: Rules) -> None:
        called = {
            name: [called for called in dict.fromkeys([call.rule for call in calls(rule)]) if called in rules]
            for name, rule in rules.items()
        }
        lengths = dict[str, int]()
        self.cycles: list[list[str]] = []
        for component in components(called):
            if is_cycle(component, called):
                self.cycles.append(component)
                _solve(component, rules, called, lengths)
            elif (length := least(rules[component[0]], lengths)) < inf:
                lengths[component[0]] = min(int(length), FAR)
        self.lengths: Lengths = lengths
        self.nullable = frozenset(name for name, length in lengths.items() if not length)


def _solve(cycle: Sequence[str], rules: Rules, called: Called, lengths: dict[str, int]) -> None:
    """Add the lengths of rules that call each other; the lengths of all other rules that they call are known."""
    callers: dict[str, list[str]] = {name: [] for name in cycle}
    for name in cycle:
        for rule in called[name]:
            if rule in callers:
                callers[rule].append(name)
    waiting, is_waiting = deque(cycle), set(cycle)
    while waiting:
        name = waiting.popleft()
        is_waiting.remove(name)
        length = least(rules[name], lengths)
        if length < lengths.get(name, inf):
            lengths[name] = min(int(length), FAR)
            waiting += [caller for caller in callers[name] if caller not in is_waiting]
            is_waiting.update(callers[name])


def is_cycle(component: Sequence[str], called: Called) -> bool:
    """Return whether a component has more than one rule, or one rule that calls itself."""
    return len(component) > 1 or component[0] in called[component[0]]


def components(called: Called) -> list[list[str]]:
    """Find the strongly connected components of a graph, each after those that it leads to (Tarjan 1972)."""
    numbers, lowest = dict[str, int](), dict[str, int]()
    found, path = list[list[str]](), list[str]()
    waiting = list[tuple[str, Iterator[str]]]()

    def begin(name: str) -> None:
        numbers[name] = lowest[name] = len(numbers)
        path.append(name)
        waiting.append((name, iter(called[name])))

    for root in called:
        if root not in numbers:
            begin(root)
        while waiting:
            name, following = waiting[-1]
            for after in following:
                if after not in numbers:
                    begin(after)
                    break
                if lowest[after] < lowest[name]:
                    lowest[name] = lowest[after]
            else:
                waiting.pop()
                if lowest[name] == numbers[name]:
                    component = [path.pop()]
                    while component[-1] != name:
                        component.append(path.pop())
                    found.append(component[::-1])
                    lowest.update(dict.fromkeys(component, len(called)))  # nothing leads back to it
                elif waiting:
                    outer = waiting[-1][0]
                    lowest[outer] = min(lowest[outer], lowest[name])
    return found


# ---- expressions -----------------------------------------------------------------------------------------------------


def parts(expression: Expression) -> tuple[Expression, ...]:
    """Return the direct parts of an expression."""
    match expression:
        case Concatenation(found) | Alternation(found):
            return found
        case Repeat(child):
            return (child,)
        case Series(members, separator, more):
            return (separator, *(member.expression for member in members), *(() if more is None else (more,)))
        case StateMachine(states):
            return tuple(step.expression for steps in states for step in steps)
        case _:
            return ()


def calls(expression: Expression) -> list[Call]:
    """List the calls of an expression, from left to right."""
    found, waiting = list[Call](), [expression]
    while waiting:
        part = waiting.pop()
        kind = type(part)
        if kind in _WITHOUT_CALLS:
            continue
        if isinstance(part, Call):
            found.append(part)
        elif isinstance(part, Concatenation):
            waiting += part.parts[::-1]
        elif isinstance(part, CountedList | AnyOrder):
            found += calls_of(part)
        else:
            waiting += parts(part)[::-1]
    return found


_WITHOUT_CALLS = frozenset({Literal, Leaf, Bytes, CountedText})


def least(expression: Expression, lengths: Lengths) -> float:
    """Return the fewest bytes of an expression, given the lengths of the rules; infinity without a text."""
    match expression:
        case Literal(data):
            return len(data)
        case Call(rule):
            return lengths.get(rule, inf)
        case Concatenation(items):
            return sum([least(item, lengths) for item in items])
        case Alternation(branches):
            return min([least(branch, lengths) for branch in branches], default=inf)
        case Leaf(base=Dfa() as base, excluded=excluded) if (text := _shortest_text(base)) not in excluded:
            return len(text)
        case Leaf(dfa):
            return inf if dfa.is_empty else len(_shortest_text(dfa))
        case Repeat(child, minimum):
            return minimum * least(child, lengths) if minimum else 0
        case Series(members, separator):
            needed = [least(member.expression, lengths) for member in members if member.is_needed]
            between = (len(needed) - 1) * least(separator, lengths) if len(needed) > 1 else 0
            return sum(needed) + between
        case StateMachine(states):
            return _of_machine(states, lengths)
        case Bytes(ranges):
            return 1 if ranges else inf
        case _:
            return shortest_of(expression, lambda part: least(part, lengths))


@kept_while_it_lives
def _shortest_text(dfa: Dfa) -> bytes:
    return dfa.shortest()


def _of_machine(states: Sequence[Sequence[Step]], lengths: Lengths) -> float:
    """Return the fewest bytes from the first state of a state machine to its end (Dijkstra 1959)."""
    found = set[int | None]()
    waiting: list[tuple[float, int]] = [(0, 0)]
    while waiting:
        length, state = heapq.heappop(waiting)
        if state == len(states):
            return length
        if state not in found:
            found.add(state)
            for expression, target in states[state]:
                if (more := least(expression, lengths)) < inf:
                    heapq.heappush(waiting, (length + more, len(states) if target is None else target))
    return inf
