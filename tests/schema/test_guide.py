"""What the guide of a schema says of its position, also after steps back and in forks."""

from __future__ import annotations

import gc
import json
import weakref
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.models.vocabularies import byte_vocabulary

from sfgen import JsonSchema
from sfgen.protocols import Guide
from sfgen.schema.inspection.position import START, Expects, JsonPosition, Way

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


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-99, 99)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)

Place = tuple[Way, Expects]


def places(value: Any, way: Way, comma: bytes, colon: bytes, *, ascii_only: bool) -> list[tuple[int, Place]]:
    """The bytes of a value, each with where the text stands before it is read."""

    def text_of(part: Any) -> bytes:
        return json.dumps(part, ensure_ascii=ascii_only).encode()

    def at(data: bytes, way: Way, expects: Expects) -> list[tuple[int, Place]]:
        return [(byte, (way, expects)) for byte in data]

    if isinstance(value, list):
        found = at(b"[", way, Expects.VALUE)
        for number, item in enumerate(value):
            inside = places(item, (*way, number), comma, colon, ascii_only=ascii_only)
            if number == 0:
                inside[0] = inside[0][0], ((*way, 0), Expects.FIRST)
            else:
                found += at(comma[:1], way, Expects.MORE) + at(comma[1:], (*way, number), Expects.VALUE)
            found += inside
        return found + (at(b"]", way, Expects.MORE) if value else at(b"]", (*way, 0), Expects.FIRST))
    if isinstance(value, dict):
        found = at(b"{", way, Expects.VALUE)
        for number, (name, item) in enumerate(value.items()):
            if number:
                found += at(comma[:1], way, Expects.MORE) + at(comma[1:], way, Expects.NAME)
            found += at(text_of(name), way, Expects.NAME)
            found += at(colon[:1], way, Expects.COLON) + at(colon[1:], (*way, name), Expects.VALUE)
            found += places(item, (*way, name), comma, colon, ascii_only=ascii_only)
        return found + at(b"}", way, Expects.MORE if value else Expects.NAME)
    return at(text_of(value), way, Expects.VALUE)


@given(VALUES, st.booleans(), st.booleans(), st.randoms(use_true_random=False))
def test_every_prefix_stands_where_the_writer_was(value: Any, compact: bool, ascii_only: bool, random: Any) -> None:
    comma, colon = (b",", b":") if compact else (b", ", b": ")
    written = places(value, (), comma, colon, ascii_only=ascii_only)
    data = bytes(byte for byte, _ in written)
    assert json.loads(data) == value
    position = START
    for number, (byte, (way, expects)) in enumerate(written):
        if position.token and not position.token.startswith(b'"') and expects is not Expects.VALUE:
            # A number or a word ends with what comes behind it.
            assert position.expects is Expects.VALUE
        elif position.expects is not Expects.FIRST or expects is Expects.FIRST:
            assert (position.way, position.expects) == (way, expects), data[:number]
        assert not position.is_whole
        position = position.read(bytes([byte]))
    in_pieces, start = START, 0
    while start < len(data):
        end = random.randint(start + 1, len(data))
        in_pieces = in_pieces.read(data[start:end])
        start = end
    assert in_pieces == position == START.read(data)
    if isinstance(value, str | list | dict):
        assert position.is_whole


def test_a_quote_in_an_escape_ends_nothing() -> None:
    position = START.read(b'{"a\\"b": "x\\\\')
    assert position.way == ('a"b',)
    assert position.read(b'"').expects is Expects.MORE
    assert START.read(b'["\\').read(b'"').expects is Expects.VALUE


def test_the_names_that_are_whole_are_known() -> None:
    assert START.read(b'{"a": 1').names == ()
    assert START.read(b'{"a": "1"').names == ("a",)
    assert START.read(b'{"a": 1, "').names == ("a",)
    assert START.read(b'{"a": {"b": 2}, "c": [').names == ()
    assert START.read(b'{"a": {"b": 2}, "c": []').names == ("a", "c")
    assert JsonPosition().names == ()


def test_a_schema_leaves_nothing_to_the_collector() -> None:
    """What was made of it is freed with it: a process that compiles many collects seldom."""
    one_of = {"oneOf": [{"required": ["name"]}, {"required": ["on"], "not": {"required": ["address"]}}]}
    schema = JsonSchema({**PERSON, **one_of}, order="any", extra_properties=True)
    guide = schema.guide(BYTES)
    guide.mask()
    held = [weakref.ref(each) for each in (schema, schema.network, schema.document)]
    gc.collect()
    gc.disable()
    try:
        del schema, guide
        assert not any(each() for each in held)
    finally:
        gc.enable()
