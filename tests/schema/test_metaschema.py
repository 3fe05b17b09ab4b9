"""The table of keywords says what the metaschemas say: jsonschema is asked about schemas with slips in them."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.support.running.tried import tried

from sfgen.errors import SchemaError
from sfgen.schema.reading.keywords import KINDS, URIS, Draft
from sfgen.schema.reading.read import read_schema
from sfgen.schema.reading.strict_json import from_python
from sfgen.schema.reading.well_formed import violations

ORACLES = {
    Draft.DRAFT_04: jsonschema.Draft4Validator,
    Draft.DRAFT_06: jsonschema.Draft6Validator,
    Draft.DRAFT_07: jsonschema.Draft7Validator,
    Draft.DRAFT_2019_09: jsonschema.Draft201909Validator,
    Draft.DRAFT_2020_12: jsonschema.Draft202012Validator,
}
DRAFTS = st.sampled_from(list(Draft))
# References may lead nowhere, and names must be told apart, which is no matter of the metaschemas.
KEYWORDS = sorted(
    {keyword for kinds in KINDS.values() for keyword in kinds}
    - {"$ref", "$dynamicRef", "$recursiveRef", "$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$vocabulary"}
)
NAMES = ["a", "string", "integer", "$x", "1", "a b", "a#b"]
VALUES = st.recursive(
    st.sampled_from([None, True, False, 0, 1, -1, 1.0, 0.5, 2.5, "", *NAMES]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=2),
    max_leaves=4,
)
NAME_LISTS = st.lists(st.sampled_from(NAMES), max_size=3)
SCHEMAS = st.recursive(
    st.booleans() | st.just({}) | VALUES,
    lambda inner: st.dictionaries(
        st.sampled_from([*KEYWORDS, "unknown"]),
        inner
        | VALUES
        | NAME_LISTS
        | st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(NAMES), inner | NAME_LISTS, max_size=2),
        max_size=3,
    ),
    max_leaves=8,
)


def is_right(schema: Any, draft: Draft) -> bool:
    """What jsonschema says; formats aside, which are no matter of the shape."""
    try:
        ORACLES[draft].check_schema(schema, format_checker=jsonschema.FormatChecker(()))
    except jsonschema.SchemaError:
        return False
    return True


def is_well_formed(schema: Any, draft: Draft) -> bool:
    if isinstance(schema, dict):
        schema = {"$schema": URIS[draft], **schema}
    elif not isinstance(schema, bool) or draft is not Draft.DRAFT_2020_12:
        return not list(violations(from_python(schema), draft))
    try:
        read_schema(schema)
    except SchemaError:
        return False
    return True


@tried("many")
@given(SCHEMAS, DRAFTS)
@example({"type": ["string", "string"]}, Draft.DRAFT_07)
@example({"enum": [1, 1.0]}, Draft.DRAFT_04)
@example({"enum": [1, True]}, Draft.DRAFT_04)
@example({"maxLength": 1.0}, Draft.DRAFT_04)
@example({"maxLength": 1.0}, Draft.DRAFT_06)
@example({"exclusiveMinimum": True}, Draft.DRAFT_04)
@example({"not": True}, Draft.DRAFT_04)
@example({"additionalProperties": True}, Draft.DRAFT_04)
@example({"items": [{}]}, Draft.DRAFT_2020_12)
@example({"dependencies": {"a": ["b", "b"]}}, Draft.DRAFT_2020_12)
@example({"dependencies": {"a": []}}, Draft.DRAFT_04)
def test_what_is_well_formed_is_so_by_the_metaschema(schema: Any, draft: Draft) -> None:
    assert is_well_formed(schema, draft) == is_right(schema, draft)


@pytest.mark.parametrize("draft", Draft)
@pytest.mark.parametrize("keyword", KEYWORDS)
def test_each_keyword_by_each_draft(keyword: str, draft: Draft) -> None:
    values: list[Any] = [
        None,
        True,
        0,
        1,
        -1,
        1.5,
        2.0,
        "a",
        "string",
        [],
        [{}],
        ["a"],
        ["a", "a"],
        ["string"],
        [1, 1],
        [[]],
    ]
    values += [{}, {"a": {}}, {"a": 1}, {"a": True}, {"a": ["b"]}, {"a": ["b", 1]}, {"a": []}, {"a": [{}]}, {"type": 1}]
    for value in values:
        schema = {keyword: value}
        if keyword in ("exclusiveMinimum", "exclusiveMaximum"):
            schema |= {"minimum": 1, "maximum": 1}
        assert is_well_formed(schema, draft) == is_right(schema, draft), schema


@pytest.mark.parametrize("draft", [Draft.DRAFT_2019_09, Draft.DRAFT_2020_12])
@pytest.mark.parametrize("name", ["a", "A1-._", "a:b", "_a", "1a", "", "a b", 5])
def test_the_names_of_anchors(draft: Draft, name: Any) -> None:
    assert is_well_formed({"$anchor": name}, draft) == is_right({"$anchor": name}, draft)
    assert is_well_formed({"$id": f"a#{name}"}, draft) == is_right({"$id": f"a#{name}"}, draft)


@pytest.mark.parametrize(
    ("schema", "pointer", "message"),
    [
        ({"type": "strin"}, "/type", '"strin" is not a type'),
        ({"type": ["int", "null"]}, "/type/0", '"int" is not a type'),
        ({"type": []}, "/type", '"type" must be the name of a type or a list of at least one, without repeats'),
        ({"properties": {"a": {"maxLength": "5"}}}, "/properties/a/maxLength", "a whole number, 0 or more"),
        ({"allOf": []}, "/allOf", '"allOf" must be a list of at least one schema, not an empty list'),
        ({"allOf": [{}, 3]}, "/allOf/1", "a schema must be an object, true or false, not a number"),
        ({"properties": {"a/b": "string"}}, "/properties/a~1b", "not a string"),
        ({"required": ["a", "b", "a"]}, "/required", '"required" must be a list of names without repeats: "a" occurs'),
        ({"multipleOf": 0}, "/multipleOf", '"multipleOf" must be a number above 0, not 0'),
        ({"dependentRequired": {"a": "b"}}, "/dependentRequired/a", '"a" must be a list of names without repeats'),
        ({"properties": ["a"]}, "/properties", '"properties" must be an object whose values are schemas, not ["a"]'),
    ],
)
def test_a_mistake_is_told_by_its_pointer(schema: Any, pointer: str, message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        read_schema(schema)
    assert caught.value.pointer == pointer
    assert message in caught.value.reason


@pytest.mark.parametrize(
    ("schema", "hint"),
    [
        ({"type": "strin"}, 'Did you mean "string"?'),
        ({"type": "dict"}, 'Did you mean "object"?'),
        ({"type": "zzz"}, "The types: array, boolean, integer, null, number, object or string."),
        ({"$schema": URIS[Draft.DRAFT_2020_12], "items": [{}]}, "prefixItems"),
        ({"$schema": URIS[Draft.DRAFT_07], "minimum": 1, "exclusiveMinimum": True}, '"exclusiveMinimum": NUMBER'),
        ({"properties": {"a": {"required": True}}}, "Write the names into a list"),
    ],
)
def test_what_was_perhaps_meant(schema: Any, hint: str) -> None:
    with pytest.raises(SchemaError) as caught:
        read_schema(schema)
    assert hint in caught.value.hint
