"""``gen --schema``, ``index --schema`` and saved schemas: in this process, in one of its own, and in a terminal."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.command.many_prompts import timeless
from tests.support.command.processes import forked
from tests.support.command.terminal import in_a_terminal, plain
from tests.support.models.random_models import save as save_model

from sfgen import JsonSchema
from sfgen.trace import read_trace

Sfgen = Callable[..., Any]
PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 20},
        "age": {"type": "integer", "minimum": 0, "maximum": 120},
        "tags": {"type": "array", "items": {"enum": ["new", "old"]}, "maxItems": 2},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}
PROMPT = "A person: "


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a schema in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "person.json").write_text(json.dumps(PERSON), encoding="utf-8")
    return tmp_path


def written(done: Any) -> list[Any]:
    assert (done.code, done.err) == (0, "")
    return [json.loads(line) for line in done.out.removesuffix("\n").split("\n")]  # a string may have U+2028 in it


# ---- gen -------------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("more", [[], ["--no-fast-forward"], ["-m", "uniform"], ["--strategy", "mask"]], ids=str)
def test_every_text_is_valid(sfgen: Sfgen, more: list[str]) -> None:
    values = written(sfgen("gen", "--schema", "person.json", "-n", "4", "--seed", "1", *more, PROMPT))
    assert len(values) == 4
    for value in values:
        assert JsonSchema(PERSON).validate(value) == []


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("schema", ["person.json", "./person.json", json.dumps(PERSON), "name, age int", "true", "-"])
def test_what_names_a_schema(sfgen: Sfgen, schema: str) -> None:
    stdin = json.dumps(PERSON) if schema == "-" else ""
    (value,) = written(sfgen("gen", "--schema", schema, "--quiet", "-m", "uniform", PROMPT, stdin=stdin))
    assert schema == "true" or set(value) >= {"name", "age"}


def test_the_record_has_the_value_and_the_name(sfgen: Sfgen, here: Path) -> None:
    (record,) = written(sfgen("gen", "--schema", "person.json", "--json", PROMPT))
    assert record["schema"] == "person.json"
    assert record["value"] == json.loads(record["text"])
    assert record["forced_tokens"] > record["forward_passes"]
    (record,) = written(sfgen("gen", "--schema", "-", "--json", PROMPT, stdin='{"const": null}'))
    assert (record["schema"], record["value"], record["text"]) == ("stdin", None, "null")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ([], '{"a": [1, 2]}'),
        (["--spacing", "compact"], '{"a":[1,2]}'),
        (["--spacing", "spaced"], '{"a": [1, 2]}'),
        (["--indent", "1"], '{\n "a": [\n  1,\n  2\n ]\n}'),
    ],
)
def test_how_it_is_written(sfgen: Sfgen, options: list[str], text: str) -> None:
    schema = '{"type": "object", "properties": {"a": {"const": [1, 2]}}, "required": ["a"]}'
    assert sfgen("gen", "--schema", schema, *options, "").out == text + "\n"


def test_properties_in_any_order(sfgen: Sfgen) -> None:
    schema = '{"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 2}}, "required": ["a", "b"]}'
    options = ["--schema", schema, "-m", "uniform", "-n", "40", "--seed", "1", ""]
    assert set(sfgen("gen", *options).out.splitlines()) == {'{"a": 1, "b": 2}'}
    texts = sfgen("gen", "--property-order", "any", *options).out.splitlines()
    assert set(texts) == {'{"a": 1, "b": 2}', '{"b": 2, "a": 1}'}
    shown = sfgen("index", "--schema", schema, "--property-order", "any", "--path", '{"b": 2, ')
    assert '$      the name "a"' in shown.out
    (record,) = written(sfgen("gen", "--property-order", "any", "--json", "--schema", schema, ""))
    assert sorted(record["value"]) == ["a", "b"]


def test_a_saved_schema_keeps_its_order(sfgen: Sfgen, tmp_path: Path) -> None:
    file = str(tmp_path / "saved")
    assert sfgen("index", "--schema", "a bool, b bool", "--property-order", "any", "--save", file).code == 0
    starts = {text[:4] for text in sfgen("gen", "--index", file, "-n", "40", "--seed", "1", "").out.splitlines()}
    assert starts == {'{"a"', '{"b"'}


def test_what_is_not_required(sfgen: Sfgen) -> None:
    schema = '{"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 2}}}'
    done = sfgen("gen", "--schema", schema, "--seed", "1", "")
    assert done.err == "sfgen: No property is required, so {} is valid: --require-all requires all properties.\n"
    assert sfgen("gen", "--schema", schema, "--quiet", "--seed", "1", "").err == ""
    assert written(sfgen("gen", "--schema", schema, "--require-all", "")) == [{"a": 1, "b": 2}]
    with_more = sfgen("gen", "--schema", schema, "--require-all", "--extra-properties", "-m", "uniform", "-n", "9", "")
    assert any(set(value) - {"a", "b"} for value in written(with_more))


def test_unknown_keywords_and_formats_are_named_once(sfgen: Sfgen) -> None:
    schema = '{"type": "object", "properties": {"a": {"type": "string", "format": "nonsense", "maxlen": 3}}, "x-y": 1}'
    done = sfgen("gen", "--schema", schema, "--require-all", "-n", "2", "--max-tokens", "20", "")
    assert done.code == 0
    assert done.err.count("nonsense") == done.err.count("maxlen") == 1


def test_a_limit_that_is_too_small_is_told_with_the_shortest_text(sfgen: Sfgen) -> None:
    done = sfgen("gen", "--schema", "name, age int", "--max-tokens", "3", PROMPT)
    assert (done.code, done.out) == (1, "")
    assert '{"name": "", "age": 0}' in done.err
    least = int(done.err.rstrip(".\n").split()[-2])
    for limit in range(least, least + 6):
        (value,) = written(
            sfgen("gen", "--schema", "name, age int", "--max-tokens", str(limit), "--seed", str(limit), PROMPT)
        )
        assert set(value) == {"name", "age"}


def test_banned_words_are_in_no_string(sfgen: Sfgen) -> None:
    item = {"type": "string", "pattern": "^(talk|\\ntalk|talking|walk)$"}
    schema = json.dumps({"type": "array", "items": item, "minItems": 4, "maxItems": 4})
    for strategy in ("resample", "first-token", "mask"):
        options = ["--ban-words", "talk", "--strategy", strategy, "-n", "5", "--quiet", "-m", "uniform"]
        done = sfgen("gen", "--schema", schema, *options, "")
        for value in written(done):
            assert set(value) <= {"talking", "walk"}


def test_where_bans_leave_nothing(sfgen: Sfgen) -> None:
    done = sfgen("gen", "--schema", "name", "--ban-words", "name", PROMPT)
    assert (done.code, done.out) == (1, "")
    assert "every text that the schema allows has a banned word" in done.err
    assert "the name 'name' has a banned word" in done.err
    done = sfgen("gen", "--schema", '{"enum": ["talk", "talk!"]}', "--ban-words", "talk", PROMPT)
    assert (done.code, done.out) == (1, "")
    schema = '{"type": "object", "properties": {"talk": {"const": 1}, "b": {"const": 2}}, "required": ["b"]}'
    assert written(sfgen("gen", "--schema", schema, "--ban-words", "talk", "--quiet", PROMPT)) == [{"b": 2}]


def test_a_random_llama(sfgen: Sfgen, tmp_path: Path) -> None:
    directory = save_model("llama", tmp_path / "llama")
    schema = json.dumps(PERSON)
    values = written(sfgen("gen", "-m", str(directory), "--schema", schema, "-n", "2", "--seed", "5", PROMPT))
    for value in values:
        assert JsonSchema(PERSON).validate(value) == []


@pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")
def test_a_pipe_into_jq(here: Path) -> None:
    line = f"{sys.executable} -m sfgen_cli gen --schema person.json -n 2 --seed 3 '{PROMPT}' | jq .age"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {line}"], capture_output=True, cwd=here, check=True)
    assert [0 <= int(age) <= 120 for age in done.stdout.split()] == [True, True]


def test_the_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; from sfgen_cli.shell.ending import run; run(['gen', '--help'])\n"
        "print([name for name in ('torch', 'numpy', 'numba', 'jsonschema', 'transformers') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


# ---- many prompts ----------------------------------------------------------------------------------------------------


def _inputs(folder: Path, count: int) -> None:
    lines = [json.dumps({"prompt": f"Person {number}: ", "id": number}) for number in range(count)]
    (folder / "prompts.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_many_prompts_and_batches(sfgen: Sfgen, here: Path) -> None:
    _inputs(here, 6)
    options = ["gen", "--schema", "person.json", "--input", "prompts.jsonl", "--seed", "1", "-m", "uniform"]
    options += ["--fields", "all"]
    one = sfgen(*options).records
    assert [JsonSchema(PERSON).validate(record["value"]) for record in one] == [[]] * 6
    assert {record["schema"] for record in one} == {"person.json"}
    three = sfgen(*options, "--batch-size", "3").records
    assert [record["text"] for record in three] == [record["text"] for record in one]


def test_killed_and_resumed_it_goes_on_to_the_same_end(sfgen: Sfgen, here: Path) -> None:
    _inputs(here, 60)
    options = ["gen", "--schema", "person.json", "--input", "prompts.jsonl", "--seed", "1", "-m", "uniform", "--quiet"]
    assert sfgen(*options, "--output", "whole.jsonl").code == 0
    killed = here / "killed.jsonl"
    with forked([*options, "--output", str(killed)], cwd=here, stdin=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 120
        while not (killed.exists() and killed.stat().st_size) and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    assert sfgen(*options, "--output", str(killed), "--resume").code == 0
    assert timeless(killed.read_bytes()) == timeless((here / "whole.jsonl").read_bytes())
    (here / "person.json").write_text(json.dumps({**PERSON, "required": ["name"]}), encoding="utf-8")
    done = sfgen(*options, "--output", str(killed), "--resume")
    assert done.code == 1
    assert "is not of this run: its schema." in done.err


# ---- views and traces ------------------------------------------------------------------------------------------------


def test_a_trace_has_the_schema_and_is_played_again(sfgen: Sfgen, here: Path) -> None:
    done = sfgen("gen", "--schema", "person.json", "--trace", "run.jsonl", "--seed", "2", PROMPT)
    (recording,) = read_trace(here / "run.jsonl").recordings
    assert recording.scene.schema == "person.json"
    assert json.loads(recording.scene.schema_json or "")["schema"] == PERSON
    assert recording.result is not None
    assert recording.result.value == json.loads(done.out)
    (here / "person.json").unlink()
    assert sfgen("replay", "run.jsonl").out == done.out
    assert sfgen("replay", "run.jsonl", "--svg", "run.svg", "--at", "-3").code == 0
    assert "$" in (here / "run.svg").read_text(encoding="utf-8")


def test_the_live_view_tells_where_the_text_stands(here: Path) -> None:
    seen = in_a_terminal(
        "gen", "--schema", str(here / "person.json"), "--slow", "30", PROMPT, size=(80, 24), NO_COLOR="1"
    )
    shown = plain(seen.raw)
    assert seen.code == 0
    for expected in (
        "$.name: a string of at most 20 characters",
        "$.age: an integer from 0 to 120",
        '$: the name "name"',
    ):
        assert expected in shown
    assert all(len(row) <= 80 for frame in seen.frames for row in frame)
    assert all(frame[0].startswith("╭") and frame[-1].startswith("╰") for frame in seen.frames)
    assert JsonSchema(PERSON).validate("".join(seen.screen)) == []


# ---- index -----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("here")
def test_the_tree(sfgen: Sfgen) -> None:
    done = sfgen("index", "--schema", "person.json")
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        "schema       person.json\n"
        "rules        5\n"
        'shortest     {"name": "", "age": 0}\n'
        "name              expected\n"
        "$                 an object with name, age, tags\n"
        "  name  required  a string of at most 20 characters\n"
        "  age   required  an integer from 0 to 120\n"
        "  tags  optional  an array of at most 2 items\n"
        '    []  optional  one of "new" or "old"\n'
    )


@pytest.mark.usefixtures("here")
def test_other_forms(sfgen: Sfgen) -> None:
    record = json.loads(sfgen("index", "--schema", "person.json", "--json").out)
    assert record["schema"] == PERSON
    assert record["rules"][record["start"]]["parts"][0] == {
        "label": "name", "rule": record["rules"][record["start"]]["parts"][0]["rule"], "required": True, "name": None
    }  # fmt: skip
    assert '0 -> 3 [label="tags?"];' in sfgen("index", "--schema", "person.json", "--format", "dot").out
    assert 's0 -->|"name"| s1' in sfgen("index", "--schema", "person.json", "--format", "mermaid").out
    texts = sfgen("index", "--schema", "person.json", "--examples", "7").out.splitlines()
    assert len(texts) == 7
    for text in texts:
        assert JsonSchema(PERSON).accepts(text)
    way = json.loads(sfgen("index", "--schema", "person.json", "--path", '{"name": 1}', "--json").out)
    assert (way["verdict"], way["stopped"], way["steps"][-1]["path"]) == ("stopped", 9, "$.name")
    assert (
        "it stops at '1', character 10, at $.name"
        in sfgen("index", "--schema", "person.json", "--path", '{"name": 1}').out
    )


def test_a_saved_schema(sfgen: Sfgen, here: Path) -> None:
    options = ["--schema", "person.json", "--spacing", "compact"]
    done = sfgen("index", *options, "--save")
    assert (done.code, done.out) == (0, "sfgen-index.safetensors\n")
    (here / "person.json").unlink()
    text = sfgen("gen", "--index", "sfgen-index.safetensors", "--seed", "1", PROMPT).out
    assert JsonSchema(PERSON, spacing="compact").accepts(text.removesuffix("\n"))
    (record,) = sfgen("gen", "--index", "sfgen-index.safetensors", "--json", PROMPT).records
    assert record["schema"] == "sfgen-index.safetensors"
    assert record["value"] == json.loads(record["text"])
    assert "an integer from 0 to 120" in sfgen("index", "sfgen-index.safetensors").out
    done = sfgen("gen", "--index", "sfgen-index.safetensors", "-m", "uniform", PROMPT)
    assert done.code == 1
    assert "was made for another vocabulary" in done.err
    done = sfgen("index", "--schema", "name", "--save")
    assert done.code == 1
    assert "exists and holds something else" in done.err
    assert sfgen("index", "--schema", "name", "--save", "--force", "--json").records[0]["saved"]
    damaged = bytearray((here / "sfgen-index.safetensors").read_bytes())
    damaged[200] ^= 1
    (here / "sfgen-index.safetensors").write_bytes(damaged)
    for command in (["gen", "--index", "sfgen-index.safetensors", ""], ["index", "sfgen-index.safetensors"]):
        done = sfgen(*command)
        assert done.code == 1
        assert "is damaged" in done.err


# ---- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gen", "--schema", "name", "--regex", "a"], "--regex and --schema cannot be used together"),
        (["gen", "--schema", "name", "--engine", "naive"], "--engine naive and --schema cannot be used together"),
        (["gen", "--schema", "name", "--stop", "."], "--stop cannot be used with a pattern, choices, a schema"),
        (["gen", "--indent", "2"], "--indent needs a schema: it says how values are written"),
        (["gen", "--regex", "a", "--require-all"], "--require-all needs a schema: it says how"),
        (["gen", "--regex", "a", "--property-order", "any"], "--property-order needs a schema: it says how"),
        (["gen", "--schema", "name", "--indent", "99"], "--indent is at most 16, not 99"),
        (["gen", "--schema", "name", "--indent", "2", "--spacing", "any"], "--indent fixes the white space, and"),
        (["gen", "--schema", "-", "-"], "the prompt and --schema cannot both come from stdin"),
        (["index", "--schema", "name", "--state", "1"], "--state and --schema cannot be used together"),
        (["index", "--schema", "name", "--against", "a"], "--against and --schema cannot be used together"),
        (["index", "--schema", "name", "--format", "jsonl"], "--format jsonl and --schema cannot be used together"),
        (["index", "--schema", "name", "-m", "tiny"], "--model has no meaning there"),
        (["index", "--schema", "name", "--save", "--path", "{"], "--save and --path cannot be used together"),
    ],
)  # fmt: skip
def test_options_without_a_meaning(sfgen: Sfgen, arguments: list[str], message: str) -> None:
    done = sfgen(*arguments)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert len(done.err.splitlines()) == 2  # what to do instead


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("nope.json", "cannot read the schema nope.json"),
        ('{"type": "strin"}', '"strin" is not a type at /type'),
        ('{"type": "integer", "minimum": 3, "maximum": 1}', "minimum 3 is above maximum 1"),
        ('{"$ref": "#/$defs/a"}', "leads nowhere"),
        ('{"a": }', "not valid JSON"),
        ("name strr", 'unknown type "strr"'),
    ],
)
def test_schemas_that_are_none(sfgen: Sfgen, schema: str, message: str) -> None:
    for command in (["gen"], ["index"]):
        done = sfgen(*command, "--schema", schema, *(["--model", "no/such/model", "x"] if command == ["gen"] else []))
        assert (done.code, done.out) == (1, "")
        assert message in done.err
