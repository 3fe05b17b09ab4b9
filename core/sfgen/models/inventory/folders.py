"""Models among the files of a folder: directories that save_pretrained() wrote, and GGUF files."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

from sfgen.errors import SfgenError
from sfgen.models.gguf.header import is_gguf
from sfgen.models.inventory.found import FoundModel
from sfgen.models.weight_files import checkpoint_files

_PART = re.compile(r"(.*)-(\d{5})-of-(\d{5})\.gguf")
"""The name of one of several files of a GGUF model: its number, and how many there are."""


def models_in(folder: Path, source: str, *, depth: int = 0) -> Iterator[FoundModel]:
    """Find the models in a folder and the folders in it.

    Hidden and unreadable entries are passed over.

    Args:
        folder: Where to look; models are named by their paths from there.
        source: Where that is, for people.
        depth: How many levels of folders to descend.
    """
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        path = folder / entry.name
        if entry.name.startswith("."):
            continue
        if path.is_file():  # which a pipe is not
            yield from gguf_model(path, source)
        elif path.is_dir():
            model = directory_model(path, typed(path), source)
            if model is not None:
                yield model
            elif depth:
                yield from models_in(path, source, depth=depth - 1)


def directory_model(directory: Path, name: str, source: str) -> FoundModel | None:
    """Describe the transformers model in a directory.

    Args:
        directory: Where to look.
        name: What ``load_model`` takes for it.
        source: Where it was found, for people.

    Returns:
        ``None`` if there is no configuration of one.
    """
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
    """Find the GGUF model in a file, whatever the file's name.

    A model in several files is found at the first.

    Args:
        file: The file. One with an ending other than ``.gguf`` is passed over.
        source: Where it was found, for people.
        about: What is known of it.
    """
    if file.suffix not in ("", ".gguf"):
        return
    has_magic = is_gguf(file)
    if not has_magic and file.suffix != ".gguf":
        return
    files, part = [file], _PART.fullmatch(file.name)
    if part is not None:
        if int(part[2]) != 1:
            return
        count = int(part[3])
        files = [file.with_name(f"{part[1]}-{number:05}-of-{part[3]}.gguf") for number in range(1, count + 1)]
    missing = [each.name for each in files if not each.is_file()]
    problem = f"{missing[0]} is missing" if missing else "" if has_magic else "it is no GGUF file"
    size = None if problem else sum(each.stat().st_size for each in files)
    yield FoundModel(typed(file), "GGUF", source, size, about, problem)


def typed(path: Path) -> str:
    """Write a path so that ``load_model`` takes it for a path.

    >>> typed(Path("tiny")), typed(Path("../tiny")), typed(Path())
    ('./tiny', '../tiny', '.')
    """
    name = str(path)
    return name if path.is_absolute() or name.startswith(os.curdir) else os.path.join(os.curdir, name)
