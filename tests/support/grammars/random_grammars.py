"""Random grammars that use every kind of expression, small enough that some texts of them are short."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st
from tests.oracles.bounded_recogniser import BoundedRecogniser
from tests.oracles.enumerated_grammars import alphabet_of
from tests.oracles.least_bytes import Least
from tests.oracles.recogniser import Position, Recogniser
from tests.support.models.vocabularies import BYTES

from sfgen import Dfa, Vocabulary
from sfgen.automata.completions import completions
from sfgen.errors import DeadEnd, UsageError
from sfgen.grammar.network.network import network_of
from sfgen.grammar.network.positions import NetworkPositions
from sfgen.grammar.network.rules import (
    EMPTY,
    NOTHING,
    Alternation,
    AnyOrder,
    Bytes,
    Call,
    Concatenation,
    CountedList,
    CountedText,
    Expression,
    GrammarRules,
    Leaf,
    Literal,
    Member,
    NamedMember,
    OtherMember,
    Repeat,
    Series,
    StateMachine,
    Step,
)
from sfgen.grammar.network.stack import NetworkPosition
from sfgen.grammar.shell.guide import GrammarGuide

LITERALS = [b"a", b"b", b"ab", b"ba", b",", b"aab", b"\xc3\xa9", b"\xc3"]
RANGES = [((97, 98),), ((97, 97), (99, 99)), ((98, 98),), ((97, 99),)]
WIDE_RANGES = [*RANGES, ((0, 255),), ((0x80, 0xBF),), ((0, 33), (35, 255))]
LEAVES = ["a|b", "[ab]{1,3}", "a*", "é|a", "ab|a", "b+", "(ab)*a?", "aé?b"]
WIDE_LEAVES = [*LEAVES, '"[^"]*"', ".*", "[^a]", "(?u)\\w+", "[a-z]{2,}"]
FEW_NAMES = ["a|b", "a|ab|b", "[ab]{2}", "b", "é|b"]
ENDLESS_NAMES = ["a+", "[ab]+,", '"[ab]*"', "(ab?)+", "é[ab]*"]

ODD: list[Expression] = [EMPTY, EMPTY, Concatenation(()), NOTHING, Literal(b"b")]
PRINTABLE = bytes(set(range(0x20, 0x7F)) - {ord('"')})
"""The characters of ASCII that a quote may have around it."""


@cache
def _dfa(pattern: str) -> Dfa:
    return Dfa.from_regex(pattern)


def _automaton(draw: st.DrawFn, patterns: Sequence[str]) -> Dfa:
    """One of a pattern, or now and then one without any text."""
    if not draw(st.integers(0, 25)):
        return _dfa("a") & _dfa("b")
    return _dfa(draw(st.sampled_from(patterns)))


class _Writer:
    """Writes the rules of one grammar.

    Args:
        draw: Where the choices come from.
        wide: Whether there may be expressions that read most bytes.
        names: The patterns of distinct texts.
    """

    def __init__(self, draw: st.DrawFn, wide: bool, names: Sequence[str]) -> None:
        self.draw = draw
        self.wide = wide
        self.rules: dict[str, Expression] = {}
        self.names = [f"name{number}" for number in range(draw(st.integers(0, 2)) if names else 0)]
        for name in self.names:
            self.rules[name] = Leaf(_automaton(draw, names))
        self.callable = [f"rule{number}" for number in range(draw(st.integers(1, 4)))]
        for rule in self.callable:
            self.rules[rule] = self.rule(rule)

    def one_of(self, *choices: Callable[[], Expression]) -> Expression:
        choice = self.draw(st.sampled_from(choices))
        return choice()

    def number(self, lowest: int, highest: int) -> int:
        return self.draw(st.integers(lowest, highest))

    def rule(self, rule: str) -> Expression:
        """What a rule says: anything, or one of the forms that random expressions seldom have."""
        return self.one_of(
            self.any_expression,
            self.any_expression,
            self.any_expression,
            self.leaf,
            self.counted_list,
            self.counted_text,
            self.any_order,
            lambda: self.recursive(rule),
            lambda: self.recursive(rule),
            self.alike,
            self.with_distinct if self.names else self.any_expression,
        )

    def any_expression(self) -> Expression:
        return self.expression(3)

    def recursive(self, rule: str) -> Expression:
        """It calls itself at the left, at the right, in the middle, or twice; and it has an end."""
        itself = Call(rule)
        parts = self.draw(
            st.sampled_from(
                [(itself, None), (None, itself), (None, itself, None), (itself, None, itself), (itself, itself)]
            )
        )
        written = Concatenation(tuple(part or self.small() for part in parts))
        return Alternation((written, self.small(), *([self.expression(1)] if self.number(0, 2) == 0 else [])))

    def alike(self) -> Expression:
        """Calls from one state whose texts may begin alike."""
        branches = [Concatenation((self.call(), self.expression(1))) for _ in range(self.number(2, 3))]
        return Alternation(tuple(branches))

    def with_distinct(self) -> Expression:
        """Distinct calls, in the form of an object's members or anyhow."""
        name, pair = self.name, self.pair
        return self.one_of(
            lambda: Concatenation((name(), self.small(), name())),
            lambda: Concatenation((name(), name(), self.small())),
            lambda: Repeat(pair(), self.number(0, 2), self.draw(st.sampled_from([None, 2, 3]))),
            lambda: Series((self.member(pair()), self.member(pair())), Literal(b","), pair()),
            lambda: Series((self.member(self.small()),), Literal(b","), pair()),
            lambda: self.machine(pair),
            lambda: Concatenation((Literal(b"("), Repeat(pair(), 0, None), Literal(b")"))),
            lambda: Alternation((pair(), Concatenation((pair(), pair(), pair())))),
        )

    def name(self) -> Call:
        return Call(self.draw(st.sampled_from(self.names)), distinct=True)

    def pair(self) -> Expression:
        return Concatenation((self.name(), self.small()))

    # ---- expressions -----------------------------------------------------------------------------------------------

    def expression(self, depth: int) -> Expression:
        if depth == 0:
            return self.small()

        def inner() -> Expression:
            return self.expression(depth - 1)

        return self.one_of(
            self.small,
            self.small,
            self.call,
            self.call,
            self.leaf,
            lambda: Concatenation(tuple(inner() for _ in range(self.number(1, 3)))),
            lambda: Concatenation(tuple(inner() for _ in range(self.number(2, 3)))),
            lambda: Alternation(tuple(inner() for _ in range(self.number(1, 3)))),
            lambda: Alternation(tuple(inner() for _ in range(self.number(2, 3)))),
            lambda: self.repeat(inner()),
            lambda: self.series(inner),
            lambda: self.machine(inner),
        )

    def small(self) -> Expression:
        ranges = WIDE_RANGES if self.wide else RANGES
        return self.one_of(
            lambda: Literal(self.draw(st.sampled_from(LITERALS))),
            lambda: Literal(self.draw(st.sampled_from(LITERALS))),
            lambda: Bytes(self.draw(st.sampled_from(ranges))),
            lambda: self.call() if self.number(0, 3) == 0 else Literal(b"a"),
            lambda: self.draw(st.sampled_from(ODD)),
        )

    def call(self) -> Call:
        return Call(self.draw(st.sampled_from([*self.callable, *self.names])))

    def leaf(self) -> Leaf:
        return Leaf(_automaton(self.draw, WIDE_LEAVES if self.wide else LEAVES))

    def repeat(self, child: Expression) -> Repeat:
        minimum = self.number(0, 2)
        return Repeat(child, minimum, self.draw(st.sampled_from([None, minimum, minimum + 1, minimum + 2])))

    def member(self, expression: Expression) -> Member:
        return Member(expression, self.draw(st.booleans()))

    def series(self, inner: Callable[[], Expression]) -> Series:
        members = tuple(self.member(inner()) for _ in range(self.number(0, 3)))
        separator = self.draw(st.sampled_from([Literal(b","), Literal(b","), Literal(b"a"), EMPTY]))
        return Series(members, separator, inner() if self.draw(st.booleans()) else None)

    def machine(self, inner: Callable[[], Expression]) -> StateMachine:
        """Two or three states with steps to any of them or the end; a loop that reads nothing may be among them."""
        count = self.number(2, 3)
        targets = st.sampled_from([None, *range(count)])
        return StateMachine(
            tuple(tuple(Step(inner(), self.draw(targets)) for _ in range(self.number(0, 2) + (not number)))
                  for number in range(count))
        )  # fmt: skip

    def bounds(self) -> tuple[int, int | None]:
        """Of counters: small ones, and large ones that nobody would copy."""
        minimum = self.draw(st.sampled_from([0, 0, 1, 2, 3, 40]))
        more = self.draw(st.sampled_from([None, None, 0, 1, 2, 500]))
        return minimum, None if more is None else minimum + more

    def counted_list(self) -> CountedList:
        """No text begins with the first byte of a closing, which nothing else has."""
        opening, separator = (
            self.draw(st.sampled_from([b"[", b"(", b"a", b"[a"])),
            self.draw(st.sampled_from([b",", b", ", b"a"])),
        )
        return CountedList(opening, self.call(), separator, self.draw(st.sampled_from([b"]", b"]a"])), *self.bounds())

    def any_order(self) -> AnyOrder:
        """No name is the beginning of another, or of the text of a distinct call."""
        written = st.sampled_from([b'"c"', b'"cc"', b'"ca"', b"c ", b"cb"])
        names: list[bytes] = self.draw(st.lists(written, max_size=4, unique=True))
        members = tuple(NamedMember(name, self.call(), self.number(0, 1) == 1) for name in names)
        others: tuple[OtherMember, ...] = ()
        minimum = self.draw(st.sampled_from([0, 0, 0, 1, 2, 3]))
        more = self.draw(st.sampled_from([None, None, 0, 1, 2]))
        if self.number(0, 1) and self.names:
            others = (OtherMember(self.name(), self.call()),)
            texts = completions(self.leaf_of(others[0].name)).get(0)
            if texts is not None:  # they run out
                most = len(members) + texts - minimum
                more = most if more is None else min(more, most)
        colons: list[Expression] = [Literal(b":"), EMPTY, Repeat(Literal(b":"), 1, 2)]
        separators: list[Expression] = [Literal(b","), Literal(b", "), Repeat(Literal(b","), 1, 2)]
        colon, separator = self.draw(st.sampled_from(colons)), self.draw(st.sampled_from(separators))
        return AnyOrder(
            members, others, b"(", colon, separator, self.draw(st.sampled_from([b")", b" )"])), b"()", minimum,
            None if more is None else minimum + more,
        )  # fmt: skip

    def leaf_of(self, call: Call) -> Dfa:
        leaf = self.rules[call.rule]
        assert isinstance(leaf, Leaf)
        return leaf.dfa

    def counted_text(self) -> CountedText:
        return quoted_text(
            self.draw(st.sampled_from([b'"', b""])),
            self.draw(st.sampled_from([b"a", b"ab", PRINTABLE] if self.wide else [b"a", b"ab"])),
            self.draw(st.booleans()),
            *self.bounds(),
        )  # fmt: skip


def quoted_text(opening: bytes, letters: bytes, two_bytes: bool, minimum: int, maximum: int | None) -> CountedText:
    """Letters up to a quote, and how many they are.

    Args:
        opening: What it begins with: nothing, or a quote.
        letters: The letters of one byte.
        two_bytes: Whether "é" is a letter too.
        minimum: The fewest letters.
        maximum: The most letters; ``None``: any number.
    """
    begun, counted, first, whole = 1, 2, 3, 4  # state 0: the opening is not read yet
    table = np.full((5, 256), -1, dtype=np.int32)
    if opening:
        table[0, opening[0]] = begun
    for state in (begun, counted) if opening else (0, counted):
        table[state, list(letters)] = counted
        table[state, ord('"')] = whole
        if two_bytes:
            table[state, 0xC3] = first
    table[first, 0xA9] = counted
    used = [state for state in range(5) if (opening or state != begun) and (two_bytes or state != first)]
    table = np.where(table >= 0, np.searchsorted(used, table), -1)[used].astype(np.int32)
    columns, classes = np.unique(table, axis=1, return_inverse=True)
    is_counted, is_whole = np.equal(used, counted), np.equal(used, whole)
    return CountedText(
        Dfa(columns, classes.reshape(-1).astype(np.uint8), is_whole), is_counted, is_whole, minimum, maximum
    )


def member(name: str, value: Expression) -> Expression:
    return Concatenation((Literal(f'"{name}":'.encode()), value))


KNOWN: list[GrammarRules] = [
    GrammarRules({
        "record": Concatenation((Literal(b"{"), Series((
            Member(member("a", Call("text")), True),
            Member(member("b", Call("list")), False),
            Member(member("c", Call("record")), False),
        ), Literal(b",")), Literal(b"}"))),
        "text": quoted_text(b'"', b"ab", True, 1, 3),
        "list": CountedList(b"[", Call("value"), b",", b"]", 0, 2),
        "value": Alternation((Call("text"), Call("list"), Literal(b"1"), Literal(b"true"))),
    }, "record"),
    GrammarRules({
        "map": Concatenation((Literal(b"{"), Series((), Literal(b","), Call("pair")), Literal(b"}"))),
        "pair": Concatenation((Literal(b'"'), Bytes(((97, 98),)), Literal(b'":'), Call("value"))),
        "value": Alternation((Call("map"), Call("number"))),
        "number": Leaf(_dfa("-?(0|[1-9][0-9]{0,2})")),
    }, "value"),
    GrammarRules({
        "map": Concatenation((Literal(b"{"), Series((
            Member(member("a", Literal(b"1")), False),
        ), Literal(b","), Concatenation((Call("name", distinct=True), Literal(b":"), Call("value")))), Literal(b"}"))),
        "name": Leaf(_dfa('"[bc]*"')),
        "value": Alternation((Literal(b"1"), Call("map"))),
    }, "map"),
    GrammarRules({
        "record": AnyOrder((
            NamedMember(b'"a"', Call("text"), True),
            NamedMember(b'"ab"', Call("record"), False),
            NamedMember(b'"c"', Call("one"), True),
        ), (OtherMember(Call("name", distinct=True), Call("one")),), b"{", Literal(b":"), Literal(b","), b"}", b"{}"),
        "text": quoted_text(b'"', b"ab", True, 1, 3),
        "one": Literal(b"1"),
        "name": Leaf(_dfa('"b*"')),
    }, "record"),
    GrammarRules({"sum": Alternation((
        Concatenation((Call("sum"), Literal(b"+"), Call("sum"))), Literal(b"a"), Literal(b"aa"),
    ))}, "sum"),
    GrammarRules({"odd": Alternation((
        Concatenation((Literal(b"a"), Call("odd"), Literal(b"a"))), Literal(b"a"),
    ))}, "odd"),
]  # fmt: skip
"""Some that are like those that schemas have, and two that can be read in many ways."""


def letters_of(grammar: GrammarRules) -> bytes:
    """The first letters that are read in a grammar, twelve at most; some where it reads most bytes."""
    found = alphabet_of(grammar.rules.values())
    liked = [byte for byte in b'ab,"\xc3\xa9[]{}:c1+' if byte in found]
    return bytes([*liked, *sorted(found - set(liked))][:12]) or b"a"


@st.composite
def grammars(draw: st.DrawFn, wide: bool = True, names: Sequence[str] = (*FEW_NAMES, *ENDLESS_NAMES)) -> GrammarRules:
    """Grammars of one to four rules; some have no text, some are left-recursive through several rules.

    Args:
        draw: Given by hypothesis.
        wide: Whether there may be expressions that read most bytes.
        names: The patterns of texts that are to be distinct; none: there are no distinct calls.
    """
    writer = _Writer(draw, wide, names)
    return GrammarRules(
        _without_empty_items(writer.rules), draw(st.sampled_from([*writer.callable, writer.callable[0]]))
    )


def _without_empty_items(rules: dict[str, Expression]) -> dict[str, Expression]:
    """The rules, with something before each item and value that would be empty."""
    least, found = Least(GrammarRules(rules, "")), dict(rules)
    for rule, expression in rules.items():
        if isinstance(expression, CountedList) and least.of_rule(expression.item.rule) == 0:
            found["item"] = Alternation((Concatenation((Literal(b"a"), expression.item)), Literal(b"b")))
            found[rule] = replace(expression, item=Call("item"))
        if isinstance(expression, AnyOrder):
            for value in [
                *(member.value for member in expression.members),
                *(other.value for other in expression.others),
            ]:
                if least.of_rule(value.rule) == 0:
                    found[f"{value.rule} b"] = Concatenation((Literal(b"b"), value))
            full = {name.removesuffix(" b"): Call(name) for name in found if name.endswith(" b")}
            found[rule] = replace(
                expression,
                members=tuple(
                    replace(each, value=full.get(each.value.rule, each.value)) for each in expression.members
                ),
                others=tuple(replace(each, value=full.get(each.value.rule, each.value)) for each in expression.others),
            )
    return found


def random_text(draw: st.DrawFn, grammar: GrammarRules, longest: int) -> bytes:
    """The beginning of a text of a grammar."""
    recogniser, letters = BoundedRecogniser(grammar), letters_of(grammar)
    text, position = b"", recogniser.start
    for _ in range(draw(st.integers(1, longest))):
        following = [byte for byte in letters if recogniser.step(position, byte) is not None]
        if not following:
            break
        text += bytes([draw(st.sampled_from(following))])
        position = recogniser.step(position, text[-1]) or position
    return text


def random_vocabulary(draw: st.DrawFn, grammar: GrammarRules, every_byte: bool) -> Vocabulary:
    """Tokens for a grammar: parts of its texts that may cut characters and go on over several rules, and others.

    Args:
        draw: Given by hypothesis.
        grammar: The rules, which have a text.
        every_byte: Whether all bytes are tokens by themselves; else some letters are missing.
    """
    letters = letters_of(grammar)
    tokens: list[bytes | None] = [*BYTES]
    if not every_byte:
        tokens = [bytes([byte]) for byte in letters if draw(st.integers(0, 8))]
    for _ in range(draw(st.integers(1, 3))):
        text = random_text(draw, grammar, 12)
        for _ in range(draw(st.integers(1, 4))):
            start = draw(st.integers(0, len(text)))
            tokens.append(text[start : start + draw(st.integers(2, 8))] or None)
    tokens += draw(st.lists(st.lists(st.sampled_from(letters), min_size=2, max_size=4).map(bytes), max_size=3))
    tokens += draw(st.lists(st.sampled_from(tokens), max_size=2))
    first = len(tokens)
    tokens += [None] * draw(st.integers(0, 3))
    return Vocabulary(tokens, list(range(first, first + draw(st.integers(0, len(tokens) - first)))))


class TokenNetwork(NetworkPositions):
    """Which tokens a network allows, and guides through it, as the tests need them."""

    def guide(self, max_tokens: int | None = None) -> GrammarGuide[NetworkPosition]:
        """A guide at the start, for one sequence of at most ``max_tokens`` tokens."""
        return GrammarGuide(self, max_tokens)

    def refusal(self, data: bytes) -> dict[str, str] | None:
        """What refuses a finished text; ``None`` where the network reads it."""
        if self.reader.reads(data):
            return None
        return {"grammar": repr(self.network), "refused by": "the network itself"}


@dataclass
class Pair:
    """A network over a vocabulary, and the recogniser of the same grammar."""

    grammar: GrammarRules
    recogniser: Recogniser
    tokens: TokenNetwork

    @property
    def vocabulary(self) -> Vocabulary:
        return self.tokens.vocabulary

    def readable(self, position: Position) -> list[int]:
        """The text tokens that a text can go on with, by trying each; and the end tokens where it may end."""
        vocabulary, read = self.vocabulary, self.recogniser.read
        found = [
            token
            for token in vocabulary.text_token_ids.tolist()
            if read(position, vocabulary.tokens[token] or b"") is not None
        ]
        ends = vocabulary.end_token_ids if self.recogniser.accepts_at(position) else ()
        return sorted([*found, *ends])


@st.composite
def pairs(draw: st.DrawFn, every_byte: bool = True) -> Pair:
    """Grammars that both can read, over a vocabulary that can write a text.

    Where bytes are missing, the texts that must differ may run out.
    """
    grammar = draw(st.sampled_from([*KNOWN, None, None, None, None, None])) or draw(grammars(names=ENDLESS_NAMES))
    try:
        recogniser, network = BoundedRecogniser(grammar), network_of(grammar)
        vocabulary = random_vocabulary(draw, grammar, every_byte)
        return Pair(grammar, recogniser, TokenNetwork(network, vocabulary))
    except (UsageError, DeadEnd):  # see test_network, and test_limits
        assume(False)
        raise
