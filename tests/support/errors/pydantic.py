"""Classes of the user's that cannot be found, or that pydantic cannot read."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest
from tests.support.errors.case import Before, Case, both, files

_INDEX = "index --pydantic"
_MODULE = files(
    kinds__py="""
from dataclasses import dataclass

@dataclass
class Person:
    name: str
    class Inner: ...

class Plain: ...

limit = 3
"""
)


def _pydantic(module: ModuleType | None) -> Before:
    """Another package of this name, or none."""
    return lambda monkeypatch: monkeypatch.setitem(sys.modules, "pydantic", module)


def _old() -> ModuleType:
    module = ModuleType("pydantic")
    module.VERSION = "1.10.0"  # type: ignore[attr-defined]
    return module


def _forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules that were imported before are not taken for those of this folder."""
    for name in ("broken", "broken.inner", "lacking", "unwritten", "leaving"):
        monkeypatch.delitem(sys.modules, name, raising=False)


PYDANTIC = [
    Case(f"{_INDEX} Person", 2, "--pydantic needs a module, a colon and a class, and 'Person' is not that"),
    Case(f"{_INDEX} kinds.py:", 2, "--pydantic needs a module, a colon and a class"),
    Case(f"{_INDEX} .kinds:Person", 2, "For example: --pydantic app.models:Person"),
    Case(f"{_INDEX} knids:Person", 1, "Did you mean kinds?", _MODULE),
    Case(f"{_INDEX} nowhere.inner:Person", 1, "tried nowhere/inner.py and nowhere/inner/ in this folder"),
    Case(f"{_INDEX} nowhere.py:Person", 1, "cannot read nowhere.py: No such file or directory"),
    Case(f"{_INDEX} ./kinds:Person", 1, "kinds is not a file of Python", files(kinds="")),
    Case(f"{_INDEX} broken:A", 1, "broken.py, line 2", both(_forget, files(broken__py="\nraise ValueError('odd')"))),
    Case(
        f"{_INDEX} broken.py:A",
        1,
        "broken.py cannot be imported: ValueError: odd",
        files(broken__py="raise ValueError('odd')"),
    ),
    Case(
        f"{_INDEX} lacking:A",
        1,
        "No module named 'not_here_at_all'",
        both(_forget, files(lacking__py="import not_here_at_all")),
    ),
    Case(f"{_INDEX} unwritten:A", 1, "unwritten.py, line 1", both(_forget, files(unwritten__py="class A(:"))),
    Case(f"{_INDEX} leaving:A", 1, "SystemExit: 3", both(_forget, files(leaving__py="import sys\nsys.exit(3)"))),
    Case(f"{_INDEX} kinds.py:Persom", 1, "Did you mean Person?", _MODULE),
    Case(f"{_INDEX} kinds.py:Zebra", 1, "It has Person, Plain.", _MODULE),
    Case(f"{_INDEX} kinds.py:Person.Iner", 1, "kinds.py:Person has no Iner", _MODULE),
    Case(f"{_INDEX} kinds.py:list[Person]", 1, "such as People = list[Person]", _MODULE),
    Case(f"{_INDEX} kinds.py:limit", 1, "kinds.py:limit is not a class, but a value of one", _MODULE),
    Case(f"{_INDEX} kinds.py:Plain", 1, "pydantic makes no schema of Plain", _MODULE),
    Case(f"{_INDEX} kinds.py:Person", 1, "pip install 'sfgen[pydantic]'", both(_MODULE, _pydantic(None))),
    Case(f"{_INDEX} kinds.py:Person", 1, "needs pydantic 2, and this is 1.10.0", both(_MODULE, _pydantic(_old()))),
    Case(f"{_INDEX} kinds.py:Person --schema name", 2, "--schema and --pydantic cannot be used together", _MODULE),
    Case("index --pydantic kinds.py:Person --state 1", 2, "--state and --pydantic cannot be used together", _MODULE),
    Case("gen --pydantic kinds.py:Person --engine fsm", 2, "--engine fsm and --pydantic cannot be used", _MODULE),
]
