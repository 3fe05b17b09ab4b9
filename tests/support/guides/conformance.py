"""The laws that every guide keeps, checked where it stands against what is known of the language alone.

``Walk`` takes the steps with a guide and writes them down; ``check_position`` asks all that a guide can be asked and
compares it with what the text so far, the language and the vocabulary say. Random walks at the end check each step.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from tests.support.guides.languages import Language

from sfgen import Vocabulary
from sfgen.errors import DeadEnd, GenerationError, UsageError
from sfgen.index.distance import UNREACHABLE
from sfgen.protocols import Guide, GuideSource, Int32

Step = int | bytes
"""A token, or bytes that are part of none."""


@dataclass
class Case:
    """A source of guides, and what is known of it.

    Args:
        source: Makes the guides.
        language: What they guide through.
        vocabulary: The tokens.
        looks_ahead: A walk by allowed tokens always comes to an end, within the limit too.
        is_exact: ``tokens_left`` is the fewest tokens to an end, not a bound above.
        literal: What each text begins with, and tokens that write nothing else do not count to the limit.
    """

    source: GuideSource
    language: Language
    vocabulary: Vocabulary
    looks_ahead: bool = True
    is_exact: bool = True
    literal: bytes = b""
    positions: dict[Hashable, Hashable] = field(default_factory=dict, init=False)
    _fewest: dict[Hashable, int | None] = field(default_factory=dict, init=False)

    @cached_property
    def texts(self) -> dict[int, bytes]:
        """The bytes of the tokens that are text."""
        ends = self.vocabulary.end_token_ids
        return {token: data for token, data in enumerate(self.vocabulary.tokens) if data and token not in ends}

    def fewest(self, text: bytes) -> int | None:
        """The fewest tokens that complete a text; ``None``: they cannot."""
        residual = self.language.residual(text)
        if residual not in self._fewest:
            self._fewest[residual] = self.language.fewest(text, list(dict.fromkeys(self.texts.values())))
        return self._fewest[residual]

    def may_follow(self, text: bytes, room: int | None) -> list[int]:
        """The text tokens that may follow a text where ``room`` tokens are left."""
        if room == 0:
            return []
        live = [token for token, data in self.texts.items() if self.language.residual(text + data) is not None]
        if not (self.looks_ahead and self.is_exact):
            return live
        fewest = [(token, self.fewest(text + self.texts[token])) for token in live]
        return [token for token, left in fewest if left is not None and (room is None or left < room)]


@dataclass
class Walk:
    """A guide, and the steps that it took."""

    case: Case
    guide: Guide
    max_tokens: int | None
    steps: list[Step] = field(default_factory=list)

    @classmethod
    def begin(cls, case: Case, max_tokens: int | None) -> Walk:
        return cls(case, case.source.guide(max_tokens), max_tokens)

    @property
    def has_ended(self) -> bool:
        return bool(self.steps) and self.steps[-1] in self.case.vocabulary.end_token_ids

    @property
    def text(self) -> bytes:
        texts = self.case.texts
        return b"".join(step if isinstance(step, bytes) else texts.get(step, b"") for step in self.steps)

    @property
    def room(self) -> int | None:
        if self.max_tokens is None:
            return None
        taken = length = 0
        for step in self.steps:
            length += len(step if isinstance(step, bytes) else self.case.texts.get(step, b""))
            taken += isinstance(step, int) and step in self.case.texts and length > len(self.case.literal)
        return self.max_tokens - taken

    @property
    def is_inside_literal(self) -> bool:
        return len(self.text) < len(self.case.literal)

    def take(self, step: Step) -> None:
        if isinstance(step, bytes):
            self.guide.advance_bytes(step)
        else:
            self.guide.advance(step)
        self.steps.append(step)

    def rollback(self, count: int) -> None:
        self.guide.rollback(count)
        del self.steps[len(self.steps) - count :]

    def fork(self, *, limited: bool = True) -> Walk:
        max_tokens = self.max_tokens if limited else None
        return Walk(self.case, self.guide.fork(limited=limited), max_tokens, self.steps.copy())

    def again(self) -> Walk:
        """The same steps by a new guide."""
        walk = Walk.begin(self.case, self.max_tokens)
        for step in self.steps:
            walk.take(step)
        return walk


# ---- what may follow -----------------------------------------------------------------------------------------------


def check_position(walk: Walk) -> None:
    """All that a guide says of where it stands."""
    allowed = check_allowed(walk)
    case, guide, text = walk.case, walk.guide, walk.text
    is_whole = case.language.accepts(text)
    assert guide.is_accepting is is_whole
    if not case.looks_ahead or case.is_exact:
        assert set(allowed) == set(expected(walk)), walk
    ends = set(case.vocabulary.end_token_ids)
    assert set(allowed) & ends == (ends if is_whole and not walk.has_ended else set())
    if walk.has_ended or (is_whole and not case.language.next_bytes(text)):
        assert guide.is_finished is True
    elif not is_whole or set(allowed) - ends:
        assert guide.is_finished is False
    check_names(walk)
    check_tokens_left(walk)
    forced = case.language.forced(text)
    assert guide.forced_bytes() == forced
    for most in range(len(forced) + 2):
        assert guide.forced_bytes(most) == forced[:most]


def expected(walk: Walk) -> list[int]:
    """The tokens that may follow, by the language alone."""
    if walk.has_ended:
        return []
    ends = walk.case.vocabulary.end_token_ids if walk.case.language.accepts(walk.text) else ()
    return sorted([*walk.case.may_follow(walk.text, walk.room), *ends])


def check_allowed(walk: Walk) -> list[int]:
    """The tokens that a guide allows: mask and list agree with each other, and with trying each token."""
    case, guide = walk.case, walk.guide
    size = len(case.vocabulary)
    tried = [token for token in range(-2, size + 3) if can_take(guide, token)]
    assert tried == [token for token in tried if 0 <= token < size]
    tokens = asked(guide)
    if isinstance(tokens, GenerationError):
        assert not tried
        assert not case.language.accepts(walk.text)
        check_no_way(walk, tokens)
        with pytest.raises(type(tokens)):
            guide.mask()
        return []
    if not tried and not walk.has_ended and not case.language.accepts(walk.text):
        assert case.looks_ahead, "what does not look ahead says that nothing can follow"
    assert tokens.dtype == np.int32
    assert tokens.ndim == 1
    assert tokens.tolist() == tried
    if tokens.flags.writeable:  # then it is the caller's own
        tokens[:] = -1
        assert guide.allowed_tokens().tolist() == tried
    mask = guide.mask()
    assert mask.dtype == np.uint32
    assert mask.shape == ((size + 31) // 32,)
    assert not mask.flags.writeable
    assert [32 * word + bit for word in range(len(mask)) for bit in range(32) if int(mask[word]) >> bit & 1] == tried
    assert guide.is_ready() is True, "the mask is made"
    several = guide.allows_several()
    assert several in (None, len(set(tried) & set(case.texts)) + bool(set(tried) - set(case.texts)) > 1)
    return tried


def check_no_way(walk: Walk, error: GenerationError) -> None:
    """The error says what ended the way: the limit, or the vocabulary."""
    assert type(error) is (GenerationError if walk.room == 0 and not walk.is_inside_literal else DeadEnd)
    assert error.hint


def asked(guide: Guide) -> Int32 | GenerationError:
    """The tokens that are allowed, or the error that there are none."""
    try:
        return guide.allowed_tokens()
    except GenerationError as error:
        return error


def can_take(guide: Guide, token: int) -> bool:
    """Whether a fork takes a token; one that refuses it stays where it is."""
    twin = guide.fork()
    before = twin.position, twin.is_finished
    try:
        twin.advance(token)
    except UsageError:
        assert (twin.position, twin.is_finished) == before
        with pytest.raises(UsageError):
            twin.advance(token)
        return False
    twin.rollback(1)
    assert (twin.position, twin.is_finished) == before
    return True


def check_names(walk: Walk) -> None:
    """What a position is called, for people and for those who remember it."""
    case, guide = walk.case, walk.guide
    assert type(guide.state) is int
    assert isinstance(guide.describe(), str)
    assert guide.describe().strip()
    assert hash(guide.position) == hash(guide.fork().position)
    # From equal positions the same may follow.
    residual = case.language.residual(walk.text)
    assert case.positions.setdefault(guide.position, residual) == residual


def check_tokens_left(walk: Walk) -> None:
    """It is what a search by breadth finds, or a bound that some walk keeps."""
    case, left = walk.case, walk.guide.tokens_left()
    assert type(left) is int
    if walk.has_ended:
        assert left == 0
    elif not case.looks_ahead:
        assert left == 0, "nothing is said where nothing is known"
    elif case.is_exact:
        fewest = case.fewest(walk.text)
        assert left == (UNREACHABLE if fewest is None else fewest)
    elif left < UNREACHABLE:
        twin = walk.fork(limited=False)
        while (now := twin.guide.tokens_left()) > 0:
            for token in twin.guide.allowed_tokens().tolist():
                twin.take(token)
                if twin.guide.tokens_left() < now:
                    break
                twin.rollback(1)
            else:
                raise AssertionError(f"no token is nearer to an end than {now} tokens")
        assert case.language.accepts(twin.text)
        assert len(twin.steps) - len(walk.steps) <= left


def check_as_new(walk: Walk) -> None:
    """A guide that went other ways before says the same as a new one that took these steps only."""
    new = walk.again()
    assert everything(walk.guide) == everything(new.guide)
    in_parts = Walk.begin(walk.case, None)
    for byte in walk.text:  # and so does one that read them in other parts
        in_parts.take(bytes([byte]))
    assert in_parts.guide.position == walk.guide.position
    assert in_parts.guide.forced_bytes() == walk.guide.forced_bytes()


def everything(guide: Guide) -> tuple[Any, ...]:
    """All that a guide says, but the number of its state, which may depend on where it was before."""
    tokens = asked(guide)
    if isinstance(tokens, GenerationError):
        shown: tuple[Any, ...] = type(tokens), tokens.message
    else:
        shown = tokens.tolist(), guide.mask().tolist()
    return (guide.position, guide.is_accepting, guide.is_finished, guide.tokens_left(), guide.forced_bytes(), shown)


def check_validate(walk: Walk, tokens: Sequence[int]) -> None:
    """As many are allowed as a new guide takes."""
    before = everything(walk.guide)
    new, count = walk.again(), 0
    for token in tokens:
        try:
            new.take(token)
        except UsageError:
            break
        count += 1
    assert walk.guide.validate(tokens) == count
    assert walk.guide.validate(tuple(tokens)) == count
    assert everything(walk.guide) == before


def check_refusals(walk: Walk) -> None:
    """What is no step is refused with a message that helps, and the guide stays where it is."""
    guide, before = walk.guide, everything(walk.guide)
    for odd in ("a", 1.5, None, True, b"a"):
        refused(lambda odd=odd: guide.advance(odd), ended=walk.has_ended, says="token_id")
        refused(lambda odd=odd: guide.rollback(odd), says="count")
        refused(lambda odd=odd: guide.validate([odd]), says="token_id")
    for count in (-1, len(walk.steps) + 1, 10**30):
        refused(lambda count=count: guide.rollback(count), says=str(count))
    for data in ("a", 7, None):
        refused(lambda data=data: guide.advance_bytes(data), ended=walk.has_ended, says="data must be bytes")
    refused(lambda: guide.fork(limited="no"), says="limited")  # type: ignore[arg-type]
    refused(lambda: guide.validate(7), says="token_ids")  # type: ignore[arg-type]
    guide.rollback(0)
    assert everything(guide) == before


def refused(call: Any, *, says: str, ended: bool = False) -> None:
    with pytest.raises(UsageError) as caught:
        call()
    assert ("ended" if ended else says) in caught.value.message


def check_walk(case: Case, max_tokens: int | None, draw: Any) -> None:
    """Any steps: tokens, bytes, steps back, forks that go on while the other stays."""
    walk = Walk.begin(case, max_tokens)
    check_position(walk)
    for _ in range(draw(st.integers(1, 6))):
        kind = draw(st.sampled_from(["token", "token", "bytes", "back", "fork", "free", "end"]))
        if kind == "back":
            walk.rollback(draw(st.integers(0, len(walk.steps))))
        elif kind in ("fork", "free"):
            stays, walk = walk, walk.fork(limited=kind == "fork")
            before = everything(stays.guide)
            take_random(walk, "token", draw)
            check_position(walk)
            assert everything(stays.guide) == before
            if draw(st.booleans()):
                walk, before, other = stays, everything(walk.guide), walk
                take_random(walk, "token", draw)
                assert everything(other.guide) == before
        else:
            take_random(walk, kind, draw)
        check_position(walk)
        check_as_new(walk)
    check_validate(walk, draw(st.lists(st.integers(-1, len(case.vocabulary)), max_size=4)))
    check_validate(walk, likely(walk, draw))
    check_refusals(walk)


def take_random(walk: Walk, kind: str, draw: Any) -> None:
    """A step of a kind, if one of it can be taken."""
    case = walk.case
    if kind == "bytes":
        data = draw(st.binary(max_size=1))
        for _ in range(draw(st.integers(0, 4))):
            following = b"".join(case.language.next_bytes(walk.text + data)[:4])
            data += bytes([draw(st.sampled_from(following))]) if following else b""
        if case.language.residual(walk.text + data) is not None and not walk.has_ended:
            walk.take(data)
        else:
            refused(lambda: walk.guide.advance_bytes(data), says="go on with", ended=walk.has_ended)
        return
    is_end = kind == "end"
    tokens = [token for token in try_allowed(walk.guide) if (token in case.vocabulary.end_token_ids) == is_end]
    if tokens:
        walk.take(draw(st.sampled_from(tokens)))


def likely(walk: Walk, draw: Any) -> list[int]:
    """Tokens most of which can follow one another."""
    twin, tokens = walk.fork(), []
    for _ in range(draw(st.integers(0, 5))):
        allowed = try_allowed(twin.guide)
        if not allowed:
            break
        twin.take(draw(st.sampled_from(allowed)))
        tokens.append(twin.steps[-1])
    return [*[token for token in tokens if isinstance(token, int)], draw(st.integers(0, len(walk.case.vocabulary)))]


def try_allowed(guide: Guide) -> list[int]:
    """The tokens that are allowed; none where that is an error."""
    tokens = asked(guide)
    return [] if isinstance(tokens, GenerationError) else tokens.tolist()


def check_text(case: Case, max_tokens: int, draw: Any) -> bytes | None:
    """By allowed tokens a walk comes to an end within the limit; a guide that does not look ahead may say that not.

    Returns:
        The text; ``None``: the guide said that there is none.
    """
    walk = Walk.begin(case, max_tokens)
    ends = case.vocabulary.end_token_ids
    for _ in range(max_tokens + 1):
        tokens = asked(walk.guide)
        if isinstance(tokens, GenerationError):
            assert not case.looks_ahead, walk
            check_no_way(walk, tokens)
            return None
        allowed = tokens.tolist()
        assert allowed or (not ends and case.language.accepts(walk.text)), walk
        if not allowed:
            break
        walk.take(draw(st.sampled_from(allowed)))
        if walk.has_ended:
            break
    assert walk.has_ended or not ends
    assert walk.room is not None
    assert walk.room >= 0
    assert case.language.accepts(walk.text)
    assert case.source.refusal(walk.text) is None
    if walk.has_ended:
        assert not walk.guide.mask().any()
        assert walk.guide.is_finished
    return walk.text
