"""What a person sees on a terminal while a model is loaded."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.command.terminal import in_a_terminal

from sfgen import kernels
from sfgen.delays import Delay, delayed
from sfgen.models.uniform import UniformModel
from sfgen_cli.shell.ending import run
from sfgen_cli.shell.progress import PREPARING, progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Heavy(UniformModel):
    """Equal scores, from weights of many gigabytes."""

    weights_size = 3_213_000_000


@pytest.fixture
def stderr_of(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run with stderr as a terminal and return what it was sent, without colours."""
    monkeypatch.setattr("sfgen.models.load_model", lambda *_, **__: Heavy())
    monkeypatch.setattr("sfgen.models.location.check_model", lambda *_, **__: None)
    monkeypatch.setenv("TERM", "xterm")

    def call(*arguments: str) -> str:
        terminal = Terminal()
        monkeypatch.setattr(sys, "stderr", terminal)
        monkeypatch.setattr(sys, "stdin", io.StringIO())
        assert run(["gen", "--regex", "[ab]", *arguments, "x"]) == 0
        assert capfd.readouterr().out in ("a\n", "b\n")
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|(?<=… )\d+ s", "", terminal.getvalue())

    return call


def test_each_step_of_loading_is_named(stderr_of: Callable[..., Any]) -> None:
    shown = stderr_of("--model", "a/model", "--no-live")
    steps = [
        "reading the pattern… ",
        "reading the tokenizer of a/model… ",
        "preparing the index… ",
        "loading the weights of a/model (3.2 GB)… ",
    ]
    assert [step for step in steps if step not in shown] == []
    assert sorted(steps, key=shown.index) == steps


def test_what_takes_a_while_is_said_while_it_does_and_no_longer(
    monkeypatch: pytest.MonkeyPatch, stderr_of: Callable[..., Any]
) -> None:
    """The import of torch is not the reading of a tokenizer, and a download is told with its size."""

    def load(*_: object, **__: object) -> Heavy:
        with delayed(Delay("importing torch and transformers")):
            pass
        with delayed(Delay("downloading the tokenizer of a/model", is_download=True, size=17_000_000)):
            pass
        return Heavy()

    monkeypatch.setattr("sfgen.models.load_model", load)
    shown = stderr_of("--model", "a/model", "--no-live")
    reading = "reading the tokenizer of a/model… "
    steps = [reading, "importing torch and transformers… ", reading,
             "sfgen: downloading the tokenizer of a/model (17.0 MB)",
             "downloading the tokenizer of a/model… ", reading, "preparing the index… "]  # fmt: skip
    place = 0
    for step in steps:
        place = shown.index(step, place) + len(step)


def test_kernels_are_said_to_be_prepared_no_longer_than_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with progress(quiet=False) as say:
        say("reading the pattern")
        for begins in (True, False):
            for listener in tuple(kernels._listeners):
                listener(begins)
    shown = terminal.getvalue()
    assert shown.index(PREPARING) < shown.rindex("reading the pattern")


def test_names_are_shown_and_not_obeyed(stderr_of: Callable[..., Any]) -> None:
    assert r"the tokenizer of [bold]\x07a" in stderr_of("--model", "[bold]\x07a", "--no-live")


@pytest.mark.parametrize(
    "command",
    [
        "gen -m uniform --max-tokens 3 hi",
        "ban --words talk --max-tokens 3 hi",
        "gen --choices a,b --scores x",
        "index --regex a+",
    ],
)
def test_a_terminal_that_cannot_erase_is_shown_no_blank_line(command: str) -> None:
    seen = in_a_terminal(*command.split(), stdout_piped=True, TERM="dumb")
    assert (seen.code, seen.raw) == (0, "")
    assert seen.piped


def test_nor_is_it_beside_many_prompts(tmp_path: Path) -> None:
    (tmp_path / "prompts").write_text("hi\n")
    files = ["--input", str(tmp_path / "prompts"), "--lines", "--output", str(tmp_path / "records")]
    seen = in_a_terminal("gen", "-m", "uniform", "--max-tokens", "3", *files, TERM="dumb")
    assert seen.code == 0
    assert seen.raw == f"sfgen: 1 written to {tmp_path / 'records'}, 0 failed\r\n"


def test_quiet_shows_nothing(stderr_of: Callable[..., Any]) -> None:
    assert stderr_of("--quiet") == ""


COLD = """
import sys, traceback
from sfgen.kernels import told_of_compiling
from sfgen_cli.shell.ending import run
places = []
def note(begins):
    if begins:
        places.append({frame.name for frame in traceback.extract_stack()})
with told_of_compiling(note):
    assert run(["gen", "--regex", "(ab|[a-z]){4}", *sys.argv[1:]]) == 0
print(len(places), sum("rehearse" in names for names in places), sum("_sample" in names for names in places))
"""


def test_kernels_are_compiled_before_the_text_is_begun(tmp_path: Path) -> None:
    """While it is written, nobody would say why nothing happens."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", COLD]
    cold, warm = (
        subprocess.run(command, capture_output=True, text=True, check=True, env=environment, stdin=subprocess.DEVNULL)
        for _ in range(2)
    )
    text, counts = cold.stdout.splitlines()
    compiled, while_rehearsing, while_writing = map(int, counts.split())
    assert compiled > while_rehearsing > 0
    assert while_writing == 0
    assert warm.stdout.splitlines() == [text, "0 0 0"]
