r"""The position automaton of a pattern, for views that mark in the pattern's own text what is being read.

Its states are the *pieces* of the pattern's text that read one character: literals, escapes, dots, classes, properties.
A step goes from a piece to one that can stand after it (Glushkov 1961, McNaughton and Yamada 1960). A minimal
automaton does not serve: it merges pieces that are written in several places. After ``hot``, two pieces of
``hot|hotel`` may have read the last character.

The tree of pieces has sequences, alternations and repeats above its leaves. The pattern is read with the tokenizer of
``re``'s own parser; :func:`sfgen.regex.parse.parse` reads the text of each piece alone, under its flags, and tells its
characters. Comments, anchors and lookarounds read nothing and are left out; atomic groups and possessive repeats are
plain ones. So the tree may have more texts than the pattern, and :class:`sfgen.automata.Dfa` has the last word on what
the pattern accepts.

Repeats are counted, not written out: a piece goes with the number of times that each repeat around it has come round.
So ``{3}`` and ``{0,2000}`` cost the same and both are exact. Where counts give too many possibilities at once
(``(\w{1,100} ?){1,100}`` after some dozens of letters), the repeats that have begun by then are no longer counted: more
pieces are shown than are possible, never fewer.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from sfgen.regex.ast import Characters
from sfgen.regex.characters import Ranges
from sfgen.regex.parse import parse
from sfgen.regex.python_re import skip_escape, sre_parser
from sfgen.regex.scan import ANCHORS, scan


@dataclass(eq=False, slots=True)
class Piece:
    """A stretch of the pattern's text that reads one character."""

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

    parts: list[PatternNode]
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

    branches: list[PatternNode]
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

    child: PatternNode
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
PatternNode: TypeAlias = Piece | Joined


def _adopt(parent: Joined, children: list[PatternNode]) -> None:
    for index, child in enumerate(children):
        child.parent, child.index = parent, index


def sequence(parts: list[PatternNode]) -> PatternNode:
    """Join the parts one after another; simplify where possible."""
    if any(part.impossible for part in parts):
        return Alternation([])
    return parts[0] if len(parts) == 1 else Sequence(parts)


def alternation(branches: list[PatternNode]) -> PatternNode:
    """Join the branches that can match; simplify where possible."""
    possible = [branch for branch in branches if not branch.impossible]
    return possible[0] if len(possible) == 1 else Alternation(possible)


def repeat(child: PatternNode, minimum: int, maximum: int | None) -> PatternNode:
    """Repeat the child; simplify where possible."""
    if maximum == 0 or (child.impossible and minimum == 0):
        return Sequence([])
    return child if child.impossible else Repeat(child, minimum, maximum)


def read_pieces(pattern: str) -> PatternNode:
    """Parse a pattern into the tree of its pieces.

    >>> tree = read_pieces("(?i)[a-z]{3}0")
    >>> [tree.parts[0].child.start, tree.parts[0].child.end], [tree.parts[1].start, tree.parts[1].end]
    ([4, 9], [12, 13])
    """
    parse(pattern)  # from here on it is known to be a pattern, and groups are not nested too deep
    return _Reader(pattern).run()


@lru_cache(maxsize=4096)
def _piece_characters(text: str, flags: frozenset[str]) -> Ranges:
    """Return the characters that a piece reads under some flags.

    >>> _piece_characters("k", frozenset("i"))
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
    branches: list[list[PatternNode]] = field(default_factory=lambda: [[]])


class _Reader:
    """One pass over a pattern that :func:`parse` takes."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.source: Any = sre_parser.Tokenizer(pattern)
        constructs = scan(pattern)
        self.quantifiers = {construct.start: construct for construct in constructs.repeats}
        self.property_ends = {construct.start: construct.end for construct in constructs.properties}
        self.groups = [_Group(frozenset())]  # the open ones, outermost first

    def run(self) -> PatternNode:
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

    def finished(self, group: _Group) -> PatternNode:
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
        group.branches[-1].append(Piece(start, end, _piece_characters(self.pattern[start:end], group.flags)))

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


Counts: TypeAlias = tuple[int | None, ...]
"""The rounds of each repeat around a part, this one included, outermost first; ``None`` is not counted."""

Configuration: TypeAlias = tuple[Piece, Counts]

Span: TypeAlias = tuple[int, int]
"""First and past-the-end code-point offset in the pattern."""

MAX_CONFIGURATIONS = 2_000
"""The most parts with different counts that one step may visit, besides those that a pattern without counts needs."""


@dataclass(frozen=True, slots=True)
class Position:
    """The pieces that may have read the last character, with their counts."""

    read: frozenset[Configuration]
    at_start: bool = False


class _Following(NamedTuple):
    """The pieces that may read the next character, and whether the text may end."""

    read: frozenset[Configuration]
    may_end: bool


class PatternPositions:
    r"""The positions of texts in a pattern: the pieces that read last, and those that may read next.

    Positions are hashable. Those of one object are equal if they have the same pieces and counts. Results are cached,
    so that a view may ask for them again and again.

    >>> positions = PatternPositions("[a-z]{3}[0-9]")
    >>> position = positions.start
    >>> for character in "abc":
    ...     position = positions.step(position, character)
    >>> positions.last_read(position), positions.next(position), positions.may_end(position)
    (((0, 5),), ((8, 13),), False)
    """

    def __init__(self, pattern: str) -> None:
        self._tree = read_pieces(pattern)
        # Every part of the tree has a character of the pattern that it stands for, and is met before and after it.
        self._most_steps = MAX_CONFIGURATIONS + 2 * len(pattern)
        self._following = lru_cache(maxsize=64)(self._follow)
        self._after = lru_cache(maxsize=256)(self._step)
        self.start = Position(frozenset(), at_start=True)

    def step(self, position: Position, character: str) -> Position:
        """Read one more character."""
        return self._after(position, ord(character))

    def last_read(self, position: Position) -> tuple[Span, ...]:
        """List the pieces that may have read the last character, in order."""
        return _spans(position.read)

    def next(self, position: Position) -> tuple[Span, ...]:
        """List the pieces that may read the next character, in order."""
        return _spans(self._following(position).read)

    def may_end(self, position: Position) -> bool:
        """Return whether the text that was read can be complete."""
        return self._following(position).may_end

    def _step(self, position: Position, code: int) -> Position:
        following = self._following(position).read
        return Position(frozenset(reader for reader in following if _reads(reader[0], code)))

    def _follow(self, position: Position) -> _Following:
        walk = _Walk(self._most_steps)
        if position.at_start:
            walk.begin(self._tree)
        elif not walk.go_on(position.read):
            walk = _Walk(None)
            walk.go_on({(piece, (None,) * len(counts)) for piece, counts in position.read})
        return _Following(frozenset(walk.read), walk.may_end)


def _spans(configurations: Iterable[Configuration]) -> tuple[Span, ...]:
    return tuple(sorted({(piece.start, piece.end) for piece, _ in configurations}))


def _reads(piece: Piece, code: int) -> bool:
    """Whether the character is in the piece's set: in the last range that does not begin after it."""
    position = bisect_right(piece.characters, (code, 0x110000))
    return position > 0 and code <= piece.characters[position - 1][1]


class _Walk:
    """A walk through the tree, from the pieces that were read to all that can be read next.

    A part of the tree that is met again with the same counts is not walked again, so each step takes time in proportion
    to the pattern, times the different counts.
    """

    def __init__(self, most_steps: int | None) -> None:
        self.read: set[Configuration] = set()
        self.may_end = False
        self._most_steps = most_steps
        self._entered: set[tuple[PatternNode, Counts]] = set()
        self._left: set[tuple[PatternNode, Counts]] = set()

    def begin(self, tree: PatternNode) -> None:
        self.may_end = tree.nullable
        self._enter(tree, ())

    def go_on(self, read: Iterable[Configuration]) -> bool:
        """Go on after some pieces; return false where that takes too many steps."""
        for piece, counts in read:
            self._leave(piece, counts)
            if self._most_steps is not None and len(self._entered) + len(self._left) > self._most_steps:
                return False
        return True

    def _enter(self, part: PatternNode, counts: Counts) -> None:
        """Add the pieces that can be read first in a part."""
        waiting = [(part, counts)]
        while waiting:
            entered = waiting.pop()
            if entered in self._entered:
                continue
            self._entered.add(entered)
            part, counts = entered
            match part:
                case Piece():
                    self.read.add((part, counts))
                case Sequence(parts):
                    for inner in parts:
                        waiting.append((inner, counts))
                        if not inner.nullable:
                            break
                case Alternation(branches):
                    waiting.extend((branch, counts) for branch in branches)
                case Repeat(child):
                    waiting.append((child, (*counts, 1)))

    def _leave(self, part: PatternNode, counts: Counts) -> None:
        """Add the pieces that can be read after a part of which something was read."""
        while (part, counts) not in self._left:
            self._left.add((part, counts))
            around = part.parent
            if around is None:
                self.may_end = True
                return
            if isinstance(around, Sequence) and part.index + 1 < len(around.parts):
                part = around.parts[part.index + 1]
                self._enter(part, counts)
                if not part.nullable:
                    return
                continue
            if isinstance(around, Repeat):
                *outer, count = counts
                self._come_round(around, (*outer,), count)
                if count is not None and count < around.minimum:
                    return
                counts = (*outer,)
            part = around

    def _come_round(self, repeat: Repeat, outer: Counts, count: int | None) -> None:
        """Add the pieces that can be read first in the next round of a repeat."""
        if repeat.maximum == 1:
            return
        if count is None:
            self._enter(repeat.child, (*outer, None))
        elif repeat.maximum is None:
            # Repeats beyond the minimum make no difference any more.
            self._enter(repeat.child, (*outer, min(count + 1, max(repeat.minimum, 1))))
        elif count < repeat.maximum:
            self._enter(repeat.child, (*outer, count + 1))
