"""``--pydantic MODULE:CLASS`` in ``gen``, ``index`` and ``check``; errors: ``support/errors/pydantic.py``."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Sfgen = Callable[..., Any]
COMMAND = [sys.executable, "-m", "sfgen_cli"]
PERSON = '''
"""A module as people have them."""
import enum
from pydantic import BaseModel, Field, field_validator
import sibling

print("the module speaks")

class Color(enum.Enum):
    RED = "red"

class Person(BaseModel):
    name: str = Field(max_length=8, alias="firstName")
    age: int = Field(ge=0, le=120)
    class Address(BaseModel):
        zip: str = Field(pattern="^[0-9]{5}$")

class Even(BaseModel):
    number: int = Field(ge=1, le=1)
    @field_validator("number")
    @classmethod
    def is_even(cls, value):
        raise ValueError("odd numbers are odd")

People = list[Person]
'''


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a module, a package and a file in a folder."""
    monkeypatch.chdir(tmp_path)
    for folder in ("pack", "more"):
        (tmp_path / folder).mkdir()
    (tmp_path / "person_of_test.py").write_text(PERSON)
    (tmp_path / "sibling.py").write_text("")
    (tmp_path / "pack" / "models.py").write_text("from person_of_test import Person as Someone\n")
    (tmp_path / "more" / "beside.py").write_text("FLAGS = bool\n")
    (tmp_path / "more" / "file.py").write_text("import beside\nclass Outer:\n    Flag = beside.FLAGS\n")
    for name in ("person_of_test", "sibling", "pack", "pack.models", "beside"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


def written(done: Any) -> Any:
    assert done.code == 0, done.err
    return json.loads(done.out)


@pytest.mark.parametrize(
    ("named", "keys"),
    [
        ("person_of_test:Person", {"firstName", "age"}),
        ("person_of_test.py:Person", {"firstName", "age"}),
        ("./person_of_test.py:Person.Address", {"zip"}),
        ("person_of_test:Person.Address", {"zip"}),
        ("pack.models:Someone", {"firstName", "age"}),
    ],
)
def test_what_names_a_class(sfgen: Sfgen, named: str, keys: set[str]) -> None:
    done = sfgen("gen", "--pydantic", named, "A person: ")
    assert written(done).keys() == keys
    assert done.err == "the module speaks\n"  # stdout is for the text


def test_an_annotation_an_enum_and_a_folder(sfgen: Sfgen) -> None:
    assert isinstance(written(sfgen("gen", "--pydantic", "person_of_test:People", "x")), list)
    assert written(sfgen("gen", "--pydantic", "person_of_test.py:Color", "x")) == "red"
    assert written(sfgen("gen", "--pydantic", "more/file.py:Outer.Flag", "x")) in (True, False)


def test_a_module_is_found_where_python_finds_it(sfgen: Sfgen, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(here))
    monkeypatch.chdir(here / "more")
    before = list(sys.path)
    assert written(sfgen("gen", "--pydantic", "person_of_test:Color", "x")) == "red"
    assert sys.path == before


def test_a_process_of_its_own() -> None:
    done = subprocess.run(
        [*COMMAND, "gen", "--pydantic", "person_of_test:Person", "-n", "2", "x"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=300,
        env={name: value for name, value in os.environ.items() if name != "SFGEN_MODEL"},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "the module speaks\n")
    assert [json.loads(line).keys() for line in done.stdout.splitlines()] == [{"firstName": 1, "age": 1}.keys()] * 2


def test_the_record_has_the_value_and_the_name(sfgen: Sfgen) -> None:
    record = written(sfgen("gen", "--pydantic", "person_of_test:Person", "--json", "x"))
    assert record["schema"] == "person_of_test:Person"
    assert record["value"] == json.loads(record["text"])
    assert "parsed" not in record


def test_a_module_that_needs_pydantic_where_it_is_missing(
    sfgen: Sfgen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "person.py"
    file.write_text("import pydantic")
    monkeypatch.setitem(sys.modules, "pydantic", None)
    done = sfgen("gen", "--pydantic", f"{file}:Person", "")
    assert done.code == 1
    assert "sfgen[pydantic]" in done.err


def test_options_of_schemas(sfgen: Sfgen) -> None:
    done = sfgen("gen", "--pydantic", "person_of_test:Person", "--spacing", "compact", "x")
    assert re.match(r'\{"firstName":"[^"]*","age":', done.out)
    done = sfgen("gen", "--indent", "2", "x")
    assert (done.code, "--schema, --pydantic, --like or --tools" in done.err) == (2, True)


def test_a_text_that_the_class_refuses_is_told_and_written(sfgen: Sfgen) -> None:
    done = sfgen("gen", "--pydantic", "person_of_test.py:Even", "x")
    assert (done.code, done.out) == (0, '{"number": 1}\n')
    said = "sfgen: Even refuses the text: number: Value error, odd numbers are odd\n"
    assert done.err == f"the module speaks\n{said}"
    assert said not in sfgen("gen", "--pydantic", "person_of_test.py:Even", "--quiet", "x").err


def test_the_rules_are_shown(sfgen: Sfgen) -> None:
    done = sfgen("index", "--pydantic", "person_of_test:Person")
    assert done.code == 0
    assert "person_of_test:Person" in done.out
    assert re.search(r"age +required +an integer from 0 to 120", done.out)
    rules = written(sfgen("index", "--pydantic", "person_of_test:Person", "--json"))
    assert rules["schema"]["title"] == "Person"


def test_a_saved_one_needs_no_class(sfgen: Sfgen, here: Path) -> None:
    assert sfgen("index", "--pydantic", "person_of_test:Person", "--save", "f").code == 0
    for file in here.glob("*.py"):
        file.unlink()
    record = written(sfgen("gen", "--index", "f", "--json", "x"))
    assert record["value"].keys() == {"firstName", "age"}
    assert record["schema"] == "f"


def test_documents_are_checked_by_the_schema(sfgen: Sfgen) -> None:
    command = ["check", "--pydantic", "person_of_test:Person"]
    assert sfgen(*command, "--text", '{"age": 3, "firstName": ""}').code == 0
    done = sfgen(*command, "--text", '{"age": 300, "firstName": ""}')
    assert (done.code, "$.age: must be 120 or less, not 300" in done.out) == (1, True)


def test_many_prompts_go_on_by_the_same_schema_only(sfgen: Sfgen, here: Path) -> None:
    (here / "in.jsonl").write_text('{"prompt": "a"}\n{"prompt": "b"}\n')
    command = ["gen", "--pydantic", "person_of_test.py:Person", "--input", "in.jsonl", "--output", "out.jsonl"]
    assert sfgen(*command).code == 0
    records = [json.loads(line) for line in (here / "out.jsonl").read_text().splitlines()]
    assert [record["value"].keys() for record in records] == [{"firstName": 1, "age": 1}.keys()] * 2
    assert sfgen(*command, "--resume").code == 0
    (here / "person_of_test.py").write_text(PERSON.replace("le=120", "le=99"))
    done = sfgen(*command, "--resume")
    assert (done.code, "schema" in done.err) == (1, True)


def test_the_help_says_that_code_runs(sfgen: Sfgen) -> None:
    for command in ("gen", "index", "check"):
        for option in ("--help", "--help-all"):
            text = " ".join(sfgen(command, option).out.split())
            assert re.search(r"--pydantic MODULE:CLASS .*? code runs\.", text), (command, option)
