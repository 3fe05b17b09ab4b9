from __future__ import annotations

from typing import Any

import pytest
import referencing
import referencing.exceptions
import referencing.jsonschema
from hypothesis import example, given
from hypothesis import strategies as st
from tests.support.schemas.published import real_schemas

from sfgen import JsonSchema
from sfgen.errors import SchemaError
from sfgen.schema.reading.document import UnresolvedError, references_of, value_at
from sfgen.schema.reading.keywords import URIS, Draft
from sfgen.schema.reading.read import read_schema
from sfgen.schema.reading.strict_json import escaped
from sfgen.schema.reading.well_formed import circle


def resolved(schema: dict[str, Any], reference: str, base: str = "") -> str:
    """The pointer that a reference leads to."""
    return read_schema(schema).resolve(reference, base)[0]


# ---- where references lead -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "reference", "pointer"),
    [
        ({}, "#", ""),
        ({}, "", ""),
        ({"$defs": {"a": {"type": "null"}}}, "#/$defs/a", "/$defs/a"),
        ({"definitions": {"a b/c~d%": {}}}, "#/definitions/a%20b~1c~0d%25", "/definitions/a b~1c~0d%"),
        ({"definitions": {"é": {}}}, "#/definitions/%C3%A9", "/definitions/é"),
        ({"definitions": {"é": {}}}, "#/definitions/é", "/definitions/é"),
        ({"definitions": {"": {}}}, "#/definitions/", "/definitions/"),
        ({"definitions": {"\t\r": {}}}, "#/definitions/\t\r", "/definitions/\t\r"),
        ({"allOf": [{}, {"not": {}}]}, "#/allOf/1/not", "/allOf/1/not"),
        ({"components": {"schemas": {"A": {}}}}, "#/components/schemas/A", "/components/schemas/A"),
        ({"items": {"$anchor": "here"}}, "#here", "/items"),
        ({"items": {"$dynamicAnchor": "here"}}, "#here", "/items"),
        ({"$id": "http://example.com/a.json", "$defs": {"b": {}}}, "http://example.com/a.json#/$defs/b", "/$defs/b"),
        ({"$id": "http://example.com/a.json", "$defs": {"b": {}}}, "a.json#/$defs/b", "/$defs/b"),
        ({"$id": "a.json", "items": {"$anchor": "x"}}, "a.json#x", "/items"),
        ({"$id": "http://example.com/x/", "$defs": {"b": {"$id": "b.json"}}}, "b.json", "/$defs/b"),
        ({"$id": "http://example.com/x/a", "$defs": {"b": {"$id": "/b", "not": {}}}}, "/b#/not", "/$defs/b/not"),
        ({"$id": "urn:example:a", "$defs": {"b": {}}}, "#/$defs/b", "/$defs/b"),
        ({"$id": "urn:example:a", "$defs": {"b": {}}}, "urn:example:a#/$defs/b", "/$defs/b"),
        ({"$schema": URIS[Draft.DRAFT_07], "definitions": {"a": {"$id": "#x"}}}, "#x", "/definitions/a"),
        ({"$schema": URIS[Draft.DRAFT_04], "definitions": {"a": {"id": "#x"}}}, "#x", "/definitions/a"),
        ({"$schema": URIS[Draft.DRAFT_04], "id": "http://e.com/s#"}, "http://e.com/s", ""),
    ],
)
def test_where_a_reference_leads(schema: Any, reference: str, pointer: str) -> None:
    assert resolved(schema, reference) == pointer


def test_a_reference_is_read_from_the_schema_around_it_that_has_a_uri() -> None:
    inner = {"$id": "inner", "$defs": {"a": {"type": "null"}}, "items": {"not": {}}}
    schema = {"$id": "http://example.com/outer", "$defs": {"a": {"type": "string"}, "b": inner}}
    assert resolved(schema, "#/$defs/a", "") == "/$defs/a"
    assert resolved(schema, "#/$defs/a", "/$defs/b") == "/$defs/b/$defs/a"
    assert resolved(schema, "#/$defs/a", "/$defs/b/items/not") == "/$defs/b/$defs/a"
    assert resolved(schema, "outer#/$defs/a", "/$defs/b/items/not") == "/$defs/a"
    assert resolved(schema, "#", "/$defs/b/items") == "/$defs/b"


def test_names_are_not_looked_for_in_values() -> None:
    value = {"$anchor": "x", "$id": "y", "$ref": "nowhere"}
    schema = {"enum": [value], "const": value, "default": value, "examples": [value], "items": {"$anchor": "x"}}
    document = read_schema(schema)
    assert document.resolve("#x", "")[0] == "/items"
    assert "y" not in document.identifiers.resources


def test_up_to_draft_07_what_stands_beside_a_reference_has_no_name() -> None:
    schema = {"definitions": {"a": {"$ref": "#/definitions/b", "$id": "#x"}, "b": {"$id": "#x"}}}
    assert resolved({"$schema": URIS[Draft.DRAFT_07], **schema}, "#x") == "/definitions/b"


SEGMENTS = st.sampled_from(["a", "b", "a/b", "~", "%25", "é", "0", "1", "$defs", "not", "items"])
DOCUMENTS: st.SearchStrategy[Any] = st.recursive(
    st.just({}),
    lambda inner: (
        st.dictionaries(
            st.sampled_from(["$defs", "properties"]), st.dictionaries(SEGMENTS, inner, max_size=3), max_size=2
        )
        | st.fixed_dictionaries({"not": inner})
        | st.fixed_dictionaries({"allOf": st.lists(inner, min_size=1, max_size=3)})
    ),
    max_leaves=8,
)


@given(DOCUMENTS, st.lists(SEGMENTS | st.sampled_from(["properties", "allOf", "00", "9"]), max_size=5), st.booleans())
@example({"allOf": [{}, {}]}, ["allOf", "1"], False)
@example({"allOf": [{}, {}]}, ["allOf", "2"], False)
def test_pointers_lead_where_the_package_referencing_goes(document: Any, parts: list[str], percent: bool) -> None:
    pointer = "".join(map(escaped, parts)).replace("%", "%25")
    pointer = pointer.replace("é", "%C3%A9") if percent else pointer
    resource = referencing.jsonschema.DRAFT202012.create_resource(document)
    try:
        expected = referencing.Registry().resolver_with_root(resource).lookup(f"#{pointer}").contents
    except (referencing.exceptions.Unresolvable, ValueError):  # of an index that is no number
        with pytest.raises(SchemaError):
            resolved(document, f"#{pointer}")
        return
    if "00" in parts or not isinstance(expected, dict):
        return  # no index of JSON pointers, which referencing takes for 0; and what is no schema
    found, schema = read_schema(document).resolve(f"#{pointer}", "")
    assert schema == expected
    assert value_at(document, found) == expected


SPECIFICATIONS = {
    Draft.DRAFT_04: referencing.jsonschema.DRAFT4,
    Draft.DRAFT_06: referencing.jsonschema.DRAFT6,
    Draft.DRAFT_07: referencing.jsonschema.DRAFT7,
    Draft.DRAFT_2019_09: referencing.jsonschema.DRAFT201909,
    Draft.DRAFT_2020_12: referencing.jsonschema.DRAFT202012,
}


def test_references_of_real_schemas_lead_where_the_package_referencing_goes() -> None:
    count = 0
    for name, schema in real_schemas():
        try:
            document = read_schema(schema)
        except SchemaError:
            continue
        resource: Any = SPECIFICATIONS[document.draft].create_resource(document.root)
        registry = referencing.Registry().with_resource("", resource).crawl()
        for pointer in document.pointers:
            for keyword, reference in references_of(value_at(document.root, pointer), document.draft):
                resolver = registry.resolver(document.identifiers.base_of(pointer))
                _, found = document.resolve(reference, pointer, keyword)
                assert resolver.lookup(reference).contents is found, (name, pointer, reference)
                count += 1
    assert count > 1000


# ---- where they lead nowhere ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "pointer", "reason", "hint"),
    [
        (
            {"properties": {"a": {"$ref": "#/$defs/Persn"}}, "$defs": {"Person": {}}},
            "/properties/a/$ref",
            '"$ref": "#/$defs/Persn" leads nowhere: there is no "Persn" in /$defs',
            "Did you mean #/$defs/Person?",
        ),
        (
            {"$ref": "#/definitions/Person", "$defs": {"Person": {}}},
            "/$ref",
            'leads nowhere: there is no "definitions" in the document',
            "Did you mean #/$defs/Person?",
        ),
        ({"$ref": "#/$defs/z", "$defs": {"a": {}, "b": {}}}, "/$ref", 'there is no "z"', "There are: a, b."),
        ({"$ref": "#/allOf/3", "allOf": [{}]}, "/$ref", "the list /allOf has 1 items", ""),
        ({"$ref": "#/title/a", "title": "b"}, "/$ref", "/title is neither an object nor a list", ""),
        ({"$ref": "#/properties", "properties": {"a": {}}, "title": "x"}, None, "", ""),
        (
            {"$ref": "#/required", "required": ["a"]},
            "/$ref",
            "must lead to a schema: at /required there is an array",
            "",
        ),
        (
            {"$ref": "#here", "items": {"$anchor": "there"}},
            "/$ref",
            'there is no anchor "here"',
            "Did you mean #there?",
        ),
        ({"$ref": "#$defs/a", "$defs": {"a": {}}}, "/$ref", 'no anchor "$defs/a"', "A pointer begins with a slash"),
        (
            {"$ref": "other.json"},
            "/$ref",
            'fetched for a reference to another document: "other.json"',
            'under "$defs"',
        ),
        ({"$ref": "http://json-schema.org/draft-99/schema#"}, "/$ref", "nothing is fetched", "schema_dir"),
        ({"$ref": "http://[a"}, "/$ref", '"http://[a" is not a URI', ""),
        ({"items": {"$id": "http://[a"}}, "/items", '"http://[a" is not a URI', ""),
        ({"$dynamicRef": "#a"}, "/$dynamicRef", '"$dynamicRef": there is no anchor "a"', ""),
        (
            {"$defs": {"a": {"$id": "x"}, "b": {"$id": "x"}}},
            "/$defs/b/$id",
            '"$id": another schema has the identifier x',
            "",
        ),
    ],
)
def test_a_reference_that_leads_nowhere_is_told_by_its_pointer(
    schema: Any, pointer: str | None, reason: str, hint: str
) -> None:
    if pointer is None:  # what looks like no schema may be one: unknown keywords are free
        assert read_schema(schema).resolve("#/properties", "")[1] == {"a": {}}
        return
    with pytest.raises(SchemaError) as caught:
        read_schema(schema)
    assert caught.value.pointer == pointer
    assert reason in caught.value.reason
    assert hint in caught.value.hint


def test_what_nothing_refers_to_may_refer_to_what_it_likes() -> None:
    schema = {"$defs": {"a": {"$ref": "other.json"}, "b": {"$ref": "#/$defs/a"}}, "type": "string"}
    assert read_schema(schema).root == schema
    with pytest.raises(SchemaError) as caught:
        read_schema({**schema, "not": {"$ref": "#/$defs/b"}})
    assert caught.value.pointer == "/$defs/a/$ref"


def test_pointers_as_identifiers_are_no_names() -> None:
    """As some programs write them, here and there twice."""
    same = {"$id": "#/items"}
    schema = {"$schema": URIS[Draft.DRAFT_07], "items": same, "not": same, "anyOf": [{"$ref": "#/items"}]}
    assert resolved(schema, "#/items") == "/items"


@pytest.mark.parametrize(("draft", "keyword"), [(Draft.DRAFT_04, "id"), (Draft.DRAFT_07, "$id")])
def test_a_name_that_is_given_twice_is_no_name(draft: Draft, keyword: str) -> None:
    named = {"a": {keyword: "b", "type": "integer"}, "b": {keyword: "b", "type": "string"}}
    schema = {"$schema": URIS[draft], keyword: "http://x/a", "definitions": named, "type": "object"}
    by_place = {**schema, "properties": {"x": {"$ref": "#/definitions/a"}}, "required": ["x"]}
    assert resolved(by_place, "#/definitions/a") == "/definitions/a"
    assert read_schema(by_place).notes == (
        f'an identifier that another schema has, too: "{keyword}", at /definitions/b',
    )
    assert JsonSchema(by_place).shortest() == b'{"x": 0}'
    assert not JsonSchema(by_place).validate('{"x": 1}')
    with pytest.raises(SchemaError, match='"b" may lead to /definitions/a or to /definitions/b') as caught:
        read_schema({**schema, "properties": {"x": {"$ref": "b"}}})
    assert caught.value.pointer == "/properties/x/$ref"
    assert "by its JSON pointer" in caught.value.hint
    named["a"]["type"] = "string"  # then it does not matter which of them is meant
    assert read_schema({**schema, "properties": {"x": {"$ref": "b"}}}).notes


@pytest.mark.parametrize("draft", [Draft.DRAFT_04, Draft.DRAFT_06])
def test_an_anchor_with_the_uri_of_its_document_is_no_document_of_its_own(draft: Draft) -> None:
    keyword = "id" if draft is Draft.DRAFT_04 else "$id"
    member = {keyword: "http://x/a#grade", "type": "integer"}
    schema = {"$schema": URIS[draft], keyword: "http://x/a#", "properties": {"grade": member, "b": {"$ref": "#grade"}}}
    assert resolved(schema, "#grade") == "/properties/grade"
    assert resolved(schema, "#/properties") == "/properties"
    doubled = {**schema, "not": {keyword: "#grade", "type": "null"}}
    with pytest.raises(SchemaError, match='"#grade" may lead to /properties/grade or to /not'):
        read_schema(doubled)


def test_annotations_may_be_anything_where_no_metaschema_looks() -> None:
    group = {"a": {"examples": "x", "items": {"title": 3}}}
    schema = {"$ref": "#/$defs/group/a", "$defs": {"group": group}}
    assert read_schema(schema).root == schema
    with pytest.raises(SchemaError):
        read_schema({"$ref": "#/$defs/a", "$defs": group})


def test_what_is_referred_to_is_checked_wherever_it_stands() -> None:
    with pytest.raises(SchemaError) as caught:
        read_schema({"$ref": "#/components/a", "components": {"a": {"not": {"type": 3}}}})
    assert caught.value.pointer == "/components/a/not/type"


# ---- circles -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "way"),
    [
        ({"$ref": "#"}, "# → #"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}, "#/$defs/a → #/$defs/a"),
        (
            {"items": {"$ref": "#/$defs/a"}, "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
            "#/$defs/b → #/$defs/a → #/$defs/b",
        ),
        ({"allOf": [{"type": "object"}, {"$ref": "#"}]}, "# → #/allOf/1 → #"),
    ],
)
def test_a_circle_that_says_nothing_is_refused(schema: Any, way: str) -> None:
    with pytest.raises(SchemaError, match="leads back to itself") as caught:
        read_schema(schema)
    told = caught.value.reason.rpartition(": ")[2]
    steps = way.split(" → ")[1:]
    assert told in {" → ".join([*steps[k:], *steps[: k + 1]]) for k in range(len(steps))}


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"child": {"$ref": "#"}}},
        {"items": {"$ref": "#"}},
        {"$ref": "#/$defs/a", "$defs": {"a": {"additionalProperties": {"$ref": "#/$defs/a"}}}},
        {"anyOf": [{"type": "null"}, {"type": "array", "items": {"$ref": "#"}}]},
        {
            "$schema": URIS[Draft.DRAFT_07],
            "$ref": "#/definitions/a",
            "allOf": [{"$ref": "#"}],
            "definitions": {"a": {}},
        },
        {"$defs": {"a": {"$ref": "#/$defs/a"}}},
    ],
)
def test_recursion_is_no_circle(schema: Any) -> None:
    assert read_schema(schema).root == schema


GRAPHS = st.dictionaries(st.sampled_from("abcdef"), st.lists(st.sampled_from("abcdef"), max_size=3))


@given(GRAPHS)
def test_a_circle_is_found_where_there_is_one(graph: dict[str, list[str]]) -> None:
    found = circle(graph)
    for one, other in zip(found, [*found[1:], *found[:1]], strict=True):
        assert other in graph[one]
    reached = {node: set(targets) for node, targets in graph.items()}
    for _ in graph:
        for node in graph:
            reached[node] |= {far for near in reached[node] for far in reached.get(near, ())}
    assert bool(found) == any(node in reached[node] for node in graph)


@given(st.text())
def test_every_name_has_a_pointer(name: str) -> None:
    assert value_at({name: [{name: 1}]}, f"{escaped(name)}/0{escaped(name)}") == 1


def test_pointers_without_a_value() -> None:
    for pointer in ("/a/x", "/b", "/a/-1", "/a/01"):
        with pytest.raises(UnresolvedError):
            value_at({"a": [1, 2]}, pointer)
