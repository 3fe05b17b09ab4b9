"""Parameters as people type them: constraints and sampling by name, and names that there are not."""

from __future__ import annotations

import dataclasses
import inspect
import pickle
import pkgutil
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, assert_type

import pytest
from pydantic import BaseModel

import sfgen
from sfgen import Dfa, GenerationConfig, Grammar, Index, JsonSchema, Sampler, SfgenError, Template
from sfgen.decoding import prepare
from sfgen.errors import InputError, UnknownParameter, UsageError

LARK, HOLE = 'start: "a" | "b"', "It is {{weather: choices hot, cold}}."
BY_CONFIG: list[Callable[..., Any]] = [sfgen.generate, sfgen.stream, sfgen.agenerate, sfgen.astream, prepare]


class Person(BaseModel):
    name: str
    age: int


@pytest.fixture(scope="module")
def model() -> Any:
    return sfgen.load_model("tiny")


def test_a_class_and_a_temperature_are_taken_directly(model: Any) -> None:
    prompt = "Ada Lovelace, 36, is a mathematician in London."
    result = sfgen.generate(model, prompt, schema=Person, temperature=0.5, seed=3, max_tokens=60)
    assert_type(result, sfgen.Result)
    index = Index(JsonSchema(Person), model.vocabulary)
    assert result == sfgen.generate(model, prompt, index=index, sampler=Sampler(0.5, seed=3), max_tokens=60)
    assert isinstance(result.parsed, Person)
    assert result.parsed.model_dump() == result.value


@pytest.mark.parametrize(
    ("named", "index"),
    [
        ({"regex": "[0-9]+"}, "[0-9]+"),
        ({"constraint": "[0-9]+"}, "[0-9]+"),
        ({"schema": "name, age int"}, JsonSchema("name, age int")),
        ({"schema": {"type": "integer"}}, JsonSchema({"type": "integer"})),
        ({"schema": False}, JsonSchema(False)),
        ({"schema": JsonSchema(Person)}, JsonSchema(Person)),
        ({"schema": list[Person]}, JsonSchema(list[Person])),
        ({"grammar": LARK}, Grammar.from_lark(LARK)),
        ({"grammar": 'root ::= "a"'}, Grammar.from_gbnf('root ::= "a"')),
        ({"grammar": Grammar.from_lark(LARK)}, Grammar.from_lark(LARK)),
        ({"template": HOLE}, Template(HOLE)),
        ({"template": Template(HOLE)}, Template(HOLE)),
    ],
)
def test_each_kind_of_constraint_has_a_name(named: dict[str, Any], index: Any) -> None:
    config = GenerationConfig(**named)
    assert config == GenerationConfig(index=index)
    assert pickle.loads(pickle.dumps(config)) == config == replace(config)


def test_choices_are_texts_of_which_one_is_written(model: Any) -> None:
    config = GenerationConfig(choices=iter(["hot", "cold"]))
    assert isinstance(config.index, Dfa)
    assert [config.index.accepts(text) for text in ("hot", "cold", "ho", "hotcold")] == [True, True, False, False]
    assert config == GenerationConfig(choices=("hot", "cold")), "so that its index is made once"
    records = list(sfgen.job_records(sfgen.Job(model, config), ["It is very "]))
    assert records[0]["choices"] == ["hot", "cold"]
    assert pickle.loads(pickle.dumps(config.index)).choices == ("hot", "cold")


def test_files_of_grammars_and_templates_are_paths(tmp_path: Path) -> None:
    (tmp_path / "sql.gbnf").write_text('root ::= "a"')
    (tmp_path / "letter.txt").write_text("{{a: grammar sql.gbnf}}!\n")
    (tmp_path / "latin").write_bytes(b"\xff")
    assert sfgen.generate("uniform", grammar=tmp_path / "sql.gbnf").text == "a"
    assert sfgen.generate("uniform", template=tmp_path / "letter.txt").text == "a!"
    for wrong, message in (("none", "cannot read"), ("latin", "not valid UTF-8: byte 1")):
        with pytest.raises(InputError, match=message):
            GenerationConfig(grammar=tmp_path / wrong)


def test_what_is_named_stands_before_the_configuration() -> None:
    config = GenerationConfig(regex="a+", sampler=Sampler(0.5, seed=3, top_k=4), max_tokens=9)
    prepared = sfgen.decoding.config.configured(config, {"choices": ["hot"], "temperature": 0.25})
    assert isinstance(prepared.index, Dfa)
    assert (prepared.sampler, prepared.max_tokens) == (Sampler(0.25, seed=3, top_k=4), 9)
    assert sfgen.generate("uniform", "", config, choices=["hot"]).text == "hot"
    assert sfgen.generate("uniform", "", config, index=None, max_tokens=3).text != "aaa"


@pytest.mark.parametrize(
    ("named", "sampler"),
    [
        ({}, None),
        ({"temperature": 0}, Sampler(0)),
        ({"temperature": 0.5, "seed": 1}, Sampler(0.5, 1)),
        ({"seed": 1}, Sampler(1.0, 1)),
        ({"top_p": 0.5, "seed": 1}, Sampler(1.0, 1, top_p=0.5)),
        ({"top_k": 2, "min_p": 0.1, "seed": 1}, Sampler(1.0, 1, top_k=2, min_p=0.1)),
        ({"temperature": 0, "top_k": 2}, Sampler(0, top_k=2)),
        (
            {"logit_bias": {3: -1.0}, "repetition_penalty": 1.2},
            Sampler(0, logit_bias={3: -1.0}, repetition_penalty=1.2),
        ),
        ({"frequency_penalty": 0.5, "presence_penalty": 0}, Sampler(0, frequency_penalty=0.5)),
        ({"sampler": Sampler(0.5, 1), "top_k": 2}, Sampler(0.5, 1, top_k=2)),
        ({"sampler": Sampler(0.5, 1), "temperature": 0.7, "seed": None}, Sampler(0.7, 1)),
    ],
)
def test_fields_of_a_sampler_are_parameters(named: dict[str, Any], sampler: Sampler | None) -> None:
    assert GenerationConfig(**named).sampler == sampler


def test_two_constraints_are_an_error() -> None:
    given = {"index": "a", "constraint": "a", "regex": "a", "choices": ["a"], "schema": True, "template": HOLE}
    for one, first in given.items():
        for other, second in given.items():
            if one != other:
                with pytest.raises(UsageError, match=r"^\w+ and \w+ cannot be used together") as caught:
                    sfgen.generate("uniform", **{one: first, other: second})  # type: ignore[arg-type]
                assert {one, other} == set(caught.value.message.split(" cannot")[0].split(" and "))


@pytest.mark.parametrize("name", ["index", "constraint"])
@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ({"type": "integer"}, "A JSON Schema is given as schema={…}."),
        (Person, "A type that pydantic reads is given as schema=Person."),
        (list[Person], "A type that pydantic reads is given as schema=list."),
        (["a", "b"], "Texts of which one is written are given as choices=[…]."),
        (re.compile("a"), "Of a compiled pattern give its .pattern."),
        (Path("a.safetensors"), "A saved index is read with sfgen.Index.load(path, model.vocabulary)."),
    ],
)
def test_an_index_that_is_none_says_what_to_write(name: str, given: Any, hint: str) -> None:
    with pytest.raises(UsageError, match=f"{name} must be an index, a Dfa or a pattern") as caught:
        GenerationConfig(**{name: given})
    assert caught.value.hint == hint


def test_an_empty_list_of_banned_words_bans_nothing(model: Any) -> None:
    nothings: list[Any] = [[], (), set()]
    for nothing in nothings:
        assert GenerationConfig(banned=nothing) == GenerationConfig()
    assert sfgen.generate(model, "Can we talk?", banned=[]) == sfgen.generate(model, "Can we talk?")


@pytest.mark.parametrize("prompts", [["a", "b"], ("a",), [[1], [2]], [[{"role": "user", "content": "Hi!"}]]])
def test_a_list_of_prompts_names_jobs(model: Any, prompts: Any) -> None:
    with pytest.raises(UsageError, match="prompt must be one text") as caught:
        sfgen.generate(model, prompts)
    assert "sfgen.job_records(" in caught.value.hint


# ---- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", BY_CONFIG)
def test_a_signature_has_every_parameter_and_help_says_what_it_means(function: Any) -> None:
    names = set(inspect.signature(function).parameters)
    fields = [*dataclasses.fields(GenerationConfig), *(field for field in dataclasses.fields(Sampler) if field.init)]
    assert {"model", "prompt", "config", "constraint", "regex", "choices", "schema", "grammar", "template"} <= names
    assert {field.name for field in fields if field.name != "_"} <= names
    if function in (sfgen.generate, sfgen.stream):
        arguments = str(inspect.getdoc(function)).partition("Args:")[2].partition("\n\n")[0]
        assert set(re.findall(r"^    (\w+):", arguments, re.MULTILINE)) == names
    for parameter in inspect.signature(function).parameters.values():
        assert "InitVar" not in parameter.annotation


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("temprature", "temperature"),
        ("max_token", "max_tokens"),
        ("max_new_tokens", "max_tokens"),
        ("response_format", "schema"),
        ("pattern", "regex"),
        ("bad_words", "banned"),
        ("promt", "prompt"),
    ],
)
@pytest.mark.parametrize("function", BY_CONFIG)
def test_a_misspelt_keyword_is_an_error_of_both_kinds(function: Any, wrong: str, meant: str) -> None:
    with pytest.raises(UnknownParameter, match=f"^{function.__name__} has no parameter {wrong}\n") as caught:
        function("uniform", **{wrong: 1})
    assert isinstance(caught.value, TypeError)
    assert isinstance(caught.value, SfgenError)
    assert caught.value.hint.startswith(f"Did you mean {meant}? The parameters: model, prompt, config, index,")
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def _configurable() -> list[str]:
    """What ``import sfgen`` gives that has parameters with defaults."""
    found = []
    for name in sfgen.__all__:
        thing: Any = getattr(sfgen, name)
        made_here = name[0].islower() or not getattr(thing, "__dataclass_fields__", None) or name in ("Job", "Sampler")
        if callable(thing) and made_here and not getattr(thing, "_is_protocol", False) and name != "SfgenError":
            parameters = inspect.signature(thing).parameters.values()
            if any(each.default is not each.empty for each in parameters):
                found.append(name)
    return [*found, "GenerationConfig", "ModelSpec"]


@pytest.mark.parametrize("name", _configurable())
def test_no_public_name_takes_a_misspelt_keyword_for_pythons_error(name: str) -> None:
    if name == "Vocabulary":
        return  # made by its class methods
    thing: Any = getattr(sfgen, name)
    with pytest.raises(UnknownParameter, match=f"^{name} has no parameter nme\n") as caught:
        thing(*(["uniform"] if thing in BY_CONFIG else []), nme=1)
    assert "The parameters: " in caught.value.hint


def test_a_job_names_the_configuration() -> None:
    with pytest.raises(UnknownParameter, match="Job has no parameter regex") as caught:
        sfgen.Job("tiny", regex="[0-9]+")  # type: ignore[call-arg]
    assert caught.value.hint == "It is a parameter of its configuration: Job(model, GenerationConfig(regex=…))"
    with pytest.raises(UnknownParameter, match="generate takes at most 3 arguments by position, not 4"):
        sfgen.generate("tiny", "a", GenerationConfig(), 60)  # type: ignore[call-arg, arg-type]


def test_what_has_no_place_is_refused() -> None:
    wrong: list[tuple[Callable[[], Any], str]] = [
        (lambda: GenerationConfig("[0-9]+"), "GenerationConfig takes no arguments by position, not 1"),  # type: ignore[call-arg]
        (lambda: Sampler(1.0, 7, 40), "Sampler takes at most 2 arguments by position, not 3"),  # type: ignore[call-arg]
        (lambda: sfgen.load_model("tiny", "cpu"), "load_model takes at most 1 argument by"),  # type: ignore[call-arg]
    ]
    for make, message in wrong:
        with pytest.raises(UnknownParameter, match=message) as caught:
            make()
        assert caught.value.hint == "Give the others by name."


@pytest.mark.parametrize(
    ("named", "message", "hint"),
    [
        ({"choices": "hot,cold"}, "choices must be a list of texts, not 'hot,cold'", "Give ['hot', 'cold']."),
        ({"grammar": "sql.gbnf"}, "grammar is the name of a file: 'sql.gbnf'", "Give it as pathlib.Path(…)."),
        ({"config": {"max_tokens": 3}}, "config must be an sfgen.GenerationConfig", "max_tokens=60"),
    ],
)
def test_what_could_mean_something_else_is_refused(named: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)) as caught:
        sfgen.generate("uniform", **named)
    assert hint in caught.value.hint


def test_packages_are_reached_after_importing_sfgen() -> None:
    names = [module.name for module in pkgutil.iter_modules(sfgen.__path__) if module.ispkg]
    assert "decoding" in names
    for name in (*names, "delays", "errors", "protocols"):
        assert inspect.ismodule(sfgen.__getattr__(name)), name
    assert not hasattr(sfgen, "protocol")
