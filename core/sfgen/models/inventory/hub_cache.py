"""The models in the cache of the Hugging Face hub, as huggingface_hub lays it out.

``models--OWNER--NAME`` has ``refs/main``, which names a folder in ``snapshots``, in which files point to ``blobs``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from sfgen.models.inventory.folders import directory_model, gguf_model
from sfgen.models.inventory.found import FoundModel

SOURCE = "hub cache"
_PREFIX = "models--"


def cache_folder() -> Path:
    """Return the folder of the hub's cache.

    It is ``HF_HUB_CACHE``, else ``hub`` in ``HF_HOME``, else in the user's cache.
    """
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if os.environ.get(name):
            return _expanded(os.environ[name])
    home = os.environ.get("HF_HOME") or os.path.join(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "huggingface")
    return _expanded(home) / "hub"


def _expanded(path: str) -> Path:
    return Path(os.path.expandvars(os.path.expanduser(path)))


def cached_models(cache: Path) -> Iterator[FoundModel]:
    """Find the models in a cache, including broken ones.

    A name without any files is passed over.
    """
    for folder in sorted(cache.glob(f"{_PREFIX}*")):
        name = folder.name.removeprefix(_PREFIX).replace("--", "/")
        try:
            yield from _models_of(folder, name)
        except OSError as error:
            yield FoundModel(name, "transformers", SOURCE, None, problem=f"cannot be read: {error.strerror or error}")


def _models_of(folder: Path, name: str) -> Iterator[FoundModel]:
    """The models of one name: that of transformers, and each GGUF file."""
    if not (folder / "snapshots").is_dir():
        if (folder / "blobs").is_dir():
            yield FoundModel(name, "transformers", SOURCE, None, problem="its download is not complete")
        return
    reference = folder / "refs" / "main"
    if not reference.is_file():
        yield FoundModel(name, "transformers", SOURCE, None, problem="its download is not complete")
        return
    snapshot = folder / "snapshots" / reference.read_text(encoding="utf-8", errors="replace").strip()
    if not snapshot.is_dir():
        yield FoundModel(name, "transformers", SOURCE, None, problem="its files are gone")
        return
    files = sorted(snapshot.rglob("*"))
    gone = next((file for file in files if file.is_symlink() and not file.exists()), None)
    if gone is not None:
        problem = f"{gone.name} is gone"
        yield FoundModel(name, "transformers", SOURCE, None, problem=problem)
        return
    model = directory_model(snapshot, name, SOURCE)
    ggufs = [found for file in files if file.suffix == ".gguf" for found in gguf_model(file, SOURCE, name)]
    if model is not None and not (ggufs and model.size is None):  # beside GGUF files a configuration may lie
        yield model
    yield from ggufs
