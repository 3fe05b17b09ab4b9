"""What a user types, read by bash, with ``sfgen`` run inside the test process: as typed, without seconds of loading."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

_STUB = """#!/bin/bash
# Leaves its arguments and its stdin for the test, and waits for what it has to say.
call=$(mktemp -d "$SFGEN_CALLS/XXXXXX")
printf '%s\\0' "$@" > "$call/arguments"
cat > "$call/stdin"
pwd > "$call/folder"
touch "$call/ready"
until [ -e "$call/done" ]; do sleep 0.02; done
cat "$call/out"
cat "$call/err" >&2
exit "$(cat "$call/code")"
"""


def typed(line: str, run: Callable[..., Any], folder: Path) -> subprocess.CompletedProcess[bytes]:
    """Let bash run a line in an empty folder, with the commands ``sfgen`` in it given to ``run``."""
    calls, binaries, home = folder / "calls", folder / "bin", folder / "work"
    for each in (calls, binaries, home):
        each.mkdir(parents=True, exist_ok=True)
    stub = binaries / "sfgen"
    stub.write_text(_STUB)
    stub.chmod(0o755)
    with subprocess.Popen(
        ["bash", "-c", line],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=home,
        env={**os.environ, "PATH": f"{binaries}:{os.environ['PATH']}", "SFGEN_CALLS": str(calls)},
    ) as bash:
        while bash.poll() is None:
            for ready in list(calls.glob("*/ready")):
                ready.unlink()  # else the next line that is typed in this folder would run it again
                _answer(ready.parent, run)
            time.sleep(0.01)
        out, err = bash.communicate()
    return subprocess.CompletedProcess(line, bash.returncode, out, err)


def _answer(call: Path, run: Callable[..., Any]) -> None:
    arguments = (call / "arguments").read_bytes().decode("utf-8", "surrogateescape").split("\0")[:-1]
    before = Path.cwd()
    os.chdir((call / "folder").read_text().removesuffix("\n"))
    try:
        done = run(*arguments, stdin=(call / "stdin").read_bytes())
    finally:
        os.chdir(before)
    (call / "out").write_text(done.out, encoding="utf-8")
    (call / "err").write_text(done.err, encoding="utf-8")
    (call / "code").write_text(str(done.code))
    (call / "done").touch()
