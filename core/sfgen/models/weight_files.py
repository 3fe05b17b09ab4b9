"""Which files hold the weights of a transformers model."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from sfgen.errors import ModelError, first_line

_FILES = ("model.safetensors", "pytorch_model.bin")
SAVE = "Save the whole model there: save_pretrained() writes config.json, the weights and a tokenizer."


def checkpoint_files(directory: Path) -> list[Path]:
    """The files that hold the weights, in the order in which transformers looks for them; some may not be there."""
    return [directory / name for name in files_among({file.name for file in directory.iterdir()}, directory)]


def files_among(names: Iterable[str], directory: Path | None) -> list[str]:
    """The files that hold the weights, in the order in which transformers looks for them.

    Args:
        names: The names of all files that the model has, here or elsewhere.
        directory: Where those of them are that list others; ``None`` if there are none.

    Raises:
        ModelError: Such a list is damaged.
    """
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
