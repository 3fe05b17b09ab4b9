"""A pattern without banned words, against what it says: the pattern accepts the text and the scanner finds nothing."""

import re
import threading
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.patterns.automata import arrays_of
from tests.support.patterns.random_patterns import RandomPattern
from tests.support.patterns.texts import LanguageSampler, TreeSampler, mutated

from sfgen import BannedWords, Dfa
from sfgen.automata.minimize import minimize
from sfgen.ban import MatchMode, scan
from sfgen.ban.difference import without
from sfgen.errors import BannedWordsError, PatternError

MODES: tuple[MatchMode, ...] = ("word", "prefix", "substring")
ALPHABET = "abABsk1_  ..'+*-ßİſ\u212aŉi我們ก\u0e31が\u3099🙂\u0301\ufe0f\u0345\u200b\ufffdаｔﬁ각ᾳϹισ⒜("
BANNED_PATTERNS = ["a.b", r"\bs\w+", r"(?i)k+$", "我.?們", r"(?<!a)b", "[^ -~]{2}", r"(?u)\W\w\W", "\U0001f642+(?! )"]


def banned_text(text: str, banned: BannedWords, prompt: str) -> bool:
    return bool(scan(text, banned, prompt=prompt))


def check(dfa: Dfa, banned: BannedWords, prompt: str, texts: list[str], random: Random) -> None:
    """Compare the automaton with what it says, on the texts and on some of its own."""
    try:
        clean = without(dfa, banned, prompt.encode())
    except BannedWordsError as error:
        clean = dfa - dfa
        (shown,) = error.details
        assert repr(dfa.shortest().decode()) in shown
    if clean is None:  # too large: patterns and readings tell many characters apart
        assert banned.patterns or banned.normalize, banned
        return
    for automaton in (dfa, clean):
        if not automaton.is_empty:
            sampler = LanguageSampler(automaton)
            texts += [sampler.text(random) for _ in range(6)]
    for text in texts:
        expected = dfa.accepts(text) and not banned_text(text, banned, prompt)
        assert clean.accepts(text) == expected, (dfa.pattern, banned, prompt, text)
    again = minimize(arrays_of(clean))
    assert all(np.array_equal(getattr(clean, name), getattr(again, name)) for name in again._fields)


@st.composite
def banned_words(draw: st.DrawFn, letters: str, found: list[str]) -> BannedWords:
    """Words and other things to ban, of letters and of pieces of texts."""
    character = st.sampled_from([*letters, " ", "."])
    word = st.text(character, min_size=1, max_size=4)
    if found:
        word |= st.sampled_from(found).flatmap(
            lambda text: st.integers(0, len(text)).flatmap(
                lambda start: st.integers(1, 4).map(lambda size: text[start : start + size])
            )
        )
    word = word.filter(lambda word: bool(word.strip(" *\\")) and word.isprintable())
    patterns = draw(st.lists(st.sampled_from(BANNED_PATTERNS), max_size=2)) if draw(st.booleans()) else []
    words = draw(st.lists(word, min_size=not patterns, max_size=4))
    allow = draw(st.lists(word | st.builds("".join, st.tuples(word, word)), max_size=2)) if draw(st.booleans()) else []
    try:
        return BannedWords(
            words, patterns, draw(st.sampled_from(MODES)), draw(st.booleans()), draw(st.booleans()), allow
        )
    except BannedWordsError:  # nothing is left of a word
        return BannedWords(["a"])


@given(st.data(), st.integers(0, 1 << 30))
def test_random_patterns(data: st.DataObject, seed: int) -> None:
    random = Random(seed)
    pattern = RandomPattern(random)
    try:
        dfa = Dfa.from_regex(pattern.text)
    except (PatternError, re.error):
        return
    sampler, tree = LanguageSampler(dfa), TreeSampler(pattern.text, pattern.letters)
    texts = [sampler.text(random) for _ in range(6)]
    banned = data.draw(banned_words(pattern.letters, [text for text in texts if text.strip()]))
    letters = pattern.letters + " ."
    if banned.words:
        texts += [text + random.choice(banned.words) + random.choice(["", " ", text]) for text in texts]
    texts += [mutated(text, letters, random) for text in texts] + [tree.text(random) for _ in range(6)]
    texts = [text for text in texts if not any("\ud800" <= character <= "\udfff" for character in text)]
    prompt = data.draw(st.sampled_from(["", "a", *texts]))
    check(dfa, banned, prompt[: data.draw(st.integers(0, len(prompt)))], texts, random)


@pytest.fixture(scope="module")
def everything() -> Dfa:
    return Dfa.from_regex(r"(?s:.)*")


@given(st.data(), st.integers(0, 1 << 30))
def test_every_character(everything: Dfa, data: st.DataObject, seed: int) -> None:
    few = data.draw(st.text(ALPHABET, min_size=1, max_size=6))
    banned = data.draw(banned_words(few, []))
    character = st.sampled_from(few) | st.sampled_from(ALPHABET) | st.characters(exclude_categories=["Cs"])
    pieces = character | st.sampled_from([*banned.words, *banned.allow, few])
    text = st.lists(pieces, max_size=6).map("".join)
    texts = data.draw(st.lists(text, min_size=1, max_size=12))
    check(everything, banned, data.draw(text), texts, Random(seed))


def accepted(pattern: str, banned: BannedWords, texts: list[str], prompt: str = "") -> list[bool]:
    clean = without(Dfa.from_regex(pattern), banned, prompt.encode())
    assert clean is not None
    return [clean.accepts(text) for text in texts]


def test_a_choice_without_a_word() -> None:
    assert accepted("hot|cold|hotel", BannedWords(["hot"]), ["hot", "cold", "hotel"]) == [False, True, True]
    assert accepted("hot|cold|hotel", BannedWords(["hot*"]), ["hot", "cold", "hotel"]) == [False, True, False]


def test_the_seam_with_the_prompt() -> None:
    texts = ["k", "k?", "king", "?", ""]
    assert accepted(".*", BannedWords(["talk"]), texts, "tal") == [False, False, True, True, True]
    assert accepted(".*", BannedWords(["talk"]), texts, "talk") == [True] * 5
    assert accepted(".*", BannedWords(["talk to"]), [" to", "s to", "  to!"], "we talk") == [False, True, False]


def test_every_script() -> None:
    texts = ["STRASSE", "straſſe", "straßen", "\u212aelvin", "我們聊天吧", "聊", "ทำไม", "é", "e\u0301"]
    banned = BannedWords(["straße", "kelvin", "聊天", "ไม", "e"])
    assert accepted(r"[^\n]*", banned, texts) == [False, False, True, False, False, True, False, True, True]
    assert accepted(r"[^\n]*", BannedWords(["talk"], normalize=True), ["ｔalk", "ta\u200blk", "tаlks"]) == [
        False,
        False,
        True,
    ]
    assert accepted(r"[^\n]*", BannedWords(["ass"], match="substring", allow=["class"]), ["class", "classass"]) == [
        True,
        False,
    ]


def test_a_record_keeps_its_shape() -> None:
    pattern = r'\{"name": "[^"\\\n]{1,12}", "age": [0-9]{1,3}\}'
    texts = ['{"name": "Ann", "age": 7}', '{"name": "small Talk", "age": 7}', '{"name": "talking", "age": 70}', "{}"]
    assert accepted(pattern, BannedWords(["talk", "fuck you"]), texts) == [True, False, True, False]


def test_what_has_no_banned_word_is_left_as_it_is() -> None:
    dfa = Dfa.from_regex("[0-9]{4}-[0-9]{2}")
    assert without(dfa, BannedWords(["talk"])) is dfa
    nothing = dfa - dfa
    assert without(nothing, BannedWords(["talk"])) is nothing


def test_an_answer_is_kept() -> None:
    dfa, banned = Dfa.from_regex("[a-z ]{1,9}"), BannedWords(["talk"])
    answers = [without(dfa, banned, b"You: ")]
    threads = [threading.Thread(target=lambda: answers.append(without(dfa, banned, b"Me: "))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 5
    assert all(answer is answers[0] for answer in answers)
    assert without(dfa, banned, b"You: tal") is not answers[0]


@pytest.mark.parametrize(
    ("pattern", "words", "prompt", "detail"),
    [
        ("talk", ["talk"], "", "  'talk' has the banned word 'talk'"),
        ("a (talk|listen)!*", ["listen", "talk"], "", "  'a talk' has the banned word 'talk'"),
        ("k+", ["k*"], "", "  'k' has the banned word 'k*'"),
        ("k", ["talk"], "tal", "  'k' has the banned word 'talk', which begins in the prompt"),
    ],
)
def test_everything_is_banned(pattern: str, words: list[str], prompt: str, detail: str) -> None:
    with pytest.raises(BannedWordsError, match="every text that matches the pattern has a banned word") as raised:
        without(Dfa.from_regex(pattern), BannedWords(words), prompt.encode())
    assert raised.value.details == (detail,)
    assert raised.value.hint


def test_the_budget() -> None:
    many = BannedWords([f"{chr(97 + number % 26)}{chr(97 + number // 26 % 26)}{number}x" for number in range(20_000)])
    assert without(Dfa.from_regex(".*"), many) is None
    assert without(Dfa.from_regex("[a-z0-9]{1,200}"), many) is None
    clean = without(Dfa.from_regex("(hot|cold|aa0x)"), many)
    assert clean is not None
    assert (clean.accepts("hot"), clean.accepts("aa0x")) == (True, False)
    # Two hundred places, at each of which a character may be half read.
    assert without(Dfa.from_regex(r"[^\n]{1,400}\."), BannedWords(["talk"])) is None
    assert without(Dfa.from_regex(r"[^\n]{1,40}\."), BannedWords(["talk"])) is not None


def test_what_must_run_side_by_side() -> None:
    banned = BannedWords(["talk"])
    assert without(Dfa.from_regex(".*"), banned, "我".encode()[:2]) is None
    assert without(Dfa.from_regex(".*"), banned, b"\xff\xe6\x88 ") is not None
    anything, no_character = Dfa.from_regex(".*"), b"\xed\xa0"  # half of a surrogate
    assert without(anything, banned, no_character) is without(anything, banned, b"\xff\xff")
    bytes_alone = Dfa(np.zeros((1, 1), dtype=np.int32), np.zeros(256, dtype=np.uint8), np.ones(1, dtype=np.bool_))
    assert without(bytes_alone, banned) is None
