"""Extensions of Lark's language by llguidance that lark cannot read: tokens, quotations, counts.

``<think>`` is the one token of that name or text, ``<[128010]>`` the token with that number, ``<[1-3,7]>`` one of
several, ``<[^1-3,7]>`` any other one, ``<[*]>`` any. They are allowed in rules, not inside of terminals.

Each token is replaced by a terminal that lark can read, with a name as long as the token's spelling, so that positions
in errors are easily converted. The pattern of such a terminal is a code that no text has (see
``sfgen.grammar.shell.token_symbols``). ``%regex { … }`` is replaced by an optional terminal (see
``sfgen.grammar.lalr.lark_quotations``). Counts in braces, ``NAME{2,3}``, are written as ``NAME~2..3``; ``%llguidance
{}`` is removed.
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
"""Comments, literals, patterns and arrows, which contain no tokens."""
SCHEMA = re.compile(rf"(?:{OTHER_TEXT})|(?P<schema>%json(?![A-Za-z0-9_]))[^\S\n]*")
"""The beginning of a schema, or a text that contains none; see ``sfgen.grammar.language.lark_of_schemas``."""
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
    """A grammar in Lark's language without the extensions of llguidance.

    Attributes:
        text: The text that lark reads.
        names: The spelling, perhaps shortened, of the extension that each new terminal replaces, by terminal.
        symbols: The tokens and their codes.
        quotations: The pieces of each quotation; the text has placeholders for them.
        offsets: The offsets after each replaced part, in the text and in the grammar.
    """

    text: str
    names: Mapping[str, str]
    symbols: Mapping[TokenSymbol, bytes]
    quotations: tuple[tuple[str, ...], ...] = ()
    offsets: Sequence[tuple[int, int]] = ()

    def translated(self, error: GrammarError, text: str) -> GrammarError:
        """Convert an error of the replaced text to one of the grammar's text."""
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
    """Replace the extensions in a grammar by terminals and counts that lark can read.

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
    _limit(tokens, _MOST, "has more than {} different tokens", text, "Write several as one, by numbers: <[1-3,7]>.")
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
        if each.starred_from is not None:
            number = bisect(offsets, each.starred_from, key=itemgetter(1))
            here, there = offsets[number - 1] if number else (0, 0)
            replaced += f" {replaced[here + each.starred_from - there : -len(name)]}*"
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
    """A part of a grammar that lark cannot read.

    Attributes:
        start: The offset at which it begins.
        end: The offset after it.
        spelling: Its text.
        pieces: The pieces of a quotation; empty for other extensions.
        plain: The same in lark's syntax; ``None`` for tokens and quotations.
        starred_from: The offset of the counted part, if it is written once more with a star; else ``None``.
    """

    start: int
    end: int
    spelling: str
    pieces: tuple[str, ...] = ()
    plain: str | None = None
    starred_from: int | None = None

    @property
    def key(self) -> str | tuple[str, ...]:
        """The key of its terminal: extensions with equal keys share one."""
        return self.pieces or self.spelling

    @property
    def shown(self) -> str:
        """Its text; of a long quotation the beginning."""
        if not self.pieces or len(self.spelling) <= _SHOWN:
            return self.spelling
        return " ".join(self.spelling[: _SHOWN - 1].split()) + "…"


def _extensions(text: str) -> Iterator[_Extension]:
    """Yield the extensions in a grammar, in their order."""
    at, part, opened = 0, 0, list[int]()  # the offsets of the part before a count, and of open brackets
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
                starred_from = part if match["more"] and plain[0] == "~" and not match["most"] else None
                yield _Extension(start, at, match[0], plain=plain, starred_from=starred_from)
            continue
        elif match["token"]:
            yield _Extension(start, at, match["token"])
        elif match["open"]:
            opened.append(part if match["open"] == "{" else start)  # a template begins with its name
        part = opened.pop() if match["close"] and opened else start


def _count(least: str, more: str | None, most: str) -> str:
    """Write a count in lark's syntax, without a maximum only the minimum; empty for other braces.

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
    """Read llguidance's options at an offset, of which only those about its speed are allowed; return their end."""
    begin = position + len(text[position:]) - len(text[position:].lstrip())
    try:
        options, end = read_json(text, begin)
    except json.JSONDecodeError:
        options, end = None, begin
    if not isinstance(options, dict) or options.keys() - {"no_forcing"}:
        hint = "Leave them out: they configure llguidance only."
        raise GrammarError("%llguidance has options that are not supported", text, position, hint=hint)
    return end


def _limit(extensions: Sequence[_Extension], most: int, reason: str, text: str, hint: str) -> None:
    if len(extensions) > most:
        raise GrammarError(f"the grammar {reason.format(most)}", text, extensions[most].start, hint=hint)


def escaped(pattern: str) -> str:
    """Escape the characters of a pattern that no text has, so that lark can read it."""
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
        raise GrammarError("only numbers of tokens are allowed between <[ and ]>", text, position, hint=hint)
    ends = [part.partition("-")[::2] for part in match[2].split(",")]
    ranges = tuple((int(first), int(last or first)) for first, last in ends)
    backwards = next((f"{first}-{last}" for first, last in ranges if first > last), None)
    if backwards is not None:
        raise GrammarError(f"the range {backwards} goes backwards", text, position, hint=hint)
    return TokenSymbol(spelling, position, None, ranges, bool(match[1]))


def _names(length: int) -> Iterator[str]:
    """Yield names of terminals with a given length."""
    for letters in itertools.product(_LETTERS, repeat=max(length, 2) - 1):
        yield "T" + "".join(letters)
