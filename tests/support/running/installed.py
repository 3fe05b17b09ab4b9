"""Packages and programs that are not everywhere: tests that need one are skipped without it, and say how to get it."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

_LIST = Path(__file__).parents[3] / ".ci" / "programs"
_REASON = re.compile(r"the program (\S+) is not installed")


def packages() -> dict[str, str]:
    """The Debian package of each program."""
    lines = _LIST.read_text(encoding="utf-8").splitlines()
    return dict(line.split() for line in lines if not line.startswith("#"))


def needs(program: str) -> pytest.MarkDecorator:
    """A mark for tests that run this program: without it they are skipped."""
    package = packages()[program]
    reason = f"the program {program} is not installed (apt-get install {package})"
    return pytest.mark.skipif(shutil.which(program) is None, reason=reason)


def is_of_a_program(reason: str) -> bool:
    """Whether a test that is skipped for this reason runs a program.

    >>> is_of_a_program("the program zsh is not installed (apt-get install zsh)"), is_of_a_program("no GPU")
    (True, False)
    """
    return _REASON.search(reason) is not None


def advice(reasons: Iterable[str]) -> str:
    """One line on what was skipped for lack of a program; empty if nothing was.

    >>> advice(["the program zsh is not installed (apt-get install zsh)"] * 2 + ["no GPU"])
    '2 tests were skipped for lack of zsh (2); on Debian: apt-get install zsh'
    """
    missing = Counter(found[1] for reason in reasons if (found := _REASON.search(reason)))
    if not missing:
        return ""
    total, needed = sum(missing.values()), " ".join(packages()[program] for program in missing)
    counts = ", ".join(f"{program} ({count})" for program, count in missing.items())
    return f"{total} tests were skipped for lack of {counts}; on Debian: apt-get install {needed}"


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
