"""Schemas that refer to other documents: files of a directory, and the metaschemas."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import referencing
import referencing.jsonschema
from hypothesis import given
from hypothesis import strategies as st
from tests.support.grammars.rule_texts import RuleTexts
from tests.support.running.tried import tried
from tests.support.schemas.combined import VALUES, combined_schemas

from sfgen import JsonSchema
from sfgen.errors import InputError, SchemaError, SchemaTooLarge
from sfgen.models import load_vocabulary
from sfgen.schema.file import load, save
from sfgen.schema.reading.keywords import URIS, Draft
from sfgen.schema.reading.other_documents import OtherDocuments
from sfgen.schema.reading.read import read_schema


def put(folder: Path, **documents: Any) -> Path:
    """Write files: ``__`` in a name stands for the dot, ``_in_`` for a slash."""
    for name, document in documents.items():
        file = folder / name.replace("__", ".").replace("_in_", "/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(document if isinstance(document, str) else json.dumps(document))
    return folder


def accepts(schema: Any, folder: Any, *values: Any) -> list[bool]:
    """Whether values are written and valid, which must be the same."""
    constraint = JsonSchema(schema, schema_dir=folder)
    written = [constraint.accepts(json.dumps(value)) for value in values]
    assert written == [not constraint.validate(json.dumps(value)) for value in values]
    return written


# ---- which document is meant ----------------------------------------------------------------------------------------


def test_a_file_is_found_by_its_path(tmp_path: Path) -> None:
    put(tmp_path, sub_in_a__json={"items": {"$ref": "b.json#/$defs/x"}, "type": "array"}, sub_in_b__json={})
    put(tmp_path, sub_in_b__json={"$defs": {"x": {"$ref": "../c%20d.json"}}})
    (tmp_path / "c d.json").write_text('{"type": "integer"}')
    for reference in ("sub/a.json", "./sub/../sub/a.json#", "sub/a.json#/"[:-1], "/sub/a.json"):
        assert accepts({"$ref": reference}, tmp_path, [1], ["a"], 1) == [True, False, False]


def test_a_root_from_the_directory_is_read_from_its_place(tmp_path: Path) -> None:
    put(tmp_path, sub_in_root__json={"$ref": "a.json"}, sub_in_a__json={"const": 1}, a__json={"const": 2})
    assert accepts(tmp_path / "sub" / "root.json", tmp_path, 1, 2) == [True, False]
    assert accepts({"$ref": "a.json"}, tmp_path, 1, 2) == [False, True]
    text = (tmp_path / "sub" / "root.json").read_text()
    assert accepts(text, tmp_path, 1, 2) == [False, True]


def test_a_file_is_found_by_its_identifier(tmp_path: Path) -> None:
    inner = {"$id": "inner", "const": 3}
    put(tmp_path, x__json={"$id": "https://example.com/s/a#", "const": 1, "$defs": {"k": {"const": 2}, "i": inner}})
    put(tmp_path, broken__json='{"$id": ', list__json="[]", number__json='{"$id": 3}')
    assert accepts({"$ref": "https://example.com/s/a"}, tmp_path, 1, 2) == [True, False]
    assert accepts({"$ref": "https://example.com/s/a#/$defs/k"}, tmp_path, 1, 2) == [False, True]
    assert accepts({"$id": "https://example.com/s/root", "$ref": "a"}, tmp_path, 1, 2) == [True, False]
    assert accepts({"$ref": "x.json"}, tmp_path, 1, 2) == [True, False]
    together = {"anyOf": [{"$ref": "x.json"}, {"$ref": "https://example.com/s/inner"}]}
    assert accepts(together, tmp_path, 1, 2, 3) == [True, False, True]


def test_a_path_is_read_from_the_file_where_the_identifiers_lead_nowhere(tmp_path: Path) -> None:
    put(tmp_path, sub_in_a__json={"$id": "https://example.com/a", "type": "array", "items": {"$ref": "b.json"}})
    put(tmp_path, sub_in_b__json={"const": 1})
    assert accepts({"$id": "urn:a:b", "$ref": "sub/a.json"}, tmp_path, [1], [2]) == [True, False]
    put(tmp_path, other__json={"$id": "https://example.com/b.json", "const": 2})
    for references in (["sub/b.json", "sub/a.json"], ["sub/a.json", "sub/b.json"]):
        schema = {"anyOf": [{"$ref": reference} for reference in references]}
        assert accepts(schema, tmp_path, [1], [2], 1, 2) == [False, True, True, False]


def test_a_directory_may_be_at_a_url(tmp_path: Path) -> None:
    put(tmp_path, sub_in_a__json={"$ref": "../b.json"}, b__json={"const": 1})
    for url in ("https://example.com/x", "https://example.com/x/"):
        schema = {"$ref": "https://example.com/x/sub/a.json"}
        assert accepts(schema, f"{url}={tmp_path}", 1, 2) == [True, False]
        assert accepts({"$ref": "sub/a.json"}, f"{url}={tmp_path}", 1, 2) == [True, False]
    with pytest.raises(SchemaError, match="no file in"):
        read_schema({"$ref": "https://example.com/x/sub/a.json"}, tmp_path)


def test_files_that_refer_to_one_another_and_back_to_the_root(tmp_path: Path) -> None:
    put(tmp_path, root__json={"type": "object", "properties": {"a": {"$ref": "a.json"}}, "additionalProperties": False})
    put(tmp_path, a__json={"type": "array", "items": {"$ref": "root.json"}})
    values = [{}, {"a": []}, {"a": [{"a": [{}]}]}, {"a": [{"a": {}}]}, {"a": [1]}]
    assert accepts(tmp_path / "root.json", tmp_path, *values) == [True, True, True, False, False]


@pytest.mark.parametrize("draft", Draft)
def test_any_draft_and_any_root(tmp_path: Path, draft: Draft) -> None:
    """A document that is a boolean, or a reference beside which an identifier would not count."""
    word = "definitions" if draft <= Draft.DRAFT_07 else "$defs"
    name = "id" if draft is Draft.DRAFT_04 else "$id"
    put(tmp_path, true__json="true", false__json="false")
    put(tmp_path, a__json={"$schema": URIS[draft], "$ref": f"#/{word}/x", word: {"x": {"enum": [1, [1]]}}, "x-y": {}})
    put(tmp_path, b__json={name: "http://example.com/b", "enum": [2]})
    put(tmp_path, c__json={name: "other", "items": {"$ref": f"a.json#/{word}/x"}, "type": "array"})
    schema = {"anyOf": [{"$ref": "a.json"}, {"$ref": "http://example.com/b"}, {"$ref": "c.json"}]}
    assert accepts({"$schema": URIS[draft], **schema}, tmp_path, 1, 2, [1], 3, [2]) == [True, True, True, False, False]
    if draft > Draft.DRAFT_04:
        assert accepts({"$schema": URIS[draft], "items": {"$ref": "false.json"}}, tmp_path, [], [1]) == [True, False]
        assert accepts({"$schema": URIS[draft], "items": {"$ref": "true.json"}}, tmp_path, [], [1]) == [True, True]


def test_names_in_the_schema_are_kept(tmp_path: Path) -> None:
    put(tmp_path, a__json={"const": 1})
    schema = {"$defs": {"a.json": {"const": 2}}, "anyOf": [{"$ref": "a.json"}, {"$ref": "#/$defs/a.json"}]}
    assert accepts(schema, tmp_path, 1, 2, 3) == [True, True, False]


# ---- what is not read -----------------------------------------------------------------------------------------------


def test_nothing_outside_of_the_directory_is_read(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", put(tmp_path / "out", secret__json={"const": 1, "$id": "http://e.com/secret"})
    put(inside, a__json={"const": 1})
    os.symlink(outside / "secret.json", inside / "link.json")
    os.symlink(outside, inside / "folder")
    os.symlink(inside / "a.json", inside / "good.json")
    for reference in ("link.json", "folder/secret.json", "../out/secret.json", "%2e%2e/out/secret.json"):
        with pytest.raises(SchemaError, match="no file in") as caught:
            read_schema({"$ref": reference}, inside)
        assert caught.value.hint
    with pytest.raises(SchemaError, match="no file in"):
        read_schema({"$ref": "http://e.com/secret"}, inside)
    with pytest.raises(SchemaError) as caught:
        read_schema({"$ref": "link.json"}, inside)
    assert "a symbolic link to a file outside" in caught.value.hint
    assert accepts({"$ref": "good.json"}, inside, 1, 2) == [True, False]


def test_only_what_is_referred_to_must_be_right(tmp_path: Path) -> None:
    put(tmp_path, a__json={"const": 1}, broken__json="{", wrong__json={"type": 3}, text__txt="{}")
    assert accepts({"$ref": "a.json", "$defs": {"b": {"$ref": "broken.json"}}}, tmp_path, 1) == [True]
    with pytest.raises(SchemaError, match=r"broken\.json, line 1, column 2: not valid JSON"):
        read_schema({"$ref": "broken.json"}, tmp_path)
    with pytest.raises(SchemaError, match=r"wrong\.json, line 1, column 10: .* at /type"):
        read_schema({"$ref": "wrong.json"}, tmp_path)
    with pytest.raises(SchemaError, match="no file in"):
        read_schema({"$ref": "text.txt"}, tmp_path)
    put(tmp_path, no_uri__json={"$id": "http://[a"})
    with pytest.raises(SchemaError, match=r'no_uri\.json, line 1, column 1: "http://\[a" is not a URI'):
        read_schema({"$ref": "no_uri.json"}, tmp_path)
    with pytest.raises(SchemaError, match="no file in"):
        read_schema({"$ref": "http://e.com/a"}, tmp_path)
    with pytest.raises(SchemaError) as caught:
        read_schema({"$ref": "brokn.json"}, tmp_path)
    assert caught.value.hint == "Did you mean broken.json?"


def test_errors_and_notes_name_the_file(tmp_path: Path) -> None:
    put(tmp_path, a__json={"items": {"titel": 1, "not": {"format": "email"}}})
    constraint = JsonSchema({"$ref": "a.json"}, schema_dir=tmp_path)
    with pytest.raises(SchemaError, match=r"a\.json, line 1, column \d+: not is not supported for format") as caught:
        _ = constraint.compiled
    assert caught.value.pointer == "/items/not"
    assert any("titel" in note and f"/items of {tmp_path / 'a.json'}" in note for note in constraint.document.notes)


def test_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, a__json={"$id": "http://e.com/a"}, b__json={"$id": "http://e.com/a"})
    with pytest.raises(SchemaError, match=r"is the identifier of a\.json and of b\.json"):
        read_schema({"$ref": "http://e.com/a"}, tmp_path)
    monkeypatch.setattr("sfgen.schema.reading.other_documents.MAX_TOTAL_BYTES", 3)
    with pytest.raises(SchemaTooLarge, match="3 bytes together"):
        read_schema({"$ref": "http://e.com/a"}, tmp_path)
    monkeypatch.setattr("sfgen.schema.reading.other_documents.MAX_FILES", 1)
    with pytest.raises(SchemaTooLarge, match="more than 1 files"):
        read_schema({"$ref": "http://e.com/a"}, tmp_path)
    assert read_schema({"$ref": "a.json"}, tmp_path).files  # whose path leads to it
    for wrong in (tmp_path / "nowhere", tmp_path / "a.json"):
        with pytest.raises(InputError, match="cannot read the directory of schemas"):
            OtherDocuments(wrong)


@pytest.mark.parametrize(
    ("keyword", "document"),
    [
        ("items", {"items": [{}]}),
        ("dependencies", {"dependencies": {"a": ["b"]}}),
        ("$ref", {"$ref": "#/definitions/a", "minimum": 1, "definitions": {"a": {}}}),
        ("additionalItems", {"additionalItems": False}),
        ("$id", {"items": {"$id": "#a"}}),
    ],
)
def test_a_document_in_another_draft_is_taken_where_it_says_the_same(
    tmp_path: Path, keyword: str, document: Any
) -> None:
    plain = {"$schema": URIS[Draft.DRAFT_07], "properties": {"a": {"$ref": "#/definitions/b"}}}
    put(tmp_path, a__json={"$schema": URIS[Draft.DRAFT_07], **document})
    put(tmp_path, b__json={**plain, "definitions": {"b": {"const": 1}}, "$comment": "a", "items": {}})
    assert accepts({"$schema": URIS[Draft.DRAFT_2020_12], "$ref": "b.json"}, tmp_path, {"a": 1}, {"a": 2}) == [
        True,
        False,
    ]
    with pytest.raises(SchemaError, match="the document is in draft 07") as caught:
        read_schema({"$schema": URIS[Draft.DRAFT_2020_12], "$ref": "a.json"}, tmp_path)
    assert f'"{keyword}"' in caught.value.reason
    assert (caught.value.pointer or "").endswith(f"/{keyword}")


# ---- what comes out -------------------------------------------------------------------------------------------------


def test_a_schema_has_all_that_it_refers_to_in_it(tmp_path: Path) -> None:
    folder = put(tmp_path / "s", a__json={"type": "string", "title": "A"})
    schema = JsonSchema({"items": {"$ref": "a.json"}, "type": "array"}, schema_dir=folder)
    again = JsonSchema(schema.to_dict()["schema"])
    assert (again == schema, hash(again) == hash(schema)) == (True, True)
    put(folder, a__json={"type": "integer"})
    other = JsonSchema({"items": {"$ref": "a.json"}, "type": "array"}, schema_dir=folder)
    assert other != schema
    assert (other.accepts("[1]"), schema.accepts("[1]"), schema.accepts('["a"]')) == (True, False, True)


def test_a_saved_schema_needs_no_directory(tmp_path: Path) -> None:
    folder = put(tmp_path / "s", a__json={"type": "array", "items": {"$ref": "b.json"}}, b__json={"const": 1})
    schema = JsonSchema({"$ref": "a.json"}, schema_dir=folder)
    vocabulary = load_vocabulary("tiny")
    save(schema, vocabulary, tmp_path / "f")
    for file in folder.iterdir():
        file.unlink()
    assert str(tmp_path).encode() not in (tmp_path / "f").read_bytes()
    found = load(tmp_path / "f", vocabulary)
    assert found == schema
    assert (found.accepts("[1, 1]"), found.accepts("[2]")) == (True, False)


@pytest.mark.parametrize("draft", Draft)
def test_metaschemas_need_no_directory(draft: Draft) -> None:
    schema = JsonSchema({"$schema": URIS[draft], "$ref": URIS[draft]})
    good, bad = {"minLength": 1}, {"minLength": -1}
    assert (schema.validate(good), len(schema.validate(bad))) == ([], 1)
    if draft is not Draft.DRAFT_04:  # whose lists of different names are not supported
        assert (schema.accepts(json.dumps(good)), schema.accepts(json.dumps(bad))) == (True, False)


# ---- the package jsonschema as the oracle ---------------------------------------------------------------------------

FILES = ("a.json", "s/b.json", "s/c.json")


@st.composite
def directories(draw: st.DrawFn) -> dict[str, Any]:
    """Documents by their paths, which refer to one another, by path or by identifier; the first is the root."""
    named = {name: draw(st.booleans()) for name in FILES}
    found: dict[str, Any] = {}
    for name in FILES:
        targets = [os.path.relpath(f"/{other}", os.path.dirname(f"/{name}")) for other in FILES if not named[name]]
        targets += [f"http://e.com/{other}" for other in FILES if named[other]] + ["#/$defs/d"]
        refer = st.sampled_from(targets).flatmap(
            lambda target: st.sampled_from([target, f"{target}#/$defs/d"] if "#" not in target else [target])
        )
        content = draw(
            st.fixed_dictionaries(
                {"$defs": st.fixed_dictionaries({"d": combined_schemas(1)})},
                optional={
                    "items": refer.map(lambda target: {"$ref": target}),
                    "properties": st.dictionaries(
                        st.sampled_from(["a", "b"]), refer.map(lambda target: {"$ref": target}), max_size=2
                    ),
                    "anyOf": st.lists(combined_schemas(0), min_size=1, max_size=2),
                },
            )
        )
        identifier = {"$id": f"http://e.com/{name}"} if named[name] else {}
        found[name] = {"$schema": URIS[Draft.DRAFT_2020_12], **identifier, **content}
    return found


@tried("some", mostly_assumed_away=True)
@given(documents=directories(), seed=st.integers(0, 10**6))
def test_documents_are_read_as_the_package_jsonschema_reads_them(
    documents: dict[str, Any], seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("s")
    for name, document in documents.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(document))
    resources = [
        (uri, referencing.jsonschema.DRAFT202012.create_resource(document))
        for name, document in documents.items()
        for uri in {f"file:///{name}", document.get("$id", f"file:///{name}")}
    ]
    registry: Any = referencing.Registry().with_resources(resources)
    root = {"$ref": f"file:///{FILES[0]}"}
    oracle = jsonschema.Draft202012Validator(root, registry=registry, format_checker=jsonschema.FormatChecker())
    constraint = JsonSchema(folder / FILES[0], schema_dir=folder, extra_properties=True)
    valid = [oracle.is_valid(value) for value in VALUES]
    assert [not constraint.validate(json.dumps(value)) for value in VALUES] == valid
    try:
        _ = constraint.network
    except SchemaError:
        return
    for value, is_valid in zip(VALUES, valid, strict=True):
        assert is_valid or not constraint.accepts(json.dumps(value)), value
    texts = RuleTexts(constraint.compiled.grammar, random.Random(seed))
    for _ in range(3):
        assert oracle.is_valid(json.loads(texts.draw()))


def test_a_reference_is_told_on_one_line() -> None:
    with pytest.raises(SchemaError) as caught:
        JsonSchema({"$ref": "a\r\nb"})
    assert "\n" not in caught.value.message
    assert "\r" not in caught.value.message
