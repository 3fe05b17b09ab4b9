"""The state of a matcher: equal states have the same future, and there are few."""

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.running.tried import tried

from sfgen.ban import BannedWords

PIECES = [*(piece.encode() for piece in "ab. ß我e\u0301\u200b"), "我".encode()[:1], "我".encode()[1:2], b"\xff"]
WORDS = ["a", "ab", "a b", "b*", "a.b", ". a", "ba", "ss", "我a", "b b a"]
PATTERNS = ["ab+", r"\ba\b", r"a(?=.*b)", r"(?<!a)b", r"b\s?a$", "a(?!.b)"]
ALLOW = ["aab", "b a", "ab b", "a*", "..", "b.a", "abab"]


@st.composite
def lists(draw: st.DrawFn) -> BannedWords:
    words = draw(st.lists(st.sampled_from(WORDS), max_size=3))
    patterns = draw(st.lists(st.sampled_from(PATTERNS), min_size=not words, max_size=2))
    return BannedWords(
        words,
        patterns,
        draw(st.sampled_from(["word", "prefix", "substring"])),
        True,
        draw(st.booleans()),
        draw(st.lists(st.sampled_from(ALLOW), max_size=3)),
    )


texts = st.lists(st.sampled_from(PIECES), max_size=8).map(b"".join)


@tried("some")
@given(lists(), st.lists(st.tuples(texts, texts), min_size=2, max_size=12), st.lists(texts, min_size=1, max_size=6))
def test_equal_states_have_the_same_future(
    banned: BannedWords, pasts: list[tuple[bytes, bytes]], futures: list[bytes]
) -> None:
    by_state: dict[object, tuple[list[bool], tuple[bytes, bytes]]] = {}
    for prompt, text in pasts:
        for length in range(len(text) + 1):
            matcher = banned.matcher(prompt)
            matcher.advance(text[:length])
            state, mark = matcher.state, matcher.mark()
            reports = [matcher.finish() is not None]
            for future in futures:
                matcher.reset(mark)
                for byte in future:
                    reports.append(matcher.advance(bytes([byte])) is not None)
                    reports.append(matcher.finish() is not None)
            matcher.reset(mark)
            assert matcher.state == state
            expected, other = by_state.setdefault(state, (reports, (prompt, text[:length])))
            assert reports == expected, (other, (prompt, text[:length]))


@pytest.mark.parametrize("allow", [[], ["class", "small talk", "a b a b c"]])
@pytest.mark.parametrize("patterns", [[], ["a.*b", r"x(?=.*z)", r"\w+ly\b"]])
def test_states_come_again(allow: list[str], patterns: list[str]) -> None:
    """Text that repeats comes to the same states: there is no offset in them."""
    banned = BannedWords(["talk", "small talks", "a b c", "c++ d"], patterns, "word", True, True, allow)
    generator = random.Random(0)
    for _ in range(20):
        period = "".join(
            generator.choices(["a ", "b ", ".", "small ", "x", "c++ ", "\u200b", "clas", "q"], k=4)
        ).encode()
        matcher = banned.matcher()
        states = []
        for _ in range(40):
            matcher.advance(period)
            states.append(matcher.state)
        assert set(states[20:]) <= set(states[:20]), period


def test_the_state_tells_what_is_known() -> None:
    def state(prompt: str, text: str, allow: tuple[str, ...] = ()) -> object:
        matcher = BannedWords(["talk", "fuck you"], allow=allow).matcher(prompt.encode())
        matcher.advance(text.encode())
        return matcher.state

    assert state("", "we talk") == state("what you ", "a talk")
    assert state("", "fuck... ") == state("", "oh fuck, ")
    different = [
        state("talk", ""),
        state("", "talk"),
        state("", "tal"),
        state("", "fuck"),
        state("", "fuck "),
        state("", "x"),
    ]
    assert all(one != other for one, other in itertools.combinations(different, 2))
    assert state("", "small talk", ("small talk show",)) != state("", "big talk", ("small talk show",))


# Words, patterns, allowed words; two pasts (prompt, text) that differ only in what began first, or was excused, or lies
# in the prompt; and what follows. After the first past that completes a match, after the second it does not.
ORDERS = [
    ((["?! b"], [], [";! b"]), ("", "?!;! "), ("", ";!?! "), "b."),
    ((["b"], [], ["a! b*"]), ("", "c! b"), ("", "a! b"), "."),
    ((["a*"], [], ["a+ b"]), ("", "a+ "), ("a", "+ "), "x"),
    ((["b"], [], []), ("", "b"), ("b", ""), "."),
    ((["a.b"], [], []), ("", "a."), ("", "c."), "b."),
    (([], ["a(?=.*s)"], ["b a*"]), ("", "c a? "), ("", "b a? "), "s"),
]


@pytest.mark.parametrize(("lists", "one", "other", "future"), ORDERS)
def test_who_began_first_is_part_of_the_state(
    lists: tuple[list[str], list[str], list[str]], one: tuple[str, str], other: tuple[str, str], future: str
) -> None:
    words, patterns, allow = lists
    banned = BannedWords(words, patterns, allow=allow)
    matchers = [banned.matcher(prompt.encode()) for prompt, _ in (one, other)]
    for matcher, (_, text) in zip(matchers, (one, other), strict=True):
        assert matcher.advance(text.encode()) is None
    assert matchers[0].state != matchers[1].state
    reported = [matcher.advance(future.encode()) is not None for matcher in matchers]
    assert reported == [True, False]


def test_half_a_character_of_the_prompt_is_not_half_a_character_of_the_text() -> None:
    banned = BannedWords(["\ufffd"])
    half = "我".encode()[:2]
    one, other = banned.matcher(), banned.matcher(half)
    one.advance(half)
    assert one.state != other.state
    assert one.finish() is not None
    assert other.finish() is None
    assert one.advance(b"x") is not None
    assert other.advance(b"x") is None
    banned = BannedWords(["b"])
    one, other = banned.matcher(), banned.matcher(b"b")
    one.advance(b"b" + half)
    other.advance(half)
    assert one.state != other.state
    assert one.advance(b"x") is not None
    assert other.advance(b"x") is None
