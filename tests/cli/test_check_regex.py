from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.command.processes import forked, run_forked
from tests.support.running.tried import tried

from sfgen import Dfa
from sfgen_cli.report.matching import Matching, texts_of_lines

Sfgen = Callable[..., Any]
PATTERN = "[a-z]{3}[0-9]"
REGEX = ["--regex", PATTERN]


# --- what it prints ------------------------------------------------------------------------------------------------


def test_the_start_of_a_match_and_what_is_none(sfgen: Sfgen) -> None:
    done = sfgen("check", *REGEX, "--text", "ab")
    assert done.code == 1
    assert done.out.splitlines() == ["'ab' is the start of a match: [a-z] must follow", "  ab", "    ^"]
    assert done.err == "sfgen: 0 of 1 texts match\n"
    done = sfgen("check", *REGEX, "--text", "0")
    assert done.code == 1
    assert done.out.splitlines() == ["character 1: '0' is not the start of a match: expected [a-z]", "  0", "  ^"]


def test_what_matches_is_passed_over_in_silence(sfgen: Sfgen) -> None:
    done = sfgen("check", *REGEX, "--text", "abc0", "--text", "xyz9")
    assert (done.code, done.out, done.err) == (0, "", "sfgen: 2 of 2 texts match\n")
    assert sfgen("check", *REGEX, "-q", "--text", "abc0").err == ""


def test_each_text_is_told_by_its_number(sfgen: Sfgen) -> None:
    done = sfgen("check", "-r", PATTERN, "--text", "abc0", "--text", "abc-", "--text", "", "--text", "abc0x")
    assert done.code == 1
    assert done.out.splitlines() == [
        "text 2, character 4: 'abc-' is not the start of a match: expected [0-9]",
        "  abc-",
        "     ^",
        "text 3: the empty text is the start of a match: [a-z] must follow",
        "  ",
        "  ^",
        "text 4, character 5: 'abc0x' is not the start of a match: expected the end of the text",
        "  abc0x",
        "      ^",
    ]
    assert done.err == "sfgen: 1 of 4 texts match\n"


def test_each_line_of_stdin_is_a_text(sfgen: Sfgen) -> None:
    done = sfgen("check", *REGEX, stdin="abc0\nabc\n\nabc1")
    assert done.out.splitlines()[::3] == [
        "line 2: 'abc' is the start of a match: [0-9] must follow",
        "line 3: the empty text is the start of a match: [a-z] must follow",
    ]
    assert done.err == "sfgen: 2 of 4 texts match\n"
    assert sfgen("check", "--regex", "", stdin="\n\n").code == 0
    assert sfgen("check", *REGEX, stdin="abc0\n\n").code == 1


def test_stdin_without_a_line_holds_no_text(sfgen: Sfgen) -> None:
    for stdin in ("", None):
        done = sfgen("check", *REGEX, stdin=stdin)
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith("sfgen: stdin has no text in it: nothing was checked\n")
        assert (allowed := sfgen("check", *REGEX, "--allow-empty", stdin=stdin)).code == 0
        assert allowed.err == ""


def test_stdin_asked_for_by_name_among_texts(sfgen: Sfgen) -> None:
    done = sfgen("check", *REGEX, "--json", "--text", "a", "-", "--text", "abc0", stdin="\nabc1\n")
    assert [(record["file"], record["text"], record["line"], record["matches"]) for record in done.records] == [
        ("-", 1, 1, False),
        ("-", 2, 2, True),
        (None, 3, None, False),
        (None, 4, None, True),
    ]
    done = sfgen("check", *REGEX, "--text", "a", "-", stdin="b\n")
    assert [line.partition(":")[0] for line in done.out.splitlines()[::3]] == ["stdin, line 1", "text 2"]


def test_several_things_can_be_expected(sfgen: Sfgen) -> None:
    assert "expected [a-z] or the end of the text" in sfgen("check", "-r", "[a-z]*", "--text", "ab0").out
    assert "expected [0-9-]" in sfgen("check", "-r", "a([0-9]|-x)", "--text", "ab").out


def test_a_text_of_several_lines_is_one_text(sfgen: Sfgen) -> None:
    assert sfgen("check", "-r", "a\nb", "--text", "a\nb").code == 0
    done = sfgen("check", "-r", "a\nb", "--text", "a\nc")
    assert done.out.splitlines() == [
        r"character 3: 'a\nc' is not the start of a match: expected b",
        r"  a\nc",
        "     ^",
    ]


def test_wide_characters_and_what_drives_a_terminal(sfgen: Sfgen) -> None:
    done = sfgen("check", "-r", ".*x", "--text", "\u6211\u4eec\x1b[31m\u804a")
    assert done.out.splitlines() == [
        r"'我们\x1b[31m聊' is the start of a match: . must follow",
        r"  我们\x1b[31m聊",
        "  " + " " * 14 + "^",
    ]


def test_long_texts_and_long_labels_are_cut(sfgen: Sfgen) -> None:
    text = "a" * 30_000 + "-" + "b" * 30_000
    said, line, caret = sfgen("check", "-r", r"(?u)\w*", "--text", text).out.splitlines()
    assert said.startswith(f"character 30001: '{'a' * 40}…' is not the start of a match: expected [0-9A-Za-z")
    assert said.endswith("…] or the end of the text")
    assert len(said) < 200
    assert line.startswith("  …aaa")
    assert line.endswith("bbb…")
    assert len(line) < 110
    assert line[caret.index("^")] == "-"
    (record,) = sfgen("check", "-r", r"(?u)\w*", "--text", text, "--json").records
    assert (record["content"], len(record["states"]), len(record["expected"]) < 80) == (text, 30_001, True)


@pytest.mark.parametrize(("end", "matches"), [("abc0\r", False), ("abc0", True), ("ab\r", False), ("\r", False)])
def test_the_end_of_a_line_of_a_windows_file(sfgen: Sfgen, end: str, matches: bool) -> None:
    done = sfgen("check", *REGEX, stdin=f"{end}\n")
    assert done.code == (0 if matches else 1)
    hint = r"  Without the carriage return (\r) at its end it matches."
    assert (hint in done.out.splitlines()) == (end == "abc0\r")
    assert sfgen("check", "-r", "[a-z]+\r", stdin="abc\r\n").code == 0


def test_a_byte_order_mark_is_no_part_of_the_text(sfgen: Sfgen) -> None:
    assert sfgen("check", *REGEX, stdin=b"\xef\xbb\xbfabc0\nabc1\n").code == 0
    assert sfgen("check", *REGEX, stdin=b"abc0\n\xef\xbb\xbfabc1\n").code == 1


def test_bytes_that_are_no_utf8(sfgen: Sfgen) -> None:
    done = sfgen("check", "-r", ".*", stdin=b"fine\n\xc3\xa9x\xffy\n\xe8\x81\n")
    assert done.code == 1
    assert done.out.splitlines() == [
        r"line 2, character 3: 'éx�y' is not the start of a match: expected . or the end of the text",
        "  éx�y",
        "    ^",
        "  Byte 3 of it, counted from 0, is not UTF-8.",
        r"line 3, character 1: '��' is not the start of a match: expected . or the end of the text",
        "  ��",
        "  ^",
        "  Byte 0 of it, counted from 0, is not UTF-8.",
    ]
    first, second, third = sfgen("check", "-r", ".*", "--json", stdin=b"fine\n\xc3\xa9x\xffy\n\xe8\x81\n").records
    assert (first["not_utf8"], second["not_utf8"], third["not_utf8"]) == (None, 3, 0)
    assert (second["content"], second["position"], second["matches"]) == ("éx�y", 2, False)
    assert sfgen("check", "-r", ".*", "--text", "a\udcff").code == 1  # an argument that is no UTF-8


def test_the_record_of_a_text(sfgen: Sfgen) -> None:
    done = sfgen("check", *REGEX, "--json", "--text", "abc0", "--text", "ab", "--text", "ab-")
    assert done.code == 1
    assert done.records == [
        {
            "file": None,
            "text": 1,
            "line": None,
            "content": "abc0",
            "matches": True,
            "verdict": "match",
            "position": 4,
            "states": [0, 1, 2, 3, 4],
            "expected": None,
            "may_end": True,
            "not_utf8": None,
        },
        {
            "file": None,
            "text": 2,
            "line": None,
            "content": "ab",
            "matches": False,
            "verdict": "start",
            "position": 2,
            "states": [0, 1, 2],
            "expected": "[a-z]",
            "may_end": False,
            "not_utf8": None,
        },
        {
            "file": None,
            "text": 3,
            "line": None,
            "content": "ab-",
            "matches": False,
            "verdict": "no",
            "position": 2,
            "states": [0, 1, 2],
            "expected": "[a-z]",
            "may_end": False,
            "not_utf8": None,
        },
    ]
    assert sfgen("check", *REGEX, "--json", "--text", "abc0").code == 0


def test_quiet_tells_by_the_exit_code_alone(sfgen: Sfgen) -> None:
    for more in ([], ["--json"]):
        done = sfgen("check", *REGEX, "-q", *more, "--text", "ab", "--text", "abc0")
        assert (done.code, done.out, done.err) == (1, "", "")
        assert sfgen("check", *REGEX, "-q", *more, "--text", "abc0").code == 0


# --- where the pattern comes from ----------------------------------------------------------------------------------


def test_patterns_and_choices_as_for_gen(sfgen: Sfgen, tmp_path: Path) -> None:
    pattern, choices = tmp_path / "pattern.txt", tmp_path / "choices.txt"
    pattern.write_text(f"{PATTERN}\n")
    choices.write_text("hot\ncold, very\n")
    assert sfgen("check", "--regex-file", pattern, "--text", "abc0").code == 0
    assert sfgen("check", "--regex-file", pattern, "--text", "ab").code == 1
    assert sfgen("check", "--choices", r"hot,cold\, very", "--text", "hot", "--text", "cold, very").code == 0
    assert sfgen("check", "--choices-file", choices, stdin="cold, very\nhot\n").code == 0
    done = sfgen("check", "--choices-file", choices, "--text", "hott", "--text", "col")
    assert done.out.splitlines()[::3] == [
        "text 1, character 4: 'hott' is not the start of a match: expected the end of the text",
        "text 2: 'col' is the start of a match: d must follow",
    ]


def test_the_flags_are_those_of_gen(sfgen: Sfgen) -> None:
    assert sfgen("check", "-r", r"\d+", "--text", "\u0664").code == 1
    assert sfgen("check", "-r", r"(?u)\d+", "--text", "\u0664").code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "sfgen check --regex '[a-z]{3}' --text abc"),
        (["--regex", "a", "--choices", "a,b", "--text", "a"], "--regex and --choices cannot be used together"),
        (["--regex", "a", "-", "-"], "stdin can be read once only"),
        (["--regex", "a", "--words-file", "-"], "stdin can be read once only"),
        (["--regex-file", "-", "-"], "stdin can be read once only, and --regex-file reads it"),
        (["--regex", "a(b", "--text", "x"], "unterminated"),
        (["--regex", "a^b", "--text", "x"], "no text at all"),
        (["--regex", "a", "--words", ",", "--text", "x"], "--words names no word"),
        (["--regex-file", "/no/such/file", "--text", "x"], "/no/such/file"),
        (["--choices", ",", "--text", "x"], "nothing to choose from"),
        (["--regex", "a{9999}{9999}", "--text", "x"], "pattern: "),
    ],
)
def test_trouble_is_no_answer(sfgen: Sfgen, arguments: list[str], message: str) -> None:
    done = sfgen("check", *arguments)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert "internal error" not in done.err


# --- a pattern and banned words ------------------------------------------------------------------------------------


def test_a_text_must_match_and_be_clean(sfgen: Sfgen) -> None:
    done = sfgen("check", "-r", "[a-z ]+", "--words", "talk", stdin="we listen\nwe talk\ntalk 2\n")
    assert done.code == 1
    assert done.out.splitlines() == [
        "line 2, column 4, byte 3: talk",
        "  we talk",
        "     ^^^^",
        "line 3, character 6: 'talk 2' is not the start of a match: expected [a-z ] or the end of the text",
        "  talk 2",
        "       ^",
        "line 3, column 1, byte 0: talk",
        "  talk 2",
        "  ^^^^",
    ]
    assert done.err == "sfgen: 1 of 3 texts match and are clean\n"
    assert sfgen("check", "-r", "[a-z ]+", "--words", "talk", "--text", "we listen", "--text", "talking").code == 0
    assert sfgen("check", "-r", "[a-z ]+", "--words", "talk", "-q", "--text", "we talk").code == 1
    # Each line is a text of its own here.
    assert sfgen("check", "-r", ".*", "--words", "we talk", stdin="we\ntalk\n").code == 0
    done = sfgen("check", "-r", r"(.|\n)*", "--words", "talk", "--text", "a", "--text", "b\ntalk")
    assert done.out.splitlines()[0] == "text 2, line 2, column 1, byte 2: talk"


def test_the_record_of_a_text_with_banned_words(sfgen: Sfgen) -> None:
    done = sfgen("check", "-r", "[a-z ]+", "--words", "talk", "--json", stdin="listen\nwe talk\n")
    assert done.code == 1
    assert [(record["matches"], record["banned"]) for record in done.records] == [
        (True, []),
        (True, [{"line": 2, "column": 4, "start": 3, "end": 7, "word": "talk", "found": "talk"}]),
    ]


# --- as a process --------------------------------------------------------------------------------------------------


def test_no_model_is_loaded() -> None:
    script = (
        "import sys; from sfgen_cli.shell.ending import run; "
        "assert run(['check', '--regex', 'a+', '--text', 'b']) == 1; "
        "print([name for name in ('torch', 'transformers', 'tokenizers') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "[]"


def test_texts_are_utf8_whatever_the_locale_says() -> None:
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for arguments, stdin in (["--text", "\u00e9"], b""), ([], b"\xc3\xa9\n"):
        command = [sys.executable, "-m", "sfgen_cli", "check", "--regex", r"\xe9", *arguments]
        done = subprocess.run(command, input=stdin, capture_output=True, env=environment, check=False, timeout=60)
        assert (done.returncode, done.stdout) == (0, b"")


def test_nothing_is_waited_for_on_a_terminal() -> None:
    master, slave = os.openpty()
    done = run_forked(["check", *REGEX], stdin=slave)
    os.close(slave)
    os.close(master)
    assert done.returncode == 2
    assert b"no text to look at" in done.stderr


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_line_is_told_as_soon_as_it_is_there(more: list[str]) -> None:
    process = forked(["check", *REGEX, *more], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        process.stdin.write(b"0\n")
        process.stdin.flush()
        assert b"1" in process.stdout.readline()
        process.stdin.write(b"abc0")
        process.stdin.close()
        process.stdout.read()
    assert process.returncode == 1


def test_quiet_does_not_wait_for_more_than_it_must_know() -> None:
    process = forked(["check", *REGEX, "--quiet"], stdin=subprocess.PIPE)
    assert process.stdin is not None
    with process:
        process.stdin.write(b"abc0\n0\n")
        process.stdin.flush()
        assert process.wait(timeout=60) == 1


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    if not shutil.which("bash"):
        pytest.skip("bash is not installed")
    lines = tmp_path / "lines.txt"
    lines.write_text("0\n" * 20_000)
    script = f'{sys.executable} -m sfgen_cli check --regex "{PATTERN}" <"{lines}" | head -1; echo "${{PIPESTATUS[0]}}"'
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, timeout=60)
    # What was known when the reader went is said: a script with pipefail would else take it for clean.
    assert done.stdout == "line 1, character 1: '0' is not the start of a match: expected [a-z]\n1\n"
    assert done.stderr == ""
    lines.write_text("abc0\n" * 20_000)
    script = script.replace("| head", "--json | head")
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert (done.stdout.splitlines()[-1], done.stderr) == ("0", "")


# --- against re ----------------------------------------------------------------------------------------------------

LETTERS = "ab0\n\r\u00e9\U0001f600"
patterns = st.recursive(
    st.sampled_from(["a", "b", "ab", "[ab]", "[^a]", ".", r"\w", "\u00e9", r"\r", "\U0001f600"]),
    lambda parts: st.one_of(
        st.lists(parts, max_size=3).map("".join),
        st.lists(parts, min_size=1, max_size=3).map(lambda branches: f"(?:{'|'.join(branches)})"),
        st.builds(lambda part, count: f"(?:{part}){count}", parts, st.sampled_from(["*", "+", "?", "{2}"])),
    ),
    max_leaves=5,
)


@tried("many")
@given(patterns, st.text(LETTERS, max_size=6))
def test_the_verdict_is_that_of_re(pattern: str, text: str) -> None:
    matching = Matching(Dfa.from_regex(pattern))
    checked = matching.check(text)
    matches = re.fullmatch(pattern, text, re.ASCII) is not None
    starts = checked.walk.verdict == "start"
    assert matching.matches(text) == checked.matches == matches
    assert checked.not_utf8 is None
    without = text.removesuffix("\r")
    assert checked.ends_in_return == (
        not matches and without != text and re.fullmatch(pattern, without, re.ASCII) is not None
    )
    if not matches:
        assert ("is the start of a match" in checked.in_words()) == starts
        line, caret, *_ = checked.shown()
        assert (len(line), len(caret)) >= (2, 3)
    assert json.loads(json.dumps(checked.record()))["content"] == text


@given(
    st.lists(st.sampled_from([b"a", b"\n", b"\r\n", b"\xc3\xa9", b"\xff", b"\xe8\x81", b"\xed\xa0\x80"]), max_size=12)
)
def test_the_lines_of_bytes_of_any_kind(pieces: list[bytes]) -> None:
    data = b"".join(pieces)
    texts = list(texts_of_lines(io.BytesIO(data)))
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    assert [text.encode("utf-8", "surrogateescape") for text in texts] == lines
    matching = Matching(Dfa.from_regex(r"[\s\S]*"))
    for line, text in zip(lines, texts, strict=True):
        checked = matching.check(text)
        try:
            line.decode()
            bad = None
        except UnicodeDecodeError as error:
            bad = error.start
        assert (checked.not_utf8, checked.matches) == (bad, bad is None)
