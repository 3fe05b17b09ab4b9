"""Classes of characters that a matcher cannot tell apart.

A matcher looks at a character in two ways. Words see what it is folded to: folded characters that are in no banned and
in no allowed word are known by their kind alone. Patterns see what their automata do with its bytes. Characters that
look the same in both ways make one class: exchanged for each other in any text, they leave every match where it was.

There are few classes, while there are 1.1 million characters: what depends on no word is worked out once a process.
"""

from __future__ import annotations

import itertools
import unicodedata
from collections import defaultdict
from collections.abc import Hashable, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfgen.automata.by_character import BLOCK, CharacterMap, distinct, paired
from sfgen.ban.characters import (
    CASES,
    KINDS,
    NON_WORD,
    UNSPACED_BLOCKS,
    Seen,
    extended_kind,
    reading_table,
)
from sfgen.ban.confusables import (
    INVISIBLE,
    SPELLING_BLOCKS,
    bars,
    confusable_letters,
    letter_symbols,
    symbols,
)

if TYPE_CHECKING:
    from sfgen.ban.matcher import BanAutomata
    from sfgen.ban.patterns import PatternAutomata

_EVERY = 0x110000
_ASCII = 0x80

# The planes that have characters, but for private use.
_ASSIGNED = ((0, 0x40000), (0xE0000, 0xF0000))
_SURROGATES = slice(0xD800, 0xE000)

_PART = 256
_OFTEN_DROPPED = frozenset(["Cc", "Cf", "Mc", "Me", "Mn"])
"""Categories of characters that are dropped when normalized, or most of them."""


class CharacterClasses(NamedTuple):
    """A partition of the characters by what a matcher sees in them."""

    # the class of each character; -1 for surrogates, and for characters beyond ASCII if only these were wanted
    labels: CharacterMap
    members: tuple[str, ...]


@lru_cache(maxsize=16)
def character_classes(automata: BanAutomata, ascii_only: bool) -> CharacterClasses:
    r"""Partition the characters into classes that the ban tells apart.

    >>> from sfgen.ban import BannedWords
    >>> labels, members = character_classes(BannedWords(["talk"]).automata, True)
    >>> [members[labels.number(ord(letter))] for letter in "tTxY?"]
    ['T', 'T', '0', '0', '\x00']
    """
    last = _ASCII if ascii_only else _EVERY
    unseen = folding(automata.ignore_case, automata.normalize, last)
    classes = unseen.classes.copy()
    seen = Seen(automata.words + automata.allow, automata.ignore_case, automata.normalize)
    numbers = dict(unseen.numbers)
    for letter in seen.alphabet.union(*(unseen.made_of.get(piece, ()) for piece in seen.alphabet)):
        if ord(letter) < last:
            classes[ord(letter)] = _number(seen[letter], numbers)
    labels = CharacterMap.of_numbers(classes)
    if automata.automaton.patterns is not None:
        for automaton in automata.automaton.patterns.automata:
            labels, _ = paired(labels, automaton.labels.classes())
    return _with_members(labels)


def text_classes(automata: BanAutomata, texts: Sequence[str]) -> NDArray[np.int32]:
    """Partition texts, mostly single characters, into classes, int32 ``[texts]``.

    Texts of a class do the same to every match. The numbers are not those of :func:`character_classes`.
    """
    if automata.automaton.patterns is None:
        labels = _labels_by_words(automata, tuple(texts))
    else:
        labels = _labels_by_characters(automata, automata.automaton.patterns, texts)
    return np.unique(labels, return_inverse=True)[1].reshape(-1).astype(np.int32)


def _labels_by_characters(automata: BanAutomata, patterns: PatternAutomata, texts: Sequence[str]) -> NDArray[np.int32]:
    """Give equal numbers to texts whose characters are of equal classes."""
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    starts = np.cumsum(lengths) - lengths
    codes, which = np.unique(
        np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.uint32), return_inverse=True
    )
    seen = Seen(automata.words + automata.allow, automata.ignore_case, automata.normalize)
    numbers: dict[Hashable, int] = {}
    keys = [numbers.setdefault(seen[chr(code)], len(numbers)) for code in codes.tolist()]
    classes = np.array(keys, dtype=np.int64)
    for automaton in patterns.automata:
        by_pattern = automaton.labels.of(codes)
        classes = np.unique(classes * (int(by_pattern.max(initial=0)) + 2) + by_pattern, return_inverse=True)[1]
    characters = classes.reshape(-1)[which.reshape(-1)].astype(np.int32)
    labels, count = np.empty(len(texts), dtype=np.int32), 0
    for length in np.unique(lengths):
        those = np.flatnonzero(lengths == length)
        chosen, number = distinct(characters[starts[those, None] + np.arange(length)])
        labels[those] = count + number
        count += len(chosen)
    return labels


def _labels_by_words(automata: BanAutomata, texts: tuple[str, ...]) -> NDArray[np.int32]:
    """Number texts by what the words of a ban see in them; some number may be left out."""
    unseen = _unseen_texts(texts, automata.ignore_case, automata.normalize)
    seen = Seen(automata.words + automata.allow, automata.ignore_case, automata.normalize)
    labels, numbers = unseen.labels.copy(), dict(unseen.numbers)
    for position in {position for piece in seen.alphabet for position in unseen.made_of.get(piece, ())}:
        key = tuple([seen[character] for character in texts[position]])
        labels[position] = numbers.setdefault(key, len(numbers))
    return labels


class _UnseenTexts(NamedTuple):
    """Texts as a ban without words would see them."""

    labels: NDArray[np.int32]  # the class of each text, int32
    numbers: dict[Hashable, int]
    # for each folded character the texts that are read as it, or as others and it: their positions
    made_of: dict[str, list[int]]


@lru_cache(maxsize=4)
def _unseen_texts(texts: tuple[str, ...], ignore_case: bool, normalize: bool) -> _UnseenTexts:
    """Classify texts as a ban without words would; the last few results are kept for the next bans."""
    seen, table = Seen((), ignore_case, normalize), reading_table(ignore_case, normalize)
    numbers: dict[Hashable, int] = {}
    labels = [numbers.setdefault(tuple([seen[letter] for letter in text]), len(numbers)) for text in texts]
    made_of: defaultdict[str, list[int]] = defaultdict(list)
    for position, text in enumerate(texts):
        for letter in text:
            for unit in table[letter].every_unit:
                made_of[unit.character].append(position)
    return _UnseenTexts(np.array(labels, dtype=np.int32), numbers, dict(made_of))


class _Unseen(NamedTuple):
    """The characters as a list without words would see them."""

    classes: NDArray[np.int32]  # the class of each character, int32; -1 for surrogates
    numbers: dict[Hashable, int]  # what these classes are, but for the extended kinds
    made_of: dict[str, list[str]]  # for each folded character those that are read as it, or as others and it


def _number(key: Hashable, numbers: dict[Hashable, int]) -> int:
    """Return the class of a key of :class:`Seen`, a new one if need be."""
    return key if isinstance(key, int) else numbers.setdefault(key, KINDS + len(numbers))


def _with_members(labels: CharacterMap) -> CharacterClasses:
    """Number the classes that have members from 0, and choose a member of each."""
    numbers, positions = np.unique(labels.rows, return_index=True)
    _, first_block = np.unique(labels.row_of_block, return_index=True)
    row, column = np.divmod(positions, BLOCK)
    codes = first_block[row] * BLOCK + column
    alive = numbers >= 0
    renumber = np.full(int(numbers[-1]) + 1, -1, dtype=np.int32)
    renumber[numbers[alive]] = np.arange(int(alive.sum()))
    return CharacterClasses(labels.renumbered(renumber), tuple(map(chr, codes[alive].tolist())))


@cache
def folding(ignore_case: bool, normalize: bool, last: int) -> _Unseen:
    """Compute the classes of characters that depend on no word, for code points below ``last``."""
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
            # Those that are decomposed are looked at one by one; they may be raised letters.
            member = next((chr(code) for code in range(start, after) if not unicodedata.decomposition(chr(code))), "a")
            kinds[start:after] = extended_kind(member, normalize)
            may_change[start:after] = normalize and unicodedata.category(chr(start)) in _OFTEN_DROPPED
            if normalize:
                kinds[start:after] += CASES * reading_table(ignore_case, normalize)[member].case
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
    seen = Seen((), ignore_case, normalize)
    numbers: dict[Hashable, int] = {}
    made_of: defaultdict[str, list[str]] = defaultdict(list)
    table = reading_table(ignore_case, normalize)
    for letter in map(chr, np.flatnonzero(may_change).tolist()):
        kinds[ord(letter)] = _number(seen[letter], numbers)
        for unit in table[letter].every_unit:
            made_of[unit.character].append(letter)
    return _Unseen(kinds, numbers, dict(made_of))


def _may_change(text: str, ignore_case: bool, normalize: bool) -> bool:
    """Tell whether a character of the text may be read as another, or its category hides its kind.

    Characters that are dropped when normalized are not looked for.
    """
    if ignore_case and text.casefold() != text:
        return True
    return unicodedata.normalize("NFKD", text) != text or (
        normalize and not (_all_confusables().isdisjoint(text) and _all_confusables().isdisjoint(text.upper()))
    )


@cache
def _all_confusables() -> frozenset[str]:
    return frozenset(["I", *confusable_letters(), *letter_symbols(), *bars(), *symbols()])
