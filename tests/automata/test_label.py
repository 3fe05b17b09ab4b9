"""What a label says, read as a pattern, is the set that it stands for; and it can be read."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.support.running.tried import tried

from sfgen.automata import Dfa
from sfgen.automata.edges import following
from sfgen.automata.label import label
from sfgen.regex.characters import TEXT, Ranges, complement, union

ASCII = st.integers(0, 0x7F)
codes = st.one_of(
    ASCII,
    st.sampled_from(list(map(ord, "^-]\\[.{}()|*+?$ /&~#\"'\n\t\r\x00\x1f\x7f\x80\xa0…0:@AZ`az"))),
    st.integers(0, 0x7FF),
    st.sampled_from([0x300, 0x5D0, 0x5EA, 0x2028, 0x200B, 0x212A, 0x3042, 0xD7FF, 0xE000, 0xFFFF, 0x1F600, 0x10FFFF]),
    st.integers(0, 0x10FFFF),
)
ranges = st.one_of(
    st.lists(codes.map(lambda code: (code, code)), min_size=1, max_size=8),
    st.lists(st.tuples(codes, codes).map(lambda pair: (min(pair), max(pair))), min_size=1, max_size=4),
    st.lists(st.tuples(ASCII, ASCII).map(lambda pair: (min(pair), max(pair))), min_size=1, max_size=6),
).map(lambda pairs: union(pairs))
sets = st.one_of(ranges, ranges.map(complement)).filter(bool)


@given(sets)
@tried("many")
def test_the_label_as_a_pattern_reads_the_set(characters: Ranges) -> None:
    text = label(characters, width=10_000)
    assert "…" not in text
    dfa = Dfa.from_regex(text)
    assert following(dfa, 0) == characters
    assert all(dfa.accepts(chr(first)) for first, _ in characters)


@example(TEXT, 5)
@given(sets, st.integers(5, 40))
@tried("many")
def test_a_label_takes_no_more_columns_than_it_may(characters: Ranges, width: int) -> None:
    text = label(characters, width=width)
    columns = sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)
    is_one = len(characters) == 1 and characters[0][0] == characters[0][1]
    assert columns <= width or is_one
    if "…" in text:
        assert text.endswith("…]")
        assert label(characters, width=10_000).startswith(text.removesuffix("…]"))
    else:
        assert text == label(characters, width=10_000)


@given(sets)
@tried("many")
def test_all_of_a_label_can_be_seen(characters: Ranges) -> None:
    text = label(characters)
    assert text.isprintable()
    assert unicodedata.is_normalized("NFC", text)
    assert not any(unicodedata.category(character) in ("Mn", "Mc", "Me") for character in text)
    assert " " not in text or "[" in text


@pytest.mark.parametrize(
    "pattern",
    [
        *("a", "é", "😀", "א", ".", r"\.", r"\x1b", r"\t", r"\u2026", r"\u0301", r"\u200b", r"\u212a", r"\xa0"),
        *("[ ]", r"\s", r"\S", r"[\s\S]", r"\\", r"\]", r"\{", "-", "/", '"', "#", "&", "~"),
        *("[a-z]", "[0-9A-Fa-f]", "[0-9A-Za-z_]", "[^0-9A-Za-z_]", "[^0-9]", '[^"\\\\\\n]', '[^"\\\\\\x00-\\x1f]'),
        *("[一-龥]", "[^\\x00-\\x7f]", "[\\x80-\\xff]", "[ -~]", "[\\t-\\r]", "[A-z]", "[😀-😎]", "[\\u05d0-\\u05ea]"),
        *("[0-9:]", "[A-Z@]", "[0-9./]", "[!-9]", "[+-]", "[0-9Ee+.-]", "[^-]", "[a^]", "[!^]", "[^^]", "[\\^-\\x7f]"),
        *("[*-\\-]", "[\\--/]", "[a-zßäöü]", "[a-z ]", "[ \\t]", "[A-Za-zªµºÀ-ÖØ-öø-ˁˆ-ˑ…]"),
    ],
)
def test_a_person_writes_it_like_this(pattern: str) -> None:
    read = pattern if "…" not in pattern else r"\p{L}"
    assert label(following(Dfa.from_regex(read), 0)) == pattern


def test_no_character_and_every_character() -> None:
    assert label(()) == "(?!)"
    assert label(TEXT) == r"[\s\S]"
