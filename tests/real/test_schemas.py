"""JSON by schemas in all their forms: each text is valid as jsonschema and pydantic say, laid out as asked, whole."""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import BaseModel, EmailStr, Field, TypeAdapter
from tests.oracles.schema_oracle import Oracle
from tests.support.real.circumstances import CIRCUMSTANCES, Circumstances, drawn, fewest_tokens, is_refused, written
from tests.support.real.model import gguf_model, needs_directory, needs_file
from tests.support.schemas.combined import combined_schemas
from tests.support.schemas.pydantic_types import TAKES_ALL
from typing_extensions import TypedDict

from sfgen import Index, JsonSchema, SfgenError, Substring, generate, schema_of
from sfgen.errors import LimitTooSmall, SchemaError

pytestmark = needs_file()


def record(properties: dict[str, Any], *optional: str) -> dict[str, Any]:
    """A record of these properties and no others."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


TEXT, WHOLE, YES = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}
SHORT_FORMS: dict[str, dict[str, Any]] = {
    "name, age int": record({"name": TEXT, "age": WHOLE}),
    "height float, member bool, nick?": record({"height": {"type": "number"}, "member": YES, "nick": TEXT}, "nick"),
    "tags str[], size (S|M|L), stars int (1|2|3)": record(
        {"tags": {"type": "array", "items": TEXT}, "size": {"enum": ["S", "M", "L"]}, "stars": {"enum": [1, 2, 3]}}
    ),
    "born date, mail email, site? url, at datetime": record(
        {
            "born": {**TEXT, "format": "date"},
            "mail": {**TEXT, "format": "email"},
            "site": {**TEXT, "format": "uri"},
            "at": {**TEXT, "format": "date-time"},
        },
        "site",
    ),
    "address {street, zip}, items[] {name, n int}": record(
        {
            "address": record({"street": TEXT, "zip": TEXT}),
            "items": {"type": "array", "items": record({"name": TEXT, "n": WHOLE})},
        }
    ),
    "name: the full one\nage int: in years": record({"name": TEXT, "age": WHOLE}),
}

SCHEMAS: dict[str, Any] = {
    "any JSON": True,
    "bounds": record(
        {
            "n": {**WHOLE, "minimum": -20, "exclusiveMaximum": 1000},
            "price": {"type": "number", "minimum": 0, "maximum": 99.99, "multipleOf": 0.01},
            "code": {**TEXT, "pattern": "^[A-Z]{2}-[0-9]{3}$"},
            "title": {**TEXT, "minLength": 3, "maxLength": 20},
        }
    ),
    "lists": {
        "type": "array",
        "items": {"enum": ["Oslo", "Rome", "Paris", "Lima"]},
        "minItems": 2,
        "maxItems": 4,
        "uniqueItems": True,
    },
    "branches": {
        "type": "array",
        "minItems": 1,
        "items": {
            "oneOf": [
                record({"kind": {"const": "cat"}, "lives": {**WHOLE, "minimum": 1, "maximum": 9}}),
                record({"kind": {"const": "dog"}, "name": TEXT}),
                {"type": "null"},
            ]
        },
    },
    "tree": {
        "$ref": "#/$defs/tree",
        "$defs": {
            "tree": record(
                {"key": TEXT, "left": {"$ref": "#/$defs/tree"}, "right": {"$ref": "#/$defs/tree"}}, "left", "right"
            )
        },
    },
    "map": {
        "type": "object",
        "propertyNames": {"pattern": "^[a-z]+$"},
        "additionalProperties": {"type": ["number", "null"]},
        "minProperties": 1,
        "maxProperties": 3,
    },
    "formats": record(
        {
            name.replace("-", "_"): {**TEXT, "format": name}
            for name in ("date-time", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uuid", "uri", "regex")
        }
    ),
    "odd names": record({"": YES, 'a"b': WHOLE, "new\nline": TEXT, "東京": TEXT, "$ref": {"type": "null"}}, "", "東京"),
    "dependent": {
        **record({"card": WHOLE, "bill": TEXT, "name": TEXT}, "card", "bill", "name"),
        "dependentRequired": {"card": ["bill"]},
    },
    "conditions": {
        **record({"country": {"enum": ["US", "NL"]}, "post": TEXT}),
        "if": {"properties": {"country": {"const": "US"}}},
        "then": {"properties": {"post": {"pattern": "^[0-9]{5}$"}}},
        "else": {"properties": {"post": {"pattern": "^[0-9]{4} [A-Z]{2}$"}}},
    },
}

LAYOUTS: list[dict[str, Any]] = [
    {},
    {"spacing": "compact"},
    {"spacing": "any"},
    {"indent": 2},
    {"order": "any"},
    {"require_all": True},
    {"extra_properties": True},
]


@cache
def index(schema: str, **options: Any) -> Index:
    """The index of a schema, written as JSON or in the short form."""
    return Index(JsonSchema(schema, **options), gguf_model().vocabulary)


def shortest(source: Index) -> str:
    """A short text of a schema: that it is valid is checked where it is used."""
    return source.constraint.shortest().decode()


def is_laid_out(text: str, options: dict[str, Any]) -> bool:
    """Return whether ``json.dumps`` lays out a text so; numbers and strings are taken as they are written."""
    kept: dict[str, str] = {}

    def keep(literal: str) -> str:
        kept[f"<{len(kept)}>"] = literal
        return f"<{len(kept) - 1}>"

    value = json.loads(text, parse_int=keep, parse_float=keep)
    separators = (",", ":") if options.get("spacing") == "compact" else None
    laid_out = json.dumps(value, ensure_ascii=False, separators=separators, indent=options.get("indent"))
    for mark, literal in kept.items():
        laid_out = laid_out.replace(f'"{mark}"', literal, 1)
    return laid_out == text or ("\\" in text and json.loads(laid_out) == json.loads(text))


@drawn("few")
@given(at=CIRCUMSTANCES, layout=st.sampled_from(LAYOUTS))
@pytest.mark.parametrize("form", SHORT_FORMS)
def test_the_short_form(form: str, at: Circumstances, layout: dict[str, Any]) -> None:
    source, schema = index(form, **layout), SHORT_FORMS[form]
    if layout.get("extra_properties"):
        schema = {key: value for key, value in schema.items() if key != "additionalProperties"}
    check(at, source, schema, layout)


REFUSED = {
    ("any JSON", "indent"): "any value is allowed",
    ("tree", "indent"): "this one is recursive",
    ("tree", "require_all"): "must contain another one of its own kind",
}
"""By schema and option: why the two cannot be had together."""


@pytest.mark.parametrize(("name", "option"), REFUSED)
def test_what_a_layout_cannot_have_is_refused(name: str, option: str) -> None:
    (layout,) = (layout for layout in LAYOUTS if option in layout)
    with pytest.raises(SchemaError, match=REFUSED[name, option]):
        shortest(index(json.dumps(SCHEMAS[name]), **layout))


@drawn("few")
@given(at=CIRCUMSTANCES, layout=st.sampled_from(LAYOUTS))
@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema(name: str, at: Circumstances, layout: dict[str, Any]) -> None:
    assume(all((name, option) not in REFUSED for option in layout))
    check(at, index(json.dumps(SCHEMAS[name]), **layout), SCHEMAS[name], layout)


def check(at: Circumstances, source: Index, schema: Any, layout: dict[str, Any]) -> None:
    """Check a text, and the short one that says how many tokens are enough."""
    oracle, example = Oracle(schema), shortest(source)
    assert not oracle.fault(example)
    result = written(at, [example], index=source)
    assert not oracle.fault(result.text)
    assert result.value == json.loads(result.text)
    if layout.get("spacing") != "any":
        assert is_laid_out(result.text, layout)
    if isinstance(schema, dict) and "properties" in schema:
        names = list(schema["properties"])
        there = [name for name in result.value if name in names]
        if layout.get("require_all"):
            assert set(there) == set(names)
        if layout.get("order") != "any":
            assert there == sorted(there, key=names.index)


@drawn("handful")
@given(at=CIRCUMSTANCES, layout=st.sampled_from(LAYOUTS), schema=combined_schemas())
def test_a_random_schema(at: Circumstances, layout: dict[str, Any], schema: Any) -> None:
    try:
        source = Index(JsonSchema(schema, **layout), gguf_model().vocabulary)
        example = shortest(source)
    except SfgenError:  # it cannot be kept to, or nothing is valid by it
        return
    result = written(at, [example], index=source)
    assert not Oracle(schema).fault(result.text)


@pytest.mark.parametrize("layout", [{}, {"spacing": "compact"}], ids=str)
def test_a_limit_is_refused_where_the_shortest_text_does_not_fit(layout: dict[str, Any]) -> None:
    values = ["Llanfairpwllgwyngyll", {"city": "Tegucigalpa"}, ["Ouagadougou"]]
    separators = (",", ":") if layout else None
    for count in (1, 2, 3):
        texts = [json.dumps(value, separators=separators) for value in values[:count]]
        fewest = fewest_tokens([min(texts, key=len)])
        for limit in (1, fewest - 1, fewest):
            source = index(json.dumps({"enum": values[:count]}), **layout)
            assert is_refused(limit, index=source) == (limit < fewest)


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Address(BaseModel):
    street: str = Field(max_length=20)
    zip: Annotated[str, Field(pattern=r"^\d{5}$")]


class Person(BaseModel):
    name: str
    age: int = Field(ge=0, le=150)
    mail: EmailStr
    colour: Colour
    address: Address | None
    born: date
    price: Decimal = Field(max_digits=5, decimal_places=2)
    pets: list[Literal["cat", "dog"]] = Field(max_length=3)


@dataclass
class City:
    name: str
    people: Annotated[int, Field(gt=0)]


class Movie(TypedDict):
    title: str
    year: Annotated[int, Field(ge=1900, le=2030)]


TYPES: dict[str, Any] = {
    "model": Person,
    "dataclass": City,
    "typed dict": Movie,
    "list of models": list[Address],
    "union": City | Movie,
    "enum": Colour,
}


@drawn("few")
@given(at=CIRCUMSTANCES, layout=st.sampled_from(LAYOUTS))
@pytest.mark.parametrize("name", TYPES)
def test_a_type_of_python(name: str, at: Circumstances, layout: dict[str, Any]) -> None:
    kind = TYPES[name]
    source = Index(JsonSchema(kind, **layout), gguf_model().vocabulary)
    result = written(at, [shortest(source)], index=source)
    expected = TypeAdapter(kind).validate_json(result.text)
    assert result.parsed == expected
    assert type(result.parsed) is type(expected)


class TestManyTypes:
    """They take long."""

    pytestmark = needs_directory()

    @drawn("usual")
    @given(at=CIRCUMSTANCES, name=st.sampled_from(sorted(TAKES_ALL)))
    def test_each_type_that_pydantic_reads(self, at: Circumstances, name: str) -> None:
        kind = TAKES_ALL[name]
        source = Index(JsonSchema(kind), gguf_model().vocabulary)
        result = written(at, [shortest(source)], index=source)
        (kind if isinstance(kind, TypeAdapter) else TypeAdapter(kind)).validate_json(result.text)


@drawn("few")
@given(at=CIRCUMSTANCES)
def test_a_schema_that_is_inferred(at: Circumstances) -> None:
    trips = [{"city": "Oslo", "when": "2026-05-17"}, {"city": "Rome", "when": "2026-06-02", "stars": 4}]
    result = written(at, ['{"city": "", "when": "2026-05-17"}'], schema=schema_of(*trips))
    value = TypeAdapter(dict[str, Any]).validate_json(result.text)
    date.fromisoformat(value["when"])
    assert {"city", "when"} <= set(value) <= {"city", "when", "stars"}
    assert type(value.get("stars", 0)) is int


@drawn("few")
@given(at=CIRCUMSTANCES, unit=st.sampled_from(["character", "word", "line"]))
def test_a_string_that_is_quoted(at: Circumstances, unit: Any) -> None:
    life = 'Ada Lovelace was born in London.\nShe wrote "the first" program,\\ a long time ago.\n'
    schema = record({"quote": {**TEXT, "x-substring-of": "life"}, "sure": YES})
    source = JsonSchema(schema, documents={"life": Substring(life, unit)})
    result = written(at, [source.shortest().decode()], index=source)
    assert result.value["quote"] in life
    assert result.value["quote"]


def test_a_file(tmp_path: Path) -> None:
    (tmp_path / "person.json").write_text(json.dumps(SCHEMAS["bounds"]))
    for source in (tmp_path / "person.json", json.dumps(SCHEMAS["bounds"]), SCHEMAS["bounds"]):
        result = generate(gguf_model(), "A product: ", schema=source, max_tokens=60)
        assert not Oracle(SCHEMAS["bounds"]).fault(result.text)


def test_schemas_without_texts_are_refused() -> None:
    refused: list[Any] = [False, {"type": "string", "pattern": "^a$", "minLength": 2}, {"enum": []}]
    for schema in refused:
        with pytest.raises(SfgenError):
            generate(gguf_model(), "A person: ", schema=schema)
    with pytest.raises(LimitTooSmall):
        generate(gguf_model(), "A person: ", schema={"const": "a" * 400}, max_tokens=5)


def test_records_of_few_shots_are_right() -> None:
    """With examples before it the model copies what stands there, and ends its strings."""
    prompt = 'Ann is 31.\n{"name": "Ann", "age": 31}\nBob is 52.\n{"name": "Bob", "age": 52}\nCarla is 40.\n'
    result = generate(gguf_model(), prompt, schema="name, age int", max_tokens=40)
    assert result.value == {"name": "Carla", "age": 40}
