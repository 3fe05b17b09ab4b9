"""What a grammar tells of texts in its own words: where one fails, what was expected, open rules, examples."""

from __future__ import annotations

from itertools import pairwise, product
from pathlib import Path

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st
from tests.oracles.recogniser import Recogniser
from tests.support.grammars.gbnf import ALPHABET, Written, gbnf_texts
from tests.support.running.tried import tried

from sfgen import Grammar, SfgenError, Vocabulary
from sfgen.errors import UsageError
from sfgen.grammar.language.as_written import AsWritten
from sfgen.grammar.language.gbnf import Gbnf, read_gbnf
from sfgen.grammar.language.grammar import rule_graph
from sfgen.grammar.language.language import Failure
from sfgen.grammar.network.network import network_as_written, network_of
from sfgen.grammar.network.rules import Bytes, Leaf, Literal

DATA = Path(__file__).resolve().parents[2] / "data" / "gbnf"
NAMES = sorted(path.stem for path in DATA.glob("*.gbnf"))
SHORT_TEXTS = ["".join(letters) for length in range(4) for letters in product(ALPHABET, repeat=length)]
BYTES = Vocabulary([bytes([byte]) for byte in range(256)] + [None], end_token_ids=[256])

SELECT = r"""root ::= select ";"
select ::= "SELECT " name (", " name)* where?
where ::= " WHERE " value
value ::= name | number | "(" value ")"
name ::= [a-z]+
number ::= [0-9]+
"""


def example(name: str) -> str:
    return (DATA / f"{name}.gbnf").read_text(encoding="utf-8")


def readable(text: str) -> tuple[Grammar, Recogniser]:
    """A grammar, and a recogniser of the same rules that has no network; what either refuses is not looked at."""
    try:
        return Grammar.from_gbnf(text), Recogniser(read_gbnf(text).grammar)
    except SfgenError:
        assume(False)
        raise


# ---- where a text fails --------------------------------------------------------------------------------------------


@given(gbnf_texts(), st.sampled_from(SHORT_TEXTS))
def test_a_text_fails_where_no_text_goes_on(written: Written, text: str) -> None:
    grammar, recogniser = readable(written.text)
    failure = grammar.failure(text)
    read = next(size for size in range(len(text), -1, -1) if recogniser.read(recogniser.start, text[:size].encode()))
    event("failed" if failure else "accepted")
    assert (failure is None) is recogniser.accepts(text)
    if failure is None:
        return
    before = text[:read]
    assert (failure.position, failure.byte) == (read, len(before.encode()))
    assert (failure.line, failure.column) == (before.count("\n") + 1, len(before) - before.rfind("\n"))
    assert failure.at_end is (read == len(text))
    assert failure.may_end is recogniser.accepts(before)
    _check_expected(read_gbnf(written.text), recogniser, before, failure)


def _check_expected(source: Gbnf, recogniser: Recogniser, before: str, failure: Failure) -> None:
    """Each terminal that is expected can go on there, and whatever goes on is one of them."""
    position = recogniser.read(recogniser.start, before.encode())
    assert position is not None
    following = [byte for byte in range(256) if recogniser.step(position, byte) is not None]
    assert bool(failure.expected) is bool(following)
    terminals = {name: expression for expression, (name, _) in source.terminals.items()}
    if not set(failure.expected) <= set(terminals):
        event("rules are expected")
        return
    begun = set[int]()
    for name in failure.expected:
        match terminals[name]:
            case Literal(data):
                rests = [data[start:] for start in range(len(data)) if recogniser.read(position, data[start:])]
                assert rests, name
                begun.update(rest[0] for rest in rests)
            case Bytes(ranges):
                letters = {byte for low, high in ranges for byte in range(low, high + 1)}
                assert letters & set(following), name
                begun |= letters
            case Leaf(dfa):
                assert recogniser.read(position, dfa.shortest()) is not None, name
                begun.update(byte for byte in range(256) if dfa.walk(bytes([byte])) is not None)
    assert set(following) <= begun


@given(gbnf_texts(), st.sampled_from(SHORT_TEXTS))
def test_the_rules_of_a_walk_call_each_other(written: Written, text: str) -> None:
    grammar, _ = readable(written.text)
    rules = {rule.name: rule for rule in grammar.rules()}
    walk, failure = grammar.walk(text), grammar.failure(text)
    assert walk.failure == failure
    assert (
        "".join(stretch.read for stretch in walk.stretches)
        == text[: len(text) if failure is None else failure.position]
    )
    if not any(rule.kind == "terminal" for rule in rules.values()):
        event("only the network with copies")
        return
    for stretch in walk.stretches:
        assert stretch.open_rules[0] == grammar.start
        for caller, called in pairwise([*stretch.open_rules, stretch.terminal]):
            assert called in rules[caller].calls


@pytest.mark.parametrize(
    ("text", "place", "expected", "rules", "at_end"),
    [
        ("", (1, 1), ('"SELECT "',), ("root",), True),
        ("SELEKT a", (1, 5), ('"SELECT "',), ("root", "select"), False),
        ("SELECT 1", (1, 8), ("[a-z]",), ("root", "select"), False),
        ("SELECT a WHERE ;", (1, 16), ("[a-z]", "[0-9]", '"("'), ("root", "select", "where"), False),
        ("SELECT a WHERE (1;", (1, 18), ("[0-9]", '")"'), ("root", "select", "where", "value", "number"), False),
        ("SELECT a", (1, 9), ("[a-z]", '", "', '" WHERE "', '";"'), ("root", "select", "name"), True),
        ("SELECT a;\n", (1, 10), (), ("root",), False),
    ],
)
def test_what_was_expected(
    text: str, place: tuple[int, int], expected: tuple[str, ...], rules: tuple[str, ...], at_end: bool
) -> None:
    failure = Grammar.from_gbnf(SELECT).failure(text)
    assert failure is not None
    assert (failure.line, failure.column) == place
    assert failure.expected == expected
    assert failure.open_rules == rules
    assert failure.at_end is at_end


def test_lines_are_counted_from_one() -> None:
    failure = Grammar.from_gbnf('root ::= ("é" "\\n")*').failure("é\né\nx")
    assert failure is not None
    assert (failure.position, failure.byte, failure.line, failure.column) == (4, 6, 3, 1)


def test_where_many_terminals_may_stand_their_rules_are_told() -> None:
    branches = " | ".join(f'"{letter}"' for letter in "abcdefghijkl")
    failure = Grammar.from_gbnf(f'root ::= "(" letter ")"\nletter ::= {branches}').failure("(!")
    assert failure is not None
    assert failure.expected == ("letter",)


def test_a_long_text_is_read_to_its_end() -> None:
    grammar = Grammar.from_gbnf(example("json"))
    failure = grammar.failure("[" * 5_000 + "1," * 5_000 + "}")
    assert failure is not None
    assert failure.position == 15_000
    assert failure.open_rules[0] == "root"


def test_rules_that_stand_for_each_other_are_told_as_they_are_written() -> None:
    grammar = Grammar.from_gbnf('root ::= b | "y"\nb ::= root | "z"')
    assert grammar.accepts("z")
    failure = grammar.failure("x")
    assert failure is not None
    assert failure.expected == ('"y"', '"z"')
    assert [(rule.name, rule.calls) for rule in grammar.rules()][:2] == [("root", ("b", '"y"')), ("b", ("root", '"z"'))]


# ---- what a guide says ---------------------------------------------------------------------------------------------


def test_the_rules_that_are_open() -> None:
    guide = Grammar.from_gbnf(SELECT).guide(BYTES)
    said = [guide.describe()]
    for piece in (b"SEL", b"ECT a", b" WH", b"ERE ((", b"1", b"))", b";"):
        guide.advance_bytes(piece)
        said.append(guide.describe())
    assert said == [
        "root",
        'root › select: "SELECT "',
        "root › select › name",
        'root › select › where: " WHERE "',
        "root › select › where › value",
        "root › select › where › value › number",
        "root",
        "root",
    ]


@tried("some")
@given(st.lists(st.one_of(st.integers(0, 255), st.just(-1), st.just(-2)), max_size=40))
def test_a_guide_says_the_same_wherever_it_came_from(steps: list[int]) -> None:
    grammar = Grammar.from_gbnf(SELECT)
    guide, data = grammar.guide(BYTES), list[int]()
    for step in steps:
        if step == -1 and data:
            guide.rollback(1)
            data.pop()
        elif step == -2:
            guide = guide.fork()
        elif step >= 0:
            allowed = [token for token in guide.allowed_tokens().tolist() if token < 256]
            if allowed:
                data.append(allowed[step % len(allowed)])
                guide.advance(data[-1])
        fresh = grammar.guide(BYTES)
        fresh.advance_bytes(bytes(data))
        assert guide.describe() == fresh.describe()


# ---- outlines, states and examples ---------------------------------------------------------------------------------


def test_the_outline() -> None:
    rules = Grammar.from_gbnf(SELECT).rules()
    assert [(rule.name, rule.line, rule.kind) for rule in rules[:6]] == [
        (name, line, "rule") for line, name in enumerate(["root", "select", "where", "value", "name", "number"], 1)
    ]
    assert rules[1].calls == ('"SELECT "', "name", '", "', "where")
    assert [(rule.name, rule.line) for rule in rules if rule.kind == "terminal"] == [
        ('";"', 1), ('"SELECT "', 2), ('", "', 2), ('" WHERE "', 3), ('"("', 4), ('")"', 4), ("[a-z]", 5), ("[0-9]", 6)
    ]  # fmt: skip
    grammar = Grammar.from_gbnf(SELECT)
    assert sum(rule.states for rule in rules) == grammar.states()
    (unused,) = [rule for rule in Grammar.from_gbnf(SELECT + 'other ::= "x"').rules() if rule.name == "other"]
    assert unused.states == 0


@pytest.mark.parametrize("name", NAMES)
def test_states_lead_to_each_other(name: str) -> None:
    grammar = Grammar.from_gbnf(example(name))
    rules = {rule.name for rule in grammar.rules()}
    reached, waiting = {0}, [0]
    while waiting:
        state = grammar.state(waiting.pop())
        assert set(state.rules) <= rules
        assert state.moves or state.may_end
        targets = {move.target for move in state.moves if move.target is not None} - reached
        reached |= targets
        waiting += targets
    assert len(reached) <= grammar.states()
    with pytest.raises(UsageError, match="there is no state"):
        grammar.state(grammar.states())


def test_a_walk_tells_the_way_that_the_text_has_gone_in_the_end() -> None:
    grammar = Grammar.from_gbnf('root ::= less | most\nless ::= "<=" "a"\nmost ::= "<" "b" | "<" less')
    for text, rules, terminal in [
        ("<=a", ("root", "less"), '"<="'),
        ("<b", ("root", "most"), '"<"'),
        ("<<=a", ("root", "most"), '"<"'),
    ]:
        first = grammar.walk(text).stretches[0]
        assert (first.open_rules, first.terminal) == (rules, terminal)


@pytest.mark.parametrize("name", NAMES)
def test_examples_reach_every_rule(name: str) -> None:
    grammar = Grammar.from_gbnf(example(name))
    rules = [rule for rule in grammar.rules() if rule.states]
    texts = grammar.examples(len(rules))
    assert all(grammar.accepts(text) for text in texts)
    assert len(set(texts)) == len(texts)
    assert texts[0].encode() == grammar.shortest()
    assert grammar.examples(3) == texts[:3]
    reached = set[str]()
    for text in texts:
        for stretch in grammar.walk(text).stretches:
            reached |= {*stretch.open_rules, stretch.terminal}
    assert {rule.name for rule in rules} <= reached


@pytest.mark.parametrize("name", NAMES)
def test_the_network_as_written_reads_the_same_texts(name: str) -> None:
    source = read_gbnf(example(name))
    written = AsWritten.of(source, network_of(source.grammar))
    assert len(written.network.names) > len(network_of(source.grammar).names)
    assert network_as_written(source.grammar).names[0] == source.grammar.start
    grammar = Grammar.from_gbnf(source.text)
    for text in grammar.examples(20):
        assert written.failure(text) is None
        for cut in range(len(text)):
            assert (written.failure(text[:cut]) is None) is grammar.accepts(text[:cut])


def test_a_graph_of_the_rules() -> None:
    graph = rule_graph(Grammar.from_gbnf(SELECT), "a query")
    assert graph.labels == ("root", "select", "name", "where", "value", "number")
    names = graph.labels
    assert {(names[edge.source], names[edge.target]) for edge in graph.edges} == {
        ("root", "select"), ("select", "name"), ("select", "where"), ("where", "value"),
        ("value", "name"), ("value", "number"), ("value", "value"),
    }  # fmt: skip
    cut = rule_graph(Grammar.from_gbnf(SELECT), "a query", max_rules=2)
    assert (cut.labels, cut.states_left_out, cut.continuing) == (("root", "select"), 4, (1,))
