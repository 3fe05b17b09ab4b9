"""Exact draws from the real model: the distribution of whole texts, against all their spellings, scored one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from tests.oracles.banned_text import banned_words_in
from tests.support.models.toy_models import Distribution, Leaf, fits
from tests.support.real.circumstances import log_shares
from tests.support.real.model import gguf_model, needs_file
from tests.support.running.tried import rounds

import sfgen
from sfgen import Sampler, generate

pytestmark = needs_file()

PROMPT = "red, blue, green, red, green, blue, yellow, red, yellow, blue, black,"
RARE = 1e-5
"""Spellings of a text that begin with less than that are not followed."""


def shares_of_texts(prompt: str, texts: Sequence[str], temperature: float = 1.0) -> dict[str, float]:
    """The probability of each text, all its spellings together; none is the beginning of another one."""
    model = gguf_model()
    session, ids = model.session(), model.encode(prompt)
    root = np.array(session.extend(ids), dtype=np.float64)

    def spelled(depth: int, scores: Any, rest: bytes, share: float) -> float:
        if not rest:
            return share
        shares = np.exp(scores / temperature - np.logaddexp.reduce(scores / temperature))
        found = 0.0
        for length in range(1, len(rest) + 1):
            token = model.vocabulary.ids.get(rest[:length])
            if token is not None and share * shares[token] > RARE:
                session.rewind(len(ids) + depth)
                behind = np.array(session.extend([token]), dtype=np.float64)
                found += spelled(depth + 1, behind, rest[length:], share * float(shares[token]))
        return found

    return {text: spelled(0, root, text.encode(), 1.0) for text in texts}


TEXTS = [" red", " blue", " green", " yellow", " black"]


@pytest.mark.parametrize(
    ("temperature", "constraint"), [(1.0, {"regex": "|".join(TEXTS)}), (1.6, {"choices": TEXTS})], ids=str
)
def test_the_texts_are_drawn_with_the_probabilities_of_the_model(
    temperature: float, constraint: dict[str, Any]
) -> None:
    """Token by token they would not be: behind the space alone each of them is as good as certain."""
    shares = shares_of_texts(PROMPT, TEXTS, temperature)
    assert min(shares.values()) > 20 * RARE
    assert_drawn(shares, rounds(2500), temperature=temperature, **constraint)


def assert_drawn(shares: dict[str, float], count: int, **parameters: Any) -> None:
    """Check that texts are drawn as often as their shares say; a text without one is never drawn."""
    texts = list(shares)
    expected: Distribution = {
        (number,): share / sum(shares.values()) for number, share in enumerate(shares.values()) if share
    }
    config = sfgen.GenerationConfig(strategy="exact", seed=0, **{"temperature": 1, **parameters})
    records = sfgen.job_records(sfgen.Job(gguf_model(), config, samples=count), [PROMPT])
    counts: Counter[Leaf] = Counter((texts.index(str(record["text"])),) for record in records)
    assert counts.keys() <= expected.keys()
    assert fits(counts, expected) > 1e-4


def test_at_temperature_0_it_is_the_likeliest_text() -> None:
    """By the whole text: its first token alone need not be the likeliest."""
    texts = [" a city", " a beautiful city", " Paris", " the largest city in France", " Lyon"]
    prompt = "The capital of France is"
    likeliest = max(texts, key=lambda text: log_shares(prompt, text)[0])
    result = generate(gguf_model(), prompt, regex="|".join(texts), strategy="exact", sampler=Sampler(0.0))
    assert result.text == likeliest


def test_a_ban_leaves_the_other_texts_as_likely_as_they_were() -> None:
    texts = [" red", " blue", " green", " black"]
    shares = shares_of_texts(PROMPT, texts)
    clean = {text: share if text in (" red", " green") else 0.0 for text, share in shares.items()}
    assert_drawn(clean, rounds(1500), regex="|".join(texts), banned=["blue", "black"])


def test_free_text_has_no_banned_word_and_depends_on_the_seed_alone() -> None:
    prompt = "We talk and listen, and then we"
    words = ["talk", "listen", "go"]
    for seed in range(rounds(12)):
        named: dict[str, Any] = {"banned": words, "strategy": "exact", "sampler": Sampler(1.0, seed), "max_tokens": 6}
        result = generate(gguf_model(), prompt, **named)
        assert not banned_words_in(result.text, words, prompt=prompt)
        assert generate(gguf_model(), prompt, **named).token_ids == result.token_ids


def test_a_text_that_the_model_never_writes_is_an_error_that_tells_what_is_unknown() -> None:
    with pytest.raises(sfgen.SfgenError, match="forward passes"):
        generate(
            gguf_model(), "The capital of France is", regex="[qxz]{8}[0-9]{8}", strategy="exact", max_passes=5,
            sampler=Sampler(1.0, 0),
        )  # fmt: skip


def test_the_spelling_is_mostly_the_tokenizers() -> None:
    """Token by token a pattern's text may be spelled otherwise; drawn as a whole it hardly is."""
    model = gguf_model()
    prompt = "The capital of France is"
    config = sfgen.GenerationConfig(regex=" [A-Z][a-z]{2,9}", strategy="exact", temperature=1, seed=3, max_tokens=4)
    own, count = 0, rounds(30)
    for seed in range(count):
        result = generate(model, prompt, config, seed=seed)
        own += list(result.token_ids) == model.encode(prompt + result.text)[len(model.encode(prompt)) :]
    assert own >= count * 0.7 - 1
