"""What is written by the rules of a schema is valid, and what is valid and in written form is written."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.oracles.recogniser import Recogniser
from tests.support.grammars.rule_texts import RuleTexts
from tests.support.running.tried import some_of, tried
from tests.support.schemas.instances import from_schema
from tests.support.schemas.named import PLAIN, SCHEMAS, an_object

from sfgen.errors import SchemaError
from sfgen.grammar.network.rules import CountedList
from sfgen.schema.inspection.validity import Validity
from sfgen.schema.json_schema import JsonSchema
from sfgen.schema.reading.document import SchemaDocument
from sfgen.schema.reading.read import read_schema
from sfgen.schema.writing.compile import Compiled, compile_schema
from sfgen.schema.writing.layout import WritingOptions

_OPTIONS = {
    "default": WritingOptions(),
    "compact": WritingOptions(spacing="compact"),
    "any": WritingOptions(spacing="any"),
    "indent": WritingOptions(indent=2),
    "no indent": WritingOptions(indent=0, spacing="compact"),
    "extra": WritingOptions(extra_properties=True),
    "all": WritingOptions(require_all=True),
}
_TEXTS = 25

_NEVER_ALL = {
    *("impossible but optional", "reference to the whole", "two that call each other"),
    *("one of what must be there", "dynamic reference"),
}
"""Schemas that nothing can be written by if all their properties are required."""

_WITHOUT_END = {
    *("true", "nothing said", "limits without type", "additionalItems alone", "open", "any object"),
    *("closed tuple in draft 06", "items in draft 2019-09", "required and declared"),
    *("names as strings", "dynamic reference"),
    *("tree", "linked list", "reference to the whole", "lists of lists", "two that call each other"),
}
"""Schemas whose values may be nested to any depth."""


def _compiled(schema: Any, options: WritingOptions = _OPTIONS["default"]) -> Compiled:
    return compile_schema(read_schema(schema), options)


def _layout_of(value: Any, options: WritingOptions) -> str:
    """A value as ``json.dumps`` writes it with the white space of some options."""
    colon = ":" if options.spacing == "compact" else ": "
    comma = "," if options.spacing == "compact" or options.indent is not None else ", "
    return json.dumps(value, ensure_ascii=False, indent=options.indent, separators=(comma, colon))


@pytest.mark.parametrize(("name", "way"), some_of(itertools.product(SCHEMAS, _OPTIONS), 320))
def test_every_text_of_the_rules_is_valid_and_written_as_json_dumps_does(name: str, way: str) -> None:
    """Each schema with some of the options."""
    schema, options = SCHEMAS[name], _OPTIONS[way]
    document = read_schema(schema)
    has_no_end = options.indent is not None and name in _WITHOUT_END
    if has_no_end or (options.require_all and name in _NEVER_ALL):
        with pytest.raises(SchemaError, match="indent needs" if has_no_end else "No text satisfies this schema"):
            compile_schema(document, options)
        return
    compiled = compile_schema(document, options)
    validity, texts = Validity(document), RuleTexts(compiled.grammar, random.Random(7))
    for text in {texts.draw() for _ in range(_TEXTS)}:
        assert validity.errors(text) == [], text
        bare = json.loads(text, parse_float=lambda _: 0, parse_int=lambda _: 0)
        shape = json.loads(json.dumps(bare))
        assert shape == bare
        if options.spacing == "any":
            assert b"  " not in text or b'"' in text
        else:
            assert _without_numbers(text.decode()) == _layout_of(bare, options), text


def _without_numbers(text: str) -> str:
    """A text with 0 for each number."""
    decoder = json.JSONDecoder(parse_float=str, parse_int=str)
    pieces, at = [], 0
    while at < len(text):
        if text[at] == '"':
            _, end = decoder.raw_decode(text, at)
            pieces.append(text[at:end])
        elif text[at] in "-0123456789":
            _, end = decoder.raw_decode(text, at)
            pieces.append("0")
        else:
            end = at + 1
            pieces.append(text[at])
        at = end
    return "".join(pieces)


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_engine_and_reference_accept_what_is_drawn_from_the_rules(schema: Any) -> None:
    constraint = JsonSchema(schema)
    recogniser = Recogniser(constraint.compiled.grammar)
    texts = RuleTexts(constraint.compiled.grammar, random.Random(3))
    for text in {texts.draw() for _ in range(10)}:
        assert constraint.accepts(text)
        assert len(text) > 400 or recogniser.accepts(text)
    assert Validity(constraint.document).is_valid(constraint.shortest())
    assert constraint.accepts(constraint.shortest())


_UNKNOWN_TO_HYPOTHESIS = {  # hypothesis-jsonschema knows drafts 04 to 07, and nothing beside a reference
    *(name for name, schema in SCHEMAS.items() if "prefixItems" in str(schema)),
    "items in draft 2019-09",
    "siblings in draft 2020-12",
    "anchor",
    "limits in draft 04",
    *("names by patterns", "names as strings", "dynamic reference"),
    *("tree", "linked list", "reference to the whole", "lists of lists", "two that call each other"),  # recursive
    *("person", "formats", "reference", "all of one"),  # formats are written within bounds that theirs do not keep
}
_INSTANCES = {name: schema for name, schema in PLAIN.items() if name not in _UNKNOWN_TO_HYPOTHESIS}


def _closed(schema: Any) -> Any:
    """A schema whose objects have the names that it gives only, where it has properties and is silent about others."""
    if isinstance(schema, list):
        return [_closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {keyword: part if keyword in ("enum", "const") else _closed(part) for keyword, part in schema.items()}
    if isinstance(schema.get("properties"), dict) and "additionalProperties" not in schema:
        named: dict[str, Any] = {name: {} for name in schema.get("required", ()) if name not in schema["properties"]}
        closed |= {"properties": {**closed["properties"], **named}, "additionalProperties": False}
    return closed


def _written(value: Any, schema: Any, document: SchemaDocument) -> Any:
    """A value with the properties of its objects in the order of the schema, the others behind."""
    parts = _parts(schema, document)
    if isinstance(value, list):
        return [_written(item, _joined(_item(part, at) for part in parts), document) for at, item in enumerate(value)]
    if isinstance(value, dict):
        declared = [name for part in parts for name in part.get("properties", ())]
        names = [*declared, *(name for part in parts for name in part.get("required", ())), *value]
        return {
            name: _written(value[name], _joined(_member(part, name) for part in parts), document)
            for name in dict.fromkeys(names)
            if name in value
        }
    return value


def _parts(schema: Any, document: SchemaDocument) -> list[dict[str, Any]]:
    """The schemas that may hold together."""
    if not isinstance(schema, dict):
        return []
    if "$ref" in schema:
        return _parts(document.resolve(schema["$ref"], "")[1], document)
    inner = [*schema.get("allOf", ()), *schema.get("anyOf", ()), *schema.get("oneOf", ())]
    return [schema, *(part for one in inner for part in _parts(one, document))]


def _joined(schemas: Iterable[Any]) -> Any:
    return {"allOf": list(schemas)}


def _item(schema: dict[str, Any], index: int) -> Any:
    items = schema.get("items", {})
    if isinstance(items, list):
        return items[index] if index < len(items) else schema.get("additionalItems", {})
    return items


def _member(schema: dict[str, Any], name: str) -> Any:
    return schema.get("properties", {}).get(name, schema.get("additionalProperties", {}))


@pytest.mark.parametrize("schema", _INSTANCES.values(), ids=_INSTANCES)
@tried("handful", mostly_assumed_away=True)
@given(data=st.data())
def test_what_is_valid_and_in_written_form_is_accepted(schema: Any, data: st.DataObject) -> None:
    value = data.draw(from_schema(_closed(schema)))
    constraint = JsonSchema(schema)
    text = json.dumps(_written(value, schema, constraint.document), ensure_ascii=False)
    assume(_is_plain(text) and Validity(constraint.document).is_valid(text))
    assert constraint.accepts(text), text


def _is_plain(text: str) -> bool:
    """Whether all numbers are such as are written: of few digits, without exponent, integers without a point."""
    numbers: list[str] = []
    json.loads(text, parse_float=numbers.append, parse_int=numbers.append)
    return all(len(number) < 20 and "e" not in number.lower() and not number.endswith(".0") for number in numbers)


def test_what_refers_to_itself_is_written_to_any_depth() -> None:
    tree = JsonSchema(SCHEMAS["tree"])
    text = '{"value": 1, "children": [{"value": 2}, {"value": 3, "children": []}]}'
    assert tree.accepts(text)
    assert not tree.accepts(text.replace("3", '"3"'))
    deep = "[" * 300 + "7" + "]" * 300
    assert JsonSchema(SCHEMAS["lists of lists"]).accepts(deep)
    assert not JsonSchema(SCHEMAS["lists of lists"]).accepts(deep[:-1])
    assert JsonSchema(SCHEMAS["linked list"]).accepts('{"v": "a", "next": {"v": "b", "next": null}}')
    assert not JsonSchema(SCHEMAS["linked list"]).accepts('{"v": "a", "next": {"v": "b"}}')
    assert JsonSchema(SCHEMAS["two that call each other"]).accepts('{"odd": {"even": {"odd": {}}}}')
    assert not JsonSchema(SCHEMAS["two that call each other"]).accepts('{"odd": {"odd": {}}}')
    assert JsonSchema(SCHEMAS["reference to the whole"]).accepts('{"inner": {"n": 1}, "n": 2}')


_SCALARS = st.sampled_from(
    [
        *({"type": kind} for kind in ("null", "boolean", "integer", "number", "string")),
        {"enum": [1, "a", None, [2]]},
        {"const": {"a": 1}},
        {"type": "string", "maxLength": 3},
        {"type": "string", "minLength": 2, "maxLength": 40},
        {"minimum": 2, "maxLength": 1},
        {"type": "integer", "minimum": 3, "maximum": 3},
        {"type": ["integer", "string"], "maximum": 5, "pattern": "^[ab]*$"},
        True,
        False,
    ]
)
_RANDOM_NAMES = st.sampled_from(["a", "b", "c", 'q"', ""])


def _containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    properties = st.dictionaries(_RANDOM_NAMES, inner, max_size=3)
    small = st.integers(0, 3)
    return st.one_of(
        st.fixed_dictionaries(
            {"properties": properties},
            optional={
                "type": st.just("object"),
                "required": st.lists(_RANDOM_NAMES, unique=True, max_size=2),
                "additionalProperties": inner,
            },
        ),
        st.fixed_dictionaries(
            {"items": inner},
            optional={
                "type": st.just("array"),
                "minItems": small,
                "maxItems": small,
                "prefixItems": st.lists(inner, min_size=1, max_size=3),
            },
        ),
        st.fixed_dictionaries(
            {"anyOf": st.lists(inner, min_size=1, max_size=3)},
            optional={"type": st.sampled_from(["object", ["string", "array"]])},
        ),
        st.fixed_dictionaries({"allOf": st.lists(inner, min_size=1, max_size=2)}),
        st.just({"$ref": "#/$defs/one"}),
    )


_RANDOM_SCHEMAS = st.builds(
    lambda top, one: {"allOf": [top], "$defs": {"one": an_object({"v": one, "next": {"$ref": "#/$defs/one"}}, ["v"])}},
    st.recursive(_SCALARS, _containers, max_leaves=8),
    st.recursive(_SCALARS, _containers, max_leaves=3),
)


@tried(mostly_assumed_away=True)
@given(schema=_RANDOM_SCHEMAS, options=st.sampled_from(list(_OPTIONS.values())), seed=st.integers(0, 99))
def test_texts_of_random_schemas_are_valid(schema: Any, options: WritingOptions, seed: int) -> None:
    document = read_schema(schema)
    try:
        compiled = compile_schema(document, options)
    except SchemaError:
        assume(False)
        raise
    texts = RuleTexts(compiled.grammar, random.Random(seed))
    validity = Validity(document)
    for text in {texts.draw() for _ in range(5)}:
        assert validity.errors(text) == [], (schema, text)


@tried(mostly_assumed_away=True)
@given(schema=_RANDOM_SCHEMAS, value=st.recursive(
    st.sampled_from([None, True, 0, 1, 3, 5, 2.5, "", "a", "ab", "zz"]),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_RANDOM_NAMES, inner, max_size=3)),
    max_leaves=5,
))  # fmt: skip
def test_enum_keeps_exactly_the_values_that_are_valid_beside_it(schema: Any, value: Any) -> None:
    document = read_schema({**schema, "enum": [value, "another"]})
    valid = {text for text in (json.dumps(value), '"another"') if Validity(document).is_valid(text)}
    try:
        texts = RuleTexts(compile_schema(document, _OPTIONS["default"]).grammar, random.Random(1))
    except SchemaError:
        assert not valid
        return
    drawn = {json.dumps(json.loads(texts.draw())) for _ in range(20)}
    assert drawn == {json.dumps(json.loads(text)) for text in valid}


def test_large_counts_are_counted_and_small_ones_copied() -> None:
    kinds = {
        most: any(
            isinstance(rule, CountedList)
            for rule in _compiled({"type": "array", "items": {"type": "null"}, "maxItems": most}).grammar.rules.values()
        )
        for most in (3, 16, 17, 500)
    }
    assert kinds == {3: False, 16: False, 17: True, 500: True}


@pytest.mark.parametrize("options", _OPTIONS.values(), ids=_OPTIONS)
def test_arrays_have_exactly_the_lengths_that_the_schema_allows(options: WritingOptions) -> None:
    for prefix, minimum, maximum in some_of(itertools.product((0, 1, 2, 18), (0, 1, 3, 20), (2, 3, 17, 40, None)), 30):
        if maximum is not None and maximum < minimum:
            continue
        limits = {"minItems": minimum} | ({} if maximum is None else {"maxItems": maximum})
        for rest in ({"type": "integer"}, False):
            if rest is False and minimum > prefix:
                continue
            schema = {"type": "array", "items": rest, **limits} | (
                {"prefixItems": [{"const": 0}] * prefix} if prefix else {}
            )
            constraint = JsonSchema(schema, spacing=options.spacing, indent=options.indent)
            lengths = {n for n in range(45) if constraint.accepts(_layout_of([0] * n, options))}
            most = 44 if maximum is None else maximum
            assert lengths == set(range(minimum, min(most, prefix if rest is False else most) + 1)), schema


def test_equal_values_share_a_rule_and_rules_have_the_names_of_what_they_are() -> None:
    compiled = _compiled(SCHEMAS["same twice"])
    assert sorted(compiled.grammar.rules) == ["document", "from", "integer", "string", "y"]
    assert [part.rule for part in compiled.parts["document"]] == ["from", "from"]
    person = _compiled(SCHEMAS["reference"])
    assert person.grammar.start == "person"
    assert person.descriptions == {
        "person": "an object with name, age, email",
        "string": "a string",
        "age": "an integer from 0 to 150",
        "email": "a string (email)",
    }


def test_properties_stand_in_the_order_of_the_schema_and_only_declared_ones_are_written() -> None:
    constraint = JsonSchema(an_object({"b": {}, "a": {}}, ["a"]))
    assert [
        constraint.accepts(text)
        for text in ('{"b": 1, "a": 2}', '{"a": 2}', '{"a": 2, "b": 1}', '{"a": 2, "c": 1}', '{"b": 1}')
    ] == [True, True, False, False, False]
    extra = JsonSchema(an_object({"b": {}, "a": {}}, ["a"]), extra_properties=True)
    assert [
        extra.accepts(text)
        for text in (
            '{"a": 2, "c": 1, "d": []}',
            '{"a": 2, "c": 1, "c": 2}',
            '{"a": 2, "b": 1}',
            '{"a": 2, "\\u0062": 1}',
        )
    ] == [True, False, False, False]


def test_notes_tell_what_is_left_open_or_out() -> None:
    assert "No property is required" in _compiled(SCHEMAS["optional"]).notes[-1]
    assert _compiled(SCHEMAS["optional"], WritingOptions(require_all=True)).notes == ()
    assert 'The format "postcode" is unknown, and ignored.' in _compiled(SCHEMAS["unknown format"]).notes
    unknown = read_schema({"anyOf": [{"format": "datetime"}, {"format": "url"}]})
    assert [note.partition(", ")[2] for note in compile_schema(unknown, WritingOptions()).notes] == [
        'and ignored. Did you mean "date-time"?',
        'and ignored. Did you mean "uri"?',
    ]
    assert any('"foo"' in note for note in _compiled(SCHEMAS["unknown keywords"]).notes)
    notes = _compiled(SCHEMAS["impossible but optional"]).notes
    assert notes[0] == "The property 'b' is never written: minimum 2 is above maximum 1 at /properties/b."


def test_long_lists_of_values_meet_as_one_branch_each() -> None:
    def one_of(numbers: Iterable[int], **beside: Any) -> dict[str, Any]:
        return {"anyOf": [{"const": f"n{number}", "description": str(number), **beside} for number in numbers]}

    constraint = JsonSchema({"allOf": [one_of(range(100)), one_of(range(90, 190), unknown=True), {"maxLength": 3}]})
    accepted = [number for number in range(200) if constraint.accepts(f'"n{number}"')]
    assert accepted == [*range(90, 100)]


@pytest.mark.parametrize("limit", [2**31 - 2, 2**31, 2**32 - 1, 10**18])
@pytest.mark.parametrize(
    ("word", "text"), [("maxLength", '"ab"'), ("maxItems", "[1, 2]"), ("maxProperties", '{"a": 1, "b": 2}')]
)
def test_limits_that_no_text_comes_to(word: str, text: str, limit: int) -> None:
    constraint = JsonSchema({word: limit, word.replace("max", "min"): 2, "type": ["string", "array", "object"]})
    assert constraint.accepts(text)
    assert constraint.shortest()


def test_branches_that_a_type_tells_apart_whatever_is_in_them() -> None:
    """What is in one of them cannot be negated whole, and need not be."""
    day = {"type": "string", "format": "date"}
    inner = {"oneOf": [{"required": [name], "properties": {name: day}} for name in "ab"]}
    kinds = [{"required": ["kind"], "properties": {"kind": {"const": n}, "on": day}, **inner} for n in range(8)]
    one = {"allOf": [{"type": "object"}, {"oneOf": kinds}]}
    some = {"type": "array", "items": {"$ref": "#/$defs/one"}}
    constraint = JsonSchema({"$defs": {"one": one}, "oneOf": [{"$ref": "#/$defs/one"}, some]})
    texts = ['{"kind": 1, "a": "2026-11-23"}', '[{"kind": 1, "a": "2026-11-23"}]', "[]", '{"kind": 1}', '[{"kind": 9}]']
    assert [constraint.accepts(text) for text in texts] == [True, True, True, False, False]
