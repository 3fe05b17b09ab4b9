"""Random schemas of few names and values, in which all keywords meet; and the values to ask about."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

from hypothesis import strategies as st

NAMES = ("a", "b", "ab")
SCALARS: list[Any] = [None, True, False, 0, 1, 2, 3, 1.5, -1, 6, "", "a", "b", "ab", "1"]
_MEMBERS: list[Any] = [1, "a", {}, None]
VALUES: list[Any] = [
    *SCALARS,
    *([], [1], [1, 2], ["a"], [1, 1], [0, "a", 2], [[]], [1, "a", 1.5], ["a", "b", "ab"]),
    *({}, {"x": 1}, {"a": 1, "b": 1, "ab": 1}, {"a": {"a": 1}}, {"a": {"b": "a"}, "b": 2}, {"a": 1, "x": "a"}),
    *(
        dict(zip(names, values, strict=True))
        for count in (1, 2)
        for names in combinations(NAMES, count)
        for values in product(_MEMBERS, repeat=count)
    ),
]
"""Values whose names stand in the order of :data:`NAMES`."""

_PLAIN: list[Any] = [
    *({"type": kind} for kind in ("string", "integer", "number", "null", "boolean")),
    *({"type": "integer", "minimum": least} for least in (0, 1, 2)),
    *({"maximum": 1}, {"minLength": 1}, {"type": "string", "maxLength": 1}, {"pattern": "^a"}, {"pattern": "b"}),
    *({"multipleOf": 2}, {"exclusiveMinimum": 1}, {"type": ["string", "integer"]}, {"minItems": 1}, {"maxItems": 1}),
    *(True, {}, False, {"required": ["a"]}, {"type": "string", "pattern": r"^\w$"}, {"type": ["object", "null"]}),
]


def combined_schemas(depth: int = 3) -> st.SearchStrategy[Any]:
    """Schemas so deep."""
    leaf = (
        st.sampled_from(_PLAIN)
        | st.builds(lambda value: {"const": value}, st.sampled_from(SCALARS))
        | st.lists(st.sampled_from(SCALARS), min_size=1, max_size=3, unique_by=repr).map(
            lambda values: {"enum": values}
        )
    )
    if not depth:
        return leaf
    inner = combined_schemas(depth - 1)
    some = st.lists(inner, min_size=1, max_size=3)
    count = st.integers(0, 3)
    kinds: list[st.SearchStrategy[Any]] = [
        leaf,
        *(some.map(lambda schemas, word=word: {word: schemas}) for word in ("oneOf", "anyOf", "allOf")),  # type: ignore[misc]
        inner.map(lambda schema: {"not": schema}),
        st.fixed_dictionaries({"if": inner}, optional={"then": inner, "else": inner}),
        st.fixed_dictionaries(
            {"properties": st.dictionaries(st.sampled_from(NAMES), inner, max_size=2)},
            optional={
                "type": st.just("object"),
                "required": st.lists(st.sampled_from(NAMES), max_size=2, unique=True),
                "additionalProperties": st.just(False) | inner,
                "patternProperties": st.dictionaries(st.sampled_from(["^a", "b", "^x"]), inner, max_size=2),
                "propertyNames": inner,
                "minProperties": count,
                "maxProperties": count,
                "unevaluatedProperties": st.just(False) | inner,
            },
        ),
        st.fixed_dictionaries(
            {"type": st.just("array")},
            optional={
                "items": inner,
                "prefixItems": some,
                "minItems": count,
                "maxItems": count,
                "uniqueItems": st.booleans(),
                "contains": inner,
                "minContains": count,
                "maxContains": count,
                "unevaluatedItems": st.just(False) | inner,
            },
        ),
        st.just({"dependentRequired": {"a": ["b"]}}) | inner.map(lambda schema: {"dependentSchemas": {"a": schema}}),
        st.tuples(inner, inner).map(lambda pair: {**pair[0], **pair[1]} if all(map(_is_object, pair)) else pair[0]),
    ]
    return st.one_of(kinds)


def _is_object(schema: Any) -> bool:
    return isinstance(schema, dict)
