"""Networks read what the recogniser reads, and are as far from an end."""

from __future__ import annotations

import random

import pytest
from hypothesis import assume, event, given
from tests.oracles import recogniser as oracle
from tests.oracles.bounded_recogniser import BoundedRecogniser
from tests.oracles.recogniser import Recogniser
from tests.support.grammars.random_grammars import ENDLESS_NAMES, grammars, quoted_text

from sfgen import Dfa
from sfgen.errors import InternalError, UsageError
from sfgen.grammar.network.network import network_of
from sfgen.grammar.network.read import NetworkReader
from sfgen.grammar.network.regular import regular_superset
from sfgen.grammar.network.rules import (
    EMPTY,
    Alternation,
    Bytes,
    Call,
    Concatenation,
    CountedList,
    Expression,
    GrammarRules,
    Leaf,
    Literal,
    Repeat,
)
from sfgen.grammar.network.simplify import LeftRecursion
from sfgen.grammar.network.stack import NetworkPosition
from sfgen.grammar.shell.read import REFUSED, ReadByBytes
from sfgen.schema.json_schema import JsonSchema

LETTERS = b'ab\xc3\xa9,"[]()c :'
MOST = 30


def both(grammar: GrammarRules) -> tuple[Recogniser, NetworkReader]:
    """The recogniser and the reader of a grammar; what has no text for the first has none for the second."""
    try:
        recogniser = BoundedRecogniser(grammar)
    except UsageError as error:
        # Where texts must differ there may be too few: who makes such rules counts them.
        if "no text" in error.message and "distinct=True" not in repr(grammar):
            with pytest.raises(UsageError):
                network_of(grammar)
        event("no text" if "no text" in error.message else "left recursion through other rules")
        assume(False)
        raise
    try:
        return recogniser, NetworkReader(network_of(grammar))
    except LeftRecursion:  # behind what counts, or remembers names or texts
        event("left recursion behind a register")
        assume(False)
        raise


def check(recogniser: Recogniser, reader: NetworkReader, *, distances: bool = True) -> None:
    """Everything about the shortest texts."""
    waiting: list[tuple[bytes, oracle.Position, NetworkPosition]] = [(b"", recogniser.start, reader.start)]
    for text, theirs, ours in waiting:
        steps = {byte: recogniser.step(theirs, byte) for byte in LETTERS}
        assert reader.accepts(ours) is recogniser.accepts_at(theirs), text
        assert reader.is_final(ours) is not any(steps.values()), text
        if distances:
            assert reader.stacks.distance(ours) == recogniser.least_bytes(theirs), text
        only = reader.only_step(ours)
        if only is not None:
            assert [byte for byte in LETTERS if steps[byte]] == list(only[0])
            assert only[1] == reader.read(ours, only[0])
        for byte in LETTERS:
            longer, after, read = text + bytes([byte]), steps[byte], reader.read(ours, bytes([byte]))
            assert (read is None) is (after is None), longer
            if after is not None and read is not None and len(waiting) < MOST:
                waiting.append((longer, after, read))


@given(grammars(names=()))
def test_short_texts(grammar: GrammarRules) -> None:
    check(*both(grammar))


@given(grammars(wide=False, names=ENDLESS_NAMES))
def test_texts_that_differ(grammar: GrammarRules) -> None:
    """How far the end is tells the distance without names that are taken already."""
    check(*both(grammar), distances=False)


R, Q = Call("r"), Call("q")
FOUND: dict[str, dict[str, Expression]] = {
    "the whole text may end where a rule that calls itself does": {
        "r": Alternation((Concatenation((Literal(b"b"), R, Literal(b"a"))), Literal(b"b"), Bytes(((97, 97), (99, 99)))))
    },
    "a list without items": {"r": CountedList(b"[", R, b"a", b"]", 0, 0)},
    "the empty text only": {"r": EMPTY},
    "a call of what is empty": {"r": Concatenation((Q, Literal(b"a"), Q)), "q": Repeat(Literal(b"b"), 0, 0)},
}


@pytest.mark.parametrize("name", FOUND)
def test_what_was_read_wrong_once(name: str) -> None:
    check(*both(GrammarRules(FOUND[name], "r")))


@pytest.mark.parametrize("opening", [b"", b'"'])
def test_a_text_that_counts_its_first_byte(opening: bytes) -> None:
    text = quoted_text(opening, b"ab", False, 3, 4)
    check(*both(GrammarRules({"r": CountedList(b"[", Q, b"a", b"]", 3, None), "q": text}, "r")))


def test_distinct_items_are_refused() -> None:
    rules: dict[str, Expression] = {
        "r": CountedList(b"[", Call("q", distinct=True), b",", b"]", 0, 2),
        "q": Leaf(Dfa.from_regex("a+")),
    }
    with pytest.raises(InternalError, match="distinct"):
        network_of(GrammarRules(rules, "r"))


@given(grammars())
def test_a_regular_superset_has_all_texts_and_an_exact_one_no_others(grammar: GrammarRules) -> None:
    recogniser, reader = both(grammar)
    superset = regular_superset(grammar)
    assert superset is not None
    event("exact" if superset.is_exact else "more than the texts")
    waiting = [(b"", recogniser.start)]
    for text, position in waiting:
        assert superset.dfa.accepts(text) or not recogniser.accepts_at(position), text
        after = ((text + bytes([byte]), recogniser.step(position, byte)) for byte in LETTERS if len(waiting) < 200)
        waiting += [(longer, behind) for longer, behind in after if behind is not None]
    if superset.is_exact:
        for text in shortest_of(superset.dfa, 60):
            assert reader.reads(text), text


def test_of_rules_that_call_themselves_a_superset_forgets_how_deep_they_are() -> None:
    pairs = GrammarRules(
        {"a": Alternation((Concatenation((Literal(b"("), Call("a"), Literal(b")"))), Literal(b"b")))}, "a"
    )
    superset = regular_superset(pairs)
    assert superset is not None
    assert superset.dfa.equivalent(Dfa.from_regex(r"\(*b\)*"))
    twice = GrammarRules(
        {"a": Concatenation((Call("b"), Literal(b","), Call("b"))), "b": Leaf(Dfa.from_regex("a{70}"))}, "a"
    )
    exact = regular_superset(twice)
    assert exact is not None
    assert exact.is_exact
    assert exact.dfa.equivalent(Dfa.from_regex("a{70},a{70}"))


def shortest_of(dfa: Dfa, count: int) -> list[bytes]:
    """Some texts of an automaton, the shortest first, over few letters."""
    found, waiting = list[bytes](), [(b"", 0)]
    for text, state in waiting:
        if dfa.accepting[state]:
            found.append(text)
        if len(found) == count or len(waiting) > 5_000:
            break
        waiting += [(text + bytes([byte]), dfa.step(state, byte)) for byte in LETTERS if dfa.step(state, byte) >= 0]
    return found


SCHEMAS = (
    '{"type": "array", "items": {"enum": ["a", "ab", "b"]}, "uniqueItems": true}',
    "name, tags str[], items[] {n int}",
    '{"$ref": "#/$defs/t", "$defs": {"t": {"type": "object", "additionalProperties": {"$ref": "#/$defs/t"}}}}',
)


@pytest.mark.parametrize("schema", SCHEMAS)
def test_each_text_leads_where_it_leads_alone(schema: str) -> None:
    source = JsonSchema(schema)
    reader, rng, shortest = NetworkReader(source.network), random.Random(0), source.shortest()
    for cut in (0, len(shortest) // 2, len(shortest)):
        position = reader.read(reader.start, shortest[:cut])
        assert position is not None
        read, refused = ReadByBytes(reader, position), 0
        for _ in range(300):
            data = bytes(rng.choice(b'{}[]":, ab0') for _ in range(rng.randint(0, 5)))
            data = data if rng.random() < 0.5 else shortest[cut:][: rng.randint(0, 30)] + data
            number, alone = read.after(data), reader.read(position, data)
            refused += alone is None
            assert (None if number == REFUSED else read.positions[number]) == alone
        assert 0 < refused < 300 or cut == len(shortest)
