"""``--like`` and ``--tools`` in ``gen``, ``index`` and ``check``: schemas that are made of files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sfgen import JsonSchema, schema_of, tools_schema

Sfgen = Callable[..., Any]
RECORDS = [
    {"name": "Ada Lovelace", "born": "1815-12-10", "tags": ["math", "poetry"]},
    {"name": "Alan Turing", "born": "1912-06-23", "height": 1.78, "tags": []},
]
ZONE = {"type": "object", "properties": {"of": {"$ref": "#/$defs/Z"}}}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string", "maxLength": 20}, "unit": {"enum": ["C", "F"]}},
                "required": ["city"],
            },
        },
    },
    {"name": "zone", "input_schema": {"$ref": "#/$defs/Z", "$defs": {"Z": ZONE}}},
    {"name": "stop"},
]
LINES = "".join(f"{json.dumps(record)}\n" for record in RECORDS)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with records and tools in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.jsonl").write_text(LINES)
    (tmp_path / "people.json").write_text(json.dumps(RECORDS, indent=1))
    (tmp_path / "tools.json").write_text(json.dumps(TOOLS, indent=1))
    (tmp_path / "mcp.json").write_text(json.dumps({"tools": TOOLS}))
    return tmp_path


# ---- gen -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", ["people.jsonl", "people.json", "-"])
def test_texts_are_like_the_records(sfgen: Sfgen, file: str) -> None:
    done = sfgen(
        "gen", "--like", file, "--json", "-n", "3", "--seed", "1", "A person: ", stdin=LINES if file == "-" else ""
    )
    assert (done.code, done.err) == (0, "")
    assert [record["schema"] for record in done.records] == ["stdin" if file == "-" else file] * 3
    schema = JsonSchema(schema_of(*RECORDS))
    for record in done.records:
        assert record["value"] == json.loads(record["text"])
        assert schema.validate(record["text"]) == []


@pytest.mark.parametrize("file", ["tools.json", "mcp.json", "-"])
def test_a_text_is_one_call(sfgen: Sfgen, file: str) -> None:
    stdin = json.dumps(TOOLS) if file == "-" else ""
    done = sfgen("gen", "--tools", file, "--json", "-n", "16", "--seed", "3", "The call: ", stdin=stdin)
    assert (done.code, done.err) == (0, "")
    schema = JsonSchema(tools_schema(TOOLS))
    for record in done.records:
        assert list(record["value"]) == ["name", "arguments"]
        assert schema.validate(record["text"]) == []
    assert len({record["value"]["name"] for record in done.records}) > 1


def test_how_it_is_written(sfgen: Sfgen) -> None:
    Path("one.json").write_text('[{"name": "stop"}]')
    Path("one.jsonl").write_text('{"a": null, "b": []}\n')
    assert sfgen("gen", "--tools", "one.json", "--spacing", "compact", "").out == '{"name":"stop","arguments":{}}\n'
    assert sfgen("gen", "--like", "one.jsonl", "--indent", "1", "").out == '{\n "a": null,\n "b": []\n}\n'


def test_many_prompts(sfgen: Sfgen) -> None:
    Path("prompts.jsonl").write_text('{"prompt": "a"}\n{"prompt": "b"}\n')
    done = sfgen("gen", "--tools", "tools.json", "--input", "prompts.jsonl", "--seed", "1", "-m", "uniform", "--quiet")
    assert [JsonSchema(tools_schema(TOOLS)).validate(record["text"]) for record in done.records] == [[], []]


# ---- index -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "schema"),
    [
        (["--like", "people.jsonl"], schema_of(*RECORDS)),
        (["--tools", "tools.json"], tools_schema(TOOLS)),
        (["--schema", "name, age int"], JsonSchema("name, age int").to_dict()["schema"]),
        (["--schema", "true"], True),
        (["saved"], schema_of(*RECORDS)),
    ],
    ids=str,
)
def test_the_schema_itself(sfgen: Sfgen, options: list[str], schema: Any) -> None:
    assert sfgen("index", "--like", "people.jsonl", "--save", "saved", "--quiet").code == 0
    done = sfgen("index", *options, "--format", "schema")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out) == schema
    assert len(done.out.splitlines()) > 9 or len(done.out) < 9


def test_the_schema_that_was_printed_can_be_used(sfgen: Sfgen) -> None:
    Path("person.json").write_text(sfgen("index", "--like", "people.jsonl", "--format", "schema").out)
    printed, inferred = (
        sfgen("gen", *options, "--seed", "5", "A person: ").out
        for options in (["--schema", "person.json"], ["--like", "people.jsonl"])
    )
    assert printed == inferred != ""


def test_numbers_in_a_schema_are_printed_as_they_were(sfgen: Sfgen) -> None:
    schema = '{"multipleOf": 0.10, "enum": [1.50, {"a": []}, "\u00e9\\n"]}'
    done = sfgen("index", "--schema", schema, "--format", "schema")
    lines = ["{", '  "multipleOf": 0.10,', '  "enum": [', "    1.50,", "    {", '      "a": []', "    },"]
    assert done.out.splitlines() == [*lines, '    "\u00e9\\n"', "  ]", "}"]


def test_rules_and_examples(sfgen: Sfgen) -> None:
    rules = sfgen("index", "--tools", "tools.json").out
    assert re.search('name +required +"weather"\n +arguments +required +an object with city, unit\n', rules)
    assert sfgen("index", "--like", "people.jsonl").out.startswith("schema       people.jsonl\n")
    schema = JsonSchema(tools_schema(TOOLS))
    texts = sfgen("index", "--tools", "tools.json", "--examples", "5").out.splitlines()
    assert len(texts) == 5
    assert all(schema.accepts(text) for text in texts)
    assert sfgen("index", "--tools", "tools.json", "--save", "--quiet").out == "sfgen-index.safetensors\n"
    done = sfgen("gen", "--index", "sfgen-index.safetensors", "--seed", "1", "The call: ")
    assert schema.validate(done.out) == []


# ---- check -----------------------------------------------------------------------------------------------------------


def test_records_are_like_themselves(sfgen: Sfgen) -> None:
    done = sfgen("check", "--like", "people.jsonl", "people.jsonl")
    assert (done.code, done.out, done.err) == (0, "", "sfgen: 2 of 2 texts are valid\n")
    done = sfgen("check", "--like", "people.jsonl", "--text", '{"name": "Ada", "born": "soon", "tags": []}')
    assert (done.code, "$.born: must be of the format date" in done.out) == (1, True)


def test_a_call_is_checked_by_its_tool(sfgen: Sfgen) -> None:
    good, bad = '{"arguments": {"of": {}}, "name": "zone"}', '{"name": "zone", "arguments": {"of": {"of": 1}}}'
    assert sfgen("check", "--tools", "tools.json", "--text", good, "--text", '{"name":"stop","arguments":{}}').code == 0
    done = sfgen("check", "--tools", "tools.json", "--text", bad)
    assert (done.code, "$.arguments.of.of: must be an object, not a number" in done.out) == (1, True)


# ---- any JSON --------------------------------------------------------------------------------------------------------


def test_true_is_any_json(sfgen: Sfgen) -> None:
    done = sfgen("gen", "--schema", "true", "-m", "uniform", "-n", "8", "--seed", "2", "--json", "")
    assert (done.code, done.err) == (0, "")
    kinds = {type(record["value"]) for record in done.records}
    assert len(kinds) > 2
    assert sfgen("check", "--schema", "true", "--text", '{"a": [1, null]}').code == 0
    assert sfgen("check", "--schema", "true", "--text", "[1,]").code == 1
    assert "or is true" in " ".join(sfgen("gen", "--help-all").out.split())


# ---- mistakes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["gen", "index", "check"])
@pytest.mark.parametrize("other", [["--schema", "name"], ["--regex", "a"], ["--tools", "tools.json"]])
def test_one_constraint(sfgen: Sfgen, command: str, other: list[str]) -> None:
    done = sfgen(command, "--like", "people.jsonl", *other)
    assert done.code == 2
    assert "--like" in done.err
    assert "cannot be used together" in done.err


@pytest.mark.parametrize("command", ["gen", "index", "check"])
def test_the_place_in_the_file_is_told(sfgen: Sfgen, command: str) -> None:
    Path("bad.jsonl").write_text('{"a": 1}\n{"a": }\n')
    done = sfgen(command, "--like", "bad.jsonl")
    assert done.code == (2 if command == "check" else 1)
    assert done.err.startswith(
        'sfgen: bad.jsonl, line 2, column 7: not valid JSON: expected a value\n  {"a": }\n        ^\n'
    )
    Path("bad.json").write_text('[\n{"name": "a", "parameters": {"properties": {"x": {"type": "int"}}}}]')
    done = sfgen(command, "--tools", "bad.json")
    assert done.code == (2 if command == "check" else 1)
    assert (
        'bad.json, line 2, column 59: the tool "a": "int" is not a type at /0/parameters/properties/x/type' in done.err
    )
