"""Tokens of the vocabulary in grammars of Lark's language, as llguidance writes them.

``<think>`` is the one token of that name or text, ``<[128010]>`` the token with that number, ``<[1-3,7]>`` one of
several, ``<[^1-3,7]>`` any other one, ``<[*]>`` any. They stand in rules, not inside of terminals.

lark does not know them. It reads the grammar with a terminal of its own in place of each, with a name as long as the
token's spelling, so that places in errors stay right. The pattern of such a terminal is a code that no text has (see
``sfgen.grammar.shell.token_symbols``).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from sfgen.errors import GrammarError
from sfgen.grammar.shell.token_symbols import CODE_BYTES, TokenSymbol, codes_of, pattern_of

_OTHER_TEXT = r'//[^\n]*|\#[^\n]*|"(?:\\.|[^"\\\n])*"|/(?!/)(?:\\.|[^/\\])*/[imslux]*|->'
_TOKEN = re.compile(rf"(?P<other>{_OTHER_TEXT})|(?P<token><[^>\n]*>?)")
_RANGES = re.compile(r"<\[(\^?)([0-9]{1,9}(?:-[0-9]{1,9})?(?:,[0-9]{1,9}(?:-[0-9]{1,9})?)*)\]>")
_ANY = "<[*]>"
_MOST = len(CODE_BYTES) - 2
"""The most different tokens, each with a code of one byte; the last two codes are an indenter's."""
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class WithTokens(NamedTuple):
    """A grammar in Lark's language without its tokens.

    Attributes:
        text: The text that lark reads.
        names: The name there of each spelling.
        symbols: The tokens and their codes.
    """

    text: str
    names: Mapping[str, str]
    symbols: Mapping[TokenSymbol, bytes]

    def told(self, error: GrammarError, text: str) -> GrammarError:
        """Return an error of the replaced text as one of the grammar's own."""
        if not self.names:
            return error
        reason = error.reason
        for spelling, name in self.names.items():
            reason = reason.replace(name, spelling)
        position = None if error.position is None else min(error.position, len(text))
        return GrammarError(reason, text, position, hint=error.hint, origin=error.origin)


def with_tokens(text: str) -> WithTokens:
    """Put terminals in place of the tokens of a grammar.

    >>> with_tokens('start: <think> "<b>" <think>').text.split("\\n")
    ['start: TAAAAAA "<b>" TAAAAAA', 'TAAAAAA: /\\\\udcf5/', '']
    """
    found = dict[str, int]()
    for match in _TOKEN.finditer(text):
        if match["token"]:
            found.setdefault(match["token"], match.start())
    if not found:
        return WithTokens(text, {}, {})
    if len(found) > _MOST:
        reason, position = f"the grammar asks for more than {_MOST} different tokens", sorted(found.values())[_MOST]
        raise GrammarError(reason, text, position, hint="Write several as one, by their numbers: <[1-3,7]>.")
    symbols = {_symbol(spelling, position, text): code for (spelling, position), code in
               zip(found.items(), codes_of(len(found)), strict=True)}  # fmt: skip
    names = dict[str, str]()
    for spelling in found:
        names[spelling] = next(
            name for name in _names(len(spelling)) if name not in text and name not in names.values()
        )
    replaced = _TOKEN.sub(lambda match: names[match["token"]] if match["token"] else match[0], text)
    defined = "".join(f"{names[each.spelling]}: /{escaped(code)}/\n" for each, code in symbols.items())
    return WithTokens(f"{replaced}\n{defined}", names, symbols)


def escaped(code: bytes) -> str:
    """Write a code as a pattern that lark can read."""
    return pattern_of(code).encode("ascii", "backslashreplace").decode()


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
