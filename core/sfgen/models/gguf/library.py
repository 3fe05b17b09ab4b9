"""llama.cpp's C functions, as the low-level module of llama-cpp-python has them.

That module follows llama.cpp, which renames and drops functions now and then. So this package uses only the functions
below, and checks that all of them exist before it calls the first.
"""

from __future__ import annotations

import ctypes
import importlib.util
import re
from collections import deque
from functools import cache
from typing import Any

from sfgen.errors import ModelError, first_line

_FUNCTIONS = (
    "llama_backend_init", "llama_batch", "llama_context_default_params", "llama_decode", "llama_detokenize",
    "llama_free", "llama_get_logits_ith", "llama_get_memory", "llama_init_from_model", "llama_log_callback",
    "llama_log_set", "llama_max_parallel_sequences", "llama_memory_clear", "llama_memory_seq_pos_min",
    "llama_memory_seq_rm", "llama_model_default_params", "llama_model_free", "llama_model_get_vocab",
    "llama_model_load_from_file", "llama_model_n_ctx_train", "llama_model_n_params", "llama_model_n_swa", "llama_n_ctx",
    "llama_state_seq_get_data", "llama_state_seq_get_size", "llama_state_seq_set_data", "llama_supports_gpu_offload",
    "llama_token_to_piece", "llama_tokenize", "llama_vocab_bos", "llama_vocab_eos", "llama_vocab_get_add_bos",
    "llama_vocab_get_attr", "llama_vocab_get_text", "llama_vocab_is_eog", "llama_vocab_n_tokens", "llama_vocab_type",
)  # fmt: skip
_FIELDS = {
    "llama_model_params": ("main_gpu", "n_gpu_layers", "split_mode", "vocab_only"),
    "llama_context_params": (
        "flash_attn_type", "kv_unified", "n_batch", "n_ctx", "n_seq_max", "n_threads", "n_threads_batch", "n_ubatch",
        "swa_full", "type_k", "type_v",
    ),
    "llama_batch": ("logits", "n_seq_id", "n_tokens", "pos", "seq_id", "token"),
}  # fmt: skip
INSTALL = "Install it: pip install 'sfgen[gguf]'"
_NAMES = re.compile(r"^(\w+: )?(error loading model: )?")
"""The names before a reason in llama.cpp's log."""
_ERROR = 4
"""The level of llama.cpp's errors in its log."""


def check_installed() -> None:
    """Refuse to go on without llama-cpp-python, without importing it."""
    if importlib.util.find_spec("llama_cpp") is None:
        raise ModelError("a GGUF file is read with the package llama-cpp-python, which is not installed", hint=INSTALL)


@cache
def library() -> Any:
    """Load llama.cpp's functions and keep its log off the terminal."""
    check_installed()
    try:
        import llama_cpp.llama_cpp as found
    except Exception as error:  # the shared library is missing or for another machine, or lacks a function
        raise ModelError(f"the package llama-cpp-python cannot be loaded: {first_line(error)}", hint=INSTALL) from error
    missing = [name for name in _FUNCTIONS if not hasattr(found, name)]
    missing += [
        f"{kind}.{name}"
        for kind, names in _FIELDS.items()
        for name in sorted(set(names) - {each[0] for each in getattr(getattr(found, kind, None), "_fields_", ())})
    ]
    if missing:
        raise ModelError(
            f"this version of llama-cpp-python is not supported: it has no {missing[0]}",
            hint="Install one that is: pip install --upgrade 'sfgen[gguf]'",
        )
    log.listen_to(found)
    found.llama_backend_init()
    return found


class _Log:
    """The last errors in llama.cpp's log; everything else in it is dropped."""

    def __init__(self) -> None:
        self._errors: deque[str] = deque(maxlen=8)
        self._callback: Any = None

    def listen_to(self, lib: Any) -> None:
        callback = lib.llama_log_callback(self._keep)
        lib.llama_log_set(callback, ctypes.c_void_p())
        self._callback = callback  # C does not keep it alive

    def clear(self) -> None:
        self._errors.clear()

    def reason(self) -> str:
        """Return the first error since ``clear``, without names of functions; empty if none."""
        if not self._errors:
            return ""
        return first_line(_NAMES.sub("", self._errors[0]))

    def _keep(self, level: int, text: bytes, _: Any) -> None:
        if level == _ERROR:
            self._errors.append(text.decode("utf-8", "replace").strip())


log = _Log()
"""The errors in llama.cpp's log."""
