"""Run the command line inside the test process, as a shell would see it."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from sfgen_cli.shell.ending import run


@dataclass(frozen=True)
class Completed:
    code: int
    out: str
    err: str

    @property
    def records(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]


Sfgen = Callable[..., Completed]


@pytest.fixture
def sfgen(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Sfgen:
    """``sfgen("gen", "--regex", "a+", stdin="…")`` → what it printed and its exit code."""
    monkeypatch.delenv("SFGEN_MODEL", raising=False)
    monkeypatch.delenv("SFGEN_SEED", raising=False)

    def call(*arguments: str, stdin: bytes | str | io.TextIOBase | None = "") -> Completed:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        stream = io.TextIOWrapper(io.BytesIO(data)) if isinstance(data, bytes) else data
        monkeypatch.setattr(sys, "stdin", stream)
        capfdbinary.readouterr()
        code = run([str(argument) for argument in arguments])
        out, err = capfdbinary.readouterr()
        return Completed(code, out.decode(), err.decode())

    return call
