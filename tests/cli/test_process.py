"""The command as a process: how it starts, what it imports, how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-m", "sfgen_cli"]
FREE_TEXT = ["gen", "-m", "uniform"]  # begins sooner than with a pattern
HEAVY = ("torch", "transformers", "numba", "sfgen.numba_internals", "numpy", "regex", "interegular")


@pytest.mark.parametrize(
    "arguments", [["--help"], ["gen", "--help"], ["index", "--help"], ["--version"], ["gen", "--x"]]
)
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    script = (
        "import sys; from sfgen_cli.__main__ import run; run(sys.argv[1:]); "
        f"sys.stderr.write('LOADED ' + ' '.join(name for name in {HEAVY} if name in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stderr.rpartition("LOADED ")[2] == ""


def test_importing_the_library_imports_nothing_heavy() -> None:
    script = f"import sys, sfgen; dir(sfgen); print([name for name in {HEAVY} if name in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", script], text=True).strip() == "[]"


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted in /proc, as Linux has it")
def test_numpy_starts_no_threads() -> None:
    script = (
        "import os, sys; from sfgen_cli.shell.process import import_numpy; import_numpy(); import numpy; "
        "print(len(os.listdir('/proc/self/task')), 'OPENBLAS_NUM_THREADS' in os.environ)"
    )
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    assert subprocess.check_output([sys.executable, "-c", script], text=True, env=environment) == "1 False\n"
    environment["OPENBLAS_NUM_THREADS"] = "2"  # who has said so is heard
    assert subprocess.check_output([sys.executable, "-c", script], text=True, env=environment).endswith("True\n")


def test_an_error_needs_no_torch() -> None:
    script = (
        "import sys; from sfgen_cli.__main__ import run; assert run(['gen', '-r', 'a(?=b)', 'x']) == 1; "
        "print('torch' in sys.modules)"
    )
    assert subprocess.check_output([sys.executable, "-c", script], text=True, stderr=subprocess.DEVNULL) == "False\n"


def test_a_reader_that_goes_away_is_no_error() -> None:
    for arguments in ([*FREE_TEXT, "--max-tokens", "200", "-n", "300"], ["--help"]):
        process = subprocess.Popen(
            [*COMMAND, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(3)
        process.stdout.close()
        assert process.wait(timeout=60) == 0
        assert process.stderr.read() == b""
        process.stderr.close()


def test_ctrl_c_ends_with_130() -> None:
    process = subprocess.Popen(
        [*COMMAND, *FREE_TEXT, "--max-tokens", "250", "-n", "100000"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # Where the tests run in the background of a shell, they were told to ignore it, and so would their child be.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stdout is not None
    process.stdout.read(10)  # it is at work
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err == b"sfgen: interrupted\n"


def test_each_record_is_written_when_its_sample_is_done() -> None:
    process = subprocess.Popen(
        [*COMMAND, *FREE_TEXT, "--max-tokens", "250", "-n", "100000", "--seed", "1", "--json"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    records = [json.loads(process.stdout.readline()) for _ in range(3)]
    assert process.poll() is None  # the others are still to come
    process.kill()
    process.wait(timeout=60)
    process.stdout.close()
    assert [record["seed"] for record in records] == [1, 2, 3]


ENDING = """
import atexit, sys, threading
from sfgen_cli.__main__ import main
atexit.register(sys.stderr.write, "registered")
sys.argv = ["sfgen", "--version"]
{before}
main()
"""


@pytest.mark.parametrize(
    ("before", "told"),
    [
        ("", "registered"),
        ("threading.Timer(0.3, sys.stderr.write, ['thread ']).start()", "thread registered"),
        ("sys.setprofile(lambda *_: None); atexit.register(sys.stderr.write, 'profiled ')", "profiled registered"),
        ("del atexit._run_exitfuncs", "registered"),
    ],
    ids=["alone", "beside a thread", "profiled", "another Python"],
)
def test_nothing_is_lost_by_its_quick_end(before: str, told: str) -> None:
    script = ENDING.format(before=before)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.startswith("sfgen ")
    assert done.stderr == told


def test_arguments_that_are_given_by_a_program_end_no_process() -> None:
    script = "from sfgen_cli.__main__ import main\ntry: main(['--version'])\nexcept SystemExit as end: print(end.code)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines()[1] == "0"
