"""Character classes against ``re`` itself, for every code point."""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfgen.regex import Characters, parse
from sfgen.regex.characters import Ranges, complement, difference, disjoint, union

TEXT = "".join(map(chr, range(0x110000)))  # offsets are code points; surrogates are taken out of what is found

# Long s, Kelvin, Angstrom, dotted and dotless i, micro, sharp s, ypogegrammeni, final sigma, title case, ligatures,
# Cyrillic rounded ve, Cherokee, Deseret (beyond U+FFFF, where `re` has rules of its own), circled letters.
TRICKY = [
    "s", "\u017f", "k", "\u212a", "\u00e5", "\u212b", "i", "\u0130", "\u0131", "\u00b5", "\u1e9e", "\u0345", "\u03c2",
    "\u01c5", "\ufb05", "\u0432", "\uab70", "\U00010428", "\u24d0",
]  # fmt: skip
CLASSES = [
    "[a-z]", "[^a-z]", "[^k]", "[k1]", r"\w", r"\W", r"[\d\u017f]", r"[^\S\u0130]", r"[\x00-\xff]", r"[^\w\u0131]",
    r"[\U00010400a]", r"[\U00010400-\U0001040f]", r"[\u0100-\U00010410]", r"[^\U00010428x]", ".", r"[\uff21-\uff2f]",
    "(?:s|\u0131|1)", r"[\W_s]",
]  # fmt: skip


def expected(pattern: str, flags: int) -> Ranges:
    return union((match.start(), match.end() - 1) for match in re.finditer(f"(?:{pattern})+", TEXT, flags))


def translated(pattern: str) -> Ranges:
    tree = parse(pattern)
    assert isinstance(tree, Characters)
    return tree.ranges


@pytest.mark.parametrize("mode", ["(?i)", "(?iu)"])
@pytest.mark.parametrize("character", TRICKY)
def test_one_character_ignoring_case(character: str, mode: str) -> None:
    for pattern in {character, character.upper()[0]}:
        assert translated(mode + pattern) == expected(pattern, re.I | (0 if "u" in mode else re.ASCII))


@pytest.mark.parametrize("mode", ["", "(?u)", "(?i)", "(?iu)"])
@pytest.mark.parametrize("pattern", CLASSES)
def test_classes(pattern: str, mode: str) -> None:
    flags = (re.I if "i" in mode else 0) | (0 if "u" in mode else re.ASCII)
    assert translated(mode + pattern) == expected(pattern, flags)


@pytest.mark.parametrize("escape", [r"\d", r"\D", r"\s", r"\S", r"\w", r"\W"])
def test_categories(escape: str) -> None:
    assert translated(escape) == expected(escape, re.ASCII)
    assert translated("(?u)" + escape) == expected(escape, 0)


def test_flags_of_groups() -> None:
    assert translated("(?s:.)") == expected(".", re.S)
    assert translated("(?i)(?-i:k)") == ((107, 107),)
    assert translated("(?u)(?a:\\d)") == ((48, 57),)
    assert translated("(?u:\\d)") == expected("\\d", 0)


def test_properties_ignore_the_ascii_flag() -> None:
    upper = translated(r"\p{Lu}")
    for code in range(0x3000):
        if unicodedata.category(chr(code)) != "Cn":
            assert disjoint(upper, ((code, code),)) == (unicodedata.category(chr(code)) != "Lu")
    assert translated(r"[^\P{Lu}]") == upper
    assert translated(r"(?i)\p{Lu}") == union(*(translated(rf"\p{{{name}}}") for name in ("Lu", "Ll", "Lt")))
    assert translated(r"[\p{Lu}1]") == union(upper, ((49, 49),))


small = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)).map(lambda pair: (min(pair), max(pair))), max_size=5)


@given(small, small)
def test_sets(one: list[tuple[int, int]], two: list[tuple[int, int]]) -> None:
    def members(ranges: Ranges) -> set[int]:
        return {code for first, last in ranges for code in range(first, min(last, 50) + 1)}

    left, right = union(one), union(two)
    assert members(union(one, two)) == members(tuple(one)) | members(tuple(two))
    assert members(complement(left)) == set(range(51)) - members(left)
    assert complement(complement(left)) == left
    assert members(difference(left, right)) == members(left) - members(right)
    assert disjoint(left, right) == (not members(left) & members(right))
    assert all(a[1] + 1 < b[0] for a, b in pairwise(left))


def test_no_set_contains_surrogates() -> None:
    assert union(((0xD000, 0xF000),)) == ((0xD000, 0xD7FF), (0xE000, 0xF000))
    assert union(((0xD800, 0xDFFF),)) == ()
    assert complement(()) == ((0, 0xD7FF), (0xE000, 0x10FFFF))
    assert translated(r"[\ud800-\udfff\ud900]") == ()
    assert translated(r"[^a\ud800]") == translated("[^a]")
