"""The distances of Lark grammars' configurations, against breadth-first search by the definition."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from lark.exceptions import GrammarError
from tests.oracles.lalr_configurations import Configuration, Configurations
from tests.support.grammars.lalr_tables import letter_lexer, random_grammars, random_lexers, tables_of
from tests.support.running.tried import some_of, tried

from sfgen.grammar.lalr.completion import LalrCompletion
from sfgen.grammar.lalr.distances import FAR, TextDistances
from sfgen.grammar.lalr.read import LalrConfiguration as ReadConfiguration
from sfgen.grammar.lalr.read import LalrReader
from sfgen.grammar.lalr.safe_labels import safety_of
from sfgen.grammar.lalr.stack import BOTTOM, StateStacks
from sfgen.grammar.lalr.tables import NO_STATE, Lexer, ParseTables

LETTERS = '\nA: "a"\nB: "b"\nC: "c"\nAB: "ab"\n'

GRAMMARS = {
    "right recursion": "start: A start | B",
    "left recursion": "start: start A | B",
    "middle recursion": "start: A start B | C",
    "empty rules": "start: x y A z\nx: | B\ny: | C x\nz:",
    "unit chains": "start: x | start A x\nx: y | x B y\ny: z\nz: C | A start B",
    "dangling else": "start: x\nx: A x | A x B x | C",
    "a shift that loses all texts": "start: x A\nx: A | A x",
    "a shift that loses some texts": "start: x A B | C\nx: A | A A | A A C",
    "a shift that leads into a dead end": "start: x A | C\nx: A | A x",
    "nothing but an endless rule": "start: A start",
    "prefixes": "start: (A | AB | B)+ C",
    "what is left is dearer than what was begun": "start: A y\ny: B | x C C C C C C C C\nx: A y",
    "lists": "start: A (start (B start)*)? C | AB",
    "two levels of lists": "start: A x (B x)* C\nx: | x C x1\nx1: A start B",
}


def check(tables: ParseTables, lexer: Lexer, length: int = 6, limit: int = 150) -> TextDistances:
    """Check the distances of all configurations behind short texts.

    A distance is 0 where the text may end, and else one more than the least of those that one byte leads to. Numbers
    that fulfil this everywhere are the distances. So that holds here, and they are searched for as well.
    """
    stacks = StateStacks(tables)
    distances = TextDistances(tables, lexer, stacks)
    configurations = Configurations(tables, lexer, stacks)
    reader = LalrReader(tables, lexer, stacks, distances)
    start = configurations.start()
    assert distances.is_empty == (start is None or distances.of(*start) == FAR)
    for configuration in configurations.reachable(length, limit):
        found = distances.of(*configuration)
        around = [distances.of(*other) for other in configurations.successors(configuration)]
        expected = 0 if configurations.may_end(configuration) else min([FAR, *[1 + each for each in around]])
        assert found == expected, configuration
        searched = configurations.distance(configuration, 4)
        assert searched == (found if found <= 4 else None), configuration
        if found < FAR:
            check_shortest(reader, configurations, configuration)
        lexer_state, node = configuration
        assert distances.of_many(np.array([lexer_state, lexer_state], dtype=np.int32), node).tolist() == [found] * 2
        check_bound(distances, stacks, configuration)
    return distances


def check_shortest(reader: LalrReader, configurations: Configurations, configuration: Configuration) -> None:
    position = (ReadConfiguration(*configuration),)
    text = LalrCompletion(reader, None).text(position)
    assert len(text) == reader.to_end.of(*configuration)
    front = {configuration}
    for byte in text:
        front = {other for current in front for other in configurations.behind_byte(current, byte)}
    assert any(map(configurations.may_end, front))


def check_bound(distances: TextDistances, stacks: StateStacks, configuration: Configuration) -> None:
    """A configuration is viable, and near enough to the end, if its parser takes a safe label."""
    lexer_state, node = configuration
    terminals = [terminal for terminal, _ in distances.labels] + [len(stacks.tables.terminals) - 1]
    is_taken = np.array([stacks.after(node, terminal) != NO_STATE for terminal in terminals])
    is_taken &= distances.cost[lexer_state] < FAR
    found = distances.of(lexer_state, node)
    safety = safety_of(distances)
    if (is_taken & safety.labels).any():
        assert found < FAR
        if safety.most_per_node is not None:
            assert found <= safety.most_per_node * (stacks.depths[node] + 1)
    if safety.labels.all():
        assert is_taken.any() == (found < FAR)


@pytest.mark.parametrize(
    ("name", "apart", "blanks"),
    some_of(product(GRAMMARS, [(), ("A", "B"), ("A", "B", "C", "AB")], [False, True]), 25),
)
def test_distances(name: str, apart: tuple[str, ...], blanks: bool) -> None:
    tables = tables_of(GRAMMARS[name] + LETTERS)
    check(tables, letter_lexer(tables, apart, blanks))


@tried("some")
@given(st.data())
def test_random_grammars_and_lexers(data: st.DataObject) -> None:
    try:
        tables = tables_of(data.draw(random_grammars()))
    except GrammarError:
        assume(False)
    check(tables, data.draw(random_lexers(tables)), limit=60)
    check(tables, letter_lexer(tables, data.draw(st.sampled_from([(), ("A",), ("A", "B")]))), limit=60)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("a shift that loses all texts", True), ("nothing but an endless rule", True), ("dangling else", False)],
)
def test_empty_languages(name: str, expected: bool) -> None:
    tables = tables_of(GRAMMARS[name] + LETTERS)
    assert TextDistances(tables, letter_lexer(tables), StateStacks(tables)).is_empty == expected


def test_another_thread_may_find_the_same_class_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the lock, and the node is known when it is free again."""
    tables = tables_of(GRAMMARS["lists"] + LETTERS)
    stacks = StateStacks(tables)
    classes = TextDistances(tables, letter_lexer(tables), stacks).classes
    node = max(stacks.after(BOTTOM, terminal) for terminal in range(len(tables.terminals)))
    assert node not in (BOTTOM, NO_STATE)

    class Taken:
        def __enter__(self) -> None:
            monkeypatch.undo()
            found.append(classes.of(node))

        def __exit__(self, *_: object) -> None:
            pass

    found: list[tuple[int, int]] = []
    monkeypatch.setattr(classes, "_lock", Taken())
    assert classes.of(node) == found[0]


def test_a_terminal_that_cannot_be_read_is_avoided() -> None:
    """A B needs a blank between them; behind A comes the longer text that needs none."""
    tables = tables_of("start: A B | A C C C" + LETTERS)
    stacks = StateStacks(tables)
    lexer = letter_lexer(tables, ("A", "B"))
    distances = TextDistances(tables, lexer, stacks)
    reader = LalrReader(tables, lexer, stacks, distances)
    assert LalrCompletion(reader, None).text(reader.start) == b"accc"
    after = stacks.after(BOTTOM, 0)
    assert stacks.after(after, 1) != NO_STATE
    context = tables.context_of[stacks.states[after]]
    assert [distances.of(int(lexer.starts[context, obligation]), after) for obligation in (0, 1)] == [1, 3]


def test_deep_stacks() -> None:
    """Ten thousand open rules of two kinds, each closed by as many letters as it has kinds."""
    tables = tables_of("start: A start B | B start C C | C" + LETTERS)
    stacks = StateStacks(tables)
    lexer = letter_lexer(tables)
    distances = TextDistances(tables, lexer, stacks)
    node = BOTTOM
    expected = 1
    for place in range(10_000):
        node = stacks.after(node, 0 if place % 3 else 1)
        expected += 1 if place % 3 else 2
    lexer_state = int(lexer.starts[tables.context_of[stacks.states[node]], 0])
    assert distances.of(lexer_state, node) == expected
    reader = LalrReader(tables, lexer, stacks, distances)
    assert len(LalrCompletion(reader, None).text((ReadConfiguration(lexer_state, node),))) == expected


def test_usable_bytes() -> None:
    tables = tables_of("start: A | B start C | C C C" + LETTERS)
    stacks = StateStacks(tables)
    lexer = letter_lexer(tables)
    start = int(lexer.starts[tables.context_of[tables.start], 0])
    for usable, expected in ((b"abc", 1), (b"bc", 3), (b"ab", 1), (b"b", FAR)):
        flags = np.zeros(256, dtype=np.bool_)
        flags[list(usable)] = True
        assert TextDistances(tables, lexer, stacks, usable=flags).of(start, BOTTOM) == expected


def test_the_smallest_bytes_come_first() -> None:
    tables = tables_of("start: C A | B C | B B" + LETTERS)
    lexer = letter_lexer(tables)
    stacks = StateStacks(tables)
    reader = LalrReader(tables, lexer, stacks, TextDistances(tables, lexer, stacks))
    assert LalrCompletion(reader, None).text(reader.start) == b"bb"
