"""The language of a pattern's automaton against ``re.fullmatch``, the one oracle; and against other engines."""

from __future__ import annotations

import re
from collections import Counter
from random import Random

import interegular
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.support.patterns.random_patterns import RandomPattern, compiled, language, minimised
from tests.support.patterns.texts import LanguageSampler, TreeSampler, mutated, short_texts
from tests.support.running.tried import rounds, tried

import regex
from sfgen.automata import Dfa
from sfgen.errors import PatternError
from sfgen.regex.oracle import read_pattern, ways

LONGEST = 20
ROUNDS = rounds(1_000)
"""Characters of a text: ``re`` backtracks, and on longer ones it can take its time."""


def differ(pattern: str, text: str) -> bool:
    """Whether both engines read the pattern and disagree on the text."""
    try:
        oracle, dfa = compiled(pattern), language(pattern)
    except (re.error, PatternError, ValueError, OverflowError):
        return False
    return (dfa is not None and dfa.accepts(text)) != (oracle.fullmatch(text) is not None)


def failure(seed: int, pattern: str, text: str) -> str:
    least, on = minimised(pattern, text, differ)
    expected = compiled(least).fullmatch(on) is not None
    return f"seed {seed}: {pattern!r} on {text!r}; in short {least!r} on {on!r}, where re says {expected}"


def texts_about(pattern: str, letters: str, dfa: Dfa | None, random: Random) -> list[str]:
    """Every short text, texts that the tree and the automaton give, and near misses of these."""
    tree = TreeSampler(pattern, letters)
    likely = [tree.text(random) for _ in range(8)]
    if dfa is not None:
        sampler = LanguageSampler(dfa)
        likely += [sampler.text(random) for _ in range(6)]
    texts = [*short_texts(letters), *likely, *(mutated(text, letters, random) for text in likely)]
    return [
        text
        for text in dict.fromkeys(texts)
        if len(text) <= LONGEST and not any("\ud800" <= character <= "\udfff" for character in text)
    ]


def test_random_patterns_agree_with_re() -> None:
    valid = pairs = matches = 0
    refused: Counter[str] = Counter()
    for seed in range(ROUNDS):
        random = Random(seed)
        drawn = RandomPattern(random)
        try:
            oracle = compiled(drawn.text)
        except re.error:
            continue
        valid += 1
        try:
            dfa = language(drawn.text)
        except PatternError as error:
            refused[error.reason] += 1
            continue
        for text in texts_about(drawn.text, drawn.letters, dfa, random):
            expected = oracle.fullmatch(text) is not None
            got = dfa is not None and dfa.accepts(text)
            assert got == expected, failure(seed, drawn.text, text)
            pairs += 1
            matches += expected
    print(f"{valid} patterns, {pairs} pairs, {matches} of them matches; refused: {dict(refused)}")
    assert valid >= 0.9 * ROUNDS
    assert pairs >= 35 * ROUNDS
    assert matches >= 4 * ROUNDS
    assert refused.total() < 1 + valid / 100, refused


def test_damaged_patterns_are_read_as_re_reads_them() -> None:
    # What is no longer a pattern is refused with the reason and at the place that `re` gives, and the rest is no worse.
    broken = 0
    for seed in range(ROUNDS):
        random = Random(seed)
        drawn = RandomPattern(random, atomic=0, looks=seed % 2 == 0)
        pattern = mutated(drawn.text, "()[]{}*+?|\\^-,:<=!#P1", random)
        if re.search(r"\\[pP]", pattern):
            continue  # for `re` an error, here a Unicode property
        mistake = mistake_in(pattern)
        refusal = None
        try:
            dfa = language(pattern)
        except PatternError as error:
            refusal = error
        if mistake is None and refusal is None:
            oracle = compiled(pattern)
            for text in short_texts(drawn.letters[:3]):
                got = dfa is not None and dfa.accepts(text)
                assert got == (oracle.fullmatch(text) is not None), failure(seed, pattern, text)
        elif mistake is None:
            assert re.search("not regular|inside a lookbehind|possessive|limit of", str(refusal)), (seed, pattern)
        else:
            broken += 1
            assert refusal is not None, (seed, pattern, mistake)
            # Of several mistakes, one at which the pattern ends too early is named first. A lookbehind of several
            # widths has no place for `re`.
            if not re.search("end of pattern|unterminated name", refusal.reason):
                assert refusal.reason == mistake.msg, (seed, pattern)
                assert mistake.pos in (refusal.position, None), (seed, pattern)
    assert broken >= ROUNDS / 10


def mistake_in(pattern: str) -> re.error | None:
    try:
        compiled(pattern)
    except re.error as error:
        return error
    return None


@tried("few", mostly_assumed_away=True)
@given(st.data(), st.integers(0, 1 << 30))
def test_accepts_what_hypothesis_generates(data: st.DataObject, seed: int) -> None:
    pattern = RandomPattern(Random(seed), atomic=0, looks=False).text
    # Hypothesis asks `re` of every text that it makes; `re` must not think about one for ever.
    read = read_pattern(pattern)
    assume(read is not None and ways(read[1], 16) < 10_000)
    try:
        oracle, dfa = compiled(pattern), language(pattern)
    except re.error:
        assume(False)
    assume(dfa is not None)
    text = data.draw(st.from_regex(oracle, fullmatch=True, alphabet=st.characters(codec="utf-8")))
    assert dfa is not None
    assert dfa.accepts(text), pattern


readable_elsewhere = st.recursive(
    st.sampled_from(["a", "b", "[ab]", "[^a]", "\u00e9", "[a-k]", r"\."]),
    lambda parts: st.one_of(
        st.lists(parts, max_size=3).map("".join),
        st.lists(parts, min_size=1, max_size=3).map(lambda branches: f"({'|'.join(branches)})"),
        st.builds(lambda part, count: f"({part}){count}", parts, st.sampled_from(["*", "+", "?", "{2}", "{1,3}"])),
    ),
    max_leaves=8,
)


@tried("few")
@given(readable_elsewhere)
def test_is_the_language_that_interegular_reads(pattern: str) -> None:
    assert Dfa.from_regex(pattern).equivalent(Dfa.from_fsm(interegular.parse_pattern(pattern).to_fsm()))


PROPERTIES = [r"\p{L}", r"\P{Lu}", r"\pN", r"[^\p{Greek}\p{Nd}]", r"[\p{Ll}_-]", r"[\P{L}k]", r"\p{Script=Cyrillic}",
              r"[^\p{L}]", r"\p{^L}"]  # fmt: skip


@tried("few")
@given(
    st.lists(st.sampled_from(PROPERTIES), min_size=1, max_size=2),
    st.sampled_from(["", "+", "{1,2}", "|x"]),
    st.integers(0, 1 << 30),
)
def test_properties_agree_with_the_regex_package(pieces: list[str], count: str, seed: int) -> None:
    pattern = "(?u)" + "".join(pieces) + count
    oracle = regex.compile(pattern)
    dfa = Dfa.from_regex(pattern)
    random = Random(seed)
    sampler = LanguageSampler(dfa)
    matching = [sampler.text(random) for _ in range(6)]
    near = [mutated(text, "aK\u03b1_ \u0660\n", random) for text in matching]
    for text in [*sampled_characters(random), *matching, *near]:
        assert dfa.accepts(text) == (oracle.fullmatch(text) is not None), text


@pytest.mark.parametrize("name", [r"\p{Lu}", r"\P{Lu}", r"\p{Lt}", r"\p{Greek}", r"\P{L}", r"[^\p{Ll}]"])
def test_properties_ignoring_case(name: str) -> None:
    # Alone only. Beside other members `regex` treats the property as another set: (?i)\P{Lu}|x matches small letters
    # that have no capital, (?i)\P{Lu} does not. Here a property is the same set everywhere.
    oracle = regex.compile(f"(?i){name}")
    dfa = Dfa.from_regex(f"(?i){name}")
    for text in sampled_characters(Random(1), 3000):
        assert dfa.accepts(text) == (oracle.fullmatch(text) is not None), text


def sampled_characters(random: Random, count: int = 60) -> list[str]:
    return [chr(code) for code in random.choices([*range(0x3000), *range(0x10000, 0x10500)], k=count)]


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("a$", "a\n", False),
        ("^a$", "a", True),
        (r"\Aa\Z|b", "b", True),
        ("a^b|c", "c", True),
        ("a^b|c", "ab", False),
        ("(?:^a)?b", "ab", True),
        ("(?m)^a$", "a", True),
        ("x$yz|w", "w", True),
        ("(?:a|)*?b", "aab", True),
        (r"(?x) a  b # comment \n c", "ab", True),
        (r"(?#note)a(?-i:b)", "ab", True),
        (r"[]a]+", "]a", True),
        (r"[^]]", "]", False),
        ("a{,2}", "aa", True),
        ("a{x}", "a{x}", True),
        ("{", "{", True),
        ("\\\n", "\n", True),
        ("[\ud800-\udfffa]", "a", True),
        (r"\377", "\xff", True),
        (r"(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)\0610", "abcdefghij10", True),
        ("x*+y", "xxy", True),
        ("[a-f]++[0-9]", "abc1", True),
        ("(?>ab)c", "abc", True),
        ("(?:x*+y)*", "xyy", True),
        ("(a$|b)+", "ba", True),
        ("(^|,)x(,|$)", ",x", True),
        ("a$\\n?", "a\n", True),
        (r"\b|x", "", False),
        (r"(?:\b.)+", "a-", True),
        (r"\bcaf\u00e9\b|x", "caf\u00e9", False),
        (r"(?u)\bcaf\u00e9\b", "caf\u00e9", True),
        ("(?:(?!END).)*END", "ENEND", True),
        ("(?:(?!END).)*END", "ENDEND", False),
        ("(?=a(?!.*z)).*", "ay", True),
        ("(?=(?<=a)b|c).*", "ca", True),
        ("x(?<=(?<!a)x)", "x", True),
        ("(?:a(?=b)|b(?<=ab))*", "abab", True),
        ("(?=a)*b", "b", True),
        ("a(?<=^a)b", "ab", True),
        (r"(?>ab\Z|a)b|x", "ab", False),
        (r"(?u)(?a:\w)\w", "\u00e9a", False),
        ("(?i)[\U00010428-\U00010429]", "\U00010400", False),
        ("(?a)(?i)\u00e9", "\u00c9", False),
        ("(?>a|ab)c", "abc", False),
        ("(?>a*?)b", "b", True),
        (r"(?i:k)K", "\u212aK", False),
        (r"(?iu:k)K", "\u212aK", True),
    ],
)
def test_cases(pattern: str, text: str, expected: bool) -> None:
    assert (compiled(pattern).fullmatch(text) is not None) == expected
    assert Dfa.from_regex(pattern).accepts(text) == expected


def test_case_beyond_two_bytes_is_that_of_this_python() -> None:
    """With ``(?a)`` a range of such letters has both cases in Python 3.11, and one of them in 3.13."""
    pattern, text = "(?i)[\U00010400-\U00010401]", "\U00010428"
    assert Dfa.from_regex(pattern).accepts(text) == (compiled(pattern).fullmatch(text) is not None)
