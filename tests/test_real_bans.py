"""The counting of the measurements of bans and choices with the real model, on texts and models that are small."""

from __future__ import annotations

import random
import re
from collections import Counter
from typing import Any

import numpy as np
import pytest
from tests.bench.real import ban_ways, bans, choices, liked_phrases

from sfgen import GenerationConfig, Job, generate, job_records, load_model
from sfgen.models.tiny import DIRECTORY

PROMPT = "Once upon a time"


def by_pattern(prompt: str, text: str, phrase: str) -> int:
    """How often a phrase ends in a text, by a pattern: any run of what is no letter may stand between its words."""
    pattern = rf"(?<![^\W_])(?=({'[^a-z]+'.join(phrase.split())})(?![^\W_]))"
    found = re.finditer(pattern, (prompt + text).casefold())
    return sum(match.end(1) > len(prompt) for match in found)


def test_phrases_are_found_as_a_pattern_finds_them() -> None:
    draw = random.Random(0)
    phrases = ["talk", "small talk", "a b a", "ab"]
    wanted = {tuple(phrase.split()) for phrase in phrases}
    seen = 0
    for _ in range(400):
        pieces = draw.choices(["talk", "Small", "a", "b", "TALKS", " ", " ", "_", ", ", "-"], k=30)
        prompt, text = "".join(pieces[:4]), "".join(pieces[4:])
        expected = {tuple(phrase.split()): by_pattern(prompt, text, phrase) for phrase in phrases}
        assert bans.found_in(prompt, text, wanted, 3) == +Counter(expected)
        seen += sum(expected.values())
    assert seen > 100


def test_no_liked_phrase_is_a_part_of_another() -> None:
    texts = ["the old king went home. a king", "the old king went home!", "an old king went home, and the king"] * 2
    found = liked_phrases.liked(texts)
    assert "old king went home" in found
    assert not {"king", "old king", "went home"} & set(found)


def test_the_phrases_that_are_kept_can_be_banned() -> None:
    phrases = liked_phrases.phrases()
    assert len(phrases) == len(set(phrases)) == sum(liked_phrases.QUOTAS.values())
    for phrase in phrases:
        assert liked_phrases.words_of(phrase) == phrase.split()
        assert not liked_phrases.FUNCTION_WORDS.issuperset(phrase.split())


def test_bad_words_are_those_of_transformers() -> None:
    import torch
    from transformers import NoBadWordsLogitsProcessor

    model: Any = load_model(DIRECTORY)
    free = generate(model, PROMPT, max_tokens=24)
    spelled = [list(free.token_ids[2:4]), *([token] for token in free.token_ids[5:9:2])]
    ids = torch.tensor([model.encode(PROMPT)])
    end = list(model.vocabulary.end_token_ids)
    out = model.model.generate(
        ids, attention_mask=torch.ones_like(ids), max_new_tokens=24, do_sample=False, bad_words_ids=spelled,
        eos_token_id=end, pad_token_id=end[0],
    )  # fmt: skip
    processed = ban_ways.ProcessedModel(model, NoBadWordsLogitsProcessor(spelled, end))
    job = Job(processed, GenerationConfig(max_tokens=24, heal=False))
    prompts = [PROMPT, "In a long and narrow street of the old town there lived", "Once upon a day"]
    records = list(job_records(job, prompts, batch_size=2))
    assert records[0]["token_ids"] == [token for token in out[0, ids.shape[1] :].tolist() if token not in end]
    assert records[0]["token_ids"] != list(free.token_ids)
    for record in records:  # each token is as likely as the model finds it, whatever was forbidden
        session, read = model.session(), model.encode(record["prompt"])
        scores, found = session.extend(read), []
        for token in record["token_ids"]:
            found.append(scores[token] - np.logaddexp.reduce(scores.astype(np.float64)))
            scores = session.extend([token])
        assert processed.logprobs(record["prompt"], record["token_ids"]) == pytest.approx(found, abs=1e-3)


def test_a_distance_is_one_of_shares() -> None:
    question = choices.Question("", ("a", "b"), "a")
    apart, expected = choices.distance(["a"] * 10, question, [0.0, 0.0])
    assert apart == pytest.approx(0.5)
    assert 0.1 < expected < 0.15
    assert choices.distance(["a", "b"] * 5, question, [-7.0, -7.0])[0] == pytest.approx(0)


def test_every_question_has_its_answer() -> None:
    asked = choices.questions()
    assert len(asked) == 100
    for question in asked:
        assert 4 <= len(question.choices) <= 10
        assert len(set(question.choices)) == len(question.choices)
        assert question.right in question.choices
