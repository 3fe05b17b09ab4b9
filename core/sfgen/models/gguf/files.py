"""The files of a GGUF model, checked before llama.cpp sees them."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from sfgen.errors import ModelError
from sfgen.models.gguf.header import Header, is_gguf, read_header

_PART = re.compile(r"(.*)-(\d{5})-of-(\d{5})\.gguf")
"""How the name of each of several files ends: its number, from 1 on, and how many there are."""


@dataclass(frozen=True)
class GgufFiles:
    """A GGUF model on disk.

    Attributes:
        name: What messages call it.
        headers: The header of each of its files; the first has the metadata.
    """

    name: str
    headers: tuple[Header, ...]

    @property
    def first(self) -> Header:
        """The header with the metadata."""
        return self.headers[0]

    @property
    def size(self) -> int:
        """The size of all files in bytes."""
        return sum(header.size for header in self.headers)

    @property
    def has_rotations_by_length(self) -> bool:
        """Whether rotary frequencies depend on the length of the context."""
        return any(header.has_rotations_by_length for header in self.headers)


def gguf_path(name: str | Path) -> Path | None:
    """Return the path of a GGUF file, or ``None``.

    Its content counts, whatever its name.
    """
    path = Path(os.path.expanduser(name))
    return path if os.path.isfile(path) and is_gguf(path) else None  # Path.is_file raises where a name is too long


def read_files(path: Path, name: str) -> GgufFiles:
    """Read the headers of a model in one file or several.

    Args:
        path: A GGUF file; of several files, the first.
        name: What messages call the model.

    Raises:
        ModelError: A file is damaged, cut short or missing, or this is not the first one.
    """
    first = read_header(path, name)
    if first.parts == 1:
        return GgufFiles(name, (first,))
    match = _PART.fullmatch(path.name)
    if match is None:
        raise ModelError(
            f"no model {name}: it is one of {first.parts} files, and its name does not say which",
            hint=f"Give the files the names that they had: NAME-00001-of-{first.parts:05}.gguf and so on.",
        )
    names = [f"{match[1]}-{number:05}-of-{match[3]}.gguf" for number in range(1, first.parts + 1)]
    if first.part != 0:
        raise ModelError(f"no model {name}: it is not the first of its files", hint=f"Give {path.with_name(names[0])}")
    missing = [each for each in names if not path.with_name(each).is_file()]
    if missing:
        raise ModelError(f"no model {name}: {missing[0]} is missing", hint="All of its files must lie in one folder.")
    others = [read_header(path.with_name(each), str(path.with_name(each))) for each in names[1:]]
    return GgufFiles(name, (first, *others))
