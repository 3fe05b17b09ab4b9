from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Sfgen = Callable[..., Any]
DATA = Path(__file__).parents[1] / "data"
TOY = json.loads((DATA / "toys.json").read_text())["coalescence"]


def test_the_toy_index_through_the_command_line(sfgen: Sfgen, tmp_path: Path) -> None:
    (tmp_path / "toy.json").write_text(json.dumps(TOY["vocab"]))
    done = sfgen("index", "--regex", TOY["equivalent_regexes"][1], "--vocabulary", tmp_path / "toy.json", "--json")
    record = json.loads(done.out)
    assert done.out.count("\n") == 1
    assert {state: row for state, row in record["transitions"].items() if row} == TOY["index"]
    assert record["final"] == [25]
    assert record["transitions"]["25"] == {}
    assert record["vocabulary"]["size"] == len(TOY["vocab"])


def test_a_float_over_the_embedded_vocabulary(sfgen: Sfgen) -> None:
    record = json.loads(sfgen("index", "--regex", r"([0-9]+)?\.[0-9]+", "--json").out)
    first = record["transitions"]["0"]
    assert set("0123456789.") <= set(first)
    assert all(set(token) <= set("0123456789.") for token in first)
    assert record["initial"] == 0


def test_equal_texts_are_told_apart_and_other_bytes_escaped(sfgen: Sfgen, tmp_path: Path) -> None:
    (tmp_path / "v.json").write_text(json.dumps({"a": 0, "b": 2}))
    record = json.loads(sfgen("index", "-r", "ab?", "--vocabulary", tmp_path / "v.json", "--json", "--ids").out)
    assert record["transitions"] == {"0": {"0": 1}, "1": {"2": 2}, "2": {}}


def test_save_prints_the_path(sfgen: Sfgen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert sfgen("index", "--regex", "(hot|cold|hotel)", "--save").out == "sfgen-index.safetensors\n"
    assert (tmp_path / "sfgen-index.safetensors").is_file()
    assert sfgen("gen", "--index", "sfgen-index.safetensors", "It is ").out in ("hot\n", "cold\n", "hotel\n")
    record = json.loads(sfgen("index", "--regex", "a", "--save", "a.index", "--json").out)
    assert record["saved"] == "a.index"


def test_a_saved_index_can_be_shown(sfgen: Sfgen, tmp_path: Path) -> None:
    sfgen("index", "--regex", "(hot|cold)", "--save", tmp_path / "f")
    assert sfgen("index", tmp_path / "f", "--json").out == sfgen("index", "--regex", "(hot|cold)", "--json").out


def test_control_characters_are_escaped_in_the_table(sfgen: Sfgen) -> None:
    assert "\x1b" not in sfgen("index", "--regex", r"\x1b\[0m", "-m", "uniform").out


def test_the_vocabulary_of_a_tokenizer(sfgen: Sfgen) -> None:
    done = sfgen("index", "--regex", "[0-9]{2}", "--tokenizer", DATA / "tokenizers" / "gemma2", "--json")
    assert json.loads(done.out)["states"] == 3
