"""The check of docstrings finds each fault in a made-up module, and no other."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CHECK = Path(__file__).parent / "docs" / "docstrings.py"

GOOD = '''
"""A module."""


class Advances(Protocol):
    """What others fulfil."""

    def advance(self, data: bytes, count: int) -> None:
        """Read bytes.

        Args:
            data: UTF-8.
            count: How often.
        """


class Fulfils:
    """A fulfilled protocol."""

    def __init__(self, left: int, right: int) -> None:
        self.left, self.right = left, right

    def advance(self, data: bytes, count: int) -> None:
        """Read bytes at once."""

    @property
    def total(self) -> int:
        """The sum of both."""
        return self.left + self.right

    def _advance(self, data, count):
        raise ValueError("private")


def halve(number: int) -> int:
    """Halve a number.

    Raises:
        ValueError: It is odd.
    """
    if number % 2:
        raise ValueError(number)
    return number // 2


def halves(number: int) -> int:
    """Halve a number where it is even."""
    try:
        return number if number % 2 else halve(number)
    except ValueError:
        raise
'''

FAULTS = {
    '''
def take(token: int) -> None:
    """Take a token from the vocabulary and put it behind all the tokens that were taken before."""
''': "take short: 17 words",
    '''
def take(token: int) -> None:
    """Take a token
    from the vocabulary."""
''': "take short: the first line does not end its sentence",
    '''
class Taken:
    def taken(self) -> int:
        """The token."""
''': 'Taken short: the first line does not end\nTaken.taken verb: "The" is no verb',
    '''
def taken() -> int:
    """``None`` where there is none."""
''': 'taken verb: "``None``" is no verb',
    '''
def take(token: int, count: int) -> None:
    """Take tokens.

    Args:
        token: Its id.
        counts: How often.
    """
''': "take args: Args lack count; Args name counts, which is no parameter",
    '''
def take(token: int, *more: int) -> None:
    """Take tokens."""
''': "take args: Args lack more, token",
    '''
class Other:
    """Fulfils no protocol: the parameter is another one."""

    def advance(self, data: bytes, times: int) -> None:
        """Read bytes."""
''': "Other.advance args: Args lack data, times",
    '''
def take(token: int) -> None:
    """Take a token.

    Raises:
        ValueError: It is odd.
    """
    try:
        raise LookupError(token)
    except ValueError:
        raise TypeError.at(token) from None
''': "take raises: Raises lacks LookupError, TypeError",
    '''
def take(token: int) -> None:
    """Take a token.

    So many as there are, as the paper's algorithm does; ``so many`` is code.
    """
''': 'take words: "So many": say N, the number of; "the paper\'s": say author and year',
}


def _run(root: Path, module: str, *options: str) -> subprocess.CompletedProcess[str]:
    folder = root / "core" / "sfgen" / "made_up"
    folder.mkdir(parents=True)
    (folder / "module.py").write_text(module.lstrip(), encoding="utf-8")
    (root / "core" / "sfgen" / "protocols.py").write_text(GOOD.partition("class Fulfils")[0].lstrip(), encoding="utf-8")
    command = [sys.executable, str(CHECK), "--root", str(root), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize(("module", "faults"), FAULTS.items())
def test_a_fault_is_found(tmp_path: Path, module: str, faults: str) -> None:
    found = _run(tmp_path, '"""A module."""\n\n' + module, "--list", "core/sfgen/made_up")
    assert len(found.stdout.splitlines()) == len(faults.splitlines())
    for line, fault in zip(found.stdout.splitlines(), faults.splitlines(), strict=True):
        assert f" {fault}" in line


def test_nothing_is_found_where_all_is_well(tmp_path: Path) -> None:
    assert _run(tmp_path, GOOD, "--list", "").stdout == ""


def test_the_share_decides(tmp_path: Path) -> None:
    passed = _run(tmp_path / "well", GOOD)
    failed = _run(tmp_path / "ill", GOOD + next(iter(FAULTS)))
    assert (passed.returncode, failed.returncode) == (0, 1)
    assert "core/sfgen/made_up  100%" in passed.stdout
    assert "below 95%: short: " in failed.stderr
