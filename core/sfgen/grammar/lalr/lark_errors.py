"""Errors for grammars that lark refuses, with a position and a hint.

``explained`` converts lark's message to an error. ``check_expansions`` refuses a grammar that lark would expand without
end, before lark reads it. lark writes each combination of optional parts as an alternative: thirty parts give a
thousand million alternatives. lark also copies a terminal into each terminal that names it. Both are counted here in
the text of the grammar; definitions that this module cannot read are left to lark.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from sfgen.errors import GrammarError, first_line

PATTERN_HINT = "Write a regular expression of Python's re; flags follow it, as in /select/i."

MAX_ALTERNATIVES = 30_000
"""The most alternatives of a rule with optional parts written out; lark takes some seconds for them."""

MAX_COPIES = 10_000
"""The most parts that copies may add to a terminal, beyond the parts that are written in the grammar."""

_LINE_AND_COLUMN = re.compile(r",? at line (\d+),? column (\d+)(?: in [^\n]*)?")
_UNDEFINED_RULE = re.compile(r"Using an undefined rule: NonTerminal\('([^']*)'\)")
_IN_QUOTES = re.compile(r"(?:Rule|Terminal|rule|terminal|Template|Symbol)s? (?:used but not defined: )?'?(\w+)'?")
_PATTERN = re.compile(r"(?<!/)/(?!/)((?:\\.|[^/\\\n])+)/[imslux]*")
_RULE = re.compile(r"^[!?]*([a-z_][a-z0-9_]*)(?:\{[^}\n]*\})?(?:\.-?\d+)?[ \t]*:", re.MULTILINE)

_MANY = 10**9
"""A count above every limit."""

_FOREIGN = (
    (r"%lark\b", "%lark, a grammar inside of another, is an extension of llguidance"),
    (r"@\w", "@name, one of several grammars, is an extension of llguidance"),
    (r"!", "! is allowed before a rule's name only; write any other token by its number: <[^1000]>"),
    (r"[&~]", "intersection and negation of terminals are an extension of llguidance"),
    (r"(?<=\w)\[[^\n]*\][ \t]*:", "options of a rule in brackets are an extension of llguidance"),
    (r":|(?<=:)", "rules with parameters are an extension of llguidance"),
)
"""Patterns of llguidance's and GBNF's syntax at the position where lark stops, and the reason for the error."""

_WRITTEN_OUT = 50
"""From this number of repetitions on, lark makes rules instead of alternatives."""

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


def explained(error: BaseException, text: str, start: str) -> GrammarError:
    """Convert an exception of lark to an error, in lark's words where possible."""
    message = str(error).strip()
    undefined = _UNDEFINED_RULE.search(message)
    if undefined is not None and undefined[1] == start:
        rules = [name for name in dict.fromkeys(_RULE.findall(text)) if not name.startswith("_")]
        return GrammarError(
            f"it has no rule {start!r} to start with",
            text,
            hint=f"Its rules are {', '.join(rules)}." if rules else "Write one: start: NAME",
        )
    location = _LINE_AND_COLUMN.search(message)
    if location is not None:
        reason = _LINE_AND_COLUMN.sub("", message.split("\n", 1)[0]).rstrip(" :")
        offset = _offset(text, int(location[1]), int(location[2]))
        foreign = next((reason for pattern, reason in _FOREIGN if re.compile(pattern).match(text, offset)), None)
        return GrammarError(
            f"lark cannot read it: {reason if foreign is None else foreign}",
            text,
            offset,
            hint="Use the syntax of lark's documentation: rule: part part, NAME: /regular expression/, %ignore NAME.",
        )
    if "Reduce/Reduce" in message:
        return _reduce_reduce(message, text)
    if "at position" in message and (unreadable := _unreadable_pattern(text)) is not None:
        return GrammarError(
            f"a regular expression cannot be read: {unreadable[0]}", text, unreadable[1], hint=PATTERN_HINT
        )
    if isinstance(error, OSError) or message.startswith("Couldn't import"):
        return _not_imported(error, text)
    name = _IN_QUOTES.search(message)
    position = None if name is None else _use_of(name[1], text)
    return GrammarError(f"lark refuses it: {first_line(error)}", text, position, hint=_hint(message))


def undefined_hint(name: str) -> str:
    """Return the hint for a terminal that is declared and not defined."""
    return f"Define it as a terminal ({name}: /.../), or leave out the rules that use it."


def position_of(text: str, pattern: str) -> int | None:
    """Return the offset, in characters, of the first group of a pattern's first match; ``None`` without one."""
    match = re.search(pattern, text)
    return None if match is None else match.start(1)


def definition_of(text: str, name: str) -> int | None:
    """Return the offset, in characters, of the definition of a rule or terminal; ``None`` if the text has none."""
    return position_of(text, rf"(?m)^[ \t!?]*({re.escape(name)})\b")


def _offset(text: str, line: int, column: int) -> int:
    lines = text.split("\n")
    if line > len(lines):
        return len(text)
    return min(sum(len(before) + 1 for before in lines[: line - 1]) + max(column - 1, 0), len(text))


def _use_of(name: str, text: str) -> int | None:
    return position_of(text, rf"(?<![\w\"]){re.escape(name)}(?![\w\"])".join("()"))


def _not_imported(error: BaseException, text: str) -> GrammarError:
    path = str(getattr(error, "filename", None) or "").removesuffix(".lark")
    name = ".".join(re.findall(r"\w+", path) or re.findall(r"Token\('\w+', '(\w+)'\)", str(error)))
    return GrammarError(
        f"the imported grammar {name} was not found",
        text,
        position_of(text, rf"%import\s+({re.escape(name)})\b"),
        hint="Import a file of its folder with a dot: %import .other (NAME). lark's own: common, python, unicode.",
    )


def _reduce_reduce(message: str, text: str) -> GrammarError:
    """Report the first reduce/reduce conflict by name, since lark's order differs from run to run."""
    conflicts = []
    for conflict in message.split("\n\n"):
        first, *rules = [line.strip(" \t-") for line in conflict.splitlines()]
        conflicts.append(f"{first} {', '.join(sorted(rules))}")
    reason = min(conflicts)
    positions = [definition_of(text, name) for name in re.findall(r"<(\w+) :", reason)]
    return GrammarError(
        reason,
        text,
        min((position for position in positions if position is not None), default=None),
        hint="Two rules can end there with the same text: join them, or give one a priority (rule.2: ...).",
    )


def _unreadable_pattern(text: str) -> tuple[str, int] | None:
    """Return the error of the first regular expression that ``re`` refuses, and its position."""
    for written in _PATTERN.finditer(text):
        try:
            re.compile(written[1])
        except re.error as error:
            return error.msg, written.start(1) + (error.pos or 0)
    return None


def _hint(message: str) -> str:
    if "defined" in message:
        return "Define it, or import it: %import common.NUMBER"
    if "Recursion in terminal" in message:
        return "Write it as a rule, with a small first letter: rules may be recursive."
    if "Rules aren't allowed inside terminals" in message:
        return "Make the terminal that uses it a rule, or the rule a terminal, with a name in capitals."
    return "Read lark's documentation of grammars."


class _Definition(NamedTuple):
    """Counts of a rule or a terminal.

    Attributes:
        position: The offset of its name in the grammar, in characters.
        alternatives: The number of its alternatives, or of those of a rule that lark makes for a part of it.
        parts: The number of names and texts in it.
        names: The names in it.
    """

    position: int
    alternatives: int
    parts: int
    names: list[str]


def check_expansions(text: str) -> None:
    """Refuse a grammar that lark would expand beyond the limits."""
    counts = definitions(text)
    sizes: dict[str, int] = {}
    most = MAX_COPIES + sum(each.parts for each in counts.values())
    for name, counted in counts.items():
        if not name.isupper() and counted.alternatives > MAX_ALTERNATIVES:
            raise GrammarError(
                f"the rule {name} passes the limit of {MAX_ALTERNATIVES:,} alternatives: lark writes out each "
                "combination of its optional parts",
                text,
                counted.position,
                hint="Make the parts rules of their own: lark then writes out each by itself.",
            )
        if name.isupper() and _size(name, counts, sizes) > most:
            raise GrammarError(
                f"the terminal {name} passes the limit of {MAX_COPIES:,} parts copied from terminals that it names",
                text,
                counted.position,
                hint="Make it a rule, or write it as a regular expression with counts.",
            )


def definitions(text: str) -> dict[str, _Definition]:
    r"""Count alternatives and parts of the rules and terminals of a grammar.

    >>> [each.alternatives for each in definitions('start: [A] (A | x)~2 [A]\nx: A? A*\nA: "a"').values()]
    [16, 4, 1]
    """
    counts: dict[str, _Definition] = {}
    for match in _DEFINITION.finditer(text):
        counted = _Counter(text, match.end()).definition(match.start(1))
        if counted is not None:
            counts.setdefault(match[1], counted)
    return counts


def _size(name: str, counts: Mapping[str, _Definition], sizes: dict[str, int]) -> int:
    """Return the number of parts of a terminal after copying those that it names; lark reports cycles."""
    waiting, opened = [name], set[str]()
    while waiting:
        last = waiting[-1]
        inner = [other for other in counts[last].names if other in counts and other.isupper()]
        if last not in opened:
            opened.add(last)
            waiting += [other for other in dict.fromkeys(inner) if other not in sizes and other not in opened]
            continue
        waiting.pop()
        if last not in sizes:
            sizes[last] = min(_MANY, counts[last].parts + sum(sizes.get(other, 0) for other in inner))
    return sizes[name]


class _Counter:
    """Counts the alternatives and parts of one definition."""

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

    def definition(self, position: int) -> _Definition | None:
        """Return the counts; ``None`` if this module cannot read the text."""
        try:
            count = self._alternatives()
        except (RecursionError, ValueError):  # ``ValueError``: a count with thousands of digits
            return None
        return (
            None if self._next is not None else _Definition(position, max(count, self._most), self._parts, self._names)
        )

    def _alternatives(self) -> int:
        """Count the alternatives between bars."""
        count = self._sequence()
        while self._next == ("sign", "|"):
            self._take()
            count += self._sequence()
        return min(count, _MANY)

    def _sequence(self) -> int:
        """Count the combinations of parts in a row."""
        count = 1
        while self._next is not None and self._next not in (("sign", "|"), ("sign", ")"), ("sign", "]")):
            count = min(count * self._part(), _MANY)
        return count

    def _part(self) -> int:
        """Count the alternatives of a part with its repetition."""
        kind, sign = self._take() or ("", "")
        if sign in ("(", "["):
            count = self._alternatives() + (sign == "[")
            self._take()
        else:
            count = 1
            self._parts += 1
            self._names += [sign] if kind == "name" else []
        while self._next is not None and (self._next[0] == "times" or self._next[1] in ("?", "*", "+")):
            count = self._repeated(count, (self._take() or ("", ""))[1])
        return count

    def _repeated(self, count: int, sign: str) -> int:
        """Count the alternatives of a repeated part."""
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
