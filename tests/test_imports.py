"""Imports go one way, and nowhere in a circle; imports in functions and for types count as all others do."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.sources.imports import ROOT, Graph, circles, imports, modules, package_of

_GROUND = {
    "arguments",
    "garbage_collector",
    "compiled_form",
    "delays",
    "errors",
    "groups",
    "numba_internals",
    "kernels",
    "parameter_text",
    "printable",
    "number_ranges",
    "weak_cache",
    "cache_folders",
    "whole_file",
}
"""What every package may import; ``sfgen`` itself, of which only the version is imported, too."""

_UPWARD = (
    "protocols",
    "regex",
    "automata",
    "vocabulary",
    "index",
    "grammar",
    "substring",
    "ban",
    "schema",
    "language",
    "template",
    "tools",
    "decoding",
)
"""Each of these may import those before it; ``language`` is a room of ``grammar`` (see ``APART``)."""

_ENGINE = {*_UPWARD, "models"}

_MAY_IMPORT: dict[str, set[str]] = {
    **{package: set(_UPWARD[:number]) for number, package in enumerate(_UPWARD)},
    "models": {"protocols", "vocabulary"},
    "tools": {*_UPWARD[: _UPWARD.index("tools")], "models"},
    "decoding": _ENGINE - {"decoding"},
    "scoring": {"protocols", "models", "decoding"},
    "trace": {"decoding"},
    "page": set(),
    "jobs": _ENGINE | {"scoring", "trace"},
    "integrations": _ENGINE | {"jobs"},
    "serve": _ENGINE | {"jobs", "trace", "page"},
    "reference": _ENGINE,
    "sfgen_cli": _ENGINE | {"scoring", "integrations", "reference", "trace", "jobs", "serve", "page"},
    "sfgen": set(),
    "training": set(),
    **{package: set() for package in _GROUND},
}
"""The packages that each may import, besides itself and the ground."""


_ROOMS = {
    "sfgen.grammar": ("shell", "network", "lalr", "mixed", "language"),
    "sfgen.schema": ("scalars", "reading", "meaning", "writing", "inspection"),
}
"""The rooms of a package: each may import those before it, and what stands beside the rooms may import them all."""


@pytest.fixture(scope="module")
def files() -> dict[str, Path]:
    return modules()


@pytest.fixture(scope="module")
def graph(files: dict[str, Path]) -> Graph:
    return imports(files)


def test_no_modules_import_each_other_in_a_circle(files: dict[str, Path], graph: Graph) -> None:
    found = circles(graph)
    assert not found, "\n".join(f"{len(group)} files in a circle:\n{_told(group, files, graph)}" for group in found)


def test_imports_between_packages_go_one_way(files: dict[str, Path], graph: Graph) -> None:
    wrong = _wrong_way(graph)
    assert not wrong, "imports that go the wrong way:\n" + "\n".join(
        f"  {_file(files[module])} imports {_file(files[target])}: "
        f"{package_of(module)} may not import {package_of(target)}"
        for module, target in wrong
    )


def test_imports_between_the_rooms_of_a_package_go_one_way(files: dict[str, Path], graph: Graph) -> None:
    wrong = _wrong_way_in_rooms(graph)
    assert not wrong, "\n".join(f"{_file(files[module])} imports {_file(files[target])}" for module, target in wrong)


def test_every_room_has_its_place_in_the_order(files: dict[str, Path]) -> None:
    for package, rooms in _ROOMS.items():
        folders = {path.parent.name for path in files.values() if path.parent.parent.name == package.rpartition(".")[2]}
        assert folders == set(rooms)


@pytest.mark.parametrize(
    ("module", "target", "is_wrong"),
    [
        ("sfgen.schema.meaning.groups", "sfgen.schema.reading.keywords", False),
        ("sfgen.schema.reading.keywords", "sfgen.schema.meaning.groups", True),
        ("sfgen.schema.reading.read", "sfgen.schema.reading.keywords", False),
        ("sfgen.schema.json_schema", "sfgen.schema.inspection.position", False),
        ("sfgen.schema.inspection.position", "sfgen.schema.json_schema", True),
        ("sfgen.template.template", "sfgen.schema.json_schema", False),
        ("sfgen.schema", "sfgen.schema.reading.read", False),
    ],
)
def test_which_way_an_import_between_rooms_may_go(module: str, target: str, is_wrong: bool) -> None:
    assert _wrong_way_in_rooms({module: {target}}) == ([(module, target)] if is_wrong else [])


def test_every_package_has_its_place_in_the_order(files: dict[str, Path]) -> None:
    assert {package_of(module) for module in files} == set(_MAY_IMPORT)
    assert not circles(_MAY_IMPORT)


def test_our_own_sources_are_read(graph: Graph) -> None:
    assert len(graph) > 200
    assert {"sfgen.automata.minimize", "sfgen.automata.pictures"} <= graph[
        "sfgen.automata.dfa"
    ]  # one of them in a function
    assert "sfgen.ban.words" in graph["sfgen.decoding.config"]  # for types only
    assert "sfgen.vocabulary.vocabulary" in graph["sfgen.index.index"]  # `sfgen.vocabulary` hands it on


@pytest.mark.parametrize(
    ("module", "target", "is_wrong"),
    [
        ("sfgen.regex.parse", "sfgen.automata.dfa", True),
        ("sfgen.automata.dfa", "sfgen.regex.parse", False),
        ("sfgen.models.uniform", "sfgen.decoding.loop", True),
        ("sfgen.models.uniform", "sfgen.index.index", True),
        ("sfgen.decoding.loop", "sfgen.models.uniform", False),
        ("sfgen.ban.words", "sfgen.models", True),
        ("sfgen.protocols", "sfgen.vocabulary.vocabulary", True),
        ("sfgen.errors", "sfgen.regex.parse", True),
        ("sfgen.regex.parse", "sfgen.errors", False),
        ("sfgen.index.file", "sfgen", False),
        ("sfgen.reference.fsm", "sfgen.integrations.masks", True),
        ("sfgen.grammar.language.grammar", "sfgen.schema.json_schema", False),
        ("sfgen.grammar.mixed.reader", "sfgen.schema.json_schema", True),
        ("sfgen.schema.json_schema", "sfgen.grammar.language.grammar", True),
        ("sfgen.schema.json_schema", "sfgen.grammar.network.network", False),
        ("sfgen.integrations.masks", "sfgen_cli.live.view", True),
        ("sfgen_cli.live.view", "sfgen.integrations.masks", False),
    ],
)
def test_which_way_an_import_may_go(module: str, target: str, is_wrong: bool) -> None:
    assert _wrong_way({module: {target}}) == ([(module, target)] if is_wrong else [])


def _wrong_way(graph: Graph) -> list[tuple[str, str]]:
    """The imports that go against the order of the packages: (module, what it imports)."""
    return [
        (module, target)
        for module, targets in sorted(graph.items())
        for target in sorted(targets)
        if package_of(target) not in _MAY_IMPORT[package_of(module)] | _GROUND | {"sfgen", package_of(module)}
    ]


def _wrong_way_in_rooms(graph: Graph) -> list[tuple[str, str]]:
    """The imports within a package that go against the order of its rooms: (module, what it imports)."""
    return [
        (module, target)
        for module, targets in sorted(graph.items())
        for target in sorted(targets)
        for package, rooms in _ROOMS.items()
        if target.startswith(f"{package}.") and (own := _room(module, package, rooms)) < len(rooms)
        if _room(target, package, rooms) > own
    ]


def _room(module: str, package: str, rooms: tuple[str, ...]) -> int:
    """The number of the room that a module is in; one more than the last for what is in none."""
    inner = module.removeprefix(f"{package}.").partition(".")[0]
    return rooms.index(inner) if module.startswith(f"{package}.") and inner in rooms else len(rooms)


def _told(group: Iterable[str], files: dict[str, Path], graph: Graph) -> str:
    """Which file of a circle imports which."""
    return "\n".join(
        f"  {_file(files[module])} imports {', '.join(_file(files[target]) for target in sorted(targets))}"
        for module in group
        if (targets := graph[module].intersection(group))
    )


def _file(path: Path) -> str:
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name


class TestTheFinder:
    """What is found in small packages made for it."""

    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path) -> None:
        self.root = tmp_path

    def files(self, **texts: str) -> dict[str, Path]:
        """The modules of a package ``made`` with these files; a double underscore in a name is a folder's end."""
        for name, text in {"__init__": "", **texts}.items():
            path = self.root / "made" / (f"{name}.py" if name == "__init__" else name.replace("__", "/", 1) + ".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return modules({"made": self.root})

    def found(self, **texts: str) -> list[list[str]]:
        return circles(imports(self.files(**texts)))

    def test_one_way_is_no_circle(self) -> None:
        texts = {"a": "from made import b, c\n", "b": "from made.c import x\n", "c": "import os\nx = 1\n"}
        assert imports(self.files(**texts)) == {
            "made": set(),
            "made.a": {"made.b", "made.c"},
            "made.b": {"made.c"},
            "made.c": set(),
        }
        assert self.found(**texts) == []

    def test_for_types_only(self) -> None:
        a = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from made.b import B\nclass A: ...\n"
        assert self.found(a=a, b="from made.a import A\nclass B(A): ...\n") == [["made.a", "made.b"]]

    def test_in_a_function(self) -> None:
        a = "class A:\n    def b(self):\n        from made.b import make\n        return make(self)\n"
        assert self.found(a=a, b="import made.a\ndef make(a): ...\n") == [["made.a", "made.b"]]

    def test_through_a_package_that_hands_on_a_name(self) -> None:
        handing = {"inner____init__": "from made.inner.a import A\n", "inner__a": "import made.b\nclass A: ...\n"}
        circle = [["made.b", "made.inner.a"]]
        assert self.found(**handing, b="from made.inner import A\n") == circle
        assert self.found(**handing, b="from made import inner\nprint(inner.A)\n") == circle
        assert self.found(**handing, b="import made.inner as other\ndef f():\n    other.A()\n") == circle
        assert self.found(**handing, b="def f():\n    import made\n    return made.inner.A\n") == circle

    def test_through_two_packages_that_hand_on_a_name_by_another_one(self) -> None:
        found = self.found(
            inner____init__="from made.inner.a import A as B\n",
            inner__a="from made.b import b\nclass A: ...\n",
            other____init__="from made.inner import B as C\n",
            b="from made.other import C\ndef b(): ...\n",
        )
        assert found == [["made.b", "made.inner.a"]]

    def test_a_package_that_only_hands_on_is_in_no_circle(self) -> None:
        inner = {"inner____init__": "from made.inner.a import A\n__version__ = '1'\n", "inner__a": "class A: ...\n"}
        assert self.found(**inner, inner__b="from made.inner import A, __version__\n") == []
        inner["inner____init__"] = "from made.inner.b import B\ndef make():\n    return B()\n"
        inner["inner__b"] = "from made.inner import make\nclass B: ...\n"
        assert self.found(**inner) == [["made.inner", "made.inner.b"]]

    def test_packages_that_hand_on_a_name_to_each_other(self) -> None:
        found = self.found(
            one____init__="from made.two import x\n",
            two____init__="from made.one import x\n",
            a="from made.one import x\n",
        )
        assert found == []

    def test_relative_ones_and_those_by_a_text(self) -> None:
        inner = {"inner____init__": "", "inner__a": "from . import b\n", "inner__b": "from ..c import x\n"}
        c = "import importlib\nx = importlib.import_module('made.inner.a')\n"
        assert self.found(**inner, c=c) == [["made.c", "made.inner.a", "made.inner.b"]]
        inner = {"inner____init__": "from .a import A\n", "inner__a": "from ..b import x\nclass A: ...\n"}
        assert self.found(**inner, b="from .inner import A\n") == [["made.b", "made.inner.a"]]

    def test_the_message_names_the_files(self) -> None:
        files = self.files(a="import made.b\n", b="from made import c\n", c="import made.a\n", d="import made.a\n")
        graph = imports(files)
        assert [_told(group, files, graph) for group in circles(graph)] == [
            "  a.py imports b.py\n  b.py imports c.py\n  c.py imports a.py"
        ]


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=20))
def test_a_circle_is_what_reaches_each_other(edges: list[tuple[int, int]]) -> None:
    graph: Graph = {str(number): set() for number in range(8)}
    for source, target in edges:
        graph[str(source)].add(str(target))
    reached = {module: {module} for module in graph}
    for _ in graph:
        for module in graph:
            reached[module] |= {further for inner in reached[module] for further in graph[inner]}
    groups = {
        tuple(other for other in sorted(graph) if module in reached[other] and other in reached[module])
        for module in graph
    }
    assert circles(graph) == sorted(list(group) for group in groups if len(group) > 1)
