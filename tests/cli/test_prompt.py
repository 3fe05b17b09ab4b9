"""Where the prompt comes from, as a user types it."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.command.processes import forked, run_forked
from tests.support.command.terminal import Terminal, in_a_terminal

from sfgen_cli.shell.ending import run

Sfgen = Callable[..., Any]
SHORT = ["-m", "uniform", "-r", "a", "--json"]


@pytest.fixture
def prompt(sfgen: Sfgen) -> Callable[..., str]:
    """The prompt that a command line ends up with."""

    def read(*arguments: str | Path, stdin: str | bytes | None = "") -> str:
        done = sfgen("gen", *SHORT, *arguments, stdin=stdin)
        assert (done.code, done.err) == (0, "")
        text = done.records[0]["prompt"]
        assert isinstance(text, str)
        return text

    return read


def test_what_is_piped_in_comes_before_the_argument_or_the_file(prompt: Callable[..., str], tmp_path: Path) -> None:
    file = tmp_path / "prompt.txt"
    file.write_text("from a file\n")
    assert prompt("given", stdin="from a pipe") == "from a pipe\n\ngiven"
    assert prompt("given", stdin="two\nlines\n") == "two\nlines\n\ngiven"
    assert prompt("--prompt-file", file, stdin="from a pipe\n") == "from a pipe\n\nfrom a file"
    for alone in (["-"], ["--prompt-file", "-"], [], [""]):
        assert prompt(*alone, stdin="from a pipe") == "from a pipe"
    for nothing in ("", "\n", None):
        assert prompt("given", stdin=nothing) == "given"
        assert prompt("--prompt-file", file, stdin=nothing) == "from a file"
        assert prompt("-", stdin=nothing) == prompt(stdin=nothing) == prompt("", stdin=nothing) == ""


def test_ban_reads_the_pipe_too(sfgen: Sfgen) -> None:
    ban = ["ban", "-m", "uniform", "--max-tokens", "2", "--words", "x", "--json"]
    assert sfgen(*ban, "Summarise", stdin="An article.\n").records[0]["prompt"] == "An article.\n\nSummarise"
    compared = sfgen(*ban, "--compare", "Summarise", stdin="An article.\n").records[0]
    assert {side["prompt"] for side in compared.values()} == {"An article.\n\nSummarise"}


def test_what_is_read_for_something_else_is_no_part_of_the_prompt(sfgen: Sfgen) -> None:
    gen = ["gen", "-m", "uniform", "--json"]
    for option, stdin, key in (
        ("--regex-file", "[ab]\n", "pattern"),
        ("--choices-file", "a\nb\n", "choices"),
        ("--ban-words-file", "talk\n", "banned"),
    ):
        (record,) = sfgen(*gen, option, "-", "--max-tokens", "3", "given", stdin=stdin).records
        assert record["prompt"] == "given"
        assert record[key] in ("[ab]", ["a", "b"]) or record[key]["words"] == ["talk"]
    ban = ["ban", "-m", "uniform", "--json", "--max-tokens", "2"]
    assert sfgen(*ban, "--words-file", "-", "given", stdin="talk").records[0]["prompt"] == "given"
    assert sfgen(*ban, "--words-file", "-", stdin="talk").records[0]["prompt"] == ""


@pytest.mark.parametrize(
    ("arguments", "two"),
    [
        (["gen", "--regex-file", "-", "--ban-words-file", "-"], "--regex-file and --ban-words-file"),
        (["gen", "--choices-file", "-", "--input", "-"], "--choices-file and --input"),
        (["gen", "--regex-file", "-", "-"], "the prompt and --regex-file"),
        (["gen", "--regex-file", "-", "--prompt-file", "-"], "--regex-file and --prompt-file"),
        (["ban", "--words-file", "-", "--input", "-"], "--words-file and --input"),
        (["ban", "--words-file", "-", "-"], "the prompt and --words-file"),
        (["index", "--regex-file", "-", "--choices-file", "-"], "--regex-file and --choices-file"),
    ],
)
def test_stdin_is_read_once(sfgen: Sfgen, arguments: list[str], two: str) -> None:
    done = sfgen(*arguments, stdin="a")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"sfgen: {two} cannot ")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", ""),
        (b"\n", ""),
        (b"a\n", "a"),
        (b"a\n\n", "a\n"),
        (b"a\r\n", "a"),
        (b"a\r", "a\r"),
        (b"a\r\nb\n\r\n", "a\r\nb\n"),
        (b" a \n", " a "),
        (b"\xef\xbb\xbfa", "a"),
        (b"a\0b", "a\0b"),
        ("žluť 🙂\u2028\n".encode(), "žluť 🙂\u2028"),
    ],
)
def test_one_newline_at_the_end_of_a_pipe_or_file_is_removed(
    prompt: Callable[..., str], tmp_path: Path, data: bytes, text: str
) -> None:
    file = tmp_path / "prompt.txt"
    file.write_bytes(data)
    assert prompt(stdin=data) == prompt("-", stdin=data) == text
    assert prompt("--prompt-file", file) == text


def test_nothing_of_an_argument_is_removed(prompt: Callable[..., str]) -> None:
    for text in ("a\n", "a\r\n\n", " a ", "\t", "žluť 🙂"):
        assert prompt(text) == text
    assert prompt("a\udcffb") == "a\ufffdb"  # an argument that is no UTF-8


class Untouchable(io.StringIO):
    """A stdin that must not be read."""

    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal

    def read(self, *_: Any) -> str:
        raise AssertionError("stdin was read")


@pytest.mark.parametrize("arguments", [[], ["given"]])
def test_a_terminal_is_not_read_unasked(monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> None:
    monkeypatch.setattr(sys, "stdin", Untouchable(True))
    assert run(["gen", *SHORT, *arguments]) == 0


def test_what_needs_no_prompt_does_not_read_stdin(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    prompts = tmp_path / "prompts.txt"
    prompts.write_text("a\n")
    monkeypatch.setattr(sys, "stdin", Untouchable(False))
    assert run(["ban", "--words", "talk", "--routes"]) == 0
    assert run(["gen", *SHORT, "--input", str(prompts), "--lines"]) == 0
    assert run(["gen", *SHORT, "--words", "x", "given"]) == 2  # no such option
    assert run(["gen", "--choices", ",", "given"]) == 2


# ---- as a process, whose stdin is what the shell or a program made of it ---------------------------------------------


COMMAND = [sys.executable, "-m", "sfgen_cli", "gen", "-m", "uniform", "--max-tokens", "1", "--json"]


def prompts_of(script: str, folder: Path, stdin: Any = subprocess.DEVNULL) -> list[str]:
    """The prompts of the runs of ``$SFGEN`` in a script of the shell, in order."""
    done = subprocess.run(
        ["sh", "-c", script],
        cwd=folder,
        stdin=stdin,
        env={**os.environ, "SFGEN": " ".join(COMMAND)},
        capture_output=True,
        check=True,
        timeout=300,
    )
    assert done.stderr == b""
    return [json.loads(line)["prompt"] for line in done.stdout.splitlines()]


def test_an_article_and_a_question(tmp_path: Path) -> None:
    (tmp_path / "article").write_text("It is\nhot.\n")
    both = ["It is\nhot.\n\nSummarise"]
    assert prompts_of("cat article | $SFGEN Summarise", tmp_path) == both
    assert prompts_of("$SFGEN Summarise < article", tmp_path) == both
    assert prompts_of("{ sleep 1; cat article; } | $SFGEN Summarise", tmp_path) == both
    with open(tmp_path / "article", "rb") as article:  # that of a script is that of its commands
        assert prompts_of("$SFGEN Summarise", tmp_path, article) == both


def test_a_stdin_without_anything_in_it(tmp_path: Path) -> None:
    for script in ("$SFGEN given </dev/null", "$SFGEN given <&-", ": | $SFGEN given", "$SFGEN given < empty"):
        (tmp_path / "empty").touch()
        assert prompts_of(script, tmp_path) == ["given"]


def test_the_lines_of_a_loop_are_left_to_it(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("one\ntwo\n")
    loop = 'while read -r line; do $SFGEN "$line"; done'
    assert prompts_of(f"{loop} < lines", tmp_path) == ["one", "two"]
    # A pipe cannot be told from one that is meant: it is read, as by ssh and ffmpeg, and </dev/null helps.
    assert prompts_of(f"cat lines | {loop}", tmp_path) == ["two\n\none"]
    assert prompts_of('cat lines | while read -r line; do $SFGEN "$line" </dev/null; done', tmp_path) == ["one", "two"]
    # Without a prompt of its own, and with -, the rest is what is meant.
    assert prompts_of("{ read -r line; $SFGEN; } < lines", tmp_path) == ["two"]
    assert prompts_of("{ read -r line; $SFGEN -; } < lines", tmp_path) == ["two"]


@pytest.mark.parametrize("quiet", [[], ["--quiet"]])
def test_a_pipe_that_stays_silent_is_waited_for_with_a_word(quiet: list[str]) -> None:
    process = forked(
        ["gen", *SHORT, *quiet, "given"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        if not quiet:
            assert process.stderr.readline().startswith(b"sfgen: waiting for the end of stdin")
        process.stdin.write(b"late\n")
        process.stdin.close()
        assert json.loads(process.stdout.read())["prompt"] == "late\n\ngiven"
        assert process.stderr.read() == b""


def test_a_stdin_that_cannot_be_read() -> None:
    with open(os.devnull, "wb") as writable:
        done = run_forked(["gen", *SHORT, "given"], stdin=writable)
    assert done.returncode == 1
    assert done.stderr.startswith(b"sfgen: cannot read stdin")


def test_on_a_terminal_the_empty_prompt_never_waits() -> None:
    master, slave = pty.openpty()
    try:
        done = run_forked(["gen", *SHORT], stdin=slave)
    finally:
        os.close(slave)
        os.close(master)
    assert b'"prompt": ""' in done.stdout


def test_the_empty_prompt_starts_from_the_end_token_of_the_embedded_model(sfgen: Sfgen) -> None:
    (record,) = sfgen("gen", "--json", "--max-tokens", "5").records
    assert (record["prompt"], record["prompt_tokens"]) == ("", 1)


@pytest.mark.parametrize(
    ("argument", "shown"),
    [
        ("-5 degrees", "'-5 degrees'"),
        ("- a list item", "'- a list item'"),
        ("--- and so on", "'--- and so on'"),
        ("-n is a flag", "'-n is a flag'"),
        ("-t hot", "'-t hot'"),
        ("--json is nice", "'--json is nice'"),
        ("-hello", "-hello"),
        ("-it's", """'-it'"'"'s'"""),
    ],
)
@pytest.mark.parametrize("command", [["gen"], ["ban", "--words", "x"]])
def test_a_prompt_that_begins_with_a_dash(sfgen: Sfgen, argument: str, shown: str, command: list[str]) -> None:
    done = sfgen(*command, argument)
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines()[1:] == [f"If it is the prompt, put -- before it: sfgen {command[0]} … -- {shown}"]
    assert sfgen("gen", *SHORT, "--", argument).records[0]["prompt"] == argument


def test_a_mistyped_option_is_no_prompt(sfgen: Sfgen) -> None:
    assert sfgen("gen", "--jso", "a prompt").err.splitlines()[1] == "Did you mean --json? See: sfgen gen --help"
    assert sfgen("gen", "--top-p=x y", "a").err.splitlines()[1] == "See: sfgen gen --help"
    assert sfgen("index", "--", "-r", "-x").err.splitlines()[1] == "See: sfgen index --help"


def test_a_prompt_that_looks_like_a_pattern(sfgen: Sfgen) -> None:
    free = ["gen", "-m", "uniform", "--max-tokens", "3"]
    hint = "sfgen: the prompt looks like a pattern; to match it: sfgen gen --regex"
    assert sfgen(*free, "[0-9]{4}").err == f"{hint} '[0-9]{{4}}'\n"
    assert sfgen(*free, stdin="it's \\d+\n").err == f"""{hint} 'it'"'"'s \\d+'\n"""
    assert sfgen(*free, "[a-z]+\n" * 40).err == f"{hint} PATTERN\n"
    assert sfgen(*free, "[0-9]{4}", stdin="a word").err == f"{hint} '[0-9]{{4}}'\n"
    assert sfgen(*free, "Summarise", stdin="x = re.compile('[a-z]+')").err == ""
    for arguments in (["-q", "[0-9]{4}"], ["-r", "a", "[0-9]{4}"], ["It is (very) hot."], ["Is it [sic] so?"]):
        done = sfgen(*free, *arguments)
        assert (done.code, done.err) == (0, "")


def test_echo_writes_the_prompt_as_it_was_given(sfgen: Sfgen) -> None:
    fixed = ["gen", "-m", "uniform", "-r", "ab", "--echo"]
    assert sfgen(*fixed, "x: ").out == "x: ab\n"
    assert sfgen(*fixed, stdin="one\ntwo\n\n").out == "one\ntwo\nab\n"
    assert sfgen(*fixed).out == "ab\n"
    assert sfgen(*fixed, "-n", "2", "x").out == "xab\nxab\n"
    # Free text, which is written while it comes.
    plain = sfgen("gen", "-m", "uniform", "--max-tokens", "5", "--seed", "1", "x").out
    assert sfgen("gen", "-m", "uniform", "--max-tokens", "5", "--seed", "1", "--echo", "x").out == "x" + plain


# ---- in a terminal ---------------------------------------------------------------------------------------------------


def test_with_the_live_view_the_pipe_and_the_argument_are_both_the_prompt() -> None:
    free = ["gen", "-m", "uniform", "--max-tokens", "3", "--seed", "1", "--echo", "Summarise"]
    with Terminal(*free, stdin=b"An article.\n") as terminal:
        seen = terminal.finish()
    assert seen.code == 0
    assert seen.screen[:2] == ["An article.", next(line for line in seen.screen if line.startswith("Summarise"))]
    assert any("An article.↵↵Summarise" in row for row in seen.frames[-1])


def test_in_a_terminal_a_prompt_waits_for_nothing() -> None:
    for arguments in (["given"], []):
        seen = in_a_terminal("gen", *SHORT, *arguments, stdout_piped=True)
        assert (seen.code, json.loads(seen.piped)["prompt"]) == (0, "".join(arguments))


def test_in_a_terminal_check_without_a_text_does_not_wait() -> None:
    seen = in_a_terminal("check", "--words", "talk")
    assert seen.code == 2
    assert seen.screen[0] == "sfgen: no text to look at: no file, no --text and nothing piped in"
    with Terminal("check", "--words", "talk", "-") as terminal:
        terminal.press("we talk\n\x04")
        typed = terminal.finish()
    assert typed.code == 1
    assert "line 1, column 4, byte 3: talk" in typed.screen
