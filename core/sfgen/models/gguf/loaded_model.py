"""A model that llama.cpp has loaded, or its tokenizer alone."""

from __future__ import annotations

import ctypes
import os
import weakref
from collections.abc import Iterable
from typing import Any

from sfgen.errors import ModelError
from sfgen.models.gguf.header import Header
from sfgen.models.gguf.library import library, log
from sfgen.parameter_text import ParameterText

BYTE_FALLBACK, BYTE_LEVEL = 1, 2
"""Kinds of tokenizers: SentencePiece's BPE with a token for each byte, and byte-level BPE."""
_TAG = "</s>"
_NORMAL, _USER_DEFINED = 1 << 2, 1 << 4
"""Kinds of tokens."""
_WHOLE_ON_ONE = 0
"""The split mode that spreads no layers over GPUs."""


class LoadedModel:
    """A model that llama.cpp has loaded; freed with its last reference.

    Attributes:
        header: As given.
        pointer: The model in C.
        vocabulary: Its vocabulary in C.
        width: The number of token ids, and of scores.
    """

    def __init__(self, header: Header, name: str, *, vocabulary_only: bool = False, device: str = "auto") -> None:
        lib = self._lib = library()
        self.header = header
        options = lib.llama_model_default_params()
        options.vocab_only = vocabulary_only
        kind, _, number = device.partition(":")
        if kind in ("cuda", "mps") and not lib.llama_supports_gpu_offload():
            raise ModelError(
                f"no device {device}: the installed llama.cpp was built for CPUs only",
                hint=ParameterText(
                    "Use device='cpu', or install llama-cpp-python as its pages say for your GPU.", "device"
                ),
            )
        if kind == "cpu":
            options.n_gpu_layers = 0
        elif number:
            options.split_mode, options.main_gpu = _WHOLE_ON_ONE, int(number)
        log.clear()
        self.pointer: Any = lib.llama_model_load_from_file(os.fsencode(header.path), options)
        if not self.pointer:
            raise ModelError(
                f"llama.cpp cannot load {name}: {log.reason() or 'it does not say why'}",
                hint="If it is of a new kind, a newer llama.cpp may know it: pip install --upgrade llama-cpp-python",
            )
        weakref.finalize(self, lib.llama_model_free, self.pointer)
        self.vocabulary: Any = lib.llama_model_get_vocab(self.pointer)
        self.width = int(lib.llama_vocab_n_tokens(self.vocabulary))

    @property
    def tokenizer_kind(self) -> int:
        """``BYTE_FALLBACK``, ``BYTE_LEVEL``, or another that is not supported."""
        return int(self._lib.llama_vocab_type(self.vocabulary))

    @property
    def has_byte_tokens(self) -> bool:
        """Whether the tokenizer is SentencePiece's BPE, with a token for each byte."""
        return self.tokenizer_kind == BYTE_FALLBACK

    @property
    def context_length(self) -> int:
        """The most tokens that it was trained to read."""
        return int(self._lib.llama_model_n_ctx_train(self.pointer))

    @property
    def window(self) -> int:
        """The sliding window of some layers in tokens; 0: none."""
        return int(self._lib.llama_model_n_swa(self.pointer))

    @property
    def parameters(self) -> int:
        """The number of its weights."""
        return int(self._lib.llama_model_n_params(self.pointer))

    # ---- tokens ------------------------------------------------------------------------------------------------------

    def begin_token(self) -> int | None:
        """Return the token that begins a text, or ``None``."""
        return self._known(self.header.begin_token, self._lib.llama_vocab_bos)

    def end_token(self) -> int | None:
        """Return a token that ends a text, or ``None``."""
        return self._known(self.header.end_token, self._lib.llama_vocab_eos)

    def writes_begin_token(self) -> bool:
        """Return whether the begin token stands before each text."""
        return bool(self._lib.llama_vocab_get_add_bos(self.vocabulary))

    def end_tokens(self, silent: Iterable[int]) -> list[int]:
        """Return the tokens that end a text, ascending."""
        # llama.cpp writes nothing for an end token unless the file, or llama.cpp by default, names it as one.
        named = {*self.header.named_tokens, int(self._lib.llama_vocab_eos(self.vocabulary))}
        known = {token for token in named if 0 <= token < self.width}
        return [token for token in sorted({*silent, *known}) if self.ends_text(token)]

    def ends_text(self, token: int) -> bool:
        """Return whether a token ends a text."""
        # It does if the file names it as an end token. llama.cpp also judges by the text of a token: it takes Gemma's
        # </s>, a tag of HTML, for an end token, and in byte-level BPE token 11 if the file names none. Both are text in
        # their files.
        if token in self.header.end_tokens:
            return True
        if not self._lib.llama_vocab_is_eog(self.vocabulary, token):
            return False
        if token == self.end_token() or not self.is_text_in_file(token):
            return True
        return self.text(token) != _TAG and token != self._lib.llama_vocab_eos(self.vocabulary)

    def is_text_in_file(self, token: int) -> bool:
        """Return whether the file marks a token as text."""
        # llama.cpp may count it as another kind.
        return bool(self._lib.llama_vocab_get_attr(self.vocabulary, token) & (_NORMAL | _USER_DEFINED))

    def text(self, token: int) -> str:
        """Return the text of a token in the tokenizer's file."""
        return str(self._lib.llama_vocab_get_text(self.vocabulary, token).decode("utf-8", "replace"))

    def tokenize(self, text: str) -> list[int]:
        """Tokenize a text, adding nothing around it."""
        # Half characters become question marks, and the text of a special token becomes that token.
        data = text.encode("utf-8", "replace")
        room = len(data) + 8  # a token is a byte at least, and a space may be put before the text
        ids = (ctypes.c_int32 * room)()
        count = self._lib.llama_tokenize(self.vocabulary, data, len(data), ids, room, False, True)
        assert count >= 0
        return list(ids[:count])

    def _known(self, said: int | None, default: Any) -> int | None:
        """Return the token that the file names, or llama.cpp's default."""
        # The default is right for SentencePiece alone.
        token = int(default(self.vocabulary)) if said is None and self.tokenizer_kind == BYTE_FALLBACK else said
        return token if token is not None and 0 <= token < self.width else None
