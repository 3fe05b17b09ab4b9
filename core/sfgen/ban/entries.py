"""Banned words as a user writes them, one by one.

An entry is split at its white space into parts, folded. It matches a text where its parts follow each other, with at
least one non-word character between two parts and nothing inside a part but what it says, and where the match does
not cut a word: see :mod:`sfgen.ban.characters` for what a boundary is, and :class:`Entry` for where one is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from sfgen.ban.characters import SPACED, fold, kinds_of
from sfgen.ban.keywords import BOUNDARY, GAP, orders
from sfgen.errors import BannedWordsError

MatchMode = Literal["word", "prefix", "substring"]

_MOST_ORDERS: Final = 5_000  # in which the marks of a letter may be read, as nodes of a trie


class Entry(NamedTuple):
    """One banned word or phrase, ready to be compared.

    Attributes:
        word: As the user gave it.
        parts: The words of the phrase, folded; none is empty.
        left: Whether a match must begin at a boundary.
        right: Whether a match must end at a boundary.
    """

    word: str
    parts: tuple[str, ...]
    left: bool
    right: bool

    @classmethod
    def parse(cls, word: str, match: MatchMode, ignore_case: bool, normalize: bool = False) -> Entry:
        """Read a word that has passed :func:`check_word`; ``parts`` is empty if nothing of it is kept.

        >>> Entry.parse("Small  talk*", "word", True)
        Entry(word='Small  talk*', parts=('small', 'talk'), left=True, right=False)
        """
        text, starred = unstar(word)
        if starred:
            match = "prefix"
        parts = tuple(fold(text, ignore_case, normalize).split())
        if not parts:
            return cls(word, parts, False, False)
        # An outermost character that is no letter, or a letter of a script without spaces, is bounded by its nature.
        left = match != "substring" and (_is_ascii_word(parts[0]) or kinds_of(parts[0])[0] == SPACED)
        right = match == "word" and (_is_ascii_word(parts[-1]) or kinds_of(parts[-1])[-1] == SPACED)
        return cls(word, parts, left, right)

    def key(self) -> bytes:
        r"""Return its key for :class:`~sfgen.ban.keywords.Keywords`.

        >>> Entry.parse("c++ fan", "word", True).key()
        b'\xfec++\xfdfan\xfe'
        """
        parts = self.parts
        text = parts[0].encode() if len(parts) == 1 else GAP.join([part.encode() for part in parts])
        return BOUNDARY[: self.left] + text + BOUNDARY[: self.right]


def _is_ascii_word(part: str) -> bool:
    """Tell whether a text has only ASCII letters and digits: a quick check that most words pass."""
    return part.isascii() and part.isalnum()


def unstar(word: str) -> tuple[str, bool]:
    r"""Split a word into its text, with escapes undone, and whether it had a star.

    >>> unstar("talk*"), unstar(r"f\*\*"), unstar("f**k")
    (('talk', True), ('f**', False), ('f**k', False))
    """
    word = word.strip()
    starred = word.endswith("*") and not word.endswith(r"\*")
    return (word[:-1] if starred else word).replace(r"\*", "*"), starred


def blank_pattern(blanks: str) -> str:
    r"""Return a pattern that finds some white space, which no word can name.

    >>> print(blank_pattern("\n\n"), repr(blank_pattern("  ")))
    \n\n '  '
    """
    return blanks.encode("unicode_escape").decode()


def check_word(word: str, where: str, *, is_banned: bool = True) -> None:
    """Refuse a word that bans nothing."""
    if not word:
        raise BannedWordsError(f"{where} is empty", hint="Leave it out.")
    if not word.strip():
        hint = (
            f"White space is banned as a pattern: patterns=[{blank_pattern(word)!r}]." if is_banned else "Leave it out."
        )
        raise BannedWordsError(f"{where} is white space only, which is no word", hint=hint)
    if not unstar(word)[0].strip():
        raise BannedWordsError(
            f"{where} is a star alone: it would ban every word", hint=r"Write \* to ban the star itself."
        )
    try:
        word.encode()
    except UnicodeEncodeError:
        raise BannedWordsError(f"{where} is not valid text: {word!r}", hint="Give it in UTF-8.") from None


def parse_all(
    words: Sequence[str], sort: str, match: MatchMode, ignore_case: bool, normalize: bool
) -> tuple[Entry, ...]:
    """Read a list of words."""
    entries = []
    left, right = match != "substring", match == "word"
    for number, word in enumerate(words, 1):
        if word.isascii() and not normalize:  # as nearly all words of a long list
            parts = (word.lower() if ignore_case else word).split()
            if "".join(parts).isalnum():
                entries.append(Entry(word, (word,) if parts == [word] else tuple(parts), left, right))
                continue
        where = f"{sort} word {number} of {len(words)}"
        check_word(word, where, is_banned=sort == "banned")
        entry = Entry.parse(word, match, ignore_case, normalize)
        if not entry.parts:
            raise BannedWordsError(
                f"{where} is {word!r}, of which nothing is left when it is normalized", hint="Leave it out."
            )
        if max(map(orders, entry.parts)) > _MOST_ORDERS:
            raise BannedWordsError(
                f"{where} has too many combining marks on one letter: {word!r}", hint="Ban it with normalize."
            )
        entries.append(entry)
    return tuple(entries)
