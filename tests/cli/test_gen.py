from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

RECORD = r'\{"name":"[A-Z][a-z]{2,9}","age":[1-9][0-9]\}'
Sfgen = Callable[..., Any]


def test_a_record_from_the_embedded_model(sfgen: Sfgen) -> None:
    done = sfgen("gen", "--regex", RECORD, "A person: ")
    assert done.code == 0
    assert done.out.count("\n") == 1
    assert re.fullmatch(RECORD, done.out[:-1])
    assert set(json.loads(done.out)) == {"name", "age"}
    assert done.err == ""


def test_the_json_record_is_complete(sfgen: Sfgen) -> None:
    (record,) = sfgen("gen", "--choices", "hot,cold,hotel", "--json", "It is ").records
    assert record.pop("text") in ("hot", "cold", "hotel")
    assert record.pop("seconds") > 0
    assert len(record.pop("token_ids")) == record["completion_tokens"]
    assert record.pop("forward_passes") + record.pop("forced_tokens") >= record.pop("completion_tokens")
    assert record.pop("prompt_tokens") > 0
    assert record == {
        "prompt": "It is ",
        "model": "tiny",
        "finish_reason": record["finish_reason"],
        "healed": None,
        "seed": None,
        "choices": ["hot", "cold", "hotel"],
    }
    assert record["finish_reason"] in ("complete", "end_token")


def test_greedy_runs_are_the_same(sfgen: Sfgen) -> None:
    first, second = (sfgen("gen", "--max-tokens", "12", "Good morning").out for _ in range(2))
    assert first == second != "\n"


def test_seeds(sfgen: Sfgen) -> None:
    def texts(*more: str) -> list[str]:
        return [record["text"] for record in sfgen("gen", "-m", "uniform", "-r", "[a-z]{9}", "--json", *more).records]

    assert texts("--seed", "5", "-n", "3") == [*texts("--seed", "5"), *texts("--seed", "6"), *texts("--seed", "7")]
    assert len(set(texts("--seed", "5", "-n", "3"))) == 3
    assert texts("-n", "2") != texts("-n", "2")


def test_a_drawn_seed_can_be_used_again(sfgen: Sfgen) -> None:
    record = sfgen("gen", "-m", "uniform", "-r", "[a-z]{9}", "--json", "-t", "1").records[0]
    again = sfgen("gen", "-m", "uniform", "-r", "[a-z]{9}", "--json", "--seed", str(record["seed"])).records[0]
    assert again["text"] == record["text"]


def test_the_prompt_from_everywhere(sfgen: Sfgen, tmp_path: Path) -> None:
    file = tmp_path / "prompt.txt"
    file.write_text("Guten Tag\n")

    def prompt(*arguments: str, stdin: str | None = "") -> str:
        record = sfgen("gen", "-m", "uniform", "-r", "a", "--json", *arguments, stdin=stdin).records[0]
        assert isinstance(record["prompt"], str)
        return record["prompt"]

    assert prompt("Hello") == "Hello"
    assert prompt("--prompt-file", str(file)) == "Guten Tag"
    assert prompt(stdin="from a pipe\n\n") == "from a pipe\n"
    assert prompt("-", stdin="from a pipe\r\n") == "from a pipe"
    assert prompt("--prompt-file", "-", stdin="x") == "x"
    assert prompt("Hello", stdin="from a pipe\n") == "from a pipe\n\nHello"
    assert prompt(stdin="") == prompt(stdin=None) == ""
    assert prompt("--", "-5 degrees") == "-5 degrees"
    assert prompt(stdin="žluťoučký kůň") == "žluťoučký kůň"


def test_echo_puts_the_prompt_first(sfgen: Sfgen) -> None:
    assert sfgen("gen", "-m", "uniform", "-r", "ab", "--echo", "x: ").out == "x: ab\n"


def test_patterns_and_choices_from_files(sfgen: Sfgen, tmp_path: Path) -> None:
    (tmp_path / "pattern").write_text("a\nb\n")
    (tmp_path / "choices").write_text("one, two\n\none, two\n")
    assert sfgen("gen", "-m", "uniform", "--regex-file", tmp_path / "pattern").out == "a\nb\n"
    assert sfgen("gen", "-m", "uniform", "--choices-file", tmp_path / "choices").out == "one, two\n"


def test_choices_are_split_at_commas(sfgen: Sfgen) -> None:
    record = sfgen("gen", "-m", "uniform", "--choices", r"a\,b,c", "--choices", "d", "--json").records[0]
    assert record["choices"] == ["a,b", "c", "d"]


@pytest.mark.parametrize(
    ("choices", "hint"),
    [
        ("b, a", "the choice ' a' begins with a space; without it: --choices b,a\n"),
        (r"b\\,c\, c,  a", r"the choice '  a' begins with a space; without it: --choices 'b\\,c\, c,a'" + "\n"),
        (" b, a", ""),
        ("b,a ", ""),
        (r"b\, a", ""),
        ("b, a -q", ""),
    ],
)
def test_a_blank_behind_a_comma_of_choices_is_told(sfgen: Sfgen, choices: str, hint: str) -> None:
    text, _, quiet = choices.partition(" -")
    done = sfgen("gen", "-m", "uniform", "--choices", text, *(["-q"] if quiet else []))
    assert done.err == (f"sfgen: {hint}" if hint else "")
    checked = sfgen("check", "--choices", text, "--text", "b", *(["-q"] if quiet else []))
    assert [line for line in checked.err.splitlines(True) if "begins with a space" in line] == [done.err] * bool(hint)


def test_a_saved_index_gives_what_the_pattern_gives(sfgen: Sfgen, tmp_path: Path) -> None:
    file = tmp_path / "my.safetensors"
    done = sfgen("index", "--regex", RECORD, "--save", file)
    assert done.out == f"{file}\n"
    from_file, from_pattern = (
        sfgen("gen", *source, "--json", "A person: ").records[0]
        for source in (["--index", str(file)], ["--regex", RECORD])
    )
    assert from_file["pattern"] == RECORD
    assert from_file.pop("seconds") > 0
    assert from_pattern.pop("seconds") > 0
    assert from_file == from_pattern


def test_a_ban_beside_a_pattern(sfgen: Sfgen) -> None:
    for seed in range(10):
        done = sfgen("gen", "-m", "uniform", "--choices", "hot,cold,hotel", "--ban-words", "hot", "--seed", str(seed))
        assert done.out in ("cold\n", "hotel\n")


def test_a_banned_pattern_beside_a_pattern(sfgen: Sfgen) -> None:
    for seed in range(10):
        common = ["gen", "-m", "uniform", "-r", "[abc]{2}", "--seed", str(seed)]
        assert sfgen(*common, "--ban-pattern", "a|bb").out in ("bc\n", "cb\n", "cc\n")
        assert sfgen(*common, "--ban-pattern", "a", "--ban-pattern", "[bc]b|bc").out == "cc\n"
    done = sfgen("gen", "--regex", "talk", "--ban-pattern", "al", "x")
    assert done.code == 1
    assert "banned" in done.err


def test_a_prompt_that_looks_like_a_pattern_gets_a_hint(sfgen: Sfgen) -> None:
    done = sfgen("gen", "-m", "uniform", "--max-tokens", "3", "[0-9]{4}")
    assert done.code == 0
    assert "--regex '[0-9]{4}'" in done.err
    assert sfgen("gen", "-m", "uniform", "--max-tokens", "3", "-q", "[0-9]{4}").err == ""


@pytest.mark.parametrize("pattern", ["[à-ÿ]{5}", "(?i)straße", "\\x1b\\[3[0-7]m", "[\u4e00-\u4e10]{2}|😀", "a\\tb"])
def test_plain_output_is_the_text_of_the_record(sfgen: Sfgen, pattern: str) -> None:
    common = ["gen", "-m", "uniform", "--regex", pattern, "--seed", "3"]
    text = sfgen(*common, "--json").records[0]["text"]
    assert sfgen(*common).out == text + "\n"
    assert re.fullmatch(pattern, text, re.ASCII)
