"""Saved indexes: what is read is what was saved, and everything else is refused with its reason."""

from __future__ import annotations

import gc
import os
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.index_files import (
    OLD_FILE,
    PATTERN,
    VOCABULARY,
    assert_same,
    flip,
    fresh,
    place_of,
    put_together,
    taken_apart,
)
from tests.support.models.scripted import ScriptedModel, random_scores
from tests.support.patterns.automata import automata, token_distances, vocabularies

import sfgen
from sfgen import Dfa, Index, Sampler, Vocabulary
from sfgen.errors import IndexFileError, LimitTooSmall, UsageError
from sfgen.index.file import pattern_of

TOKENIZERS = Path(__file__).resolve().parent.parent / "data" / "tokenizers"
PATTERNS = [
    r"[0-9]{4}-[0-9]{2}(-[0-9]{2})?",
    r'\{"name": "[A-Za-z ]{1,20}", "age": [1-9][0-9]{0,2}\}',
    r"(?iu)(über|straße|naïve)( [a-zäöü]+){0,6}\.?",
    r"[^\n]{1,30}!",
]


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "index.safetensors"
    fresh().save(path)
    return path


# ---- what was saved --------------------------------------------------------------------------------------------------


@given(dfa=automata(), vocabulary=vocabularies(), data=st.data())
def test_a_loaded_index_is_the_saved_one(
    tmp_path_factory: pytest.TempPathFactory, dfa: Dfa, vocabulary: Vocabulary, data: st.DataObject
) -> None:
    if token_distances(dfa, vocabulary)[0] is None:
        return
    path = tmp_path_factory.mktemp("saved") / "index"
    index = Index(dfa, vocabulary)
    if data.draw(st.booleans()):
        index.row(len(dfa) - 1)
    index.save(path)
    loaded = Index.load(path, Vocabulary(vocabulary.tokens, vocabulary.end_token_ids))
    for state in data.draw(st.permutations(range(len(dfa)))):
        loaded.row(state)
    assert_same(loaded, Index(dfa, vocabulary))
    # Saved again, before its masks are made and after, it is the same file.
    before = path.read_bytes()
    for again in (Index.load(path, vocabulary), loaded):
        again.save(path.with_name("again"), force=True)
        assert path.with_name("again").read_bytes() == before


def test_the_file_is_what_it_is_said_to_be(saved: Path) -> None:
    """Read by safetensors itself, and written by hand."""
    metadata, arrays = taken_apart(saved)
    index = fresh()
    states, classes = index.dfa.transitions.shape
    assert {name: array.shape for name, array in arrays.items()} == {
        "transitions": (states, classes),
        "byte_classes": (256,),
        "accepting": (states,),
    }
    assert arrays["transitions"].tolist() == index.dfa.transitions.tolist()
    assert arrays["byte_classes"].tolist() == index.dfa.byte_classes.tolist()
    assert arrays["accepting"].tolist() == index.dfa.accepting.tolist()
    assert metadata == {
        "format": "sfgen-index-3",
        "sfgen": sfgen.__version__,
        "pattern": PATTERN,
        "flags": "ASCII",
        "vocabulary_fingerprint": VOCABULARY.fingerprint,
        "states": str(states),
        "tokens": "11",
        "checksum": metadata["checksum"],
    }
    assert put_together(metadata, arrays) == saved.read_bytes()
    assert saved.read_bytes().find(b"{") == 8
    assert place_of(saved, "transitions") % 4 == 0


@pytest.mark.parametrize(
    ("pattern", "flags"),
    [
        (r"\w+", "ASCII"),
        (r"(?u)\w+", "UNICODE"),
        (r"(?iu)é|\p{Lu}", "UNICODE"),
        (r"(?i)\p{Lu}?hot", "ASCII"),
        (r"(?m)^hot$|[[h]ot", "ASCII"),
        ('"\n\\x00\\\\é😀', "ASCII"),
        ("hot\ud800?", "ASCII"),
    ],
)
def test_the_pattern_and_its_flags(pattern: str, flags: str, tmp_path: Path) -> None:
    vocabulary = Vocabulary([bytes([byte]) for byte in range(256)])
    index = Index(Dfa.from_regex(pattern), vocabulary)
    index.save(tmp_path / "index")
    assert pattern_of(tmp_path / "index") == pattern
    assert_same(Index.load(tmp_path / "index", vocabulary), index)
    assert taken_apart(tmp_path / "index")[0]["flags"] == flags  # other programs can read it


def test_an_index_without_a_pattern(tmp_path: Path) -> None:
    path = tmp_path / "choices"
    Index(Dfa.from_choices(["hot", "cold"]), VOCABULARY).save(path)
    assert Index.load(path, VOCABULARY).dfa.pattern is None
    assert pattern_of(path) is None
    assert not {"pattern", "flags"} & set(taken_apart(path)[0])


def test_a_name_that_is_no_pattern(tmp_path: Path) -> None:
    dfa = Dfa.from_choices(["hot"])
    named = Dfa(dfa.transitions, dfa.byte_classes, dfa.accepting, "(names")
    Index(named, VOCABULARY).save(tmp_path / "names")
    assert pattern_of(tmp_path / "names") == "(names"
    assert "flags" not in taken_apart(tmp_path / "names")[0]


@cache
def vocabulary_of(name: str) -> Vocabulary:
    if name == "letters":  # no byte is a token by itself
        pairs = [bytes([first, second]) for first in b"012-9 ." for second in b"012-9 ."]
        return Vocabulary([*pairs, b"-01", b"2", None], end_token_ids=[len(pairs) + 2])
    return Vocabulary.from_pretrained(TOKENIZERS / name)


@pytest.mark.parametrize("name", ["gpt2", "llama2", "gemma2", "unigram", "letters"])
def test_generation_is_that_of_a_fresh_index(name: str, tmp_path: Path) -> None:
    vocabulary = vocabulary_of(name)
    for number, pattern in enumerate(PATTERNS[:1] if name == "letters" else PATTERNS):
        path = tmp_path / str(number)
        Index(Dfa.from_regex(pattern), vocabulary).save(path)
        loaded = Index.load(path, vocabulary)
        for seed in range(4):
            model = ScriptedModel(vocabulary, random_scores(len(vocabulary), seed), {"": []})
            index = Index(Dfa.from_regex(pattern), vocabulary)
            fewest = len(index.shortest_tokens())
            for limit in (fewest, fewest + 3, 80):
                events = [
                    list(
                        sfgen.stream(
                            model, "", index=which, sampler=Sampler(temperature=1.0, seed=seed), max_tokens=limit
                        )
                    )
                    for which in (loaded, index)
                ]
                assert events[0] == events[1]
                assert events[0][-1].result.token_ids  # type: ignore[union-attr]
            with pytest.raises(LimitTooSmall, match=rf"takes {fewest}\n"):
                sfgen.generate(model, "", index=loaded, max_tokens=fewest - 1)


def test_a_state_that_there_is_not(saved: Path) -> None:
    loaded = Index.load(saved, VOCABULARY)
    loaded.build()
    for ask in (loaded.row, loaded.allowed_count, loaded.transitions):
        with pytest.raises(UsageError, match="no state -1"):
            ask(-1)


def test_no_file_stays_open(saved: Path) -> None:
    listing = Path("/dev/fd")
    if not listing.is_dir():
        pytest.skip("no list of open files on this system")
    gc.collect()
    before = len(os.listdir(listing))
    loaded = [Index.load(saved, VOCABULARY) for _ in range(5)]
    with pytest.raises(IndexFileError):
        Index.load(saved, Vocabulary([b"hot"]))
    pattern_of(saved)
    gc.collect()
    assert len(os.listdir(listing)) == before
    saved.unlink()
    assert_same(loaded[0], fresh())


# ---- files of the second format, with masks --------------------------------------------------------------------------


def test_a_file_of_the_second_format_is_read_without_its_masks(tmp_path: Path) -> None:
    metadata, arrays = taken_apart(OLD_FILE)
    assert metadata["format"] == "sfgen-index-2"
    assert {"rows", "row_of_state", "counts", "row_checksums"} < arrays.keys()
    assert_same(Index.load(OLD_FILE, VOCABULARY), fresh())
    assert pattern_of(OLD_FILE) == PATTERN
    path = tmp_path / "copy"
    path.write_bytes(OLD_FILE.read_bytes())
    for place in range(place_of(path, "rows"), place_of(path, "byte_classes")):
        flip(path, place)  # nobody looks at the masks
    assert_same(Index.load(path, VOCABULARY), fresh())


def test_a_file_of_the_second_format_is_replaced_by_the_same_index(tmp_path: Path) -> None:
    for name in ("same", "other"):
        (tmp_path / name).write_bytes(OLD_FILE.read_bytes())
    Index.load(OLD_FILE, VOCABULARY).save(tmp_path / "same")
    fresh().save(tmp_path / "new")
    assert (tmp_path / "same").read_bytes() == (tmp_path / "new").read_bytes()
    with pytest.raises(IndexFileError, match="holds something else"):
        fresh("hot").save(tmp_path / "other")


# ---- saving where something is ---------------------------------------------------------------------------------------


def test_the_same_index_is_saved_again_without_force(saved: Path) -> None:
    before = saved.read_bytes()
    fresh().save(saved)
    Index.load(saved, VOCABULARY).save(saved)  # from the file that it replaces
    assert saved.read_bytes() == before
    metadata, arrays = taken_apart(saved)
    saved.write_bytes(put_together({**metadata, "sfgen": "0.0.1"}, arrays))
    fresh().save(saved)
    assert saved.read_bytes() == before


@pytest.mark.parametrize("other", ["pattern", "choices", "vocabulary", "version", "damaged", "text"])
def test_something_else_needs_force(saved: Path, other: str) -> None:
    index = fresh()
    if other == "pattern":
        index = fresh("hot")
    elif other == "choices":  # the same automaton
        dfa = index.dfa
        index = Index(Dfa(dfa.transitions, dfa.byte_classes, dfa.accepting), VOCABULARY)
    elif other == "vocabulary":
        index = Index(index.dfa, Vocabulary([*VOCABULARY.tokens, b"x"], [10]))
    elif other == "version":
        saved.write_bytes(saved.read_bytes().replace(b"sfgen-index-3", b"sfgen-index-1"))
    elif other == "damaged":
        flip(saved, place_of(saved, "transitions"))
    else:
        saved.write_text("mine")
    before = saved.read_bytes()
    with pytest.raises(IndexFileError, match="holds something else"):
        index.save(saved)
    assert saved.read_bytes() == before
    index.save(saved, force=True)
    assert_same(Index.load(saved, index.vocabulary), index)
