"""Properties of rules that follow from those of their parts: found by a least fixpoint."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TypeAlias

from sfgen.grammar.rules import (
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
    Take,
)

Part: TypeAlias = Literal | Bytes | Leaf | AnyOrder | CountedList | CountedText | Take
"""What is told by itself, or by the items of a list or the members of an object."""

Holds: TypeAlias = Callable[[Part, Collection[str]], bool]
"""Whether a part has the property, if these rules have it."""


def rules_with(rules: Rules, holds: Holds) -> set[str]:
    """Find the rules with a property, by a least fixpoint.

    A sequence has it if all its parts do, a choice if one of its branches does, and what may be left out always.

    Args:
        rules: Expressions by name.
        holds: Decides whether a part has the property, if some rules have it.
    """
    found: set[str] = set()
    names = list(rules)
    while True:
        before = len(found)
        names.reverse()  # both ways, for rules often call those that follow them
        for name in names:
            if name not in found and has(rules[name], found, holds):
                found.add(name)
        if len(found) == before:
            return found


def has(expression: Expression, found: Collection[str], holds: Holds) -> bool:
    """Tell whether an expression has the property.

    Args:
        expression: The expression.
        found: The rules that have the property.
        holds: Decides it of a part.
    """
    match expression:
        case Call(rule):
            return rule in found
        case Concatenation(parts):
            return all(has(part, found, holds) for part in parts)
        case Alternation(branches):
            return any(has(branch, found, holds) for branch in branches)
        case Repeat(child, minimum):
            return minimum == 0 or has(child, found, holds)
        case Series(members, separator):
            needed = [member.expression for member in members if member.is_needed]
            between = () if len(needed) < 2 else (separator,)
            return all(has(part, found, holds) for part in (*needed, *between))
        case StateMachine(states):
            return 0 in with_ends(states, lambda step: has(step.expression, found, holds))
        case _:
            return holds(expression, found)


def with_ends(states: Sequence[Sequence[Step]], is_taken: Callable[[Step], bool]) -> set[int]:
    """Find the states of a machine from which the end is reached.

    Args:
        states: The steps of each state.
        is_taken: Which steps count.
    """
    sources: dict[int | None, list[int]] = {}
    for state, steps in enumerate(states):
        for step in steps:
            if is_taken(step):
                sources.setdefault(step.target, []).append(state)
    found = set[int]()
    waiting: list[int | None] = [None]
    while waiting:
        new = set(sources.get(waiting.pop(), ())) - found
        found |= new
        waiting += new
    return found
