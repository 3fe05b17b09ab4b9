"""A vocabulary, and the arrays over its tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfgen.errors import SfgenError

Int32: TypeAlias = NDArray[np.int32]
"""Token ids, states: int32, one dimension."""

Mask: TypeAlias = NDArray[np.uint32]
"""A token mask: uint32 ``[ceil(len(vocabulary) / 32)]``. Bit ``t % 32`` of word ``t // 32`` is set where token ``t`` is
allowed. Read-only."""

Scores: TypeAlias = NDArray[np.floating]
"""The scores (logits) of the next token: floating point, ``[len(vocabulary)]``, any scale, no softmax taken."""

Answer: TypeAlias = Scores | SfgenError
"""The scores of a sequence's next token, or why there are none."""


class Tokens(Protocol):
    """A vocabulary: the bytes of each token id. ``sfgen.Vocabulary`` is one."""

    @property
    def tokens(self) -> Sequence[bytes | None]:
        """The bytes of each token; ``None`` for a special token."""

    @property
    def end_token_ids(self) -> Sequence[int]:
        """The tokens that end a text."""

    @property
    def text_token_ids(self) -> Int32:
        """The tokens that are text, ascending, int32 ``[k]``."""

    @property
    def fingerprint(self) -> str:
        """A digest that is equal for equal vocabularies."""

    def __len__(self) -> int:
        """The number of token ids."""
