"""Every command that the README shows is run as typed, in bash, and prints what the README says it prints."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```console\n(.*?)```", README, re.DOTALL)
EXAMPLES = [
    (command, output)
    for block in BLOCKS
    for command, output in re.findall(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
]


def run_in_bash(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    binaries = str(Path(sys.executable).parent)
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        cwd=folder,
        env={**os.environ, "PATH": f"{binaries}:{os.environ['PATH']}"},
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize(("command", "output"), EXAMPLES, ids=[command for command, _ in EXAMPLES])
def test_a_command_prints_what_the_readme_says(command: str, output: str, tmp_path: Path) -> None:
    for tool in ("bash", "jq"):
        if tool in ("bash", *re.findall(r"\| (\w+)", command)) and not shutil.which(tool):
            pytest.skip(f"{tool} is not installed")
    done = run_in_bash(command, tmp_path)
    assert done.returncode == 0, done.stderr
    assert _lines(done.stdout) == _lines(output)


def _lines(output: str) -> list[str]:
    """The lines without spaces at their ends, and without how long it took to build an index."""
    return [re.sub(r"^(built +in )\S+ m?s,", r"\1…,", line.rstrip()) for line in output.splitlines()]


def test_the_readme_has_examples_of_every_command() -> None:
    shown = {name for command, _ in EXAMPLES for name in re.findall(r"sfgen (\w+)", command)}
    assert shown == {"gen", "ban", "index", "check"}


def test_the_python_example_runs(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    date, rest = done.stdout.split("\n", 1)
    assert re.fullmatch(r"[0-9]{4}-(0[1-9]|1[0-2]) (complete|end_token) \d+", date)
    assert "[took back ' listen" in rest
