"""The negation of a schema's plain keywords: a union of constructed schemas, each the negation of one keyword.

A keyword applies to one type, so its negation requires that type. Most negations are keywords of the draft. The others
are internal keywords, which begin with a hyphen and are ignored in schemas of users:

* ``-patterns``: patterns that must not match a string; ``-formats``: formats that it must not have, only those for
  which the texts that validators accept are known; ``-texts``: strings that it must not equal;
* ``-multiples``: divisors that must not divide a number; ``-numbers``: numbers that it must not equal;
* ``-members``: members that an object must have, each a :class:`Wanted`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations, islice
from types import MappingProxyType
from typing import Any, NamedTuple

from sfgen.schema.meaning.conjunction import ANYTHING, Conjunction, Subschema
from sfgen.schema.reading.keywords import VALUE_TYPES, Draft, json_type, says_nothing
from sfgen.schema.reading.strict_json import key
from sfgen.substring.document import SUBSTRING_OF

CHECKED_SINCE: Mapping[str, Draft] = MappingProxyType(
    {"date": Draft.DRAFT_07, "ipv4": Draft.DRAFT_04, "uuid": Draft.DRAFT_2019_09}
)
"""The formats that ``at_most`` supports, and the first draft in which the package jsonschema checks them."""

MOST_OTHERS = 200
"""The most schemas of the negation of ``enum`` or ``const``."""

MOST_NAMES = 4
"""The most names of properties whose subsets are distinguished as cases."""


class Wanted(NamedTuple):
    """A wanted member: an object must have a member with such a name and value, whatever the name is."""

    found: tuple[str, ...] = ()  # patterns that match the name
    not_found: tuple[str, ...] = ()  # patterns that do not match it
    declared: tuple[str, ...] = ()  # names that it does not have
    names: Conjunction = ANYTHING  # further schemas of the name, as a string
    value: Conjunction = ANYTHING


def negated(one: Subschema) -> Subschema:
    """Return the schema that allows exactly the values that another does not."""
    return Subschema({"not": one}, one.pointer, f"not {one.key}")


def present(one: Subschema, name: str, *, is_object: bool = False) -> Subschema:
    """Return the schema of objects with a property; of other values, too, unless ``is_object``."""
    schema: dict[str, Any] = {"required": [name]}
    if is_object:
        return Subschema({"type": "object", **schema}, one.pointer, f"object with {name!r} {one.key}")
    return Subschema(schema, one.pointer, f"with {name!r} {one.key}")


def absent(one: Subschema, name: str) -> Subschema:
    """Return the schema of objects without a property, and of other values."""
    return Subschema({"properties": {name: False}}, one.pointer, f"without {name!r} {one.key}")


def with_value(one: Subschema, name: str, values: list[str]) -> Subschema:
    """Return the schema of objects with a property that has one of some values, and of other values."""
    schema = {"required": [name], "properties": {name: {"enum": values}}}
    return Subschema(schema, one.pointer, f"{name!r} one of {values} {one.key}")


def alternatives(one: Subschema, draft: Draft) -> tuple[list[Conjunction], list[str]]:
    """Negate the plain keywords of a schema; return conjunctions, and the keywords that could not be negated."""
    # A value that violates a negated keyword satisfies one of the conjunctions; no other value satisfies any.
    found: list[Conjunction] = []
    left_out: list[str] = []
    for word in one.schema:
        if word == SUBSTRING_OF:
            left_out.append(word)
        if says_nothing([word]) or not one.says(word, draft):
            continue
        made = _contrary(one, word, draft)
        if made is None:
            left_out.append(word)
        else:
            found += made_of(one, word, made)
    return found, left_out


def made_of(one: Subschema, word: str, schemas: list[dict[str, Any]]) -> list[Conjunction]:
    """Make the conjunctions of the negation of a keyword, one of which a value must satisfy."""
    return [(Subschema(schema, one.pointer, f"not {word} {index} {one.key}"),) for index, schema in enumerate(schemas)]


def with_more(one: Subschema, known: list[Subschema], word: str, draft: Draft) -> list[dict[str, Any]]:
    """Negate ``unevaluatedProperties`` or ``unevaluatedItems``: values with such a property or item."""
    listed, others = item_words(draft)
    if one.schema[word] is not False or any(word in some.schema for some in known if some != one):
        return []
    if word == "unevaluatedItems":
        first = [some.schema.get(listed, []) for some in known]
        if any("contains" in some.schema or others in some.schema for some in known):
            return []
        if not all(isinstance(found, list) for found in first):
            return []
        return [{"type": "array", "minItems": max(map(len, first)) + 1}]
    if any("additionalProperties" in some.schema for some in known):
        return []
    names = sorted({name for some in known for name in some.schema.get("properties", ())})
    patterns = tuple(dict.fromkeys(pattern for some in known for pattern in some.schema.get("patternProperties", ())))
    if patterns or len(names) > MOST_NAMES:
        return [{"type": "object", "-members": [Wanted(not_found=patterns, declared=tuple(names))]}]
    return _objects_with_more(names)


def _objects_with_more(names: list[str]) -> list[dict[str, Any]]:
    """Describe objects with a property besides some names, which are few.

    There is a schema for each subset of the names that are present: more properties than these are other ones.

    >>> _objects_with_more(["a"])[1] == {
    ...     "type": "object", "required": ["a"], "properties": {}, "additionalProperties": True, "minProperties": 2
    ... }
    True
    """
    return [
        {
            "type": "object",
            "required": [name for name in names if name in there],
            "properties": {name: False for name in names if name not in there},
            "additionalProperties": True,
            "minProperties": len(there) + 1,
        }
        for count in range(len(names) + 1)
        for there in combinations(names, count)
    ]


def _contrary(one: Subschema, word: str, draft: Draft) -> list[dict[str, Any]] | None:
    """Negate one keyword: return schemas, one of which must hold; ``None`` if it cannot be negated."""
    value = one.schema[word]
    match word:
        case "type":
            return _other_types([value] if isinstance(value, str) else value)
        case "const":
            return _other_values([value], draft)
        case "enum":
            return _other_values(value, draft)
        case "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum":
            return _beyond(one, word, value)
        case "multipleOf":
            return [{"type": "number", "-multiples": [value]}]
        case "minLength" | "minItems" | "minProperties":
            most = word.replace("min", "max")
            return [{"type": _type_of(word), most: int(value) - 1}] if value > 0 else []
        case "maxLength" | "maxItems" | "maxProperties":
            return [{"type": _type_of(word), word.replace("max", "min"): int(value) + 1}]
        case "pattern":
            return [{"type": "string", "-patterns": [value]}]
        case "format" if value in CHECKED_SINCE and draft >= CHECKED_SINCE[value]:
            return [{"type": "string", "-formats": [value]}]
        case "required" if isinstance(value, list):
            return [{"type": "object", "properties": {name: False}} for name in value]
        case "properties":
            return [
                {"type": "object", "required": [name], "properties": {name: negated(part[0])}}
                for name, part in ((name, one.part("properties", name)) for name in value)
                if part
            ]
        case "prefixItems" | "items" if isinstance(value, list):
            return list(_other_items(one, word))
        case "items" | "additionalItems":
            return _items_after(one, word, draft)
        case "propertyNames" | "patternProperties" | "additionalProperties":
            return [{"type": "object", "-members": [wanted]} for wanted in _members_beside(one, word)]
        case "minContains" | "maxContains":
            return []  # the case of contains
        case "contains" if "minContains" not in one.schema and "maxContains" not in one.schema:
            part = one.part("contains")
            return [{"type": "array", **({"items": negated(part[0])} if part else {"maxItems": 0})}]
        case _:
            return None


def _type_of(word: str) -> str:
    return {"Length": "string", "Items": "array", "Properties": "object"}[word[3:]]


def _other_types(names: Iterable[str]) -> list[dict[str, Any]]:
    types = {"number" if name == "integer" else name for name in names}
    others: list[dict[str, Any]] = [{"type": [name for name in VALUE_TYPES if name not in types]}]
    if others == [{"type": []}]:
        others = []
    if "integer" in names and "number" not in names:
        others.append({"type": "number", "-multiples": [1]})
    return others


def _other_values(values: list[Any], draft: Draft) -> list[dict[str, Any]] | None:
    """Return the schemas of all values but these; ``None`` if there would be too many."""
    others = [name for name in VALUE_TYPES if name not in set(map(json_type, values))]
    found: list[dict[str, Any]] = [{"type": others}] if others else []
    booleans = [value for value in values if isinstance(value, bool)]
    if len(set(booleans)) == 1:
        found.append({"type": "boolean", "enum": [not booleans[0]]})
    texts = [value for value in values if isinstance(value, str)]
    if texts:
        found.append({"type": "string", "-texts": texts})
    numbers = [value for value in values if json_type(value) == "number"]
    if numbers:
        found.append({"type": "number", "-numbers": numbers})
    arrays = [value for value in values if isinstance(value, list)]
    objects = [value for value in values if isinstance(value, dict)]
    found += islice(_other_arrays(arrays, draft), MOST_OTHERS + 1)
    found += islice(_other_objects(objects), MOST_OTHERS + 1)
    return found if len(found) <= MOST_OTHERS else None


def _other_arrays(arrays: list[list[Any]], draft: Draft) -> Iterator[dict[str, Any]]:
    """Describe all arrays but these, by the first item at which an array leaves the trie of them or ends in it.

    >>> list(_other_arrays([[1]], Draft.DRAFT_2020_12))[1]
    {'type': 'array', 'prefixItems': [{'not': {'enum': [1]}}], 'minItems': 1}
    """
    listed, _ = item_words(draft)
    waiting: list[tuple[list[Any], list[list[Any]]]] = [([], arrays)] if arrays else []
    while waiting:
        begin, alike = waiting.pop()
        count = len(begin)
        longer = [array for array in alike if len(array) > count]
        following = {key(array[count]): array[count] for array in longer}
        equal: list[Any] = [_equal_to(item) for item in begin]
        if len(longer) == len(alike):
            yield {"type": "array", listed: equal, "minItems": count, "maxItems": count}
        beside = [{"not": {"enum": [*following.values()]}}] if following else []
        yield {"type": "array", listed: [*equal, *beside], "minItems": count + 1}
        for same, item in following.items():
            waiting.append(([*begin, item], [array for array in longer if key(array[count]) == same]))


def _other_objects(objects: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Describe all objects but these, by the first name at which an object leaves the trie, or by more members.

    >>> list(_other_objects([{"a": 1}]))[0]
    {'type': 'object', 'required': [], 'properties': {'a': False}}
    """
    names = list(dict.fromkeys(name for value in objects for name in value))
    waiting: list[tuple[int, dict[str, Any], list[dict[str, Any]]]] = [(0, {}, objects)] if objects else []
    while waiting:
        number, properties, alike = waiting.pop()
        needed = [name for name, value in properties.items() if value is not False]
        if number == len(names):
            more = {"additionalProperties": True, "minProperties": len(needed) + 1}
            yield {"type": "object", "required": needed, "properties": properties, **more}
            continue
        name = names[number]
        having = [value for value in alike if name in value]
        if len(having) == len(alike):
            yield {"type": "object", "required": needed, "properties": {**properties, name: False}}
        else:
            without = [value for value in alike if name not in value]
            waiting.append((number + 1, {**properties, name: False}, without))
        members = {key(value[name]): value[name] for value in having}
        other = {"not": {"enum": [*members.values()]}} if members else True
        yield {"type": "object", "required": [*needed, name], "properties": {**properties, name: other}}
        for same, member in members.items():
            some = [value for value in having if key(value[name]) == same]
            waiting.append((number + 1, {**properties, name: _equal_to(member)}, some))


def _equal_to(value: Any) -> dict[str, Any]:
    """Describe the values that are equal to one; numbers in any spelling."""
    return {"type": "number", "minimum": value, "maximum": value} if json_type(value) == "number" else {"enum": [value]}


def _beyond(one: Subschema, word: str, value: Any) -> list[dict[str, Any]]:
    """Return the schemas of the numbers on the other side of a limit."""
    if isinstance(value, bool):  # draft 04: the case of minimum or maximum
        return []
    side = "Maximum" if word.lower().endswith("minimum") else "Minimum"
    is_exclusive = word.startswith("exclusive") or one.schema.get(f"exclusive{word.capitalize()}") is True
    return [{"type": "number", (side.lower() if is_exclusive else f"exclusive{side}"): value}]


def _members_beside(one: Subschema, word: str) -> Iterator[Wanted]:
    """Yield the members, one of which each object that violates a keyword has."""
    if word == "patternProperties":
        for pattern in one.schema[word]:
            if part := one.part(word, pattern):
                yield Wanted(found=(pattern,), value=(negated(part[0]),))
        return
    part = one.part(word)
    if not part:
        return
    beside = ANYTHING if part[0].schema is False else (negated(part[0]),)
    if word == "propertyNames":
        yield Wanted(names=beside)
    else:
        patterns, names = (tuple(one.schema.get(listed, ())) for listed in ("patternProperties", "properties"))
        yield Wanted(not_found=patterns, declared=names, value=beside)


def _other_items(one: Subschema, word: str) -> Iterator[dict[str, Any]]:
    """Describe arrays with an item of the prefix that violates its schema."""
    for index in range(len(one.schema[word])):
        part = one.part(word, index)
        if part:
            yield {"type": "array", "minItems": index + 1, word: [*[True] * index, negated(part[0])]}


def item_words(draft: Draft) -> tuple[str, str]:
    """Return the keywords of the first items and of the other items in a draft."""
    return ("prefixItems", "items") if draft >= Draft.DRAFT_2020_12 else ("items", "additionalItems")


def _items_after(one: Subschema, word: str, draft: Draft) -> list[dict[str, Any]] | None:
    """Describe arrays with an item after the prefix that violates the schema; ``None`` if that is not possible."""
    listed = one.schema.get(item_words(draft)[0])
    first = len(listed) if isinstance(listed, list) else 0
    part = one.part(word)
    if not part or (word == "additionalItems" and not isinstance(listed, list)):
        return []
    if one.schema[word] is False:
        return [{"type": "array", "minItems": first + 1}]
    return None if first else [{"type": "array", "contains": negated(part[0])}]
