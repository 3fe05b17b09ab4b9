"""Texts that end inside a character: whether any way to finish it is left.

After ``talk`` the first half of an emoji leads nowhere where ``talk`` is banned: whichever emoji it becomes, it ends
the word. A token that ends so completes no match yet, and still nothing clean can follow. Who does not know that tries
all the halves that there are, with a forward pass after each.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from sfgen.automata.character_map import BLOCK
from sfgen.ban.classes import character_classes

if TYPE_CHECKING:
    from sfgen.ban.ban_automata import BanAutomata
    from sfgen.ban.seam import SeamMatcher
    from sfgen.vocabulary import Vocabulary

_CUT: Final = b"\xc3"
"""Begins a character, so that it cuts one short that is half read."""

# By the length of a character: the bits of its first byte, and the first and the last code point.
_LENGTHS: Final = {2: (0x1F, 0x80, 0x7FF), 3: (0x0F, 0x800, 0xFFFF), 4: (0x07, 0x10000, 0x10FFFF)}


def is_dead(matcher: SeamMatcher) -> bool:
    r"""Whether the text ends inside a character, and whatever follows completes a banned match, as the end would.

    Args:
        matcher: Where the text ends. It is unchanged afterwards.

    >>> from sfgen.ban import BannedWords
    >>> matcher = BannedWords(["talk"]).matcher()
    >>> [matcher.advance(data) or is_dead(matcher) for data in (b"talk", b"\xf0\x9f\x98")]
    [False, True]
    >>> matcher = BannedWords(["talk"]).matcher()
    >>> [matcher.advance(data) or is_dead(matcher) for data in (b"talk", b"\xc3")]  # of an "é", for example
    [False, False]
    """
    mark = matcher.mark()
    if not mark.pending or matcher.finish() is None:
        return False
    try:
        for ending in (_CUT, *_endings(matcher.automata, mark.pending)):
            matcher.reset(mark)
            if matcher.advance(ending) is None:
                return False
    finally:
        matcher.reset(mark)
    return True


def dead_tokens(matcher: SeamMatcher, vocabulary: Vocabulary) -> NDArray[np.int32]:
    """The tokens behind which the text ends inside a character and is dead, rising; see :func:`is_dead`.

    Args:
        matcher: Where the text stands. It is unchanged afterwards.
        vocabulary: The tokens.
    """
    mark = matcher.mark()
    known: dict[Hashable, bool] = {}
    found = []
    for token, text in _cut_tokens(vocabulary):
        matcher.reset(mark)
        if matcher.advance(text) is None:
            state = matcher.state
            if state not in known:
                known[state] = is_dead(matcher)
            if known[state]:
                found.append(token)
    matcher.reset(mark)
    return np.array(found, dtype=np.int32)


@lru_cache(maxsize=4)
def _cut_tokens(vocabulary: Vocabulary) -> list[tuple[int, bytes]]:
    """The tokens that may end inside a character, with their bytes: those that end neither in ASCII nor with it."""
    return [
        (token, text) for token, text in enumerate(vocabulary.tokens) if text and text[-1] >= 0x80 and _is_cut(text)
    ]


def _is_cut(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return True
    return False


@lru_cache(maxsize=4096)
def _endings(automata: BanAutomata, pending: bytes) -> tuple[bytes, ...]:
    """The bytes that complete a character, for one of each class of those that begin with ``pending``."""
    length = 2 if pending[0] < 0xE0 else 3 if pending[0] < 0xF0 else 4
    bits, lowest, highest = _LENGTHS[length]
    code = pending[0] & bits
    for byte in pending[1:]:
        code = code << 6 | byte & 0x3F
    missing = 6 * (length - len(pending))
    first, after = max(code << missing, lowest) // BLOCK, (min((code + 1) << missing, highest + 1)) // BLOCK
    labels = character_classes(automata, False).labels
    rows, blocks = np.unique(labels.row_of_block[first:after], return_index=True)
    numbers, places = np.unique(labels.rows[rows], return_index=True)
    row, column = np.divmod(places[numbers >= 0], BLOCK)  # surrogates have no number
    codes = (first + blocks[row]) * BLOCK + column
    return tuple(chr(code).encode()[len(pending) :] for code in codes.tolist())
