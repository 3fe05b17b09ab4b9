"""How long a command takes until it writes, how much memory it takes, and how many threads are worth it.

All figures are of whole processes. Processor time is that of user and system together, so that other load on the
machine counts little; `--threads 1` but where threads are measured.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tests.support.real.model import FILE

from ..machine import machine
from ..tables import markdown_table

_MODEL = ("-m", str(FILE), "--device", "cpu", "--threads", "1", "--quiet")
_COMMANDS: dict[str, tuple[str, ...]] = {
    "`gen --max-tokens 1`": ("gen", *_MODEL, "--max-tokens", "1", "Hello"),
    "`gen --regex '[a-z]+' --max-tokens 1`": ("gen", *_MODEL, "--regex", "[a-z]+", "--max-tokens", "1", "Hello"),
    "`gen --schema 'name, age int'`, the whole text": ("gen", *_MODEL, "--schema", "name, age int", "Hello"),
    "`ban --words talk,listen --max-tokens 1`": (
        "ban", *_MODEL, "--words", "talk,listen", "--max-tokens", "1", "Hello",
    ),
}  # fmt: skip
"""Each command writes one token, but for the schema: its text is written whole."""

_PARTS = """
import time
def told(name, last=[time.process_time()]):
    now = time.process_time()
    print(f"{name}\\t{now - last[0]}")
    last[0] = now
import numpy
told("Python and numpy")
from pathlib import Path
import sys
from sfgen.models.gguf.header import check_gguf
from sfgen.models.gguf.loaded_model import LoadedModel
from sfgen.models.gguf.vocabulary import read_vocabulary, token_texts
files = check_gguf(Path(sys.argv[1]), "x")
told("sfgen's modules, the header of the file")
from sfgen.models.gguf.library import library
library()
told("the modules of llama-cpp-python")
texts = token_texts(files.first, "x")
told("the texts of the tokens")
model = LoadedModel(files.first, "x", device="cpu")
told("llama.cpp loads its tokenizer and maps the weights")
vocabulary = read_vocabulary(model, texts, "x")
told("the bytes of the tokens, compared with llama.cpp's")
from sfgen import Dfa, Index
import numba
told("numba (constraints and bans only)")
vocabulary.trie
told("the trie (constraints and bans only)")
Index(Dfa.from_regex("[a-z]+"), vocabulary).guide().mask()
told("the first mask of `[a-z]+`, with its kernels from the cache")
"""
_MEMORY = r"""
import re, sys
if sys.argv[2] == "llama":
    from llama_cpp import Llama
    model = Llama(sys.argv[1], n_ctx=1024, n_threads=1, n_gpu_layers=0, verbose=False)
    for number, _ in enumerate(model.generate(model.tokenize(b"Once upon a time"), temp=0)):
        if number == 99:
            break
else:
    import sfgen
    model = sfgen.load_model(sys.argv[1], threads=1, device="cpu")
    sfgen.generate(model, "Once upon a time", max_tokens=100, **eval(sys.argv[3]))
status = open("/proc/self/status").read()
print(*(re.search(rf"{name}:\s+(\d+)", status)[1] for name in ("VmHWM", "RssAnon")))
"""
_WRITTEN = {
    "llama-cpp-python, `Llama(n_ctx=1024)`": ("llama", ""),
    "sfgen, free text": ("sfgen", "{}"),
    "sfgen, `[a-z ]{400,}`": ("sfgen", "{'regex': '[a-z ]{400,}'}"),
    "sfgen, schema `name, age int`": ("sfgen", "{'schema': 'name, age int'}"),
    "sfgen, two banned words": ("sfgen", "{'banned': ['talk', 'listen']}"),
}
_THREADS = """
import sys, time, sfgen
model = sfgen.load_model(sys.argv[1], device="cpu", threads=int(sys.argv[2]) or None)
session = model.session()
scores = session.extend(model.encode("Once upon a time"))
for _ in range(int(sys.argv[3])):
    if _ == 3:
        processor, wall = time.process_time(), time.perf_counter()
    scores = session.extend([int(scores.argmax())])
count = int(sys.argv[3]) - 3
print((time.process_time() - processor) / count, (time.perf_counter() - wall) / count)
"""


class Spent(NamedTuple):
    """The cost of a process.

    Attributes:
        seconds: Of processor time.
        written: What it wrote on stdout.
    """

    seconds: float
    written: str


def run(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Spent:
    """Run Python with some arguments, and say what that took."""
    surroundings = {**os.environ, **(environment or {})}
    surroundings.pop("PYTHONDONTWRITEBYTECODE", None)  # modules are compiled once
    with tempfile.TemporaryFile("w+") as written:
        process = subprocess.Popen([sys.executable, *command], stdout=written, env=surroundings)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(f"{command} ended with {process.returncode}")
        written.seek(0)
        return Spent(usage.ru_utime + usage.ru_stime, written.read())


def section(sketch: bool) -> str:
    """Measure the start, the memory and the threads."""
    rounds = 1 if sketch else 3
    return "\n\n".join(
        [
            "## Start, memory and threads",
            f"{machine()}; one thread but where threads are compared.",
            _starts(rounds),
            _parts(rounds),
            _memory(),
            _threads(8 if sketch else 20),
        ]
    )


def _starts(rounds: int) -> str:
    """The processor time of whole commands, with kernels that were compiled before and without."""
    warm: dict[str, list[float]] = {name: [] for name in _COMMANDS}
    for _ in range(rounds + 1):  # the first compiles what is not compiled yet
        for name, command in _COMMANDS.items():
            warm[name].append(run(["-m", "sfgen_cli", *command]).seconds)
    rows = []
    for name, command in _COMMANDS.items():
        with tempfile.TemporaryDirectory() as folder:
            cold = run(["-m", "sfgen_cli", *command], {"NUMBA_CACHE_DIR": folder}).seconds
        rows.append([name, f"{statistics.median(warm[name][1:]):.2f}", f"{cold:.2f}"])
    return (
        "Processor time in seconds of a whole command. The first time on a machine is that without any compiled "
        "kernel.\n\n" + markdown_table(("command", "always", "the first time"), rows)
    )


def _parts(rounds: int) -> str:
    found: dict[str, list[float]] = {}
    for _ in range(rounds):
        for line in run(["-c", _PARTS, str(FILE)]).written.splitlines():
            name, seconds = line.split("\t")
            found.setdefault(name, []).append(float(seconds))
    rows = [[name, f"{statistics.median(seconds):.2f}"] for name, seconds in found.items()]
    return "Its parts:\n\n" + markdown_table(("part", "s"), rows)


def _memory() -> str:
    rows, least = [], 0.0
    for name, (kind, options) in _WRITTEN.items():
        peak, own = (int(size) / 1024 for size in run(["-c", _MEMORY, str(FILE), kind, options]).written.split())
        least = least or peak
        rows.append([name, f"{peak:.0f}", f"{peak / least:.2f}", f"{own:.0f}"])
    return (
        "Memory in MiB of a process that writes 100 tokens, Python included: the most that was resident, with the "
        "mapped weights, and what is resident at the end without files.\n\n"
        + markdown_table(("process", "peak", "of llama-cpp-python's", "without files"), rows)
    )


_WAITS: dict[str, dict[str, str]] = {
    "busily": {},
    "busily, then asleep (`GOMP_SPINCOUNT=300`)": {"GOMP_SPINCOUNT": "300"},
    "asleep (`OMP_WAIT_POLICY=passive`)": {"OMP_WAIT_POLICY": "passive"},
}
"""How threads wait for each other, and what tells OpenMP so."""


def _threads(tokens: int) -> str:
    """Time a token with one thread, by default and with all processors, alone and beside a busy process for each."""
    processors = os.cpu_count() or 1
    rows = []
    for surroundings, busy in (("no process of ours", 0), ("a busy process", 1)):
        others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(busy)]
        try:
            for wait, environment in _WAITS.items():
                for name, threads in (("1", 1), ("default", 0), (f"all {processors}", processors)):
                    if threads == 1 and environment:
                        continue
                    done = run(["-c", _THREADS, str(FILE), str(threads), str(tokens)], environment)
                    processor, wall = (f"{1000 * float(each):.1f}" for each in done.written.split())
                    rows.append([surroundings, name, "" if threads == 1 else wait, processor, wall])
        finally:
            for other in others:
                other.kill()
                other.wait()
    return (
        "Milliseconds a token. The command lets threads sleep after some microseconds; from Python that is up to the "
        f"environment. The load average of the machine was {os.getloadavg()[1]:.1f} at the end, with all that else "
        "ran.\n\n" + markdown_table(("beside", "threads", "they wait", "processor", "wall"), rows)
    )
