from __future__ import annotations

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.oracles.counted_texts import reads
from tests.support.running.tried import tried

from sfgen.automata import Dfa
from sfgen.automata.examples import examples
from sfgen.ban import BannedWords, scan
from sfgen.errors import PatternError, SchemaTooLarge, UsageError
from sfgen.grammar.network.rules import CountedText, Leaf
from sfgen.schema.scalars import strings
from sfgen.schema.scalars.strings import StringLimits, is_clean, is_impossible, string_rule
from sfgen.schema.scalars.written_text import any_string, counted_text, of_length, write, written

WORDS = BannedWords(["talk", "hell no"])
TEXTS = st.text(st.sampled_from('ab-1" \\\n\té日😀') | st.characters(exclude_categories=["Cs"]), max_size=9)

# Patterns that ECMA-262 and re read alike in the texts that are tried here.
PATTERNS = ["^[a-z-]*$", "a", "^[^a]*$", "^(ab|é)*$", r'["\\]', "^(?!-)", "^(aa|日)b*$", "^(a|bb-)*1?$", "^a{3}$|^b+$"]


limits = st.builds(
    lambda minimum, more, patterns, banned: StringLimits(
        minimum, None if more is None else minimum + more, tuple(patterns), (), banned
    ),
    st.integers(0, 4),
    st.none() | st.integers(0, 5) | st.integers(300, 301),
    st.lists(st.sampled_from(PATTERNS), max_size=2, unique=True),
    st.none() | st.just(WORDS),
)


@given(
    limits=limits,
    texts=st.lists(TEXTS | st.sampled_from(["talk", "a talk-a", "hell no", "aaa", "bb", "日b"]), max_size=20),
)
def test_a_rule_has_the_strings_that_the_limits_accept(limits: StringLimits, texts: list[str]) -> None:
    rule = string_rule(limits)
    assert is_clean(limits)
    for text in texts:
        assert reads(rule, write(text)) == limits.accepts(text), text


@tried("some")
@given(limits=limits)
def test_what_a_leaf_accepts_is_accepted(limits: StringLimits) -> None:
    rule = string_rule(limits)
    if isinstance(rule, Leaf):
        for string in examples(rule.dfa, 30):
            assert limits.accepts(json.loads(string)), string


@pytest.mark.parametrize("maximum", [10, 63, 300, 2048])
@pytest.mark.parametrize("name", ["uri", "email", "hostname", "date", "json-pointer"])
def test_formats_with_lengths(name: str, maximum: int) -> None:
    limits = StringLimits(5, maximum, (), (name,))
    rule = string_rule(limits)
    for string in [*examples(rule.dfa, 50), *examples(string_rule(StringLimits(formats=(name,))).dfa, 50)]:
        text = json.loads(string)
        assert reads(rule, string.encode()) == (5 <= len(text) <= maximum)
        assert not reads(rule, string.encode()) or limits.accepts(text)


def test_nothing_asked_is_the_shared_automaton() -> None:
    assert string_rule(StringLimits()) == Leaf(any_string())


@pytest.mark.parametrize(("minimum", "maximum"), [(0, 0), (1, None), (0, 3000), (7, 10**9)])
def test_lengths_alone_are_counted(minimum: int, maximum: int | None) -> None:
    rule = string_rule(StringLimits(minimum, maximum))
    assert isinstance(rule, CountedText)
    assert rule.dfa is counted_text(0, None).dfa
    assert (rule.minimum, rule.maximum) == (minimum, maximum)


@pytest.mark.parametrize(
    "limits",
    [
        StringLimits(3, 2),
        StringLimits(patterns=("^a$", "^b$")),
        StringLimits(maximum=9, formats=("date",)),
        StringLimits(minimum=11, formats=("date",)),
        StringLimits(maximum=2, patterns=("^a{3,}$",)),
        StringLimits(maximum=700, patterns=("^a{701,}$",)),
        StringLimits(formats=("date", "ipv4")),
        StringLimits(patterns=("^talk$",), banned=WORDS),
        StringLimits(minimum=1, banned=BannedWords(patterns=["(?s)."])),
    ],
)
def test_a_contradiction_is_an_empty_leaf(limits: StringLimits) -> None:
    rule = string_rule(limits)
    assert isinstance(rule, Leaf)
    assert rule.dfa.is_empty


def test_lengths_that_are_implied_change_nothing() -> None:
    plain = string_rule(StringLimits(formats=("date",)))
    for limits in (StringLimits(10, 10, formats=("date",)), StringLimits(1, 3000, formats=("date",))):
        rule = string_rule(limits)
        assert isinstance(rule, Leaf)
        assert rule.dfa.equivalent(plain.dfa)


def test_large_lengths_beside_a_pattern_share_an_automaton() -> None:
    short, long = (string_rule(StringLimits(0, maximum, ("^[^ ]+$",))) for maximum in (3000, 10**9))
    assert isinstance(short, CountedText)
    assert isinstance(long, CountedText)
    assert short.dfa is long.dfa
    assert len(short.dfa) < 50
    assert reads(short, write("é" * 3000))
    assert not reads(short, write("é" * 3001))


def test_an_escape_and_a_raw_byte_that_lead_on_alike_are_counted_apart() -> None:
    # In the minimal automaton of these, what follows a backslash and what follows an a is one state.
    decoded = Dfa.from_choices(["\n", "an"]) + Dfa.from_regex("x*")
    rule = of_length(written(decoded), 0, 1000)
    assert isinstance(rule, CountedText)
    assert reads(rule, write("\n" + "x" * 999))
    assert not reads(rule, write("\n" + "x" * 1000))
    assert reads(rule, write("an" + "x" * 998))
    assert not reads(rule, write("an" + "x" * 999))


def test_where_the_way_of_fewest_bytes_has_more_characters_the_lengths_are_in_the_automaton() -> None:
    strings = written(Dfa.from_regex("x*(aa|日)"))
    rule = of_length(strings, 0, 500)
    assert isinstance(rule, Leaf)
    for text in ("x" * 498 + "aa", "x" * 499 + "日", "x" * 499 + "aa", "x" * 500 + "日"):
        assert reads(rule, write(text)) == (len(text) <= 500)


def test_a_counted_text_can_always_be_finished() -> None:
    rule = string_rule(StringLimits(3, 60, (), ("uri",)))
    assert isinstance(rule, CountedText)
    rows, counts = rule.dfa.transitions.tolist(), rule.counts.tolist()
    # The fewest counts from each state to the end, by plain search.
    owed = dict.fromkeys([state for state in range(len(rows)) if rule.dfa.accepting[state]], 0)
    before: dict[int, int] = {}
    while owed != before:
        before = dict(owed)
        for state, row in enumerate(rows):
            ways = [owed[target] + counts[target] for target in row if target in owed]
            if ways:
                owed[state] = min([*ways, owed.get(state, ways[0])])
    assert len(owed) == len(rows)
    rng = random.Random(3)
    lengths = set()
    for _ in range(100):
        state = count = 0
        data = bytearray()
        while not rule.dfa.accepting[state]:
            ways = []
            for byte in range(256):
                target = rule.dfa.step(state, byte)
                if target >= 0 and count + counts[target] + owed[target] <= 60:
                    ways.append((byte, target))
            byte, state = rng.choice(ways)
            count += counts[state]
            data.append(byte)
        lengths.add(len(json.loads(data)))
    assert min(lengths) >= 3
    assert max(lengths) == 60


@pytest.mark.parametrize("maximum", [None, 20, 100, 10_000])
def test_banned_words_are_taken_out(maximum: int | None) -> None:
    limits = StringLimits(0, maximum, banned=WORDS)
    rule = string_rule(limits)
    for text in ["talk", "a talk", "talking", "\ntalk", "hell no", "hell-no", "Hell  no!", "", 'he said "talk"']:
        assert reads(rule, write(text)) == (not scan(text, WORDS) and (maximum is None or len(text) <= maximum))


def test_banned_words_beyond_the_budget_are_left_in(monkeypatch: pytest.MonkeyPatch) -> None:
    banned = BannedWords(["nothing of this"])
    monkeypatch.setattr(strings, "without", lambda dfa, banned: None)
    limits = StringLimits(0, 7, banned=banned)
    assert not is_clean(limits)
    assert string_rule(limits) == string_rule(StringLimits(0, 7))
    limits = StringLimits(patterns=("^[a-z ]*$",), banned=banned)
    assert not is_clean(limits)
    assert string_rule(limits) == string_rule(StringLimits(patterns=("^[a-z ]*$",)))


def test_equal_limits_are_one_rule() -> None:
    assert string_rule(StringLimits(patterns=("^b",))) is string_rule(StringLimits(patterns=("^b",)))


def test_errors() -> None:
    with pytest.raises(PatternError):
        string_rule(StringLimits(patterns=("(",)))
    with pytest.raises(UsageError):
        string_rule(StringLimits(formats=("color",)))
    with pytest.raises(SchemaTooLarge, match="200,000 states"):
        string_rule(StringLimits(minimum=1_000_000, patterns=("^[a-z]+$",)))
    with pytest.raises(SchemaTooLarge, match="patterns and formats"):
        string_rule(StringLimits(patterns=tuple(f"^(..{{{size}}})*$" for size in (30, 36, 40, 42, 46, 52))))


@pytest.mark.parametrize(
    ("limits", "value", "is_valid"),
    [
        (StringLimits(2, 2), "😀é", True),
        (StringLimits(2, 2), "😀", False),
        (StringLimits(), "\ud800", False),
        (StringLimits(patterns=("^a$",)), "a\n", True),  # as re has it
        (StringLimits(patterns=(r"^\p{Lu}$",)), "É", True),
        (StringLimits(patterns=(r"^\p{Lu}$",)), "é", False),
        (StringLimits(formats=("email",)), '"a b"@example.com', True),  # valid, and never written
        (StringLimits(formats=("ipv4",)), "1.2.3.256", False),
        (StringLimits(banned=WORDS), "we talk", False),
        (StringLimits(banned=WORDS), "talking", True),
    ],
)
def test_what_is_accepted(limits: StringLimits, value: str, is_valid: bool) -> None:
    assert limits.accepts(value) == is_valid


@pytest.mark.parametrize(
    "limits",
    [
        StringLimits(patterns=("^a", "^b")),
        StringLimits(patterns=("^a", "b$")),
        StringLimits(patterns=("^$",), minimum=1),
        StringLimits(patterns=("^a{3}$",), maximum=2),
        StringLimits(patterns=("^a{3}$",), minimum=3),
        StringLimits(patterns=("^(a|b)$",), others=("a", "b")),
        StringLimits(patterns=("^(a|b)$",), others=("a",)),
        StringLimits(minimum=2, maximum=1),
        StringLimits(),
    ],
)
def test_what_is_impossible_has_no_rule(limits: StringLimits) -> None:
    """It is told without the automaton of what is written."""
    rule = string_rule(limits)
    assert is_impossible(limits) is (isinstance(rule, Leaf) and rule.dfa.is_empty)
