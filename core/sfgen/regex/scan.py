"""Positions of the constructs of a pattern.

The tree that ``re``'s parser makes carries no positions, but its order is that of the pattern. So the pattern is read
once more, with the parser's own tokenizer, and all constructs that a message may name are listed in order: the n-th
assertion of the tree is the n-th of the list. Unicode properties are listed, too, since ``re`` does not know them.

The scan also accepts texts that are not patterns: the parser reports syntax errors.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from sfgen.errors import PatternError, PatternTooLarge
from sfgen.regex.python_re import sre_parser

MAX_NESTING = 100
"""Groups inside one another. Parsing is recursive, and this stays well within Python's default recursion limit."""

ANCHORS = frozenset({"^", "$", r"\A", r"\Z", r"\z", r"\b", r"\B"})


_PLAIN_CLASS = re.compile(r"\^?+]?+[^]\\]*]")  # the rest of a character class without escapes: most of them
_COUNTS = re.compile("([0-9]*,[0-9]*|[0-9]+)}")
_OCTAL = re.compile("[0-7]{3}")


@dataclass(frozen=True, slots=True)
class Construct:
    """A piece of the pattern.

    Attributes:
        text: As written.
        start: The offset of its first character.
        end: The offset after its last one.
    """

    text: str
    start: int
    end: int


@dataclass(slots=True)
class Constructs:
    """The constructs of a pattern, each list in the order of the pattern."""

    assertions: list[Construct] = field(default_factory=list)  # anchors, and the openings of lookarounds
    repeats: list[Construct] = field(default_factory=list)
    atomic_groups: list[Construct] = field(default_factory=list)
    backreferences: list[Construct] = field(default_factory=list)
    conditionals: list[Construct] = field(default_factory=list)
    properties: list[Construct] = field(default_factory=list)


def scan(pattern: str) -> Constructs:
    """List the constructs of a pattern."""
    return _Scanner(pattern).run()


class _Scanner:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.source: Any = sre_parser.Tokenizer(pattern)
        self.found = Constructs()
        self.verbose = [False]  # the flag (?x) of each open group, outermost first

    def run(self) -> Constructs:
        source = self.source
        while (token := source.get()) is not None:
            start = source.tell() - len(token)
            if self.verbose[-1] and token in sre_parser.WHITESPACE:
                continue
            if self.verbose[-1] and token == "#":
                self.skip_past("\n")
            elif token in ANCHORS:
                self.found.assertions.append(self.construct(start))
            elif token[0] == "\\":
                self.escape(token, start)
            elif token == "[":
                self.character_class()
            elif token == "(":
                self.group(start)
            elif token == ")" and len(self.verbose) > 1:
                self.verbose.pop()
            elif token in "*+?" or (token == "{" and self.counts()):
                if not source.match("?"):
                    source.match("+")
                self.found.repeats.append(self.construct(start))
        return self.found

    def construct(self, start: int) -> Construct:
        end = self.source.tell()
        return Construct(self.pattern[start:end], start, end)

    def skip_past(self, terminator: str) -> None:
        while (token := self.source.get()) is not None and token != terminator:
            pass

    def escape(self, token: str, start: int) -> None:
        letter = token[1]
        if letter in "pP":
            self.unicode_property(start)
        elif letter == "N" and self.source.match("{"):
            self.source.getuntil("}", "character name")
        elif letter in "123456789":
            # Three octal digits are a character; anything else is a group's number of one or two digits.
            if _OCTAL.match(self.pattern, start + 1):
                self.source.seek(start + 4)
                return
            if self.source.next is not None and self.source.next in sre_parser.DIGITS:
                self.source.get()
            self.found.backreferences.append(self.construct(start))

    def unicode_property(self, start: int) -> None:
        source = self.source
        letter = source.get()
        if letter == "{":
            source.getuntil("}", "property name")
        elif letter is None or not (letter.isascii() and letter.isalpha()):
            written = self.pattern[start : start + 2]
            raise PatternError(
                f"{written} needs the name of a Unicode property",
                self.pattern,
                start,
                hint=f"Write it in braces, such as {written}{{L}} for letters.",
            )
        self.found.properties.append(self.construct(start))

    def character_class(self) -> None:
        source = self.source
        plain = _PLAIN_CLASS.match(self.pattern, source.tell())
        if plain:
            source.seek(plain.end())
            return
        source.match("^")
        empty = True
        while (member := self.member()) is not None and (empty or member.text != "]"):
            empty = False
            if source.match("-"):
                last = self.member()
                if last is None or last.text == "]":
                    return
                if {member.text[:2], last.text[:2]} & {r"\p", r"\P"}:
                    written = f"{member.text}-{last.text}"
                    raise PatternError(
                        f"bad character range {written}: a property is not the end of a range",
                        self.pattern,
                        member.start,
                        hint=r"Write \- for the character - itself.",
                    )

    def member(self) -> Construct | None:
        token = self.source.get()
        if token is None:
            return None
        start = self.source.tell() - len(token)
        if token[:2] in (r"\p", r"\P", r"\N"):
            self.escape(token, start)
        return self.construct(start)

    def counts(self) -> bool:
        """Read the rest of ``{m,n}``; any other brace is the character itself."""
        start = self.source.tell()
        counts = _COUNTS.match(self.pattern, start)
        if counts:
            self.source.seek(counts.end())
        return counts is not None

    def group(self, start: int) -> None:
        source = self.source
        verbose = self.verbose[-1]
        if source.match("?"):
            kind = source.get()
            if kind == "P" and source.match("<"):
                source.getuntil(">", "group name")
            elif kind == "P" and source.match("="):
                source.getuntil(")", "group name")
                self.found.backreferences.append(self.construct(start))
                return
            elif kind == "#":
                self.skip_past(")")
                return
            elif kind == "(":
                source.getuntil(")", "group name")
                self.found.conditionals.append(self.construct(start))
            elif kind == ">":
                self.found.atomic_groups.append(self.construct(start))
            elif kind is not None and kind in "=!<":
                if kind == "<":
                    source.get()
                self.found.assertions.append(self.construct(start))
            elif kind is not None and (kind in sre_parser.FLAGS or kind == "-"):
                on, off, scoped = self.flags(kind)
                if "t" in on + off:
                    raise PatternError("the flag (?t) has no meaning", self.pattern, start, hint="Leave the t out.")
                verbose = (verbose or "x" in on) and "x" not in off
                if not scoped:
                    self.verbose[0] = self.verbose[0] or verbose
                    return
        self.verbose.append(verbose)
        if len(self.verbose) > MAX_NESTING:
            raise PatternTooLarge(
                f"groups are nested deeper than the limit of {MAX_NESTING}",
                self.pattern,
                start,
                hint="Take away groups that hold only one other group.",
            )

    def flags(self, letter: str | None) -> tuple[str, str, bool]:
        """The letters turned on and off, and whether they hold for this group only."""
        letters = ""
        while letter is not None and letter not in ":)":
            letters += letter
            letter = self.source.get()
        on, _, off = letters.partition("-")
        return on, off, letter == ":"
