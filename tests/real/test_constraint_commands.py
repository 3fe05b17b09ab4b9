"""The command line with the real model: each constraint once, many prompts with constraints of their own, refusals."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lark
import pytest
from pydantic import BaseModel, Field
from tests.oracles.schema_oracle import Oracle
from tests.support.real.model import needs_file

pytestmark = needs_file()

Gen = Callable[..., Any]
TOOLS = [{"name": "weather", "parameters": {"properties": {"city": {"enum": ["Rome", "Oslo"]}}, "required": ["city"]}}]


@pytest.fixture
def gen(command: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Gen:
    """``gen("--regex", "a+", code=0)``: the command ends with this exit code and says nothing but errors to people."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str, code: int = 0) -> Any:
        done = command("gen", "--quiet", *arguments)
        assert done.code == code, done.err
        assert bool(done.err) == bool(code)
        return done

    return call


class Person(BaseModel):
    name: str = Field(max_length=30)
    age: int = Field(ge=0, le=150)


def test_a_file_of_prompts_with_constraints_of_their_own(gen: Gen, tmp_path: Path) -> None:
    """One process writes by patterns, choices, schemas, grammars and quotations; a record for each, in order."""
    schema = {"properties": {"name": {"type": "string"}, "tags": {"items": {"enum": ["a", "b"]}}}, "required": ["name"]}
    grammar = 'start: "f(" [ARG ("," ARG)*] ")"\nARG: /[a-z0-9]{1,4}/'
    life = "Ada Lovelace was born in London. She wrote the first program."
    constraints: list[dict[str, Any]] = [
        {"regex": r"[a-z]{2,12}@[a-z]{2,9}\.(org|com)"},
        {"choices": ["hot", "cold", "hotel"]},
        {"schema": schema, "max_tokens": 40},
        {"grammar": grammar, "max_tokens": 12},
        {"grammar": 'root ::= "(" root ")" | [0-9]', "seed": 7},
        {"substring": {"text": life, "unit": "word", "most": 4}},
        {"regex": "a{300}", "max_tokens": 3},
        {"schema": "name, age int", "seed": 3, "max_tokens": 30},
    ]
    lines = [json.dumps({"prompt": "Ann's address: ", "id": n, "sfgen": each}) for n, each in enumerate(constraints)]
    (tmp_path / "prompts.jsonl").write_text("\n".join(lines))
    options = ["--temperature", "1", "--seed", "5", "--fields", "all", "--batch-size", "3"]
    records = gen("--input", "prompts.jsonl", *options, code=1).records  # one is refused, the others are written
    assert [record["id"] for record in records] == list(range(len(constraints)))
    assert ["error" in record for record in records] == [number == 6 for number in range(len(records))]
    texts = [record.get("text") for record in records]
    assert re.fullmatch(constraints[0]["regex"], texts[0])
    assert texts[1] in constraints[1]["choices"]
    assert not Oracle({"type": "object", **schema}).fault(texts[2])
    lark.Lark(grammar, parser="lalr").parse(texts[3])
    assert re.fullmatch(r"(\(*)[0-9](\)*)", texts[4])
    assert texts[4].count("(") == texts[4].count(")")
    assert texts[5] in life
    assert len(texts[5].split()) <= 4
    assert set(json.loads(texts[7])) == {"name", "age"}
    for record in records:
        assert len(record.get("token_ids", [])) <= constraints[record["id"]].get("max_tokens", 256) + 2


def test_schemas_of_files_classes_and_examples(gen: Gen, tmp_path: Path) -> None:
    (tmp_path / "person.json").write_text(json.dumps(Person.model_json_schema()))
    (tmp_path / "app.py").write_text(
        "from pydantic import BaseModel, Field\n\n\nclass Person(BaseModel):\n"
        "    name: str = Field(max_length=30)\n    age: int = Field(ge=0, le=150)\n"
    )
    (tmp_path / "like.jsonl").write_text('{"name": "Ann", "age": 31}\n{"name": "Bob", "age": 52}\n')
    prompt = 'Ann, 31: {"name": "Ann", "age": 31}\nCarla, 40:'
    spaced = gen("--schema", "person.json", "--max-tokens", "40", prompt)
    compact = gen("--pydantic", "app.py:Person", "--spacing", "compact", "--max-tokens", "40", prompt)
    inferred = gen("--like", "like.jsonl", "--indent", "1", "--property-order", "any", prompt)
    layouts: list[dict[str, Any]] = [{}, {"separators": (",", ":")}, {"indent": 1}]
    for done, layout in zip((spaced, compact, inferred), layouts, strict=True):
        Person.model_validate_json(done.out)
        assert done.out == json.dumps(json.loads(done.out), ensure_ascii=False, **layout) + "\n"
    assert json.loads(spaced.out) == {"name": "Carla", "age": 40}


def test_templates_tools_and_quotations(gen: Gen, tmp_path: Path) -> None:
    (tmp_path / "tools.json").write_text(json.dumps(TOOLS))
    (tmp_path / "life.txt").write_text("Ada Lovelace was born in London.\nShe wrote the first program.\n")
    call = json.loads(gen("--tools", "tools.json", "How is the weather in Oslo? ").out)
    assert call["name"] == "weather"
    assert call["arguments"]["city"] in ("Rome", "Oslo")
    template = (
        'City: {{city: regex [A-Z][a-z]{2,9}}} ({{sure: choices yes, no}}), "{{quote: substring life.txt unit line}}"'
    )
    [record] = gen("--template", template, "--json", "Ada was born there.\n").records
    match = re.fullmatch(r'City: ([A-Z][a-z]{2,9}) \((yes|no)\), "([^"]+)"', record["text"])
    assert match
    assert list(record["groups"].values()) == list(match.groups())
    assert match[3] in (tmp_path / "life.txt").read_text()
    free = ["--tools", "tools.json", "--when", " ", "--max-tokens", "40", "--json", "--seed", "2", "Tell me a story"]
    [record] = gen(*free).records
    assert record["calls"]
    for called in record["calls"]:
        assert called["arguments"]["city"] in ("Rome", "Oslo")
        assert json.dumps(called["name"]) in record["text"]


def test_scores_of_choices(gen: Gen) -> None:
    done = gen("--choices", "Paris,Berlin,Madrid", "--scores", "The capital of Germany is ")
    rows = [line.split("\t") for line in done.out.splitlines()]
    assert {row[0] for row in rows} == {"Paris", "Berlin", "Madrid"}
    assert sum(float(row[1]) for row in rows) == pytest.approx(1, abs=0.01)
    assert rows[0][0] == "Berlin"
    shares = [float(row[1]) for row in rows]
    assert shares == sorted(shares, reverse=True)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--regex", "[a-z"],
        ["--regex", "a{300}", "--max-tokens", "3"],
        ["--schema", '{"type": "object", "properties": {"a": false}, "required": ["a"]}'],
        ["--grammar", 'root ::= "a" rest'],
        ["--template", "{{a: regex [}}"],
        ["--substring-of", "absent.txt"],
    ],
    ids=lambda arguments: arguments[0] + " " + arguments[1][:9],
)
def test_faulty_constraints_are_refused(gen: Gen, arguments: list[str]) -> None:
    assert not gen(*arguments, "A person: ", code=1).out
