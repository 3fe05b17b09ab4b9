"""The markers of a test: nobody sets them by hand.

They are read from the code of a test, and of the functions, fixtures and classes of the tests that it names: whether it
starts a process or imports torch. Code of sfgen is not followed.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import pytest
from tests.support.running.installed import is_of_a_program
from tests.support.running.light_session import HEAVY
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


_TESTS = str(Path(__file__).parents[2]) + os.sep

USES = {
    # A file is made executable to be run; `svg` runs Graphviz; each worker of a job is a process.
    "process": {"subprocess", "multiprocessing", "forkpty", "ProcessPoolExecutor", "chmod", "svg", "workers"},
    # Tokenizers are read by transformers, which the training writes them with.
    "torch": {
        "training",
        *("torch", "transformers", "TransformersModel", "load_tokenizer"),
        *("load_vocabulary", "from_tokenizer", "from_pretrained"),
    },
}
"""By marker: the names of which one stands in code that does it."""


def uses_of(functions: Iterable[Callable[..., Any]], parameters: Iterable[object] = ()) -> set[str]:
    """The markers of a test.

    Args:
        functions: The test and its fixtures.
        parameters: What it is given by ``parametrize``.
    """
    names = _names_reached([*functions, *parameters])
    return {marker for marker, signs in USES.items() if names & signs}


def _names_reached(roots: Iterable[object]) -> frozenset[str]:
    """The names in the code of the roots, and in all code of the tests that these lead to."""
    return _names_from(frozenset(function for root in roots for function in _functions(root)))


@functools.cache
def _names_from(functions: frozenset[FunctionType]) -> frozenset[str]:
    """Those of some functions: the parameters of a test seldom lead to others than the test itself."""
    names: set[str] = set()
    waiting = list(functions)
    seen = set(waiting)
    while waiting:
        own, further = _in_code(waiting.pop())
        names |= own
        waiting += further - seen
        seen |= further
    return frozenset(names)


@functools.cache
def _in_code(function: FunctionType) -> tuple[set[str], set[FunctionType]]:
    """The names in the code of a function, those of the modules that they mean, and the functions that it may call."""
    dotted = set(_names(function.__code__))
    names = {part for name in dotted for part in name.split(".")}
    values = [function.__globals__[name] for name in names if name in function.__globals__]
    values += [cell.cell_contents for cell in function.__closure__ or () if _is_filled(cell)]
    for module in [value for value in values if isinstance(value, ModuleType)]:
        values += [getattr(module, name) for name in names if _is_ours(module) and hasattr(module, name)]
    homes = {str(getattr(value, "__module__", "")) for value in values if callable(value)}
    homes |= {value.__name__ for value in values if isinstance(value, ModuleType)}
    functions = {called for value in values for called in _functions(value)}
    return names | {home.partition(".")[0] for home in homes}, functions


def _names(code: CodeType) -> Iterator[str]:
    """All names in code, that of inner functions and those of keyword arguments included."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
        elif isinstance(constant, tuple):  # the names of keyword arguments stand in one
            yield from (name for name in constant if isinstance(name, str) and name.isidentifier())


def _functions(value: object, depth: int = 2) -> Iterator[FunctionType]:
    """The functions of the tests that a value is, is made of, or wraps; of an object, those of its class and in it."""
    if isinstance(value, dict | list | tuple | set | frozenset):
        for part in (value.values() if isinstance(value, dict) else value) if depth else ():
            yield from _functions(part, depth - 1)
        return
    inner = _unwrapped(value)
    if isinstance(inner, FunctionType):
        if _is_ours(inner):
            yield inner
        return
    kind = inner if isinstance(inner, type) else type(inner)
    if kind is not inner and _is_ours(kind) and depth:
        yield from _functions(getattr(inner, "__dict__", {}), depth)
    for base in filter(_is_ours, kind.__mro__):
        for part in map(_unwrapped, vars(base).values()):
            if isinstance(part, FunctionType):
                yield part


def _unwrapped(value: Any) -> object:
    """What stands in a decorator, as hypothesis, functools and classes have them."""
    if isinstance(value, functools.partial | functools.cached_property):
        return value.func
    if isinstance(value, property):
        return value.fget
    if isinstance(value, FunctionType) and hasattr(value, "hypothesis"):
        value = value.hypothesis.inner_test
    return inspect.unwrap(value) if callable(value) and not isinstance(value, type) else value


def _is_ours(value: FunctionType | type | ModuleType) -> bool:
    """Whether a module, class or function is one of the tests."""
    if isinstance(value, FunctionType):
        file: str | None = value.__code__.co_filename
    else:
        module = value if isinstance(value, ModuleType) else sys.modules.get(value.__module__)
        file = getattr(module, "__file__", None)
    return file is not None and file.startswith(_TESTS)


def _is_filled(cell: CellType) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True
