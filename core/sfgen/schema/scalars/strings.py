"""The strings of a schema: the keywords of strings become one automaton of written forms, with or without a register.

The automata of all keywords but the lengths are built for decoded texts and intersected; banned words are subtracted
from the result. Lengths are counted on written forms, large ones by a register.
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
_MOST_OTHERS = 2_000  # excluded texts for which the complement is built directly


@dataclass(frozen=True, slots=True)
class StringLimits:
    """The limits of a string."""

    minimum: int = 0  # the fewest characters (code points)
    maximum: int | None = None  # the most; ``None``: no limit
    patterns: tuple[str, ...] = ()  # patterns of ECMA-262, all of which must match somewhere in the text
    formats: tuple[str, ...] = ()  # names of formats, all of which the text must have
    banned: BannedWords | None = None  # words that must not be in the text; compared by identity
    others: tuple[str, ...] = ()  # texts that are excluded
    no_patterns: tuple[str, ...] = ()  # patterns that must not match anywhere
    no_formats: tuple[str, ...] = ()  # names of formats that the text must not have, only those of :func:`at_most`
    at_most: tuple[str, ...] = ()  # names of formats; the text is accepted by :func:`at_most` of each
    quoted: tuple[Substring, ...] = ()  # documents, in all of which the text must occur

    def accepts(self, value: str) -> bool:
        """Return whether a text is valid by jsonschema, and without banned words.

        A pattern is searched by Python's ``re``, or if that cannot compile it, by our own automaton. So this may accept
        texts that are never written, if ``re`` and ECMA-262 disagree or a format has no bound.

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
    """Build the rule of written strings within some limits.

    :meth:`StringLimits.accepts` accepts all of them. If the subtraction of banned words passes a budget, the rule still
    has them, and :func:`is_clean` returns ``False``.

    >>> rule = string_rule(StringLimits(maximum=5, patterns=("^[a-z]*$",)))
    >>> rule.dfa.accepts('"abcde"'), rule.dfa.accepts('"abcdef"')
    (True, False)
    """
    return _rule(limits)[0]


def raw_texts(limits: StringLimits) -> tuple[Dfa, bool]:
    """Build the automaton of the raw strings within some limits, without quotes and escapes.

    Returns:
        The automaton, and whether none of its texts has a banned word.

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
        reason = f"the length of a string that is written without quotes: {error.reason}"
        raise SchemaTooLarge(reason, hint="Use a smaller maxLength, or remove it.") from None
    if limits.banned is None:
        return texts, True
    try:
        clean = without(texts, limits.banned)
    except BannedWordsError:
        return no_text(), True
    return (texts, False) if clean is None else (clean, True)


def is_impossible(limits: StringLimits) -> bool:
    """Return whether no string is within some limits."""
    if limits.banned is None and limits.minimum == 0 and limits.maximum is None:
        return _texts(_about_texts(limits)).is_empty  # all texts can be written
    rule = string_rule(limits)
    return isinstance(rule, Leaf) and rule.dfa.is_empty


def is_clean(limits: StringLimits) -> bool:
    """Return whether no string of the rule has a banned word; if not, a matcher must check the text."""
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
            pass  # the automaton may be small enough without the subtraction
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
    """Return the same limits without lengths and banned words."""
    return replace(limits, minimum=0, maximum=None, banned=None)


@lru_cache(maxsize=_KEPT)
def _texts(limits: StringLimits) -> Dfa:
    """Build the decoded automaton of the texts within limits without lengths."""
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
            hint="Use simpler patterns, or fewer.",
        ) from None
    return smallest


@lru_cache(maxsize=_KEPT)
def _written_with(pattern: str) -> Dfa:
    """Build the decoded automaton of texts without surrogates in which a pattern matches."""
    return any_text() & pattern_texts(pattern)


def divided(texts: Dfa, pattern: str) -> tuple[Dfa, Dfa]:
    """Divide texts into those in which a pattern matches, and those in which it does not."""
    try:
        return texts & pattern_texts(pattern), (texts & _read_alike(pattern)) - _found_by_anyone(pattern)
    except PatternTooLarge as error:
        raise SchemaTooLarge(
            f"the patterns of names together: {error.reason}", hint="Use simpler patterns, or fewer."
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
    """Return texts in which a pattern matches by ECMA-262 and ``re`` alike: no controls, and ASCII for classes."""
    # A negated pattern must not match by either of them.
    return _of_pattern("[ -~]*" if "\\" in pattern else "[^\x00-\x1f\x7f-\x9f\u2028\u2029]*")


def is_found(pattern: str, value: str) -> bool:
    """Return whether a pattern matches somewhere in a text, as jsonschema does."""
    compiled = re_pattern(pattern)
    return pattern_texts(pattern).accepts(value) if compiled is None else compiled.search(value) is not None


@lru_cache(maxsize=_KEPT)
def re_pattern(pattern: str) -> re.Pattern[str] | None:
    """Compile a pattern by ``re``; ``None`` if ``re`` cannot read it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about nested sets, which neither ECMA-262 nor `re` has
        try:
            return re.compile(pattern)
        except (re.error, OverflowError, RecursionError):
            return None


@cache
def _format_checker() -> Any:
    """Import the format checker of jsonschema, which is slow, once."""
    return jsonschema().Draft202012Validator.FORMAT_CHECKER
