"""Packages that are not in every set-up: tests that need one are skipped without it, and it is said how to get it."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterable

import pytest

_EXTRAS = {"llama_cpp": ("llama-cpp-python", "gguf"), "hatchling": ("hatchling", "dev")}
"""By module: its package, and the extra of sfgen that installs it."""
ALL = "SFGEN_TEST_ALL"
"""In this environment variable: nothing is skipped for lack of a package; the tests fail instead, as in CI."""


def needs_package(module: str) -> pytest.MarkDecorator:
    """A mark for tests that need the package with this module."""
    return pytest.mark.skipif(not is_installed(module), reason=_reason(module))


def is_installed(module: str) -> bool:
    """Whether tests may use the package; also where it is missing and nothing may be skipped."""
    return bool(os.environ.get(ALL)) or importlib.util.find_spec(module) is not None


def missing_packages(reasons: Iterable[str]) -> str:
    """One line on what was skipped for lack of a package; empty if nothing was.

    >>> missing_packages(["the package llama-cpp-python is not installed", "no GPU"])
    "1 tests were skipped for lack of llama-cpp-python (1); install it: pip install -e '.[gguf]'"
    """
    listed = list(reasons)
    counts = {module: sum(_reason(module) in reason for reason in listed) for module in _EXTRAS}
    missing = {module: count for module, count in counts.items() if count}
    if not missing:
        return ""
    names = ", ".join(f"{_EXTRAS[module][0]} ({count})" for module, count in missing.items())
    extras = ",".join(_EXTRAS[module][1] for module in missing)
    return f"{sum(missing.values())} tests were skipped for lack of {names}; install it: pip install -e '.[{extras}]'"


def _reason(module: str) -> str:
    return f"the package {_EXTRAS[module][0]} is not installed"
