"""Who imports whom in our own sources, read from the text: every import counts, also one in a function or for types."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = {"sfgen": ROOT / "core", "sfgen_cli": ROOT / "cli"}


def modules() -> dict[str, Path]:
    """The file of each module, by its dotted name; a package is its ``__init__``."""
    found = {}
    for package, root in SOURCES.items():
        for path in sorted((root / package).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(files: dict[str, Path]) -> dict[str, set[str]]:
    """The modules that each module imports.

    A name that a package only hands on counts as an import of the module that has it, by whoever imports the name.

    Args:
        files: What :func:`modules` gives, or other modules of the same form.
    """
    trees = {module: ast.parse(path.read_text(encoding="utf-8")) for module, path in files.items()}
    named = {module: list(_named(module, files[module], tree)) for module, tree in trees.items()}
    graph: dict[str, set[str]] = {}
    for module, tree in trees.items():
        hands_on = files[module].name == "__init__.py" and not _defines_something(tree)
        targets = {_home(source, name, named, files) for source, name in named[module]}
        graph[module] = set() if hands_on else {target for target in targets if target and target != module}
    return graph


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
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


def _named(module: str, path: Path, tree: ast.Module) -> Iterator[tuple[str, str | None]]:
    """What is imported: a module, and a name in it or ``None`` where the module itself is."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            source = node.module or ""
            if node.level:
                parts = module.split(".")
                kept = len(parts) - node.level + (path.name == "__init__.py")
                source = ".".join([*parts[:kept], *([source] if source else [])])
            yield from ((source, alias.name) for alias in node.names)


def _home(
    source: str, name: str | None, named: dict[str, list[tuple[str, str | None]]], files: dict[str, Path]
) -> str | None:
    """The module that has what is imported; ``None`` for other people's."""
    if source not in files or name is None:
        return source if source in files else None
    if files[source].name == "__init__.py":
        for further, handed_on in named[source]:
            if handed_on == name and further != source:
                return _home(further, name, named, files)
    inner = f"{source}.{name}"
    return inner if inner in files else source


def _defines_something(tree: ast.Module) -> bool:
    return any(isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name[:2] != "__" for node in tree.body)
