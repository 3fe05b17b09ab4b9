"""What other packages keep to themselves is named in one file for each package, so that a change of it is met there."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.sources.foreign_names import foreign_names
from tests.support.sources.imports import ROOT, modules

_ADAPTERS = {
    "core/sfgen/numba_internals.py": "numba",
    "core/sfgen/regex/python_re.py": "re",
    "core/sfgen/grammar/lalr/lark_package.py": "lark",
    "core/sfgen/models/transformers_internals.py": "transformers, torch and accelerate",
    "core/sfgen/models/tiny/blas_threads.py": "numpy",
    "core/sfgen/serve/run.py": "multiprocessing",
    "cli/sfgen_cli/shell/typer_internals.py": "typer",
    "cli/sfgen_cli/__main__.py": "_signal",
    "cli/sfgen_cli/shell/ending.py": "atexit",
}
"""The only files that may name private parts, and whose."""


@pytest.fixture(scope="module")
def found() -> dict[str, set[str]]:
    return foreign_names(modules().values())


def test_private_parts_of_other_packages_are_named_in_their_adapters_alone(found: dict[str, set[str]]) -> None:
    others = {path: names for path, names in found.items() if path not in _ADAPTERS}
    assert not others, "\n".join(f"{path} names {', '.join(sorted(names))}" for path, names in others.items())
    assert found.keys() == _ADAPTERS.keys()  # one without any is an adapter no more


def test_each_adapter_names_the_parts_of_its_own_packages(found: dict[str, set[str]]) -> None:
    outermost = {
        path: {name.partition(".")[0] for name in names if not name.startswith("_")} for path, names in found.items()
    }
    for path, packages in outermost.items():
        assert all(package in _ADAPTERS[path] for package in packages), path
    # Some of what is known to be there.
    assert "_attn_implementation" in found["core/sfgen/models/transformers_internals.py"]
    assert "_parse_table" in found["core/sfgen/grammar/lalr/lark_package.py"]
    assert "typer._click.exceptions.UsageError" in found["cli/sfgen_cli/shell/typer_internals.py"]
    assert "numba.core.compiler.CompilerBase" in found["core/sfgen/numba_internals.py"]


_CLASS = "class A:\n    _table: int\n    def f(self):\n        self._rows = 1\n"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("import os\nfrom re import match\n", set()),
        ("from re import _parser as parser\n", {"re._parser"}),
        ("def f():\n    import typer._click.core\n", {"typer._click.core"}),
        ("if TYPE_CHECKING:\n    from numba.core import types\n", {"numba.core.types"}),
        ("from made._inner import x\nfrom made import _y\n", set()),
        ("def f(x):\n    return x._table\n", {"_table"}),
        ("def f(x):\n    x._table = 1\n", {"_table"}),
        ("def f(x):\n    return getattr(x, '_table', None)\n", {"_table"}),
        (_CLASS + "def f(x):\n    return x._table, x._rows, x.__dict__, x._replace()\n", set()),
    ],
)
def test_what_is_found(text: str, names: set[str], tmp_path: Path) -> None:
    path = tmp_path / "core" / "made" / "a.py"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert foreign_names([path], tmp_path) == ({"core/made/a.py": names} if names else {})


def test_our_own_sources_are_read() -> None:
    assert len(list(modules().values())) > 200
    assert ROOT in next(iter(modules().values())).parents
