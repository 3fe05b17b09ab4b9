"""``x-substring-of``: strings that stand in a document, beside all else that a schema says of a string."""

from __future__ import annotations

import json
import pickle
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from tests.support.running.tried import tried

import sfgen
from sfgen import BannedWords, GenerationConfig, Index, Job, JsonSchema, Sampler, SfgenError, Substring, job_records
from sfgen.errors import SchemaError, SchemaTooLarge, UsageError
from sfgen.schema.file import load, save

DOCUMENT = 'Ada said "hi"\\path\n😀 née\tx\x01\r\ny'
KEYWORD = "x-substring-of"
parts = st.sampled_from(
    [DOCUMENT[start:end] for start in range(len(DOCUMENT)) for end in range(start + 1, len(DOCUMENT) + 1)]
)
documents = st.text(st.sampled_from('ab"\\\n\r\t\x01\x7f/é😀\u2028'), min_size=1, max_size=8)
AROUND: list[dict[str, Any]] = [
    {},
    {"maxLength": 3},
    {"minLength": 2, "maxLength": 4},
    {"pattern": "^A|é"},
    {"not": {"enum": ["Ada", "é"]}},
    {"enum": ["Ada", "Bob", "hi"]},
    {"type": ["string", "integer"], "maximum": 3, "minimum": 1},
    {"anyOf": [{"pattern": "^A"}, {"maxLength": 1}]},
]


def is_valid(value: Any, around: dict[str, Any], document: str) -> bool:
    """By jsonschema and ``in``."""
    is_there = not isinstance(value, str) or (value != "" and value in document)
    return is_there and bool(Draft202012Validator({"type": "string", **around}).is_valid(value))


@pytest.mark.parametrize("around", AROUND, ids=str)
@tried("usual")
@given(parts | st.text('Aad né"\\\n', max_size=4) | st.integers(0, 4))
def test_what_is_written_and_what_is_valid(around: dict[str, Any], value: str | int) -> None:
    schema = JsonSchema({"type": "string", **around, KEYWORD: "doc"}, documents={"doc": DOCUMENT})
    text = json.dumps(value, ensure_ascii=False)
    valid = is_valid(value, around, DOCUMENT)
    assert schema.accepts(text) == (schema.validate(text) == []) == (schema.refusal(text.encode()) is None) == valid
    assert (schema.validate(json.dumps(value)) == []) == valid  # with escapes that are never written
    if isinstance(value, str) and value and value not in DOCUMENT:
        assert "must occur in the document doc" in " ".join(fault.expected for fault in schema.validate(text))


@tried("usual")
@given(documents, st.data())
def test_all_documents(document: str, data: st.DataObject) -> None:
    schema = JsonSchema({"properties": {"q": {KEYWORD: "d"}}, "required": ["q"]}, documents={"d": document})
    start = data.draw(st.integers(0, len(document) - 1))
    quoted = document[start : data.draw(st.integers(start + 1, len(document)))]
    other = data.draw(st.text('ab"\\\n', max_size=3))
    for text in (quoted, other):
        assert schema.accepts(f'{{"q": {json.dumps(text, ensure_ascii=False)}}}') == (text != "" and text in document)


@tried("handful")
@given(st.integers(0, 99), st.sampled_from([None, "Ada", "hi"]))
def test_whole_texts(seed: int, ban: str | None) -> None:
    schema = JsonSchema(
        {"type": "array", "items": {"type": "string", KEYWORD: "d", "maxLength": 5}, "minItems": 2, "maxItems": 3,
         "uniqueItems": True},
        documents={"d": Substring(DOCUMENT, "word")},
    )  # fmt: skip
    banned = None if ban is None else [ban]
    result = sfgen.generate("tiny", "Ada. ", index=schema, banned=banned, sampler=Sampler(1.0, seed), max_tokens=60)
    words = DOCUMENT.split()
    assert len(set(result.value)) == len(result.value) >= 2
    assert all(len(item) <= 5 and item in DOCUMENT and set(item.split()) <= set(words) for item in result.value)
    assert ban is None or not any(ban in item.split() for item in result.value)


@tried("handful")
@given(st.sampled_from(AROUND), parts, st.integers(0, 60))
def test_masks_of_a_large_document_are_those_of_a_small_one(around: dict[str, Any], quoted: str, room: int) -> None:
    vocabulary = sfgen.load_model("tiny").vocabulary

    def masks() -> list[list[int]]:
        written = {"properties": {"q": {"type": "string", **around, KEYWORD: "d"}}, "required": ["q"]}
        schema, found = JsonSchema(written, documents={"d": DOCUMENT}), list[list[int]]()
        for most in (None, 40 + room):
            guide = schema.guide(vocabulary, most)
            for byte in json.dumps({"q": quoted}, ensure_ascii=False).encode():
                found.append(guide.allowed_tokens().tolist())
                if vocabulary.tokens.index(bytes([byte])) not in found[-1]:
                    break
                guide.advance(vocabulary.tokens.index(bytes([byte])))
        return found

    usual = masks()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("sfgen.grammar.network.masks._LARGE", 1)
        patched.setattr("sfgen.grammar.network.masks._SPARSE", 1)
        assert masks() == usual


@pytest.mark.parametrize("around", [{}, {"maxLength": 100}, {"minLength": 3, "maxLength": 150}], ids=str)
def test_a_document_of_100_000_characters(around: dict[str, int]) -> None:
    chosen = random.Random(1)
    document = "".join(chosen.choices('abcdefghijklmnopqrstuvwxyz      .,\n"é', k=100_000))
    written = {"properties": {"q": {"type": "string", **around, KEYWORD: "d"}}, "required": ["q"]}
    schema = JsonSchema(written, documents={"d": document})
    guide = schema.guide(sfgen.load_model("tiny").vocabulary)
    assert guide.forced_bytes() == b'{"q": "'
    for _ in range(50):
        start = chosen.randrange(len(document) - 200)
        quoted = document[start : start + chosen.randrange(1, 200)]
        other = quoted + chosen.choice(document)
        for text in (quoted, other):
            fits = around.get("minLength", 1) <= len(text) <= around.get("maxLength", 1000)
            assert schema.accepts(json.dumps({"q": text}, ensure_ascii=False)) == (fits and text in document)


@pytest.mark.parametrize(
    ("schema", "documents", "kind", "said"),
    [
        ({KEYWORD: "d"}, None, SchemaError, "names the document 'd', which is not given at /x-substring-of"),
        ({"items": {KEYWORD: "e"}}, {"d": "a"}, SchemaError, "names the document 'e', which is not given at /items"),
        ({KEYWORD: 3}, {"d": "a"}, SchemaError, "must be the name of a document, not a number"),
        ({KEYWORD: None}, {"d": "a"}, SchemaError, "must be the name of a document, not null"),
        ({"not": {KEYWORD: "d"}}, {"d": "a"}, SchemaError, "not is not supported for x-substring-of"),
        ({KEYWORD: "d", "type": "string", "minLength": 2}, {"d": "a"}, SchemaError, ""),
        ({KEYWORD: "d", "type": "string"}, {"d": "a" * 20_000}, SchemaTooLarge, '"x-substring-of": the automaton of'),
        ({KEYWORD: "d"}, {"d": ""}, UsageError, "documents['d']: the document has no characters"),
        ({KEYWORD: "d"}, {"d": 3}, UsageError, "documents['d']: text must be"),
        ({KEYWORD: "d"}, {3: "a"}, UsageError, "a name in documents must be"),
        ({KEYWORD: "d"}, "text", UsageError, "documents must be"),
    ],
)
def test_what_is_refused(schema: Any, documents: Any, kind: type[SfgenError], said: str) -> None:
    with pytest.raises(kind) as caught:
        _ = JsonSchema(schema, documents=documents).compiled
    assert said in str(caught.value)


def test_it_travels_and_is_saved(tmp_path: Path) -> None:
    vocabulary = sfgen.load_model("tiny").vocabulary
    documents: dict[str, str | Substring] = {"doc": Substring(DOCUMENT, "word", 2), "other": "x"}
    schema = JsonSchema({"properties": {"q": {KEYWORD: "doc"}}, "required": ["q"]}, documents=documents)
    assert schema != JsonSchema({"properties": {"q": {KEYWORD: "doc"}}, "required": ["q"]}, documents={"doc": "x"})
    save(schema, vocabulary, tmp_path / "s")
    for again in (pickle.loads(pickle.dumps(schema)), load(tmp_path / "s", vocabulary)):
        assert again == schema
        assert again.documents == schema.documents
        assert again.accepts('{"q": "Ada said"}')
        assert not again.accepts('{"q": "Ada"}')
    clean = schema.without_banned(BannedWords(["said"]))
    assert clean is not None
    assert not clean.accepts('{"q": "Ada said"}')
    assert Index(clean, vocabulary).guide().allowed_tokens().size


def test_records_with_schemas_of_their_own_quote_from_the_documents_of_all() -> None:
    usual = JsonSchema({"type": "string", KEYWORD: "doc"}, documents={"doc": DOCUMENT})
    own = {"prompt": "x", "sfgen": {"schema": {"properties": {"q": {KEYWORD: "doc"}}, "required": ["q"]}}}
    first, second = job_records(Job("tiny", GenerationConfig(index=usual, max_tokens=30)), ["x", own])
    assert first["value"] in DOCUMENT
    assert second["value"]["q"] in DOCUMENT


def test_a_note_tells_of_a_document_that_no_string_is_quoted_from() -> None:
    quoting = {"type": "object", "properties": {"a": {"type": "string", KEYWORD: "doc"}}, "required": ["a"]}
    assert JsonSchema(quoting, documents={"doc": DOCUMENT}).notes == ()
    (note,) = JsonSchema(quoting, documents={"doc": DOCUMENT, "other": "x"}).notes
    assert note == f"The document 'other' is not used: no \"{KEYWORD}\" names it."
    assert len(JsonSchema("name", documents={"doc": DOCUMENT, "other": "x"}).notes) == 2
