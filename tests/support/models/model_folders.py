"""Folders as huggingface_hub and Ollama lay them out, with files that are as small as may be."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

COMMIT = "c" * 40
CONFIG = json.dumps({"model_type": "llama"})
GGUF = b"GGUF" + bytes(96)


def model_directory(directory: Path, *, size: int = 300) -> Path:
    """What looks like a model of transformers: its weights have ``size`` bytes."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "config.json").write_text(CONFIG)
    (directory / "model.safetensors").write_bytes(bytes(size))
    return directory


def cached(cache: Path, name: str, **files: str | bytes) -> Path:
    """A model in a cache of the hub: files that point to blobs; ``__`` in a name is a dot. Its folder."""
    folder = cache / f"models--{name.replace('/', '--')}"
    snapshot = folder / "snapshots" / COMMIT
    for made in (snapshot, folder / "blobs", folder / "refs"):
        made.mkdir(parents=True)
    (folder / "refs" / "main").write_text(COMMIT)
    for file, content in files.items():
        data = content.encode() if isinstance(content, str) else content
        blob = folder / "blobs" / hashlib.sha256(data).hexdigest()
        blob.write_bytes(data)
        (snapshot / file.replace("__", ".")).symlink_to(blob)
    return folder


def of_ollama(folder: Path, name: str, data: bytes = GGUF, *, host: str = "registry.ollama.ai") -> Path:
    """A model of Ollama, ``owner/name:tag``; its blob."""
    path, _, tag = name.partition(":")
    digest = hashlib.sha256(data).hexdigest()
    manifest = folder / "manifests" / host / path / tag
    manifest.parent.mkdir(parents=True, exist_ok=True)
    layers = [
        {"mediaType": "application/vnd.ollama.image.template", "digest": "sha256:0", "size": 3},
        {"mediaType": "application/vnd.ollama.image.model", "digest": f"sha256:{digest}", "size": len(data)},
    ]
    manifest.write_text(json.dumps({"schemaVersion": 2, "layers": layers}))
    blob = folder / "blobs" / f"sha256-{digest}"
    blob.parent.mkdir(exist_ok=True)
    blob.write_bytes(data)
    return blob
