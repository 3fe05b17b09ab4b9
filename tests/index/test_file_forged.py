"""Files that sfgen did not write, with checksums that are right: nothing in them may do harm."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.support.index_files import VOCABULARY, Arrays, fresh, put_together, taken_apart

from sfgen import Dfa, Index, Vocabulary
from sfgen.errors import IndexFileError


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "index.safetensors"
    fresh().save(path)
    return path


def forged(saved: Path, metadata: dict[str, str], arrays: Arrays) -> None:
    """Change what is in a file, with checksums that are right."""
    known, others = taken_apart(saved)
    saved.write_bytes(put_together({**known, **metadata}, {**others, **arrays}))


def changed(saved: Path, name: str, place: int | tuple[int, ...], value: int) -> Arrays:
    array = taken_apart(saved)[1][name]
    array[place] = value
    return {name: array}


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("transitions", (0, 0), -2),
        ("transitions", (0, 0), 9),
        ("transitions", (2, 3), 2**31 - 1),
        ("transitions", (2, 3), -(2**31)),
        ("byte_classes", 7, 200),
    ],
)
def test_numbers_out_of_range_are_refused(saved: Path, name: str, place: int | tuple[int, ...], value: int) -> None:
    forged(saved, {}, changed(saved, name, place, value))
    with pytest.raises(IndexFileError, match="damaged: its arrays do not fit together"):
        Index.load(saved, VOCABULARY)


def test_automata_that_cannot_be_are_refused(saved: Path) -> None:
    dfa = fresh().dfa
    nothing = np.full_like(dfa.transitions, -1)
    own = np.arange(len(dfa), dtype=np.int32)[:, None].repeat(dfa.transitions.shape[1], axis=1)
    without_way = dfa.transitions.copy()
    without_way[:, dfa.byte_classes[ord("l")]] = -1  # what begins with c comes to no end
    unread = np.where(dfa.byte_classes == dfa.byte_classes[ord("h")], 0, dfa.byte_classes)
    for arrays in (
        {"accepting": np.zeros_like(dfa.accepting)},
        {"accepting": (2 * dfa.accepting.astype(np.uint8)).view(np.bool_)},  # neither true nor false
        {"transitions": nothing},
        {"transitions": own},
        {"transitions": without_way},
        {"byte_classes": unread.astype(np.uint8)},
    ):
        before = saved.read_bytes()
        forged(saved, {}, arrays)
        with pytest.raises(IndexFileError, match="damaged: its arrays do not fit together"):
            Index.load(saved, VOCABULARY)
        saved.write_bytes(before)


def test_an_automaton_that_the_tokens_cannot_write_is_refused(tmp_path: Path) -> None:
    path, vocabulary = tmp_path / "index", Vocabulary([b"ab", b"cd"])
    Index(Dfa.from_choices(["ab"]), vocabulary).save(path)
    forged(path, {}, {"byte_classes": np.roll(taken_apart(path)[1]["byte_classes"], 1)})
    with pytest.raises(IndexFileError, match="damaged: its arrays do not fit together"):
        Index.load(path, vocabulary)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("states", "7"),
        ("states", "-8"),
        ("states", "8.0"),
        ("states", "9" * 5000),
        ("tokens", "33"),
        ("tokens", "32"),
        ("tokens", "-1"),
        ("vocabulary_fingerprint", "\x1b[2J"),
    ],
)
def test_a_header_that_does_not_fit_is_refused(saved: Path, name: str, value: str) -> None:
    forged(saved, {name: value}, {})
    with pytest.raises(IndexFileError, match="damaged") as caught:
        Index.load(saved, VOCABULARY)
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize(
    "shape", ["[9,1e999]", "[9,NaN]", "[9,true]", "[9,8.0]", '[9,"8"]', "[9]", "[9,8,1]", "8", "null"]
)
def test_a_shape_that_cannot_be_is_refused(saved: Path, shape: str) -> None:
    content = saved.read_bytes()
    header = content[8 : 8 + int.from_bytes(content[:8], "little")]
    assert b'"shape":[9,8]' in header
    other = header.replace(b'"shape":[9,8]', b'"shape":' + shape.encode())
    saved.write_bytes(len(other).to_bytes(8, "little") + other + content[8 + len(header) :])
    with pytest.raises(IndexFileError, match="damaged: its header is not in order"):
        Index.load(saved, VOCABULARY)
