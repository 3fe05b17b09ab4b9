from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.support.command.processes import forked, run_forked
from tests.support.running.tried import tried

from sfgen.ban import BannedWords, Match, scan
from sfgen_cli.report.checked_texts import Finding, findings

Sfgen = Callable[..., Any]
WORDS = ["--words", "talk,listen"]


# --- what it prints ------------------------------------------------------------------------------------------------


def test_each_match_is_told_with_its_place(sfgen: Sfgen) -> None:
    done = sfgen("check", *WORDS, stdin="Hi!\nWe can – TALK,\nthen listen")
    assert done.code == 1
    assert done.out.splitlines() == [
        "line 2, column 10, byte 15: talk",
        "  We can – TALK,",
        "           ^^^^",
        "line 3, column 6, byte 26: listen",
        "  then listen",
        "       ^^^^^^",
    ]
    assert done.err == "sfgen: 2 matches\n"


def test_a_clean_text_is_no_failure(sfgen: Sfgen) -> None:
    for text in ("talking is fine", "", "\n\n"):
        done = sfgen("check", *WORDS, stdin=text)
        assert (done.code, done.out, done.err) == (0, "", "")
    assert sfgen("check", *WORDS, "--text", "", "--text", "talker").code == 0


def test_the_record_of_a_match(sfgen: Sfgen) -> None:
    done = sfgen("check", *WORDS, "--json", "--text", "no", "--text", "é\nlet us TALK", "--text", "listen!")
    assert done.code == 1
    assert done.records == [
        {"file": None, "text": 2, "line": 2, "column": 8, "start": 10, "end": 14, "word": "talk", "found": "TALK"},
        {"file": None, "text": 3, "line": 1, "column": 1, "start": 0, "end": 6, "word": "listen", "found": "listen"},
    ]
    assert sfgen("check", *WORDS, "--json", "--text", "nothing").out == ""


def test_of_several_texts_each_is_a_text_of_its_own(sfgen: Sfgen) -> None:
    assert sfgen("check", "--words", "fuck you", "--text", "fuck", "--text", "you").code == 0
    done = sfgen("check", "--words", "you", "--text", "fuck", "--text", "you")
    assert done.out.splitlines()[0] == "text 2, line 1, column 1, byte 0: you"
    assert sfgen("check", "--words", "you", "--text", "you").out.splitlines()[0] == "line 1, column 1, byte 0: you"


def test_quiet_tells_by_the_exit_code_alone(sfgen: Sfgen) -> None:
    for more in ([], ["--json"]):
        done = sfgen("check", *WORDS, "-q", *more, "--text", "talk", "--text", "talk")
        assert (done.code, done.out, done.err) == (1, "", "")
    assert sfgen("check", *WORDS, "-q", "--text", "talker").code == 0


def test_a_phrase_may_go_over_lines(sfgen: Sfgen) -> None:
    done = sfgen("check", "--words", "fuck you", stdin="a\nwhat the fuck.\n\n  You there")
    assert done.out.splitlines() == ["line 2, column 10, byte 11: fuck you", "  what the fuck.", "           ^^^^^"]
    (record,) = sfgen("check", "--words", "fuck you", "--json", stdin="a\nwhat the fuck.\n\n  You there").records
    assert record["found"] == "fuck.\n\n  You"
    assert (record["start"], record["end"]) == (11, 23)


def test_a_match_that_begins_with_the_end_of_a_line(sfgen: Sfgen) -> None:
    done = sfgen("check", "--pattern", r"\n\s*b", "--text", "x\nac\n\nb")
    assert done.out.splitlines() == [r"line 2, column 3, byte 4: \n\s*b", "  ac", "    ^"]


def test_what_drives_a_terminal_and_wide_characters(sfgen: Sfgen) -> None:
    done = sfgen("check", "--words", "聊天", stdin="\x1b[31m我们聊天吧\n")
    assert done.out.splitlines()[1:] == ["  \\x1b[31m我们聊天吧", "  " + " " * 12 + "^^^^"]


def test_a_long_line_is_cut_around_the_match(sfgen: Sfgen) -> None:
    done = sfgen("check", "--words", "talk", stdin="wörd " * 5000 + "talk" + " wörd" * 5000)
    where, line, caret = done.out.splitlines()
    assert where == "line 1, column 25001, byte 30000: talk"
    assert 50 < len(line) < 110
    assert line.startswith("  …")
    assert line.endswith("…")
    assert line[caret.index("^") : len(caret)] == "talk"
    assert set(caret) == {" ", "^"}


def test_bytes_that_are_no_utf8(sfgen: Sfgen) -> None:
    (record,) = sfgen("check", *WORDS, "--json", stdin=b"\xff\xfe\ntal\xffk \xc3 talk\xe4\xb8").records
    assert (record["line"], record["column"], record["start"], record["end"]) == (2, 9, 11, 15)
    assert sfgen("check", *WORDS, "--text", "a\udcfftalk").code == 1  # an argument that is no UTF-8


def test_stdin_asked_for_by_name_among_texts(sfgen: Sfgen) -> None:
    done = sfgen("check", *WORDS, "--json", "--text", "talk", "-", stdin="\nlisten")
    assert [(record["file"], record["text"], record["line"]) for record in done.records] == [("-", 1, 2), (None, 2, 1)]
    assert sfgen("check", *WORDS, stdin=None).code == 0  # a closed stdin is an empty one


@pytest.mark.parametrize(
    ("options", "text", "starts"),
    [
        (["--words", "ab"], "ab AB abx xab", [0, 3]),
        (["--words", "ab", "--case-sensitive"], "ab AB abx xab", [0]),
        (["--words", "ab*"], "ab AB abx xab", [0, 3, 6]),
        (["--words", "ab", "--match", "prefix"], "ab AB abx xab", [0, 3, 6]),
        (["--words", "ab", "--match", "substring"], "ab AB abx xab", [0, 3, 6, 11]),
        (["--words", "talk", "--allow", "small talk"], "small talk, big talk", [16]),
        (["--words", "ass", "--match", "substring", "--allow", "class,grass"], "class grass mass", [13]),
        (["--pattern", "[0-9]{3,}"], "12 1234", [3]),
        (["--pattern", "x+y", "--words", "talk", "--pattern", "b."], "xxy talk bb", [0, 4, 9]),
        (["--words", "talk"], "tаlk ｔalk", []),
        (["--words", "talk", "--normalize"], "tаlk ｔalk", [0, 6]),
    ],
)
def test_what_is_banned_is_said_as_in_ban(sfgen: Sfgen, options: list[str], text: str, starts: list[int]) -> None:
    # A match of a pattern may be told shorter than it goes on to be, so that each is told more than once.
    assert sorted({record["start"] for record in sfgen("check", *options, "--json", "--text", text).records}) == starts


def test_words_from_a_file_and_from_stdin(sfgen: Sfgen, tmp_path: Path) -> None:
    file = tmp_path / "words.txt"
    file.write_text("# unwanted\ntalk\n")
    assert sfgen("check", "--words-file", file, "--text", "we talk").code == 1
    assert sfgen("check", "--words-file", "-", "--text", "we talk", stdin="talk\n").code == 1
    assert sfgen("check", "--words-file", "-", "--text", "we listen", stdin="talk\n").code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["talk"], "nothing to look for: neither a pattern nor words"),
        ([], "sfgen check --words talk,listen notes.txt"),
        (["(hot|cold)", "it's"], """If it is a pattern: sfgen check --regex '(hot|cold)' 'it'"'"'s'"""),
        (["--words-file", "-"], "stdin can be read once only, and --words-file reads it"),
        (["--words", "a", "-", "-"], "stdin can be read once only"),
        (["--words", ",", "--text", "x"], "--words names no word"),
        (["--words", "", "--text", "x"], "--words names no word"),
        (["--words-file", "/no/such/file", "--text", "x"], "/no/such/file"),
        (["--pattern", "a(b", "--text", "x"], "unterminated"),
        (["--pattern", "a*", "--text", "x"], "empty"),
        (["--words", "a", "--allow", "*", "--text", "x"], "a star alone"),
        (["--words", "a", "--match", "fuzzy", "--text", "x"], "--match"),
        (["--words", "a", "--jsno", "--text", "x"], "Did you mean --json?"),
        (["--regex", "a", "--normalize", "--text", "x"], "--normalize needs banned words: it says how they are banned"),
    ],
)
def test_trouble_is_no_answer(sfgen: Sfgen, arguments: list[str], message: str) -> None:
    done = sfgen("check", *arguments)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert "internal error" not in done.err


# --- as a process --------------------------------------------------------------------------------------------------


def test_nothing_is_waited_for_on_a_terminal() -> None:
    master, slave = os.openpty()
    done = run_forked(["check", *WORDS], stdin=slave)
    os.close(slave)
    os.close(master)
    assert done.returncode == 2
    assert b"no text to look at" in done.stderr


def test_nothing_heavy_is_loaded() -> None:
    script = (
        "import sys; from sfgen_cli.shell.ending import run; "
        "assert run(['check', '--words', 'talk', '--text', 'we talk']) == 1; "
        "assert run(['check', '--help']) == run(['ban', '--help']) == 0; "
        "print([name for name in ('torch', 'transformers', 'numba', 'numpy') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_match_is_told_as_soon_as_its_line_is_there() -> None:
    process = forked(
        ["check", *WORDS, "--json"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        process.stdin.write(b"we talk\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["word"] == "talk"
        process.stdin.write(b"and listen")
        process.stdin.close()
        assert json.loads(process.stdout.readline())["line"] == 2
    assert process.returncode == 1


def test_a_reader_that_goes_away_is_no_error() -> None:
    process = forked(["check", *WORDS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    with process:
        process.stdin.write(b"we talk\n" * 2000)
        process.stdin.flush()
        process.stdout.read(3)
        process.stdout.close()
        process.stdin.close()
        assert process.stderr.read() == b""


# --- against the matcher itself ------------------------------------------------------------------------------------

ALPHABET = st.sampled_from(["a", "b", "c", " ", " ", "\n", ".", "é", "聊", "ß", "ss", "\r\n"])
# Words that come again and again.
REPEATED = st.sampled_from(["a ", "b ", "c ", "ab ", "a b ", "é", "a\n", "c\n", "ca. ", "聊 "])
TEXTS = st.lists(ALPHABET, max_size=40).map("".join) | st.lists(REPEATED, max_size=30).map("".join)
BANNED = st.builds(
    BannedWords,
    st.lists(
        st.sampled_from(["a", "ab", "a b", "b c a", "聊", "ß", "ca*", "a.", ". b", "é b"]), min_size=1, max_size=4
    ),
    match=st.sampled_from(["word", "prefix", "substring"]),
)


def byte_by_byte(data: bytes, banned: BannedWords) -> list[Match]:
    """What the matcher tells when it is given the bytes one after the other."""
    matcher = banned.matcher()
    told = [matcher.advance(data[place : place + 1]) for place in range(len(data))]
    return [match for match in [*told, matcher.finish()] if match is not None]


def findings_in(data: bytes, banned: BannedWords) -> list[Finding]:
    return list(findings(BytesIO(data), banned))


@tried("many")
@given(TEXTS, BANNED)
@example("a b a b ab a b ", BannedWords(["b c a"]))
def test_no_match_is_missed_by_skipping(text: str, banned: BannedWords) -> None:
    data = text.encode()
    found = [Match(finding.word, finding.start, finding.end) for finding in findings_in(data, banned)]
    assert found == byte_by_byte(data, banned)
    assert set(found) <= set(scan(text, banned))
    assert bool(found) == bool(scan(text, banned))


@tried("many")
@given(
    st.lists(st.sampled_from([b"a", b"b", b" ", b"\n", b"\xc3", b"\xa9", b"\xff", b"\xe8\x81"]), max_size=30), BANNED
)
def test_bytes_of_any_kind(pieces: list[bytes], banned: BannedWords) -> None:
    data = b"".join(pieces)
    found = findings_in(data, banned)
    assert [Match(finding.word, finding.start, finding.end) for finding in found] == byte_by_byte(data, banned)
    for finding in found:
        before = data[: finding.start].decode("utf-8", "replace")
        assert finding.found == data[finding.start : finding.end].decode("utf-8", "replace")
        assert (finding.line, finding.column) == (before.count("\n") + 1, len(before.rpartition("\n")[2]) + 1)
        assert finding.context[finding.position :].startswith(finding.found.partition("\n")[0].rstrip("\r"))


@given(TEXTS, BANNED)
@example("c a b a", BannedWords(["b", "a b a"], match="substring"))  # what begins first is told last
def test_the_place_of_a_match(text: str, banned: BannedWords) -> None:
    lines = text.split("\n")
    for finding in findings_in(text.encode(), banned):
        start = len(text.encode()[: finding.start].decode())
        line = lines[finding.line - 1]
        assert start == len("\n".join([*lines[: finding.line - 1], ""])) + finding.column - 1
        assert finding.context == line.removesuffix("\r")
        assert finding.position == finding.column - 1


PATTERN = st.sampled_from(
    ["(?m)^b", "(?<=a )b", "(?<!a )b", "(?<! )b", "b$", r"\Ab", " b", "b(?= a)", "a [^a]* b", r"\bab", "c(?! c)"]
)


@given(st.lists(REPEATED, max_size=12).map("".join), st.lists(PATTERN, min_size=1, max_size=2, unique=True))
@example("c a b c b ", ["(?<!a )b"])
def test_no_match_of_a_pattern_is_missed_by_skipping(text: str, patterns: list[str]) -> None:
    """Between two words is not the same place for a pattern as the start of a line, nor after another word."""
    banned = BannedWords(patterns=patterns)
    found = [Match(finding.word, finding.start, finding.end) for finding in findings_in(text.encode(), banned)]
    assert found == byte_by_byte(text.encode(), banned)
