"""``uniqueItems`` of items of all sorts: what is written is valid, what is valid can be written, nothing runs out."""

from __future__ import annotations

import json
import random
from itertools import product
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.recogniser import RecogniserIndex
from tests.oracles.schema_oracle import Oracle
from tests.support.grammars.rule_texts import RuleTexts
from tests.support.models.vocabularies import BYTES
from tests.support.running.tried import rounds, tried

from sfgen import Dfa, Index, JsonSchema, Vocabulary
from sfgen.errors import SchemaError
from sfgen.schema.writing.structures import atoms

_VALUES: list[Any] = [
    *(None, True, False, 0, 1, 2, -1, 1.5, "a", "b", ""),
    *([], [1], [0], [True], [1, 2], [[]], [[1]], {}, {"a": 1}, {"a": True}, {"a": 1, "b": 0}, {"b": 0}, {"a": [1]}),
]
_BOOLEAN, _SMALL = {"type": "boolean"}, {"type": "integer", "minimum": 0, "maximum": 2}
_SCHEMAS: list[Any] = [
    *(_BOOLEAN, _SMALL, {"type": "string"}, {"type": "number"}, {"enum": [1, "a", [1], {"a": 1}]}, {"const": [1]}),
    *({"type": "array", "items": item, "maxItems": 2} for item in (_BOOLEAN, _SMALL, {"type": "string"})),
    {"type": "object", "properties": {"a": _SMALL, "b": _SMALL}, "additionalProperties": False},
    {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a"], "additionalProperties": False},
    {"type": "object", "properties": {"b": _SMALL, "a": True}, "required": ["b"], "additionalProperties": False},
    {"type": "array", "uniqueItems": True, "items": _SMALL},
    {},
]


def _item_schemas() -> st.SearchStrategy[Any]:
    one = st.sampled_from(_SCHEMAS)
    return one | st.lists(one, min_size=2, max_size=3).map(lambda schemas: {"anyOf": schemas})


def _array_schemas() -> st.SearchStrategy[Any]:
    item, count = _item_schemas(), st.integers(0, 3)
    return st.fixed_dictionaries(
        {"type": st.just("array"), "uniqueItems": st.just(True)},
        optional={
            "items": item,
            "prefixItems": st.lists(item, min_size=1, max_size=3),
            "minItems": count,
            "maxItems": count,
            "contains": item,
            "minContains": count,
            "maxContains": count,
        },
    )


def _arrays() -> st.SearchStrategy[list[Any]]:
    return st.lists(st.sampled_from(_VALUES), max_size=4)


@tried("some", mostly_assumed_away=True)
@given(_array_schemas(), st.lists(_arrays(), min_size=20, max_size=20), st.integers(0, 10**6))
def test_what_is_written_is_valid_and_what_is_valid_can_be_written(
    schema: Any, arrays: list[list[Any]], seed: int
) -> None:
    valid = jsonschema.Draft202012Validator(schema).is_valid
    constraint = JsonSchema(schema)
    try:
        _ = constraint.network
    except SchemaError as error:
        is_contradiction = error.hint.startswith("No text satisfies this schema")
        assert not (is_contradiction and any(map(valid, arrays)))
        return
    for array in arrays:
        # Objects that may be equal have one order of their names, which need not be that of the value.
        has_order = any(isinstance(item, dict) and len(item) > 1 for item in array)
        if not valid(array):
            assert not constraint.accepts(json.dumps(array)), array
        elif not has_order and not constraint.compiled.notes:
            assert constraint.accepts(json.dumps(array)) is valid(array), array
    oracle, texts = Oracle(schema), RuleTexts(constraint.compiled.grammar, random.Random(seed))
    assert oracle.fault(constraint.shortest().decode()) == ""
    for _ in range(5):
        text = texts.draw().decode()
        assert oracle.fault(text) == "", text


_LIST: dict[str, Any] = {"type": "array", "uniqueItems": True}
_CLOSED: dict[str, Any] = {"type": "object", "additionalProperties": False}
_DIFFERENT: dict[str, Any] = {
    "a long one of two": {**_LIST, "minItems": 2, "items": {"enum": ["a", "b" * 40]}},
    "long ones of four": {**_LIST, "minItems": 3, "items": {"enum": ["a", "b" * 40, "c" * 40, "bb"]}},
    "digits": {**_LIST, "minItems": 2, "items": {"type": "integer", "minimum": 0, "maximum": 4}},
    "objects": {
        **_LIST,
        "minItems": 2,
        "items": {**_CLOSED, "properties": {"a": {"enum": ["x", "y" * 30]}, "b": _BOOLEAN}, "required": ["a"]},
    },
    "open objects": {**_LIST, "items": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {}}}},
    "anything": {**_LIST, "minItems": 2},
    "one by one": {
        **_LIST,
        "prefixItems": [{"type": "string"}, {"const": "b"}, {"enum": ["a", "b", "c"]}],
        "minItems": 3,
    },
    "few in all places": {
        **_LIST,
        "prefixItems": [{"enum": ["a", "b", "ab"]}] * 3,
        "items": {"enum": ["a", "b", "ab", "1"]},
    },
    "contains": {**_LIST, "items": {"enum": [1, 2, 3, [1], "a"]}, "contains": {"type": "number"}, "minContains": 2},
    "contains arrays": {
        **_LIST,
        "items": {"type": ["integer", "array"], "items": _BOOLEAN, "maxItems": 2},
        "contains": {"type": "array"},
        "minContains": 3,
        "maxContains": 6,
    },
    "arrays of booleans": {**_LIST, "items": {"type": "array", "items": _BOOLEAN, "maxItems": 2}, "minItems": 5},
    "different in different": {**_LIST, "items": {**_LIST, "items": _SMALL}, "minItems": 2},
    "few strings": {"type": "array", "items": {"type": "string", "pattern": "^[ab]{1,2}$"}, "uniqueItems": True},
    "ten values": {
        "type": "array",
        "uniqueItems": True,
        "items": {"enum": ["a", "ab", "b", "ba", "c", "d", "e", "f", "g", "h"]},
    },
    "integers": {
        "type": "array",
        "uniqueItems": True,
        "minItems": 2,
        "items": {"type": "integer", "minimum": 0, "maximum": 12},
    },
    "of several types": {
        "type": "array",
        "uniqueItems": True,
        "minItems": 3,
        "items": {"type": ["integer", "null", "string"], "maxLength": 1, "pattern": "^[ab]?$"},
    },
    "two booleans": {"type": "array", "items": {"type": "boolean"}, "uniqueItems": True},
    "any strings": {"type": "array", "items": {"type": "string"}, "uniqueItems": True, "minItems": 4},
    "short strings": {"type": "array", "items": {"type": "string", "maxLength": 1}, "uniqueItems": True},
    "names": {
        "type": "object",
        "propertyNames": {"enum": ["a", "ab", "b", "1"]},
        "additionalProperties": {"type": "null"},
    },
    "names of a pattern": {
        "type": "object",
        "minProperties": 2,
        "propertyNames": {"pattern": "^[ab]{1,2}$"},
        "additionalProperties": {"type": "null"},
    },
    "two patterns": {
        "type": "object",
        "additionalProperties": False,
        "patternProperties": {"^[ab]$": {"type": "null"}, "^a": {}},
    },
    "a name of each of two patterns": {
        **_CLOSED,
        "minProperties": 2,
        "properties": {"1": {"type": "integer"}},
        "patternProperties": {"^a$": {"type": "null"}, "^b$": {"type": "null"}},
    },
    "few names and endless ones": {
        "type": "object",
        "minProperties": 2,
        "patternProperties": {"^a$": {"type": "null"}},
        "additionalProperties": {"type": "integer", "minimum": 1000},
    },
}
_TOKENS = [
    *BYTES,
    *(b"', \"", b'"a', b'a", ', b'["', b'"]', b", 1", b"1, ", b', "ab', b'b"', b'{"', b'": ', b"1]", b'}, {"', b'a": '),
    *(b'{"a": 1}', b"true, ", b"false]", b"[[", b"], [", b", 'b", b", b", b'["', b"ab", b"null, ", b'{"a": null, "'),
]


@pytest.mark.parametrize("order", ["schema", "any"])
@pytest.mark.parametrize("name", _DIFFERENT)
def test_what_must_differ_never_runs_out(name: str, order: str) -> None:
    """Walks by allowed tokens, with limits from the shortest text on and without; each allowed one can be taken."""
    schema, end = _DIFFERENT[name], len(_TOKENS)
    constraint, oracle = JsonSchema(schema, order=order), Oracle(schema)
    index = Index(constraint, Vocabulary([*_TOKENS, None], [end]))
    chance, liked = random.Random(name), set(b'",[]ab1{}: truefalsn')
    least = index.guide().tokens_left()
    for number in range(rounds(50)):
        limit = None if number % 3 == 0 else least + chance.randrange(25)
        guide, text = index.guide(limit), b""
        for _ in range(80):
            allowed = guide.allowed_tokens().tolist()
            assert allowed, text
            tokens = [token for token in allowed if token != end]
            if not tokens or (end in allowed and chance.random() < 0.15):
                break
            good = [token for token in tokens if _TOKENS[token][0] in liked]
            token = chance.choice(good if good and chance.random() < 0.95 else tokens)
            guide.advance(token)
            text += _TOKENS[token]
        if guide.is_accepting:
            assert oracle.fault(text.decode()) == "", text
        else:
            assert limit is None, text


@pytest.mark.parametrize(
    "name", ["digits", "few in all places", "contains", "arrays of booleans", "different in different"]
)
def test_masks_are_those_of_the_recogniser(name: str) -> None:
    constraint = JsonSchema(_DIFFERENT[name])
    tokens = [bytes([byte]) for byte in sorted(set(b'[]", ab12340truefals'))] + _TOKENS[256:]
    vocabulary = Vocabulary([*tokens, None], [len(tokens)])
    index, reference = Index(constraint, vocabulary), RecogniserIndex(constraint.compiled.grammar, vocabulary)
    chance = random.Random(name)
    for _ in range(rounds(12)):
        guide, plain = index.guide(), reference.guide()
        for _ in range(25):
            allowed = guide.allowed_tokens().tolist()
            assert allowed == plain.allowed_tokens().tolist()
            rest = [token for token in allowed if token < len(tokens)]
            if not rest:
                break
            token = chance.choice(rest)
            guide.advance(token)
            plain.advance(token)


@pytest.mark.parametrize(
    ("items", "accepted", "refused"),
    [
        ({"anyOf": [{"enum": ["a"]}, {"type": "string"}]}, ['["b", "a"]'], ['["a", "a"]']),
        ({"enum": [1.0, 1, 1e-7, True]}, ["[1, 0.0000001, true]"], ["[1, 1.0]", "[1, 1]"]),
        ({"enum": [{"a": 1, "b": 2}, {"b": 2, "a": 1}, [1]]}, ['[[1], {"a": 1, "b": 2}]'], ['[{"b": 2, "a": 1}]']),
        ({"enum": [f"v{number}" for number in range(500)]}, ['["v499", "v0"]'], ['["v7", "v8", "v7"]']),
        (
            {"anyOf": [{**_CLOSED, "properties": {"a": {}, "b": {}}}, {**_CLOSED, "properties": {"b": {}, "a": {}}}]},
            ['[{"a": 1, "b": 1}, {"b": 1}]'],
            ['[{"b": 1, "a": 1}]', '[{"a": 1, "b": 1}, {"b": 1, "a": 1}]'],
        ),
        (
            {"type": "object", "additionalProperties": {"type": "integer"}},
            ['[{"a": 1}, {"a": 2}, {"b": 1}, {}]'],
            ['[{"a": 1}, {"a": 1}]'],
        ),
        (
            {"minLength": 1, "minItems": 1},
            ['[[[1], "foo"], [[true], "foo"], {"a": {"b": [1]}}, 100]'],
            ["[[1], [1]]"],
        ),
    ],
)
def test_equal_values_are_written_alike(items: Any, accepted: list[str], refused: list[str]) -> None:
    for spacing in ("spaced", "any"):
        constraint = JsonSchema({**_LIST, "items": items}, spacing=spacing)
        assert all(map(constraint.accepts, accepted))
        assert not any(map(constraint.accepts, refused))
    assert not JsonSchema({**_LIST, "items": items}, spacing="any").accepts("[[1], [1 ]]")


def test_what_is_left_out_is_told() -> None:
    (note,) = JsonSchema({"type": "array", "uniqueItems": True}).compiled.notes
    assert note.startswith("Some valid values are never written: unique items at the top have")
    assert JsonSchema({**_LIST, "items": {"type": "array", "items": _SMALL}}).compiled.notes == ()


def test_atoms_divide_what_the_items_may_be() -> None:
    texts = {name: Dfa.from_regex(pattern) for name, pattern in (("x", "[ab]"), ("y", "[bc]+"), ("z", "[ab]"))}
    found = atoms(texts, "")
    for text in ("a", "b", "c", "bc", "ab", ""):
        rules = {rule for rule, dfa in texts.items() if dfa.accepts(text)}
        assert [atom.rules for atom in found if atom.texts.accepts(text)] == ([rules] if rules else [])
    assert sorted(str(atom.size) for atom in found) == ["1", "1", "None"]


def test_a_spread_is_that_of_all_texts() -> None:
    from sfgen.automata.completions import spread

    for pattern in ("a|b{3}", "(a|bb){1,3}", "[ab]{2}|c*", "x{4}(a|b|cd)*"):
        dfa = Dfa.from_regex(pattern)
        letters = "abcdx"
        for number in (1, 2, 5):
            most = 0
            for begun in ("".join(letters_) for count in range(4) for letters_ in product(letters, repeat=count)):
                state = dfa.walk(begun.encode())
                if state < 0:
                    continue
                lengths = [
                    count
                    for count in range(9)
                    for more in product(letters, repeat=count)
                    if count < 6 and dfa.accepts(begun + "".join(more))
                ]
                if lengths:
                    most = max(most, sorted(lengths)[min(number, len(lengths)) - 1] - min(lengths))
            assert spread(dfa, number) == most, (pattern, number)


def test_items_of_many_states_are_refused_before_all_of_them_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer repetitions of a rule in itself may do; none of what is written then is wrong."""
    tree = {"type": "object", "properties": {"a": {"$ref": "#/$defs/tree"}, "b": _SMALL}, "additionalProperties": False}
    schema = {"type": "array", "uniqueItems": True, "items": {"$ref": "#/$defs/tree"}, "$defs": {"tree": tree}}
    whole = _depths(schema)
    monkeypatch.setattr("sfgen.schema.writing.one_form.MOST_STATES", 60)
    fewer = _depths(schema)
    assert 0 < len(fewer) < len(whole)
    assert JsonSchema(schema).notes[0].startswith("Some valid values are never written")
    monkeypatch.setattr("sfgen.schema.writing.one_form.MOST_STATES", 5)
    with pytest.raises(SchemaError, match="uniqueItems is not supported for items as large as these"):
        _depths(schema)


def _depths(schema: Any) -> set[int]:
    """How deep the objects are that a single item may be."""
    constraint = JsonSchema({**schema, "minItems": 1, "maxItems": 2}, spacing="compact")
    texts = ["[" + '{"a":' * depth + "{}" + "}" * depth + "]" for depth in range(5)]
    return {depth for depth, text in enumerate(texts) if constraint.accepts(text)}
