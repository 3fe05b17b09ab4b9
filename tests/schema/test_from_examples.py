"""Schemas that are inferred from examples: each example is valid by them, and the rules are as they are written."""

from __future__ import annotations

import json
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.schema_oracle import Oracle
from tests.support.running.tried import tried

from sfgen import JsonSchema, schema_of
from sfgen.errors import InputError, SchemaTooLarge, UsageError
from sfgen.schema.reading.from_examples import MAX_DEPTH, common_order, format_of
from sfgen.schema.scalars.formats import format_texts

Json = Any

STRINGS = ["hot", "cold", "", "2024-02-29", "2023-02-29", "12:30:00Z", "10.0.0.1", "a@b.example", "a@b", "http://a/b"]
STRINGS += [
    "note:x",
    "0b5ffe34-8b02-4a1e-9f5c-1c3cf4b8ae9a",
    "2024-02-29T12:30:00Z",
    "\u2028",
    "\x7f\n",
    "é😀",
    "x" * 41,
]
NAMES = ["", "a", "b", "name", "1", "2", "33", "2024-01-01", "2024-01-02", "2024-01-03", "\u00e9"]
NUMBERS = st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False) | st.just(1.0)
SCALARS = st.none() | st.booleans() | NUMBERS | st.sampled_from(STRINGS) | st.text(max_size=4)


def objects(values: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    """Objects whose names all stand in one order."""
    found = st.dictionaries(st.sampled_from(NAMES), values, max_size=5)
    return found.map(lambda each: {name: each[name] for name in NAMES if name in each})


VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | objects(inner), max_leaves=8)
RECORDS = st.lists(VALUES, min_size=1, max_size=4) | st.lists(objects(SCALARS), min_size=1, max_size=40)
ANY_ORDER = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=2), inner, max_size=4)
)


def is_written(schema: JsonSchema, value: Json) -> bool:
    return schema.accepts(json.dumps(value, ensure_ascii=False))


# ---- examples and their schema ---------------------------------------------------------------------------------------


@given(RECORDS, st.booleans(), st.booleans(), st.booleans())
def test_each_example_is_valid_and_written(records: list[Json], enums: bool, formats: bool, maps: bool) -> None:
    inferred = schema_of(*records, enums=enums, formats=formats, maps=maps)
    assert json.loads(json.dumps(inferred)) == inferred
    schema, oracle = JsonSchema(inferred), Oracle(inferred)
    for record in records:
        assert schema.validate(json.dumps(record)) == []
        assert oracle.fault(json.dumps(record)) == ""
        assert is_written(schema, record)


@tried("some")
@given(st.lists(ANY_ORDER, min_size=1, max_size=3))
def test_each_example_is_valid_in_whatever_order_its_names_stand(records: list[Json]) -> None:
    schema = JsonSchema(schema_of(*records))
    assert [schema.validate(json.dumps(record)) for record in records] == [[]] * len(records)


@tried("few")
@given(st.sampled_from(["hot", "cold", "mild"]), st.integers(), st.lists(st.integers(0, 9), min_size=9, max_size=30))
def test_what_is_unlike_the_examples_is_not_valid(word: str, number: int, counts: list[int]) -> None:
    records = [{"id": n, "kind": word, "tags": [n]} for n in counts] + [{"id": 1, "kind": word, "tags": []}]
    schema = JsonSchema(schema_of(*records))
    assert schema.validate({"id": number, "kind": word, "tags": [number, 2]}) == []
    others: list[Json] = [
        {"id": str(number), "kind": word, "tags": []},
        {"id": number, "kind": word + "!", "tags": []},
        {"id": number, "kind": word},
        {"id": number, "kind": word, "tags": [word]},
        {"id": number, "kind": word, "tags": [], "more": 1},
        [],
    ]
    for other in others:
        assert schema.validate(other) != []


# ---- the rules -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("examples", "schema"),
    [
        ([1, 2], {"type": "integer"}),
        ([1, 2.5], {"type": "number"}),
        ([2.5, 1], {"type": "number"}),
        ([1.0], {"type": "number"}),
        ([Decimal("1.50")], {"type": "number"}),
        ([True, 1], {"type": ["boolean", "integer"]}),
        ([None], {"type": "null"}),
        ([None, "a"], {"type": ["string", "null"]}),
        (["a", None, 1], {"type": ["string", "integer", "null"]}),
        ([[]], {"type": "array", "maxItems": 0}),
        ([(), [1], [None]], {"type": "array", "items": {"type": ["integer", "null"]}}),
        ([[], "a"], {"type": ["array", "string"], "maxItems": 0}),
        ([{}], {"type": "object", "properties": {}, "additionalProperties": False}),
        (
            [[1], {}, None],
            {
                "anyOf": [
                    {"type": "array", "items": {"type": "integer"}},
                    {"type": "object", "properties": {}, "additionalProperties": False},
                    {"type": "null"},
                ]
            },
        ),
        (
            [{"a": {"b": 1}}, {"a": {"b": 1.5, "c": None}}],
            {
                "type": "object",
                "properties": {
                    "a": {
                        "type": "object",
                        "properties": {"b": {"type": "number"}, "c": {"type": "null"}},
                        "required": ["b"],
                        "additionalProperties": False,
                    }
                },
                "required": ["a"],
                "additionalProperties": False,
            },
        ),
    ],
    ids=str,
)
def test_types_are_merged(examples: list[Json], schema: Json) -> None:
    assert schema_of(*examples) == schema


@pytest.mark.parametrize(
    ("texts", "name"),
    [
        (["2024-02-29", "1815-12-10"], "date"),
        (["2024-02-29", "2023-02-29"], None),
        (["2024-02-29", ""], None),
        (["2024-02-29T12:00:00Z", "2024-02-29T12:00:00.5+01:00"], "date-time"),
        (["2024-02-29T12:00:00"], None),
        (["2024-02-29 12:00:00Z"], None),
        (["12:00:00Z"], "time"),
        (["12:00"], None),
        (["0b5ffe34-8b02-4a1e-9f5c-1c3cf4b8ae9a"], "uuid"),
        (["0b5ffe348b024a1e9f5c1c3cf4b8ae9a"], None),
        (["10.0.0.1", "255.255.255.255"], "ipv4"),
        (["10.0.0.256"], None),
        (["ada@example.com"], "email"),
        (["a@b"], None),
        (["ada@example.com", "a@b"], None),
        (["react@17.0.2"], None),
        (["Ada <ada@example.com>"], None),
        (["https://example.com/a?b#c", "urn://x"], "uri"),
        (["note:x", "C:/windows", "http://", "a b://c"], None),
        (["https://example.com/a b"], None),
    ],
    ids=str,
)
def test_formats_that_all_strings_have(texts: list[str], name: str | None) -> None:
    assert schema_of(*texts) == {"type": "string", **({"format": name} if name else {})}
    assert schema_of(*texts, formats=False) == {"type": "string"}


@tried("many")
@given(st.from_regex(r"[0-9a-fT:.@/-]{0,12}", fullmatch=True) | st.sampled_from(STRINGS) | st.emails())
def test_a_format_is_one_that_its_automaton_accepts(text: str) -> None:
    name = format_of([text])
    assert name is None or format_texts(name).accepts(text)


def enum_of(texts: list[str], **rules: bool) -> Json:
    return schema_of(*({"kind": text} for text in texts), **rules)["properties"]["kind"].get("enum")


def test_enums_need_ten_strings_each_seen_twice_and_few_different_ones() -> None:
    assert enum_of(["hot", "cold"] * 5) == ["hot", "cold"]
    assert enum_of(["hot", "cold"] * 5, enums=False) is None
    assert enum_of(["hot", "cold"] * 4 + ["hot"]) is None  # nine
    assert enum_of(["hot", "cold"] * 5 + ["mild"]) is None  # one that was seen once
    assert enum_of(["a", "b", "c", "d"] * 3) is None  # four are more than the root of twelve
    assert enum_of(["a", "b", "c", "d"] * 4) == ["a", "b", "c", "d"]
    assert enum_of(["x" * 40] * 10) == ["x" * 40]
    assert enum_of(["x" * 41] * 10) is None
    assert enum_of([str(number) for number in range(64)] * 64) is not None
    assert enum_of([str(number) for number in range(65)] * 65) is None


def test_a_format_comes_before_an_enum() -> None:
    assert schema_of(*["2024-01-01", "2024-01-02"] * 9) == {"type": "string", "format": "date"}


def test_an_enum_beside_other_types() -> None:
    words = ["hot", "cold"] * 5
    assert schema_of(None, *words) == {"type": ["string", "null"], "enum": ["hot", "cold", None]}
    assert schema_of(1, *words) == {"anyOf": [{"type": "integer"}, {"type": "string", "enum": ["hot", "cold"]}]}


def test_all_items_of_all_lists_are_strings_at_one_place() -> None:
    schema = schema_of(*({"tags": ["new", "old"]} for _ in range(5)))
    assert schema["properties"]["tags"]["items"] == {"type": "string", "enum": ["new", "old"]}


def test_properties_stand_in_an_order_that_agrees_with_all() -> None:
    records: list[Json] = [{"a": 1, "d": 1}, {"b": 1, "d": 1}, {"a": 1, "b": 1, "c": 1, "d": 1}]
    assert list(schema_of(*records)["properties"]) == ["a", "b", "c", "d"]
    assert schema_of(*records)["required"] == ["d"]


@given(st.lists(st.sets(st.integers(0, 7)), max_size=8), st.permutations(range(8)))
def test_an_order_that_all_have_is_found(sets: list[set[int]], order: list[int]) -> None:
    records = [{str(number): 1 for number in order if number in each} for each in sets]
    found = common_order(records)
    for record in records:
        assert [name for name in found if name in record] == list(record)
    assert found == _sorted_slowly(records)


def _sorted_slowly(records: list[dict[str, int]]) -> list[str]:
    """Of the names that no record has behind one that is not there yet, the one that was seen first; and so on."""
    left = list(dict.fromkeys(name for record in records for name in record))
    found: list[str] = []
    while left:
        behind = {later for record in records for name, later in pairwise(record) if name in left}
        found.append(next(name for name in left if name not in behind))
        left.remove(found[-1])
    return found


@given(st.lists(st.lists(st.sampled_from("abcdef"), unique=True), max_size=6))
def test_where_there_is_no_order_each_name_is_there_once(orders: list[list[str]]) -> None:
    found = common_order([dict.fromkeys(names) for names in orders])
    assert sorted(found) == sorted({name for names in orders for name in names})


def map_of(*records: Json, **rules: bool) -> Json:
    schema = schema_of(*records, **rules)
    return None if "properties" in schema else {key: schema[key] for key in schema if key != "type"}


def test_objects_whose_names_are_data_are_maps() -> None:
    years = {"2023": 1, "2024": 2, "2025": 2.5}
    numbers = {"propertyNames": {"pattern": "^[0-9]+$"}, "additionalProperties": {"type": "number"}}
    assert map_of(years) == numbers
    assert map_of({"1": 1.5}, {"2": 1}, {}, {"3": 1}) == numbers
    assert map_of(years, maps=False) is None
    assert map_of(years, years) is None  # all have these names
    assert map_of({"2023": 1, "2024": 2}) is None  # too few
    assert map_of({"2023": 1, "2024": "x", "2025": 1}) is None  # values of two types
    assert map_of({"2023": 1, "2024": 2, "total": 3}) is None
    days = {"2024-01-01": {"a": 1}, "2024-01-02": None, "2024-01-03": {"b": 1}}
    found = map_of(days)
    assert found["propertyNames"] == {"format": "date"}
    assert found["additionalProperties"]["type"] == ["object", "null"]
    assert list(found["additionalProperties"]["properties"]) == ["a", "b"]


def test_many_names_that_occur_once_are_those_of_a_map() -> None:
    words = [f"word{chr(97 + number // 26)}{chr(97 + number % 26)}" for number in range(40)]
    assert map_of(*({word: 1, words[0]: 2} for word in words[1:])) is None  # one name is in all
    assert map_of(*({word: 1} for word in words)) == {"additionalProperties": {"type": "integer"}}
    assert map_of(*({word: 1} for word in words[:19])) is None
    assert map_of(dict.fromkeys(words, 1)) is None  # one object alone may well have forty properties
    assert map_of(*({word: 1} for word in words * 2)) is None  # nothing was seen once


def test_a_place_is_looked_at_in_all_records() -> None:
    assert schema_of([{"a": 1}], [{"a": 2.5}, {}])["items"]["properties"]["a"] == {"type": "number"}


# ---- what the examples are -------------------------------------------------------------------------------------------


def test_a_list_is_one_example_and_a_path_is_a_file_of_them(tmp_path: Path) -> None:
    (tmp_path / "records.jsonl").write_text('{"a": 1}\n\n{"a": 1.5}\n')
    (tmp_path / "records.json").write_text('[{"a": 1},\n {"a": "x"}]')
    assert schema_of([1, 2]) == {"type": "array", "items": {"type": "integer"}}
    for name, kind in (("records.jsonl", "number"), ("records.json", ["integer", "string"])):
        assert schema_of(tmp_path / name)["properties"]["a"] == {"type": kind}
    found = schema_of(tmp_path / "records.jsonl", tmp_path / "records.json", {"a": None})
    assert found["properties"]["a"] == {"type": ["number", "string", "null"]}


@pytest.mark.parametrize(
    ("name", "text", "records"),
    [
        ("a.jsonl", "[1, 2]\n", [[1, 2]]),
        ("a.ndjson", "1\n2", [1, 2]),
        ("a", "[1, 2]\n", [1, 2]),
        ("a", "[1]\n[2]\n", [[1], [2]]),
        ("a", "[\n1,\n2\n]", [1, 2]),
        ("a", '{\n"a": 1\n}', [{"a": 1}]),
        ("a", "\ufeff\r\n1\r\n", [1]),
        ("a", '"x"', ["x"]),
        ("a", '"\u2028"\n"\u0085"', ["\u2028", "\u0085"]),
    ],
    ids=str,
)
def test_lines_or_one_document(tmp_path: Path, name: str, text: str, records: list[Json]) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert schema_of(tmp_path / name) == schema_of(*records)


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("a.jsonl", '{"a": 1}\n{"a": tru}\n', "line 2, column 7: not valid JSON"),
        ("a.jsonl", "{\n}\n", "line 1, column 2: not valid JSON"),
        ("a", '{"a": 1}\n\n  {"a": 1,}\n', "line 3, column 10: not valid JSON"),
        ("a", "[1,\n 2,\n x]", "line 3, column 2: not valid JSON"),
        ("a", "{\n}\n{\n}\n", "line 3, column 1: not valid JSON: something follows"),
        ("a", '{"a": 1, "a": 2}', '"a" occurs twice'),
        ("a", "\n \n", "has no records"),
        ("a", "[]", "has no records: the list is empty"),
        ("a", b"1\n\xff", "line 2, column 1: not valid JSON: byte 2"),
    ],
    ids=str,
)
def test_files_that_are_no_records(tmp_path: Path, name: str, data: str | bytes, says: str) -> None:
    (tmp_path / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    with pytest.raises(InputError) as caught:
        schema_of(tmp_path / name)
    assert says in caught.value.message
    assert str(tmp_path / name) in caught.value.message


def test_examples_that_are_not_json() -> None:
    with pytest.raises(UsageError, match="example 2: a set is not JSON at /a/0"):
        schema_of(1, {"a": [set()]})
    with pytest.raises(UsageError, match="example 1: nan is not a number in JSON"):
        schema_of(float("nan"))
    with pytest.raises(UsageError, match="is the name of a file"):
        schema_of("records.jsonl")
    with pytest.raises(InputError, match="cannot read the records no-such-file: No such file"):
        schema_of(Path("no-such-file"))


def nested(depth: int, *, in_lists: bool) -> Json:
    value: Json = 1
    for number in range(depth):
        value = [value, None] if in_lists else {"a": value, "b": [number, "x", {}]}
    return value


@pytest.mark.parametrize("in_lists", [True, False])
def test_depth(*, in_lists: bool) -> None:
    value = nested(MAX_DEPTH - 2, in_lists=in_lists)
    assert is_written(JsonSchema(schema_of(value)), value)
    with pytest.raises(SchemaTooLarge, match=f"nested deeper than {MAX_DEPTH}"):
        schema_of(nested(MAX_DEPTH + 1, in_lists=in_lists))
