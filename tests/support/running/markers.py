"""The markers of a test: nobody sets them by hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path

import pytest
from tests.support.running.programs import is_of_a_program
from tests.support.running.reached import uses_of
from tests.support.running.torch_imports import HEAVY
from tests.support.running.tried import spread

MARKERS = {
    "process": "starts a process",
    "torch": "imports torch or transformers",
    "command": "runs commands of sfgen",
    "published": "reads tokenizers and schemas of other people, which are large",
    "bench": "tries the benchmarks",
    "program": "runs a program of other people, such as Graphviz and zsh",
    "long": "takes seconds for each test: statistics, whole corpora, all sources of the project",
}

_FOLDERS = {
    "tests/cli/*": {"command"},
    "tests/test_without_extra.py": {"command"},
    "tests/integrations/*": {"torch"},
    "tests/test_*_bench.py": {"bench"},
    "tests/real/*": {"published"},
    "tests/schema/test_real_schemas.py": {"published"},
    **{
        f"tests/{name}.py": {"long"}
        for name in (
            *("automata/test_corpus", "decoding/test_quality", "jobs/test_gzip", "training/test_pairs"),
            *("models/test_tiny_weights", "reference/test_engines", "regex/test_places_random"),
            *("ban/test_pattern_properties", "decoding/test_exact", "decoding/test_healing"),
            *("jobs/test_instructions", "models/test_tiny_model"),
            *("test_docstrings", "test_foreign_names", "test_imports"),
        )
    },
}
"""By pattern of the path: the markers of all that is there."""


def is_left_out(path: Path) -> bool:
    """Whether all tests of a file have a marker; the path is that from the root of the repository."""
    return bool(_of_folder(path.as_posix()))


def _of_folder(path: str) -> set[str]:
    return {marker for pattern, markers in _FOLDERS.items() if fnmatch(path, pattern) for marker in markers}


def markers_of(item: pytest.Item) -> set[str]:
    """The markers of a test: of its folder, of what its code uses, and of the programs that it is skipped without."""
    found = _of_folder(item.nodeid.partition("::")[0])
    if any(is_of_a_program(str(mark.kwargs.get("reason"))) for mark in item.iter_markers("skipif")):
        found.add("program")
    if isinstance(item, pytest.Function):
        if "real_tokenizer_directory" in item.fixturenames:
            found.add("published")
        fixtures = item._fixtureinfo.name2fixturedefs.values()
        parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
        methods = [getattr(item.cls, name) for name in item.function.__code__.co_names if hasattr(item.cls, name)]
        functions = [item.function, *methods, *(definitions[-1].func for definitions in fixtures)]
        found |= uses_of(functions, parameters)
    elif isinstance(item, pytest.DoctestItem):
        text = Path(item.path).read_text(encoding="utf-8")
        found |= (
            {"torch"} if any(f"{verb} {module}" in text for verb in ("import", "from") for module in HEAVY) else set()
        )
    return found


def spread_over_parameters(items: Sequence[pytest.Item], most: int = 2) -> Iterator[pytest.Item]:
    """Of each test with parameters, a few: the first, the last, and others between them at equal distances.

    Args:
        items: The tests.
        most: How many of each are kept.
    """
    by_test: dict[str, list[pytest.Item]] = {}
    for item in items:
        by_test.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for group in by_test.values():
        yield from spread(group, most)
