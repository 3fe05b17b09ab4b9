"""The expressions of rules with registers: their calls, their shortest texts, and simpler expressions for them.

Each is a whole rule: the rules that it calls are not copied into it, nor is it copied into its callers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from math import inf
from typing import TypeAlias

from sfgen.errors import InternalError
from sfgen.grammar.network.registers.counts import shortest_length, shortest_text
from sfgen.grammar.network.registers.members import in_one_order
from sfgen.grammar.network.rules import (
    Alternation,
    AnyOrder,
    Call,
    Concatenation,
    CountedList,
    CountedText,
    Expression,
    Literal,
    Repeat,
)

RegisterRule: TypeAlias = CountedList | CountedText | AnyOrder


def calls_of(rule: RegisterRule) -> list[Call]:
    """List the calls of a rule, from left to right."""
    match rule:
        case AnyOrder(members, others):
            return [member.value for member in members] + [
                call for other in others for call in (other.name, other.value)
            ]
        case CountedList():
            return [rule.item]
        case CountedText():
            return []


def shortest_of(rule: RegisterRule, length_of: Callable[[Expression], float]) -> float:
    """Return the fewest bytes of a rule, given the lengths of its parts; infinity without a text."""
    match rule:
        case CountedText():
            return inf if rule.dfa.is_empty or _is_impossible(rule) else shortest_length(rule)
        case CountedList(opening, item, separator, closing, minimum):
            if _is_impossible(rule):
                return inf
            items = minimum * length_of(item) + (minimum - 1) * len(separator) if minimum else 0
            return len(opening) + items + len(closing)
        case AnyOrder():
            return inf if _is_impossible(rule) else _shortest_members(rule, length_of)


def _is_impossible(rule: RegisterRule) -> bool:
    return rule.maximum is not None and rule.minimum > rule.maximum


def _shortest_members(rule: AnyOrder, length_of: Callable[[Expression], float]) -> float:
    """Return the fewest bytes of members in any order: the required ones, and the shortest others up to the minimum."""
    needed = [member for member in rule.members if member.is_needed]
    around = len(rule.opening) + len(rule.closing)
    empty = inf if needed or rule.minimum else len(rule.empty)
    count = max(1, rule.minimum, len(needed))
    if empty <= around or (rule.maximum is not None and count > rule.maximum):
        return empty
    colon = length_of(rule.colon)
    optional = [len(each.name) + colon + length_of(each.value) for each in rule.members if not each.is_needed]
    other = min((length_of(each.name) + colon + length_of(each.value) for each in rule.others), default=inf)
    picked = sorted(length for length in optional if length <= other)[: count - len(needed)]
    lacking = count - len(needed) - len(picked)
    written = sum(len(each.name) + colon + length_of(each.value) for each in needed) + sum(picked)
    written += lacking * other if lacking else 0
    between = (count - 1) * length_of(rule.separator) if count > 1 else 0
    return min(empty, around + written + between)


def pruned(rule: RegisterRule, known: Collection[str]) -> Expression:
    """Drop the parts that have no text from a rule that has one, given the rules that have a text."""
    match rule:
        case CountedList(opening, item, closing=closing) if item.rule not in known:
            return Literal(opening + closing)
        case AnyOrder() if any(call.rule not in known for call in calls_of(rule)):
            members = tuple(member for member in rule.members if member.value.rule in known)
            others = tuple(other for other in rule.others if other.name.rule in known and other.value.rule in known)
            return replace(rule, members=members, others=others)
        case _:
            return rule


def without_register(rule: RegisterRule) -> Expression:
    """Return an expression without a register for some texts of a rule, one of the shortest among them."""
    match rule:
        case CountedText():
            return Literal(shortest_text(rule))
        case AnyOrder():
            return in_one_order(rule)
        case CountedList(opening, item, separator, closing, minimum, maximum):
            most = None if maximum is None else maximum - 1
            more = Repeat(Concatenation((Literal(separator), item)), max(0, minimum - 1), most)
            items = Concatenation((Literal(opening), item, more, Literal(closing)))
            empty = Literal(opening + closing)
            return empty if maximum == 0 else items if minimum else Alternation((empty, items))


def check(name: str, rule: RegisterRule, nullable: Collection[str]) -> None:
    """Refuse calls that may be empty: a register could then change endlessly without a byte."""
    if isinstance(rule, CountedList) and rule.item.rule in nullable:
        raise InternalError(f"the counted items of {name!r} may be empty")
    if isinstance(rule, AnyOrder) and any(call.rule in nullable for call in calls_of(rule) if not call.distinct):
        raise InternalError(f"the members of {name!r}, in any order, may be empty")
