"""Biases of tokens and penalties: their formulas, and what counts as written."""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.support.models.scripted import ScoreOf, ScriptedModel, random_scores
from tests.support.running.tried import tried

import sfgen
from sfgen import BannedWords, GenerationConfig, Job, Result, RolledBack, Sampler, TokenChosen, Vocabulary, generate
from sfgen.decoding import Finished, prepare
from sfgen.decoding.batch import drive
from sfgen.decoding.choice import Changes
from sfgen.errors import ForeignOutput, UsageError

TOKENS = [b" ", b"a", b"b", b"ab", b"ba", b"c"]
END = len(TOKENS)
VOCABULARY = Vocabulary([*TOKENS, None], end_token_ids=[END])
PROMPT = [1, 0]
PENALTIES = st.fixed_dictionaries(
    {},
    optional={
        "logit_bias": st.dictionaries(st.integers(0, END), st.sampled_from([-100.0, -2.5, 0.0, 1, 4.0]), max_size=4),
        "frequency_penalty": st.sampled_from([-1.5, 0.25, 2]),
        "presence_penalty": st.sampled_from([-2, 0.5, 1.75]),
        "repetition_penalty": st.sampled_from([0.5, 1, 1.3, 4]),
    },
)


def formula(
    scores: Sequence[float], prompt: Sequence[int], written: Sequence[int], penalties: dict[str, Any]
) -> list[float]:
    """What vLLM documents, token by token."""
    found = []
    for token, score in enumerate(scores):
        score += penalties.get("logit_bias", {}).get(token, 0)
        if token in prompt or token in written:
            factor = penalties.get("repetition_penalty", 1)
            score = score / factor if score > 0 else score * factor
        count = sum(other == token for other in written)
        score -= penalties.get("frequency_penalty", 0) * count
        score -= penalties.get("presence_penalty", 0) * (count > 0)
        found.append(score)
    return found


def with_penalties(score: ScoreOf, prompt: Sequence[int], penalties: dict[str, Any]) -> ScoreOf:
    """The scores of a model that has them built in, worked out anew from all that it has read."""

    def scores(tokens: tuple[int, ...]) -> NDArray[np.floating]:
        given = score(tokens).astype(np.float64).tolist()
        return np.array(formula(given, tokens[: len(prompt)], tokens[len(prompt) :], penalties))

    return scores


BANNED = BannedWords(["aa", "ab", "c b"], match="substring")
CONFIGS: list[dict[str, Any]] = [
    {},
    {"stop": ["bab"]},
    {"banned": BANNED},
    {"banned": BANNED, "strategy": "mask"},
    {"banned": BANNED, "strategy": "first-token"},
    {"index": "a(ab|ba){2}c?( abab){1,2}[abc]{2,5}"},
    {"index": "(a|b| )*c", "banned": BANNED},
    {"after": "c", "after_tokens": 4},
    {"strategy": "exact", "max_tokens": 4},
]


@tried("many")
@given(
    penalties=PENALTIES,
    config=st.sampled_from(CONFIGS),
    seed=st.integers(0, 999),
    temperature=st.sampled_from([0.0, 1.0, 2.0]),
)
def test_a_text_is_that_of_a_model_which_has_them_built_in(
    penalties: dict[str, Any], config: dict[str, Any], seed: int, temperature: float
) -> None:
    """Whatever is rolled back on the way, must follow without a forward pass, or is drawn as a whole."""
    if config.get("strategy") == "exact":
        temperature = 1.0
    score = random_scores(END + 1, seed)
    built_in = ScriptedModel(VOCABULARY, with_penalties(score, PROMPT, penalties))

    def run(model: ScriptedModel, **more: Any) -> tuple[Any, ...]:
        sampler = Sampler(temperature, seed, top_k=5, **more)
        result = generate(model, PROMPT, **{"max_tokens": 14, **config}, sampler=sampler)
        return result.token_ids, result.finish_reason, result.forced_tokens, len(result.rollbacks)

    assert run(ScriptedModel(VOCABULARY, score), **penalties) == run(built_in)


def test_rollbacks_and_forced_tokens_came_up() -> None:
    """The configurations above have in them what they are there for."""
    model, rolled_back, forced = ScriptedModel(VOCABULARY, random_scores(END + 1, 3)), 0, 0
    for seed in range(10):
        for config in CONFIGS[2:7]:
            result = generate(model, PROMPT, **{"max_tokens": 14, **config}, sampler=Sampler(2.0, seed))
            rolled_back += len(result.rollbacks)
            forced += result.forced_tokens
    assert rolled_back > 20
    assert forced > 20


@tried("many")
@given(
    scores=st.lists(st.floats(-20, 20, width=32) | st.just(-math.inf), min_size=8, max_size=8),
    allowed=st.sets(st.integers(0, 7), min_size=1).map(sorted),
    prompt=st.lists(st.integers(0, 9), max_size=5),
    written=st.lists(st.integers(0, 9), max_size=9),
    penalties=PENALTIES,
)
def test_the_formulas(
    scores: list[float], allowed: list[int], prompt: list[int], written: list[int], penalties: dict[str, Any]
) -> None:
    """Also of tokens that the mask leaves out, which may have been written before."""
    ids = np.array(allowed, dtype=np.int32)
    given = np.array(scores, dtype=np.float32)[ids]
    expected = [formula(scores, prompt, written, penalties)[token] for token in allowed]
    assert Changes.of(Sampler(**penalties), prompt, written).changed(given, ids).tolist() == expected


def test_transformers_has_the_same_repetition_penalty() -> None:
    import torch
    from transformers import RepetitionPenaltyLogitsProcessor

    random = np.random.default_rng(0)
    for penalty in (0.5, 1.2, 3.0):
        scores = random.normal(0, 4, 50)
        tokens = random.integers(0, 50, 30)
        processor = RepetitionPenaltyLogitsProcessor(penalty)
        expected = processor(torch.tensor(tokens[None]), torch.tensor(scores[None]))[0].tolist()
        ids = np.arange(50, dtype=np.int32)
        sampler = Sampler(repetition_penalty=penalty)
        changes = Changes.of(sampler, tokens[:10].tolist(), tokens[10:].tolist())
        assert changes.changed(scores, ids).tolist() == changes.changed(scores).tolist() == expected


def test_the_healed_end_of_a_prompt_counts_as_the_prompt() -> None:
    """The prompt ``c a`` loses its last token; `` a`` writes it again, and counts as one of the prompt."""
    tokens = [b"c", b" a", b" ab", b" "]
    vocabulary = Vocabulary([*tokens, None], end_token_ids=[4])
    model = ScriptedModel(vocabulary, lambda _: np.array([0.0, 3, 1, 2, -9]), {"c a": [0, 1]})
    for penalty, text in (({"presence_penalty": 2}, " a  a"), ({"repetition_penalty": 4.0}, "  ab a")):
        result = generate(model, "c a", heal=True, max_tokens=3, sampler=Sampler(**penalty))
        assert (result.healed, result.text) == (" a", text)


def events_of(config: dict[str, Any]) -> tuple[list[Any], Result]:
    model = ScriptedModel(VOCABULARY, random_scores(END + 1, 8))
    events = list(sfgen.stream(model, PROMPT, max_tokens=9, observe=True, logprobs=True, **config))
    final = events[-1]
    assert isinstance(final, Finished)
    return events, final.result


def test_what_is_told_of_the_model_is_before_them() -> None:
    """Log-probabilities under the model and the likeliest tokens; a probability of a draw is after them."""
    penalties = {"logit_bias": {1: 3.0, END: -100}, "repetition_penalty": 1.5, "frequency_penalty": 0.5}
    score = random_scores(END + 1, 8)
    config = {"banned": BANNED, "sampler": Sampler(1.0, 4, **penalties)}  # type: ignore[arg-type]
    events, result = events_of(config)
    assert any(isinstance(event, RolledBack) for event in events)
    assert result.logprobs is not None
    for place, (token, logprob) in enumerate(zip(result.token_ids, result.logprobs, strict=True)):
        own = score((*PROMPT, *result.token_ids[:place])).astype(np.float64)
        assert logprob.model == pytest.approx(float(own[token] - np.logaddexp.reduce(own)), abs=1e-5)
    path: list[int] = []
    first = True
    for event in events:
        if isinstance(event, RolledBack):
            del path[event.position :]
            first = False  # from here on, what was learnt is in the probability, too
        if isinstance(event, TokenChosen):
            own = score((*PROMPT, *path)).astype(np.float64)
            shares = np.exp(own - np.logaddexp.reduce(own))
            assert event.outlook is not None
            for candidate in event.outlook.before:
                assert candidate.before == pytest.approx(shares[candidate.token_id], abs=1e-5)
            changed = np.array(formula(own.tolist(), PROMPT, path, penalties))
            drawn = np.exp(changed - np.logaddexp.reduce(changed))
            if first:
                assert event.probability == pytest.approx(drawn[event.token_id])
            path.append(event.token_id)


def test_texts_in_a_batch_are_those_alone() -> None:
    model = sfgen.load_model("tiny")
    sampler = Sampler(1.0, 7, frequency_penalty=0.7, presence_penalty=0.3, repetition_penalty=1.2, logit_bias={596: -3})
    config = GenerationConfig(banned=["you", "the"], sampler=sampler, max_tokens=16)
    prompts = ["Can we talk?", "Once upon a", "In our shop: "]
    records = list(sfgen.job_records(Job(model, config), prompts, batch_size=3))
    alone = [
        generate(model, prompt, config, sampler=Sampler(**{**vars(sampler), "seed": 7 + line})).token_ids
        for line, prompt in enumerate(prompts)
    ]
    assert [tuple(record["token_ids"]) for record in records] == alone
    texts = {text.text for text in (next(_results(model, prompts[0], config, seed)) for seed in (7, 8))}
    assert len(texts) == 2


def _results(model: Any, prompt: str, config: GenerationConfig, seed: int) -> Any:
    sampler = Sampler(1.0, seed, repetition_penalty=1.2)
    for event in drive(prepare(model, prompt, config, sampler=sampler), model):
        if isinstance(event, Finished):
            yield event.result


def test_one_value() -> None:
    sampler = Sampler(logit_bias={7: -1, 3: 2.5}, frequency_penalty=1)
    assert sampler == Sampler(logit_bias={3: 2.5, 7: -1}, frequency_penalty=1.0) == pickle.loads(pickle.dumps(sampler))
    assert hash(sampler) == hash(Sampler(logit_bias={7: -1, 3: 2.5}, frequency_penalty=1))
    assert Sampler(logit_bias={}) == Sampler()
    assert not Sampler(logit_bias={}, repetition_penalty=1).adjusts


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((f"{kind}_penalty", value) for kind in ("frequency", "presence") for value in (-2.1, 3, math.nan, "1")),
        *(("repetition_penalty", value) for value in (0, -1, 101, math.inf)),
        *(("logit_bias", value) for value in ([1], {"a": 1}, {-1: 1}, {1: 101}, {1: -math.inf}, {1: None}, {1.5: 2})),
    ],
)
def test_a_value_outside_its_range_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(UsageError, match=f"^{name.replace('_', '-')}"):
        Sampler(**{name: value})


def test_a_token_that_is_not_there() -> None:
    with pytest.raises(UsageError, match="logit_bias names the token 7, and the model has 7 tokens"):
        generate(ScriptedModel(VOCABULARY, random_scores(7, 0)), PROMPT, sampler=Sampler(logit_bias={7: 1}))


@pytest.mark.parametrize(
    "change", [{"logit_bias": {9: 1}}, {"frequency_penalty": 1}, {"presence_penalty": 1}, {"repetition_penalty": 2}]
)
def test_a_job_with_another_one_is_another_job(tmp_path: Path, change: dict[str, Any]) -> None:
    output = tmp_path / "texts.jsonl"
    before, after = (
        Job("uniform", GenerationConfig(sampler=Sampler(1.0, 3, **more), max_tokens=3)) for more in ({}, change)
    )
    sfgen.run_job(before, ["a"], output)
    assert not {*change} & {*json.loads(output.read_text()).get("options", {})}
    with pytest.raises(ForeignOutput, match=next(iter(change))):
        sfgen.run_job(after, ["a"], output, resume=True)
