"""The automata of a ban, and what must be known to read text for them: all that a matcher needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfgen import arguments
from sfgen.ban.entries import Entry
from sfgen.ban.word_matcher import WordAutomata

if TYPE_CHECKING:
    from sfgen.ban.patterns import PatternAutomata, PatternThreads


@dataclass(frozen=True, eq=False)
class BanAutomata:
    """A compiled ban; threads may share it.

    It is immutable but for what its automata remember.

    Attributes:
        words: The banned words, as the user gave them.
        patterns: The banned patterns.
        allow: The words that excuse a match.
        ignore_case: Whether words are compared by full case folding.
        normalize: Whether words are compared by the shape of their letters.
        word_automata: Finds the words; ``None`` if there are none, and so are the next two.
        allow_automata: Finds the words that excuse a match.
        pattern_automata: Finds the patterns.
    """

    words: tuple[str, ...]
    patterns: tuple[str, ...]
    allow: tuple[str, ...]
    ignore_case: bool
    normalize: bool
    word_automata: WordAutomata | None
    allow_automata: WordAutomata | None
    pattern_automata: PatternAutomata | None

    @classmethod
    def of(
        cls,
        entries: tuple[Entry, ...],
        patterns: tuple[str, ...],
        allowed: tuple[Entry, ...],
        *,
        ignore_case: bool,
        normalize: bool,
    ) -> BanAutomata:
        """Build the automata.

        Args:
            entries: The banned words.
            patterns: The banned patterns.
            allowed: The words that excuse a match.
            ignore_case: How the entries were folded, and the text will be; so is ``normalize``.
            normalize: See ``ignore_case``.

        Raises:
            BannedWordsError: A pattern that matches the empty text.
            PatternError: A pattern that cannot be read, or never matches.
        """
        pattern_automata = None
        if patterns:
            from sfgen.ban.patterns import PatternAutomata  # which loads numpy

            pattern_automata = PatternAutomata(patterns)
        return cls(
            tuple(entry.word for entry in entries),
            patterns,
            tuple(entry.word for entry in allowed),
            ignore_case,
            normalize,
            WordAutomata(entries) if entries else None,
            WordAutomata(allowed) if allowed else None,
            pattern_automata,
        )

    def name(self, number: int) -> str:
        """Return the banned word or pattern of a number.

        Patterns are counted after the words.
        """
        return self.words[number] if number < len(self.words) else self.patterns[number - len(self.words)]

    def pattern_threads(self, position: int) -> PatternThreads | None:
        """Return a matcher of the patterns for one text.

        Args:
            position: The offset of its first character.

        Returns:
            ``None`` where there are no patterns.
        """
        if self.pattern_automata is None:
            return None
        from sfgen.ban.patterns import PatternThreads

        return PatternThreads(self.pattern_automata, arguments.whole_number("position", position))
