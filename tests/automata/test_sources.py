from __future__ import annotations

import itertools
import subprocess
import sys
from typing import Any

import interegular
import pytest
from hypothesis import given
from hypothesis import strategies as st
from interegular.fsm import FSM, Alphabet, anything_else
from tests.support.running.tried import tried

from sfgen.automata import Dfa, sources
from sfgen.errors import PatternTooLarge, UsageError

# The two accented letters share their first byte; the last character is in no alphabet below.
ALPHABET = "ab\u00e9\u00ea\U0001f600"
TEXTS = ["".join(letters) for length in range(4) for letters in itertools.product(ALPHABET + "\n\u4e2d", repeat=length)]

readable = st.recursive(
    st.sampled_from(["a", "b", "[ab]", "[^a]", ".", r"\w", "\u00e9", "[a-k]", r"\.", "[^\u00e9\U0001f600]", r"\D"]),
    lambda parts: st.one_of(
        st.lists(parts, max_size=3).map("".join),
        st.lists(parts, min_size=1, max_size=3).map(lambda branches: f"({'|'.join(branches)})"),
        st.builds(lambda part, count: f"({part}){count}", parts, st.sampled_from(["*", "+", "?", "{2}", "{1,3}"])),
    ),
    max_leaves=8,
)


def assert_accepts_the_same(dfa: Dfa, machine: FSM) -> None:
    for text in TEXTS:
        assert dfa.accepts(text) == machine.accepts(text), text


def assert_same(one: Dfa, two: Dfa) -> None:
    """The very same arrays: both are in canonical form."""
    assert one.byte_classes.tolist() == two.byte_classes.tolist()
    assert one.transitions.tolist() == two.transitions.tolist()
    assert one.accepting.tolist() == two.accepting.tolist()


@tried("some")
@given(readable)
def test_machines_of_patterns(pattern: str) -> None:
    machine = interegular.parse_pattern(pattern).to_fsm()
    dfa = Dfa.from_fsm(machine)
    assert_accepts_the_same(dfa, machine)
    assert_same(dfa, Dfa.from_regex(pattern))
    assert dfa.pattern is None


@st.composite
def machines(draw: st.DrawFn) -> FSM:
    """Any machine: transitions and rows that are missing, dead states, keys without symbols, lone surrogates."""
    keys = st.integers(0, 3)
    symbols: Any = draw(st.dictionaries(st.sampled_from([*ALPHABET, "\ud800", anything_else]), keys))
    states = draw(st.lists(st.sampled_from([0, 1, 2, 7, 40]), min_size=1, unique=True))
    rows = st.dictionaries(keys, st.sampled_from(states))
    transitions = draw(st.dictionaries(st.sampled_from(states), rows))
    finals = draw(st.sets(st.sampled_from(states)))
    return FSM(Alphabet(symbols), set(states), draw(st.sampled_from(states)), finals, transitions)


@given(machines())
def test_any_machine(machine: FSM) -> None:
    assert_accepts_the_same(Dfa.from_fsm(machine), machine)


def one_of(symbols: dict[Any, Any], *keys: Any) -> FSM:
    """The machine that accepts one symbol with one of the keys."""
    return FSM(Alphabet(symbols), {0, 1}, 0, {1}, {0: dict.fromkeys(keys, 1)})


def test_anything_else_is_every_other_character() -> None:
    assert_same(Dfa.from_fsm(one_of({anything_else: 0, "a": 1}, 0)), Dfa.from_regex("[^a]"))
    assert_same(Dfa.from_fsm(one_of({anything_else: 0}, 0)), Dfa.from_regex("(?s)."))
    # A symbol with the same key, and one with a key that leads nowhere.
    assert_same(Dfa.from_fsm(one_of({"a": 0, anything_else: 0, "\u00e9": 1}, 0)), Dfa.from_regex("[^\u00e9]"))


def test_surrogates_are_never_read() -> None:
    assert_same(Dfa.from_fsm(one_of({"\ud800": 0, "a": 0}, 0)), Dfa.from_regex("a"))
    assert Dfa.from_fsm(one_of({"\udfff": 0}, 0)).is_empty
    dfa = Dfa.from_fsm(one_of({anything_else: 0, "\ud800": 1}, 0))
    assert_same(dfa, Dfa.from_regex("(?s)."))
    assert not dfa.accepts("\ud801".encode(errors="surrogatepass"))


def test_the_empty_language() -> None:
    one, two = (interegular.parse_pattern(pattern).to_fsm() for pattern in ("a+", "[ab]+"))
    no_final: Any = {"alphabet": one.alphabet, "states": {0}, "initial": 0, "finals": set()}
    for machine in (one - two, FSM(**no_final, map={0: {0: 0}}), FSM(**no_final, map={})):
        dfa = Dfa.from_fsm(machine)
        assert dfa.is_empty
        assert len(dfa) == 1
    assert_same(Dfa.from_fsm(interegular.parse_pattern("").to_fsm()), Dfa.from_regex(""))


def test_it_can_be_combined() -> None:
    dfa = Dfa.from_fsm(interegular.parse_pattern("[a-z]+").to_fsm()) - Dfa.from_choices(["if"])
    assert_same(dfa, Dfa.from_regex("[a-z]+") - Dfa.from_regex("if"))


@pytest.mark.parametrize("symbol", ["ab", "", b"a", 97, None])
def test_symbols_that_are_no_characters(symbol: object) -> None:
    with pytest.raises(UsageError, match="not a single character") as caught:
        Dfa.from_fsm(one_of({"a": 0, symbol: 1}, 0))
    assert repr(symbol) in caught.value.message


@pytest.mark.parametrize("other", ["a+", interegular.parse_pattern("a+"), None])
def test_what_is_no_machine(other: Any) -> None:
    with pytest.raises(UsageError, match=f"not {type(other).__name__}"):
        Dfa.from_fsm(other)


def test_the_size_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = interegular.parse_pattern("[ac]{7}").to_fsm()
    # For each of seven steps two edges and a state, besides the start and the end.
    assert len(machine.states) == 8
    monkeypatch.setattr(sources, "MAX_NFA_SIZE", 23)
    Dfa.from_fsm(machine)
    monkeypatch.setattr(sources, "MAX_NFA_SIZE", 22)
    with pytest.raises(PatternTooLarge, match="limit of 22 states and transitions") as caught:
        Dfa.from_fsm(machine)
    assert "8 states" in caught.value.pattern


def test_interegular_is_imported_only_when_it_is_needed() -> None:
    code = "import sys, sfgen.automata; sfgen.automata.Dfa.from_regex('a'); sys.exit('interegular' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
