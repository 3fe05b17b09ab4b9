"""Typed groups: the values of a branch, divided by type, since each keyword applies to one type only.

A group of nulls, booleans, numbers or strings becomes an expression at once. If a schema has no ``type`` but all its
keywords apply to one type (``{"items": …}`` to arrays), that type is inferred. By the specification such a schema
allows all values of other types, too; the written values are still valid. Schemas under ``not``, ``if``, ``oneOf``,
``contains`` and ``propertyNames``, and schemas that are referenced there, are excluded from inference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from sfgen.automata import Dfa
from sfgen.errors import PatternError, PatternTooLarge, SchemaError, SchemaTooLarge
from sfgen.grammar.network.rules import NOTHING, Alternation, Expression, Leaf, Literal
from sfgen.schema.meaning.conjunction import Plain
from sfgen.schema.meaning.limits import (
    ArrayLimits,
    Contradiction,
    ObjectLimits,
    array_limits,
    exact,
    number_bounds,
    object_limits,
)
from sfgen.schema.meaning.limits import count_bounds as length_bounds
from sfgen.schema.reading.document import SchemaDocument, dynamic_name, is_reference_alone, references_of, value_at
from sfgen.schema.reading.keywords import DEFINITIONS, KINDS, VALUE_TYPES, Draft, subschemas
from sfgen.schema.reading.strict_json import escaped
from sfgen.schema.scalars.formats import FORMATS
from sfgen.schema.scalars.numbers import NumberLimits, number_automaton
from sfgen.schema.scalars.strings import StringLimits, string_rule
from sfgen.schema.scalars.written_text import of_length
from sfgen.substring.document import SUBSTRING_OF

if TYPE_CHECKING:
    from sfgen.ban import BannedWords

Limits: TypeAlias = NumberLimits | StringLimits | ArrayLimits | ObjectLimits | None
"""The limits of the values of a type; ``None``: null and the booleans have no limits."""

LONGEST = 64
"""The most characters of a unique string, if a register would have to count its length."""

_NULL = Literal(b"null")
_BOOLEAN = Alternation((Literal(b"true"), Literal(b"false")))

_ABOUT = {
    "number": ("type", "minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf"),
    "string": ("minLength", "maxLength", "pattern", "format", SUBSTRING_OF),
}

_TYPES = {
    **dict.fromkeys(("minLength", "maxLength", "pattern", "format", SUBSTRING_OF), "string"),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), "number"),
    **dict.fromkeys(("items", "prefixItems", "additionalItems", "contains"), "array"),
    **dict.fromkeys(("minItems", "maxItems", "uniqueItems"), "array"),
    **dict.fromkeys(("properties", "patternProperties", "additionalProperties", "propertyNames"), "object"),
    **dict.fromkeys(("required", "minProperties", "maxProperties"), "object"),
}
"""The type to which each keyword applies."""

_NEVER = ("not", "if", "oneOf", "contains", "propertyNames")
"""Keywords under which no type is inferred."""


@dataclass(frozen=True)
class Group:
    """The values of one type that satisfy a branch."""

    type: str  # one of ``sfgen.schema.reading.keywords.TYPES``
    limits: Limits = None


class Groups:
    """The typed groups of a document's branches. Not thread-safe."""

    def __init__(self, document: SchemaDocument, banned: BannedWords | None) -> None:
        self._draft, self._quoted = document.draft, document.quoted
        self._banned = banned
        self._found: dict[Plain, tuple[tuple[Group, ...], Contradiction | None]] = {}
        self.unknown_formats: dict[str, None] = {}
        """The unknown formats, which are ignored, in order of discovery."""

    def of(self, plain: Plain) -> tuple[tuple[Group, ...], Contradiction | None]:
        """Return the groups of a branch without contradictions, and the first contradiction of another type."""
        # The enums and constants of the branch are ignored here.
        found = self._found.get(plain)
        if found is None:
            found = self._found[plain] = self._typed(plain)
        return found

    def _typed(self, plain: Plain) -> tuple[tuple[Group, ...], Contradiction | None]:
        types, is_integer = _types(plain)
        for one in plain:
            if "format" in one.schema and one.schema["format"] not in FORMATS:
                self.unknown_formats[one.schema["format"]] = None
        groups: list[Group] = []
        why: Contradiction | None = None
        if not types and plain:
            why = Contradiction("no type satisfies type here and type beside it", plain[-1].pointer)
        for kind in types:
            try:
                groups.append(Group(kind, self._limits(kind, plain, is_integer)))
            except Contradiction as contradiction:
                why = why or contradiction.with_traceback(None)  # the traceback would keep all frames alive
        return tuple(groups), why

    def _limits(self, kind: str, plain: Plain, is_integer: bool) -> Limits:
        match kind:
            case "number":
                return _number_limits(plain, is_integer)
            case "string":
                return self._string_limits(plain)
            case "array":
                return array_limits(plain, self._draft)
            case "object":
                return object_limits(plain, self._draft)
            case _:
                return None

    def _string_limits(self, plain: Plain) -> StringLimits:
        minimum, maximum = length_bounds(plain, "minLength", "maxLength")
        patterns = tuple(dict.fromkeys(one.schema["pattern"] for one in plain if "pattern" in one.schema))
        formats = dict.fromkeys(one.schema["format"] for one in plain if "format" in one.schema)
        known = tuple(name for name in formats if name in FORMATS)
        quoted = [one.schema[SUBSTRING_OF] for one in plain if SUBSTRING_OF in one.schema]
        return StringLimits(
            minimum,
            maximum,
            patterns,
            known,
            self._banned,
            tuple(values_of_keyword(plain, "-texts")),
            tuple(values_of_keyword(plain, "-patterns")),
            tuple(values_of_keyword(plain, "-formats")),
            quoted=tuple(dict.fromkeys(self._quoted[name] for name in quoted)),
        )


def values_of_keyword(plain: Plain, word: str) -> list[Any]:
    """Collect the distinct values of a keyword whose value is a list."""
    return list(dict.fromkeys(value for one in plain for value in one.schema.get(word, ())))


def _types(plain: Plain) -> tuple[list[str], bool]:
    """Return the types that a branch allows, in their fixed order, and whether its numbers are integers."""
    types, is_integer = list(VALUE_TYPES), False
    for one in plain:
        declared = one.schema.get("type")
        if declared is None:
            continue
        names = (declared,) if isinstance(declared, str) else declared
        if "integer" in names and "number" not in names:
            is_integer = True
            names = (*names, "number")
        types = [name for name in types if name in names]
    return types, is_integer


def _number_limits(plain: Plain, is_integer: bool) -> NumberLimits:
    lower, upper = number_bounds(plain)
    multiples = (exact(one.schema["multipleOf"], one.pointer) for one in plain if "multipleOf" in one.schema)
    return NumberLimits(
        is_integer,
        minimum=None if lower is None or lower.is_exclusive else lower.value,
        maximum=None if upper is None or upper.is_exclusive else upper.value,
        exclusive_minimum=lower.value if lower is not None and lower.is_exclusive else None,
        exclusive_maximum=upper.value if upper is not None and upper.is_exclusive else None,
        multiples=tuple(dict.fromkeys(multiples)),
        others=tuple(exact(number, plain[0].pointer) for number in values_of_keyword(plain, "-numbers")),
        no_multiples=tuple(exact(number, plain[0].pointer) for number in values_of_keyword(plain, "-multiples")),
    )


# ---- scalars ---------------------------------------------------------------------------------------------------------


def scalar_expression(group: Group, pointer: str) -> Expression:
    """Build the expression of a group's texts; ``NOTHING`` if there are none."""
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
        raise error_at(error, pointer) from None
    return NOTHING if isinstance(expression, Leaf) and expression.dfa.is_empty else expression


def one_form(limits: NumberLimits | StringLimits) -> Leaf | None:
    """Build the leaf of strings or numbers in canonical form; ``None`` if a register would have to count."""
    # A number has no exponent and no trailing zeros. A string whose length a register would count has at most
    # :data:`LONGEST` characters.
    if isinstance(limits, NumberLimits):
        shortest_forms = Dfa.from_regex(r"-?(0|[1-9][0-9]*)(\.[0-9]*[1-9])?") - Dfa.from_choices(["-0"])
        return Leaf(number_automaton(limits) & shortest_forms)
    rule = string_rule(limits)
    if not isinstance(rule, Leaf):
        shorter = max(limits.minimum, LONGEST if limits.maximum is None else min(LONGEST, limits.maximum))
        rule = of_length(string_rule(replace(limits, minimum=0, maximum=None)).dfa, limits.minimum, shorter)
    return rule if isinstance(rule, Leaf) else None


def error_at(error: SchemaError | PatternError, pointer: str) -> SchemaError:
    """Add the schema's pointer to an error about a string or number."""
    if isinstance(error, PatternError):
        kind = SchemaTooLarge if isinstance(error, PatternTooLarge) else SchemaError
        return kind(error.message, pointer, details=error.details, hint=error.hint)
    return type(error)(error.reason, pointer, details=error.details, hint=error.hint)


def bare_name(group: Group) -> str:
    """Return the name of the rule of a type without limits; empty if there are limits."""
    match group.limits:
        case NumberLimits(is_integer=is_integer):
            return ("integer" if is_integer else "number") if group.limits == NumberLimits(is_integer) else ""
        case StringLimits(banned=banned):
            return "string" if group.limits == StringLimits(banned=banned) else ""
        case _:
            return group.type


def why_nothing(group: Group, plain: Plain) -> str:
    """Explain by its keywords why a group has no text."""
    found = dict.fromkeys(word for word in _ABOUT[group.type] for one in plain if word in one.schema)
    *others, last = found
    words = f"{', '.join(others)} and {last} together" if others else last
    banned = getattr(group.limits, "banned", None)
    return f"no {group.type} satisfies {words}" + (" without a banned word" if banned is not None else "")


# ---- types that are inferred -----------------------------------------------------------------------------------------


def inferred_type(plain: Plain, is_hidden: Callable[[str], bool], draft: Draft) -> tuple[str, str] | None:
    """Infer the type of a branch whose keywords apply to one type only."""
    # Returned: the type, and the pointer of a schema with such a keyword. ``None`` if a schema has ``type``, ``enum``
    # or ``const``, or if the keywords apply to several types or to none.
    found: dict[str, str] = {}
    for one in plain:
        schema = one.schema
        if "type" in schema or "enum" in schema or "const" in schema:
            if not one.is_made:
                return None
        elif not is_hidden(one.pointer):
            for keyword in schema:
                kind = _TYPES.get(keyword)
                if kind is None or not (keyword == SUBSTRING_OF or one.says(keyword, draft)):
                    continue
                if keyword != "format" or schema["format"] in FORMATS:
                    found.setdefault(kind, one.pointer)
    return next(iter(found.items())) if len(found) == 1 else None


def hidden_pointers(document: SchemaDocument) -> frozenset[str]:
    """Find the schemas for which no type is inferred, also by references.

    >>> from sfgen.schema.reading.read import read_schema
    >>> sorted(hidden_pointers(read_schema({"not": {"items": {"$ref": "#/$defs/a"}}, "$defs": {"a": {}, "b": {}}})))
    ['/$defs/a', '/not', '/not/items']
    """
    found: dict[str, None] = {}
    for pointer, schema in document.schemas.items():
        if isinstance(schema, dict) and not schema.keys().isdisjoint(_NEVER):
            found.update((inner, None) for keyword, inner in _inside(document, pointer) if keyword in _NEVER)
    for pointer in (waiting := list(found)):
        for _, inner in (*_inside(document, pointer), *_referred(document, pointer)):
            if inner not in found:
                found[inner] = None
                waiting.append(inner)
    return frozenset(found)


def _inside(document: SchemaDocument, pointer: str) -> Iterator[tuple[str, str]]:
    """Yield the subschemas of a schema: the keyword and the pointer."""
    schema = _schema_at(document, pointer)
    if isinstance(schema, dict) and not is_reference_alone(schema, document.draft):
        for way, _ in subschemas(schema, KINDS[document.draft]):
            if way[0] not in DEFINITIONS:
                yield str(way[0]), pointer + "".join(map(escaped, way))


def _schema_at(document: SchemaDocument, pointer: str) -> Any:
    return document.schemas[pointer] if pointer in document.schemas else value_at(document.root, pointer)


def _referred(document: SchemaDocument, pointer: str) -> Iterator[tuple[str, str]]:
    """Yield the references of a schema: the keyword and each possible target."""
    for keyword, reference in references_of(_schema_at(document, pointer), document.draft):
        yield keyword, document.resolve(reference, pointer, keyword)[0]
        name = dynamic_name(keyword, reference)
        for anchors in document.identifiers.dynamic.values() if name is not None else ():
            if name in anchors:
                yield keyword, anchors[name]
