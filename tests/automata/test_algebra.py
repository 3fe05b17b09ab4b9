from __future__ import annotations

import itertools
import operator
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.patterns.random_patterns import small_patterns
from tests.support.running.tried import tried

from sfgen.automata import Dfa, algebra
from sfgen.automata.algebra import Keep, all_texts, product
from sfgen.automata.determinize import MAX_WORK, Deterministic
from sfgen.automata.minimize import minimize
from sfgen.errors import PatternError, PatternTooLarge
from sfgen.index import Index
from sfgen.vocabulary import Vocabulary

# Every UTF-8 length but one; the two accented letters share their first byte. All texts of at most three characters.
ALPHABET = "ab\n\u00e9\u00ea\U0001f600"
TEXTS = ["".join(letters) for length in range(4) for letters in itertools.product(ALPHABET, repeat=length)]

patterns = small_patterns(
    "a", "b", "ab", "[ab]", "[^a]", ".", r"\w", "\u00e9", "[\u00e9-\u00ff]", r"[^\n]", "\U0001f600"
)


def texts_of(pattern: str) -> set[str]:
    oracle = re.compile(pattern, re.ASCII)
    return {text for text in TEXTS if oracle.fullmatch(text)}


def accepted(dfa: Dfa) -> set[str]:
    return {text for text in TEXTS if dfa.accepts(text)}


def assert_same(one: Dfa, two: Dfa) -> None:
    """The very same arrays: both are in canonical form."""
    assert one.byte_classes.tolist() == two.byte_classes.tolist()
    assert one.transitions.tolist() == two.transitions.tolist()
    assert one.accepting.tolist() == two.accepting.tolist()


@tried("some")
@given(patterns, patterns)
def test_the_operators_are_those_of_sets(left: str, right: str) -> None:
    a, b = Dfa.from_regex(left), Dfa.from_regex(right)
    in_a, in_b = texts_of(left), texts_of(right)
    assert accepted(a & b) == in_a & in_b
    assert accepted(a | b) == in_a | in_b
    assert accepted(a - b) == in_a - in_b
    assert accepted(~a) == set(TEXTS) - in_a
    assert accepted(a + b) == {
        text for text in TEXTS for cut in range(len(text) + 1) if text[:cut] in in_a and text[cut:] in in_b
    }


@tried("some")
@given(patterns, patterns)
def test_the_result_is_the_automaton_of_the_combined_pattern(left: str, right: str) -> None:
    a, b = Dfa.from_regex(left), Dfa.from_regex(right)
    assert_same(a | b, Dfa.from_regex(f"(?:{left})|(?:{right})"))
    assert_same(a + b, Dfa.from_regex(f"(?:{left})(?:{right})"))
    for result, look in ((a & b, "="), (a - b, "!")):
        pattern = f"(?{look}(?:{right})\\Z)(?:{left})"
        if result.is_empty:
            with pytest.raises(PatternError, match="no text at all"):
                Dfa.from_regex(pattern)
        else:
            assert_same(result, Dfa.from_regex(pattern))
    for result in (a | b, a & b, a - b, a + b, ~a):
        assert result.pattern is None


@tried("some")
@given(patterns, patterns)
def test_the_laws_of_sets(left: str, right: str) -> None:
    a, b = Dfa.from_regex(left), Dfa.from_regex(right)
    assert_same(~(a | b), ~a & ~b)
    assert_same(~(a & b), ~a | ~b)
    assert_same(~~a, a)
    assert_same(a - b, a & ~b)
    assert_same(a - ~b, a & b)
    assert_same(a | ~a, Dfa(*all_texts()))
    assert (a - a).is_empty
    assert (a & ~a).is_empty
    assert not (a | b).is_empty


@tried("some")
@given(patterns, patterns)
def test_subsets(left: str, right: str) -> None:
    a, b = Dfa.from_regex(left), Dfa.from_regex(right)
    assert a & b <= a <= a | b
    assert a | b >= b
    if a <= b:
        assert texts_of(left) <= texts_of(right)
        assert a.equivalent(a & b)
    else:
        witness = (a - b).shortest().decode()
        assert re.fullmatch(left, witness, re.ASCII)
        assert not re.fullmatch(right, witness, re.ASCII)
    assert a.issubset(b) == (a <= b) == (b >= a)


def test_the_empty_language() -> None:
    a = Dfa.from_regex("a")
    empty = a - a
    assert empty.is_empty
    assert len(empty) == 1
    assert not a.is_empty
    assert not Dfa.from_regex("").is_empty
    assert_same(empty | a, a)
    assert_same(a | empty, a)
    assert_same(~empty, Dfa(*all_texts()))
    for result in (a & empty, empty & a, empty - a, a + empty, empty + a, empty + empty, ~~empty):
        assert_same(result, empty)
    assert empty <= a
    assert empty <= empty
    assert not a <= empty
    with pytest.raises(ValueError, match="empty"):
        empty.shortest()


def byte_strings() -> Iterator[bytes]:
    """All that is short, and longer ones of bytes that begin or belong to characters, or nearly do."""
    for length in range(3):
        yield from map(bytes, itertools.product(range(256), repeat=length))
    edges = [0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC1, 0xC2, 0xE0, 0xE1, 0xED, 0xEF, 0xF0, 0xF1, 0xF4, 0xF5]
    yield from map(bytes, itertools.product(edges, repeat=3))
    generator = random.Random(0)
    for length in (4, 5, 8):
        yield from (bytes(generator.choices(edges, k=length)) for _ in range(20_000))


def is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_all_texts_are_what_decodes() -> None:
    texts = Dfa(*all_texts())
    right = {True: 0, False: 0}
    for data in byte_strings():
        assert texts.accepts(data) == is_text(data), data
        right[is_text(data)] += 1
    assert min(right.values()) > 10_000
    for code in (0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF):
        assert texts.accepts(chr(code))
    assert not texts.accepts("\ud800".encode(errors="surrogatepass"))
    assert not texts.accepts("\udfff".encode(errors="surrogatepass"))


@tried("some")
@given(patterns, st.lists(st.sampled_from([b"a", b"b", b"\xc3", b"\xa9", b"\xed\xa0", b"\x80", b"\xff", b"\xc3\xa9"])))
def test_a_complement_accepts_text_only(pattern: str, pieces: list[bytes]) -> None:
    data = b"".join(pieces)
    dfa = Dfa.from_regex(pattern)
    assert (~dfa).accepts(data) == (is_text(data) and not dfa.accepts(data))


@st.composite
def automata(draw: st.DrawFn) -> Deterministic:
    """Any automaton: unreachable and dead states, classes of bytes that are not used, words that are no text."""
    states, classes = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    targets = st.integers(-1, states - 1)
    rows = draw(st.lists(st.lists(targets, min_size=classes, max_size=classes), min_size=states, max_size=states))
    accepting = draw(st.lists(st.booleans(), min_size=states, max_size=states))
    byte_classes = np.zeros(256, dtype=np.uint8)
    byte_classes[list(b"ab\xc3\xff")] = draw(st.lists(st.integers(0, classes - 1), min_size=4, max_size=4))
    return Deterministic(np.array(rows, dtype=np.int32), byte_classes, np.array(accepting))


WORDS = [bytes(word) for length in range(5) for word in itertools.product(b"ab\xc3\xff", repeat=length)]


@tried("some")
@given(automata(), automata())
def test_products_and_concatenations_of_any_automata(left: Deterministic, right: Deterministic) -> None:
    in_left, in_right = ({word for word in WORDS if Dfa(*side).accepts(word)} for side in (left, right))

    def words(automaton: Deterministic) -> set[bytes]:
        return {word for word in WORDS if len(automaton.accepting) and Dfa(*automaton).accepts(word)}

    assert words(product(left, right, Keep.BOTH, "")) == in_left & in_right
    assert words(product(left, right, Keep.EITHER, "")) == in_left | in_right
    assert words(product(left, right, Keep.LEFT_ONLY, "")) == in_left - in_right
    assert words(algebra.complement(left, "")) == {word for word in WORDS if is_text(word)} - in_left
    assert words(algebra.concatenation(left, right, "")) == {
        word for word in WORDS for cut in range(len(word) + 1) if word[:cut] in in_left and word[cut:] in in_right
    }


def test_many_pairs_and_many_classes() -> None:
    # More pairs than a small hash table has slots, and every byte a class of its own on one side.
    one, two = Dfa.from_regex("(?:a{97})*"), Dfa.from_regex("(?:a{89})*")
    assert len(one & two) == 97 * 89
    assert (one & two).accepts("a" * 97 * 89)
    generator = random.Random(0)
    transitions = np.array([generator.choices(range(40), k=256) for _ in range(40)], dtype=np.int32)
    accepting = np.array(generator.choices([False, True], k=40))
    wide = Dfa(transitions, np.arange(256, dtype=np.uint8), accepting)
    other = Dfa(transitions[::-1], np.arange(256, dtype=np.uint8)[::-1], accepting)
    both, either, left_only = wide & other, wide | other, wide - other
    for _ in range(2000):
        word = generator.randbytes(generator.randrange(6))
        in_wide, in_other = wide.accepts(word), other.accepts(word)
        assert both.accepts(word) == (in_wide and in_other)
        assert either.accepts(word) == (in_wide or in_other)
        assert left_only.accepts(word) == (in_wide and not in_other)


def test_pairs_that_share_a_slot() -> None:
    # The slot is the fraction of the key times the golden ratio, so keys that differ by a large Fibonacci number mostly
    # have the same. Each "b" leads from a pair to the one that lies this much further; "c" asks for the first again.
    jump, steps = 832_040, 100
    states = np.arange(jump + steps + 1, dtype=np.int32)
    none = np.full_like(states, -1)
    transitions = np.stack([states + 1, np.where(states <= steps, states + jump, -1), states, none], axis=1)
    transitions[[steps, jump + steps], 0] = -1
    byte_classes = np.full(256, 3, dtype=np.uint8)
    byte_classes[list(b"abc")] = 0, 1, 2
    large = Deterministic(transitions, byte_classes, states >= jump)
    anything = Deterministic(
        np.zeros((1, 1), dtype=np.int32), np.zeros(256, dtype=np.uint8), np.ones(1, dtype=np.bool_)
    )
    for both in (product(large, anything, Keep.BOTH, ""), product(anything, large, Keep.BOTH, "")):
        assert len(both.accepting) == 2 * (steps + 1)
        assert_same(Dfa(*minimize(both)), Dfa(*minimize(large)))


def lowest_limit(monkeypatch: pytest.MonkeyPatch, limit: str, combine: Callable[[], object]) -> int:
    low, high = 0, 10_000
    while low + 1 < high:
        middle = (low + high) // 2
        with monkeypatch.context() as context:
            context.setattr(algebra, limit, middle)
            try:
                combine()
                high = middle
            except PatternTooLarge:
                low = middle
    return high


def test_the_limits_are_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    # In both, the class of the letter comes before that of all other bytes.
    a, b = Dfa.from_regex(r"\0{20}"), Dfa.from_regex(r"(?:\0\0)*")
    assert lowest_limit(monkeypatch, "MAX_DFA_STATES", lambda: a & b) == 21
    # The second alone can go on behind 20 letters. Where both are dead is no state.
    assert lowest_limit(monkeypatch, "MAX_DFA_STATES", lambda: a | b) == 23
    assert lowest_limit(monkeypatch, "MAX_DFA_STATES", lambda: a - b) == 21
    # One step for each of two classes in each of 21 states, and the start; four for each state that is looked up.
    assert lowest_limit(monkeypatch, "MAX_WORK", lambda: a & b) == 21 * 2 + 1 + 21 * 4
    # The larger of the two: 21 states and 20 transitions.
    assert lowest_limit(monkeypatch, "MAX_NFA_SIZE", lambda: b + a) == 41
    assert lowest_limit(monkeypatch, "MAX_NFA_SIZE", lambda: a + b) == 41


@pytest.mark.parametrize(
    ("left", "right", "combine", "message"),
    [
        ("(a{499})*", "(a{401})*", operator.and_, "200,000 states"),
        ("(a{499})*", "(a{401})*", operator.or_, "200,000 states"),
        ("(a|b)*a(a|b){9}", "(a|b)*a(a|b){16}", operator.add, "600,000 states"),
        (".{0,2000}", ".{0,2000}x", operator.add, f"{MAX_WORK:,} steps"),
    ],
)
def test_what_is_too_large(left: str, right: str, combine: Callable[[Dfa, Dfa], Dfa], message: str) -> None:
    with pytest.raises(PatternTooLarge, match=message) as caught:
        combine(Dfa.from_regex(left), Dfa.from_regex(right))
    assert left in caught.value.pattern
    assert right in caught.value.pattern
    assert caught.value.hint


def test_a_message_names_what_has_no_pattern_by_its_size() -> None:
    nameless = Dfa.from_regex("(a{600})*") + Dfa.from_regex("b?")
    with pytest.raises(PatternTooLarge, match=r"\(601 states\) \| \(\(a\{401\}\)\*\)"):
        nameless | Dfa.from_regex("(a{401})*")


@pytest.mark.parametrize(
    "combine",
    [operator.and_, operator.or_, operator.sub, operator.add, operator.le, operator.ge],
    ids=lambda f: f.__name__,
)
@pytest.mark.parametrize("other", ["a", None, re.compile("a"), frozenset()])
def test_other_operands_are_a_type_error(combine: Callable[[object, object], object], other: object) -> None:
    with pytest.raises(TypeError):
        combine(Dfa.from_regex("a"), other)
    with pytest.raises(TypeError):
        combine(other, Dfa.from_regex("a"))


def test_an_index_of_a_result_is_built_saved_and_loaded(tmp_path: Path) -> None:
    vocabulary = Vocabulary([b"i", b"f", b"if", b"x", None], end_token_ids=[4])
    dfa = Dfa.from_regex("[a-z]{1,2}") - Dfa.from_choices(["if"])
    index = Index(dfa, vocabulary)
    assert index.allowed_tokens(0).tolist() == [0, 1, 3]
    index.save(tmp_path / "names.index")
    loaded = Index.load(tmp_path / "names.index", vocabulary)
    assert_same(loaded.dfa, dfa)
    assert loaded.dfa.pattern is None
    assert loaded.to_dict()["pattern"] is None
    assert index.to_dict() == loaded.to_dict()
