r"""ECMA-262 patterns, those of the keyword ``pattern``: automata of the texts in which such a pattern matches.

A pattern is read as with the flag ``u``. Implementations disagree on its meaning: the package jsonschema uses Python's
``re``, where ``\d`` and ``\w`` include all scripts, ``$`` also matches before a final newline, and ``.`` matches
U+2028. A written text must satisfy both, so each set of characters has two readings: a matched character is in the sets
of both, and a character under a negative lookaround is in neither. Syntax that only one of the two supports
(``\p{L}``, ``(?<name>...)``, ``[^]``; ``\A``, ``(?P<name>...)``) has the meaning of that one. As in both without the
flag, a backslash may escape any sign that is not a letter or digit, and a single brace or bracket stands for itself.

Modifiers are those of ECMAScript 2025, ``(?i:...)``, ``(?-i:...)``, ``(?s:...)`` and ``(?m:...)``, and flags at the
beginning as in ``re``, ``(?i)``. Two characters differ only in case if both engines fold them together: ECMA-262 uses
the simple case folding of Unicode, and ``re`` also folds the dotless i to i.

A pattern may match anywhere in a text. Any text is added before and after the tree where no anchor forbids it, so that
patterns with anchors at their ends need no lookarounds.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import NoReturn, TypeAlias

import regex
from sfgen.automata import Dfa
from sfgen.automata.compile import compile_tree, nesting_limit
from sfgen.errors import PatternError, PatternTooLarge
from sfgen.regex.ast import (
    Alternation,
    Anchor,
    AnchorKind,
    Characters,
    Concatenation,
    Look,
    Node,
    alternation,
    concatenation,
    look,
    repeat,
)
from sfgen.regex.characters import TEXT, Ranges, cased, class_ranges, complement, intersection, property_ranges, union
from sfgen.regex.parse import parse, word_boundary
from sfgen.regex.python_re import sre
from sfgen.regex.scan import MAX_NESTING

_KEPT = 256  # automata
_MAX_LENGTH = 100_000  # characters
_MAX_COUNT = 1_000_000  # of a repeat: far more than an automaton can have

_ANY = repeat(Characters(TEXT), 0, None)

_COUNTS = re.compile(r"\{([0-9]+)(?:(,)([0-9]*))?\}")
_GROUP = re.compile(
    r"\((?:\?(?:(?P<look><?[=!])|(?P<on>[ims]*)(?:-(?P<off>[ims]+))?:|P?<(?P<name>[^\W\d]\w*)>))?(?!\?)"
)
_FLAGS = re.compile(r"\(\?([ims]+)\)")
_PROPERTY = re.compile(r"\\[pP]\{[A-Za-z0-9_=]+\}")
_HEX = re.compile(r"x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|u\{([0-9A-Fa-f]+)\}")
_TRAIL = re.compile(r"\\u[dD][c-fC-F][0-9A-Fa-f]{2}")

_SIGNS = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13}
_ANCHORS = {"^": AnchorKind.TEXT_START, r"\A": AnchorKind.TEXT_START, r"\Z": AnchorKind.TEXT_END}

_SPACE = r"\t-\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_IN_BOTH = {".": r"[^\n\r\u2028\u2029]", "d": "[0-9]", "w": "[0-9A-Z_a-z]", "s": f"[{_SPACE}]"}
_IN_EITHER = {".": ".", "d": r"\d", "w": r"\w", "s": rf"[{_SPACE}\x1c-\x1f\x85\ufeff]"}
"""The sets on which ECMA-262 and ``re`` disagree, in the syntax of ``re``: their intersections, and their unions."""


@lru_cache(maxsize=_KEPT)
def pattern_texts(pattern: str) -> Dfa:
    r"""Build the decoded automaton of texts in which a pattern matches.

    It matches there by ECMA-262 and by Python's ``re``. The automaton may accept no text.

    >>> texts = pattern_texts(r"^\d+$")
    >>> texts.accepts("42"), texts.accepts("42\n"), texts.accepts("٤٢")
    (True, False, False)
    """
    if len(pattern) > _MAX_LENGTH:
        raise PatternTooLarge(f"it is longer than {_MAX_LENGTH:,} characters", pattern, hint="Use a shorter one.")
    return _texts(pattern, False)


@lru_cache(maxsize=_KEPT)
def texts_found_by_either(pattern: str) -> Dfa:
    """Build the decoded automaton of texts in which a pattern matches by ECMA-262, ``re`` or both.

    >>> texts = texts_found_by_either("^(?i:i)$")
    >>> texts.accepts("I"), texts.accepts("ı"), pattern_texts("^(?i:i)$").accepts("ı")
    (True, True, False)
    """
    return _texts(pattern, True)


def _texts(pattern: str, by_either: bool) -> Dfa:
    with nesting_limit(pattern):
        tree = _Reader(pattern, by_either).read()
        return Dfa(*compile_tree(_found_anywhere(tree), pattern))


def has_modifiers(pattern: str) -> bool:
    """Return whether a pattern may contain flags."""
    return re.search(r"\(\?[ims]*-?[ims]+[:)]", pattern) is not None


def _found_anywhere(tree: Node) -> Node:
    """Return the tree of texts that contain a match of a tree."""
    return _with_text_after(_with_text_before(tree))


def _with_text_before(tree: Node) -> Node:
    """Return any text followed by the tree, without a text before anchors of the start."""
    match tree:
        case _ if not _is_at_edge(tree, AnchorKind.TEXT_START):
            return concatenation([_ANY, tree])
        case Concatenation((first, *others)):
            return concatenation([_with_text_before(first), *others])
        case Alternation(branches):
            return alternation([_with_text_before(part) for part in _divided(branches, AnchorKind.TEXT_START)])
        case _:
            return tree


def _with_text_after(tree: Node) -> Node:
    """Return the tree followed by any text, without a text after anchors of the end."""
    match tree:
        case _ if not _is_at_edge(tree, AnchorKind.TEXT_END):
            return concatenation([tree, _ANY])
        case Concatenation((*others, last)):
            return concatenation([*others, _with_text_after(last)])
        case Alternation(branches):
            return alternation([_with_text_after(part) for part in _divided(branches, AnchorKind.TEXT_END)])
        case _:
            return tree


def _is_at_edge(tree: Node, edge: AnchorKind) -> bool:
    """Return whether a tree, or a branch of it, is anchored at the start or the end."""
    match tree:
        case Anchor(kind):
            return kind is edge
        case Concatenation((first, *others)):
            return _is_at_edge(first if edge is AnchorKind.TEXT_START else [first, *others][-1], edge)
        case Alternation(branches):
            return any(_is_at_edge(branch, edge) for branch in branches)
        case _:
            return False


def _divided(branches: Iterable[Node], edge: AnchorKind) -> list[Node]:
    """Join the branches without an anchor, so that any text is added to them once.

    Otherwise each set of branches that matched would be a state.
    """
    fixed = [branch for branch in branches if _is_at_edge(branch, edge)]
    free = [branch for branch in branches if not _is_at_edge(branch, edge)]
    return [*fixed, alternation(free)] if free else fixed


class _Property(tuple[tuple[int, int], ...]):
    """The characters of a Unicode property."""


_Atom: TypeAlias = "Ranges | str"
"""A member of a class: characters, or the letter of an escape or a dot, whose set has two readings."""


def _characters(atom: _Atom, in_either: bool) -> Ranges:
    """Return the characters of an atom: the intersection or the union of both readings."""
    return _set(atom, in_either) if isinstance(atom, str) else atom


@cache
def _set(sign: str, in_either: bool) -> Ranges:
    if sign.isupper():
        return complement(_set(sign.lower(), not in_either))
    tree = parse((_IN_EITHER if in_either else _IN_BOTH)[sign], ascii_only=False)
    assert isinstance(tree, Characters)
    return tree.ranges


def _folded(ranges: Ranges, in_either: bool) -> Ranges:
    """Add the characters that differ only in case: in both readings, or in either."""
    by_ecma = _folded_by_ecma(ranges)
    by_re = class_ranges([(sre.RANGE, pair) for pair in ranges], ignore_case=True, ascii_only=False) if ranges else ()
    return union(by_ecma, by_re) if in_either else intersection(by_ecma, by_re)


@lru_cache(maxsize=_KEPT)
def _folded_by_ecma(ranges: Ranges) -> Ranges:
    starts = [first for first, _ in ranges]
    found = []
    for alike in _alike():
        if any((at := bisect_right(starts, code)) and code <= ranges[at - 1][1] for code in alike):
            found += [(code, code) for code in alike]
    return union(ranges, found)


@cache
def _alike() -> list[tuple[int, ...]]:
    """List the groups of several characters with the same simple case folding."""
    by_fold: dict[str, list[int]] = {}
    for character in cased()[0]:
        by_fold.setdefault(_simple_fold(character), []).append(ord(character))
    return [tuple(codes) for codes in by_fold.values() if len(codes) > 1]


def _simple_fold(character: str) -> str:
    """Return the simple case folding of a character: the full one, or its small letter if that is longer."""
    full = character.casefold()
    if len(full) == 1:
        return full
    small = character.lower()
    return small if len(small) == 1 else character


def _boundary(holds: bool, is_forbidden: bool, ignore_case: bool) -> Node:
    r"""Return the tree of ``\b``, or of ``\B`` if not ``holds``; words are ASCII for ECMA-262, not for ``re``."""
    word = Characters(union(_set("w", False), ((0x17F, 0x17F), (0x212A, 0x212A)) if ignore_case else ()))
    ecma = alternation(
        concatenation([Look(word, behind=True, negative=before), Look(word, behind=False, negative=before != holds)])
        for before in (False, True)
    )
    both = [ecma, word_boundary(holds, ascii_only=False)]
    return alternation(both) if is_forbidden else concatenation(both)


class _Reader:
    """A recursive descent parser of patterns."""

    # ``is_forbidden``: the current part is inside an odd number of negative lookarounds, so it must not match.

    def __init__(self, pattern: str, is_forbidden: bool = False) -> None:
        self.pattern = pattern
        self.position = 0
        self.depth = 0  # open groups
        self.behind = 0  # open lookbehinds
        self.is_forbidden = is_forbidden
        self.flags: frozenset[str] = frozenset()
        self.names: set[str] = set()

    def read(self) -> Node:
        while flags := _FLAGS.match(self.pattern, self.position):
            self.flags |= {*flags[1]}
            self.position = flags.end()
        tree = self.disjunction()
        if self.position < len(self.pattern):
            self.fail("unbalanced parenthesis", self.position, hint=r"Write \) for the sign.")
        return tree

    def fail(self, reason: str, position: int, *, hint: str = "") -> NoReturn:
        raise PatternError(reason, self.pattern, position, hint=hint)

    def next_is(self, text: str) -> bool:
        """Return whether a text comes next; if so, skip it."""
        found = self.pattern.startswith(text, self.position)
        self.position += found * len(text)
        return found

    def disjunction(self) -> Node:
        branches = [self.alternative()]
        while self.next_is("|"):
            branches.append(self.alternative())
        return alternation(branches)

    def alternative(self) -> Node:
        terms = []
        while self.position < len(self.pattern) and self.pattern[self.position] not in "|)":
            terms.append(self.term())
        return concatenation(terms)

    def term(self) -> Node:
        start = self.position
        tree = self.assertion()
        if tree is not None:
            if self.quantifier() is not None:
                self.fail("an assertion cannot be repeated", start, hint="Put it into a group, or leave it out.")
            return tree
        tree = self.atom()
        position = self.position
        counts = self.quantifier()
        return tree if counts is None else repeat(tree, *counts, position=position)

    def assertion(self) -> Node | None:
        start = self.position
        if "m" in self.flags and self.pattern[start] in "^$":
            self.position += 1
            return self.line_end(self.pattern[start])
        for sign, kind in _ANCHORS.items():
            if self.next_is(sign):
                return Anchor(kind, sign, start)
        if self.next_is("$"):
            # For `re` it also matches before a newline at the end, which counts where it is forbidden.
            return Anchor(AnchorKind.FINAL_LINE_END if self.is_forbidden else AnchorKind.TEXT_END, "$", start)
        for sign in (r"\b", r"\B"):
            if self.next_is(sign):
                return _boundary(sign == r"\b", self.is_forbidden, "i" in self.flags)
        group = _GROUP.match(self.pattern, start)
        return self.lookaround(group) if group is not None and group["look"] else None

    def line_end(self, sign: str) -> Node:
        """Return the tree of a line's start or end; for ``re`` only a newline divides lines."""
        start = self.position - 1
        divides = Characters(complement(_set(".", False)) if self.is_forbidden else ((10, 10),))
        kind = AnchorKind.TEXT_START if sign == "^" else AnchorKind.TEXT_END
        return alternation([Anchor(kind, sign, start), Look(divides, behind=sign == "^", negative=False)])

    def lookaround(self, opening: re.Match[str]) -> Node:
        behind, negative = opening["look"].startswith("<"), opening["look"].endswith("!")
        if self.behind and not behind:
            self.fail("a lookahead inside a lookbehind is not supported", opening.start(), hint="Put it outside.")
        self.behind += behind
        self.is_forbidden ^= negative
        child = self.group(opening)
        self.is_forbidden ^= negative
        self.behind -= behind
        return look(child, behind=behind, negative=negative)

    def group(self, opening: re.Match[str]) -> Node:
        """Return the tree between an opening and its closing parenthesis."""
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise PatternTooLarge(
                f"groups are nested deeper than {MAX_NESTING}", self.pattern, opening.start(), hint="Use fewer."
            )
        self.position = opening.end()
        outer = self.flags
        on, off = ({*(opening[which] or "")} for which in ("on", "off"))
        if on & off:
            self.fail(
                "a flag is turned on and off at once", opening.start(), hint="Write it once: (?i:...) or (?-i:...)."
            )
        self.flags = outer - off | on
        tree = self.disjunction()
        self.flags = outer
        if not self.next_is(")"):
            self.fail("missing ), unterminated subpattern", opening.start(), hint=r"Write \( for the sign.")
        self.depth -= 1
        return tree

    def quantifier(self) -> tuple[int, int | None] | None:
        """Return the fewest and the most repetitions; ``None`` if no quantifier comes next."""
        start = self.position
        counts = _COUNTS.match(self.pattern, start)
        if counts is not None:
            self.position = counts.end()
            fewest, comma, most = counts.groups()
            minimum = self.count(fewest, start)
            maximum = self.count(most, start) if most else None if comma else minimum
            if maximum is not None and maximum < minimum:
                self.fail("min repeat greater than max repeat", start)
        elif self.next_is("*"):
            minimum, maximum = 0, None
        elif self.next_is("+"):
            minimum, maximum = 1, None
        elif self.next_is("?"):
            minimum, maximum = 0, 1
        else:
            return None
        self.next_is("?")  # lazy: the same texts
        return minimum, maximum

    def count(self, digits: str, position: int) -> int:
        if len(digits.lstrip("0")) > len(str(_MAX_COUNT)) or int(digits) > _MAX_COUNT:
            raise PatternTooLarge(
                f"a repeat passes the limit of {_MAX_COUNT:,} times", self.pattern, position, hint="Use * or +."
            )
        return int(digits)

    def atom(self) -> Node:
        start, sign = self.position, self.pattern[self.position]
        if sign == "(":
            return self.open_group()
        if sign in "*+?" or (sign == "{" and _COUNTS.match(self.pattern, start)):
            self.fail("nothing to repeat", start, hint=f"Write \\{sign} for the sign; a repeat cannot be repeated.")
        if re.match(r"\{,[0-9]*\}", self.pattern[start:]):
            self.fail("a repeat without its fewest times", start, hint="Write {0,...}.")
        self.position += 1
        found: _Atom
        if sign == "[":
            return Characters(union(self.character_class(start)))
        if sign == "\\":
            found = self.escape(in_class=False)
        elif sign == ".":
            found = TEXT if "s" in self.flags else "."
        else:
            found = ((ord(sign), ord(sign)),)
        return Characters(union(self.characters(found, self.is_forbidden)))

    def characters(self, atom: _Atom, in_either: bool) -> Ranges:
        """Return the characters of an atom, with those that differ only in case under the flag ``i``."""
        found = _characters(atom, in_either)
        if "i" not in self.flags or atom == "." or found == TEXT:
            return found
        # Under the flag `\w` of ECMA-262 has two more characters, which `\w` of `re` always has. Engines disagree on
        # the case folding of properties, so only their own characters are in both readings.
        is_own = isinstance(atom, str) or (isinstance(atom, _Property) and not in_either)
        return found if is_own else _folded(found, in_either)

    def open_group(self) -> Node:
        start = self.position
        opening = _GROUP.match(self.pattern, start)
        if opening is None:
            if self.pattern.startswith(("(?P=", "(?P>"), start):
                self.not_regular(start, "(?P=")
            hint = "Groups are (...), (?:...), (?<name>...), (?i:...), (?=...), (?!...), (?<=...) and (?<!...)."
            if re.match(r"\(\?[a-zA-Z-]+[:)]", self.pattern[start:]):
                hint = "Flags are i, m and s: (?i:...), (?-i:...), or for all of the pattern (?i) at its beginning."
            self.fail("unknown kind of group", start, hint=hint)
        name = opening["name"]
        if name is not None:
            if name in self.names:
                self.fail(f"two groups have the name {name}", start)
            self.names.add(name)
        return self.group(opening)

    def character_class(self, start: int) -> Ranges:
        negated = self.next_is("^")
        if self.pattern.startswith("]", self.position):
            self.refuse_if_python_reads(start)
        members = []
        while not self.next_is("]"):
            members.append(self.characters(self.class_member(start), self.is_forbidden ^ negated))
        ranges = union(*members)
        return complement(ranges) if negated else ranges

    def class_member(self, start: int) -> _Atom:
        """Return a character, an escape, or a range of characters."""
        position = self.position
        first = self.class_atom(start)
        if not self.pattern.startswith("-", self.position) or self.pattern.startswith("-]", self.position):
            return first
        self.position += 1
        ends = first, self.class_atom(start)
        points = [
            ends[0][0] for ends in ends if not isinstance(ends, str) and len(ends) == 1 and len(set(ends[0])) == 1
        ]
        if len(points) < 2 or points[1] < points[0]:
            text = self.pattern[position : self.position]
            self.fail(f"bad character range {text}", position, hint=r"Write \- for the sign.")
        return ((points[0], points[1]),)

    def class_atom(self, start: int) -> _Atom:
        if self.position == len(self.pattern):
            self.fail("unterminated character set", start, hint=r"Write \[ for the sign.")
        sign = self.pattern[self.position]
        self.position += 1
        return self.escape(in_class=True) if sign == "\\" else ((ord(sign), ord(sign)),)

    def refuse_if_python_reads(self, start: int) -> None:
        """Refuse ``[]`` and ``[^]`` if ``re`` compiles the pattern: there the bracket is a member of the class."""
        try:
            re.compile(self.pattern)
        except (re.error, OverflowError, RecursionError):
            return
        self.fail(
            "a class that ECMA-262 and Python's re read differently",
            start,
            hint=r"Write \] for the sign, or [\s\S] for any character.",
        )

    def escape(self, in_class: bool) -> _Atom:
        """Return the characters of an escape, after the backslash was read."""
        start = self.position - 1
        if self.position == len(self.pattern):
            self.fail("bad escape (end of pattern)", start, hint=r"Write \\ for the sign.")
        sign = self.pattern[self.position]
        if sign in "pP":
            return self.unicode_property(start)
        if sign in "xu":
            return self.hexadecimal(start)
        self.position += 1
        if sign in "dDwWsS":
            return sign
        if sign == "b" and in_class:
            return ((8, 8),)
        if sign in _SIGNS:
            return ((_SIGNS[sign], _SIGNS[sign]),)
        if sign == "0" and not self.pattern[self.position : self.position + 1].isdigit():
            return ((0, 0),)
        if sign == "c" and re.match("[A-Za-z]", self.pattern[self.position : self.position + 1]):
            self.position += 1
            code = ord(self.pattern[self.position - 1]) % 32
            return ((code, code),)
        if not in_class and (sign in "123456789" or sign == "k"):
            self.not_regular(start, f"\\{sign}")
        if sign.isascii() and sign.isalnum():
            self.fail(f"bad escape \\{sign}", start, hint="A literal letter or digit needs no backslash.")
        return ((ord(sign), ord(sign)),)

    def unicode_property(self, start: int) -> Ranges:
        found = _PROPERTY.match(self.pattern, start)
        hint = r"Properties are those of Unicode: \p{L} letters, \p{Lu} capitals, \p{N} numbers, \p{Script=Greek}."
        if found is None:
            self.fail("a property without its name in braces", start, hint=hint)
        self.position = found.end()
        try:
            ranges = property_ranges(found[0], ignore_case=False)
        except regex.error:
            self.fail(f"unknown property {found[0]}", start, hint=hint)
        return _Property(ranges)

    def hexadecimal(self, start: int) -> Ranges:
        found = _HEX.match(self.pattern, self.position)
        if found is None:
            self.fail("incomplete escape", start, hint=r"Write \x41, \u0041 or \u{41}.")
        self.position = found.end()
        code = int(found[1] or found[2] or found[3], 16)
        if code > 0x10FFFF:
            self.fail(f"there is no character {found[0]}", start)
        if 0xD800 <= code < 0xDC00 and found[2] and _TRAIL.match(self.pattern, self.position):
            character = (code << 10) + int(self.pattern[self.position + 2 : self.position + 6], 16) - 0x35FDC00
            self.fail(
                "a pair of surrogates, which Python's re reads as two characters",
                start,
                hint=rf"Write the character itself, or \u{{{character:x}}}.",
            )
        return ((code, code),)

    def not_regular(self, start: int, text: str) -> NoReturn:
        self.fail(
            f"not regular, since no finite automaton remembers what a group matched: a backreference ({text})",
            start,
            hint="Write out the texts that the group can match, each with what must follow it.",
        )
