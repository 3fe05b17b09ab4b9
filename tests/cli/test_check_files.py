"""``check`` reads files as grep does: their names, their lines, and an exit code that tells no from trouble."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.command.processes import forked, run_forked
from tests.support.running.tried import tried

from sfgen.ban import BannedWords, scan
from sfgen_cli.shell.ending import run

Sfgen = Callable[..., Any]
COMMAND = ["check"]
WORDS = ["--words", "talk,listen to"]
REGEX = ["--regex", "[a-z ]+"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a file that is clean and matches, and one that does neither."""
    monkeypatch.chdir(tmp_path)
    Path("good").write_text("we sing\nand dance\n")
    Path("bad.txt").write_text("we TALK\nand listen\nto 7\n")
    return tmp_path


def test_a_file_is_read_and_named(sfgen: Sfgen) -> None:
    done = sfgen("check", *WORDS, "bad.txt")
    assert (done.code, done.err) == (1, "sfgen: 2 matches\n")
    assert done.out.splitlines() == [
        "bad.txt, line 1, column 4, byte 3: talk",
        "  we TALK",
        "     ^^^^",
        "bad.txt, line 2, column 5, byte 12: listen to",
        "  and listen",
        "      ^^^^^^",
    ]
    assert sfgen("check", *WORDS, "good").code == 0
    done = sfgen("check", *REGEX, "bad.txt", "good")
    assert done.out.splitlines()[::3] == [
        "bad.txt, line 1, character 4: 'we TALK' is not the start of a match: expected [a-z ] or the end of the text",
        "bad.txt, line 3, character 4: 'to 7' is not the start of a match: expected [a-z ] or the end of the text",
    ]
    assert (done.code, done.err) == (1, "sfgen: 3 of 5 texts match\n")


def test_the_name_is_in_the_records(sfgen: Sfgen) -> None:
    done = sfgen("check", *WORDS, "--json", "good", "bad.txt", "-", "--text", "2 talk", stdin="a\ntalk")
    assert [(record["file"], record["text"], record["line"]) for record in done.records] == [
        ("bad.txt", 2, 1),
        ("bad.txt", 2, 2),
        ("-", 3, 2),
        (None, 4, 1),
    ]
    done = sfgen("check", *REGEX, "--json", "good", "-", "--text", "sing", stdin="b\n")
    assert [(record["file"], record["text"], record["line"], record["matches"]) for record in done.records] == [
        ("good", 1, 1, True),
        ("good", 2, 2, True),
        ("-", 3, 1, True),
        (None, 4, None, True),
    ]


def test_stdin_is_read_where_nothing_else_is_named(sfgen: Sfgen) -> None:
    assert sfgen("check", *WORDS, stdin="we talk").out.startswith("line 1, column 4, byte 3: talk\n")
    assert sfgen("check", *WORDS, "-", stdin="we talk").code == 1
    assert sfgen("check", *WORDS, "good", stdin="we talk").code == 0
    assert sfgen("check", *WORDS, "--text", "we sing", stdin="we talk").code == 0
    done = sfgen("check", *WORDS, "good", "-", stdin="we talk")
    assert done.out.startswith("stdin, line 1, column 4, byte 3: talk\n")


def test_the_text_in_place_of_a_file_is_told_how_to_be_given(sfgen: Sfgen) -> None:
    done = sfgen("check", *WORDS, "Can we talk?")
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines() == [
        "sfgen: no such file: Can we talk?",
        "If it is the text itself: sfgen check … --text 'Can we talk?'",
    ]
    long = sfgen("check", *WORDS, "we talk " * 1000)
    assert (long.code, long.out) == (2, "")
    assert len(long.err) < 1000


def test_a_file_that_cannot_be_read_does_not_hide_the_others(sfgen: Sfgen, folder: Path) -> None:
    Path("sub").mkdir()
    done = sfgen("check", *WORDS, "none", "sub", "bad.txt")
    assert done.code == 2
    assert done.out.startswith("bad.txt, line 1")
    assert "no such file: none" in done.err
    assert "cannot read sub: Is a directory" in done.err
    assert done.err.endswith("sfgen: 2 matches\n")
    assert sfgen("check", *WORDS, "good", "none").code == 2
    assert sfgen("check", *REGEX, "good", "none").code == 2
    # As grep's: with --quiet what was found counts, whatever was in the way before.
    quiet = sfgen("check", *WORDS, "--quiet", "none", "bad.txt")
    assert (quiet.code, quiet.out) == (1, "")
    assert quiet.err.startswith("sfgen: no such file: none\n")
    assert sfgen("check", *WORDS, "--quiet", "none", "good").code == 2


def test_lines_by_themselves(sfgen: Sfgen) -> None:
    Path("bad.jsonl").write_bytes(Path("bad.txt").read_bytes())
    for arguments in (["--lines", "bad.txt"], ["bad.jsonl"]):
        done = sfgen("check", *WORDS, "--json", *arguments)
        assert [(record["text"], record["line"], record["start"]) for record in done.records] == [(1, 1, 3)]
        assert sfgen("check", "--words", "listen to", *arguments).code == 0  # goes over two lines
        assert sfgen("check", "--pattern", r"\Aand", *arguments).code == 1
    assert sfgen("check", "--pattern", r"\Aand", "bad.txt").code == 0
    # In JSON the word may stand after an escape, where it is another one: a person is told.
    Path("text.jsonl").write_text('{"text": "we\\ntalk"}\n')
    done = sfgen("check", "--words", "talk", "text.jsonl")
    assert done.code == 0
    assert "its texts alone: jq -r .text text.jsonl | sfgen check" in done.err
    assert sfgen("check", "--words", "talk", "--quiet", "text.jsonl").err == ""
    assert "jq" not in sfgen("check", "--regex", ".*", "text.jsonl").err
    assert sfgen("check", "--words", "listen to", "--lines", "--text", "listen\nto").code == 1  # a text is one text
    assert sfgen("check", "--words", "listen to", "--lines", stdin="listen\nto").code == 0


@pytest.mark.parametrize("by_line", [[*REGEX, "f"], ["--choices", "a", "f"], [*WORDS, "--lines", "f"]])
def test_a_file_without_lines_is_in_the_way(sfgen: Sfgen, by_line: list[str]) -> None:
    """Nothing was checked, which a script must not take for a success."""
    Path("f").touch()
    for more in ([], ["--quiet"], ["--text", "a"]):
        done = sfgen("check", *by_line, *more)
        assert done.code == 2
        assert done.err.startswith("sfgen: f has no text in it: nothing was checked\n")
        assert sfgen("check", *by_line, "--allow-empty", *more).code == 0
    assert sfgen("check", *by_line, "--text", "2 talk").code == 2
    assert sfgen("check", *by_line, "--text", "2 talk", "--allow-empty").code == 1
    Path("f").write_text("\n")  # the empty text
    assert sfgen("check", *by_line).code == (0 if "--lines" in by_line else 1)


def test_json_lines_without_a_document(sfgen: Sfgen) -> None:
    Path("f.jsonl").write_text("\n \n")
    done = sfgen("check", "--schema", "name", "f.jsonl")
    assert (done.code, done.out) == (2, "")
    assert "--allow-empty" in done.err
    assert sfgen("check", "--schema", "name", "f.jsonl", "--allow-empty").code == 0


@pytest.mark.parametrize(
    ("constraint", "code"),
    [
        (["--schema", "true"], 1),
        (["--grammar", 'root ::= "a"?'], 0),
        (["--grammar", 'root ::= "a"'], 1),
        (["--template", "{{a: regex b*}}"], 0),
        (WORDS, 0),
        (["--pattern", "[a-z]"], 0),
    ],
)
def test_a_file_that_is_one_text_is_the_empty_text(sfgen: Sfgen, constraint: list[str], code: int) -> None:
    Path("empty").touch()
    assert sfgen("check", *constraint, "empty").code == code
    assert sfgen("check", *constraint, stdin="").code == code


def test_names_of_all_kinds(sfgen: Sfgen) -> None:
    for name in ("-text", "a b", "\x1b[31m\n", "žluť", "[a-z]+"):
        Path(name).write_text("we talk\n")
        done = sfgen("check", *WORDS, "--json", "--", name)
        assert (done.code, done.records[0]["file"]) == (1, name)
        assert len(sfgen("check", *WORDS, "--", name).out.splitlines()) == 3
    assert sfgen("check", *WORDS, "").code == 2


def test_the_options_have_their_long_names_too(sfgen: Sfgen) -> None:
    assert sfgen("check", "--ban-words", "talk", "--ban-case-sensitive", "bad.txt").code == 0
    assert sfgen("check", "--ban-pattern", "[0-9]", "bad.txt").code == 1


# ---- as a process --------------------------------------------------------------------------------------------------


def checked(*arguments: str, **options: Any) -> tuple[int, bytes]:
    done = run_forked([*COMMAND, *arguments], **options)
    return done.returncode, done.stdout


def test_the_exit_codes_of_grep() -> None:
    assert checked(*WORDS, "good")[0] == 0
    assert checked(*WORDS, "bad.txt")[0] == 1
    assert checked(*WORDS, "none")[0] == 2
    assert checked("--regex", "(", "good")[0] == 2
    assert checked("--no-such-option")[0] == 2
    with open("/dev/full", "wb") as full:
        done = run_forked([*COMMAND, *WORDS, "bad.txt"], stdout=full)
    assert (done.returncode, done.stderr) == (2, b"sfgen: cannot write the output: No space left on device\n")


def test_what_fails_by_a_fault_of_sfgen_is_no_answer(sfgen: Sfgen, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("sfgen_cli.commands.check.read_bans", broken)
    monkeypatch.delenv("SFGEN_DEBUG", raising=False)
    assert sfgen("check", *WORDS, "good").code == 2


def test_a_pipe_with_a_name() -> None:
    os.mkfifo("pipe")
    with forked([*COMMAND, *WORDS, "--json", "pipe"], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        pipe = os.open("pipe", os.O_RDWR)  # which waits for nobody
        os.write(pipe, b"we talk\n")
        try:
            assert json.loads(process.stdout.readline())["file"] == "pipe"  # before the end is there
        finally:
            os.close(pipe)
    assert process.returncode == 1


# ---- against scan --------------------------------------------------------------------------------------------------

PIECES = st.lists(st.sampled_from(["talk", " ", "\n", "listen", "to", "é", "\r\n", "talking"]), max_size=9).map("".join)


@tried("some")
@given(st.lists(PIECES, min_size=1, max_size=3), st.booleans())
def test_a_file_is_clean_if_its_texts_are(
    tmp_path_factory: pytest.TempPathFactory, contents: list[str], by_line: bool
) -> None:
    folder = tmp_path_factory.mktemp("files")
    names = []
    for number, content in enumerate(contents):
        names.append(str(folder / str(number)))
        Path(names[-1]).write_bytes(content.encode())
    banned = BannedWords(["talk", "listen to"])
    texts = [text for content in contents for text in (content.split("\n") if by_line else [content])]
    code = run(["check", *WORDS, "--quiet", *(["--lines", "--allow-empty"] if by_line else []), *names])
    assert code == int(any(scan(text, banned) for text in texts))
