"""Allowed spans: against their definition, and as soon as they can be known."""

import itertools
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfgen.ban import BannedWords, Match, Matcher, MatchMode, SeamMatcher, scan

MODES: tuple[MatchMode, ...] = ("word", "prefix", "substring")
CHARACTERS = "as. "
word = st.text(CHARACTERS, min_size=1, max_size=5).filter(lambda text: bool(text.strip()))
PATTERNS = ["s+a", r"\ba\b", "a(?=.*s)", r"a.?a", r"(?<=s)\.", "a+(?! )"]


@st.composite
def lists(draw: st.DrawFn) -> BannedWords:
    patterns = draw(st.one_of(st.just([]), st.lists(st.sampled_from(PATTERNS), max_size=2)))
    return BannedWords(
        draw(st.lists(word, min_size=not patterns, max_size=3)),
        patterns,
        draw(st.sampled_from(MODES)),
        allow=draw(st.lists(st.one_of(word, word.map(lambda text: text + "*")), min_size=1, max_size=3)),
    )


texts = st.text(CHARACTERS + "aasss", max_size=12)


@given(lists(), texts, texts)
def test_the_scanner_excuses_what_an_allowed_match_covers(banned: BannedWords, prompt: str, text: str) -> None:
    mode: MatchMode = "word" if banned.match == "word" else "substring"
    expected = set()
    for before in ("", prompt):
        everything = scan(before + text, BannedWords(banned.words or ["?"], (), banned.match))
        allowed = scan(before + text, BannedWords(banned.allow, (), mode))
        expected |= {
            Match(match.word, match.start - len(before), match.end - len(before))
            for match in everything
            if match.end > len(before)
            and not any(span.start <= match.start and match.end <= span.end for span in allowed)
        }
    found = [match for match in scan(text, banned, prompt=prompt) if match.word in banned.words]
    assert set(found) == expected
    assert [match.end for match in found] == sorted(match.end for match in found)


def reports(matcher: SeamMatcher, text: str) -> Iterator[tuple[int, Match]]:
    """The match that each character makes certain, with the number of characters read."""
    for length, character in enumerate(text, 1):
        match = matcher.advance(character.encode())
        if match is not None:
            yield length, match


def is_banned(text: str, banned: BannedWords, prompt: str = "") -> bool:
    return bool(scan(text, banned, prompt=prompt))


@given(lists(), texts, texts)
def test_the_end_of_the_text_settles_all(banned: BannedWords, prompt: str, text: str) -> None:
    matcher = banned.matcher(prompt.encode())
    for length in range(len(text) + 1):
        if length and matcher.advance(text[length - 1].encode()) is not None:
            # Certain: banned, however the text goes on.
            for rest in (text[length:], "", "a", "s", ".a", *(allowed[1:] for allowed in banned.allow)):
                assert is_banned(text[:length] + rest, banned, prompt)
            return
        assert (matcher.finish() is not None) == is_banned(text[:length], banned, prompt)


@given(lists(), texts)
def test_what_is_not_reported_may_still_be_excused(banned: BannedWords, text: str) -> None:
    """Not a character too late: if nothing is reported, something that follows leaves nothing that is banned."""
    matcher = banned.matcher()
    ends = ["", *("".join(letters) for size in (1, 2) for letters in itertools.product("as. ", repeat=size)), "?", "?a"]
    rests = [allowed.rstrip("*")[cut:] + end for allowed in banned.allow for cut in range(len(allowed)) for end in ends]
    for length, character in enumerate(text, 1):
        if matcher.advance(character.encode()) is not None:
            return
        before = text[:length]
        if any(not is_banned(before + rest, banned) for rest in [*ends, *rests]):
            continue
        # Whatever follows has a match, but for none of those that are there it is certain.
        for name in {match.word for match in scan(before, banned)}:
            assert any(not stays(name, before, rest, banned) for rest in [*ends, *rests]), before


def stays(name: str, before: str, rest: str, banned: BannedWords) -> bool:
    """Whether a match of this word that ends in the first part is banned with the second, too."""
    return any(match.word == name and match.end <= len(before) for match in scan(before + rest, banned))


@given(lists(), texts, texts)
def test_no_match_begins_before_what_is_open(banned: BannedWords, prompt: str, text: str) -> None:
    for length in range(len(text) + 1):
        matcher = banned.matcher(prompt.encode())
        if next(reports(matcher, text[:length]), None) is not None:
            return
        open_from = matcher.open_from()
        following = next(reports(matcher, text[length:]), None)
        last = following[1] if following else matcher.finish()
        if last is not None:
            assert last.start >= (length if open_from is None else open_from)


def first(banned: BannedWords, text: str) -> Match | None:
    matcher = banned.matcher()
    return matcher.advance(text.encode()) or matcher.finish()


def test_longer_words_may_contain_banned_ones() -> None:
    banned = BannedWords(["ass"], match="substring", allow=["class", "assess*"])
    assert first(banned, "Class assessment classes") is None
    assert first(banned, "glass") == Match("ass", 2, 5)
    assert first(banned, "class ass") == Match("ass", 6, 9)
    assert first(banned, "reassess") == Match("ass", 2, 5)  # a star: at the beginning of a word
    small = BannedWords(["talk"], allow=["small talk"])
    assert first(small, "Small... talk.") is None
    assert first(small, "small talks, talk") == Match("talk", 13, 17)
    assert first(small, "smalltalk talk") == Match("talk", 10, 14)
    assert first(small, "a small talk") is None
    assert first(BannedWords(["talk*"], allow=["talking"]), "talking") is None
    assert first(BannedWords(["talk*"], allow=["talking"]), "talkings") == Match("talk*", 0, 4)
    assert first(BannedWords(["talk"], allow=["talk", "never used"]), "talk") is None


def test_a_match_that_may_be_excused_is_pending() -> None:
    matcher = BannedWords(["talk"], allow=["talk show"]).matcher()
    assert matcher.advance(b"talk ") is None
    assert matcher.open_from() == 0
    assert matcher.finish() == Match("talk", 0, 4)
    assert matcher.finish() == Match("talk", 0, 4)
    mark = matcher.mark()
    assert matcher.advance(b"sh") is None
    assert matcher.open_from() == 0
    assert matcher.advance(b"e") == Match("talk", 0, 4)
    matcher.reset(mark)
    assert matcher.advance(b"show!") is None
    assert matcher.open_from() is None
    matcher.reset(mark)
    assert matcher.advance(b"show") is None
    assert matcher.finish() is None
    assert matcher.advance(b"s") == Match("talk", 0, 4)


def test_of_several_pending_matches_each_is_judged_by_itself() -> None:
    banned = BannedWords(["b", "abc"], match="substring", allow=["abcx", "bcd"])
    assert first(banned, "abcd") == Match("abc", 0, 3)
    assert first(banned, "abcx") is None
    assert first(banned, "bcd") is None
    assert first(banned, "bcx") == Match("b", 0, 1)


def test_what_an_allowed_word_that_begins_in_the_prompt_excuses_is_seen_by_who_has_the_text_alone() -> None:
    banned = BannedWords(["talk"], allow=["small talk show"])
    assert Matcher(banned.automata, b"some small").advance(b" talk show.") is None
    assert banned.matcher(b"some small").advance(b" talk show.") == Match("talk", 1, 5)
    assert scan(" talk show.", banned, prompt="some small") == [Match("talk", 1, 5)]
    banned = BannedWords(["talk"], allow=["small ta lk"])
    assert banned.matcher(b"small ta").advance(b"lk.") == Match("talk", -2, 2)
    banned = BannedWords(["talk"], match="substring", allow=["stalk"])
    assert banned.matcher(b"s").advance(b"talk") == Match("talk", 0, 4)
    assert banned.matcher(b"st").advance(b"alk") is None
    assert scan("alk", banned, prompt="st") == []


def test_allowed_words_are_compared_like_banned_ones() -> None:
    assert first(BannedWords(["ass"], match="substring", allow=["CLASS"]), "class") is None
    assert first(BannedWords(["ass"], match="substring", ignore_case=False, allow=["CLASS"]), "class") is not None
    assert first(BannedWords(["ass"], match="substring", normalize=True, allow=["clаss"]), "cla\u200bss") is None


def test_allowed_words_excuse_patterns() -> None:
    banned = BannedWords(patterns=[r"\w*ass\w*"], allow=["class"])
    assert first(banned, "class") is None
    assert first(BannedWords(patterns=["ass"], match="substring", allow=["class"]), "classy glass") == Match(
        "ass", 9, 12
    )
    waiting = BannedWords(patterns=["ass(?=.*!)"], match="substring", allow=["class"])
    assert first(waiting, "class !") is None
    assert first(waiting, "class ass !") == Match("ass(?=.*!)", 6, 9)


@pytest.mark.parametrize("normalize", [False, True])
def test_an_invisible_end_of_a_pattern_is_not_covered(normalize: bool) -> None:
    banned = BannedWords(["s"], ["as\u200b"], "substring", True, normalize, ["as", "as b"])
    text = "as\u200b"
    assert first(banned, text) == scan(text, banned)[0] == Match("as\u200b", 0, 5)
