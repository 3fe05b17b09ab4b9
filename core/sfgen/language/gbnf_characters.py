r"""The characters of GBNF: escapes, string literals and classes.

A character is a Unicode code point. Surrogates are not text: in a literal they are refused, a class leaves them out.
"""

from __future__ import annotations

import re
from functools import lru_cache

from sfgen.automata import Dfa
from sfgen.automata.compile import compile_tree
from sfgen.errors import GrammarError
from sfgen.grammar.rules import Bytes, Expression, Leaf, Literal
from sfgen.regex.ast import Characters
from sfgen.regex.characters import TEXT, Ranges, complement, union

_NAMED = {"n": 0x0A, "r": 0x0D, "t": 0x09, **{character: ord(character) for character in '\\"[]-'}}
_DIGITS = {"x": 2, "u": 4, "U": 8}
_HEXADECIMAL = re.compile(r"[0-9A-Fa-f]*")
_SURROGATES = range(0xD800, 0xE000)


class CharacterReader:
    """Reads characters at a position of a grammar.

    Args:
        text: The whole grammar.

    Attributes:
        at: The position: a code-point offset.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def error(self, reason: str, position: int, *, hint: str = "") -> GrammarError:
        """Make an error that shows a position.

        Args:
            reason: What is wrong.
            position: The offset in the text, in characters.
            hint: What to do instead.
        """
        return GrammarError(reason, self.text, position, hint=hint)

    def literal(self) -> Literal:
        """Read a literal in double quotes, the first of which comes next."""
        opening, codes = self.at, list[int]()
        self.at += 1
        while not self.text.startswith('"', self.at):
            begin = self.at
            code = self._character(opening, '"')
            if code in _SURROGATES:
                hint = "Write a character beyond U+FFFF as \\U and eight digits, not as two surrogates."
                raise self.error(f"U+{code:04X} is a surrogate, which is in no text", begin, hint=hint)
            codes.append(code)
        self.at += 1
        return Literal("".join(map(chr, codes)).encode())

    def character_class(self) -> Expression:
        """Read a class in square brackets, the first of which comes next."""
        opening = self.at
        self.at += 1
        is_negated = self.text.startswith("^", self.at)
        self.at += is_negated
        found = list[tuple[int, int]]()
        while not self.text.startswith("]", self.at):
            found.append(self._range(opening))
        self.at += 1
        if not found:
            raise self.error("this class is empty", opening, hint='Write "" for the empty text, . for any character.')
        ranges = complement(union(found)) if is_negated else union(found)
        if not ranges:
            raise self.error("this class has no character", opening, hint="Surrogates are not characters.")
        return characters(ranges)

    def _range(self, opening: int) -> tuple[int, int]:
        begin = self.at
        first = last = self._character(opening, "]")
        if self.text.startswith("-", self.at) and not self.text.startswith("-]", self.at):
            self.at += 1
            last = self._character(opening, "]")
            if first > last:
                hint = "Write the lower character first; the character - itself is \\-."
                raise self.error(f"the range {self.text[begin : self.at]} goes backwards", begin, hint=hint)
        return first, last

    def _character(self, opening: int, closing: str) -> int:
        """The code point of a character that may be escaped."""
        text, begin = self.text, self.at
        if begin == len(text):
            raise self.error(f"this is never closed by {closing}", opening)
        self.at += 1
        if text[begin] != "\\":
            return ord(text[begin])
        kind = text[self.at : self.at + 1]
        self.at += 1
        if kind in _DIGITS:
            return self._by_number(begin, _DIGITS[kind])
        if kind not in _NAMED or not kind:
            hint = 'There are \\n \\r \\t \\\\ \\" \\[ \\] \\- \\xNN \\uNNNN \\UNNNNNNNN.'
            raise self.error(f"there is no escape \\{kind}", begin, hint=hint)
        return _NAMED[kind]

    def _by_number(self, begin: int, count: int) -> int:
        """The code point of an escape of hexadecimal digits; the position is at the first of them."""
        found = _HEXADECIMAL.match(self.text, self.at, self.at + count)
        digits = found[0] if found else ""
        if len(digits) < count:
            raise self.error(f"the escape \\{self.text[begin + 1]} has {count} hexadecimal digits", begin)
        self.at += count
        code = int(digits, 16)
        if code > 0x10FFFF:
            raise self.error(f"there is no character U+{code:X}", begin, hint="The last is U+10FFFF.")
        return code


@lru_cache(maxsize=1024)
def characters(ranges: Ranges = TEXT) -> Expression:
    """Make the expression of one character of a non-empty set."""
    if ranges[-1][1] <= 0x7F:
        return Bytes(ranges)
    return Leaf(Dfa(*compile_tree(Characters(ranges), "a class of characters")))
