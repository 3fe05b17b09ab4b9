"""``--substring-of``: quotations of a document through ``gen``, ``check``, ``index`` and ``replay``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.oracles.quotations import quotations

from sfgen import Substring, read_trace
from sfgen.substring.document import Unit

Sfgen = Callable[..., Any]
DOCUMENT = 'Ada “wrote” a\tprogram 😀.\r\nIt ran.\0\r\n\r\n"Charles" built\\it.\n'


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "doc.txt"
    path.write_bytes(DOCUMENT.encode())
    return path


@pytest.mark.parametrize("unit", ["character", "word", "line"])
@pytest.mark.parametrize("options", [[], ["--seed", "3"], ["--seed", "5", "--ban-words", "Ada,ran"]])
def test_whole_texts(sfgen: Sfgen, document: Path, unit: Unit, options: list[str]) -> None:
    (record,) = sfgen(
        "gen",
        "--substring-of",
        document,
        "--substring-unit",
        unit,
        "--substring-most",
        "3",
        *options,
        "--json",
        "Who? ",
    ).records
    assert record["text"].encode() in quotations(DOCUMENT, unit, 1, 3)
    assert record["substring"] == str(document)


def test_the_least_and_the_limit(sfgen: Sfgen, document: Path) -> None:
    options = ["--substring-of", document, "--substring-least", "9", "--max-tokens", "9"]
    (record,) = sfgen("gen", *options, "--json", "Who? ").records
    assert len(record["text"]) >= 9
    assert record["completion_tokens"] <= 9
    assert sfgen("gen", "--substring-of", "-", "x", stdin="b").out == "b\n"
    assert sfgen("gen", *options[:2], "--substring-least", "0", "--substring-most", "0", "x").out == "\n"


def test_what_must_follow_takes_no_forward_pass(sfgen: Sfgen, document: Path) -> None:
    options = ["--substring-of", document, "--substring-unit", "line", "--json", "Who? "]
    (record,) = sfgen("gen", *options).records
    (slow,) = sfgen("gen", "--no-fast-forward", *options).records
    assert record["text"].encode() in quotations(DOCUMENT, "line", 1, None)
    assert record["forward_passes"] < slow["forward_passes"]
    assert record["forced_tokens"] > 0


def test_a_saved_document_is_the_same(sfgen: Sfgen, document: Path, tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    options = ["--substring-of", document, "--substring-unit", "word", "--substring-least", "2"]
    assert sfgen("index", saved, *options, "--save").out == f"{saved}\n"
    document.unlink()
    (shown,) = sfgen("index", saved, "--json").records
    assert shown["substring"] == Substring(DOCUMENT, "word", 2).to_dict()["substring"]
    assert sfgen("index", saved).out.splitlines() == [
        "document     58 characters",
        "words        9, quoted 2 at least, any number",
        "shortest     'It ran.\\x00'",
    ]
    (record,) = sfgen("gen", "--index", saved, "--json", "Who? ").records
    assert record["text"].encode() in quotations(DOCUMENT, "word", 2, None)
    assert record["substring"] == str(saved)
    damaged = saved.read_bytes().replace(b'\\"least\\": 2', b'\\"least\\": 3')
    saved.write_bytes(damaged)
    assert "is damaged" in sfgen("gen", "--index", saved, "x").err


def test_many_prompts_are_resumed_and_replayed(sfgen: Sfgen, document: Path, tmp_path: Path) -> None:
    prompts, out, run = tmp_path / "in", tmp_path / "out.jsonl", tmp_path / "run.jsonl"
    prompts.write_text('{"prompt": "x"}\n{"prompt": "y"}\n')
    options = ["--substring-of", document, "--substring-unit", "word", "--input", prompts, "--output", out]
    assert sfgen("gen", *options, "--fields", "all", "--seed", "4", "--trace", run).code == 0
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert all(record["text"].encode() in quotations(DOCUMENT, "word", 1, None) for record in records)
    assert [recording.scene.substring for recording in read_trace(run).recordings] == [str(document)] * 2
    assert sfgen("replay", run).out == "".join(f"{record['text']}\n" for record in records)
    assert "quoted" in sfgen("replay", run, "--svg", "-", "--at", "1").out
    again = ["gen", *options, "--fields", "all", "--seed", "4", "--resume"]
    assert sfgen(*again).code == 0
    document.write_text("another")
    assert "substring.sha256" in sfgen(*again).err


def test_check_says_where_a_text_stands_and_where_it_ceases_to(sfgen: Sfgen, document: Path) -> None:
    check = ["check", "--substring-of", document, "--substring-unit", "word"]
    found = sfgen(*check, "--text", "a\tprogram", "--json").records[0]
    assert (found["matches"], found["places"]) == (True, [12])
    done = sfgen(*check, "--text", "It walked", "--text", "It ra", "--text", "t ran.", "--text", "")
    assert done.code == 1
    lines = [line for line in done.out.splitlines() if line.startswith("text")]
    assert lines[0].startswith(
        "text 1, line 1, column 4: the document has 'It ' at line 2, column 1, and goes on with 'ran.\\x00"
    )
    assert lines[1].startswith(
        "text 2, line 1, column 6: the text ends too early: it ends inside of a word; "
        "at line 2, column 1 the document goes on with 'n.\\x00"
    )
    assert lines[2:] == [
        "text 3, line 1, column 1: no word of the document begins so",
        "text 4, line 1, column 1: the text is empty: it needs 1 word or more",
    ]
    failure = sfgen(*check, "--text", "It walked", "--json").records[0]["failure"]
    assert (failure["position"], failure["stands_at"], failure["places"]) == (3, 26, 1)
    assert sfgen(*check, "-", stdin="built\\it.\n").code == 0
    assert sfgen(*check, "--words", "built", "--text", "built\\it.").code == 1


def test_holes(sfgen: Sfgen, document: Path, tmp_path: Path) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text("She said: {{q: substring doc.txt unit word most 2}}! ({{n: regex [0-9]}}) {{q}}\n")
    (record,) = sfgen("gen", "--template", letter, "--seed", "2", "--json").records
    groups = record["groups"]
    assert groups["q"].encode() in quotations(DOCUMENT, "word", 1, 2)
    assert record["text"] == f"{groups['q']}! ({groups['n']}) {groups['q']}"
    saved = tmp_path / "saved"
    assert sfgen("index", saved, "--template", letter, "--save").code == 0
    document.unlink()
    (again,) = sfgen("gen", "--index", saved, "--seed", "2", "--json").records
    assert again["text"] == record["text"]
