"""Parts of llguidance's dialect of Lark's language that lark does not know: tokens, quotations, counts.

``<think>`` is the one token of that name or text, ``<[128010]>`` the token with that number, ``<[1-3,7]>`` one of
several, ``<[^1-3,7]>`` any other one, ``<[*]>`` any. They stand in rules, not inside of terminals.

lark reads the grammar with a terminal of its own in place of each, with a name as long as the token's spelling, so that
places in errors are easily found. The pattern of such a terminal is a code that no text has (see
``sfgen.grammar.shell.token_symbols``). In place of ``%regex { … }`` stands an optional terminal, filled up with blanks
(see ``sfgen.grammar.lalr.lark_quotations``). Counts in braces, ``NAME{2,3}``, are written as ``NAME~2..3``; a
line ``%llguidance {}`` says nothing.
"""

from __future__ import annotations

import itertools
import json
import re
from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple

from sfgen.errors import GrammarError
from sfgen.grammar.lalr.lark_quotations import DIRECTIVE, MOST_QUOTATIONS, placeholder, read_json, read_quotation
from sfgen.grammar.shell.token_symbols import CODE_BYTES, TokenSymbol, codes_of, pattern_of

OTHER_TEXT = r'//[^\n]*|\#[^\n]*|"(?:\\.|[^"\\\n])*"|/(?!/)(?:\\.|[^/\\])*/[imslux]*|->'
"""Comments, literals, patterns and arrows, in which no token stands."""
SCHEMA = re.compile(rf"(?:{OTHER_TEXT})|(?P<schema>%json(?![A-Za-z0-9_]))[^\S\n]*")
"""The begin of a schema, or what it does not stand in; see ``sfgen.grammar.language.lark_of_schemas``."""
_TOKEN = re.compile(
    rf"(?P<other>{OTHER_TEXT})|(?P<token><[^>\n]*>?)|(?P<quotation>{DIRECTIVE}\b)|(?P<options>%llguidance\b)"
    r"|\{[ ]*(?P<least>[0-9]*)[ ]*(?P<more>,)?[ ]*(?P<most>[0-9]*)[ ]*\}"
    r"|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<name>\w+)"
)
_RANGES = re.compile(r"<\[(\^?)([0-9]{1,9}(?:-[0-9]{1,9})?(?:,[0-9]{1,9}(?:-[0-9]{1,9})?)*)\]>")
_ANY = "<[*]>"
_MOST = len(CODE_BYTES) - 2
"""The most different tokens, each with a code of one byte; the last two codes are an indenter's."""
_SHOWN = 40  # characters of a quotation in messages
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class WithTokens(NamedTuple):
    """A grammar in Lark's language as lark knows it.

    Attributes:
        text: The text that lark reads.
        names: Of lark's name of each its spelling, in short.
        symbols: The tokens and their codes.
        quotations: The pieces of each quotation; in the text stand placeholders.
        offsets: Of each replaced part the offset after it, in the text and in the grammar.
    """

    text: str
    names: Mapping[str, str]
    symbols: Mapping[TokenSymbol, bytes]
    quotations: tuple[tuple[str, ...], ...] = ()
    offsets: Sequence[tuple[int, int]] = ()

    def told(self, error: GrammarError, text: str) -> GrammarError:
        """Return an error of the replaced text as one of the grammar's own."""
        if not self.offsets:
            return error
        reason = error.reason
        for name, spelling in self.names.items():
            reason = reason.replace(name, spelling)
        position = error.position
        if position is not None:
            number = bisect(self.offsets, (position, len(text)))
            here, there = self.offsets[number - 1] if number else (0, 0)
            position = min(position - here + there, len(text))
        return GrammarError(reason, text, position, hint=error.hint, origin=error.origin)


def with_tokens(text: str) -> WithTokens:
    """Put terminals in place of the tokens of a grammar.

    >>> with_tokens('start: <think> "<b>" <think>').text.split("\\n")
    ['start: TAAAAAA "<b>" TAAAAAA', 'TAAAAAA: /\\\\udcf5/', '']
    """
    extensions = list(_extensions(text))
    if not extensions:
        return WithTokens(text, {}, {})
    first = dict[str | tuple[str, ...], _Extension]()
    for each in extensions:
        if each.plain is None:
            first.setdefault(each.key, each)
    tokens = [each for each in first.values() if not each.pieces]
    quoting = [each for each in first.values() if each.pieces]
    _limit(
        tokens, _MOST, "asks for more than {} different tokens", text, "Write several as one, by numbers: <[1-3,7]>."
    )
    _limit(quoting, MOST_QUOTATIONS, "has more than {} different quotations", text, "Join their documents.")
    codes = codes_of(len(tokens))
    symbols = {_symbol(each.spelling, each.start, text): code for each, code in zip(tokens, codes, strict=True)}
    patterns = {each.key: pattern_of(code) for each, code in zip(tokens, codes, strict=True)}
    patterns |= {each.key: placeholder(number, each.pieces) for number, each in enumerate(quoting)}
    names = dict[str | tuple[str, ...], str]()
    for each in (*tokens, *quoting):
        size = 1 if each.pieces else len(each.spelling)
        names[each.key] = next(name for name in _names(size) if name not in text and name not in names.values())
    replaced, offsets, at = "", list[tuple[int, int]](), 0
    for each in extensions:
        name = names.get(each.key, "") if each.plain is None else each.plain
        replaced += text[at : each.start] + (f"({name}?)" if each.pieces else name)
        if each.again is not None:
            number = bisect(offsets, each.again, key=itemgetter(1))
            here, there = offsets[number - 1] if number else (0, 0)
            replaced += f" {replaced[here + each.again - there : -len(name)]}*"
        at = each.end
        offsets.append((len(replaced), at))
    defined = "".join(f"{names[key]}: /{escaped(pattern)}/\n" for key, pattern in patterns.items())
    return WithTokens(
        f"{replaced}{text[at:]}\n{defined}",
        {names[each.key]: each.shown for each in first.values()},
        symbols,
        tuple(each.pieces for each in quoting),
        offsets,
    )


class _Extension(NamedTuple):
    """A part of a grammar that lark does not know.

    Attributes:
        start: The offset at which it begins.
        end: The offset after it.
        spelling: Its text.
        pieces: What is quoted; empty for all but quotations.
        plain: The same in lark's own words; ``None`` for tokens and quotations.
        again: The offset of the part that may be repeated any number of times besides.
    """

    start: int
    end: int
    spelling: str
    pieces: tuple[str, ...] = ()
    plain: str | None = None
    again: int | None = None

    @property
    def key(self) -> str | tuple[str, ...]:
        """What it stands for: equal ones share a terminal."""
        return self.pieces or self.spelling

    @property
    def shown(self) -> str:
        """Its text, and of a quotation the beginning."""
        if not self.pieces or len(self.spelling) <= _SHOWN:
            return self.spelling
        return " ".join(self.spelling[: _SHOWN - 1].split()) + "…"


def _extensions(text: str) -> Iterator[_Extension]:
    """Find them in their order."""
    at, part, opened = 0, 0, list[int]()  # the part that a count stands after, and open brackets
    while match := _TOKEN.search(text, at):
        start, at = match.span()
        if match["quotation"]:
            pieces, at = read_quotation(text, start)
            yield _Extension(start, at, text[start:at], pieces)
        elif match["options"]:
            at = _end_of_options(text, at)
            yield _Extension(start, at, text[start:at], plain="")
        elif match["least"] is not None:
            plain = _count(match["least"], match["more"], match["most"])
            if plain:
                again = part if match["more"] and plain[0] == "~" and not match["most"] else None
                yield _Extension(start, at, match[0], plain=plain, again=again)
            continue
        elif match["token"]:
            yield _Extension(start, at, match["token"])
        elif match["open"]:
            opened.append(part if match["open"] == "{" else start)  # a template begins with its name
        part = opened.pop() if match["close"] and opened else start


def _count(least: str, more: str | None, most: str) -> str:
    """Write a count as lark does, the least one of such without a greatest; empty for braces of another kind.

    >>> _count("2", ",", "3"), _count("2", ",", ""), _count("2", None, ""), _count("1", ",", "")
    ('~2..3', '~2', '~2', '+')
    """
    if most:
        return f"~{least or 0}..{most}" if more else ""
    if not least:
        return ""
    few = least.lstrip("0")
    return ("+" if few else "*") if more and few in ("", "1") else f"~{least}"


def _end_of_options(text: str, position: int) -> int:
    """Read the options of llguidance at an offset, which may be such as are about its speed; return their end."""
    begin = position + len(text[position:]) - len(text[position:].lstrip())
    try:
        options, end = read_json(text, begin)
    except json.JSONDecodeError:
        options, end = None, begin
    if not isinstance(options, dict) or options.keys() - {"no_forcing"}:
        hint = "They are about llguidance; leave them out."
        raise GrammarError("%llguidance has options that are not known here", text, position, hint=hint)
    return end


def _limit(extensions: Sequence[_Extension], most: int, reason: str, text: str, hint: str) -> None:
    if len(extensions) > most:
        raise GrammarError(f"the grammar {reason.format(most)}", text, extensions[most].start, hint=hint)


def escaped(pattern: str) -> str:
    """Write a pattern of characters that no text has so that lark can read it."""
    return pattern.encode("ascii", "backslashreplace").decode()


def _symbol(spelling: str, position: int, text: str) -> TokenSymbol:
    """Read the spelling of a token."""
    if not spelling.endswith(">"):
        raise GrammarError("this is never closed by >", text, position, hint="Write <think> or <[1000]>.")
    if not spelling.startswith("<["):
        return TokenSymbol(spelling, position, spelling, (), False)
    if spelling == _ANY:
        return TokenSymbol(spelling, position, None, (), True)
    match = _RANGES.fullmatch(spelling)
    hint = "Write <[1000]>, <[1-3,7]>, <[^1-3,7]> or <[*]>."
    if match is None:
        raise GrammarError("only numbers of tokens may stand between <[ and ]>", text, position, hint=hint)
    ends = [part.partition("-")[::2] for part in match[2].split(",")]
    ranges = tuple((int(first), int(last or first)) for first, last in ends)
    backwards = next((f"{first}-{last}" for first, last in ranges if first > last), None)
    if backwards is not None:
        raise GrammarError(f"the range {backwards} goes backwards", text, position, hint=hint)
    return TokenSymbol(spelling, position, None, ranges, bool(match[1]))


def _names(length: int) -> Iterator[str]:
    """Yield names of terminals of a length."""
    for letters in itertools.product(_LETTERS, repeat=max(length, 2) - 1):
        yield "T" + "".join(letters)
