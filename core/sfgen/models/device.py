"""The device and the dtype of a model, checked before any weight is read."""

from __future__ import annotations

import difflib
import re
import warnings
from typing import TYPE_CHECKING, Any

from sfgen import arguments
from sfgen.errors import ModelError
from sfgen.models.transformers_internals import accelerate_hook
from sfgen.parameter_text import ParameterText

if TYPE_CHECKING:
    import torch

_DTYPES = ("float32", "bfloat16", "float16")
_DEVICES = ("auto", "cpu", "cuda", "mps")
_CALLED = {
    **dict.fromkeys(("gpu", "nvidia", "rocm", "hip", "amd"), "cuda"),  # PyTorch calls AMD's GPUs cuda, too
    **dict.fromkeys(("metal", "apple", "mac", "mlx"), "mps"),
}
"""Common names of devices, and torch's."""


def check_names(device: str, dtype: str) -> None:
    """Refuse device and dtype names that no machine has."""
    # Nothing heavy is imported.
    arguments.text("device", device, error=ModelError)
    if not re.fullmatch(r"auto|cpu|mps|cuda(:\d+)?", device, re.ASCII):
        near = _near_device(device)
        known = "Use auto, cpu, cuda, cuda:N or mps."
        raise ModelError(f"no such device: {device}", hint=f"Did you mean {near}? {known}" if near else known)
    if arguments.text("dtype", dtype, error=ModelError) not in ("auto", *_DTYPES):
        raise ModelError(f"no such dtype: {dtype}", hint="Use auto, float32, bfloat16 or float16.")


def _near_device(name: str) -> str:
    """Guess the device that was meant; empty if no name is similar.

    >>> [_near_device(name) for name in ("gpu", "GPU:1", "cuda0", "1", "Cuda", "cdua", "metal", "tpu", "quantum")]
    ['cuda', 'cuda:1', 'cuda:0', 'cuda:1', 'cuda', 'cuda', 'mps', 'cpu', '']
    """
    found = re.fullmatch(r"([a-z]*)[:\s_-]*(\d*)", name.strip().casefold(), re.ASCII)
    if found is None or not any(found.groups()):
        return ""
    kind, number = found[1] or "cuda", found[2]
    near = difflib.get_close_matches(kind, _DEVICES, n=1)
    meant = _CALLED.get(kind) or (near[0] if near else "")
    return f"cuda:{int(number)}" if meant == "cuda" and number else meant


def find_device(name: str) -> torch.device:
    """Return the torch device of a name; ``auto`` is the first of cuda, mps and cpu."""
    check_names(name, "auto")
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of drivers that are too old: they count as absent
        cuda_devices = torch.cuda.device_count() if torch.cuda.is_available() else 0
        has_mps = torch.backends.mps.is_available()
    if name == "auto":
        return torch.device("cuda" if cuda_devices else "mps" if has_mps else "cpu")
    kind, _, number = name.partition(":")
    hint = ParameterText("Use device='cpu', or auto for the best that there is.", "device")
    if kind == "cuda" and not cuda_devices:
        is_built = torch.version.cuda is not None or torch.version.hip is not None
        raise ModelError(
            f"no device {name}: "
            + ("no GPU or no driver for it was found" if is_built else "this PyTorch was built for CPUs only"),
            hint=hint,
        )
    if kind == "cuda" and number and int(number) >= cuda_devices:
        last = f" to cuda:{cuda_devices - 1}" if cuda_devices > 1 else ""
        raise ModelError(f"no device {name}: this machine has cuda:0{last}", hint=hint)
    if kind == "mps" and not has_mps:
        raise ModelError("no device mps: it is the GPU of a Mac with Apple silicon, on macOS 14 or later", hint=hint)
    return torch.device(name)


def input_device(network: Any) -> torch.device:
    """Return the device for the inputs of a transformers model."""
    # For a model over several devices accelerate moves the inputs to each layer, and the scores back to this device.
    # Weights that it loads when they are needed are on no device until then (meta); its hooks know the device.
    import torch

    device: torch.device = network.device
    if device.type != "meta":
        return device
    hooks = map(accelerate_hook, network.modules())
    each = (single for hook in hooks for single in getattr(hook, "hooks", (hook,)))
    known = (getattr(single, "execution_device", None) for single in each)
    return torch.device(next((place for place in known if place is not None), device))


def is_on_one_device(network: Any) -> bool:
    """Return whether all weights are on one device, and used there."""
    devices = {str(weight.device) for weight in network.parameters()}
    mapped = {str(device) for device in (getattr(network, "hf_device_map", None) or {}).values()}
    return len(devices) <= 1 and len(mapped) <= 1 and "meta" not in devices


def find_dtype(name: str, device: torch.device) -> Any:
    """Return the dtype of a name, for ``from_pretrained``."""
    # `auto` is the checkpoint's own; on a CPU, where half precision is slow and some operations are missing, float32.
    check_names("auto", name)
    import torch

    if name == "auto":
        return torch.float32 if device.type == "cpu" else "auto"
    return getattr(torch, name)
