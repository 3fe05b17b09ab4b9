"""The command in processes that must do without torch and transformers.

All are forked from one process that has loaded what commands share: loading takes ten times as long as a small command.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any

from tests.support.command.processes import become_a_command, run_command

_ROOT = Path(__file__).parents[3]
_STREAMS = ("stdin", "stdout", "stderr")


class Light:
    """Runs commands. One ends at once, with the code 99, where it imports torch or transformers."""

    def __enter__(self) -> Light:
        self._folder = TemporaryDirectory()
        self._first = subprocess.Popen(
            [sys.executable, "-m", __name__, self._folder.name],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._first.communicate(timeout=60)
        self._folder.cleanup()

    def __call__(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command in the folder and the environment that the test is in now."""
        folder = Path(self._folder.name)
        (folder / "stdin").write_text(stdin, encoding="utf-8")
        task = {"arguments": arguments, "folder": os.getcwd(), "environment": dict(os.environ)}
        assert self._first.stdin
        assert self._first.stdout
        self._first.stdin.write(json.dumps(task) + "\n")
        self._first.stdin.flush()
        code = int(self._first.stdout.readline())
        out, err = ((folder / name).read_text(encoding="utf-8") for name in ("stdout", "stderr"))
        return subprocess.CompletedProcess(arguments, code, out, err)


class _Refuse:
    """Ends the process that imports one of the two."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        if name.partition(".")[0] in ("torch", "transformers"):
            sys.stderr.write(f"IMPORTED {name}\n")
            sys.exit(99)


def _serve(folder: Path) -> None:
    """Run a process for each line of stdin, and write its exit code."""
    sys.meta_path.insert(0, _Refuse())
    _load()
    for line in sys.stdin:
        task = json.loads(line)
        process = os.fork()
        if process == 0:
            _become(task, folder)
            os._exit(run_command(task["arguments"]))
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        print(code, flush=True)


def _load() -> None:
    """Import what commands have in common, read its options, and the kernels of a text under a pattern."""
    import sfgen
    from sfgen_cli.app import app
    from sfgen_cli.shell.typer_internals import commands_of

    assert commands_of(app)
    assert sfgen.generate("tiny", "x", index="[ab]").text
    gc.collect()
    gc.freeze()


def _become(task: Any, folder: Path) -> None:
    """Go where the command is to run, with streams of its own."""
    os.chdir(task["folder"])
    for number, name in enumerate(_STREAMS):
        with (folder / name).open("rb" if number == 0 else "wb") as file:
            os.dup2(file.fileno(), number)
    become_a_command(task["environment"])


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))
