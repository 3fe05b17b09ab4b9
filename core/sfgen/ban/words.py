"""Banned words as a user writes them, and the automata made of them.

An entry is split at its white space into parts, folded. It matches a text where its parts follow each other, with at
least one non-word character between two parts and nothing inside a part but what it says, and where the match does
not cut a word: see :mod:`sfgen.ban.characters` for what a boundary is, and :class:`Entry` for where one is needed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TextIO, get_args

from sfgen import arguments
from sfgen.ban.automaton import BOUNDARY, GAP, has_orders, orders
from sfgen.ban.characters import NON_WORD, SEPARATOR, SPACED, fold, kinds_of
from sfgen.ban.word_matcher import WordAutomata
from sfgen.errors import BannedWordsError, InputError, NothingBanned, UsageError

if TYPE_CHECKING:
    from sfgen.ban.patterns import PatternThreads
    from sfgen.ban.seam import SeamMatcher

MatchMode = Literal["word", "prefix", "substring"]

_SEPARATORS: Final = ",，、"
_MOST_ORDERS: Final = 5_000  # in which the marks of a letter may be read, as nodes of a trie


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
    def parse(cls, word: str, match: MatchMode, ignore_case: bool, normalize: bool = False) -> Entry:
        """Read one word. It must have passed :func:`check_word`; ``parts`` is empty if nothing of it is kept.

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

    @property
    def is_plain(self) -> bool:
        """Whether it consists of word characters and white space only, and its marks stand in one order only."""
        return all(
            _is_ascii_word(part) or (NON_WORD not in kinds_of(part) and not has_orders(part)) for part in self.parts
        )

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


def _is_ascii_word(part: str) -> bool:
    """Whether it is nothing but ASCII letters and digits, as most are: a quick look."""
    return part.isascii() and part.isalnum()


def _separate_scripts(part: str, separator: bytes) -> bytes:
    """UTF-8 with a separator wherever a spaced and an unspaced script meet."""
    if _is_ascii_word(part):
        return part.encode()
    kinds = kinds_of(part)
    keyword = b""
    for place, character in enumerate(part):
        if place and kinds[place] != kinds[place - 1]:
            keyword += separator
        keyword += character.encode()
    return keyword


def unstar(word: str) -> tuple[str, bool]:
    r"""The word without its star and without escapes, and whether there was a star.

    >>> unstar("talk*"), unstar(r"f\*\*"), unstar("f**k")
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
    if not word.strip():
        raise BannedWordsError(f"{where} is {'white space only' if word else 'empty'}", hint="Leave it out.")
    if not unstar(word)[0].strip():
        raise BannedWordsError(
            f"{where} is a star alone: it would ban every word", hint=r"Write \* to ban the star itself."
        )
    try:
        word.encode()
    except UnicodeEncodeError:
        raise BannedWordsError(f"{where} is no valid text: {word!r}", hint="Give it in UTF-8.") from None


class BannedWords:
    r"""A list of words, phrases and patterns that must not be written. Immutable: threads may share it.

    A word that ends in ``*`` is a prefix whatever ``match`` says (``talk*`` bans *talking*); ``\*`` is a star.
    Any run of non-word characters may stand between the words of a phrase (``small talk`` bans ``Small... talk``).
    Punctuation that is part of a word is literal (``c++``, ``don't``). Spellings that Unicode calls canonically equal
    are the same word (``é`` in one character or two).

    Args:
        words: What to ban: a list, or one word or phrase.
        patterns: Patterns of Python's ``re`` that must match nowhere. They mean what they do for
            ``re.search(pattern, text)``: ``\w`` and ``\b`` know the letters of all scripts, unless the pattern says
            ``(?a)``. They are compared with the text as it is: ``(?i)`` ignores case, nothing else is folded.
        match: ``"word"``: whole words only, so that *talking* and *talk2* pass when ``talk`` is banned, but not
            *_talk_* or *talk²*: see :mod:`sfgen.ban.characters`. ``"prefix"``: words that begin with it.
            ``"substring"``: anywhere. In scripts written without spaces a word needs no boundary.
        ignore_case: Compare words by full case folding (``STRASSE`` is ``straße``).
        normalize: Compare words without compatibility forms, combining marks and invisible characters, and by the shape
            of their letters: see :mod:`sfgen.ban.confusables`. Traditional and simplified Chinese characters are not
            folded into each other.
        allow: Longer words or spans that excuse a banned match within them (``class`` for ``ass``, ``small talk`` for
            ``talk``). With ``match="word"`` they are whole words, else their text anywhere; ``*`` makes one the
            beginning of a word. They cover what they say, not the rest of the word.

    Raises:
        BannedWordsError: If there is nothing to ban, or a word that bans nothing; the message says which.
        PatternError: A pattern that cannot be read.
        UsageError: If ``match`` is none of the three.

    >>> banned = BannedWords(["talk", "fuck you"], allow=["small talk"])
    >>> banned.matcher().advance(b"Talk!"), banned.matcher().advance(b"Small talk!")
    (Match(word='talk', start=0, end=4), None)
    """

    def __init__(
        self,
        words: Iterable[str] = (),
        patterns: Iterable[str] = (),
        match: MatchMode = "word",
        ignore_case: bool = True,
        normalize: bool = False,
        allow: Iterable[str] = (),
    ) -> None:
        arguments.one_of("match", match, get_args(MatchMode))
        arguments.flag("ignore_case", ignore_case)
        arguments.flag("normalize", normalize)
        self.words: Final = _listed(words, "banned word")
        self.patterns: Final = _listed(patterns, "banned pattern")
        self.match: Final[MatchMode] = match
        self.ignore_case: Final = ignore_case
        self.normalize: Final = normalize
        self.allow: Final = _listed(allow, "allowed word")
        if not self.words and not self.patterns:
            raise NothingBanned("there is no banned word and no banned pattern", hint="Give at least one.")
        self.entries: Final = self._parse(self.words, "banned", match)
        self.allowed_entries: Final = self._parse(self.allow, "allowed", "word" if match == "word" else "substring")
        self.word_automata: Final = WordAutomata(self.entries) if self.entries else None
        self.allow_automata: Final = WordAutomata(self.allowed_entries) if self.allowed_entries else None
        if self.patterns:
            from sfgen.ban.patterns import PatternAutomata

            self.pattern_automata: PatternAutomata | None = PatternAutomata(self.patterns)
        else:
            self.pattern_automata = None

    def _parse(self, words: tuple[str, ...], sort: str, match: MatchMode) -> tuple[Entry, ...]:
        entries = []
        for number, word in enumerate(words, 1):
            where = f"{sort} word {number} of {len(words)}"
            check_word(word, where)
            entry = Entry.parse(word, match, self.ignore_case, self.normalize)
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

    @classmethod
    def of(cls, banned: BannedWords | Iterable[str]) -> BannedWords:
        """Banned words as they are, or made of a list of words.

        >>> BannedWords.of(["talk", "listen"])
        <BannedWords 2: 'talk', 'listen'; match='word', ignore_case=True>
        """
        return banned if isinstance(banned, BannedWords) else cls(banned)

    @classmethod
    def from_file(
        cls,
        source: str | Path | TextIO,
        patterns: Iterable[str] = (),
        match: MatchMode = "word",
        ignore_case: bool = True,
        normalize: bool = False,
        allow: Iterable[str] = (),
        warn: Callable[[str], object] | None = None,
    ) -> BannedWords:
        """The words of a file: see :func:`read_words` for the format, ``warn`` and the errors."""
        return cls(read_words(source, warn), patterns, match, ignore_case, normalize, allow)

    def __len__(self) -> int:
        return len(self.words) + len(self.patterns)

    def __repr__(self) -> str:
        everything = self.words + self.patterns
        shown = ", ".join(map(repr, everything[:3])) + (", …" if len(everything) > 3 else "")
        options = f"match={self.match!r}, ignore_case={self.ignore_case}"
        if self.normalize:
            options += ", normalize=True"
        if self.allow:
            options += f", {len(self.allow)} allowed"
        return f"<BannedWords {len(self)}: {shown}; {options}>"

    def name(self, number: int) -> str:
        """The word with this number, or the pattern: those are counted behind the words."""
        if not 0 <= arguments.whole_number("number", number) < len(self):
            raise UsageError(f"there is no number {number}: {len(self)} words and patterns are banned")
        return self.words[number] if number < len(self.words) else self.patterns[number - len(self.words)]

    def matcher(self, prompt: bytes = b"") -> SeamMatcher:
        """A matcher for one text, which is read by itself and after ``prompt``."""
        from sfgen.ban.seam import SeamMatcher

        return SeamMatcher(self, prompt)

    def pattern_threads(self, position: int) -> PatternThreads | None:
        """What is known of the patterns in a text that begins at ``position``; ``None`` where there are none."""
        if self.pattern_automata is None:
            return None
        from sfgen.ban.patterns import PatternThreads

        return PatternThreads(self.pattern_automata, arguments.whole_number("position", position))


def _listed(texts: Iterable[str], sort: str) -> tuple[str, ...]:
    """A list of texts; one text is the list of it, unless it looks like several words."""
    if isinstance(texts, str) and "word" in sort and len(split_words(texts)) > 1:
        raise BannedWordsError(
            f"{sort}s must be a list, not the text {texts!r:.80}", hint=f"Give {split_words(texts)!r:.80}."
        )
    return arguments.texts(f"{sort}s", texts, error=BannedWordsError)


def split_words(text: str) -> list[str]:
    r"""The words of a command line option: ``,`` ``，`` and ``、`` separate; a backslash before one makes it literal.

    White space around a word and empty pieces are dropped. Other backslashes stay.

    >>> split_words(r"talk, fuck you，聊天、,1\,000,c\*")
    ['talk', 'fuck you', '聊天', '1,000', 'c\\*']
    """
    pieces = [""]
    escaped = False
    arguments.text("text", text)
    for character in text:
        if character in _SEPARATORS and escaped:
            pieces[-1] = pieces[-1][:-1] + character
        elif character in _SEPARATORS:
            pieces.append("")
        else:
            pieces[-1] += character
        escaped = character == "\\" and not escaped
    return [stripped for piece in pieces if (stripped := piece.strip())]


def read_words(source: str | Path | TextIO, warn: Callable[[str], object] | None = None) -> list[str]:
    r"""Read the words of a file in UTF-8, one a line.

    A line that begins with ``#`` is a comment, and so is what follows a ``#`` between white space; ``\#`` is the
    character itself. Blank lines are skipped. Everything else is literal: commas, quotes, stars but one at the end.

    Args:
        source: A path, ``"-"`` for standard input, or an open text stream.
        warn: Is given a sentence about each entry that may mean something else to its author than it does here.

    Raises:
        UsageError: ``warn`` is no function.
        InputError: If it cannot be read, or is not UTF-8 (with the line).
        BannedWordsError: If it has no word, or one that bans nothing (with the line).
    """
    if warn is not None:
        arguments.function("warn", warn)
    name, text = _read(source)
    words: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        word = _COMMENT.split(line, maxsplit=1)[0].strip()
        if warn is not None:
            for doubt in _doubts(word or line.strip()):
                warn(f"{name}, line {number}: {doubt}")
        if not word:
            continue
        word = word.replace(r"\#", "#")
        check_word(word, f"{name}, line {number}: the banned word")
        words.append(word)
    if not words:
        raise NothingBanned(f"{name} has no banned word", hint="Write one on each line.")
    return words


_COMMENT: Final = re.compile(r"^\s*#|\s#(?=\s|$)")
_QUOTES: Final = ('""', "''", "``", "“”", "‘’", "«»", "„“", "「」")


def _doubts(entry: str) -> Iterator[str]:
    """What the author of an entry may have meant otherwise: how it is read, and what to write instead.

    Args:
        entry: A line without its comment; the comment itself if there is nothing else.

    >>> list(_doubts("talk,"))
    ["'talk,' is read with its comma; leave the comma out"]
    """
    if entry.startswith("#"):
        if entry[1:2].strip("#! \t"):  # no blank, no rule of ####
            yield rf"{entry!r} is read as a comment; for a word that begins with #, write \{entry}"
        return
    if re.search(r"\s#", entry):
        yield rf"{entry!r} is read as one phrase; a comment needs a blank behind its #"
    if len(entry) > 2 and any(entry[0] == left and entry[-1] == right for left, right in _QUOTES):
        yield f"{entry!r} is read with its quotes; for the word alone, leave the quotes out"
    if len(entry) > 1 and entry[-1] in _SEPARATORS:
        yield f"{entry!r} is read with its comma; leave the comma out"
    text, starred = unstar(entry.replace(r"\*", ""))
    if "*" in text:
        how = f"as all words that begin with {text!r}" if starred else "with its stars as they are"
        yield rf"{entry!r} is read {how}; write \* for a star to say so"


def _read(source: str | Path | TextIO) -> tuple[str, str]:
    """The name and the text of a source."""
    if isinstance(source, str) and source == "-":
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
        arguments.given("source", source, "a path or an open file", "read")
        buffer = getattr(source, "buffer", None)  # a stream that was opened as another encoding is read as UTF-8 too
        if buffer is None:
            return name, source.read().removeprefix("\ufeff")
        data = buffer.read()
    try:
        return name, data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{name}, line {line}: not UTF-8", hint="Save the file as UTF-8.") from None
