"""Where the time of a token goes on a GPU: the parts of a step, each measured alone."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from sfgen import Sampler
from sfgen.decoding import batch_of
from sfgen.decoding.batch import choose_all
from sfgen.decoding.choice import Choice
from sfgen.index import Unconstrained
from sfgen.index.mask_ids import CountedMask, packed
from sfgen.models.transformers_forward import PartialLmHead
from sfgen.protocols import Mask

_FEW = 16  # rows of the output layer, as under a narrow mask
_REPEATS = 21
_PROMPT = 64  # tokens that were read before

Part = tuple[str, Callable[[], object]]


def parts(model: Any, batch: int) -> dict[str, float]:
    """Milliseconds of each part of a step of so many texts; medians."""
    return {name: _median(model.model.device, work) for name, work in _works(model, batch)}


def _works(model: Any, batch: int) -> Iterator[Part]:
    import torch

    network, device = model.model, model.model.device
    lm_head, few = PartialLmHead(network), np.arange(100, 100 + _FEW, dtype=np.int32)
    hidden = torch.randn((batch, 1, network.config.hidden_size), device=device, dtype=network.dtype)
    with torch.inference_mode():
        logits = network.lm_head(hidden)[:, -1]
    mask = Unconstrained(model.vocabulary).guide().mask()
    narrow = packed(few, len(model.vocabulary))
    yield "a forward pass, all scores", _asking(model, batch)
    yield "in it: the layers", _growing(network, batch, plans=False)
    yield "the layers, with cuDNN's attention", _growing(network, batch, plans=True)
    yield "in it: the output layer", lambda: network.lm_head(hidden)
    yield (
        f"{_FEW} rows of the output layer instead, for each text",
        lambda: [lm_head.scores(hidden[place, -1], few) for place in range(batch)],
    )
    yield "in it: scores to the host", lambda: logits.float().cpu().numpy()
    yield f"{_FEW} scores of each text instead", lambda: logits[:, :_FEW].float().cpu().numpy()
    for name, allowed, sampler in (
        ("choice of all rows, greedy", mask, Sampler()),
        ("choice of all rows, sampled", mask, Sampler(1.0, 0)),
        ("choice of all rows, sampled, top-p", mask, Sampler(1.0, 0, top_p=0.95)),
        ("choice of all rows, sampled, top-k", mask, Sampler(1.0, 0, top_k=40)),
        (f"choice of all rows, sampled among {_FEW} tokens", narrow, Sampler(1.0, 0)),
    ):
        yield name, _choosing(logits, allowed, sampler)


def _choosing(logits: Any, mask: Mask, sampler: Sampler) -> Callable[[], object]:
    """Chooses a token for each row where the scores are."""
    counted = CountedMask.of(mask)
    choices = [
        Choice(mask, counted.count, sampler, sampler.temperature, share)
        for share in np.random.default_rng(0).random(len(logits)).tolist()
    ]
    return lambda: choose_all(logits, choices)


def _asking(model: Any, batch: int) -> Callable[[], object]:
    """Reads a token more at each call, as the loops of so many texts have it read."""
    texts = batch_of(model, batch)
    texts.extend({row: [100] * _PROMPT for row in range(batch)})
    together = getattr(texts, "extend_together", None)
    if together is not None:
        return lambda: together({row: [100] for row in range(batch)}, {})
    return lambda: texts.extend({row: [100] for row in range(batch)})


def _growing(network: Any, batch: int, *, plans: bool) -> Callable[[], object]:
    """Reads a token more at each call; attention may be computed by cuDNN or not."""
    import torch
    from transformers import DynamicCache

    from sfgen.models.transformers_forward import cache_name, parameters_of

    name = cache_name(parameters_of(network.base_model)) or "past_key_values"
    cache: dict[str, Any] = {name: DynamicCache(config=network.config)}
    ids = torch.full((batch, 1), 100, device=network.device)
    with torch.inference_mode():
        network.base_model(input_ids=ids.repeat(1, _PROMPT), use_cache=True, **cache)

    def read() -> None:
        with cudnn_attention(plans):
            network.base_model(input_ids=ids, use_cache=True, **cache)

    return read


@contextmanager
def cudnn_attention(allowed: bool) -> Iterator[None]:
    """Whether torch may give attention to cuDNN."""
    import torch

    kernels: Any = torch.backends.cuda  # untyped
    before = kernels.cudnn_sdp_enabled()
    kernels.enable_cudnn_sdp(allowed)
    try:
        yield
    finally:
        kernels.enable_cudnn_sdp(before)


def _median(device: Any, work: Callable[[], object]) -> float:
    """Milliseconds, with all that was begun on the device."""
    import torch

    def wait() -> None:
        if device.type == "cuda":
            torch.cuda.synchronize(device)

    times = []
    with torch.inference_mode():
        for _ in range(_REPEATS):
            wait()
            start = time.perf_counter()
            work()
            wait()
            times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times[_REPEATS // 4 :])  # the first ones warm up
