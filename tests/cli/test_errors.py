"""Every error that a user can cause: one line that says what was wrong, a few that help, the exit code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Sfgen = Callable[..., Any]
UNIFORM = ["-m", "uniform"]

CASES: list[tuple[list[str], int, str]] = [
    # --- usage: exit code 2
    (["gen", "--regx", "a"], 2, "No such option: --regx"),
    (["gen", "-5 degrees"], 2, "put -- before it"),
    (["gen", "--samples", "0"], 2, "--samples"),
    (["gen", "--samples", "many"], 2, "--samples"),
    (["gen", "--max-tokens", "-1"], 2, "--max-tokens"),
    (["gen", "--dtype", "float7"], 2, "--dtype"),
    (["gen", "a", "b"], 2, "unexpected extra argument"),
    (["gen", "--regex", "a", "--choices", "b"], 2, "--regex and --choices cannot be used together"),
    (["gen", "--regex", "a", "--index", "f", "--choices-file", "g"], 2, "cannot be used together"),
    (["gen", "--choices", ","], 2, "nothing to choose from"),
    (["gen", "-r", "a", "-t", "-1", *UNIFORM], 2, "temperature must be"),
    (["gen", "-r", "a", "-t", "nan", *UNIFORM], 2, "temperature must be"),
    (["gen", "-r", "a", "--seed", "-1", *UNIFORM], 2, "seed must be"),
    (["gen", "-r", "a", "--tokenizer", "x"], 2, "model uniform only"),
    (["gen", "--top-k", "0", *UNIFORM], 2, "top-k must be"),
    (["gen", "--top-k", "2.5", *UNIFORM], 2, "--top-k"),
    (["gen", "--top-p", "1.5", *UNIFORM], 2, "top-p must be a number from 0 to 1"),
    (["gen", "--top-p", "nan", *UNIFORM], 2, "top-p must be a number from 0 to 1"),
    (["gen", "--min-p", "-1", *UNIFORM], 2, "min-p must be a number from 0 to 1"),
    (["gen", "--stop", "", *UNIFORM], 2, "a stop string is empty"),
    (["gen", "--stop", "a\udcff", *UNIFORM], 2, "a stop string is no valid text"),
    (["gen", "--stop", "b", "-r", "a", "x"], 2, "they already say where the text ends"),
    (["gen", "--stop", "b", "--choices", "a", "x"], 2, "--stop cannot be used with a pattern"),
    (["gen", "--stop", "b", "--index", "f", "x"], 2, "--stop cannot be used with a pattern"),
    (["gen", "--json", "--echo", "x"], 2, "the record has the prompt"),
    (["ban", "--words", "a", "--json", "--echo", "x"], 2, "the record has the prompt"),
    (["gen", "--live", "--quiet", "x"], 2, "--live and --quiet cannot be used together"),
    (["gen", "--slow", "9", "--no-live", "x"], 2, "--slow and --no-live cannot be used together"),
    (["gen", "--slow", "-1", "x"], 2, "Invalid value for '--slow'"),
    (["gen", "--chat", "x", *UNIFORM], 2, "the model uniform has no chat template"),
    (["gen", "- a list"], 2, "put -- before it: sfgen gen … -- '- a list'"),
    (["gen", "-n a flag"], 2, "put -- before it: sfgen gen … -- '-n a flag'"),
    (["gen", "x", "--prompt-file", "f"], 2, "the prompt was given twice"),
    (["gen", "-", "--ban-words-file", "-", *UNIFORM], 2, "cannot both come from stdin"),
    (["ban", "x"], 2, "no words to ban"),
    (["ban", "--regex", "a+", "--words", "b", "x"], 2, "sfgen gen --regex a+ --ban-words b"),
    (["ban", "--words", "a", "--match", "fuzzy", "x"], 2, "--match"),
    (["index"], 2, "no pattern and no file"),
    (["index", "--save"], 2, "sfgen index --regex '(hot|cold|hotel)' --save"),
    (["index", "--save", "f"], 2, "--save needs a pattern"),
    (["index", "-r", "a", "--force"], 2, "--force means something with --save only"),
    (["index", "-r", "a", "file"], 2, "cannot be shown together"),
    (["index", "-r", "a", "--format", "csv"], 2, "--format"),
    (["index", "-r", "a", "--tokenizer", "a", "--vocabulary", "b"], 2, "cannot be used together"),
    (["index", "-r", "a", "--tokenizer", "a", "--model", "b"], 2, "cannot be used together"),
    (["frobnicate"], 2, "No such command 'frobnicate'"),
    # --- failures: exit code 1
    (["gen", "-r", "a(b", *UNIFORM], 1, "unterminated"),
    (["gen", "-r", r"(a)\1", *UNIFORM], 1, "backreference"),
    (["gen", "-r", "(a)(?(1)b|c)", *UNIFORM], 1, "conditional"),
    (["gen", "-r", "(?<=(?=a)b)c", *UNIFORM], 1, "lookahead"),
    (["gen", "-r", "(?<=a+)b", *UNIFORM], 1, "look-behind"),
    (["gen", "-r", "a(?!.*)b", *UNIFORM], 1, "matches no text"),
    (["gen", "-r", r"a\bb", *UNIFORM], 1, "matches no text"),
    (["gen", "-r", r"[^\s\S]", *UNIFORM], 1, "matches no text"),
    (["gen", "-r", "(a{1000}){1000}", *UNIFORM], 1, "1,000,000"),
    (["gen", "-r", "(a|b)*a(a|b){40}", *UNIFORM], 1, "limit"),
    (["gen", "-r", "[a-z]{9}", "--max-tokens", "8", *UNIFORM], 1, "the shortest match takes 9"),
    (["gen", "--regex-file", "/no/such/file"], 1, "cannot read /no/such/file"),
    (["gen", "--choices-file", "/no/such/file"], 1, "cannot read /no/such/file"),
    (["gen", "--prompt-file", "/no/such/file"], 1, "cannot read /no/such/file"),
    (["gen", "--index", "/no/such/file"], 1, "no such file: /no/such/file"),
    (["gen", "-m", "/no/such/model", "x"], 1, "no model /no/such/model"),
    (["gen", "-m", "nobody/nothing", "x"], 1, "no model nobody/nothing"),
    (["gen", "-m", "uniform", "--tokenizer", "/no/such/dir", "x"], 1, "no directory /no/such/dir"),
    (["gen", "--device", "toaster", "x"], 1, "no such device: toaster"),
    (["gen", "--choices", "hot", "--ban-words", "hot", "It is "], 1, "every text that matches"),
    (["ban", "--words", ",", "x"], 1, "no banned word"),
    (["ban", "--words", "*", "x"], 1, "a star alone"),
    (["ban", "--words-file", "/no/such/file", "x"], 1, "/no/such/file"),
    (["index", "/no/such/file"], 1, "no such file"),
    (["index", "-r", "a", "--vocabulary", "/no/such/file"], 1, "/no/such/file"),
    (["index", "-r", "a", "--tokenizer", "/no/such/dir"], 1, "no directory /no/such/dir"),
    (["index", "-r", "a", "--save", "/no/such/folder/file"], 1, "cannot write /no/such/folder/file"),
    (["index", "-r", "a", "-m", "/no/such/model"], 1, "no model /no/such/model"),
]


@pytest.mark.parametrize(("arguments", "code", "message"), CASES, ids=lambda value: str(value)[:60])
def test_an_error_says_what_was_wrong(sfgen: Sfgen, arguments: list[str], code: int, message: str) -> None:
    done = sfgen(*arguments)
    assert (done.code, done.out) == (code, "")
    assert message in done.err
    lines = done.err.splitlines()
    assert lines[0].startswith("sfgen: ")
    assert 1 <= len(lines) <= 4
    assert "Traceback" not in done.err
    assert "internal error" not in done.err


def test_a_pattern_error_has_a_caret_under_the_place(sfgen: Sfgen) -> None:
    lines = sfgen("gen", "-r", r"a(b)\1", *UNIFORM).err.splitlines()
    assert lines[1:3] == [r"  a(b)\1", "      ^"]


def test_a_prompt_that_is_no_utf8(sfgen: Sfgen, tmp_path: Path) -> None:
    done = sfgen("gen", *UNIFORM, "-r", "a", stdin=b"one\ntwo \xff")
    assert done.code == 1
    assert "stdin is not UTF-8: line 2" in done.err
    (tmp_path / "prompt").write_bytes(b"\xff")
    assert "is not UTF-8: line 1" in sfgen("gen", *UNIFORM, "-r", "a", "--prompt-file", tmp_path / "prompt").err


def test_a_broken_vocabulary_file(sfgen: Sfgen, tmp_path: Path) -> None:
    for number, content in enumerate(['["a", 5]', "{", '{"a": "b"}', "[]x"]):
        file = tmp_path / f"vocabulary{number}.json"
        file.write_text(content)
        done = sfgen("index", "-r", "a", "--vocabulary", file)
        assert done.code == 1
        assert str(file) in done.err


def test_a_foreign_index(sfgen: Sfgen, tmp_path: Path) -> None:
    file = tmp_path / "index"
    assert sfgen("index", "-r", "hot", "--save", file).code == 0
    done = sfgen("gen", *UNIFORM, "--index", file)
    assert done.code == 1
    assert "made for another vocabulary" in done.err
    other = sfgen("index", "-r", "cold", "--save", file)
    assert other.code == 1
    assert "--force" in other.err
    assert sfgen("index", "-r", "cold", "--save", "--force", file).code == 0


def test_an_unexpected_fault_is_told_without_a_traceback(sfgen: Sfgen, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("sfgen_cli.commands.gen.run", broken)
    monkeypatch.delenv("SFGEN_DEBUG", raising=False)
    done = sfgen("gen", "x")
    assert done.code == 1
    assert done.err.splitlines()[0] == "sfgen: internal error: ZeroDivisionError: oh"
    assert "Traceback" not in done.err


def test_a_stream_that_fails_says_so(sfgen: Sfgen) -> None:
    done = sfgen("ban", "--words", "talk,listen", "--max-rollbacks", "0", "Can we talk?")
    assert done.code == 1
    assert "gave up after 0 rollbacks" in done.err
    # What was written before is part of a text without the words.
    assert "listen" not in done.out


def test_naming_no_command_shows_the_help(sfgen: Sfgen) -> None:
    done = sfgen()
    assert done.code == 2
    assert "gen" in done.out + done.err
