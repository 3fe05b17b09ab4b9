"""Texts of the real model: streams, healed ends of prompts, thoughts, stop strings, probabilities, penalties, biases.

Most is worked out a second time by a plain loop over the model's scores (``scores_along``, ``greedy``).
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from typing import Any, get_args

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.oracles.banned_text import banned_words_in
from tests.support.real.circumstances import TALK, TAPESTRY, scores_along
from tests.support.real.model import gguf_model, needs_file
from tests.support.running.tried import rounds, some_of

import sfgen
from sfgen import Finished, Result, TextReleased, ThoughtReleased, generate, stream
from sfgen.decoding.rollback_decision import StrategyName

pytestmark = needs_file()

STORY = "Once upon a time there was a"
FACT = "The capital of France is"


def greedy(prompt: Sequence[int], count: int, judge: Callable[[NDArray[np.float64], list[int]], Any]) -> list[int]:
    """The tokens of a plain loop: the likeliest by what a judge makes of the scores and the tokens so far."""
    session = gguf_model().session()
    written: list[int] = []
    scores = np.array(session.extend(list(prompt)), dtype=np.float64)
    while len(written) < count:
        written.append(int(np.argmax(judge(scores, written))))
        scores = np.array(session.extend(written[-1:]), dtype=np.float64)
    return written


# ---- streams -------------------------------------------------------------------------------------------------------

STREAMED: list[dict[str, Any]] = [
    {},
    {"temperature": 1, "seed": 3, "top_p": 0.9},
    {"banned": ["the", "of"], "temperature": 1, "seed": 4},
    {"banned": ["Paris", "city"], "strategy": "mask"},
    {"banned": ["Paris", "city"], "strategy": "first-token", "stop": [".", "\n"]},
    {"schema": "city, country", "max_tokens": 40},
    {"regex": r" [A-Z]\w+, [^.]{3,30}\.", "banned": ["the"]},
    {"after": ".", "after_tokens": 12, "choices": ["yes", "no"]},
]


@pytest.mark.parametrize("parameters", some_of(STREAMED, 6), ids=str)
def test_a_stream_takes_nothing_back_and_is_the_result(parameters: dict[str, Any]) -> None:
    """All four ways to ask for a text come to the same; the asynchronous one tells the same events."""
    parameters = {"max_tokens": 16, **parameters}

    def told(events: Sequence[Any]) -> Result:
        result: Result = next(event.result for event in events if isinstance(event, Finished))
        released = [event.text for event in events if isinstance(event, TextReleased)]
        assert all(released)
        assert "".join(released) == result.text
        thought = "".join(event.text for event in events if isinstance(event, ThoughtReleased))
        assert thought == (result.thought or "")
        return result

    async def beside_a_loop() -> tuple[list[Any], Result]:
        events = [event async for event in sfgen.astream(gguf_model(), FACT, **parameters)]
        return events, await sfgen.agenerate(gguf_model(), FACT, **parameters)

    events = list(stream(gguf_model(), FACT, **parameters))
    result = told(events)
    events_beside, result_beside = asyncio.run(beside_a_loop())
    assert events_beside == events
    assert result_beside == result


def test_free_text_comes_token_by_token() -> None:
    """The text of each token is there before the next one is chosen, but for half a character."""
    events = [type(event).__name__ for event in stream(gguf_model(), FACT, max_tokens=6)]
    assert events == ["TokenChosen", "TextReleased"] * 6 + ["Finished"]


# ---- greedy text, penalties, biases, probabilities -----------------------------------------------------------------


def test_free_text_is_the_likeliest_tokens() -> None:
    model = gguf_model()
    result = generate(model, STORY, max_tokens=20)
    assert list(result.token_ids) == greedy(model.encode(STORY), 20, lambda scores, written: scores)
    assert result.text.encode() == b"".join(model.vocabulary.tokens[token] for token in result.token_ids)


@pytest.mark.parametrize(
    ("frequency", "presence", "repetition"),
    some_of([(0.7, -0.5, 1.1), (0.0, 0.0, 1.3), (1.5, 0.0, 1.0), (0.0, 1.9, 1.0)], 2),
)
def test_penalties_are_what_their_formulas_say(frequency: float, presence: float, repetition: float) -> None:
    """The text that repeats itself without them is another one with each of them."""
    model = gguf_model()
    ids = model.encode(TALK)

    def judged(scores: NDArray[np.float64], written: list[int]) -> NDArray[np.float64]:
        adjusted = scores.copy()
        for token in {*ids, *written}:
            adjusted[token] = scores[token] / repetition if scores[token] > 0 else scores[token] * repetition
        for token in set(written):
            adjusted[token] -= frequency * written.count(token) + presence
        return adjusted

    result = generate(
        model,
        TALK,
        max_tokens=20,
        frequency_penalty=frequency,
        presence_penalty=presence,
        repetition_penalty=repetition,
    )
    assert list(result.token_ids) == greedy(ids, 20, judged)
    assert result.text != generate(model, TALK, max_tokens=20).text


def test_a_bias_of_tokens_is_added_to_their_scores() -> None:
    model = gguf_model()
    first = generate(model, FACT, max_tokens=1).token_ids[0]
    [paris] = model.encode_inside(" Paris")
    bias = {first: -100.0, paris: 7.5}

    def judged(scores: NDArray[np.float64], written: list[int]) -> NDArray[np.float64]:
        adjusted = scores.copy()
        adjusted[list(bias)] += list(bias.values())
        return adjusted

    result = generate(model, FACT, max_tokens=4, logit_bias=bias)
    assert list(result.token_ids) == greedy(model.encode(FACT), 4, judged)
    assert result.text.startswith(" Paris")


@pytest.mark.parametrize(
    "parameters",
    [
        {"max_tokens": 10},
        {"max_tokens": 10, "temperature": 0.8, "seed": 2, "top_k": 40},
        {"max_tokens": 40, "schema": "city, country"},
        {"max_tokens": 10, "banned": ["the", "Paris"], "temperature": 1, "seed": 1},
    ],
    ids=str,
)
def test_log_probabilities_are_the_models(parameters: dict[str, Any]) -> None:
    """Those of jump-forward tokens, too; and the text is the one without."""
    model = gguf_model()
    result = generate(model, FACT, logprobs=True, **parameters)
    assert result.logprobs is not None
    assert generate(model, FACT, **parameters).token_ids == result.token_ids
    rows = scores_along(model.encode(FACT), result.token_ids[:-1])
    for token, logprob, row in zip(result.token_ids, result.logprobs, rows, strict=True):
        expected = float(row[token])
        near = 0.4 if "schema" in parameters else 0.02  # jump-forward tokens are read together, which rounds otherwise
        assert logprob.model == pytest.approx(expected, abs=near, rel=0.02)
        assert logprob.mask <= 0
        if parameters == {"max_tokens": 10}:
            assert logprob.mask == pytest.approx(expected, abs=0.02)


def test_a_word_with_a_bias_is_less_likely_and_almost_never_there_with_a_large_one() -> None:
    """A word that half of the texts have, counted with and without."""
    model = gguf_model()
    prompt = "heads, tails, tails, heads, tails, heads, heads, tails, tails,"
    count = rounds(150)

    def heads(**parameters: Any) -> int:
        config = sfgen.GenerationConfig(max_tokens=1, temperature=1, seed=0, **parameters)
        job = sfgen.Job(model, config, samples=count)
        return sum("heads" in str(record["text"]).lower() for record in sfgen.job_records(job, [prompt]))

    [shares] = map(np.exp, scores_along(model.encode(prompt), []))
    share = sum(
        float(shares[token])
        for token, data in enumerate(model.vocabulary.tokens)
        if data and data.strip().lower() == b"heads"
    )
    assert 0.2 < share < 0.8
    assert abs(heads() - share * count) <= 4 * math.sqrt(count * share * (1 - share))
    less = share * math.exp(-1.5) / (share * math.exp(-1.5) + 1 - share)
    assert abs(heads(word_bias={"heads": -1.5}) - less * count) <= 4 * math.sqrt(count * less * (1 - less))
    assert heads(word_bias={"heads": -100}) == 0


def test_a_word_with_a_large_bias_is_as_good_as_banned_at_temperature_0() -> None:
    assert "tapestry" in generate(gguf_model(), TAPESTRY, max_tokens=12).text
    result = generate(gguf_model(), TAPESTRY, max_tokens=12, word_bias={"tapestry": -100})
    assert not banned_words_in(result.text, ["tapestry"])
    assert generate(gguf_model(), TAPESTRY, max_tokens=12, word_bias={"tapestry": 0}).text.startswith(" tapestry")


# ---- stop strings --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stop", [["of the"], ["he c", "ance."], ["t", "of"]], ids=str)
def test_the_text_ends_before_the_first_stop_string(stop: list[str]) -> None:
    free = generate(gguf_model(), FACT, max_tokens=30).text
    result = generate(gguf_model(), FACT, max_tokens=30, stop=stop)
    found = [free.index(text) for text in stop if text in free]
    assert result.text == free[: min(found, default=len(free))]
    assert result.finish_reason == ("stop" if found else "limit")


# ---- the end of the prompt -----------------------------------------------------------------------------------------

HALF = {
    "The capital of Fran": "France",
    "The largest planet is Jupi": "Jupiter",
    "He was born in Lond": "London",
    "Harry Potter and Harry Potter and Har": "Harry",
    "The theory of relati": "relativity",
    "def main():\n    ret": "return",
}


@pytest.mark.parametrize("prompt", HALF)
def test_a_prompt_that_ends_inside_a_word_goes_on_as_the_whole_word(prompt: str) -> None:
    model = gguf_model()
    result = generate(model, prompt, heal=True, max_tokens=6)
    assert (prompt + result.text).startswith(prompt[: prompt.rfind(" ") + 1] + HALF[prompt])
    assert result.healed is not None
    assert prompt.endswith(result.healed)
    assert result.healed + result.text == b"".join(model.vocabulary.tokens[id] for id in result.token_ids).decode()


@pytest.mark.parametrize("prompt", ["He was born in Lond", "The capital of France is ", "日本、日本、日本、日"])
def test_a_healed_prompt_is_written_by_the_likeliest_tokens_that_cover_it(prompt: str) -> None:
    """In these prompts the likeliest ones reach across the seam: each begins with what is left of the prompt's end."""
    model = gguf_model()
    result = generate(model, prompt, heal=True, max_tokens=5)
    kept = result.prompt_tokens
    ids = model.encode(prompt)
    assert b"".join(model.vocabulary.tokens[token] or b"" for token in ids[kept:]).decode() == result.healed
    left = (result.healed or "").encode()
    tokens = model.vocabulary.tokens

    def judged(scores: NDArray[np.float64], written: list[int]) -> NDArray[np.float64]:
        rest = left[sum(len(tokens[token]) for token in written) :]
        if not rest:
            return scores
        covers = [bool(data) and data.startswith(rest) for data in tokens]
        return np.where(covers, scores, -np.inf)

    assert list(result.token_ids) == greedy(ids[:kept], len(result.token_ids), judged)


def test_a_prompt_is_healed_by_itself_where_it_ends_in_white_space_and_only_there() -> None:
    model = gguf_model()
    spaced = generate(model, FACT + " ", max_tokens=5)
    assert spaced.healed == " "
    assert " " + spaced.text == generate(model, FACT, max_tokens=5).text
    assert generate(model, FACT, max_tokens=5).healed is None
    assert generate(model, FACT + " ", max_tokens=5, heal=False).healed is None


# ---- thoughts ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [40, 3])
def test_a_thought_is_free_text_up_to_its_marker_and_the_constraint_follows(limit: int) -> None:
    """The likeliest tokens behind the whole thought that write a choice."""
    model = gguf_model()
    choices = [" Paris", " banana"]
    result = generate(model, FACT, after=".", after_tokens=limit, choices=choices)
    free = generate(model, FACT, max_tokens=limit)
    assert result.thought == (free.text.split(".")[0] if "." in free.text else free.text)
    assert result.text in choices
    marker = list(result.token_ids[: len(model.encode_inside(result.thought + "."))])
    assert b"".join(model.vocabulary.tokens[id] for id in marker).decode() == result.thought + "."

    def judged(scores: NDArray[np.float64], written: list[int]) -> NDArray[np.float64]:
        begun = b"".join(model.vocabulary.tokens[token] for token in written)
        fits = [bool(data) and any(choice.encode().startswith(begun + data) for choice in choices) for data in tokens]
        return np.where(fits, scores, -np.inf)

    tokens = model.vocabulary.tokens
    chosen = greedy([*model.encode(FACT), *marker], len(result.token_ids) - len(marker), judged)
    assert chosen == list(result.token_ids[len(marker) :])


def test_a_thought_and_what_follows_have_no_banned_word() -> None:
    free = generate(gguf_model(), FACT, max_tokens=12).text
    words = [word for word in free.replace(".", "").split() if word[0].isupper()] + ["country", "capital"]
    for strategy in some_of(get_args(StrategyName), 2):
        result = generate(
            gguf_model(), FACT, after=".", after_tokens=16, schema="city, country", banned=[*words[:1], "the"],
            strategy=strategy, max_tokens=40,
        )  # fmt: skip
        assert set(result.value) == {"city", "country"}
        assert not banned_words_in(result.thought or "", [*words[:1], "the"], prompt=FACT)
        assert not banned_words_in(result.text, [*words[:1], "the"])
