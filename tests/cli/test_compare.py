from __future__ import annotations

import re
from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from tests.support.command.terminal import in_a_terminal

from sfgen import Result, RolledBack, Vocabulary
from sfgen_cli.run import compare

Sfgen = Callable[..., Any]
COMPARE = ["ban", "--compare", "--words", "talk,listen"]


def without_seconds(record: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key != "seconds"}


def test_both_records_are_those_of_the_two_commands(sfgen: Sfgen) -> None:
    for options in ([], ["--seed", "4", "-n", "2"], ["--stop", ".", "--max-tokens", "9"]):
        free = sfgen("gen", "--json", *options, "Can we talk?").records
        banned = sfgen("ban", "--words", "talk,listen", "--json", *options, "Can we talk?").records
        pairs = sfgen(*COMPARE, "--json", *options, "Can we talk?").records
        assert [without_seconds(pair["free"]) for pair in pairs] == list(map(without_seconds, free))
        assert [without_seconds(pair["banned"]) for pair in pairs] == list(map(without_seconds, banned))
        assert all(set(pair) == {"free", "banned"} for pair in pairs)


def test_in_a_pipe_both_texts_have_a_title(sfgen: Sfgen) -> None:
    (pair,) = sfgen(*COMPARE, "--json", "Can we talk?").records
    done = sfgen(*COMPARE, "Can we talk?")
    assert (done.code, done.err) == (0, "")
    rollbacks = pair["banned"]["rollbacks"]
    assert rollbacks
    count = "1 rollback" if len(rollbacks) == 1 else f"{len(rollbacks)} rollbacks"
    head = f"--- free text\n{pair['free']['text']}\n--- without the words, {count}\n"
    assert done.out.startswith(f"{head}{pair['banned']['text']}\n--- taken back")
    listed = done.out.partition("--- taken back")[2].splitlines()[1:]
    for line, rollback in zip(listed, rollbacks, strict=True):
        assert line.split() == [str(rollback["position"]), *repr(rollback["text"]).split(), rollback["word"]]


def test_where_nothing_is_banned_both_are_the_same(sfgen: Sfgen) -> None:
    done = sfgen("ban", "--compare", "--words", "xylophone", "-m", "uniform", "--seed", "1", "--max-tokens", "9", "x")
    free, _, banned = done.out.removeprefix("--- free text\n").partition("--- without the words, 0 rollbacks\n")
    assert free == banned != ""


def test_each_sample_is_compared(sfgen: Sfgen) -> None:
    options = ["-m", "uniform", "--seed", "1", "-n", "3", "--max-tokens", "3", "--echo"]
    done = sfgen("ban", "--compare", "--words", "xylophone", *options, "Well:")
    assert len(re.findall("^--- free text\nWell:", done.out, re.MULTILINE)) == 3
    assert len(re.findall("^--- without the words, .*\nWell:", done.out, re.MULTILINE)) == 3


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--live"], 2, "--compare and --live cannot be used together"),
        (["--slow", "5"], 2, "--compare and --slow cannot be used together"),
        (["--json", "--echo"], 2, "--json and --echo cannot be used together"),
        (["-m", "/no/such/model"], 1, "no model /no/such/model"),
        (["--max-rollbacks", "0"], 1, "gave up after 0 rollbacks"),
    ],
)
def test_an_error_says_what_was_wrong(sfgen: Sfgen, arguments: list[str], code: int, message: str) -> None:
    done = sfgen(*COMPARE, *arguments, "Can we talk?")
    assert (done.code, done.out) == (code, "")
    assert message in done.err


def test_in_the_table_what_was_taken_back_stands_where_it_was() -> None:
    tokens = [b"Hi", b" there", b" ta", b"lk", b"\xe8\x81", b"\x8a", b"."]
    side = make_side(tokens, (0, 1, 4, 5, 6), [(1, " talk"), (2, " talk"), (2, " ta"), (2, "x"), (2, "y"), (3, "z")])
    shown = compare._with_rollbacks(side)
    struck = [shown.plain[span.start : span.end] for span in shown.spans]
    # The place after the third token is within a character: what was taken back there stands before the character.
    assert shown.plain == "Hi talk there talk tax(+2)聊."
    assert struck == [" talk", " talk", " ta", "x", "(+2)"]


def test_on_a_terminal_the_texts_stand_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = StringIO()
    monkeypatch.setattr("sys.stdout", screen)
    monkeypatch.setenv("COLUMNS", "80")
    free = make_side([b"We ", b"talk\x1b[2J."], (0, 1), [])
    banned = make_side([b"We ", b"sing."], (0, 1), [(1, "talk.")])
    compare._write_table("Well: ", free, banned)
    lines = [line.rstrip() for line in screen.getvalue().splitlines() if line.strip()]
    assert re.fullmatch(r" free text +without the words, \[-1 rollback-\]", lines[0])
    assert re.fullmatch(r" Well: We talk\\x1b\[2J\. +Well: We \[-talk\.-\]sing\.", lines[2])


@pytest.mark.parametrize("term", ["dumb", "unknown"])
def test_a_terminal_that_strikes_nothing_out_gets_marks(term: str) -> None:
    seen = in_a_terminal(*COMPARE, "--quiet", "Can we talk?", TERM=term)
    assert "\x1b" not in seen.raw
    assert re.search(r"without the words, \[-3 rollbacks-\]$", seen.screen[0])
    # Each line's second half is of the text without the words.
    half = seen.screen[0].index("without the words")
    text = " ".join(" ".join(line[half:] for line in seen.screen[2:]).split())
    assert re.findall(r"\[-(.*?)-\]", text) == ["listen.", "talk", "talk"]
    assert "talk" not in re.sub(r"\[-.*?-\]", "", text)


@pytest.mark.parametrize("no_color", ["", "1"])
def test_a_terminal_with_styles_strikes_it_out(no_color: str) -> None:
    seen = in_a_terminal(*COMPARE, "--quiet", "Can we talk?", NO_COLOR=no_color)
    assert re.search(r"\x1b\[9(;31)?mtalk", seen.raw)
    assert "[-" not in " ".join(seen.screen)


def make_side(tokens: list[bytes], ids: tuple[int, ...], taken_back: list[tuple[int, str]]) -> compare._Side:
    rollbacks = tuple(
        RolledBack(position, "word", (0,), text.encode(), 0, None, position, 1) for position, text in taken_back
    )
    text = b"".join(tokens[token] for token in ids).decode()
    result = Result(text, ids, "end_token", 1, 1, 0, rollbacks)
    return compare._Side(result, {}, Vocabulary(tokens))
