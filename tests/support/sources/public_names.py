"""What users import from sfgen, read from the text: the names in ``__all__`` and those that the guides tell."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, TypeAlias

ROOT = Path(__file__).parents[3]
LIBRARY = "sfgen"
GUIDES = ("README.md", "core/README.md", "cli/README.md", "cli/guides/*.md")
"""The documents that tell users what to import; others tell about the inside."""

GIVEN_BACK = (
    "sfgen.decoding.sampler.Draws",
    "sfgen.reference.guide.ReferenceGuide",
    "sfgen.models.tiny.model.TinyModel",
    "sfgen.models.transformers_model.TransformersModel",
    "sfgen.models.uniform.UniformModel",
    "sfgen.models.zip_model.ZipModel",
)
"""What is in no ``__all__``, but in the hands of callers: objects that public functions return, and what the README
names."""

_DOTTED = re.compile(r"\bsfgen(?:\.\w+)+")
_IMPORTED = re.compile(r"\bfrom (sfgen[\w.]*) import ([\w, ]+)")

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Definition: TypeAlias = Function | ast.ClassDef


class Module(NamedTuple):
    """A module as its text says it: what it defines, what it imports from where, and its ``__all__``."""

    file: str
    definitions: dict[str, Definition]
    imported: dict[str, tuple[str, str]]
    exported: list[str]


def public_names(root: Path = ROOT) -> dict[str, set[str]]:
    """The public definitions of each file, by the file's path in the repository: ``scan``, ``Index``, ``Index.row``.

    A class is public with its methods and with the methods that it inherits from classes of sfgen.
    """
    modules = _modules(root / "core")
    found: dict[str, set[str]] = {module.file: set() for module in modules.values()}
    for module, name in {*_exported(modules), *_told(root, modules), *map(_split, GIVEN_BACK)}:
        if (home := _home(module, name, modules)) is not None:
            _add(*home, modules, found)
    return found


def _modules(source: Path) -> dict[str, Module]:
    found = {}
    for path in sorted((source / LIBRARY).rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        dotted = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[dotted] = _module(path, path.relative_to(source.parent).as_posix())
    return found


def _module(path: Path, name: str) -> Module:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imported, exported = {}, []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and not node.level and node.module:
            imported.update({each.asname or each.name: (node.module, each.name) for each in node.names})
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__":
            exported = ast.literal_eval(node.value)
    return Module(name, {each.name: each for each in tree.body if isinstance(each, Definition)}, imported, exported)


def _exported(modules: Mapping[str, Module]) -> Iterator[tuple[str, str]]:
    for dotted, module in modules.items():
        yield from ((dotted, name) for name in module.exported)


def _told(root: Path, modules: Mapping[str, Module]) -> Iterator[tuple[str, str]]:
    """The names that the guides import or write with their module before them."""
    for guide in (path for pattern in GUIDES for path in sorted(root.glob(pattern))):
        text = guide.read_text(encoding="utf-8")
        for dotted in _DOTTED.findall(text):
            parts = dotted.split(".")
            for end in range(1, len(parts)):
                if (module := ".".join(parts[:end])) in modules:
                    yield module, parts[end]
        for module, names in _IMPORTED.findall(text):
            yield from ((module, name.split()[0]) for name in names.split(",") if name.strip())


def _home(module: str, name: str, modules: Mapping[str, Module]) -> tuple[str, str] | None:
    """The module that defines a name; ``None`` for constants, modules and what is not ours."""
    passed = set()
    while module in modules and (module, name) not in passed:
        passed.add((module, name))
        if name in modules[module].definitions:
            return module, name
        if name not in modules[module].imported:
            return None
        module, name = modules[module].imported[name]
    return None


def _add(module: str, name: str, modules: Mapping[str, Module], found: dict[str, set[str]]) -> None:
    """Add a function, or a class with its methods and those of the classes that it inherits from."""
    found[modules[module].file].add(name)
    owners = [(module, name)]
    for owner_module, owner_name in owners:
        owner = modules[owner_module].definitions[owner_name]
        if isinstance(owner, ast.ClassDef):
            found[modules[owner_module].file] |= {f"{owner_name}.{method.name}" for method in _methods(owner)}
            homes = [_home(owner_module, base, modules) for base in bases(owner)]
            owners += [home for home in homes if home is not None and home not in owners]


def _methods(owner: ast.ClassDef) -> Iterable[Function]:
    return (
        node
        for node in owner.body
        if isinstance(node, Function) and (not node.name.startswith("_") or node.name == "__call__")
    )


def bases(owner: ast.ClassDef) -> list[str]:
    """The names of the classes that a class inherits from, without modules and type parameters."""
    return [re.findall(r"\w+", ast.unparse(base).partition("[")[0])[-1] for base in owner.bases]


def _split(dotted: str) -> tuple[str, str]:
    module, _, name = dotted.rpartition(".")
    return module, name
