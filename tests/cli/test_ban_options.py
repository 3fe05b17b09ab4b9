"""The options of a ban are the same in all commands: one definition, two names."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

from sfgen_cli.app import app
from sfgen_cli.options.bans import BanOptions

Sfgen = Callable[..., Any]
GROUP: Any = typer.main.get_command(app)
FIELDS = [field.name for field in dataclasses.fields(BanOptions)]
TEXT = ["-m", "uniform", "--seed", "4", "--max-tokens", "9", "--json"]
BANS = [
    ["--{}words", "a,e", "--{}match", "prefix"],
    ["--{}words", "th", "--{}match", "substring", "--{}allow", "the"],
    ["--{}words", "The", "--{}case-sensitive"],
    ["--{}words", "the", "--{}normalize"],
    ["--{}pattern", "[0-9]", "--{}pattern", "x"],
    ["--{}words-file", "words", "--{}allow", "a b"],
]


def named(options: list[str], prefix: str) -> list[str]:
    return [option.format(prefix) for option in options]


def options_of(command: str) -> dict[str, Any]:
    return {param.name: param for param in GROUP.commands[command].params}


def test_every_command_has_all_of_them() -> None:
    for command, has_short in (("gen", False), ("ban", True), ("check", True)):
        params = options_of(command)
        for field in FIELDS:
            name = field.replace("_", "-")
            short = [f"--{name}"] if has_short else []
            assert params[field].opts == [*short, f"--ban-{name}"], (command, field)
            assert params[field].secondary_opts == []
            assert params[field].help == options_of("ban")[field].help


def test_the_short_names_are_those_of_ban_alone(sfgen: Sfgen) -> None:
    for field in FIELDS:
        name = field.replace("_", "-")
        done = sfgen("gen", f"--{name}", "x")
        assert done.code == 2
        assert f"in gen it is --ban-{name}." in done.err


@pytest.mark.parametrize("options", BANS, ids=" ".join)
def test_they_mean_the_same_in_all_commands(
    sfgen: Sfgen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("words").write_text("a\n# no word\nb*\n")
    short, long = named(options, ""), named(options, "ban-")
    (free,) = sfgen("gen", *TEXT, *long, "It is ").records
    for command in (["ban", *short], ["ban", *long]):
        (record,) = sfgen(*command, *TEXT, "It is ").records
        assert {**record, "seconds": 0} == {**free, "seconds": 0}
    for names in (short, long):
        assert sfgen("check", *names, "--text", free["text"]).code == 0
        assert sfgen("check", *names, "--text", "12 The b áth x the a").code == 1
    # Beside a pattern, too.
    (record,) = sfgen("gen", *TEXT, *long, "-r", "[a-z ]{4}", "x").records
    assert record["banned"] == free["banned"]


def test_a_word_that_one_option_lets_pass_the_other_does_not(sfgen: Sfgen) -> None:
    gen = ["gen", "-m", "uniform", "--choices", "talking,listen", "--ban-words", "talk"]
    assert {sfgen(*gen, "--seed", str(seed)).out for seed in range(9)} == {"talking\n", "listen\n"}
    assert {sfgen(*gen, "--ban-match", "prefix", "--seed", str(seed)).out for seed in range(9)} == {"listen\n"}


@pytest.mark.parametrize("name", ["match", "case-sensitive", "normalize", "allow"])
def test_what_says_how_needs_words(sfgen: Sfgen, name: str) -> None:
    value = {"match": ["prefix"], "allow": ["a"]}.get(name, [])
    done = sfgen("gen", "-m", "uniform", "-r", "a", f"--ban-{name}", *value)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"sfgen: --ban-{name} needs banned words: it says how they are banned\n")
    done = sfgen("check", "-r", "a", f"--{name}", *value, "--text", "a")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"sfgen: --{name} needs banned words: it says how they are banned\n")


def test_the_help_names_each_once(sfgen: Sfgen) -> None:
    text = sfgen("ban", "--help-all").out
    assert "--words is also --ban-words" in " ".join(text.split())
    assert text.count("--ban-") == 1


# ---- words with a bias -----------------------------------------------------------------------------------------------


def test_words_with_a_bias_are_found_as_banned_words_are(sfgen: Sfgen) -> None:
    """In both commands, with a ban and without; the way of matching holds for both."""
    drawn = ["--seed", "4", "--samples", "8", "--max-tokens", "9", "--json", "Can we talk?"]

    def written(*options: str, command: str = "gen") -> list[Any]:
        records: list[Any] = sfgen(command, *drawn, *options).records
        assert len(records) == 8
        return records

    free = [record["text"] for record in written()]
    assert sum("e" in text for text in free) > 3
    for command, prefix in (("gen", "--ban-"), ("ban", "--")):
        how = [f"{prefix}match", "substring", f"{prefix}case-sensitive"]
        records = written("--word-bias", "e=-9", "--word-bias", "a=-9", *how, command=command)
        assert sum(record["text"].count("e") + record["text"].count("a") for record in records) < 2
        assert {rollback["bias"] < 0 for record in records for rollback in record["rollbacks"]} == {True}
        assert records[0]["word_bias"] == {
            "words": {"e": -9, "a": -9}, "match": "substring", "ignore_case": False, "normalize": False
        }  # fmt: skip
        both = written(f"{prefix}words", "t", "--word-bias", "e=-9", *how, command=command)
        assert not any("t" in record["text"] for record in both)
        assert sum(record["text"].count("e") for record in both) < 2
    assert sum("e" in record["text"] for record in written("--word-bias", "e=-9")) > 3  # whole words only


def test_a_rollback_of_a_word_with_a_bias_is_told(sfgen: Sfgen, tmp_path: Path) -> None:
    trace = str(tmp_path / "trace")
    done = sfgen("gen", "--word-bias", "talk=-2", "--seed", "1", "--max-tokens", "14", "--trace", trace, "Can we talk?")
    assert done.code == 0
    rollbacks = [line for line in Path(trace).read_text().splitlines() if '"rolled_back"' in line]
    assert rollbacks
    assert all('"bias": -2.0' in line for line in rollbacks)
    page = tmp_path / "run.html"
    assert sfgen("replay", trace, "--html", str(page)).code == 0
    shown = page.read_text(encoding="utf-8")
    assert "talk=-2" in shown
    assert "was not accepted, with the bias -2" in shown
