"""Schemas that cannot be read, and documents that cannot be compared with one."""

from __future__ import annotations

from error_case import Case, files

from sfgen.schema.read import MAX_BYTES

_CHECK = "check --text 1 --schema"

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
    Case(f"{_CHECK} '[]'", 2, "a schema is an object, true or false"),
    Case(f"{_CHECK} '{{}} x'", 2, "not valid JSON: something follows the end"),
    Case(f"""{_CHECK} '{{"a": 1, "a": 2}}'""", 2, 'line 1, column 10: not valid JSON: "a" occurs twice'),
    Case([*_CHECK.split(), '{"not":' * 500], 2, "the limit is passed: nested deeper than"),
    Case([*_CHECK.split(), '{"minimum": 1e99999}'], 2, "the limit is passed: a number with an exponent"),
    # --- the short form
    Case(f"{_CHECK} 'name, age in'", 2, 'short form: unknown type "in"'),
    Case(f"{_CHECK} ', '", 2, "short form: there is no name in it"),
    Case(f"{_CHECK} 'name, name int'", 2, '"name" is there twice'),
    Case(f"{_CHECK} 'name int int'", 2, "short form: expected a name, a type"),
    # --- the schema
    Case([*_CHECK.split(), '{"type": "strin"}'], 2, 'line 1, column 10: "strin" is not a type at /type'),
    Case([*_CHECK.split(), '{"properties": {"a": {"maxLength": "3"}}}'], 2, "at /properties/a/maxLength"),
    Case([*_CHECK.split(), '{"$ref": "#/$defs/a"}'], 2, "leads nowhere"),
    Case([*_CHECK.split(), '{"$ref": "#/title", "title": "a"}'], 2, "must lead to a schema"),
    Case([*_CHECK.split(), '{"$ref": "other.json"}'], 2, "files cannot be given yet"),
    Case([*_CHECK.split(), '{"$ref": "#"}'], 2, "goes round in a circle"),
    Case([*_CHECK.split(), '{"allOf": [{"$anchor": "a"}, {"$anchor": "a"}]}'], 2, "has the name a already"),
    Case([*_CHECK.split(), '{"pattern": "a("}'], 2, '"pattern" is no pattern'),
]
