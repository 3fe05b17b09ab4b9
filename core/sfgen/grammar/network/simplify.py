"""Rewrites rules before they become automata: no dead branches, no left recursion, few calls.

* A branch that calls a rule without a text is dropped. Then every beginning that the rules read can be completed: no
  opening brace leads to a dead end.
* Direct left recursion becomes iteration: ``A = A x | A w A | y`` becomes ``A = y (x | w y)*``. The texts are the same,
  and operators between operands are read in one way only. Left recursion through other rules, or after a part that may
  be empty, becomes an automaton that reads the first text and then the texts that may follow it (Moore 2000).
* Small rules without calls are copied into their callers, and so are the branches of an alternation that is a whole
  rule. The subset construction then reads common beginnings once (left factoring).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from sfgen.automata import Dfa
from sfgen.errors import InternalError, UsageError
from sfgen.grammar.network.analysis import Analysis, Called, Lengths, calls, components, is_cycle, least, parts
from sfgen.grammar.network.registers.expressions import RegisterRule, pruned
from sfgen.grammar.network.rules import (
    EMPTY,
    NOTHING,
    Alternation,
    Bytes,
    Call,
    Concatenation,
    Expression,
    GrammarRules,
    Leaf,
    Literal,
    Member,
    Repeat,
    Rules,
    Series,
    StateMachine,
    Step,
)

_MOST_MEMBERS = 100
"""The most optional members at the beginning of a series in left-recursive rules: each is written out together with
all members after it.
"""

_MOST_BEGINNINGS = 1_000
"""The most ways to begin a text of left-recursive rules."""

_SMALL = 64
"""The size, in bytes and parts, below which a rule without calls is copied into its callers."""


class LeftRecursion(UsageError):
    """A rule calls itself before it reads anything, and cannot be rewritten."""

    def __init__(self, rules: Sequence[str]) -> None:
        self.rules = tuple(rules)
        super().__init__(
            f"the rule {rules[0]!r} calls itself before it reads anything: {' → '.join(rules)}",
            hint="Write such a list as a repetition.",
        )


def simplify(grammar: GrammarRules, analysis: Analysis) -> GrammarRules:
    """Rewrite a grammar into rules that can each become an automaton.

    The texts stay the same; unreachable rules are dropped. A start without a text is ``NOTHING``.
    """
    grammar = without_copies(grammar, analysis)
    rules = _with_small_rules_inside(dict(grammar.rules), grammar.start)
    simplified = dict[str, Expression]()
    waiting = [grammar.start]
    while waiting:  # the first of a chain of alternations contains the branches of all, so the others are dropped
        name = waiting.pop()
        if name not in simplified:
            simplified[name] = _with_branches_inside(name, rules)
            waiting += [call.rule for call in calls(simplified[name])]
    return GrammarRules(_needed(simplified, grammar.start), grammar.start)


def without_copies(grammar: GrammarRules, analysis: Analysis) -> GrammarRules:
    """Simplify a grammar but keep every call, so that positions contain the rules as written."""
    lengths = analysis.lengths
    if grammar.start not in lengths:
        return GrammarRules({grammar.start: NOTHING}, grammar.start)
    rules = dict[str, Expression]()
    for name, rule in grammar.rules.items():
        left = _pruned(rule, lengths) if name in lengths else None
        if left is not None:
            rules[name] = left
    recursive = [name for cycle in analysis.cycles for name in cycle if name in rules]
    rules |= {name: _without_left_recursion(name, rules[name]) for name in recursive}
    rules |= _without_cycles(rules, recursive, grammar.start, analysis)
    return GrammarRules(_needed(rules, grammar.start), grammar.start)


def _pruned(expression: Expression, known: Collection[str]) -> Expression | None:
    """Drop the parts without a text, given the rules that have one; ``None`` if no text is left."""
    match expression:
        case Call(rule):
            return expression if rule in known else None
        case Concatenation(items):
            kept = _each_pruned(items, known)
            return Concatenation(tuple(kept)) if len(kept) == len(items) else None
        case Alternation(branches):
            kept = _each_pruned(branches, known)
            return _alternation(kept) if kept else None
        case Repeat(child, minimum, maximum):
            left = _pruned(child, known)
            return Repeat(left, minimum, maximum) if left is not None else None if minimum else EMPTY
        case Series():
            return _pruned_series(expression, known)
        case StateMachine(states):
            return _pruned_machine(states, known)
        case Leaf(dfa):
            return None if dfa.is_empty else expression
        case Bytes(ranges):
            return expression if ranges else None
        case Literal():
            return expression
        case _:
            return pruned(expression, known)


def _each_pruned(expressions: Iterable[Expression], known: Collection[str]) -> list[Expression]:
    several = [_pruned(each, known) for each in expressions]
    return [each for each in several if each is not None]


def _pruned_series(series: Series, known: Collection[str]) -> Series | None:
    separator = _pruned(series.separator, known)
    members = list[Member]()
    for member in series.members:
        left = _pruned(member.expression, known)
        if left is not None:
            members.append(Member(left, member.is_needed))
        elif member.is_needed:
            return None
    if separator is None and sum(member.is_needed for member in members) > 1:
        return None
    return Series(tuple(members), separator or NOTHING, None if series.more is None else _pruned(series.more, known))


def _pruned_machine(states: Sequence[Sequence[Step]], known: Collection[str]) -> StateMachine | None:
    """Drop the steps that lead to no text, and all steps of unreachable states."""
    steps = [
        [Step(left, target) for each, target in steps if (left := _pruned(each, known)) is not None] for steps in states
    ]
    live = set[int | None]()
    waiting: list[int | None] = [None]
    before: dict[int | None, list[int]] = {}
    for state, following in enumerate(steps):
        for step in following:
            before.setdefault(step.target, []).append(state)
    while waiting:
        target = waiting.pop()
        if target not in live:
            live.add(target)
            waiting += before.get(target, ())
    kept: dict[int, tuple[Step, ...]] = {}
    reached = [0]
    while reached:
        state = reached.pop()
        if state not in kept:
            kept[state] = tuple(step for step in steps[state] if step.target in live)
            reached += [step.target for step in kept[state] if step.target is not None]
    return StateMachine(tuple(kept.get(state, ()) for state in range(len(states)))) if 0 in live else None


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
    after = [Concatenation(parts) for parts in rest if parts[-1:] != (Call(name),)]
    between = [Concatenation(parts[:-1]) for parts in rest if parts[-1:] == (Call(name),)]
    if between:
        after.append(Concatenation((_alternation([*between]), first)))
    return Concatenation((first, Repeat(_alternation([*after]), 0, None)))


def _calls_first(expression: Concatenation, name: str) -> bool:
    return bool(expression.parts) and expression.parts[0] == Call(name)


# ---- left recursion through other rules ------------------------------------------------------------------------------


def _without_cycles(rules: Rules, recursive: Sequence[str], start: str, analysis: Analysis) -> dict[str, Expression]:
    """Rewrite the rules that call each other in a cycle before they read anything, and that the start needs.

    Each text of such a rule begins with a text that begins with no rule of the cycle. Then, any number of times, there
    is the text of a rule of the cycle without its first call. These texts are the steps of one automaton.
    """
    leading = {name: _leading(rules[name], analysis.lengths) for name in recursive}
    leading = {name: [rule for rule in called if rule in leading] for name, called in leading.items()}
    cycles = [cycle for cycle in components(leading) if is_cycle(cycle, leading)]
    needed = _needed(rules, start) if cycles else {}
    written = dict[str, Expression]()
    for cycle in cycles:
        if cycle[0] not in needed:
            continue
        divider = _Divider({**rules, **written}, cycle, analysis.nullable)
        try:
            divided = {name: divider.divided(rules[name]) for name in cycle}
        except _NotDivided:
            raise LeftRecursion(_path_round(cycle[0], leading)) from None
        written |= {name: _machine_of(name, divided) for name in _rules_to_keep(divided, rules, start)}
    return written


def _rules_to_keep(cycle: Mapping[str, _Divided], rules: Rules, start: str) -> list[str]:
    """List the rules of a cycle that are called elsewhere than at the beginning of its rules: only these are kept."""
    expressions = [rule for name, rule in rules.items() if name not in cycle]
    for heads, others, _ in cycle.values():
        expressions += others
        expressions += [after for _, after in heads]
    called = {start, *(call.rule for expression in expressions for call in calls(expression))}
    return [name for name in cycle if name in called]


def _leading(expression: Expression, lengths: Lengths) -> list[str]:
    """List the rules that an expression may call before it reads anything."""
    match expression:
        case Call(rule):
            return [rule]
        case Concatenation(items):
            return _leading_of_row(items, lengths)
        case Alternation(branches):
            return [rule for branch in branches for rule in _leading(branch, lengths)]
        case Repeat(child):
            return _leading(child, lengths)
        case Series(members, separator, more):
            found = list[str]()
            for member in (*members, *(() if more is None else (Member(more, False),))):
                begins = Concatenation((member.expression, separator))
                found += _leading(begins, lengths)
                if member.is_needed and least(begins, lengths):
                    break
            return found
        case StateMachine(states):
            found, waiting = list[str](), [0]
            for state in waiting:
                for step in states[state]:
                    found += _leading(step.expression, lengths)
                    if step.target is not None and step.target not in waiting and not least(step.expression, lengths):
                        waiting.append(step.target)
            return found
        case _:
            return []


def _leading_of_row(items: Sequence[Expression], lengths: Lengths) -> list[str]:
    found = list[str]()
    for item in items:
        found += _leading(item, lengths)
        if least(item, lengths):
            break
    return found


def _path_round(first: str, leading: Called) -> list[str]:
    """Return the shortest path of calls from a rule to itself on which nothing is read."""
    ways, seen = [[first]], set[str]()
    for way in ways:
        for called in leading[way[-1]]:
            if called == first:
                return [*way, first]
            if called not in seen:
                seen.add(called)
                ways.append([*way, called])
    raise InternalError(f"the rule {first!r} is not left-recursive")


class _NotDivided(Exception):
    """An expression of a cycle begins with a register of its own, or in too many ways."""


class _Divided(NamedTuple):
    """The texts of an expression, divided by their beginnings."""

    heads: list[tuple[str, Expression]]  # a rule of the cycle that reads a nonempty text, and the expression after it
    others: list[Expression]  # nonempty texts that begin with no rule of the cycle
    has_empty: bool


class _Divider:
    """Divides the texts of expressions by the rules of a cycle with which they begin."""

    def __init__(self, rules: Rules, cycle: Iterable[str], nullable: Collection[str]) -> None:
        self._rules, self._cycle, self._nullable = rules, frozenset(cycle), nullable

    def divided(self, expression: Expression) -> _Divided:
        """Divide an expression."""
        match expression:
            case Call(rule) if rule in self._cycle:
                return _Divided([(rule, EMPTY)], [], rule in self._nullable)
            case Call(rule) if rule in self._nullable:
                return _Divided([], self.divided(self._rules[rule]).others, True)  # it begins with no rule of the cycle
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
            case Series():
                return self.divided(_written_out(expression))
            case StateMachine():
                return self._machine(expression)
        raise _NotDivided

    def _machine(self, machine: StateMachine) -> _Divided:
        """Divide a machine, by the steps of its start and of the states that the start reaches without a text."""
        heads, others = list[tuple[str, Expression]](), list[Expression]()
        reached: list[int | None] = [0]
        for state in reached:
            for step in () if state is None else machine.states[state]:
                begin = self.divided(step.expression)
                after = _followed(begin, EMPTY if step.target is None else _begun_at(machine, step.target))
                heads, others = heads + after.heads, others + after.others
                if len(heads) + len(others) > _MOST_BEGINNINGS:
                    raise _NotDivided
                if begin.has_empty and step.target not in reached:
                    reached.append(step.target)
        if not heads and None not in reached:
            return _Divided([], [machine], False)
        return _Divided(heads, others, None in reached)


def _begun_at(machine: StateMachine, state: int) -> StateMachine:
    """Return the machine with another state as its start."""
    numbers = {state: 0, 0: state}

    def moved(steps: Sequence[Step]) -> tuple[Step, ...]:
        targets = [step.target if step.target is None else numbers.get(step.target, step.target) for step in steps]
        return tuple(step._replace(target=target) for step, target in zip(steps, targets, strict=True))

    return StateMachine(tuple(moved(machine.states[numbers.get(each, each)]) for each in range(len(machine.states))))


def _written_out(series: Series) -> Expression:
    """Write a series as an alternation over its first member, with the later members each after a separator."""
    branches, may_be_empty = list[Expression](), True
    for place, member in enumerate(series.members):
        rest = [_after_separator(other, series.separator) for other in series.members[place + 1 :]]
        branches.append(Concatenation((member.expression, *rest, *_more(series))))
        if member.is_needed:
            may_be_empty = False
            break
        if len(branches) > _MOST_MEMBERS:
            raise _NotDivided
    if may_be_empty:
        branches += [EMPTY] if series.more is None else [Concatenation((series.more, *_more(series))), EMPTY]
    return Alternation(tuple(branches))


def _after_separator(member: Member, separator: Expression) -> Expression:
    both = Concatenation((separator, member.expression))
    return both if member.is_needed else Repeat(both, 0, 1)


def _more(series: Series) -> list[Expression]:
    return [] if series.more is None else [Repeat(Concatenation((series.separator, series.more)), 0, None)]


def _followed(first: _Divided, rest: Expression) -> _Divided:
    """Append an expression to the nonempty texts of a divided one."""
    heads = [(rule, _joined(after, rest)) for rule, after in first.heads]
    return _Divided(heads, [_joined(other, rest) for other in first.others], False)


def _joined(first: Expression, second: Expression) -> Expression:
    parts = [part for each in (first, second) for part in (each.parts if isinstance(each, Concatenation) else (each,))]
    parts = [part for part in parts if part != EMPTY]
    return parts[0] if len(parts) == 1 else Concatenation(tuple(parts))


def _machine_of(name: str, cycle: Mapping[str, _Divided]) -> Expression:
    """Write a rule of a cycle as an automaton, with a state for each rule of which a text was read."""
    states = {rule: number for number, rule in enumerate(cycle, 1)}
    steps: list[list[Step]] = [[] for _ in range(len(states) + 1)]
    for rule, (heads, others, _) in cycle.items():
        steps[0] += [Step(other, states[rule]) for other in others]
        for before, after in heads:
            if before != rule or after != EMPTY:
                steps[states[before]].append(Step(after, states[rule]))
    steps[states[name]].append(Step(EMPTY, None))
    machine = StateMachine(tuple(map(tuple, steps)))
    return Alternation((EMPTY, machine)) if cycle[name].has_empty else machine


def _with_small_rules_inside(rules: dict[str, Expression], start: str) -> dict[str, Expression]:
    """Copy small rules without calls into their callers.

    A rule that calls only such rules then has no calls left. Each rule is visited once, after the rules that it calls,
    in linear time (Kahn 1962).
    """
    called = {name: list(calls(expression)) for name, expression in rules.items()}
    stay = {start}
    for name, expression in rules.items():
        has_register = isinstance(expression, RegisterRule)
        stay.update(call.rule for call in called[name] if call.distinct or has_register)
    open_calls = {name: {call.rule for call in each} for name, each in called.items()}
    callers: dict[str, list[str]] = {name: [] for name in rules}
    for name, each in open_calls.items():
        for rule in each:
            callers[rule].append(name)
    small = dict[str, Expression]()
    waiting = [name for name, each in open_calls.items() if not each]
    while waiting:
        name = waiting.pop()
        if name in stay or isinstance(rules[name], Leaf | RegisterRule):
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
    """Copy the rules that are branches of an alternation into it, once each."""
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
            branches[branch if isinstance(body, Leaf | RegisterRule) else body] = None
    return _alternation(list(branches))


def _needed(rules: Rules, start: str) -> dict[str, Expression]:
    """Return the rules that the start reaches, the start first."""
    reached, waiting = {start: None}, [start]
    while waiting:
        for call in calls(rules[waiting.pop()]):
            if call.rule not in reached:
                reached[call.rule] = None
                waiting.append(call.rule)
    return {name: rules[name] for name in reached}


def with_rules(bodies: Rules, expression: Expression) -> Expression:
    """Replace calls by the bodies of rules; expressions of rules with registers stay as they are."""
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
