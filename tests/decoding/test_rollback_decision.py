"""Going back: what is taken back, from where the text goes on, and what the model has read after it."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.banned_text import BannedText
from tests.support.models.scripted import ScriptedModel, preferring, random_scores
from tests.support.models.toy_models import all_outcomes
from tests.support.running.tried import tried

from sfgen import (
    BannedWords,
    Dfa,
    Finished,
    Index,
    Result,
    RolledBack,
    Sampler,
    TextReleased,
    TokenChosen,
    Vocabulary,
    generate,
    stream,
)
from sfgen.decoding.rollback_decision import StrategyName
from sfgen.errors import DeadEnd, GenerationError

STRATEGIES: tuple[StrategyName, ...] = get_args(StrategyName)
LETTERS = [bytes([byte]) for byte in b" abcdefghijklmnopqrstuvwxyz.,?'"]
PIECES = [*LETTERS, b"talk", b" talk", b"ta", b" ta", b"lk", b"king", b" about", b" it", b" help", b"listen", b" list"]
VOCABULARY = Vocabulary([*PIECES, None], end_token_ids=[len(PIECES)])
TALK = BannedWords(["talk", "listen"])


def write(*wishes: bytes | None, strategy: StrategyName, max_tokens: int = 20) -> Result:
    model = ScriptedModel(VOCABULARY, preferring(VOCABULARY, wishes, prompt_length=1))
    return generate(model, "x", banned=TALK, max_tokens=max_tokens, strategy=strategy)


def test_what_is_taken_back() -> None:
    """``resample`` goes back to where the ban was at rest last, ``first-token`` to the token with the first byte."""
    wishes = (b"a", b" ", b"ta", b"lk", b" about")
    rollback = write(*wishes, strategy="resample").rollbacks[0]
    assert (rollback.position, rollback.data, rollback.word) == (2, b"talk about", "talk")
    rollback = write(*wishes, strategy="first-token").rollbacks[0]
    assert (rollback.position, rollback.data, rollback.word) == (2, b"talk about", "talk")
    # Here the "l" of "list" is under way before "talk" is.
    wishes = (b"a", b" list", b" ta", b"lk", b" about")
    assert write(*wishes, strategy="resample").rollbacks[0].data == b" list talk about"
    assert write(*wishes, strategy="first-token").rollbacks[0].data == b" talk about"


def test_the_limit_holds_after_a_rollback() -> None:
    for strategy in STRATEGIES:
        result = write(b"a", b" ta", b"lk", b"king", strategy=strategy, max_tokens=3)
        assert not BannedText(["talk"]).is_in(result.text.encode())
        assert (result.finish_reason, len(result.token_ids)) == ("limit", 3)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_text_before_an_open_match_is_held_when_a_rollback_could_reach_it(strategy: StrategyName) -> None:
    """``bc`` is over once ``ba`` follows, but ``ba`` itself falls, and a space in its place would complete ``bc``."""
    vocabulary = Vocabulary([b" ", b"bc", b"a b", b"x", None], end_token_ids=[4])
    model = ScriptedModel(vocabulary, preferring(vocabulary, [b"bc", b"a b", b" ", b" "], prompt_length=1))
    banned = BannedWords(["bc", "b"])
    events = stream(model, [0], banned=banned, max_tokens=4, strategy=strategy)
    text = "".join(event.text for event in events if isinstance(event, TextReleased))
    assert not BannedText(["bc", "b"], prompt=b" ").is_in(text.encode())


@pytest.mark.parametrize("strategy", ["resample", "first-token"])
def test_too_many_rollbacks(strategy: StrategyName) -> None:
    model = ScriptedModel(VOCABULARY, preferring(VOCABULARY, [b" talk", b"."], prompt_length=1))
    with pytest.raises(GenerationError, match="after 0 rollbacks") as caught:
        generate(model, "x", banned=TALK, max_rollbacks=0, strategy=strategy)
    assert not isinstance(caught.value, DeadEnd)
    assert "Raise max_rollbacks" in caught.value.hint
    assert generate(model, "x", banned=TALK, max_rollbacks=1, strategy=strategy).rollbacks


# ---- blocks that are put together again ------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_block_without_a_way_on_is_drawn_again_with_the_one_before(
    strategy: StrategyName, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After ``x`` all is banned, which nobody knows before it stands there; what is left shares its probability."""
    monkeypatch.setattr("sfgen.ban.difference.without", lambda *_: None)
    tokens = [b"x", b"y", b"u", b"v", b"b", b"c", b"d"]
    vocabulary = Vocabulary([*tokens, None], end_token_ids=[7])
    shares = np.array([0.5, 0.2, 0.1, 0.2, 0.1, 0.2, 0.3, 0.1])
    model = ScriptedModel(vocabulary, lambda _: np.log(shares))
    index = Index(Dfa.from_regex("x[bc]|y[bd]|u|vx[bc]|vu"), vocabulary)
    banned = BannedWords(["b", "c"], match="substring")

    def run() -> str:
        sampler = Sampler(1.0, seed=0)
        return generate(model, [0], index=index, banned=banned, sampler=sampler, strategy=strategy).text

    written = all_outcomes(run)
    assert sum(written.values()) == pytest.approx(1)
    assert {text: round(share, 9) for text, share in written.items()} == {"yd": 0.4, "u": 0.2, "vu": 0.4}


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("top_k", [None, 1, 2])
def test_what_the_sampler_leaves_out_is_not_banned(
    strategy: StrategyName, top_k: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After ``t`` the best two are banned, after ``u`` everything: ``tz`` is found, whatever truncation says."""
    monkeypatch.setattr("sfgen.ban.difference.without", lambda *_: None)
    vocabulary = Vocabulary([b"t", b"u", b"x", b"y", b"z", None], end_token_ids=[5])
    answers = {(): [3, 2, -5, -5, -5, -5], (0,): [-5, -5, 3, 2, -1, -5]}
    model = ScriptedModel(vocabulary, lambda tokens: np.array(answers.get(tokens[1:], [-5.0, -5, 3, 2, -5, -5])))
    index = Index(Dfa.from_regex("t[xyz]|u[xy]"), vocabulary)
    banned = BannedWords(["tx", "ty", "x", "y"], match="substring")
    for seed in range(8):
        sampler = Sampler(1.0, seed, top_k=top_k)
        assert generate(model, [4], index=index, banned=banned, sampler=sampler, strategy=strategy).text == "tz"


# ---- against the session ---------------------------------------------------------------------------------------------

ALPHABET = ["a", "b", "c", " ", ".", "é"]
RANDOM_PIECES = st.lists(st.text(ALPHABET, min_size=1, max_size=3), min_size=2, max_size=8, unique=True)


@tried("many")
@given(
    pieces=RANDOM_PIECES,
    words=st.lists(st.text(["a", "b", "c", "é"], min_size=1, max_size=3), min_size=1, max_size=4),
    match=st.sampled_from(["word", "prefix", "substring"]),
    prompt=st.text(ALPHABET, min_size=1, max_size=4),
    seed=st.integers(0, 10**6),
    temperature=st.sampled_from([0.0, 1.0]),
    strategy=st.sampled_from(STRATEGIES),
)
def test_the_model_reads_the_text_and_nothing_else(
    pieces: list[str], words: list[str], match: str, prompt: str, seed: int, temperature: float, strategy: StrategyName
) -> None:
    tokens = [piece.encode() for piece in pieces] + [letter.encode() for letter in ALPHABET] + [b"\xc3", b"\xa9", None]
    vocabulary = Vocabulary(tokens, end_token_ids=[len(tokens) - 1])
    model = ScriptedModel(vocabulary, random_scores(len(tokens), seed))
    banned = BannedWords(words, match=match)  # type: ignore[arg-type]
    released, result = "", None
    path, questions = list[int](), 0
    for event in stream(
        model, prompt, banned=banned, sampler=Sampler(temperature, seed), max_tokens=12, strategy=strategy, heal=False
    ):
        if isinstance(event, TextReleased):
            released += event.text
            continue
        # What the model has read at its last question is what the text was then: a rewind leaves nothing over.
        contexts = model.sessions[0].contexts if model.sessions else []
        if len(contexts) > questions and strategy != "mask":
            assert contexts[-1] == [*model.encode(prompt), *path]
            questions = len(contexts)
        if isinstance(event, RolledBack):
            assert path[event.position :] == list(event.token_ids)
            del path[event.position :]
        elif isinstance(event, TokenChosen):
            path.append(event.token_id)
        elif isinstance(event, Finished):
            result = event.result
    assert result is not None
    assert released == result.text
    assert not BannedText(words, match, prompt.encode()).is_in(result.text.encode())
    assert list(result.token_ids) == path
    assert len(path) <= 12
