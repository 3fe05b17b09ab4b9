from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfgen import Dfa, Index, Sampler, TokenChosen, Vocabulary, generate, load_model, stream
from sfgen.errors import InputError, UsageError
from sfgen.models.uniform import UniformModel
from sfgen.protocols import Model

TOKENIZERS = Path(__file__).resolve().parent.parent / "data" / "tokenizers"
DRAWS = 600
CHARACTER_TOKENS = frozenset(UniformModel().vocabulary.tokens)

characters = st.characters(exclude_categories=["Cs"])
of_the_plane = st.characters(exclude_categories=["Cs"], max_codepoint=0xFFFF)


def assert_equally_drawn(counts: Counter[str] | Counter[int], kinds: int) -> None:
    """Chi-square: so large a sum has a probability below 1 in 10 000 (the cube of a normal variable, nearly)."""
    draws, degrees = counts.total(), kinds - 1
    assert len(counts) <= kinds
    expected = draws / kinds
    distance = sum((count - expected) ** 2 for count in counts.values()) + (kinds - len(counts)) * expected**2
    bound = degrees * (1 - 2 / (9 * degrees) + 3.72 * (2 / (9 * degrees)) ** 0.5) ** 3
    assert distance / expected < bound


def drawn(model: Model, index: Index, draws: int = DRAWS) -> Counter[str]:
    return Counter(generate(model, "x", index=index, sampler=Sampler(1.0, seed)).text for seed in range(draws))


@pytest.mark.parametrize("pattern", ["[a-d]", "[aäö€]", "[\\x00\\n\\x1b ]", "[а-я]", "(?u)[aé中한ﬀ�]"])
def test_every_character_of_a_class_is_equally_likely(pattern: str) -> None:
    model = load_model("uniform")
    kinds = sum(re.fullmatch(pattern, chr(code)) is not None for code in range(0x10000))
    assert_equally_drawn(drawn(model, Index(Dfa.from_regex(pattern), model.vocabulary)), kinds)


@given(st.sets(of_the_plane, min_size=1, max_size=20))
def test_a_class_allows_its_characters_and_nothing_else(members: set[str]) -> None:
    vocabulary = load_model("uniform").vocabulary
    index = Index(Dfa.from_choices(sorted(members)), vocabulary)
    assert index.allowed_tokens(0).tolist() == sorted(map(ord, members))
    assert all(index.is_final(index.next_state(0, ord(character))) for character in members)


def test_every_choice_of_the_first_character_is_equally_likely() -> None:
    model = load_model("uniform")
    counts = drawn(model, Index(Dfa.from_choices(["hot", "cold", "hotel"]), model.vocabulary))
    assert set(counts) == {"hot", "cold", "hotel"}
    assert_equally_drawn(Counter("".join(text[0] * count for text, count in counts.items())), 2)
    del counts["cold"]
    assert_equally_drawn(counts, 2)


def test_every_token_of_a_tokenizer_is_equally_likely() -> None:
    model = load_model("uniform", tokenizer=TOKENIZERS / "gpt2")
    index = Index(Dfa.from_regex("(the|then|in|and) ?[a-z]"), model.vocabulary)
    first: Counter[int] = Counter()
    for seed in range(DRAWS):
        for event in stream(model, "x", index=index, sampler=Sampler(1.0, seed)):
            if isinstance(event, TokenChosen):
                first[event.token_id] += event.position == 0
                assert event.forced or event.probability == pytest.approx(1 / event.allowed)
    first = +first
    assert set(first) == set(index.allowed_tokens(0).tolist())
    assert len(first) > 4
    assert_equally_drawn(first, len(first))


@given(st.text(characters, max_size=8))
def test_a_text_has_one_spelling_in_characters(text: str) -> None:
    model = UniformModel()
    ids, data = model.encode(text), text.encode()
    assert b"".join(model.vocabulary.tokens[token] or b"" for token in ids) == data
    if max(text, default="") <= "\uffff":
        assert ids == list(map(ord, text))
    ways = [1]  # to write the first bytes
    for end in range(1, len(data) + 1):
        ways.append(sum(ways[start] for start in range(max(0, end - 4), end) if data[start:end] in CHARACTER_TOKENS))
    assert ways[-1] == 1


def test_the_vocabulary_of_characters() -> None:
    vocabulary = UniformModel().vocabulary
    assert (len(vocabulary), vocabulary.end_token_ids) == (65537, (65536,))
    assert vocabulary is UniformModel().vocabulary  # made once
    bytes_of_surrogates = {chr(code): vocabulary.tokens[code] for code in range(0xD800, 0xE000)}
    for surrogate, token in bytes_of_surrogates.items():
        assert token is None or token.decode(errors="surrogateescape") == surrogate
    written = b"".join(filter(None, bytes_of_surrogates.values()))
    assert written == bytes([*range(0x80, 0xC0), *range(0xF0, 0xF5)])


@given(st.text(characters, min_size=1, max_size=5))
def test_any_text_can_be_written(text: str) -> None:
    model = UniformModel()
    result = generate(model, index=Index(Dfa.from_choices([text]), model.vocabulary))
    assert (result.text, result.forward_passes) == (text, 0)


def test_free_text_comes_from_the_seed() -> None:
    texts = [generate(UniformModel(), sampler=Sampler(1.0, seed), max_tokens=9).text for seed in (4, 4, 5)]
    assert texts[0] == texts[1] != texts[2]


def test_prompts_are_cut_by_longest_match() -> None:
    model = UniformModel(Vocabulary([b"a", b"ab", b"b", b"abc", b"d", b"ab", b"da"], end_token_ids=[6]))
    assert model.encode("abcdab") == [3, 4, 1]
    assert load_model("uniform").encode("aé€😀") == [0x61, 0xE9, 0x20AC, 0xDCF0, 0xDC9F, 0xDC98, 0xDC80]


def test_all_tokens_are_looked_at_for_the_longest_once() -> None:
    class Counted(dict[bytes, int]):
        looks = 0

        def __iter__(self) -> Iterator[bytes]:
            self.looks += 1
            return super().__iter__()

    ids = Counted({b"a": 0, b"ab": 1, b"b": 2})

    class Watched(Vocabulary):
        @property
        def ids(self) -> Mapping[bytes, int]:
            return ids

    model = UniformModel(Watched([b"a", b"ab", b"b"]))
    assert [model.encode("aab"), model.encode("bab")] == [[0, 1], [2, 1]]
    assert ids.looks == 1


def test_a_prompt_that_the_vocabulary_cannot_write() -> None:
    with pytest.raises(InputError, match="0x7A"):
        UniformModel(Vocabulary([b"a"])).encode("az")
    assert UniformModel(Vocabulary([None])).encode("") == []


def test_scores_are_equal_whatever_was_read() -> None:
    model = UniformModel()
    session = model.session()
    first = session.extend(model.encode("some text")).copy()
    session.rewind(2)
    assert np.array_equal(session.extend([97]), first)
    assert first.dtype == np.float32
    assert first.tolist() == [first[0]] * 65537


def test_scores_are_equal_at_every_position() -> None:
    model = UniformModel()
    session = model.session()
    found = session.extend_all(model.encode("text"))
    assert found.shape == (4, 65537)
    assert found.dtype == np.float32
    session.rewind(2)
    assert np.array_equal(found, np.tile(session.extend([97]), (4, 1)))
    assert not found.flags.writeable  # they are all one
    assert np.array_equal(session.extend_last(model.encode("text"), 2), found[:2])


def test_a_tokenizer_belongs_to_uniform_only() -> None:
    with pytest.raises(UsageError, match="uniform"):
        load_model("tiny", tokenizer="somewhere")
