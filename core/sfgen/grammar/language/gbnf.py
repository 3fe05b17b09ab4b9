"""GBNF, the grammars of llama.cpp, read into rules.

A grammar means what it means in llama.cpp (its documentation and parser, ggml-org/llama.cpp, 2023 and later):

* A rule ends with its line. It continues after ``::=`` and ``|``, and anywhere in round brackets.
* A name is letters, digits, ``-`` and ``_``. Of two rules with one name the later one counts.
* ``* + ? {m} {m,} {m,n}`` follow a literal, a class, a name or a bracket, and several may follow each other.
* An alternative may be empty.
* A character is a Unicode code point. A surrogate in a literal is an error; a class leaves surrogates out.

* ``<[1000]>`` is the token with that number, ``<think>`` the one token of that text, ``!`` before it any other token.
  It matches neither parts of tokens nor end tokens (see ``sfgen.grammar.shell.token_symbols``).

Differences from llama.cpp: counts of any size are kept, up to a limit of copies; left recursion is allowed; an empty
class ``[]``, a range that goes backwards, a surrogate and a token that is not in the vocabulary are errors. In
llama.cpp the characters of its name also match a special token; here only its symbol does, because it is not text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache

from sfgen import arguments
from sfgen.automata import Dfa
from sfgen.automata.compile import compile_tree
from sfgen.errors import GrammarError
from sfgen.grammar.network.rules import (
    EMPTY,
    Alternation,
    Bytes,
    Call,
    Concatenation,
    Expression,
    GrammarRules,
    GrammarTooLarge,
    Leaf,
    Literal,
    Repeat,
)
from sfgen.grammar.network.simplify import size
from sfgen.grammar.shell.token_symbols import SymbolTokens, TokenSymbol, codes_of
from sfgen.regex.ast import Characters
from sfgen.regex.characters import TEXT, Ranges, complement, union

MAX_SIZE = 200_000
"""The most bytes and parts of all rules, with the copies of counted repetitions."""

MAX_NESTING = 100
"""The most open brackets."""

_NAME = re.compile(r"[A-Za-z0-9_-]+")
_SPACE = re.compile(r"(?:[ \t]|#[^\r\n]*)*")
_SPACE_AND_LINES = re.compile(r"(?:[ \t\r\n]|#[^\r\n]*)*")
_END_OF_LINE = re.compile(r"\r\n|\r|\n|\Z")
_TOKEN = re.compile(r"!?<(?:\[([0-9]{1,9})\]|(?!\[)[^>\r\n]*)>")
_NUMBER = re.compile(r"[0-9]*")
_REPETITIONS = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_SHOWN = 8  # names of rules in a message

_ESCAPES = {"n": 0x0A, "r": 0x0D, "t": 0x09, **{character: ord(character) for character in '\\"[]-'}}
_ESCAPE_DIGITS = {"x": 2, "u": 4, "U": 8}
_HEXADECIMAL = re.compile(r"[0-9A-Fa-f]*")
_SURROGATES = range(0xD800, 0xE000)


@dataclass(frozen=True, slots=True)
class Gbnf:
    """The content of a grammar in GBNF.

    Attributes:
        text: The text of the grammar.
        grammar: The rules.
        positions: The offset of each rule in the text, in code points.
        terminals: The literals, classes and tokens: the spelling and the offset of the first occurrence.
        symbols: The tokens.
    """

    text: str
    grammar: GrammarRules
    positions: Mapping[str, int]
    terminals: Mapping[Expression, tuple[str, int]]
    symbols: SymbolTokens

    def error(self, reason: str, rule: str, *, hint: str = "") -> GrammarError:
        """Make an error at a rule."""
        return GrammarError(reason, self.text, self.positions.get(rule), hint=hint)


def read_gbnf(text: str, start: str = "root") -> Gbnf:
    """Read a grammar in GBNF.

    >>> sorted(read_gbnf('root ::= item ("," item)*  # a list\\nitem ::= [a-z]{1,3}').grammar.rules)
    ['item', 'root']
    """
    reader = _RuleReader(arguments.text("text", text))
    reader.read()
    start = arguments.text("start", start)
    if start not in reader.rules:
        raise GrammarError(f"there is no rule {start!r}", text, hint=_hint_for_unknown(start, list(reader.rules)))
    for rule, calls in reader.calls.items():
        for name, position in calls:
            if name not in reader.rules:
                hint = _hint_for_unknown(name, list(reader.rules))
                raise GrammarError(f"the rule {rule!r} calls {name!r}, which is not a rule", text, position, hint=hint)
    _check_size(reader)
    return Gbnf(
        text, GrammarRules(reader.rules, start), reader.positions, reader.terminals, SymbolTokens(reader.symbols)
    )


def _hint_for_unknown(name: str, names: list[str]) -> str:
    """Return a hint for a rule name that does not exist."""
    near = get_close_matches(name, names, 3)
    if near:
        return f"Did you mean {' or '.join(map(repr, near))}?"
    shown = ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
    return f"The rules are {shown}." if names else "There are no rules. Write one as NAME ::= EXPRESSION."


def _check_size(reader: _RuleReader) -> None:
    total = 0
    for name, expression in reader.rules.items():
        total += size(expression)
        if total > MAX_SIZE:
            raise reader.too_large(name, reader.positions[name])


class _CharacterReader:
    """Reads characters of a grammar: escapes, literals and classes.

    Attributes:
        at: The offset of the next character, in code points.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def error(self, reason: str, position: int, *, hint: str = "") -> GrammarError:
        """Make an error at an offset."""
        return GrammarError(reason, self.text, position, hint=hint)

    def literal(self) -> Literal:
        """Read a literal from its opening quote on."""
        opening, codes = self.at, list[int]()
        self.at += 1
        while not self.text.startswith('"', self.at):
            begin = self.at
            code = self._character(opening, '"')
            if code in _SURROGATES:
                hint = "Write a character beyond U+FFFF as \\U and eight digits, not as two surrogates."
                raise self.error(f"U+{code:04X} is a surrogate, which no text contains", begin, hint=hint)
            codes.append(code)
        self.at += 1
        return Literal("".join(map(chr, codes)).encode())

    def character_class(self) -> Expression:
        """Read a class from its opening bracket on."""
        opening = self.at
        self.at += 1
        is_negated = self.text.startswith("^", self.at)
        self.at += is_negated
        pairs = list[tuple[int, int]]()
        while not self.text.startswith("]", self.at):
            pairs.append(self._range(opening))
        self.at += 1
        if not pairs:
            raise self.error("this class is empty", opening, hint='Write "" for the empty text, . for any character.')
        ranges = complement(union(pairs)) if is_negated else union(pairs)
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
        """Read a character, which may be escaped; return its code point."""
        text, begin = self.text, self.at
        if begin == len(text):
            raise self.error(f"this is never closed by {closing}", opening)
        self.at += 1
        if text[begin] != "\\":
            return ord(text[begin])
        kind = text[self.at : self.at + 1]
        self.at += 1
        if kind in _ESCAPE_DIGITS:
            return self._by_number(begin, _ESCAPE_DIGITS[kind])
        if kind not in _ESCAPES or not kind:
            hint = 'The escapes are \\n \\r \\t \\\\ \\" \\[ \\] \\- \\xNN \\uNNNN \\UNNNNNNNN.'
            raise self.error(f"there is no escape \\{kind}", begin, hint=hint)
        return _ESCAPES[kind]

    def _by_number(self, begin: int, count: int) -> int:
        """Read the hexadecimal digits of an escape; return the code point."""
        match = _HEXADECIMAL.match(self.text, self.at, self.at + count)
        digits = match[0] if match else ""
        if len(digits) < count:
            raise self.error(f"the escape \\{self.text[begin + 1]} needs {count} hexadecimal digits", begin)
        self.at += count
        code = int(digits, 16)
        if code > 0x10FFFF:
            raise self.error(f"there is no character U+{code:X}", begin, hint="The last is U+10FFFF.")
        return code


@lru_cache(maxsize=1024)
def characters(ranges: Ranges = TEXT) -> Expression:
    """Make the expression of one character of a set that is not empty."""
    if ranges[-1][1] <= 0x7F:
        return Bytes(ranges)
    return Leaf(Dfa(*compile_tree(Characters(ranges), "a class of characters")))


class _RuleReader(_CharacterReader):
    """Reads rules.

    Attributes:
        rules: The expression of each rule.
        positions: The offset of each rule.
        calls: The names in each rule, with their offsets.
        terminals: The literals, classes and tokens: the spelling and the offset of the first occurrence.
        symbols: The code of each token.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.terminals: dict[Expression, tuple[str, int]] = {}
        self.symbols: dict[TokenSymbol, bytes] = {}
        self._codes = list[bytes]()
        self.rules: dict[str, Expression] = {}
        self.positions: dict[str, int] = {}
        self.calls: dict[str, list[tuple[str, int]]] = {}
        self._rule = ""
        self._brackets = list[int]()  # offsets of the open brackets

    def read(self) -> None:
        """Read all rules, after a byte order mark."""
        self.at = int(self.text.startswith("\ufeff"))
        self._skip(_SPACE_AND_LINES)
        while self.at < len(self.text):
            self._read_rule()

    def too_large(self, rule: str, position: int) -> GrammarTooLarge:
        """Make the error of a rule that passes the limit of parts."""
        error = GrammarTooLarge(rule, f"{MAX_SIZE:,} bytes and parts")
        error.position = position
        return error

    def _read_rule(self) -> None:
        begin = self.at
        self._rule = name = self._skip(_NAME)
        if not name:
            raise self.error(f"a rule must begin with its name, not with {self._here()}", begin, hint=self._hint())
        self._skip(_SPACE)
        if not self.text.startswith("::=", self.at):
            raise self.error(f"::= is missing after the name {name!r}", self.at, hint=self._hint())
        self.at += 3
        self._skip(_SPACE_AND_LINES)
        self.calls[name] = []
        expression = self._alternatives()
        if not _END_OF_LINE.match(self.text, self.at):
            raise self._unexpected()
        self._skip(_SPACE_AND_LINES)
        # A leaf as the whole rule would remain an automaton of its own, called for each character.
        self.rules[name] = Concatenation((expression,)) if isinstance(expression, Leaf) else expression
        self.positions[name] = begin

    def _alternatives(self) -> Expression:
        branches = [self._sequence()]
        while self.text.startswith("|", self.at):
            self.at += 1
            self._skip(_SPACE_AND_LINES)
            branches.append(self._sequence())
        return _alternation(branches)

    def _sequence(self) -> Expression:
        parts = list[Expression]()
        while True:
            begin = self.at
            part = self._symbol()
            if part is None:
                return _concatenation(parts)
            self._skip_inside()
            while (bounds := self._bounds()) is not None:
                part = self._repeated(part, *bounds, begin)
            parts.append(part)

    def _symbol(self) -> Expression | None:
        """Read a literal, a class, a token, a name or a bracket; ``None`` if none begins here."""
        match self.text[self.at : self.at + 1]:
            case '"' | "[" | "." | "<" | "!":
                return self._terminal()
            case "(":
                return self._group()
            case _:
                return self._call()

    def _terminal(self) -> Expression:
        begin, terminal = self.at, characters()
        match self.text[begin]:
            case '"':
                terminal = self.literal()
            case "[":
                terminal = self.character_class()
            case "<" | "!":
                terminal = self._token()
            case _:
                self.at += 1
        self.terminals.setdefault(terminal, (self.text[begin : self.at], begin))
        return terminal

    def _token(self) -> Literal:
        """Read a token symbol; its expression is its code."""
        match = _TOKEN.match(self.text, self.at)
        if match is None:
            raise self._no_token()
        self.at = match.end()
        spelling, number = match[0], match[1]
        name = None if number else spelling.removeprefix("!")
        ids = ((int(number), int(number)),) if number else ()
        known = next((symbol for symbol in self.symbols if symbol.spelling == spelling), None)
        if known is None:
            self._codes = self._codes or codes_of(self._most_tokens())
            known = TokenSymbol(spelling, match.start(), name, ids, spelling.startswith("!"))
            self.symbols[known] = self._codes[len(self.symbols)]
        return Literal(self.symbols[known])

    def _most_tokens(self) -> int:
        """Return an upper bound of the number of different token symbols in the text."""
        matches = (_TOKEN.match(self.text, sign.start()) for sign in re.finditer("!?<", self.text))
        return len({token[0] for token in matches if token})

    def _no_token(self) -> GrammarError:
        """Make the error for a text that begins like a token and is not one."""
        begin = self.at + self.text.startswith("!", self.at)
        if not self.text.startswith("<", begin):
            return self.error("! is allowed before a token only", self.at, hint="Write !<think> or !<[1000]>.")
        if self.text.startswith("<[", begin):
            return self.error("only the number of a token is allowed between <[ and ]>", begin, hint="Write <[1000]>.")
        return self.error("this is never closed by >", begin, hint="Write <think> or <[1000]>.")

    def _call(self) -> Expression | None:
        begin = self.at
        name = self._skip(_NAME)
        if not name:
            return None
        self._skip_inside()
        if self.text.startswith("::=", self.at):
            reason = f"the rule {name!r} begins inside the rule {self._rule!r}"
            if self._brackets:
                raise self.error(f"{reason}: this bracket is never closed", self._brackets[-1])
            hint = 'A rule ends with its line, except after ::= or |. Write an empty alternative as "".'
            raise self.error(reason, begin, hint=hint)
        self.calls[self._rule].append((name, begin))
        return Call(name)

    def _group(self) -> Expression:
        opening = self.at
        self._brackets.append(opening)
        if len(self._brackets) > MAX_NESTING:
            hint = "Move the content of the brackets into a rule of its own."
            raise self.error(f"more than {MAX_NESTING} brackets are open", opening, hint=hint)
        self.at += 1
        self._skip(_SPACE_AND_LINES)
        inner = self._alternatives()
        if self.at == len(self.text):
            raise self.error("this bracket is never closed", opening)
        if self.text[self.at] != ")":
            raise self._unexpected()
        self.at += 1
        self._brackets.pop()
        return inner

    def _bounds(self) -> tuple[int, int | None] | None:
        """Read the bounds of a repetition; ``None`` if none follows."""
        sign, begin = self.text[self.at : self.at + 1], self.at
        if sign in _REPETITIONS:
            self.at += 1
            self._skip_inside()
            return _REPETITIONS[sign]
        if sign != "{":
            return None
        self.at += 1
        minimum = self._count()
        if minimum is None:
            hint = "Write {2}, {2,} or {2,5}; at most five is {0,5}."
            raise self.error("a number is missing after {", self.at, hint=hint)
        maximum: int | None = minimum
        if self.text.startswith(",", self.at):
            self.at += 1
            maximum = self._count()
        if not self.text.startswith("}", self.at):
            raise self.error("this is never closed by }", begin, hint="Write {2}, {2,} or {2,5}.")
        self.at += 1
        if maximum is not None and minimum > maximum:
            reason = f"no count is at least {minimum} and at most {maximum}"
            raise self.error(reason, begin, hint=f"Write {{{maximum},{minimum}}}.")
        self._skip_inside()
        return minimum, maximum

    def _count(self) -> int | None:
        """Read a number with the white space around it."""
        self._skip_inside()
        begin = self.at
        digits = self._skip(_NUMBER)
        if len(digits.lstrip("0")) > len(str(MAX_SIZE)):
            raise self.too_large(self._rule, begin)
        self._skip_inside()
        return int(digits) if digits else None

    def _repeated(self, part: Expression, minimum: int, maximum: int | None, begin: int) -> Expression:
        if maximum == 0:
            return EMPTY
        repeated = Repeat(part, minimum, maximum)
        if size(repeated) > MAX_SIZE:
            raise self.too_large(self._rule, begin)
        return repeated

    def _unexpected(self) -> GrammarError:
        """Make the error of a character that cannot follow a sequence."""
        sign = self.text[self.at]
        if sign in "*+?{":
            return self.error(f"there is nothing before {sign} to repeat", self.at)
        if sign in ")]}":
            return self.error(f"this {sign} closes nothing", self.at)
        return self.error(f"{self._here()} is not allowed here", self.at, hint=self._hint())

    def _here(self) -> str:
        return repr(self.text[self.at])

    def _hint(self) -> str:
        """Return a hint for a character that begins no rule, and no further part of the open rule."""
        if self.text.startswith("|", self.at):
            return "In a rule of several lines write | at the end of a line, or put the rule in round brackets."
        if self.text.startswith(("=", ":"), self.at):
            return "Write a rule as NAME ::= EXPRESSION, on one line; it continues after | and in round brackets."
        if self.text.startswith("'", self.at):
            return "Write literals in double quotes."
        return "A rule ends with its line; it continues after | and in round brackets."

    def _skip_inside(self) -> None:
        """Skip white space, and inside of brackets line ends."""
        self._skip(_SPACE_AND_LINES if self._brackets else _SPACE)

    def _skip(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.at)
        if match is None:
            return ""
        self.at = match.end()
        return match[0]


def _alternation(branches: list[Expression]) -> Expression:
    flat = list[Expression]()
    for branch in branches:
        flat += branch.branches if isinstance(branch, Alternation) else [branch]
    return flat[0] if len(flat) == 1 else Alternation(tuple(flat))


def _concatenation(parts: list[Expression]) -> Expression:
    flat = list[Expression]()
    for part in parts:
        flat += part.parts if isinstance(part, Concatenation) else [part]
    return flat[0] if len(flat) == 1 else Concatenation(tuple(flat))
