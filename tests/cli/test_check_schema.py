"""``check --schema``: documents that are valid, and where and why others are not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Sfgen = Callable[..., Any]
PERSON = ["check", "--schema", "name, age int"]
GOOD, BAD = '{"name": "Ada", "age": 36}', '{"name": "Ada", "age": "36"}'


def test_a_valid_document(sfgen: Sfgen) -> None:
    done = sfgen(*PERSON, "--text", GOOD)
    assert (done.code, done.out, done.err) == (0, "", "sfgen: 1 of 1 texts are valid\n")
    assert sfgen(*PERSON, "--text", '\n{"age":36.0,\n"name":""}\n').code == 0


def test_each_fault_is_told_with_its_place(sfgen: Sfgen, tmp_path: Path) -> None:
    file = tmp_path / "data.json"
    file.write_text('{\n  "age": "36",\n  "city": "London"\n}\n')
    done = sfgen(*PERSON, file)
    assert done.code == 1
    assert done.out.splitlines() == [
        f'{file}, line 1, column 1: $: "name" is missing',
        "  {",
        "  ^",
        f"{file}, line 2, column 10: $.age: must be an integer, not a string",
        '    "age": "36",',
        "           ^",
        f'{file}, line 3, column 3: $.city: "city" is not allowed here, only "name" and "age"',
        '    "city": "London"',
        "    ^",
    ]
    assert done.err == "sfgen: 0 of 1 texts are valid\n"


def test_a_file_is_one_document_and_a_line_of_json_lines_is_one(sfgen: Sfgen, tmp_path: Path) -> None:
    text = f"{GOOD}\n\n{BAD}\nnothing\n"
    lines, whole = tmp_path / "data.jsonl", tmp_path / "data.json"
    lines.write_text(text)
    whole.write_text(text)
    done = sfgen(*PERSON, lines)
    assert done.code == 1
    assert [line.partition(": ") for line in done.out.splitlines()[::3]] == [
        (f"{lines}, line 3, column 24", ": ", "$.age: must be an integer, not a string"),
        (f"{lines}, line 4, column 1", ": ", "not valid JSON: expected a value"),
    ]
    assert done.err == "sfgen: 1 of 3 texts are valid\n"
    (where,) = [line for line in sfgen(*PERSON, whole).out.splitlines() if "line" in line]
    assert where == f"{whole}, line 3, column 1: not valid JSON: something follows the end of the value"
    assert sfgen(*PERSON, "--lines", stdin=f"{GOOD}\n{GOOD}").err == "sfgen: 2 of 2 texts are valid\n"
    assert sfgen(*PERSON, stdin=f"{GOOD}\n{GOOD}").code == 1


def test_the_record_of_each_text(sfgen: Sfgen, tmp_path: Path) -> None:
    file = tmp_path / "data.jsonl"
    file.write_text(f"{GOOD}\n{BAD}\n")
    done = sfgen(*PERSON, "--json", file, "--text", "{\n")
    assert done.code == 1
    assert done.records == [
        {"file": str(file), "text": 1, "line": 1, "matches": True, "faults": []},
        {
            "file": str(file),
            "text": 2,
            "line": 2,
            "matches": False,
            "faults": [
                {
                    "path": "$.age",
                    "pointer": "/age",
                    "line": 2,
                    "column": 24,
                    "keyword": "type",
                    "expected": "must be an integer, not a string",
                }
            ],
        },
        {
            "file": None,
            "text": 3,
            "line": None,
            "matches": False,
            "faults": [
                {
                    "path": "",
                    "pointer": "",
                    "line": 2,
                    "column": 1,
                    "keyword": None,
                    "expected": "not valid JSON: expected a name in double quotes, and the text ends",
                }
            ],
        },
    ]


def test_quiet_tells_by_the_exit_code_alone(sfgen: Sfgen) -> None:
    for text, code in ((GOOD, 0), (BAD, 1), ("", 1)):
        done = sfgen(*PERSON, "-q", "--text", text)
        assert (done.code, done.out, done.err) == (code, "", "")


def test_the_schema_from_a_file_from_stdin_and_as_json(sfgen: Sfgen, tmp_path: Path) -> None:
    schema = json.dumps({"type": "array", "items": {"type": "integer"}, "maxItems": 3})
    file = tmp_path / "schema.json"
    file.write_text(schema)
    for given, stdin in ((file, ""), (schema, ""), ("-", schema)):
        assert sfgen("check", "--schema", given, "--text", "[1, 2]", stdin=stdin).code == 0
        done = sfgen("check", "--schema", given, "--text", "[1, 2, 3, 4]", stdin=stdin)
        assert done.out.startswith("line 1, column 1: $: must have at most 3 items, not 4\n")
    assert sfgen("check", "--schema", "true", "--text", "[1]").code == 0
    assert sfgen("check", "--schema", "-", stdin="true").code == 2  # which the document would come from


def test_what_counts_for_nothing_in_the_schema_is_said(sfgen: Sfgen) -> None:
    schema = json.dumps({"typ": "string", "$schema": "http://example.com/s"})
    done = sfgen("check", "--schema", schema, "--text", "1")
    assert done.code == 0
    assert done.err.splitlines() == [
        'sfgen: "$schema" names http://example.com/s, which is not known: read as draft 2020-12',
        'sfgen: not a keyword of draft 2020-12, ignored (did you mean "type"?): "typ", at the top',
        "sfgen: 1 of 1 texts are valid",
    ]
    assert sfgen("check", "-q", "--schema", schema, "--text", "1").err == ""


def test_with_banned_words(sfgen: Sfgen) -> None:
    talk = '{"name": "talk", "age": 36}'
    assert sfgen(*PERSON, "--words", "talk", "--text", GOOD).err == "sfgen: 1 of 1 texts are valid and clean\n"
    done = sfgen(*PERSON, "--words", "talk", "--text", talk)
    assert (done.code, done.out.splitlines()[0]) == (1, "line 1, column 11, byte 10: talk")
    (record,) = sfgen(*PERSON, "--words", "talk", "--json", "--text", talk).records
    assert (record["matches"], [each["word"] for each in record["banned"]]) == (True, ["talk"])
    done = sfgen(*PERSON, "--words", "talk", "--text", talk.replace("36", "null"))
    assert len(done.out.splitlines()) == 6


def test_bytes_that_are_no_utf8(sfgen: Sfgen) -> None:
    done = sfgen(*PERSON, stdin=b'{"name":\n "\xff"}')
    assert done.code == 1
    assert done.out.splitlines()[0] == "line 2, column 3: not valid JSON: byte 11, counted from 0, is not UTF-8"
    assert sfgen(*PERSON, stdin=b"\xef\xbb\xbf" + GOOD.encode()).code == 0


@pytest.mark.parametrize("text", ["[" * 100_000, '{"name": ' * 3000, "9" * 100_000, '"\\ud800"', "\x1b[31m"])
def test_bad_documents_are_faults(sfgen: Sfgen, text: str) -> None:
    done = sfgen(*PERSON, "--text", text)
    assert done.code == 1
    assert "Traceback" not in done.err
    assert all(line.isprintable() and len(line) < 300 for line in done.out.splitlines())
    (record,) = sfgen(*PERSON, "--json", "--text", text).records
    assert record["matches"] is False


def test_what_drives_a_terminal_is_escaped_in_words(sfgen: Sfgen) -> None:
    done = sfgen("check", "--schema", '{"const": 1}', "--text", '"\\u001b[31m\\u202e"')
    assert done.code == 1
    assert "\x1b" not in done.out
    assert "\u202e" not in done.out


def test_a_schema_that_cannot_be_read_is_trouble(sfgen: Sfgen) -> None:
    done = sfgen("check", "--schema", '{"type": "strin"}', "--text", "1")
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines() == [
        'sfgen: schema: line 1, column 10: "strin" is not a type at /type',
        '  {"type": "strin"}',
        "           ^",
        'Did you mean "string"?',
    ]
