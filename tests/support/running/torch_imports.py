"""Which of our files import torch or transformers as soon as they are read, themselves or through others of ours."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

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
