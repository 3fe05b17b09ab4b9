"""Words with a bias: how often they are written, as exact probabilities on models whose every text is known."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.banned_text import BannedText
from tests.support.models.scripted import ScoreOf, ScriptedModel, preferring, random_scores
from tests.support.models.toy_models import Leaf, Toy, all_outcomes, total_variation
from tests.support.running.tried import tried

import sfgen
from sfgen import (
    BannedWords,
    Finished,
    GenerationConfig,
    Job,
    RolledBack,
    Sampler,
    TextReleased,
    TokenChosen,
    Vocabulary,
    WordBias,
    generate,
    stream,
)
from sfgen.decoding.ban import BiasedMatcher
from sfgen.errors import BannedWordsError, UsageError


def model(size: int, seed: int, spread: float = 1.0) -> ScoreOf:
    score = random_scores(size, seed)
    return lambda tokens: score(tokens) / 3 * spread


def write(toy: Toy, seed: int = 0, **options: Any) -> Leaf:
    result = generate(
        toy.model,
        [toy.prompt],
        banned=toy.banned,
        word_bias=toy.word_bias,
        sampler=Sampler(toy.temperature, seed, top_k=toy.top_k, top_p=toy.top_p),
        max_tokens=toy.max_tokens,
        **options,
    )
    return (*result.token_ids, toy.end) if result.finish_reason == "end_token" else result.token_ids


def toy(tokens: list[bytes], seed: int, bias: dict[str, float], most: int, **options: Any) -> Toy:
    return Toy(tokens, model(len(tokens) + 1, seed), options.pop("words", []), most, bias=bias, **options)


EXACT = [
    toy([b" ", b"a"], 7, {"a": -1}, 3),
    toy([b" ", b"a", b"b"], 9, {"a b": -3}, 2),
    toy([b" ", b"a", b"b"], 7, {"ab": -1, "b": -0.5}, 2),
    toy([b"a", b"aa"], 3, {"a": -0.7}, 2, match="substring"),  # a token has several
    toy([b"a", b"b"], 3, {"aa": -0.7}, 3, match="substring"),  # and they overlap
    toy([b"a", b"b", b"ab"], 4, {"aab": -2}, 2, match="prefix"),  # the seam
    toy([b"a", b"b", b"c"], 5, {"ab": -1}, 2, match="substring", words=["b", "ca"]),
    toy([b" ", b"ab", b"b"], 9, {"ab": -4}, 2, words=["ab b"]),
    toy([b" ", b"a"], 6, {"a": -1.5}, 3, temperature=0.5),
    toy([b" ", b"a", b"b"], 6, {"a": -1.5}, 3, top_k=2),
    toy([b" ", b"a"], 6, {"a": -30.0}, 3),
    toy([b" ", b"a"], 6, {"a": 0}, 3),
]


@pytest.mark.parametrize("toy", EXACT, ids=lambda toy: f"{toy.bias} {toy.words} {toy.match}")
def test_each_block_is_an_exact_draw_by_its_weight(toy: Toy) -> None:
    written = all_outcomes(lambda: write(toy, hold=len(toy.bias) > 1))
    assert sum(written.values()) == pytest.approx(1, abs=1e-12)
    assert total_variation(written, toy.by_blocks()) < 1e-12


class Stopped(Toy):
    """Texts that end before a full stop."""

    def is_whole(self, path: Leaf) -> bool:
        return super().is_whole(path) or b"." in self.data(path)

    def log_bias(self, path: Leaf) -> float:
        before, _, _ = self.data(path).partition(b".")
        ended = self.is_whole(path)
        return sum(bias * len(self.biased[word].spans(before, ended=ended)) for word, bias in self.bias.items())


@pytest.mark.parametrize("tokens", [[b"a", b"."], [b" ", b"a", b"a."], [b" ", b".a", b"a"]])
def test_before_a_stop_string_the_text_has_ended(tokens: list[bytes]) -> None:
    toy = Stopped(tokens, model(len(tokens) + 1, 2), [], 5 - len(tokens), bias={"a": -1.25})
    written = all_outcomes(lambda: write(toy, stop=["."]))
    assert total_variation(written, toy.by_blocks()) < 1e-12


# ---- beside a constraint ---------------------------------------------------------------------------------------------

LETTERS = [bytes([byte]) for byte in b" abcdefghijklmnopqrstuvwxyz.,?'"]


@pytest.mark.parametrize("has_end", [True, False])
@pytest.mark.parametrize("fast_forward", [True, False])
@pytest.mark.parametrize(
    ("pattern", "bias"), [("(talk|walk)", {"talk": -1}), (" ?so,? (walk|talk) .*", {"talk": -2, "so talk": -1})]
)
def test_beside_a_constraint(has_end: bool, fast_forward: bool, pattern: str, bias: dict[str, float]) -> None:
    """One choice, which has the bias of all that it must lead to: also of forced tokens, and of the end."""
    vocabulary = Vocabulary([*LETTERS, *([None] if has_end else [])], end_token_ids=[len(LETTERS)] * has_end)
    score = np.linspace(0, 1, len(vocabulary))
    toy_model = ScriptedModel(vocabulary, lambda _: score)
    pattern = pattern.replace(".*", "on").replace(" ?", " ").replace(",?", ",")

    def text() -> str:
        sampler = Sampler(1.0, 0)
        how: dict[str, Any] = {"word_bias": bias, "sampler": sampler, "fast_forward": fast_forward}
        return generate(toy_model, "a", index=pattern, **how).text

    written = all_outcomes(text)
    talk, walk = (math.exp(score[vocabulary.ids[letter]]) for letter in (b"t", b"w"))
    talk *= math.exp(sum(bias.values()))
    assert {text: pytest.approx(p) for text, p in written.items()} == {
        text: (talk if "talk" in text else walk) / (talk + walk) for text in written
    }
    assert len(written) == 2


def test_a_thought_counts_too() -> None:
    """Its words are as rare as those of the text."""
    vocabulary = Vocabulary([b"a ", b"b ", b"|", None], end_token_ids=[3])
    toy_model = ScriptedModel(vocabulary, lambda _: np.zeros(4))
    counts: Counter[bool] = Counter()
    for seed in range(400):
        result = generate(
            toy_model, [0], index="(a |b ){3}", after="|", after_tokens=4, word_bias={"a": -2}, sampler=Sampler(1, seed)
        )
        for text in (result.text, result.thought or ""):
            counts.update(word == "a" for word in text.split())
    share = math.exp(-2) / (1 + math.exp(-2))
    expected = share * counts.total()
    assert abs(counts[True] - expected) < 4 * math.sqrt(expected)


# ---- temperature 0 ---------------------------------------------------------------------------------------------------


def test_at_temperature_0_a_word_stands_where_its_way_is_the_likeliest_with_its_bias() -> None:
    """`` a`` has 3/6, `` b`` 2/6 and `` c`` 1/6, where a word is certain with what follows it."""
    vocabulary = Vocabulary([b" a", b" b", b" c", None], end_token_ids=[3])
    toy_model = ScriptedModel(vocabulary, lambda _: np.log([3, 2, 1, 1e-9]))

    def greedy(most: int, **bias: float) -> tuple[str, int]:
        result = generate(toy_model, [2], word_bias=bias, max_tokens=most)
        return result.text, len(result.rollbacks)

    assert greedy(1, a=math.log(0.7)) == (" a", 1)  # 2.1 is more than 2: tried again, it is taken
    assert greedy(1, a=math.log(0.6)) == (" b", 1)
    assert greedy(1, a=math.log(0.6), b=math.log(0.8)) == (" a", 2)
    assert greedy(1, a=math.log(0.1), b=math.log(0.4)) == (" c", 2)
    # Of what follows " a" the share 0.5 has another one: 3 · 0.7 · (0.5 · 0.7 + 0.5) is less than 2.
    assert greedy(2, a=math.log(0.7)) == (" b a", 2)


# ---- what is promised besides ----------------------------------------------------------------------------------------

WORDS = st.text("ab ", min_size=1, max_size=4).filter(str.strip)
TOYS = st.builds(
    lambda bias, words, seed, match: toy([b" ", b"a", b"b", b"ab", b"b a"], seed, bias, 9, match=match, words=words),
    bias=st.dictionaries(WORDS, st.sampled_from([-5.0, -1.0, -0.1, 0.0]), min_size=1, max_size=3),
    words=st.lists(st.text("ab", min_size=2, max_size=4), max_size=2),
    seed=st.integers(0, 10**6),
    match=st.sampled_from(["word", "prefix", "substring"]),
)


@given(
    toy=TOYS,
    sampler=st.sampled_from([Sampler(), Sampler(1.0, 3), Sampler(2.0, 4, top_k=2, presence_penalty=1)]),
    hold=st.booleans(),
    max_block=st.sampled_from([1, 3, 32]),
    stop=st.sampled_from([[], ["bb"]]),
)
def test_events_tell_the_text_and_nothing_that_was_released_is_taken_back(
    toy: Toy, sampler: Sampler, hold: bool, max_block: int, stop: list[str]
) -> None:
    config: dict[str, Any] = {"banned": toy.banned, "word_bias": toy.word_bias, "sampler": sampler, "stop": stop}
    path: list[int] = []
    released, result = "", None
    for event in stream(toy.model, [0], **config, max_tokens=9, hold=hold, max_block=max_block):
        if isinstance(event, TokenChosen):
            assert event.position == len(path)
            path.append(event.token_id)
        elif isinstance(event, RolledBack):
            assert (event.bias is None) == (event.word in (*toy.words, None))
            assert event.bias is None or event.bias < 0
            assert path[event.position :] == list(event.token_ids)
            del path[event.position :]
        elif isinstance(event, TextReleased):
            released += event.text
        elif isinstance(event, Finished):
            result = event.result
    assert result is not None
    assert (released, path) == (result.text, list(result.token_ids))
    assert not toy.oracle.is_in(result.text.encode())


@tried("many")
@given(
    words=st.lists(WORDS, min_size=1, max_size=3, unique_by=lambda word: " ".join(word.split())),
    match=st.sampled_from(["word", "prefix", "substring"]),
    prompt=st.text("ab ", max_size=3),
    pieces=st.lists(st.text("ab .", min_size=1, max_size=4), max_size=5),
)
def test_occurrences_are_all_that_the_ban_would_find(
    words: list[str], match: Any, prompt: str, pieces: list[str]
) -> None:
    matcher = BiasedMatcher(WordBias(dict.fromkeys(words, -1), match=match), prompt.encode(), None)
    oracles = [BannedText([word], match, prompt.encode()) for word in words]
    data = b""
    for piece in ["", *pieces]:
        data += piece.encode()
        matcher.advance(piece.encode())
        for ended, found in ((False, matcher.found), (True, matcher.at_end())):
            expected = {
                (number, *span) for number, oracle in enumerate(oracles) for span in oracle.spans(data, ended=ended)
            }
            assert set(found) == expected
            assert len(found) == len(expected)


RARE = {"you": -2, "the": -1, "a": -3, "I": -2, "to": -1, "is": -2}


def test_texts_in_a_batch_are_those_alone_and_depend_on_their_seed_only() -> None:
    model = sfgen.load_model("tiny")
    config = GenerationConfig(word_bias=RARE, banned=["talk"], sampler=Sampler(1.0, 7), max_tokens=16)
    prompts = ["Can we talk?", "Once upon a", "In our shop: "]
    records = list(sfgen.job_records(Job(model, config), prompts, batch_size=3))
    alone = [generate(model, text, config, sampler=Sampler(1.0, 7 + line)) for line, text in enumerate(prompts)]
    assert [tuple(record["token_ids"]) for record in records] == [result.token_ids for result in alone]
    assert [len(record["rollbacks"]) for record in records] == [len(result.rollbacks) for result in alone]
    assert sum(len(record["rollbacks"]) for record in records) > 0
    assert records[0]["word_bias"]["words"] == RARE


def test_a_word_becomes_rarer_however_it_is_cut() -> None:
    pieces = [b" talk", b" ta", b"lk", b" t", b"al", b"k", b" so", b"."]
    vocabulary = Vocabulary([*pieces, None], end_token_ids=[len(pieces)])
    toy_model = ScriptedModel(vocabulary, preferring(vocabulary, [b" t", b"al", b"k", b"."], prompt_length=1))
    sampler = Sampler(1.0, 1)
    assert generate(toy_model, [7], sampler=sampler, max_tokens=4).text == " talk."
    with_bias = generate(toy_model, [7], sampler=sampler, max_tokens=4, word_bias={"talk": -20})
    assert "talk." not in with_bias.text
    assert with_bias.rollbacks[0].word == "talk"
    assert with_bias.rollbacks[0].bias == -20
    assert with_bias.rollbacks[0].ruled_out == 0


# ---- what means nothing ----------------------------------------------------------------------------------------------


def test_one_value() -> None:
    import pickle

    bias = WordBias({"talk": -2, "so": -1}, match="prefix", normalize=True)
    assert bias == pickle.loads(pickle.dumps(bias)) == WordBias({"so": -1.0, "talk": -2.0}, "prefix", normalize=True)
    assert hash(bias) == hash(WordBias({"so": -1.0, "talk": -2.0}, "prefix", normalize=True))
    assert bias != WordBias({"talk": -2, "so": -1})
    assert GenerationConfig(word_bias={"talk": -2}) == GenerationConfig(word_bias=WordBias({"talk": -2}))
    assert GenerationConfig(word_bias={}) == GenerationConfig()


def test_what_is_refused() -> None:
    with pytest.raises(UsageError, match=r"the bias of 'talk' is 2, above 0: a word is made less likely by"):
        GenerationConfig(word_bias={"talk": 2})
    for value in (math.nan, -math.inf, "x", None):
        with pytest.raises(UsageError, match="the bias of 'talk' must be a number from -1000 to 0"):
            GenerationConfig(word_bias={"talk": value})  # type: ignore[dict-item]
    with pytest.raises(BannedWordsError, match="biased word 1 of 1 is empty"):
        WordBias({"": -1})
    with pytest.raises(UsageError, match="names no word"):
        WordBias({})
    with pytest.raises(UsageError, match="word_bias must be a dictionary"):
        GenerationConfig(word_bias=["talk"])  # type: ignore[arg-type]
    for strategy in ("mask", "first-token", "exact"):
        with pytest.raises(UsageError, match=f"word_bias and the strategy {strategy} cannot be used together"):
            GenerationConfig(word_bias={"talk": -1}, strategy=strategy)
    assert BannedWords(["talk"]).matcher().all_at_end() == []
