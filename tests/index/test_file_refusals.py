"""Files that are no index, are damaged, or change while they are in use: each is refused with its reason."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from tests.support.index_files import PATTERN, VOCABULARY, another_user, assert_same, flip, fresh, place_of, taken_apart

from sfgen import Index, Vocabulary
from sfgen.errors import IndexFileError
from sfgen.index.file_header import read_whole
from sfgen.index.open_file import OpenFile


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
    with pytest.raises(IndexFileError, match="a null byte is part of no name"):
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


@pytest.mark.parametrize("version", ["1", "3", "12"])
def test_another_format_version_is_refused(version: str, tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    save_file({"rows": np.zeros(3, np.uint32)}, tmp_path / "old", metadata={"format": f"sfgen-index-{version}"})
    with pytest.raises(IndexFileError) as caught:
        Index.load(tmp_path / "old", VOCABULARY)
    assert caught.value.message == (
        f"{tmp_path / 'old'} has the format sfgen-index-{version}; this sfgen reads sfgen-index-2"
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
    size, first_row = saved.stat().st_size, place_of(saved, "rows")
    behind_rows = place_of(saved, "byte_classes")
    for place in range(size):
        bits = 1 << place % 8
        flip(saved, place, bits)
        if first_row <= place < behind_rows:
            loaded = Index.load(saved, VOCABULARY)
            with pytest.raises(IndexFileError, match=r"damaged: row . does not agree with its checksum"):
                loaded.build()
        else:
            with pytest.raises(IndexFileError):
                Index.load(saved, VOCABULARY)
        flip(saved, place, bits)
    assert_same(Index.load(saved, VOCABULARY), fresh())


def test_a_damaged_row_is_told_when_it_is_used(saved: Path) -> None:
    number = taken_apart(saved)[1]["row_of_state"][2]
    flip(saved, place_of(saved, "rows") + 4 * number + 2)
    loaded = Index.load(saved, VOCABULARY)
    guide = loaded.guide()
    assert guide.allowed_tokens().tolist() == fresh().allowed_tokens(0).tolist()
    guide.advance(2)
    assert guide.state == 2
    for _ in range(2):
        for ask in (guide.mask, guide.allowed_tokens, lambda: loaded.allowed_count(2), loaded.build):
            with pytest.raises(IndexFileError, match=f"damaged: row {number} does not agree with its checksum"):
                ask()
    with pytest.raises(IndexFileError, match="does not agree with its checksum"):
        loaded.save(saved.with_name("copy"))
    assert os.listdir(saved.parent) == [saved.name]


# ---- a file that changes while it is in use --------------------------------------------------------------------------


def test_a_file_that_is_cut_short_while_it_is_in_use(saved: Path) -> None:
    loaded = Index.load(saved, VOCABULARY)
    loaded.row(0)
    os.truncate(saved, place_of(saved, "rows") - 1)
    assert loaded.row(0).tolist() == fresh().row(0).tolist()
    with pytest.raises(IndexFileError, match="was cut short while it was in use"):
        loaded.build()


def test_a_file_that_is_written_over_while_it_is_in_use(saved: Path, tmp_path: Path) -> None:
    loaded = Index.load(saved, VOCABULARY)
    fresh("(cold|(hot|h(el|tel)){3}o)t").save(tmp_path / "other")
    saved.write_bytes((tmp_path / "other").read_bytes())
    with pytest.raises(IndexFileError, match="does not agree with its checksum"):
        loaded.build()


def test_a_file_that_is_replaced_while_it_is_opened(saved: Path) -> None:
    file = OpenFile(saved)
    fresh("hot").save(saved, force=True)
    header, arrays = read_whole(file)
    assert header.pattern == PATTERN
    assert arrays["accepting"].tolist() == fresh().dfa.accepting.tolist()
    assert read_whole(OpenFile(saved))[0].pattern == "hot"


def test_a_file_that_is_replaced_or_removed_while_it_is_in_use(saved: Path) -> None:
    loaded = Index.load(saved, VOCABULARY)
    fresh("hot").save(saved, force=True)
    assert loaded.row(1).tolist() == fresh().row(1).tolist()
    saved.unlink()
    assert_same(loaded, fresh())
