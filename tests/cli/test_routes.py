from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sfgen import Vocabulary
from sfgen.models import load_vocabulary

Sfgen = Callable[..., Any]
DATA = Path(__file__).resolve().parent.parent / "data"
ROUTES = ["ban", "--routes"]


@pytest.fixture(scope="module")
def tokens() -> tuple[bytes | None, ...]:
    return load_vocabulary("tiny").tokens


def test_the_routes_of_the_embedded_model(sfgen: Sfgen, tokens: tuple[bytes | None, ...]) -> None:
    (record,) = sfgen(*ROUTES, "--words", "talk,listen", "--json").records
    assert record["count"] == len(record["routes"]) > 10
    for route in record["routes"]:
        joined = b"".join(tokens[token] or b"" for token in route["ids"])
        assert joined.decode().removeprefix(" ") == route["word"] == "".join(route["tokens"]).removeprefix(" ")
    assert {route["word"] for route in record["routes"]} == {"talk", "listen"}
    reached = {state for row in record["transitions"].values() for _, state in row} - {-1}
    assert {int(state) for state in record["transitions"]} == reached | {0}
    assert sum(state == -1 for row in record["transitions"].values() for _, state in row) == record["count"]


def test_a_phrase_has_routes_where_spaces_are_tokens_of_their_own(sfgen: Sfgen) -> None:
    (record,) = sfgen(*ROUTES, "--words", "small talk", "--json").records
    assert record["routes"][0]["tokens"] == ["small", " ", "talk"]


def test_the_table_has_a_route_on_each_line(sfgen: Sfgen) -> None:
    (record,) = sfgen(*ROUTES, "--words", "talk,listen", "--json").records
    done = sfgen(*ROUTES, "--words", "talk,listen")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0].startswith("vocabulary  2048 tokens")
    assert lines[1].startswith(f"routes      {record['count']} (talk ")
    assert lines[2] == f"states      {len(record['transitions'])}"
    assert len(lines) == 3 + record["count"]
    for line, route in zip(lines[3:], record["routes"], strict=True):
        shown, _, ids = line.partition("  ")
        assert shown == " ".join(map(repr, route["tokens"]))
        assert ids.strip() == " ".join(map(str, route["ids"]))


def test_what_is_not_listed_is_counted(sfgen: Sfgen) -> None:
    (whole,) = sfgen(*ROUTES, "--words", "talk,listen", "--json").records
    done = sfgen(*ROUTES, "--words", "talk,listen", "--max-routes", "3", "--json")
    (record,) = done.records
    assert record["count"] == whole["count"]
    assert record["routes"] == whole["routes"][:3]
    assert done.err == f"sfgen: {whole['count'] - 3} more routes, not listed; --max-routes {whole['count']} lists all\n"
    done = sfgen(*ROUTES, "--words", "talk,listen", "--max-routes", "0", "-q")
    assert (done.err, len(done.out.splitlines())) == ("", 3)
    assert "states      1 of the 0 listed" in done.out


def test_a_word_with_more_routes_than_a_machine_can_hold(sfgen: Sfgen) -> None:
    joins_spaces = ["--tokenizer", DATA / "tokenizers" / "llama2", "--json"]
    done = sfgen(*ROUTES, *joins_spaces, "--words", "a " * 200, "--max-routes", "1")
    assert len(done.records[0]["routes"]) == 1
    done = sfgen(*ROUTES, *joins_spaces, "--words", "antidisestablishmentarianism " * 5)
    assert len(done.records[0]["routes"]) == 1000
    assert done.records[0]["count"] > 10**9


def test_neither_prompt_nor_weights_are_read(sfgen: Sfgen, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **named: object) -> None:
        raise AssertionError("the weights are not needed")

    monkeypatch.setattr("sfgen.models.tiny.model.TinyModel.session", refuse)
    done = sfgen(*ROUTES, "--words-file", "-", "--prompt-file", "/no/such/file", stdin="talk\n")
    assert done.code == 0
    assert "'talk'" in done.out


def test_any_tokenizer(sfgen: Sfgen) -> None:
    small_tokenizer = DATA / "tokenizers" / "llama2"
    for arguments in (["--tokenizer", small_tokenizer], ["-m", "uniform", "--tokenizer", small_tokenizer]):
        (record,) = sfgen(*ROUTES, "--words", "talk", "--json", *arguments).records
        assert record["count"] >= 2
        assert {"".join(route["tokens"]) for route in record["routes"]} == {"talk", " talk"}


def test_the_printed_routes_of_gemma(sfgen: Sfgen, real_tokenizer_directory: Callable[[str], Path]) -> None:
    printed = json.loads((DATA / "banned_routes.json").read_text(encoding="utf-8"))
    gemma = real_tokenizer_directory("gemma2")
    (record,) = sfgen(*ROUTES, "--words", "talk, listen, fuck you", "--json", "--tokenizer", gemma).records
    assert record["count"] == 140
    assert sorted(route["ids"] for route in record["routes"]) == sorted(printed["routes"])
    assert len(record["transitions"]) == len(printed["fsm"]) == 150


def test_what_no_tokens_spell_is_said(sfgen: Sfgen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfgen.models.load_vocabulary", lambda *_, **__: Vocabulary([b"t", b"a", b"lk"]))
    done = sfgen(*ROUTES, "--words", "talk,listen", "--json")
    assert (done.code, done.records[0]["count"]) == (0, 1)
    assert done.err == "sfgen: no tokens spell 'listen'\n"
    assert sfgen(*ROUTES, "--words", "listen", "--json").records == [
        {"count": 0, "routes": [], "transitions": {"0": []}}
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "no words to ban"),
        (["--words", "a", "--pattern", "[0-9]+"], 2, "sfgen index --regex '[0-9]+'"),
        (["--words", "a", "--compare"], 2, "--routes and --compare cannot be used together"),
        (["--words", "a", "--live"], 2, "--routes and --live cannot be used together"),
        (["--words", "a", "--slow", "5"], 2, "--routes and --slow cannot be used together"),
        (["--words", "a", "--max-routes", "-1"], 2, "--max-routes"),
        (["--words", "a", "--tokenizer", "/no/such/dir"], 1, "no directory /no/such/dir"),
        (["--words", "a", "-m", "/no/such/model"], 1, "no model /no/such/model"),
        (["--words", "*"], 1, "a star alone"),
    ],
)
def test_an_error_says_what_was_wrong(sfgen: Sfgen, arguments: list[str], code: int, message: str) -> None:
    done = sfgen(*ROUTES, *arguments)
    assert (done.code, done.out) == (code, "")
    assert message in done.err
