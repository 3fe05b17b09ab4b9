"""Banned words and the real model: the words that people ban, which it likes to write, by each strategy.

The texts are looked through by regular expressions alone.
"""

from __future__ import annotations

import json
import re
import unicodedata
from contextlib import nullcontext
from typing import Any, get_args

import pytest
from tests.oracles.banned_text import banned_words_in
from tests.support.real.circumstances import TALK, TAPESTRY
from tests.support.real.model import gguf_model, needs_file
from tests.support.running.tried import some_of

from sfgen import BannedWords, Result, RolledBack, Sampler, SfgenError, TextReleased, TokenChosen, stream
from sfgen.decoding import Finished
from sfgen.decoding.rollback_decision import StrategyName

pytestmark = needs_file()

STRATEGIES: tuple[StrategyName, ...] = get_args(StrategyName)

LIKED = {
    ("talk", "listen"): TALK,
    ("as an AI",): "Bot: Sorry, as an AI I cannot.\nBot: Sorry, as an AI I do not know.\nBot: Sorry,",
    ("delve",): "First we delve into history. Then we delve into art. Now we",
    ("tapestry",): TAPESTRY,
    ("a testament to",): "It is a testament to his skill. It is a testament to her art. It is",
    ("—",): "Rome — Italy. Paris — France. Berlin — Germany. Madrid",
    ("damn",): "Damn the rain! Damn the wind! Damn the snow!",
    ("John", "Mary"): "John met Mary. Mary met John. John met",
    ("😀",): "Good morning 😀 Good evening 😀 Good",
    ("日本",): "私は日本が好きです。彼は日本が好きです。彼女は",
    ("Ελλάδα",): "Η Ελλάδα είναι χώρα. Η Ελλάδα είναι",
    ("Москва",): "Столица России — Москва. Город Москва. Столица России —",
    ("naïve",): "a naïve man, a naïve boy, a naïve girl, a",
}
"""Words, and a prompt behind which the model writes one of them by itself."""


def by_turns(number: int) -> list[StrategyName]:
    """One of the strategies, another one for each number; all of them where time does not matter."""
    return some_of((*STRATEGIES[number % 3 :], *STRATEGIES[: number % 3]), 1)


def written(prompt: str, words: list[str] | BannedWords | None = None, **parameters: Any) -> Result:
    """A text of the real model, which is checked to be what was streamed."""
    parameters = {"max_tokens": 14, **parameters}
    events = list(stream(gguf_model(), prompt, banned=words, **parameters))
    result = next(event.result for event in events if isinstance(event, Finished))
    assert "".join(event.text for event in events if isinstance(event, TextReleased)) == result.text
    return result


# ---- the words that people ban -------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", some_of(range(len(LIKED)), 7))
def test_the_model_likes_the_word_and_no_strategy_lets_it_out(number: int) -> None:
    """Where time is short each word has one strategy; all words have each in the next test."""
    words, prompt = list(LIKED.items())[number]
    assert banned_words_in(written(prompt).text, words), "the model does not write it by itself: the test says nothing"
    for strategy in by_turns(number):
        result = written(prompt, list(words), strategy=strategy)
        assert not banned_words_in(result.text, words, prompt=prompt)
        assert len(result.token_ids) == 14 or result.finish_reason != "limit"


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_all_words_at_once_at_several_temperatures(strategy: StrategyName) -> None:
    words = [word for listed in LIKED for word in listed]
    for seed, prompt in enumerate(some_of(LIKED.values(), 2)):
        for temperature in (0.7, 1.5):
            result = written(prompt, words, strategy=strategy, sampler=Sampler(temperature, seed))
            assert not banned_words_in(result.text, words, prompt=prompt)


@pytest.mark.parametrize("strategy", by_turns(2))
def test_a_word_is_found_in_any_case_unless_case_is_said_to_matter(strategy: StrategyName) -> None:
    prompt = "PARIS, PARIS, PARIS, PARIS,"
    assert "PARIS" in written(prompt).text
    assert not banned_words_in(written(prompt, ["paris"], strategy=strategy).text, ["paris"])
    minds_case = BannedWords(["paris"], ignore_case=False)
    assert "PARIS" in written(prompt, minds_case, strategy=strategy).text


@pytest.mark.parametrize("strategy", by_turns(1))
def test_a_longer_word_passes_unless_beginnings_or_pieces_are_banned(strategy: StrategyName) -> None:
    prompt = "He is talking. She is talking. We are talking. They are"
    assert written(prompt, ["talk"], strategy=strategy).text == written(prompt).text
    for banned in (["talk*"], BannedWords(["talk"], match="prefix"), BannedWords(["alki"], match="substring")):
        text = written(prompt, banned, strategy=strategy).text
        assert not re.search(r"\btalk\w" if banned == ["talk*"] else "talking", text, re.I)


@pytest.mark.parametrize("strategy", by_turns(1))
def test_an_exception_lets_the_longer_phrase_out_and_nothing_else(strategy: StrategyName) -> None:
    prompt = "New York is big. New York is loud. York is small. York is old. New York is"
    free = written(prompt, max_tokens=40).text
    assert "York" in free
    text = written(prompt, BannedWords(["York"], allow=["New York"]), strategy=strategy, max_tokens=40).text
    assert "New York" in text
    assert not re.search(r"(?<!New )\bYork\b", text, re.I)


@pytest.mark.parametrize(
    ("prompt", "pattern"),
    [
        ("The years were 1987, 1988, 1989,", r"\d{2,}"),
        ("It is not fast but slow. It is not big but small. It is", r"not \w+ but"),
        ("See https://example.org and https://example.com and", r"https?://\S"),
        ("the cat of the house, the dog of the house, the", r"\bthe \w+ of\b"),
        ("She laughed!! He laughed!! They laughed", r"[!?.]{2}"),
    ],
)
def test_a_pattern_matches_nowhere(prompt: str, pattern: str) -> None:
    assert re.search(pattern, written(prompt).text)
    for strategy in by_turns(len(pattern)):
        text = written(prompt, BannedWords([], [pattern]), strategy=strategy).text
        assert not re.search(pattern, text)
        assert not any(hit.end() > len(prompt) for hit in re.finditer(pattern, prompt + text))


# ---- the seam, tokens, confusables ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prompt", "word", "heal"),
    [
        ("The capital of Italy is Rome. The capital of Fr", "France", True),
        ("Harry Potter and Harry Potter and Har", "Harry Potter", True),
        ("日本、日本、日本、日", "日本", True),
        ("It is a testament to his skill. It is a testament", "a testament to", False),
        ("He lives in New", "New York", False),
    ],
)
def test_no_word_is_completed_that_the_prompt_began(prompt: str, word: str, heal: bool) -> None:
    assert banned_words_in(written(prompt, heal=heal, max_tokens=6).text, [word], prompt=prompt)
    for strategy in STRATEGIES:
        result = written(prompt, [word], strategy=strategy, heal=heal, max_tokens=6)
        assert not banned_words_in(result.text, [word], prompt=prompt)
        assert result.text


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_word_that_the_prompt_holds_already_is_no_obstacle(strategy: StrategyName) -> None:
    prompt = "Paris, Paris, Paris, Paris,"
    result = written(prompt, ["Paris"], strategy=strategy)
    assert result.text
    assert not banned_words_in(result.text, ["Paris"], prompt=prompt)


def test_rollbacks_tell_the_word_where_it_stood() -> None:
    """The tokens that are taken back hold the word, however they cut it."""
    words = ["a testament to", "tapestry"]
    model = gguf_model()
    prompt = "A tapestry, a testament to art. A tapestry, a testament to art. A"
    tokens: list[int] = []
    rollbacks = 0
    for event in stream(model, prompt, banned=words):
        if isinstance(event, TokenChosen):
            assert event.position == len(tokens)
            tokens.append(event.token_id)
        elif isinstance(event, RolledBack):
            assert tuple(tokens[event.position :]) == event.token_ids
            taken = b"".join(model.vocabulary.tokens[token] or b"" for token in event.token_ids)
            assert taken == event.data
            assert event.word in words
            assert str(event.word) in taken.decode("utf-8", "replace")
            del tokens[event.position :]
            rollbacks += 1
        elif isinstance(event, Finished):
            assert tuple(tokens) == event.result.token_ids
    assert rollbacks > 1


@pytest.mark.parametrize("copied", some_of(["Pаris", "Рaris", "Ｐａｒｉｓ", "Pàris", "Pa\u200bris"], 3))
def test_confusables_are_seen_through_if_asked(copied: str) -> None:
    """The model repeats a word that only looks like the banned one: with Cyrillic letters, wide ones, an accent."""
    prompt = f"{copied}, {copied}, {copied}, {copied},"
    free = written(prompt).text
    assert banned_words_in(plain(free), ["Paris"])
    for strategy in by_turns(len(copied.encode())):
        assert written(prompt, ["Paris"], strategy=strategy).text == free, "it is not asked for here"
        text = written(prompt, BannedWords(["Paris"], normalize=True), strategy=strategy).text
        assert not banned_words_in(plain(text), ["Paris"])


def plain(text: str) -> str:
    """A text as the eye takes it, as far as these tests need."""
    decomposed = unicodedata.normalize("NFKD", text.replace("а", "a").replace("Р", "P"))
    return "".join(letter for letter in decomposed if unicodedata.category(letter) not in ("Mn", "Mc", "Cf"))


# ---- a ban beside a constraint -------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_schema_and_a_ban(strategy: StrategyName) -> None:
    prompt = 'Capitals as JSON.\n{"country": "Italy", "capital": "Rome"}\n{"country": "France", "capital": "Paris"}\n'
    schema = {
        "type": "object",
        "properties": {"country": {"type": "string"}, "capital": {"type": "string"}},
        "required": ["country", "capital"],
    }
    free = written(prompt, schema=schema, max_tokens=40).value
    words = [free["country"], free["capital"]]
    result = written(prompt, words, schema=schema, max_tokens=40, strategy=strategy)
    assert set(json.loads(result.text)) == {"country", "capital"}
    assert not banned_words_in(result.text, words)
    assert not banned_words_in(" ".join(json.loads(result.text).values()), words)


@pytest.mark.parametrize("strategy", by_turns(2))
def test_a_schema_and_a_word_that_stands_in_escapes(strategy: StrategyName) -> None:
    """``\\u0050aris`` is Paris to whoever reads the JSON."""
    prompt = r'["\u0050aris", "\u0050aris", "\u0050aris"]' + "\n" + r'["\u0050aris", "\u0050aris", "\u0050aris"]' + "\n"
    schema = {"type": "array", "items": {"type": "string", "maxLength": 12}, "minItems": 3, "maxItems": 3}
    result = written(prompt, ["Paris"], schema=schema, max_tokens=60, strategy=strategy)
    assert len(json.loads(result.text)) == 3
    assert not any(banned_words_in(item, ["Paris"]) for item in json.loads(result.text))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_pattern_and_a_ban(strategy: StrategyName) -> None:
    prompt = "The capital of France is"
    regex = r" (Paris|London|Rome|Berlin|Lyon), (a|the) \w{3,12} (city|town)\."
    first = written(prompt, regex=regex).text
    result = written(prompt, [first.split(",")[0].strip(), "city"], regex=regex, strategy=strategy)
    assert re.fullmatch(regex, result.text)
    assert "city" not in result.text
    assert first.split(",")[0] not in result.text
    assert not (strategy == "mask" and result.rollbacks), "pattern and ban are one automaton"


def test_a_ban_that_leaves_nothing_is_refused_before_a_token() -> None:
    with pytest.raises(SfgenError, match="banned"):
        written("The capital of France is", ["Paris", "Rome"], regex=" (Paris|Rome)")


# ---- odd settings --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_many_words(strategy: StrategyName) -> None:
    """Each word of eight letters or more that the vocabulary has, and all that the model would write."""
    tokens = [token.decode("utf-8", "replace").strip() for token in gguf_model().vocabulary.tokens if token]
    words = sorted({token.lower() for token in tokens if token.isascii() and token.isalpha() and len(token) >= 8})
    assert len(words) > 10_000
    prompt = "Once upon a time there was an"
    result = written(prompt, words, strategy=strategy)
    assert not set(re.findall(r"[^\W_]+", result.text.lower())) & set(words)


@pytest.mark.parametrize("limit", [0, 1, 2, 3])
@pytest.mark.parametrize("strategy", by_turns(0))
def test_small_limits_end_in_no_banned_word(strategy: StrategyName, limit: int) -> None:
    """Where a text is cut it may hold no word that would have become another one."""
    prompt = "We talk and listen, and then we"
    for seed in range(3):
        result = written(
            prompt, ["talk", "listen", "go"], strategy=strategy, max_tokens=limit, sampler=Sampler(1.5, seed)
        )
        assert len(result.token_ids) <= limit
        assert not banned_words_in(result.text, ["talk", "listen", "go"], prompt=prompt)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_without_rollbacks_there_is_a_clean_text_or_an_error(strategy: StrategyName) -> None:
    prompt = LIKED[("a testament to",)]
    released: list[str] = []
    with nullcontext() if strategy == "mask" else pytest.raises(SfgenError, match="after 0 rollbacks"):
        for event in stream(
            gguf_model(), prompt, banned=["a testament to"], strategy=strategy, max_rollbacks=0, max_tokens=14
        ):
            released += [event.text] if isinstance(event, TextReleased) else []
    assert not banned_words_in("".join(released), ["a testament to"], prompt=prompt)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("stop", ["tape", "try", "y of", "."])
def test_a_stop_string_that_is_a_part_of_a_banned_word(strategy: StrategyName, stop: str) -> None:
    result = written(TAPESTRY, BannedWords(["tapestry", "tap"], match="substring"), stop=stop, strategy=strategy)
    assert stop not in result.text
    assert "tap" not in result.text.lower()


@pytest.mark.parametrize("strategy", by_turns(2))
def test_common_words_at_a_high_temperature(strategy: StrategyName) -> None:
    words = ["the", "a", "of", "and", "to", "in", "is", ",", "."]
    for seed in range(2):
        result = written("The capital of France is", words, strategy=strategy, sampler=Sampler(2.0, seed))
        assert not banned_words_in(result.text, words, prompt="The capital of France is")
