"""The versions of other packages: those that are installed and those of CI are inside of the bounds that users get."""

from __future__ import annotations

import importlib.metadata
import re
import sys
import tomllib
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version
from tests.support.sources.imports import ROOT

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
REQUIREMENTS = [
    requirement
    for texts in (PROJECT["dependencies"], *PROJECT["optional-dependencies"].values())
    for requirement in map(Requirement, texts)
    if requirement.name != "sfgen"
]
PINNED = {
    canonicalize_name(name): Version(version)
    for name, version in re.findall(r"^(\S+)==(\S+)$", (ROOT / ".ci/constraints.txt").read_text(), re.MULTILINE)
}

BOUNDED = {"numba": 2, "rich": 1, "typer": 2, "lark": 2, "transformers": 1}
"""Packages of which parts are used that they keep to themselves, or whose output is shown: they have an upper bound.

It is that of the first version that the pinned one is not: of how many numbers of a version, is said here.
"""


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=str)
def test_versions_are_inside_of_the_bounds(requirement: Requirement) -> None:
    name = canonicalize_name(requirement.name)
    assert PINNED[name] in requirement.specifier
    try:
        installed = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        extras = PROJECT["optional-dependencies"]
        assert any(Requirement(text).name == requirement.name for texts in extras.values() for text in texts)
    else:
        assert installed in requirement.specifier


def test_python_is_inside_of_its_bounds() -> None:
    allowed = SpecifierSet(PROJECT["requires-python"])
    assert "{}.{}.{}".format(*sys.version_info) in allowed
    assert "3.10.99" not in allowed
    assert "3.14.99" in allowed
    assert "3.15.0" not in allowed


@pytest.mark.parametrize(("name", "numbers"), BOUNDED.items())
def test_the_newest_that_is_allowed_is_the_one_that_is_tested(name: str, numbers: int) -> None:
    specifier = next(each.specifier for each in REQUIREMENTS if each.name == name)
    pinned = PINNED[canonicalize_name(name)]
    *same, last = pinned.release[:numbers]
    following = ".".join(map(str, (*same, last + 1)))
    assert f"{pinned}" in specifier
    assert following not in specifier, f"{name} {following} is allowed, and was not tested"
    assert ".".join(map(str, (*same, last, 999))) in specifier  # what mends the tested version is


def test_each_lower_bound_is_said() -> None:
    """``make versions`` tests the oldest."""
    for requirement in REQUIREMENTS:
        assert any(one.operator == ">=" for one in requirement.specifier), requirement
