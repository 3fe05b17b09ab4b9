"""Files that are no index, are damaged, or change while they are in use: each is refused with its reason."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from tests.support.index_files import OLD_FILE, PATTERN, VOCABULARY, another_user, assert_same, flip, fresh, place_of

from sfgen import Index, Vocabulary
from sfgen.errors import IndexFileError
from sfgen.index.atomic_write import OpenFile
from sfgen.index.file import read_whole


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "index.safetensors"
    fresh().save(path)
    return path


def test_another_vocabulary_is_refused_naming_both(saved: Path) -> None:
    for other in (
        Vocabulary([b"hot"]),
        Vocabulary(VOCABULARY.tokens, [9, 10]),
        Vocabulary([*VOCABULARY.tokens[:-2], b"x", None], [10]),
    ):
        with pytest.raises(IndexFileError) as caught:
            Index.load(saved, other)
        lines = str(caught.value).splitlines()
        assert lines[0] == f"{saved} was made for another vocabulary"
        assert lines[1] == f"  the file:  11 tokens, fingerprint {VOCABULARY.fingerprint[:16]}"
        assert lines[2] == f"  the model: {len(other)} tokens, fingerprint {other.fingerprint[:16]}"
        assert "make it again, and save it with force=True" in lines[3]


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(IndexFileError, match=r"no such file: .*nothing"):
        Index.load(tmp_path / "nothing", VOCABULARY)
    with pytest.raises(IndexFileError, match="a name cannot contain a null byte"):
        Index.load(tmp_path / "a\0b", VOCABULARY)


def test_what_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(IndexFileError, match=r"cannot read .*: it is a folder"):
        Index.load(tmp_path, VOCABULARY)
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(IndexFileError, match=r"cannot read .*: it is not a regular file"):
            Index.load(path, VOCABULARY)


def test_a_file_that_may_not_be_read(saved: Path) -> None:
    saved.chmod(0)
    with another_user(), pytest.raises(IndexFileError, match=r"cannot read .*: Permission denied"):
        Index.load(saved, VOCABULARY)


FOREIGN = {
    "empty": b"",
    "short": b"hello",
    "text": b"hello, this is no index\n" * 9,
    "no header": (0).to_bytes(8, "little") + b"{}",
    "zeros": bytes(1000),
    "a list": (2).to_bytes(8, "little") + b"[]",
    "no map": (2).to_bytes(8, "little") + b"{}",
    "a number for a format": (29).to_bytes(8, "little") + b'{"__metadata__":{"format":1}}',
    "deep": (200_000).to_bytes(8, "little") + b"[" * 200_000,
    "a long number": (9_000).to_bytes(8, "little") + b"9" * 9_000,
    "no text": (4).to_bytes(8, "little") + b'"\xff" ',
}


@pytest.mark.parametrize("content", FOREIGN.values(), ids=FOREIGN)
def test_something_else_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(content)
    with pytest.raises(IndexFileError, match=r"is not an index that sfgen saved$"):
        Index.load(tmp_path / "other", VOCABULARY)


def test_a_safetensors_file_of_something_else_is_refused(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    for metadata in (None, {"format": "pt"}, {"format": "sfgen-index-\x1b[2J"}):
        save_file({"weights": np.zeros(3, dtype=np.float32)}, tmp_path / "model", metadata=metadata)
        with pytest.raises(IndexFileError, match=r"is not an index that sfgen saved$"):
            Index.load(tmp_path / "model", VOCABULARY)


@pytest.mark.parametrize("version", ["1", "4", "12"])
def test_another_format_version_is_refused(version: str, tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    save_file({"rows": np.zeros(3, np.uint32)}, tmp_path / "old", metadata={"format": f"sfgen-index-{version}"})
    with pytest.raises(IndexFileError) as caught:
        Index.load(tmp_path / "old", VOCABULARY)
    assert caught.value.message == (
        f"{tmp_path / 'old'} has the format sfgen-index-{version}; this sfgen reads sfgen-index-3"
    )
    assert "Make the index again" in caught.value.hint


def test_a_file_that_is_cut_off_is_refused_wherever(saved: Path) -> None:
    content = saved.read_bytes()
    for length in range(len(content)):
        saved.write_bytes(content[:length])
        with pytest.raises(IndexFileError) as caught:
            Index.load(saved, VOCABULARY)
        told = "is not an index that sfgen saved" if length < 8 + 39 else f"{saved} is cut off: "
        assert told in caught.value.message
    assert f"has {length:,} of {length + 1:,} bytes" in caught.value.message
    saved.write_bytes(content + b"more")
    with pytest.raises(IndexFileError, match="damaged: 4 bytes follow its end"):
        Index.load(saved, VOCABULARY)


def test_a_flipped_byte_is_refused_wherever(saved: Path) -> None:
    for content in (saved.read_bytes(), OLD_FILE.read_bytes()):
        saved.write_bytes(content)
        masks = range(place_of(saved, "rows"), place_of(saved, "byte_classes")) if b'"rows"' in content else ()
        for place in range(len(content)):
            if place not in masks:
                flip(saved, place, 1 << place % 8)
                with pytest.raises(IndexFileError):
                    Index.load(saved, VOCABULARY)
                flip(saved, place, 1 << place % 8)
        assert_same(Index.load(saved, VOCABULARY), fresh())


# ---- a file that changes while it is in use --------------------------------------------------------------------------


def test_a_file_that_is_replaced_while_it_is_opened(saved: Path) -> None:
    file = OpenFile(saved)
    fresh("hot").save(saved, force=True)
    header, arrays = read_whole(file)
    assert header.pattern == PATTERN
    assert arrays["accepting"].tolist() == fresh().dfa.accepting.tolist()
    assert read_whole(OpenFile(saved))[0].pattern == "hot"
