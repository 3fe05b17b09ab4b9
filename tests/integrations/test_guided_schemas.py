"""Texts that ``generate`` writes under a JSON Schema are valid by it: the package jsonschema is asked of every one.

What the processor allows is compared with a guide that reads the tokens of the row from scratch, of a schema that was
compiled anew.
"""

from __future__ import annotations

import functools
from itertools import product
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.schema_oracle import Oracle
from tests.support.models.generated import END, OTHER_END, json_vocabulary, prompts, small_model, written
from tests.support.running.tried import some_of, tried
from tests.support.schemas.combined import combined_schemas
from tests.support.schemas.named import INTEGER, STRING, a_list, an_object

from sfgen import BannedWords, Index, JsonSchema
from sfgen.ban import scan
from sfgen.errors import BannedWordsError, LimitTooSmall, SfgenError, UsageError
from sfgen.integrations.transformers import GuidedLogitsProcessor

VOCABULARY = json_vocabulary()
ENDS = [END, OTHER_END]
PROMPTS = [b"a", b'a list: [1, {"', b"", b"12 names and "]  # of different lengths: three rows are padded
LIMIT = 60

_NODE = an_object({"value": INTEGER, "children": a_list({"$ref": "#/$defs/node"}, maxItems=2)}, ["value", "children"])
SCHEMAS: dict[str, Any] = {
    "a record": an_object(
        {"name": {**STRING, "minLength": 1, "maxLength": 9}, "age": {**INTEGER, "minimum": 10, "maximum": 150}}
    ),
    "recursion": {"$ref": "#/$defs/node", "$defs": {"node": _NODE}},
    "lists of lists": {"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [INTEGER, a_list({"$ref": "#/$defs/a"})]}}},
    "a counter of characters": {**STRING, "minLength": 30, "maxLength": 300},
    "a counter of items": a_list({"enum": [1, 25]}, minItems=18, maxItems=200),
    "different items": a_list({"enum": ["na", "name", 10, None, True]}, uniqueItems=True, minItems=3),
    "different strings": a_list({**STRING, "maxLength": 3}, uniqueItems=True, minItems=2, maxItems=4),
    "different names": {"type": "object", "additionalProperties": INTEGER, "minProperties": 2, "maxProperties": 3},
    "a pattern and a format": an_object(
        {"id": {**STRING, "pattern": "^[A-Z]{2}-[0-9]+$"}, "on": {**STRING, "format": "date"}}
    ),
    "a union": {"oneOf": [STRING, an_object({"k": {"const": "é 聊"}}), a_list({"type": "null"}, minItems=1)]},
}  # fmt: skip
WAYS: dict[str, dict[str, Any]] = {
    "greedy": {},
    "sampling": {"do_sample": True, "num_return_sequences": 3},
    "beams": {"num_beams": 4, "num_return_sequences": 4},
    "beams that are drawn": {"num_beams": 3, "num_return_sequences": 2, "do_sample": True},
}


@functools.cache
def model(architecture: str = "llama") -> Any:
    return small_model(architecture, vocab_size=len(VOCABULARY), max_position_embeddings=256)


class Recorded:
    """A processor, and what it was given and gave back, call by call."""

    def __init__(self, schema: Any, limit: int | None = LIMIT, **options: Any) -> None:
        index = Index(JsonSchema(schema), VOCABULARY)
        self._processor = GuidedLogitsProcessor(index, max_tokens=limit, **options)
        self.calls: list[tuple[list[list[int]], torch.Tensor]] = []

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        masked = self._processor(input_ids, scores)
        self.calls.append((input_ids.tolist(), masked.clone()))
        return masked


def generate(processor: Any, texts: list[bytes], model: Any, **options: Any) -> list[str]:
    inputs = prompts(VOCABULARY, texts, padding=options.pop("padding", "left"))
    torch.manual_seed(options.pop("seed", 0))
    options = {"do_sample": False, "max_new_tokens": LIMIT, **options}
    ids = model.generate(**inputs, logits_processor=[processor], **options)
    return [text.decode() for text in written(VOCABULARY, ids, inputs["input_ids"].shape[1])]


def allowed_from_scratch(index: Index, limit: int | None, tokens: list[int]) -> list[int]:
    """What may follow some tokens, by a new guide that reads them; an end behind an end or what is not allowed."""
    guide = index.guide(limit)
    for token in tokens:
        if guide.is_finished:
            return ENDS
        try:
            guide.advance(token)
        except UsageError:
            return ENDS
    return ENDS if guide.is_finished else guide.allowed_tokens().tolist()


@pytest.mark.parametrize(("name", "way"), some_of(product(SCHEMAS, WAYS), 14))
def test_every_text_is_valid_and_every_mask_that_of_a_guide_from_scratch(name: str, way: str) -> None:
    schema, oracle = SCHEMAS[name], Oracle(SCHEMAS[name])
    processor = Recorded(schema)
    texts = generate(processor, PROMPTS, model(), **WAYS[way])
    assert len(texts) == len(PROMPTS) * WAYS[way].get("num_return_sequences", 1)
    assert [(text, oracle.fault(text)) for text in texts if oracle.fault(text)] == []
    if way == "sampling":
        assert len(set(texts)) > 3

    fresh = Index(JsonSchema(schema), VOCABULARY)
    start = len(processor.calls[0][0][0])
    expected: dict[tuple[int, ...], list[int]] = {}
    for ids, masked in processor.calls:
        for row, scores in zip(ids, masked, strict=True):
            tokens = tuple(row[start:])
            if tokens not in expected:
                expected[tokens] = allowed_from_scratch(fresh, LIMIT, list(tokens))
            assert torch.isfinite(scores).nonzero()[:, 0].tolist() == expected[tokens], tokens
    assert len(expected) > len(PROMPTS)


def test_beams_change_places() -> None:
    """The cases above mean nothing for beams if every beam stays in its row."""
    processor = Recorded(SCHEMAS["recursion"])
    generate(processor, PROMPTS, model(), **WAYS["beams"])
    moved = 0
    for (before, _), (after, _) in zip(processor.calls, processor.calls[1:], strict=False):
        moved += sum(row[:-1] != old for row, old in zip(after, before, strict=True))
    assert moved > 10


@pytest.mark.parametrize("padding", ["left", "right"])
def test_padding_on_either_side(padding: str) -> None:
    for name in ("recursion", "different items"):
        texts = generate(Recorded(SCHEMAS[name]), PROMPTS, model(), padding=padding, **WAYS["sampling"])
        assert [text for text in texts if Oracle(SCHEMAS[name]).fault(text)] == []


@pytest.mark.parametrize("architecture", ["gpt2", "mamba"])
def test_architectures(architecture: str) -> None:
    size = {"n_positions": 256} if architecture == "gpt2" else {}
    other = small_model(architecture, vocab_size=len(VOCABULARY), **size)
    for name in ("recursion", "a counter of items"):
        texts = generate(Recorded(SCHEMAS[name]), PROMPTS, other, **WAYS["sampling"])
        assert [text for text in texts if Oracle(SCHEMAS[name]).fault(text)] == []


@pytest.mark.parametrize("name", some_of(SCHEMAS, 4))
def test_a_text_is_complete_within_the_least_limit_that_it_can_have(name: str) -> None:
    schema = JsonSchema(SCHEMAS[name])
    least = schema.guide(VOCABULARY).tokens_left()
    with pytest.raises(LimitTooSmall):
        Recorded(SCHEMAS[name], limit=least - 1)
    for limit in (least, least + 1, least + 4):
        for way in ("sampling", "beams"):
            texts = generate(Recorded(SCHEMAS[name], limit), PROMPTS, model(), **{**WAYS[way], "max_new_tokens": limit})
            assert [text for text in texts if text and Oracle(SCHEMAS[name]).fault(text)] == []
            assert all(texts[:: int(WAYS[way]["num_return_sequences"])])  # the best beam is never an empty row


def test_without_a_limit_the_end_token_ends_the_text() -> None:
    name = "a record"
    texts = generate(Recorded(SCHEMAS[name], None), PROMPTS, model(), **{**WAYS["sampling"], "max_new_tokens": 200})
    assert [text for text in texts if Oracle(SCHEMAS[name]).fault(text)] == []


def test_one_processor_for_call_after_call() -> None:
    oracle, processor = Oracle(SCHEMAS["recursion"]), Recorded(SCHEMAS["recursion"])
    for number, texts in enumerate((PROMPTS, PROMPTS[:1], PROMPTS[::-1], [b"a", b"a"])):
        for way in WAYS.values():
            assert not any(map(oracle.fault, generate(processor, texts, model(), seed=number, **way)))


@pytest.mark.parametrize("way", ["sampling", "beams"])
def test_strings_without_the_banned_words(way: str) -> None:
    schema = an_object({"a": {"enum": ["na", "name", "ab", "ing", "in g"]}, "b": {**STRING, "maxLength": 4}})
    banned = BannedWords(["na", "ing", "x"])
    texts = generate(Recorded(schema, banned=banned), PROMPTS, model(), **WAYS[way])
    for text in texts:
        value = JsonSchema(schema).value(text)
        assert value["a"] in ("name", "ab", "in g")
        assert scan(value["b"], banned) == []
    with pytest.raises(BannedWordsError):
        generate(Recorded({"const": "na"}, banned=banned), PROMPTS, model())


@tried("few")
@given(
    combined_schemas(),
    st.lists(st.sampled_from(PROMPTS), min_size=1, max_size=3),
    st.sampled_from(list(WAYS)),
    st.integers(0, 9),
)
def test_random_schemas(schema: Any, texts: list[bytes], way: str, more: int) -> None:
    try:
        constraint = JsonSchema(schema)
        limit = max(1, constraint.guide(VOCABULARY).tokens_left() + more)
    except SfgenError:
        return  # nothing can be written by it, or not with these tokens
    if limit > 120:
        return
    found = generate(Recorded(schema, limit), texts, model(), **{**WAYS[way], "max_new_tokens": limit})
    assert [text for text in found if text and Oracle(schema).fault(text)] == []
