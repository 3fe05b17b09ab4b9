"""The vocabulary of a GGUF file: what llama.cpp writes for each token."""

from __future__ import annotations

from sfgen.errors import VocabularyError
from sfgen.models.gguf.header import Header
from sfgen.models.gguf.loaded import BYTE_FALLBACK, BYTE_LEVEL, LoadedModel
from sfgen.models.gguf.pieces import TOKENS, read_pieces
from sfgen.printable import shown_name
from sfgen.vocabulary import Vocabulary
from sfgen.vocabulary.byte_level import byte_level_bytes
from sfgen.vocabulary.token_bytes import joined

_KINDS = {
    "gpt2": "byte-level BPE", "llama": "SentencePiece's BPE", "gemma4": "SentencePiece's BPE", "bert": "WordPiece",
    "t5": "SentencePiece's Unigram", "rwkv": "RWKV's trie", "plamo2": "PLaMo's",
}  # fmt: skip
_READ = frozenset({"gpt2", "llama", "gemma4"})
_NOT_A_BYTE = b"[UNK_BYTE_"
"""How llama.cpp begins what a character writes that stands for no byte; byte-level BPE lets it write itself."""


def check_tokenizer(kind: str, name: str) -> None:
    """Refuse a tokenizer that is missing or of an unsupported kind.

    Args:
        kind: What the file calls it.
        name: What messages call the model.

    Raises:
        VocabularyError: It is not supported.
    """
    if not kind or kind in ("none", "no_vocab"):
        raise VocabularyError(f"the file {name} has no tokenizer", hint="Use a GGUF file with the tokenizer in it.")
    if kind not in _READ:
        called = f"{_KINDS[kind]} ({kind})" if kind in _KINDS else kind
        raise VocabularyError(
            f"the tokenizer of {name} is of a kind that is not supported: {called}",
            hint="Use a model with a byte-level BPE or SentencePiece BPE tokenizer.",
        )


def token_texts(header: Header, name: str) -> list[bytes]:
    """Read the texts of the tokens, before llama.cpp loads the file: it ends the process where a token comes twice.

    Args:
        header: The header of the file.
        name: What messages call the model.

    Raises:
        VocabularyError: Two tokens are the same.
    """
    texts = read = header.texts(TOKENS)
    if b"" in read or b"\0" in joined(read):  # llama.cpp names an empty one, and reads no further than a zero
        read = [text.partition(b"\0")[0] or b"[EMPTY_%d]" % token for token, text in enumerate(read)]
    if len(set(read)) == len(read):
        return texts
    first: dict[bytes, int] = {}
    token, text = next((token, text) for token, text in enumerate(read) if first.setdefault(text, token) != token)
    raise VocabularyError(
        f"the tokenizer of {name} has the same text for the tokens {first[text]} and {token}: "
        f"{shown_name(text.decode('utf-8', 'replace'))}",
        hint="Copy or download the file again, or convert the model again.",
    )


def read_vocabulary(model: LoadedModel, texts: list[bytes], name: str) -> Vocabulary:
    """Read the bytes of each token, and the end tokens.

    Args:
        model: The model, or its tokenizer alone.
        texts: The texts of its tokens, as ``token_texts`` read them; they are used up.
        name: What messages call it.

    Raises:
        VocabularyError: The bytes of its tokens cannot be determined.
    """
    if model.tokenizer_kind not in (BYTE_FALLBACK, BYTE_LEVEL):
        raise VocabularyError(f"the tokenizer of {name} is of kind {model.tokenizer_kind}, which is not supported")
    pieces = read_pieces(model, texts)
    tokens: list[bytes | None] = [piece or None for piece in pieces.written]
    if not model.has_byte_tokens:
        for token, piece in enumerate(pieces.written):
            if _NOT_A_BYTE in piece:
                tokens[token] = byte_level_bytes(model.text(token))
    single = {token for token in tokens if token is not None and len(token) == 1}
    if model.has_byte_tokens and len(single) < 256:  # llama.cpp would end the process at such a byte
        raise VocabularyError(
            f"the tokenizer of {name} is not supported: it has no tokens for {256 - len(single)} of the 256 bytes",
            hint="Use a model with a byte-level BPE tokenizer, or one of SentencePiece with byte fallback.",
        )
    names = {token: model.text(token) for token, piece in enumerate(tokens) if piece is None}
    return Vocabulary(tokens, model.end_tokens(pieces.silent), names=names)
