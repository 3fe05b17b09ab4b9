"""Banned words and patterns: the list that a user gives, checked and made into automata."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO, get_args

from sfgen import arguments
from sfgen.ban.ban_automata import BanAutomata
from sfgen.ban.entries import MatchMode, parse_all
from sfgen.ban.seam import SeamMatcher
from sfgen.ban.word_files import read_words, split_words
from sfgen.errors import BannedWordsError, NothingBanned, UsageError

if TYPE_CHECKING:
    from sfgen.ban.patterns import PatternThreads


class BannedWords:
    r"""A list of words, phrases and patterns that must not be written.

    It is immutable, and threads may share it.

    A word that ends in ``*`` is a prefix whatever ``match`` says (``talk*`` bans *talking*); ``\*`` is a star. Any run
    of non-word characters may stand between the words of a phrase (``small talk`` bans ``Small... talk``). Punctuation
    that is part of a word is literal (``c++``, ``don't``). Spellings that Unicode calls canonically equal are the same
    word (``é`` in one character or two).

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
        BannedWordsError: There is nothing to ban, or a word that bans nothing; the message says which.
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
        self.entries: Final = parse_all(self.words, "banned", match, ignore_case, normalize)
        mode: MatchMode = "word" if match == "word" else "substring"
        self.allowed_entries: Final = parse_all(self.allow, "allowed", mode, ignore_case, normalize)
        self.automata: Final = BanAutomata.of(
            self.entries, self.patterns, self.allowed_entries, ignore_case=ignore_case, normalize=normalize
        )

    @property
    def _key(self) -> tuple[Any, ...]:
        """The arguments that it was made of, in one form."""
        return self.words, self.patterns, self.match, self.ignore_case, self.normalize, self.allow

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BannedWords) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __reduce__(self) -> tuple[Any, ...]:
        return BannedWords, self._key

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

    def pattern_threads(self, position: int) -> PatternThreads | None:
        """Return a matcher of the patterns for one text.

        Args:
            position: The offset of its first character.

        Returns:
            ``None`` where there are no patterns.
        """
        return self.automata.pattern_threads(position)


def _listed(texts: Iterable[str], sort: str) -> tuple[str, ...]:
    """A list of texts; one text is the list of it, unless it looks like several words."""
    if isinstance(texts, str) and "word" in sort and len(split_words(texts)) > 1:
        raise BannedWordsError(
            f"{sort}s must be a list, not the text {texts!r:.80}", hint=f"Give {split_words(texts)!r:.80}."
        )
    return arguments.texts(f"{sort}s", texts, error=BannedWordsError)
