"""Every kind of refusal: what is said, where it points, and what is drawn under the pattern in a terminal."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from sfgen.automata import Dfa
from sfgen.errors import PatternError, PatternTooLarge
from sfgen.regex.scan import MAX_NESTING

# The pattern, how it goes on where the caret must stand, the reason, and whether a hint must say what else to write.
REFUSALS = [
    (r"(a)\1", r"\1", "a backreference", True),
    (r"(a)(?:b|\1)", r"\1)", "a backreference", True),
    (r"(?P<n>a)(?P=n)", "(?P=n)", "a backreference", True),
    (r"(a)[\1](?#\1)\\1\1", r"\1", "a backreference", True),
    (r"(?!.*(.).*\1)x", r"\1)x", "a backreference", True),
    (r"(<)?a(?(1)>)", "(?(1)", "a conditional group", True),
    (r"(?P<o><)?a(?(o)>|b)", "(?(o)", "a conditional group", True),
    (r"(?<=a(?=b))c", "(?=b)", "the lookahead (?= inside a lookbehind", True),
    (r"(?<!(?!b)a)c", "(?!b)", "the lookahead (?! inside a lookbehind", True),
    (r"b(?<=a*)c", "(?<=a*)", "look-behind requires fixed-width pattern", True),
    (r"(?<!a|bc)d", "(?<!a", "look-behind requires fixed-width pattern", True),
    (r"[a\p{Nope}]", r"\p{Nope}", "unknown property", False),
    (r"a\p", r"\p", r"\p needs the name of a Unicode property", True),
    (r"[\p{L}-z]", r"\p{L}-z", "bad character range", True),
    (r"a(?:b{1000}c){1000}", "{1000}", "more than the limit of", True),
    (r"a(b", "(b", "missing ), unterminated subpattern", False),
    (r"a)b", ")b", "unbalanced parenthesis", False),
    (r"a[b", "[b", "unterminated character set", False),
    (r"a|*", "*", "nothing to repeat", False),
    (r"a{2}{3}", "{3}", "multiple repeat", False),
    (r"a{3,2}", "3,2}", "min repeat greater than max repeat", False),
    (r"[z-a]", "z-a]", "bad character range z-a", False),
    (r"a\q", r"\q", r"bad escape \q", False),
    (r"a\x1", r"\x1", r"incomplete escape \x1", False),
    (r"a\N{NO SUCH NAME}", r"\N", "undefined character name", False),
    (r"a\777", r"\777", "octal escape value", False),
    (r"a(?i)b", "(?i)b", "global flags not at the start", False),
    (r"(?Rx)", "?R", "unknown extension ?R", False),
    (r"(?<n>a)", "?<n", "unknown extension ?<n", False),
    (r"(?P<1>a)", "1>a", "bad character in group name", False),
    (r"(?i-i:a)", ":a", "bad inline flags", False),
    ("a" + "\\", "\\", "bad escape (end of pattern)", False),
]

BEFORE = {
    "nothing": "",
    "letters": "abc",
    "accented": "\u00e9\u0416",
    "tab": "a\tb",
    "lines": "a\n\r\nb",
    "escape sequence": "\x1b\\[31m",
    "invisible": "\u202e\u200b\u00a0\u2028",
    "properties": r"\p{Greek}\P{L}",
    "private": "\ue000\U000f0000",
    "long": "a{2}" * 60,
}
WIDE = {
    "wide": "\u65e5\u672c",
    "full-width": "\uff21\u3000",
    "emoji": "\U0001f600",
    "combining": "e\u0301",
    "long and wide": "\u65e5" * 150,
}


def refusal(pattern: str) -> PatternError:
    with pytest.raises(PatternError) as caught:
        Dfa.from_regex(pattern)
    return caught.value


def shown(text: str) -> str:
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in text
    )


def under_the_caret(error: PatternError) -> str:
    """What stands right of and above the caret in a terminal."""
    line, mark = error.details
    assert mark.strip() == "^"
    for start in range(len(line)):
        if cell_len(line[:start]) == cell_len(mark) - 1 and cell_len(line[start]) > 0:
            return line[start:]
    return ""


@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize(("pattern", "at", "reason", "hint"), REFUSALS, ids=[pattern for pattern, *_ in REFUSALS])
def test_what_is_wrong_is_named_and_pointed_at(pattern: str, at: str, reason: str, hint: bool, before: str) -> None:
    error = refusal(BEFORE[before] + pattern)
    assert reason in error.reason
    assert error.position == len(BEFORE[before]) + pattern.rindex(at)
    rest = under_the_caret(error)
    assert rest[: len(at)] == shown(at)[: len(rest)]
    assert error.hint or not hint
    assert error.message == f"pattern: {error.reason} at position {error.position}"
    assert str(error).split("\n") == [error.message, *error.details, *([error.hint] if error.hint else [])]
    assert str(error).replace("\n", "").isprintable()
    assert all(cell_len(line) <= 104 for line in error.details)


@pytest.mark.parametrize("before", WIDE)
@pytest.mark.parametrize(("pattern", "at"), [(r"(a)\1", r"\1"), ("a(b", "(b")])
def test_the_caret_counts_columns(pattern: str, at: str, before: str) -> None:
    error = refusal(WIDE[before] + pattern)
    assert under_the_caret(error).startswith(at)
    assert all(cell_len(line) <= 104 for line in error.details)


def test_a_pattern_of_several_lines_is_shown_on_one() -> None:
    pattern = "(?x)\n\t( a | b )   # \\1 is not here\n\t\\1             # but here\n"
    error = refusal(pattern)
    assert error.position == pattern.rindex(r"\1")
    assert under_the_caret(error).startswith(r"\1             # but here\n")
    assert len(error.details) == 2


def test_of_several_the_first_is_named() -> None:
    assert refusal(r"(a)(?(1)b|c)\1").position == 3
    assert refusal(r"(a)\1(?(1)b|c)").position == 3
    assert refusal(r"(a)x(?<=(?=a)x)\1").position == 8


@pytest.mark.parametrize("pattern", ["a[^\\s\\S]", "a^b", "a(?!.*)b", "$a", r"\w\b\w", "(?!)", "(?<=b)a", "\ud83d"])
def test_a_pattern_that_matches_nothing_has_no_place(pattern: str) -> None:
    error = refusal(pattern)
    assert "no text at all" in error.reason
    assert error.position is None
    assert len(error.details) == 1
    assert error.hint
    assert not isinstance(error, PatternTooLarge)


@pytest.mark.parametrize(
    "pattern",
    ["(?:a{1000}){1000}", "(?:a|b)*a(?:a|b){30}", "(?:[a-z]{1,400}[0-9]?){1,400}", "(" * 200 + ")" * 200],
)
def test_limits_are_named_with_a_way_out(pattern: str) -> None:
    error = refusal(pattern)
    assert isinstance(error, PatternTooLarge)
    assert "limit of" in error.reason
    assert error.hint


def test_nesting_is_counted_where_it_passes_the_limit() -> None:
    error = refusal("é" + "(" * 150 + ")" * 150)
    assert error.position == MAX_NESTING
    assert under_the_caret(error).startswith("(")
