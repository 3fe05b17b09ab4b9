"""The matcher against the scanner: any words, any text, any cutting, any prompt, any rollback."""

import codecs
import itertools
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from tests.support.running.tried import tried

from sfgen.ban import BannedWords, Match, Matcher, SeamMatcher, scan
from sfgen.ban.characters import NON_WORD, SPACED, fold, kinds_of, other_readings
from sfgen.ban.entries import Entry
from sfgen.ban.words import entries_of

MODES: tuple[Literal["word", "prefix", "substring"], ...] = ("word", "prefix", "substring")
ALPHABET = (
    "abABsk1_  ..'+*-ßİſ\u212aŉi我們ก\u0e31🙂\u0301\ufe0f\u0345\u200b\ufffdаАｂ½…한がｶﾞк\u00ad´’\u0323áạlI|ǀ²ᵇᾳϹισ⒜("
)


@dataclass
class Case:
    words: BannedWords
    text: str


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A list of words and a text that is likely to have some of them, whole or in part."""
    few = draw(st.lists(st.sampled_from(ALPHABET), min_size=1, max_size=6))
    character = st.sampled_from([*few, " ", "."])
    normalize = draw(st.booleans())
    word = st.text(character, min_size=1, max_size=6).filter(
        lambda word: bool(word.strip(" *") and fold(word.strip(" *"), True, normalize).strip())
    )
    words = draw(st.lists(word, min_size=1, max_size=4, unique=True))
    banned = BannedWords(
        words, match=draw(st.sampled_from(MODES)), ignore_case=draw(st.booleans()), normalize=normalize
    )
    pieces = st.one_of(
        character, st.sampled_from(words), st.sampled_from(words).map(lambda word: word[: (len(word) + 1) // 2])
    )
    return Case(banned, "".join(draw(st.lists(pieces, max_size=8))))


def first(matcher: Matcher | SeamMatcher, chunks: list[bytes]) -> Match | None:
    """The first match in a text fed in pieces and then ended."""
    for chunk in chunks:
        match = matcher.advance(chunk)
        if match is not None:
            return match
    return matcher.finish()


def cut(data: bytes, places: list[int]) -> list[bytes]:
    """The bytes cut at places taken modulo their number."""
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[left:right] for left, right in itertools.pairwise(edges)]


cuts = st.lists(st.integers(0, 10_000), max_size=6)


@tried("many")
@given(cases(), cuts)
@example(Case(BannedWords([". ᵇ", "ᵇ ᵇ"], ignore_case=False, normalize=True), ". ᵇ. ᵇ"), [])
@example(Case(BannedWords(["ᵇ ᵇ", "ᵇᵇ ᵇ"], match="substring", normalize=True), "ᵇᵇ ᵇ ᵇ"), [])
def test_the_first_match_is_that_of_the_scanner_after_every_prompt(case: Case, places: list[int]) -> None:
    data = case.text.encode()
    everything = scan(case.text, case.words)
    for seam in range(len(data) + 1):  # within characters, too
        expected = next((match for match in everything if match.end > seam), None)
        if expected is not None:
            expected = Match(expected.word, expected.start - seam, expected.end - seam)
        for chunks in (cut(data[seam:], places), [data[seam:]], [bytes([byte]) for byte in data[seam:]]):
            assert first(Matcher(case.words.automata, data[:seam]), chunks) == expected


@tried("many")
@given(cases(), cuts)
@example(Case(BannedWords([".a", "aััaa", "ั a"], ignore_case=False), "aัั.a"), [])
def test_a_match_is_one_of_the_text_alone_or_after_its_prompt(case: Case, places: list[int]) -> None:
    """The two readings, each by a matcher of its own from the first to the last byte."""
    data = case.text.encode()
    for seam in range(len(data) + 1):
        for chunks in (cut(data[seam:], places), [bytes([byte]) for byte in data[seam:]]):
            readings = [Matcher(case.words.automata), Matcher(case.words.automata, data[:seam])]
            matcher = case.words.matcher(data[:seam])
            for chunk in chunks:
                found = [certain for reading in readings if (certain := reading.first_certain(chunk))]
                match = matcher.advance(chunk)
                if found:
                    assert match is not None
                    _, (end, _, _, number) = min(found)
                    assert (match.word, match.end) == (case.words.name(number), end)
                    break
                assert match is None
                starts = [start for reading in readings if (start := reading.open_from()) is not None]
                assert matcher.open_from() == min(starts, default=None)
            else:
                found_at_end = [match for reading in readings if (match := reading.finish())]
                assert (matcher.finish() is None) == (not found_at_end)


@given(cases(), st.integers(0, 40))
def test_the_scanner_takes_the_prompt_as_the_matcher_does(case: Case, seam: int) -> None:
    prompt, text = case.text[:seam], case.text[seam:]
    expected = next(iter(scan(text, case.words, prompt=prompt)), None)
    assert first(case.words.matcher(prompt.encode()), [text.encode()]) == expected


@given(cases(), st.lists(st.binary(max_size=3), min_size=1, max_size=4), cuts)
def test_bytes_that_are_no_utf8_are_replaced(case: Case, noise: list[bytes], places: list[int]) -> None:
    """The text with noise at some of the cuts, against what Python's decoder makes of it."""
    pieces = cut(case.text.encode(), places)
    data = b"".join(itertools.chain.from_iterable(itertools.zip_longest(pieces, noise[: len(pieces)], fillvalue=b"")))
    replaced: list[tuple[int, int]] = []

    def record(error: UnicodeError) -> tuple[str, int]:
        assert isinstance(error, UnicodeDecodeError)
        replaced.append((error.start, error.end))
        return "\ufffd", error.end

    codecs.register_error("sfgen-test-record", record)
    text = data.decode("utf-8", "sfgen-test-record")
    assert text == data.decode("utf-8", "replace")

    def original(offset: int) -> int:
        """From an offset into the replaced text to one into the data: a replacement has three bytes."""
        for start, end in replaced:
            if offset > start:
                offset += end - start - 3
        return offset

    expected = next(iter(scan(text, case.words)), None)
    if expected is not None:
        expected = Match(expected.word, original(expected.start), original(expected.end))
    for chunks in (cut(data, places), [data], [bytes([byte]) for byte in data]):
        assert first(case.words.matcher(), chunks) == expected


@given(cases(), st.integers(0, 40), st.lists(st.tuples(st.integers(0, 10), st.integers(0, 99)), max_size=12))
def test_reset_is_as_if_nothing_had_been_read(case: Case, seam: int, moves: list[tuple[int, int]]) -> None:
    """Feed, mark and go back at random, to any mark ever made: always as a fresh matcher fed with the same text."""
    data = case.text.encode()
    prompt, data = data[:seam], data[seam:]
    matcher = case.words.matcher(prompt)
    fed = b""
    marks = [(matcher.mark(), fed)]
    for length, choice in moves:
        if length == 0:
            mark, fed = marks[choice % len(marks)]
            matcher.reset(mark)
        else:
            start = choice % (len(data) + 1)
            matcher.advance(data[start : start + length])
            fed += data[start : start + length]
            marks.append((matcher.mark(), fed))
        fresh = case.words.matcher(prompt)
        fresh.advance(fed)
        assert matcher.mark() == fresh.mark()
        assert matcher.finish() == fresh.finish()
        assert matcher.mark() == fresh.mark()
        assert matcher.open_from() == fresh.open_from()


def has_orders(text: str) -> bool:
    """Whether marks of a text could stand in another order that means the same."""
    classes = [unicodedata.combining(character) for character in text]
    return any(0 < one < other for one, other in pairwise(classes))


def viable_starts(text: str, words: BannedWords) -> Iterator[int]:
    """Every byte offset from which the rest of the text begins a match that is not complete, by definition."""
    # Only for texts that are read in one way, with marks in one order.
    folded, starts, offset = "", [], 0
    for place, character in enumerate(text):
        before, folded = folded, fold(text[: place + 1], words.ignore_case, words.normalize)
        assume(folded.startswith(before))
        assume(not words.normalize or not other_readings(character, words.ignore_case))
        starts += [offset] * (len(folded) - len(before))
        offset += len(character.encode())
    assume(not any(has_orders(part) for entry in entries_of(words) for part in entry.parts))
    kinds = kinds_of(folded)

    def viable(entry: Entry, number: int, place: int) -> bool:
        part, rest = entry.parts[number], folded[place:]
        if len(rest) < len(part):
            return part.startswith(rest)
        if not rest.startswith(part):
            return False
        place += len(part)
        if number == len(entry.parts) - 1:
            return entry.right and place == len(folded)
        if place == len(folded):
            return True
        while place < len(folded) and kinds[place] == NON_WORD:
            place += 1
            if viable(entry, number + 1, place):
                return True
        return False

    for start in range(len(folded)):
        inside = start > 0 and kinds[start - 1] == kinds[start] == SPACED
        if any(not (entry.left and inside) and viable(entry, 0, start) for entry in entries_of(words)):
            yield starts[start]


@tried("many")
@given(cases())
def test_open_from_is_the_earliest_match_under_way(case: Case) -> None:
    for length in range(len(case.text) + 1):
        prefix = case.text[:length]
        matcher = case.words.matcher()
        matcher.advance(prefix.encode())
        assert matcher.open_from() == min(viable_starts(prefix, case.words), default=None)


@tried("many")
@given(cases())
def test_no_later_match_begins_before_open_from(case: Case) -> None:
    data = case.text.encode()
    needs_boundary = {entry.word: entry.right for entry in entries_of(case.words)}
    everything = scan(case.text, case.words)
    for seam in range(len(data) + 1):  # within characters, too
        matcher = case.words.matcher()
        matcher.advance(data[:seam])
        read = len(data[:seam].decode(errors="ignore").encode())
        dropped = matcher.mark().after._run.last  # what follows is no part of any word
        later = [
            match for match in everything if match.end > read or (match.end == dropped and needs_boundary[match.word])
        ]
        open_from = matcher.open_from()
        assert all(match.start >= (seam if open_from is None else open_from) for match in later)
        if seam > read:
            assert open_from is not None
            assert open_from <= read


def pieces_of(text: str) -> list[bytes]:
    return [piece.encode() for piece in text.split("|")]


def test_words_are_seen_however_they_are_cut() -> None:
    words = BannedWords(["talk", "listen", "fuck you"])
    for cut_text in ("ta|lk", "t|a|lk", "talk", "t|alk", "ta|l|k", "ta||lk"):
        assert first(words.matcher(), pieces_of(cut_text)) == Match("talk", 0, 4)
    assert first(words.matcher(), pieces_of("can|'|t| talk")) == Match("talk", 6, 10)
    assert first(words.matcher(), pieces_of("fuck| fu|ck you|.")) == Match("fuck you", 5, 13)
    assert first(words.matcher(), pieces_of("li| listen| to")) == Match("listen", 3, 9)
    assert first(BannedWords(["aab"], match="substring").matcher(), pieces_of("a|a|a|b")) == Match("aab", 1, 4)


def test_innocent_text_passes() -> None:
    words = BannedWords(["talk", "listen", "fuck you"])
    for cut_text in ("list|en|er", "fuck you|r", "talk|ing", "you", "you fuck", "s|talk", "list en", "fuck| it, you"):
        assert first(words.matcher(), pieces_of(cut_text)) is None


def test_a_word_is_complete_when_its_end_is_seen() -> None:
    matcher = BannedWords(["talk"]).matcher()
    assert matcher.advance(b"talk") is None
    assert matcher.open_from() == 0
    assert matcher.finish() == Match("talk", 0, 4)
    assert matcher.finish() == Match("talk", 0, 4)
    assert matcher.advance(b".") == Match("talk", 0, 4)
    assert matcher.open_from() is None
    assert BannedWords(["talk*"]).matcher().advance(b"talk") == Match("talk*", 0, 4)


def test_the_end_replaces_half_a_character() -> None:
    matcher = BannedWords(["talk", "\ufffd"]).matcher()
    assert matcher.advance("我".encode()[:2]) is None
    assert matcher.finish() == Match("\ufffd", 0, 2)
    assert matcher.advance("我".encode()[2:]) is None
    assert matcher.finish() is None


def test_half_a_surrogate_is_no_half_character() -> None:
    data = b"talk\xed\xa0"
    assert data.decode("utf-8", "replace") == "talk\ufffd\ufffd"
    for chunks in ([data], [data[:5], data[5:]], [data + b"\x80"]):
        matcher = BannedWords(["talk", "\ufffd\ufffd"]).matcher()
        assert [match for chunk in chunks if (match := matcher.advance(chunk))][-1] == Match("talk", 0, 4)
        assert matcher.finish() is None
    assert first(BannedWords(["\ufffd"]).matcher(), [b"\xed\xa0"]) == Match("\ufffd", 0, 1)


def test_the_seam_with_the_prompt() -> None:
    words = BannedWords(["talk", "talk about"])
    matcher = words.matcher(b"Can we talk")
    assert matcher.open_from() == -4
    assert matcher.finish() is None
    mark = matcher.mark()
    assert matcher.advance(b"?") is None
    assert matcher.open_from() == -4  # "talk? about" is still possible
    assert matcher.advance(b" about.") == Match("talk about", -4, 7)
    matcher.reset(mark)
    assert matcher.advance(b"ative") is None
    assert words.matcher(b"we tal").advance(b"k?") == Match("talk", -3, 1)


def test_every_cutting_of_chinese_bytes() -> None:
    words = BannedWords(["聊天", "禁止 詞彙", "talk"])
    text = "想聊天"
    data = text.encode()
    for places in itertools.product((False, True), repeat=len(data) - 1):
        edges = [0, *(place for place, chosen in enumerate(places, 1) if chosen), len(data)]
        chunks = [data[left:right] for left, right in itertools.pairwise(edges)]
        assert first(words.matcher(), chunks) == Match("聊天", 3, 9)
    matcher = words.matcher()
    assert matcher.advance("我們talk".encode()) is None
    assert matcher.open_from() == 6
    assert matcher.advance("吧".encode()[:2]) is None
    assert matcher.open_from() == 6
    assert matcher.finish() == Match("talk", 6, 10)
    assert matcher.advance("吧".encode()[2:]) == Match("talk", 6, 10)


@pytest.mark.parametrize("separator", [" ", "... ", "，", "🙂\ufe0f", "\x80", "\n\n- "])
@pytest.mark.parametrize("phrase", ["fuck you", "c++ you"])
def test_a_long_run_inside_a_phrase_keeps_its_start_in_little_memory(separator: str, phrase: str) -> None:
    matcher = BannedWords([phrase]).matcher(b"x " * 2000)
    head, tail = phrase.split()
    matcher.advance(head.encode())
    assert matcher.open_from() == 0
    for _ in range(2000):
        assert matcher.advance(separator.encode()) is None
    assert matcher.open_from() == 0
    mark = matcher.mark()
    assert mark.alone is None  # both readings have long been the same
    assert len(mark.after._run.starts) == 1
    length = len(head) + 2000 * len(separator.encode()) + len(tail)
    assert matcher.advance(tail.encode()) is None
    assert matcher.finish() == Match(phrase, 0, length)


@tried("some")
@given(cases(), st.integers(0, 12))
def test_a_closed_matcher_finds_what_was_open(case: Case, length: int) -> None:
    before, after = case.text[:length].encode("utf-8", "replace"), case.text[length:].encode("utf-8", "replace")
    found = []
    for is_closed in (False, True):
        matcher = Matcher(case.words.automata, before)
        if is_closed:
            matcher.close()
        matches = {*matcher.all_certain(after), *matcher.all_at_end()}
        found.append({match for match in matches if is_closed or match[2] < 0})
    assert found[0] == found[1]


def test_a_character_that_was_half_read_may_begin_a_match_of_a_closed_matcher() -> None:
    for text, expected in (("聊天", Match("聊天", 0, 6)), ("聊, 聊天", None)):
        matcher = BannedWords(["聊天"]).matcher()
        matcher.advance(text.encode()[:2])
        matcher.close()
        assert matcher.advance(text.encode()[2:]) == expected
