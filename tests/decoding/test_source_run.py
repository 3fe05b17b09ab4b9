"""The run that the source document prints: Gemma-2 answers "Can we talk?" with "talk", "listen" and "fuck you" banned.

The model is a script: at each place it wants what the printed log shows, and where the log shows a rollback, first the
token that was rejected there.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.support.models.scripted import ScriptedModel
from tests.support.models.vocabularies import loaded

from sfgen import BannedWords, Finished, RolledBack, Sampler, TextReleased, TokenChosen, Vocabulary, stream
from sfgen.decoding.rollback_decision import StrategyName

PROMPT = "Can we talk?"
LISTEN, HELP, END_OF_TURN, END = 10724, 1707, 107, 1
AND = 578  # what follows "listen" in the document's run without a ban
LOG = [
    109, 235285, 235303, 235262, 1517, 577, HELP, 692, 675, 9550, 692, 1476, 235265, 235248, 109, 5958, 3337, 682,
    1212, 235303, 235256, 611, 861, 3403, 235265, 44416, 108, END_OF_TURN, END,
]  # fmt: skip
PRINTED = "\n\nI'm here to help you with whatever you need. \n\nPlease tell me what's on your mind. 😊\n"


@pytest.fixture(scope="module")
def model(real_tokenizer_directory: Callable[[str], Path]) -> ScriptedModel:
    tokenizer, read = loaded(real_tokenizer_directory("gemma2"))
    vocabulary = Vocabulary(read.tokens, end_token_ids=[END, END_OF_TURN])  # as the model's configuration has it
    prompt = tokenizer(PROMPT).input_ids
    assert prompt == [2, 3611, 783, 5063, 235336]

    def score(tokens: tuple[int, ...]) -> NDArray[np.floating]:
        written = list(tokens[len(prompt) :])
        scores = np.zeros(len(vocabulary), dtype=np.float32)
        if written == LOG[: len(written)]:
            scores[LOG[len(written)]] = 30
            if len(written) == 6:
                scores[LISTEN] = 31
        elif written[-1] == LISTEN:
            scores[AND] = 30
        else:
            scores[END] = 30
        return scores

    return ScriptedModel(vocabulary, score, {PROMPT: prompt})


@pytest.mark.parametrize("match", ["word", "prefix", "substring"])
@pytest.mark.parametrize("strategy", ["first-token", "resample"])
@pytest.mark.parametrize("seed", [None, 1])
def test_the_printed_run(model: ScriptedModel, strategy: StrategyName, match: Any, seed: int | None) -> None:
    banned = BannedWords(["talk", "listen", "fuck you"], match=match)
    # At temperature 1/8 nothing but the two best tokens is ever drawn.
    sampler = Sampler() if seed is None else Sampler(0.125, seed)
    events = list(stream(model, PROMPT, banned=banned, sampler=sampler, max_tokens=50, strategy=strategy))
    final = events[-1]
    assert isinstance(final, Finished)
    assert final.result.token_ids == tuple(LOG[:27])
    assert final.result.text == PRINTED
    assert (final.result.finish_reason, final.result.prompt_tokens) == ("end_token", 5)
    assert "".join(event.text for event in events if isinstance(event, TextReleased)) == PRINTED

    rollback = final.result.rollbacks[0]
    assert len(final.result.rollbacks) == 1
    assert (rollback.position, rollback.word) == (6, "listen")  # the document counts from 1: step 7
    # As a whole word it is one when the next token shows that it goes on no further.
    assert rollback.token_ids == ((LISTEN, AND) if match == "word" else (LISTEN,))
    assert rollback.place == (7 if match == "word" and strategy == "resample" else 6)
    place = events.index(rollback)
    following = events[place + 1]
    assert isinstance(following, TokenChosen)
    assert (following.position, following.token_id) == (6, HELP)
    steps = [event.token_id for event in events if isinstance(event, TokenChosen)]
    assert steps[:6] == LOG[:6]
    assert steps[6:] == [*rollback.token_ids, *LOG[6:27]]


def test_what_mask_makes_of_it(model: ScriptedModel) -> None:
    """As a whole word, ``listen`` is no match before it has ended, so a longer word is made of it."""
    banned = BannedWords(["talk", "listen", "fuck you"])
    *_, final = stream(model, PROMPT, banned=banned, max_tokens=50, strategy="mask")
    assert isinstance(final, Finished)
    assert final.result.token_ids[:7] == (*LOG[:6], LISTEN)
    assert final.result.text.startswith("\n\nI'm here to listen")
    assert not final.result.text.startswith("\n\nI'm here to listen ")
    assert not final.result.rollbacks
    anywhere = BannedWords(["talk", "listen", "fuck you"], match="substring")
    *_, final = stream(model, PROMPT, banned=anywhere, max_tokens=50, strategy="mask")
    assert isinstance(final, Finished)
    assert (final.result.text, final.result.rollbacks) == (PRINTED, ())


def test_without_a_ban_it_is_the_other_answer(model: ScriptedModel) -> None:
    *_, final = stream(model, PROMPT, max_tokens=8)
    assert isinstance(final, Finished)
    assert final.result.token_ids == (*LOG[:6], LISTEN, AND)
    assert not any(isinstance(event, RolledBack) for event in stream(model, PROMPT, max_tokens=8))
