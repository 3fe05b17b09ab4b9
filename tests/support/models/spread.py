"""A model whose layers compute on several devices, as accelerate spreads it, but without accelerate."""

from __future__ import annotations

from typing import Any

import torch


def spread(network: Any, devices: tuple[str, str]) -> Any:
    """Put the last layer of a small Llama-like model on the second device, all else on the first.

    A hook brings what the layer is given to its device, and what it gives back to the first. The cache is not brought
    along: the keys of each layer stay where it computes them.
    """
    first, second = map(torch.device, devices)
    network.to(first)
    body = network.base_model
    layer = body.layers[-1]
    layer.to(second)

    def bring(_: Any, inputs: Any, named: Any) -> Any:
        return _moved(inputs, second), _moved(named, second)

    layer.register_forward_pre_hook(bring, with_kwargs=True)
    layer.register_forward_hook(lambda _, __, output: _moved(output, first))
    last = f"{network.base_model_prefix}.layers.{len(body.layers) - 1}"
    network.hf_device_map = {"": str(first), last: f"{second} as another one"}
    return network


def _moved(value: Any, device: torch.device) -> Any:
    if isinstance(value, torch.Tensor):
        return value.to(device)
    if isinstance(value, tuple | list):
        return type(value)(_moved(each, device) for each in value)
    if isinstance(value, dict):
        return {name: _moved(each, device) for name, each in value.items()}
    return value
