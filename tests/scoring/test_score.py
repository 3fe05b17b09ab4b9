"""The probability of choices, against the definition, and the traps that it is there for."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.scored_choices import MERGES, ScoredMerges, log_shares, logprob_of, spellings
from tests.support.command.many_prompts import SmallModel
from tests.support.models.scripted import ScriptedModel
from tests.support.running.tried import tried

import sfgen
from sfgen import ChoiceScore, Sampler, Vocabulary, score
from sfgen.errors import InputError, ModelError, UsageError
from sfgen.protocols import Scores

TEXTS = st.text("hotelcd ab", max_size=7)
CHOICES = st.lists(TEXTS, min_size=1, max_size=6, unique=True)


class WithoutEnd(ScriptedModel):
    """A model whose vocabulary has no end token."""

    def __init__(self, score_of: dict[tuple[int, ...], list[float]]) -> None:
        def shares(tokens: tuple[int, ...]) -> Scores:
            return np.log(score_of[tokens], dtype=np.float64)

        super().__init__(Vocabulary([b"a", b"b"]), shares)


@tried("some")
@given(st.integers(0, 10**6), st.text("hot el", max_size=5).map("x{}".format), CHOICES)
def test_each_is_the_product_of_its_tokens_and_the_end(seed: int, prompt: str, choices: list[str]) -> None:
    model = ScoredMerges(seed, *MERGES)
    found = score(model, prompt, choices)
    reads = [call for session in model.sessions for call in session.calls]
    together = {text: model.encode(prompt + text) for text in choices}
    by_text = {one.text: one for one in found}
    assert by_text.keys() == together.keys()
    for text, whole in together.items():
        one = by_text[text]
        root = whole[: len(whole) - len(one.tokens)]
        assert [*root, *one.tokens] == whole
        assert math.isclose(one.logprob, logprob_of(model, root, one.tokens), rel_tol=1e-9, abs_tol=1e-9)
    total = math.fsum(math.exp(one.logprob) for one in found)
    for one in found:
        assert math.isclose(one.probability, math.exp(one.logprob) / total, rel_tol=1e-9)
    assert [one.logprob for one in found] == sorted((one.logprob for one in found), reverse=True)
    # What they have in common is read once; this session tells the scores of one position at a time.
    root = model.encode(prompt)[: _common([model.encode(prompt), *together.values()])]
    prefixes = {tuple(whole[:end]) for whole in together.values() for end in range(len(root) + 1, len(whole) + 1)}
    assert sum(map(len, reads)) == len(root) + len(prefixes)


def _common(sequences: list[list[int]]) -> int:
    """How many tokens all begin with."""
    return next(
        (place for place, tokens in enumerate(zip(*sequences, strict=False)) if len(set(tokens)) > 1),
        min(map(len, sequences)),
    )


@given(st.integers(0, 10**6), CHOICES)
def test_no_more_than_all_spellings_together(seed: int, choices: list[str]) -> None:
    """Of token sequences one counts; with tokens of one character it is the only one."""
    for merges in (MERGES, ()):
        model = ScoredMerges(seed, *merges)
        root = model.encode("x")
        for one in score(model, "x", choices):
            every = [logprob_of(model, root, tokens) for tokens in spellings(model.vocabulary, one.text.encode())]
            of_all = math.fsum(map(math.exp, every))
            assert math.exp(one.logprob) <= of_all * (1 + 1e-9)
            if not merges:
                assert math.isclose(math.exp(one.logprob), of_all, rel_tol=1e-9)


@given(st.integers(0, 10**6), CHOICES)
def test_all_spellings_where_the_model_writes_as_its_tokenizer(seed: int, choices: list[str]) -> None:
    """A model that gives other spellings nothing: the shares are those of the texts themselves."""
    random = ScoredMerges(seed, *MERGES)
    allowed = {tuple(random.encode("x" + text)[:end]) for text in choices for end in range(1, 9)}
    end = random.vocabulary.end_token_ids[0]

    def canonical(tokens: tuple[int, ...]) -> Scores:
        scores = random.score(tokens).copy()
        wanted = {
            whole[len(tokens)] for whole in allowed if len(whole) > len(tokens) and whole[: len(tokens)] == tokens
        }
        others = [token for token in range(scores.size) if token not in wanted and token != end]
        scores[others] = -np.inf
        return scores

    model = ScoredMerges(seed, *MERGES, score=canonical)
    found = score(model, "x", choices)
    of_texts = {
        text: math.fsum(math.exp(_of_possible(model, tokens)) for tokens in spellings(model.vocabulary, text.encode()))
        for text in choices
    }
    for one in found:
        assert math.isclose(one.probability, of_texts[one.text] / math.fsum(of_texts.values()), rel_tol=1e-9)


def _of_possible(model: ScoredMerges, tokens: tuple[int, ...]) -> float:
    known, parts = model.encode("x"), list[float]()
    for token in tokens:
        parts.append(log_shares(model, known)[token])
        if parts[-1] == -math.inf:
            return -math.inf
        known = [*known, token]
    return math.fsum([*parts, log_shares(model, known)[model.vocabulary.end_token_ids[0]]])


def test_skill_is_not_beaten_by_cloud() -> None:
    """More words begin with a c, and the mask that sees one token at a time goes their way."""
    letters = [bytes([letter]) for letter in b"abcdefghijklmnopqrstuvwxyz"]
    vocabulary = Vocabulary([*letters, None], end_token_ids=[26])
    words = {"skill": 0.4, "cat": 0.15, "cow": 0.15, "cup": 0.15, "cloud": 0.15}

    def shares(tokens: tuple[int, ...]) -> Scores:
        written = "".join(chr(97 + token) for token in tokens[1:])
        following = Counter[int]()
        for word, share in words.items():
            if word.startswith(written):
                following[ord(word[len(written)]) - 97 if word != written else 26] += share  # type: ignore[assignment]
        with np.errstate(divide="ignore"):
            scores: Scores = np.log(np.array([following[token] for token in range(27)], dtype=np.float64))
        return scores

    model = ScriptedModel(vocabulary, shares)
    choices = ["skill", "cloud"]
    masked = sfgen.generate(model, "x", index=sfgen.Dfa.from_choices(choices), sampler=Sampler(0.0))
    assert masked.text == "cloud"
    found = score(model, "x", choices)
    assert [one.text for one in found] == choices
    assert [round(math.exp(one.logprob), 9) for one in found] == [0.4, 0.15]
    assert math.isclose(found[0].probability, 0.4 / 0.55)


def test_hot_and_hotel_are_not_mixed_up() -> None:
    """Nearly all that begins with hot is hotel."""

    def score_of(tokens: tuple[int, ...]) -> Scores:
        written = "".join("hotelx"[token] for token in tokens[1:])
        row = np.full(7, 1e-9)
        following = {"": 0, "h": 1, "ho": 2, "hot": 3, "hote": 4, "hotel": 6}.get(written)
        if following is not None:
            row[following] = 1.0
        if written == "hot":
            row[6] = 0.01
        scores: Scores = np.log(row)
        return scores

    model = ScriptedModel(Vocabulary([b"h", b"o", b"t", b"e", b"l", b"x", None], end_token_ids=[6]), score_of)
    found = score(model, "x", ["hot", "hotel"])
    assert [one.text for one in found] == ["hotel", "hot"]
    assert 0.009 < found[1].probability < 0.011


def test_several_end_tokens_end_together() -> None:
    def half(tokens: tuple[int, ...]) -> Scores:
        return np.log([0.5, 0.25, 0.25], dtype=np.float64)

    model = ScriptedModel(Vocabulary([b"a", None, None], end_token_ids=[1, 2]), half)
    assert [round(math.exp(one.logprob), 12) for one in score(model, "a", ["a", ""])] == [0.5, 0.25]


def test_a_model_without_an_end_token() -> None:
    """The text counts alone, and its last token need not be read."""
    model = WithoutEnd({(0,): [0.75, 0.25], (0, 0): [0.5, 0.5]})
    found = score(model, "a", ["b", "a", "ab"])
    assert [(one.text, round(math.exp(one.logprob), 12)) for one in found] == [("a", 0.75), ("ab", 0.375), ("b", 0.25)]
    assert all(len(session.tokens) <= 2 for session in model.sessions)


def test_choices_that_no_float_can_tell_apart() -> None:
    """Their shares are made of logarithms."""

    def far(tokens: tuple[int, ...]) -> Scores:
        return np.array([0.0, -900.0, -901.0, -5.0])

    model = ScriptedModel(Vocabulary([b"x", b"a", b"b", None], end_token_ids=[3]), far)
    found = score(model, "x", ["b", "a"])
    assert [one.text for one in found] == ["a", "b"]
    assert math.isclose(found[0].probability, 1 / (1 + math.exp(-1)))
    assert found[0].logprob < -900


def test_equal_choices_count_once_and_keep_their_order() -> None:
    found = score("uniform", "It is ", ["b", "a", "b"])
    assert [one.text for one in found] == ["b", "a"]
    assert found[0].probability == found[1].probability
    assert isinstance(found[0], ChoiceScore)


@pytest.mark.parametrize(
    ("prompt", "choices", "error", "message"),
    [
        ("a", [], UsageError, "nothing to score"),
        ("a", "hot,cold", UsageError, r"(?s)a list of texts, not 'hot,cold'.*Give \['hot', 'cold'\]"),
        ("a", ["b\ud800"], UsageError, "surrogate"),
        ([], ["b"], UsageError, "the prompt has no token"),
        ([99], ["b"], UsageError, "the prompt has token 99"),
        ("a" * 12, ["b" * 9], InputError, "the prompt and a choice are longer than the model can read: 21 tokens"),
    ],
)
def test_what_cannot_be_scored(
    prompt: str | list[int], choices: list[str] | str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        score(SmallModel(), prompt, choices)
    assert len(score(SmallModel(), "a" * 12, ["b" * 8])) == 1


def test_a_choice_that_the_vocabulary_cannot_write() -> None:
    vocabulary = Vocabulary([b"a", b"b", None], end_token_ids=[2])
    with pytest.raises(UsageError, match="no tokens for the choice 'é'"):
        score(ScriptedModel(vocabulary, lambda tokens: np.zeros(3)), [0], ["b", "é"])


def test_scores_that_cannot_be_used() -> None:
    vocabulary = Vocabulary([b"a", b"b", None], end_token_ids=[2])
    broken: dict[str, list[float]] = {
        "not numbers": [0.0, math.nan, 0.0],
        "any probability": [0.0, -math.inf, 0.0],
        "of shape": [0.0, 1.0],
    }
    for message, scores in broken.items():
        row = np.array(scores)
        with pytest.raises(ModelError, match=message):
            score(ScriptedModel(vocabulary, lambda tokens, row=row: row), "a", ["b"])  # type: ignore[misc]
