"""instructor and langchain-openai, each a program in an environment of its own: they want other versions."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from tests.support.running.installed import ALL

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-clients" / "bin" / "python"

pytestmark = pytest.mark.skipif(
    not PYTHON.exists() and not os.environ.get(ALL), reason="there is no .venv-clients (make clients)"
)


def told(program: str, address: str) -> list[str]:
    """What a program prints, line by line."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [str(PYTHON), str(Path(__file__).parent / "clients" / f"{program}.py"), address],
        capture_output=True, text=True, check=False, timeout=300, env=environment | {"LANGSMITH_TRACING": "false"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout.splitlines()


def test_instructor(address: str) -> None:
    lines = told("with_instructor", address)
    assert len(lines) == 3
    for line in lines:
        person = json.loads(line)
        assert re.fullmatch("[A-Z][a-z]{1,9}", person["name"])
        assert 0 <= person["age"] <= 120


def test_langchain(address: str) -> None:
    lines = told("with_langchain", address)
    assert [line.partition(" ")[0] for line in lines] == ["invoked", "bound", "structured", "completed"]
