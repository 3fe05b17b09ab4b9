"""Saved schemas come back as they were, and a file that is damaged or made up is refused."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from sfgen import JsonSchema, Vocabulary
from sfgen.errors import IndexFileError, SfgenError
from sfgen.schema.file import load, save, saved_schema

VOCABULARY = Vocabulary([b"a", b"b", None], end_token_ids=[2])
SCHEMA = '{"type": "number", "multipleOf": 0.10, "title": "é\\u0000"}'


@pytest.mark.parametrize(
    ("schema", "options"),
    [
        (SCHEMA, {}),
        ("name, age int", {"indent": 2, "require_all": True}),
        (True, {"spacing": "any", "extra_properties": True}),
        ({"enum": [1, 1.5, None, "x" * 1000]}, {"spacing": "compact"}),
    ],
)
def test_a_schema_comes_back(tmp_path: Path, schema: Any, options: dict[str, Any]) -> None:
    before = JsonSchema(schema, **options)
    path = tmp_path / "schema"
    save(before, VOCABULARY, path)
    assert load(path, VOCABULARY) == before == saved_schema(path)
    save(before, VOCABULARY, path)  # the same once more
    with pytest.raises(IndexFileError, match="holds something else"):
        save(JsonSchema("other"), VOCABULARY, path)
    save(JsonSchema("other"), VOCABULARY, path, force=True)
    assert saved_schema(path) == JsonSchema("other")


def test_another_vocabulary_is_refused(tmp_path: Path) -> None:
    save(JsonSchema(SCHEMA), VOCABULARY, tmp_path / "schema")
    with pytest.raises(IndexFileError, match="made for another vocabulary"):
        load(tmp_path / "schema", Vocabulary([b"a", None], end_token_ids=[1]))


def test_another_file_is_no_schema(tmp_path: Path) -> None:
    for content in (b"", b"text", b"\0" * 100, SCHEMA.encode()):
        (tmp_path / "other").write_bytes(content)
        assert saved_schema(tmp_path / "other") is None
        with pytest.raises(IndexFileError, match="not a schema that sfgen saved"):
            load(tmp_path / "other", VOCABULARY)


def test_every_change_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "schema"
    save(JsonSchema(SCHEMA), VOCABULARY, path)
    data = path.read_bytes()
    random = Random(0)
    flipped = [
        data[:place] + bytes([byte ^ random.randint(1, 255)]) + data[place + 1 :] for place, byte in enumerate(data)
    ]
    refused = 0
    for changed in [*flipped, *(data[:end] for end in range(len(data))), data + b" "]:
        path.write_bytes(changed)
        try:
            found = saved_schema(path)
        except IndexFileError:
            refused += 1
        else:
            assert found is None, changed
    assert refused > len(data)


@pytest.mark.parametrize(
    "changes",
    [
        {"schema": "/etc/passwd"},
        {"schema": "name"},
        {"schema": "{"},
        {"schema": '{"type": "strin"}'},
        {"schema": '{"$ref": "file:///etc/passwd"}'},
        {"schema": "[" * 100_000},
        {"options": "[]"},
        {"options": "{"},
        {"options": '{"indent": "2"}'},
        {"options": '{"nonsense": 1}'},
        {"options": '{"schema": true}'},
        {"vocabulary_fingerprint": "no"},
        {"tokens": "-1"},
        {"format": "sfgen-schema-2"},
        {"more": "1"},
    ],
    ids=str,
)
def test_a_file_that_somebody_made_up(tmp_path: Path, changes: dict[str, str]) -> None:
    """Its checksum is right; what it says is not."""
    from sfgen.index import saved_text

    path = tmp_path / "schema"
    save(JsonSchema(SCHEMA), VOCABULARY, path)
    metadata = json.loads(path.read_bytes()[8:])["__metadata__"] | changes
    metadata["checksum"] = saved_text.digest(metadata)
    path.write_bytes(saved_text.encode_header(metadata))
    with pytest.raises(SfgenError):
        load(path, VOCABULARY)
