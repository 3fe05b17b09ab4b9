"""Write documents that are quoted to files for one vocabulary, and read them.

The file is as ``sfgen.index.saved_text`` tells. ``document`` is the text of the document, and ``options`` how it is
quoted, as JSON: ``unit``, ``least`` and ``most``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from typing import Any

from sfgen.errors import SfgenError
from sfgen.index.saved_text import SavedText
from sfgen.protocols import Tokens
from sfgen.substring.substring import Substring

_FILE = SavedText("substring", 1, ("document", "options"))
_OPTIONS = ("unit", "least", "most")


def save(substring: Substring, vocabulary: Tokens, path: str | PathLike[str], *, force: bool = False) -> None:
    """Write a document and its options, for one vocabulary."""
    fields = {"document": substring.text, "options": json.dumps(options_of(substring))}
    _FILE.save(fields, vocabulary, path, force=force)


def options_of(substring: Substring) -> dict[str, Any]:
    """Return how a document is quoted, as :func:`substring_of` takes it."""
    return {name: getattr(substring, name) for name in _OPTIONS}


def substring_of(text: str, options: Mapping[str, Any]) -> Substring:
    """Make the constraint of a document and what :func:`options_of` returned."""
    if tuple(options) != _OPTIONS:
        raise ValueError("no options")
    return Substring(text, **options)


def check(path: str | PathLike[str], vocabulary: Tokens) -> None:
    """Check a file as ``load`` does; its document is not read."""
    _FILE.load(path, vocabulary)


def load(path: str | PathLike[str], vocabulary: Tokens) -> Substring:
    """Read a document that was saved for the same vocabulary."""
    return _substring_of(path, _FILE.load(path, vocabulary))


def saved_substring(path: str | PathLike[str]) -> Substring | None:
    """Read the document in a file, whatever the vocabulary; ``None`` if the file is something else."""
    metadata = _FILE.read(path)
    return None if metadata is None else _substring_of(path, metadata)


def _substring_of(path: str | PathLike[str], metadata: Mapping[str, str]) -> Substring:
    try:
        return substring_of(metadata["document"], json.loads(metadata["options"]))
    except (SfgenError, ValueError, TypeError, AttributeError, RecursionError):
        raise _FILE.damaged(path, "its options are not in order") from None
