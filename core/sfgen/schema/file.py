"""Saved schemas: what ``sfgen index --schema --save`` writes, and ``gen --index`` reads.

The file is in the format safetensors, without arrays: the length of a header in 8 bytes, and the header as JSON, whose
string map says what is saved:

    format                   the version of what is written here
    sfgen                    the version of sfgen that wrote it
    schema                   the schema as JSON, its numbers as they were
    options                  how its values are written, as JSON
    vocabulary_fingerprint   the digest of all tokens' bytes and of the end tokens
    tokens                   how many there are
    checksum                 SHA-256 of the header with zeros in this place

Rules are made of the schema again when it is loaded: a file that somebody made up can say nothing that the schema in it
does not say, and meets the same limits. The checksum tells damage; it is no signature. A header has one form only.
"""

from __future__ import annotations

import hashlib
import json
import re
from os import PathLike
from typing import Any

import sfgen
from sfgen import arguments
from sfgen.errors import IndexFileError, SfgenError
from sfgen.index.atomic_write import destination_of, write_whole
from sfgen.index.open_file import MAKE_AGAIN, OpenFile
from sfgen.protocols import Tokens
from sfgen.schema.json_schema import JsonSchema
from sfgen.schema.words import as_json

FORMAT = "sfgen-schema-1"

_BEGINNING = b'{"__metadata__":{"format":"sfgen-schema-'
_LONGEST = 1 << 24  # bytes of a header; a schema's text has at most a quarter of it
_NO_CHECKSUM = "0" * 64
_KEYS = ("format", "sfgen", "schema", "options", "vocabulary_fingerprint", "tokens", "checksum")


def save(schema: JsonSchema, vocabulary: Tokens, path: str | PathLike[str], *, force: bool = False) -> None:
    """Write a schema and its options, for one vocabulary.

    Args:
        schema: The schema.
        vocabulary: What it is to be used with.
        path: The file.
        force: Whether a file that holds something else is replaced.

    Raises:
        IndexFileError: The place cannot be written, or it holds something else and ``force`` is false.
    """
    place = arguments.path("path", path, error=IndexFileError)
    arguments.flag("force", force)
    options = schema.to_dict()
    del options["schema"]
    metadata = {
        "format": FORMAT,
        "sfgen": sfgen.__version__,
        "schema": as_json(schema.document.root),
        "options": json.dumps(options),
        "vocabulary_fingerprint": vocabulary.fingerprint,
        "tokens": str(len(vocabulary)),
    }
    content = _encoded({**metadata, "checksum": _digest(metadata)})
    destination = destination_of(place)
    if destination.exists() and not force and not _holds(place, metadata):
        raise IndexFileError(
            f"{place} exists and holds something else", hint="Name another file, or replace it with --force."
        )
    write_whole(place, [content])


def load(path: str | PathLike[str], vocabulary: Tokens) -> JsonSchema:
    """Read a schema that was saved for the same vocabulary.

    Raises:
        IndexFileError: No such file, no saved schema, damaged, or made for another vocabulary.
        SchemaError: This version of sfgen does not take the schema in it.
    """
    metadata = _read(OpenFile(arguments.path("path", path, error=IndexFileError)))
    if metadata is None:
        raise IndexFileError(f"{path} is not a schema that sfgen saved")
    if (metadata["vocabulary_fingerprint"], metadata["tokens"]) != (vocabulary.fingerprint, str(len(vocabulary))):
        raise IndexFileError(
            f"{path} was made for another vocabulary",
            details=(
                f"  the file:  {metadata['tokens']} tokens, fingerprint {metadata['vocabulary_fingerprint'][:16]}",
                f"  the model: {len(vocabulary)} tokens, fingerprint {vocabulary.fingerprint[:16]}",
            ),
            hint="Use the model that it was made for, or make it again with: sfgen index --schema S --save --force",
        )
    return _schema_of(path, metadata)


def saved_schema(path: str | PathLike[str]) -> JsonSchema | None:
    """The schema in a file, whatever the vocabulary; ``None`` if the file is something else.

    Raises:
        IndexFileError: There is no such file, or it is a damaged one of this kind.
        SchemaError: This version of sfgen does not take the schema in it.
    """
    metadata = _read(OpenFile(arguments.path("path", path, error=IndexFileError)))
    return None if metadata is None else _schema_of(path, metadata)


def _read(file: OpenFile) -> dict[str, str] | None:
    """The string map of a saved schema; ``None`` if the file is none at all."""
    if file.size < 8 + len(_BEGINNING) or file.read(8, len(_BEGINNING)) != _BEGINNING:
        return None
    length = int.from_bytes(file.read(0, 8), "little")
    if length > _LONGEST or length != file.size - 8:
        raise IndexFileError(f"{file.path} is damaged: it is not as long as it says", hint=MAKE_AGAIN)
    content = file.read(0, file.size)
    try:
        metadata: Any = json.loads(content[8:])["__metadata__"]
        is_whole = all(isinstance(text, str) for text in metadata.values()) and _encoded(metadata) == content
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        is_whole = False
    if not is_whole:
        raise IndexFileError(f"{file.path} is damaged: its header is not in order", hint=MAKE_AGAIN)
    if metadata["format"] != FORMAT:
        shown = metadata["format"][:40]
        raise IndexFileError(f"{file.path} has the format {shown}; this sfgen reads {FORMAT}", hint=MAKE_AGAIN)
    if tuple(metadata) != _KEYS or metadata["checksum"] != _digest(metadata):
        raise IndexFileError(f"{file.path} is damaged: it does not agree with its checksum", hint=MAKE_AGAIN)
    if not re.fullmatch("[0-9a-f]{64}", metadata["vocabulary_fingerprint"]):
        raise IndexFileError(f"{file.path} is damaged: its vocabulary is not told", hint=MAKE_AGAIN)
    found: dict[str, str] = metadata
    return found


def _schema_of(path: str | PathLike[str], metadata: dict[str, str]) -> JsonSchema:
    text = metadata["schema"]
    try:
        options = json.loads(metadata["options"])
        if not text.startswith("{") and text not in ("true", "false"):
            raise ValueError("no schema")  # a name of a file is never followed
        return JsonSchema(text, **options)
    except (ValueError, TypeError, RecursionError):
        raise IndexFileError(f"{path} is damaged: its options are not in order", hint=MAKE_AGAIN) from None


def _holds(path: Any, metadata: dict[str, str]) -> bool:
    """Whether a file has the same in it, whichever version wrote it."""
    try:
        found = _read(OpenFile(path))
    except SfgenError:
        return False
    return found is not None and all(found[key] == metadata[key] for key in metadata if key != "sfgen")


def _encoded(metadata: dict[str, str]) -> bytes:
    text = json.dumps({"__metadata__": metadata}, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def _digest(metadata: dict[str, str]) -> str:
    return hashlib.sha256(_encoded({**metadata, "checksum": _NO_CHECKSUM})).hexdigest()
