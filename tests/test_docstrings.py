"""The check of docstrings finds each fault of what a made-up package exports, and no other."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

CHECK = Path(__file__).parent / "docs" / "docstrings.py"

GOOD = '''
"""A module."""


class Inherited:
    def kept(self) -> int:
        """Return what a public class inherits."""
        return 1


def inside(one: int, other: int) -> int:
    """The sum of two numbers for whoever is inside of the package, which has no need of Args, Returns and a verb."""
    if one < 0:
        raise ValueError(one)
    return one + other


class Advances(Protocol):
    """What others fulfil."""

    def advance(self, data: bytes, count: int) -> None:
        """Read bytes.

        Args:
            data: UTF-8.
            count: How often.
        """


class Fulfils(Inherited):
    """A fulfilled protocol.

    Args:
        left: A number.
        right: Another one.
    """

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

    def total_of(self, more: int, most: int) -> int:
        """Return the sum of both and more.

        Args:
            more: What is added.
            most: What the sum is at most.
        """
        return min(self.left + self.right + more, most)


def halve(number: int) -> int:
    """Halve a number.

    Returns:
        The half.

    Raises:
        ValueError: It is odd.
    """
    if number % 2:
        raise ValueError(number)
    return number // 2


def halves(number: int) -> int:
    """Return a number, halved where it is even."""
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
''': 'Taken short: the first line does not end\nTaken.taken verb: "The" is no verb\nTaken.taken returns: no Returns',
    '''
def taken() -> int:
    """``None`` where there is none."""
''': 'taken verb: "``None``" is no verb\ntaken returns: no Returns: ``None``',
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
class Taken:
    """A token."""

    def __init__(self, token: int) -> None:
        self.token = token

    @classmethod
    def of(cls, token: int) -> Taken:
        """Take a token."""
        return cls(token)
''': "Taken args: Args lack token",
    '''
@dataclass
class Taken:
    """A token.

    Attributes:
        token: Its id.
    """

    token: int
    count: int
''': "Taken args: Args lack count",
    '''
def take(token: int) -> int:
    """Take a token."""
    return token
''': "take returns: no Returns: Take a token.",
    '''
class Base:
    def take(self, token: int, count: int) -> None:
        """Take tokens."""


class Taken(Base):
    """A token."""
''': "Base.take args: Args lack count, token",
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


INSIDE = ("Inherited", "Base", "inside")
"""What no package exports."""


def _run(root: Path, module: str, *options: str) -> subprocess.CompletedProcess[str]:
    folder = root / "core" / "sfgen" / "made_up"
    folder.mkdir(parents=True)
    (folder / "module.py").write_text(module.lstrip(), encoding="utf-8")
    exported = [name for name in re.findall(r"^(?:class|def) (\w+)", module, re.MULTILINE) if name not in INSIDE]
    package = f"from sfgen.made_up.module import {', '.join(exported)}\n\n__all__ = {exported}\n"
    (folder / "__init__.py").write_text(package, encoding="utf-8")
    (root / "core" / "sfgen" / "protocols.py").write_text(GOOD.partition("class Fulfils")[0].lstrip(), encoding="utf-8")
    return check(root, *options)


def check(root: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(CHECK), "--root", str(root), *options]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize(("module", "faults"), FAULTS.items())
def test_a_fault_is_found(tmp_path: Path, module: str, faults: str) -> None:
    found = _run(tmp_path, '"""A module."""\n\n' + module, "--list", "core/sfgen/made_up")
    assert len(found.stdout.splitlines()) == len(faults.splitlines())
    for line, fault in zip(found.stdout.splitlines(), faults.splitlines(), strict=True):
        assert f" {fault}" in line


def test_nothing_is_found_where_all_is_well(tmp_path: Path) -> None:
    assert _run(tmp_path, GOOD, "--list", "").stdout.strip() == ""


def test_one_fault_is_enough(tmp_path: Path) -> None:
    passed = _run(tmp_path / "well", GOOD)
    failed = _run(tmp_path / "ill", GOOD + next(iter(FAULTS)))
    assert (passed.returncode, failed.returncode) == (0, 1), passed.stderr
    assert "core/sfgen/made_up  100%" in passed.stdout
    assert "take short: " in failed.stderr


def test_the_guides_make_a_name_public(tmp_path: Path) -> None:
    folder = tmp_path / "core" / "sfgen" / "made_up"
    folder.mkdir(parents=True)
    (folder / "module.py").write_text(next(iter(FAULTS)).lstrip(), encoding="utf-8")
    assert check(tmp_path).returncode == 0
    (tmp_path / "README.md").write_text("Use `sfgen.made_up.module.take`.", encoding="utf-8")
    assert check(tmp_path).returncode == 1
