"""What llama.cpp writes for each token, asked for many tokens at a time.

To ask for one token after the other takes a quarter of a second where there are 262 144. So the header of the file is
read: with SentencePiece's BPE it has the text of each token nearly as it is written. Whether it is what llama.cpp
writes, a text of thousands of tokens tells; where that is another one, each of these tokens is asked for. That is so
where llama.cpp takes a token for a special one, which the file does not, and at the beginning of a text, where it may
leave out a space.
"""

from __future__ import annotations

import ctypes
import re
from typing import TYPE_CHECKING, NamedTuple

from sfgen.models.gguf.library import library

if TYPE_CHECKING:
    from sfgen.models.gguf.loaded import LoadedModel

TOKENS = "tokenizer.ggml.tokens"
"""The name of the list of the tokens' texts in the header."""
_KINDS = "tokenizer.ggml.token_type"
_PART = 4096
"""The tokens of one text."""
_NORMAL, _USER_DEFINED, _BYTE = 1, 4, 6
"""Kinds of tokens in the file."""
_SPACE = "\u2581".encode()
_BYTE_TEXT = re.compile(rb"<0x([0-9A-F]{2})>")


class Pieces(NamedTuple):
    """What llama.cpp writes for the tokens of a model in the middle of a text.

    Attributes:
        written: The bytes of each token. Special tokens and padding have none; those that are text in the file have
            their text.
        silent: The ids of those for which llama.cpp writes nothing, ascending.
    """

    written: list[bytes]
    silent: list[int]


def read_pieces(model: LoadedModel, texts: list[bytes]) -> Pieces:
    """Read what llama.cpp writes for each token.

    Args:
        model: The model, or its tokenizer alone.
        texts: The texts of its tokens, which are replaced in place: they take much memory.
    """
    expected = _expected(model, texts) if model.has_byte_tokens else []
    written: list[bytes] = []
    silent: list[int] = []
    for start in range(0, model.width, _PART):
        tokens = range(start, min(start + _PART, model.width))
        part = expected[tokens.start : tokens.stop]
        # Equal as a whole they are equal one by one: where llama.cpp takes a token for another kind, it leaves its text
        # out or writes it otherwise, and never moves bytes to the next one.
        if len(part) == len(tokens) and _written_together(model, tokens, sum(map(len, part))) == b"".join(part):
            silent += [token for token, piece in zip(tokens, part, strict=True) if not piece]
        else:
            part, special = _one_by_one(model, tokens)
            silent += special
        written += part
    return Pieces(written, silent)


def _expected(model: LoadedModel, texts: list[bytes]) -> list[bytes]:
    """The bytes of the tokens by the file; an empty list where it does not tell."""
    if not len(texts) == model.header.length(_KINDS) == model.width:
        return []
    kinds = model.header.numbers(_KINDS)
    if not kinds:  # of another type
        return []
    for token, kind in enumerate(kinds):
        texts[token] = texts[token].replace(_SPACE, b" ") if kind == _NORMAL else _piece(texts[token], kind)
    return texts


def _piece(text: bytes, kind: int) -> bytes:
    """What a token writes that is not a normal one."""
    if kind == _BYTE and (named := _BYTE_TEXT.fullmatch(text)):
        return bytes.fromhex(named[1].decode())
    return text if kind == _USER_DEFINED else b""


def _written_together(model: LoadedModel, tokens: range, size: int) -> bytes | None:
    """The text of some tokens; ``None`` if it has another size."""
    ids, buffer = (ctypes.c_int32 * len(tokens))(*tokens), ctypes.create_string_buffer(size + 1)
    count = library().llama_detokenize(model.vocabulary, ids, len(tokens), buffer, size + 1, False, False)
    return buffer.raw[:size] if count == size else None


def _one_by_one(model: LoadedModel, tokens: range) -> tuple[list[bytes], list[int]]:
    """The pieces of some tokens, and those that are silent."""
    write, vocabulary = library().llama_token_to_piece, model.vocabulary
    buffer = ctypes.create_string_buffer(256)
    found, silent = [], []
    for token in tokens:
        is_special = False
        size = write(vocabulary, token, buffer, len(buffer), 0, is_special)
        if size == 0:
            silent.append(token)
            is_special = model.is_text_in_file(token)  # which llama.cpp has made special: see ends_text
            if is_special:
                size = write(vocabulary, token, buffer, len(buffer), 0, is_special)
        if size < 0:
            buffer = ctypes.create_string_buffer(-size)
            size = write(vocabulary, token, buffer, len(buffer), 0, is_special)
        found.append(ctypes.string_at(buffer, size))
    return found, silent
