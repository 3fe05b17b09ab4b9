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
    """The rules with a property that a sequence has if all its parts do, and a choice if one of its branches does.

    What may be left out has it. Rules are taken to lack it until the contrary is seen.
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
    """Whether an expression has the property, if the rules ``found`` have it."""
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
    """The states of a machine from which there is a way to the end by the steps that are taken."""
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
