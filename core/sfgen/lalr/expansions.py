"""The alternatives of rules and the copies in terminals that lark would write out of a grammar, counted before.

lark has no optional parts in its tables: it writes each combination as an alternative of its own, so that thirty parts
that may be left out are a thousand million. And where a terminal names another, it puts a copy in. It counts neither,
and would go on for hours; here both are counted, from the text of the grammar. What cannot be followed here is left to
lark, which says what is wrong with it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from sfgen.errors import GrammarError

MAX_ALTERNATIVES = 30_000
"""The most alternatives of a rule, optional parts written out; lark takes some seconds for them."""

MAX_COPIES = 10_000
"""The most parts that a terminal has above all that are in the grammar, those of terminals that it names put in."""

_MANY = 10**9
"""As many as matter."""

_WRITTEN_OUT = 50
"""Repetitions from which on lark makes rules of them."""

_DEFINITION = re.compile(
    r"^[ \t]*(?:%(?:override|extend)[ \t]+)?[!?]*(_?[A-Za-z]\w*)(?:\{[^}\n]*\})?(?:\.-?\d+)?[ \t]*:", re.MULTILINE
)
_TOKEN = re.compile(
    r"""
    (?P<space> [ \t\r\f]+ | //[^\n]* | \#[^\n]* | (?:\s*\n)+\s*(?=\|) )
    | (?P<text> "(?:\\.|[^"\\\n])*"i?(?:\s*\.\.\s*"(?:\\.|[^"\\\n])*")? | /(?!/)(?:\\.|[^/\\])*/[imslux]* )
    | (?P<name> [!?]*_?[A-Za-z]\w*(?:\{[^}\n]*\})? )
    | (?P<alias> ->\s*\w+ )
    | (?P<times> ~\s*\d+(?:\s*\.\.\s*\d+)? )
    | (?P<sign> [()\[\]|?*+] )
    """,
    re.VERBOSE,
)


class Definition(NamedTuple):
    """What is counted of a rule or a terminal.

    Attributes:
        position: Where its name stands in the grammar, in characters.
        alternatives: Its alternatives, or those of a rule that lark makes for a part of it.
        parts: The names and texts in it.
        names: The names among them.
    """

    position: int
    alternatives: int
    parts: int
    names: list[str]


def check_expansions(text: str) -> None:
    """Refuse a grammar of which lark would write out too much.

    Args:
        text: The grammar.

    Raises:
        GrammarError: A rule or a terminal passes a limit.
    """
    found = definitions(text)
    sizes: dict[str, int] = {}
    most = MAX_COPIES + sum(each.parts for each in found.values())
    for name, counted in found.items():
        if not name.isupper() and counted.alternatives > MAX_ALTERNATIVES:
            raise GrammarError(
                f"the rule {name} passes the limit of {MAX_ALTERNATIVES:,} alternatives: lark writes out each "
                "combination of its optional parts",
                text,
                counted.position,
                hint="Make rules of the parts: each is then written out by itself.",
            )
        if name.isupper() and _size(name, found, sizes) > most:
            raise GrammarError(
                f"the terminal {name} passes the limit of {MAX_COPIES:,} parts copied from terminals that it names",
                text,
                counted.position,
                hint="Make it a rule, or write it as a regular expression with counts.",
            )


def definitions(text: str) -> dict[str, Definition]:
    """Count what is in the rules and terminals of a grammar.

    Args:
        text: The grammar.

    >>> [found.alternatives for found in definitions('start: [A] (A | x)~2 [A]\\nx: A? A*\\nA: "a"').values()]
    [16, 4, 1]
    """
    found: dict[str, Definition] = {}
    for match in _DEFINITION.finditer(text):
        counted = _Counter(text, match.end()).definition(match.start(1))
        if counted is not None:
            found.setdefault(match[1], counted)
    return found


def _size(name: str, found: Mapping[str, Definition], sizes: dict[str, int]) -> int:
    """The parts of a terminal, those that it names put in; a circle is for lark to tell."""
    waiting, opened = [name], set[str]()
    while waiting:
        last = waiting[-1]
        inner = [other for other in found[last].names if other in found and other.isupper()]
        if last not in opened:
            opened.add(last)
            waiting += [other for other in dict.fromkeys(inner) if other not in sizes and other not in opened]
            continue
        waiting.pop()
        if last not in sizes:
            sizes[last] = min(_MANY, found[last].parts + sum(sizes.get(other, 0) for other in inner))
    return sizes[name]


class _Counter:
    """Counts along the text of one definition.

    Args:
        text: The grammar.
        at: Where what is defined begins.
    """

    def __init__(self, text: str, at: int) -> None:
        self._tokens = self._read(text, at)
        self._next = next(self._tokens, None)
        self._parts = 0
        self._names: list[str] = []
        self._most = 0

    def _read(self, text: str, at: int) -> Iterator[tuple[str, str]]:
        while (match := _TOKEN.match(text, at)) is not None:
            at = match.end()
            if match.lastgroup not in ("space", "alias", None):
                yield match.lastgroup, match[0]

    def _take(self) -> tuple[str, str] | None:
        taken, self._next = self._next, next(self._tokens, None)
        return taken

    def definition(self, position: int) -> Definition | None:
        """What is counted; ``None`` where the text cannot be followed."""
        try:
            count = self._any()
        except RecursionError:
            return None
        return (
            None if self._next is not None else Definition(position, max(count, self._most), self._parts, self._names)
        )

    def _any(self) -> int:
        """The alternatives between bars."""
        count = self._row()
        while self._next == ("sign", "|"):
            self._take()
            count += self._row()
        return min(count, _MANY)

    def _row(self) -> int:
        """The combinations of parts in a row."""
        count = 1
        while self._next is not None and self._next not in (("sign", "|"), ("sign", ")"), ("sign", "]")):
            count = min(count * self._one(), _MANY)
        return count

    def _one(self) -> int:
        """The alternatives of a part with what is said of it."""
        kind, sign = self._take() or ("", "")
        if sign in ("(", "["):
            count = self._any() + (sign == "[")
            self._take()
        else:
            count = 1
            self._parts += 1
            self._names += [sign] if kind == "name" else []
        while self._next is not None and (self._next[0] == "times" or self._next[1] in ("?", "*", "+")):
            count = self._repeated(count, (self._take() or ("", ""))[1])
        return count

    def _repeated(self, count: int, sign: str) -> int:
        """The alternatives of a part that is repeated."""
        if sign == "?":
            return count + 1
        if sign in ("*", "+"):
            self._most = max(self._most, 2 * count)
            return 2 if sign == "*" else 1
        least, *rest = map(int, re.findall(r"\d+", sign))
        most = max(least, *rest) if rest else least
        if most >= _WRITTEN_OUT:
            return 1
        if count == 1:
            return most - least + 1
        if most * math.log(count) > math.log(_MANY):
            return _MANY
        return min(_MANY, sum(int(count**times) for times in range(least, most + 1)))
