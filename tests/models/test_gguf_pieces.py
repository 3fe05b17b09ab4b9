"""The bytes of the tokens of a GGUF file, read for many at a time, against llama.cpp asked for one after the other."""

from __future__ import annotations

import ctypes
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.models.gguf import write_gguf
from tests.support.models.random_models import random_model
from tests.support.models.vocabularies import loaded
from tests.support.real.model import FILE, needs_file
from tests.support.running.installed import needs_package
from tests.support.running.tried import tried

from sfgen.errors import VocabularyError
from sfgen.models.gguf.header import read_header
from sfgen.models.gguf.loaded_model import LoadedModel
from sfgen.models.gguf.model import gguf_vocabulary
from sfgen.models.gguf.vocabulary import read_pieces, read_vocabulary, token_texts

pytestmark = needs_package("llama_cpp")

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
BYTES = [(f"<0x{byte:02X}>", BYTE) for byte in range(256)]
TEXTS = [
    "\u2581",
    "a",
    "b c",
    "\u2581\u2581x",
    "é",
    "[UNK_BYTE_0x20]",
    "",
    "</s>",
    "<|im_end|>",
    "<|eot_id|>",
    "<0x41>",
    "y" * 300,
]
"""Of normal tokens too: names by which llama.cpp knows an end token, a byte's name, no text, a very long one."""


def tokenizer_of(file: Path) -> LoadedModel:
    return LoadedModel(read_header(file, "x"), "x", vocabulary_only=True)


def asked(model: LoadedModel, token: int, *, special: bool) -> bytes:
    """What llama.cpp writes for a token."""
    import llama_cpp

    buffer = ctypes.create_string_buffer(1000)
    size = llama_cpp.llama_token_to_piece(model.vocabulary, token, buffer, 1000, 0, special)
    assert size >= 0
    return buffer.raw[:size]


def assert_equal(model: LoadedModel) -> None:
    pieces = read_pieces(model, token_texts(model.header, "x"))
    alone = [asked(model, token, special=False) for token in range(model.width)]
    shown = [
        piece or asked(model, token, special=True) if model.is_text_in_file(token) else piece
        for token, piece in enumerate(alone)
    ]
    assert pieces.written == shown
    assert pieces.silent == [token for token, piece in enumerate(alone) if not piece]
    assert model.end_tokens(pieces.silent) == [token for token in range(model.width) if model.ends_text(token)]


def write_tokenizer(file: Path, tokens: list[tuple[str, int]], ends: dict[str, int]) -> Path:
    """Write a tokenizer of SentencePiece's kind without a model."""
    from gguf import GGUFWriter

    writer: Any = GGUFWriter(file, "llama")
    writer.add_tokenizer_model("llama")
    writer.add_token_list([text for text, _ in tokens])
    writer.add_token_types([kind for _, kind in tokens])
    writer.add_token_scores([0.0] * len(tokens))
    for name, token in ends.items():
        writer.add_uint32(f"tokenizer.ggml.{name}_token_id", token)
    writer.write_header_to_file(file)
    writer.write_kv_data_to_file()
    writer.close()
    return file


def distinct(tokens: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """The tokens with other texts than those before them: llama.cpp refuses a text that comes twice."""
    return list({text: (text, kind) for text, kind in reversed(tokens)}.values())[::-1]


@tried("some")
@given(
    tokens=st.lists(
        st.tuples(
            st.sampled_from(TEXTS) | st.text("\u2581 ab<>x\u00e9\u65e5", max_size=4),
            st.sampled_from([NORMAL, NORMAL, NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED]),
        ),
        max_size=12,
    ),
    ends=st.dictionaries(st.sampled_from(["eos", "eot", "eom", "fim_pad", "bos"]), st.integers(0, 267), max_size=3),
    prefix=st.booleans(),
)
def test_any_kinds_of_tokens(tmp_path: Path, tokens: list[tuple[str, int]], ends: dict[str, int], prefix: bool) -> None:
    own = [*BYTES, ("first", NORMAL), ("second", NORMAL)]
    every = distinct([*tokens, *own] if prefix else [*own, *tokens])
    known = {name: token for name, token in ends.items() if token < len(every)}
    assert_equal(tokenizer_of(write_tokenizer(tmp_path / "file", every, known)))


def test_more_than_are_asked_for_at_once(tmp_path: Path) -> None:
    """Thousands of tokens, and a special one among them that the file takes for text."""
    words = [(f"\u2581w{number}", NORMAL) for number in range(9000)]
    words[5000] = ("<|im_end|>", NORMAL)
    model = tokenizer_of(write_tokenizer(tmp_path / "file", [*BYTES, *words], {"eos": 300}))
    assert_equal(model)
    vocabulary = read_vocabulary(model, token_texts(model.header, "x"), "x")
    assert vocabulary.tokens[256:258] == (b" w0", b" w1")
    assert vocabulary.end_token_ids == (300, 5256)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["a", "b", "a"], "for the tokens 256 and 258: a"),
        (["a", "<0x0A>"], "for the tokens 10 and 257: <0x0A>"),
        (["a", "a\0b"], "for the tokens 256 and 257: a"),
        (["", "[EMPTY_256]"], r"for the tokens 256 and 257: \[EMPTY_256\]"),
    ],
)
def test_a_token_that_comes_twice_is_refused(tmp_path: Path, texts: list[str], message: str) -> None:
    """llama.cpp would end the process, and names a token without a text."""
    file = write_tokenizer(tmp_path / "file", [*BYTES, *((text, NORMAL) for text in texts)], {})
    with pytest.raises(VocabularyError, match=message):
        gguf_vocabulary(file)


def test_tokens_without_a_text_are_not_the_same(tmp_path: Path) -> None:
    file = write_tokenizer(tmp_path / "file", [*BYTES, ("", NORMAL), ("\0", NORMAL), ("", NORMAL)], {})
    assert len(gguf_vocabulary(file)) == 259


def test_another_number_of_kinds_is_not_read(tmp_path: Path) -> None:
    """llama.cpp reads the first ones. A damaged list may be long: as much memory is not taken."""
    from gguf import GGUFWriter

    file, tokens = tmp_path / "file", [*BYTES, ("a", NORMAL)]
    writer: Any = GGUFWriter(file, "llama")
    writer.add_tokenizer_model("llama")
    writer.add_token_list([text for text, _ in tokens])
    writer.add_token_types([kind for _, kind in tokens] + [NORMAL] * 500_000)
    writer.write_header_to_file(file)
    writer.write_kv_data_to_file()
    writer.close()
    model = tokenizer_of(file)
    tracemalloc.start()
    written = read_pieces(model, token_texts(model.header, "x")).written
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert written == [*(bytes([byte]) for byte in range(256)), b"a"]
    assert most < 1_000_000


@pytest.mark.parametrize("kind", ["llama-bpe", "llama-spm", "qwen2", "gemma2"])
def test_small_tokenizers(kind: str, gguf_pair: Callable[[str], Any]) -> None:
    assert_equal(tokenizer_of(gguf_pair(kind).file))


@pytest.mark.parametrize(("name", "split"), [("gpt2", "gpt-2"), ("llama3", "llama-bpe"), ("gemma2", "")])
def test_published_tokenizers(
    name: str, split: str, tmp_path: Path, real_tokenizer_directory: Callable[[str], Path]
) -> None:
    source = real_tokenizer_directory(name)
    tokenizer, _ = loaded(source)
    model = random_model("llama", vocab_size=len(tokenizer), hidden_size=4)
    model.save_pretrained(tmp_path)
    for file in source.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    assert_equal(tokenizer_of(write_gguf(tmp_path, tmp_path / "file", split=split)))


class TestTheRealModel:
    pytestmark = needs_file()

    def test_all_tokens(self) -> None:
        assert_equal(tokenizer_of(FILE))
