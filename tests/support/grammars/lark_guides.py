"""What guides of Lark grammars are checked with: single steps, and texts that are finished the shortest way."""

from __future__ import annotations

from sfgen import Vocabulary
from sfgen.errors import UsageError
from sfgen.protocols import Guide


def can_read(guide: Guide, data: bytes) -> bool:
    """Whether some bytes can be read one after another."""
    fork = guide.fork(limited=False)
    try:
        for byte in data:
            fork.advance_bytes(bytes([byte]))
    except UsageError:
        return False
    return True


def tried(guide: Guide, vocabulary: Vocabulary) -> list[int]:
    """The tokens whose bytes can be read one after another; and the end tokens where the text may end."""
    texts = vocabulary.text_token_ids.tolist()
    found = [token for token in texts if can_read(guide, vocabulary.tokens[token] or b"")]
    return sorted([*found, *(vocabulary.end_token_ids if guide.is_accepting else ())])


def finished(guide: Guide, vocabulary: Vocabulary) -> bytes:
    """What completes the text, by tokens of which each comes nearer to an end."""
    fork, written = guide.fork(limited=False), b""
    while (left := fork.tokens_left()) > 0:
        for token in fork.allowed_tokens().tolist():
            fork.advance(token)
            if fork.tokens_left() < left:
                written += vocabulary.tokens[token] or b""
                break
            fork.rollback(1)
        else:
            raise AssertionError(f"no token comes nearer to an end than {left} tokens")
    assert fork.is_accepting
    return written


def reads(guide: Guide, data: bytes) -> bool:
    """Whether a fork reads some bytes to the end of a text."""
    fork = guide.fork(limited=False)
    try:
        fork.advance_bytes(data)
    except UsageError:
        return False
    return fork.is_accepting
