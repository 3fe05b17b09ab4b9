"""What is said once on a terminal, to whoever chose no model: that ``tiny`` is a demonstration."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from terminal import Seen, in_a_terminal, plain

SAID = "a demonstration"
GEN = ("gen", "--regex", "[0-9]{3}", "Number ")
BAN = ("ban", "--words", "talk,listen", "--max-tokens", "4", "Can we talk?")


def told(seen: Seen) -> bool:
    assert seen.code == 0, seen.raw
    return SAID in plain(seen.raw)


@pytest.mark.parametrize("command", [GEN, BAN, (*GEN, "--json"), (*BAN, "--compare")])
def test_it_is_said_once(command: tuple[str, ...], tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    first = in_a_terminal(*command, XDG_STATE_HOME=state)
    assert told(first)
    assert "sfgen: this is by tiny" in first.raw
    assert "a directory, a name on the hub, or a .gguf file" in plain(first.raw)
    assert not told(in_a_terminal(*command, XDG_STATE_HOME=state))


def test_it_goes_to_stderr_behind_the_text(tmp_path: Path) -> None:
    seen = in_a_terminal(*GEN, stdout_piped=True, XDG_STATE_HOME=str(tmp_path))
    assert told(seen)
    assert len(seen.piped) == 4


def test_of_many_prompts(tmp_path: Path) -> None:
    prompts = tmp_path / "prompts"
    prompts.write_text("one\ntwo\n")
    command = ("gen", "--regex", "[0-9]", "--input", str(prompts), "--lines", "--output", str(tmp_path / "out"))
    assert told(in_a_terminal(*command, XDG_STATE_HOME=str(tmp_path)))
    assert not told(in_a_terminal(*command, "--force", XDG_STATE_HOME=str(tmp_path)))


@pytest.mark.parametrize("more", [("--model", "tiny"), ("--model", "uniform"), ("-m", "tiny"), ("--quiet",)])
def test_it_is_not_said(more: tuple[str, ...], tmp_path: Path) -> None:
    """To those who named a model, and to those who want to hear nothing; and they count as not told."""
    assert not told(in_a_terminal(*GEN, *more, XDG_STATE_HOME=str(tmp_path)))
    assert told(in_a_terminal(*GEN, XDG_STATE_HOME=str(tmp_path)))


def test_it_is_not_said_where_the_environment_names_a_model(tmp_path: Path) -> None:
    assert not told(in_a_terminal(*GEN, SFGEN_MODEL="tiny", XDG_STATE_HOME=str(tmp_path)))


def test_no_text_no_word(tmp_path: Path) -> None:
    assert not told(in_a_terminal("ban", "--words", "talk", "--routes", XDG_STATE_HOME=str(tmp_path)))


def test_where_there_is_no_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    done = subprocess.run([sys.executable, "-m", "sfgen_cli", *GEN], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert not list(tmp_path.iterdir())


def test_where_it_cannot_be_kept(tmp_path: Path) -> None:
    """It would be said each time, so it is not said."""
    file = tmp_path / "file"
    file.touch()
    assert not told(in_a_terminal(*GEN, XDG_STATE_HOME=str(file)))


def test_where_it_is_kept(tmp_path: Path) -> None:
    """In the home, where the environment does not say otherwise; a relative folder is none, by the specification."""
    assert told(in_a_terminal(*GEN, XDG_STATE_HOME="relative", HOME=str(tmp_path)))
    assert [file.name for file in (tmp_path / ".local" / "state" / "sfgen").iterdir()]
    assert not told(in_a_terminal(*GEN, XDG_STATE_HOME="", HOME=str(tmp_path)))
