"""Which characters a matcher cannot tell apart.

A matcher looks at a character in two ways. Words see what it is folded to: folded characters that are in no banned and
in no allowed word are known by their kind alone. Patterns see what their automata do with its bytes. Characters that
look the same in both ways make one class: exchanged for each other in any text, they leave every match where it was.

There are few classes, while there are 1.1 million characters: what depends on no word is worked out once a process.
"""

from __future__ import annotations

import itertools
import unicodedata
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfgen.automata.character_map import BLOCK, CharacterMap, paired
from sfgen.ban.characters import NON_WORD, UNSPACED_BLOCKS, folded, kind_of
from sfgen.ban.normalize import INVISIBLE, NO_SPELLING, SPELLING_BLOCKS, letter_symbols, look_alikes, spelling

if TYPE_CHECKING:
    from sfgen.ban.words import BannedWords

_EVERY = 0x110000
_ASCII = 0x80

# Where there are characters, but for private use.
_ASSIGNED = ((0, 0x40000), (0xE0000, 0xF0000))
_SURROGATES = slice(0xD800, 0xE000)

_PART = 256
_OFTEN_DROPPED = frozenset(["Cc", "Cf", "Mc", "Me", "Mn"])
"""Categories of characters that are dropped when normalized, or most of them."""


class CharacterClasses(NamedTuple):
    """Characters by what a matcher sees in them.

    Args:
        labels: The class of each character; -1 for surrogates, and for what was not asked for.
        members: One character of each class.
    """

    labels: CharacterMap
    members: tuple[str, ...]


@lru_cache(maxsize=16)
def character_classes(banned: BannedWords, ascii_only: bool) -> CharacterClasses:
    r"""The classes of all characters, or of those of ASCII.

    >>> from sfgen.ban import BannedWords
    >>> labels, members = character_classes(BannedWords(["talk"]), True)
    >>> [members[labels.number(ord(letter))] for letter in "tTxY?"]
    ['T', 'T', '0', '0', '\x00']
    """
    last = _ASCII if ascii_only else _EVERY
    # More than the folded characters of the words: what says how a word matches is taken for text, too.
    letters = set("".join([*banned.words, *banned.allow]))
    alphabet = {piece for letter in letters for piece in folded(letter, banned.ignore_case, banned.normalize)}
    kinds, changed = _folding(banned.ignore_case, banned.normalize, last)
    classes = kinds.copy()
    seen = _Seen(alphabet, banned.normalize)
    numbers: dict[tuple[int | str, ...], int] = {(kind,): kind for kind in range(_KINDS)}
    for letter in alphabet:
        if ord(letter) < last:
            classes[ord(letter)] = numbers.setdefault((letter,), len(numbers))
    for code, pieces in changed.items():
        key = tuple([seen[piece] for piece in pieces])
        classes[code] = numbers.setdefault(key, len(numbers))
    labels = CharacterMap.of_numbers(classes)
    if banned.pattern_automata is not None:
        for automaton in banned.pattern_automata.automata:
            labels, _ = paired(labels, automaton.labels.classes())
    return _with_members(labels)


class _Seen(dict[str, "int | str"]):
    """What words see of a folded character: the character if it is in one of them, else its extended kind."""

    def __init__(self, alphabet: set[str], normalize: bool) -> None:
        super().__init__()
        self._alphabet = alphabet
        self._normalize = normalize

    def __missing__(self, piece: str) -> int | str:
        self[piece] = seen = piece if piece in self._alphabet else _extended_kind(piece, self._normalize)
        return seen


_KINDS = 16
"""More than there are extended kinds."""


def _extended_kind(character: str, normalize: bool) -> int:
    """The kind, and if marks are dropped the family of scripts that says which."""
    return kind_of(character) + 4 * (spelling(character) if normalize else NO_SPELLING)


def _with_members(labels: CharacterMap) -> CharacterClasses:
    """Number the classes that have members from 0, and choose a member of each."""
    numbers, places = np.unique(labels.rows, return_index=True)
    _, first_block = np.unique(labels.row_of_block, return_index=True)
    row, column = np.divmod(places, BLOCK)
    codes = first_block[row] * BLOCK + column
    alive = numbers >= 0
    renumber = np.full(int(numbers[-1]) + 1, -1, dtype=np.int32)
    renumber[numbers[alive]] = np.arange(int(alive.sum()))
    return CharacterClasses(labels.renumbered(renumber), tuple(map(chr, codes[alive].tolist())))


@cache
def _folding(ignore_case: bool, normalize: bool, last: int) -> tuple[NDArray[np.int32], dict[int, str]]:
    """What depends on no word, of all code points below ``last``.

    Returns:
        The extended kind of each by itself (-1 for surrogates), and those that are not folded to themselves.
    """
    kinds = np.full(last, NON_WORD, dtype=np.int32)
    may_change = np.zeros(last, dtype=np.bool_)
    blocks = (*UNSPACED_BLOCKS, *(SPELLING_BLOCKS if normalize else ()))
    for first, end in _ASSIGNED:
        codes = range(first, min(end, last))
        if not codes:
            continue
        # The kind is told from the category and, for some, from the block.
        categories = "".join(map(unicodedata.category, map(chr, codes)))
        runs = np.frombuffer(categories.encode(), dtype=np.uint16)
        edges = {first, *(np.flatnonzero(runs[1:] != runs[:-1]) + first + 1).tolist()}
        edges.update(edge for low, high, *_ in blocks for edge in (low, high + 1) if edge in codes)
        for start, after in itertools.pairwise([*sorted(edges), codes.stop]):
            kinds[start:after] = _extended_kind(chr(start), normalize)
            may_change[start:after] = normalize and unicodedata.category(chr(start)) in _OFTEN_DROPPED
        for start in range(codes.start, codes.stop, _PART):
            part = "".join(map(chr, range(start, min(start + _PART, codes.stop))))
            if _may_change(part, ignore_case, normalize):
                may_change[start : start + len(part)] |= [
                    _may_change(letter, ignore_case, normalize) for letter in part
                ]
    if normalize:
        for low, high in INVISIBLE:
            may_change[low : high + 1] = True
    kinds[_SURROGATES] = -1
    may_change[_SURROGATES] = False
    letters = map(chr, np.flatnonzero(may_change).tolist())
    pieces = ((letter, folded(letter, ignore_case, normalize)) for letter in letters)
    return kinds, {ord(letter): piece for letter, piece in pieces if piece != letter}


def _may_change(text: str, ignore_case: bool, normalize: bool) -> bool:
    """Whether some character of the text may be folded to another, but for those that are dropped."""
    if ignore_case and text.casefold() != text:
        return True
    return normalize and (
        unicodedata.normalize("NFKD", text) != text
        or not _look_alikes().isdisjoint(text)
        or not _look_alikes().isdisjoint(text.upper())
    )


@cache
def _look_alikes() -> frozenset[str]:
    return frozenset([*look_alikes(), *letter_symbols()])
