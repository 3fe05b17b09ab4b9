"""The wheel: all that the embedded model needs is in it, and what it was made with is not."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from tests.support.running.installed import needs_package
from tests.support.sources.imports import ROOT, SOURCES

pytestmark = needs_package("hatchling")


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the wheel has in it, built as ``pip install`` builds it, but with nothing fetched."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=120)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as file:
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
