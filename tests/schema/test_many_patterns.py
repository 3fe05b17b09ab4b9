"""Many patterns of names of one object: each name has what all patterns say that are found in it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.oracles.schema_oracle import Oracle
from tests.support.running.tried import tried

from sfgen import JsonSchema
from sfgen.errors import SchemaError, SchemaTooLarge

DIGESTS = {"MD5": 32, "SHA-1": 40, "SHA-224": 56, "SHA-256": 64, "SHA-384": 96, "SHA-512": 128}
PATTERNS = ["^a", "b", "c$", "^.$", "^..$", "[ab]{2}", "^b?c*$", "aa", "^[^a]", "bc|ca", "^abc$", "(ab)+", "d", "^$"]
NAMES = ["", "a", "b", "c", "d", "aa", "ab", "bc", "ca", "cc", "abc", "bcc", "dab", "aabc", "x"]


def test_names_of_which_each_has_a_pattern_of_its_own() -> None:
    """As in a schema of GitHub, which has 15 such names beside a pattern of all names."""
    named = {f"^{name}$": {"pattern": f"^[0-9a-f]{{{count}}}$"} for name, count in DIGESTS.items()}
    schema = {"type": "object", "patternProperties": {"^[a-zA-Z0-9_-]+$": {"type": "string"}, **named}}
    constraint, oracle = JsonSchema(schema), Oracle(schema)
    values: list[Any] = [
        *({name: "0" * count} for name, count in DIGESTS.items()),
        *({name: "0"} for name in DIGESTS),
        *({"other": "0"}, {"other": 1}, {"SHA-1": "a" * 40, "MD5": "b" * 32}, {"": 1}),
    ]
    for value in values:
        assert constraint.accepts(json.dumps(value)) is oracle.is_valid(value), value


def test_thirty_patterns_that_exclude_each_other() -> None:
    patterns = {f"^x{number}_": {"type": "integer", "minimum": number} for number in range(30)}
    constraint = JsonSchema({"type": "object", "patternProperties": patterns, "additionalProperties": False})
    assert constraint.accepts('{"x7_": 7, "x29_a": 29}')
    assert not constraint.accepts('{"x7_": 6}')
    assert not constraint.accepts('{"x30_": 30}')


def test_what_divides_names_too_often_is_refused() -> None:
    seven = {letter: {"type": "null"} for letter in "abcdefg"}
    assert JsonSchema({"type": "object", "patternProperties": seven}).accepts('{"age": null}')
    with pytest.raises(SchemaTooLarge, match="divide names into more than 128 sorts at the top"):
        _ = JsonSchema({"type": "object", "patternProperties": {**seven, "h": True}}).compiled


def test_a_name_that_patterns_refuse_beside_a_value_that_is_named() -> None:
    """What a value of enum may be is decided without the rules of names."""
    values: list[Any] = [{"x": "a"}, {"a": "a"}, {"a": 1}, {"é": 2}, {"αβγ": 1}, {"αβγ": "a"}]
    schema = {"enum": values, "patternProperties": {pattern: {"type": "integer"} for pattern in PATTERNS[:8]}}
    constraint, oracle = JsonSchema(schema), Oracle(schema)
    accepted = [value for value in values if constraint.accepts(json.dumps(value, ensure_ascii=False))]
    assert accepted == [value for value in values if oracle.is_valid(value)]
    assert {"a": "a"} not in accepted
    assert {"αβγ": "a"} in accepted


@tried("some", mostly_assumed_away=True)
@given(
    st.lists(st.sampled_from(PATTERNS), min_size=7, max_size=10, unique=True),
    st.lists(st.sampled_from([0, 1, 2, "a", None]), min_size=1, max_size=3),
    st.sampled_from([True, False, {"type": "null"}]),
    st.sampled_from(["schema", "any"]),
)
def test_each_name_has_what_its_patterns_say(patterns: list[str], values: list[Any], others: Any, order: str) -> None:
    said = [{"type": "integer"}, {"enum": [1, "a", None]}, {"minimum": 1}, {"type": ["integer", "null"]}]
    schema: dict[str, Any] = {
        "type": "object",
        "patternProperties": {pattern: said[number % 4] for number, pattern in enumerate(patterns)},
        "additionalProperties": others,
        "minProperties": 1,
    }
    constraint, oracle = JsonSchema(schema, order=order, infer_types=False), Oracle(schema)
    try:
        shortest = constraint.shortest().decode()
    except SchemaTooLarge:
        assume(False)
    except SchemaError:
        shortest = ""
    assert not shortest or oracle.fault(shortest) == ""
    for name in NAMES:
        for value in values:
            if shortest:
                assert constraint.accepts(json.dumps({name: value})) is oracle.is_valid({name: value}), (name, value)
            else:
                assert not oracle.is_valid({name: value})
