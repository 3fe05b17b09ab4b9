"""A directory's vocabulary: what the flags of its configuration change, and what a model beside it says."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sfgen.errors import VocabularyError
from sfgen.vocabulary import Vocabulary
from sfgen.vocabulary.pretrained import load_tokenizer

SMALL = Path(__file__).resolve().parent.parent / "data" / "tokenizers"
Small = Callable[[str], Any]


@pytest.fixture
def directory(tmp_path: Path) -> Callable[..., Path]:
    """``directory("gpt2", legacy=True)``: a copy of a small tokenizer with other settings in its configuration."""

    def make(name: str, **changes: Any) -> Path:
        copy = shutil.copytree(SMALL / name, tmp_path / name)
        configuration = json.loads((copy / "tokenizer_config.json").read_text())
        (copy / "tokenizer_config.json").write_text(json.dumps(configuration | changes))
        return copy

    return make


@pytest.mark.parametrize(
    ("name", "tokenizer_class"),
    [
        ("gpt2", "PreTrainedTokenizerFast"),
        ("gpt2", "GPT2Tokenizer"),
        ("llama2", "PreTrainedTokenizerFast"),
        ("llama2", "LlamaTokenizer"),
        ("llama3", "PreTrainedTokenizerFast"),
        ("qwen", "Qwen2Tokenizer"),
        ("unigram", "PreTrainedTokenizerFast"),
    ],
)
@pytest.mark.parametrize(
    "flags",
    [
        {},
        {"clean_up_tokenization_spaces": True},
        {"legacy": True},
        {"legacy": False},
        {"add_prefix_space": False},
        {"add_prefix_space": True},
        {"add_bos_token": True, "add_eos_token": True},
    ],
    ids=str,
)
def test_flags_change_no_bytes(
    directory: Callable[..., Path], small: Small, name: str, tokenizer_class: str, flags: dict[str, Any]
) -> None:
    hf_tokenizer = load_tokenizer(directory(name, tokenizer_class=tokenizer_class, **flags))
    if name == "qwen" and flags.get("add_prefix_space"):
        # Here the flag puts a space before every word, so that no text comes back as it was.
        with pytest.raises(VocabularyError, match="like every other one that was tried"):
            Vocabulary.from_tokenizer(hf_tokenizer)
        return
    vocabulary = Vocabulary.from_tokenizer(hf_tokenizer)
    assert vocabulary.tokens == small(name).vocabulary.tokens
    backend = hf_tokenizer.backend_tokenizer
    for text in ("don't  stop , now .", " two\n\n", "naïve 日本 🙂"):
        ids = backend.encode(text, add_special_tokens=False).ids
        joined = b"".join(vocabulary.tokens[token_id] or b"" for token_id in ids).decode()
        assert joined in (text, f" {text}")
        letter = backend.token_to_id("a")
        assert backend.decode([letter, *ids, letter]) == f"a{joined}a"


def configure(copy: Path, *, generation: dict[str, Any] | None = None, **settings: Any) -> None:
    (copy / "config.json").write_text(json.dumps({"model_type": "gpt2", **settings}))
    if generation is not None:
        (copy / "generation_config.json").write_text(json.dumps(generation))


def test_a_tokenizer_alone_has_its_own_end_token_and_size(directory: Callable[..., Path], small: Small) -> None:
    assert Vocabulary.from_pretrained(directory("llama3")) == small("llama3").vocabulary


def test_a_loaded_tokenizer_is_taken_as_it_is(directory: Callable[..., Path], small: Small) -> None:
    loaded, vocabulary = load_tokenizer(directory("llama3")), small("llama3").vocabulary
    assert Vocabulary.from_pretrained(loaded) == vocabulary
    bare = Vocabulary.from_pretrained(loaded.backend_tokenizer)
    assert (bare.tokens, bare.end_token_ids) == (vocabulary.tokens, ())
    with pytest.raises(VocabularyError, match="name_or_path must be a name or a path"):
        Vocabulary.from_pretrained(3)


def test_the_end_tokens_and_rows_of_the_model_beside_it_count(directory: Callable[..., Path], small: Small) -> None:
    copy, plain = directory("llama3"), small("llama3").vocabulary
    ends = [small("llama3").id_of(name) for name in ("<|end_of_text|>", "<|eot_id|>")]
    configure(copy, vocab_size=900, eos_token_id=ends[0], generation={"eos_token_id": ends[::-1]})
    vocabulary = Vocabulary.from_pretrained(copy)
    assert (vocabulary.end_token_ids, len(vocabulary)) == (tuple(ends), 900)
    assert vocabulary.tokens[: len(plain)] == plain.tokens
    assert set(vocabulary.tokens[len(plain) :]) == {None}


@pytest.mark.parametrize(
    ("settings", "generation", "ends"),
    [
        ({}, None, (801,)),  # the default of the class, 50256, counts for nothing
        ({"eos_token_id": 5}, None, (5, 801)),
        ({"eos_token_id": [5, 7]}, {}, (5, 7, 801)),
        ({"eos_token_id": 5}, {"eos_token_id": 6}, (5, 6, 801)),
        ({"eos_token_id": 801}, {"eos_token_id": [6, 801]}, (6, 801)),
        ({"eos_token_id": None}, {"eos_token_id": None}, (801,)),
        ({"eos_token_id": -1}, {"eos_token_id": []}, (801,)),
        ({"eos_token_id": None}, {"eos_token_id": [5, 2000]}, (5, 801)),  # there is no such row
    ],
    ids=str,
)
def test_whose_end_tokens_count(
    directory: Callable[..., Path], settings: dict[str, Any], generation: dict[str, Any] | None, ends: tuple[int, ...]
) -> None:
    copy = directory("llama3")
    configure(copy, vocab_size=805, generation=generation, **settings)
    assert Vocabulary.from_pretrained(copy).end_token_ids == ends


@pytest.mark.parametrize("content", ["{}", '{"model_type": "novel"}', '{"model_type": "novel", "vocab_size": 3}'])
def test_a_configuration_that_says_nothing_leaves_the_tokenizer_alone(
    directory: Callable[..., Path], small: Small, content: str
) -> None:
    copy = directory("gpt2", tokenizer_class="PreTrainedTokenizerFast")
    (copy / "config.json").write_text(content)
    assert Vocabulary.from_pretrained(copy) == small("gpt2").vocabulary
