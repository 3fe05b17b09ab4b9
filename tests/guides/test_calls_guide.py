"""Calls inside free text: what may follow, by the definition alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.support.guides.conformance import Case, can_take
from tests.support.guides.languages import Language, regular
from tests.support.running.tried import tried

from sfgen import Dfa, Index, Vocabulary
from sfgen.errors import DeadEnd, UsageError
from sfgen.index.marker import Marker
from sfgen.index.sequence import Calls, SequenceGuide

PATTERNS = ["a|bb", "(ab)*", "b{2,3}a", "[ab]{1,2}", "ba?", "b!?a"]
PARTS = {"a|bb": ["a", "bb"], "(ab)*": ["", "(abab)?"], "[ab]{1,2}": ["a|bb", "a", "ab?"], "ba?": ["b"], "b!?a": ["ba"]}
"""Patterns of some texts only."""


@cache
def language_of(pattern: str) -> Language:
    return regular(pattern, "ab!", 5)


@dataclass
class Standing:
    """Where a text stands: in free text behind ``free``, or in a call."""

    free: bytes = b""
    call: bytes | None = None


@dataclass
class Definition:
    """What may follow, tried token by token.

    Attributes:
        inner: What may be written in a call.
        marker: What begins one.
        limit: The most tokens.
        whole: What a reader takes for a call.
    """

    inner: Case
    marker: Marker
    limit: int | None
    whole: Case

    def step(self, at: Standing, data: bytes, *, special: bool) -> tuple[Standing, bool] | None:
        """Read a token; where it leads to and whether it begins a call, ``None`` if it is wrong."""
        if special:
            language = self.inner.language
            if at.call is not None and not language.accepts(at.call):
                return None
            if at.call is not None and self.whole.language.residual(at.call + self.marker.data[:1]) is not None:
                return None  # who reads the text would take it for the call
            before = at.free if at.call is None else b""
            if self.marker.data in (before + self.marker.data)[:-1]:
                return None
            return self.entered(b""), True
        in_call = began = False
        for byte in data:
            symbol = bytes([byte])
            call = at.call
            if call is not None:
                if self.whole.language.residual(call + symbol) is not None:
                    if self.inner.language.residual(call + symbol) is None:
                        return None  # a reader would find a text that must not be written
                    at, in_call = self.entered(call + symbol), True
                    continue
                if in_call or began or not self.inner.language.accepts(call):
                    return None
                at = Standing()
            elif in_call:
                return None
            assert at.call is None
            at = Standing(at.free + symbol)
            if at.free.endswith(self.marker.data):
                at, began = self.entered(b""), True
                in_call = at.call is None
        return at, began

    def entered(self, call: bytes) -> Standing:
        """In a call; behind it, if nothing can follow in it."""
        is_over = self.whole.language.accepts(call) and not self.whole.language.next_bytes(call)
        return Standing() if is_over else Standing(call=call)

    def spans(self, text: bytes) -> list[tuple[int, int]]:
        """Where the calls of a text begin and end: behind each marker the longest text that a reader takes for one."""
        spans, end = list[tuple[int, int]](), 0
        while (found := text.find(self.marker.data, end)) >= 0:
            start = end = found + len(self.marker.data)
            while end < len(text) and self.whole.language.residual(text[start : end + 1]) is not None:
                end += 1
            spans.append((start, end))
        return spans

    def pieces(self, tokens: Sequence[int]) -> list[tuple[bytes, bool]]:
        return [(self.inner.texts.get(token, b""), token == self.marker.token) for token in tokens]

    def standing(self, tokens: Sequence[int]) -> Standing:
        at = Standing()
        for data, special in self.pieces(tokens):
            found = self.step(at, data, special=special)
            assert found is not None
            at, _ = found
        return at

    def allowed(self, tokens: Sequence[int]) -> set[int]:
        at = self.standing(tokens)
        room = None if self.limit is None else self.limit - len(tokens)
        ends = self.inner.vocabulary.end_token_ids
        found = set(ends) if at.call is None or self.inner.language.accepts(at.call) else set()
        special = [] if self.marker.token is None else [self.marker.token]
        for token in [*self.inner.texts, *special]:
            reached = self.step(at, self.inner.texts.get(token, b""), special=token == self.marker.token)
            if reached is None or room == 0:
                continue
            then, _ = reached
            least: list[int | None] = [0]
            if then.call is not None:
                least.append(self.inner.fewest(then.call))
            if all(each is not None and (room is None or each <= room - 1) for each in least):
                found.add(token)
        return found


@st.composite
def definitions(draw: st.DrawFn) -> Definition:
    letters = draw(st.lists(st.sampled_from([b"a", b"b", b"!"]), max_size=3, unique=True))
    pieces = letters + draw(st.lists(st.text("ab!", min_size=2, max_size=4).map(str.encode), max_size=7))
    assume(pieces)
    vocabulary = Vocabulary([*pieces, None, None], [len(pieces)])
    marker = Marker(
        draw(st.sampled_from([b"!", b"a!", b"!a", b"aa", b"aba"])), draw(st.none() | st.just(len(pieces) + 1))
    )
    pattern = draw(st.sampled_from(PATTERNS))
    written = draw(st.sampled_from([pattern, *PARTS.get(pattern, [])]))
    try:
        inner, whole = (
            Case(Index(Dfa.from_regex(each), vocabulary), language_of(each), vocabulary) for each in (written, pattern)
        )
    except DeadEnd:
        assume(False)
    return Definition(inner, marker, draw(st.none() | st.integers(0, 7)), whole)


def calls_of(definition: Definition) -> Calls:
    return Calls(definition.marker, definition.inner.source, definition.whole.source)


def guide_of(definition: Definition) -> SequenceGuide:
    return calls_of(definition).guide(definition.limit)


@tried("many")
@given(definitions(), st.data())
def test_a_walk(definition: Definition, data: st.DataObject) -> None:
    guide, taken = guide_of(definition), list[int]()
    ends = set(definition.inner.vocabulary.end_token_ids)
    for _ in range(14):
        at, expected = definition.standing(taken), definition.allowed(taken)
        assert set(guide.allowed_tokens().tolist()) == expected, (taken, definition)
        assert set(guide.fork().allowed_tokens().tolist()) == expected
        size = len(definition.inner.vocabulary)
        assert {token for token in range(size) if can_take(guide, token)} == expected
        assert guide.is_accepting is bool(expected & ends)
        forced = b"" if at.call is None else definition.inner.language.forced(at.call)
        assert guide.forced_bytes() == forced
        if taken and data.draw(st.integers(0, 4)) == 0:
            count = data.draw(st.integers(1, len(taken)))
            guide.rollback(count)
            del taken[len(taken) - count :]
            continue
        tokens = sorted(expected - ends)
        if not tokens:
            break
        taken.append(data.draw(st.sampled_from(tokens)))
        guide.advance(taken[-1])


@tried("some")
@given(definitions(), st.data())
def test_the_calls_of_a_text_are_found_again(definition: Definition, data: st.DataObject) -> None:
    guide, taken = guide_of(definition), list[int]()
    calls, ends = calls_of(definition), set(definition.inner.vocabulary.end_token_ids)
    for _ in range(12):
        tokens = sorted(set(guide.allowed_tokens().tolist()) - ends)
        if not tokens:
            break
        taken.append(data.draw(st.sampled_from(tokens)))
        guide.advance(taken[-1])
    text = b"".join(definition.marker.data if special else piece for piece, special in definition.pieces(taken))
    if not guide.is_accepting:
        assert calls.refusal(text) is not None
        with pytest.raises(UsageError, match="not complete"):
            calls.spans(text)
        return
    assert definition.limit is None or len(taken) <= definition.limit
    assert calls.spans(text) == definition.spans(text)
    assert calls.refusal(text) is None
    assert all(definition.inner.language.accepts(text[start:stop]) for start, stop in calls.spans(text))
