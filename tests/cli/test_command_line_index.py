"""What the command line promises of ``index``, in the order in which it is told: one sentence, one test."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Sfgen = Callable[..., Any]
TOKENIZER = str(Path(__file__).resolve().parent.parent / "data" / "tokenizers" / "gpt2")


def record(sfgen: Sfgen, *arguments: str) -> dict[str, Any]:
    done = sfgen(*arguments, "--json")
    assert done.code == 0, done.err
    found: dict[str, Any] = done.records[0]
    return found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with two vocabularies."""
    monkeypatch.chdir(tmp_path)
    Path("list.json").write_text(json.dumps(["a", "b", "ab"]))
    Path("object.json").write_text(json.dumps({"a": 0, "b": 1, "ab": 2}))
    return tmp_path


def test_the_shape_of_an_index(sfgen: Sfgen, folder: Path) -> None:
    done = record(sfgen, "index", "-r", "a?b", "--vocabulary", "list.json")
    fingerprint = done["vocabulary"].pop("fingerprint")
    assert re.fullmatch("[0-9a-f]{64}", fingerprint)
    assert done == {
        "pattern": "a?b",
        "vocabulary": {"size": 3},
        "initial": 0,
        "final": [2],
        "states": 3,
        "transitions": {"0": {"a": 1, "b": 2, "ab": 2}, "1": {"b": 2}, "2": {}},
    }
    assert list(done["transitions"]) == ["0", "1", "2"]
    with_ids = record(sfgen, "index", "-r", "a?b", "--vocabulary", "object.json", "--ids")
    assert with_ids["transitions"] == {"0": {"0": 1, "1": 2, "2": 2}, "1": {"1": 2}, "2": {}}
    assert with_ids["vocabulary"]["fingerprint"] == fingerprint


def test_tokens_of_the_same_text_and_bytes(sfgen: Sfgen, folder: Path) -> None:
    Path("twice.json").write_text(json.dumps(["a", "b", "a"]))
    assert record(sfgen, "index", "-r", "a", "--vocabulary", "twice.json")["transitions"]["0"] == {"a#0": 1, "a#2": 1}
    row = record(sfgen, "index", "-r", "é", "--tokenizer", TOKENIZER)["transitions"]["0"]
    assert r"\xc3" in row


def test_the_default_vocabulary_is_the_embedded_models(sfgen: Sfgen) -> None:
    default, tiny = (record(sfgen, "index", "-r", "a", *more)["vocabulary"] for more in ([], ["-m", "tiny"]))
    assert default == tiny


def test_the_sources_of_an_index(sfgen: Sfgen, folder: Path) -> None:
    Path("pattern").write_text("a|b\n")
    Path("choices").write_text("a\nb\n")
    common = ["--vocabulary", "list.json"]
    expected = record(sfgen, "index", "-r", "a|b", *common)["transitions"]
    for source in (["--regex-file", "pattern"], ["--choices", "a,b"], ["--choices-file", "choices"]):
        assert record(sfgen, "index", *source, *common)["transitions"] == expected
    assert sfgen("index", "-r", "a|b", *common, "--save", "saved").out == "saved\n"
    assert record(sfgen, "index", "saved", *common)["transitions"] == expected


@pytest.mark.parametrize(
    "source",
    [
        ["-r", "a?b"],
        ["--choices", "a,ab"],
        ["--schema", '{"const": 1}'],
        ["--grammar", 'root ::= "a"*'],
        ["--template", "a{{b: regex c}}"],
    ],
)
def test_a_saved_index_is_a_source_under_its_option_too(sfgen: Sfgen, folder: Path, source: list[str]) -> None:
    assert sfgen("index", *source, "--save", "f", "-q").code == 0
    assert record(sfgen, "index", "--index", "f") == record(sfgen, "index", "f")
    for look in (["--path", "a"], ["--examples", "2"], ["--state", "0"]):
        assert sfgen("index", "--index", "f", *look) == sfgen("index", "f", *look)
    for more in (["g"], ["--save"], ["--save", "g"], ["-r", "a"], ["--schema", "name"]):
        refused = sfgen("index", "--index", "f", *more)
        assert (refused.code, refused.out) == (2, "")
        assert "cannot be used together" in refused.err
    assert not Path("g").exists()


def test_where_an_index_is_saved(sfgen: Sfgen, folder: Path) -> None:
    common = ["--vocabulary", "list.json"]
    assert sfgen("index", "-r", "a", "--save", *common).out == "sfgen-index.safetensors\n"
    assert Path("sfgen-index.safetensors").is_file()
    assert record(sfgen, "index", "-r", "a", "--save", "other", *common)["saved"] == "other"
    assert sfgen("index", "-r", "a", "--save", *common).code == 0  # the same again
    different = sfgen("index", "-r", "b", "--save", *common)
    assert (different.code, "--force" in different.err) == (1, True)
    assert record(sfgen, "index", "sfgen-index.safetensors", *common)["pattern"] == "a"
    assert sfgen("index", "-r", "b", "--save", "--force", *common).code == 0
    assert record(sfgen, "index", "sfgen-index.safetensors", *common)["pattern"] == "b"


def test_save_without_a_pattern_has_a_full_example(sfgen: Sfgen) -> None:
    done = sfgen("index", "--save")
    assert done.code == 2
    assert "sfgen index --regex '(hot|cold|hotel)' --save" in done.err


def test_formats(sfgen: Sfgen) -> None:
    common = ["index", "-r", "a"]
    shown = {name: sfgen(*common, "--format", name) for name in ("table", "json", "jsonl", "dot", "mermaid")}
    assert all(done.code == 0 for done in shown.values())
    assert sfgen(*common, "--json").out == shown["json"].out
    assert len(shown["jsonl"].records) == 2
    assert shown["dot"].out.startswith("digraph")
    assert shown["mermaid"].out.startswith(("flowchart", "stateDiagram"))
    table = sfgen(*common).out
    assert not re.search("[│─┌╭]", table)  # plain in a pipe
    assert [line.split()[0] for line in table.splitlines()] == [
        line.split()[0] for line in shown["table"].out.splitlines()
    ]


def test_looks(sfgen: Sfgen) -> None:
    common = ["index", "-r", "[0-9]+"]
    assert sfgen(*common, "--state", "0").code == 0
    assert sfgen(*common, "--path", "23").code == 0
    assert sfgen(*common, "--engine", "fsm").code == 0
    assert sfgen(*common, "--against", "[0-9]").code == 0
    assert len(sfgen(*common, "--examples", "3").out.splitlines()) == 3


@pytest.mark.parametrize(
    "more",
    [["--state", "0", "--path", "a"], ["--save", "--state", "0"], ["--force"], ["--json", "--format", "dot"],
     ["--examples", "2", "--ids"], ["--against", "b", "--tokens"], ["--live"], ["-m", "tiny", "--tokenizer", "x"],
     ["--engine", "fsm", "--path", "a"], ["--examples", "1", "--format", "svg"]],
    ids=" ".join,
)  # fmt: skip
def test_combinations_without_a_meaning(sfgen: Sfgen, more: list[str]) -> None:
    done = sfgen("index", "-r", "a", *more)
    assert (done.code, done.out) == (2, "")
