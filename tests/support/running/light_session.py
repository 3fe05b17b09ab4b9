"""Holds ``--quick`` to its word: the session fails if a test starts a process or imports torch or transformers.

Files that import one of these as soon as they are read, themselves or through others of ours, are left unread.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

_ROOT = Path(__file__).parents[3]
_SOURCES = (_ROOT / "core", _ROOT / "cli", _ROOT)
HEAVY = frozenset({"torch", "transformers"})


def imports_torch(path: Path) -> bool:
    """Whether reading a Python file imports one of the two. Imports in functions and for types do not count."""
    seen: set[Path] = set()
    waiting = [path]
    while waiting:
        file = waiting.pop()
        if file in seen:
            continue
        seen.add(file)
        modules = _imported(file)
        if any(module.partition(".")[0] in HEAVY for module in modules):
            return True
        waiting += [found for module in modules for found in _files(module)]
    return False


@cache
def _imported(file: Path) -> frozenset[str]:
    """The dotted names that a file imports when it is read; a name from a module counts as a module of it, too."""
    return frozenset(_in_statements(ast.parse(file.read_text(encoding="utf-8")).body))


def _in_statements(statements: list[ast.stmt]) -> Iterator[str]:
    for statement in statements:
        if isinstance(statement, ast.Import):
            yield from (alias.name for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom):
            yield str(statement.module)
            yield from (f"{statement.module}.{alias.name}" for alias in statement.names)
        elif isinstance(statement, ast.If | ast.Try | ast.With) and "TYPE_CHECKING" not in ast.dump(statement):
            for part in ast.iter_child_nodes(statement):
                if isinstance(part, ast.stmt):
                    yield from _in_statements([part])


@cache
def _files(module: str) -> tuple[Path, ...]:
    """The files that are read for a module of ours: its own and those of its packages; none for other people's."""
    parts = module.split(".")
    found = []
    for source in _SOURCES:
        for length in range(1, len(parts) + 1):
            base = source.joinpath(*parts[:length])
            found += [file for file in (base / "__init__.py", base.with_suffix(".py")) if file.is_file()]
    return tuple(found)


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
