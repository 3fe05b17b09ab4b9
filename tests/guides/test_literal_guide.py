"""A literal before a constraint: what may follow, by the language and the vocabulary alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.support.guides.conformance import (
    Case,
    Walk,
    asked,
    check_allowed,
    check_as_new,
    check_refusals,
    check_validate,
    likely,
    take_random,
)
from tests.support.guides.kinds import KINDS, ByText, TextSource, case_of, language_of
from tests.support.guides.languages import Language
from tests.support.running.tried import tried

from sfgen import Dfa, Index, Substring, Template, Vocabulary
from sfgen.errors import DeadEnd, GenerationError, LimitTooSmall, UsageError
from sfgen.index import Unconstrained
from sfgen.index.distance import UNREACHABLE
from sfgen.index.sequence import Chain, SequenceGuide
from sfgen.index.sequence_parts import Fixed
from sfgen.protocols import GuideSource


def after(literal: bytes, source: GuideSource, max_tokens: int | None = None) -> SequenceGuide:
    """A guide through a literal whose tokens do not count, and then a source."""
    return Chain([Fixed(literal, counts=False), source]).guide(max_tokens)


@dataclass
class AfterLiteral:
    """Makes guides with a literal first."""

    literal: bytes
    source: GuideSource
    vocabulary: Vocabulary

    def guide(self, max_tokens: int | None = None) -> SequenceGuide:
        return after(self.literal, self.source, max_tokens)

    def refusal(self, data: bytes) -> dict[str, str] | None:
        raise AssertionError("nobody asks")


@dataclass
class Literal:
    """A case behind a literal, and its oracle.

    Args:
        inner: What comes behind.
        literal: What comes first.
    """

    inner: Case
    literal: bytes

    def __post_init__(self) -> None:
        language, size = self.inner.language, len(self.literal)

        def accepts(text: bytes) -> bool:
            return text.startswith(self.literal) and language.accepts(text[size:])

        def residual(text: bytes) -> Any:
            if len(text) < size:
                return (text,) if self.literal.startswith(text) else None
            return language.residual(text[size:]) if text.startswith(self.literal) else None

        name, alphabet = f"{self.literal!r} {language.name}", bytes({*self.literal, *language.alphabet})
        self.case = Case(
            AfterLiteral(self.literal, self.inner.source, self.inner.vocabulary),
            Language(name, alphabet, accepts, residual),
            self.inner.vocabulary,
            self.inner.looks_ahead,
            self.inner.is_exact,
            self.literal,
        )

    def may_follow(self, text: bytes, limit: int | None) -> set[int]:
        """The tokens that may follow inside the literal, tried one after the other."""
        inner, size = self.inner, len(self.literal)
        knows_ways = inner.looks_ahead and inner.is_exact
        found = set()
        for token, data in self.case.texts.items():
            new = text + data
            if len(new) < size:
                fits = self.literal.startswith(new) and bool(self.may_follow(new, limit))
            elif self.case.language.residual(new) is None:
                fits = False
            else:
                crosses = len(new) > size
                fewest = inner.fewest(new[size:]) if knows_ways else 0
                fits = fewest is not None and (limit is None or fewest <= limit - crosses)
            if fits:
                found.add(token)
        return found

    def check(self, walk: Walk) -> None:
        """All that the guide says of where it stands."""
        guide, text, case = walk.guide, walk.text, self.case
        allowed = set(check_allowed(walk))
        if walk.is_inside_literal:
            if not self.inner.looks_ahead or self.inner.is_exact:
                assert allowed == self.may_follow(text, walk.max_tokens), walk
            assert guide.is_accepting is False
            assert guide.is_finished is False
            assert guide.tokens_left() == case.source.guide().tokens_left()
            if self.inner.looks_ahead:
                assert not allowed & set(case.vocabulary.end_token_ids)
        else:
            behind = self.inner.source.guide()
            behind.advance_bytes(text[len(self.literal) :])
            assert guide.position == behind.position or walk.has_ended
            assert guide.is_accepting is behind.is_accepting
            if not walk.has_ended and walk.room is None:
                tokens = asked(behind)
                assert allowed == (set() if isinstance(tokens, GenerationError) else set(tokens.tolist()))
            assert walk.room is None or walk.room >= 0
        forced = case.language.forced(text)
        assert guide.forced_bytes() == forced
        for most in range(len(forced) + 2):
            assert guide.forced_bytes(most) == forced[:most]
        assert type(guide.state) is int
        assert guide.describe()
        assert hash(guide.position) == hash(guide.fork().position)


def literal_of(kind: str, data: st.DataObject) -> Literal:
    inner = case_of(kind, data.draw)
    assume(inner.vocabulary.text_token_ids.size)
    symbols = [bytes([byte]) for byte in inner.language.alphabet[:3]]
    pieces = [piece[:3] for piece in inner.texts.values()] + symbols
    literal = b"".join(data.draw(st.lists(st.sampled_from(pieces), min_size=1, max_size=3)))[:4]
    return Literal(inner, literal)


@pytest.mark.parametrize("kind", KINDS)
@tried("some")
@given(st.data())
def test_a_walk(kind: str, data: st.DataObject) -> None:
    """Any steps: tokens, bytes, steps back, forks."""
    literal = literal_of(kind, data)
    case = literal.case
    least = literal.inner.source.guide().tokens_left()
    more = data.draw(st.none() | st.integers(0, 3))
    walk = Walk.begin(case, None if more is None else least + more)
    literal.check(walk)
    for _ in range(data.draw(st.integers(1, 5))):
        step = data.draw(st.sampled_from(["token", "token", "token", "bytes", "back", "fork", "free"]))
        if step == "back":
            walk.rollback(data.draw(st.integers(0, len(walk.steps))))
        elif step in ("fork", "free"):
            walk = walk.fork(limited=step == "fork")
        else:
            take_random(walk, step, data.draw)
        literal.check(walk)
        check_as_new(walk) if walk.max_tokens is None else None
    check_validate(walk, data.draw(st.lists(st.integers(-1, len(case.vocabulary)), max_size=4)))
    check_validate(walk, likely(walk, data.draw))
    check_refusals(walk)


@pytest.mark.parametrize("kind", ["dfa", "schema", "grammar", "lark", "free text", "difference"])
@tried("some")
@given(st.data())
def test_a_text_is_whole_within_the_limit(kind: str, data: st.DataObject) -> None:
    """By allowed tokens alone a walk comes to an end, and no more tokens write text than the limit says."""
    literal = literal_of(kind, data)
    limit = literal.inner.source.guide().tokens_left() + data.draw(st.integers(0, 3))
    walk = Walk.begin(literal.case, limit)
    begins = literal.may_follow(b"", limit)
    if literal.inner.is_exact:
        assume(begins)
        assert set(walk.guide.allowed_tokens().tolist()) == begins
    else:  # whether a text fits is the guide's own bound; that the literal can be written at all is for the tokens
        assume(begins and not isinstance(asked(walk.guide), GenerationError))
    for _ in range(limit + len(literal.literal) + 1):
        if literal.case.language.accepts(walk.text) and data.draw(st.booleans()):
            break
        texts = [token for token in walk.guide.allowed_tokens().tolist() if token in literal.case.texts]
        if not texts:
            break
        walk.take(data.draw(st.sampled_from(texts)))
    assert literal.case.language.accepts(walk.text)
    assert walk.room is not None
    assert walk.room >= 0


def test_a_token_may_cross() -> None:
    vocabulary = Vocabulary([b" ", b"a", b" a", b"ab", b" ab", b" b", b"  a", None], [7])
    guide = after(b" ", Index(Dfa.from_regex("ab?"), vocabulary))
    assert guide.crosses
    assert guide.allowed_tokens().tolist() == [0, 2, 4]
    guide.advance(4)
    assert guide.is_finished
    guide.rollback(1)
    guide.advance(0)
    assert guide.allowed_tokens().tolist() == [1, 3]
    assert not after(b" ", Index(Dfa.from_regex("c|b{2}"), Vocabulary([b" ", b"b", b"c", b" a", None], [4]))).crosses


def test_a_crossing_token_counts_and_one_inside_does_not() -> None:
    vocabulary = Vocabulary([b" ", b"a", b" a", None], [3])
    index = Index(Dfa.from_regex("a{1,9}"), vocabulary)
    for first, more in ((0, 3), (2, 2)):
        guide = after(b" ", index, 3)
        guide.advance(first)
        for _ in range(more):
            assert 1 in guide.allowed_tokens()
            guide.advance(1)
        assert guide.allowed_tokens().tolist() == [3]
    assert after(b" ", index, 1).allowed_tokens().tolist() == [0, 2]
    with pytest.raises(LimitTooSmall):
        after(b" ", index, 0)


def test_what_is_no_literal_is_refused() -> None:
    source = Unconstrained(Vocabulary([b"a", None], [1]))
    for odd in ("a", 7, None):
        with pytest.raises(UsageError, match="literal"):
            after(odd, source)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="empty"):
        after(b"", source)
    assert after(b"a", source).tokens_left() < UNREACHABLE


def test_a_literal_may_be_long() -> None:
    """What can be completed is found from the end back, however many tokens that are."""
    vocabulary = Vocabulary([b"a", b"b", b"bb", b"c", None], end_token_ids=[4])
    literal = b"ab" * 2_000 + b"b"
    guide = after(literal, Index(Dfa.from_regex("c"), vocabulary))
    assert guide.allowed_tokens().tolist() == [0]
    guide.advance_bytes(literal[:-2])
    assert guide.allowed_tokens().tolist() == [1, 2]
    stuck = after(literal + b"x", Index(Dfa.from_regex("c"), vocabulary))
    with pytest.raises(GenerationError):
        stuck.allowed_tokens()


def test_no_token_leads_to_a_text_that_cannot_be_written_once_more() -> None:
    """Bytes may lead to where only tokens that are missing could go on."""
    quoted = Template.of_constraints("{{q: substring x}}b{{q}}", {"q": Substring("ab\0", "character", 1, None)})
    vocabulary = Vocabulary([b"\0", b"b", None], [2])
    for source in (Index(quoted, vocabulary), AfterLiteral(b"\0", Index(quoted, vocabulary), vocabulary)):
        guide = source.guide()
        guide.advance_bytes(b"\0a" if isinstance(source, AfterLiteral) else b"a")
        assert guide.validate([1]) == 0
        with pytest.raises(DeadEnd):
            guide.allowed_tokens()


def test_inside_a_literal_the_vocabulary_is_what_ends_the_way() -> None:
    """A literal takes no token of the limit, so a limit of none is not what is wrong with it."""
    guide = after(b"a", TextSource(ByText, language_of("(ab|ba)*", "ab", 3), Vocabulary([b"b", None], [1])), 0)
    with pytest.raises(DeadEnd):
        guide.allowed_tokens()
