r"""A pattern as the pieces of its text: which stretch of it reads one character, and how the stretches are joined.

The tree of :mod:`sfgen.regex.ast` says what a pattern means and has forgotten how it was written. This one is the
other way round: it is made for views that mark in the pattern's own text what is being read. Its leaves are the pieces
that read a character (a literal, an escape, a dot, a class, a property), each with its place in the text; above them
stand sequences, alternations and repeats. The pattern is read with the tokenizer of ``re``'s own parser, and what
characters a piece stands for is asked of :func:`sfgen.regex.parse.parse`, which gets the piece's text alone with the
flags that hold there.

What reads nothing is left out: comments, anchors, and lookarounds with all that is in them. Atomic groups and
possessive repeats are plain ones here. So the texts of the tree are those of the pattern and, where the pattern has any
of these, perhaps more.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias

from sfgen.regex.ast import Characters
from sfgen.regex.characters import Ranges
from sfgen.regex.parse import parse
from sfgen.regex.python_re import skip_escape, sre_parser
from sfgen.regex.scan import ANCHORS, scan


@dataclass(eq=False, slots=True)
class Piece:
    """A stretch of the pattern's text that reads one character.

    Args:
        start: Code-point offset of its first character.
        end: Past-the-end offset.
        characters: What it reads.
    """

    start: int
    end: int
    characters: Ranges
    parent: Joined | None = None
    index: int = 0  # among the parent's parts

    @property
    def nullable(self) -> bool:
        """Whether it can match the empty text."""
        return False

    @property
    def impossible(self) -> bool:
        """Whether it can match no text at all."""
        return not self.characters


@dataclass(eq=False, slots=True)
class Sequence:
    """Parts one after another; without any, the empty text.

    Each part can match some text, and knows its index here.
    """

    parts: list[Part]
    parent: Joined | None = None
    index: int = 0
    nullable: bool = field(init=False)
    impossible: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self.nullable = all(part.nullable for part in self.parts)
        _adopt(self, self.parts)


@dataclass(eq=False, slots=True)
class Alternation:
    """One of some branches; without any, no text at all.

    Each branch can match some text.
    """

    branches: list[Part]
    parent: Joined | None = None
    index: int = 0
    nullable: bool = field(init=False)
    impossible: bool = field(init=False)

    def __post_init__(self) -> None:
        self.nullable = any(branch.nullable for branch in self.branches)
        self.impossible = not self.branches
        _adopt(self, self.branches)


@dataclass(eq=False, slots=True)
class Repeat:
    """A child from ``minimum`` to ``maximum`` times; ``None`` is no limit.

    The child can match some text.
    """

    child: Part
    minimum: int
    maximum: int | None
    parent: Joined | None = None
    index: int = 0
    nullable: bool = field(init=False)
    impossible: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        if self.child.nullable:
            self.minimum = 0  # the same texts, and then no time round needs to be empty
        self.nullable = self.minimum == 0
        _adopt(self, [self.child])


Joined: TypeAlias = Sequence | Alternation | Repeat
Part: TypeAlias = Piece | Joined


def _adopt(parent: Joined, children: list[Part]) -> None:
    for index, child in enumerate(children):
        child.parent, child.index = parent, index


def sequence(parts: list[Part]) -> Part:
    """Join the parts one after another; simplify where possible."""
    if any(part.impossible for part in parts):
        return Alternation([])
    return parts[0] if len(parts) == 1 else Sequence(parts)


def alternation(branches: list[Part]) -> Part:
    """Join the branches that can match; simplify where possible."""
    possible = [branch for branch in branches if not branch.impossible]
    return possible[0] if len(possible) == 1 else Alternation(possible)


def repeat(child: Part, minimum: int, maximum: int | None) -> Part:
    """Repeat the child; simplify where possible.

    Args:
        child: What is repeated.
        minimum: The fewest times.
        maximum: The most times; ``None``: any number.
    """
    if maximum == 0 or (child.impossible and minimum == 0):
        return Sequence([])
    return child if child.impossible else Repeat(child, minimum, maximum)


def read_pieces(pattern: str) -> Part:
    """Parse a pattern into the tree of its pieces.

    Raises:
        PatternError: What :func:`sfgen.regex.parse.parse` says of the pattern.

    >>> tree = read_pieces("(?i)[a-z]{3}0")
    >>> [tree.parts[0].child.start, tree.parts[0].child.end], [tree.parts[1].start, tree.parts[1].end]
    ([4, 9], [12, 13])
    """
    parse(pattern)  # from here on it is known to be a pattern, and groups are not nested too deep
    return _Reader(pattern).run()


@lru_cache(maxsize=4096)
def piece_characters(text: str, flags: frozenset[str]) -> Ranges:
    """Return the characters that a piece reads under some flags.

    Args:
        text: The piece, as written in the pattern.
        flags: Letters of flags, such as ``i``.

    >>> piece_characters("k", frozenset("i"))
    ((75, 75), (107, 107))
    """
    letters = "".join(sorted(flags & set("isu")))  # no other flag makes a difference to a piece by itself
    tree = parse(f"(?{letters}){text}" if letters else text)
    assert isinstance(tree, Characters), text
    return tree.ranges


@dataclass(slots=True)
class _Group:
    """A group that is still open: its branches so far, and the flags that hold in it."""

    flags: frozenset[str]
    looks: bool = False  # it is a lookaround
    branches: list[list[Part]] = field(default_factory=lambda: [[]])


class _Reader:
    """One pass over a pattern that :func:`parse` takes."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.source: Any = sre_parser.Tokenizer(pattern)
        found = scan(pattern)
        self.quantifiers = {construct.start: construct for construct in found.repeats}
        self.property_ends = {construct.start: construct.end for construct in found.properties}
        self.groups = [_Group(frozenset())]  # the open ones, outermost first

    def run(self) -> Part:
        source = self.source
        while (token := source.get()) is not None:
            start = source.tell() - len(token)
            group = self.groups[-1]
            verbose = "x" in group.flags
            if verbose and token in sre_parser.WHITESPACE:
                continue
            if verbose and token == "#":
                self.skip_past("\n")
            elif start in self.quantifiers:
                self.quantifier(start)
            elif token == "|":
                group.branches.append([])
            elif token == "(":
                self.open_group()
            elif token == ")":
                self.close_group()
            elif token not in ANCHORS:
                self.piece(token, start)
        return self.finished(self.groups[0])

    def skip_past(self, terminator: str) -> None:
        while (token := self.source.get()) is not None and token != terminator:
            pass

    def finished(self, group: _Group) -> Part:
        return alternation([sequence(branch) for branch in group.branches])

    def piece(self, token: str, start: int) -> None:
        """A literal, an escape, a dot or a class."""
        source = self.source
        if start in self.property_ends:
            source.seek(self.property_ends[start])
        elif token[0] == "\\":
            skip_escape(source, token)
        elif token == "[":
            source.match("^")
            source.get()  # the first member, which may be the character ] itself
            self.skip_past("]")
        end = source.tell()
        group = self.groups[-1]
        group.branches[-1].append(Piece(start, end, piece_characters(self.pattern[start:end], group.flags)))

    def quantifier(self, start: int) -> None:
        construct = self.quantifiers[start]
        self.source.seek(construct.end)
        maximum: int | None
        match construct.text[0]:
            case "*":
                minimum, maximum = 0, None
            case "+":
                minimum, maximum = 1, None
            case "?":
                minimum, maximum = 0, 1
            case _:
                fewest, comma, most = construct.text[1 : construct.text.index("}")].partition(",")
                minimum = int(fewest or 0)
                maximum = int(most) if most else None if comma else minimum
        branch = self.groups[-1].branches[-1]
        branch[-1] = repeat(branch[-1], minimum, maximum)

    def open_group(self) -> None:
        source = self.source
        group = _Group(self.groups[-1].flags, looks=False)
        if source.match("?"):
            kind = source.get()
            if kind == "P":
                source.getuntil(">", "group name")
            elif kind == "#":
                self.skip_past(")")
                return
            elif kind in "=!<":
                if kind == "<":
                    source.get()
                group.looks = True
            elif kind not in ":>":
                scoped = self.flags(kind, group)
                if not scoped:
                    self.groups[0].flags = group.flags  # such flags stand before everything else
                    return
        self.groups.append(group)

    def flags(self, letter: str, group: _Group) -> bool:
        """Read flags, put them into force in a group, and say whether they are for that group only."""
        letters = ""
        while letter not in ":)":
            letters += letter
            letter = self.source.get()
        on, _, off = letters.partition("-")
        if set(on) & set("au"):
            group.flags -= set("au")  # one takes the place of the other
        group.flags = (group.flags | set(on)) - set(off)
        return letter == ":"

    def close_group(self) -> None:
        group = self.groups.pop()
        self.groups[-1].branches[-1].append(Sequence([]) if group.looks else self.finished(group))
