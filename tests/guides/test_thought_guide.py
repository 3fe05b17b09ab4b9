"""A thought before a constraint: what may follow, by the definition alone."""

from __future__ import annotations

from collections import abc
from dataclasses import dataclass
from functools import cache

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.support.guides.conformance import Case, can_take
from tests.support.guides.languages import Language, free_text, regular
from tests.support.running.tried import tried

from sfgen import Dfa, Index, Vocabulary
from sfgen.errors import DeadEnd
from sfgen.index import Unconstrained
from sfgen.index.marker import Marker
from sfgen.index.sequence import Chain, SequenceGuide, Thought
from sfgen.index.sequence_parts import Fixed

PATTERNS = ["a|bb", "(ab)*", "b{2,3}a", "[ab]{1,4}", "ba?"]
LETTERS = [b"a", b"b"]


@dataclass
class Definition:
    """What may follow, tried token by token.

    Args:
        behind: The constraint behind the marker.
        marker: What ends the thought.
        most: The most tokens of the thought.
        limit: The most tokens that write something behind the marker.
    """

    behind: Case
    marker: Marker
    most: int
    limit: int | None

    def can_begin(self, text: bytes, tokens: int) -> bool:
        """Whether a text behind the marker can be completed when so many tokens have written some of it."""
        fewest = self.behind.fewest(text)
        return fewest is not None and (self.limit is None or tokens + fewest <= self.limit)

    def can_write(self, rest: bytes) -> bool:
        """Whether the rest of the marker can be written, and a text behind it."""
        if (self.takes_special(rest) or not rest) and self.can_begin(b"", 0):
            return True
        for data in self.behind.texts.values():
            if rest.startswith(data):
                found = self.can_write(rest[len(data) :])
            else:
                found = data.startswith(rest) and self.crosses(data[len(rest) :])
            if found:
                return True
        return False

    def crosses(self, text: bytes) -> bool:
        """Whether a token may write this behind the marker."""
        return self.can_begin(text, 1)

    def takes_special(self, rest: bytes) -> bool:
        """Whether the special token may stand where the rest of a marker is to come: no marker ends inside of it."""
        marker = self.marker.data
        return self.marker.token is not None and marker not in (marker[: len(marker) - len(rest)] + marker)[:-1]

    def forced(self, rest: bytes) -> bytes:
        """What must follow where the rest of the marker must: up to where its special token may stand."""
        size = next((size for size in range(len(rest)) if self.takes_special(rest[size:])), None)
        return rest[:size] if size is not None else rest + self.behind.language.forced(b"")

    def rest_of(self, thought: bytes) -> bytes:
        """What of the marker is still to come behind a thought."""
        size = max(size for size in range(len(self.marker.data)) if thought.endswith(self.marker.data[:size]))
        return self.marker.data[size:]

    def pieces(self, tokens: abc.Sequence[int]) -> list[bytes]:
        return [self.marker.data if each == self.marker.token else self.behind.texts[each] for each in tokens]

    def split(self, tokens: abc.Sequence[int]) -> tuple[bytes, bytes | None, int]:
        """The thought, the text behind the marker (``None``: it is not complete), and how many tokens write it."""
        data, pieces = b"", self.pieces(tokens)
        for number, (token, piece) in enumerate(zip(tokens, pieces, strict=True)):
            before = len(data)
            data += piece
            found = before if token == self.marker.token else data.find(self.marker.data)
            if found >= 0:
                behind = [data[found + len(self.marker.data) :], *pieces[number + 1 :]]
                return data[:found], b"".join(behind), sum(map(bool, behind))
        return data, None, 0

    def allowed(self, tokens: abc.Sequence[int]) -> set[int]:
        """The tokens that may follow others, end tokens too."""
        thought, text, written = self.split(tokens)
        found = set()
        if text is not None:
            ends = self.behind.vocabulary.end_token_ids if self.behind.language.accepts(text) else ()
            return {*ends, *(t for t, data in self.behind.texts.items() if self.can_begin(text + data, written + 1))}
        must_end = len(tokens) >= self.most
        # Where the rest of the marker must follow, it is that of the thought when it became as long as it may be.
        bound = b"".join(self.pieces(tokens[: self.most]))
        rest = self.rest_of(bound)[len(thought) - len(bound) :]
        special = {self.marker.token or 0} if self.takes_special(self.rest_of(thought)) else set[int]()
        special = special if self.can_begin(b"", 0) else set[int]()
        if must_end and self.takes_special(rest):
            return special
        for token, data in self.behind.texts.items():
            if must_end:
                fits = rest.startswith(data) and self.can_write(rest[len(data) :])
                fits = fits or (data.startswith(rest) and len(data) > len(rest) and self.crosses(data[len(rest) :]))
            else:
                _, behind, _ = self.split([*tokens, token])
                if behind is None:
                    fits = self.can_write(self.rest_of(thought + data))
                else:
                    fits = self.crosses(behind) if behind else self.can_begin(b"", 0)
            if fits:
                found.add(token)
        return found | special


@cache
def language_of(pattern: str) -> Language:
    return regular(pattern, "ab", 6)


ANY_LIMIT = st.none() | st.integers(0, 5)


@st.composite
def definitions(
    draw: st.DrawFn,
    limits: st.SearchStrategy[int | None] = ANY_LIMIT,
    *,
    may_be_free: bool = True,
    may_be_special: bool = True,
    least: int = 0,
) -> Definition:
    letters = LETTERS if draw(st.integers(0, 3)) else draw(st.lists(st.sampled_from(LETTERS), max_size=1))
    pieces = [*letters, *draw(st.lists(st.text("ab", min_size=2, max_size=4).map(str.encode), max_size=6))]
    pieces = pieces or LETTERS
    vocabulary = Vocabulary([*pieces, None, None], [len(pieces)] if draw(st.booleans()) else [])
    special = len(pieces) + 1 if may_be_special and draw(st.integers(0, 3)) == 0 else None
    marker = Marker(draw(st.text("ab", min_size=1, max_size=4)).encode(), special)
    if may_be_free and draw(st.integers(0, 4)) == 0:
        behind = Case(Unconstrained(vocabulary), free_text(), vocabulary)
    else:
        pattern = draw(st.sampled_from(PATTERNS))
        try:
            index = Index(Dfa.from_regex(pattern), vocabulary)
        except DeadEnd:
            assume(False)
        behind = Case(index, language_of(pattern), vocabulary)
    return Definition(behind, marker, draw(st.integers(least, 4)), draw(limits))


def guide_of(definition: Definition) -> SequenceGuide:
    thought = Thought(definition.marker, definition.behind.source, definition.most)
    assume(definition.can_begin(b"", 0))
    if definition.can_write(definition.marker.data):
        return thought.guide(definition.limit)
    with pytest.raises(DeadEnd, match="cannot write"):
        thought.guide(definition.limit)
    assume(False)
    raise AssertionError


@tried("many")
@given(definitions(), st.data())
def test_a_walk(definition: Definition, data: st.DataObject) -> None:
    guide = guide_of(definition)
    vocabulary = definition.behind.vocabulary
    taken: list[int] = []
    for _ in range(14):
        expected = definition.allowed(taken)
        found = guide.allowed_tokens() if expected else None
        assert found is None or set(found.tolist()) == expected, (taken, definition)
        assert {token for token in range(len(vocabulary)) if can_take(guide, token)} == expected
        thought, text, _ = definition.split(taken)
        assert (guide.describe() == "thought") is (text is None)
        if text is not None:
            behind = definition.behind.source.guide()
            behind.advance_bytes(text)
            assert guide.position == behind.position
            assert guide.is_accepting is definition.behind.language.accepts(text)
            assert guide.forced_bytes() == definition.behind.language.forced(text)
        else:
            assert not guide.is_accepting
            assert not guide.is_finished
            assert expected, "the marker can be written"
            bound = b"".join(definition.pieces(taken[: definition.most]))
            rest = definition.rest_of(bound)[len(thought) - len(bound) :]
            assert guide.forced_bytes() == (definition.forced(rest) if len(taken) >= definition.most else b"")
        assert guide.fork().allowed_tokens().tolist() == found.tolist() if found is not None else True
        tokens = sorted(expected - set(vocabulary.end_token_ids))
        back = data.draw(st.integers(0, len(taken)))
        if back and data.draw(st.integers(0, 4)) == 0:
            guide.rollback(back)
            del taken[len(taken) - back :]
        elif tokens:
            taken.append(data.draw(st.sampled_from(tokens)))
            guide.advance(taken[-1])
        else:
            break


@tried("some")
@given(definitions(st.integers(2, 6), may_be_free=False), st.data())
def test_a_walk_ends_within_its_limits(definition: Definition, data: st.DataObject) -> None:
    assert definition.limit is not None
    guide, taken = guide_of(definition), []
    ends = set(definition.behind.vocabulary.end_token_ids)
    for _ in range(definition.most + len(definition.marker.data) + definition.limit + 1):
        tokens = (
            [token for token in guide.allowed_tokens().tolist() if token not in ends] if not guide.is_finished else []
        )
        if not tokens or (guide.is_accepting and data.draw(st.booleans())):
            break
        taken.append(data.draw(st.sampled_from(tokens)))
        guide.advance(taken[-1])
    thought, text, written = definition.split(taken)
    assert text is not None
    assert definition.behind.language.accepts(text)
    assert definition.marker.data not in thought
    assert written <= definition.limit
    assert len(taken) <= definition.most + len(definition.marker.data) + written


@tried("some")
@given(definitions(st.none(), may_be_special=False, least=1), st.data())
def test_a_token_may_reach_from_a_literal_into_the_thought(definition: Definition, data: st.DataObject) -> None:
    """As where the end of a prompt is healed."""
    guide_of(definition)
    source = Thought(definition.marker, definition.behind.source, definition.most)
    literal, texts = data.draw(st.sampled_from(LETTERS)), definition.behind.texts
    reaching = {token: text[1:] for token, text in texts.items() if text[:1] == literal and len(text) > 1}
    expected = set()
    for token, text in reaching.items():
        found = text.find(definition.marker.data)
        if found < 0:
            fits = definition.can_write(definition.rest_of(text))
        else:
            behind = text[found + len(definition.marker.data) :]
            fits = definition.crosses(behind) if behind else definition.can_begin(b"", 0)
        if fits:
            expected.add(token)
    guide = Chain([Fixed(literal, counts=False), source]).guide()
    assume(guide.crosses or literal in texts.values())
    assert set(guide.allowed_tokens().tolist()) == expected | {t for t, text in texts.items() if text == literal}
    for token in expected:
        twin, by_bytes = guide.fork(), source.guide()
        twin.advance(token)
        by_bytes.advance_bytes(reaching[token])
        assert twin.position == by_bytes.position


def test_a_thought_that_may_have_no_token() -> None:
    vocabulary = Vocabulary([b"a", b" ", b" .", b".1", b"1", b"."], [])
    source = Thought(Marker(b"."), Index(Dfa.from_regex("1"), vocabulary), 0)
    assert source.guide().forced_bytes() == b".1"
    assert Chain([Fixed(b" ", counts=False), source]).guide().allowed_tokens().tolist() == [1, 2]
    assert source.refusal(b"a.1") is None
    assert source.refusal(b"a.2") is not None
    assert source.refusal(b"a1") is not None
