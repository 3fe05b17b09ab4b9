"""Who imports whom in our own sources, read from the text: every import counts, also one in a function or for types."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[3]
SOURCES = {"sfgen": ROOT / "core", "sfgen_cli": ROOT / "cli", "training": ROOT / "core"}

_LOOKED_AT = (ast.Import, ast.ImportFrom, ast.Call, ast.Attribute)

Graph = dict[str, set[str]]
"""The modules that each module imports."""


class _Import(NamedTuple):
    """One import.

    Args:
        source: The module that is imported, or from which a name is.
        name: The name that is imported from it; ``None`` where the module itself is.
        bound: What it is called where it is imported; empty where it has no name there.
        module: The module that ``bound`` stands for, if it is one.
    """

    source: str
    name: str | None
    bound: str = ""
    module: str = ""


def modules(sources: Mapping[str, Path] = SOURCES) -> dict[str, Path]:
    """The file of each module, by its dotted name; a package is its ``__init__``.

    Args:
        sources: The folder that each package lies in.
    """
    found = {}
    for package, root in sources.items():
        for path in sorted((root / package).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(files: Mapping[str, Path]) -> Graph:
    """The modules that each module imports.

    A name that a package only hands on counts as an import of the module that has it, by whoever imports the name or
    reads it as an attribute of the package. A package that only hands on imports nothing itself.

    Args:
        files: What :func:`modules` gives.
    """
    trees = {module: ast.parse(path.read_text(encoding="utf-8")) for module, path in files.items()}
    nodes = {
        module: [node for node in ast.walk(tree) if isinstance(node, _LOOKED_AT)] for module, tree in trees.items()
    }
    named = {module: list(_imports_in(module, files[module], nodes[module])) for module in trees}
    graph: Graph = {}
    for module, tree in trees.items():
        if _is_package(files[module]) and not _defines_something(tree):
            graph[module] = set()
            continue
        uses = [(one.source, one.name) for one in named[module]]
        uses += _attributes(nodes[module], {one.bound: one.module for one in named[module] if one.bound}, files)
        targets = {_home(source, name, named, files) for source, name in uses}
        graph[module] = {target for target in targets if target is not None and target != module}
    return graph


APART = {"sfgen.grammar.language": "language"}
"""Rooms that count as packages of their own: a Lark grammar may have schemas in it, and schemas stand on grammars."""


def package_of(module: str) -> str:
    """The part of the library that a module belongs to, or the library or command line itself.

    >>> package_of("sfgen.ban.words"), package_of("sfgen.grammar.language.gbnf"), package_of("sfgen_cli.app")
    ('ban', 'language', 'sfgen_cli')
    """
    for room, package in APART.items():
        if f"{module}.".startswith(f"{room}."):
            return package
    outermost, *inner = module.split(".")
    return inner[0] if inner and outermost == "sfgen" else outermost


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """The groups of modules that import each other in a circle: strongly connected components (Tarjan 1972)."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(module: str) -> None:
        order[module] = lowest[module] = len(order)
        stack.append(module)
        for target in sorted(graph.get(module, ())):
            if target not in order:
                visit(target)
                lowest[module] = min(lowest[module], lowest[target])
            elif target in stack:
                lowest[module] = min(lowest[module], order[target])
        if lowest[module] == order[module]:
            group = stack[stack.index(module) :]
            del stack[stack.index(module) :]
            if len(group) > 1:
                found.append(sorted(group))

    for module in sorted(graph):
        if module not in order:
            visit(module)
    return sorted(found)


def _imports_in(module: str, path: Path, nodes: Sequence[ast.AST]) -> Iterator[_Import]:
    """All imports in a module, wherever they stand; ``import_module("...")`` is one too."""
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                outermost = alias.name.partition(".")[0]
                yield _Import(alias.name, None, alias.asname or outermost, alias.name if alias.asname else outermost)
        elif isinstance(node, ast.ImportFrom):
            source = node.module or ""
            if node.level:
                parts = module.split(".")
                kept = len(parts) - node.level + _is_package(path)
                source = ".".join([*parts[:kept], *([source] if source else [])])
            for alias in node.names:
                yield _Import(source, alias.name, alias.asname or alias.name, f"{source}.{alias.name}")
        elif isinstance(node, ast.Call) and node.args:
            called, first = node.func, node.args[0]
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if name == "import_module" and isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield _Import(first.value, None)


def _attributes(
    nodes: Sequence[ast.AST], modules_by_name: Mapping[str, str], files: Mapping[str, Path]
) -> Iterator[tuple[str, str]]:
    """The names read as attributes of our modules: ``sfgen.Dfa`` is as good as ``from sfgen import Dfa``."""

    def module_of(node: ast.expr) -> str | None:
        """The module that an expression is."""
        if isinstance(node, ast.Name):
            found = modules_by_name.get(node.id)
        elif isinstance(node, ast.Attribute) and (outer := module_of(node.value)) is not None:
            found = f"{outer}.{node.attr}"
        else:
            return None
        return found if found in files else None

    for node in nodes:
        if isinstance(node, ast.Attribute) and (module := module_of(node.value)) is not None:
            yield module, node.attr


def _home(
    source: str,
    name: str | None,
    named: Mapping[str, list[_Import]],
    files: Mapping[str, Path],
    passed: frozenset[str] = frozenset(),
) -> str | None:
    """The module that has what is imported; ``None`` for other people's.

    Args:
        source: The module that it is imported from.
        name: What is imported from it; ``None``: the module itself.
        named: The imports of each module.
        files: The files of the modules.
        passed: The packages that hand it on.
    """
    if source not in files or name is None:
        return source if source in files else None
    if _is_package(files[source]):
        for further in named[source]:
            if further.bound == name and further.source not in {*passed, source}:
                return _home(further.source, further.name, named, files, passed | {source})
    inner = f"{source}.{name}"
    return inner if inner in files else source


def _is_package(path: Path) -> bool:
    return path.name == "__init__.py"


def _defines_something(tree: ast.Module) -> bool:
    """Whether a module has more than imports, constants, and what Python itself looks for."""
    return any(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name[:2] != "__"
        for node in ast.walk(tree)
    ) or any(
        isinstance(inside, ast.Name) and isinstance(inside.ctx, ast.Load)
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None
        for inside in ast.walk(node.value)
    )
