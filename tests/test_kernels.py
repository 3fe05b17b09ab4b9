"""Kernels: compiled once, kept for the next process, and never worth a message or a wrong result."""

from __future__ import annotations

import os
import pickle
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfgen import cache_folders
from sfgen.kernels import Int, Int32s, Int32sOut, Kernel, kernel, part, told_of_compiling

FACTOR = 3


def _double(number: Int) -> Int:
    return 2 * number


def _scaled(numbers: Int32s, room: Int32sOut) -> Int:
    for place in range(len(numbers)):
        room[place] = double(numbers[place]) * FACTOR
    return len(numbers)


double: Kernel[[Any], Any] = part(_double)


def scale(numbers: Any) -> list[int]:
    """The numbers times 6, by a kernel that was never called before."""
    room = np.zeros(len(numbers), dtype=np.int32)
    assert kernel(_scaled)(numbers, room) == len(numbers)
    return room.tolist()


NUMBERS = np.array([1, 2, 3], dtype=np.int32)


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(cache_folders, "cache_folder", lambda chosen: tmp_path)
    return tmp_path


@pytest.fixture
def compiling() -> Iterator[list[bool]]:
    told: list[bool] = []
    with told_of_compiling(told.append):
        yield told


def test_it_is_compiled_once_and_then_comes_from_the_cache(folder: Path, compiling: list[bool]) -> None:
    assert scale(NUMBERS) == [6, 12, 18]
    assert compiling == [True, False]
    assert scale(NUMBERS) == [6, 12, 18]
    assert compiling == [True, False]
    assert not [file for file in folder.iterdir() if "_double" in file.name]
    assert not [file for file in folder.iterdir() if ".tmp." in file.name]


def test_any_contiguous_array_of_its_type_is_taken_and_no_other(folder: Path, compiling: list[bool]) -> None:
    fixed = NUMBERS.copy()
    fixed.setflags(write=False)
    one = kernel(_scaled)
    room = np.zeros(3, dtype=np.int32)
    assert one(NUMBERS, room) == one(fixed, room) == 3
    assert compiling == [True, False]
    for numbers, into in ((NUMBERS.astype(np.int64), room), (NUMBERS[::2], room), (NUMBERS, fixed)):
        with pytest.raises(TypeError):
            one(numbers, into)


def test_threads_compile_it_once(folder: Path, compiling: list[bool]) -> None:
    one, begin, results = kernel(_double), threading.Barrier(4), list[int]()

    def call() -> None:
        begin.wait()
        results.append(one(21))

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [42] * 4
    assert compiling == [True, False]


def test_what_it_is_made_of_decides_whether_a_kept_one_is_right(
    folder: Path, compiling: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert scale(NUMBERS) == [6, 12, 18]
    monkeypatch.setattr(sys.modules[__name__], "FACTOR", 5)
    assert scale(NUMBERS) == [10, 20, 30]

    def other(number: Int) -> Int:
        return 7 * number

    monkeypatch.setattr(sys.modules[__name__], "double", part(other))
    assert scale(NUMBERS) == [35, 70, 105]
    assert len(compiling) == 6


def _truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def _other_numba(file: Path) -> None:
    file.write_bytes(pickle.dumps("0.1") + b"what that version wrote")


def _to_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


DAMAGES: dict[str, Callable[[Path], Any]] = {
    "truncated": _truncate,
    "empty": lambda file: file.write_bytes(b""),
    "zeros": lambda file: file.write_bytes(bytes(file.stat().st_size)),
    "garbage": lambda file: file.write_bytes(os.urandom(300)),
    "another version": _other_numba,
    "a folder": _to_folder,
    "gone": Path.unlink,
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
def test_a_damaged_file_is_as_good_as_none(
    damage: str, suffix: str, folder: Path, compiling: list[bool], recwarn: pytest.WarningsRecorder
) -> None:
    assert kernel(_double)(21) == 42
    files = [file for file in folder.iterdir() if file.suffix == suffix]
    assert files
    for file in files:
        DAMAGES[damage](file)
    assert kernel(_double)(21) == 42
    assert compiling == [True, False] * 2
    if damage != "a folder":  # else it is made again
        assert kernel(_double)(21) == 42
        assert compiling == [True, False] * 2
    assert not recwarn.list


def test_without_a_place_it_is_compiled_all_the_same(monkeypatch: pytest.MonkeyPatch, compiling: list[bool]) -> None:
    monkeypatch.setattr(cache_folders, "cache_folder", lambda chosen: None)
    assert scale(NUMBERS) == [6, 12, 18]
    assert compiling == [True, False]


def test_a_full_disk_is_no_matter(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile._save_data", full)
    assert scale(NUMBERS) == [6, 12, 18]
    assert scale(NUMBERS) == [6, 12, 18]


class TestPlaces:
    """Where kernels are kept: a file in place of a folder is a folder that cannot be written to, for root as well."""

    @pytest.fixture(autouse=True)
    def places(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        self.root = tmp_path
        for name in ("install", "home", "temporary"):
            (tmp_path / name).mkdir()
        monkeypatch.setattr(cache_folders, "__file__", str(tmp_path / "install" / "cache_folders.py"))
        monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path / "temporary"))
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)

    def block(self, *names: str) -> None:
        for name in names:
            shutil.rmtree(self.root / name)
            (self.root / name).touch()

    def found(self, chosen: str = "") -> str | None:
        folder = cache_folders.cache_folder.__wrapped__(chosen)
        return None if folder is None else folder.relative_to(self.root).parts[0]

    def test_the_first_that_can_be_written_to(self) -> None:
        (self.root / "chosen").mkdir()
        assert self.found(str(self.root / "chosen")) == "chosen"
        assert self.found() == "install"
        self.block("install")
        assert self.found() == "home"
        self.block("home")
        assert self.found() == "temporary"
        self.block("temporary")
        assert self.found() is None

    def test_a_home_that_nobody_knows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def unknown() -> Path:
            raise RuntimeError("Could not determine home directory.")

        monkeypatch.setattr(Path, "home", unknown)
        self.block("install")
        assert self.found() == "temporary"

    def test_a_relative_cache_folder_means_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(self.root)
        monkeypatch.setenv("XDG_CACHE_HOME", "temporary")
        self.block("install")
        assert self.found() == "home"

    def test_others_cannot_put_anything_there(self) -> None:
        self.block("install", "home")
        own = self.root / "temporary" / f"sfgen-{os.getuid()}"
        own.mkdir(mode=0o700)
        assert self.found() == "temporary"
        own.chmod(0o777)
        assert self.found() is None
        own.rmdir()
        (self.root / "elsewhere").mkdir(mode=0o700)
        own.symlink_to(self.root / "elsewhere")
        assert self.found() is None

    def test_the_temporary_folder_is_made_for_the_user_alone(self) -> None:
        self.block("install", "home")
        assert self.found() == "temporary"
        (made,) = (self.root / "temporary").iterdir()
        assert stat.S_IMODE(made.stat().st_mode) == 0o700


def test_processes_that_compile_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    script = (
        "import numpy as np\n"
        "from sfgen.automata.by_character import distinct\n"
        "print(distinct(np.array([[1], [2], [1]], dtype=np.int32))[1].tolist())"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    running = [
        subprocess.Popen(
            [sys.executable, "-c", script], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        for _ in range(3)
    ]
    assert [process.communicate(timeout=120)[0] for process in running] == [b"[0, 1, 0]\n"] * 3
    kept = {file.name: file.stat().st_mtime_ns for file in (tmp_path / "sfgen").iterdir()}
    assert sorted(name.rpartition(".")[2] for name in kept) == ["nbc", "nbi"]
    assert subprocess.check_output([sys.executable, "-c", script], env=environment) == b"[0, 1, 0]\n"
    assert {file.name: file.stat().st_mtime_ns for file in (tmp_path / "sfgen").iterdir()} == kept
