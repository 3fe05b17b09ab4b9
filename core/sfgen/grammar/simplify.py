"""Rules made ready for automata: no dead branches, no left recursion, few calls.

* A branch that calls a rule without a text is dropped. The rest can be completed from everywhere: no opening brace
  leads to a dead end.
* Direct left recursion becomes iteration: ``A = A x | A w A | y`` is ``A = y (x | w y)*``. The texts are the same, and
  operators between operands are read in one way only. Left recursion through other rules, or behind what may be empty,
  becomes an automaton that reads the first text and then what may follow each (Moore 2000).
* Small rules without calls are copied to where they are called, and so are the branches of an alternation that is a
  whole rule. The subset construction then reads common beginnings once (left factoring).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from sfgen.automata import Dfa
from sfgen.grammar.rules import (
    EMPTY,
    NOTHING,
    Alternation,
    AnyOrder,
    Bytes,
    Call,
    Concatenation,
    CountedList,
    CountedText,
    Expression,
    Grammar,
    Leaf,
    Literal,
    Member,
    Repeat,
    Rules,
    Series,
    StateMachine,
    Step,
)

_MOST_BEGINNINGS = 1_000
"""The most ways to begin a text of rules that call each other before they read anything."""

_SMALL = 64
"""The size, in bytes and parts, below which a rule without calls is copied to its callers."""


def simplify(grammar: Grammar) -> Grammar:
    """Rewrite a grammar into rules that can each become an automaton.

    The texts stay the same; unreachable rules are dropped. A start without a text is ``NOTHING``.
    """
    grammar = without_copies(grammar)
    rules = _with_small_rules_inside(dict(grammar.rules), grammar.start)
    simplified = dict[str, Expression]()
    waiting = [grammar.start]
    while waiting:  # the first of a chain of alternations has copied all, so the others are dropped
        name = waiting.pop()
        if name not in simplified:
            simplified[name] = _with_branches_inside(name, rules)
            waiting += [call.rule for call in calls(simplified[name])]
    return Grammar(_needed(simplified, grammar.start), grammar.start)


def without_copies(grammar: Grammar) -> Grammar:
    """Simplify a grammar but keep every call, so that positions name the rules as written."""
    rules = productive(grammar.rules)
    if grammar.start not in rules:
        return Grammar({grammar.start: NOTHING}, grammar.start)
    rules = _without_circles({name: _without_left_recursion(name, expression) for name, expression in rules.items()})
    return Grammar(_needed(rules, grammar.start), grammar.start)


def calls(expression: Expression) -> Iterator[Call]:
    """Yield the calls of an expression, from left to right."""
    match expression:
        case Call():
            yield expression
        case CountedList():
            yield expression.item
        case AnyOrder(members, others):
            for member in members:
                yield member.value
            for other in others:
                yield from (other.name, other.value)
        case _:
            for part in parts(expression):
                yield from calls(part)


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


def productive(rules: Rules) -> dict[str, Expression]:
    """Drop the rules, branches and optional members without a text."""
    with_text = rules_with(rules, _part_has_text)
    return {name: _pruned(rules[name], with_text) for name in rules if name in with_text}


def _has_text(expression: Expression, known: Collection[str]) -> bool:
    return _has(expression, known, _part_has_text)


def _part_has_text(part: Part, known: Collection[str]) -> bool:
    match part:
        case Leaf(dfa):
            return not dfa.is_empty
        case CountedList(item=item, minimum=minimum, maximum=maximum):
            return (minimum == 0 or item.rule in known) and (maximum is None or minimum <= maximum)
        case CountedText(dfa, minimum=minimum, maximum=maximum):
            return not dfa.is_empty and (maximum is None or minimum <= maximum)
        case AnyOrder():
            return _has_members(part, known)
        case Bytes(ranges):
            return bool(ranges)
        case Literal():
            return True


def _has_members(expression: AnyOrder, known: Collection[str]) -> bool:
    """Tell whether the required members, and enough members, have texts."""
    named = sum(member.value.rule in known for member in expression.members)
    needed = [member for member in expression.members if member.is_needed]
    has_others = any(other.name.rule in known and other.value.rule in known for other in expression.others)
    most = expression.maximum
    return (
        all(member.value.rule in known for member in needed)
        and (has_others or named >= expression.minimum)
        and (most is None or max(len(needed), expression.minimum) <= most)
    )


def _pruned(expression: Expression, known: set[str]) -> Expression:
    """Drop the parts without a text from an expression that has one."""
    match expression:
        case Concatenation(items):
            return Concatenation(tuple(_pruned(item, known) for item in items))
        case Alternation(branches):
            return _alternation([_pruned(branch, known) for branch in branches if _has_text(branch, known)])
        case Repeat(child, minimum, maximum):
            return Repeat(_pruned(child, known), minimum, maximum) if _has_text(child, known) else EMPTY
        case Series(members, separator, more):
            kept = tuple(
                Member(_pruned(member.expression, known), member.is_needed)
                for member in members
                if _has_text(member.expression, known)
            )
            rest = None if more is None or not _has_text(more, known) else _pruned(more, known)
            return Series(kept, separator, rest)
        case StateMachine(states):
            return _pruned_machine(states, known)
        case CountedList(opening, item, closing=closing) if item.rule not in known:
            return Literal(opening + closing)
        case AnyOrder(members, others):
            return replace(
                expression,
                members=tuple(member for member in members if member.value.rule in known),
                others=tuple(other for other in others if other.name.rule in known and other.value.rule in known),
            )
        case _:
            return expression


def _pruned_machine(states: tuple[tuple[Step, ...], ...], known: set[str]) -> StateMachine:
    """Drop the steps that no text completes; unreachable states lose theirs."""
    live = _with_ends(states, lambda step: _has_text(step.expression, known))
    kept: dict[int, tuple[Step, ...]] = {}
    waiting = [0]
    while waiting:
        state = waiting.pop()
        if state not in kept:
            kept[state] = tuple(
                Step(_pruned(expression, known), target)
                for expression, target in states[state]
                if (target is None or target in live) and _has_text(expression, known)
            )
            waiting += [step.target for step in kept[state] if step.target is not None]
    return StateMachine(tuple(kept.get(state, ()) for state in range(len(states))))


def _alternation(branches: list[Expression]) -> Expression:
    return branches[0] if len(branches) == 1 else Alternation(tuple(branches))


def _without_left_recursion(name: str, expression: Expression) -> Expression:
    branches = expression.branches if isinstance(expression, Alternation) else (expression,)
    branches = tuple(branch for branch in branches if branch != Call(name))  # A = A adds no text
    rest = [branch.parts[1:] for branch in branches if isinstance(branch, Concatenation) and _calls_first(branch, name)]
    base = [branch for branch in branches if not isinstance(branch, Concatenation) or not _calls_first(branch, name)]
    if not rest:
        return _alternation(base)
    first = _alternation(base)
    behind = [Concatenation(parts) for parts in rest if parts[-1:] != (Call(name),)]
    between = [Concatenation(parts[:-1]) for parts in rest if parts[-1:] == (Call(name),)]
    if between:
        behind.append(Concatenation((_alternation([*between]), first)))
    return Concatenation((first, Repeat(_alternation([*behind]), 0, None)))


def _calls_first(expression: Concatenation, name: str) -> bool:
    return bool(expression.parts) and expression.parts[0] == Call(name)


# ---- left recursion through other rules ------------------------------------------------------------------------------


def _without_circles(rules: dict[str, Expression]) -> dict[str, Expression]:
    """Rewrite the rules that call each other in a circle before they read anything.

    Each text of such a rule is one that begins otherwise, and then, any number of times, what follows a call of a rule
    of the circle where another one begins with it. These are the steps of one automaton.
    """
    if not _circles(rules, rules):  # even if each rule might be empty
        return rules
    nullable = rules_with(rules, has_empty)
    rules = dict(rules)
    with suppress(_NotDivided):  # the network refuses it
        for circle in _circles(rules, nullable):
            divider = _Divider(rules, circle, nullable)
            divided = {name: divider.divided(rules[name]) for name in circle}
            rules |= {name: _read_onwards(name, divided) for name in circle}
    return rules


def _circles(rules: Rules, nullable: Collection[str]) -> list[list[str]]:
    """List the rules that lead to each other before they read anything, those that others begin with first."""
    leading = {name: _leading(expression, nullable)[0] for name, expression in rules.items()}
    return [each for each in _components(leading) if len(each) > 1 or each[0] in leading[each[0]]]


def _leading(expression: Expression, nullable: Collection[str]) -> tuple[list[str], bool]:
    """List the rules that an expression may call before it reads anything; tell whether it may be empty."""
    match expression:
        case Call(rule):
            return [rule], rule in nullable
        case Concatenation(items):
            found = list[str]()
            for item in items:
                more, may_be_empty = _leading(item, nullable)
                found += more
                if not may_be_empty:
                    return found, False
            return found, True
        case Alternation(branches):
            several = [_leading(branch, nullable) for branch in branches]
            return [rule for more, _ in several for rule in more], any(may_be_empty for _, may_be_empty in several)
        case Repeat(child, minimum):
            found, may_be_empty = _leading(child, nullable)
            return found, may_be_empty or minimum == 0
        case Series():
            return [rule for part in parts(expression) for rule in _leading(part, nullable)[0]], True
        case StateMachine(states):
            return _leading_of_machine(states, nullable)
        case _:
            return [], has_empty(expression, nullable)


def _leading_of_machine(states: Sequence[Sequence[Step]], nullable: Collection[str]) -> tuple[list[str], bool]:
    found = list[str]()
    waiting: list[int | None] = [0]
    for state in waiting:
        for step in states[state] if state is not None else ():
            more, may_be_empty = _leading(step.expression, nullable)
            found += more
            if may_be_empty and step.target not in waiting:
                waiting.append(step.target)
    return found, None in waiting


def _components(leading: Mapping[str, Collection[str]]) -> list[list[str]]:
    """Find the strongly connected components of a graph, those that others lead to first (Tarjan 1972)."""
    numbers, lowest = dict[str, int](), dict[str, int]()
    found, path, is_on_path = list[list[str]](), list[str](), set[str]()
    for root in leading:
        waiting = [] if root in numbers else [(root, iter(leading[root]))]
        while waiting:
            name, following = waiting[-1]
            if name not in numbers:
                numbers[name] = lowest[name] = len(numbers)
                path.append(name)
                is_on_path.add(name)
            after = next((each for each in following if each not in numbers or each in is_on_path), None)
            if after is not None and after not in numbers:
                waiting.append((after, iter(leading[after])))
                continue
            if after is not None:
                lowest[name] = min(lowest[name], numbers[after])
                continue
            waiting.pop()
            if waiting:
                outer = waiting[-1][0]
                lowest[outer] = min(lowest[outer], lowest[name])
            if lowest[name] == numbers[name]:
                place = path.index(name)
                found.append(path[place:])
                is_on_path -= set(path[place:])
                del path[place:]
    return found


class _NotDivided(Exception):
    """Raised where an expression of a circle is of a kind that GBNF has not, or has too many beginnings."""


class _Divided(NamedTuple):
    """An expression by its beginnings."""

    heads: list[tuple[str, Expression]]  # a rule of the circle that is not empty there, and what follows it
    others: list[Expression]  # texts that begin otherwise, none of them empty
    has_empty: bool


class _Divider:
    """Divides expressions by the rules of a circle that they begin with."""

    def __init__(self, rules: Rules, circle: Iterable[str], nullable: Collection[str]) -> None:
        self._rules, self._circle, self._nullable = rules, frozenset(circle), nullable

    def divided(self, expression: Expression) -> _Divided:
        """Divide an expression."""
        match expression:
            case Call(rule) if rule in self._circle:
                return _Divided([(rule, EMPTY)], [], rule in self._nullable)
            case Call(rule) if rule in self._nullable:
                return _Divided([], self.divided(self._rules[rule]).others, True)  # it begins with none of the circle
            case Literal(b""):
                return _Divided([], [], True)
            case Call() | Literal() | Bytes():
                return _Divided([], [expression], False)
            case Leaf(dfa):
                has_empty = bool(dfa.accepting[0])
                return _Divided([], [Leaf(dfa - Dfa.from_regex("")) if has_empty else expression], has_empty)
            case Alternation(branches):
                several = [self.divided(branch) for branch in branches]
                return _Divided(
                    [head for each in several for head in each.heads],
                    [other for each in several for other in each.others],
                    any(each.has_empty for each in several),
                )
            case Concatenation(()):
                return _Divided([], [], True)
            case Concatenation((first, *others)):
                begin, rest = self.divided(first), Concatenation(tuple(others))
                found = _followed(begin, rest)
                if not begin.has_empty:
                    return found
                more = self.divided(rest)
                if len(found.others) + len(more.others) > _MOST_BEGINNINGS:
                    raise _NotDivided
                return _Divided(found.heads + more.heads, found.others + more.others, more.has_empty)
            case Repeat(maximum=0):
                return _Divided([], [], True)
            case Repeat(child, minimum, maximum):
                begin = self.divided(child)
                may_end = minimum == 0 or begin.has_empty
                again = Repeat(child, 0 if may_end else minimum - 1, None if maximum is None else maximum - 1)
                return _followed(begin, again)._replace(has_empty=may_end)
            case StateMachine(states):
                leading, may_be_empty = _leading_of_machine(states, self._nullable)
                if not may_be_empty and self._circle.isdisjoint(leading):
                    return _Divided([], [expression], False)
        raise _NotDivided


def _followed(first: _Divided, rest: Expression) -> _Divided:
    """Put an expression behind one that is not empty."""
    heads = [(rule, _joined(behind, rest)) for rule, behind in first.heads]
    return _Divided(heads, [_joined(other, rest) for other in first.others], False)


def _joined(first: Expression, second: Expression) -> Expression:
    parts = [part for each in (first, second) for part in (each.parts if isinstance(each, Concatenation) else (each,))]
    parts = [part for part in parts if part != EMPTY]
    return parts[0] if len(parts) == 1 else Concatenation(tuple(parts))


def _read_onwards(name: str, circle: Mapping[str, _Divided]) -> Expression:
    """Write a rule of a circle as an automaton: a state for each rule of which a text was read."""
    states = {rule: number for number, rule in enumerate(circle, 1)}
    steps: list[list[Step]] = [[] for _ in range(len(states) + 1)]
    for rule, (heads, others, _) in circle.items():
        steps[0] += [Step(other, states[rule]) for other in others]
        for before, behind in heads:
            if before != rule or behind != EMPTY:
                steps[states[before]].append(Step(behind, states[rule]))
    steps[states[name]].append(Step(EMPTY, None))
    machine = StateMachine(tuple(map(tuple, steps)))
    return Alternation((EMPTY, machine)) if circle[name].has_empty else machine


def _with_small_rules_inside(rules: dict[str, Expression], start: str) -> dict[str, Expression]:
    """Copy small rules without calls to their callers.

    A rule that only calls such rules has no calls left. So each rule waits for those that it calls, and is looked at
    once, in linear time (Kahn, 1962).
    """
    called = {name: list(calls(expression)) for name, expression in rules.items()}
    stay = {start}
    for name, expression in rules.items():
        is_counted = isinstance(expression, CountedList | AnyOrder)
        stay.update(call.rule for call in called[name] if call.distinct or is_counted)
    open_calls = {name: {call.rule for call in each} for name, each in called.items()}
    callers: dict[str, list[str]] = {name: [] for name in rules}
    for name, each in open_calls.items():
        for rule in each:
            callers[rule].append(name)
    small = dict[str, Expression]()
    waiting = [name for name, each in open_calls.items() if not each]
    while waiting:
        name = waiting.pop()
        if name in stay or isinstance(rules[name], Leaf | AnyOrder | CountedList | CountedText):
            continue
        expression = with_rules(small, rules[name])
        if size(expression) < _SMALL:
            small[name] = expression
            for caller in callers[name]:
                open_calls[caller].remove(name)
                if not open_calls[caller]:
                    waiting.append(caller)
    return {name: with_rules(small, expression) for name, expression in rules.items() if name not in small}


def _with_branches_inside(name: str, rules: dict[str, Expression]) -> Expression:
    """Copy the rules that the branches of an alternation call into it, once each."""
    expression = rules[name]
    if not isinstance(expression, Alternation):
        return expression
    seen, branches = {name}, dict[Expression, None]()
    waiting = list(expression.branches[::-1])
    while waiting:
        branch = waiting.pop()
        body = rules[branch.rule] if isinstance(branch, Call) and not branch.distinct else branch
        if isinstance(branch, Call) and isinstance(body, Alternation):
            if branch.rule not in seen:
                seen.add(branch.rule)
                waiting += body.branches[::-1]
        else:
            branches[branch if isinstance(body, Leaf | AnyOrder | CountedList | CountedText) else body] = None
    return _alternation(list(branches))


def _needed(rules: dict[str, Expression], start: str) -> dict[str, Expression]:
    """Keep the rules that the start reaches, the start first."""
    reached, waiting = {start: None}, [start]
    while waiting:
        for call in calls(rules[waiting.pop()]):
            if call.rule not in reached:
                reached[call.rule] = None
                waiting.append(call.rule)
    return {name: rules[name] for name in reached}


def with_rules(bodies: Rules, expression: Expression) -> Expression:
    """Replace calls by the bodies of rules, except in counted lists and members in any order."""
    match expression:
        case Call(rule):
            return bodies.get(rule, expression)
        case Concatenation(items):
            return Concatenation(tuple(with_rules(bodies, item) for item in items))
        case Alternation(branches):
            return Alternation(tuple(with_rules(bodies, branch) for branch in branches))
        case Repeat(child, minimum, maximum):
            return Repeat(with_rules(bodies, child), minimum, maximum)
        case Series(members, separator, more):
            return Series(
                tuple(Member(with_rules(bodies, member.expression), member.is_needed) for member in members),
                with_rules(bodies, separator),
                None if more is None else with_rules(bodies, more),
            )
        case StateMachine(states):
            return StateMachine(
                tuple(
                    tuple(step._replace(expression=with_rules(bodies, step.expression)) for step in steps)
                    for steps in states
                )
            )
        case _:
            return expression


def size(expression: Expression) -> int:
    """Count the bytes and parts of an expression without calls, with all copies."""
    match expression:
        case Literal(data):
            return len(data) + 1
        case Leaf(dfa):
            return len(dfa)
        case Repeat(child, minimum, maximum):
            return 1 + size(child) * max(1, minimum, maximum or 0)
        case _:
            return 1 + sum(size(part) for part in parts(expression))


Part: TypeAlias = Literal | Bytes | Leaf | AnyOrder | CountedList | CountedText
"""An expression whose property does not follow from its parts."""

_Holds: TypeAlias = Callable[[Part, Collection[str]], bool]
"""Tells whether a part has a property, given the rules that have it."""


def rules_with(rules: Rules, holds: _Holds) -> set[str]:
    """Find the rules with a property, by a least fixpoint.

    A sequence has it if all parts do, a choice if one branch does, and an optional part always.
    """
    holding: set[str] = set()
    names = list(rules)
    while True:
        before = len(holding)
        names.reverse()  # alternate directions, as rules often call later ones
        for name in names:
            if name not in holding and _has(rules[name], holding, holds):
                holding.add(name)
        if len(holding) == before:
            return holding


def _has(expression: Expression, known: Collection[str], holds: _Holds) -> bool:
    """Tell whether an expression has a property, given the rules that have it."""
    match expression:
        case Call(rule):
            return rule in known
        case Concatenation(parts):
            return all(_has(part, known, holds) for part in parts)
        case Alternation(branches):
            return any(_has(branch, known, holds) for branch in branches)
        case Repeat(child, minimum):
            return minimum == 0 or _has(child, known, holds)
        case Series(members, separator):
            needed = [member.expression for member in members if member.is_needed]
            between = () if len(needed) < 2 else (separator,)
            return all(_has(part, known, holds) for part in (*needed, *between))
        case StateMachine(states):
            return 0 in _with_ends(states, lambda step: _has(step.expression, known, holds))
        case _:
            return holds(expression, known)


def _with_ends(states: Sequence[Sequence[Step]], is_taken: Callable[[Step], bool]) -> set[int]:
    """Find the states of a machine that reach the end by the steps that count."""
    sources: dict[int | None, list[int]] = {}
    for state, steps in enumerate(states):
        for step in steps:
            if is_taken(step):
                sources.setdefault(step.target, []).append(state)
    ending = set[int]()
    waiting: list[int | None] = [None]
    while waiting:
        new = set(sources.get(waiting.pop(), ())) - ending
        ending |= new
        waiting += new
    return ending


def has_empty(part: Part, nullable: Collection[str]) -> bool:
    """Tell whether a part has the empty text."""
    match part:
        case Leaf(dfa) | CountedText(dfa):
            return bool(dfa.accepting[0])
        case Literal(data):
            return not data
        case Bytes() | CountedList() | AnyOrder():
            return False
