"""Programs of other people that tests run: which there are, and what is said where one is missing."""

from __future__ import annotations

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
