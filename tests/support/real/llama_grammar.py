"""llama.cpp's own verdict on a text by a GBNF grammar: the oracle of our reader and of all that is written by it."""

from __future__ import annotations

import ctypes
import functools
import os
from typing import Any

from tests.support.real.model import FILE

from sfgen.models.gguf.library import library


@functools.cache
def _tokens() -> tuple[Any, Any]:
    """llama.cpp's functions, and the vocabulary of the real model; its weights are not loaded."""
    lib = library()
    options = lib.llama_model_default_params()
    options.vocab_only = True
    model = lib.llama_model_load_from_file(os.fsencode(FILE), options)
    return lib, lib.llama_model_get_vocab(model)


def is_text_of(grammar: str, tokens: list[int]) -> bool:
    """Tell whether llama.cpp's grammar lets these tokens be written one by one, and the text end behind them."""
    lib, vocabulary = _tokens()
    sampler = lib.llama_sampler_init_grammar(vocabulary, grammar.encode(), b"root")
    assert sampler, "llama.cpp reads the grammar"
    try:
        for token in [*tokens, lib.llama_vocab_eos(vocabulary)]:
            candidate = (lib.llama_token_data * 1)(lib.llama_token_data(token, 0.0, 0.0))
            candidates = lib.llama_token_data_array(candidate, 1, -1, False)
            lib.llama_sampler_apply(sampler, ctypes.byref(candidates))
            if candidate[0].logit < 0:
                return False
            lib.llama_sampler_accept(sampler, token)
    finally:
        lib.llama_sampler_free(sampler)
    return True
