"""The models on this machine, found without importing anything heavy: only names and sizes of files are read.

They are the built-in ones, those among the files of a folder (directories that save_pretrained() wrote, and GGUF
files), those in the cache of the Hugging Face hub, and those that Ollama has downloaded.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sfgen import arguments
from sfgen.errors import SfgenError
from sfgen.models.gguf.header import PART_NAME, is_gguf
from sfgen.models.weight_files import checkpoint_files

__all__ = ["BUILT_IN", "FoundModel", "built_in_models", "models_here"]

BUILT_IN = {
    "tiny": "comes with sfgen",
    "uniform": "no preference",
    "zip:": "a compressor that has read a file",
}
"""The models that come with sfgen, each with a description."""

_TINY = Path(__file__).parent / "tiny" / "weights" / "model.safetensors"

HUB_CACHE = "hub cache"
_PREFIX = "models--"

OLLAMA = "Ollama"
_LAYER = "application/vnd.ollama.image.model"
_HOST, _OWNER = "registry.ollama.ai", "library"  # which its names leave out
_OF_THE_SERVICE = "/usr/share/ollama/.ollama/models"

_HERE = "file"


@dataclass(frozen=True)
class FoundModel:
    """A model on this machine.

    Attributes:
        name: What ``load_model`` takes.
        kind: ``built in``, ``transformers`` or ``GGUF``.
        source: The place: ``sfgen``, ``file``, ``hub cache`` or ``Ollama``.
        size: The size of its weights in bytes; ``None`` if it has none, or if they are missing.
        about: The architecture, or its name in Ollama; empty if unknown.
        problem: The reason why it cannot be used; empty if none is known.
    """

    name: str
    kind: str
    source: str
    size: int | None
    about: str = ""
    problem: str = ""


def built_in_models() -> list[FoundModel]:
    """List the models that come with sfgen."""
    size = _TINY.stat().st_size if _TINY.is_file() else None
    return [
        FoundModel(f"{name}FILE" if name.endswith(":") else name, "built in", "sfgen", size if name == "tiny" else None,
                   about)
        for name, about in BUILT_IN.items()
    ]  # fmt: skip


def models_here(folder: str | Path = os.curdir) -> Iterator[FoundModel]:
    """List the models in a folder, the hub's cache and Ollama's."""
    folder = arguments.path("folder", folder)
    itself = directory_model(folder, typed(folder), _HERE)
    yield from [itself] if itself is not None else models_in(folder, _HERE, depth=1)
    yield from cached_models(cache_folder())
    for folder in ollama_folders():
        yield from ollama_models(folder)


def models_in(folder: Path, source: str, *, depth: int = 0) -> Iterator[FoundModel]:
    """Find the models in a folder and the folders in it."""
    # Hidden and unreadable entries are passed over.
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        path = folder / entry.name
        if entry.name.startswith("."):
            continue
        if path.is_file():  # a pipe, for one, is not
            yield from gguf_model(path, source)
        elif path.is_dir():
            model = directory_model(path, typed(path), source)
            if model is not None:
                yield model
            elif depth:
                yield from models_in(path, source, depth=depth - 1)


def directory_model(directory: Path, name: str, source: str) -> FoundModel | None:
    """Describe the transformers model in a directory."""
    try:
        config = json.loads((directory / "config.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, PermissionError):
        return None
    except (OSError, ValueError):
        return FoundModel(name, "transformers", source, None, problem="its config.json cannot be read")
    if not isinstance(config, dict) or "model_type" not in config:
        return None
    about = str(config["model_type"])
    try:
        files = checkpoint_files(directory)
    except SfgenError as error:
        return FoundModel(name, "transformers", source, None, about, error.message)
    missing = [file.name for file in files if not file.is_file()]
    problem = f"{missing[0]} is missing" if missing else "" if files else "its weights are not there"
    size = sum(file.stat().st_size for file in files) if files and not missing else None
    return FoundModel(name, "transformers", source, size, about, problem)


def gguf_model(file: Path, source: str, about: str = "") -> Iterator[FoundModel]:
    """Find the GGUF model in a file, whatever the file's name."""
    # A model in several files is found at the first.
    if file.suffix not in ("", ".gguf"):
        return
    has_magic = is_gguf(file)
    if not has_magic and file.suffix != ".gguf":
        return
    files, part = [file], PART_NAME.fullmatch(file.name)
    if part is not None:
        if int(part[2]) != 1:
            return
        count = int(part[3])
        files = [file.with_name(f"{part[1]}-{number:05}-of-{part[3]}.gguf") for number in range(1, count + 1)]
    missing = [each.name for each in files if not each.is_file()]
    problem = f"{missing[0]} is missing" if missing else "" if has_magic else "it is not a GGUF file"
    size = None if problem else sum(each.stat().st_size for each in files)
    yield FoundModel(typed(file), "GGUF", source, size, about, problem)


def typed(path: Path) -> str:
    """Write a path so that ``load_model`` reads it as a path, not as a name.

    >>> typed(Path("tiny")), typed(Path("../tiny")), typed(Path())
    ('./tiny', '../tiny', '.')
    """
    name = str(path)
    return name if path.is_absolute() or name.startswith(os.curdir) else os.path.join(os.curdir, name)


def cache_folder() -> Path:
    """Return the folder of the hub's cache, as huggingface_hub chooses it."""
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if os.environ.get(name):
            return _expanded(os.environ[name])
    home = os.environ.get("HF_HOME") or os.path.join(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "huggingface")
    return _expanded(home) / "hub"


def _expanded(path: str) -> Path:
    return Path(os.path.expandvars(os.path.expanduser(path)))


def cached_models(cache: Path) -> Iterator[FoundModel]:
    """Find the models in the hub's cache, including broken ones."""
    # A folder models--OWNER--NAME has refs/main, which names a folder in snapshots, in which files point to blobs. A
    # name without any files is passed over.
    for folder in sorted(cache.glob(f"{_PREFIX}*")):
        name = folder.name.removeprefix(_PREFIX).replace("--", "/")
        try:
            yield from _models_of(folder, name)
        except OSError as error:
            yield FoundModel(
                name, "transformers", HUB_CACHE, None, problem=f"cannot be read: {error.strerror or error}"
            )


def _models_of(folder: Path, name: str) -> Iterator[FoundModel]:
    """Find the models of one name: that of transformers, and each GGUF file."""
    if not (folder / "snapshots").is_dir():
        if (folder / "blobs").is_dir():
            yield FoundModel(name, "transformers", HUB_CACHE, None, problem="its download is not complete")
        return
    reference = folder / "refs" / "main"
    if not reference.is_file():
        yield FoundModel(name, "transformers", HUB_CACHE, None, problem="its download is not complete")
        return
    snapshot = folder / "snapshots" / reference.read_text(encoding="utf-8", errors="replace").strip()
    if not snapshot.is_dir():
        yield FoundModel(name, "transformers", HUB_CACHE, None, problem="its files are gone")
        return
    files = sorted(snapshot.rglob("*"))
    gone = next((file for file in files if file.is_symlink() and not file.exists()), None)
    if gone is not None:
        problem = f"{gone.name} is gone"
        yield FoundModel(name, "transformers", HUB_CACHE, None, problem=problem)
        return
    model = directory_model(snapshot, name, HUB_CACHE)
    ggufs = [found for file in files if file.suffix == ".gguf" for found in gguf_model(file, HUB_CACHE, name)]
    if model is not None and not (ggufs and model.size is None):  # beside GGUF files a configuration may lie
        yield model
    yield from ggufs


def ollama_folders() -> list[Path]:
    """Return the folders in which Ollama keeps models: the user's, and its service's."""
    named = os.environ.get("OLLAMA_MODELS")
    return [Path(named)] if named else [Path(os.path.expanduser("~/.ollama/models")), Path(_OF_THE_SERVICE)]


def ollama_models(folder: Path) -> Iterator[FoundModel]:
    """Find the models in a folder of Ollama; ``about`` is Ollama's name."""
    # manifests/HOST/OWNER/NAME/TAG is JSON; of its layers the one with the model names a file in blobs.
    for manifest in sorted((folder / "manifests").glob("*/*/*/*")):
        host, owner, name, tag = manifest.relative_to(folder / "manifests").parts
        owners = [*([host] if host != _HOST else []), *([owner] if (host, owner) != (_HOST, _OWNER) else [])]
        called = "/".join([*owners, f"{name}:{tag}"])
        yield _model_of(manifest, folder / "blobs", called)


def _model_of(manifest: Path, blobs: Path, called: str) -> FoundModel:
    try:
        layer = _model_layer(json.loads(manifest.read_text(encoding="utf-8")))
    except (OSError, ValueError, LookupError, TypeError):
        return FoundModel(str(manifest), "GGUF", OLLAMA, None, called, "its manifest cannot be read")
    blob = blobs / layer.replace(":", "-")
    if not blob.is_file():
        return FoundModel(str(blob), "GGUF", OLLAMA, None, called, "its file is gone")
    if not is_gguf(blob):
        return FoundModel(str(blob), "GGUF", OLLAMA, None, called, "it is not a GGUF file")
    return FoundModel(str(blob), "GGUF", OLLAMA, blob.stat().st_size, called)


def _model_layer(manifest: Any) -> str:
    """Return the digest of the layer that holds the model."""
    digests = [str(layer["digest"]) for layer in manifest["layers"] if layer["mediaType"] == _LAYER]
    return digests[0]
