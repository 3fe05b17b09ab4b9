"""Texts and scores of the real model by llama.cpp and by transformers: the same, but where two tokens lie close."""

from __future__ import annotations

import math
from typing import Any

import pytest
from tests.support.command.processes import run_forked
from tests.support.real.model import FILE, gguf_model, needs_directory, needs_file, transformers_model

from sfgen import Sampler, generate, score

CLOSE = 2.0
"""How far the scores of two tokens may move against each other by quantisation; a wrong layer moves them by more."""
EXAMPLES = "Ada, 36, London: Ada is 36 years old and lives in London.\nBob, 41, Leeds: Bob is 41 years old and"
TEXTS: dict[str, tuple[str, dict[str, Any]]] = {
    "free": ("The three largest cities of France are", {}),
    "pattern": (EXAMPLES, {"regex": r" lives in [A-Z][a-z]+\.\n([A-Z][a-z]+, [0-9]+, [A-Z][a-z]+: [^\n]+)"}),
    "schema": (
        "Marie Curie, born in 1867 in Warsaw, was a physicist. The same as JSON: ",
        {"schema": "name, born int"},
    ),
    "ban": ("The best thing about Paris is", {"banned": ["city", "beautiful", "the"]}),
}


class TestBesideTransformers:
    pytestmark = needs_directory()

    @pytest.mark.parametrize("name", TEXTS)
    def test_greedy_texts_are_the_same_to_where_two_tokens_lie_close(self, name: str) -> None:
        prompt, options = TEXTS[name]
        engines = (gguf_model(), transformers_model())
        one, other = (
            generate(model, prompt, sampler=Sampler(0.0), max_tokens=40, heal=False, **options).token_ids
            for model in engines
        )
        shared = next((at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), None)
        if shared is None:
            assert one == other
            return
        moved = 0.0  # what one engine likes the first token more, and the other one the second
        for model, mine, rival in zip(engines, (one[shared], other[shared]), (other[shared], one[shared]), strict=True):
            scores = model.session().extend([*model.encode(prompt), *one[:shared]])
            moved += float(scores[mine] - scores[rival])
        assert 0 <= moved < CLOSE

    def test_choices_have_close_probabilities(self) -> None:
        choices = [" Rome", " Paris", " London", " Madrid", " Rome, of course"]
        one, other = (
            score(model, "The capital of Italy is", choices) for model in (gguf_model(), transformers_model())
        )
        assert [each.tokens for each in one] == [each.tokens for each in other]
        assert max(one, key=lambda each: each.logprob).text == " Rome"
        for mine, theirs in zip(one, other, strict=True):
            assert math.isclose(mine.logprob, theirs.logprob, abs_tol=0.5 * len(mine.tokens))


class TestCommands:
    pytestmark = needs_file()

    def test_a_base_model_has_no_chat(self) -> None:
        done = run_forked(["gen", "-m", str(FILE), "--chat", "Hi!"])
        assert (done.returncode, done.stdout) == (2, b"")
        assert b"has no chat template" in done.stderr

    def test_the_file_is_listed(self) -> None:
        done = run_forked(["models", str(FILE.parent)])
        assert done.returncode == 0
        assert FILE.name in done.stdout.decode()
