"""The weights of a transformers model: their files, and loading them whole or not at all.

transformers fills weights that a file lacks with random numbers and says so in a warning; a model of which one layer is
random writes nonsense without a word. Here that is an error.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfgen.errors import ModelError, first_line
from sfgen.models.memory import is_out_of_memory
from sfgen.models.weight_files import SAVE, checkpoint_files
from sfgen.parameter_text import ParameterText
from sfgen.vocabulary.pretrained import quiet_transformers

if TYPE_CHECKING:
    import torch

_FIT = "The rest would be random numbers. Copy or download the model again, with the config.json that belongs to it."


def check_files(directory: Path) -> None:
    """Refuse a directory without weights, or with some of them only.

    Raises:
        ModelError: Some are missing; says which, and what is there instead.
    """
    files = checkpoint_files(directory)
    missing = [file.name for file in files if not file.is_file()]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise ModelError(
            f"cannot load the weights of {directory}: {missing[0]}{more} of {len(files)} files is missing",
            hint="Copy or download the model again.",
        )
    if not files:
        reason, hint = other_contents(directory) or ("it has no model.safetensors", SAVE)
        raise ModelError(f"cannot load the weights of {directory}: {reason}", hint=hint)


def other_contents(directory: Path) -> tuple[str, str] | None:
    """Recognize what a directory holds that is not a transformers model.

    Returns:
        A reason and a hint; ``None`` if nothing was recognized.
    """
    adapter = directory / "adapter_config.json"
    if adapter.is_file():
        base = "the model that it was trained on"
        with suppress(OSError, ValueError, KeyError, TypeError):
            base = str(json.loads(adapter.read_text(encoding="utf-8"))["base_model_name_or_path"]) or base
        return (
            "it holds an adapter (PEFT) and not a whole model",
            f"Merge it into {base} (merge_and_unload() of peft), and save the result.",
        )
    gguf = next(iter(sorted(directory.glob("*.gguf"))), None)
    if gguf is not None:
        return "it holds a GGUF file, the format of llama.cpp", f"Name the file itself: {gguf}"
    for pattern, framework in (("tf_model*.h5", "TensorFlow"), ("flax_model*.msgpack", "Flax")):
        other = next(directory.glob(pattern), None)
        if other is not None:
            return f"{other.name} is for {framework}", "Use the same model with PyTorch or safetensors weights."
    return None


def load(source: str, name: str, auto: Any, *, device: torch.device, dtype: Any, options: dict[str, Any]) -> Any:
    """Load a model with all its weights, in evaluation mode.

    Args:
        source: A directory, or an id on the hub.
        name: What messages call it.
        auto: The class of transformers that loads it.
        device: Where it is to be.
        dtype: A torch dtype, or ``auto``.
        options: More for ``from_pretrained``.

    Raises:
        ModelError: Files are missing or damaged, a weight is missing or of another shape, a package is missing, or
            there is not enough memory.
    """
    if Path(source).is_dir():
        check_files(Path(source))
    # transformers would ask a public service to convert the weights of other people's models.
    os.environ.setdefault("DISABLE_SAFETENSORS_CONVERSION", "1")
    with quiet_transformers(offline=options.get("local_files_only", False)):
        try:
            model, report = auto.from_pretrained(
                source, dtype=dtype, output_loading_info=True, ignore_mismatched_sizes=True, **options
            )
        except Exception as error:  # transformers raises whatever its parts raise
            raise _not_loaded(error, source, name, options) from error
        _check_complete(report, name)
        try:
            model.to(device)
        except (RuntimeError, MemoryError) as error:
            if is_out_of_memory(error):
                raise ModelError(
                    f"not enough memory on {device} for the weights of {name}",
                    hint=ParameterText("Try dtype='bfloat16', device='cpu', or a smaller model.", "dtype", "device"),
                ) from error
            raise ModelError(
                f"cannot put {name} on {device}: {first_line(error)}", hint=ParameterText("Try device='cpu'.", "device")
            ) from error
    return model.eval()


def _check_complete(report: dict[str, Any], name: str) -> None:
    """Refuse weights that transformers had to make up. Tied weights are not among the missing ones."""
    if report["error_msgs"]:
        raise ModelError(f"cannot load the weights of {name}: {first_line(report['error_msgs'][0])}", hint=_FIT)
    if report["mismatched_keys"]:
        key, in_file, in_config = min(report["mismatched_keys"])
        raise ModelError(
            f"the weights of {name} do not fit its config.json: {key} is {_shape(in_file)}, and should be "
            f"{_shape(in_config)}",
            hint=_FIT,
        )
    if report["missing_keys"]:
        raise ModelError(
            f"the weights of {name} do not fit its config.json: {_some(report['missing_keys'])} missing", hint=_FIT
        )


def _not_loaded(error: Exception, source: str, name: str, options: dict[str, Any]) -> ModelError:
    if is_out_of_memory(error):
        return ModelError(
            f"not enough memory for the weights of {name}",
            hint=ParameterText("Try dtype='bfloat16', or a smaller model.", "dtype"),
        )
    if isinstance(error, ImportError):
        return ModelError(f"{name} needs another package: {first_line(error)}", hint="Install it, and try again.")
    return ModelError(
        f"cannot load the weights of {name}: {first_line(error)}",
        hint="If the files are damaged, copy or download the model again.",
    )


def _some(keys: Iterable[str]) -> str:
    first, *others = sorted(keys)
    return f"{first} and {len(others)} more are" if others else f"{first} is"


def _shape(sizes: Iterable[int]) -> str:
    return " x ".join(map(str, sizes)) or "a single number"
