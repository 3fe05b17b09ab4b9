"""The forward pass of a transformers model: its inputs by name, and the code that sessions and batches share."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterable, Iterator, Set
from functools import lru_cache
from typing import Any

import numpy as np

from sfgen.errors import ModelError, first_line
from sfgen.models.configuration import tokens_known
from sfgen.models.transformers_internals import accelerate_hook, has_hooks
from sfgen.parameter_text import ParameterText
from sfgen.protocols import Int32, Scores

# The name of transformers 5.24 and later comes first: its outputs log a notice when they are asked for an older name.
_CACHE_NAMES = ("cache", "past_key_values", "cache_params", "state")
"""Names of the cache among the parameters and the outputs of architectures."""

_BLOCK = 64
"""The number of tokens that the kernel takes at a time."""

KNOWN_LM_HEADS = frozenset({
    "gemma", "gemma2", "gpt2", "gpt_neox", "llama", "mistral", "olmo", "olmo2", "phi3", "qwen2", "qwen3", "smollm3",
    "stablelm", "starcoder2",
})  # fmt: skip
"""Architectures whose output layer can be called by itself: each is in the tests."""

MOST_SCORES = 1 << 25
"""The most scores computed at a time, unless one position has more: 128 MiB in float32."""

_SIGNS = ("out of memory", "can't allocate memory", "not enough memory")


def parameters_of(model: Any) -> frozenset[str]:
    """Return the names of the parameters of a model's ``forward``."""
    kind: Any = type(model)
    return _parameters(kind)


def cache_name(parameters: Set[str]) -> str | None:
    """Return the parameter that takes the cache; ``None``: the model keeps none."""
    return next((name for name in _CACHE_NAMES if name in parameters), None)


def cache_in(output: Any) -> Any:
    """Return the cache in a model's output; ``None``: it gives none."""
    return next((output[name] for name in _CACHE_NAMES if name in output), None)


@lru_cache(maxsize=16)
def _parameters(kind: Any) -> frozenset[str]:
    """Return the parameters of the ``forward`` of a class."""
    # Cached: the inspection takes a tenth of the time of a small text.
    return frozenset(inspect.signature(kind.forward).parameters)


# ---- attention on a GPU of NVIDIA ------------------------------------------------------------------------------------
#
# On newer GPUs torch computes attention in half precision by cuDNN, which makes a plan for every new shape. A text
# grows by each token, so most of the time would go into plans: measured on an H100, 43 ms for a token instead of 9.
# Torch's own kernels need no plans.
#
# One of them is wrong about the last of 65 tokens, of 129, of 193, …, that are read in one pass with a mask by a model
# whose heads share one key (seen with torch 2.11 on an H100, in float32 and bfloat16): such passes are avoided.


def is_misread(count: int, device: Any) -> bool:
    """Return whether attention may misread the last token of a pass."""
    return bool(device.type == "cuda" and count > _BLOCK and count % _BLOCK == 1)


@contextlib.contextmanager
def without_plans(device: Any) -> Iterator[None]:
    """Disable cuDNN attention on a CUDA device, restoring it afterwards."""
    import torch

    kernels: Any = torch.backends.cuda  # untyped
    if device.type != "cuda" or not kernels.cudnn_sdp_enabled():
        yield
        return
    kernels.enable_cudnn_sdp(False)
    try:
        yield
    finally:
        kernels.enable_cudnn_sdp(True)


# ---- rotary positions whose frequencies depend on the length ---------------------------------------------------------
#
# Two ways of stretching a model's context rotate the keys differently once the text is longer than the texts of the
# training, and keep the new frequencies in the model itself, where they would change the next text:
#
# * `longrope` (Phi-3) has two sets of frequencies, for short and for long texts. Where the text passes the border, in
#   either direction, all its keys are wrong: the cache is thrown away and the text read again, as generate() of
#   transformers does for Phi-3.
# * `dynamic` widens the frequencies with each token beyond the border. As in generate(), keys that are in the cache
#   stay as they are: the scores are those of a text written token by token, not those of the same text read at once.
# The model is reset before each forward pass, so that no text depends on the length of another.


class Rotary:
    """An observer of the length of one sequence."""

    def __init__(self, model: Any) -> None:
        kinds = dict(_kinds(model.config.get_text_config(decoder=True)))
        self._border: int | None = kinds.get("longrope")
        self._was_long: bool | None = None
        self._growing = [module for module in model.modules() if _grows(module)] if "dynamic" in kinds else []

    def ends(self, start: int, stop: int) -> list[int]:
        """Return the lengths at which reading must pause, ascending, the last one ``stop``."""
        # The pauses keep the scores of a token independent of the text after it. A forward pass rotates all positions
        # for the length of the whole text: a text is read up to the border of `longrope` and then beyond it, and beyond
        # the border of `dynamic` one token at a time.
        ends = {stop}
        if self._border is not None and start < self._border < stop:
            ends.add(self._border)
        for module in self._growing:
            ends.update(range(max(start + 1, module.original_max_seq_len), stop))
        return sorted(ends)

    def prepare(self, length: int) -> bool:
        """Prepare to read up to ``length`` tokens; true if earlier ones must be read again."""
        for module in self._growing:
            _set_back(module)
        if self._border is None:
            return False
        is_long, was_long = length > self._border, self._was_long
        self._was_long = is_long
        return was_long is not None and is_long != was_long


def depends_on_length(config: Any) -> bool:
    """Return whether rotary frequencies depend on the text's length."""
    # Two texts then cannot share a pass.
    return any(kind in ("longrope", "dynamic") for kind, _ in _kinds(config.get_text_config(decoder=True)))


def _kinds(config: Any) -> Iterator[tuple[str, int | None]]:
    """Yield the kinds of scaling, each with the length at which it begins."""
    # Some models have a kind of scaling for each kind of layer.
    parameters = getattr(config, "rope_parameters", None) or {}
    for each in (parameters, *parameters.values()):
        if isinstance(each, dict) and isinstance(each.get("rope_type"), str):
            kind = "dynamic" if "dynamic" in each["rope_type"] else each["rope_type"]
            yield kind, each.get("original_max_position_embeddings")


def _grows(module: Any) -> bool:
    return hasattr(module, "original_max_seq_len") and hasattr(module, "max_seq_len_cached")


def _set_back(module: Any) -> None:
    """Restore the frequencies that a module was made with."""
    for name, original in list(module.named_buffers(recurse=False)):
        if name.endswith("original_inv_freq"):
            used = name.removesuffix("original_inv_freq") + "inv_freq"
            module.register_buffer(used, original.to(getattr(module, used).device), persistent=False)
    for name in [name for name in vars(module) if name.endswith("max_seq_len_cached")]:
        setattr(module, name, module.original_max_seq_len)


# ---- the output layer ------------------------------------------------------------------------------------------------
#
# The last step of a language model is a product with one row of weights for each token of its vocabulary. If a pattern
# allows few tokens, their rows are enough: with GPT-2 the rows of all tokens are a third of the weights.


class PartialLmHead:
    """The output layer of one model, row by row."""

    def __init__(self, model: Any) -> None:
        self._body = model.base_model
        self._layer = model.get_output_embeddings()
        self._cap: float | None = getattr(model.config, "final_logit_softcapping", None)

    def read(self, inputs: dict[str, Any]) -> Any:
        """Run the model without its output layer."""
        return self._body(**inputs)

    def scores(self, hidden: Any, rows: Int32 | None) -> Any:
        """Score the next token after states ``[..., size]``: a tensor ``[..., rows]``."""
        import torch

        # `rows` may be read-only, and torch warns of sharing such an array: it is copied.
        places = None if rows is None else torch.tensor(rows, device=hidden.device)
        if places is None:
            scores = self._layer(hidden)
        elif has_hooks(self._layer):  # they may change the scores
            scores = self._layer(hidden)[..., places]
        else:
            bias, weight = self._layer.bias, self._layer.weight.index_select(0, places)
            scores = torch.nn.functional.linear(hidden, weight, None if bias is None else bias.index_select(0, places))
        return scores if self._cap is None else torch.tanh(scores / self._cap) * self._cap


def has_rows(model: Any) -> bool:
    """Return whether single rows of the output layer may be used: it must be plain and known."""
    import torch

    architecture = getattr(model.config, "model_type", None)
    if architecture not in KNOWN_LM_HEADS or not type(model).__module__.startswith("transformers.models."):
        return False
    layer = model.get_output_embeddings()
    # Wrapped weights and hooks take effect only if the layer itself, and the model, are called.
    is_plain = type(layer) is torch.nn.Linear and type(layer.weight) is torch.nn.Parameter
    return is_plain and all(accelerate_hook(each) is None for each in (layer, model)) and not has_hooks(model)


# ---- scores at every position ----------------------------------------------------------------------------------------
#
# A text of 4096 tokens with a vocabulary of 256 000 has a thousand million scores: 4 GiB in float32, more than the
# weights of many models. They are computed for a few positions at a time, and each part is moved to the host.


def positions_at_a_time(model: Any) -> int:
    """Return how many positions are scored at a time: at least 1."""
    return max(1, MOST_SCORES // tokens_known(model))


def scores_in_parts(hidden: Any, lm_head: PartialLmHead, at_a_time: int) -> Iterator[Scores]:
    """Score states ``[1, positions, size]`` in parts, float32 ``[some positions, rows]``."""
    # The last position is scored by itself, so that its scores are, to the last bit, those of a pass that scores no
    # other.
    last = hidden.shape[1] - 1
    for start in range(0, last, at_a_time):
        yield on_host(lm_head.scores(hidden[:, start : min(start + at_a_time, last)], None)[0])
    yield on_host(lm_head.scores(hidden[:, last:], None)[0])


def joined_parts(parts: Iterable[Scores], count: int) -> Scores:
    """Concatenate parts to float32 ``[count, tokens]``."""
    # At most one part is in memory beside the result.
    whole: Scores | None = None
    start = 0
    for part in parts:
        if whole is None:
            whole = np.empty((count, part.shape[1]), dtype=np.float32)
        whole[start : start + len(part)] = part
        start += len(part)
    assert whole is not None
    assert start == count
    return whole


def on_host(scores: Any) -> Scores:
    """Copy a tensor of scores into a float32 array."""
    found: Scores = scores.float().cpu().numpy()
    return found


# ---- errors of torch -------------------------------------------------------------------------------------------------


def not_read(error: BaseException, model: Any, name: str, what: str, advice: str) -> ModelError:
    """Return a ``ModelError`` of one line for an error of torch in a forward pass."""
    if is_out_of_memory(error):
        return ModelError(
            f"not enough memory on {model.device} for {what}",
            hint=ParameterText(f"{advice}, or try dtype='bfloat16' or device='cpu'.", "batch_size", "dtype", "device"),
        )
    dtype = str(model.dtype).removeprefix("torch.")
    return ModelError(
        f"{name} cannot score on {model.device} in {dtype}: {first_line(error)}",
        hint=ParameterText("Try dtype='float32' or device='cpu'.", "dtype", "device"),
    )


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error of torch means out of memory.

    >>> is_out_of_memory(RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory"))
    True
    >>> is_out_of_memory(RuntimeError("size mismatch"))
    False
    """
    import torch

    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    message = str(error).lower()
    return any(sign in message for sign in _SIGNS)
