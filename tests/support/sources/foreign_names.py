"""Names of other packages that these keep to themselves, read from the text of our sources."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tests.support.sources.imports import ROOT

UNDOCUMENTED = ("lark.lexer", "lark.parsers", "numba.core", "transformers.models.auto.modeling_auto", "typer.core")
"""Modules whose names do not say that they are private: what is in them, too."""

_DOCUMENTED = frozenset({"_asdict", "_exit", "_fields", "_fields_", "_make", "_replace"})
"""Names with an underscore that the standard library documents: of named tuples, structures of ctypes, and ``os``."""

_BY_NAME = frozenset({"delattr", "getattr", "hasattr", "setattr"})


def foreign_names(files: Iterable[Path], root: Path = ROOT) -> dict[str, set[str]]:
    """The private names of other packages that each file names, by its path below ``root``.

    That is: a module or a name in it that begins with an underscore, or one of ``UNDOCUMENTED``, where it is imported;
    and an attribute that begins with an underscore, where none of these files defines it.

    Args:
        files: All of our own files.
        root: The folder that they lie in.
    """
    own_modules, own_names = set[str](), set(_DOCUMENTED)
    imported, attributes = dict[str, list[str]](), dict[str, list[str]]()
    for path in files:
        where = path.relative_to(root)
        own_modules.add(where.parts[1])
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        own_names.update(_defined(nodes))
        imported[where.as_posix()] = list(_imported(nodes))
        attributes[where.as_posix()] = list(_attributes(nodes))
    found: Mapping[str, set[str]] = defaultdict(set)
    for file, names in imported.items():
        for name in names:
            if name.partition(".")[0] not in own_modules and _is_private(name):
                found[file].add(name)
    for file, names in attributes.items():
        for name in names:
            if name not in own_names:
                found[file].add(name)
    return dict(found)


def _imported(nodes: list[ast.AST]) -> Iterator[str]:
    """The dotted names of all that is imported from other packages."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _is_private(name: str) -> bool:
    return any(_has_underscore(part) for part in name.split(".")) or name.startswith(UNDOCUMENTED)


def _attributes(nodes: list[ast.AST]) -> Iterator[str]:
    """The private attributes of whatever object; also those that are asked for by a text."""
    for node in nodes:
        if isinstance(node, ast.Attribute) and _has_underscore(node.attr):
            yield node.attr
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _BY_NAME:
            asked = node.args[1] if len(node.args) > 1 else None
            if isinstance(asked, ast.Constant) and isinstance(asked.value, str) and _has_underscore(asked.value):
                yield asked.value


def _defined(nodes: list[ast.AST]) -> Iterator[str]:
    """What a file gives a name to: functions, classes, parameters, variables and attributes of ``self``."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _is_self(node.value):
            yield node.attr


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def _has_underscore(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name != "_"
