"""What a list of token bytes must be, and which ids there are in it."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from itertools import islice

from sfgen import arguments
from sfgen.errors import VocabularyError

_PART = 1024
"""The tokens that are joined at once."""


def checked_tokens(tokens: Sequence[bytes | None]) -> tuple[bytes | None, ...]:
    """Check the bytes of each id; ``b""`` becomes ``None``.

    Raises:
        VocabularyError: It is not a list, or a token is not bytes; the message names it.
    """
    hint = "Give the bytes of each id in a list; Vocabulary.from_tokenizer reads a tokenizer."
    found: tuple[bytes | None, ...] = tuple(
        arguments.items("tokens", tokens, "a list of bytes or None", hint=hint, error=VocabularyError)
    )
    for token_id, token in enumerate(found):
        if token is not None and not isinstance(token, bytes):
            raise VocabularyError(
                f"token {token_id} is {type(token).__name__}, and must be bytes or None: {token!r:.80}",
                hint="Write text as bytes: 'talk'.encode()" if isinstance(token, str) else "",
            )
    return tuple(token or None for token in found) if b"" in found else found


def joined(tokens: Iterable[bytes | None]) -> bytes:
    """Join the bytes of tokens; ``None`` has none.

    ``bytes.join`` needs 80 bytes for each of what it joins, 20 MB for all tokens of a large vocabulary. So they are
    joined in parts.

    >>> joined([b"he", None, b"llo"])
    b'hello'
    """
    left = filter(None, tokens)
    return b"".join(iter(lambda: b"".join(islice(left, _PART)), b""))


def checked_id(token_id: int, size: int) -> int:
    """Check a token id.

    Args:
        token_id: The id.
        size: The number of tokens.

    Raises:
        VocabularyError: It is not a whole number from 0 to ``size - 1``.
    """
    if isinstance(token_id, bool):
        raise VocabularyError(f"a token id must be an integer, and {token_id!r} is not")
    try:
        index = operator.index(token_id)
    except TypeError:
        raise VocabularyError(f"a token id must be an integer, and {token_id!r:.80} is not") from None
    if not 0 <= index < size:
        raise VocabularyError(f"there is no token {index}: the vocabulary has {size} tokens, with ids from 0 on")
    return index
