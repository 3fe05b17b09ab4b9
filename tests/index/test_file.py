from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfgen import Dfa, Index, Vocabulary
from sfgen.errors import IndexFileError
from sfgen.index.file import pattern_of

VOCABULARY = Vocabulary([b"hot", b"cold", b"h", b"o", b"t", b"el", b"c", b"l", b"d", b"e", None], end_token_ids=[10])
PATTERN = "(hot|cold|hotel)"


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "index.safetensors"
    Index(Dfa.from_regex(PATTERN), VOCABULARY).save(path)
    return path


def test_a_loaded_index_is_the_saved_one(saved: Path) -> None:
    fresh, loaded = Index(Dfa.from_regex(PATTERN), VOCABULARY), Index.load(saved, VOCABULARY)
    assert loaded.to_dict() == fresh.to_dict()
    assert loaded.dfa.pattern == pattern_of(saved) == PATTERN
    for state in range(len(fresh.dfa)):
        assert loaded.row(state).tolist() == fresh.row(state).tolist()
        assert loaded.allowed_count(state) == fresh.allowed_count(state)
        assert loaded.next_state(state, 0) == fresh.next_state(state, 0)


def test_an_index_without_a_pattern(tmp_path: Path) -> None:
    path = tmp_path / "choices"
    Index(Dfa.from_choices(["hot", "cold"]), VOCABULARY).save(path)
    assert Index.load(path, VOCABULARY).dfa.pattern is None


def test_the_same_index_is_saved_again_without_force(saved: Path) -> None:
    Index(Dfa.from_regex(PATTERN), VOCABULARY).save(saved)


def test_another_index_needs_force(saved: Path) -> None:
    other = Index(Dfa.from_regex("hot"), VOCABULARY)
    before = saved.read_bytes()
    with pytest.raises(IndexFileError, match="holds something else"):
        other.save(saved)
    assert saved.read_bytes() == before
    other.save(saved, force=True)
    assert Index.load(saved, VOCABULARY).dfa.pattern == "hot"


def test_a_foreign_file_is_not_replaced_without_force(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("mine")
    with pytest.raises(IndexFileError, match="holds something else"):
        Index(Dfa.from_regex("hot"), VOCABULARY).save(path)
    assert path.read_text() == "mine"


def test_another_vocabulary_is_refused_naming_both(saved: Path) -> None:
    other = Vocabulary([b"hot"])
    with pytest.raises(IndexFileError) as caught:
        Index.load(saved, other)
    assert "another vocabulary" in str(caught.value)
    assert VOCABULARY.fingerprint[:16] in str(caught.value)
    assert other.fingerprint[:16] in str(caught.value)


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(IndexFileError, match="no such file"):
        Index.load(tmp_path / "nothing", VOCABULARY)


def test_something_else_is_refused(tmp_path: Path) -> None:
    import numpy as np
    from safetensors.numpy import save_file

    text, foreign = tmp_path / "text", tmp_path / "foreign.safetensors"
    text.write_text("hello")
    save_file({"weights": np.zeros(3, dtype=np.float32)}, foreign)
    for path in (text, foreign, tmp_path):
        with pytest.raises(IndexFileError):
            Index.load(path, VOCABULARY)


def test_another_format_version_is_refused(saved: Path) -> None:
    saved.write_bytes(saved.read_bytes().replace(b"sfgen-index-1", b"sfgen-index-9"))
    with pytest.raises(IndexFileError, match="format sfgen-index-9"):
        Index.load(saved, VOCABULARY)


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_a_damaged_file_is_refused_or_right(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.mktemp("damaged") / "index.safetensors"
    index = Index(Dfa.from_regex(PATTERN), VOCABULARY)
    index.save(path)
    content = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        content[place] ^= data.draw(st.integers(1, 255))
    else:
        del content[place:]
    path.write_bytes(content)
    try:
        loaded = Index.load(path, VOCABULARY)
    except IndexFileError:
        return
    assert loaded.to_dict()["transitions"] == index.to_dict()["transitions"]


def test_nothing_is_left_behind_where_nothing_can_be_written(tmp_path: Path) -> None:
    index = Index(Dfa.from_regex("hot"), VOCABULARY)
    with pytest.raises(IndexFileError, match="cannot write"):
        index.save(tmp_path / "no" / "such" / "folder")
    (tmp_path / "folder").mkdir()
    with pytest.raises(IndexFileError, match="cannot write"):
        index.save(tmp_path / "folder", force=True)
    assert os.listdir(tmp_path) == ["folder"]
