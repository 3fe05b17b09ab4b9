"""Files that sfgen did not write, with checksums that are right: nothing in them may do harm."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.support.index_files import VOCABULARY, Arrays, fresh, put_together, taken_apart
from tests.support.models.scripted import ScriptedModel, random_scores

import sfgen
from sfgen import Dfa, Index, Sampler, Vocabulary
from sfgen.errors import IndexFileError, UsageError
from sfgen.index import DfaIndex


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
        ("row_of_state", 3, 1000),
        ("row_of_state", 3, -1),
        ("counts", 2, -1),
        ("counts", 2, 12),
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
        ("rows", "0"),
        ("rows", ""),
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


def test_a_wrong_count_or_a_token_that_there_is_not(saved: Path) -> None:
    before = saved.read_bytes()
    _, arrays = taken_apart(saved)
    number = int(arrays["row_of_state"][1])
    right = int(arrays["counts"][number])
    forged(saved, {}, changed(saved, "counts", number, right + 1))
    loaded = Index.load(saved, VOCABULARY)
    with pytest.raises(IndexFileError, match=f"row {number} does not allow as many tokens as it should"):
        loaded.row(1)
    saved.write_bytes(before)
    row = int(arrays["rows"][number, 0])
    lowest = row & -row
    forged(saved, {}, changed(saved, "rows", (number, 0), row ^ lowest | 1 << 11))
    with pytest.raises(IndexFileError, match=f"row {number} does not allow as many tokens as it should"):
        Index.load(saved, VOCABULARY).row(1)


def with_row(saved: Path, state: int, tokens: list[int]) -> DfaIndex:
    """A file in which a state allows other tokens, and all checksums and counts are right."""
    _, arrays = taken_apart(saved)
    numbers = arrays["row_of_state"].copy()
    numbers[state] = len(arrays["rows"])
    rows = np.concatenate([arrays["rows"], np.array([[sum(1 << token for token in tokens)]], dtype=np.uint32)])
    counts = np.concatenate([arrays["counts"], np.array([len(tokens)], dtype=np.int32)])
    forged(saved, {"rows": str(len(rows))}, {"rows": rows, "counts": counts, "row_of_state": numbers})
    return Index.load(saved, VOCABULARY)


@pytest.mark.parametrize(
    ("before", "tokens"), [(b"", []), (b"", [10]), (b"", [0, 1, 2, 6, 10]), (b"h", []), (b"hot", []), (b"hot", [5, 9])]
)
def test_a_row_whose_end_is_not_that_of_the_automaton(saved: Path, before: bytes, tokens: list[int]) -> None:
    state = fresh().dfa.walk(before)
    loaded = with_row(saved, state, tokens)
    with pytest.raises(IndexFileError, match=f"the row of state {state} contradicts the automaton"):
        loaded.row(state)


def test_a_row_of_tokens_that_the_automaton_refuses(saved: Path) -> None:
    """Whatever is chosen, what comes of it is a match, or this error."""
    loaded = with_row(saved, 0, [0, 1, 3, 9])
    guide = loaded.guide()
    assert guide.allowed_tokens().tolist() == [0, 1, 3, 9]
    for token in (3, 9):
        with pytest.raises(IndexFileError, match="the row of state 0 contradicts the automaton"):
            guide.advance(token)
    for token in (4, 10, 11, 31, 32, 999, -1, -40):  # the caller's own mistakes
        with pytest.raises(UsageError, match=f"token {token} is not allowed in state 0"):
            guide.advance(token)
    guide.advance(0)
    assert guide.is_accepting
    ended = []
    for seed in range(30):
        model = ScriptedModel(VOCABULARY, random_scores(11, seed), {"": []})
        try:
            ended.append(sfgen.generate(model, "", index=loaded, sampler=Sampler(temperature=1.0, seed=seed)).text)
        except IndexFileError:
            ended.append("refused")
    assert {"refused"} < set(ended) <= {"refused", "hot", "cold", "hotel"}


def test_a_limit_is_no_contradiction(saved: Path) -> None:
    guide = Index.load(saved, VOCABULARY).guide(2)
    assert 2 in guide.index.allowed_tokens(0)
    with pytest.raises(UsageError, match="token 2 is not allowed in state 0"):
        guide.advance(2)
