"""A process for the engines that share a model, in the Python environment that they need; asked in turns.

Usage, by ``Server`` alone: ``python -m tests.bench.real.speed.server GROUP``; lines of JSON on stdin and stdout.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from .engine import Engine, Measured
from .tasks import all_tasks

ROOT = Path(__file__).resolve().parents[4]
TRANSFORMERS = "transformers"
"""The group of all that run on transformers; on llama.cpp each engine is a group of its own."""
GUIDANCE_PYTHON = ROOT / ".venv-guidance" / "bin" / "python"
"""guidance wants another llguidance than the others: see the target real-bench of the Makefile."""
_LOADING = 180  # seconds


def engines_of(group: str) -> tuple[type[Engine], ...]:
    """The engines of a group."""
    from . import on_llama_cpp

    if group == TRANSFORMERS:
        from . import on_transformers

        return on_transformers.ENGINES
    return tuple(engine for engine in on_llama_cpp.ENGINES if engine.name == group)


class Failed(Exception):
    """An engine has failed, or took too long."""


class Server:
    """The process of a group of engines.

    It loads while others are started.

    Args:
        group: Its name.

    Raises:
        Failed: It cannot be started.
    """

    def __init__(self, group: str) -> None:
        python = GUIDANCE_PYTHON if group == "guidance" else Path(sys.executable)
        if not python.exists():
            raise Failed(f"{python.relative_to(ROOT)} is missing: make real-bench")
        self._command = [str(python), "-m", __name__, group]
        self._start()

    def _start(self) -> None:
        self._process = subprocess.Popen(
            self._command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )

    def loaded(self) -> dict[str, str]:
        """Wait for it; the versions of what it has loaded."""
        versions: dict[str, str] = self._answer(_LOADING)
        return versions

    def compile(self, engine: str, task: str, patience: float) -> float | None:
        """Make a constraint, which the process keeps; the seconds of the processor, ``None`` if it had it already."""
        seconds: float | None = self._ask(["compile", engine, task, 0], patience)
        return seconds

    def write(self, engine: str, task: str, seed: int, patience: float) -> Measured:
        """Write a text by it."""
        return Measured(**self._ask(["write", engine, task, seed], patience))

    def stop(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()

    def _ask(self, request: list[Any], patience: float) -> Any:
        if self._process.poll() is not None:  # it failed in the task before
            self._start()
            self.loaded()
        stream: Any = self._process.stdin
        with contextlib.suppress(BrokenPipeError):
            stream.write((json.dumps(request) + "\n").encode())
            stream.flush()
        return self._answer(patience)

    def _answer(self, patience: float) -> Any:
        stream: Any = self._process.stdout
        if not select.select([stream], [], [], patience)[0]:
            self.stop()
            raise Failed(f"stopped after {patience:.0f} s")
        line = stream.readline()
        if not line:
            self._process.wait()
            raise Failed(f"the process ended with code {self._process.returncode}")
        answer = json.loads(line)
        if "error" in answer:
            raise Failed(answer["error"])
        return answer["result"]


def _serve(group: str) -> None:
    """Load the engines and answer until stdin ends."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # libraries print
    types = engines_of(group)
    engines = {engine.name: engine() for engine in types}
    _warm_up(engines)
    _send(out, {"result": _versions(types)})
    kept: dict[Any, Any] = {}
    for line in sys.stdin:
        what, name, task_name, seed = json.loads(line)
        engine, task = engines[name], all_tasks()[task_name]
        key = name, task.schema, task.lark, task.labels, task.temperature
        try:
            if what == "write":
                if key not in kept:  # this process was started after another one had failed
                    kept[key] = engine.compile(task)
                _send(out, {"result": asdict(engine.measured(task, kept[key], seed))})
            elif key in kept:
                _send(out, {"result": None})
            else:
                started = time.process_time()
                kept[key] = engine.compile(task)
                _send(out, {"result": time.process_time() - started})
        except Exception as error:
            _send(out, {"error": " ".join(f"{type(error).__name__}: {error}".split())[:200]})


def _send(out: Any, answer: dict[str, Any]) -> None:
    out.write(json.dumps(answer) + "\n")
    out.flush()


def _warm_up(engines: dict[str, Engine]) -> None:
    """Load and compile what is loaded and compiled at the first use, on constraints that are not measured."""
    from dataclasses import replace

    seen = set()
    for task in all_tasks().values():
        if task.kind in seen:
            continue
        seen.add(task.kind)
        small = replace(task, limit=24, **_WARM_UP.get(task.kind, {}))
        for engine in engines.values():
            if task.kind in engine.kinds:
                with contextlib.suppress(Exception):  # what cannot be done is told where it is measured
                    engine.measured(small, engine.compile(small), 0)


_WARM_UP: dict[str, dict[str, Any]] = {
    "schemas": {
        "schema": json.dumps(
            {
                "type": "object",
                "properties": {"warm": {"enum": ["up", "down"]}, "words": {"type": "string", "maxLength": 8}},
                "required": ["warm", "words"],
                "additionalProperties": False,
            }
        )
    },
    "grammars": {"gbnf": 'root ::= [a-c]+ "\\n"', "lark": 'start: LETTERS "\\n"\nLETTERS: /[a-c]+/'},
    "choices": {"labels": ("warm", "cold")},
}


def _versions(types: tuple[type[Engine], ...]) -> dict[str, str]:
    """The versions of what is installed here."""
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for name in {*(engine.package for engine in types), "llguidance", "torch", "transformers"}:
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


if __name__ == "__main__":
    _serve(sys.argv[1])
