"""The command in poor surroundings: locales, folders that cannot be written to, streams that are closed or full."""

from __future__ import annotations

import ast
import json
import os
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.support.command.processes import run_forked
from tests.support.command.terminal import SFGEN, Terminal, in_a_terminal, plain

from sfgen_cli.shell.progress import PREPARING

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-m", "sfgen_cli"]
UNIFORM = ("gen", "-m", "uniform", "-r")
ASCII_ONLY: dict[str, Any] = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}
NO_FILE = "/dev/null/nowhere"  # cannot be made, not even by root

needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")


def sfgen(*arguments: str, environment: dict[str, str]) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*COMMAND, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=120,
        env={**os.environ, **environment},
    )


def shell(line: str) -> subprocess.CompletedProcess[bytes]:
    """Run a line of bash in which ``sfgen`` is the command."""
    script = f'sfgen() {{ "{sys.executable}" -m sfgen_cli "$@"; }}\n{line}'
    return subprocess.run(
        ["bash", "-c", script], stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=120
    )


def test_arguments_and_text_are_exact_where_only_ascii_is_known() -> None:
    done = sfgen(*UNIFORM, "ž{2}|é{2}", "--echo", "žluť 🙂 ", environment=ASCII_ONLY)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode() in ("žluť 🙂 žž\n", "žluť 🙂 éé\n")


def test_messages_are_readable_where_only_ascii_is_known(tmp_path: Path) -> None:
    done = sfgen("gen", "--regex-file", str(tmp_path / "žluť"), environment=ASCII_ONLY)
    assert done.returncode == 1
    assert done.stdout == b""
    lines = done.stderr.decode("ascii").splitlines()
    assert 1 <= len(lines) <= 4
    assert lines[0].startswith("sfgen: ")
    assert r"\u017elu\u0165" in lines[0]


def test_what_moves_is_shown_where_only_ascii_is_known() -> None:
    seen = in_a_terminal(*UNIFORM, "[a-cž]{8}", "--live", "--slow", "1", **ASCII_ONLY)
    assert seen.code == 0
    assert seen.cursor_is_shown
    assert "Traceback" not in seen.raw
    assert re.fullmatch("[a-cž]{8}", seen.screen[-1])


def test_compiling_is_announced_once_and_needs_no_home_and_no_place_beside_the_package(tmp_path: Path) -> None:
    install = tmp_path / "install"
    for package in ("core/sfgen", "cli/sfgen_cli"):
        shutil.copytree(ROOT / package, install / Path(package).name, ignore=shutil.ignore_patterns("__pycache__"))
    (install / "sfgen" / "__pycache__").touch()  # a folder that cannot be written to, for root as well
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    surroundings: dict[str, Any] = {
        "PYTHONPATH": str(install),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": NO_FILE,
        "XDG_CACHE_HOME": "",
        "NUMBA_CACHE_DIR": "",
        "TMPDIR": str(temporary),
        "COLUMNS": "100",  # left over from a wider terminal
    }
    for announced in (True, False):
        # 40 columns: the line that says it fits, or is cut, and is erased in any case.
        with Terminal(*UNIFORM, "[ab]{3}", "--no-live", size=(40, 10), command=SFGEN, **surroundings) as terminal:
            seen = terminal.finish()
        assert seen.code == 0
        assert (PREPARING in " ".join(plain(seen.raw).split())) is announced
        assert len(seen.screen) == 1
        assert re.fullmatch("[ab]{3}", seen.screen[0])
    (made,) = temporary.iterdir()
    assert made.name == f"sfgen-{os.getuid()}"
    assert stat.S_IMODE(made.stat().st_mode) == 0o700
    assert {file.suffix for file in made.iterdir()} == {".nbi", ".nbc"}


def test_nothing_of_torch_and_the_hub_is_heard() -> None:
    surroundings = {"HOME": NO_FILE, "HF_HOME": NO_FILE, "XDG_CACHE_HOME": NO_FILE, "XDG_CONFIG_HOME": NO_FILE}
    done = sfgen("gen", "--quiet", "-r", "[a-z]{3}", "A word: ", environment=surroundings)
    assert done.stderr == b""
    assert done.returncode == 0
    assert re.fullmatch(b"[a-z]{3}\n", done.stdout)


@pytest.mark.parametrize(
    ("closed", "pattern", "expected"),
    [
        ("<&-", "abc", (0, b"abc\n")),
        (">&-", "abc", (0, b"")),
        ("2>&-", "abc", (0, b"abc\n")),
        ("2>&-", "a(", (1, b"")),
        ("<&- >&- 2>&-", "abc", (0, b"")),
    ],
)
def test_standard_streams_may_be_closed(closed: str, pattern: str, expected: tuple[int, bytes]) -> None:
    done = shell(f"sfgen gen -m uniform -r '{pattern}' {closed}")
    assert (done.returncode, done.stdout) == expected
    assert b"Traceback" not in done.stderr


def test_no_file_takes_the_place_of_a_closed_stream() -> None:
    """What a library says to stderr must not end up in the file that was opened next."""
    script = "from sfgen_cli.shell.process import prepare; prepare(); print(open(__import__('os').devnull).fileno())"
    done = shell(f'"{sys.executable}" -c "{script}" <&- 2>&-')
    assert int(done.stdout) > 2


@needs_full
def test_a_full_disk_is_told_in_one_line() -> None:
    with open("/dev/full", "wb") as full:
        done = run_forked([*UNIFORM, "abc"], stdout=full)
    assert done.returncode == 1
    assert done.stderr == b"sfgen: cannot write the output: No space left on device\n"


@needs_full
@pytest.mark.parametrize(("arguments", "code", "out"), [(UNIFORM, 0, b"a\n"), (("gen", "--x"), 2, b"")])
def test_that_nobody_can_be_told_changes_nothing(arguments: tuple[str, ...], code: int, out: bytes) -> None:
    with open("/dev/full", "wb") as full:
        done = run_forked([*arguments, "a"], stderr=full)
    assert (done.returncode, done.stdout) == (code, out)


def test_an_index_that_does_not_fit_on_the_disk_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    def little_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    done = run_forked(
        ["index", "--regex", ".{1,40}", "--save", str(tmp_path / "x.safetensors")], preexec_fn=little_room
    )
    assert done.returncode == 1
    first, *hints = done.stderr.decode().splitlines()
    assert re.fullmatch(r"sfgen: cannot write .*x\.safetensors: .+", first)
    assert len(hints) <= 3
    assert "Traceback" not in done.stderr.decode()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "command", ["sfgen gen -m uniform --max-tokens 200 -n 500", "sfgen index --regex '[a-z]{3}' --json"]
)
def test_a_reader_that_wants_little_is_no_error(command: str) -> None:
    done = shell(f"{command} | head -c 10; exit ${{PIPESTATUS[0]}}")
    assert (done.returncode, done.stderr) == (0, b"")
    assert len(done.stdout) == 10


def test_megabytes_arrive_whole() -> None:
    done = run_forked(["index", "--regex", ".{60}", "--json"])
    assert done.returncode == 0
    assert len(done.stdout) > 1_000_000
    assert done.stdout.endswith(b"}\n")
    assert json.loads(done.stdout)["states"] > 30


def test_who_is_told_to_end_leaves_the_terminal_as_it_was() -> None:
    with Terminal(*UNIFORM, "[a-z]{250}", "--live", "--slow", "100") as terminal:
        terminal.until(lambda screen: len(screen) > 3)
        terminal.process.send_signal(signal.SIGTERM)
        seen = terminal.finish()
    assert seen.code == 128 + signal.SIGTERM
    assert seen.cursor_is_shown
    assert seen.modes_restored
    assert "Traceback" not in seen.raw


def test_what_drives_a_terminal_is_shown_there_and_exact_elsewhere() -> None:
    text = "a\u202eb\u2066c\u200dd\u200fe\U000e0041\u2028\x07"
    seen = in_a_terminal(*UNIFORM, text, "--no-live")
    assert "a\\u202eb\\u2066c\u200dd\u200fe\\U000e0041\\u2028\\x07" in plain(seen.raw)
    assert run_forked([*UNIFORM, text]).stdout.decode() == f"{text}\n"


def test_the_source_is_of_the_oldest_python_that_is_promised() -> None:
    promised = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["requires-python"]
    minor = int(promised.split(",")[0].removeprefix(">=3."))
    for package in ("core", "cli"):
        for file in (ROOT / package).rglob("*.py"):
            ast.parse(file.read_text(encoding="utf-8"), str(file), feature_version=(3, minor))
