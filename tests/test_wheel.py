"""The wheel has all that the embedded model needs, and not what it was made with; the source distribution has all."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import Distribution
from pathlib import Path

import pytest
from tests.support.running.installed import needs_package
from tests.support.sources.documents import links
from tests.support.sources.imports import ROOT, SOURCES

import sfgen

pytestmark = needs_package("hatchling")


def built(target: str, folder: Path) -> Path:
    """A package, built as ``pip install`` builds it, but with nothing fetched."""
    build = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=120)
    (package,) = (path for path in folder.iterdir() if path.is_file())
    return package


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the wheel has in it."""
    folder = tmp_path_factory.mktemp("wheel")
    with zipfile.ZipFile(built("wheel", folder)) as file:
        file.extractall(folder / "unpacked")
    return folder / "unpacked"


def files_of(folder: Path) -> set[str]:
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_only_what_the_model_was_made_with_stays_behind(unpacked: Path) -> None:
    packages = {
        package: {f"{package}/{name}" for name in files_of(root / package)} for package, root in SOURCES.items()
    }
    assert len(packages.pop("training")) > 15
    assert {name for name in files_of(unpacked) if ".dist-info/" not in name} == set().union(*packages.values())


def test_the_embedded_model_generates_from_the_wheel(unpacked: Path, tmp_path: Path) -> None:
    script = (
        "import sys, re, sfgen, sfgen_cli\n"
        "assert {module.__file__.startswith(sys.argv[1]) for module in (sfgen, sfgen_cli)} == {True}\n"
        "index = sfgen.Index(sfgen.Dfa.from_regex('[0-9]{2} (EUR|USD)'), sfgen.load_model('tiny').vocabulary)\n"
        "print(sfgen.generate(sfgen.load_model('tiny'), 'In our shop: ', index=index).text)\n"
        "print(len(sfgen.generate(sfgen.load_model('tiny'), 'Once', max_tokens=5).token_ids))\n"
    )
    # The kernels are those of the sources, compiled already.
    (tmp_path / "sfgen").symlink_to(ROOT / "core/sfgen/__pycache__")
    environment = {**os.environ, "PYTHONPATH": str(unpacked), "NUMBA_CACHE_DIR": str(tmp_path)}
    answer = subprocess.run(
        [sys.executable, "-c", script, str(unpacked)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=240,
    )
    price, count = answer.stdout.splitlines()
    assert price[-3:] in ("EUR", "USD")
    assert price[:2].isdigit()
    assert count == "5"


def described(unpacked: Path) -> str:
    """The description that a package index shows."""
    (metadata,) = unpacked.glob("*.dist-info")
    return str(Distribution.at(metadata).metadata["Description"])


def test_the_description_is_the_readme_without_what_an_index_cannot_show(unpacked: Path) -> None:
    shown, readme = described(unpacked), (ROOT / "README.md").read_text(encoding="utf-8")
    assert [link for link in links(readme) if "://" not in link], "the README has none, so nothing is taken out"
    assert [link for link in links(shown) if "://" not in link] == []
    assert re.findall(r"""(?:src|srcset|href)=["'](?!https?:)[^"']*""", shown) == []
    assert [link for link in links(shown) if "://" in link] == [link for link in links(readme) if "://" in link]
    for part in (r"^#.*$", r"(?s)^```.*?^```$"):
        assert re.findall(part, shown, re.MULTILINE) == re.findall(part, readme, re.MULTILINE)


def test_the_metadata_has_the_version(unpacked: Path) -> None:
    (metadata,) = unpacked.glob("*.dist-info")
    assert Distribution.at(metadata).version == sfgen.__version__


def test_the_source_distribution_has_all_that_is_tested_and_built_with(tmp_path: Path) -> None:
    with tarfile.open(built("sdist", tmp_path)) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    folders = ("core", "cli", "tests", ".ci", ".github")
    wanted = {f"{folder}/{name}" for folder in folders for name in files_of(ROOT / folder)}
    assert len(wanted) > 1000
    assert {"Makefile", "README.md", "pyproject.toml", *wanted} - names == set()
