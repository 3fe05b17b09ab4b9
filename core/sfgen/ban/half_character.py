"""Texts that end inside a character: whether any way to finish it is left.

After ``talk`` the first half of an emoji leads nowhere where ``talk`` is banned: whichever emoji it becomes, it ends
the word. A token that ends so completes no match yet, and still nothing clean can follow. Who does not know that tries
all the halves that there are, with a forward pass after each.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfgen.automata.character_map import BLOCK
from sfgen.ban.classes import character_classes

if TYPE_CHECKING:
    from sfgen.ban.ban_automata import BanAutomata
    from sfgen.ban.seam import SeamMatcher

CUT: Final = b"\xc3"
"""Begins a character, so that it cuts one short that is half read."""

# By the length of a character: the bits of its first byte, and the first and the last code point.
_LENGTHS: Final = {2: (0x1F, 0x80, 0x7FF), 3: (0x0F, 0x800, 0xFFFF), 4: (0x07, 0x10000, 0x10FFFF)}


def is_dead(matcher: SeamMatcher) -> bool:
    r"""Tell whether the text is dead: every continuation completes a match.

    Such a text ends inside a character; its end would complete a match, too.

    Args:
        matcher: At the end of the text. It is unchanged afterwards.

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
        for ending in (CUT, *_endings(matcher.automata, mark.pending)):
            matcher.reset(mark)
            if matcher.advance(ending) is None:
                return False
    finally:
        matcher.reset(mark)
    return True


class Endings(NamedTuple):
    """The characters that some beginnings may become, by class.

    Args:
        classes: Int32, the classes of what each beginning may become, one beginning after the other.
        starts: Int64 ``[beginnings]``, where those of each beginning start.
        used: The classes that occur.
        members: The bytes of one character of each class.
    """

    classes: NDArray[np.int32]
    starts: NDArray[np.int64]
    used: tuple[int, ...]
    members: tuple[bytes, ...]


@lru_cache(maxsize=8)
def endings_of(automata: BanAutomata, beginnings: tuple[bytes, ...]) -> Endings:
    """Find the characters that some beginnings may become.

    The last few results are cached.

    Args:
        automata: The ban, whose classes are used.
        beginnings: The first bytes of characters.
    """
    found = [_codes(automata, pending)[0] for pending in beginnings]
    classes = np.concatenate([np.empty(0, np.int32), *found])
    starts = np.cumsum([0, *map(len, found)])[:-1]
    members = tuple(member.encode() for member in character_classes(automata, False).members)
    return Endings(classes, starts, tuple(np.unique(classes).tolist()), members)


@lru_cache(maxsize=4096)
def _endings(automata: BanAutomata, pending: bytes) -> tuple[bytes, ...]:
    """The bytes that complete a character, for one of each class of those that begin with ``pending``."""
    return tuple(chr(code).encode()[len(pending) :] for code in _codes(automata, pending)[1].tolist())


def _codes(automata: BanAutomata, pending: bytes) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The classes of the characters that begin with ``pending``, and the code point of one of each."""
    length = 2 if pending[0] < 0xE0 else 3 if pending[0] < 0xF0 else 4
    bits, lowest, highest = _LENGTHS[length]
    code = pending[0] & bits
    for byte in pending[1:]:
        code = code << 6 | byte & 0x3F
    missing = 6 * (length - len(pending))
    first, after = max(code << missing, lowest) // BLOCK, (min((code + 1) << missing, highest + 1)) // BLOCK
    labels = character_classes(automata, False).labels
    rows, blocks = np.unique(labels.row_of_block[first:after], return_index=True)
    numbers, positions = np.unique(labels.rows[rows], return_index=True)
    is_text = numbers >= 0  # surrogates have no number
    row, column = np.divmod(positions[is_text], BLOCK)
    return numbers[is_text], (first + blocks[row]) * BLOCK + column
