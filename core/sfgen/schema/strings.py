"""The strings that a schema allows: keywords about a string become one automaton of its written forms, or a counter.

All keywords but the lengths are made on decoded texts and intersected there; banned words are subtracted from what is
left. Lengths alone need no automaton of their own: a register counts the characters of any string.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from sfgen.automata import Dfa
from sfgen.ban import BannedWords, scan
from sfgen.ban.difference import without
from sfgen.errors import BannedWordsError, PatternTooLarge, SchemaTooLarge
from sfgen.grammar.rules import CountedText, Leaf
from sfgen.schema.ecma_patterns import pattern_texts
from sfgen.schema.formats import format_texts
from sfgen.schema.text_lengths import MAX_CELLS, of_length
from sfgen.schema.written_text import any_text, counted_text, no_text, written

_KEPT = 512  # rules

_MAX_BANNED_CELLS = 1_000_000  # there is another way: a matcher watches over the text


@dataclass(frozen=True, slots=True)
class StringLimits:
    """What a string must be.

    Args:
        minimum: The fewest characters (code points).
        maximum: The most; ``None``: no limit.
        patterns: Patterns of ECMA-262, all of which must be found in the text.
        formats: Names of formats, all of which the text must have.
        banned: What must not be in the text; compared by identity.
    """

    minimum: int = 0
    maximum: int | None = None
    patterns: tuple[str, ...] = ()
    formats: tuple[str, ...] = ()
    banned: BannedWords | None = None

    def accepts(self, value: str) -> bool:
        """Whether a text is valid, as the package jsonschema would say, and has nothing banned in it.

        A pattern is asked of Python's ``re``, or where that cannot read it, of our own automaton. So this may accept
        what is never written, where ``re`` and ECMA-262 do not agree or a format has no bound.

        Raises:
            PatternError: Nobody can read a pattern.

        >>> StringLimits(maximum=3, patterns=("^a",)).accepts("añb"), StringLimits(maximum=3).accepts("four")
        (True, False)
        """
        if any("\ud800" <= character <= "\udfff" for character in value):
            return False
        return (
            self.minimum <= len(value)
            and (self.maximum is None or len(value) <= self.maximum)
            and all(_is_found(pattern, value) for pattern in self.patterns)
            and all(_format_checker().conforms(value, name) for name in self.formats)
            and (self.banned is None or not scan(value, self.banned))
        )


@lru_cache(maxsize=_KEPT)
def string_rule(limits: StringLimits) -> Leaf | CountedText:
    """The written forms of the strings within some limits; all of them are valid for :meth:`StringLimits.accepts`.

    With banned words whose subtraction passes a budget, these are left in: the caller must watch over the text.
    That is so where ``limits`` has ``banned`` and a ``CountedText`` is returned.

    Returns:
        A leaf, whose automaton may accept nothing; or any text of some length, where nothing else is asked.

    Raises:
        PatternError: A pattern cannot be read, or is not regular.
        PatternTooLarge: The automaton of one pattern passes a limit.
        SchemaTooLarge: That of all keywords together does.
        UsageError: A format is not known.

    >>> rule = string_rule(StringLimits(maximum=5, patterns=("^[a-z]*$",)))
    >>> rule.dfa.accepts('"abcde"'), rule.dfa.accepts('"abcdef"')
    (True, False)
    """
    minimum, maximum = limits.minimum, limits.maximum
    if maximum is not None and maximum < minimum:
        return Leaf(no_text())
    is_any = not limits.patterns and not limits.formats
    of_any = Leaf(written(any_text())) if minimum == 0 and maximum is None else counted_text(minimum, maximum)
    if is_any and limits.banned is None:
        return of_any
    texts = _intersection([*map(pattern_texts, limits.patterns), *map(format_texts, limits.formats)])
    try:
        clean = texts if limits.banned is None else without(texts, limits.banned)
    except BannedWordsError:
        return Leaf(no_text())
    if clean is not None:
        try:
            cells = MAX_CELLS if limits.banned is None else _MAX_BANNED_CELLS
            return Leaf(of_length(written(clean), minimum, maximum, cells))
        except SchemaTooLarge:
            if limits.banned is None:
                raise
    return of_any if is_any else Leaf(of_length(written(texts), minimum, maximum))


def _intersection(automata: Iterable[Dfa]) -> Dfa:
    """The texts that all of the automata accept, the smallest ones first.

    Raises:
        SchemaTooLarge: It passes a limit.
    """
    smallest, *others = sorted({any_text(), *automata}, key=len)
    try:
        for other in others:
            smallest = smallest & other
    except PatternTooLarge as error:
        raise SchemaTooLarge(
            f"the patterns and formats of a string together: {error.reason}",
            hint="Take simpler patterns, or fewer.",
        ) from None
    return smallest


def _is_found(pattern: str, value: str) -> bool:
    compiled = _compiled(pattern)
    return pattern_texts(pattern).accepts(value) if compiled is None else compiled.search(value) is not None


@lru_cache(maxsize=_KEPT)
def _compiled(pattern: str) -> re.Pattern[str] | None:
    """The pattern as ``re`` reads it; ``None`` if it cannot."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what may mean something else one day
        try:
            return re.compile(pattern)
        except (re.error, OverflowError, RecursionError):
            return None


@cache
def _format_checker() -> Any:
    """Who jsonschema asks about formats; importing it takes a while."""
    from jsonschema import Draft202012Validator

    return Draft202012Validator.FORMAT_CHECKER
