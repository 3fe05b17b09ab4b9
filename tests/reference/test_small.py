"""The small pieces: words, sampling, characters that are pending, classes of characters, states of patterns."""

from __future__ import annotations

import re
from collections import Counter
from random import Random

import numpy as np
import pytest
from tests.support.patterns.random_patterns import PlainPattern
from tests.support.patterns.texts import short_texts

from sfgen import Vocabulary
from sfgen.errors import DeadEnd, PatternError, UsageError
from sfgen.reference import FSMDecoder, FsmIndex, sample_masked_tokens, sample_tokens
from sfgen.reference.guide import CharacterClasses, characters_from, split
from sfgen.reference.interegular_machine import END, PatternStates
from sfgen.reference.published import categorical
from sfgen.regex import parse
from sfgen.regex.characters import union

# ---- words -----------------------------------------------------------------------------------------------------------


def test_the_transitions_of_the_document() -> None:
    assert FSMDecoder(["hot*", "cold*", "hotel*"]).states == {
        (0, "h"): 1,
        (1, "o"): 2,
        (2, "t"): 3,
        (3, "*"): -1,
        (0, "c"): 4,
        (4, "o"): 5,
        (5, "l"): 6,
        (6, "d"): 7,
        (7, "*"): -1,
        (3, "e"): 8,
        (8, "l"): 9,
        (9, "*"): -1,
    }


def test_the_sequence_of_the_document() -> None:
    decoder = FSMDecoder(["hot*", "cold*", "hotel*"])
    states = []
    for char in "hot*":
        assert decoder.decode(char)
        states.append(decoder.current_state)
        assert decoder.is_valid() == (char == "*")
    assert states == [1, 2, 3, -1]
    assert not decoder.decode("e")


def test_random_characters_spell_one_of_the_words() -> None:
    spelled = set()
    for seed in range(40):
        random, decoder, word = Random(seed), FSMDecoder(["hot*", "cold*", "hotel*"]), ""
        while not decoder.is_valid():
            char = random.choice("*abcdefghijklmnopqrstuvwxyz")
            if decoder.decode(char):
                word += char
        spelled.add(word)
    assert spelled == {"hot*", "cold*", "hotel*"}


@pytest.mark.parametrize("word", ["hot", "", "ho*t", "hot**"])
def test_words_end_with_an_asterisk(word: str) -> None:
    with pytest.raises(UsageError, match="must end with"):
        FSMDecoder(["cold*", word])


# ---- Algorithms 1 and 2 ----------------------------------------------------------------------------------------------


def test_sampling_follows_the_probabilities() -> None:
    random = np.random.default_rng(1)
    weights = np.array([1.0, 0.0, 3.0])
    drawn = Counter(categorical(weights, random) for _ in range(4000))
    assert drawn[1] == 0
    assert abs(drawn[2] / 4000 - 0.75) < 0.03
    with pytest.raises(DeadEnd):
        categorical(np.zeros(3), random)


def test_sampling_ends_at_the_end_token_or_the_limit() -> None:
    model = lambda s: np.array([0.7, 0.3])  # noqa: E731
    lengths = Counter(len(sample_tokens(model, 5, 1, np.random.default_rng(seed))) for seed in range(300))
    assert set(lengths) == {0, 1, 2, 3, 4, 5}
    assert sample_tokens(model, 5, 1, np.random.default_rng(3)) == sample_tokens(model, 5, 1, np.random.default_rng(3))


def test_masked_samples_are_matches() -> None:
    """Algorithm 2 with the masks of Algorithms 3 and 4: the whole of the paper."""
    vocabulary = Vocabulary([b"a", b".", b".2", b"1", b"12", None], end_token_ids=[5])
    index = FsmIndex(r"([0-9]+)?\.[0-9]{1,3}", vocabulary)

    def mask(s: object) -> np.ndarray:
        guide = index.guide()
        for token in s:  # type: ignore[attr-defined]
            guide.advance(token)
        m = np.zeros(len(vocabulary))
        m[guide.allowed_tokens()] = 1
        return m

    texts = set()
    for seed in range(60):
        tokens = sample_masked_tokens(lambda s: np.full(6, 1 / 6), mask, 100, 5, np.random.default_rng(seed))
        texts.add("".join(map(vocabulary.text, tokens)))
    assert len(texts) > 20
    assert all(re.fullmatch(r"([0-9]+)?\.[0-9]{1,3}", text) for text in texts)


# ---- characters ------------------------------------------------------------------------------------------------------


def test_pending_bytes_are_the_beginnings_of_characters() -> None:
    """Every beginning of a character, with the first and the last character that begins so, by trying all."""
    spans: dict[bytes, tuple[int, int]] = {}
    for code in [*range(0xD800), *range(0xE000, 0x110000)]:
        data = chr(code).encode()
        for length in range(1, len(data)):
            spans[data[:length]] = (spans.get(data[:length], (code, 0))[0], code)
    assert len(spans) > 17_000
    for pending, span in spans.items():
        assert characters_from(pending) == span
        assert split(b"x" + pending) == ("x", pending)
    random = Random(0)
    for _ in range(20_000):
        data = bytes(random.choice([random.randrange(256), 0xC3, 0xE0, 0xED, 0xF0, 0xF4, 0x80]) for _ in range(3))
        parts = split(data)
        if parts is not None:
            assert parts[0].encode() + parts[1] == data
            assert parts[1] == b"" or parts[1] in spans
        else:
            assert not any(
                is_utf8(data[:length]) and (not data[length:] or data[length:] in spans) for length in range(4)
            )


def is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_one_of_each_class() -> None:
    random = Random(1)
    interesting = [0, 9, 96, 97, 122, 123, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF]
    for _ in range(300):
        sets = []
        for _ in range(random.randint(0, 3)):
            codes = sorted(random.choices(interesting, k=2 * random.randint(1, 2)))
            sets.append(union(zip(codes[::2], codes[1::2], strict=True)))
        low, high = sorted(random.choices(interesting, k=2))

        def members(code: int, sets: list[tuple[tuple[int, int], ...]] = sets) -> tuple[bool, ...]:
            return tuple(any(first <= code <= last for first, last in ranges) for ranges in sets)

        found = list(map(ord, CharacterClasses(sets).representatives(low, high)))
        assert all(low <= code <= high and not 0xD800 <= code <= 0xDFFF for code in found)
        tried = {code + step for code in interesting for step in (-1, 0, 1)}
        tried = {code for code in tried if low <= code <= high and not 0xD800 <= code <= 0xDFFF}
        assert {members(code) for code in tried} <= {members(code) for code in found}
        assert len({members(code) for code in found}) == len(found)


# ---- the states of a pattern -----------------------------------------------------------------------------------------


def test_the_states_of_a_pattern_read_what_re_reads() -> None:
    texts = patterns = 0
    for seed in range(200):
        drawn = PlainPattern(Random(seed))
        try:
            oracle = re.compile(drawn.text, re.ASCII)
            pattern = PatternStates(parse(drawn.text))
        except (re.error, PatternError):
            continue
        patterns += 1
        for text in [*short_texts(drawn.letters)][::3]:
            places = pattern.start
            for letter in text:
                places = pattern.after(places, letter)
            if not any("\ud800" <= character <= "\udfff" for character in text):
                assert (END in places) == (oracle.fullmatch(text) is not None), (drawn.text, text)
                texts += 1
    assert patterns > 150
    assert texts > 4_000
