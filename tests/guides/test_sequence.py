"""Parts one after the other: what may follow, by brute force over all texts and all ways to divide them.

Parts, endings, limits and banned words are drawn. A text is one of a sequence by the definition of each part alone, and
a token may follow where some text goes on with it.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from functools import cache, cached_property

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.support.guides.conformance import can_take
from tests.support.running.tried import tried

from sfgen import BannedWords, Dfa, Index, Vocabulary
from sfgen.ban.difference import without_banned
from sfgen.errors import BannedWordsError, DeadEnd, GenerationError, LimitTooSmall, UsageError
from sfgen.index import Marker
from sfgen.index.sequence import Chain, SequenceGuide
from sfgen.index.sequence_parts import Constrained, Fixed, Free, TokenPart

PATTERNS = ["a{0,2}", "ab?", "(a|bb)b?", "b|ab", "(ab){0,2}", "a|b|ab"]
LONGEST = 12  # bytes of a text that is looked at


@cache
def texts_of(pattern: str, words: tuple[str, ...]) -> frozenset[bytes]:
    """All texts of a pattern without banned words."""
    every = ("".join(letters) for size in range(5) for letters in itertools.product("ab", repeat=size))
    return frozenset(
        text.encode() for text in every if re.fullmatch(pattern, text) and not any(word in text for word in words)
    )


@dataclass(frozen=True)
class Defined:
    """A part: a literal, free text up to a marker, or texts with an ending."""

    kind: str
    literal: bytes = b""
    texts: frozenset[bytes] = frozenset()

    def ends(self, text: bytes) -> list[int]:
        """Where it may end at the beginning of a text that is whole."""
        if self.kind == "literal":
            return [len(self.literal)] if text.startswith(self.literal) else []
        if self.kind == "free":
            found = text.find(self.literal)
            return [] if found < 0 else [found + len(self.literal)]
        sizes = [size for size in range(len(text) + 1) if text[:size] in self.texts]
        if self.kind == "earliest":
            return sizes[:1]
        if self.kind == "longest":
            read = max(
                size for size in range(len(text) + 1) if any(each.startswith(text[:size]) for each in self.texts)
            )
            return [read] if read in sizes else []
        return sizes

    @property
    def most(self) -> int:
        """The bytes that complete any beginning of it."""
        return max(map(len, self.texts), default=len(self.literal))


@dataclass
class Definition:
    """A sequence, by its parts alone."""

    parts: tuple[Defined, ...]
    uncounted: int
    vocabulary: Vocabulary
    _viable: dict[bytes, bool] = field(default_factory=dict)

    def divides(self, text: bytes, number: int = 0) -> bool:
        """Whether a whole text is one of the parts from a number on."""
        if number == len(self.parts):
            return not text
        return any(self.divides(text[end:], number + 1) for end in self.parts[number].ends(text))

    @cached_property
    def _rests(self) -> list[bytes]:
        size = sum(part.most for part in self.parts)
        return [b"".join(each) for n in range(size + 1) for each in itertools.product([b"a", b"b"], repeat=n)]

    def viable(self, text: bytes) -> bool:
        """Whether some text goes on so."""
        if text not in self._viable:
            self._viable[text] = any(self.divides(text + rest) for rest in self._rests)
        return self._viable[text]

    def tokens(self, text: bytes) -> set[int]:
        """The tokens that may follow without a limit."""
        texts = ((token, data) for token, data in enumerate(self.vocabulary.tokens) if data)
        return {token for token, data in texts if self.viable(text + data) and not self.cuts(text, text + data)}

    def cuts(self, text: bytes, after: bytes) -> bool:
        """Whether a token holds the end of a longest text, and something after it."""
        start = 0
        for part in self.parts:
            ends = part.ends(after[start:])
            if not ends:
                return False
            start += ends[0]
            if part.kind == "longest" and len(text) < start < len(after):
                return True
        return False


@st.composite
def definitions(draw: st.DrawFn, *, every_byte: bool = True) -> tuple[Definition, Chain]:
    letters = [b"a", b"b"]
    longer = draw(st.lists(st.text("ab", min_size=2, max_size=4).map(str.encode), max_size=5))
    vocabulary = Vocabulary([*letters, *longer, None], [2 + len(longer)])
    definite = draw(st.booleans())
    uncounted = draw(st.integers(0, 2))
    defined, parts = list[Defined](), list[TokenPart]()
    for number in range(uncounted + draw(st.integers(0, 2))):
        kinds = (
            ["literal", "free"]
            if number < uncounted
            else ["literal", "free", "longest" if definite else "anywhere", "earliest"]
        )
        add(draw, draw(st.sampled_from(kinds)), number >= uncounted, vocabulary, defined, parts)
    add(draw, "anywhere", True, vocabulary, defined, parts)
    definition = Definition(tuple(defined), uncounted, vocabulary)
    assume(sum(part.most for part in defined) <= LONGEST - 3)
    assume(definition.viable(b""))
    try:
        return definition, Chain(parts)
    except UsageError:  # a longest text could take in the beginning of what must follow
        assume(False)
        raise


def add(
    draw: st.DrawFn, kind: str, counts: bool, vocabulary: Vocabulary, defined: list[Defined], parts: list[TokenPart]
) -> None:
    """Draw a part of a kind, and what defines it."""
    if kind in ("literal", "free"):
        data = draw(st.text("ab", min_size=1, max_size=2)).encode()
        parts.append(Fixed(data, counts=counts) if kind == "literal" else Free(Marker(data), counts=counts))
        defined.append(Defined(kind, data))
        return
    pattern = draw(st.sampled_from(PATTERNS))
    words = tuple(sorted(draw(st.sets(st.sampled_from(["aa", "bb", "ba"]), max_size=1))))
    source = Index(Dfa.from_regex(pattern), vocabulary)
    if words:
        try:
            clean = without_banned(source, BannedWords(list(words), match="substring"))
        except BannedWordsError:
            assume(False)
        assert clean is not None
        parts.append(Constrained(clean, kind))  # type: ignore[arg-type]
    else:
        parts.append(Constrained(source, kind))  # type: ignore[arg-type]
    defined.append(Defined(kind, texts=texts_of(pattern, words)))


def asked(guide: SequenceGuide) -> set[int]:
    try:
        found = guide.allowed_tokens()
    except GenerationError:
        return set()
    mask = guide.mask()
    assert [token for token in range(32 * len(mask)) if int(mask[token // 32]) >> token % 32 & 1] == found.tolist()
    return set(found.tolist())


@tried("some")
@given(definitions(), st.data())
def test_a_walk_without_a_limit(drawn: tuple[Definition, Chain], data: st.DataObject) -> None:
    definition, sequence = drawn
    guide, text, steps = sequence.guide(), b"", list[bytes]()
    ends = set(definition.vocabulary.end_token_ids)
    while len(text) < LONGEST - 4:
        is_whole = definition.divides(text)
        expected = definition.tokens(text) | (ends if is_whole else set())
        assert asked(guide) == expected, (definition, text)
        assert {token for token in range(len(definition.vocabulary)) if can_take(guide, token)} == expected
        assert guide.is_accepting is is_whole
        forced = guide.forced_bytes()
        for size in range(len(forced)):
            following = {byte for byte in b"ab" if definition.viable(text + forced[:size] + bytes([byte]))}
            assert following == {forced[size]}
            assert not definition.divides(text + forced[:size])
        spans = sequence.divided(text)
        assert (spans is not None) is is_whole
        back = data.draw(st.integers(0, 2 * len(steps)))
        if 0 < back <= len(steps):
            guide.rollback(back)
            del steps[len(steps) - back :]
        elif expected - ends:
            token = data.draw(st.sampled_from(sorted(expected - ends)))
            steps.append(definition.vocabulary.tokens[token] or b"")
            guide.advance(token)
        else:
            break
        text = b"".join(steps)


@tried("many")
@given(definitions(), st.integers(0, 6), st.data())
def test_a_limit_leaves_out_what_cannot_be_completed_and_nothing_that_the_parts_complete(
    drawn: tuple[Definition, Chain], limit: int, data: st.DataObject
) -> None:
    """Every walk comes to an end within the limit, and what fits part by part is allowed."""
    definition, sequence = drawn
    try:
        guide = sequence.guide(limit)
    except (LimitTooSmall, DeadEnd):
        assert sequence.guide().tokens_left() > limit
        return
    free, ends, text = sequence.guide(), set(definition.vocabulary.end_token_ids), b""
    assert free.tokens_left() <= limit
    for _ in range(LONGEST):
        allowed = asked(guide)
        assert {token for token in range(len(definition.vocabulary)) if can_take(guide, token)} == allowed
        is_whole = definition.divides(text)
        assert allowed or is_whole, "a way that was allowed comes to an end"
        for token in definition.tokens(text):
            twin = free.fork()
            twin.advance(token)
            counts = guide.room is not None and len(twin._between) == len(free._between)
            fits = twin.tokens_left() + counts <= (guide.room or 0)
            assert (token in allowed) is fits
        texts = sorted(allowed - ends)
        if not texts or len(text) > LONGEST - 4 or (is_whole and data.draw(st.booleans())):
            break
        token = data.draw(st.sampled_from(texts))
        text += definition.vocabulary.tokens[token] or b""
        guide.advance(token)
        free.advance(token)
    else:
        raise AssertionError
    assert guide.room is not None
    assert guide.room >= 0


def test_free_text_is_read_on_beside_other_ways_to_divide() -> None:
    vocabulary = Vocabulary([b"a", b"b", b"x", None], [3])
    pattern, end = (Index(Dfa.from_regex(each), vocabulary) for each in ("a*", "x"))
    guide = Chain([pattern, Free(Marker(b"ab")), end]).guide()
    for token in (0, 0, 1):  # aab: free text up to its marker, or with the b that is no marker behind aa
        guide.advance(token)
    guide.advance(2)
    assert guide.is_accepting
    guide.advance(0)
    assert not guide.is_accepting


def test_special_tokens_are_read_beside_other_ways_to_divide() -> None:
    vocabulary = Vocabulary([b"a", b"b", b"1", b"!", None, None], [5])
    pattern, end = (Index(Dfa.from_regex(each), vocabulary) for each in ("a*", "1"))
    for marker in (b"!", b"?"):  # no token writes the second one
        for last in (end, Constrained(Index(Dfa.from_regex("1a*"), vocabulary), "longest")):
            free = Free(Marker(marker, 4))
            guide = Chain([pattern, free, last]).guide(4)
            for token, after in ((0, {0, 1, 2, 4}), (4, {2}), (2, None)):
                allowed = asked(guide)
                assert {token for token in range(6) if can_take(guide, token)} == allowed
                assert {0, 1, 2, 4} <= allowed or token != 0
                guide.advance(token)
                assert after is None or asked(guide) - {3} == after
            assert guide.is_accepting
    guide = Chain([pattern, Free(Marker(b"ab", 4)), Constrained(pattern, "longest")]).guide()
    for token in (0, 0, 1):
        guide.advance(token)
    assert asked(guide) == {0, 1, 2, 3, 4, 5} == {token for token in range(6) if can_take(guide, token)}
    with pytest.raises(UsageError, match="special token"):
        Chain([pattern, Fixed(b"!", token=4), end])
