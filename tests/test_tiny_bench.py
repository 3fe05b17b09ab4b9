"""The measures of the embedded model: the right answer is one that it may write, and what counts as right is right."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.bench import tiny as bench

from sfgen.models.tiny.model import TinyModel
from training.corpus.copying.words import Words


@pytest.fixture(scope="module")
def model() -> TinyModel:
    return TinyModel()


@given(name=st.sampled_from(("records", "queries", "calls")), seed=st.integers(0, 2**32))
def test_the_right_answer_may_be_written(name: str, seed: int) -> None:
    allowed: list[tuple[str, Any]] = []

    def written(model: object, prompt: str, constraint: Any) -> str:
        allowed.append((prompt, constraint))
        return "nothing"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bench, "_written", written)
        prompt, found, right = bench.ITEMS[name](None, Words(Random(seed), held_back=True))  # type: ignore[arg-type]
    ((given_prompt, constraint),) = allowed
    assert constraint.accepts(right), (prompt, right)
    assert not constraint.accepts(right[:-1] + "\n")
    assert found == "nothing"
    assert given_prompt.startswith(prompt)


@given(seed=st.integers(0, 2**32))
def test_the_right_choice_is_offered(seed: int) -> None:
    offered: list[list[str]] = []

    def likeliest(model: object, prompt: str, choices: list[str]) -> str:
        offered.append(choices)
        return choices[0]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bench, "likeliest", likeliest)
        _, found, right = bench.choices(None, Words(Random(seed), held_back=True))  # type: ignore[arg-type]
    (choices,) = offered
    assert right in choices
    assert found == choices[0]
    assert 2 <= len(set(choices)) == len(choices) <= 4


def test_log_probability_is_that_of_each_token_in_turn(model: TinyModel) -> None:
    prompt, text = "It is very ", "cold"
    session, expected = model.session(), 0.0
    scores = session.extend(model.encode(prompt))
    for token in (*model.encode_inside(text), *model.vocabulary.end_token_ids):
        shares = np.exp(np.float64(scores) - np.float64(scores).max())
        expected += float(np.log(shares[token] / shares.sum()))
        scores = session.extend([token])
    assert bench.log_probability(model, prompt, text) == pytest.approx(expected, abs=1e-4)
    assert bench.likeliest(model, prompt, ["xqzj", "cold"]) == "cold"


def test_bits_per_character(model: TinyModel) -> None:
    texts = ["Hello!", "Where is my hat?"]
    bits = -sum(bench.log_probability(model, "", text) for text in texts) / np.log(2)
    assert bench.bits_per_character(model, texts) == pytest.approx(bits / 22)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The old man went home.", True),
        ("The old man went to the old home.", True),
        ("Home.", False),
        ("The old man went to the08.", False),
        ("The man went home 2 times.", False),
        ("The man went home 2.", True),
        ("The old man wents home.", False),
        ("The old man and the old man went home.", False),
        ("", False),
    ],
)
def test_what_holds_together(text: str, expected: bool) -> None:
    known = {"the", "old", "man", "went", "to", "home", "and"}
    assert bench.holds_together(text, known) == expected


def test_what_is_the_same() -> None:
    assert bench.is_same('{"a": 1}', '{"a":1}')
    assert bench.is_same("hot", "hot")
    assert not bench.is_same('{"a": 1}', '{"a": "1"}')
    assert not bench.is_same("hot", "hotel")


def test_a_banned_word_is_not_written(model: TinyModel) -> None:
    words = bench.commonest_words(model, 2, texts=1)
    tried = list(bench.banned(model, words, set()))
    assert [word for word, _, _ in tried] == words
    for word, text, _ in tried:
        opening = next(opening for opening in bench.OPENINGS if text.startswith(opening))
        assert word not in [found.lower() for found in bench.WORD.findall(text[len(opening) :])]
