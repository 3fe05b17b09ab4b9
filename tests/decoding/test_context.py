"""A model reads no more than its context holds: the prompt must fit, and the text is bounded by what is left."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.support.models.scripted import ScriptedModel, random_scores

from sfgen import BannedWords, Dfa, Index, Sampler, Vocabulary, generate, load_model, stream
from sfgen.decoding import Model
from sfgen.errors import InputError, LimitTooSmall, ModelError, UsageError

TOKENS = [b"a", b"b", b"ab", b" ", b"1"]
END = len(TOKENS)
VOCABULARY = Vocabulary([*TOKENS, None], end_token_ids=[END])


class Forgetful(ScriptedModel):
    """Random scores; fails when it is given more than its context holds."""

    def __init__(self, context_length: int | None, *, seed: int = 0, vocabulary: Vocabulary = VOCABULARY) -> None:
        chance = random_scores(len(vocabulary), seed)

        def score(tokens: tuple[int, ...]) -> NDArray[np.floating]:
            assert context_length is None or len(tokens) <= context_length, "more than the context was read"
            scores = chance(tokens)
            scores[list(vocabulary.end_token_ids)] = -9.0  # it would go on for ever
            return scores

        super().__init__(vocabulary, score)
        self.context_length = context_length


def test_a_prompt_that_does_not_fit_is_told_before_the_model_is_asked() -> None:
    model = Forgetful(5)
    for options in ({}, {"index": Index(Dfa.from_regex("a"), VOCABULARY)}, {"max_tokens": 0}):
        with pytest.raises(InputError, match="6 tokens, its context holds 5"):
            stream(model, "a" * 6, **options)
    assert not model.sessions
    with pytest.raises(InputError, match="9 tokens, its context holds 5"):
        stream(model, [0] * 9)


def test_the_context_bounds_free_text() -> None:
    for length, tokens in ((5, 1), (4, 2), (1, 5)):
        result = generate(Forgetful(5), "a" * length)
        assert (len(result.token_ids), result.finish_reason) == (tokens, "limit")
    assert len(generate(Forgetful(5), "aaaa", max_tokens=1).token_ids) == 1
    assert len(generate(Forgetful(None), "aaaa", max_tokens=40).token_ids) == 40


def test_the_context_bounds_a_match_that_comes_out_whole() -> None:
    index = Index(Dfa.from_regex("(ab)+1"), VOCABULARY)
    texts = {generate(Forgetful(12, seed=seed), "a" * 4, index=index).text for seed in range(20)}
    assert all(re.fullmatch("(ab)+1", text) for text in texts)
    assert len(texts) > 3
    assert generate(Forgetful(12), "a" * 11, index=index).text == "ab1"


def test_a_context_too_small_for_the_shortest_match_is_told_with_the_numbers() -> None:
    model = Forgetful(12)
    index = Index(Dfa.from_regex("(ab){3}1"), VOCABULARY)
    with pytest.raises(LimitTooSmall) as caught:
        stream(model, "a" * 10, index=index)
    message = "the context of the model, 12 tokens, is too small: after a prompt of 10 it leaves room for 3, and the "
    assert caught.value.message == message + "shortest match takes 4"
    assert caught.value.details == ("  for example 'ababab1'",)
    # A limit that is smaller still is told as the limit.
    with pytest.raises(LimitTooSmall, match="a limit of 2 tokens is too small"):
        stream(model, "a" * 10, index=index, max_tokens=2)
    assert not model.sessions


def test_several_end_tokens_at_the_end_of_the_context_are_not_asked_about() -> None:
    vocabulary = Vocabulary([b"a", None, None], end_token_ids=[1, 2])
    index = Index(Dfa.from_regex("a+"), vocabulary)
    result = generate(Forgetful(4, vocabulary=vocabulary), "aaa", index=index)
    assert (result.text, result.finish_reason) == ("aa", "complete")


@given(
    context=st.integers(1, 12),
    prompt=st.integers(1, 12),
    pattern=st.sampled_from([None, "(ab|1)*", "a{3}b*", "[ab ]{2,5}1"]),
    words=st.sampled_from([None, ["ab"], ["a", "1"]]),
    seed=st.integers(0, 10**6),
    temperature=st.sampled_from([0.0, 1.0]),
)
def test_no_more_than_the_context_is_ever_read(
    context: int, prompt: int, pattern: str | None, words: list[str] | None, seed: int, temperature: float
) -> None:
    index = Index(Dfa.from_regex(pattern), VOCABULARY) if pattern else None
    banned = BannedWords(words) if words and pattern is None else None
    try:
        result = generate(
            Forgetful(context, seed=seed),
            "a" * prompt,
            index=index,
            banned=banned,
            sampler=Sampler(temperature, seed),
            max_tokens=20,
        )
    except InputError:
        assert prompt > context
        return
    except LimitTooSmall:
        assert index is not None
        assert len(index.shortest_tokens()) > context - prompt + 1
        return
    assert prompt <= context
    assert len(result.token_ids) <= context - prompt + 1
    assert pattern is None or re.fullmatch(pattern, result.text)


def test_prompt_tokens_that_do_not_exist_are_refused() -> None:
    for prompt in ([99], [0, -1]):
        with pytest.raises(UsageError, match=f"token {prompt[-1]}, but the vocabulary has only 6"):
            stream(Forgetful(None), prompt)


# ---- a transformers model -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def short_gpt2(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Model]:
    """A random GPT-2 that reads 16 tokens, from a directory."""
    import torch
    import transformers

    from sfgen.vocabulary.pretrained import quiet_transformers

    directory = tmp_path_factory.mktemp("short")
    with quiet_transformers():
        tokenizer: Any = transformers.AutoTokenizer.from_pretrained(
            Path(__file__).resolve().parent.parent / "data" / "tokenizers" / "gpt2"
        )
        torch.manual_seed(5)
        configuration = transformers.GPT2Config(
            vocab_size=len(tokenizer),
            n_layer=1,
            n_head=1,
            n_embd=8,
            n_positions=16,
            eos_token_id=tokenizer.eos_token_id,
        )
        model: Any = transformers.GPT2LMHeadModel(configuration)
        model.save_pretrained(directory)
        tokenizer.save_pretrained(directory)
    return lambda: load_model(directory, device="cpu")


def test_a_short_gpt2_reads_up_to_its_last_position(short_gpt2: Callable[[], Model]) -> None:
    model = short_gpt2()
    prompt = [5] * 10
    result = generate(model, prompt, sampler=Sampler(1.0, 3))
    assert (len(result.token_ids), result.finish_reason) == (7, "limit")
    full = generate(model, [5] * 16, sampler=Sampler(1.0, 3))
    assert (len(full.token_ids), full.finish_reason) == (1, "limit")
    index = Index(Dfa.from_regex("[a-z]{4,}[.]"), model.vocabulary)
    for seed in range(5):
        text = generate(model, prompt, index=index, sampler=Sampler(1.0, seed)).text
        assert re.fullmatch("[a-z]{4,}[.]", text)
    with pytest.raises(LimitTooSmall, match="16 tokens, is too small: after a prompt of 14"):
        generate(model, [5] * 14, index=Index(Dfa.from_regex("[0-9]{60}"), model.vocabulary))


def test_a_prompt_that_does_not_fit_is_told_before_the_weights_are_read(
    short_gpt2: Callable[[], Model], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = short_gpt2()

    def loaded(*_: object) -> None:
        raise ModelError("the weights were wanted")

    monkeypatch.setattr(type(model), "session", loaded)
    with pytest.raises(InputError, match="17 tokens, its context holds 16"):
        generate(model, [5] * 17)
    with pytest.raises(ModelError, match="wanted"):
        generate(model, [5] * 16)
