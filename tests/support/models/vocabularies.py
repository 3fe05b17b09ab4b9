"""The vocabulary of bytes that most tests have, and tokenizers read once for all tests, which change none of them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from sfgen import Vocabulary
from sfgen.vocabulary.pretrained import load_tokenizer

BYTES = tuple(bytes([byte]) for byte in range(256))
"""Each byte as a token: its id is its value."""


def byte_vocabulary(*pieces: bytes) -> Vocabulary:
    """A vocabulary of the 256 bytes, pieces with the ids from 256 on, and last the end token.

    >>> byte_vocabulary(b"ab").tokens[255:], byte_vocabulary(b"ab").end_token_ids
    ((b'\\xff', b'ab', None), (257,))
    """
    return Vocabulary([*BYTES, *pieces, None], end_token_ids=[256 + len(pieces)])


@cache
def loaded(directory: Path) -> tuple[Any, Vocabulary]:
    """The tokenizer in a directory, and its vocabulary."""
    tokenizer = load_tokenizer(directory)
    return tokenizer, Vocabulary.from_tokenizer(tokenizer)
