"""Save quoted documents in files for one vocabulary, and load them.

The format is that of ``sfgen.index.saved_text``. ``document`` is the text of the document; ``options`` has the options
of the quotation as JSON: ``unit``, ``least`` and ``most``.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

from sfgen.errors import SfgenError
from sfgen.index.saved_text import SavedText
from sfgen.protocols import Tokens
from sfgen.substring.substring import Substring

_OPTIONS = ("unit", "least", "most")


def save(substring: Substring, vocabulary: Tokens, path: str | PathLike[str], *, force: bool = False) -> None:
    """Write a document and its options, for one vocabulary."""
    _FILE.save(substring.text, options_of(substring), vocabulary, path, force=force)


def options_of(substring: Substring) -> dict[str, Any]:
    """Return the options of a quotation, as :func:`substring_of` takes them."""
    return {name: getattr(substring, name) for name in _OPTIONS}


def substring_of(text: str, options: Mapping[str, Any]) -> Substring:
    """Make the constraint from a document and the result of :func:`options_of`."""
    if tuple(options) != _OPTIONS:
        raise ValueError("no options")
    return Substring(text, **options)


def check(path: str | PathLike[str], vocabulary: Tokens) -> None:
    """Check a file as ``load`` does; its document is not read."""
    _FILE.check(path, vocabulary)


def load(path: str | PathLike[str], vocabulary: Tokens) -> Substring:
    """Read a document that was saved for the same vocabulary."""
    return _FILE.load(path, vocabulary)


def saved_substring(path: str | PathLike[str]) -> Substring | None:
    """Read the document in a file for any vocabulary; ``None`` if the file is something else."""
    return _FILE.saved(path)


_FILE = SavedText("substring", 1, ("document", "options"), substring_of, damage=(SfgenError,))
