"""All keywords together: nothing invalid is accepted, and what is valid is written as far as the order allows."""

from __future__ import annotations

import json
import random
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.oracles.schema_oracle import Oracle
from tests.support.grammars.rule_texts import RuleTexts
from tests.support.running.tried import tried
from tests.support.schemas.combined import VALUES, combined_schemas
from tests.support.schemas.named import COMBINED, DRAFT_04, DRAFT_06

from sfgen import Index, JsonSchema, Sampler, generate
from sfgen.errors import SchemaError
from sfgen.models import load_vocabulary
from sfgen.models.uniform import UniformModel


@pytest.mark.parametrize("order", ["schema", "any"])
@tried("many", mostly_assumed_away=True)
@given(combined_schemas(), st.integers(0, 10**6), st.booleans())
def test_nothing_invalid_is_written(order: str, schema: Any, seed: int, infer_types: bool) -> None:
    valid = jsonschema.Draft202012Validator(schema).is_valid
    constraint = JsonSchema(schema, extra_properties=True, order=order, infer_types=infer_types)
    try:
        _ = constraint.network
    except SchemaError as error:
        is_contradiction = error.hint.startswith("No text satisfies this schema")
        assert not (is_contradiction and any(map(valid, VALUES)))
        return
    for value in VALUES:
        if constraint.accepts(json.dumps(value)):
            assert valid(value), value
    oracle, texts = Oracle(schema), RuleTexts(constraint.compiled.grammar, random.Random(seed))
    assert oracle.fault(constraint.shortest().decode()) == ""
    for _ in range(5):
        text = texts.draw().decode()
        assert oracle.fault(text) == "", text
        assert constraint.accepts(text), text


@pytest.mark.parametrize(("order", "share"), [("schema", 0.9), ("any", 0.98)])
def test_most_of_what_is_valid_is_written(order: str, share: float) -> None:
    """The rest has another order, or is what cannot be negated."""
    written = valid = 0

    @settings(max_examples=200, database=None, derandomize=True)  # the share is that of these schemas
    @given(combined_schemas(2))
    def count(schema: Any) -> None:
        nonlocal written, valid
        is_valid = jsonschema.Draft202012Validator(schema).is_valid
        constraint = JsonSchema(schema, extra_properties=True, order=order, infer_types=False)
        try:
            _ = constraint.network
        except SchemaError:
            return
        texts = [json.dumps(value) for value in VALUES if is_valid(value)]
        valid += len(texts)
        written += sum(map(constraint.accepts, texts))

    count()
    assert valid > 2_000
    assert written / valid >= share, (written, valid)


@pytest.mark.parametrize(
    ("schema", "accepted", "refused"),
    [
        (COMBINED["one of that overlap"], ["2", "3", "-4"], ["6", "5", "0"]),
        (COMBINED["one of what must be there"], ['{"a": 1}', '{"b": ""}'], ["{}", '{"a": 1, "b": ""}']),
        (COMBINED["not some values"], ['"c"', '""', '"aba"'], ['"a"', '"ab"']),
        (COMBINED["not a number"], ["0.5", "3", "3.0"], ["1", "1.0", "2", "4.0", "0"]),
        (
            COMBINED["if then else"],
            ['{"kind": "a", "x": 1}', '{"kind": "b", "y": "ab"}'],
            ['{"kind": "a"}', '{"kind": "b", "y": "a"}', '{"kind": "b", "x": 1}'],
        ),
        (COMBINED["dependent required"], ["{}", '{"address": ""}', '{"card": "", "address": ""}'], ['{"card": ""}']),
        (COMBINED["dependencies"], ['{"a": 1, "b": 2}', '{"b": 2}'], ['{"a": 1}']),
        (
            COMBINED["names by patterns"],
            ['{"id": 1}', '{"id": 9, "x-a": "s", "and": 3}'],
            ['{"id": 10}', '{"id": 1, "x-a": 1}', '{"id": 1, "y": 1}', '{"id": 1, "and": 10}', '{"id": 1, "x-d": 1}'],
        ),
        (
            COMBINED["few names"],
            ["{}", '{"b": true, "a": false, "ab": true}'],
            ['{"c": true}', '{"a": true, "a": true}'],
        ),
        (COMBINED["fewest properties"], ['{"a": 1, "c": 2}', '{"a": 1, "b": 1, "c": 1}'], ["{}", '{"b": 1}']),
        (COMBINED["most properties"], ['{"b": 1}', '{"b": 1, "c": 1}'], ["{}", '{"a": 1, "b": 1, "c": 1}']),
        (COMBINED["counted names"], ['{"x": 1, "y": 2}'], ['{"x": 1}', '{"a": 1, "b": 1, "c": 1, "d": 1}']),
        (COMBINED["contains"], ["[5]", "[1, 2, 7]", "[7, 1, 2, 3]"], ["[]", "[1]", "[7, 1, 2, 3, 4]"]),
        (COMBINED["contains so many"], ['[1, "a", 2]', "[1, 1, 1]"], ['[1, "a"]', "[1, 1, 1, 2]"]),
        (COMBINED["different strings"], ['["a", ""]', '["b", "a", "ab"]'], ['["a"]', '["a", "a"]', '["a", "b", "a"]']),
        (COMBINED["different values"], ["[null]", '[1, "b", null, "a"]'], ["[]", '["a", "a"]', '["a", 1, "a"]']),
        (COMBINED["many different values"], ['["a", "l"]', '["b", "c", "k"]'], ['["a"]', '["a", "a"]']),
        (COMBINED["different numbers"], ["[0, 1.5, 3]"], ["[1, 1]", "[1, 1.0]", "[1]"]),
        (
            COMBINED["unevaluated properties"],
            ['{"a": 1, "b": ""}', '{"c": true}', "{}"],
            ['{"z": 1}', '{"a": 1, "b": 1}'],
        ),
        (COMBINED["unevaluated items"], ['[1, "a", "b"]', "[]"], ["[1, 2]", '["a"]']),
        (COMBINED["dynamic reference"], ['{"value": 1, "next": {"value": 2}}'], ['{"value": 1, "next": {}}']),
    ],
)
def test_examples(schema: Any, accepted: list[str], refused: list[str]) -> None:
    constraint, oracle = JsonSchema(schema), Oracle(schema)
    for text in accepted:
        assert oracle.fault(text) == "", text
        assert constraint.accepts(text), text
    for text in refused:
        assert oracle.fault(text), text
        assert not constraint.accepts(text), text


def test_a_keyword_says_nothing_in_a_draft_that_does_not_know_it() -> None:
    for draft, is_known in ((DRAFT_04, False), (DRAFT_06, True)):
        schema = {"$schema": draft, "type": "object", "propertyNames": {"maxLength": 1}}
        assert JsonSchema(schema).accepts('{"ab": 1}') is not is_known
        assert bool(Oracle(schema).fault('{"ab": 1}')) is is_known


@pytest.mark.parametrize("name", COMBINED)
def test_generated_texts_are_valid_within_any_limit(name: str) -> None:
    """A model without preferences writes them, with limits from the shortest text on."""
    schema = COMBINED[name]
    model = UniformModel(load_vocabulary())
    index, oracle = Index(JsonSchema(schema), model.vocabulary), Oracle(schema)
    least = index.guide().tokens_left()
    for seed in range(8):
        limit = least + 3 * seed
        result = generate(model, "", index=index, max_tokens=limit, sampler=Sampler(seed=seed))
        assert len(result.token_ids) <= limit
        assert oracle.fault(result.text) == "", result.text
