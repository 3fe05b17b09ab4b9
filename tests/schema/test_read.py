from __future__ import annotations

import enum
import json
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sfgen.errors import InputError, SchemaError, SchemaTooLarge
from sfgen.schema.reading.read import is_file_name, read_schema
from sfgen.schema.reading.short_form import read_short_form
from sfgen.schema.reading.strict_json import MAX_BYTES, MAX_DEPTH

PERSON = {"type": "object", "properties": {"age": {"type": "integer"}}}

# ---- sources -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("write", [str, Path])
def test_one_schema_from_everywhere(tmp_path: Path, write: Callable[[Any], Any]) -> None:
    file = tmp_path / "person.json"
    file.write_bytes(b"\xef\xbb\xbf" + json.dumps(PERSON).encode())
    for source in (PERSON, MappingProxyType(PERSON), json.dumps(PERSON), f"\n  {json.dumps(PERSON)}\n", write(file)):
        assert read_schema(source).root == PERSON
    assert read_schema(file).name == str(file)


@pytest.mark.parametrize("source", [True, False, "true", " false\n"])
def test_a_boolean(source: bool | str) -> None:
    assert read_schema(source).root is (source is True or source == "true")


def test_a_file_is_told_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("person").write_text(json.dumps(PERSON))
    assert read_schema("person").root == PERSON
    assert read_schema("person ").root == PERSON
    assert list(read_schema("persons").root["properties"]) == ["persons"]  # type: ignore[index]
    Path("true").write_text(json.dumps(PERSON))
    assert read_schema("true").root is True
    assert read_schema(Path("true")).root == PERSON


@pytest.mark.parametrize(
    ("text", "is_file"),
    [
        ("person.json", True),
        ("a b.json", True),
        ("schemas/person", True),
        ("./person", True),
        ("/", True),
        ("name", False),
        ("name, age int", False),
        ("name: first and/or last", False),
        ("height float: in m/s, age int", False),
        ("name\nfile.json", False),
        ("", False),
        ("a\0b", False),
        ("x" * 100_000, False),
    ],
)
def test_what_is_a_file_and_what_is_the_short_form(text: str, is_file: bool) -> None:
    assert is_file_name(text) == is_file


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for name in ("no-such.json", "no/such", str(tmp_path), "a\0.json", f"{'x' * 300}.json"):
        with pytest.raises(InputError, match="cannot read the schema") as caught:
            read_schema(name)
        assert "names and types" in caught.value.hint
    with pytest.raises(SchemaTooLarge, match=f"{MAX_BYTES:,} bytes"):
        read_schema(Path("/dev/zero"))


# ---- messages ------------------------------------------------------------------------------------------------------


def told(source: Any) -> list[str]:
    with pytest.raises(SchemaError) as caught:
        read_schema(source)
    return str(caught.value).splitlines()


def test_a_mistake_in_a_text_has_a_caret(tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    file.write_text('{\n  "properties": {"é": {"type": "integr"}}\n}')
    assert told(file) == [
        f'schema: {file}, line 2, column 32: "integr" is not a type at /properties/é/type',
        '    "properties": {"é": {"type": "integr"}}',
        "                                 ^",
        'Did you mean "integer"?',
    ]
    assert told(file.read_text())[0].startswith("schema: line 2, column 32: ")
    assert told(json.loads(file.read_text())) == [
        'schema: "integr" is not a type at /properties/é/type',
        'Did you mean "integer"?',
    ]


def test_a_text_that_is_not_json_has_a_caret() -> None:
    assert told('{"type": "string",}') == [
        "schema: line 1, column 18: not valid JSON: nothing follows this comma but }",
        '  {"type": "string",}',
        "                   ^",
    ]


@pytest.mark.parametrize("text", ["[]", '"a"', "null", " [1"])
def test_json_that_is_no_schema(text: str) -> None:
    assert told(text)[0] == "schema: a schema is an object, true or false"


@pytest.mark.parametrize("source", [None, 3, 1.5, [], ["a"]])
def test_values_of_python_that_are_no_schema(source: Any) -> None:
    assert told(source)[0].startswith("schema: a schema must be an object, true or false, not ")


# ---- Python's objects ----------------------------------------------------------------------------------------------


class Colour(str, enum.Enum):  # noqa: UP042 - what programs have
    RED = "red"


class Size(enum.IntEnum):
    SMALL = 1


def test_objects_become_plain_json() -> None:
    source = {
        "minimum": 0.1,
        "maximum": Decimal("1e3"),
        "multipleOf": 1e-7,
        "enum": (Colour.RED, Size.SMALL, None, True, 1e300),
        "properties": MappingProxyType({Colour.RED: {"maxLength": Size.SMALL}}),
    }
    root = read_schema(source).root
    assert root == {
        "minimum": Decimal("0.1"),
        "maximum": Decimal("1e3"),
        "multipleOf": Decimal("0.0000001"),
        "enum": ["red", 1, None, True, Decimal("1e300")],
        "properties": {"red": {"maxLength": 1}},
    }
    assert isinstance(root, dict)
    assert [type(value) for value in root["enum"]] == [str, int, type(None), bool, Decimal]
    assert [type(name) for name in root["properties"]] == [str]


def test_the_source_is_copied() -> None:
    source: dict[str, Any] = {"properties": {"a": {"enum": [1]}}}
    document = read_schema(source)
    source["properties"]["a"]["enum"].append(2)
    assert document.root == {"properties": {"a": {"enum": [1]}}}


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_the_decimal_that_python_shows(value: float) -> None:
    root = read_schema({"const": value}).root
    assert isinstance(root, dict)
    assert float(root["const"]) == value
    assert root["const"] == Decimal(repr(value))


@pytest.mark.parametrize(
    ("source", "pointer", "reason"),
    [
        ({"const": float("nan")}, "/const", "nan is not a number in JSON"),
        ({"enum": [1, float("-inf")]}, "/enum/1", "-inf is not a number in JSON"),
        ({"const": Decimal("NaN")}, "/const", "NaN is not a number in JSON"),
        ({"const": {1: 2}}, "/const", "a name must be a string, and 1 is not"),
        ({"properties": {"a": {3}}}, "/properties/a", "a set is not JSON"),
        ({"const": b"a"}, "/const", "a bytes is not JSON"),
        ({"const": "\ud800"}, "/const", r"'\ud800' is half of a surrogate pair, not a character"),
        ({"a\udc00": 1}, "", r"'\udc00' is half of a surrogate pair, not a character"),
        ({"const": 10**5000}, "/const", "a number of more than"),
        ({"const": Decimal("1e10000")}, "/const", "a number beyond"),
    ],
)
def test_what_is_not_json_is_told_by_its_pointer(source: Any, pointer: str, reason: str) -> None:
    with pytest.raises(SchemaError) as caught:
        read_schema(source)
    assert (caught.value.pointer, caught.value.reason[: len(reason)]) == (pointer, reason)


def test_one_byte_order_mark_is_none_of_the_text(tmp_path: Path) -> None:
    (tmp_path / "once.json").write_bytes(b"\xef\xbb\xbf" + b'{"type": "null"}')
    (tmp_path / "twice.json").write_bytes(b"\xef\xbb\xbf" * 2 + b'{"type": "null"}')
    assert read_schema(tmp_path / "once.json").root == {"type": "null"}
    with pytest.raises(SchemaError, match="line 1, column 1: not valid JSON"):
        read_schema(tmp_path / "twice.json")


def test_depth_and_size_have_limits() -> None:
    itself: dict[str, Any] = {}
    itself["not"] = itself
    with pytest.raises(SchemaTooLarge, match=f"nested deeper than {MAX_DEPTH}"):
        read_schema(itself)
    doubled: dict[str, Any] = {}
    for _ in range(60):
        doubled = {"allOf": [doubled, doubled]}
    with pytest.raises(SchemaTooLarge, match="values"):
        read_schema(doubled)
    for opening in ('{"not":', '{"items":{"anyOf":[', '{"a":'):
        with pytest.raises(SchemaTooLarge, match=f"nested deeper than {MAX_DEPTH}"):
            read_schema(opening * 100_000)


def test_as_deep_as_the_limit() -> None:
    deep: Any = True
    for _ in range(MAX_DEPTH - 1):
        deep = {"not": deep}
    assert len(read_schema(deep).pointers) == MAX_DEPTH
    assert read_schema(json.dumps(deep)).root == deep


def test_pointers_of_all_schemas() -> None:
    schema = {"properties": {"a/b": {"items": True}}, "enum": [{"not": {}}], "$defs": {"x": {"allOf": [{}]}}}
    assert read_schema(schema).pointers == (
        "",
        "/properties/a~1b",
        "/properties/a~1b/items",
        "/$defs/x",
        "/$defs/x/allOf/0",
    )


# ---- the short form ------------------------------------------------------------------------------------------------

TYPES = {"": "string", "str": "string", "int": "integer", "float": "number", "bool": "boolean"}


def object_of(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


@pytest.mark.parametrize(
    ("text", "properties"),
    [
        ("name", {"name": {"type": "string"}}),
        ("name str, age int", {"name": {"type": "string"}, "age": {"type": "integer"}}),
        ("a float,b bool ,c", {"a": {"type": "number"}, "b": {"type": "boolean"}, "c": {"type": "string"}}),
        ("a string, b integer, c number, d boolean", None),
        ("tags str[], n int[]", {"tags": {"type": "array", "items": {"type": "string"}}, "n": None}),
        ("name: who it is, age int : in years", {"name": {"type": "string", "description": "who it is"}, "age": None}),
        ("\nname\n\n age int: a, b: c\n", {"name": None, "age": {"type": "integer", "description": "a, b: c"}}),
        ("name,\nage int,\n", {"name": None, "age": {"type": "integer"}}),
        ("größe-in_m float, $id", {"größe-in_m": {"type": "number"}, "$id": None}),
        ("a, b,", {"a": None, "b": None}),
    ],
)
def test_the_short_form(text: str, properties: dict[str, Any] | None) -> None:
    schema = read_schema(text).root
    assert isinstance(schema, dict)
    found = schema.pop("properties")
    assert schema == {"type": "object", "required": list(found), "additionalProperties": False}
    if properties is None:
        assert [each["type"] for each in found.values()] == ["string", "integer", "number", "boolean"]
        return
    assert list(found) == list(properties)
    for name, each in properties.items():
        assert each is None or found[name] == each


@pytest.mark.parametrize(
    ("text", "reason", "caret", "hint"),
    [
        ("name, age in", 'unknown type "in"', 10, "Did you mean int?"),
        ("name\nage list[]", 'unknown type "list[]"', 9, "str[]"),
        ("name, name", '"name" occurs twice', 6, "once"),
        ("name, age int int", "expected a name, a type", 14, "For example"),
        ("a b: c, {d}", 'unknown type "b"', 2, "The types are"),
        ("a, {d}", "expected a name, a type", 3, "For example"),
        ("person.yaml", "expected a name, a type", 6, "or give a file"),
        ("name: str, age: int", '"str" is a description here', 6, "Write 'name str, age int': a type"),
        ("a: the first, b?: list[int]", '"list[int]" is a desc', 18, "Write 'a: the first, b? int[]': a type"),
        ("a: Optional[str]\nb: x, y", '"Optional[str]" is a', 3, r"Write 'a? str\nb: x, y': a type"),
        ("a: int | None, b {c: (x|y), d}", '"int | None" is a', 3, "Write 'a? int, b {c (x|y), d}': a type"),
        ("a: str, b int int", '"str" is a description here', 3, "Write 'a str, …': a type"),
        ("age int?", 'unknown type "int?"', 4, "'age? int'"),
        ("size (S|M)?", "expected a name, a type", 10, "'age? int'"),
        ("tags[] {a}?, b", "expected a name, a type", 10, "'age? int'"),
        ("nick str optional", "expected a name, a type", 9, "'age? int'"),
        ("size S|M|L", 'unknown type "S|M|L"', 5, "Did you mean (S|M|L)?"),
        ("size: S|M|L", '"S|M|L" is a description here, and looks like a type', 6, "Write 'size (S|M|L)': a type"),
        ("size: small | large, b", '"small | large" is a desc', 6, "Write 'size (small|large), b'"),
        ("first name, last name", 'unknown type "name"', 6, "first_name"),
        ("age Optional[int]", 'unknown type "Optional[int]"', 4, "'age? int'"),
        ("born Date", 'unknown type "Date"', 5, "Did you mean date?"),
        ("address: {street, zip}", "expected a name, a type", 21, "'address {street, zip}'"),
        ("a {b, c {d}", "a record is not closed", 2, "address"),
        ("a {}", "there is no name in it", 3, "For example"),
        ("a {b}}", "expected a name, a type", 5, "For example"),
        ("a {b, b}", '"b" occurs twice', 6, "once"),
        ("a (x|y", "a parenthesis is not closed", 2, "(S|M|L)"),
        ("a (x||y)", "a value is empty", 5, "(S|M|L)"),
        ("a float (1|1.0)", '"1.0" occurs twice', 11, "once"),
        ("a int (1|2.5)", '"2.5" is not of the type integer', 9, "texts"),
        ("a bool (true|1)", '"1" is not of the type boolean', 13, "texts"),
        ("", "there is no name in it", None, "For example"),
        (" , ", "there is no name in it", None, "For example"),
    ],
)
def test_mistakes_in_the_short_form(text: str, reason: str, caret: int | None, hint: str) -> None:
    with pytest.raises(SchemaError) as caught:
        read_schema(text)
    assert caught.value.reason.startswith(f"short form: {reason}")
    assert hint in caught.value.hint
    if caret is not None:
        shown = caught.value.details[1].index("^") - 2
        assert shown == caret + text[:caret].count("\n")  # a newline is shown as two characters


@pytest.mark.parametrize(
    ("text", "properties", "optional"),
    [
        ("nick?, age? int: in years", {"nick": {"type": "string"}, "age": None}, ["nick", "age"]),
        ("size (S|M|L)", {"size": {"type": "string", "enum": ["S", "M", "L"]}}, []),
        (
            r"c (New York|Washington, D.C.|\||\)\\)",
            {"c": {"type": "string", "enum": ["New York", "Washington, D.C.", "|", ")\\"]}},
            [],
        ),
        ("stars int (1|2): how many", {"stars": {"type": "integer", "enum": [1, 2], "description": "how many"}}, []),
        ("x float(0.5|1)[]", {"x": {"type": "array", "items": {"type": "number", "enum": [Decimal("0.5"), 1]}}}, []),
        ("born date, at datetime", {"born": {"type": "string", "format": "date"}, "at": None}, []),
        ("site url", {"site": {"type": "string", "format": "uri"}}, []),
        ("a[]? int, b?[]", {"a": {"type": "array", "items": {"type": "integer"}}, "b": None}, ["a", "b"]),
        (
            "address? {street: its name, zip int}",
            {
                "address": object_of(
                    {"street": {"type": "string", "description": "its name"}, "zip": {"type": "integer"}}
                )
            },
            ["address"],
        ),
        (
            "items[] {name, n int},\nwho: a, b",
            {
                "items": {"type": "array", "items": object_of({"name": {"type": "string"}, "n": {"type": "integer"}})},
                "who": {"type": "string", "description": "a, b"},
            },
            [],
        ),
        (
            "a {\n b {c}\n d\n}",
            {"a": object_of({"b": object_of({"c": {"type": "string"}}), "d": {"type": "string"}})},
            [],
        ),
        ("a: (optional), b: the date, c date: int", {"a": None, "b": None, "c": None}, []),
    ],
)
def test_what_the_short_form_has_beyond_that_of_llm(text: str, properties: dict[str, Any], optional: list[str]) -> None:
    schema = read_short_form(text)
    assert list(schema["properties"]) == list(properties)
    assert schema["required"] == [name for name in properties if name not in optional]
    for name, each in properties.items():
        assert each is None or schema["properties"][name] == each


DESCRIPTIONS = st.text("ab :(){}[]|?\\", max_size=8)


@given(
    st.lists(
        st.tuples(st.sampled_from("abcde"), st.sampled_from(["", *TYPES]), DESCRIPTIONS),
        min_size=1,
        unique_by=lambda each: each[0],
    ),
    st.sampled_from([",", "\n"]),
)
def test_what_llm_reads_means_the_same(properties: list[tuple[str, str, str]], separator: str) -> None:
    """In llm's form a description is all that stands between a colon and the separator."""
    text = separator.join(f"{name} {kind}: {about}" for name, kind, about in properties)
    enums = r"\(.+\|.+\)(\[\])?|[ab]+( *\| *[ab]+)+"  # which are refused as descriptions
    assume(not any(re.fullmatch(enums, about.strip()) for _, kind, about in properties if not kind))
    found = read_short_form(text)["properties"]
    assert found == {
        name: {"type": TYPES[kind], **({"description": about.strip()} if about.strip() else {})}
        for name, kind, about in properties
    }


NAMES = st.text("abcxyzé_$-0123456789", min_size=1)


@given(st.dictionaries(NAMES, st.sampled_from(list(TYPES)), min_size=1), st.sampled_from([",", " ,  ", "\n", "\n \n"]))
def test_all_names_and_types(names: dict[str, str], separator: str) -> None:
    text = separator.join(f"{name} {kind}" for name, kind in names.items())
    schema = read_short_form(text)
    assert schema["required"] == list(names)
    assert {name: each["type"] for name, each in schema["properties"].items()} == {
        name: TYPES[kind] for name, kind in names.items()
    }
