from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sfgen.ban import scan
from sfgen_cli.generation import Request

Sfgen = Callable[..., Any]


def test_words_do_not_come_out(sfgen: Sfgen) -> None:
    free = sfgen("gen", "Can we talk?")
    assert re.search(r"\b(talk|listen)\b", free.out), "the demonstration needs a model that would say it"
    done = sfgen("ban", "--words", "talk,listen", "Can we talk?")
    assert done.code == 0
    assert not re.search(r"\b(talk|listen)\b", done.out, re.IGNORECASE)
    assert re.fullmatch(r"sfgen: \d+ rollbacks? \(.+\)\n", done.err)


def test_the_record_tells_what_was_taken_back(sfgen: Sfgen) -> None:
    (record,) = sfgen("ban", "--words", "talk,listen", "--json", "Can we talk?").records
    assert record["banned"] == {"words": ["talk", "listen"], "match": "word", "ignore_case": True}
    assert record["rollbacks"]
    for rollback in record["rollbacks"]:
        assert set(rollback) == {"position", "word", "text", "tokens", "probability"}
        assert rollback["word"] is None or rollback["word"] in rollback["text"].lower()
        assert rollback["probability"] is None or 0 < rollback["probability"] <= 1


@pytest.mark.parametrize(
    ("options", "allowed"),
    [
        (["--words", "ab"], {"Abc"}),
        (["--words", "ab", "--match", "prefix"], set()),
        (["--words", "ab*"], set()),
        (["--words", "BC", "--match", "substring"], {"ab", "Ab"}),
        (["--words", "ab", "--case-sensitive"], {"Abc", "Ab"}),
    ],
)
def test_kinds_of_match(sfgen: Sfgen, monkeypatch: pytest.MonkeyPatch, options: list[str], allowed: set[str]) -> None:
    requests: list[Request] = []
    monkeypatch.setattr("sfgen_cli.commands.ban.run", requests.append)
    assert sfgen("ban", *options, "x").code == 0
    banned = requests[0].banned
    assert banned is not None
    assert {text for text in ("ab", "Ab", "Abc") if not scan(text, banned)} == allowed


@pytest.mark.parametrize(("words", "allowed"), [("ab", {"Abc"}), ("ab*", set())])
def test_bans_in_gen_are_whole_words_unless_starred(sfgen: Sfgen, words: str, allowed: set[str]) -> None:
    seen = {
        sfgen("gen", "-m", "uniform", "--choices", "ab,Ab,Abc", "--ban-words", words, "--seed", str(seed)).out.strip()
        for seed in range(12)
    }
    assert seen - {""} == allowed


def test_words_from_a_file_and_from_stdin(sfgen: Sfgen, tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    file.write_text("# not nice\nfoo bar\n\nbaz\n")
    common = ["ban", "-m", "uniform", "--max-tokens", "2", "--json"]
    assert sfgen(*common, "--words-file", file, "x").records[0]["banned"]["words"] == ["foo bar", "baz"]
    done = sfgen(*common, "--words-file", "-", "x", stdin="foo\nbar\n").records[0]
    assert (done["prompt"], done["banned"]["words"]) == ("x", ["foo", "bar"])
    assert sfgen(*common, "--words-file", "-", stdin="foo\n").records[0]["prompt"] == ""
    both = sfgen(*common, "--words-file", file, "--words", "one，two", "x").records[0]
    assert both["banned"]["words"] == ["one", "two", "foo bar", "baz"]


def test_the_limit_cuts_but_does_not_leak(sfgen: Sfgen) -> None:
    for limit in range(1, 12):
        done = sfgen("ban", "--words", "talk,listen", "--max-tokens", str(limit), "Can we talk?")
        assert done.code == 0
        assert not re.search(r"\b(talk|listen)\b", done.out, re.IGNORECASE)
