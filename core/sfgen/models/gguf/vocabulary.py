"""The vocabulary of a GGUF file: the bytes that llama.cpp writes for each token.

Asking llama.cpp for 262 144 tokens one by one takes a quarter of a second. So the texts are read from the header of the
file, which for SentencePiece's BPE are nearly those that llama.cpp writes. To check them, thousands of tokens are
detokenized as one text; if that differs, llama.cpp is asked for each of these tokens. It differs if llama.cpp counts a
token as special and the file does not, and at the beginning of a text, where llama.cpp may leave out a space.
"""

from __future__ import annotations

import ctypes
import re
from typing import TYPE_CHECKING, NamedTuple

from sfgen.errors import VocabularyError
from sfgen.models.gguf.header import Header
from sfgen.models.gguf.library import library
from sfgen.models.gguf.loaded_model import BYTE_FALLBACK, BYTE_LEVEL, LoadedModel
from sfgen.printable import shown_name
from sfgen.vocabulary import Vocabulary
from sfgen.vocabulary.decoder import byte_level_bytes
from sfgen.vocabulary.trie import joined

if TYPE_CHECKING:
    from sfgen.models.gguf.loaded_model import LoadedModel

_NOT_A_BYTE = b"[UNK_BYTE_"
"""The beginning of llama.cpp's text for a character that stands for no byte; in byte-level BPE such a character is
itself."""

TOKENS = "tokenizer.ggml.tokens"
"""The name of the list of the tokens' texts in the header."""
_KINDS = "tokenizer.ggml.token_type"
_PART = 4096
"""The number of tokens that are detokenized as one text."""
_NORMAL, _USER_DEFINED, _BYTE = 1, 4, 6
"""Kinds of tokens in the file."""
_SPACE = "\u2581".encode()
_BYTE_TEXT = re.compile(rb"<0x([0-9A-F]{2})>")


def token_texts(header: Header, name: str) -> list[bytes]:
    """Read the texts of the tokens; refuse two tokens with one text."""
    # This must precede loading the file: llama.cpp would end the process.
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
    """Read the bytes of each token, and the end tokens."""
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


class Pieces(NamedTuple):
    """The bytes that llama.cpp writes for the tokens of a model in the middle of a text.

    Attributes:
        written: The bytes of each token. Special tokens and padding have none; those that are text in the file have
            their text.
        silent: The ids of those for which llama.cpp writes nothing, ascending.
    """

    written: list[bytes]
    silent: list[int]


def read_pieces(model: LoadedModel, texts: list[bytes]) -> Pieces:
    """Read what llama.cpp writes for each token."""
    expected = _expected(model, texts) if model.has_byte_tokens else []
    written: list[bytes] = []
    silent: list[int] = []
    for start in range(0, model.width, _PART):
        tokens = range(start, min(start + _PART, model.width))
        part = expected[tokens.start : tokens.stop]
        # If the whole is equal, so is each token: for a token of another kind llama.cpp leaves the text out or writes
        # another text, and never moves bytes to the next token.
        if len(part) == len(tokens) and _written_together(model, tokens, sum(map(len, part))) == b"".join(part):
            silent += [token for token, piece in zip(tokens, part, strict=True) if not piece]
        else:
            part, special = _one_by_one(model, tokens)
            silent += special
        written += part
    return Pieces(written, silent)


def _expected(model: LoadedModel, texts: list[bytes]) -> list[bytes]:
    """Compute the bytes of the tokens from the file; empty if it has no kinds of tokens."""
    if not len(texts) == model.header.length(_KINDS) == model.width:
        return []
    kinds = model.header.numbers(_KINDS)
    if not kinds:  # of another type
        return []
    for token, kind in enumerate(kinds):
        texts[token] = texts[token].replace(_SPACE, b" ") if kind == _NORMAL else _piece(texts[token], kind)
    return texts


def _piece(text: bytes, kind: int) -> bytes:
    """Return the bytes of a token that is not a normal one."""
    if kind == _BYTE and (named := _BYTE_TEXT.fullmatch(text)):
        return bytes.fromhex(named[1].decode())
    return text if kind == _USER_DEFINED else b""


def _written_together(model: LoadedModel, tokens: range, size: int) -> bytes | None:
    """Return llama.cpp's text of some tokens; ``None`` if it has another size."""
    ids, buffer = (ctypes.c_int32 * len(tokens))(*tokens), ctypes.create_string_buffer(size + 1)
    count = library().llama_detokenize(model.vocabulary, ids, len(tokens), buffer, size + 1, False, False)
    return buffer.raw[:size] if count == size else None


def _one_by_one(model: LoadedModel, tokens: range) -> tuple[list[bytes], list[int]]:
    """Read the pieces of some tokens one by one, and those that are silent."""
    write, vocabulary = library().llama_token_to_piece, model.vocabulary
    buffer = ctypes.create_string_buffer(256)
    found, silent = [], []
    for token in tokens:
        is_special = False
        size = write(vocabulary, token, buffer, len(buffer), 0, is_special)
        if size == 0:
            silent.append(token)
            is_special = model.is_text_in_file(token)  # llama.cpp has made it special: see ends_text
            if is_special:
                size = write(vocabulary, token, buffer, len(buffer), 0, is_special)
        if size < 0:
            buffer = ctypes.create_string_buffer(-size)
            size = write(vocabulary, token, buffer, len(buffer), 0, is_special)
        found.append(ctypes.string_at(buffer, size))
    return found, silent
