from __future__ import annotations

from typing import Any

import pytest

from sfgen.schema.reading.keywords import URIS, Draft, draft_of_uri, guessed_draft
from sfgen.schema.reading.read import read_schema

LATEST = Draft.DRAFT_2020_12


@pytest.mark.parametrize("draft", Draft)
def test_a_draft_is_named_with_or_without_a_fragment_and_by_either_scheme(draft: Draft) -> None:
    bare = URIS[draft].rstrip("#").partition("://")[2]
    for scheme in ("http", "https"):
        for end in ("", "#", "/"):
            assert draft_of_uri(f"{scheme}://{bare}{end}") is draft
    document = read_schema({"$schema": URIS[draft], "definitions": {}})
    assert (document.draft, document.notes) == (draft, ())


def test_an_unknown_draft_is_told_and_read_as_the_latest() -> None:
    for uri in ("http://json-schema.org/draft-03/schema#", "http://example.com/schema", "", "draft-07"):
        assert draft_of_uri(uri) is None
        document = read_schema({"$schema": uri, "type": "string"})
        assert document.draft is LATEST
        assert document.notes == (f'"$schema" names {uri}, which is not known: read as draft 2020-12',)


@pytest.mark.parametrize(
    ("schema", "draft"),
    [
        (True, LATEST),
        ({}, LATEST),
        ({"type": "object", "properties": {"a": {"const": 1}}}, LATEST),
        ({"minimum": 1, "exclusiveMinimum": True}, Draft.DRAFT_04),
        ({"properties": {"a": {"maximum": 1, "exclusiveMaximum": False}}}, Draft.DRAFT_04),
        ({"id": "http://example.com/a#", "type": "object"}, Draft.DRAFT_04),
        ({"properties": {"id": {"type": "string"}}}, LATEST),
        ({"id": "a name"}, LATEST),
        ({"minimum": 1, "exclusiveMinimum": 1}, LATEST),
        ({"items": [{}, {}]}, Draft.DRAFT_07),
        ({"items": {"items": [{}]}}, Draft.DRAFT_07),
        ({"additionalItems": False}, Draft.DRAFT_07),
        ({"dependencies": {"a": ["b"]}}, Draft.DRAFT_07),
        ({"properties": {"dependencies": {"type": "object"}}}, LATEST),
        ({"enum": [{"dependencies": 1, "exclusiveMinimum": True}]}, LATEST),
        ({"default": {"exclusiveMinimum": True}, "const": {"items": [1]}}, LATEST),
        ({"definitions": {"a": {}}}, LATEST),
        ({"definitions": {"a": {"items": [{}]}}}, Draft.DRAFT_07),
        ({"$defs": {"a": {}}, "dependencies": {}}, LATEST),
        ({"$defs": {"a": {"items": [{}]}}}, Draft.DRAFT_2019_09),
        ({"$recursiveRef": "#"}, Draft.DRAFT_2019_09),
        ({"prefixItems": [{}], "dependencies": {}}, LATEST),
    ],
)
def test_the_keywords_tell_the_draft_where_nothing_names_it(schema: Any, draft: Draft) -> None:
    assert guessed_draft(schema) is draft


@pytest.mark.parametrize(
    ("schema", "note"),
    [
        (
            {"$defs": {"a": {}}, "dependencies": {"a": ["b"]}},
            'without effect in draft 2020-12 (write dependentRequired or dependentSchemas): "dependencies", at the top',
        ),
        (
            {"properties": {"a": {"nullable": True}}},
            'from OpenAPI, and without effect as there is no "type" beside it: "nullable", at /properties/a',
        ),
        ({"topic": "a", "not": {"topic": "b"}}, 'not a keyword of draft 2020-12, ignored: "topic", at the top, /not'),
        (
            {"propertys": {}, "not": {"propertys": {}}},
            'not a keyword of draft 2020-12, ignored (did you mean "properties"?): "propertys", at the top, /not',
        ),
        (
            {"min_length": 1},
            'not a keyword of draft 2020-12, ignored (did you mean "minLength"?): "min_length", at the top',
        ),
        (
            {"$defs": {}, "additionalItems": {}},
            'not a keyword of draft 2020-12, ignored: "additionalItems", at the top',
        ),
        (
            {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6},
            'not a keyword of draft 2020-12, ignored: "a", "b", "c", "d", "e" and 1 more, at the top',
        ),
        (
            {"$schema": URIS[Draft.DRAFT_07], "$ref": "#/definitions/a", "minLength": 3, "definitions": {"a": {}}},
            'without effect beside "$ref" in draft 07: "minLength", at the top',
        ),
        (
            {"properties": {"a": {"$schema": URIS[Draft.DRAFT_04]}}},
            'another draft than draft 2020-12, which is used for the whole schema: "$schema", at /properties/a',
        ),
    ],
)
def test_what_counts_for_nothing_is_noted_once(schema: Any, note: str) -> None:
    assert read_schema(schema).notes == (note,)


def test_what_is_usual_is_not_noted() -> None:
    schema = {
        "$schema": URIS[Draft.DRAFT_07],
        "$id": "http://example.com/a",
        "$comment": "a",
        "title": "a",
        "description": "a",
        "x-order": 1,
        "properties": {"anything": {"$ref": "#/definitions/a", "description": "a"}},
        "definitions": {"a": {"enum": [{"nullable": 1}], "default": {"unknown": 1}}},
    }
    assert read_schema(schema).notes == ()
