"""A release: version, CHANGELOG, tag, Pythons, licence and workflows say the same."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.specifiers import SpecifierSet
from packaging.version import Version
from tests.support.sources.imports import ROOT

import sfgen

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CLASSIFIERS: list[str] = PROJECT["classifiers"]
PYTHONS = [each.removeprefix("Programming Language :: Python :: ") for each in CLASSIFIERS if each[-1].isdigit()]
WORKFLOWS = {path.stem: path for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))}
ENTRY = re.compile(r"^## (\S+) \((\d{4}-\d{2}-\d{2})\)$", re.MULTILINE)


def jobs(name: str) -> dict[str, Any]:
    return dict(yaml.safe_load(WORKFLOWS[name].read_text(encoding="utf-8"))["jobs"])


def steps(name: str) -> list[dict[str, Any]]:
    return [step for job in jobs(name).values() for step in job["steps"]]


def test_the_newest_entry_of_the_changelog_is_that_of_the_version() -> None:
    entries = ENTRY.findall((ROOT / "core" / "CHANGELOG.md").read_text(encoding="utf-8"))
    versions = [Version(version) for version, _ in entries]
    assert str(versions[0]) == sfgen.__version__
    assert len(versions) > 1
    assert versions == sorted(set(versions), reverse=True)
    assert [day for _, day in entries] == sorted((day for _, day in entries), reverse=True)


def test_a_tag_is_v_and_the_version() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", sfgen.__version__)
    told = yaml.safe_load(WORKFLOWS["release"].read_text(encoding="utf-8"))
    assert told[True] == {"push": {"tags": ["v*"]}}  # YAML 1.1 reads "on" as true
    assert any(step.get("run") == '.ci/package build "$GITHUB_REF_NAME"' for step in steps("release"))


def test_the_pythons_are_those_of_the_bounds_and_of_the_workflows() -> None:
    allowed = SpecifierSet(PROJECT["requires-python"])
    assert [f"3.{minor}" for minor in range(40) if f"3.{minor}.99" in allowed] == PYTHONS
    assert [
        jobs("tests")["tests"]["strategy"]["matrix"]["python"],
        jobs("release")["try"]["strategy"]["matrix"]["python"],
    ] == [PYTHONS] * 2


def test_an_index_refuses_the_packages_until_there_is_a_licence() -> None:
    has_licence = "license" in PROJECT or any(each.startswith("License ::") for each in CLASSIFIERS)
    has_licence |= any(ROOT.glob("LICEN[CS]E*"))
    assert ("Private :: Do Not Upload" in CLASSIFIERS) is not has_licence


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_is_one_by_the_schema_of_workflows(name: str) -> None:
    check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows"]
    done = subprocess.run([*check, str(WORKFLOWS[name])], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_may_do_little(name: str) -> None:
    text = WORKFLOWS[name].read_text(encoding="utf-8")
    told = yaml.safe_load(text)
    assert told["permissions"] == {"contents": "read"}
    assert "secrets." not in text
    more = {job: each["permissions"] for job, each in jobs(name).items() if "permissions" in each}
    assert more == ({"publish": {"id-token": "write"}} if name == "release" else {})
    assert all(each["timeout-minutes"] <= 180 for each in jobs(name).values())
    used = [step["uses"] for step in steps(name) if "uses" in step]
    assert used
    assert [each for each in used if not re.fullmatch(r"[\w-]+/[\w-]+@(v\d+|release/v\d+|[0-9a-f]{40})", each)] == []


def test_workflows_run_programs_that_are_there() -> None:
    programs = {step["run"].split()[0] for name in WORKFLOWS for step in steps(name) if "run" in step}
    assert programs == {".ci/run", ".ci/package"}
    assert all(Path(ROOT, program).stat().st_mode & 0o100 for program in programs)
