"""What a Lark grammar tells of texts: where they fail, what is open there, and examples that reach every rule."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lark import Lark
from tests.support.grammars.lark import EXAMPLES, Example, mutants
from tests.support.running.tried import tried

from sfgen import Grammar
from sfgen.errors import GrammarError
from sfgen.grammar.lalr.lark_package import read_lark
from sfgen.grammar.lalr.stack import BOTTOM, StateStacks
from sfgen.grammar.lalr.tables import NO_STATE, ParseTables
from sfgen.printable import line_and_column
from sfgen.vocabulary import Vocabulary

every_example = pytest.mark.parametrize("example", EXAMPLES, ids=str)

_QUERY = """
start: "SELECT" columns "FROM" NAME ["WHERE" NAME "=" NUMBER]
columns: "*" | NAME ("," NAME)*
NAME: /[a-z]+/
NUMBER: /[0-9]+/
COMMENT: /--[^\\n]*/
%ignore /[ \\n]+/
%ignore COMMENT
"""


def reduced(tables: ParseTables, terminals: list[str]) -> Counter[int]:
    """The rules by which an LALR parser, written anew, reduces a string of terminals."""
    number_of = {terminal.name: number for number, terminal in enumerate(tables.terminals)}
    stack, found = [tables.start], Counter[int]()
    for name in [*terminals, "$END"]:
        while True:
            action = int(tables.actions[stack[-1], number_of[name]])
            assert action, (terminals, name)
            if action > 0:
                stack.append(action - 1)
                break
            rule = tables.rules[-1 - action]
            found[-1 - action] += 1
            del stack[len(stack) - len(rule.symbols) :]
            stack.append(int(tables.gotos[stack[-1], rule.nonterminal]))
            if name == "$END" and stack[-1] == tables.end:
                return found
    raise AssertionError("the end was shifted")


@every_example
def test_examples_reach_every_rule(example: Example) -> None:
    grammar = example.ours
    tables = read_lark(grammar.text, grammar.start, files=grammar.files).tables
    lark = Lark(grammar.text, parser="lalr", lexer="contextual", start=grammar.start)
    texts = grammar.examples(2 * len(tables.rules))
    assert len(texts) == len(set(texts))
    assert texts[0].encode() == grammar.shortest()
    assert grammar.examples(3) == texts[:3]
    found = Counter[int]()
    for text in texts:
        interactive = lark.parse_interactive(text)
        found += reduced(tables, [token.type for token in interactive.exhaust_lexer()])
    # What is never reduced by any action cannot be reached.
    reducible = {int(-1 - action) for action in tables.actions[tables.actions < 0]}
    assert set(found) == reducible


@every_example
@tried("some")
@given(st.data())
def test_where_a_text_fails(example: Example, data: st.DataObject) -> None:
    """Up to the failure the text can be completed, and no further; the verdict is lark's."""
    grammar, text = example.ours, data.draw(mutants(example))
    walk = grammar.walk(text)
    assert (walk.failure is None) == example.theirs.accepts(text)
    assert grammar.failure(text) == walk.failure
    failure = walk.failure
    if failure is None:
        assert "".join(stretch.read for stretch in walk.stretches) == text
        return
    assert "".join(stretch.read for stretch in walk.stretches) == text[: failure.position]
    assert failure.at_end == (failure.position == len(text))
    assert (failure.line, failure.column) == line_and_column(text, failure.position)
    assert failure.byte == len(text[: failure.position].encode())
    assert failure.may_end == example.theirs.accepts(text[: failure.position])
    known = {outline.name for outline in grammar.rules()}
    assert set(failure.expected) <= known
    assert set(failure.open_rules) <= known
    if not failure.may_end:
        assert failure.expected


def test_what_is_told_of_a_text() -> None:
    grammar = Grammar.from_lark(_QUERY)
    walk = grammar.walk("SELECT a,  -- one\n b FROM")
    assert [(stretch.read, stretch.open_rules, stretch.terminal) for stretch in walk.stretches] == [
        ("SELECT", ("start",), '"SELECT"'),
        (" ", ("start",), ""),
        ("a", ("start",), "NAME"),
        (",", ("start", "columns"), '","'),
        ("  -- one\n ", ("start", "columns"), ""),
        ("b", ("start", "columns"), "NAME"),
        (" ", ("start", "columns"), ""),
        ("FROM", ("start", "columns"), '"FROM"'),
    ]
    assert walk.follows == ("NAME",)
    assert walk.failure is not None
    assert (walk.failure.at_end, walk.failure.line, walk.failure.column) == (True, 2, 8)


def test_rules_and_states() -> None:
    grammar = Grammar.from_lark(_QUERY)
    rules = {outline.name: outline for outline in grammar.rules()}
    assert list(rules) == ["start", "columns", '","', '"="', '"FROM"', "NAME", "NUMBER", '"SELECT"', '"*"', '"WHERE"']
    assert (rules["start"].line, rules["columns"].line, rules["NAME"].line, rules['"="'].line) == (2, 3, 4, None)
    assert set(rules["columns"].calls) == {'"*"', "NAME", '","'}
    first = grammar.state(0)
    assert [move.name for move in first.moves] == ['"SELECT"', "start"]
    tables = read_lark(_QUERY).tables
    stacks = StateStacks(tables)
    select = next(number for number, terminal in enumerate(tables.terminals) if terminal.shown == '"SELECT"')
    target = first.moves[0].target
    assert target == stacks.states[stacks.after(BOTTOM, select)]
    assert target is not None
    assert {move.name for move in grammar.state(target).moves} == {"NAME", '"*"', "columns"}
    assert stacks.after(BOTTOM, select + 1) == NO_STATE


def test_a_guide_says_where_it_stands() -> None:
    vocabulary = Vocabulary([bytes([byte]) for byte in range(256)] + [b"SELECT a", None], [257])
    guide = Grammar.from_lark(_QUERY).guide(vocabulary)
    assert guide.describe() == "start"
    guide.advance(256)
    assert guide.describe() == "start: NAME"
    guide.advance_bytes(b" ,b")
    assert guide.describe() == "start › columns: NAME"


@pytest.mark.parametrize(
    ("text", "blanks", "says"),
    [
        ('start: start "x"', 1, "a rule never ends"),
        ("start: A B\nA: /a+/\nB: /a/", 1, "the terminals that the lexer prefers leave no text"),
        ('start: A B\nA: /a+/\nB: /a/\n%ignore " "', 0, "with at most 0 blanks in a row"),
    ],
)
def test_there_is_no_text(text: str, blanks: int, says: str) -> None:
    with pytest.raises(GrammarError, match=says) as caught:
        Grammar.from_lark(text, max_blanks=blanks)
    assert "line 1, column 1" in str(caught.value)
