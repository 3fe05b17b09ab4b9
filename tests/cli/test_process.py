"""The command as a process: how it starts, what it imports, how it ends."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support.command.terminal import Terminal, plain
from tests.support.running.tried import rounds

COMMAND = [sys.executable, "-m", "sfgen_cli"]
FREE_TEXT = ["gen", "-m", "uniform"]  # begins sooner than with a pattern
HEAVY = ("torch", "transformers", "numba", "sfgen.numba_internals", "numpy", "regex", "interegular")


@pytest.mark.parametrize(
    "arguments", [["--help"], ["gen", "--help"], ["index", "--help"], ["--version"], ["gen", "--x"]]
)
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    script = (
        "import sys; from sfgen_cli.shell.ending import run; run(sys.argv[1:]); "
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
        "import sys; from sfgen_cli.shell.ending import run; assert run(['gen', '-r', 'a(?=b)', 'x']) == 1; "
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


STARTING = """
import os, signal, sys
count = int(sys.argv.pop(1))  # of imports after which Ctrl-C is pressed; none for 0, and the start is told instead
imports = []
def look(event, arguments):
    if event != "import" or not (imports or arguments[0] == "sfgen_cli.shell"):
        return
    imports.append(arguments[0])
    if len(imports) == 1 and not count:
        os.write(1, b".")
    if len(imports) == count:
        os.kill(os.getpid(), signal.SIGINT)
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.addaudithook(look)
from sfgen_cli.__main__ import main
main()
"""
SCHEMA = ["gen", "--schema", "name, age int", "--max-tokens", "40", "x"]


@pytest.mark.parametrize("count", [1, 2, 20, 90, 200, 350, 550, 750])
def test_ctrl_c_in_the_middle_of_an_import(count: int) -> None:
    """From the first import of sfgen's own program on: numpy, numba and the compiled kernels are among them."""
    command = [sys.executable, "-c", STARTING, str(count), *SCHEMA]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


@pytest.mark.parametrize("in_terminal", [False, True])
def test_ctrl_c_at_any_moment_of_the_start(in_terminal: bool) -> None:
    draw = random.Random(45)
    for _ in range(rounds(3)):
        wait = draw.uniform(0, 0.5)
        command = [sys.executable, "-c", STARTING, "0", *SCHEMA]
        if in_terminal:
            with Terminal(*command[3:], command=command[:3]) as terminal:
                terminal.until(lambda screen: screen)
                time.sleep(wait)
                terminal.press("\x03")
                seen = terminal.finish()
            code, told = seen.code, plain(seen.raw).replace("^C", "")
            assert seen.cursor_is_shown
            assert seen.modes_restored
        else:
            with subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            ) as process:
                assert process.stdout is not None
                assert process.stdout.read(1) == b"."
                time.sleep(wait)
                process.send_signal(signal.SIGINT)
                out, err = process.communicate(timeout=60)
            code, told = process.returncode, (out + err).decode()
        assert code == 130 or (code == 0 and '"name"' in told)  # it was done before
        assert "Traceback" not in told
        assert "Error" not in told


def test_who_ignores_ctrl_c_goes_on() -> None:
    """As a command in the background of a shell does."""
    done = subprocess.run(
        [*COMMAND, *FREE_TEXT, "--max-tokens", "1"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    assert done.returncode == 0
    script = "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); import sfgen_cli.__main__; "
    script += "print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)"
    assert subprocess.check_output([sys.executable, "-c", script]) == b"True\n"


def test_what_an_interrupt_has_broken_is_an_interrupt() -> None:
    """An import that fails for Ctrl-C, as in a module of C, is not a fault of sfgen."""
    script = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "import sfgen_cli.__main__ as program\n"
        "import sfgen_cli.commands.models as models\n"
        "import sfgen.models.inventory as inventory\n"
        "from sfgen_cli.shell import process\n"
        "def broken():\n"
        "    process.at_work()\n"
        "    try: os.kill(os.getpid(), signal.SIGINT)\n"
        "    except KeyboardInterrupt: raise ImportError('a module of C could not be loaded') from None\n"
        "inventory.built_in_models = broken\n"
        "program.main(['models'])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (130, b"sfgen: interrupted\n")


def test_a_command_at_work_does_not_walk_what_it_has_loaded() -> None:
    script = (
        "import gc, json\n"
        "from sfgen_cli.shell import process\n"
        "process.at_work()\n"
        "print(gc.isenabled(), len(gc.get_objects()) < gc.get_freeze_count() // 10)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=60, check=True)
    assert done.stdout == b"True True\n"


@pytest.mark.parametrize(("number", "code", "told"), [("SIGINT", 130, b"sfgen: interrupted\n"), ("SIGTERM", 143, b"")])
@pytest.mark.parametrize("place", ["ctypes.CFUNCTYPE(None)(send)()", "Freed()"])
def test_a_signal_where_no_exception_can_be_raised_is_not_lost(place: str, number: str, code: int, told: bytes) -> None:
    """While a C library calls back, as LLVM does, and while Python frees something."""
    script = (
        "import ctypes, os, signal, time\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "import sfgen_cli.__main__ as program\n"
        "import sfgen_cli.commands.models as models\n"
        "import sfgen.models.inventory as inventory\n"
        "from sfgen_cli.shell import process\n"
        f"def send(*_): os.kill(os.getpid(), signal.{number})\n"
        "class Freed: __del__ = send\n"
        "def working():\n"
        "    process.at_work()\n"
        f"    {place}\n"
        "    for _ in range(500): time.sleep(0.01)\n"
        "    os._exit(9)\n"
        "inventory.built_in_models = working\n"
        "program.main(['models'])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (code, told)


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
