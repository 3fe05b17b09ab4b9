"""Banned words as a user writes them, and the automata made of them.

An entry is split at its white space into parts, folded. It matches a text where its parts follow each other, with at
least one non-word character between two parts and nothing inside a part but what it says, and where the match does
not cut a word: see :mod:`sfgen.ban.characters` for what a boundary is, and :class:`Entry` for where one is needed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TextIO, get_args

from sfgen.ban.automaton import BOUNDARY, GAP, AhoCorasick, GapTrie
from sfgen.ban.characters import NON_WORD, SEPARATOR, SPACED, fold, kinds_of
from sfgen.errors import BannedWordsError, InputError, UsageError

if TYPE_CHECKING:
    from sfgen.ban.matcher import Matcher

MatchMode = Literal["word", "prefix", "substring"]

_SEPARATORS: Final = ",，、"


@dataclass(frozen=True, slots=True)
class Entry:
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
    def parse(cls, word: str, match: MatchMode, ignore_case: bool) -> Entry:
        """Read one word. It must have passed :func:`check_word`.

        >>> Entry.parse("Small  talk*", "word", True)
        Entry(word='Small  talk*', parts=('small', 'talk'), left=True, right=False)
        """
        text, starred = _unstar(word)
        if starred:
            match = "prefix"
        parts = tuple(fold(text, ignore_case).split())
        # An outermost character that is no letter, or a letter of a script without spaces, is bounded by its nature.
        left = match != "substring" and kinds_of(parts[0])[0] == SPACED
        right = match == "word" and kinds_of(parts[-1])[-1] == SPACED
        return cls(word, parts, left, right)

    @property
    def is_plain(self) -> bool:
        """Whether it consists of word characters and white space only."""
        return all(NON_WORD not in kinds_of(part) for part in self.parts)

    def separated(self) -> bytes:
        """The keyword of a plain entry in the stream of :mod:`sfgen.ban.matcher`.

        >>> Entry.parse("small talk", "word", True).separated()
        b'\\xffsmall\\xff\\xfftalk\\xff'
        >>> Entry.parse("聊talk", "word", True).separated() == "聊".encode() + b"\\xfftalk\\xff"
        True
        """
        separator = bytes([SEPARATOR])
        return (
            separator * self.left
            + (2 * separator).join(_separate_scripts(part, separator) for part in self.parts)
            + separator * self.right
        )

    def symbols(self) -> list[str]:
        """The keyword of an entry in a :class:`~sfgen.ban.automaton.GapTrie`.

        >>> Entry.parse("c++ fan", "word", True).symbols()
        ['boundary', 'c', '+', '+', 'gap', 'f', 'a', 'n', 'boundary']
        """
        symbols = [BOUNDARY] * self.left
        for number, part in enumerate(self.parts):
            symbols += [GAP] * (number > 0)
            symbols += part
        return symbols + [BOUNDARY] * self.right


def _separate_scripts(part: str, separator: bytes) -> bytes:
    """UTF-8 with a separator wherever a spaced and an unspaced script meet."""
    kinds = kinds_of(part)
    keyword = b""
    for place, character in enumerate(part):
        if place and kinds[place] != kinds[place - 1]:
            keyword += separator
        keyword += character.encode()
    return keyword


def _unstar(word: str) -> tuple[str, bool]:
    r"""The word without its star and without escapes, and whether there was a star.

    >>> _unstar("talk*"), _unstar(r"f\*\*"), _unstar("f**k")
    (('talk', True), ('f**', False), ('f**k', False))
    """
    word = word.strip()
    starred = word.endswith("*") and not word.endswith(r"\*")
    return (word[:-1] if starred else word).replace(r"\*", "*"), starred


def check_word(word: str, where: str) -> None:
    """Refuse a word that bans nothing.

    Args:
        word: As the user gave it.
        where: Which word it is, for the message.

    Raises:
        BannedWordsError: If it is empty, white space, a star alone, no text, or not to be written in UTF-8.
    """
    if not isinstance(word, str):
        raise BannedWordsError(f"{where} is {word!r}, which is no text", hint="Give words as str.")
    if not word.strip():
        raise BannedWordsError(f"{where} is {'white space only' if word else 'empty'}", hint="Leave it out.")
    if not _unstar(word)[0].strip():
        raise BannedWordsError(
            f"{where} is a star alone: it would ban every word", hint=r"Write \* to ban the star itself."
        )
    try:
        word.encode()
    except UnicodeEncodeError:
        raise BannedWordsError(f"{where} is no valid text: {word!r}", hint="Give it in UTF-8.") from None


class BannedWords:
    r"""A list of words and phrases that must not be written. Immutable: threads may share it.

    A word that ends in ``*`` is a prefix whatever ``match`` says (``talk*`` bans *talking*); ``\*`` is a star.
    Any run of non-word characters may stand between the words of a phrase (``small talk`` bans ``Small... talk``).
    Punctuation that is part of a word is literal (``c++``, ``don't``).

    Args:
        words: What to ban.
        match: ``"word"``: whole words only, so that *talking* passes when ``talk`` is banned. ``"prefix"``: words that
            begin with it. ``"substring"``: anywhere. In scripts written without spaces a word needs no boundary.
        ignore_case: Compare by full case folding (``STRASSE`` is ``straße``).

    Raises:
        BannedWordsError: If there is no word, or one that bans nothing; the message says which.
        UsageError: If ``match`` is none of the three.

    >>> banned = BannedWords(["talk", "fuck you"])
    >>> banned.matcher().advance(b"Talk!")
    Match(word='talk', start=0, end=4)
    """

    def __init__(self, words: Iterable[str], *, match: MatchMode = "word", ignore_case: bool = True) -> None:
        if isinstance(words, str):
            raise BannedWordsError(
                f"banned words must be a list, not the text {words!r}", hint="Put the words into a list: ['talk']."
            )
        if match not in get_args(MatchMode):
            raise UsageError(f"match is {match!r}", hint="It is one of 'word', 'prefix', 'substring'.")
        self.words: Final = tuple(words)
        self.match: Final[MatchMode] = match
        self.ignore_case: Final = ignore_case
        if not self.words:
            raise BannedWordsError("there is no banned word", hint="Give at least one.")
        for number, word in enumerate(self.words, 1):
            check_word(word, f"banned word {number} of {len(self.words)}")
        self.entries: Final = tuple(Entry.parse(word, match, ignore_case) for word in self.words)
        # Entry numbers by the automaton that finds them.
        self.plain: Final = tuple(number for number, entry in enumerate(self.entries) if entry.is_plain)
        plain = set(self.plain)
        self.literal: Final = tuple(number for number in range(len(self.entries)) if number not in plain)
        keywords = [self.entries[number].separated() for number in self.plain]
        self.plain_automaton: Final = AhoCorasick(keywords)
        # Bytes of a keyword without its outer boundaries.
        self.plain_lengths: Final = tuple(len(keyword.strip(bytes([SEPARATOR]))) for keyword in keywords)
        self.literal_automaton: Final = GapTrie(self.entries[number].symbols() for number in self.literal)

    @classmethod
    def from_file(
        cls, source: str | Path | TextIO, *, match: MatchMode = "word", ignore_case: bool = True
    ) -> BannedWords:
        """The words of a file: see :func:`read_words` for the format and the errors."""
        return cls(read_words(source), match=match, ignore_case=ignore_case)

    def __len__(self) -> int:
        return len(self.words)

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self.words[:3])) + (", …" if len(self.words) > 3 else "")
        return f"<BannedWords {len(self.words)}: {shown}; match={self.match!r}, ignore_case={self.ignore_case}>"

    def matcher(self, prompt: bytes = b"") -> Matcher:
        """A matcher for one text that goes on from ``prompt``."""
        from sfgen.ban.matcher import Matcher

        return Matcher(self, prompt)


def split_words(text: str) -> list[str]:
    r"""The words of a command line option: ``,`` ``，`` and ``、`` separate; a backslash before one makes it literal.

    White space around a word and empty pieces are dropped. Other backslashes stay.

    >>> split_words(r"talk, fuck you，聊天、,1\,000,c\*")
    ['talk', 'fuck you', '聊天', '1,000', 'c\\*']
    """
    pieces = [""]
    escaped = False
    for character in text:
        if character in _SEPARATORS and escaped:
            pieces[-1] = pieces[-1][:-1] + character
        elif character in _SEPARATORS:
            pieces.append("")
        else:
            pieces[-1] += character
        escaped = character == "\\" and not escaped
    return [stripped for piece in pieces if (stripped := piece.strip())]


def read_words(source: str | Path | TextIO) -> list[str]:
    r"""The words of a file in UTF-8: one a line, blank lines and lines that begin with ``#`` skipped, ``\#`` for a word
    that begins with ``#``. Commas are literal.

    Args:
        source: A path, ``"-"`` for standard input, or an open text stream.

    Raises:
        InputError: If it cannot be read, or is not UTF-8 (with the line).
        BannedWordsError: If it has no word, or one that bans nothing (with the line).
    """
    name, text = _read(source)
    words: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        word = line.strip()
        if not word or word.startswith("#"):
            continue
        if word.startswith(r"\#"):
            word = word[1:]
        check_word(word, f"{name}, line {number}: the banned word")
        words.append(word)
    if not words:
        raise BannedWordsError(f"{name} has no banned word", hint="Write one on each line.")
    return words


def _read(source: str | Path | TextIO) -> tuple[str, str]:
    """The name and the text of a source."""
    if source == "-":
        source = sys.stdin
    if isinstance(source, (str, Path)):
        name = str(source)
        try:
            data = Path(source).read_bytes()
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise InputError(f"cannot read the banned words in {name}: {reason}", hint="Check the path.") from None
    else:
        name = "standard input" if source is sys.stdin else str(getattr(source, "name", "the stream"))
        buffer = getattr(source, "buffer", None)  # a stream that was opened as another encoding is read as UTF-8 too
        if buffer is None:
            return name, source.read().removeprefix("\ufeff")
        data = buffer.read()
    try:
        return name, data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{name}, line {line}: not UTF-8", hint="Save the file as UTF-8.") from None
