"""Schemas that cannot be read, and documents that cannot be compared with one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.errors.case import Before, Case, both, files, patched
from tests.support.errors.patterns import small_tokenizer

from sfgen.schema.reading.strict_json import MAX_BYTES

_CHECK = "check --text 1 --schema"
_INDEX = ["index", "--schema"]
_DIR = [*_CHECK.replace(" --schema", " --schema-dir . --schema").split()]


def _nested_arrays(depth: int) -> dict[str, Any]:
    return {"type": "array", "items": _nested_arrays(depth - 1)} if depth else {"type": "null"}


_CANNOT_BE_NEGATED = {"type": "string", "oneOf": [{"type": "string"}, {"format": "email", "type": ["string", "null"]}]}
_MANY_WANTED = {"type": "object", "not": {"anyOf": [{"propertyNames": {"pattern": each}} for each in "abcde"]}}
_MANY_CONTAINS = {"type": "array", "allOf": [{"contains": {"minimum": number}} for number in range(5)]}
_MANY_MEMBERS = {"type": "object", "minProperties": 900, "properties": {f"p{number}": {} for number in range(1000)}}
_MANY_NEEDED = {
    "type": "object",
    "properties": {f"p{number}": {} for number in range(64)},
    "required": [f"p{number}" for number in range(63)],
    "minProperties": 64,
}
_MANY_OPEN = {"type": "object", "properties": {f"p{number}": {} for number in range(2001)}}
_LONG_NAME = {"additionalProperties": False, "properties": {"x" * 2_100_000: {}, "y": {}}, "type": "object"}
_MANY_PATTERNS = {"type": "object", "patternProperties": {letter: {"type": "null"} for letter in "abcdefgh"}}
_LARGE_TOGETHER: dict[str, Any] = {f"^(?:a{{{n}}})*$": {} for n in (401, 499, 503, 2, 3, 5, 7)}
_MUST_DIFFER: list[tuple[dict[str, Any], str]] = [
    (
        {"minItems": 1, "items": {"type": "object", "minProperties": 2}},
        "uniqueItems is not supported for items like these",
    ),
    (
        {"items": {"anyOf": [{"const": {"a": 1, "b": 2}}, {"type": "object"}]}},
        "where enum or const lists objects beside other arrays or objects",
    ),
    ({"items": {"enum": [1, 10**1000]}}, "for numbers with more than 1,000 digits"),
    ({"items": _nested_arrays(45)}, "for items that are nested more than 40 deep"),
    ({"prefixItems": [{"const": number} for number in range(51)]}, "overlap in more than 50 ways"),
    (
        {"items": {"type": "array", "minItems": 990, "items": {"type": "string", "pattern": "^[a-z]{500}$"}}},
        "uniqueItems is not supported for items as large as these",
    ),
]
_MANY_SCOPES: dict[str, Any] = {
    "$ref": "http://a/a0",
    "$defs": {
        f"{side}{level}": {
            "$id": f"http://a/{side}{level}",
            "$dynamicAnchor": f"n{level}",
            "contains": {"$dynamicRef": f"#n{level}"},
            "items": {"anyOf": [{"$ref": f"http://a/a{(level + 1) % 11}"}, {"$ref": f"http://a/b{(level + 1) % 11}"}]},
        }
        for level in range(11)
        for side in "ab"
    },
}
_MANY_BRANCHES = {"allOf": [{"anyOf": [{"minimum": a * 100 + b} for b in range(50)]} for a in range(2)]}
_NESTED = {"$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}, "$ref": "#/$defs/a"}
_LONG = [10**390 + 1, 10**390 + 3, 10**390 + 7]
_TWICE = '{"a": 1, "a": 2}'
_NEVER = '[{"name": "a", "parameters": {"type": "object", "properties": {"b": false}, "required": ["b"]}}]'
_CIRCLE = {"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}]}}}


def _saved(schema: str = "name", tail: bytes = b"", end: bytes = b"", **changes: str) -> Before:
    """A saved schema, ``f``, with other facts in its header, under a checksum that is right unless it is given.

    Args:
        schema: What is saved.
        tail: What follows the file.
        end: The last bytes of the file in place of what is right.
        changes: What the header says instead.
    """

    def write(_: pytest.MonkeyPatch) -> None:
        from sfgen import JsonSchema
        from sfgen.index import saved_text
        from sfgen.models import load_vocabulary
        from sfgen.schema import file

        file.save(JsonSchema(schema), load_vocabulary("tiny"), "f", force=True)
        metadata = json.loads(Path("f").read_bytes()[8:])["__metadata__"] | changes
        if "checksum" not in changes:
            metadata["checksum"] = saved_text.digest(metadata)
        content = saved_text.encode_header(metadata)
        Path("f").write_bytes(content[: len(content) - len(end)] + end + tail)

    return write


SCHEMAS = [
    Case(f"{_CHECK} true --regex a", 2, "--regex and --schema cannot be used together"),
    Case("check --schema - --words-file - --text 1", 2, "--schema and --words-file cannot both come from stdin"),
    # --- the text
    Case(f"{_CHECK} no-such-file.json", 2, "cannot read the schema no-such-file.json: No such file"),
    Case(f"{_CHECK} ./", 2, "cannot read the schema ./: Is a directory"),
    Case(
        f"{_CHECK} s.json",
        2,
        f"s.json: its text passes the limit of {MAX_BYTES:,} bytes",
        files(s__json=b" " * 5 * 2**20),
    ),
    Case(f"{_CHECK} s.json", 2, "s.json, line 2, column 1: not valid JSON: byte 2", files(s__json=b"{\n\xff}")),
    Case(
        "gen --property-order any --schema s.json",
        1,
        "s.json, line 1, column 1: the automaton of 'document' passes the limit of 2,000,000 states and edges",
        files(s__json=json.dumps(_LONG_NAME)),
    ),
    Case(f"{_CHECK} '[]'", 2, "a schema is an object, true or false"),
    Case(f"{_CHECK} '{{}} x'", 2, "not valid JSON: something follows the end"),
    Case(f"""{_CHECK} '{{"a": 1, "a": 2}}'""", 2, 'line 1, column 10: not valid JSON: "a" occurs twice'),
    Case([*_CHECK.split(), '{"not":' * 500], 2, "the limit is passed: nested deeper than"),
    Case([*_CHECK.split(), '{"minimum": 1e99999}'], 2, "the limit is passed: a number with an exponent"),
    # --- the short form
    Case(f"{_CHECK} 'name, age in'", 2, 'short form: unknown type "in"'),
    Case(f"{_CHECK} ', '", 2, "short form: there is no name in it"),
    Case(f"{_CHECK} 'name, name int'", 2, '"name" occurs twice'),
    Case(f"{_CHECK} 'name int int'", 2, "short form: expected a name, a type"),
    Case([*_CHECK.split(), "{name, age int}"], 2, "The short form has no braces around it: 'name, age int'"),
    Case(f"{_CHECK} 'name: str, age: int'", 2, "Write 'name str, age int'"),
    Case(f"{_CHECK} 'size (S|M'", 2, "short form: a parenthesis is not closed"),
    Case(f"{_CHECK} 'size (S|S)'", 2, 'short form: "S" occurs twice'),
    Case(f"{_CHECK} 'size (S|)'", 2, "short form: a value is empty"),
    Case(f"{_CHECK} 'stars int (1|many)'", 2, 'short form: "many" is not of the type integer'),
    Case([*_CHECK.split(), "address {street"], 2, "short form: a record is not closed"),
    Case([*_CHECK.split(), "a" + " {a" * 60], 2, "short form: records are nested deeper than 50"),
    # --- the schema
    Case([*_CHECK.split(), '{"type": "strin"}'], 2, 'line 1, column 10: "strin" is not a type at /type'),
    Case([*_CHECK.split(), '{"properties": {"a": {"maxLength": "3"}}}'], 2, "at /properties/a/maxLength"),
    Case([*_CHECK.split(), '{"$ref": "#/$defs/a"}'], 2, "leads nowhere"),
    Case([*_CHECK.split(), '{"$ref": "#/title", "title": "a"}'], 2, "must lead to a schema"),
    Case(
        [*_CHECK.split(), '{"$ref": "other.json"}'],
        2,
        'nothing is fetched for a reference to another document: "other.json"',
    ),
    Case([*_CHECK.split(), '{"$id": "http://[a"}'], 2, '"http://[a" is not a URI: Invalid IPv6 URL at the top'),
    Case([*_CHECK.split(), '{"$ref": "http://[a"}'], 2, '"http://[a" is not a URI: Invalid IPv6 URL at /$ref'),
    Case([*_DIR, '{"$ref": "a.json"}'], 2, 'a.json, line 1, column 1: "http', files(a__json='{"$id": "http://[a"}')),
    # --- other documents
    Case("gen --schema-dir . x", 2, "--schema-dir needs a schema: it has the files that one refers to"),
    Case(f"{_CHECK} true --schema-dir nowhere", 2, "directory of schemas nowhere: there is no such directory"),
    Case(f"{_CHECK} true --schema-dir f", 2, "directory of schemas f: it is not a directory", files(f="")),
    Case([*_DIR, '{"$ref": "b.json"}'], 2, 'no file in . has the path or $id "b.json"', files(a__json="{}")),
    Case(
        [*_DIR, '{"$ref": "a.json"}'],
        2,
        "a.json, line 2, column 1: not valid JSON: expected a name",
        files(a__json="{\nx"),
    ),
    Case([*_DIR, '{"$ref": "a.json"}'], 2, "a.json, line 1, column 11: a schema must", files(a__json='{"items": 1}')),
    Case([*_DIR, '{"$ref": "a.json#/b"}'], 2, "leads nowhere", files(a__json="{}")),
    Case(
        [*_DIR, '{"$ref": "a.json"}'],
        2,
        'document is in draft 07, and is referred to by one in draft 2020-12, where "items" has another meaning',
        files(a__json='{"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"dependencies": {}}]}'),
    ),
    Case(
        [*_DIR, '{"$ref": "http://e.com/a"}'],
        2,
        "http://e.com/a is the identifier of a.json and of b.json in .",
        files(a__json='{"$id": "http://e.com/a"}', b__json='{"$id": "http://e.com/a#"}'),
    ),
    Case(
        [*_DIR, '{"$ref": "c.json"}'],
        2,
        ". has more than 1 files and folders",
        both(files(a__json="{}", b__json="{}"), patched("sfgen.schema.reading.other_documents.MAX_FILES", 1)),
    ),
    Case(
        [*_DIR, '{"$ref": "c.json"}'],
        2,
        "the files of . pass the limit of 3 bytes together",
        both(files(a__json="{}", b__json="{}"), patched("sfgen.schema.reading.other_documents.MAX_TOTAL_BYTES", 3)),
    ),
    Case(
        [*_DIR, '{"$ref": "a.json"}'],
        2,
        "a.json the schema and all that it refers to pass the limit of 19 bytes",
        both(files(a__json="{}"), patched("sfgen.schema.reading.other_documents.MAX_BYTES", 19)),
    ),
    Case([*_CHECK.split(), json.dumps(_MANY_SCOPES)], 2, "dynamic references make more than 1,000 schemas"),
    Case([*_CHECK.split(), '{"$ref": "#"}'], 2, "leads back to itself"),
    Case([*_CHECK.split(), '{"allOf": [{"$anchor": "a"}, {"$anchor": "a"}]}'], 2, "has the identifier a already"),
    Case([*_CHECK.split(), '{"pattern": "a("}'], 2, '"pattern" is not a pattern'),
    # --- made of records
    Case("gen --like no-such-file x", 1, "cannot read the records no-such-file: No such file"),
    Case("gen --like r.jsonl x", 1, "r.jsonl, line 2, column 4: not valid JSON", files(r__jsonl="{}\n [1,]")),
    Case("gen --like r.jsonl x", 1, 'line 1, column 10: not valid JSON: "a" occurs twice', files(r__jsonl=_TWICE)),
    Case("gen --like - x", 1, "stdin has no records", stdin="\n\n"),
    Case("index --like r.json", 1, "r.json has no records: the list is empty", files(r__json="[]")),
    Case("index --like r.json", 1, "r.json, line 1, column 2: not valid JSON: byte 1", files(r__json=b'"\xff"')),
    Case(
        "check --like r.json",
        2,
        "r.json passes the limit of 4 bytes",
        both(files(r__json="[1, 2]"), patched("sfgen.schema.reading.from_examples.MAX_BYTES", 4)),
    ),
    Case("check --like r.json", 2, "nested deeper than 64 lists and objects", files(r__json="[" * 70 + "]" * 70)),
    Case("gen --like - --schema name x", 2, "--schema and --like cannot be used together"),
    Case("gen --like - -", 2, "the prompt and --like cannot both come from stdin"),
    Case("gen --like r.json --engine fsm x", 2, "--engine fsm and --like cannot", files(r__json="[1]")),
    Case("index --like r.json --state 1", 2, "--state and --like cannot be used together", files(r__json="[1]")),
    Case("index --regex a --format schema", 2, "--format schema needs a schema: it shows the JSON Schema"),
    # --- made of tools
    Case("gen --tools no-such-file x", 1, "cannot read the tools no-such-file: No such file"),
    Case("gen --tools t.json x", 1, "t.json, line 1, column 2: not valid JSON", files(t__json="[,]")),
    Case("gen --tools - x", 1, "stdin, line 1, column 2: a tool without a name at /0", stdin="[{}]"),
    Case("check --tools t.json", 2, 'two tools have the name "a"', files(t__json='[{"name": "a"}, {"name": "a"}]')),
    Case("index --tools t.json", 1, 'line 1, column 69: the tool "a": nothing satisfies false', files(t__json=_NEVER)),
    Case(
        "check --tools t.json",
        2,
        "t.json passes the limit of 4 bytes",
        both(files(t__json='[{"name": "a"}]'), patched("sfgen.schema.reading.from_tools.MAX_BYTES", 4)),
    ),
    # --- what is written by it
    Case("gen --schema name --engine fsm x", 2, "--engine fsm and --schema cannot be used together"),
    Case("gen --indent 2 x", 2, "--indent needs a schema: it says how values are written"),
    Case("gen --schema name --indent 17 x", 2, "--indent is at most 16, not 17"),
    Case(
        "gen --schema name --indent 2 --spacing any x", 2, "--indent fixes the white space, and --spacing any does not"
    ),
    Case("index --schema name --state 1", 2, "--state and --schema cannot be used together"),
    Case("gen --schema name --ban-words name x", 1, "every text that the schema allows has a banned word"),
    Case("gen --schema name --max-tokens 2 x", 1, "a limit of 2 tokens is too small: the shortest text takes"),
    Case([*_INDEX, '{"not": {"format": "email"}}'], 1, "not is not supported for format at /not"),
    Case([*_INDEX, '{"not": {}}'], 1, "nothing satisfies false at the top"),
    Case([*_INDEX, json.dumps(_CANNOT_BE_NEGATED)], 1, "no text is left, as the negation of format is not supported"),
    Case([*_INDEX, json.dumps(_MANY_WANTED)], 1, "not requires more than 4 properties without fixed names at the top"),
    Case([*_INDEX, json.dumps(_MANY_CONTAINS)], 1, "more than 4 contains apply to one array"),
    *(
        Case([*_INDEX, json.dumps({"type": "array", "uniqueItems": True, **items})], 1, says)
        for items, says in _MUST_DIFFER
    ),
    Case(
        [*_INDEX, '{"type": "array", "items": {"type": "integer"}, "uniqueItems": true, "minItems": 2000}'],
        1,
        "minItems 2000 is above the limit of 1,000 unique items",
    ),
    Case(
        [*_INDEX, '{"type": "array", "maxItems": 1, "contains": {"type": "string"}, "minContains": 2}'],
        1,
        "no value has as many items or properties as are required",
    ),
    Case(
        [*_INDEX, json.dumps(_MANY_NEEDED), "--property-order", "any"],
        1,
        "it requires 63 properties in any order, above 62, and minProperties requires even more",
    ),
    Case([*_INDEX, '{"type": "object", "maxProperties": 5000}'], 1, "counted up to 5,000, above the limit of 1,000"),
    Case(
        [*_INDEX, json.dumps(_MANY_OPEN)], 1, "it has 2,001 properties that may be left out, above the limit of 2,000"
    ),
    Case([*_INDEX, json.dumps(_MANY_MEMBERS)], 1, "counting its parts needs more than 20,000 states"),
    Case([*_INDEX, json.dumps(_MANY_PATTERNS)], 1, "divide names into more than 128 sorts at the top"),
    Case(
        [*_INDEX, '{"type": "object", "required": ["a", "b"], "maxProperties": 1}'],
        1,
        "required lists more names than maxProperties 1",
    ),
    Case([*_INDEX, "false"], 1, "nothing satisfies false at the top"),
    Case([*_INDEX, '{"minimum": 3, "maximum": 1, "type": "integer"}'], 1, "minimum 3 is above maximum 1"),
    Case([*_INDEX, '{"type": "array", "items": {"$ref": "#"}}', "--indent", "1"], 1, "this one is recursive"),
    Case(
        [*_INDEX, '{"type": "array"}', "--indent", "1"],
        1,
        "indent needs a schema of limited depth: any value is allowed",
    ),
    Case(
        [*_INDEX, '{"type": "array", "minItems": 1000000000}'], 1, "minItems 1000000000 passes the limit of 1,000,000"
    ),
    Case([*_INDEX, '{"type": "number", "minimum": 1e3000}'], 1, "a number passes the limit of"),
    Case([*_INDEX, f'{{"enum": ["{"x" * 100_000}", "{"y" * 210_000}"]}}'], 1, "the values of enum pass the limit of"),
    Case([*_INDEX, f'{{"const": {"[" * 90}{"]" * 90}}}'], 1, "is nested more than 60 deep"),
    Case([*_INDEX, f"""{'{"anyOf":[' * 150}true{"]}" * 150}"""], 1, "are nested more than 100 deep"),
    Case([*_INDEX, json.dumps({"prefixItems": [{}] * 1100})], 1, "more than 1,000 items one by one"),
    Case([*_INDEX, json.dumps(_MANY_BRANCHES)], 1, "more than 2,000 branches together"),
    Case(
        [*_INDEX, json.dumps({"type": "object", "properties": {f"p{n}": {} for n in range(500)}, "minProperties": 3})],
        1,
        "it has 500 properties and counts them up to 3",
    ),
    Case([*_INDEX, json.dumps({"allOf": [{"minLength": 1}] * 1100})], 1, "allOf has more than 1,000 schemas"),
    Case([*_INDEX, json.dumps({"oneOf": [{"minLength": 1}] * 310})], 1, "oneOf has more than 300 schemas"),
    Case([*_INDEX, json.dumps({"pattern": "a" * 100_001})], 1, "it is longer than 100,000 characters"),
    Case([*_INDEX, '{"type": "string", "pattern": "(?=a)b"}'], 1, "pattern"),
    Case([*_INDEX, json.dumps({"pattern": "(" * 300 + ")" * 300})], 1, "groups are nested deeper than"),
    Case([*_INDEX, '{"pattern": "a{99999999}"}'], 1, "a repeat passes the limit of"),
    Case([*_INDEX, json.dumps(_CIRCLE)], 1, "a reference leads back to itself without a property or item between"),
    Case([*_INDEX, f'{{"type": "number", "minimum": 0.{"1" * 1500}}}'], 1, "minimum has more digits than the limit of"),
    Case([*_INDEX, '{"pattern": "a)"}'], 1, "unbalanced parenthesis"),
    Case([*_INDEX, json.dumps(_NESTED)[:-1] + f', "const": {"[" * 90}{"]" * 90}}}'], 1, "is nested more than 60 deep"),
    Case(
        [*_INDEX, json.dumps({"type": "integer", "allOf": [{"multipleOf": n} for n in _LONG]})],
        1,
        "the common multiple of multipleOf",
    ),
    Case(
        [*_INDEX, json.dumps({"properties": {f"p{number}": {} for number in range(100_001)}})],
        1,
        "it passes the limit of 100,000 properties",
    ),
    Case(
        [
            *_INDEX,
            json.dumps(
                {
                    "prefixItems": [
                        {
                            "properties": {
                                f"p{n * 200 + m}": {"required": [f"q{n * 200 + m}"], "type": "object"}
                                for m in range(200)
                            }
                        }
                        for n in range(60)
                    ]
                }
            ),
        ],
        1,
        "it needs more than 10,000 rules",
    ),
    Case(
        [*_INDEX, json.dumps({"type": "object", "patternProperties": _LARGE_TOGETHER})],
        1,
        "the patterns of names together",
    ),
    Case(
        [*_INDEX, json.dumps({"type": "string", "allOf": [{"pattern": f"^(?:a{{{n}}})*$"} for n in (401, 499, 503)]})],
        1,
        "the patterns and formats of a string together",
    ),
    Case([*_INDEX, '{"type": "string", "pattern": "^[a-z]*$", "minLength": 50000}'], 1, "the lengths of a string"),
    Case(
        [*_INDEX, json.dumps({"properties": {f"p{number}{'x' * 60}": {} for number in range(2000)}})],
        1,
        "passes the limit of 200,000 states",
    ),
    Case(
        "gen -m uniform --tokenizer tok --schema name x", 1, "no sequence of tokens of this vocabulary", small_tokenizer
    ),
    Case("index --schema name --save f", 1, "f exists and holds something else", _saved(schema="age int")),
    Case("gen --index f x", 1, "f was made for another vocabulary", _saved(vocabulary_fingerprint="0" * 64)),
    Case("index f", 1, "f is damaged: it is not as long as it says", _saved(tail=b" ")),
    Case("index f", 1, "f is damaged: its header is not in order", _saved(end=b"x")),
    Case("index f", 1, "f has the format sfgen-schema-9; this sfgen reads", _saved(format="sfgen-schema-9")),
    Case("index f", 1, "f is damaged: it does not agree with its checksum", _saved(checksum="0" * 64)),
    Case("index f", 1, "f is damaged: its vocabulary is not told", _saved(vocabulary_fingerprint="none")),
    Case("index f", 1, "f is damaged: its options are not in order", _saved(options="[]")),
]
