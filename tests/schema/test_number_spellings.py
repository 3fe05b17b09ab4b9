"""Numbers that a schema names, in other spellings: what is accepted and what is written obey one option."""

from __future__ import annotations

import json
import random
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.schema_oracle import Oracle
from tests.support.grammars.rule_texts import RuleTexts

from sfgen import JsonSchema
from sfgen.errors import UsageError
from sfgen.schema.reading.keywords import URIS, Draft

SPELLINGS = ["1", "1.0", "1.00", "1.000", "1.01", "1.5", "1.50", "1.500", "1.5000", "10", "1e0", "01"]


@pytest.mark.parametrize(
    ("schema", "accepted"),
    [
        ({"const": 1}, ["1", "1.0", "1.00"]),
        ({"const": Decimal("1.0")}, ["1", "1.0", "1.00"]),
        ({"type": "integer", "enum": [1, 1.5]}, ["1", "1.0", "1.00"]),
        ({"enum": [1.5, "1"]}, ["1.5", "1.50", "1.500"]),
        ({"$schema": URIS[Draft.DRAFT_04], "type": "integer", "enum": [1]}, ["1"]),
        ({"$schema": URIS[Draft.DRAFT_04], "enum": [1.5, 10]}, ["1.5", "1.50", "1.500", "10"]),
    ],
)
def test_numbers_that_are_named(schema: Any, accepted: list[str]) -> None:
    constraint = JsonSchema(schema, numbers="any")
    assert [text for text in SPELLINGS if constraint.accepts(text)] == accepted
    assert all(constraint.validate(text) == [] for text in accepted)


def test_one_spelling_is_the_default() -> None:
    assert [text for text in SPELLINGS if JsonSchema({"enum": [1, 1.5]}).accepts(text)] == ["1", "1.5"]
    assert (
        JsonSchema({"const": 1})
        == JsonSchema({"const": 1}, numbers="schema")
        != JsonSchema({"const": 1}, numbers="any")
    )
    assert "numbers" not in JsonSchema({"const": 1}).to_dict()
    with pytest.raises(UsageError, match="numbers is 'all'"):
        JsonSchema({"const": 1}, numbers="all")


def test_numbers_inside_of_values_and_items_that_differ() -> None:
    constraint = JsonSchema({"const": {"a": [1, 2.5]}}, numbers="any")
    assert constraint.accepts('{"a": [1.0, 2.50]}')
    different = JsonSchema({"type": "array", "items": {"enum": [1, 2]}, "uniqueItems": True}, numbers="any")
    assert different.accepts("[1, 2]")
    assert not different.accepts("[1, 1.0]")


_NUMBERS = st.integers(-(10**6), 10**6) | st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from([10**40])


@given(st.lists(_NUMBERS, min_size=1, max_size=4), st.sampled_from([{}, {"type": "integer"}]), st.integers(0, 10**6))
def test_what_is_written_is_equal_to_a_number_that_is_named(
    values: list[Any], beside: dict[str, Any], seed: int
) -> None:
    schema = {**beside, "enum": [*values, 1]}
    constraint, oracle = JsonSchema(schema, numbers="any"), Oracle(schema)
    texts = RuleTexts(constraint.compiled.grammar, random.Random(seed))
    for _ in range(5):
        text = texts.draw().decode()
        assert constraint.validate(text) == [], text
        assert beside or oracle.fault(text) == "", text  # for whom no decimal is an integer
        assert constraint.accepts(text)
    for value in values:
        if not beside or isinstance(value, int):
            assert constraint.accepts(json.dumps(value))
