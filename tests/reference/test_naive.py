"""The algorithm that tries every token: the worked example of the source document, and what is asked of ``regex``."""

from __future__ import annotations

import re
from random import Random

import pytest
from tests.support.patterns.random_patterns import RandomPattern, compiled
from tests.support.patterns.texts import LanguageSampler, TreeSampler, mutated, short_texts

import regex
from sfgen import Dfa, Sampler, Vocabulary, generate
from sfgen.errors import DeadEnd, GenerationError, PatternError, UsageError
from sfgen.models.uniform import UniformModel
from sfgen.reference import NaiveIndex
from sfgen.reference.naive import spelled
from sfgen.regex import Atomic, Look, parse, settle
from sfgen.regex.ast import contains

FLOAT = r"[0-9]+\.[0-9]"
TOY = Vocabulary([b"a", b".", b".2", b"1"])


def test_the_worked_example_of_the_document() -> None:
    """First only 1; then 1., 1.2 and 11; and after 1. the only choice is 1."""
    index = NaiveIndex(FLOAT, TOY)

    def completions(text: str) -> set[str]:
        return {text + TOY.text(token) for token in index.allowed_tokens((text, b"")).tolist()}

    assert completions("") == {"1"}
    assert completions("1") == {"1.", "1.2", "11"}
    assert completions("1.") == {"1.1"}
    assert completions("1.2") == set()


def test_the_loop_of_the_document() -> None:
    """Random texts of the toy vocabulary; as in the document one may be ``1.2`` or ``111.1``."""
    texts = {
        generate(UniformModel(TOY), index=NaiveIndex(FLOAT, TOY), sampler=Sampler(1.0, seed), max_tokens=60).text
        for seed in range(40)
    }
    assert {"1.2", "1.1", "11.2"} <= texts
    assert all(re.fullmatch(FLOAT, text) for text in texts)


def test_the_pattern_is_matched_as_re_matches_it() -> None:
    """Full matches, of every pattern; partial matches, of those without lookarounds and atomic groups."""
    full = partial = 0
    for seed in range(250):
        random = Random(seed)
        drawn = RandomPattern(random, looks=seed % 3 == 0)
        try:
            compiled(drawn.text)
            dfa = Dfa.from_regex(drawn.text)
        except (re.error, PatternError):
            continue
        tree = settle(parse(drawn.text))
        is_plain = not contains(tree, (Look, Atomic))
        index = NaiveIndex(drawn.text, TOY)
        likely = [TreeSampler(drawn.text, drawn.letters).text(random) for _ in range(5)]
        likely += [LanguageSampler(dfa).text(random) for _ in range(5)]
        texts = [*short_texts(drawn.letters), *likely, *(mutated(text, drawn.letters, random) for text in likely)]
        for text in {whole[:length] for whole in texts for length in (len(whole), len(whole) // 2)}:
            if len(text) > 20 or any("\ud800" <= character <= "\udfff" for character in text):
                continue
            assert index.accepts(text.encode()) == dfa.accepts(text), (drawn.text, text)
            full += 1
            begins = begins_a_match(dfa, text)
            if is_plain:
                assert index._can_match(text, "", b"") == begins, (drawn.text, text)
                partial += 1
            elif begins:
                assert index._can_match(text, "", b""), (drawn.text, text)
    print(f"{full} full matches, {partial} partial ones")
    assert full > 10_000
    assert partial > 6_000


def begins_a_match(dfa: Dfa, text: str) -> bool:
    state = 0
    for byte in text.encode():
        state = int(dfa.transitions[state, dfa.byte_classes[byte]])
        if state < 0:
            return False
    return True


@pytest.mark.parametrize(
    ("pattern", "text"),
    [("a+?b", "aac"), (r"\d{,2}?x", "9y"), ("(?i)kk", "\u212a"), ("[[:alpha:]]", "x"), ("a{e}", "b")],
)
def test_what_regex_reads_otherwise_is_spelled_anew(pattern: str, text: str) -> None:
    """As the pattern stands, ``regex`` takes these texts, which no match begins with."""
    assert regex.fullmatch(pattern, text, regex.V0, partial=True) is not None
    assert not NaiveIndex(pattern, TOY)._can_match(text, "", b"")


def test_lazy_repeats_stay_lazy_where_it_matters() -> None:
    assert spelled(parse("(?>a{1,2}?|b)(?:c+?)")) == "(?>(?:a{1,2}?|b))c{1,}"
    for pattern in ("(?>a{1,2}?)a?", "(?>a{1,2})a?", "(?>(?:a|ab))b?", "(?!ab)[ab]{2}", "(?<=a)b|a(?<!b)b?"):
        index = NaiveIndex(pattern, TOY)
        for text in ("", "a", "aa", "aaa", "ab", "abb", "b", "ba", "bb"):
            assert index.accepts(text.encode()) == (re.fullmatch(pattern, text) is not None), (pattern, text)


def test_tokens_that_end_within_a_character() -> None:
    vocabulary = Vocabulary([b"\xc3", b"\xa9", b"\xa8", b"\xe2\x82", b"\xac", b"a\xc3", b"\xa9a", b"\xc3\xa9"])
    index = NaiveIndex("a?[é€]a", vocabulary)
    assert index.allowed_tokens(("", b"")).tolist() == [0, 3, 5, 7]
    assert index.allowed_tokens(("", b"\xc3")).tolist() == [1, 6]
    assert index.allowed_tokens(("a", b"\xe2\x82")).tolist() == [4]
    assert index.next_state(("", b"\xc3"), 1) == ("é", b"")
    assert index.next_state(("", b"\xc3"), 2) is None
    assert index.next_state(("", b""), 5) == ("a", b"\xc3")
    assert not index.is_accepting(("éa", b"\xc3"))
    assert not index.accepts(b"\xc3")
    assert not index.accepts(b"\xff")


def test_special_tokens_are_never_text() -> None:
    vocabulary = Vocabulary([b"a", None, b"a", None], end_token_ids=[2])
    guide = NaiveIndex("a+", vocabulary).guide()
    assert guide.allowed_tokens().tolist() == [0]
    for token in (1, 2, 3, 4, -4):  # 2 writes an a, but it is an end token
        with pytest.raises(UsageError, match=f"token {token} is not allowed"):
            guide.advance(token)
    guide.advance(0)
    assert guide.allowed_tokens().tolist() == [0, 2]
    guide.advance(2)
    assert guide.is_finished


@pytest.mark.parametrize(
    ("pattern", "says"),
    [("a(", "unterminated"), (r"(a)\1", "not regular"), (r"[^\s\S]", "no text at all"), (r"a\Zb", "no text at all")],
)
def test_what_is_refused(pattern: str, says: str) -> None:
    with pytest.raises(PatternError, match=says):
        NaiveIndex(pattern, TOY)


def test_a_limit_is_an_error_and_never_cuts() -> None:
    index = NaiveIndex("[0-9]+[.]2", TOY)
    for limit in (0, 1):
        with pytest.raises(GenerationError, match=f"limit of {limit} tokens is reached") as caught:
            generate(UniformModel(TOY), index=index, max_tokens=limit)
        assert "default engine" in caught.value.hint
    assert generate(UniformModel(TOY), index=NaiveIndex("1{3}", TOY), max_tokens=3).text == "111"
    assert generate(UniformModel(TOY), index=NaiveIndex("1*", TOY), max_tokens=3).text == "111"


def test_a_dead_end_is_an_error() -> None:
    with pytest.raises(DeadEnd, match="no token of the vocabulary can follow") as caught:
        generate(UniformModel(TOY), index=NaiveIndex("1x", TOY))
    assert "default engine" in caught.value.hint
