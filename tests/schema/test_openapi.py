"""What OpenAPI adds: ``nullable`` and ``discriminator``."""

from __future__ import annotations

import json
import random
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.schema_oracle import Oracle
from tests.support.grammars.rule_texts import RuleTexts
from tests.support.running.tried import tried
from tests.support.schemas.combined import VALUES, combined_schemas

from sfgen import JsonSchema
from sfgen.errors import SchemaError
from sfgen.schema.reading.keywords import URIS, Draft
from sfgen.schema.reading.read import read_schema

# ---- nullable -------------------------------------------------------------------------------------------------------


def takes_null(schema: Any) -> bool:
    """Whether null is written and valid, which must be the same."""
    constraint = JsonSchema(schema)
    is_written = constraint.accepts("null")
    assert is_written == (constraint.validate("null") == [])
    return is_written


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string", "nullable": True}, True),
        ({"type": "string", "nullable": False}, False),
        ({"type": "null", "nullable": False}, True),
        ({"type": ["string", "integer"], "nullable": True}, True),
        ({"type": "string", "nullable": True, "enum": ["a"]}, False),
        ({"type": "string", "nullable": True, "enum": ["a", None]}, True),
        ({"type": "string", "nullable": 1}, False),
        ({"type": "string", "nullable": "true"}, False),
        ({"allOf": [{"type": "string"}], "nullable": True}, False),
        ({"allOf": [{"type": "string", "nullable": True}], "type": "string"}, False),
        ({"$schema": URIS[Draft.DRAFT_07], "type": "string", "nullable": True}, True),
        ({"$schema": URIS[Draft.DRAFT_04], "type": "string", "nullable": True}, True),
        ({"$schema": URIS[Draft.DRAFT_2019_09], "type": "string", "nullable": True}, False),
        ({"$schema": URIS[Draft.DRAFT_2020_12], "type": "string", "nullable": True}, False),
        ({"$schema": "https://spec.openapis.org/oas/3.1/dialect/base", "type": "string", "nullable": True}, False),
        ({"$ref": "#/$defs/a", "nullable": True, "$defs": {"a": {"type": "string"}}}, False),
        ({"$ref": "#/x/a", "x": {"a": {"type": "string", "nullable": True}}}, True),
    ],
)
def test_where_null_is_allowed(schema: Any, expected: bool) -> None:
    assert takes_null(schema) is expected


def test_how_nullable_was_read_is_told_once() -> None:
    schema = {"type": "object", "nullable": True, "properties": {"a": {"type": "integer", "nullable": True}}}
    note = 'read as in OpenAPI 3.0: null is allowed beside the type: "nullable", at the top, /properties/a'
    assert read_schema(schema).notes == (note,)
    assert schema["type"] == "object"  # the user's own is left alone
    again = JsonSchema(JsonSchema(schema).to_dict()["schema"])
    assert again == JsonSchema(schema)
    fault = JsonSchema(schema).validate({"a": "b"})[0]
    assert fault.expected == "must be an integer or null, not a string"


@tried("some", mostly_assumed_away=True)
@given(combined_schemas(2), st.integers(0, 10**6))
def test_nullable_is_null_beside_the_type(schema: Any, seed: int) -> None:
    """Each type is given ``nullable``, and for the oracle null."""

    def both(part: Any) -> tuple[Any, Any]:
        if isinstance(part, list):
            items = [both(item) for item in part]
            return [pair[0] for pair in items], [pair[1] for pair in items]
        if not isinstance(part, dict):
            return part, part
        pairs = {name: both(item) for name, item in part.items()}
        open_api, plain = ({name: pair[side] for name, pair in pairs.items()} for side in (0, 1))
        if isinstance(part.get("type"), str) and part["type"] != "null":
            open_api["nullable"], plain["type"] = True, [part["type"], "null"]
        return open_api, plain

    open_api, plain = both(schema)
    constraint = JsonSchema(open_api, extra_properties=True)
    valid = jsonschema.Draft202012Validator(plain).is_valid
    for value in VALUES:
        assert (constraint.validate(json.dumps(value)) == []) is valid(value)
    try:
        _ = constraint.network
    except SchemaError:
        return
    texts, oracle = RuleTexts(constraint.compiled.grammar, random.Random(seed)), Oracle(plain)
    for _ in range(3):
        assert oracle.fault(texts.draw().decode()) == ""


# ---- discriminator --------------------------------------------------------------------------------------------------


def pets(word: str, mapping: Any = None, **kinds: Any) -> dict[str, Any]:
    """Cats and dogs, whose objects differ, told by ``kind``."""
    cat, dog = (
        {
            "type": "object",
            "properties": {"kind": kinds.get(name, {"type": "string"}), name: {"type": "boolean"}},
            "required": [name],
            "additionalProperties": False,
        }
        for name in ("meow", "bark")
    )
    return {
        word: [{"$ref": "#/components/schemas/Cat"}, {"$ref": "#/components/schemas/Dog"}],
        "discriminator": {"propertyName": "kind", **({} if mapping is None else {"mapping": mapping})},
        "components": {"schemas": {"Cat": cat, "Dog": dog}},
    }


def kinds(schema: Any, name: str) -> set[str]:
    """The kinds that are written of some, of those of which objects are valid."""
    constraint = JsonSchema(schema)
    found = set()
    for kind in ("Cat", "Dog", "cat", "dog", "puppy", "x"):
        text = json.dumps({"kind": kind, name: True})
        if constraint.accepts(text):
            assert constraint.validate(text) == []
            found.add(kind)
    if constraint.accepts(json.dumps({name: True})):
        found.add("")
    return found


@pytest.mark.parametrize("word", ["oneOf", "anyOf"])
def test_the_property_has_the_value_that_tells_the_schema(word: str) -> None:
    assert (kinds(pets(word), "meow"), kinds(pets(word), "bark")) == ({"Cat"}, {"Dog"})
    mapping = {"dog": "Dog", "puppy": "#/components/schemas/Dog"}
    assert (kinds(pets(word, mapping), "meow"), kinds(pets(word, mapping), "bark")) == ({"Cat"}, {"dog", "puppy"})
    assert JsonSchema(pets(word)).validate('{"kind": "x", "meow": true}') == []  # it says nothing of what is valid


@pytest.mark.parametrize("word", ["oneOf", "anyOf"])
def test_a_value_that_the_schema_does_not_allow_is_not_asked_for(word: str) -> None:
    schema = pets(word, meow={"const": "cat"}, bark={"enum": ["dog", "puppy"]})
    assert (kinds(schema, "meow"), kinds(schema, "bark")) == ({"", "cat"}, {"", "dog", "puppy"})
    closed = pets(word)
    del closed["components"]["schemas"]["Cat"]["properties"]["kind"]
    assert (kinds(closed, "meow"), kinds(closed, "bark")) == ({""}, {"Dog"})


def test_schemas_without_a_name_are_left_alone() -> None:
    schema = pets("anyOf")
    schema["anyOf"][0] = schema["components"]["schemas"]["Cat"]
    assert (kinds(schema, "meow"), kinds(schema, "bark")) == ({"", "Cat", "Dog", "cat", "dog", "puppy", "x"}, {"Dog"})
    wrongs: list[Any] = ["kind", {"mapping": {}}, {"propertyName": 3}]
    for wrong in wrongs:
        plain = {**pets("anyOf"), "discriminator": wrong}
        assert "x" in kinds(plain, "meow")
        assert any("not a keyword" in note and "discriminator" in note for note in read_schema(plain).notes)


def test_how_a_discriminator_was_read_is_told() -> None:
    told = 'read as in OpenAPI: the property names the schema that is written: "discriminator", at the top'
    assert told in read_schema(pets("oneOf")).notes
    alone = {"type": "object", "discriminator": {"propertyName": "kind"}}
    (note,) = read_schema(alone).notes
    assert note.startswith("from OpenAPI, and without effect without references")


def test_what_a_discriminator_leaves_out_is_not_taken_for_impossible() -> None:
    """The schemas overlap by a value that a discriminator would not write."""
    inner = pets("oneOf")
    other = {"type": "object", "properties": {"kind": {"const": "x"}}, "required": ["meow", "kind"]}
    schema = {"oneOf": [{"$ref": "#/$defs/pets"}, other], "$defs": {"pets": inner}, **inner["components"]}
    schema["components"] = inner["components"]
    constraint = JsonSchema(schema, extra_properties=True)
    text = '{"kind": "x", "meow": true}'
    assert constraint.validate(text)  # both
    assert not constraint.accepts(text)
    assert constraint.accepts('{"kind": "Cat", "meow": true}')


@tried(mostly_assumed_away=True)
@given(
    st.lists(combined_schemas(1), min_size=1, max_size=3),
    st.sampled_from(["oneOf", "anyOf"]),
    st.dictionaries(st.sampled_from(["a", "b", "k"]), st.sampled_from(["S0", "S1", "#/$defs/S2"])),
    st.integers(0, 10**6),
)
def test_what_is_written_is_valid_with_and_without(schemas: Any, word: str, mapping: Any, seed: int) -> None:
    names = [f"S{index}" for index in range(len(schemas))]
    schema = {
        word: [{"$ref": f"#/$defs/{name}"} for name in names],
        "discriminator": {"propertyName": "a", "mapping": mapping},
        "$defs": dict(zip(names, schemas, strict=True)),
    }
    constraint = JsonSchema(schema, extra_properties=True)
    try:
        _ = constraint.network
    except SchemaError:
        return
    oracle, texts = Oracle(schema), RuleTexts(constraint.compiled.grammar, random.Random(seed))
    valid = jsonschema.Draft202012Validator(schema).is_valid
    for text in [constraint.shortest().decode(), *(texts.draw().decode() for _ in range(3))]:
        assert oracle.fault(text) == "", text
    for value in VALUES:
        assert valid(value) or not constraint.accepts(json.dumps(value)), value
