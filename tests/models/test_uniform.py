from __future__ import annotations

import pytest

from sfgen import Dfa, Index, Sampler, Vocabulary, generate, load_model
from sfgen.errors import InputError, UsageError
from sfgen.models.uniform import UniformModel


def test_every_choice_is_equally_likely() -> None:
    model = load_model("uniform")
    index = Index(Dfa.from_choices(["a", "b", "c", "d"]), model.vocabulary)
    texts = [generate(model, "x", index=index, sampler=Sampler(1.0, seed)).text for seed in range(400)]
    counts = [texts.count(choice) for choice in "abcd"]
    assert sum((count - 100) ** 2 / 100 for count in counts) < 16.27  # chi-square, 3 degrees of freedom, 0.999


def test_prompts_are_cut_by_longest_match() -> None:
    model = UniformModel(Vocabulary([b"a", b"ab", b"b", b"abc", b"d"]))
    assert model.encode("abcdab") == [3, 4, 1]
    assert load_model("uniform").encode("é") == [0xC3, 0xA9]


def test_a_prompt_that_the_vocabulary_cannot_write() -> None:
    with pytest.raises(InputError, match="0x7A"):
        UniformModel(Vocabulary([b"a"])).encode("az")


def test_a_tokenizer_belongs_to_uniform_only() -> None:
    with pytest.raises(UsageError, match="uniform"):
        load_model("tiny", tokenizer="somewhere")
