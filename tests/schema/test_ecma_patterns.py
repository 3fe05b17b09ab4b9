r"""The oracles are Python's ``re`` and regress, an engine for ECMAScript: what is accepted, both must find."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest
import regress
from hypothesis import given
from hypothesis import strategies as st
from tests.support.running.tried import some_of

from sfgen import JsonSchema
from sfgen.automata import Dfa
from sfgen.automata.examples import examples
from sfgen.errors import PatternError, PatternTooLarge
from sfgen.regex.characters import cased
from sfgen.schema.scalars.ecma_patterns import pattern_texts, texts_found_by_either

REAL = json.loads((Path(__file__).parent.parent / "data" / "ecma_patterns.json").read_text("utf-8"))

ODD = "٣éÉßẞµıſ日😀\u00a0\u2028\ufeff\x85\x1c\r\n"
"""Characters that the two engines do not read alike, and others beyond ASCII."""


def python_finds(pattern: str, text: str) -> bool:
    return re.search(pattern, text) is not None


def ecma_finds(pattern: str, text: str) -> bool:
    return regress.Regex(pattern, "u").find(text) is not None


def mutated(text: str, rng: random.Random) -> str:
    """The text with a few characters taken out, put in or exchanged."""
    characters = list(text)
    for _ in range(rng.randint(1, 3)):
        position = rng.randint(0, len(characters))
        characters[position : position + rng.randint(0, 1)] = rng.choices(f"aB0-_. /@{ODD}{text}", k=rng.randint(0, 1))
    return "".join(characters)


@pytest.mark.parametrize("name", REAL)
def test_real_patterns_are_found_where_both_find_them(name: str) -> None:
    pattern, valid, invalid = REAL[name]
    texts = pattern_texts(pattern)
    assert [text for text in valid if not texts.accepts(text)] == []
    assert [text for text in invalid if texts.accepts(text)] == []
    rng = random.Random(11)
    some = [*valid, *invalid, *examples(texts, 40)]
    some += [mutated(rng.choice(some), rng) for _ in range(300)]
    for text in some:
        # regress does not read what is an error with the flag u and has one meaning without it.
        found = python_finds(pattern, text) and (name in BARE or ecma_finds(pattern, text))
        if texts.accepts(text):
            assert found, text
        elif text.isascii() and text.isprintable():
            assert not found, text


BARE = {"template expression, bare braces"}


pieces = st.sampled_from(
    [
        *"ab0- .^$é",
        r"\d",
        r"\D",
        r"\w",
        r"\W",
        r"\s",
        r"\S",
        r"[\d-]",
        r"[^\d]",
        r"[^\wé]",
        r"[\S\n]",
        "[a-c0]",
        "[^a]",
        r"\b",
        r"\B",
        r"\.",
        r"[\s\S]",
        r"[^\s\S]",
        "[^.]",
        r"\u00e9",
        r"\x41",
        r"\n",
    ]
)
patterns = st.recursive(
    pieces,
    lambda parts: st.one_of(
        st.lists(parts, min_size=1, max_size=3).map("".join),
        st.lists(parts, min_size=1, max_size=3).map(lambda branches: f"(?:{'|'.join(branches)})"),
        st.builds(
            lambda part, count: f"(?:{part}){count}", parts, st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "*?"])
        ),
        st.builds(lambda kind, part: f"(?{kind}{part})", st.sampled_from(["=", "!"]), parts),
        st.builds(lambda kind, part: f"(?<{kind}{part})", st.sampled_from(["=", "!"]), pieces),
        st.builds(lambda flags, part: f"(?{flags}:{part})", st.sampled_from(["i", "-i", "s", "m", "is-m"]), parts),
    ),
    max_leaves=7,
)
plain_texts = st.text("ab0-_ .A", max_size=6)
odd_texts = st.text(st.sampled_from("ab0-_ .A" + ODD), max_size=6)


def texts_of(pattern: str) -> Dfa | None:
    """The automaton; ``None`` where one of the engines or the budget refuses the pattern."""
    try:
        re.compile(pattern)
        regress.Regex(pattern, "u")
        return pattern_texts(pattern)
    except (re.error, regress.RegressError, PatternTooLarge):
        return None
    except PatternError as error:
        if "inside a lookbehind" in error.reason:
            return None
        raise


@given(pattern=patterns, texts=st.lists(plain_texts, min_size=1, max_size=30))
def test_on_plain_text_a_pattern_means_what_both_say(pattern: str, texts: list[str]) -> None:
    dfa = texts_of(pattern)
    for text in texts:
        if dfa is None:
            continue
        found = python_finds(pattern, text) and ecma_finds(pattern, text)
        # In an empty text Python's `\B` holds nowhere (before 3.14), the other's does. What one of them says there is
        # refused by each assertion, so that a pattern may be refused which both find, each in its own way.
        if text or r"\B" not in pattern:
            assert dfa.accepts(text) == found, (pattern, text)
        assert found or not dfa.accepts(text), (pattern, text)


@given(pattern=patterns, texts=st.lists(odd_texts, min_size=1, max_size=30))
def test_on_odd_text_nothing_is_accepted_that_one_refuses(pattern: str, texts: list[str]) -> None:
    dfa = texts_of(pattern)
    for text in texts:
        if dfa is not None and dfa.accepts(text):
            assert python_finds(pattern, text), (pattern, text)
            assert ecma_finds(pattern, text), (pattern, text)


@pytest.mark.parametrize(
    "pattern", [r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", ".", r"[^\d]", r"[^\W]", r"[^\s]", r"[\w\s]", r"[^\wa]"]
)
def test_a_single_character_is_in_both_sets_and_no_other_is(pattern: str) -> None:
    one = pattern_texts(f"^{pattern}$")
    accepted = re.compile(pattern)
    # A newline is left out: `$` of `re` stands before it.
    for code in [*range(10), *range(11, 0x3100), *range(0xFE00, 0x10000), *range(0x1D7C0, 0x1D810), 0x1F600]:
        both = accepted.fullmatch(chr(code)) is not None and ecma_finds(f"^{pattern}$", chr(code))
        assert one.accepts(chr(code)) == both, hex(code)


@pytest.mark.parametrize(
    "pattern", [r"^(?!\d).", r"^(?!\w).", r"^(?!\s)[^]", "^(?!.)[^]", "^(?!a$)", r"^(?!\b).", r"(?<!\d)é"]
)
def test_what_is_forbidden_is_forbidden_by_both(pattern: str) -> None:
    dfa = pattern_texts(pattern)
    for text in ["٣", "é", "aé", "٣é", "\x1cx", "\ufeffx", "\u2028", "\r", "\n", "a\n", "a", "1", "-", " ", "", "🙂é"]:
        if dfa.accepts(text):
            assert ecma_finds(pattern, text)
            assert "[^]" in pattern or python_finds(pattern, text)
    assert not dfa.accepts({"^(?!a$)": "a\n", "^(?!.)[^]": "\u2028", r"^(?!\s)[^]": "\ufeffx"}.get(pattern, "٣é"))


def test_case_is_folded_as_both_fold_it() -> None:
    """Each character that has a case, and what may be taken for it."""
    characters = cased()[0]
    for character in some_of(characters, 60):
        alike = [other for other in characters if other.casefold()[:1] == character.casefold()[:1]]
        alike += [other for other in "iIıİsſkK" if other not in alike]
        python, ecma = re.compile(f"^(?i:{character})$"), regress.Regex(f"^(?i:{character})$", "u")
        texts, either = pattern_texts(python.pattern), texts_found_by_either(python.pattern)
        for text in alike:
            found = [python.search(text) is not None, ecma.find(text) is not None]
            # Unicode folds three pairs since version 15.1 only.
            is_new = {character, text} in ({"\u0390", "\u1fd3"}, {"\u03b0", "\u1fe3"}, {"\ufb05", "\ufb06"})
            assert texts.accepts(text) == (all(found) and not is_new), (character, text)
            assert either.accepts(text) == any(found), (character, text)


@pytest.mark.parametrize(
    ("pattern", "valid", "invalid"),
    [
        ("^(?i:ab)c$", ["ABc", "aBc"], ["abC"]),
        ("^(?i:a(?-i:b))$", ["Ab", "ab"], ["AB"]),
        ("(?i)^[a-c]+$", ["aBC"], ["d", "aD"]),
        ("^(?i:[^a-c])$", ["d", "é"], ["B", "b"]),
        ("^(?s:.)$", ["\r", "a"], ["ab"]),
        ("(?s)(?i)^a.b$", ["A\nB"], ["ab"]),
        ("^(?m:^a$)", ["a", "a\nb"], ["b\na", "ab"]),
        ("(?m:^a$)", ["a", "b\na\nb"], ["ba", "ab"]),
        (r"^(?i:\p{Lu})$", ["A"], ["1"]),
        (r"^(?i:\bs\b.)$", ["s-", "S "], ["sſ", "sa"]),
    ],
)
def test_modifiers(pattern: str, valid: list[str], invalid: list[str]) -> None:
    texts = pattern_texts(pattern)
    assert [texts.accepts(text) for text in valid + invalid] == [True] * len(valid) + [False] * len(invalid)


def test_what_one_finds_is_not_written_where_nothing_may_be_found() -> None:
    schema = JsonSchema({"type": "string", "maxLength": 1, "not": {"pattern": "(?i:ı)"}})
    assert [schema.accepts(text) for text in ('"i"', '"I"', '"ı"', '"a"')] == [False, False, False, True]
    names = JsonSchema(
        {"type": "object", "patternProperties": {"(?i)^x-": {"type": "integer"}}, "additionalProperties": False}
    )
    assert [names.accepts(text) for text in ('{"X-a": 1}', '{"x-": 1}', '{"X-a": ""}', '{"y": 1}')] == [
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("pattern", "valid", "invalid"),
    [
        (r"^\p{L}+$", ["é日a"], ["1", "", "a1"]),
        (r"^\p{Lu}\P{Lu}*$", ["Éa1"], ["éa", "AB"]),
        (r"^[\p{Script=Greek}\d]+$", ["αβ1"], ["ab"]),
        ("^a[^]b$", ["a\nb", "a😀b"], ["ab"]),
        ("^a[]|b$", ["xb"], ["a"]),
        (r"^(?<year>\d{4})$", ["2026"], ["26"]),
        (r"^\u{1F600}\u{61}$", ["😀a"], ["😀"]),
        (r"^\cJ\0$", ["\n\0"], ["cJ0"]),
        (r"(?<=a+)b", ["aab", "ab"], ["b"]),
    ],
)
def test_what_only_ecma_reads_means_what_ecma_says(pattern: str, valid: list[str], invalid: list[str]) -> None:
    assert all(ecma_finds(pattern, text) for text in valid)
    assert not any(ecma_finds(pattern, text) for text in invalid)
    texts = pattern_texts(pattern)
    assert [texts.accepts(text) for text in valid + invalid] == [True] * len(valid) + [False] * len(invalid)


@pytest.mark.parametrize(
    ("pattern", "valid", "invalid"),
    [
        (r"\Aab\Z", ["ab"], ["xab", "ab\n"]),
        (r"^(?P<year>\d{4})$", ["2026"], ["26"]),
        (r"^\_\-\@\:\ \#\é$", ["_-@: #é"], ["\\_"]),
        ("^a{b}]$", ["a{b}]"], ["ab"]),
        ("^x{,}$", [], []),
    ],
)
def test_what_only_re_reads_means_what_re_says(pattern: str, valid: list[str], invalid: list[str]) -> None:
    if not valid:
        with pytest.raises(PatternError, match="fewest"):
            pattern_texts(pattern)
        return
    assert all(python_finds(pattern, text) for text in valid)
    texts = pattern_texts(pattern)
    assert [texts.accepts(text) for text in valid + invalid] == [True] * len(valid) + [False] * len(invalid)


@pytest.mark.parametrize(
    "pattern", ["[\ud800-\udfff]", r"[\ud800-\udbff][\udc00-\udfff]", r"\ud800", "a\udc00", "[]", r"[^\s\S]"]
)
def test_a_pattern_that_no_text_has_gives_the_empty_automaton(pattern: str) -> None:
    assert pattern_texts(pattern).is_empty


def test_surrogates_in_a_class_exclude_nothing_from_text() -> None:
    assert pattern_texts(r"^[^\ud800-\udfff]*$").equivalent(pattern_texts("^[^]*$"))


@pytest.mark.parametrize(
    ("pattern", "reason", "position"),
    [
        ("(a", "missing", 0), ("a)", "unbalanced", 1), ("*a", "nothing to repeat", 0),
        ("a**", "nothing to repeat", 2), ("a++", "nothing to repeat", 2), ("{2}", "nothing to repeat", 0),
        ("^*", "assertion cannot be repeated", 0), ("(?=a)*", "assertion cannot be repeated", 0),
        (r"\b+", "assertion cannot be repeated", 0), ("a{2,1}", "greater than", 1), ("a{,3}", "fewest", 1),
        ("[a", "unterminated", 0), ("[z-a]", "bad character range z-a", 1), (r"[\w-a]", "bad character range", 1),
        (r"[a-\d]", "bad character range", 1), ("\\", "end of pattern", 0), (r"\q", r"bad escape \\q", 0),
        (r"\x4", "incomplete", 0), (r"\u{110000}", "no character", 0), (r"\u12", "incomplete", 0),
        (r"\pL", "braces", 0), (r"\p{Xyz}", "unknown property", 0), (r"(a)\1", "matched: a backreference", 3),
        (r"(?<n>a)\k<n>", "not regular", 7), ("(?P<n>a)(?P=n)", "not regular", 8), ("a(?i)b", "unknown kind", 1),
        ("(?i-i:a)", "on and off", 0), ("(?x:a)", "unknown kind", 0), ("(?-:a)", "unknown kind", 0),
        ("(?>a)", "unknown kind", 0), ("(?<n>a)(?<n>b)", "two groups", 7), (r"\01", "bad escape", 0),
        (r"\c1", "bad escape", 0), (r"[\B]", "bad escape", 1), ("[]a]", "differently", 0), ("[^][a]", "differently", 0),
        (r"\ud83d\ude00", "pair of surrogates", 0), ("(?<=(?=a))b", "inside a lookbehind", 4),
        ("(?", "unknown kind", 0),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_an_error_with_its_position(pattern: str, reason: str, position: int) -> None:
    with pytest.raises(PatternError, match=reason) as caught:
        pattern_texts(pattern)
    assert caught.value.position == position


def test_hints_say_what_to_write() -> None:
    for pattern, hint in [
        ("a(?i)b", "(?i) at its beginning"),
        ("(?x)a", "Flags are i, m and s"),
        (r"\ud83d\ude00", r"\u{1f600}"),
        (r"(a)\1", "Write out"),
        (r"\pL", r"\p{L}"),
    ]:
        with pytest.raises(PatternError) as caught:
            pattern_texts(pattern)
        assert hint in caught.value.hint


@pytest.mark.parametrize("pattern", ["(" * 150 + ")" * 150, "a{1000001}", "a{99999999999999999999}", "(a{1000}){1000}"])
def test_what_is_too_large_is_refused(pattern: str) -> None:
    with pytest.raises(PatternTooLarge):
        pattern_texts(pattern)


def test_a_pattern_is_made_once() -> None:
    assert pattern_texts("^once$") is pattern_texts("^once$")


def test_any_of_many_words_is_found() -> None:
    """Which of them were found does not matter: no state is told apart by it."""
    words = [f"{letter}{letter.upper()}" for letter in "abcdefghijklmnopqrstuvwx"]
    texts = pattern_texts("|".join(["^first", *words, "last$"]))
    assert all(texts.accepts(text) for text in ("first of all", "…aA…", "xX", "the last", "bBaA"))
    assert not any(texts.accepts(text) for text in ("the first", "a A", "last one", ""))
    assert len(texts) < 100
