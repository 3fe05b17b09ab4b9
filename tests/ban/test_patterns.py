"""Banned patterns: what is found where, by cases; and patterns that cannot be banned."""

from __future__ import annotations

from random import Random

import pytest
from tests.support.patterns.spans import PatternThreads, Reader, check, offsets

from sfgen.automata import algebra, lookaround
from sfgen.automata.compile import compile_pattern
from sfgen.automata.determinize import Deterministic
from sfgen.automata.dfa import Dfa
from sfgen.ban import automaton
from sfgen.ban import patterns as module
from sfgen.ban.patterns import PatternAutomata
from sfgen.errors import BannedWordsError, PatternError, PatternTooLarge


@pytest.mark.parametrize(
    ("pattern", "prompt", "text", "expected"),
    [
        (r"not \w+ but", "", "not really but", [(14, False, 0)]),
        (r"not \w+ but", "it is not on", "ly but", [(6, False, -6)]),
        (r"not \w+ but", "", "not  but", []),
        (r"\btalk\b", "we ", "talk!", [(4, True, 0)]),
        (r"\btalk\b", "we ta", "lk", []),
        (r"\btalk\b", "x", "talk!", []),
        (r"\btalk\b", "", "talking", []),
        (r"\btalk\b", "talk", "!", []),
        (r"(?<=we )talk", "we", " talk", [(5, False, 1)]),
        (r"(?<=we )talk", "you", " talk", []),
        ("colou?r", "", "colorcolour", [(5, False, 0), (11, False, 5)]),
        ("(?i)talk", "TA", "lK", [(2, False, -2)]),
        ("😀+", "a😀", "😀b", [(4, False, -4)]),
        ("聊.天", "", "说聊聊天", [(12, False, 3)]),
        ("a.*b", "a", "xb b", [(2, False, -1), (4, False, -1)]),
        ("a.*b", "a", "\nb", []),
        ("(?s)a.*b", "a", "\nb", [(2, False, -1)]),
        ("^a", "", "a", [(1, False, 0)]),
        ("^a", "\n", "a", []),
        ("(?m)^a", "\n", "a", [(1, False, 0)]),
        ("(?m)a$", "", "a\nb", [(1, True, 0)]),
        ("a$", "", "a\nb", []),
        ("a(?=.*b)", "a", "ab", [(1, True, 0)]),
        ("(?:a|b)+(?!a)", "", "abac", [(1, True, 0), (3, True, 0)]),
        ("�", "", "a�", [(4, False, 1)]),
        ("(?>a|ab)c", "", "abcac", [(5, False, 3)]),
        ("a++b", "aa", "b", [(1, False, -2)]),
        (r"small\stalk", "small", "\u00a0talk small\u3000talk", [(6, False, -5), (19, False, 7)]),
        (r"(?a)small\stalk", "", "small\u00a0talk small talk", [(22, False, 12)]),
        ("(?i)É", "", "é", [(2, False, 0)]),
        ("(?i)kiss", "", "\u212aIſſ", [(8, False, 0)]),
        (r"\btalk\b", "é", "talk talk²", []),
        (r"(?a)\btalk\b", "é", "talké", [(4, True, 0)]),
        (r"\d\b", "", "٣ ", [(2, True, 0)]),
        ("(?i)i", "", "İıI", [(2, False, 0), (4, False, 2), (5, False, 4)]),
    ],
)
def test_cases(pattern: str, prompt: str, text: str, expected: list[tuple[int, bool, int]]) -> None:
    threads = PatternThreads(PatternAutomata([pattern]), -len(prompt.encode()))
    places = offsets(prompt, text)
    steps = [threads.step(character, *places[place : place + 2]) for place, character in enumerate(prompt + text)]
    assert [match[:3] for step in steps for match in step] == expected
    check(pattern, PatternAutomata([pattern]), prompt, text)


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("talk", "we ta", 3),
        (r"\btalk\b", "we ta", 3),
        (r"\btalk\b", "xta", None),
        (r"\btalk\b", "we talk", 3),
        (r"\btalk\b", "we talk ", None),
        ("talk", "we talk", None),
        ("talk", "we x", None),
        ("a.*b", "xay", 1),
        ("a.*b", "xay\n", None),
        ("aa?a?", "aaa", 1),
        (r"a(?!.*b)", "za..", 1),
        ("ab$|b", "a", 0),
    ],
)
def test_open_from(pattern: str, text: str, expected: int | None) -> None:
    assert Reader(PatternAutomata([pattern]), "", text).open_from() == expected


def test_what_the_prompt_alone_can_complete_is_not_under_way() -> None:
    assert Reader(PatternAutomata([r"\btalk\b"]), "we talk").open_from() is None
    assert Reader(PatternAutomata([r"\btalk\b"]), "we talk").at_end() == []
    assert Reader(PatternAutomata(["talk(?= now)"]), "we talk", " n").open_from() is None


def test_the_end_of_the_text_completes() -> None:
    reader = Reader(PatternAutomata([r"\btalk\b", "lk$", "x"]), "we ta", "lk")
    state = reader.threads.state
    assert reader.at_end() == [(7, True, 3, 0), (7, True, 5, 1)]
    assert reader.threads.state == state
    assert reader.read("s") == []
    assert reader.at_end() == []


def test_matches_that_wait_for_the_same_are_all_reported() -> None:
    reader = Reader(PatternAutomata(["a(?=.*b)"]), "", "a-a")
    assert reader.at_end() == []
    assert reader.threads.waiting == (((1, 0), (3, 2)),)
    assert reader.threads.starts == ()
    assert reader.read("b") == [(1, True, 0, 0), (3, True, 2, 0)]
    assert reader.read("b") == []
    reader = Reader(PatternAutomata(["a(?!b)(?=.*x)|c(?=.*x)"]), "", "ca-")  # they wait for other things at first
    assert reader.read("x") == [(1, True, 0, 0), (2, True, 1, 0)]
    reader = Reader(PatternAutomata(["ca(?!b)(?=.*x)|(?<=c)a(?=.*x)"]), "", "ca-")
    assert reader.read("x") == [(2, True, 0, 0)]


def test_several_patterns_have_their_numbers() -> None:
    assert Reader(PatternAutomata(["b", "ab", r"a\b"]), "", "ab").found == [[], [(2, False, 1, 0), (2, False, 0, 1)]]


def test_no_patterns() -> None:
    threads = PatternThreads(PatternAutomata([]), -1)
    mark = threads.mark()
    assert threads.step("a", -1, 0) == threads.at_end() == []
    assert threads.open_from() is None
    threads.reset(mark)
    assert threads.state == PatternThreads(PatternAutomata(()), 0).state


def test_a_state_has_no_position() -> None:
    automata = PatternAutomata([r"not \w+ but", r"\btalk\b"])
    random = Random(0)
    reader = Reader(automata, "")
    states = set()
    for _ in range(3000):
        reader.read(random.choice("not bu talk"))
        states.add(reader.threads.state)
    assert len(states) < 60
    one, other = Reader(automata, "x not", " ta").threads, Reader(automata, "", "talk or not ta").threads
    assert one.state == other.state
    assert one.state != Reader(automata, "", "not tal").threads.state


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    pattern = r"(?:a[ab]{3}|b.a)\b"
    unbounded, bounded = PatternAutomata([pattern]), PatternAutomata([pattern])
    text = "".join(Random(1).choices("ab ", k=400))
    one, other = Reader(unbounded, ""), Reader(bounded, "")
    for character in text:
        expected = one.read(character)
        with monkeypatch.context() as patched:
            patched.setattr(automaton, "MOST_STEPS", 10)
            assert other.read(character) == expected
        assert one.threads.state == other.threads.state or one.at_end() == other.at_end()
        assert one.open_from() == other.open_from()
        assert sum(len(state.steps) for state in other.threads.automaton._states.values()) <= 10
        assert sum(len(known.steps) for known in bounded._contexts.values()) <= 10


# ---- patterns that cannot be banned ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pattern",
    ["", "a*", r"\b", "(?=x)", "$", "(?m)^", "a|", "x*(?<=y)", r"\B", "(?!x)", "(?:a?b?)?", "(?<!a)$", "(?=a)a*"],
)
def test_the_empty_text_is_refused(pattern: str) -> None:
    with pytest.raises(BannedWordsError, match="matches the empty text and would ban every text") as caught:
        PatternAutomata(["fine", pattern])
    assert repr(pattern) in caught.value.message
    assert "a+" in caught.value.hint


@pytest.mark.parametrize("pattern", ["a*b", "(?!$)(?s:.)", r"(?<!\w)\w*(?<=\w)", r"(?=\w)\W*\w"])
def test_what_looks_empty_and_is_not(pattern: str) -> None:
    PatternAutomata([pattern])


@pytest.mark.parametrize("pattern", ["a^b", r"[^\s\S]", r"a\bb", "(?=a)b", "\ud800"])
def test_a_pattern_that_never_matches_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError, match="matches no text at all") as caught:
        PatternAutomata([pattern])
    assert caught.value.pattern == pattern


def test_a_mistake_keeps_its_caret() -> None:
    with pytest.raises(PatternError) as caught:
        PatternAutomata(["fine", "ab(c"])
    assert caught.value.pattern == "ab(c"
    assert caught.value.position == 2
    assert "^" in caught.value.details[1]


def test_limits_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PatternTooLarge, match="limit of"):
        PatternAutomata(["(a{1000}){1000}"])
    with pytest.raises(PatternTooLarge, match="nested"):
        PatternAutomata(["(" * 5000 + "a" + ")" * 5000])
    monkeypatch.setattr(lookaround, "MAX_LOOKAROUND_WORK", 100)
    with pytest.raises(PatternTooLarge, match="lookarounds and word boundaries"):
        PatternAutomata([r"\btalk\b"])


def test_the_state_of_all_texts_is_told_from_others() -> None:
    texts = algebra.all_texts()

    def state_of_all_texts(automaton: Deterministic) -> int:
        return module._state_of_all_texts(automaton, texts, 0x110000)

    assert state_of_all_texts(texts) == 0
    assert state_of_all_texts(compile_pattern("(?s)ab.*|c")) == Dfa.from_regex("(?s)ab.*|c").walk(b"ab")
    # All ASCII texts; those with an even number of é, of which no other is refused for good; none.
    for pattern in (r"[\0-\x7f]*", "(?:[^é]*é[^é]*é)*[^é]*", r"[^\s\S]"):
        assert state_of_all_texts(compile_pattern(pattern)) == -1
