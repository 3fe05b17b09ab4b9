"""The guide of free text: every token that is text may follow, and the end is allowed everywhere."""

from __future__ import annotations

import numpy as np

from sfgen import arguments
from sfgen.errors import UsageError
from sfgen.index.mask_ids import tokens_of_row
from sfgen.protocols import Int32, Mask
from sfgen.vocabulary import Vocabulary


class FreeGuide:
    """A guide without a pattern. Special tokens that are no end tokens are never allowed.

    Args:
        vocabulary: The tokens.
        max_tokens: The number of tokens that the sequence may have; then only an end token is allowed.
    """

    state = 0
    is_accepting = True

    def __init__(self, vocabulary: Vocabulary, max_tokens: int | None = None) -> None:
        self.vocabulary = arguments.instance("vocabulary", vocabulary, Vocabulary)
        if max_tokens is not None:
            arguments.whole_number("max_tokens", max_tokens, least=0)
        self.max_tokens = max_tokens
        self._taken: list[int] = []
        end = np.array(vocabulary.end_token_ids, dtype=np.int32)
        self._row = _packed(np.concatenate([vocabulary.text_token_ids, end]), len(vocabulary))
        self._end_row = _packed(end, len(vocabulary))
        self._allowed = tokens_of_row(self._row)

    @property
    def is_finished(self) -> bool:
        """Whether an end token was taken."""
        return bool(self._taken) and self._taken[-1] in self.vocabulary.end_token_ids

    def mask(self) -> Mask:
        """The packed row of allowed tokens, uint32 ``[ceil(len(vocabulary) / 32)]``; read-only."""
        return self._end_row if self.max_tokens is not None and len(self._taken) >= self.max_tokens else self._row

    def allowed_tokens(self) -> Int32:
        """The ids of the allowed tokens, ascending, int32."""
        return self._allowed if self.mask() is self._row else tokens_of_row(self._end_row)

    def advance(self, token_id: int) -> None:
        """Take a token.

        Raises:
            UsageError: The token is not allowed here.
        """
        if self.is_finished:
            raise UsageError("the sequence has ended; nothing can follow the end token")
        if token_id.__class__ is not int:
            token_id = arguments.whole_number("token_id", token_id)
        if not 0 <= token_id < len(self.vocabulary) or not self.mask()[token_id >> 5] >> (token_id & 31) & 1:
            raise UsageError(f"token {token_id} is not allowed here")
        self._taken.append(token_id)

    def rollback(self, count: int) -> None:
        """Take back the last ``count`` tokens.

        Raises:
            UsageError: Fewer tokens than that were taken.
        """
        count = count if count.__class__ is int else arguments.whole_number("count", count)
        if not 0 <= count <= len(self._taken):
            raise UsageError(f"cannot take back {count} tokens: {len(self._taken)} were taken")
        if count:
            del self._taken[-count:]

    def forced_bytes(self) -> bytes:
        """Nothing is ever forced."""
        return b""


def _packed(token_ids: Int32, size: int) -> Mask:
    bits = np.zeros((size + 31) // 32 * 32, dtype=np.uint8)
    bits[token_ids] = 1
    row = np.packbits(bits, bitorder="little").view("<u4").astype(np.uint32)
    row.setflags(write=False)
    return row
