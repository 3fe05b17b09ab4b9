"""Automata by whole characters: there and back again is the same, and every step of the way reads the same texts."""

import re
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.patterns.automata import arrays_of
from tests.support.patterns.random_patterns import RandomPattern
from tests.support.patterns.texts import LanguageSampler
from tests.support.running.tried import tried

from sfgen import Dfa
from sfgen.automata.by_character import ByCharacter, CharacterMap, by_bytes, by_character, distinct, paired, smallest
from sfgen.automata.determinize import Deterministic
from sfgen.errors import PatternError

CODES = st.sampled_from([0, 0x7F, 0x80, 0x7FF, 0x800, 0xFFF, 0x1000, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF])


def reads(automaton: ByCharacter, text: str) -> bool:
    state = 0
    for character in text:
        label = automaton.labels.number(ord(character))
        state = -1 if label < 0 else int(automaton.transitions[state, label])
        if state < 0:
            return False
    return bool(automaton.accepting[state])


def there_and_back(dfa: Dfa, texts: list[str]) -> None:
    seen = by_character(arrays_of(dfa), "")
    least = smallest(seen)
    assert least is not None
    for text in texts:
        assert reads(seen, text) == reads(least, text) == dfa.accepts(text)
    back = by_bytes(least, "")
    for name in Deterministic._fields:
        assert np.array_equal(getattr(back, name), getattr(dfa, name)), name
        assert getattr(back, name).dtype == getattr(dfa, name).dtype, name


@given(st.integers(0, 1 << 30))
def test_random_patterns(seed: int) -> None:
    random = Random(seed)
    pattern = RandomPattern(random)
    try:
        dfa = Dfa.from_regex(pattern.text)
    except (PatternError, re.error):
        return
    texts = ["".join(random.choices(pattern.letters, k=random.randrange(5))) for _ in range(20)]
    there_and_back(dfa, [text for text in texts if text.isprintable()] + [LanguageSampler(dfa).text(random)])


@tried("some")
@given(st.lists(st.tuples(CODES, CODES, st.sampled_from(["*", "", "{2}", "?"])), min_size=1, max_size=4), st.text())
def test_ranges_of_every_length(ranges: list[tuple[int, int, str]], text: str) -> None:
    pieces = [f"[\\U{min(low, high):08x}-\\U{max(low, high):08x}]{count}" for low, high, count in ranges]
    there_and_back(Dfa.from_regex("(" + "|".join(pieces) + ")a?" + pieces[0]), [text])


def test_nothing_is_left() -> None:
    seen = by_character(arrays_of(Dfa.from_regex("é|[a-c]+")), "")
    assert smallest(seen._replace(accepting=np.zeros_like(seen.accepting))) is None


@pytest.mark.parametrize("blocks", [2, 17408])
def test_maps_hold_what_they_are_given(blocks: int) -> None:
    random = np.random.default_rng(0)
    numbers = np.repeat(random.integers(-1, 3, size=blocks * 2), 32).astype(np.int32)
    others = np.repeat(random.integers(-1, 3, size=17408), 64).astype(np.int32)
    one, other = CharacterMap.of_numbers(numbers), CharacterMap.of_numbers(others)
    both, pairs = paired(one, other)
    doubled = one.renumbered(np.array([0, 2, 0], dtype=np.int32))
    for code in random.integers(0, len(numbers), size=500).tolist():
        assert one.number(code) == numbers[code]
        assert doubled.number(code) == (-1, 0, 2, 0)[numbers[code] + 1]
        expected = -1 if numbers[code] < 0 or others[code] < 0 else (numbers[code], others[code])
        assert (-1 if both.number(code) < 0 else tuple(pairs[both.number(code)])) == expected
    assert one.number(0x10FFFF) == (numbers[-1] if blocks == 17408 else -1)


@given(st.lists(st.tuples(*[st.integers(-1, 1)] * 3), max_size=30))
def test_distinct_rows(rows: list[tuple[int, int, int]]) -> None:
    chosen, which = distinct(np.array(rows, dtype=np.int32).reshape(-1, 3))
    assert [rows[number] for number in chosen.tolist()] == list(dict.fromkeys(rows))
    assert [rows[chosen[number]] for number in which.tolist()] == rows
