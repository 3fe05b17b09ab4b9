"""What is written by a schema: valid, varied, complete at every limit; and which texts are accepted.

Texts come from two models at temperature 1: one without a preference, and the embedded one. Whether a text is valid
says the package jsonschema, asked by ``schema_oracle``.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Collection, Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.bench.schema_cases import CASES
from tests.bench.schema_values import texts
from tests.oracles.schema_oracle import Oracle
from tests.support.running.tried import rounds, tried
from tests.support.schemas.instances import instances, mutants
from tests.support.schemas.varied import VARIED, Varied

from sfgen import Index, JsonSchema, Sampler, generate, load_model
from sfgen.errors import LimitTooSmall
from sfgen.models.uniform import UniformModel

SEEDS, FEWEST, LIMIT, LONGER = 200, rounds(100), 60, rounds(24)
PROMPTS = ("x", "Nothing: ", "The record:\n", "{}", "null ")
"""Texts before: what a model likes to begin with depends on them."""
SCHEMAS = {case.name: case.schema for case in VARIED} | {f"benchmark: {case.name}": case.schema for case in CASES}
BENCHMARK = {f"benchmark: {case.name}" for case in CASES}
BY_TINY: dict[str, tuple[str, ...]] = {
    "optional properties": ("empty",), "types": (), "branches in branches": (), "flags": (), "shapes": (),
    "odd names": ('with a"b', "with 東京"), "linked list": ("depth 1",),
}  # fmt: skip
"""What the embedded model writes too, with what it all but never likes to write: the other model does."""
NOT_BY_HYPOTHESIS = {"tuple", "tuple and more", "linked list", "tree"} | {
    f"benchmark: {name}" for name in ("tree", "linked list", "OpenAPI", "arrays")
}
"""Recursion and ``prefixItems``, of which hypothesis-jsonschema makes no instances."""


@cache
def tiny() -> Any:
    return load_model("tiny")


@cache
def characters() -> Any:
    """Equal scores over single characters: whatever is written is written by the constraint alone."""
    return UniformModel()


@cache
def tokens() -> Any:
    """Equal scores over the embedded model's tokens."""
    return UniformModel(tiny().vocabulary)


@cache
def constraint(name: str) -> JsonSchema:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # notes on unknown words
        return JsonSchema(SCHEMAS[name])


@cache
def index(name: str, model: Any) -> Index:
    return Index(constraint(name), model.vocabulary)


@cache
def oracle(name: str) -> Oracle:
    return Oracle(SCHEMAS[name])


def text_of(name: str, model: Any, seed: int, limit: int) -> str:
    """A text, held against the oracle."""
    prompt = PROMPTS[seed % len(PROMPTS)]
    options: dict[str, Any] = {
        "max_tokens": limit,
        "heal": False,
    }  # healed, it has tokens that the limit does not count
    result = generate(model, prompt, index=index(name, model), sampler=Sampler(1.0, seed=seed), **options)
    assert len(result.token_ids) <= limit
    fault = oracle(name).fault(result.text)
    assert not fault, f"{result.text!r}: {fault}"
    assert constraint(name).accepts(result.text), result.text
    return result.text


@cache
def shortest_limit(name: str, model: Any) -> int:
    """The least limit that is not refused."""
    low, high = 0, 1
    while not _is_enough(name, model, high):
        low, high = high, 2 * high
        assert high < 10_000
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _is_enough(name, model, middle) else (middle, high)
    return high


def _is_enough(name: str, model: Any, limit: int) -> bool:
    try:
        text_of(name, model, 0, limit)
    except LimitTooSmall:
        return False
    return True


def test_there_are_forty_schemas() -> None:
    assert len({json.dumps(schema) for schema in SCHEMAS.values()}) >= 40


@pytest.mark.parametrize("name", SCHEMAS)
def test_texts_are_complete_at_every_limit(name: str) -> None:
    model = tokens()
    least = shortest_limit(name, model)
    for limit in range(least, least + LONGER):
        for seed in range(3):
            text_of(name, model, seed, limit)
    with pytest.raises(LimitTooSmall):
        text_of(name, model, 0, least - 1)


@pytest.mark.parametrize("case", VARIED, ids=lambda case: case.name)
def test_texts_without_a_preference_are_varied(case: Varied) -> None:
    models = characters(), tokens()
    limits = [max(LIMIT, shortest_limit(case.name, model) + 20) for model in models]
    written = (
        text_of(case.name, model, seed, limit)
        for seed in range(SEEDS // 2)
        for model, limit in zip(models, limits, strict=True)
    )
    assert not missed_by_all(case, written)


@pytest.mark.parametrize("name", BY_TINY)
def test_texts_of_the_embedded_model_are_varied(name: str) -> None:
    case = next(case for case in VARIED if case.name == name)
    assert not missed_by_all(case, (text_of(name, tiny(), seed, 48) for seed in range(SEEDS)), BY_TINY[name])


def missed_by_all(case: Varied, written: Iterator[str], seldom: Collection[str] = ()) -> set[str]:
    """The classes that no text is in, but for those that are seldom written; no more is written than it takes to tell.

    Each text is held against the oracle when it is written: so there are some, whatever the first ones are.
    """
    missed = case.classes.keys() - set(seldom)
    for number, text in enumerate(written, start=1):
        missed = {name for name in missed if not case.classes[name](json.loads(text))}
        if not missed and number >= FEWEST:
            break
    return missed


@pytest.mark.parametrize("name", sorted(SCHEMAS.keys() - NOT_BY_HYPOTHESIS))
def test_instances_are_accepted_and_mutants_only_where_valid(name: str) -> None:
    @tried("few", mostly_assumed_away=True)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        text = data.draw(instances(SCHEMAS[name]))
        # It takes unknown formats for free text and floats for decimals; sfgen writes a part of some formats only.
        if not oracle(name).fault(text) and '"format"' not in json.dumps(SCHEMAS[name]):
            assert constraint(name).accepts(text)
        held_against_the_oracle(name, data.draw(mutants(text)))

    check()


@pytest.mark.parametrize("name", sorted(BENCHMARK))
def test_values_of_the_benchmark_are_accepted(name: str) -> None:
    for text in texts(SCHEMAS[name], 50):
        assert constraint(name).accepts(text), text


@pytest.mark.parametrize("name", sorted(NOT_BY_HYPOTHESIS))
def test_mutants_of_what_is_written_are_accepted_only_where_valid(name: str) -> None:
    least = shortest_limit(name, tokens())
    of = [text_of(name, tokens(), seed, least + 30) for seed in range(20)]

    @tried("some", mostly_assumed_away=True)
    @given(st.sampled_from(of).flatmap(mutants))
    def check(text: str) -> None:
        held_against_the_oracle(name, text)

    check()


def held_against_the_oracle(name: str, text: str) -> None:
    if constraint(name).accepts(text):
        fault = oracle(name).fault(text)
        assert not fault, f"accepted: {text!r}: {fault}"


def test_the_oracle_can_say_no() -> None:
    judge = Oracle({"type": "number", "multipleOf": 0.01})
    assert judge.fault("19.99") == ""
    assert "multiple" in judge.fault("19.995")
    assert "occurs twice" in Oracle(True).fault('{"a": 1, "a": 2}')
    assert "NaN" in Oracle(True).fault("[NaN]")
    assert Oracle({"type": "string", "format": "date"}).fault('"2023-02-29"')


def test_long_chains_of_needed_objects() -> None:
    """Rules that need each other one after the other are no recursion of Python."""
    chain: dict[str, Any] = {
        f"a{number}": {
            "type": "object",
            "properties": {"a": {"$ref": f"#/$defs/a{number + 1}"}},
            "required": ["a"],
        }
        for number in range(1500)
    }
    schema = JsonSchema({"$ref": "#/$defs/a0", "$defs": {**chain, "a1500": {"type": "null"}}})
    text = schema.shortest()
    assert text == b'{"a": ' * 1500 + b"null" + b"}" * 1500
    assert schema.accepts(text)


def test_many_names_that_differ() -> None:
    schema = JsonSchema({"type": "object", "minProperties": 400})
    text = schema.shortest()
    assert len(json.loads(text)) == 400
    assert schema.accepts(text)
