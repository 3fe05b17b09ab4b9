"""Saved constraints that are a text and its options: the files of schemas and grammars.

The file is in the format safetensors, without arrays: the length of a header in 8 bytes, and the header as JSON, with a
string map of these fields:

    format                   the kind of constraint, and the version of this format
    sfgen                    the version of sfgen that wrote it
    …                        the text and its options, by the names that each kind has for them
    vocabulary_fingerprint   the digest of all tokens' bytes and of the end tokens
    tokens                   how many there are
    checksum                 SHA-256 of the header with zeros in this place

Automata are made from the text again when it is loaded, so a forged file allows no more than the text in it, and is
held to the same limits. The checksum detects damage; it is not a signature. A header has one form only.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Generic, TypeVar

import sfgen
from sfgen import arguments
from sfgen.errors import IndexFileError, OtherVocabulary, SavedKind, SfgenError, UnusableIndex
from sfgen.index.atomic_write import OpenFile, destination_of, in_the_way, write_whole
from sfgen.protocols import Tokens

_LONGEST = 1 << 24  # bytes of a header; a schema's text has at most a quarter of it
NO_CHECKSUM = "0" * 64
_BEFORE, _BEHIND = ("format", "sfgen"), ("vocabulary_fingerprint", "tokens", "checksum")
_DAMAGE = (ValueError, TypeError, LookupError, AttributeError, RecursionError)  # raised for values of a wrong kind

C = TypeVar("C")
"""A kind of constraint."""


@dataclass(frozen=True)
class SavedText(Generic[C]):
    """One kind of saved constraint, whose texts become constraints when they are loaded."""

    kind: SavedKind  # ``"schema"`` in the format ``sfgen-schema-1``
    version: int
    keys: tuple[str, str]  # the fields of this kind, besides those of all: the text, and what is said of it as JSON
    made_of: Callable[[str, Any], C]  # makes a constraint of these two
    damage: tuple[type[SfgenError], ...] = ()  # what it raises for a damaged file; other errors are about the text

    @property
    def format(self) -> str:
        """The name of the format, with its version."""
        return f"sfgen-{self.kind}-{self.version}"

    def save(
        self, text: str, facts: Mapping[str, Any], vocabulary: Tokens, path: str | PathLike[str], *, force: bool
    ) -> None:
        """Write a constraint's text and its options to a file; other content there is replaced only with ``force``."""
        target = arguments.path("path", path, error=IndexFileError)
        arguments.flag("force", force)
        metadata = {
            "format": self.format,
            "sfgen": sfgen.__version__,
            **dict(zip(self.keys, (text, json.dumps(facts)), strict=True)),
            "vocabulary_fingerprint": vocabulary.fingerprint,
            "tokens": str(len(vocabulary)),
        }
        content = encode_header({**metadata, "checksum": digest(metadata)})
        if len(content) > _LONGEST:
            raise IndexFileError(
                f"the {self.kind} takes {len(content):,} bytes in a file, and the limit is {_LONGEST:,}",
                hint="Give it as it is, instead of saving it.",
            )
        destination = destination_of(target)
        if destination.exists() and not force and not self._holds(target, metadata):
            raise in_the_way(target)
        write_whole(target, [content])

    def load(self, path: str | PathLike[str], vocabulary: Tokens) -> C:
        """Read a constraint that was saved for the same vocabulary."""
        return self._made(path, self.check(path, vocabulary))

    def saved(self, path: str | PathLike[str]) -> C | None:
        """Read the constraint in a file for any vocabulary; ``None`` if the file is something else."""
        metadata = self.read(path)
        return None if metadata is None else self._made(path, metadata)

    def _made(self, path: str | PathLike[str], metadata: Mapping[str, str]) -> C:
        text, facts = self.keys
        damage: tuple[type[Exception], ...] = (*self.damage, *_DAMAGE)
        try:
            return self.made_of(metadata[text], json.loads(metadata[facts]))
        except damage:
            raise self.damaged(path, f"its {facts} are not in order") from None

    def check(self, path: str | PathLike[str], vocabulary: Tokens) -> dict[str, str]:
        """Read the fields of a file that was saved for the same vocabulary."""
        metadata = self.read(path)
        if metadata is None:
            raise IndexFileError(f"{path} is not a {self.kind} that sfgen saved")
        if (metadata["vocabulary_fingerprint"], metadata["tokens"]) != (vocabulary.fingerprint, str(len(vocabulary))):
            saved = int(metadata["tokens"]), metadata["vocabulary_fingerprint"]
            raise OtherVocabulary(path, self.kind, saved=saved, given=(len(vocabulary), vocabulary.fingerprint))
        return metadata

    def read(self, path: str | PathLike[str]) -> dict[str, str] | None:
        """Read the fields of a file, for any vocabulary."""
        file = OpenFile(arguments.path("path", path, error=IndexFileError))
        beginning = f'{{"__metadata__":{{"format":"sfgen-{self.kind}-'.encode()
        if file.size < 8 + len(beginning) or file.read(8, len(beginning)) != beginning:
            return None
        length = int.from_bytes(file.read(0, 8), "little")
        if length > _LONGEST or length != file.size - 8:
            raise self.damaged(file.path, "it is not as long as it says")
        content = file.read(0, file.size)
        try:
            metadata: Any = json.loads(content[8:])["__metadata__"]
            is_whole = all(isinstance(text, str) for text in metadata.values()) and encode_header(metadata) == content
        except _DAMAGE:
            is_whole = False
        if not is_whole:
            raise self.damaged(file.path, "its header is not in order")
        if metadata["format"] != self.format:
            shown = metadata["format"][:40]
            raise UnusableIndex(file.path, f"has the format {shown}; this sfgen reads {self.format}", self.kind)
        if tuple(metadata) != (*_BEFORE, *self.keys, *_BEHIND) or metadata["checksum"] != digest(metadata):
            raise self.damaged(file.path, "it does not agree with its checksum")
        told = metadata["vocabulary_fingerprint"], metadata["tokens"]
        if not re.fullmatch("[0-9a-f]{64} [0-9]{1,9}", " ".join(told)):
            raise self.damaged(file.path, "its vocabulary is not told")
        found: dict[str, str] = metadata
        return found

    def damaged(self, path: str | PathLike[str], why: str) -> UnusableIndex:
        """Return the error for a damaged file."""
        return UnusableIndex(path, f"is damaged: {why}", self.kind)

    def _holds(self, path: Path, metadata: Mapping[str, str]) -> bool:
        """Whether a file has the same content, whichever version wrote it."""
        try:
            found = self.read(path)
        except SfgenError:
            return False
        return found is not None and all(found[key] == metadata[key] for key in metadata if key != "sfgen")


def encode_header(metadata: Mapping[str, str], arrays: Mapping[str, Any] | None = None) -> bytes:
    """Encode a string map, and descriptions of arrays, as a header with its length before it."""
    text = json.dumps({"__metadata__": metadata, **(arrays or {})}, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def digest(metadata: Mapping[str, str]) -> str:
    """Return the checksum of a string map, in hexadecimal digits."""
    return hashlib.sha256(encode_header({**metadata, "checksum": NO_CHECKSUM})).hexdigest()
