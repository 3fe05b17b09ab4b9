"""Holds ``--quick`` to its word: the session fails if a test starts a process or imports torch or transformers."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.running.torch_imports import HEAVY, imports_torch

_PROCESSES = frozenset({"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system"})
_KEY = "heavy"


class LightSession:
    """A plugin of pytest, in the process that tests run in, and in that which started it (pytest-xdist)."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._found: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """Watch from here on: before, pytest-xdist asks ``uname`` for the processor."""
        if self._runs_tests():
            sys.addaudithook(self._audit)

    def _runs_tests(self) -> bool:
        """Not so in the process that starts those of pytest-xdist, and starts nothing else."""
        return hasattr(self._config, "workerinput") or not self._config.getoption("numprocesses", None)

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Refuse what is not quick where it is done; and remember it, should the refusal be caught."""
        if event in _PROCESSES:
            self._refuse(f"a process is started ({event})")
        elif event == "import" and str(arguments[0]) in HEAVY:
            self._refuse(f"{arguments[0]} is imported")

    def _refuse(self, what: str) -> None:
        self._found.append(f"{what} by {os.environ.get('PYTEST_CURRENT_TEST', 'reading the tests')}")
        raise RuntimeError(f"not quick: {what}")

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Leave files unread that import torch when they are."""
        return (collection_path.suffix == ".py" and imports_torch(collection_path)) or None

    def pytest_testnodedown(self, node: Any) -> None:
        """Take over what a process of pytest-xdist has found."""
        self._found += getattr(node, "workeroutput", {}).get(_KEY, [])

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail, whatever the tests say."""
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput[_KEY] = self._found
        elif self._found:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say why."""
        for line in self._found:
            terminalreporter.write_line(f"not quick: {line}", red=True)
