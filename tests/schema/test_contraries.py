"""``not`` of formats, of values, of what some members are, and of what is unevaluated."""

from __future__ import annotations

import json
import random
from typing import Any

import jsonschema
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.oracles.schema_oracle import Oracle
from tests.support.grammars.rule_texts import RuleTexts
from tests.support.running.tried import tried
from tests.support.schemas.combined import NAMES, VALUES, combined_schemas

from sfgen import JsonSchema
from sfgen.errors import SchemaError
from sfgen.schema.inspection.exact_validator import CLASSES
from sfgen.schema.meaning.negation import CHECKED_SINCE
from sfgen.schema.reading.keywords import URIS, Draft
from sfgen.schema.scalars.formats import FORMATS, at_most, format_texts

NEAR = {
    "date": st.from_regex(r"\A[0-9]{3,5}-[0-9]{1,2}-[0-9٢]{2}\n?\Z") | st.dates().map(str),
    "ipv4": st.from_regex(r"\A([0-9]{1,3}\.){3}[0-9]{1,3}[/%]?[0-9]?\Z") | st.ip_addresses(v=4).map(str),
    "uuid": st.from_regex(r"\A[{]?[0-9a-fA-F_]{7,8}(-[0-9a-f_ ]{4}){3}-[0-9a-fA-F_٢]{11,13}[-}]?\Z")
    | st.uuids().map(str),
}


def _checker(draft: Draft) -> Any:
    return getattr(jsonschema, CLASSES[draft]).FORMAT_CHECKER


def test_the_drafts_in_which_jsonschema_asks_for_a_format() -> None:
    for name, since in CHECKED_SINCE.items():
        assert {draft for draft in Draft if name in _checker(draft).checkers} == {
            draft for draft in Draft if draft >= since
        }


@tried("many")
@given(st.sampled_from(sorted(NEAR)).flatmap(lambda name: st.tuples(st.just(name), NEAR[name] | st.text(max_size=40))))
def test_the_contrary_of_a_format_has_no_text_that_jsonschema_takes_for_one(found: tuple[str, str]) -> None:
    name, text = found
    is_taken = _checker(Draft.DRAFT_2020_12).conforms(text, name)
    assert at_most(name).accepts(text) or not is_taken
    assert at_most(name).accepts(text) or not format_texts(name).accepts(text)
    if name != "uuid":
        assert at_most(name).accepts(text) is is_taken
    constraint = JsonSchema({"type": "string", "not": {"format": name}})
    assert constraint.accepts(json.dumps(text, ensure_ascii=False)) is not at_most(name).accepts(text)


def test_formats_that_cannot_be_told_are_refused() -> None:
    for name in FORMATS.keys() - CHECKED_SINCE.keys():
        with pytest.raises(SchemaError, match="not is not supported for format"):
            _ = JsonSchema({"not": {"format": name}}).compiled
    with pytest.raises(SchemaError, match="not is not supported for format"):
        _ = JsonSchema({"$schema": URIS[Draft.DRAFT_06], "not": {"format": "date"}}).compiled


def test_what_jsonschema_takes_for_a_uuid_is_not_taken_for_none() -> None:
    text = json.dumps("2eb8aa08-aa98-11ea-b4aa-73b441d1_380")
    schema = JsonSchema({"oneOf": [{"type": "string", "format": "uuid"}, {"type": "string", "pattern": "_"}]})
    assert schema.validate(text)
    assert not schema.accepts(text)
    assert schema.accepts('"_"')


def test_a_format_that_jsonschema_does_not_ask_for_excludes_nothing() -> None:
    dates = [{"type": "string", "format": "date"}, {"type": "string", "pattern": "^a"}]
    assert JsonSchema({"oneOf": dates}).accepts('"a"')
    schema = JsonSchema({"$schema": URIS[Draft.DRAFT_06], "oneOf": dates})
    assert schema.validate('"a"')
    assert not schema.accepts('"a"')
    assert schema.accepts('"2026-11-23"')


@pytest.mark.parametrize(
    ("schema", "accepted", "refused"),
    [
        (
            {"anyOf": [True, {"properties": {"foo": True}}], "unevaluatedProperties": False},
            ['{"bar": 1}', '{"foo": 1, "bar": 1}'],
            ['{"foo": 1}', "{}", "1"],
        ),
        ({"unevaluatedProperties": False}, ['{"a": 1}'], ["{}", "[]"]),
        ({"prefixItems": [True], "unevaluatedItems": False}, ["[1, 2]"], ["[1]", "[]", '"a"']),
        (
            {"type": "object", "properties": {"a": {"type": "integer"}}, "unevaluatedProperties": False},
            ["1", '{"a": "b"}', '{"b": 1}', '{"a": 1, "b": 1}'],
            ["{}", '{"a": 1}'],
        ),
    ],
)
def test_not_of_what_is_unevaluated(schema: Any, accepted: list[str], refused: list[str]) -> None:
    constraint = JsonSchema({"not": schema}, extra_properties=True)
    assert [text for text in accepted if not constraint.accepts(text)] == []
    assert [text for text in refused if constraint.accepts(text)] == []


@st.composite
def unevaluated(draw: st.DrawFn) -> dict[str, Any]:
    """Schemas with something unevaluated beside schemas that speak of some."""
    objects = st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(st.sampled_from(NAMES), combined_schemas(0), max_size=2),
            "required": st.lists(st.sampled_from(NAMES), max_size=1),
            "patternProperties": st.just({"^x": True}),
            "additionalProperties": st.just(False),
            "prefixItems": st.lists(combined_schemas(0), min_size=1, max_size=2),
            "items": combined_schemas(0),
            "contains": combined_schemas(0),
            "unevaluatedItems": st.booleans(),
            "unevaluatedProperties": st.booleans(),
        },
    )
    schema = draw(objects)
    word = draw(st.sampled_from([None, "anyOf", "allOf", "oneOf", "if"]))
    if word == "if":
        schema |= {"if": draw(objects), "then": draw(objects)}
    elif word is not None:
        schema[word] = draw(st.lists(objects, min_size=1, max_size=2))
    schema[draw(st.sampled_from(["unevaluatedProperties", "unevaluatedItems"]))] = False
    return schema


@tried("many", mostly_assumed_away=True)
@given(unevaluated(), st.integers(0, 10**6))
def test_nothing_invalid_is_written(inner: dict[str, Any], seed: int) -> None:
    schema = {"not": inner}
    assume("multipleOf" not in json.dumps(inner))  # on which jsonschema fails where a number is large
    constraint = JsonSchema(schema, extra_properties=True)
    try:
        _ = constraint.network
    except SchemaError:
        assume(False)
    oracle, texts = Oracle(schema), RuleTexts(constraint.compiled.grammar, random.Random(seed))
    for text in [constraint.shortest().decode(), *(texts.draw().decode() for _ in range(4))]:
        assert oracle.fault(text) == "", (schema, text)
    valid = jsonschema.Draft202012Validator(schema).is_valid
    for value in VALUES:
        assert valid(value) or not constraint.accepts(json.dumps(value)), value


# ---- values ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "schema",
    [
        {"const": [1]},
        {"const": []},
        {"const": {}},
        {"const": {"a": 1, "b": 1}},
        {"enum": [[1], [1, "a", 1.5], {"a": 1}, {}, 1]},
        {"enum": [{"a": "a", "b": 1}, {"a": 1}, {"b": {}}, {"a": {}, "ab": None}, [[]]]},
        {"enum": [{"a": 1}, {"a": 1.0}, [True], [1]]},
    ],
)
@pytest.mark.parametrize("draft", [Draft.DRAFT_2020_12, Draft.DRAFT_07])
def test_not_of_values_allows_every_other_value(schema: dict[str, Any], draft: Draft) -> None:
    contrary = {"$schema": URIS[draft], "not": schema}
    constraint, oracle = JsonSchema(contrary, extra_properties=True, order="any"), Oracle(contrary)
    assert constraint.notes == ()
    for value in VALUES:
        assert constraint.accepts(json.dumps(value)) is oracle.is_valid(value), value


def test_not_of_values_inside_of_names_and_patterns() -> None:
    schema = {
        "type": "object",
        "propertyNames": {"not": {"enum": ["a", "bb"]}},
        "patternProperties": {"^b": {"not": {"enum": [[1], {"a": 1}]}}},
    }
    constraint = JsonSchema(schema)
    accepted = ['{"c": 1}', '{"b": [2]}', '{"b": [1, 1], "ab": [1]}', '{"b": {"a": 2}}', '{"b": {}}']
    assert [text for text in accepted if not constraint.accepts(text)] == []
    assert [
        text for text in ('{"a": 1}', '{"bb": 1}', '{"b": [1]}', '{"b": {"a": 1}}') if constraint.accepts(text)
    ] == []


def test_not_of_more_values_than_can_be_told_is_refused() -> None:
    with pytest.raises(SchemaError, match="not is not supported for enum at /not"):
        _ = JsonSchema({"not": {"enum": [[first, second] for first in range(20) for second in range(20)]}}).compiled


_SOME_VALUES = st.lists(
    st.recursive(
        st.sampled_from([0, 1, 1.5, "a", None, True]),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=2),
        max_leaves=4,
    ),
    min_size=1,
    max_size=4,
)


@tried("many")
@given(_SOME_VALUES, st.data())
def test_a_value_is_written_unless_it_is_one_of_those(values: list[Any], data: st.DataObject) -> None:
    schema = {"not": {"enum": values}}
    constraint, oracle = JsonSchema(schema, extra_properties=True, order="any"), Oracle(schema)
    for value in (*VALUES, *values, *data.draw(_SOME_VALUES)):
        assert constraint.accepts(json.dumps(value)) is oracle.is_valid(value), value


# ---- members ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "schema",
    [
        {"not": {"propertyNames": {"pattern": "^a"}}},
        {"not": {"propertyNames": {"enum": ["a", "ab"]}}},
        {"not": {"propertyNames": False}},
        {"not": {"patternProperties": {"^a": {"type": "integer"}, "b": {"type": "string"}}}},
        {"not": {"additionalProperties": {"type": "integer"}}},
        {"not": {"properties": {"a": True}, "patternProperties": {"b": True}, "additionalProperties": False}},
        {"not": {"anyOf": [{"propertyNames": {"pattern": "b"}}, {"patternProperties": {"a": {"type": "integer"}}}]}},
        {
            "type": "object",
            "properties": {"a": {"type": ["integer", "object"]}, "b": {"type": ["string", "integer"]}},
            "required": ["b"],
            "maxProperties": 2,
            "not": {"patternProperties": {"^.$": {"type": "integer"}}},
        },
        {"not": {"propertyNames": {"pattern": "^a"}}, "minProperties": 2, "maxProperties": 2},
        {"oneOf": [{"propertyNames": {"pattern": "^a"}}, {"additionalProperties": {"type": "integer"}}]},
        {"not": {"properties": {"a": True}, "patternProperties": {"^b": True}, "unevaluatedProperties": False}},
    ],
)
def test_not_of_members_allows_every_other_value(schema: dict[str, Any]) -> None:
    constraint, oracle = JsonSchema(schema, extra_properties=True, order="any", infer_types=False), Oracle(schema)
    assert constraint.notes == ()
    for value in VALUES:
        assert constraint.accepts(json.dumps(value)) is oracle.is_valid(value), value
        if isinstance(value, dict):
            turned = dict(reversed(value.items()))
            assert constraint.accepts(json.dumps(turned)) is oracle.is_valid(turned), turned


def test_a_member_that_must_be_there_is_written_although_others_are_not() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "not": {"propertyNames": {"const": "a"}}}
    constraint = JsonSchema(schema)
    assert not constraint.accepts('{"a": 1}')
    assert constraint.accepts('{"a": 1, "b": 2}')
    assert Oracle(schema).fault(constraint.shortest().decode()) == ""


def test_members_that_no_member_can_be_are_told() -> None:
    schema = {"type": "object", "propertyNames": {"const": "a"}, "not": {"propertyNames": {"enum": ["a", "b"]}}}
    with pytest.raises(SchemaError, match="not requires a property that cannot exist at the top"):
        _ = JsonSchema(schema).compiled


def test_many_properties_keep_their_order_where_one_must_be_something() -> None:
    names = [f"p{number}" for number in range(7)]
    integer = {"type": "integer"}
    schema = {"type": "object", "properties": dict.fromkeys(names, integer), "not": {"additionalProperties": integer}}
    constraint = JsonSchema(schema, order="any")
    assert any("properties keep their order at the top" in note for note in constraint.notes)
    assert constraint.accepts('{"p1": 1, "p6": 1, "x": null, "y": true}')
    assert not constraint.accepts('{"p6": 1, "p1": 1, "x": null}')
    assert not constraint.accepts('{"p1": 1, "p6": 1, "y": 1}')


def test_items_that_differ_and_have_a_member_that_must_be_something() -> None:
    items = {"type": "object", "properties": {"a": {"enum": [1, 2]}}, "not": {"patternProperties": {"a": {"const": 1}}}}
    schema = {"type": "array", "items": items, "uniqueItems": True, "minItems": 1, "maxItems": 2}
    constraint, oracle = JsonSchema(schema), Oracle(schema)
    assert constraint.accepts('[{"a": 2}]')
    for text in ('[{"a": 1}]', '[{"a": 2}, {"a": 2}]'):
        assert oracle.fault(text)
        assert not constraint.accepts(text)


@st.composite
def members(draw: st.DrawFn) -> dict[str, Any]:
    """Schemas about the members of objects, with some of their contraries beside."""
    objects = st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(st.sampled_from(NAMES), combined_schemas(0), max_size=2),
            "patternProperties": st.dictionaries(st.sampled_from(["^a", "b", "^x"]), combined_schemas(0), max_size=2),
            "additionalProperties": combined_schemas(0),
            "propertyNames": combined_schemas(0),
        },
    )
    schema = draw(objects)
    schema["allOf"] = [{"not": inner} for inner in draw(st.lists(objects, min_size=1, max_size=2))]
    for word in ("minProperties", "maxProperties"):
        if draw(st.booleans()):
            schema[word] = draw(st.integers(0, 3))
    return schema


@tried("many", mostly_assumed_away=True)
@given(members(), st.sampled_from(["schema", "any"]), st.booleans(), st.integers(0, 10**6))
def test_what_is_written_of_members_is_valid_and_all_of_it_in_any_order(
    schema: dict[str, Any], order: str, extra: bool, seed: int
) -> None:
    assume("multipleOf" not in json.dumps(schema))  # on which jsonschema fails where a number is large
    constraint = JsonSchema(schema, extra_properties=extra, order=order, infer_types=False)
    try:
        _ = constraint.network
    except SchemaError:
        assume(False)
    oracle, texts = Oracle(schema), RuleTexts(constraint.compiled.grammar, random.Random(seed))
    for text in [constraint.shortest().decode(), *(texts.draw().decode() for _ in range(4))]:
        assert oracle.fault(text) == "", (schema, text)
    is_complete = extra and order == "any" and constraint.notes == ()
    valid = jsonschema.Draft202012Validator(schema).is_valid
    for value in VALUES:
        accepted = constraint.accepts(json.dumps(value))
        assert valid(value) or not accepted, value
        assert accepted or not valid(value) or not is_complete, value
