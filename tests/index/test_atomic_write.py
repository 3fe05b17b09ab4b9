"""Saving an index: the whole file or none, and the reason why not."""

from __future__ import annotations

import errno
import os
import resource
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.support.index_files import VOCABULARY, another_user, assert_same, fresh

from sfgen import Dfa, Index, Vocabulary
from sfgen.errors import IndexFileError
from sfgen.index.atomic_write import write_whole


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """No file may become larger: a write fails as it does on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_no_such_folder(tmp_path: Path) -> None:
    with pytest.raises(IndexFileError, match=r"cannot write .*index: No such file or directory") as caught:
        fresh().save(tmp_path / "no" / "such" / "index")
    assert caught.value.hint == "Name a place that can be written."
    (tmp_path / "file").write_text("mine")
    with pytest.raises(IndexFileError, match=r"cannot write .*index: Not a directory"):
        fresh().save(tmp_path / "file" / "index")
    with pytest.raises(IndexFileError, match=r"cannot write .*: File name too long"):
        fresh().save(tmp_path / ("x" * 300))
    with pytest.raises(IndexFileError, match="a name cannot contain a null byte"):
        fresh().save(tmp_path / "a\0b")
    assert os.listdir(tmp_path) == ["file"]


def test_a_long_name(tmp_path: Path) -> None:
    fresh().save(tmp_path / ("x" * 255))
    assert os.listdir(tmp_path) == ["x" * 255]


@pytest.mark.parametrize("force", [False, True])
def test_what_is_no_file_is_not_replaced(tmp_path: Path, force: bool) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    (tmp_path / "circle").symlink_to("circle")
    for name, reason in {
        "folder": "it is a folder",
        "pipe": "it is not a regular file",
        "link": "it is not a regular file",
        "circle": "Too many levels of symbolic links",
    }.items():
        with pytest.raises(IndexFileError, match=f"cannot write .*{name}: {reason}"):
            fresh().save(tmp_path / name, force=force)
    with pytest.raises(IndexFileError, match="cannot write /dev/null: it is not a regular file"):
        fresh().save("/dev/null", force=force)
    assert sorted(os.listdir(tmp_path)) == ["circle", "folder", "link", "pipe"]
    assert (tmp_path / "pipe").is_fifo()


def test_a_place_that_may_not_be_written(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    folder.chmod(0o555)
    with another_user(), pytest.raises(IndexFileError, match=r"cannot write .*index: Permission denied"):
        fresh().save(folder / "index")
    assert os.listdir(folder) == []


@pytest.mark.parametrize("before", [None, "another index", "text"])
@pytest.mark.parametrize("room", [0, 100, 1000, -1])
def test_a_full_disk_leaves_everything_as_it_was(tmp_path: Path, before: str | None, room: int) -> None:
    path = tmp_path / "index"
    fresh().save(path)
    size = path.stat().st_size
    path.unlink()
    if before == "text":
        path.write_text("mine")
    elif before is not None:
        fresh("hot").save(path)
    content = path.read_bytes() if before else None
    with (
        largest_file(room if room >= 0 else size + room),
        pytest.raises(IndexFileError, match=r"cannot write .*index: File too large"),
    ):
        fresh().save(path, force=True)
    assert os.listdir(tmp_path) == ([] if content is None else ["index"])
    assert content is None or path.read_bytes() == content
    with largest_file(size):
        fresh().save(path, force=True)
    assert_same(Index.load(path, VOCABULARY), fresh())


FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(
    ("function", "error"),
    [
        ("fsync", FULL),
        ("replace", FULL),
        *(
            (function, error)
            for error in (KeyboardInterrupt(), ValueError())
            for function in ("fsync", "replace", "chmod")
        ),
    ],
)
def test_whatever_goes_wrong_leaves_everything_as_it_was(
    tmp_path: Path, function: str, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "index"
    fresh("hot").save(path)
    content = path.read_bytes()

    def fails(*arguments: object) -> None:
        assert len(os.listdir(tmp_path)) == 2
        raise error

    expected = IndexFileError if isinstance(error, OSError) else type(error)
    with monkeypatch.context() as patch:
        patch.setattr(os, function, fails)
        with pytest.raises(expected):
            fresh().save(path, force=True)
    assert os.listdir(tmp_path) == ["index"]
    assert path.read_bytes() == content


def test_an_interrupt_between_two_pieces(tmp_path: Path) -> None:
    def pieces() -> Iterator[bytes]:
        yield b"x" * (3 << 20)
        assert len(os.listdir(tmp_path)) == 1
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_whole(tmp_path / "index", pieces())
    assert os.listdir(tmp_path) == []


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(Path("folder") / "index")
    (tmp_path / "link to the link").symlink_to(tmp_path / "link")
    fresh("hot").save(tmp_path / "link to the link")
    assert os.listdir(tmp_path / "folder") == ["index"]
    with pytest.raises(IndexFileError, match="link exists and holds something else"):
        fresh().save(tmp_path / "link")
    fresh().save(tmp_path / "link", force=True)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "link to the link").is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["folder", "link", "link to the link"]
    assert_same(Index.load(tmp_path / "folder" / "index", VOCABULARY), fresh())
    assert_same(Index.load(tmp_path / "link", VOCABULARY), fresh())


def test_permissions_are_those_of_any_new_file_or_stay(tmp_path: Path) -> None:
    path = tmp_path / "index"
    umask = os.umask(0o027)
    try:
        fresh().save(path)
    finally:
        os.umask(umask)
    assert path.stat().st_mode & 0o777 == 0o640
    path.chmod(0o600)
    fresh("hot").save(path, force=True)
    assert path.stat().st_mode & 0o777 == 0o600


def test_little_memory_is_taken(tmp_path: Path) -> None:
    """Neither to save nor to load takes more than a few times what the automaton takes."""
    letters = b"abcdefghijklmnopqrstuvwxyz"
    vocabulary = Vocabulary([*(bytes([byte]) for byte in range(256)), None], [256])
    texts = [bytes([a, b, c]).decode() for a in letters for b in letters for c in letters]
    index = Index(Dfa.from_choices([text + text[::-1] for text in texts]), vocabulary)
    size = index.dfa.transitions.nbytes
    assert vocabulary.fingerprint
    index.save(tmp_path / "warm")
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        index.save(tmp_path / "index")
        assert tracemalloc.get_traced_memory()[1] - before < size + 200_000
    finally:
        tracemalloc.stop()
    assert (tmp_path / "index").read_bytes() == (tmp_path / "warm").read_bytes()
