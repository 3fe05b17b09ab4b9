"""The rules of values that have nothing in them: null, booleans, numbers and strings."""

from __future__ import annotations

from dataclasses import replace

from sfgen.automata import Dfa
from sfgen.errors import PatternError, PatternTooLarge, SchemaError, SchemaTooLarge
from sfgen.grammar.rules import NOTHING, Alternation, Expression, Leaf, Literal
from sfgen.schema.conjunction import Plain
from sfgen.schema.groups import Group
from sfgen.schema.keywords import SUBSTRING_OF
from sfgen.schema.numbers import NumberLimits, number_automaton
from sfgen.schema.strings import StringLimits, string_rule
from sfgen.schema.text_lengths import of_length

_NULL = Literal(b"null")
_BOOLEAN = Alternation((Literal(b"true"), Literal(b"false")))

_ABOUT = {
    "number": ("type", "minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf"),
    "string": ("minLength", "maxLength", "pattern", "format", SUBSTRING_OF),
}


def scalar_expression(group: Group, pointer: str) -> Expression:
    """Build the expression of a group's texts; ``NOTHING`` if there are none.

    Args:
        group: The group.
        pointer: Where it comes from, for messages.

    Raises:
        SchemaError: A pattern is not supported.
        SchemaTooLarge: The automaton passes a limit.
    """
    expression: Expression
    try:
        match group.limits:
            case NumberLimits():
                expression = Leaf(number_automaton(group.limits))
            case StringLimits():
                expression = string_rule(group.limits)
            case _:
                return _NULL if group.type == "null" else _BOOLEAN
    except (SchemaTooLarge, PatternError) as error:
        raise at(error, pointer) from None
    return NOTHING if isinstance(expression, Leaf) and expression.dfa.is_empty else expression


LONGEST = 64
"""The most characters of a string that must differ from others, where a length is asked for."""


def one_form(limits: NumberLimits | StringLimits) -> Leaf | None:
    """Build the leaf of strings or numbers, equal values written alike.

    Of a number it is the form without an exponent and without zeros at its end. Strings with a greatest length that a
    register would count are written with at most :data:`LONGEST` characters.

    Returns:
        ``None`` where lengths are counted beside the automaton.
    """
    if isinstance(limits, NumberLimits):
        shortest_forms = Dfa.from_regex(r"-?(0|[1-9][0-9]*)(\.[0-9]*[1-9])?") - Dfa.from_choices(["-0"])
        return Leaf(number_automaton(limits) & shortest_forms)
    rule = string_rule(limits)
    if not isinstance(rule, Leaf):
        shorter = max(limits.minimum, LONGEST if limits.maximum is None else min(LONGEST, limits.maximum))
        rule = of_length(string_rule(replace(limits, minimum=0, maximum=None)).dfa, limits.minimum, shorter)
    return rule if isinstance(rule, Leaf) else None


def at(error: SchemaError | PatternError, pointer: str) -> SchemaError:
    """Add the schema's position to an error of a string or number.

    Args:
        error: What went wrong.
        pointer: Where the schema stands.
    """
    if isinstance(error, PatternError):
        kind = SchemaTooLarge if isinstance(error, PatternTooLarge) else SchemaError
        return kind(error.message, pointer, details=error.details, hint=error.hint)
    return type(error)(error.reason, pointer, details=error.details, hint=error.hint)


def bare_name(group: Group) -> str:
    """Name the rule of a type without limits; empty with limits."""
    match group.limits:
        case NumberLimits(is_integer=is_integer):
            return ("integer" if is_integer else "number") if group.limits == NumberLimits(is_integer) else ""
        case StringLimits(banned=banned):
            return "string" if group.limits == StringLimits(banned=banned) else ""
        case _:
            return group.type


def why_nothing(group: Group, plain: Plain) -> str:
    """Explain why a group has no text, with the keywords.

    Args:
        group: The group.
        plain: The branch that it belongs to.
    """
    found = dict.fromkeys(word for word in _ABOUT[group.type] for one in plain if word in one.schema)
    *others, last = found
    words = f"{', '.join(others)} and {last} together" if others else last
    banned = getattr(group.limits, "banned", None)
    return f"no {group.type} satisfies {words}" + (" without a banned word" if banned is not None else "")
