"""A ban beside a pattern: the text matches, is clean, and with the product of both there are no dead ends."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.oracles.banned_text import BannedText
from tests.support.models.scripted import ScriptedModel, preferring, random_scores
from tests.support.models.vocabularies import loaded
from tests.support.running.tried import rounds

from sfgen import (
    BannedWords,
    Dfa,
    Finished,
    Grammar,
    Index,
    JsonSchema,
    Sampler,
    Template,
    TextReleased,
    Vocabulary,
    generate,
    stream,
)
from sfgen.ban import difference
from sfgen.decoding.rollback_decision import StrategyName
from sfgen.errors import BannedWordsError, DeadEnd, GenerationError, LimitTooSmall
from sfgen.index import DfaIndex
from sfgen.protocols import Constraint

STRATEGIES: tuple[StrategyName, ...] = get_args(StrategyName)
TOKENS = [b"a", b"b", b"c", b" ", b"ab", b"ba", b" a", b"b c", b"-", "é".encode(), b"\xc3", b"\xa9"]
VOCABULARY = Vocabulary([*TOKENS, None], end_token_ids=[len(TOKENS)])
PATTERNS = {
    pattern: Index(Dfa.from_regex(pattern), VOCABULARY)
    for pattern in (
        "[abc]{3}( [abc]{1,2}){0,2}",
        "(ab|ba|c)+",
        "[ab]* ?[ab]*-?",
        "(a|b c|ba)(-(a|b c|ba)){1,3}",
        "[aé]{2,5}(b|c)",
        ".{0,6}",
        "(?:(?!ab).){2,6}",
    )
}
WORDS = st.lists(st.text("abcé ", min_size=1, max_size=4).filter(str.strip), min_size=1, max_size=4)


@given(
    pattern=st.sampled_from(list(PATTERNS)),
    words=WORDS,
    match=st.sampled_from(["word", "prefix", "substring"]),
    prompt=st.sampled_from([[0], [3], [8, 1], [9]]),
    strategy=st.sampled_from(STRATEGIES),
    sampler=st.builds(Sampler, st.sampled_from([0.0, 1.0, 3.0]), st.just(5), top_k=st.sampled_from([None, 1, 3])),
    seed=st.integers(0, 10**6),
    room=st.integers(0, 12),
    hold=st.booleans(),
)
def test_the_text_matches_and_is_clean_and_never_gets_stuck(
    pattern: str,
    words: list[str],
    match: str,
    prompt: list[int],
    strategy: StrategyName,
    sampler: Sampler,
    seed: int,
    room: int,
    hold: bool,
) -> None:
    model = ScriptedModel(VOCABULARY, random_scores(len(VOCABULARY), seed))
    banned = BannedWords(words, match=match)  # type: ignore[arg-type]
    before = b"".join(TOKENS[token] for token in prompt)
    index = PATTERNS[pattern]
    try:
        clean = difference.without(index.dfa, banned, before)
    except BannedWordsError:
        with pytest.raises(BannedWordsError, match="every text that matches the pattern has a banned word"):
            stream(model, prompt, index=index, banned=banned, strategy=strategy)
        return
    assert clean is not None
    fewest = len(Index(clean, VOCABULARY).shortest_tokens())
    limit = max(0, fewest + room - 1)
    released, result = "", None
    try:
        for event in stream(
            model, prompt, index=index, banned=banned, sampler=sampler, strategy=strategy, max_tokens=limit, hold=hold
        ):
            if isinstance(event, TextReleased):
                released += event.text
            elif isinstance(event, Finished):
                result = event.result
    except LimitTooSmall as error:
        assert limit < fewest
        takes = fewest if limit >= len(index.shortest_tokens()) else len(index.shortest_tokens())
        told = f"takes {takes}" in str(error)
        assert told
        assert not model.sessions
        return
    assert result is not None
    assert released == result.text
    assert re.fullmatch(pattern, result.text, re.ASCII)
    assert not BannedText(words, match, before).is_in(result.text.encode())
    assert len(result.token_ids) <= limit
    assert strategy != "mask" or not result.rollbacks


@given(
    pattern=st.sampled_from(list(PATTERNS)),
    words=WORDS,
    match=st.sampled_from(["word", "prefix", "substring"]),
    strategy=st.sampled_from(STRATEGIES),
    temperature=st.sampled_from([0.0, 2.0]),
    seed=st.integers(0, 10**6),
)
@example("(a|b c|ba)(-(a|b c|ba)){1,3}", ["c", "ba"], "word", "first-token", 0.0, 0)
@example("[aé]{2,5}(b|c)", ["b", "c", "aa"], "substring", "first-token", 0.0, 0)
def test_side_by_side_it_is_the_same_but_for_dead_ends(
    pattern: str, words: list[str], match: str, strategy: StrategyName, temperature: float, seed: int
) -> None:
    """Without the product a text that is not streamed is found by going back, where there is one."""
    model = ScriptedModel(VOCABULARY, random_scores(len(VOCABULARY), seed))
    banned = BannedWords(words, match=match)  # type: ignore[arg-type]
    index = PATTERNS[pattern]
    try:
        difference.without(index.dfa, banned, b"-")
    except BannedWordsError:
        nothing_is_clean = True
    else:
        nothing_is_clean = False
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(difference, "without", lambda *_: None)
        try:
            result = generate(
                model,
                [8],
                index=index,
                banned=banned,
                sampler=Sampler(temperature, seed),
                strategy=strategy,
                max_tokens=8,
                max_rollbacks=3000,
            )
        except DeadEnd:
            assert nothing_is_clean or _fewest(index, banned) > 8
            return
        except GenerationError:
            if not nothing_is_clean:  # else: to try all there is can take more rollbacks than that
                raise
            return
    assert not nothing_is_clean
    assert re.fullmatch(pattern, result.text, re.ASCII)
    assert not BannedText(words, match, b"-").is_in(result.text.encode())


def _fewest(index: DfaIndex, banned: BannedWords) -> int:
    clean = difference.without(index.dfa, banned, b"-")
    assert clean is not None
    return len(Index(clean, VOCABULARY).shortest_tokens())


def test_nothing_clean_is_an_error_before_there_is_a_session() -> None:
    vocabulary = Vocabulary([b" ", b"t", b"a", b"l", b"k", None], end_token_ids=[5])
    model = ScriptedModel(vocabulary, preferring(vocabulary, [b"t"], prompt_length=1))
    index = Index(Dfa.from_regex("talk"), vocabulary)
    for strategy in STRATEGIES:
        with pytest.raises(BannedWordsError, match="every text that matches the pattern has a banned word") as caught:
            stream(model, [0], index=index, banned=BannedWords(["talk"]), strategy=strategy)
        assert "'talk'" in str(caught.value)
    assert not model.sessions


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_choice_without_the_banned_ones(strategy: StrategyName) -> None:
    pieces = [*(bytes([byte]) for byte in b" abehiklopstu"), b"talk", b"list", b" about"]
    vocabulary = Vocabulary([*pieces, None], end_token_ids=[len(pieces)])
    index = Index(Dfa.from_regex("(talk|help|list) (about|it)"), vocabulary)
    model = ScriptedModel(vocabulary, preferring(vocabulary, [b"talk", b" ", b"i"], prompt_length=1))
    result = generate(model, " ", index=index, banned=BannedWords(["talk"]), strategy=strategy)
    assert re.fullmatch("(help|list) (about|it)", result.text)


@pytest.mark.parametrize("strategy", ["resample", "first-token"])
def test_what_leads_to_banned_text_only_is_taken_back_at_once(strategy: StrategyName) -> None:
    """After ``xa`` and ``za`` only ``b`` and ``c`` could follow: with the product that is known at once."""
    vocabulary = Vocabulary([b"x", b"y", b"z", b"a", b"b", b"c", None], end_token_ids=[6])
    model = ScriptedModel(vocabulary, preferring(vocabulary, [b"x", b"a", b"b"], prompt_length=1))
    index = Index(Dfa.from_regex("[xz]a[bc]|y{3}"), vocabulary)
    result = generate(model, "y", index=index, banned=BannedWords(["ab", "ac"], match="substring"), strategy=strategy)
    assert result.text == "yyy"
    assert [(event.position, event.word, event.data, event.ruled_out) for event in result.rollbacks] == [
        (0, "ab", b"x", 2)
    ]


@pytest.mark.parametrize(
    ("constraint", "banned", "word"),
    [
        (Dfa.from_choices(["Ada", "Bob"]), BannedWords(["Ada"]), "Ada"),
        (JsonSchema({"enum": ["Ada", "Bob"]}), BannedWords(["eve", "ada"]), "ada"),
        (
            JsonSchema({"enum": ["\nAda, eve", "Bob"]}),
            BannedWords(["Ada eve"]),
            "Ada eve",
        ),  # as it is read: "n" before it
        (JsonSchema({"enum": ["Ada", "Bob"]}), BannedWords(patterns=["Ad[a-z]"]), "Ad[a-z]"),
        (Template('{{a: schema {"enum": ["Ada", "Bob"]}}} {{a}}'), BannedWords(["Ada"]), "Ada"),
    ],
)
def test_the_word_is_named_to_which_all_ways_lead(constraint: Constraint, banned: BannedWords, word: str) -> None:
    vocabulary = Vocabulary([*(bytes([byte]) for byte in b'" ABabdenov,\\'), None], end_token_ids=[13])
    found = set[str | None]()
    for wishes in (["A"], ['"', "A"], ['"', "\\"]):
        model = ScriptedModel(vocabulary, preferring(vocabulary, [wish.encode() for wish in wishes], prompt_length=1))
        result = generate(model, " ", index=constraint, banned=banned, max_tokens=20)
        assert "Bob" in result.text
        found |= {event.word for event in result.rollbacks}
    assert found == {word}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_where_only_the_end_is_left_it_is_an_end(strategy: StrategyName, monkeypatch: pytest.MonkeyPatch) -> None:
    """No end token, and no room: ``ab`` would end the text, and with the prompt's ``a`` that is a banned word."""
    vocabulary = Vocabulary([b"a", b"b", b"ab"])
    model = ScriptedModel(vocabulary, random_scores(3, 0))
    index, banned = Index(Dfa.from_regex("(ab)+"), vocabulary), BannedWords(["aab"])
    with pytest.raises(LimitTooSmall, match="takes 2"):
        generate(model, "a", index=index, banned=banned, max_tokens=1, strategy=strategy)
    assert generate(model, "a", index=index, banned=banned, max_tokens=2, strategy=strategy).text == "abab"
    monkeypatch.setattr(difference, "without", lambda *_: None)
    with pytest.raises(DeadEnd, match="only banned text could follow"):
        generate(model, "a", index=index, banned=banned, max_tokens=1, strategy=strategy)


RECORDS = [r'\{"mood": "[a-z ]{4,20}"\}', r"[A-Z][a-z]+( [a-z]+){2,5}\.", r"(talk|listen|help)( (talk|listen|help)){2}"]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", ["gpt2", "gemma2"])
def test_with_real_tokenizers(
    real_tokenizer_directory: Callable[[str], Path], name: str, strategy: StrategyName
) -> None:
    _, vocabulary = loaded(real_tokenizer_directory(name))
    words = ["talk", "listen", "a", "help talk"]
    for number, pattern in enumerate(RECORDS):
        index = Index(Dfa.from_regex(pattern), vocabulary)
        for seed in {(number + STRATEGIES.index(strategy)) % 3, *range(rounds(3) - 1)}:
            model = ScriptedModel(vocabulary, random_scores(len(vocabulary), 10 * number + seed), {"we ta": [0]})
            sampler = Sampler([0.0, 1.0, 3.0][seed], seed)
            result = generate(
                model,
                "we ta",
                index=index,
                banned=BannedWords(words),
                sampler=sampler,
                strategy=strategy,
                max_tokens=40,
            )
            assert re.fullmatch(pattern, result.text, re.ASCII)
            assert not BannedText(words, prompt=b"we ta").is_in(result.text.encode())


HOPELESS = [
    (Grammar.from_gbnf('root ::= "(" root ")" | [a-z]+ " yes"'), BannedWords(["yes"])),
    (Template('{"talk": {{a: choices x, y}}}'), BannedWords(["talk"])),
    (Template("{{a: regex [a-z]{1,9}}}! {{a}}!"), BannedWords(patterns=["!"])),
    (Template("talk: {{a: schema name, age int}}"), BannedWords(["talk"])),
    (JsonSchema({"type": "object", "properties": {"a": {"const": 36}}, "required": ["a"]}), BannedWords(["36"])),
    (JsonSchema({"type": "array", "items": {"type": "boolean"}, "minItems": 1}), BannedWords(["true", "false"])),
]


@pytest.mark.parametrize(("constraint", "banned"), HOPELESS)
@pytest.mark.parametrize("after", [None, "."])
def test_that_no_text_is_possible_is_told_before_the_first_token(
    constraint: Constraint, banned: BannedWords, after: str | None
) -> None:
    vocabulary = Vocabulary([*(bytes([byte]) for byte in range(256)), None], end_token_ids=[256])
    model = ScriptedModel(vocabulary, random_scores(257, 0))
    with pytest.raises(BannedWordsError, match="has a banned word"):
        stream(model, "a", index=constraint, banned=banned, after=after)
    assert not model.sessions


def test_where_that_is_not_known_it_gives_up_when_the_text_grows_no_more() -> None:
    vocabulary = Vocabulary([*(bytes([byte]) for byte in b"()abcyes "), None], end_token_ids=[9])
    model = ScriptedModel(vocabulary, random_scores(10, 0))
    index = Grammar.from_lark('start: "(" start ")" | NAME " yes"\nNAME: /[a-c]+/')
    for most, least in ((10_000, 1_000), (2_000, 300), (200, 200)):
        with pytest.raises(GenerationError, match="gave up after") as caught:
            generate(model, "a", index=index, banned=BannedWords(["yes"]), max_tokens=30, max_rollbacks=most)
        count = int(caught.value.message.split()[3])
        assert least <= count <= least + 100
        assert "'yes'" in caught.value.details[0]
