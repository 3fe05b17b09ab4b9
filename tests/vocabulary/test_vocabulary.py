"""Vocabulary itself: what it takes, what it refuses, what it shows."""

from __future__ import annotations

import hashlib
import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfgen.errors import VocabularyError
from sfgen.vocabulary import Vocabulary

tokens = st.lists(st.one_of(st.none(), st.binary(max_size=3)), max_size=6)


def test_tokens_and_end_tokens_are_normalised() -> None:
    vocabulary = Vocabulary([b"he", b"", None, b"llo"], end_token_ids=[3, 2, 3])
    assert vocabulary.tokens == (b"he", None, None, b"llo")
    assert vocabulary.end_token_ids == (2, 3)
    assert len(vocabulary) == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([b"a", "b"],), "token 1 is str"),
        (([b"a", 7],), "token 1 is int"),
        (([b"a"], [1]), "there is no token 1: the vocabulary has 1 tokens"),
        (([b"a"], [-1]), "there is no token -1"),
        (([b"a"], [True]), "whole number, not True"),
        (([b"a"], ["0"]), "whole number, not '0'"),
        (([b"a"], [0.0]), "whole number, not 0.0"),
        (([], [0]), "there is no token 0"),
    ],
)
def test_wrong_tokens_and_ids_are_refused(arguments: Any, message: str) -> None:
    with pytest.raises(VocabularyError, match=message):
        Vocabulary(*arguments)


def test_attributes_cannot_be_set() -> None:
    vocabulary: Any = Vocabulary([b"a"], names={0: "letter"})
    for name in ("tokens", "end_token_ids", "names"):
        with pytest.raises(AttributeError):
            setattr(vocabulary, name, ())
    with pytest.raises(TypeError):
        vocabulary.names[0] = "other"


@given(left=tokens, right=tokens, left_end=st.booleans(), right_end=st.booleans())
def test_fingerprints_are_equal_exactly_when_vocabularies_are(
    left: list[bytes | None], right: list[bytes | None], left_end: bool, right_end: bool
) -> None:
    a = Vocabulary(left, [0] if left and left_end else [])
    b = Vocabulary(right, [0] if right and right_end else [])
    same = (a.tokens, a.end_token_ids) == (b.tokens, b.end_token_ids)
    assert (a.fingerprint == b.fingerprint) == same
    assert (a == b) == same
    assert (hash(a) == hash(b)) or not same


def test_fingerprint_tells_tokens_that_join_to_the_same_bytes_apart() -> None:
    cuts: list[list[bytes | None]] = [
        [b"ab", b"c"],
        [b"a", b"bc"],
        [b"abc"],
        [b"abc", None],
        [None, b"abc"],
        [b"a", b"b", b"c"],
    ]
    for left, right in itertools.combinations(cuts, 2):
        assert Vocabulary(left).fingerprint != Vocabulary(right).fingerprint


def test_fingerprint_stays_the_same_between_versions() -> None:
    """Saved indexes carry it: whoever changes the recipe makes them all worthless."""
    recipe = b"sfgen vocabulary 1\n" + b"".join(number.to_bytes(8, "little", signed=True) for number in (3, 2, 1, -1))
    recipe += b"abc" + (2).to_bytes(8, "little")
    assert Vocabulary([b"ab", b"c", None], [2]).fingerprint == hashlib.sha256(recipe).hexdigest()


def test_fingerprint_ignores_names() -> None:
    assert Vocabulary([None], names={0: "<eos>"}).fingerprint == Vocabulary([None]).fingerprint


@pytest.mark.parametrize(
    ("token", "shown"),
    [
        (b" talk", " talk"),
        ("né☃".encode(), "né☃"),
        (b"\xe2\x98", r"\xe2\x98"),
        (b"a\xffb", r"a\xffb"),
        (b"\\x41\n", "\\x41\n"),
        (None, "<special:0>"),
        (b"", "<special:0>"),
    ],
)
def test_text_shows_bytes_that_are_no_text_as_escapes(token: bytes | None, shown: str) -> None:
    assert Vocabulary([token]).text(0) == shown


def test_text_of_special_and_end_tokens() -> None:
    vocabulary = Vocabulary([None, None, b"end"], [0, 2], names={0: "<eos>", 2: "unused"})
    assert [vocabulary.text(token_id) for token_id in range(3)] == ["<eos>", "<special:1>", "end"]
    with pytest.raises(VocabularyError, match="there is no token 3"):
        vocabulary.text(3)
    with pytest.raises(VocabularyError, match="there is no token -1"):
        vocabulary.text(-1)
