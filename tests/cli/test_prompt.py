"""Where the prompt comes from, as a user types it."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sfgen_cli.__main__ import run

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


def test_the_first_of_argument_file_and_pipe(prompt: Callable[..., str], tmp_path: Path) -> None:
    file = tmp_path / "prompt.txt"
    file.write_text("from a file\n")
    assert prompt("given", stdin="from a pipe") == "given"
    assert prompt("", stdin="from a pipe") == ""
    assert prompt("--prompt-file", file, stdin="from a pipe") == "from a file"
    assert prompt("--prompt-file", "-", stdin="from a pipe") == "from a pipe"
    assert prompt("-", stdin="from a pipe") == prompt(stdin="from a pipe") == "from a pipe"
    assert prompt(stdin=None) == prompt("-", stdin=None) == ""


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


@pytest.mark.parametrize(("terminal", "arguments"), [(False, ["given"]), (True, []), (True, ["given"])])
def test_stdin_is_not_read_where_it_is_not_wanted(
    monkeypatch: pytest.MonkeyPatch, terminal: bool, arguments: list[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", Untouchable(terminal))
    assert run(["gen", *SHORT, *arguments]) == 0


def test_on_a_terminal_the_empty_prompt_never_waits() -> None:
    master, slave = pty.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "sfgen_cli", "gen", *SHORT],
            stdin=slave,
            capture_output=True,
            timeout=120,
            check=True,
        )
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
