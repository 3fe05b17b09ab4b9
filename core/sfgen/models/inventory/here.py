"""All models on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from sfgen import arguments
from sfgen.models.inventory.folders import directory_model, models_in, typed
from sfgen.models.inventory.found import FoundModel
from sfgen.models.inventory.hub_cache import cache_folder, cached_models
from sfgen.models.inventory.ollama import ollama_folders, ollama_models

_HERE = "file"


def models_here(folder: str | Path = os.curdir) -> Iterator[FoundModel]:
    """Find the models on this machine.

    Places searched are a folder and one level below, the cache of the hub, and Ollama's.

    Args:
        folder: Where to look for files.
    """
    folder = arguments.path("folder", folder)
    itself = directory_model(folder, typed(folder), _HERE)
    yield from [itself] if itself is not None else models_in(folder, _HERE, depth=1)
    yield from cached_models(cache_folder())
    for folder in ollama_folders():
        yield from ollama_models(folder)
