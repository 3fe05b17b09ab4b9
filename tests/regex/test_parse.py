from __future__ import annotations

import re
import subprocess
import sys
import warnings

import pytest

from sfgen.errors import PatternError, PatternTooLarge
from sfgen.regex import Alternation, Anchor, AnchorKind, Atomic, Characters, Concatenation, Empty, Look, Repeat, parse
from sfgen.regex.ast import Node, width
from sfgen.regex.scan import MAX_NESTING, scan


def caret(error: PatternError) -> str:
    """The part of the pattern that the caret stands under, up to the end of the line."""
    line, mark = error.details
    return line[len(mark) - 1 :]


REFUSED = [
    ("a(?<=b(?=c))", "(?=c))", "lookahead"),
    (r"(?=\b)(?<!(?<=(?!b)))", "(?!b)))", "lookahead"),
    ("(?x) # (?<=\n a (?<=(?!b))", "(?!b))", "lookahead"),
    ("^a|^b(?<=(?:(?=c)))", "(?=c)))", "lookahead"),
    ("x(?<=a|bc)", "(?<=a|bc)", "look-behind requires fixed-width"),
    ("(?=(?<!a*))", "(?<!a*))", "look-behind requires fixed-width"),
    (r"(a)[\1](b)\2", r"\2", "backreference"),
    (r"(a)\0\101\1", r"\1", "backreference"),
    ("(?P<n>a)(?P=n)", "(?P=n)", "backreference"),
    ("(a)?(?(1)b|c)", "(?(1)b|c)", "conditional"),
    (r"\p{L}(a)\1", r"\1", "backreference"),
]


@pytest.mark.parametrize(("pattern", "rest", "name"), REFUSED)
def test_refused_constructs_are_named_and_pointed_at(pattern: str, rest: str, name: str) -> None:
    with pytest.raises(PatternError, match=name) as caught:
        parse(pattern)
    assert caught.value.position == pattern.rindex(rest)
    assert caret(caught.value) == rest
    assert caught.value.hint


SYNTAX_ERRORS = [
    "(", "a)", "[a", "(*a", "a**", "a{2}{3}", "(?P<1>a)", "(?P<a", "(?Pq)", "(?q)", r"\q", r"[\q]", r"\x1", r"[z-a]",
    r"\N{NO SUCH NAME}", r"\N{", r"\777", "a{3,2}", "(?z:a)", "a(?i)b", "(?au)a", "(?P<a>b)(?P<a>c)", "(?i-i:a)",
    r"\1", "(?(9)a)", "(?<a)", "\\", "(?L)a", "(?#", "(?", "^*", "[]", r"(\1)", r"(?P=a)", "(?-u:a)", "(?i",
]  # fmt: skip


@pytest.mark.parametrize("pattern", SYNTAX_ERRORS)
@pytest.mark.parametrize("before", ["", "é{2}", r"\p{Greek}[\p{L}]"])
def test_syntax_errors_have_the_message_and_place_of_re(pattern: str, before: str) -> None:
    # The oracle reads an ordinary character of the same length in place of each property.
    with pytest.raises(re.error) as expected:
        re.compile(before.replace(r"\p{Greek}", "0" * 9).replace(r"\p{L}", "0" * 5) + pattern, re.ASCII)
    with pytest.raises(PatternError) as caught:
        parse(before + pattern)
    assert caught.value.reason == expected.value.msg
    assert caught.value.position == expected.value.pos


@pytest.mark.parametrize("pattern", ["a)", ")", "a**", "a{2}{3}", "[z-a]", "(?P<1>a)", r"\q", "(?Pq)"])
def test_a_property_behind_an_error_does_not_move_it(pattern: str) -> None:
    with pytest.raises(re.error) as expected:
        re.compile(pattern + "0" * 5, re.ASCII)
    with pytest.raises(PatternError) as caught:
        parse(pattern + r"\p{L}")
    assert caught.value.position == expected.value.pos


def test_no_private_character_shows_in_a_message() -> None:
    with pytest.raises(PatternError, match=re.escape(r"bad character in group name '\\p{L}'")) as caught:
        parse(r"\p{N}(?P<\p{L}>a)")
    assert caught.value.position == 9


@pytest.mark.parametrize(
    ("pattern", "position", "reason"),
    [
        (r"a\p{Nope}", 1, r"unknown property \p{Nope}"),
        (r"[a\P{Nope=1}]", 2, r"\P{Nope=1}"),
        (r"a\p", 1, r"\p needs the name"),
        (r"\p{L", 3, "missing }"),
        (r"\p{}", 3, "missing property name"),
        (r"[a-\p{L}]", 1, r"bad character range a-\p{L}"),
        (r"x[\p{L}-z]", 2, r"bad character range \p{L}-z"),
        ("a{99999999999}", None, "too large"),
        ("a{" + "9" * 5000 + "}", None, "integer"),
        ("(?a)(?u)b", None, "incompatible"),
    ],
)
def test_other_mistakes(pattern: str, position: int | None, reason: str) -> None:
    with pytest.raises(PatternError, match=re.escape(reason)) as caught:
        parse(pattern)
    assert caught.value.position == position


def test_the_flag_of_templates() -> None:
    """From Python 3.13 on ``re`` does not know it any more, and says where its letter is."""
    with pytest.raises(PatternError, match=r"\?t") as caught:
        parse("(?t)a")
    assert caught.value.position in (0, 1)


@pytest.mark.parametrize("opening", ["(", "(?:", "(?P<a>(", "[(](", "(?=", "(?i:a|"])
def test_deep_nesting_is_refused(opening: str) -> None:
    for pattern in (opening * 5000, opening * 5000 + ")" * 10000):
        with pytest.raises(PatternTooLarge, match=f"limit of {MAX_NESTING}"):
            parse(pattern)


def test_nesting_just_below_the_limit_is_read() -> None:
    pattern = "(a|" * (MAX_NESTING - 1) + ")?" * (MAX_NESTING - 1)
    assert width(parse(pattern)) == (0, 1)


def test_a_full_stack_is_no_crash() -> None:
    def deeper(levels: int) -> Node:
        return deeper(levels - 1) if levels else parse("(" * 90 + ")" * 90)

    with pytest.raises(PatternTooLarge, match="nested too deep"):
        deeper(sys.getrecursionlimit() - 150)


@pytest.mark.parametrize("pattern", ["[[a]", "[!--b]", "[a&&b]", "[a||b]", "[a~~b]"])
def test_warnings_of_re_do_not_leak(pattern: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parse(pattern)


def test_warnings_do_not_reach_stderr() -> None:
    code = "from sfgen.regex import parse; parse('[[a]'); parse('[!--b]')"
    done = subprocess.run([sys.executable, "-W", "always", "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""


def characters(text: str) -> Characters:
    return Characters(tuple((ord(c), ord(c)) for c in text))


def test_trees() -> None:
    a, b = characters("a"), characters("b")
    assert parse("") == Empty()
    assert parse("(?P<n>(?:ab))") == Concatenation((a, b))
    assert parse("(?:a+?)") == Repeat(a, 1, None, lazy=True, position=4)
    assert parse("a++b") == Concatenation((Atomic(Repeat(a, 1, None, position=1), 1), b))
    assert parse("((a{2}){3})?") == Repeat(Repeat(Repeat(a, 2, 2, position=3), 3, 3, position=7), 0, 1, position=11)
    assert parse("(?:a{1}){1}") == a
    assert parse(r"[a](?:^){0}") == a
    assert parse("x|y|[^\\s\\S]") == Characters(((ord("x"), ord("y")),))
    assert parse("(?<!a)(?=b)") == Concatenation((Look(a, True, True), Look(b, False, False)))
    assert parse("(?=)(?<=(?<!))?") == Empty()
    assert parse("a(?!)") == parse("(?<!)a") == parse("[^\\s\\S]")


def test_the_order_of_branches_is_kept_where_their_widths_differ() -> None:
    assert parse("(?>a|b|ab|c)") == Atomic(Alternation((parse("[ab]"), parse("ab"), parse("c"))), 0)


def test_equal_anchors_of_branches_keep_their_positions() -> None:
    tree = parse(r"^a|^b(?m:^)|\A")
    found: list[tuple[AnchorKind, int]] = []

    def collect(node: object) -> None:
        if isinstance(node, Anchor):
            found.append((node.kind, node.position))
        for child in getattr(node, "parts", getattr(node, "branches", ())):
            collect(child)

    collect(tree)
    start, line = AnchorKind.TEXT_START, AnchorKind.LINE_START
    assert found == [(start, 0), (start, 3), (line, 9), (start, 12)]


def test_scan_lists_what_stands_where() -> None:
    found = scan(r"(?x)^a{2,}+[$^*]{,3}? # \b*" + "\n" + r"(?>b)\p{L}(?P<n>\$)\Z")
    assert [(c.text, c.start) for c in found.assertions] == [("^", 4), (r"\Z", 47)]
    assert [(c.text, c.start) for c in found.repeats] == [("{2,}+", 6), ("{,3}?", 16)]
    assert [(c.text, c.start) for c in found.atomic_groups] == [("(?>", 28)]
    assert [(c.text, c.start) for c in found.properties] == [(r"\p{L}", 33)]


@pytest.mark.parametrize("code", ["\\U000F0000", "\U000f0000", "\\U000f0001|\U000f0000"])
def test_the_pattern_may_use_private_characters_itself(code: str) -> None:
    assert parse(rf"[0]|\p{{Nd}}|{code}") == parse(rf"\p{{Nd}}|{code}")
    ranges = parse(rf"\p{{Nd}}|{code}")
    assert isinstance(ranges, Characters)
    assert any(first <= 0xF0000 <= last or first <= 0xF0001 <= last for first, last in ranges.ranges)
