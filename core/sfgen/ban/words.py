"""The lists of words that a user gives: banned words and patterns, words with a bias, and the files that hold words.

Each list is checked when it is made, and compiled to the automata that a matcher needs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TextIO, get_args

from sfgen import arguments
from sfgen.ban.automaton import Automaton
from sfgen.ban.entries import Entry, MatchMode, check_word, read_entries, unstar
from sfgen.ban.seam import SeamMatcher
from sfgen.errors import BannedWordsError, InputError, NothingBanned, PatternError, UsageError
from sfgen.parameter_text import ParameterText
from sfgen.printable import shown_name
from sfgen.whole_file import read_file, read_stream


class BannedWords:
    r"""A list of words, phrases and patterns that must not be written.

    It is immutable, and threads may share it.

    A word that ends in ``*`` is a prefix whatever ``match`` says (``talk*`` bans *talking*); ``\*`` is a star. Any run
    of non-word characters may stand between the words of a phrase (``small talk`` bans ``Small... talk``). Punctuation
    that is part of a word is literal (``c++``, ``don't``). Spellings that Unicode calls canonically equal are the same
    word (``é`` in one character or two).

    Args:
        words: The words to ban: a list, or one word or phrase.
        patterns: Patterns of Python's ``re`` that must match nowhere. They have the meaning that they have for
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
            beginning of a word. They cover their own text, not the rest of the word.

    Raises:
        BannedWordsError: There is nothing to ban, or a word bans nothing; the message names it.
        PatternError: A pattern that cannot be read.
        UsageError: ``match`` is none of the three.

    >>> banned = BannedWords(["talk", "fuck you"], allow=["small talk"])
    >>> banned.matcher().advance(b"Talk!"), banned.matcher().advance(b"Small talk!")
    (Match(word='talk', start=0, end=4), None)
    """

    @arguments.with_known_names
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
        self.automata: Final = Automaton(
            entries_of(self),
            self.patterns,
            entries_of(self, allowed=True),
            ignore_case=ignore_case,
            normalize=normalize,
        )

    @property
    def _key(self) -> tuple[Any, ...]:
        """The arguments that it was made from, in one form."""
        return self.words, self.patterns, self.match, self.ignore_case, self.normalize, self.allow

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, BannedWords) and self._key == other._key)

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(self._key)

    def __reduce__(self) -> tuple[Any, ...]:
        return BannedWords, self._key

    def __compiled__(self) -> tuple[Any, ...]:
        kept = {name: value for name, value in self.__dict__.items() if name != "_hash"}  # it differs by process
        return object.__new__, (BannedWords,), kept

    @classmethod
    def of(cls, banned: BannedWords | Iterable[str]) -> BannedWords:
        """Return banned words as they are, or make them of a list.

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
        """Read the words of a file; :func:`read_words` tells the format.

        Args:
            source: A path, or an open text stream.
            patterns: As for the class.
            match: As for the class.
            ignore_case: As for the class.
            normalize: As for the class.
            allow: As for the class.
            warn: Called with a sentence about each entry that may mean something else to its author than it does here.

        Raises:
            SfgenError: As for the class and :func:`read_words`.
        """
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
        """Return the banned word or pattern of a number.

        Patterns are counted after the words.

        Raises:
            UsageError: There is no such number.
        """
        if not 0 <= arguments.whole_number("number", number) < len(self):
            raise UsageError(f"there is no number {number}: {len(self)} words and patterns are banned")
        return self.automata.name(number)

    def matcher(self, prompt: bytes = b"") -> SeamMatcher:
        """Return a matcher for one text, by itself and after its prompt.

        Args:
            prompt: The bytes before the text.
        """
        return SeamMatcher(self.automata, prompt)


def entries_of(banned: BannedWords, some: slice = slice(None), *, allowed: bool = False) -> Iterator[Entry]:
    """Yield the banned words of a list, or the allowed ones, one after the other."""
    if not allowed:
        return read_entries(banned.words[some], "banned", banned.match, banned.ignore_case, banned.normalize)
    mode: MatchMode = "word" if banned.match == "word" else "substring"
    return read_entries(banned.allow[some], "allowed", mode, banned.ignore_case, banned.normalize)


def _listed(texts: Iterable[str], sort: str) -> tuple[str, ...]:
    """Check a list of texts; a single text becomes a list, unless it looks like several words."""
    if isinstance(texts, str) and "word" in sort and len(split_words(texts)) > 1:
        raise BannedWordsError(
            f"{sort}s must be a list, not the text {texts!r:.80}", hint=f"Give {split_words(texts)!r:.80}."
        )
    return arguments.texts(f"{sort}s", texts, error=BannedWordsError)


LEAST = -1000
"""The lowest bias: its factor is 0 as a number."""


class WordBias:
    r"""Words and phrases, each with a bias of at most 0.

    They are found as ``BannedWords`` finds them: in the text, however the tokens cut it, read by itself and read after
    the prompt. With n occurrences of a word of bias b, a text has exp(b · n) times its weight;
    :mod:`sfgen.decoding.ban` says how near the decode loop comes to that. It is immutable, and threads may share
    it.

    Args:
        biases: The bias of each word or phrase; ``talk*`` is a prefix, as in ``BannedWords``. A bias is the natural
            logarithm of a factor: with -0.69 a word is about half as likely, with -2 an eighth.
        match: As of ``BannedWords``, and so are the next two.
        ignore_case: See ``match``.
        normalize: See ``match``.

    Raises:
        UsageError: A bias above 0, or none at all; ``match`` is none of the three.
        BannedWordsError: A word that is empty, or of which nothing is left; the message says which.

    >>> WordBias({"talk": -2, "small talk": -0.5}).biases
    {'talk': -2, 'small talk': -0.5}
    """

    @arguments.with_known_names
    def __init__(
        self,
        biases: Mapping[str, float],
        match: MatchMode = "word",
        ignore_case: bool = True,
        normalize: bool = False,
    ) -> None:
        given = arguments.mapping("word_bias", biases)
        words = arguments.texts("words with a bias", tuple(given))
        if not words:
            raise UsageError(
                ParameterText("word_bias names no word", "word_bias"), hint="Give at least one, or leave it out."
            )
        self.biases: Final = {word: _checked(word, given[word]) for word in words}
        arguments.one_of("match", match, get_args(MatchMode))
        self.match: Final[MatchMode] = match
        self.ignore_case: Final = arguments.flag("ignore_case", ignore_case)
        self.normalize: Final = arguments.flag("normalize", normalize)
        entries = read_entries(words, "biased", match, ignore_case, normalize)
        self.automata: Final = Automaton(entries, (), (), ignore_case=ignore_case, normalize=normalize)

    @property
    def _key(self) -> tuple[Any, ...]:
        """The arguments that it was made of, in one form; an order of words means nothing."""
        return tuple(sorted(self.biases.items())), self.match, self.ignore_case, self.normalize

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WordBias) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __reduce__(self) -> tuple[Any, ...]:
        return WordBias, (self.biases, self.match, self.ignore_case, self.normalize)

    def __repr__(self) -> str:
        return f"<WordBias {', '.join(self.written)}; match={self.match!r}, ignore_case={self.ignore_case}>"

    @property
    def written(self) -> tuple[str, ...]:
        """The words with their biases, as ``talk=-2``."""
        return tuple(f"{word}={bias:g}" for word, bias in self.biases.items())

    @classmethod
    def of(cls, biases: WordBias | Mapping[str, float]) -> WordBias:
        """Return biases as they are, or make them of a dictionary.

        >>> WordBias.of({"talk": -2})
        <WordBias talk=-2; match='word', ignore_case=True>
        """
        return biases if isinstance(biases, WordBias) else cls(biases)


def _checked(word: str, bias: object) -> float:
    """Return a bias within its range."""
    wanted = f"a number from {LEAST:g} to 0"
    if bias == -math.inf:
        hint = "A word that must never come out is banned."
        raise arguments.refusal(f"the bias of {word!r:.60}", wanted, bias, hint=hint)
    value = arguments.number(f"the bias of {word!r:.60}", bias, wanted, least=LEAST)
    if value > 0:
        raise UsageError(
            f"the bias of {word!r:.60} is {value:g}, above 0: a word is made less likely by taking back what was "
            "written, and nothing that was taken back makes one likelier",
            hint=ParameterText("Give a number of at most 0; to make tokens likelier, give logit_bias.", "logit_bias"),
        )
    return value


_CHARACTERS: Final = {
    # As an emoji on its own, or made one by a variation selector. Unicode's property Emoji has the digits, too.
    "emoji": r"\p{Emoji_Presentation}|\p{Emoji}\uFE0F",
    "cjk": r"[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}]",
}


def character_patterns(names: Iterable[str]) -> tuple[str, ...]:
    r"""Return patterns that ban the characters of scripts by name.

    Punctuation that several scripts share belongs to none of them.

    Args:
        names: ``emoji``: characters that are shown as emoji. ``cjk``: Han, Hiragana, Katakana, Hangul and Bopomofo. Any
            other name is a script of Unicode's, such as ``han`` or ``cyrillic``; case does not matter.

    Returns:
        A pattern for each name, for ``patterns`` of :class:`BannedWords`.

    Raises:
        UsageError: There is no such set of characters.

    >>> character_patterns(["Cyrillic", "emoji"])
    ('\\p{Script=Cyrillic}', '\\p{Emoji_Presentation}|\\p{Emoji}\\uFE0F')
    """
    from sfgen.regex import parse  # which loads numpy

    patterns = []
    for name in arguments.texts("names of characters", names):
        pattern = _CHARACTERS.get(name.strip().lower(), rf"\p{{Script={name.strip()}}}")
        try:
            if not re.fullmatch(r"[A-Za-z][A-Za-z _-]*", name.strip()):
                raise PatternError("no name", pattern)
            parse(pattern)
        except PatternError:
            raise UsageError(
                f"there are no characters by the name {name!r:.60}",
                hint="Name a script of Unicode's, such as han or cyrillic, or else cjk or emoji.",
            ) from None
        patterns.append(pattern)
    return tuple(patterns)


_SEPARATORS: Final = ",，、"


def split_words(text: str) -> list[str]:
    r"""Split a list of words on one line.

    ``,`` ``，`` and ``、`` separate; a backslash before one makes it literal. White space around a word and empty
    pieces are dropped. Other backslashes stay.

    Returns:
        The words, in their order.

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


def read_words(
    source: str | Path | TextIO, warn: Callable[[str], object] | None = None, *, title: str | None = None
) -> list[str]:
    r"""Read the words of a file in UTF-8, one a line.

    A line that begins with ``#`` is a comment, and so is what follows a ``#`` between white space; ``\#`` is the
    character itself. Blank lines are skipped. Everything else is literal: commas, quotes, stars but one at the end.

    Args:
        source: A path, or an open text stream.
        warn: Called with a sentence about each entry that may mean something else to its author than it does here.
        title: Its name in messages; by default its path, or the name of the stream.

    Raises:
        UsageError: ``warn`` is not a function, or ``title`` is not a text.
        InputError: It cannot be read, or is not UTF-8 (with the line).
        NothingBanned: It has no word.
        BannedWordsError: It has a word that bans nothing (with the line).
    """
    if warn is not None:
        arguments.function("warn", warn)
    if title is not None:
        arguments.text("title", title)
    name, text = _read(source, title)
    words: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.replace(" ", "").isalnum():  # as nearly all lines of a long list
            words.append(line.strip())
            continue
        word = _COMMENT.split(line, maxsplit=1)[0].strip()
        if warn is not None:
            for doubt in _doubts(word or line.strip()):
                warn(f"{shown_name(name)}, line {number}: {doubt}")
        if not word:
            continue
        word = word.replace(r"\#", "#")
        check_word(word, f"{name}, line {number}: the banned word")
        words.append(word)
    if not words:
        raise NothingBanned(f"{name} has no banned word", hint="Write one on each line.")
    return words


_LONGEST_FILE: Final = 64 << 20  # bytes: some millions of phrases
_COMMENT: Final = re.compile(r"^\s*#|\s#(?=\s|$)")
_QUOTES: Final = ('""', "''", "``", "“”", "‘’", "«»", "„“", "「」")


def _doubts(entry: str) -> Iterator[str]:
    """Yield sentences about an entry that its author may mean otherwise: its reading, and a correction.

    >>> list(_doubts("talk,"))
    ["'talk,' is read with its comma; leave the comma out"]
    """
    if entry.startswith("#"):
        if entry[1:2].strip("#! \t"):  # no blank, no rule of ####
            yield rf"{entry!r} is read as a comment; for a word that begins with #, write \{entry}"
        return
    if re.search(r"\s#", entry):
        yield rf"{entry!r} is read as one phrase; a comment needs a blank after its #"
    if len(entry) > 2 and any(entry[0] == left and entry[-1] == right for left, right in _QUOTES):
        yield f"{entry!r} is read with its quotes; for the word alone, leave the quotes out"
    if len(entry) > 1 and entry[-1] in _SEPARATORS:
        yield f"{entry!r} is read with its comma; leave the comma out"
    text, starred = unstar(entry.replace(r"\*", ""))
    if "*" in text:
        how = f"as all words that begin with {text!r}" if starred else "with its stars as they are"
        yield rf"{entry!r} is read {how}; write \* for a star to say so"


def _read(source: str | Path | TextIO, title: str | None) -> tuple[str, str]:
    """Return the name and the text of a source."""
    if isinstance(source, (str, Path)):
        name = title or str(source)
        try:
            data = read_file(source, name, most=_LONGEST_FILE)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise InputError(f"cannot read the banned words in {name}: {reason}", hint="Check the path.") from None
    else:
        name = title or str(getattr(source, "name", "the stream"))
        arguments.given("source", source, "a path or an open file", "read")
        buffer = getattr(source, "buffer", None)  # a stream that was opened as another encoding is read as UTF-8 too
        if buffer is None:
            return name, source.read().removeprefix("\ufeff")
        data = read_stream(buffer, name, most=_LONGEST_FILE)
    try:
        return name, data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{name}, line {line}: not UTF-8", hint="Save the file as UTF-8.") from None
