"""Which files hold the weights of a transformers model."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from sfgen.errors import ModelError, first_line

_FILES = ("model.safetensors", "pytorch_model.bin")
SAVE = "Save the whole model there: save_pretrained() writes config.json, the weights and a tokenizer."


def checkpoint_files(directory: Path) -> list[Path]:
    """List the weight files of a directory; some may be missing.

    They are in the order in which transformers looks for them.

    Raises:
        ModelError: The list of them is damaged.
    """
    return [directory / name for name in files_among({file.name for file in directory.iterdir()}, directory)]


def files_among(names: Iterable[str], directory: Path | None) -> list[str]:
    """List the weight files in the order of transformers.

    Args:
        names: The names of all files that the model has, here or elsewhere.
        directory: Where index files are that list others; ``None`` if there are none.

    Raises:
        ModelError: An index file is damaged.
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
