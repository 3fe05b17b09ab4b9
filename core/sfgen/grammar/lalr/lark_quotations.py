"""Quotations in grammars of Lark's language, as llguidance writes them: ``%regex {"substring_words": "to be or"}``.

A quotation is a run of consecutive pieces of a list, joined; it may be empty. ``substring_chunks`` is the list;
``substring_chars`` and ``substring_words`` are texts whose pieces are characters, or runs of word characters, of white
space and of others.

lark has no quotations. It reads the grammar with a terminal in place of each, whose pattern has two characters that no
text has, so that other terminals may contain it. The lexer replaces these characters by an automaton
(``quoting_automaton``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import regex
from sfgen.errors import GrammarError
from sfgen.grammar.network.rules import GrammarTooLarge

DIRECTIVE = "%regex"

MAX_WORK = 3_000_000
"""The most positions of a document that are visited while its automaton is made: two seconds' work."""

MOST_QUOTATIONS = 512
"""The most quotations of a grammar, each with a placeholder."""

_FIRST = 0xD800  # high surrogates; the codes of tokens are low ones
_PRIVATE = 0x10F800
_COMMENT = r"(?:\(\?#\.*\))?"
_FIELDS = ("substring_chunks", "substring_words", "substring_chars")
_HINT = 'Write %regex {"substring_words": "…"}, substring_chars, or substring_chunks with a list.'
_WORD = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u200c\u200d"
_WORDS = rf"\p{{White_Space}}+|[{_WORD}]+|[^\p{{White_Space}}{_WORD}]+"


class Quotation(NamedTuple):
    """A quotation in the text of a grammar.

    Attributes:
        pieces: The pieces of the document; none is empty.
        end: The offset after it in the grammar.
    """

    pieces: tuple[str, ...]
    end: int


def read_quotation(text: str, position: int) -> Quotation:
    """Read ``%regex { … }`` at an offset of a grammar."""
    begin = position + len(DIRECTIVE)
    begin += len(text[begin:]) - len(text[begin:].lstrip())
    try:
        options, end = read_json(text, begin)
    except json.JSONDecodeError as error:
        raise GrammarError(f"{DIRECTIVE} is not followed by JSON: {error.msg}", text, position, hint=_HINT) from None
    if not isinstance(options, dict):
        raise GrammarError(f"{DIRECTIVE} is not followed by a JSON object", text, begin, hint=_HINT)
    given = {name: value for name, value in options.items() if value is not None}
    unknown = next((name for name in options if name not in _FIELDS), None)
    if unknown is not None or len(given) != 1:
        reason = "must have exactly one field" if unknown is None else f"has no field {unknown!r}"
        raise GrammarError(f"{DIRECTIVE} {reason}", text, begin, hint=_HINT)
    [(name, value)] = given.items()
    pieces = _pieces(name, value)
    if not pieces:
        kind = "a list of texts" if name == _FIELDS[0] else "a text"
        raise GrammarError(f"{name} must be {kind} and not empty", text, begin, hint=_HINT)
    return Quotation(pieces, end)


def read_json(text: str, position: int) -> tuple[Any, int]:
    """Read JSON at an offset of a grammar; return its value and the offset after it, or raise ``JSONDecodeError``."""
    try:
        return json.JSONDecoder().raw_decode(text, position)
    except json.JSONDecodeError:
        raise
    except RecursionError:
        raise json.JSONDecodeError("it is nested too deep", text, position) from None
    except ValueError:  # of Python's conversion of digits
        raise json.JSONDecodeError("a number in it has too many digits", text, position) from None


def _pieces(name: str, value: Any) -> tuple[str, ...]:
    """Return the pieces of a field; none if its value has the wrong type or is empty."""
    if name == "substring_chunks":
        is_right = isinstance(value, list) and all(isinstance(each, str) for each in value)
        pieces = tuple(filter(None, value)) if is_right else ()
    elif not isinstance(value, str):
        pieces = ()
    else:
        pieces = tuple(value) if name == "substring_chars" else _words(value)
    return () if any("\ud800" <= character <= "\udfff" for piece in pieces for character in piece) else pieces


def _words(text: str) -> tuple[str, ...]:
    """Cut a text into words, white space and runs of others.

    >>> _words("foo bar.. baz")
    ('foo', ' ', 'bar', '..', ' ', 'baz')
    """
    return tuple(regex.findall(_WORDS, text))


# ---- placeholders ----------------------------------------------------------------------------------------------------


def placeholder(number: int, pieces: Sequence[str]) -> str:
    """Write a quotation as a pattern of characters that no text has.

    lark tries terminals with a long maximum length first, and of equal ones those with a long pattern. So this pattern
    has no maximum length, and is as long as the document.
    """
    return _mark(number) + f"(?#{'.' * len(''.join(pieces))})"


def _mark(number: int) -> str:
    first, second = chr(_FIRST + 2 * number), chr(_FIRST + 2 * number + 1)
    return f"{first}{second}{first}*"


def quoted_in(pattern: str) -> list[int]:
    """List the quotations in a pattern, by number, each once."""
    firsts = re.findall(r"([\ud800-\udbff])[\ud800-\udbff]\1\*", pattern)
    return list(dict.fromkeys((ord(first) - _FIRST) // 2 for first in firsts))


def as_characters(pattern: str) -> str:
    """Replace each quotation of a pattern by two characters for private use, which our parser can read.

    The two stay adjacent: if the parser factors the first out of two branches, it factors out the second, too.
    """
    for number in quoted_in(pattern):
        pattern = pattern.replace(_mark(number), "".join(map(chr, private_pair(number))))
    return pattern


def readable(pattern: str) -> str:
    """Shorten the quotations in a pattern, for messages."""
    return re.sub(rf"[\ud800-\udbff]{{3}}\*{_COMMENT}", DIRECTIVE + "{…}", pattern)


def private_pair(number: int) -> tuple[int, int]:
    """Return the code points that stand for a quotation while a pattern is parsed."""
    return _PRIVATE + 2 * number, _PRIVATE + 2 * number + 1


def with_texts(pattern: str, text: str, quotations: Sequence[tuple[str, ...]]) -> str:
    """Replace each quotation of a pattern by those of its texts that a text contains, so that ``re`` can read it."""
    for number in quoted_in(pattern):
        automaton = quoting_automaton(quotations[number])
        quoted = {text[start:end] for start in range(len(text)) for end in _ends(automaton, text, start)}
        longest_first = sorted(quoted, key=lambda each: (-len(each), each))
        pattern = pattern.replace(_mark(number), f"(?:{'|'.join(map(re.escape, longest_first)) or '(?!)'})")
    return pattern


class QuotingState(NamedTuple):
    """A state of an automaton of quotations: the set of positions in the document after the text so far.

    Attributes:
        after: The state after each character, by code point or symbol; other characters are refused.
        may_end: Whether the quotation may end.
    """

    after: Mapping[int, int]
    may_end: bool


@lru_cache(maxsize=8)
def quoting_automaton(pieces: tuple[str, ...]) -> tuple[QuotingState, ...]:
    """Make the automaton of the quotations of some pieces that are not empty; the first state is the start.

    A state is the set of positions after the text so far (Blumer et al. 1985): texts with the same positions have the
    same continuations.

    >>> [state.may_end for state in quoting_automaton(("a", "b"))], len(quoting_automaton(("ab", "ab")))
    ([False, True, True], 5)
    """
    text, ends, starts = "".join(pieces), set[int](), list[int]()
    for piece in pieces:
        starts.append(max(ends, default=0))
        ends.add(starts[-1] + len(piece))
    numbers = {tuple(starts): 0}
    waiting, states, work = list(numbers), list[QuotingState](), 0
    for positions in waiting:
        work += len(positions)
        if work > MAX_WORK:
            limit = f"{MAX_WORK:,} steps of construction for a document of {len(text):,} characters"
            raise GrammarTooLarge(DIRECTIVE, limit, "terminal")
        positions_after = dict[int, list[int]]()
        for position in positions:
            if position < len(text):
                positions_after.setdefault(ord(text[position]), []).append(position + 1)
        after = dict[int, int]()
        for character, reached in positions_after.items():
            key = tuple(reached)
            if key not in numbers:
                numbers[key] = len(numbers)
                waiting.append(key)
            after[character] = numbers[key]
        states.append(QuotingState(after, bool(states) and not ends.isdisjoint(positions)))
    return tuple(states)


def _ends(automaton: Sequence[QuotingState], text: str, start: int) -> Iterator[int]:
    """Yield the offsets at which a quotation may end that begins at an offset."""
    state = automaton[0]
    for offset in range(start, len(text)):
        after = state.after.get(ord(text[offset]))
        if after is None:
            return
        state = automaton[after]
        if state.may_end:
            yield offset + 1
