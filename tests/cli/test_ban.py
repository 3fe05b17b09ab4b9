from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sfgen.ban import scan
from sfgen_cli.run.request import Request

Sfgen = Callable[..., Any]


def test_words_do_not_come_out(sfgen: Sfgen) -> None:
    free = sfgen("gen", "Can we talk?")
    assert re.search(r"\b(talk|listen)\b", free.out), "the demonstration needs a model that would say it"
    done = sfgen("ban", "--words", "talk,listen", "Can we talk?")
    assert done.code == 0
    assert not re.search(r"\b(talk|listen)\b", done.out, re.IGNORECASE)
    assert re.fullmatch(r"sfgen: \d+ rollbacks? of \d+ tokens? \(.+\)\n", done.err)


def test_the_record_tells_what_was_taken_back(sfgen: Sfgen) -> None:
    (record,) = sfgen("ban", "--words", "talk,listen", "--json", "Can we talk?").records
    assert record["banned"] == {
        "words": ["talk", "listen"],
        "patterns": [],
        "match": "word",
        "ignore_case": True,
        "normalize": False,
        "allow": [],
        "strategy": "resample",
    }
    assert record["rollbacks"]
    for rollback in record["rollbacks"]:
        assert set(rollback) >= {"position", "word", "text", "tokens", "probability"}
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
        (["--words", "ab", "--match", "prefix", "--allow", "abc"], {"Abc"}),
        (["--pattern", "[Aa]bc?"], set()),
        (["--pattern", "a.", "--words", "abc"], {"Ab"}),
        (["--pattern", "A", "--pattern", "x"], {"ab"}),
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


def test_look_alikes_are_seen_through_when_asked(sfgen: Sfgen, monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[Request] = []
    monkeypatch.setattr("sfgen_cli.commands.ban.run", requests.append)
    for options in ([], ["--normalize"]):
        assert sfgen("ban", "--words", "talk", *options, "x").code == 0
    for text in ("tаlk", "ｔalk", "ta\u200blk"):
        assert [bool(scan(text, request.banned)) for request in requests if request.banned] == [False, True]
    assert "Traditional and simplified" in " ".join(sfgen("ban", "--help-all").out.split())


def test_a_banned_pattern_does_not_come_out(sfgen: Sfgen) -> None:
    patterns = ["[\u4e00-\u9fff]", "[가-힣][^가-힣]"]
    common = ["-m", "uniform", "--max-tokens", "40", "--seed", "1", "-n", "3", "--json", "x"]
    free = sfgen("gen", *common).records
    assert all(re.search(pattern, record["text"]) for pattern in patterns for record in free)
    records = sfgen("ban", "--pattern", patterns[0], "--pattern", patterns[1], *common).records
    assert [record["banned"]["patterns"] for record in records] == [patterns] * 3
    assert not any(re.search(pattern, record["text"]) for pattern in patterns for record in records)


@pytest.mark.parametrize(("command", "option"), [("ban", "--characters"), ("gen", "--ban-characters")])
def test_no_character_of_a_banned_script_comes_out(sfgen: Sfgen, command: str, option: str) -> None:
    common = ["-m", "uniform", "--max-tokens", "40", "--seed", "1", "-n", "3", "--json", "x"]
    script = "[\u4e00-\u9fff\u3041-\u3096\uac00-\ud7a3]"
    assert all(re.search(script, record["text"]) for record in sfgen("gen", *common).records)
    for record in sfgen(command, option, "cjk", option, "emoji,Cyrillic", *common).records:
        assert not re.search(f"{script}|[\u0400-\u04ff]", record["text"])
        assert len(record["banned"]["patterns"]) == 3


def test_the_strategy_and_its_block_are_passed_on(sfgen: Sfgen, monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[Request] = []
    for command, words in (("ban", "--words"), ("gen", "--ban-words")):
        monkeypatch.setattr(f"sfgen_cli.commands.{command}.run", requests.append)
        assert sfgen(command, words, "a", "x").code == 0
        more = ["--strategy", "first-token", "--max-block", "7", "--max-rollbacks", "9"]
        assert sfgen(command, words, "a", *more, "x").code == 0
    shown = [(r.options.strategy, r.options.max_block, r.options.max_rollbacks) for r in requests]
    assert shown == [("resample", 32, 10_000), ("first-token", 7, 9)] * 2


@pytest.mark.parametrize("strategy", ["resample", "first-token", "mask"])
def test_no_strategy_lets_a_word_out(sfgen: Sfgen, strategy: str) -> None:
    options = ["--words", "talk,listen,help", "--strategy", strategy, "--json", "--seed", "1", "-n", "4"]
    records = sfgen("ban", *options, "Can we talk?").records
    assert len(records) == 4
    for record in records:
        assert not re.search(r"\b(talk|listen|help)\b", record["text"], re.IGNORECASE)
        assert record["banned"]["strategy"] == strategy
        assert strategy != "mask" or record["rollbacks"] == []


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["x"], 2, "no words to ban"),
        (["--words", "a", "--strategy", "hope", "x"], 2, "--strategy"),
        (["--words", "a", "--max-block", "0", "x"], 2, "--max-block"),
        (["--words", "a", "--regex", "[0-9]{4}", "x"], 2, "sfgen gen --regex '[0-9]{4}' --ban-words a"),
        (["--regex", "[0-9]{4}", "x"], 2, "sfgen ban --pattern '[0-9]{4}'"),
        (["--regex", "it's", "--words", "a b", "x"], 2, """sfgen gen --regex 'it'"'"'s' --ban-words 'a b'"""),
        (["--pattern", "a(b", "x"], 1, "unterminated"),
        (["--pattern", "a*", "x"], 1, "empty"),
        (["--pattern", r"(a)\1", "x"], 1, "backreference"),
        (["--characters", "klingon", "x"], 2, "no characters by the name 'klingon'"),
        (["--characters", ",", "x"], 2, "--characters names none"),
        (["--words", "a", "--characters", "han", "--routes"], 2, "--routes lists the spellings of words"),
        (["--words", "a", "--allow", "*", "x"], 1, "star alone"),
        (["-", "--words-file", "-"], 2, "cannot both come from stdin"),
    ],
)
def test_an_error_says_what_was_wrong(sfgen: Sfgen, arguments: list[str], code: int, message: str) -> None:
    done = sfgen("ban", *arguments)
    assert (done.code, done.out) == (code, "")
    assert message in done.err
    assert "internal error" not in done.err


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


def test_lines_that_may_mean_something_else_are_told(sfgen: Sfgen, tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    file.write_text('talk # rude\n"listen"\nspeak,\n#nice\n')
    common = ["ban", "-m", "uniform", "--max-tokens", "2", "--words-file", file, "x"]
    done = sfgen(*common, "--json")
    assert done.records[0]["banned"]["words"] == ["talk", '"listen"', "speak,"]
    for line, what in ((2, "with its quotes"), (3, "with its comma"), (4, "as a comment")):
        assert f"{file}, line {line}: " in done.err
        assert what in done.err
    assert sfgen(*common, "--quiet").err == ""
    file.write_text("a,\n" * 20)
    assert "15 more lines" in sfgen(*common).err
    assert (
        sfgen("gen", "-m", "uniform", "--max-tokens", "2", "--ban-words-file", file, "x").err.count("with its comma")
        == 5
    )


def test_the_limit_cuts_but_does_not_leak(sfgen: Sfgen) -> None:
    for limit in range(1, 12):
        done = sfgen("ban", "--words", "talk,listen", "--max-tokens", str(limit), "Can we talk?")
        assert done.code == 0
        assert not re.search(r"\b(talk|listen)\b", done.out, re.IGNORECASE)
