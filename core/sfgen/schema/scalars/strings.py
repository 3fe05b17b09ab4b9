"""The strings that a schema allows: keywords about a string become one automaton of its written forms, or a counter.

All keywords but the lengths are made on decoded texts and intersected there; banned words are subtracted from what is
left. Lengths are counted on written forms, the large ones by a register.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

from sfgen.automata import Dfa
from sfgen.ban import BannedWords, scan
from sfgen.ban.difference import without
from sfgen.errors import BannedWordsError, PatternTooLarge, SchemaTooLarge
from sfgen.grammar.network.rules import CountedText, Leaf
from sfgen.schema.scalars.ecma_patterns import has_modifiers, pattern_texts, texts_found_by_either
from sfgen.schema.scalars.formats import at_most, format_texts, jsonschema
from sfgen.schema.scalars.written_text import (
    any_string,
    any_text,
    counted_text,
    no_text,
    of_length,
    write,
    written,
    written_without,
)
from sfgen.substring.automaton import automaton_of
from sfgen.substring.document import SUBSTRING_OF
from sfgen.substring.substring import Substring

_KEPT = 512  # rules
_MOST_OTHERS = 2_000  # texts that are left out at once


@dataclass(frozen=True, slots=True)
class StringLimits:
    """The demands on a string."""

    minimum: int = 0  # the fewest characters (code points)
    maximum: int | None = None  # the most; ``None``: no limit
    patterns: tuple[str, ...] = ()  # patterns of ECMA-262, all of which must be found in the text
    formats: tuple[str, ...] = ()  # names of formats, all of which the text must have
    banned: BannedWords | None = None  # what must not be in the text; compared by identity
    others: tuple[str, ...] = ()
    no_patterns: tuple[str, ...] = ()
    # names of formats, none of which the text may have; of those that :func:`at_most` knows
    no_formats: tuple[str, ...] = ()
    at_most: tuple[str, ...] = ()  # names of such formats; the text is among those that may be taken for one
    quoted: tuple[Substring, ...] = ()  # documents, in all of which the text must stand

    def accepts(self, value: str) -> bool:
        """Tell whether a text is valid by jsonschema, without banned words.

        A pattern is searched by Python's ``re``, or where that cannot read it, by our own automaton. So this may accept
        what is never written, where ``re`` and ECMA-262 do not agree or a format has no bound.

        >>> StringLimits(maximum=3, patterns=("^a",)).accepts("añb"), StringLimits(maximum=3).accepts("four")
        (True, False)
        """
        if any("\ud800" <= character <= "\udfff" for character in value):
            return False
        return (
            self.minimum <= len(value)
            and (self.maximum is None or len(value) <= self.maximum)
            and all(is_found(pattern, value) for pattern in self.patterns)
            and all(_format_checker().conforms(value, name) for name in self.formats)
            and (self.banned is None or not scan(value, self.banned))
            and value not in self.others
            and not any(is_found(pattern, value) for pattern in self.no_patterns)
            and not any(_format_checker().conforms(value, name) for name in self.no_formats)
            and all(at_most(name).accepts(value) for name in self.at_most)
            and all(document.accepts(value) for document in self.quoted)
        )


def string_rule(limits: StringLimits) -> Leaf | CountedText:
    """Build the rule of strings within some limits, as written.

    All of them are valid for :meth:`StringLimits.accepts`. Banned words whose subtraction passes a budget are left in;
    :func:`is_clean` tells.

    >>> rule = string_rule(StringLimits(maximum=5, patterns=("^[a-z]*$",)))
    >>> rule.dfa.accepts('"abcde"'), rule.dfa.accepts('"abcdef"')
    (True, False)
    """
    return _rule(limits)[0]


def raw_texts(limits: StringLimits) -> tuple[Dfa, bool]:
    """Build the automaton of the strings within some limits as they are, without quotes and escapes.

    Returns:
        It, and whether no text of it has a banned word, as :func:`is_clean` tells.

    >>> texts, is_clean = raw_texts(StringLimits(maximum=3, patterns=("^a",)))
    >>> texts.accepts('a"\\n'), texts.accepts("abcd"), is_clean
    (True, False, True)
    """
    minimum, maximum = limits.minimum, limits.maximum
    if maximum is not None and maximum < minimum:
        return no_text(), True
    try:
        texts = _texts(_about_texts(limits))
        if minimum or maximum is not None:
            texts = texts & Dfa.from_regex(f"(?s:.{{{minimum},{'' if maximum is None else maximum}}})")
    except PatternTooLarge as error:
        reason = f"the length of a string that stands without quotes: {error.reason}"
        raise SchemaTooLarge(reason, hint="Ask for a shorter one, or leave the length out.") from None
    if limits.banned is None:
        return texts, True
    try:
        clean = without(texts, limits.banned)
    except BannedWordsError:
        return no_text(), True
    return (texts, False) if clean is None else (clean, True)


def is_impossible(limits: StringLimits) -> bool:
    """Tell whether the rule of strings within some limits has none."""
    if limits.banned is None and limits.minimum == 0 and limits.maximum is None:
        return _texts(_about_texts(limits)).is_empty  # all texts can be written
    rule = string_rule(limits)
    return isinstance(rule, Leaf) and rule.dfa.is_empty


def is_clean(limits: StringLimits) -> bool:
    """Tell whether no string of the rule has a banned word."""
    # Otherwise a matcher must watch over what is written.
    return _rule(limits)[1]


@lru_cache(maxsize=_KEPT)
def _rule(limits: StringLimits) -> tuple[Leaf | CountedText, bool]:
    """Return the rule, and whether it is clean."""
    minimum, maximum = limits.minimum, limits.maximum
    if maximum is not None and maximum < minimum:
        return Leaf(no_text()), True
    if limits.banned is not None:
        texts = _texts(_about_texts(limits))
        try:
            clean = without(texts, limits.banned)
            if clean is not None:
                return of_length(written(clean), minimum, maximum), True
        except BannedWordsError:
            return Leaf(no_text()), True
        except SchemaTooLarge:
            pass  # without the banned words it may be smaller
        return _rule(replace(limits, banned=None))[0], False
    about_texts = _about_texts(limits)
    if about_texts == StringLimits(others=limits.others) and 0 < len(limits.others) <= _MOST_OTHERS:
        strings = written_without(limits.others)
        if minimum == 0 and maximum is None:
            return Leaf(strings, any_string(), tuple(map(write, limits.others))), True
        return of_length(strings, minimum, maximum), True
    if about_texts != StringLimits():
        return of_length(written(_texts(about_texts)), minimum, maximum), True
    if minimum == 0 and maximum is None:
        return Leaf(any_string()), True
    return counted_text(minimum, maximum), True


def _about_texts(limits: StringLimits) -> StringLimits:
    """Return the same limits without the lengths and without what is banned."""
    return replace(limits, minimum=0, maximum=None, banned=None)


@lru_cache(maxsize=_KEPT)
def _texts(limits: StringLimits) -> Dfa:
    """Return the decoded automaton of the texts within limits without lengths, the smallest parts first."""
    automata: set[Dfa] = {
        *(map(_quotations, limits.quoted) if limits.quoted else [] if limits.patterns else [any_text()]),
        *map(_written_with, limits.patterns),
        *map(format_texts, limits.formats),
        *map(at_most, limits.at_most),
    }
    smallest, *more = sorted(automata, key=len)
    try:
        for other in more:
            smallest = smallest & other
        if limits.others:
            smallest = smallest - Dfa.from_choices(list(limits.others))
        for name in limits.no_formats:
            smallest = smallest - at_most(name)
        for alike in dict.fromkeys(map(_read_alike, limits.no_patterns)):
            smallest = smallest & alike
        for pattern in limits.no_patterns:
            smallest = smallest - _found_by_anyone(pattern)
    except PatternTooLarge as error:
        raise SchemaTooLarge(
            f"the patterns and formats of a string together: {error.reason}",
            hint="Take simpler patterns, or fewer.",
        ) from None
    return smallest


@lru_cache(maxsize=_KEPT)
def _written_with(pattern: str) -> Dfa:
    """Return the texts that can be written and in which a pattern is found."""
    return any_text() & pattern_texts(pattern)


def divided(texts: Dfa, pattern: str) -> tuple[Dfa, Dfa]:
    """Divide texts into those in which a pattern is found, and those in which it is not."""
    try:
        return texts & pattern_texts(pattern), (texts & _read_alike(pattern)) - _found_by_anyone(pattern)
    except PatternTooLarge as error:
        raise SchemaTooLarge(
            f"the patterns of names together: {error.reason}", hint="Take simpler patterns, or fewer."
        ) from None


def _found_by_anyone(pattern: str) -> Dfa:
    return texts_found_by_either(pattern) if has_modifiers(pattern) else pattern_texts(pattern)


def _quotations(document: Substring) -> Dfa:
    try:
        quotations: Dfa = automaton_of(document)
        return quotations
    except PatternTooLarge as error:
        raise SchemaTooLarge(
            f'"{SUBSTRING_OF}": {error.reason}',
            hint="Quote from a shorter document, or write the quotation by itself, with Substring.",
        ) from None


@cache
def _of_pattern(pattern: str) -> Dfa:
    return Dfa.from_regex(pattern)


def _read_alike(pattern: str) -> Dfa:
    """Return texts in which ECMA-262 and ``re`` find a pattern alike: no controls, ASCII for classes."""
    # A text that one of them may find must not be written where nothing may be found.
    return _of_pattern("[ -~]*" if "\\" in pattern else "[^\x00-\x1f\x7f-\x9f\u2028\u2029]*")


def is_found(pattern: str, value: str) -> bool:
    """Tell whether a pattern is found in a text, as jsonschema would."""
    compiled = re_pattern(pattern)
    return pattern_texts(pattern).accepts(value) if compiled is None else compiled.search(value) is not None


@lru_cache(maxsize=_KEPT)
def re_pattern(pattern: str) -> re.Pattern[str] | None:
    """Return the pattern as ``re`` reads it; ``None`` if it cannot."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about sets in sets, which ECMA-262 has as little as `re`
        try:
            return re.compile(pattern)
        except (re.error, OverflowError, RecursionError):
            return None


@cache
def _format_checker() -> Any:
    """Who jsonschema asks about formats; importing it takes a while."""
    return jsonschema().Draft202012Validator.FORMAT_CHECKER
