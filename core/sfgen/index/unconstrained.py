"""Free text: every token that is text may follow, and the end is allowed everywhere."""

from __future__ import annotations

import numpy as np

from sfgen import arguments
from sfgen.index.guide import NO_TOKENS, BaseGuide
from sfgen.index.mask_ids import packed, tokens_of_row
from sfgen.protocols import Int32, Mask, Tokens
from sfgen.vocabulary import Vocabulary
from sfgen.weak_cache import kept_while_it_lives


class Unconstrained:
    """A source of guides for any text.

    Args:
        vocabulary: The tokens.

    >>> source = Unconstrained(Vocabulary([b"a", b"b", None], end_token_ids=[2]))
    >>> source.guide(0).allowed_tokens().tolist(), source.refusal(b"a") is None
    ([2], True)
    """

    def __init__(self, vocabulary: Tokens) -> None:
        self.vocabulary = arguments.instance("vocabulary", vocabulary, Vocabulary)

    def guide(self, max_tokens: int | None = None) -> UnconstrainedGuide:
        """Return a new guide at the start.

        Args:
            max_tokens: The most tokens of the text, without the end token; ``None``: any number.
        """
        return UnconstrainedGuide(self.vocabulary, max_tokens)

    def refusal(self, data: bytes) -> dict[str, str] | None:
        """Refuse no text.

        Returns:
            ``None``.
        """
        arguments.data("data", data)
        return None


@kept_while_it_lives
def _masks(vocabulary: Vocabulary) -> tuple[Mask, Mask, Int32]:
    """Make the masks of all tokens and of end tokens, and the ids of the former."""
    end = np.array(vocabulary.end_token_ids, dtype=np.int32)
    everything = packed(np.concatenate([vocabulary.text_token_ids, end]), len(vocabulary))
    allowed = tokens_of_row(everything)
    allowed.setflags(write=False)  # it is handed out
    return everything, packed(end, len(vocabulary)), allowed


class UnconstrainedGuide(BaseGuide[int]):
    """A guide without a constraint.

    Every token that is text is allowed, and of special tokens only end tokens.

    Args:
        vocabulary: The tokens.
        max_tokens: The most tokens of the text; then only an end token is allowed.
    """

    def __init__(self, vocabulary: Tokens, max_tokens: int | None = None) -> None:
        super().__init__(vocabulary, 0, max_tokens)
        self._everything, self._only_ends, self._allowed = _masks(self.vocabulary)

    def _read(self, position: int, data: bytes) -> int | None:
        return position

    def _accepts(self, position: int) -> bool:
        return True

    def _is_final(self, position: int) -> bool:
        return False

    def mask(self) -> Mask:
        """Return the token mask, uint32 ``[ceil(len(vocabulary) / 32)]``; read-only."""
        if self._ended:
            return packed(NO_TOKENS, len(self.vocabulary))
        return self._only_ends if self.room == 0 else self._everything

    def allowed_tokens(self) -> Int32:
        """Return the ids of the allowed tokens, ascending, int32."""
        mask = self.mask()
        return self._allowed if mask is self._everything else tokens_of_row(mask)

    def _after(self, token_id: int) -> int | None:
        is_allowed = 0 <= token_id < len(self.vocabulary) and self.mask()[token_id >> 5] >> (token_id & 31) & 1
        return self._positions[-1] if is_allowed else None
