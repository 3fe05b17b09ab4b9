"""Templates on the command line: ``gen``, ``check``, ``index``, ``replay``, and what is refused."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sfgen import Template, read_trace

PERSON = "A person: {{name: regex [A-Z][a-z]{2,9}}} is {{age temperature 1: regex [1-9][0-9]}} years old."
FILLED = re.compile(r"(?P<name>[A-Z][a-z]{2,9}) is (?P<age>[1-9][0-9]) years old\.")
Sfgen = Callable[..., Any]


def test_what_stands_before_the_first_hole_is_the_prompt(sfgen: Sfgen) -> None:
    (record,) = sfgen("gen", "--template", PERSON, "--json").records
    found = FILLED.fullmatch(record["text"])
    assert found is not None
    assert record["groups"] == found.groupdict()
    assert record["prompt"] == "A person: "
    assert record["template"] == PERSON
    assert "value" not in record
    again = sfgen("gen", "--template", PERSON, "--seed", record["seed"], "-t", "0", "--echo")
    assert again.out == f"A person: {record['text']}\n"


@pytest.mark.parametrize("given", [["Hello. "], ["--prompt-file", "p"], [""]])
def test_with_a_prompt_the_whole_template_is_written(
    sfgen: Sfgen, given: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p").write_text("Hello. \n")
    done = sfgen("gen", "--template", PERSON, *given)
    assert Template(PERSON).accepts(done.out[:-1])
    assert Template(PERSON).accepts(sfgen("gen", "--template", PERSON, stdin="Piped").out[:-1])


def test_a_file_with_files_beside_it(sfgen: Sfgen, tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"age": {"enum": [7, 8]}}, "required": ["age"]}
    (tmp_path / "person.json").write_text(json.dumps(schema))
    (tmp_path / "sum.lark").write_text('start: NUMBER ("+" NUMBER)?\nNUMBER: /[0-9]/\n')
    file = tmp_path / "letter.txt"
    block = "{% for x in a, b %}\n{{x}}{{n: choices 1, 2}}\n{% endfor %}\n"
    file.write_text("{{p: schema person.json}} {{s: grammar sum.lark}}\n" + block)
    (record,) = sfgen("gen", "--template", file, "--json", "x", "--seed", "1").records
    assert record["template"] == str(file)
    assert record["value"]["p"]["age"] in (7, 8)
    assert json.loads(record["groups"]["p"]) == record["value"]["p"]
    assert len(record["groups"]["n"]) == 2
    assert record["text"].endswith("\n")  # of the block; that at the end of the file is not written
    assert not record["text"].endswith("\n\n")
    assert sfgen("gen", "--template", "-", "x", stdin="{{a: regex b}}\n").out == "b\n"


def test_many_prompts_bans_and_traces(sfgen: Sfgen, tmp_path: Path) -> None:
    prompts, run = tmp_path / "in", tmp_path / "run.jsonl"
    prompts.write_text('{"prompt": "x"}\n{"prompt": "y"}\n')
    options = ["--template", PERSON, "--ban-words", "1*,Z*", "--seed", "4"]
    records = sfgen("gen", *options, "--input", prompts, "--trace", run).records
    recordings = read_trace(run).recordings
    assert [recording.scene.template for recording in recordings] == [PERSON] * 2
    for record, recording in zip(records, recordings, strict=True):
        assert Template(PERSON).accepts(record["text"])
        assert recording.result is not None
        assert recording.result.groups == record["groups"]
        assert recording.scene.template_json is not None
        assert json.loads(recording.scene.template_json)["template"] == PERSON
    assert sfgen("replay", run).out == "".join(f"{record['text']}\n" for record in records)


def test_the_picture_of_a_step_names_the_hole(sfgen: Sfgen, tmp_path: Path) -> None:
    sfgen("gen", "--template", PERSON, "--trace", tmp_path / "run.jsonl")
    picture = sfgen("replay", tmp_path / "run.jsonl", "--svg", "-", "--at", "1").out
    assert "template" in picture
    assert re.search(r">\s*name\s*<", picture.replace("&#160;", " "))


def test_check_says_what_was_expected(sfgen: Sfgen) -> None:
    texts = ["--text", "A person: Ada is 36 years old.", "--text", "A person: Ada is old.", "--text", "A person: Ada"]
    done = sfgen("check", "--template", PERSON, *texts)
    assert done.code == 1
    assert "text 2, line 1, column 18: expected {{age: regex …}}" in done.out
    assert "text 3, line 1, column 14: the text ends too early: expected {{name: regex …}} or ' is '" in done.out
    assert "1 of 3 texts match the template" in done.err
    records = sfgen("check", "--template", PERSON, "--json", *texts).records
    assert [record["groups"] for record in records] == [{"name": "Ada", "age": "36"}, None, None]
    assert [record["position"] for record in records] == [30, 17, 13]


def test_check_reads_a_file_as_one_text(sfgen: Sfgen, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("a\nb\n")
    assert sfgen("check", "--template", "{{x: regex a}}\n{{y: regex b}}", tmp_path / "text").code == 0
    bad = sfgen("check", "--template", "{{x: regex a}}\n{{y: regex b}}", "--text", "a\nc")
    assert (bad.code, "line 2, column 1: expected {{y: regex …}}" in bad.out) == (1, True)


def test_a_template_is_kept(sfgen: Sfgen, tmp_path: Path) -> None:
    file = tmp_path / "t.safetensors"
    assert sfgen("index", "--template", PERSON, "--save", file).out == f"{file}\n"
    by_file = sfgen("gen", "--index", file, "--seed", "3", "--json").records[0]
    by_text = sfgen("gen", "--template", PERSON, "--seed", "3", "--json").records[0]
    assert by_file["template"] == str(file)
    assert all(by_file[key] == by_text[key] for key in ("text", "prompt", "groups"))
    assert "[1-9][0-9]" in sfgen("index", file).out
    shown = json.loads(sfgen("index", "--template", PERSON, "--json").out)
    assert [(hole["name"], hole["temperature"]) for hole in shown["holes"]] == [("name", None), ("age", 1.0)]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["gen", "--template", PERSON, "--regex", "a"], "--regex and --template cannot be used together"),
        (["gen", "--template", PERSON, "--engine", "fsm", "x"], "--engine fsm and --template cannot be used together"),
        (["gen", "--template", PERSON, "--stop", "a", "x"], "--stop cannot be used with"),
        (["gen", "--template", PERSON, "--indent", "2", "x"], "--indent needs a schema"),
        (["gen", "--template", PERSON, "--scores", "x"], "--scores needs --choices"),
        (["gen", "--template", PERSON, "--strategy", "exact", "x"], "draws a whole text at one temperature"),
        (["index", "--template", PERSON, "--path", "x"], "--path and --template cannot be used together"),
        (["index", "--template", PERSON, "--state", "1"], "--state and --template cannot be used together"),
        (["index", "--template", PERSON, "--format", "schema"], "--format schema needs a schema"),
    ],
)
def test_what_has_no_meaning(sfgen: Sfgen, arguments: list[str], says: str) -> None:
    done = sfgen(*arguments)
    assert done.code == 2
    assert says in done.err


def test_bad_templates_and_files(sfgen: Sfgen, tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_text("Hello\n {{name: regex [a-}}")
    done = sfgen("gen", "--template", tmp_path / "bad.txt")
    assert done.code == 1
    assert f"template {tmp_path}/bad.txt: pattern: unterminated character set at line 2, column 16" in done.err
    assert done.err.splitlines()[1:3] == ["   {{name: regex [a-}}", "                 ^"]
    done = sfgen("gen", "--template", "none.txt")
    assert (done.code, "cannot read none.txt" in done.err, "A template is a file" in done.err) == (1, True, True)
