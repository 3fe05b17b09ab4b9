"""What llguidance writes in grammars of Lark's language and lark does not know: tokens of the vocabulary, quotations.

``<think>`` is the one token of that name or text, ``<[128010]>`` the token with that number, ``<[1-3,7]>`` one of
several, ``<[^1-3,7]>`` any other one, ``<[*]>`` any. They stand in rules, not inside of terminals.

lark reads the grammar with a terminal of its own in place of each, with a name as long as the token's spelling, so that
places in errors stay right. The pattern of such a terminal is a code that no text has (see
``sfgen.grammar.shell.token_symbols``). In place of ``%regex { … }`` stands an optional terminal, filled up with blanks
(see ``sfgen.grammar.lalr.lark_quotations``).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from sfgen.errors import GrammarError
from sfgen.grammar.lalr.lark_quotations import DIRECTIVE, MOST_QUOTATIONS, placeholder, read_quotation
from sfgen.grammar.shell.token_symbols import CODE_BYTES, TokenSymbol, codes_of, pattern_of

_OTHER_TEXT = r'//[^\n]*|\#[^\n]*|"(?:\\.|[^"\\\n])*"|/(?!/)(?:\\.|[^/\\])*/[imslux]*|->'
_TOKEN = re.compile(rf"(?P<other>{_OTHER_TEXT})|(?P<token><[^>\n]*>?)|(?P<quotation>{DIRECTIVE}\b)")
_RANGES = re.compile(r"<\[(\^?)([0-9]{1,9}(?:-[0-9]{1,9})?(?:,[0-9]{1,9}(?:-[0-9]{1,9})?)*)\]>")
_ANY = "<[*]>"
_MOST = len(CODE_BYTES) - 2
"""The most different tokens, each with a code of one byte; the last two codes are an indenter's."""
_SHOWN = 40  # characters of a quotation in messages
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class WithTokens(NamedTuple):
    """A grammar in Lark's language without its tokens and quotations.

    Attributes:
        text: The text that lark reads.
        names: Of lark's name of each its spelling, in short.
        symbols: The tokens and their codes.
        quotations: The pieces of each quotation; in the text stand placeholders.
    """

    text: str
    names: Mapping[str, str]
    symbols: Mapping[TokenSymbol, bytes]
    quotations: tuple[tuple[str, ...], ...] = ()

    def told(self, error: GrammarError, text: str) -> GrammarError:
        """Return an error of the replaced text as one of the grammar's own."""
        if not self.names:
            return error
        reason = error.reason
        for name, spelling in self.names.items():
            reason = reason.replace(name, spelling)
        position = None if error.position is None else min(error.position, len(text))
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
    replaced, at = list[str](), 0
    for each in extensions:
        name = names[each.key]
        replaced += text[at : each.start], f"({name}?)".ljust(each.end - each.start) if each.pieces else name
        at = each.end
    defined = "".join(f"{names[key]}: /{escaped(pattern)}/\n" for key, pattern in patterns.items())
    return WithTokens(
        "".join([*replaced, text[at:], "\n", defined]),
        {names[each.key]: each.shown for each in first.values()},
        symbols,
        tuple(each.pieces for each in quoting),
    )


class _Extension(NamedTuple):
    """A token or a quotation in the text of a grammar.

    Attributes:
        start: The offset at which it begins.
        end: The offset behind it.
        spelling: Its text.
        pieces: What is quoted; empty for a token.
    """

    start: int
    end: int
    spelling: str
    pieces: tuple[str, ...]

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
    """Find tokens and quotations in their order."""
    at = 0
    while match := _TOKEN.search(text, at):
        start, at = match.span()
        if match["quotation"]:
            pieces, at = read_quotation(text, start)
            yield _Extension(start, at, text[start:at], pieces)
        elif match["token"]:
            yield _Extension(start, at, match["token"], ())


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
        raise GrammarError("between <[ and ]> stand numbers of tokens", text, position, hint=hint)
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
