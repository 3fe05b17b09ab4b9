"""``built in``: the time of building alone, without that of importing numba and of loading kernels."""

from __future__ import annotations

import subprocess
import sys

import pytest

from sfgen_cli.commands import index as stopwatch
from sfgen_cli.commands.index import Stopwatch

# The clock stands still, but for 100 seconds that each kernel takes to be loaded, and 0.25 that is building.
PROGRAM = """
import sys
from sfgen import kernels
from sfgen_cli.commands import index as stopwatch
now = 0.0
def tick(seconds):
    global now
    now += seconds
class Time:
    perf_counter = staticmethod(lambda: now)
kernels.time = stopwatch.time = Time
load = kernels.Kernel._compile_now
def slow(self):
    tick(100)
    return load(self)
kernels.Kernel._compile_now = slow
from sfgen.index import export as builder
count = builder.statistics
def timed(*arguments):
    tick(0.25)
    return count(*arguments)
builder.statistics = timed
from sfgen_cli.shell.ending import run
code = run(["index", "--regex", "(hot|cold|hotel)", *sys.argv[1:]])
assert now > 300, now
sys.exit(code)
"""


def test_loading_is_not_building() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("built "))
    assert line.startswith("built        in 250 ms, ")


# The clock stands still, but for 100 seconds that each module takes to be imported.
IMPORTS = """
import sys
from sfgen import kernels
from sfgen_cli.commands import index as stopwatch
now = 0.0
class Time:
    perf_counter = staticmethod(lambda: now)
kernels.time = stopwatch.time = Time
class Slow:
    @staticmethod
    def find_spec(*arguments):
        global now
        now += 100
sys.meta_path.insert(0, Slow)
from sfgen_cli.shell.ending import run
code = run(["index", "--regex", "(hot|cold|hotel)"])
assert "sfgen.index.index" in sys.modules and now > 1000, now
sys.exit(code)
"""


def test_importing_is_not_building() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=True)
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("built "))
    assert line.startswith("built        in 0 ms, ")


def test_a_saved_index_is_loaded_and_not_built(tmp_path_factory: pytest.TempPathFactory) -> None:
    file = str(tmp_path_factory.mktemp("saved") / "index")
    command = [sys.executable, "-m", "sfgen_cli", "index"]
    subprocess.run([*command, "--regex", "[ab]", "--save", file], capture_output=True, check=True)
    shown = subprocess.run([*command, file], capture_output=True, text=True, check=True).stdout
    assert "\nloaded       in " in shown
    assert "\nbuilt " not in shown


def test_a_stopwatch_adds_up_and_leaves_loading_out(monkeypatch: pytest.MonkeyPatch) -> None:
    now, loading = [10.0], [1.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    monkeypatch.setattr(stopwatch, "seconds_of_loading", lambda: loading[0])
    clock = Stopwatch()
    with clock:
        now[0] += 5
        loading[0] += 3
    now[0] += 50
    with clock:
        now[0] += 1
    assert clock.seconds == 3.0


def test_kernels_that_call_others_are_waited_for_once() -> None:
    program = (
        "import time\nfrom sfgen.kernels import seconds_of_loading\nfrom sfgen import Dfa\n"
        "started = time.perf_counter()\nDfa.from_regex('(a|b)*c')\nfirst = seconds_of_loading()\n"
        "assert 0 < first <= time.perf_counter() - started\n"
        "Dfa.from_regex('(b|c)*d')\nassert seconds_of_loading() == first\n"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
