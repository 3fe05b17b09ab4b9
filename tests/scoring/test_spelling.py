"""How choices are spelled behind a prompt, and what is done at the seam."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.scored_choices import MERGES, ScoredMerges
from tests.support.models.spellers import FAMILIES, SMALL, speller
from tests.support.running.tried import tried

from sfgen import Vocabulary
from sfgen.models.uniform import UniformModel
from sfgen.models.zip_model import ZipModel
from sfgen.protocols import Model
from sfgen.scoring.one_prompt import prepare_scoring
from sfgen.scoring.spelling import Spelled

WORDS = st.lists(
    st.sampled_from(["It is", " very", " ", "  ", "hot", " cold", "é", "12", "3", "\n", "el", "."]), max_size=5
)
PROMPTS = WORDS.map("".join)
CHOICES = st.lists(st.one_of(PROMPTS, st.sampled_from(["hotel", " hot", "34", "ing", "聊"])), min_size=1, max_size=4)


def spelled(model: Model, prompt: str | list[int], choices: list[str]) -> Spelled:
    return prepare_scoring(model, prompt, tuple(choices)).spelled


def written(vocabulary: Vocabulary, tokens: tuple[int, ...] | list[int]) -> bytes:
    return b"".join(vocabulary.tokens[token] or b"" for token in tokens)


def test_the_tokens_that_follow_the_prompt() -> None:
    model = ScoredMerges(0, *MERGES)
    found = spelled(model, "x", ["hot", "cold", ""])
    assert found == Spelled((120,), ((model.ids[b"hot"],), (model.ids[b"cold"],), ()))


def test_the_end_of_the_prompt_is_taken_back_for_all_alike() -> None:
    """The space would be a token by itself; with hot it is one, with cold it is not."""
    model = ScoredMerges(0, *MERGES)
    found = spelled(model, "x ", ["hot", "cold"])
    assert found.root == (120,)
    assert found.choices == ((model.ids[b" hot"],), (32, model.ids[b"cold"]))
    assert spelled(model, "x ", ["cold"]) == Spelled((120, 32), ((model.ids[b"cold"],),))


def test_tokens_stay_as_they_are() -> None:
    model = ScoredMerges(0, *MERGES)
    found = spelled(model, [120, 32], ["hot", "cold"])
    assert found == Spelled((120, 32), ((model.ids[b"hot"],), (model.ids[b"cold"],)))


def test_where_nothing_of_the_prompt_would_be_left() -> None:
    model = ScoredMerges(0, *MERGES)
    assert spelled(model, " ", ["hot"]) == Spelled((32,), ((model.ids[b"hot"],),))


def test_a_model_whose_encode_writes_more() -> None:
    """zip:FILE puts a space behind each prompt."""
    model = ZipModel("ishmael went to sea")
    found = spelled(model, "Ahab", ["went", "sea"])
    assert written(model.vocabulary, found.root).endswith(b"Ahab ")
    assert [written(model.vocabulary, tokens) for tokens in found.choices] == [b"went", b"sea"]


def test_the_fewest_tokens_where_the_tokenizer_writes_another_text() -> None:
    class Lower(ScoredMerges):
        def encode(self, text: str) -> list[int]:
            return super().encode(text.lower())

    model = Lower(0, *MERGES, "H|o", "Ho|t")
    assert spelled(model, "x", ["Hotel", "hot"]).choices == (
        (model.ids[b"Hot"], model.ids[b"el"]),
        (model.ids[b"hot"],),
    )


@pytest.mark.parametrize("family", FAMILIES)
@tried("some")
@given(prompt=PROMPTS, choices=CHOICES)
def test_tokenizers(family: str, prompt: str, choices: list[str]) -> None:
    """Whatever is done, the tokens write the prompt and the choice, and are the tokenizer's own where that can be."""
    model = speller(SMALL / family)
    prompt_ids = model.encode(prompt)
    if not prompt_ids:
        return
    found = spelled(model, prompt, choices)
    vocabulary, before = model.vocabulary, written(model.vocabulary, prompt_ids)
    assert found.root
    assert tuple(prompt_ids[: len(found.root)]) == found.root
    for choice, tokens in zip(choices, found.choices, strict=True):
        assert written(vocabulary, (*found.root, *tokens)) == before + choice.encode()
    wholes = [model.encode(prompt + choice) for choice in choices]
    if all(whole[: len(prompt_ids)] == prompt_ids for whole in wholes) and all(
        written(vocabulary, whole) == before + choice.encode() for whole, choice in zip(wholes, choices, strict=True)
    ):
        assert found == Spelled(tuple(prompt_ids), tuple(tuple(whole[len(prompt_ids) :]) for whole in wholes))


@pytest.mark.parametrize("family", ["gpt2", "llama3"])
def test_a_space_at_the_end_of_the_prompt_is_joined(family: str) -> None:
    """As the tokenizer writes the whole text."""
    model = speller(SMALL / family)
    for choice in ("the", "and", "is"):
        (tokens,) = spelled(model, "It is ", [choice]).choices
        assert tokens == spelled(model, "It is", [f" {choice}"]).choices[0]
        assert written(model.vocabulary, tokens[:1]).startswith(b" ")


def test_prompts_of_tokens_end_with_special_ones() -> None:
    """As chat templates write them: nothing is joined with them."""
    vocabulary = Vocabulary([b"a", b"b", b"ab", None], end_token_ids=[3])
    assert spelled(UniformModel(vocabulary), [0, 3], ["b", "ab"]) == Spelled((0, 3), ((1,), (2,)))
    assert spelled(UniformModel(vocabulary), [3, 0], ["b", "ab"]) == Spelled((3, 0), ((1,), (2,)))
