"""Schemas of Python types: they are pydantic's own, and what is written is an instance, or pydantic says why not."""

from __future__ import annotations

import datetime
import decimal
import ipaddress
import pickle
import random
import subprocess
import sys
import threading
import typing
import warnings
from dataclasses import is_dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, Literal

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter
from tests.support.grammars.rule_texts import RuleTexts
from tests.support.models.vocabularies import byte_vocabulary
from tests.support.running.tried import rounds, tried
from tests.support.schemas.pydantic_types import (
    COMPLETED,
    DOCUMENTED,
    STRICTER,
    TAKES_ALL,
    Aliased,
    Color,
    Defaults,
    Node,
    Person,
    Track,
)

from sfgen import BannedWords, Index, JsonSchema, Sampler, generate, load_model
from sfgen.errors import LimitTooSmall, NotAnInstance, SchemaError, UsageError
from sfgen.models.uniform import UniformModel
from sfgen.schema.inspection.tree import examples

EXAMPLES, SEEDS = rounds(50), rounds(6)


@cache
def models() -> list[UniformModel]:
    """Without a preference: over single bytes, and over the embedded model's tokens."""
    return [UniformModel(byte_vocabulary()), UniformModel(load_model("tiny").vocabulary)]


def texts(schema: JsonSchema, seeds: int = SEEDS) -> list[str]:
    """What the schema has to show, and what is drawn."""
    shown = examples(schema.reader, schema.compiled, EXAMPLES)
    return [*(text for text in shown if not schema.validate(text)), *drawn(schema, seeds)]


def drawn(schema: JsonSchema, seeds: int) -> list[str]:
    found: list[str] = []
    for model in models():
        index, limit, seed = Index(schema, model.vocabulary), 30, 0
        while seed < seeds:
            try:
                result = generate(model, "x", index=index, sampler=Sampler(1.0, seed=seed), max_tokens=limit)
            except LimitTooSmall:
                limit *= 2
                continue
            found.append(result.text)
            seed += 1
    return found


# ---- the schema ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in TAKES_ALL if name not in ("defaults", "bounded number")])
def test_it_is_pydantics_own(name: str) -> None:
    source = TAKES_ALL[name]
    adapter = source if isinstance(source, TypeAdapter) else TypeAdapter(source)
    assert JsonSchema(source).to_dict()["schema"] == adapter.json_schema()


def test_defaults_and_examples_that_are_not_json_are_left_out() -> None:
    properties = JsonSchema(Defaults).to_dict()["schema"]["properties"]
    assert properties["limit"] == {"title": "Limit", "type": "number"}
    assert properties["nothing"] == {"title": "Nothing", "type": "number"}
    assert properties["default"]["type"] == "object"  # a property of that name stays
    assert properties["default"]["default"] == {"default": None}  # as pydantic writes what is inside of values
    assert properties["day"]["default"] == "2026-01-01"


def test_a_class_that_makes_its_own_schema() -> None:
    class Own(BaseModel):
        a: int

        @classmethod
        def model_json_schema(cls, *arguments: Any, **options: Any) -> dict[str, Any]:
            return {**super().model_json_schema(*arguments, **options), "additionalProperties": False}

    assert JsonSchema(Own).to_dict()["schema"]["additionalProperties"] is False


def test_names_are_the_aliases() -> None:
    schema = JsonSchema(Aliased)
    assert list(schema.to_dict()["schema"]["properties"]) == ["firstName", "secondName", "thirdName"]
    found = schema.parsed('{"firstName": 1, "secondName": 2, "thirdName": 3}')
    assert (found.first, found.second, found.third) == (1, 2, 3)


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (type("Plain", (), {}), "pydantic makes no schema of Plain: Unable to generate pydantic-core schema"),
        (typing.Callable[[int], int], "Cannot generate a JsonSchema for core_schema.CallableSchema"),
        (list["Missing"], "pydantic makes no schema of"),  # type: ignore[name-defined]  # noqa: F821
    ],
)
def test_what_pydantic_cannot_read(source: Any, says: str) -> None:
    with pytest.raises(SchemaError) as caught:
        JsonSchema(source)
    assert says in caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.hint


def test_code_of_the_class_that_fails() -> None:
    class Odd:
        @classmethod
        def __get_pydantic_core_schema__(cls, *_: Any) -> Any:
            raise KeyError("nothing here")

    with pytest.raises(SchemaError, match=r"pydantic makes no schema of .*Odd: 'nothing here'"):
        JsonSchema(Odd)


def test_an_instance_is_not_a_class() -> None:
    with pytest.raises(UsageError, match="Give the class, not an instance"):
        JsonSchema(Track("a"))


def test_pydantic_is_imported_where_it_is_needed_only() -> None:
    code = (
        "import sys, sfgen\n"
        "sfgen.JsonSchema('name, age int').parsed('{}')\n"
        "assert 'pydantic' not in sys.modules\n"
        "sfgen.JsonSchema(int)\n"
        "assert 'pydantic' in sys.modules\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=300).returncode == 0


@pytest.mark.parametrize("source", [list[int], Color, Track], ids=str)
def test_without_pydantic(monkeypatch: pytest.MonkeyPatch, source: Any) -> None:
    monkeypatch.setitem(sys.modules, "pydantic", None)
    with pytest.raises(SchemaError) as caught:
        JsonSchema(source)
    assert caught.value.hint == "Install it: pip install 'sfgen[pydantic]'"


# ---- texts and instances ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TAKES_ALL)
def test_every_text_is_an_instance(name: str) -> None:
    source = TAKES_ALL[name]
    schema = JsonSchema(source)
    found = texts(schema)
    assert len(found) >= 2 * SEEDS
    for text in found:
        instance = schema.parsed(text)
        if isinstance(source, type) and (issubclass(source, BaseModel | Enum) or is_dataclass(source)):
            assert isinstance(instance, source)


@pytest.mark.parametrize("name", [*DOCUMENTED, *COMPLETED])
def test_every_text_of_the_documented_types_is_an_instance(name: str) -> None:
    """50 texts of each under ``thorough``."""
    schema = JsonSchema(COMPLETED[name].source if name in COMPLETED else DOCUMENTED[name])
    rules = RuleTexts(schema.compiled.grammar, random.Random(1))
    try:
        found = [rules.draw().decode() for _ in range(rounds(50))]
    except IndexError:  # these are not drawn within a greatest length
        found = drawn(schema, rounds(25))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pydantic.PydanticDeprecatedSince20)  # cards have moved
        for text in found:
            assert schema.refusal(text.encode()) is None
            schema.parsed(text)
    assert not [note for note in schema.notes if "not known" in note]


@pytest.mark.parametrize("name", COMPLETED)
def test_what_pydantic_refuses_is_not_written(name: str) -> None:
    case = COMPLETED[name]
    schema = JsonSchema(case.source)
    assert not schema.accepts(case.text)
    with pytest.raises(NotAnInstance) as caught:
        schema.parsed(case.text)
    assert case.says in "\n".join(caught.value.details)


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        (decimal.Decimal, ["9.99", '"9.99"', "-3"]),
        (typing.Annotated[decimal.Decimal, Field(max_digits=5, decimal_places=2)], ["999.99", '"0.05"', "-1.5"]),
        (typing.Annotated[decimal.Decimal, Field(max_digits=3)], ["999", '"9.99"', '"0.1"', '"12.3"']),
        (typing.Annotated[decimal.Decimal, Field(gt=0, le=10)], ["0.01", "10"]),
        (datetime.timedelta, ['"P1D"', '"PT1H30M"', '"P2W"']),
        (typing.Annotated[datetime.timedelta, Field(ge=datetime.timedelta(hours=1))], ['"PT3600S"', '"PT4000000000S"']),
        (typing.Annotated[datetime.date, Field(ge=datetime.date(2020, 2, 1))], ['"2020-02-01"', '"9999-12-31"']),
        (pydantic.NaiveDatetime, ['"2026-01-01T00:00:00"', '"2026-01-01T00:00:00.123456"']),
        (pydantic.HttpUrl, ['"https://example.com/a/b?x=1#c"', '"http://localhost:8080"']),
        (pydantic.HttpUrl, ['"http://127.0.0.1:8080/a%20b,(c)?q=a/b#!x"', '"https://Example.COM"']),
        (pydantic.AnyUrl, ['"mailto:ada@example.com"', '"ftp://x.org/a"', '"urn:isbn:0451450523"']),
        (pydantic.PostgresDsn, ['"postgresql+asyncpg://a@b/c"', '"postgres://user:pass@localhost:5432/app"']),
        (pydantic.EmailStr, ['"ada.lovelace@example.com"', '"x@a.bc.co"']),
        (pydantic.Json[list[int]], ['"[1, 2]"', '"[]"']),
        (pydantic.Base64Bytes, ['"//79"', '""']),
        (pydantic.Base64Str, ['"aGVsbG8="']),
        (ipaddress.IPv4Network, ['"10.0.0.0/8"', '"192.168.1.0/24"', '"0.0.0.0/0"']),
        (ipaddress.IPv6Network, ['"2001:db8::/32"', '"::/0"']),
        (dict[int, str], ['{"7": "a"}', '{"-12": ""}']),
        (complex, ['"1+2j"', '"-1.5"']),
    ],
)
def test_what_is_common_is_written(source: Any, wanted: list[str]) -> None:
    schema = JsonSchema(source)
    assert [text for text in wanted if not schema.accepts(text)] == []
    for text in wanted:
        schema.parsed(text)


@pytest.mark.parametrize(
    "source",
    [
        typing.Annotated[datetime.date, Field(ge=datetime.date(2020, 2, 1), lt=datetime.date(2020, 1, 1))],
        typing.Annotated[datetime.timedelta, Field(ge=datetime.timedelta(2), le=datetime.timedelta(1))],
    ],
)
def test_bounds_that_leave_nothing(source: Any) -> None:
    with pytest.raises(SchemaError, match="no string satisfies"):
        _ = JsonSchema(source).compiled


@pytest.mark.parametrize("name", STRICTER)
def test_a_type_that_asks_for_more_says_what(name: str) -> None:
    """``sfgen.schema.reading.from_pydantic`` lists them. One that fails here has a schema that says more: good news."""
    case = STRICTER[name]
    schema = JsonSchema(case.source)
    assert schema.accepts(case.text)
    assert schema.refusal(case.text.encode()) is None
    with pytest.raises(NotAnInstance) as caught:
        schema.parsed(case.text)
    assert case.says in "\n".join(caught.value.details)
    assert isinstance(caught.value.__cause__, pydantic.ValidationError)


_LEAVES: list[Any] = [
    int, str, bool, float, None, Literal["a", 2, None], Color, Node,
    *(TAKES_ALL[name] for name in ("date", "datetime", "uuid", "bounded integer", "short string", "pattern")),
]  # fmt: skip
_NAMES = st.sampled_from(["a", "B", "first_name", "name-with", 'q"\\', "é", "", "default", "type", "$ref", "x.y", "0"])


def _types() -> st.SearchStrategy[Any]:
    """Types that take all texts of their schemas: leaves in lists, tuples, dicts, unions and models."""

    def around(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.one_of(
            inner.map(lambda one: list[one]),  # type: ignore[valid-type]
            inner.map(lambda one: dict[str, one]),  # type: ignore[valid-type]
            inner.map(lambda one: typing.Annotated[list[one], Field(min_length=1, max_length=2)]),  # type: ignore[valid-type]
            st.lists(inner, min_size=1, max_size=3).map(lambda several: tuple[tuple(several)]),  # type: ignore[misc]
            st.lists(inner, min_size=1, max_size=3).map(lambda several: typing.Union[tuple(several)]),  # noqa: UP007
            _models(inner),
        )

    return st.recursive(st.sampled_from(_LEAVES), around, max_leaves=5)


@st.composite
def _models(draw: Any, inner: st.SearchStrategy[Any]) -> Any:
    """A model whose fields are required or not, have aliases or not, and which may refuse other names."""
    fields: dict[str, Any] = {}
    for number, alias in enumerate(draw(st.lists(_NAMES, min_size=1, max_size=4, unique=True))):
        options = {"alias": alias} if draw(st.booleans()) or not alias.isidentifier() else {}
        kind = draw(inner)
        if draw(st.booleans()):
            fields[f"f{number}"] = (kind, Field(**options))
        else:
            fields[f"f{number}"] = (kind | None if kind is not None else None, Field(None, **options))
    config = pydantic.ConfigDict(extra=draw(st.sampled_from(["ignore", "forbid", "allow"])), strict=draw(st.booleans()))
    return pydantic.create_model(f"M{draw(st.integers(0, 2))}", __config__=config, **fields)


@given(_types(), st.booleans())
@tried("few", mostly_assumed_away=True)
def test_texts_of_any_types_are_instances(source: Any, require_all: bool) -> None:
    adapter = TypeAdapter(source)
    schema = JsonSchema(adapter if source is None else source, require_all=require_all)
    for text in texts(schema, seeds=1):
        assert schema.parsed(text) == adapter.validate_json(text)


# ---- a schema remembers its type -------------------------------------------------------------------------------------


def test_equal_schemas_are_of_the_same_type() -> None:
    class Other(BaseModel):
        model_config = pydantic.ConfigDict(title="Person")
        a: int

    class Another(BaseModel):
        model_config = pydantic.ConfigDict(title="Person")
        a: int

    plain = JsonSchema(Other.model_json_schema())
    assert JsonSchema(Other) == JsonSchema(Other)
    assert hash(JsonSchema(Other)) == hash(JsonSchema(Other)) == hash(plain)
    assert JsonSchema(Other) != plain
    assert JsonSchema(Other) != JsonSchema(Another)
    assert JsonSchema(list[Other]) == JsonSchema(list[Other])
    assert JsonSchema(Other).to_dict() == plain.to_dict() == JsonSchema(Another).to_dict()
    assert repr(JsonSchema(Other)) == repr(plain)
    # An index that was made for one of them is not taken for another.
    for schema, kind in ((plain, dict), (JsonSchema(Other), Other), (JsonSchema(Another), Another)):
        assert type(generate("tiny", "x", index=schema).parsed) is kind


def test_the_result_has_an_instance() -> None:
    result = generate("tiny", "A person: ", index=JsonSchema(Track))
    assert isinstance(result.parsed, Track)
    assert result.parsed is result.parsed
    assert result.value["name"] == result.parsed.name
    again = pickle.loads(pickle.dumps(result))
    assert (again, again.parsed) == (result, result.parsed)


def test_options_and_banned_words_leave_the_type() -> None:
    schema = JsonSchema(Person, spacing="compact", require_all=True)
    result = generate("tiny", "x", index=schema, banned=["talk"], max_tokens=600)
    assert isinstance(result.parsed, Person)
    assert "color" in result.value
    clean = schema.without_banned(BannedWords(["talk"]))
    assert clean is not None
    assert clean.parsed(result.text) == result.parsed
    assert isinstance(clean.parsed(result.text), Person)


def test_without_a_type_the_instance_is_the_value() -> None:
    result = generate("tiny", "x", index=JsonSchema("age int"))
    assert result.parsed == result.value == JsonSchema("age int").parsed(result.text)
    result = generate("tiny", "x", index="[0-9]{3}")
    assert (result.value, result.parsed) == (None, None)


def test_a_text_that_the_class_refuses_stays() -> None:
    class Never(BaseModel):
        a: bool
        b: list[bool] = Field(min_length=7, max_length=7)

        @pydantic.field_validator("a")
        @classmethod
        def refuse(cls, value: bool) -> bool:
            raise ValueError("never\n good")

        @pydantic.field_validator("b", mode="before")
        @classmethod
        def spoil(cls, value: list[bool]) -> list[str]:
            return ["x"] * len(value)

    result = generate("tiny", "x", index=JsonSchema(Never), max_tokens=100)
    for _ in range(2):
        with pytest.raises(NotAnInstance) as caught:
            _ = result.parsed
    assert caught.value.message.endswith("Never refuses the text")
    assert caught.value.details[0] == "  a: Value error, never good"
    assert caught.value.details[-1] == "  and 3 more"
    assert set(result.value) == {"a", "b"}
    assert result.text.startswith('{"a": ')


def test_a_validator_that_fails_otherwise() -> None:
    class Odd(BaseModel):
        a: int

        @pydantic.field_validator("a")
        @classmethod
        def fail(cls, value: int) -> int:
            raise KeyError("no such thing")

    with pytest.raises(NotAnInstance) as caught:
        JsonSchema(Odd).parsed('{"a": 1}')
    assert caught.value.details == ("  KeyError: 'no such thing'",)


def test_a_text_that_is_no_json() -> None:
    with pytest.raises(NotAnInstance, match="Invalid JSON"):
        JsonSchema(list[int]).parsed("[1,")
    with pytest.raises(UsageError, match="text must be a text or bytes"):
        JsonSchema(list[int]).parsed(7)  # type: ignore[arg-type]


def test_a_saved_schema_has_no_type(tmp_path: Path) -> None:
    from sfgen.schema import file

    vocabulary = load_model("tiny").vocabulary
    file.save(JsonSchema(Track), vocabulary, tmp_path / "f")
    loaded = file.load(tmp_path / "f", vocabulary)
    assert loaded == JsonSchema(TypeAdapter(Track).json_schema())
    assert generate("tiny", "x", index=loaded).parsed.keys() >= {"name"}


def test_many_threads_share_one_instance() -> None:
    result = generate("tiny", "x", index=JsonSchema(Track))
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(result.parsed)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(one) for one in found}) == 1
