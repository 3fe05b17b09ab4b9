"""Token masks made by the shapes of tokens against brute force, and on published vocabularies against a plain walk."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.models.vocabularies import loaded
from tests.support.patterns.automata import allowed, token_distances
from tests.support.patterns.random_patterns import RandomPattern

from sfgen import Dfa, Index, Vocabulary
from sfgen.errors import SfgenError
from sfgen.index import mask_store, tokens_of_row
from sfgen.index.masks import shapes as masks_by_shapes
from sfgen.index.masks.mask_of_state import make_mask, walking_table
from sfgen.vocabulary import shapes

CHARACTERS = "aabexyzABEZ0179 .\"\\-\n'éßñжяאกあア日語한€’😀"
LOOKS = ["(?!b)", "(?=a|b)", "(?!E)", r"\b", "(?<!a)"]
ATOMS = [
    ".", "[a-z]", "[b-z]", "[^aeiou]", "[A-Za-z]", "[0-9]", "[1-9]", r"\w", "(?u:\\w)", r"[^\"\\]", "(?s:.)", "[^\\n]",
    "[а-я]", "[à-ÿ]", "[\u3040-\u9fff]", "[^\u4e00-\u9fff]", "[^a\u65e5]", "(?i:[a-e])", "[^x]", "a", "b", " ", "E",
    "é", "日", "😀", "[^A-Z]", "[\\u0000-\\U0010ffff]", *LOOKS,
]  # fmt: skip
COUNTS = ["", "", "*", "+", "?", "{0,3}", "{1,7}", "{2}"]
STRETCHES = [
    ".*", ".+", r"[\s\S]+", "[^a]+", "[^b]*", "[^日]*", "(?:(?!ab).)*", "(?:(?!E1).)*", ".{0,3}", "(?:(?!\n).){2,9}",
    r"\w+", r"[^\W_]+", "", "[a-y]*", r"(?u:\w)*", "[^é]+", r"[^.\n]*", r"[^0]*",
]  # fmt: skip
TEXTS = st.text(st.sampled_from(CHARACTERS), min_size=1, max_size=6).map(str.encode)


@st.composite
def patterns(draw: st.DrawFn) -> str:
    """Repeats of sets of characters, alone and in groups; some that look around."""
    pieces = draw(st.lists(st.sampled_from(ATOMS), min_size=1, max_size=4))
    counted = "".join(piece if piece in LOOKS else piece + draw(st.sampled_from(COUNTS)) for piece in pieces)
    if draw(st.booleans()):
        counted = f"(?:{counted}){draw(st.sampled_from(COUNTS))}"
    return counted + draw(st.sampled_from(["", "END", '[."]', "|true|false"]))


@st.composite
def singled_out(draw: st.DrawFn) -> str:
    """Some characters between long stretches of nearly any, which may tell them apart, too."""
    stretches = st.sampled_from(STRETCHES)
    pieces = [draw(stretches)]
    for _ in range(draw(st.integers(1, 3))):
        pieces += [
            draw(st.sampled_from(["a", "e", "ab", "E", "(?:ab|xy)", "[aeiou]{2}", "é", "日", "[éж]", "(?i:ab)", "7"]))
        ]
        pieces += [draw(stretches)]
    return "".join(pieces)


@st.composite
def vocabularies(draw: st.DrawFn) -> Vocabulary:
    """Texts of all kinds of characters, halves of them, and single bytes, all or only some."""
    tokens: list[bytes | None] = list(draw(st.lists(TEXTS, min_size=1, max_size=40)))
    tokens += [
        data[begin:end] or None for data in tokens[:9] if data for begin, end in ((1, None), (None, -1), (1, -1))
    ]
    tokens += draw(st.lists(st.binary(min_size=1, max_size=2) | st.none(), max_size=5))
    singles = [bytes([byte]) for byte in range(256)]
    missing = draw(st.sampled_from([b"", b"a", b".", b"\xa9\xe6", b"END", bytes(range(128, 256)), bytes(range(256))]))
    tokens += [single for single in singles if single not in missing]
    tokens += [b"ab", b"E"]  # some twice
    tokens = draw(st.permutations([*tokens, None]))
    return Vocabulary(tokens, end_token_ids=draw(st.sets(st.integers(0, len(tokens) - 1), min_size=1, max_size=2)))


@contextmanager
def by_shapes(budget: int, dense: int) -> Iterator[None]:
    """Every state made by the shapes of tokens, with so many nodes of the token trie walked beside."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mask_store, "QUICK", 0)
        patch.setattr(masks_by_shapes, "CORRECTED", budget)
        patch.setattr(shapes, "DENSE", dense)
        yield


@given(
    pattern=patterns()
    | singled_out()
    | st.integers(0, 10**9).map(lambda seed: RandomPattern(random.Random(seed)).text),
    vocabulary=vocabularies(),
    budget=st.sampled_from([10**6, 10**6, 40, 0]),
    dense=st.sampled_from([8, 1, 10**6]),
    data=st.data(),
)
def test_rows_equal_brute_force(
    pattern: str, vocabulary: Vocabulary, budget: int, dense: int, data: st.DataObject
) -> None:
    try:
        dfa = Dfa.from_regex(pattern)
    except SfgenError:
        return
    if not dfa.accepting.any() or len(dfa) > 60 or token_distances(dfa, vocabulary)[0] is None:
        return
    expected = allowed(dfa, vocabulary)
    with by_shapes(budget, dense):
        index = Index(dfa, vocabulary)
        for state in data.draw(st.permutations(range(len(dfa))), label="order"):
            row = index.row(state)
            assert set(tokens_of_row(row).tolist()) == expected[state]
            assert index.allowed_count(state) == len(expected[state])
        # Equal rows are one object, for which their digests must be equal.
        assert len({id(row) for row in index.masks}) == len({frozenset(tokens) for tokens in expected})
        left = data.draw(st.integers(0, 4), label="tokens left")
        for state, tokens in enumerate(allowed(dfa, vocabulary, left)):
            assert set(tokens_of_row(index.bounded_row(state, left)).tolist()) == tokens


CLOSE_LIMIT = [r"[^\n]{1,200}\.", r"(?:(?!END).){0,50}END", r"[^aeiou]{1,20}", r"(?u)[\w ]{1,3}\.", r"[а-яё ]{1,60}"]
WIDE = [
    *CLOSE_LIMIT, r".*", r".{0,2000}", r'"([^"\\\x00-\x1f]|\\["\\/bfnrt]){0,40}"', r"[A-Za-z_][A-Za-z0-9_]{0,63}",
    r'"([^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*"', r"https?://(www\.)?[a-z]{2,20}\.(com|ai|org)",
    r"[^“”]{3,9}", r"([a-z]{1,12} ){1,5}[a-z]{1,12}\.", r"[^\n日é]{1,30}",
    # A common letter is singled out.
    ".+a.+", ".*e.*", r"[\s\S]+the[\s\S]+", "[^a]+a.+", "(?i).*error.*", ".*[aeiou]{2}.*", r"[^\W_]+e[^\W_]+",
    ".*é.*日.*", "[^e]*", "[^aeiou]+x", "(?:(?!END).)*END", r"(?:(?!the\b).)*a[^b]*", "[^a]+a[^b]+b[^c]+",
    r"[^.]+e[^,]+\.",
]  # fmt: skip


@pytest.mark.parametrize("name", ["gpt2", "llama3", "gemma2"])
def test_rows_equal_a_plain_walk(name: str, real_tokenizer_directory: Callable[[str], Path]) -> None:
    _, vocabulary = loaded(real_tokenizer_directory(name))
    trie = vocabulary.trie
    chance = random.Random(name)
    for pattern in WIDE:
        dfa = Dfa.from_regex(pattern)
        index = Index(dfa, vocabulary)
        live = None if index.steps_byte_by_byte else index.distance != np.iinfo(np.int32).max
        table = walking_table(dfa.transitions, live).reshape(-1)
        ends = np.array(vocabulary.end_token_ids, dtype=np.int32)
        states = [0, *chance.sample(range(len(dfa)), min(len(dfa), 25)), *range(len(dfa) - min(len(dfa), 25), len(dfa))]
        for state in states:
            plain = np.zeros((len(vocabulary) + 31) // 32, dtype=np.uint32)
            count, _ = make_mask(
                state, len(trie), plain, np.empty(trie.max_depth + 1, dtype=np.uint32), table,
                dfa.transitions.shape[1], dfa.byte_classes, dfa.accepting, ends, trie.bytes, trie.depths,
                trie.subtree_ends, trie.first_tokens, trie.repeated_tokens, trie.roots,
            )  # fmt: skip
            assert np.array_equal(index.row(state), plain), (pattern, state)
            assert index.allowed_count(state) == count == np.bitwise_count(plain).sum()
