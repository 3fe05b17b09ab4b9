"""The markers of a test: nobody sets them by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import is_of_a_program
from reached import uses_of
from torch_imports import HEAVY, imports_torch

MARKERS = {
    "process": "starts a process",
    "torch": "imports torch or transformers",
    "program": "runs a program of other people, such as Graphviz and zsh",
}

_FOLDERS = {"tests/integrations": {"torch"}}
"""By folder: the markers of all that is in it."""


def markers_of(item: pytest.Item) -> set[str]:
    """The markers of a test: of its folder, of what its code uses, and of the programs that it is skipped without."""
    found = {marker for folder, markers in _FOLDERS.items() for marker in markers if item.nodeid.startswith(folder)}
    if any(is_of_a_program(str(mark.kwargs.get("reason"))) for mark in item.iter_markers("skipif")):
        found.add("program")
    if isinstance(item, pytest.Function):
        fixtures = item._fixtureinfo.name2fixturedefs.values()
        parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
        found |= uses_of([item.function, *(found[-1].func for found in fixtures)], parameters)
    elif isinstance(item, pytest.DoctestItem):
        text = "".join(example.source for example in item.dtest.examples)
        found |= {"torch"} if any(module in text for module in HEAVY) or imports_torch(Path(item.path)) else set()
    return found
