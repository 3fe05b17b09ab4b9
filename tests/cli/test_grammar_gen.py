"""``gen --grammar``: every text is one of the grammar, alone and in batches, with bans, in traces and live views."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.command.many_prompts import timeless
from tests.support.command.terminal import in_a_terminal, plain
from tests.support.models.random_models import save as save_model

from sfgen import Grammar
from sfgen.trace import read_trace

Sfgen = Callable[..., Any]
SELECT = r"""root ::= "SELECT " name (", " name)* where? ";"
where ::= " WHERE " value
value ::= name | number | "(" value ")"
name ::= [a-z]{1,8}
number ::= [0-9]{1,4}
"""
GRAMMAR = Grammar.from_gbnf(SELECT)
PROMPT = "A query: "


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a grammar in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sql.gbnf").write_text(SELECT, encoding="utf-8")
    return tmp_path


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("more", [[], ["--no-fast-forward"], ["-m", "uniform"], ["--strategy", "mask"]], ids=str)
def test_every_text_is_one_of_the_grammar(sfgen: Sfgen, more: list[str]) -> None:
    done = sfgen("gen", "--grammar", "sql.gbnf", "-n", "4", "--seed", "1", "--max-tokens", "40", *more, PROMPT)
    assert (done.code, done.err) == (0, "")
    texts = done.out.splitlines()
    assert len(texts) == 4
    assert all(GRAMMAR.accepts(text) for text in texts)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("grammar", "name"), [("sql.gbnf", "sql.gbnf"), ("./sql.gbnf", "./sql.gbnf"), ("-", "stdin"), (SELECT, None)]
)
def test_what_names_a_grammar(sfgen: Sfgen, grammar: str, name: str | None) -> None:
    done = sfgen("gen", "--grammar", grammar, "--json", "-m", "uniform", PROMPT, stdin=SELECT if grammar == "-" else "")
    (record,) = done.records
    assert GRAMMAR.accepts(record["text"])
    assert record["grammar"] == (name or SELECT.replace("\n", "\\n"))
    assert not {"schema", "value", "pattern"} & set(record)


def test_another_start_and_another_format(sfgen: Sfgen, here: Path) -> None:
    (here / "sql.txt").write_text(SELECT, encoding="utf-8")
    options = ["--grammar", "sql.txt", "--grammar-start", "value", "--grammar-format", "gbnf"]
    for text in sfgen("gen", *options, "-m", "uniform", "-n", "5", "--seed", "3", "").out.splitlines():
        assert Grammar.from_gbnf(SELECT, "value").accepts(text)


def test_a_limit_that_is_too_small(sfgen: Sfgen) -> None:
    done = sfgen("gen", "--grammar", 'root ::= "a"{9} root?', "-m", "uniform", "--max-tokens", "8", "")
    assert (done.code, done.out) == (1, "")
    assert "a limit of 8 tokens is too small: the shortest text takes 9" in done.err
    assert (
        sfgen("gen", "--grammar", 'root ::= "a"{9} root?', "-m", "uniform", "--max-tokens", "17", "").out
        == "a" * 9 + "\n"
    )


@pytest.mark.parametrize("strategy", ["resample", "first-token", "mask"])
def test_banned_words(sfgen: Sfgen, strategy: str) -> None:
    grammar = 'root ::= word " " (word " ")* "."\nword ::= "hot" | "cold" | "hotel"'
    options = ["--grammar", grammar, "--ban-words", "hot", "--strategy", strategy, "-m", "uniform", "--quiet"]
    done = sfgen("gen", *options, "-n", "8", "--seed", "1", "--max-tokens", "60", "")
    assert done.code == 0
    for text in done.out.splitlines():
        assert Grammar.from_gbnf(grammar).accepts(text)
        assert "hot" not in text.split()
    assert "hot " in sfgen("gen", "--grammar", grammar, "-m", "uniform", "-n", "20", "--seed", "1", "").out


def test_a_random_llama(sfgen: Sfgen, here: Path) -> None:
    directory = save_model("llama", here / "llama")
    done = sfgen("gen", "-m", str(directory), "--grammar", "sql.gbnf", "-n", "2", "--seed", "5", PROMPT)
    assert all(GRAMMAR.accepts(text) for text in done.out.splitlines())
    assert done.code == 0


def test_the_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; from sfgen_cli.shell.ending import run; run(['check', '--help'])\n"
        "print([name for name in ('torch', 'numpy', 'numba', 'lark', 'sfgen.grammar') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


# ---- saved grammars --------------------------------------------------------------------------------------------------


def test_a_saved_grammar(sfgen: Sfgen, here: Path) -> None:
    direct = sfgen("gen", "--grammar", "sql.gbnf", "--seed", "4", PROMPT)
    done = sfgen("index", "--grammar", "sql.gbnf", "--save")
    assert (done.code, done.out) == (0, "sfgen-index.safetensors\n")
    assert done.err == "sfgen: 5 rules for 2,048 tokens\n"
    (here / "sql.gbnf").unlink()
    again = sfgen("gen", "--index", "sfgen-index.safetensors", "--seed", "4", PROMPT)
    assert (again.code, again.out) == (0, direct.out)
    (record,) = sfgen("gen", "--index", "sfgen-index.safetensors", "--json", PROMPT).records
    assert record["grammar"] == "sfgen-index.safetensors"
    assert sfgen("index", "--grammar", 'root ::= "a"', "--save").code == 1
    assert sfgen("index", "--grammar", 'root ::= "a"', "--save", "--force").code == 0
    assert sfgen("gen", "--index", "sfgen-index.safetensors", "x").out == "a\n"
    assert sfgen("gen", "--index", "sfgen-index.safetensors", "-m", "uniform", "x").code == 1


# ---- many prompts ----------------------------------------------------------------------------------------------------


def _inputs(folder: Path, count: int) -> None:
    lines = [json.dumps({"prompt": f"Query {number}: ", "id": number}) for number in range(count)]
    (folder / "prompts.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_many_prompts_and_batches(sfgen: Sfgen, here: Path) -> None:
    _inputs(here, 6)
    options = ["gen", "--grammar", "sql.gbnf", "--input", "prompts.jsonl", "--seed", "1", "-m", "uniform"]
    options += ["--fields", "all"]
    one = sfgen(*options).records
    assert [GRAMMAR.accepts(record["text"]) for record in one] == [True] * 6
    assert {record["grammar"] for record in one} == {"sql.gbnf"}
    three = sfgen(*options, "--batch-size", "3").records
    assert [record["text"] for record in three] == [record["text"] for record in one]


def test_a_run_goes_on_with_the_same_grammar_only(sfgen: Sfgen, here: Path) -> None:
    _inputs(here, 4)
    options = ["gen", "--grammar", "sql.gbnf", "--input", "prompts.jsonl", "--seed", "1", "-m", "uniform", "--quiet"]
    assert sfgen(*options, "--output", "whole.jsonl").code == 0
    whole = (here / "whole.jsonl").read_bytes()
    (here / "part.jsonl").write_bytes(b"".join(whole.splitlines(keepends=True)[:2]))
    assert sfgen(*options, "--output", "part.jsonl", "--resume").code == 0
    assert timeless((here / "part.jsonl").read_bytes()) == timeless(whole)
    (here / "sql.gbnf").write_text(SELECT.replace("WHERE", "HAVING"), encoding="utf-8")
    done = sfgen(*options, "--output", "part.jsonl", "--resume")
    assert done.code == 1
    assert "is not of this run: its grammar." in done.err


# ---- views and traces ------------------------------------------------------------------------------------------------


def test_a_trace_tells_the_open_rules_and_is_played_again(sfgen: Sfgen, here: Path) -> None:
    done = sfgen("gen", "--grammar", "sql.gbnf", "--trace", "run.jsonl", "--seed", "2", "-m", "uniform", PROMPT)
    (recording,) = read_trace(here / "run.jsonl").recordings
    assert recording.scene.grammar == "sql.gbnf"
    assert json.loads(recording.scene.grammar_json or "") == GRAMMAR.to_dict()
    events = [json.loads(line) for line in (here / "run.jsonl").read_text(encoding="utf-8").splitlines()]
    described = [event["described"] for event in events if event.get("event") == "token_chosen"]
    assert 'root: "SELECT "' in described
    assert "root › name" in described
    (here / "sql.gbnf").unlink()
    assert sfgen("replay", "run.jsonl").out == done.out
    assert sfgen("replay", "run.jsonl", "--svg", "run.svg", "--at", "-3").code == 0
    assert "root" in (here / "run.svg").read_text(encoding="utf-8")


def test_the_live_view_shows_the_open_rules(here: Path) -> None:
    seen = in_a_terminal(
        *("gen", "--grammar", str(here / "sql.gbnf"), "-m", "uniform", "--seed", "1", "--slow", "30", PROMPT),
        size=(80, 24), NO_COLOR="1",
    )  # fmt: skip
    shown = plain(seen.raw)
    assert seen.code == 0
    assert "root › name" in shown
    assert "grammar" in shown
    assert "the text is complete" in shown
    assert all(len(row) <= 80 for frame in seen.frames for row in frame)
    assert GRAMMAR.accepts("".join(seen.screen))
