"""The models that Ollama has downloaded: GGUF files under names that only its manifests tell.

``manifests/HOST/OWNER/NAME/TAG`` is JSON; of its layers the one with the model names a file in ``blobs``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sfgen.models.gguf.header import is_gguf
from sfgen.models.inventory.found import FoundModel

SOURCE = "Ollama"
_LAYER = "application/vnd.ollama.image.model"
_HOST, _OWNER = "registry.ollama.ai", "library"  # which its names leave out
_OF_THE_SERVICE = "/usr/share/ollama/.ollama/models"


def ollama_folders() -> list[Path]:
    """Return the folders in which Ollama keeps models.

    They are ``OLLAMA_MODELS``, else the user's folder and that of its service.
    """
    named = os.environ.get("OLLAMA_MODELS")
    return [Path(named)] if named else [Path(os.path.expanduser("~/.ollama/models")), Path(_OF_THE_SERVICE)]


def ollama_models(folder: Path) -> Iterator[FoundModel]:
    """Find the models in a folder of Ollama.

    They are named by the paths of their files; ``about`` is Ollama's name.
    """
    for manifest in sorted((folder / "manifests").glob("*/*/*/*")):
        host, owner, name, tag = manifest.relative_to(folder / "manifests").parts
        owners = [*([host] if host != _HOST else []), *([owner] if (host, owner) != (_HOST, _OWNER) else [])]
        called = "/".join([*owners, f"{name}:{tag}"])
        yield _model_of(manifest, folder / "blobs", called)


def _model_of(manifest: Path, blobs: Path, called: str) -> FoundModel:
    try:
        layer = _model_layer(json.loads(manifest.read_text(encoding="utf-8")))
    except (OSError, ValueError, LookupError, TypeError):
        return FoundModel(str(manifest), "GGUF", SOURCE, None, called, "its manifest cannot be read")
    blob = blobs / layer.replace(":", "-")
    if not blob.is_file():
        return FoundModel(str(blob), "GGUF", SOURCE, None, called, "its file is gone")
    if not is_gguf(blob):
        return FoundModel(str(blob), "GGUF", SOURCE, None, called, "it is no GGUF file")
    return FoundModel(str(blob), "GGUF", SOURCE, blob.stat().st_size, called)


def _model_layer(manifest: Any) -> str:
    """The digest of the layer that holds the model.

    Raises:
        LookupError: There is none; or ``TypeError``: it is not a manifest.
    """
    digests = [str(layer["digest"]) for layer in manifest["layers"] if layer["mediaType"] == _LAYER]
    return digests[0]
