"""Forced text in the loop: not asked for, read with the next question, undone by rollbacks; the text stays the same."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.support.models.scripted import ScriptedModel, ScriptedSession, random_scores
from tests.support.patterns.random_patterns import RandomPattern, compiled
from tests.support.running.tried import rounds, tried

from sfgen import BannedWords, Dfa, Finished, Index, Result, Sampler, TokenChosen, Vocabulary
from sfgen.ban import scan
from sfgen.decoding import generate, stream
from sfgen.errors import DeadEnd, GenerationError, LimitTooSmall, PatternError
from sfgen.vocabulary.pretrained import load_tokenizer

TOKENIZERS = Path(__file__).resolve().parent.parent / "data" / "tokenizers"
PEOPLE = r'\{"name":"(John|Paul)","age":(20|30)\}'


class Speller(ScriptedModel):
    """A model with a real tokenizer; what it wants to write is a function of the tokens read."""

    def __init__(self, name: str, seed: int = 0) -> None:
        tokenizer = load_tokenizer(TOKENIZERS / name)
        self.backend: Any = tokenizer.backend_tokenizer
        vocabulary = Vocabulary.from_tokenizer(tokenizer)
        super().__init__(vocabulary, random_scores(len(vocabulary), seed))

    def encode(self, text: str) -> list[int]:
        ids: list[int] = self.backend.encode(text, add_special_tokens=False).ids
        return ids

    def wish(self, prompt: str, text: str, seed: int) -> None:
        """Go on with ``text`` after the prompt, spelled as the tokenizer does; anything once that is left."""
        wanted, chance = self.encode(prompt + text), random_scores(len(self.vocabulary), seed)

        def score(tokens: tuple[int, ...]) -> NDArray[np.floating]:
            scores = chance(tokens)
            if list(tokens) == wanted[: len(tokens)]:
                following = wanted[len(tokens) : len(tokens) + 1] or self.vocabulary.end_token_ids
                scores[list(following)] += 100
            return scores

        self.score = score


@cache
def _speller(name: str) -> Speller:
    return Speller(name)


SPELLERS = ["gpt2", "llama3", "gemma2", "llama2", "qwen"]


@pytest.fixture(scope="module", params=SPELLERS)
def speller(request: pytest.FixtureRequest) -> Speller:
    return _speller(request.param)


def read(session: ScriptedSession) -> list[int]:
    return [token for call in session.calls for token in call]


def test_forced_text_is_read_with_the_next_question(speller: Speller) -> None:
    index = Index(Dfa.from_regex(PEOPLE), speller.vocabulary)
    speller.wish("A record: ", '{"name":"Paul","age":30}', seed=0)
    speller.sessions.clear()
    result = generate(speller, "A record: ", index=index)
    plain = generate(speller, "A record: ", index=index, fast_forward=False)
    assert result.text == plain.text == '{"name":"Paul","age":30}'
    assert result.token_ids == plain.token_ids
    assert result.forward_passes + result.forced_tokens == len(result.token_ids)
    assert result.forward_passes < plain.forward_passes
    session = speller.sessions[0]
    assert len(session.calls) == result.forward_passes
    assert session.rewinds == []
    known = [*speller.encode("A record: "), *result.token_ids]
    assert read(session) == known[: len(read(session))]  # each token once, in order, and none after the last question


def test_events_tell_what_is_forced(speller: Speller) -> None:
    index = Index(Dfa.from_regex(PEOPLE), speller.vocabulary)
    events = list(stream(speller, "A record: ", index=index))
    chosen = [event for event in events if isinstance(event, TokenChosen)]
    result = events[-1]
    assert isinstance(result, Finished)
    assert sum(event.forced for event in chosen) == result.result.forced_tokens > 0
    for event in chosen:
        assert not event.forced or (event.allowed, event.probability) == (1, None)
        assert event.next_state == index.next_state(event.state, event.token_id)


def test_without_it_the_model_chooses_the_spelling(speller: Speller) -> None:
    index = Index(Dfa.from_choices(["information"]), speller.vocabulary)
    spellings = {
        generate(speller, "x", index=index, sampler=Sampler(1, seed), fast_forward=False).token_ids for seed in range(9)
    }
    assert len(spellings) > 1
    result = generate(speller, "x", index=index)
    assert (result.text, result.forward_passes) == ("information", 0)
    assert list(result.token_ids) == speller.encode("xinformation")[len(speller.encode("x")) :]


def drawn(seed: int) -> tuple[str, Dfa]:
    """A random pattern that is not too small a matter, and its automaton."""
    for number in range(100):
        random = Random(1000 * seed + number)
        pattern = RandomPattern(random).text
        words = random.sample(['{"name":"', "orderId", "the end", "10:30", "größe", '", "'], 2)
        pattern = f"{re.escape(words[0])}(?:{pattern})x{{0,2}}{re.escape(words[1])}"
        try:
            compiled(pattern)
            return pattern, Dfa.from_regex(pattern)
        except (re.error, PatternError):
            continue
    raise AssertionError("no pattern")


def compare(name: str, seed: int, follows: bool) -> str:
    """Greedy text with and without it: whether the plain run was ``canonical``, another ``spelling``, or ``nothing``.

    Args:
        name: The tokenizer.
        seed: Of the pattern and the scores.
        follows: Whether the model spells as its tokenizer does, as trained ones mostly do.
    """
    pattern, dfa = drawn(seed)
    model = _speller(name)
    index = Index(dfa, model.vocabulary)
    if follows:
        model.wish("It is:\n", dfa.shortest().decode(), seed)
    else:
        model.score = random_scores(len(model.vocabulary), seed)
    prompt = model.encode("It is:\n")
    try:
        plain = generate(model, "It is:\n", index=index, max_tokens=40, fast_forward=False)
    except LimitTooSmall:
        return "nothing"
    result = generate(model, "It is:\n", index=index, max_tokens=40)
    for each in (plain, result):
        assert re.fullmatch(pattern, each.text, re.ASCII)
        assert len(each.token_ids) <= 40
    assert result.forward_passes <= plain.forward_passes or result.text != plain.text
    if model.encode("It is:\n" + plain.text) != [*prompt, *plain.token_ids]:
        return "spelling"
    assert result.token_ids == plain.token_ids
    return "canonical"


@tried("some")
@given(name=st.sampled_from(SPELLERS), seed=st.integers(0, 10_000), follows=st.booleans())
def test_greedy_text_is_the_same_where_the_plain_run_was_canonical(name: str, seed: int, follows: bool) -> None:
    compare(name, seed, follows)


def test_both_kinds_are_met() -> None:
    kinds = [compare(SPELLERS[seed % len(SPELLERS)], seed, seed % 2 == 0) for seed in range(40)]
    assert min(kinds.count("canonical"), kinds.count("spelling")) > 5, kinds


BANNED_WITH_A_PATTERN = [
    (r"I (like|love|hate) to (talk|listen|be silent)\.", ["talk", "be silent"]),
    (r'\{"verb":"(talk|talking|walk)","to":"[a-z]{1,4}"\}', ["talk"]),
    (r"(small )?talk(s|ing)? (to|with) (me|you|them)", ["talk to", "small talks"]),
    (r"x{1,3} y{1,3}", ["xx", "yyy"]),
]


@pytest.mark.parametrize("beside", [False, True], ids=["known beforehand", "found while writing"])
@pytest.mark.parametrize("strategy", ["resample", "first-token", "mask"])
def test_a_rollback_may_enter_forced_text(
    speller: Speller, strategy: Any, beside: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where no product of automata shows beforehand what is banned."""
    if beside:
        monkeypatch.setattr("sfgen.ban.difference.without_banned", lambda *_: None)
    undone = 0
    for pattern, words in BANNED_WITH_A_PATTERN:
        index, banned = Index(Dfa.from_regex(pattern), speller.vocabulary), BannedWords(words, match="substring")
        for seed in range(rounds(25)):
            options: Any = {"index": index, "banned": banned, "strategy": strategy, "sampler": Sampler(1, seed)}
            for start in ("generate", "stream"):
                try:
                    result = _run(speller, start, options)
                except (DeadEnd, GenerationError):
                    # What was let go stays, and only banned text could follow it; held back, there is always a way.
                    assert start == "stream"
                    assert beside
                    continue
                assert re.fullmatch(pattern, result.text, re.ASCII)
                assert not scan(result.text, banned)
                undone += len(result.rollbacks)
    assert undone > 0 or (strategy, beside) == ("mask", False)


def _run(model: Speller, start: str, options: Any) -> Result:
    if start == "generate":
        return generate(model, "Now ", **options)
    *_, last = stream(model, "Now ", **options)
    assert isinstance(last, Finished)
    return last.result


@tried("few")
@given(name=st.sampled_from(SPELLERS), seed=st.integers(0, 10_000), spare=st.integers(0, 2))
def test_the_limit_is_kept(name: str, seed: int, spare: int) -> None:
    """Where the tokenizer's own spelling is too long, the shorter ones are left."""
    pattern, dfa = drawn(seed)
    model = _speller(name)
    model.score = random_scores(len(model.vocabulary), seed)
    index = Index(dfa, model.vocabulary)
    limit = int(index.distance[0]) + spare
    result = generate(model, "It is:\n", index=index, max_tokens=limit, sampler=Sampler(1, seed))
    assert re.fullmatch(pattern, result.text, re.ASCII)
    assert len(result.token_ids) <= limit
