"""Random walks by guides, on which the laws of ``guide_conformance`` are checked at every step."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from tests.support.guides.conformance import (
    Case,
    Walk,
    asked,
    check_as_new,
    check_no_way,
    check_position,
    check_refusals,
    check_validate,
    everything,
    refused,
)

from sfgen.errors import GenerationError
from sfgen.protocols import Guide


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
