"""Pattern text to syntax tree.

The dialect is that of Python's ``re`` with ``re.ASCII``, or without that flag where the pattern says ``(?u)``; with
``ascii_only=False`` it is that without the flag, unless the pattern says ``(?a)``. The standard library's own parser
reads the pattern, so there is no second opinion on what it means; its tree is then translated to
:mod:`sfgen.regex.ast`. Two things are added before parsing. Each Unicode property (``\\p{L}``), which
``re`` does not know, becomes a private-use character that the pattern does not use. Each anchor becomes the empty
lookahead ``(?=)``: the parser may join equal anchors of neighbouring branches, but never two lookaheads,
so the n-th of the tree is still the n-th of the pattern and its position is known.

Lazy and greedy repeats are the same language and are not told apart, except inside atomic groups.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NoReturn

import regex
from sfgen import arguments
from sfgen.errors import PatternError, PatternTooLarge
from sfgen.regex.ast import (
    NOTHING,
    Anchor,
    AnchorKind,
    Atomic,
    Characters,
    Look,
    Node,
    alternation,
    concatenation,
    look,
    repeat,
)
from sfgen.regex.characters import Ranges, class_ranges, complement, property_ranges, union
from sfgen.regex.python_re import sre, sre_parser
from sfgen.regex.scan import ANCHORS, Construct, Constructs, scan

# As plain numbers, which are combined faster than the flags that `re` shows.
_ASCII, _DOT_ALL, _IGNORE_CASE, _MULTI_LINE, _UNICODE = (
    int(flag) for flag in (re.ASCII, re.DOTALL, re.IGNORECASE, re.MULTILINE, re.UNICODE)
)

_NOT_NEWLINE = complement(((10, 10),))
_EVERYTHING = complement(())


def parse(pattern: str, *, ascii_only: bool = True) -> Node:
    """Read a pattern.

    The tree may contain :class:`~sfgen.regex.ast.Anchor`, :class:`~sfgen.regex.ast.Look` and
    :class:`~sfgen.regex.ast.Atomic` nodes. A word boundary is two lookarounds.

    Args:
        pattern: The pattern.
        ascii_only: Whether ``re.ASCII`` is on where the pattern does not say ``(?u)`` or ``(?a)``.

    Raises:
        PatternError: A syntax error, or a construct that is not supported; with its position.
        PatternTooLarge: Groups nested too deep, or a count beyond what ``re`` takes.

    >>> parse("a|b")
    Characters(ranges=((97, 98),))
    """
    arguments.text("pattern", pattern, hint="Of a compiled one, give its .pattern.")
    arguments.flag("ascii_only", ascii_only)
    try:
        constructs = scan(pattern)
        source, properties = replace_properties(pattern, constructs.properties)
        parsed = source.parse(ascii_only)
        anchors = [assertion for assertion in constructs.assertions if assertion.text in ANCHORS]
        if anchors:
            replacements = [*source.replacements, *((anchor, "(?=)") for anchor in anchors)]
            parsed = _Source.replace(pattern, replacements).parse(ascii_only)
        flags = int(parsed.state.flags)
        return _Translator(pattern, constructs, properties).sequence(parsed, flags)
    except re.error as error:  # from the scan; the parser's own errors are translated where it is called
        raise PatternError(error.msg, pattern, error.pos) from None
    except RecursionError:
        raise PatternTooLarge("groups are nested too deep", pattern, hint="Take away groups inside groups.") from None


@dataclass(frozen=True, slots=True)
class _Source:
    """A pattern in which some pieces were replaced, for ``re``'s parser."""

    pattern: str
    text: str
    replacements: tuple[tuple[Construct, str], ...]  # (piece, what stands for it) in the order of the pattern

    @classmethod
    def replace(cls, pattern: str, replacements: Iterable[tuple[Construct, str]]) -> _Source:
        replacements = tuple(sorted(replacements, key=lambda replacement: replacement[0].start))
        pieces = []
        done = 0
        for construct, new in replacements:
            pieces += [pattern[done : construct.start], new]
            done = construct.end
        return cls(pattern, "".join([*pieces, pattern[done:]]), replacements)

    def parse(self, ascii_only: bool = True) -> Any:
        """``re``'s own tree of the text, with its flags."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return re_tree(self.text, ascii_only)
            except re.error as error:
                self.fail(error.msg, error.pos)
            except OverflowError as error:
                raise PatternTooLarge(str(error), self.pattern, hint="Use smaller counts, or * and +.") from None
            except ValueError as error:
                # (?a) and (?u) together, or a count of more digits than Python converts.
                raise PatternError(str(error), self.pattern) from None

    def fail(self, reason: str, position: int | None) -> NoReturn:
        for construct, new in self.replacements:
            reason = reason.replace(repr(new), repr(construct.text)).replace(new, construct.text)
        raise PatternError(reason, self.pattern, None if position is None else self.original(position))

    def original(self, position: int) -> int:
        """The offset in the user's pattern for an offset in the text."""
        shift = 0
        for construct, new in self.replacements:
            if position <= construct.start + shift:
                break
            shift += len(new) - (construct.end - construct.start)
        return position - shift


def re_tree(text: str, ascii_only: bool = True) -> Any:
    """Parse a pattern with ``re``'s own parser."""
    if not ascii_only:
        return sre_parser.parse(text, 0)
    try:
        return sre_parser.parse(text, _ASCII)
    except ValueError as error:
        if isinstance(error, re.error):
            raise
        return sre_parser.parse(text, 0)


def replace_properties(pattern: str, properties: list[Construct]) -> tuple[_Source, dict[int, Construct]]:
    """Replace each Unicode property by a private-use character; also the property of each code point."""
    if not properties:
        return _Source(pattern, pattern, ()), {}
    named = {int(digits, 16) for digits in re.findall(r"\\U([0-9a-fA-F]{8})", pattern)}
    free = (code for code in range(0xF0000, 0xFFFFE) if chr(code) not in pattern and code not in named)
    codes: dict[str, int] = {}
    meaning: dict[int, Construct] = {}
    for construct in properties:
        if construct.text not in codes:
            codes[construct.text] = next(free)
            meaning[codes[construct.text]] = construct
            try:
                property_ranges(construct.text, ignore_case=False)
            except regex.error as error:
                raise PatternError(
                    f"{error.msg} {construct.text}",
                    pattern,
                    construct.start,
                    hint=r"Properties are those of Unicode: \p{L} letters, \p{Lu} capitals, \p{N} numbers, \p{Greek}.",
                ) from None
    return _Source.replace(pattern, ((construct, chr(codes[construct.text])) for construct in properties)), meaning


class _Translator:
    """One walk over ``re``'s tree, in step with the constructs that the scan listed."""

    def __init__(self, pattern: str, constructs: Constructs, properties: dict[int, Construct]) -> None:
        self.pattern = pattern
        self.constructs = constructs
        self.properties = properties
        self.assertions = iter(constructs.assertions)
        self.repeats = iter(constructs.repeats)
        self.atomic_groups = iter(constructs.atomic_groups)
        self.lookbehinds = 0  # open around the node that is being translated

    def sequence(self, items: Any, flags: int) -> Node:
        # Every part is translated, even where one before it matches nothing: the iterators must not fall behind.
        parts = []
        for operator, argument in items:
            parts.append(self.node(operator, argument, flags))
        return concatenation(parts)

    def node(self, operator: Any, argument: Any, flags: int) -> Node:
        if operator is sre.LITERAL:
            if flags & _IGNORE_CASE or argument in self.properties or 0xD800 <= argument <= 0xDFFF:
                return self.characters([(operator, argument)], flags)
            return Characters(((argument, argument),))
        if operator is sre.NOT_LITERAL:
            return self.characters([(sre.NEGATE, None), (sre.LITERAL, argument)], flags)
        if operator is sre.IN:
            return self.characters(argument, flags)
        if operator is sre.ANY:
            return Characters(_EVERYTHING if flags & _DOT_ALL else _NOT_NEWLINE)
        if operator is sre.BRANCH:
            branches = []
            for branch in argument[1]:
                branches.append(self.sequence(branch, flags))
            return alternation(branches)
        if operator is sre.SUBPATTERN:
            _, added, removed, items = argument
            if added & sre_parser.TYPE_FLAGS:
                flags &= ~sre_parser.TYPE_FLAGS
            return self.sequence(items, (flags | added) & ~removed)
        if operator in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            return self.repeat(operator, argument, flags)
        if operator is sre.ATOMIC_GROUP:
            position = next(self.atomic_groups).start
            return Atomic(self.sequence(argument, flags), position)
        if operator in (sre.ASSERT, sre.ASSERT_NOT):
            return self.assertion(next(self.assertions), argument, flags)
        if operator is sre.FAILURE:  # an empty negative lookaround
            next(self.assertions)
            return NOTHING
        if operator is sre.GROUPREF:
            self.refuse_for_ever("a backreference", self.constructs.backreferences[0])
        if operator is sre.GROUPREF_EXISTS:
            self.refuse_for_ever("a conditional group", self.constructs.conditionals[0])
        raise PatternError(f"{operator} is not supported", self.pattern)

    def characters(self, items: Any, flags: int) -> Node:
        ignore_case = bool(flags & _IGNORE_CASE)
        negated = items[0][0] is sre.NEGATE
        members = []
        sets: list[Ranges] = []
        for kind, value in items[negated:]:
            if kind is sre.LITERAL and value in self.properties:
                sets.append(property_ranges(self.properties[value].text, ignore_case=ignore_case))
            else:
                members.append((kind, value))
        if members:
            sets.append(class_ranges(members, ignore_case=ignore_case, ascii_only=not flags & _UNICODE))
        ranges = union(*sets)
        return Characters(complement(ranges) if negated else ranges)

    def repeat(self, operator: Any, argument: Any, flags: int) -> Node:
        minimum, maximum, items = argument
        child = self.sequence(items, flags)
        position = next(self.repeats).start  # after the child: quantifiers stand after what they repeat
        if operator is sre.POSSESSIVE_REPEAT and not isinstance(child, Characters):
            child = Atomic(child, position)  # for `re` each time round is atomic, too
        node = repeat(
            child,
            minimum,
            None if maximum is sre.MAXREPEAT else maximum,
            lazy=operator is sre.MIN_REPEAT,
            position=position,
        )
        return Atomic(node, position) if operator is sre.POSSESSIVE_REPEAT else node

    def assertion(self, construct: Construct, argument: Any, flags: int) -> Node:
        multiline = flags & _MULTI_LINE
        match construct.text:
            case "^" if multiline:
                kind = AnchorKind.LINE_START
            case "^" | r"\A":
                kind = AnchorKind.TEXT_START
            case "$":
                kind = AnchorKind.LINE_END if multiline else AnchorKind.FINAL_LINE_END
            case r"\Z" | r"\z":
                kind = AnchorKind.TEXT_END
            case r"\b" | r"\B":
                return word_boundary(construct.text == r"\b", ascii_only=not flags & _UNICODE)
            case opening:
                return self.lookaround(construct, argument, flags, behind="<" in opening, negative="!" in opening)
        return Anchor(kind, construct.text, construct.start)

    def lookaround(self, construct: Construct, argument: Any, flags: int, *, behind: bool, negative: bool) -> Node:
        items = argument[1]
        if behind:
            fewest, most = items.getwidth()
            if fewest != most:  # `re` says so too, when it compiles
                raise PatternError(
                    "look-behind requires fixed-width pattern",
                    self.pattern,
                    construct.start,
                    hint="Write one lookbehind for each width, as in (?:(?<=a)|(?<=bc)).",
                )
        elif self.lookbehinds:
            raise PatternError(
                f"the lookahead {construct.text} inside a lookbehind is not supported",
                self.pattern,
                construct.start,
                hint="Put the lookahead outside, after the lookbehind: (?<=a)(?=b) in place of (?<=a(?=b)).",
            )
        self.lookbehinds += behind
        child = self.sequence(items, flags)
        self.lookbehinds -= behind
        return look(child, behind=behind, negative=negative)

    def refuse_for_ever(self, what: str, construct: Construct) -> NoReturn:
        raise PatternError(
            f"not regular, since no finite automaton remembers what a group matched: {what} ({construct.text})",
            self.pattern,
            construct.start,
            hint="Write out the texts that the group can match, each with what must follow it.",
        )


def word_boundary(holds: bool, *, ascii_only: bool) -> Node:
    r"""Make the tree of ``\b``, if it ``holds``, or of ``\B`` from lookarounds."""
    word = Characters(class_ranges([(sre.CATEGORY, sre.CATEGORY_WORD)], ignore_case=False, ascii_only=ascii_only))
    sides: list[list[Node]] = []
    for word_before in (True, False):
        word_after = word_before != holds
        sides.append(
            [Look(word, behind=True, negative=not word_before), Look(word, behind=False, negative=not word_after)]
        )
    if not holds and re.fullmatch(r"\B", "") is None:
        # Before Python 3.14 the empty text has no place where \B holds: one side must have a character.
        anything = Characters(_EVERYTHING)
        sides[1].append(
            alternation([Look(anything, behind=True, negative=False), Look(anything, behind=False, negative=False)])
        )
    return alternation(map(concatenation, sides))
