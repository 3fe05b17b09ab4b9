"""Properties in any order: all orders of what is valid, nothing twice, nothing missing, also within limits."""

from __future__ import annotations

import json
import random
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from tests.oracles.schema_oracle import Oracle
from tests.support.models.vocabularies import byte_vocabulary
from tests.support.schemas.named import SCHEMAS

from sfgen import Index, JsonSchema, Sampler, generate
from sfgen.errors import SchemaTooLarge, UsageError
from sfgen.models.uniform import UniformModel
from sfgen.schema.file import load, save

PERSON: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer"},
        "at": {"type": "object", "properties": {"x": {"type": "null"}, "y": {"type": "null"}}, "required": ["y"]},
    },
    "required": ["name", "age"],
}
VALUE = {"name": "Ada", "age": 36, "at": {"x": None, "y": None}}


def test_all_orders() -> None:
    any_order, fixed = JsonSchema(PERSON, order="any"), JsonSchema(PERSON)
    for count in range(4):
        for names in permutations(VALUE, count):
            text = json.dumps({name: VALUE[name] for name in names})
            assert any_order.accepts(text) is ({"name", "age"} <= set(names)), text
            assert fixed.accepts(text) is (names in {("name", "age"), ("name", "age", "at")})
    assert any_order.accepts('{"at": {"y": null, "x": null}, "age": 1, "name": ""}')
    assert not any_order.accepts('{"at": {"x": null}, "age": 1, "name": ""}')
    assert not any_order.accepts('{"age": 1, "name": "", "age": 1}')


def test_values_that_are_named_in_all_orders() -> None:
    schema = {"enum": [{"a": 1, "b": {"c": 2, "d": 3}}, [{"x": 1, "y": 2}], 5]}
    constraint = JsonSchema(schema, order="any")
    texts = ['{"b": {"d": 3, "c": 2}, "a": 1}', '{"a": 1, "b": {"d": 3, "c": 2}}', '[{"y": 2, "x": 1}]', "5"]
    assert all(map(constraint.accepts, texts))
    assert not constraint.accepts('{"b": {"d": 3, "c": 2}}')
    deep = json.loads("[" * 50 + '{"a": 1, "b": 2}' + "]" * 50)
    assert JsonSchema({"const": deep}, order="any").accepts("[" * 50 + '{"b": 2, "a": 1}' + "]" * 50)
    with pytest.raises(SchemaTooLarge, match="nested more than 60 deep"):
        _ = JsonSchema({"const": json.loads("[" * 300 + "]" * 300)}, order="any").network
    many = {f"p{number}": number for number in range(30)}
    assert JsonSchema({"const": many}, order="any").accepts(json.dumps(many))


VOCABULARY = byte_vocabulary(b'{"', b'": "', b'", "', b'"}', b': 1, "', b'e": 1}', b"1, ")


@pytest.mark.parametrize("name", SCHEMAS)
def test_texts_within_a_limit_are_valid(name: str) -> None:
    schema = SCHEMAS[name]
    constraint = JsonSchema(schema, order="any")
    try:
        index = Index(constraint, VOCABULARY)
    except SchemaTooLarge as error:
        pytest.fail(str(error))
    least = index.guide().tokens_left()
    for seed in range(4):
        limit = least + 7 * seed
        sampler = Sampler(temperature=1.0, seed=seed)
        result = generate(UniformModel(VOCABULARY), "", index=index, sampler=sampler, max_tokens=limit)
        assert len(result.token_ids) <= limit
        assert Oracle(schema).fault(result.text) == "", result.text
        assert constraint.accepts(result.text)


def test_more_needed_properties_than_a_register_has_bits() -> None:
    names = [f"p{number}" for number in range(80)]
    schema = {"properties": {name: {"type": "null"} for name in names}, "type": "object", "required": names[1:]}
    constraint = JsonSchema(schema, order="any")
    written = random.Random(3).sample(names, 80)
    assert constraint.accepts(json.dumps(dict.fromkeys(written)))
    for left_out in ("p0", "p5", "p79"):
        found = {name: None for name in written if name != left_out}
        assert constraint.accepts(json.dumps(found)) is (left_out == "p0")
    assert len(json.loads(constraint.shortest())) == 79
    with pytest.raises(SchemaTooLarge, match="it requires 79 properties in any order, above 62, and minProperties"):
        _ = JsonSchema({**schema, "minProperties": 80}, order="any").network


@pytest.mark.parametrize("optional", [0, 30])
def test_a_limit_where_names_are_not_told_apart_by_kernels(optional: int) -> None:
    names = [f"p{number}" for number in range(67)]
    properties = {name: {"type": "null"} for name in names}
    schema = {"type": "object", "properties": properties, "required": names[optional:]}
    vocabulary = byte_vocabulary(b"p6")
    constraint = JsonSchema(schema, order="any")
    least = constraint.guide(vocabulary).tokens_left()
    for limit in (least, least + 1):
        guide = constraint.guide(vocabulary, limit)
        for _ in range(8):
            allowed = guide.allowed_tokens().tolist()
            assert [token for token in allowed if guide.validate([token])] == allowed
            guide.advance(allowed[0])


def test_no_member_may_be_there_of_those_that_have_names() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "null"}}, "maxProperties": 0}
    guide = JsonSchema(schema, order="any", extra_properties=True).guide(VOCABULARY)
    assert guide.tokens_left() == 2
    guide.advance_bytes(b"{")
    assert guide.allowed_tokens().tolist() == [ord("}")]


def test_where_a_text_stands() -> None:
    guide = JsonSchema(PERSON, order="any").guide(VOCABULARY)
    guide.advance_bytes(b'{"age": 1, "')
    assert guide.describe() == '$: the name "name" or "at"'
    guide.advance_bytes(b'at": {"y": null, ')
    assert guide.describe() == '$.at: the name "x"'
    guide.rollback(1)
    guide.advance_bytes(b'at": {"y": null}, "')
    assert guide.describe() == '$: the name "name"'


def test_a_saved_schema_keeps_the_order(tmp_path: Path) -> None:
    constraint = JsonSchema(PERSON, order="any")
    save(constraint, VOCABULARY, tmp_path / "person.safetensors")
    assert load(tmp_path / "person.safetensors", VOCABULARY) == constraint
    assert constraint != JsonSchema(PERSON)


def test_an_order_that_there_is_not() -> None:
    with pytest.raises(UsageError, match="order is 'name'"):
        JsonSchema(PERSON, order="name")
