"""Which package of the library imports which, as a Mermaid graph: from the imports that are there."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.support.sources.imports import Graph, imports, modules, package_of

_LIBRARY, _COMMAND_LINE = "sfgen", "sfgen_cli"


def import_graph() -> str:
    """The graph, drawn upwards from what imports nothing; an arrow that others stand for is left out."""
    between = _between_packages(imports(modules()))
    lines = [
        f"  {package} --> {target}"
        for package in sorted(between)
        for target in sorted(between[package])
        if not any(target in _reached(other, between) for other in between[package] - {target})
    ]
    return "\n".join(["```mermaid", "flowchart BT", *lines, "```"])


def _between_packages(graph: Graph) -> Graph:
    """Imports between packages; single files, which every package may import, are left out."""
    packages = {
        package_of(module)
        for module in graph
        if module.startswith(f"{_LIBRARY}.") and (module.count(".") > 1 or package_of(module) == "protocols")
    }
    between: Graph = {package: set() for package in {*packages, _COMMAND_LINE}}
    for module, targets in graph.items():
        found = {package_of(target) for target in targets} & set(between)
        if (package := package_of(module)) in between:
            between[package] |= found - {package}
    return between


def _reached(package: str, graph: Graph) -> set[str]:
    """All packages that a package imports, directly or through others."""
    found: set[str] = set()
    open_packages = [package]
    while open_packages:
        for target in graph[open_packages.pop()] - found:
            found.add(target)
            open_packages.append(target)
    return found
