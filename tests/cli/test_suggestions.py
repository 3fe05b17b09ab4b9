"""What was perhaps meant: mistyped commands, options and values, and what comes from the environment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from sfgen_cli.app import app
from sfgen_cli.shell.usage import SAME_MEANING, near_names, options_of

Sfgen = Callable[..., Any]

SEED_ELSEWHERE = "--seed is an option of sfgen gen or sfgen ban. See: sfgen check --help"

CASES: list[tuple[list[str], str, str]] = [
    # --- commands
    (["gne", "x"], "No such command 'gne'.", "Did you mean sfgen gen? See: sfgen --help"),
    (["indx"], "No such command 'indx'.", "Did you mean sfgen index? See: sfgen --help"),
    (["generate", "x"], "No such command 'generate'.", "Did you mean sfgen gen? See: sfgen --help"),
    (["frobnicate"], "No such command 'frobnicate'.", "See: sfgen --help"),
    (["It is "], "No such command 'It is '.", "If it is a prompt: sfgen gen 'It is '"),
    (["it's so"], 'No such command "it\'s so".', """If it is a prompt: sfgen gen 'it'"'"'s so'"""),
    (["žluť"], "No such command 'žluť'.", "If it is a prompt: sfgen gen 'žluť'"),
    # --- options
    (["--regex", "a"], "No such option: --regex", "Name a command first: sfgen gen --regex …"),
    (["--save"], "No such option: --save", "Name a command first: sfgen index --save …"),
    (["--versoin"], "No such option: --versoin", "Did you mean --version? See: sfgen --help"),
    (["gen", "--jso"], "No such option: --jso", "Did you mean --json? See: sfgen gen --help"),
    (["gen", "--regexp", "a"], "No such option: --regexp", "Did you mean --regex? See: sfgen gen --help"),
    (["gen", "--temprature=1"], "No such option: --temprature", "Did you mean --temperature? See: sfgen gen --help"),
    (["gen", "--top", "1"], "No such option: --top", "Did you mean --top-k or --top-p? See: sfgen gen --help"),
    (["gen", "--nolive"], "No such option: --nolive", "Did you mean --no-live? See: sfgen gen --help"),
    (
        ["gen", "--words", "a", "x"],
        "No such option: --words",
        "--words is an option of sfgen ban or sfgen check; in gen it is --ban-words. See: sfgen gen --help",
    ),
    (
        ["gen", "--normalize", "x"],
        "No such option: --normalize",
        "--normalize is an option of sfgen ban or sfgen check; in gen it is --ban-normalize. See: sfgen gen --help",
    ),
    (
        ["gen", "--case-sensitve", "x"],
        "No such option: --case-sensitve",
        "Did you mean --case-sensitive? --case-sensitive is an option of sfgen ban; "
        "in gen it is --ban-case-sensitive. See: sfgen gen --help",
    ),
    (["check", "--seed", "3"], "No such option: --seed", SEED_ELSEWHERE),
    # What is near in letters only is not what was meant.
    (["gen", "--persona", "You are", "x"], "No such option: --persona", "See: sfgen gen --help"),
    (["gen", "--holes", "g", "x"], "No such option: --holes", "See: sfgen gen --help"),
    (["gen", "--zzz=true", "x"], "No such option: --zzz", "See: sfgen gen --help"),
    # Nor is what takes a value where none was given, or the other way round.
    (["gen", "x", "--ste"], "No such option: --ste", "Did you mean --step? See: sfgen gen --help"),
    (["gen", "--stap=x"], "No such option: --stap", "Did you mean --stop? See: sfgen gen --help"),
    (["gen", "x", "--stpo"], "No such option: --stpo", "See: sfgen gen --help"),
    (["gen", "x", "--sted", "--json"], "No such option: --sted", "Did you mean --step? See: sfgen gen --help"),
    (["gen", "--ecoh", "x"], "No such option: --ecoh", "Did you mean --echo? See: sfgen gen --help"),
    (["gen", "--max_tokens", "3"], "No such option: --max_tokens", "Did you mean --max-tokens? See: sfgen gen --help"),
    (
        ["gen", "--max-new-tokens", "3"],
        "No such option: --max-new-tokens",
        "Did you mean --max-tokens? See: sfgen gen --help",
    ),
    (
        ["ban", "--words", "talk", "--prompt", "x"],
        "No such option: --prompt",
        "The prompt stands by itself: sfgen ban … 'Can we talk?'",
    ),
    (
        ["gen", "--prompt=x"],
        "No such option: --prompt",
        "The prompt stands by itself: sfgen gen … 'Can we talk?'",
    ),
    # One dash in place of two, which else would be a short option with a value glued to it.
    (["gen", "-regex", "a+", "x"], "No such option: -regex", "Did you mean --regex? See: sfgen gen --help"),
    (["gen", "-seed", "3"], "No such option: -seed", "Did you mean --seed? See: sfgen gen --help"),
    (["ban", "-words=talk"], "No such option: -words=talk", "Did you mean --words? See: sfgen ban --help"),
    (["gen", "--version"], "No such option: --version", "It is an option of sfgen itself: sfgen --version"),
    (["help", "gne"], "No such command 'gne'.", "Did you mean sfgen gen? See: sfgen --help"),
    (["gen", "--save"], "No such option: --save", "--save is an option of sfgen index. See: sfgen gen --help"),
    (["index", "--frobnicate"], "No such option: --frobnicate", "See: sfgen index --help"),
    (["gen", "--regex"], "Option '--regex' requires an argument.", "See: sfgen gen --help"),
    (["gen", "--json=3"], "Option '--json' does not take a value.", "See: sfgen gen --help"),
    (
        ["gen", "Can", "we", "talk?"],
        "Got unexpected extra argument(s) (we talk?)",
        "A prompt of several words needs quotes: sfgen gen 'Can we talk?'",
    ),
    # --- values
    (
        ["gen", "--dtype", "flaot16"],
        "Invalid value for '--dtype': 'flaot16' is not one of 'auto', 'float32', 'bfloat16', 'float16'.",
        "Did you mean float16? See: sfgen gen --help",
    ),
    (
        ["ban", "--strategy", "First"],
        "Invalid value for '--strategy': 'First' is not one of 'resample', 'first-token', 'mask', 'exact'.",
        "Did you mean first-token? See: sfgen ban --help",
    ),
    (
        ["gen", "-n", "many"],
        "Invalid value for '--samples' / '-n': 'many' is not a whole number.",
        "See: sfgen gen --help",
    ),
    (["gen", "-n", "0"], "Invalid value for '--samples' / '-n': 0 is less than 1.", "See: sfgen gen --help"),
    (["gen", "-t", "hot"], "Invalid value for '--temperature' / '-t': 'hot' is not a number.", "See: sfgen gen --help"),
    (
        ["gen", "--device", "gpu:0", "x"],
        "no such device: gpu:0",
        "Did you mean cuda:0? Use auto, cpu, cuda, cuda:N or mps.",
    ),
    (
        ["gen", "--device", "gpu", "x"],
        "no such device: gpu",
        "Did you mean cuda? Use auto, cpu, cuda, cuda:N or mps.",
    ),
    (
        ["gen", "--device", "cudda", "x"],
        "no such device: cudda",
        "Did you mean cuda? Use auto, cpu, cuda, cuda:N or mps.",
    ),
]


@pytest.mark.parametrize(("arguments", "message", "hint"), CASES, ids=lambda value: str(value)[:50])
def test_a_mistake_and_what_was_meant(sfgen: Sfgen, arguments: list[str], message: str, hint: str) -> None:
    done = sfgen(*arguments)
    assert done.err.splitlines() == [f"sfgen: {message}", hint]
    assert done.out == ""
    assert done.code == (2 if message[0].isupper() else 1)


def test_what_other_programs_say_is_known_here() -> None:
    group: Any = typer.main.get_command(app)
    for theirs, ours in SAME_MEANING.items():
        assert not any(theirs in options_of(command) for command in group.commands.values())
        assert ours in options_of(group.commands["gen"])


@given(st.data())
def test_a_slip_of_the_fingers_is_seen_through(data: st.DataObject) -> None:
    """One letter left out, put in, changed or swapped: the option itself is among those that are suggested."""
    group: Any = typer.main.get_command(app)
    known = list(options_of(group.commands["gen"]))
    name = data.draw(st.sampled_from([name for name in known if len(name) > 4]))
    place = data.draw(st.integers(3, len(name) - 1))
    letter = data.draw(st.sampled_from("aeiou"))
    swapped = name[: place - 1] + name[place] + name[place - 1] + name[place + 1 :] if place > 3 else name
    slips = [name[:place] + name[place + 1 :], name[:place] + letter + name[place:], swapped]
    slip = data.draw(st.sampled_from([*slips, name[:place] + letter + name[place + 1 :]]))
    near = near_names(slip, known)
    assert name in near or any(other.startswith(slip) for other in near) or len(near) == 3


def test_a_value_that_begins_with_a_dash_is_no_option(sfgen: Sfgen) -> None:
    done = sfgen("gen", "-m", "uniform", "-r", "-regex", "--json", "x")
    assert (done.code, done.records[0]["pattern"]) == (0, "-regex")
    assert sfgen("gen", "-m", "uniform", "-r", "a", "--json", "--", "-regex").records[0]["prompt"] == "-regex"


def test_help_and_version_as_they_are_typed_elsewhere(sfgen: Sfgen) -> None:
    version = sfgen("--version")
    assert (version.code, version.err) == (0, "")
    assert version.out == sfgen("version").out == sfgen("-V").out
    for arguments in (["help"], ["help", "help"], ["help", "--help"]):
        assert sfgen(*arguments).out == sfgen("--help").out
    for command in ("gen", "ban", "index", "check", "replay", "models"):
        assert sfgen("help", command) == sfgen(command, "--help")


@pytest.mark.parametrize(
    ("name", "near"), [("tyni", "tiny"), ("tinny", "tiny"), ("Tiny", "tiny"), ("unifrom", "uniform"), ("gpt2", "")]
)
def test_a_mistyped_model(sfgen: Sfgen, name: str, near: str) -> None:
    done = sfgen("gen", "-m", name, "x")
    assert done.code == 1
    assert done.err.startswith(f"sfgen: no model {name}: ")
    assert ("Did you mean" in done.err) == bool(near)
    assert f"Did you mean {near}, which comes with sfgen?" in done.err or not near


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("SFGEN_SEED", "soon", "Invalid value for '--seed' (env var: 'SFGEN_SEED'): 'soon' is not a whole number."),
        ("SFGEN_SEED", "-1", "SFGEN_SEED: seed must be at least 0, not -1"),
        ("SFGEN_MODEL", "/no/such", "SFGEN_MODEL: no model /no/such: "),
        ("SFGEN_MODEL", "zip:", "SFGEN_MODEL: zip: names no file"),
        ("SFGEN_MODEL", "zip:/no/such", "SFGEN_MODEL: no model zip:/no/such: "),
    ],
)
def test_a_bad_variable_is_named(
    sfgen: Sfgen, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, message: str
) -> None:
    monkeypatch.setenv(variable, value)
    for command in (["gen", "-r", "a"], ["ban", "--words", "b"]):
        done = sfgen(*command)
        assert done.code in (1, 2)
        assert done.err.startswith(f"sfgen: {message}")
    # What is given on the command line wins, and its own mistakes are not blamed on the variable.
    given = {"SFGEN_SEED": ["--seed", "5"], "SFGEN_MODEL": ["-m", "uniform"]}[variable]
    assert sfgen("gen", "-m", "uniform", "-r", "a", *given).out == "a\n"
    for wrong in {"SFGEN_SEED": [["--seed", "-7"], ["--seed", "abc"]], "SFGEN_MODEL": [["-m", "/not/here"]]}[variable]:
        err = sfgen("gen", "-r", "a", *wrong).err
        assert variable not in err
        assert wrong[1] in err


def test_a_bad_model_of_the_environment_in_index(sfgen: Sfgen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFGEN_MODEL", "/no/such")
    assert sfgen("index", "-r", "a").err.startswith("sfgen: SFGEN_MODEL: no model /no/such: ")
    assert sfgen("ban", "--words", "a", "--routes").err.startswith("sfgen: SFGEN_MODEL: no model /no/such: ")
    assert sfgen("index", "-r", "a", "-m", "uniform").code == 0


def test_an_empty_variable_counts_as_unset(sfgen: Sfgen, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("SFGEN_MODEL", "SFGEN_SEED"):
        monkeypatch.setenv(variable, "")
    record = sfgen("gen", "--choices", "hot,cold", "--json", "It is very ").records[0]
    assert (record["model"], record["seed"]) == ("tiny", None)
    assert sfgen("index", "-r", "a").code == 0


def test_the_variables_stand_for_their_options(sfgen: Sfgen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SFGEN_MODEL", "uniform")
    monkeypatch.setenv("SFGEN_SEED", "9")
    record = sfgen("gen", "-r", "[a-z]{12}", "--json").records[0]
    assert (record["model"], record["seed"]) == ("uniform", 9)
    assert (
        record["text"] == sfgen("gen", "-m", "uniform", "--seed", "9", "-r", "[a-z]{12}", "--json").records[0]["text"]
    )
