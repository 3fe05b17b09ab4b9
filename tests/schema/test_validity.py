from __future__ import annotations

import json
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

import jsonschema
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from tests.support.running.tried import tried
from tests.support.schemas.instances import from_schema

from sfgen.errors import SchemaError
from sfgen.schema.inspection.exact_validator import PatternUnreadableError, is_multiple, search_of
from sfgen.schema.inspection.validity import Fault, Validity
from sfgen.schema.reading.document import value_at
from sfgen.schema.reading.keywords import URIS, Draft
from sfgen.schema.reading.read import read_schema


def validity(schema: Any) -> Validity:
    return Validity(read_schema(schema))


# ---- against jsonschema --------------------------------------------------------------------------------------------

ORACLES = {
    Draft.DRAFT_04: jsonschema.Draft4Validator,
    Draft.DRAFT_07: jsonschema.Draft7Validator,
    Draft.DRAFT_2020_12: jsonschema.Draft202012Validator,
}
PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 9},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "kind": {"enum": ["a", "b", None, 3, False]},
        "tags": {
            "type": "array",
            "items": {"type": "string", "pattern": "^[a-z]+$"},
            "uniqueItems": True,
            "maxItems": 3,
        },
        "when": {"type": "string", "format": "date"},
        "extra": {"anyOf": [{"type": "null"}, {"type": "object", "additionalProperties": {"type": "boolean"}}]},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}
SCHEMAS: list[Any] = [
    PERSON,
    {"type": ["integer", "string"], "not": {"const": 3}},
    {"type": "array", "items": {"type": "number", "multipleOf": 3}, "minItems": 1},
    {"oneOf": [{"type": "integer"}, {"type": "number", "minimum": 2}]},
    {"allOf": [{"type": "object", "required": ["a"]}, {"patternProperties": {"^a": {"type": "string"}}}]},
    {
        "type": "object",
        "patternProperties": {"^x": {"type": "null"}, "y$": {}},
        "additionalProperties": {"minimum": 3},
    },
    {"type": "object", "minProperties": 1, "maxProperties": 2, "additionalProperties": {"type": ["boolean", "null"]}},
    {"enum": [[1, {"a": None}], {"b": [True]}, 0, "x"]},
    True,
]
TREE = {"$ref": "#/definitions/n", "definitions": {"n": {"type": "array", "items": {"$ref": "#/definitions/n"}}}}


def mutated(value: Any, draw: Any) -> Any:
    """The value with one thing in it changed."""
    if isinstance(value, list) and value and draw(st.booleans()):
        place = draw(st.integers(0, len(value) - 1))
        return [*value[:place], *draw(st.sampled_from([[], [mutated(value[place], draw)]])), *value[place + 1 :]]
    if isinstance(value, dict) and value and draw(st.booleans()):
        name = draw(st.sampled_from(sorted(value)))
        rest = {key: item for key, item in value.items() if key != name}
        return rest | draw(st.sampled_from([{}, {name: mutated(value[name], draw)}, {f"{name}x": value[name]}]))
    return draw(st.sampled_from([None, True, 0, 1, -1, 3, 2.5, "", "x", "2024-02-30", [], ["a", "a"], {}, {"a": 1}]))


@tried("many", mostly_assumed_away=True)
@given(st.data(), st.sampled_from(SCHEMAS), st.sampled_from(list(ORACLES)))
def test_what_is_valid_is_so_by_jsonschema(data: st.DataObject, schema: Any, draft: Draft) -> None:
    assume(isinstance(schema, dict))
    schema = {"$schema": URIS[draft], **schema} if isinstance(schema, dict) else schema
    value = data.draw(from_schema({name: item for name, item in schema.items() if name != "$schema"}))
    for _ in range(data.draw(st.integers(0, 2))):
        value = mutated(value, data.draw)
    oracle = ORACLES[draft](schema, format_checker=ORACLES[draft].FORMAT_CHECKER)
    text = json.dumps(value)
    expected = list(oracle.iter_errors(json.loads(text)))
    if draft is Draft.DRAFT_04 and ".0" in text:
        return  # where jsonschema takes the float 1.0 for no integer, and hypothesis-jsonschema draws it
    found = validity(schema).errors(text)
    assert bool(found) == bool(expected), (found, expected)
    assert validity(schema).is_valid(text) == (not expected)
    for fault in found:
        assert_place(fault, text, value)
    if not any(isinstance(item, float) for item in _scalars(value)):
        assert {(fault.path, fault.expected) for fault in validity(schema).errors_of_value(value)} == {
            (fault.path, fault.expected) for fault in found
        }


def _scalars(value: Any) -> list[Any]:
    if isinstance(value, list | dict):
        return [each for item in (value.values() if isinstance(value, dict) else value) for each in _scalars(item)]
    return [value]


def assert_place(fault: Fault, text: str, value: Any) -> None:
    """The pointer leads to a value, the path is that way, and at line and column stands that value or its name."""
    found = value_at(value, fault.pointer)
    assert fault.line is not None
    assert fault.column is not None
    rest = text.split("\n")[fault.line - 1][fault.column - 1 :]
    read, _ = json.JSONDecoder().raw_decode(rest)
    name = fault.pointer.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
    assert read == (name if fault.keyword in ("additionalProperties", "propertyNames") else found)
    assert fault.path.count(".") + fault.path.count("[") >= fault.pointer.count("/")


@pytest.mark.parametrize("draft", URIS)
def test_each_draft_is_read_by_its_validator(draft: Draft) -> None:
    check = validity({"$schema": URIS[draft], **TREE})
    assert check.errors("[[], [[]]]") == []
    assert [fault.path for fault in check.errors("[[], [3]]")] == ["$[1][0]"]


# ---- exact numbers -------------------------------------------------------------------------------------------------

DECIMALS = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**9), max_value=10**9, places=3)


@given(DECIMALS | st.integers(), st.decimals("0.001", 1000, places=3) | st.integers(1, 10**6))
@example(Decimal("19.99"), Decimal("0.01"))
@example(Decimal("0.3"), Decimal("0.1"))
@example(Decimal("-0.0"), 7)
@example(10**40 + 1, Decimal("0.5"))
@example(Decimal("1e-3"), 1)
@example(Decimal("100"), Decimal("1e2"))
def test_multiples_are_exact(value: Decimal | int, divisor: Decimal | int) -> None:
    expected = (Fraction(value) / Fraction(divisor)).denominator == 1
    assert is_multiple(value, divisor) == expected
    assert validity({"multipleOf": divisor}).is_valid(str(value)) == expected


@pytest.mark.parametrize(
    ("schema", "text", "is_valid"),
    [
        ({"multipleOf": 0.01}, "19.99", True),
        ({"multipleOf": 0.01}, "19.995", False),
        ({"multipleOf": 0.1}, "1e9999", True),
        ({"multipleOf": 3}, "1e9999", False),
        ({"multipleOf": 1e-300}, "1e9999", True),
        ({"multipleOf": 7}, "1e-9999", False),
        ({"maximum": 0.3}, "0.30000000000000000000000000001", False),
        ({"maximum": 0.3}, "0.3", True),
        ({"exclusiveMinimum": 1}, "1.0", False),
        ({"minimum": 12345678901234567890}, "12345678901234567889", False),
        ({"type": "integer"}, "1.0", True),
        ({"type": "integer"}, "1e2", True),
        ({"type": "integer"}, "1.5", False),
        ({"type": "integer"}, "-0.0", True),
        ({"type": "integer"}, "true", False),
        ({"type": "number"}, "1.5", True),
        ({"type": "number"}, "false", False),
        ({"$schema": URIS[Draft.DRAFT_04], "type": "integer"}, "1.0", False),
        ({"$schema": URIS[Draft.DRAFT_04], "type": "integer"}, "1", True),
        (
            {
                "$schema": URIS[Draft.DRAFT_07],
                "items": {"$ref": "#/definitions/a"},
                "definitions": {"a": {"type": "integer"}},
            },
            "[2.0]",
            True,
        ),
        ({"$schema": URIS[Draft.DRAFT_07], "type": ["integer", "array"], "items": {"$ref": "#"}}, "[[2.0]]", True),
        ({"enum": [1.0, None]}, "1", True),
        ({"enum": [1]}, "1.0", True),
        ({"enum": [1]}, "true", False),
        ({"enum": [False]}, "0", False),
        ({"const": {"a": [1, True]}}, '{"a": [1.0, true]}', True),
        ({"const": {"a": [1, True]}}, '{"a": [1.0, 1]}', False),
        ({"const": 0.1}, "0.1000", True),
        ({"uniqueItems": True}, "[1, 1.0]", False),
        ({"uniqueItems": True}, "[1, true, 0, false]", True),
        ({"uniqueItems": True}, '[{"a": 1, "b": 2}, {"b": 2.0, "a": 1}]', False),
        ({"uniqueItems": True}, '["a", 1, null, [1], [true]]', True),
        ({"minLength": 2}, '"😀"', False),
        ({"pattern": r"^\p{Lu}"}, '"É"', True),
        ({"pattern": r"^\p{Lu}"}, '"é"', False),
        ({"patternProperties": {r"^\p{Lu}": {"type": "null"}}, "additionalProperties": False}, '{"É": null}', True),
        ({"patternProperties": {"(?<x>a)": True, "(?<x>b)": True}, "additionalProperties": False}, '{"c": 1}', False),
        ({"patternProperties": {r"(a)\1": True, r"(b)\1": True}, "additionalProperties": False}, '{"bb": 1}', True),
        ({"format": "date"}, '"2023-02-29"', False),
        ({"format": "email"}, '"a@b"', True),
        ({"format": "no-such-format"}, '"x"', True),
        ({"format": "ipv6"}, '"::1%eth0"', False),
        ({"format": "idn-hostname"}, '"a..b"', False),
        (False, "1", False),
        (True, "[1, 2", False),
        (True, '{"a": 1, "a": 1}', False),
        (True, "NaN", False),
    ],
)
def test_what_jsonschema_by_itself_would_not_get_right(schema: Any, text: str, is_valid: bool) -> None:
    assert validity(schema).is_valid(text) == is_valid
    assert (validity(schema).errors(text) == []) == is_valid
    assert validity(schema).is_valid(text.encode()) == is_valid


def test_names_of_any_characters() -> None:
    schema = {"properties": {"a\nb#%25": {"pattern": "x"}, "\t": False}}
    (first, second) = validity(schema).errors('{"a\\nb#%25": "y", "\\t": 1}')
    assert (first.pointer, second.pointer, second.path) == ("/a\nb#%25", "/\t", '$["\\t"]')


def test_the_names_of_constants_stay() -> None:
    """``$schema`` is taken out of schemas, and of nothing else."""
    schema = {"$schema": URIS[Draft.DRAFT_07], "const": {"$schema": "a"}}
    assert validity(schema).is_valid('{"$schema": "a"}')
    assert not validity(schema).is_valid("{}")
    named = {"properties": {"$schema": {"type": "string"}}, "additionalProperties": False}
    assert validity(named).is_valid('{"$schema": "x"}')
    assert not validity(named).is_valid('{"$schema": 1}')


def test_a_pattern_that_cannot_be_read_is_told_by_its_pointer() -> None:
    for schema, pointer in (
        ({"properties": {"a": {"pattern": "a("}}}, "/properties/a/pattern"),
        ({"patternProperties": {"a/(": True}}, "/patternProperties/a~1("),
    ):
        with pytest.raises(SchemaError, match="is not a pattern: missing") as caught:
            validity(schema).errors("1")
        assert caught.value.pointer == pointer
        with pytest.raises(SchemaError) as caught:
            validity(json.dumps(schema)).errors("1")
        assert caught.value.details[1].strip() == "^"


# ---- depth ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [350, 390])
def test_what_is_too_deep_for_jsonschema_is_a_fault(depth: int) -> None:
    text = "[" * depth + "]" * depth
    (fault,) = validity(TREE).errors(text)
    assert fault.expected == "is nested too deep to be checked by this schema"
    assert not validity(TREE).is_valid(text)


def test_what_is_too_deep_for_the_reader_is_a_fault() -> None:
    (fault,) = validity(True).errors("[" * 100_000)
    assert fault.expected.startswith("the limit is passed: nested deeper than")
    loop: list[Any] = []
    loop.append(loop)
    (fault,) = validity(True).errors_of_value(loop)
    assert "nested deeper than" in fault.expected


# ---- words ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "text", "told"),
    [
        ({"type": "number"}, '"a"', ["$: must be a number, not a string"]),
        ({"type": ["string", "null"]}, "[]", ["$: must be a string or null, not an array"]),
        ({"type": "integer"}, "1.5", ["$: must be an integer, not 1.5"]),
        ({"type": "boolean"}, "null", ["$: must be true or false, not null"]),
        (
            {"properties": {"a": {"enum": ["red", "green"]}}},
            '{"a": "blue"}',
            ['$.a: must be "red" or "green", not "blue"'],
        ),
        ({"const": None}, "{}", ["$: must be null, not {}"]),
        ({"required": ["a", "b", "c"]}, '{"b": 1}', ['$: "a" is missing', '$: "c" is missing']),
        ({"items": {"required": ["a"]}}, "[{}, 1, {}]", ['$[0]: "a" is missing', '$[2]: "a" is missing']),
        (
            {"properties": {"a": {}}, "additionalProperties": False},
            '{"b c": 1}',
            ['$["b c"]: "b c" is not allowed here, only "a"'],
        ),
        ({"minimum": 3}, "2.5", ["$: must be 3 or more, not 2.5"]),
        ({"exclusiveMaximum": 3}, "3", ["$: must be below 3, not 3"]),
        ({"minimum": 3, "exclusiveMinimum": True}, "3", ["$: must be above 3, not 3"]),
        ({"multipleOf": 0.5}, "0.7", ["$: must be a multiple of 0.5, not 0.7"]),
        ({"minLength": 1}, '""', ["$: must have at least 1 character, not 0"]),
        ({"maxItems": 2}, "[1, 2, 3]", ["$: must have at most 2 items, not 3"]),
        ({"minProperties": 2}, '{"a": 1}', ["$: must have at least 2 properties, not 1"]),
        ({"pattern": "^a"}, '"b"', ['$: must match the pattern ^a, and "b" does not']),
        ({"format": "date"}, '"x"', ['$: must be of the format date, and "x" is not']),
        ({"uniqueItems": True}, "[1, 1]", ["$: must not have an item twice"]),
        ({"contains": {"const": 1}}, "[]", ['$: must have at least 1 item as "contains" describes']),
        ({"not": {"type": "string"}}, '"a"', ["$: must not be a string"]),
        ({"not": {"required": ["a", "b"]}}, '{"a": 1, "b": 2}', ['$: must not have "a" and "b"']),
        ({"properties": {"a": False}}, '{"a": 1}', ["$.a: is not allowed here"]),
        (
            {"propertyNames": {"maxLength": 2}},
            '{"abc": 1}',
            ['$.abc: the name "abc" must have at most 2 characters, not 3'],
        ),
        ({"dependentRequired": {"a": ["b"]}}, '{"a": 1}', ['$: "b" is missing, which "a" needs']),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "1", ["$: must be a string or null, not a number"]),
        (
            {"anyOf": [{"type": "null"}, {"type": "array", "items": {"minimum": 2}}]},
            "[1]",
            ["$[0]: must be 2 or more, not 1"],
        ),
        (
            {
                "oneOf": [
                    {"properties": {"k": {"const": "x"}, "v": {"type": "integer"}}, "required": ["k"]},
                    {"properties": {"k": {"const": "y"}, "v": {"type": "string"}}, "required": ["k"]},
                ]
            },
            '{"k": "y", "v": 3}',
            ["$.v: must be a string, not a number"],
        ),
        ({"oneOf": [{"minimum": 1}, {"maximum": 3}]}, "2", ['$: fits more than one of the 2 schemas of "oneOf"']),
        (
            {"anyOf": [{"minLength": 3}, {"pattern": "b"}]},
            '"a"',
            [
                '$: fits none of the 2 schemas of "anyOf": must have at least 3 characters, not 1; '
                'must match the pattern b, and "a" does not'
            ],
        ),
        (True, '{"a": 1,}', [": not valid JSON: nothing follows this comma but }"]),
    ],
)
def test_what_was_expected_in_words(schema: Any, text: str, told: list[str]) -> None:
    assert [f"{fault.path}: {fault.expected}" for fault in validity(schema).errors(text)] == told


def test_a_fault_shows_its_line() -> None:
    text = '{\n  "name": "Ada",\n  "age": "36"\n}\n'
    (fault,) = validity("name, age int").errors(text)
    assert (fault.path, fault.pointer, fault.keyword, fault.line, fault.column) == ("$.age", "/age", "type", 3, 10)
    assert fault.details == ('    "age": "36"', "           ^")
    (fault,) = validity("name, age int").errors_of_value({"name": "Ada", "age": "36"})
    assert (fault.line, fault.column, fault.details) == (None, None, ())


def referring(depth: int) -> dict[str, Any]:
    """A schema of a list that comes to its items in 2 ** depth ways."""
    each = {f"d{n + 1}": {"allOf": [{"$ref": f"#/$defs/d{n}"}, {"$ref": f"#/$defs/d{n}"}]} for n in range(depth)}
    return {"items": {"$ref": f"#/$defs/d{depth}"}, "$defs": {"d0": {"type": "integer"}, **each}}


@pytest.mark.parametrize("depth", [3, 40])
def test_what_many_references_lead_to_is_looked_at_once(depth: int) -> None:
    validity = Validity(read_schema(referring(depth)))
    assert validity.errors("[1, 2, 1]") == []
    found = validity.errors('[1, "2", 1, null, "2"]')
    assert [fault.path for fault in found] == ["$[1]", "$[3]", "$[4]"]


def test_references_of_different_values_are_told_apart() -> None:
    tree: dict[str, Any] = {
        "$defs": {"node": {"type": "object", "properties": {"left": {"$ref": "#/$defs/node"}, "n": {"type": "null"}}}}
    }
    tree |= {"$ref": "#/$defs/node"}
    validity = Validity(read_schema(tree))
    for depth in range(1, 40):
        text = '{"left": ' * depth + '{"n": 1}' + "}" * depth
        assert [fault.path for fault in validity.errors(text)] == ["$" + ".left" * depth + ".n"]
        assert validity.is_valid(text.replace("1", "null"))


def test_what_a_branch_behind_a_reference_lacks_is_told_where_it_is() -> None:
    kinds = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
    check = validity({"properties": {"command": {"$ref": "#/$defs/kinds"}}, "$defs": {"kinds": kinds}})
    found = check.errors('{"command": ["a", 1], "on": true}') + check.errors('{"command": 1}')
    told = ["$.command[1]: must be a string, not a number", "$.command: must be a string or an array, not a number"]
    assert [f"{fault.path}: {fault.expected}" for fault in found] == told
    assert [fault.column for fault in found] == [19, 13]


def test_values_of_python() -> None:
    check = validity({"items": {"multipleOf": 0.01}})
    assert check.errors_of_value([19.99, Decimal("0.03"), 4]) == []
    assert [fault.path for fault in check.errors_of_value((1, 0.001))] == ["$[1]"]
    (fault,) = check.errors_of_value([1, {2}])
    assert (fault.pointer, fault.expected) == ("/1", "not valid JSON: a set is not JSON")


def test_faults_come_in_the_order_of_the_text() -> None:
    schema = {
        "additionalProperties": {"type": "null"},
        "properties": {"b": {"type": "string"}, "a": {"type": "string"}},
    }
    faults = validity(schema).errors('{"c": 1,\n "b": 2,\n "a": 3}')
    assert [(fault.path, fault.line) for fault in faults] == [("$.c", 1), ("$.b", 2), ("$.a", 3)]


@pytest.mark.parametrize(
    ("pattern", "found", "not_found"),
    [
        (r"^\p{L}+$", ["äb", "я"], ["ä1", ""]),
        (r"^\P{L}$", ["1"], ["a"]),
        (r"[^\p{Lu}\d]", ["a"], ["A1"]),
        (r"^\p{Script=Greek}$", ["α"], ["a"]),
        (r"^(?<first>a|b)\k<first>$", ["aa", "bb"], ["ab"]),
        (r"^(?<a$b>x)[^]\k<a$b>$", ["x\nx"], ["xx"]),
        ("^[^]$", ["\n", "a"], ["", "ab"]),
        ("a[]|b", ["b"], ["a"]),
        (r"^\u{1F600}$", ["😀"], ["😁"]),
        (r"^[\u{61}-\u{63}]$", ["b"], ["d"]),
        (r"^\ud83d\ude00\p{L}$", ["😀a"], ["😀"]),
        (r"^\cA\p{L}$", ["\x01a"], ["Aa"]),
        (r"(?<=a+)b", ["aab"], ["cb"]),
        (r"(?<!a+)b", ["cb"], ["aab"]),
        (r"^\i\p{L}[(?<x>[]$", ["ia(", "ia[", "ia<"], ["ia)"]),
        (r"^[\p{L}\]\[]$", ["]", "["], ["\\"]),
        # What `re` can read is what `re` says, as in jsonschema.
        (r"^\d$", ["٣"], ["a"]),
        (r"^a$", ["a\n"], ["a\nb"]),
        (r"\/\-", ["/-"], ["/"]),
        ("[[a]", ["["], ["b"]),
    ],
)
def test_what_a_pattern_finds(pattern: str, found: list[str], not_found: list[str]) -> None:
    search = search_of(pattern)
    assert [bool(search(text)) for text in found] == [True] * len(found)
    assert [bool(search(text)) for text in not_found] == [False] * len(not_found)


@pytest.mark.parametrize(
    "pattern", ["a(", "*a", "[b-a]", r"\p{Nope}", r"\u{ffffff}", "a{2,1}", r"\k<a>", "(?<a>x)(?<a>y", "\\", "(" * 5000]
)
def test_a_pattern_that_nobody_can_read(pattern: str) -> None:
    with pytest.raises(PatternUnreadableError) as caught:
        search_of(pattern)
    assert str(caught.value)


@given(st.text(r"ab\[]^$(?<>:)*+{},1.-|upPLkdw/", max_size=12), st.text("ab1]\n", max_size=5))
def test_never_anything_but_an_answer(pattern: str, text: str) -> None:
    """And the answer of ``re`` where it has one."""
    try:
        found = bool(search_of(pattern)(text))
    except PatternUnreadableError:
        with pytest.raises(re.error):
            re.compile(pattern)
        return
    try:
        assert found == bool(re.search(pattern, text))
    except re.error:
        assert found in (True, False)
