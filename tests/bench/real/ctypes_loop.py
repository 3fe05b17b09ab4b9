"""llama.cpp's own loop through ctypes: ``llama_decode``, ``llama_sampler_sample``, and nothing else for a token.

It is what free text by sfgen is measured against: the same functions of the same library, called from Python, without
anything that makes text of tokens or looks at them. The samplers are llama.cpp's: greedy, or temperature and draw.

With a grammar it samples as llama.cpp's programs do: freely first, and only where the grammar refuses that token, all
tokens are given to the grammar and one is sampled anew.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

_TOKEN_DATA = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])
"""``llama_token_data``."""


class Written(NamedTuple):
    """A text.

    Attributes:
        token_ids: Its tokens, without the end token.
        has_ended: Whether the model has ended it.
    """

    token_ids: list[int]
    has_ended: bool


class LlamaLoop:
    """A model in a context of llama.cpp, for one text at a time.

    Args:
        file: The GGUF file.
        threads: How many threads read.
        cells: How many tokens a prompt and its text may have together.
    """

    def __init__(self, file: Path, *, threads: int = 1, cells: int = 1024) -> None:
        import llama_cpp.llama_cpp as lib

        self._lib: Any = lib
        self._silent = lib.llama_log_callback(lambda *_: None)  # C holds no reference to it
        lib.llama_log_set(self._silent, ctypes.c_void_p())
        lib.llama_backend_init()
        options: Any = lib.llama_model_default_params()
        options.n_gpu_layers = 0
        self._model: Any = lib.llama_model_load_from_file(os.fsencode(file), options)
        assert self._model, f"llama.cpp cannot load {file}"
        context: Any = lib.llama_context_default_params()
        context.n_ctx, context.n_threads, context.n_threads_batch = cells, threads, threads
        self._context: Any = lib.llama_init_from_model(self._model, context)
        self._vocabulary: Any = lib.llama_model_get_vocab(self._model)
        self._width = int(lib.llama_vocab_n_tokens(self._vocabulary))
        self._every = np.zeros(self._width, dtype=_TOKEN_DATA)
        self._every["id"] = np.arange(self._width)

    def close(self) -> None:
        """Free the context and the model."""
        self._lib.llama_free(self._context)
        self._lib.llama_model_free(self._model)

    def encode(self, text: str) -> list[int]:
        """Tokenize a prompt, with the begin token where the file asks for it."""
        data = text.encode()
        ids = (ctypes.c_int32 * (len(data) + 8))()
        count = self._lib.llama_tokenize(self._vocabulary, data, len(data), ids, len(ids), True, False)
        return list(ids[:count])

    def text(self, token_ids: Sequence[int]) -> str:
        """Return what tokens write; the time for it is not the loop's."""
        buffer, data = ctypes.create_string_buffer(512), b""
        for token in token_ids:
            size = self._lib.llama_token_to_piece(self._vocabulary, token, buffer, len(buffer), 0, False)
            data += ctypes.string_at(buffer, size)
        return data.decode("utf-8", "replace")

    def write(
        self,
        prompt_ids: Sequence[int],
        max_tokens: int,
        *,
        temperature: float = 0.0,
        seed: int = 0,
        grammar: str | None = None,
    ) -> Written:
        """Write one text.

        Args:
            prompt_ids: The tokens of the prompt, at least one.
            max_tokens: The most tokens that are written.
            temperature: 0: greedy.
            seed: Of the draws.
            grammar: A grammar in GBNF that the text follows from its rule ``root``; ``None``: the text is free.
        """
        lib, context = self._lib, self._context
        decode, sample = lib.llama_decode, lib.llama_sampler_sample
        lib.llama_memory_clear(lib.llama_get_memory(context), True)
        token_ids: list[int] = []
        with self._sampler(temperature, seed) as sampler, self._grammar(grammar) as rules:
            # The batch points at these tokens, so what is next is written into the same place.
            unread = (ctypes.c_int32 * len(prompt_ids))(*prompt_ids)
            batch = lib.llama_batch_get_one(unread, len(prompt_ids))
            next_token = (ctypes.c_int32 * 1)()
            batch_of_next = lib.llama_batch_get_one(next_token, 1)
            while True:
                assert decode(context, batch) == 0, "llama.cpp cannot read the tokens"
                token = sample(sampler, context, -1) if rules is None else self._by_grammar(rules, sampler)
                if lib.llama_vocab_is_eog(self._vocabulary, token):
                    return Written(token_ids, has_ended=True)
                token_ids.append(token)
                if len(token_ids) == max_tokens:
                    return Written(token_ids, has_ended=False)
                next_token[0] = token
                batch = batch_of_next

    @contextlib.contextmanager
    def _sampler(self, temperature: float, seed: int) -> Iterator[Any]:
        """llama.cpp's chain of samplers."""
        lib = self._lib
        chain = lib.llama_sampler_chain_init(lib.llama_sampler_chain_default_params())
        if temperature == 0:
            lib.llama_sampler_chain_add(chain, lib.llama_sampler_init_greedy())
        else:
            lib.llama_sampler_chain_add(chain, lib.llama_sampler_init_temp(temperature))
            lib.llama_sampler_chain_add(chain, lib.llama_sampler_init_dist(seed))
        yield chain
        lib.llama_sampler_free(chain)

    @contextlib.contextmanager
    def _grammar(self, grammar: str | None) -> Iterator[Any]:
        """llama.cpp's grammar, which it calls a sampler; ``None``: there is none."""
        if grammar is None:
            yield None
            return
        rules = self._lib.llama_sampler_init_grammar(self._vocabulary, grammar.encode(), b"root")
        assert rules, "llama.cpp cannot read the grammar"
        yield rules
        self._lib.llama_sampler_free(rules)

    def _by_grammar(self, rules: Any, sampler: Any) -> int:
        """Sample a token that the grammar accepts, which advances by it."""
        lib = self._lib
        token = int(lib.llama_sampler_sample(sampler, self._context, -1))
        one = np.array([(token, 1.0, 0.0)], dtype=_TOKEN_DATA)
        lib.llama_sampler_apply(rules, ctypes.byref(self._candidates(one)))
        if np.isneginf(one["logit"][0]):
            scores = np.ctypeslib.as_array(lib.llama_get_logits_ith(self._context, -1), (self._width,))
            every = self._every.copy()  # samplers sort
            every["logit"] = scores
            candidates = self._candidates(every)
            lib.llama_sampler_apply(rules, ctypes.byref(candidates))
            lib.llama_sampler_apply(sampler, ctypes.byref(candidates))
            token = int(candidates.data[candidates.selected].id)
        lib.llama_sampler_accept(rules, token)
        return token

    def _candidates(self, tokens: Any) -> Any:
        """Tokens in the form that llama.cpp's samplers take; they are changed in place."""
        lib = self._lib
        data = tokens.ctypes.data_as(ctypes.POINTER(lib.llama_token_data))
        return lib.llama_token_data_array(data=data, size=len(tokens), selected=-1, sorted=False)
