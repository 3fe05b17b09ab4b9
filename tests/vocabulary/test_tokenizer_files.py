"""A directory that is read with the package tokenizers alone comes to what transformers makes of it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.models.vocabularies import loaded

from sfgen.errors import VocabularyError
from sfgen.vocabulary import Vocabulary
from sfgen.vocabulary.hub import Located
from sfgen.vocabulary.pretrained import end_tokens_and_rows, generation_config, load_tokenizer
from sfgen.vocabulary.tokenizer_files import CLASS_OF_MODEL, read_directory

SMALL = Path(__file__).resolve().parent.parent / "data" / "tokenizers"
FAMILIES = ["gpt2", "gpt2_prefix", "llama3", "qwen", "gemma2", "llama2", "unigram"]
CLASSES = {
    "gpt2": ["GPT2Tokenizer", "GPT2TokenizerFast"],
    "llama3": ["LlamaTokenizer"],
    "qwen": ["Qwen2Tokenizer"],
    "gemma2": ["GemmaTokenizer", "GemmaTokenizerFast"],
    "llama2": ["LlamaTokenizer", "LlamaTokenizerFast"],
}
Copy = Callable[..., Path]


@pytest.fixture
def copied(tmp_path: Path) -> Copy:
    """``copied("gpt2", pad_token="<pad>")``: a copy of a small tokenizer with other settings."""

    def copy(family: str, **settings: Any) -> Path:
        directory = shutil.copytree(SMALL / family, tmp_path / "copy")
        change(directory / "tokenizer_config.json", **settings)
        return directory

    return copy


def change(file: Path, **settings: Any) -> None:
    content = json.loads(file.read_text()) if file.exists() else {}
    content |= settings
    file.write_text(json.dumps({key: value for key, value in content.items() if value is not ...}))


def by_transformers(directory: Path) -> Vocabulary:
    """The vocabulary as it is read where nothing can be told without transformers."""
    from transformers import AutoConfig

    tokenizer = load_tokenizer(directory)
    ends, rows = None, None
    if (directory / "config.json").exists():
        automatic: Any = AutoConfig
        config = automatic.from_pretrained(directory)
        located = Located(str(directory), directory, is_offline=True)
        ends, rows = end_tokens_and_rows(config, generation_config(located), tokenizer, located)
    return Vocabulary.from_tokenizer(tokenizer, end_token_ids=ends, size=rows)


def by_tokenizers(directory: Path) -> Vocabulary | None:
    read = read_directory(directory)
    if read is None:
        return None
    return Vocabulary.from_tokenizer(read.tokenizer, end_token_ids=read.end_token_ids, size=read.rows)


def agreed(directory: Path, *, is_read: bool = True, expected: Vocabulary | None = None) -> None:
    """Both agree; where it must not be read without transformers, it is not."""
    alone = by_tokenizers(directory)
    assert (alone is not None) == is_read
    expected = expected or by_transformers(directory)
    if alone is not None:
        assert alone == expected
        assert alone.names == expected.names
        assert alone.fingerprint == expected.fingerprint
    assert Vocabulary.from_pretrained(directory) == expected


@pytest.mark.parametrize("family", FAMILIES)
def test_the_families(copied: Copy, family: str) -> None:
    agreed(copied(family))


@pytest.mark.parametrize("name", ["gpt2", "llama3", "gemma2"])
def test_published_tokenizers(real_tokenizer_directory: Callable[[str], Path], name: str) -> None:
    directory = real_tokenizer_directory(name)
    agreed(directory, expected=None if (directory / "config.json").exists() else loaded(directory)[1])


def classes() -> Iterator[tuple[str, str]]:
    for family, names in CLASSES.items():
        for name in names:
            yield family, name


FLAGS: list[dict[str, Any]] = [
    {},
    {"add_bos_token": True, "add_eos_token": True},
    {"legacy": False, "add_prefix_space": False},
    {"pad_token": None},
    {"unk_token": None},
    {
        "eos_token": {
            "content": "END",
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "single_word": False,
            "__type": "AddedToken",
        }
    },
    {"additional_special_tokens": ["END"]},
    {"extra_special_tokens": {"image_token": "END"}},
    {"boi_token": "END"},
]


@pytest.mark.parametrize("flags", FLAGS, ids=str)
@pytest.mark.parametrize(
    ("family", "tokenizer_class"), [*classes(), *((f, "PreTrainedTokenizerFast") for f in FAMILIES)]
)
def test_classes_and_settings(copied: Copy, family: str, tokenizer_class: str, flags: dict[str, Any]) -> None:
    """Whatever the settings are: it is read as transformers reads it, or not at all."""
    end = json.loads((SMALL / family / "tokenizer_config.json").read_text())["eos_token"]
    settings = json.loads(json.dumps(flags).replace("END", end))
    directory = copied(family, tokenizer_class=tokenizer_class, **settings)
    alone = by_tokenizers(directory)
    if alone is not None:
        expected = by_transformers(directory)
        assert (alone, alone.names) == (expected, expected.names)
    if tokenizer_class == "PreTrainedTokenizerFast":
        assert alone is not None


@pytest.mark.parametrize(
    ("family", "tokenizer_class", "settings"),
    [
        ("gpt2", "GPT2Tokenizer", {}),
        ("gpt2", "GPT2TokenizerFast", {"unk_token": "<|endoftext|>"}),
        ("llama3", "LlamaTokenizer", {}),
        ("llama2", "LlamaTokenizer", {}),
        ("llama2", "LlamaTokenizerFast", {"add_prefix_space": None, "sp_model_kwargs": {}}),
        ("qwen", "Qwen2Tokenizer", {}),
    ],
)
def test_classes_that_build_a_tokenizer_anew_are_read(
    copied: Copy, family: str, tokenizer_class: str, settings: dict[str, Any]
) -> None:
    agreed(copied(family, tokenizer_class=tokenizer_class, **settings))


@pytest.mark.parametrize(
    ("family", "model_type", "tokenizer_class"),
    [
        ("gpt2", "gpt2", "PreTrainedTokenizerFast"),
        ("gpt2", "gpt2", "GPT2Tokenizer"),
        ("llama3", "llama", "PreTrainedTokenizerFast"),
        ("llama2", "mistral", "LlamaTokenizer"),
        ("llama2", "llama", "LlamaTokenizerFast"),
        ("qwen", "qwen2", "Qwen2Tokenizer"),
        ("qwen", "qwen3", "PreTrainedTokenizerFast"),
    ],
)
@pytest.mark.parametrize(
    ("settings", "generation"),
    [
        ({"eos_token_id": 2}, None),
        ({"eos_token_id": [2, 5]}, {"eos_token_id": None}),
        ({"eos_token_id": 2}, {"eos_token_id": [3, 7]}),
        ({"eos_token_id": None}, None),
        ({"eos_token_id": [2, 2000]}, {}),
        ({"eos_token_id": -1}, None),
    ],
    ids=str,
)
def test_a_model_beside_it(
    copied: Copy,
    family: str,
    model_type: str,
    tokenizer_class: str,
    settings: dict[str, Any],
    generation: dict[str, Any] | None,
) -> None:
    directory = copied(family, tokenizer_class=tokenizer_class)
    change(directory / "config.json", model_type=model_type, vocab_size=1100, **settings)
    if generation is not None:
        change(directory / "generation_config.json", **generation)
    agreed(directory)


def default_ends(copy: Path) -> None:
    change(copy / "config.json", model_type="gpt2", vocab_size=900)
    change(copy / "tokenizer_config.json", eos_token=...)


UNSURE: dict[str, Callable[[Path], object]] = {
    "no settings": lambda copy: (copy / "tokenizer_config.json").unlink(),
    "no class": lambda copy: change(copy / "tokenizer_config.json", tokenizer_class=...),
    "another class": lambda copy: change(copy / "tokenizer_config.json", tokenizer_class="CodeLlamaTokenizer"),
    "a token that would be added": lambda copy: change(copy / "tokenizer_config.json", pad_token="<new>"),
    "a list of tokens that are not there": lambda copy: change(
        copy / "tokenizer_config.json", added_tokens_decoder={"900": {"content": "<new>", "special": True}}
    ),
    "an old list of tokens": lambda copy: change(copy / "added_tokens.json", **{"<new>": 900}),
    "code of its own": lambda copy: change(copy / "tokenizer_config.json", auto_map={"AutoTokenizer": ["a.B", None]}),
    "another type of model": lambda copy: change(copy / "config.json", model_type="mamba", vocab_size=900),
    "a default number of rows": lambda copy: change(copy / "config.json", model_type="gpt2", eos_token_id=3),
    "default end tokens": default_ends,
    "a token of an unknown kind": lambda copy: change(copy / "tokenizer_config.json", eos_token={"content": "a"}),
    "no JSON": lambda copy: (copy / "config.json").write_text("{"),
    "no object": lambda copy: (copy / "special_tokens_map.json").write_text("[]"),
    "a damaged file": lambda copy: (copy / "tokenizer.json").write_text("{"),
    "no file": lambda copy: (copy / "tokenizer.json").unlink(),
}


def test_a_map_of_special_tokens_beside_it_counts(copied: Copy) -> None:
    directory = copied("llama3", eos_token=...)
    token = {"content": "<|eot_id|>", "lstrip": False, "rstrip": False, "normalized": False, "single_word": False}
    change(directory / "special_tokens_map.json", eos_token=token, bos_token="<|begin_of_text|>")
    agreed(directory)


@pytest.mark.parametrize("name", UNSURE)
def test_what_only_transformers_knows_is_left_to_it(copied: Copy, name: str) -> None:
    directory = copied("gpt2")
    UNSURE[name](directory)
    assert read_directory(directory) is None


def test_names_that_transformers_does_not_believe_are_left_to_it(copied: Copy) -> None:
    assert read_directory(copied("gpt2"), "deepseek-ai/deepseek-coder-6.7b") is None


@pytest.mark.parametrize("model_type", CLASS_OF_MODEL)
def test_the_classes_of_models_are_those_of_transformers(model_type: str) -> None:
    from transformers import AutoConfig
    from transformers.models.auto import tokenization_auto as known

    automatic: Any = AutoConfig
    config = automatic.for_model(model_type)
    assert config.get_text_config(decoder=True) is config
    assert "vocab_size" not in (config.attribute_map or {})
    name = known.TOKENIZER_MAPPING_NAMES.get(model_type)
    # Of a model without a wish any class is taken that the tokenizer names.
    assert CLASS_OF_MODEL[model_type] in (name, None)
    if CLASS_OF_MODEL[model_type] is None:
        assert model_type not in known.MODELS_WITH_INCORRECT_HUB_TOKENIZER_CLASS


def test_errors_are_the_same(copied: Copy) -> None:
    directory = copied("wordpiece")
    assert read_directory(directory) is not None
    with pytest.raises(VocabularyError, match="WordPiece tokenizers are not supported"):
        Vocabulary.from_pretrained(directory)
