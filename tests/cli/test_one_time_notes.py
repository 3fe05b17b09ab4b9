"""What is said once on a terminal, to whoever chose no model: that ``tiny`` is a demonstration."""

from __future__ import annotations

import os
import pty
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from tests.support.command.terminal import in_a_terminal, plain

SAID = "a demonstration"
GEN = ("gen", "--regex", "[0-9]{3}", "Number ")
BAN = ("ban", "--words", "talk,listen", "--max-tokens", "4", "Can we talk?")


Sfgen = Callable[..., Any]
Told = Callable[..., bool]


@pytest.fixture
def told(sfgen: Sfgen, monkeypatch: pytest.MonkeyPatch) -> Told:
    """``told("gen", …, XDG_STATE_HOME="…")``: whether a command whose stderr is a terminal says it there."""

    def call(*arguments: str, **environment: str) -> bool:
        master, slave = pty.openpty()
        shown = bytearray()

        def read() -> None:
            while not shown.endswith(b"\0"):
                shown.extend(os.read(master, 4096))

        reader = Thread(target=read)
        reader.start()
        with open(slave, "w") as terminal, monkeypatch.context() as patch:
            for name, value in environment.items():
                patch.setenv(name, value)
            patch.setattr(sys, "stderr", terminal)
            try:
                done = sfgen(*arguments)
            finally:
                os.write(slave, b"\0")  # no text: it ends what is read
                reader.join()
        os.close(master)
        assert done.code == 0, shown
        return SAID in plain(shown.decode())

    return call


def test_it_is_said_in_words_that_help(tmp_path: Path) -> None:
    """In a process of its own, the terminal of which is stdout too."""
    first = in_a_terminal(*GEN, XDG_STATE_HOME=str(tmp_path))
    assert (first.code, SAID in plain(first.raw)) == (0, True)
    assert "sfgen: this is by tiny" in first.raw
    assert "a directory, a name on the hub, or a .gguf file" in plain(first.raw)
    second = in_a_terminal(*GEN, XDG_STATE_HOME=str(tmp_path))
    assert (second.code, SAID in plain(second.raw)) == (0, False)


@pytest.mark.parametrize("command", [GEN, BAN, (*GEN, "--json"), (*BAN, "--compare")])
def test_it_is_said_once(command: tuple[str, ...], told: Told, tmp_path: Path) -> None:
    assert told(*command, XDG_STATE_HOME=str(tmp_path))
    assert not told(*command, XDG_STATE_HOME=str(tmp_path))


def test_it_goes_to_stderr_behind_the_text(tmp_path: Path) -> None:
    seen = in_a_terminal(*GEN, stdout_piped=True, XDG_STATE_HOME=str(tmp_path))
    assert SAID in plain(seen.raw)
    assert (seen.code, len(seen.piped)) == (0, 4)


def test_of_many_prompts(told: Told, tmp_path: Path) -> None:
    prompts = tmp_path / "prompts"
    prompts.write_text("one\ntwo\n")
    command = ("gen", "--regex", "[0-9]", "--input", str(prompts), "--lines", "--output", str(tmp_path / "out"))
    assert told(*command, XDG_STATE_HOME=str(tmp_path))
    assert not told(*command, "--force", XDG_STATE_HOME=str(tmp_path))


@pytest.mark.parametrize("more", [("--model", "tiny"), ("--model", "uniform"), ("-m", "tiny"), ("--quiet",)])
def test_it_is_not_said(more: tuple[str, ...], told: Told, tmp_path: Path) -> None:
    """To those who named a model, and to those who want to hear nothing; and they count as not told."""
    assert not told(*GEN, *more, XDG_STATE_HOME=str(tmp_path))
    assert told(*GEN, XDG_STATE_HOME=str(tmp_path))


def test_it_is_not_said_where_the_environment_names_a_model(told: Told, tmp_path: Path) -> None:
    assert not told(*GEN, SFGEN_MODEL="tiny", XDG_STATE_HOME=str(tmp_path))


def test_no_text_no_word(told: Told, tmp_path: Path) -> None:
    assert not told("ban", "--words", "talk", "--routes", XDG_STATE_HOME=str(tmp_path))


def test_where_there_is_no_terminal(sfgen: Sfgen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    done = sfgen(*GEN)
    assert (done.code, done.err) == (0, "")
    assert not list(tmp_path.iterdir())


def test_where_it_cannot_be_kept(told: Told, tmp_path: Path) -> None:
    """It would be said each time, so it is not said."""
    file = tmp_path / "file"
    file.touch()
    assert not told(*GEN, XDG_STATE_HOME=str(file))


def test_where_it_is_kept(told: Told, tmp_path: Path) -> None:
    """In the home, where the environment does not say otherwise; a relative folder is none, by the specification."""
    assert told(*GEN, XDG_STATE_HOME="relative", HOME=str(tmp_path))
    assert [file.name for file in (tmp_path / ".local" / "state" / "sfgen").iterdir()]
    assert not told(*GEN, XDG_STATE_HOME="", HOME=str(tmp_path))
