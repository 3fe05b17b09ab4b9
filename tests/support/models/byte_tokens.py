"""The vocabulary most tests have: each byte a token by itself, pieces of text beside them, and an end token."""

from __future__ import annotations

from sfgen import Vocabulary

BYTES = tuple(bytes([byte]) for byte in range(256))
"""Each byte as a token: its id is its value."""


def byte_vocabulary(*pieces: bytes) -> Vocabulary:
    """A vocabulary of the 256 bytes, pieces with the ids from 256 on, and last the end token.

    >>> byte_vocabulary(b"ab").tokens[255:], byte_vocabulary(b"ab").end_token_ids
    ((b'\\xff', b'ab', None), (257,))
    """
    return Vocabulary([*BYTES, *pieces, None], end_token_ids=[256 + len(pieces)])
