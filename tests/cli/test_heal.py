"""``--heal`` and ``--no-heal``: the end of a prompt, in records, traces, views and comparisons."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.models.random_models import save

from sfgen import load_model

Sfgen = Callable[..., Any]
ADDRESS = r"[a-z]{3,8}@[a-z]{3,8}\.(com|org)"
WRITE = ["gen", "-r", ADDRESS, "--json", "--seed", "3", "-n", "3"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose tokenizer joins a space with the word behind it, which the embedded one's does not."""
    return save("gpt2", tmp_path_factory.mktemp("model"))


def test_a_prompt_that_ends_in_a_space_is_healed(sfgen: Sfgen, model: Path) -> None:
    tokens = load_model(model).vocabulary.tokens
    for record in sfgen(*WRITE, "-m", model, "Write to ").records:
        assert record["healed"] == " "
        assert re.fullmatch(ADDRESS, record["text"])
        assert b"".join(tokens[token] or b"" for token in record["token_ids"]).decode() == " " + record["text"]
        assert "heal" not in record
    asked, by_default = (sfgen(*WRITE, *more, "-m", model, "Write to ").records for more in (["--heal"], []))
    assert [record.pop("heal") for record in asked] == [True] * 3
    assert [record["text"] for record in asked] == [record["text"] for record in by_default]


def test_others_are_not_unless_it_is_asked_for(sfgen: Sfgen, model: Path) -> None:
    assert {record["healed"] for record in sfgen(*WRITE, "-m", model, "Write to").records} == {None}
    refused = sfgen(*WRITE, "-m", model, "--no-heal", "Write to ").records
    assert {(record["healed"], record["heal"]) for record in refused} == {(None, False)}
    free = ["gen", "--json", "--max-tokens", "5"]
    (inside,) = sfgen(*free, "--heal", "Can we tal").records
    assert inside["healed"]
    assert "Can we tal".endswith(inside["healed"])


@pytest.mark.parametrize("many", [False, True])
def test_a_chat_is_refused(sfgen: Sfgen, many: bool, tmp_path: Path) -> None:
    (tmp_path / "prompts").write_text('{"prompt": "x"}\n')
    done = sfgen("gen", "--heal", "--chat", *(["--input", tmp_path / "prompts"] if many else ["x"]))
    assert (done.code, done.out) == (2, "")
    assert "--chat and --heal cannot be used together" in done.err
    assert "Leave --heal out" in done.err


def test_a_trace_has_the_healed_bytes_apart(sfgen: Sfgen, model: Path, tmp_path: Path) -> None:
    options = ["-m", model, "-r", ADDRESS, "--json", "--trace", tmp_path / "trace"]
    (record,) = sfgen("gen", *options, "Write to ").records
    lines = [json.loads(line) for line in (tmp_path / "trace").read_text().splitlines()]
    chosen = [line for line in lines if line.get("event") == "token_chosen"]
    assert "".join(line["data"] for line in chosen) == record["text"]
    assert "".join(line["healed"] for line in chosen) == " "
    assert lines[-1]["result"]["healed"] == " "
    replayed = sfgen("replay", tmp_path / "trace")
    assert (replayed.code, replayed.out.strip()) == (0, record["text"])


def test_what_is_compared_goes_on_behind_the_prompt(sfgen: Sfgen) -> None:
    done = sfgen("ban", "--compare", "--words", "help,contact,hello", "Write to ")
    assert done.code == 0
    assert not re.search("help|contact|hello", done.out.partition("--- without the words")[2].splitlines()[1])
