"""What a pattern promises, seen from the shell: whole texts or an error, and nothing of a wrong text on stdout."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sfgen import Dfa

Sfgen = Callable[..., Any]
UNIFORM = ["-m", "uniform"]
TOKENIZER = Path(__file__).resolve().parent.parent / "data" / "tokenizers" / "gpt2"


@pytest.fixture
def garbage(tmp_path: Path) -> Path:
    """A model whose tokenizer and configuration are right, and whose weights are garbage."""
    directory = shutil.copytree(TOKENIZER, tmp_path / "garbage")
    size = max(json.loads((directory / "tokenizer.json").read_text())["model"]["vocab"].values()) + 6
    configuration = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_layer": 1, "n_head": 1, "n_embd": 8}
    (directory / "config.json").write_text(json.dumps(configuration | {"vocab_size": size, "eos_token_id": 700}))
    (directory / "model.safetensors").write_bytes(b"these are no weights")
    return directory


def test_a_limit_that_is_too_small_is_told_before_the_weights_are_read(sfgen: Sfgen, garbage: Path) -> None:
    command = ["gen", "--model", garbage, "--regex", "[a-z]{50}", "Hello"]
    done = sfgen(*command, "--max-tokens", "3")
    assert (done.code, done.out) == (1, "")
    message, example, hint = done.err.splitlines()
    fewest = int(message.removeprefix("sfgen: a limit of 3 tokens is too small: the shortest match takes "))
    assert 3 < fewest < 50
    assert example.startswith("  for example '")
    assert len(example.removeprefix("  for example ").strip("'")) == 50
    assert hint == f"Allow at least {fewest} tokens."
    # One token less is told in the same way; with enough of them the weights are wanted, and they are garbage.
    assert f"takes {fewest}\n" in sfgen(*command, "--max-tokens", str(fewest - 1)).err
    done = sfgen(*command, "--max-tokens", str(fewest))
    assert (done.code, done.out) == (1, "")
    assert "cannot load the weights" in done.err


def test_a_prompt_that_does_not_fit_is_told_before_the_weights_are_read(sfgen: Sfgen, garbage: Path) -> None:
    done = sfgen("gen", "--model", garbage, stdin="a " * 2000)
    assert (done.code, done.out) == (1, "")
    message, hint = done.err.splitlines()
    assert re.fullmatch(
        r"sfgen: the prompt is longer than .*/garbage can read: [2-9]\d{3} tokens, its context holds 1024", message
    )
    assert hint == "Give a shorter prompt, or use a model with a longer context."
    # A prompt that fits but leaves too little for a match.
    done = sfgen("gen", "--model", garbage, "--regex", "[0-9]{99}", "--max-tokens", "500", "a" + "\n" * 1020)
    assert (done.code, done.out) == (1, "")
    assert "garbage, 1024 tokens, is too small: after a prompt of " in done.err


@pytest.mark.parametrize("option", [[], ["--json"], ["--echo"], ["--quiet"], ["--seed", "4"], ["--no-live"]])
@pytest.mark.parametrize("source", ["pattern", "saved"])
def test_nothing_of_a_wrong_text_is_written(
    sfgen: Sfgen, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, option: list[str], source: str
) -> None:
    right = Dfa.from_regex
    monkeypatch.setattr(Dfa, "from_regex", lambda pattern: dataclasses.replace(right("[a-c]{5}"), pattern=pattern))
    constraint = ["--regex", "[x-z]{5}"]
    if source == "saved":
        assert sfgen("index", *UNIFORM, *constraint, "--save", tmp_path / "saved").code == 0
        constraint = ["--index", str(tmp_path / "saved")]
    done = sfgen("gen", *UNIFORM, *constraint, "-n", "2", *option, "Letters: ")
    assert (done.code, done.out) == (1, "")
    lines = done.err.splitlines()
    assert lines[0] == "sfgen: internal error: the text does not match the pattern"
    report = dict(line.strip().split(maxsplit=1) for line in lines[1:-1])
    assert report.keys() >= {"pattern", "refused", "text", "model", "vocabulary", "sampling", "versions"}
    assert (report["pattern"], report["refused"], report["model"]) == ("'[x-z]{5}'", "by  re.fullmatch", "uniform")
    assert set(report["text"].strip("'")) <= set("abc")
    assert ("seed 4," in report["sampling"]) == (option == ["--seed", "4"])
    assert "Please report it" in lines[-1]


def test_the_same_command_writes_its_text_where_the_automaton_is_right(sfgen: Sfgen) -> None:
    done = sfgen("gen", *UNIFORM, "--regex", "[x-z]{5}", "-n", "2", "Letters: ")
    assert done.code == 0
    assert len(done.out.split()) == 2
