"""Find the files with the weights of a transformers model, and recognize a directory that has something else."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from sfgen.errors import ModelError, first_line

_FILES = ("model.safetensors", "pytorch_model.bin")
SAVE = "Save the whole model there: save_pretrained() writes config.json, the weights and a tokenizer."


def checkpoint_files(directory: Path) -> list[Path]:
    """List the weight files of a directory, in the order of transformers; some may be missing."""
    return [directory / name for name in files_among({file.name for file in directory.iterdir()}, directory)]


def files_among(names: Iterable[str], directory: Path | None) -> list[str]:
    """List the weight files in the order of transformers."""
    names = set(names)
    for name in _FILES:
        if name in names:
            return [name]
        if f"{name}.index.json" in names and directory is not None:
            index = directory / f"{name}.index.json"
            try:
                return sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
            except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
                raise ModelError(f"cannot read {index}: {first_line(error)}", hint=SAVE) from error
    return []


def check_files(directory: Path) -> None:
    """Refuse a directory without weights, or with some of them only."""
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
    """Recognize the content of a directory that is not a transformers model."""
    adapter = directory / "adapter_config.json"
    if adapter.is_file():
        base = "the model that it was trained on"
        with suppress(OSError, ValueError, KeyError, TypeError):
            base = str(json.loads(adapter.read_text(encoding="utf-8"))["base_model_name_or_path"]) or base
        return (
            "it holds an adapter (PEFT), not a whole model",
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
