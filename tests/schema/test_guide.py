"""What the guide of a schema says of its position, also after steps back and in forks."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from tests.support.models.vocabularies import byte_vocabulary

from sfgen import JsonSchema
from sfgen.protocols import Guide

BYTES = byte_vocabulary(b'{"', b'": ', b'", "', b'"}')
PERSON: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 9},
        "address": {
            "type": "object",
            "properties": {"street": {"type": "string"}, "tags": {"type": "array", "items": {"enum": ["a", "b"]}}},
            "required": ["tags"],
        },
        "on": {"type": ["boolean", "null"]},
    },
    "required": ["name"],
}


def guide_of(schema: Any, text: bytes = b"", **options: Any) -> Guide:
    guide = JsonSchema(schema, **options).guide(BYTES)
    guide.advance_bytes(text)
    return guide


@pytest.mark.parametrize(
    ("text", "described"),
    [
        (b"", "$: an object with name, address, on"),
        (b"{", '$: the name "name"'),
        (b'{"na', '$: the name "name"'),
        (b'{"name"', "$: a colon"),
        (b'{"name": ', "$.name: a string of at most 9 characters"),
        (b'{"name": "Ad', "$.name: a string of at most 9 characters"),
        (b'{"name": "\\', "$.name: a string of at most 9 characters"),
        (b'{"name": "\\"', "$.name: a string of at most 9 characters"),
        (b'{"name": "Ada"', "$: a comma or the end"),
        (b'{"name": "Ada", ', '$: the name "address" or "on"'),
        (b'{"name": "Ada", "o', '$: the name "on"'),
        (b'{"name": "Ada", "on": t', "$.on: null or true or false"),
        (b'{"name": "Ada", "on": true', "$.on: null or true or false"),
        (b'{"name": "Ada", "address": {', '$.address: the name "street" or "tags"'),
        (b'{"name": "Ada", "address": {"street": "', "$.address.street: a string"),
        (b'{"name": "Ada", "address": {"tags": [', '$.address.tags[0]: one of "a" or "b"'),
        (b'{"name": "Ada", "address": {"tags": ["a", "', '$.address.tags[1]: one of "a" or "b"'),
        (b'{"name": "Ada", "address": {"tags": ["a"]', "$.address: the end"),
        (b'{"name": "Ada"}', "$: nothing more"),
    ],
)
def test_where_the_text_stands(text: bytes, described: str) -> None:
    assert guide_of(PERSON, text).describe() == described


def test_names_that_are_no_words_and_properties_with_other_names() -> None:
    schema = {"type": "object", "properties": {"": {"type": "null"}}, "additionalProperties": {"type": "integer"}}
    assert guide_of(schema, b'{"": ').describe() == '$[""]: null'
    assert guide_of(schema, b'{"a b": ').describe() == '$["a b"]: an integer'
    assert guide_of(schema, b'{"a b": 1, ').describe() == "$: a name"


def test_of_a_union_the_branches_that_the_text_can_be_in() -> None:
    schema = {"anyOf": [{"type": "object", "properties": {"a": {"const": 1}}, "required": ["a"]}, {"type": "integer"}]}
    assert guide_of(schema).describe() == "$: an object with a or an integer"
    assert guide_of(schema, b"1").describe() == "$: an integer"
    assert guide_of(schema, b'{"a": ').describe() == "$.a: 1"


def test_recursion() -> None:
    schema = {"type": "object", "properties": {"next": {"$ref": "#"}}}
    assert guide_of(schema, b'{"next": {"next": ').describe() == "$.next.next: an object with next"


@pytest.mark.parametrize("seed", range(20))
def test_steps_back_and_forks_say_what_a_new_guide_says(seed: int) -> None:
    random = Random(seed)
    schema = JsonSchema(PERSON)
    guide, texts = schema.guide(BYTES), [b""]
    for _ in range(120):
        if random.random() < 0.25:
            count = random.randint(0, len(texts) - 1)
            guide.rollback(count)
            texts = texts[: len(texts) - count]
        elif guide.is_finished:
            guide.rollback(1)
            texts.pop()
        else:
            token = random.choice([token for token in guide.allowed_tokens().tolist() if token != 260] or [260])
            guide.advance(token)
            texts.append(texts[-1] + (BYTES.tokens[token] or b""))
        if random.random() < 0.3:
            fork = guide.fork()
            fork.rollback(random.randint(0, len(texts) - 1))
            fork.describe()
        if random.random() < 0.3:
            fresh = schema.guide(BYTES)
            fresh.advance_bytes(texts[-1])
            assert guide.describe() == fresh.describe(), texts[-1]


def test_an_end_token_changes_nothing() -> None:
    guide = guide_of(PERSON, b'{"name": "Ada"}')
    guide.advance(260)
    assert guide.describe() == "$: nothing more"
    guide.rollback(2)
    assert guide.describe() == "$: an object with name, address, on"
