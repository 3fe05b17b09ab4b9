"""``--schema-dir``: schemas that refer to other files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Sfgen = Callable[..., Any]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A person, whose address is in another file, and its country in a third."""
    found = tmp_path / "schemas"
    (found / "parts").mkdir(parents=True)
    properties = {"name": {"type": "string", "maxLength": 9}, "address": {"$ref": "parts/address.json"}}
    person = {"type": "object", "properties": properties, "required": ["name", "address"]}
    country = {"$id": "https://example.com/country", "enum": ["NO", "SE"]}
    address = {"type": "object", "properties": {"country": {"$ref": country["$id"]}}, "required": ["country"]}
    (found / "person.json").write_text(json.dumps(person))
    (found / "parts" / "address.json").write_text(json.dumps(address))
    (found / "parts" / "country.json").write_text(json.dumps(country))
    return found


def test_a_text_is_written_by_all_files(sfgen: Sfgen, folder: Path) -> None:
    done = sfgen("gen", "--schema", folder / "person.json", "--schema-dir", folder, "-n", "3", "Ada: ")
    assert (done.code, done.err) == (0, "")
    for line in done.out.splitlines():
        person = json.loads(line)
        assert list(person) == ["name", "address"]
        assert person["address"]["country"] in ("NO", "SE")


def test_documents_are_checked_by_all_files(sfgen: Sfgen, folder: Path) -> None:
    check = ["check", "--schema", folder / "person.json", "--schema-dir", folder, "--text"]
    assert sfgen(*check, '{"name": "Ada", "address": {"country": "NO"}}').code == 0
    done = sfgen(*check, '{"name": "Ada", "address": {"country": "DE"}}')
    assert done.code == 1
    assert done.out.startswith("line 1, column 40: $.address.country: must be ")


def test_the_rules_are_shown_and_kept(sfgen: Sfgen, folder: Path, tmp_path: Path) -> None:
    options = ["--schema", folder / "person.json", "--schema-dir", folder]
    shown = sfgen("index", *options)
    assert (shown.code, shown.err) == (0, "")
    assert "country" in shown.out
    file = tmp_path / "f"
    assert sfgen("index", *options, "--save", file).code == 0
    for part in folder.rglob("*.json"):
        part.unlink()
    done = sfgen("gen", "--index", file, "Ada: ")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out)["address"]["country"] in ("NO", "SE")


def test_the_path_behind_a_url(sfgen: Sfgen, folder: Path) -> None:
    schema = '{"$ref": "https://example.com/s/parts/address.json"}'
    done = sfgen("index", "--schema", schema, "--schema-dir", f"https://example.com/s/={folder}", "--examples", "2")
    assert done.out.splitlines() == ['{"country": "NO"}', '{"country": "SE"}']


def test_what_is_not_there_is_told_in_options(sfgen: Sfgen, folder: Path) -> None:
    for command in (["gen", "x"], ["index"], ["check", "--text", "1"]):
        done = sfgen(*command, "--schema", folder / "person.json")
        assert done.code != 0
        assert f"{folder / 'person.json'}, line 1, column " in done.err
        assert 'nothing is fetched for a reference to another document: "parts/address.json"' in done.err
        assert done.err.endswith(
            'Name its directory with --schema-dir, or copy it into this document, under "$defs".\n'
        )
        done = sfgen(*command, "--schema", '{"$ref": "adress.json"}', "--schema-dir", folder)
        assert done.err.endswith("Did you mean parts/address.json?\n")
        done = sfgen(*command, "--schema-dir", folder)
        assert "--schema-dir needs a schema: it has the files that one refers to" in done.err
