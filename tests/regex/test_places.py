"""Which pieces of a pattern's text read what: examples, counts, and patterns as people write them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.support.patterns.places import compare, is_exact, pieces, read
from tests.support.patterns.random_patterns import language
from tests.support.patterns.texts import mutated

import sfgen.regex.position_automaton as places_module
from sfgen.errors import PatternError, SfgenError
from sfgen.regex import Characters, parse
from sfgen.regex.position_automaton import MAX_CONFIGURATIONS, PatternPositions, read_pieces

FOLDER = Path(__file__).parent.parent / "data" / "patterns"


# ---- examples --------------------------------------------------------------------------------------------------------


# For each pattern, texts; and for each of them the pattern with marks: «» around what may have read the text's last
# character, ‹› around what may read the next.
EXAMPLES: list[tuple[str, dict[str, str]]] = [
    ("[a-z]{3}[0-9]", {
        "": "‹[a-z]›{3}[0-9]",
        "ab": "«‹[a-z]›»{3}[0-9]",
        "abc": "«[a-z]»{3}‹[0-9]›",
        "abc1": "[a-z]{3}«[0-9]»",
        "ab1": "[a-z]{3}[0-9]",
    }),
    ("(hot|cold|hotel)", {
        "": "(‹h›ot|‹c›old|‹h›otel)",
        "hot": "(ho«t»|cold|ho«t»‹e›l)",
        "hote": "(hot|cold|hot«e»‹l›)",
    }),
    ("a|a", {
        "a": "«a»|«a»",
    }),
    (r'\{"name":"[A-Z][a-z]{1,9}"\}', {
        "{": r'«\{»‹"›name":"[A-Z][a-z]{1,9}"\}',
        '{"name":"Al': r'\{"name":"[A-Z]«‹[a-z]›»{1,9}‹"›\}',
        '{"name":"Abcdefghij': r'\{"name":"[A-Z]«[a-z]»{1,9}‹"›\}',
    }),
    ("(?x) a # not b\n [ #]{2,3} (?#c)\\ \\# (?-x: #)", {
        "a": "(?x) «a» # not b\n ‹[ #]›{2,3} (?#c)\\ \\# (?-x: #)",
        "a#": "(?x) a # not b\n «‹[ #]›»{2,3} (?#c)\\ \\# (?-x: #)",
        "a# ": "(?x) a # not b\n «‹[ #]›»{2,3} (?#c)‹\\ ›\\# (?-x: #)",
        "a#  #": "(?x) a # not b\n [ #]{2,3} (?#c)\\ «\\#» (?-x:‹ ›#)",
        "a#  # ": "(?x) a # not b\n [ #]{2,3} (?#c)\\ \\# (?-x:« »‹#›)",
    }),
    ("(?i)k(?-i:k)", {
        "K": "(?i)«k»(?-i:‹k›)",
        "KK": "(?i)k(?-i:k)",
    }),
    ("(?i:[a-c]|x)x", {
        "B": "(?i:«[a-c]»|x)‹x›",
        "XX": "(?i:[a-c]|x)x",
    }),
    (r"(?u)\w(?a:\w)", {
        "éé": r"(?u)\w(?a:\w)",
        "éa": r"(?u)\w(?a:«\w»)",
    }),
    (r"(?a:x)(?u:\w)\w|(?s:.).", {
        "x": r"(?a:«x»)(?u:‹\w›)\w|(?s:«.»)‹.›",
        "xé": r"(?a:x)(?u:«\w»)‹\w›|(?s:.)«.»",
        "\n": r"(?a:x)(?u:\w)\w|(?s:«.»)‹.›",
        "\n\n": r"(?a:x)(?u:\w)\w|(?s:.).",
    }),
    (r"\p{Lu}\pN[^\P{Greek}x]", {
        "": r"‹\p{Lu}›\pN[^\P{Greek}x]",
        "Ä": r"«\p{Lu}»‹\pN›[^\P{Greek}x]",
        "Ä½λ": r"\p{Lu}\pN«[^\P{Greek}x]»",
        "Ä½x": r"\p{Lu}\pN[^\P{Greek}x]",
    }),
    (r"[]a]+[^]]-[\]x]", {
        "]": r"«‹[]a]›»+‹[^]]›-[\]x]",
        "]b": r"[]a]+«[^]]»‹-›[\]x]",
        "]b-]": r"[]a]+[^]]-«[\]x]»",
    }),
    (r"[^]a]?[-a][a-]\0\012\101\x41\u0041\U00000041\N{EM DASH}\d", {
        "": r"‹[^]a]›?‹[-a]›[a-]\0\012\101\x41\u0041\U00000041\N{EM DASH}\d",
        "b": r"«[^]a]»?‹[-a]›[a-]\0\012\101\x41\u0041\U00000041\N{EM DASH}\d",
        "-": r"«[^]a]»?«‹[-a]›»‹[a-]›\0\012\101\x41\u0041\U00000041\N{EM DASH}\d",
        "a-\0\n": r"[^]a]?[-a][a-]\0«\012»‹\101›\x41\u0041\U00000041\N{EM DASH}\d",
        "-a\0\nAAA": r"[^]a]?[-a][a-]\0\012\101\x41«\u0041»‹\U00000041›\N{EM DASH}\d",
        "-a\0\nAAAA—": r"[^]a]?[-a][a-]\0\012\101\x41\u0041\U00000041«\N{EM DASH}»‹\d›",
    }),
    ("(?P<n>a)?+b{,2}?c{2,}d{0}e{x}", {
        "": "(?P<n>‹a›)?+‹b›{,2}?‹c›{2,}d{0}e{x}",
        "a": "(?P<n>«a»)?+‹b›{,2}?‹c›{2,}d{0}e{x}",
        "abb": "(?P<n>a)?+«b»{,2}?‹c›{2,}d{0}e{x}",
        "c": "(?P<n>a)?+b{,2}?«‹c›»{2,}d{0}e{x}",
        "cc": "(?P<n>a)?+b{,2}?«‹c›»{2,}d{0}‹e›{x}",
        "cce{": "(?P<n>a)?+b{,2}?c{2,}d{0}e«{»‹x›}",
    }),
    (r"^a(?=b(c|d[)]))\b(?:b)(?<!x)(?>e)$", {
        "a": r"^«a»(?=b(c|d[)]))\b(?:‹b›)(?<!x)(?>e)$",
        "ab": r"^a(?=b(c|d[)]))\b(?:«b»)(?<!x)(?>‹e›)$",
    }),
    (r"ax[^\s\S]|ab", {
        "": r"ax[^\s\S]|‹a›b",
        "a": r"ax[^\s\S]|«a»‹b›",
    }),
    (r"(?:ax[^\s\S])?b", {
        "": r"(?:ax[^\s\S])?‹b›",
    }),
    (r"[^\s\S]|c|a(?:[^\s\S]|[^\s\S])", {
        "": r"[^\s\S]|‹c›|a(?:[^\s\S]|[^\s\S])",
    }),
    ("😀é[é😀]", {
        "😀é": "😀«é»‹[é😀]›",
    }),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "after"), EXAMPLES, ids=[pattern for pattern, _ in EXAMPLES])
def test_examples(pattern: str, after: dict[str, str]) -> None:
    places = PatternPositions(pattern)
    for text, expected in after.items():
        place = read(places, text)
        assert marked(pattern, places.last_read(place), places.next(place)) == expected, text


def marked(pattern: str, last: tuple[tuple[int, int], ...], following: tuple[tuple[int, int], ...]) -> str:
    written = list(pattern)
    for marks, spans in (("‹›", following), ("«»", last)):
        for start, end in spans:
            written[start] = marks[0] + written[start]
            written[end - 1] += marks[1]
    return "".join(written)


def test_the_end() -> None:
    places = PatternPositions("(?:ab?){2}|")
    tried = ["", "a", "aa", "ab", "aba", "aab", "abab", "aaa", "b"]
    assert [text for text in tried if places.may_end(read(places, text))] == ["", "aa", "aba", "aab", "abab"]


def test_places_are_values() -> None:
    places = PatternPositions("(?:a|b)+")
    assert read(places, "aba") == read(places, "bba") != read(places, "bab")
    assert len({places.start, read(places, "a"), read(places, "aa"), read(places, "ab")}) == 3


@pytest.mark.parametrize("pattern", ["(", "a{3,2}", r"\p{Nope}", r"(a)\1", "(" * 500 + ")" * 500])
def test_what_is_no_pattern_is_refused_as_elsewhere(pattern: str) -> None:
    with pytest.raises(PatternError) as expected:
        parse(pattern)
    with pytest.raises(PatternError, match=re.escape(str(expected.value))):
        PatternPositions(pattern)


# ---- counts ----------------------------------------------------------------------------------------------------------


COUNTED = [
    "((a{2}b?){3}c){2}",
    "(?:(?:a|ab){2,3}b?){2,4}",
    "(?:a{2,3}){2}|(?:a{3}b){2,}",
    "(?:a{0,2}){3,5}b",
    "(?:(?:a?b?){2}c?){2,3}",
    "(?:(?:a{2,})?b{2}){,3}a{5}",
    "[ab]*a[ab]{6}",
    "(?:a(?:b|c{3})+){2}(?:ab){3,}",
    "((?:a{3}|b){1,2}){3,4}a{2,}",
]


@pytest.mark.parametrize("pattern", COUNTED)
def test_counts_are_exact(pattern: str) -> None:
    assert compare(pattern, "abc", most=3_000) < 3_000  # all there are


@given(st.recursive(st.sampled_from("abc"), lambda inner: st.one_of(
    st.builds("({}){}".format, inner, st.sampled_from(["{2}", "{2,3}", "{3,}", "{,2}", "{0}", "*", "+", "?", "{4,6}"])),
    st.builds("{}{}".format, inner, inner),
    st.builds("({}|{})".format, inner, inner),
), max_leaves=6))  # fmt: skip
def test_counts_of_random_nests_are_exact(pattern: str) -> None:
    assume(pattern.count("{") <= 3)  # more would be too many counts to be exact
    compare(pattern, "abc", most=150)


# ---- real and large patterns -----------------------------------------------------------------------------------------


def corpus() -> dict[str, tuple[str, list[str]]]:
    """The patterns that are read, those too that are refused later on, each with the texts it accepts."""
    found = {}
    for file in sorted(FOLDER.glob("*.toml")):
        for name, entry in tomllib.loads(file.read_text(encoding="utf-8")).items():
            try:
                parse(entry["pattern"])
            except SfgenError:
                continue
            found[f"{file.stem}/{name}"] = (entry["pattern"], entry.get("accepts", []))
    return found


def test_the_corpus_is_read_piece_by_piece() -> None:
    patterns = corpus()
    assert len(patterns) >= 350
    for name, (pattern, accepts) in patterns.items():
        places = PatternPositions(pattern)
        for piece in pieces(read_pieces(pattern)):
            text = pattern[piece.start : piece.end]
            assert isinstance(parse(text), Characters), (name, text)
        for text in accepts:
            place = places.start
            for offset, character in enumerate(text):
                before = places.next(place)
                place = places.step(place, character)
                assert places.last_read(place), (name, text, offset)
                assert set(places.last_read(place)) <= set(before), (name, text, offset)
            assert places.may_end(place), (name, text)


def test_the_corpus_agrees_with_the_automaton() -> None:
    compared = 0
    for name, (pattern, accepts) in corpus().items():
        if name.startswith("refused/") or not is_exact(pattern):
            continue
        dfa = language(pattern)
        places = PatternPositions(pattern)
        random = Random(0)
        for text in accepts:
            for tried in (text, mutated(text, text or "a", random), text[:-1]):
                assert places.may_end(read(places, tried)) == (dfa is not None and dfa.accepts(tried)), (pattern, tried)
                compared += 1
    assert compared >= 1_000


AMBIGUOUS = [
    (r"(\w{1,100} ?){1,100}!{3}", "word " * 15 + "wordword" * 5, "!!!"),
    (r"((\w{1,40}){1,40}){1,40}!{3}", "w" * 90, "!!!"),
    ("(?:(?:[ab]|cc?){1,60}){1,60}d{2}", "abccc" * 20, "dd"),
]


@pytest.mark.parametrize(("pattern", "text", "end"), AMBIGUOUS)
def test_too_many_counts_are_forgotten_and_nothing_is_missed(pattern: str, text: str, end: str) -> None:
    places = PatternPositions(pattern)
    place = read(places, text)
    assert any(None in counts for _, counts in place.read)
    assert len(place.read) <= MAX_CONFIGURATIONS + 2 * len(pattern)
    assert places.last_read(place)
    assert places.may_end(read(places, text + end))


def test_what_is_counted_afterwards_is_counted() -> None:
    places = PatternPositions(r"(\w{1,100} ?){1,100}!{3}")
    place = read(places, "word " * 15 + "!!")
    assert places.next(place) == ((20, 21),)
    assert places.next(places.step(place, "!")) == ()


def test_large_patterns() -> None:
    many = PatternPositions("(?:(?:a{1000}){1000}){1000}b")
    assert many.next(read(many, "a" * 1000)) == ((6, 7),)
    random = Random(0)
    words = ["".join(random.choices("abcdefgh", k=8)) for _ in range(3_000)]
    listed = PatternPositions(f"(?:(?:{'|'.join(words)}) )*")
    place = read(listed, f"{words[7]} {words[2999]}")
    assert listed.last_read(place) == ((6 + 9 * 2999 + 7, 6 + 9 * 2999 + 8),)
    optional = PatternPositions("a?" * 3_000)
    assert len(optional.next(read(optional, "aaa"))) == 2_997
    nest = PatternPositions("(" * 99 + "a{1,2}" + "){1,2}" * 99)
    assert nest.last_read(read(nest, "a" * 40)) == ((99, 100),)


@pytest.mark.parametrize("pattern", ["a?" * 500, f"(?:{'|'.join('a' * 500)})*", "(?:a?b?)*" * 100])
def test_a_step_takes_time_in_proportion_to_the_pattern(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0
    enter = places_module._Walk._enter

    def counted(*arguments: Any) -> None:
        nonlocal calls
        calls += 1
        enter(*arguments)

    monkeypatch.setattr(places_module._Walk, "_enter", counted)
    places = PatternPositions(pattern)
    place = read(places, "aa")
    assert len(place.read) >= 90
    calls = 0
    places.next(place)
    assert calls <= 2 * len(pattern)
