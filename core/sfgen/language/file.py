"""Write grammars to files for one vocabulary, and read them.

The file is as ``sfgen.index.saved_text`` tells. ``grammar`` is the text of the grammar, and ``options`` how it is read,
as JSON: ``format``, ``start``, ``max_blanks``, and in ``files`` the texts that it imports, by name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from typing import Any

from sfgen.errors import UsageError
from sfgen.index.saved_text import SavedText
from sfgen.language.grammar import Grammar, GrammarSource
from sfgen.protocols import Tokens

_FILE = SavedText("grammar", 1, ("grammar", "options"))
_OPTIONS = ("format", "start", "max_blanks", "files")


def save(grammar: Grammar, vocabulary: Tokens, path: str | PathLike[str], *, force: bool = False) -> None:
    """Write a grammar and its options, for one vocabulary."""
    fields = {"grammar": grammar.text, "options": json.dumps(options_of(grammar))}
    _FILE.save(fields, vocabulary, path, force=force)


def options_of(grammar: Grammar) -> dict[str, Any]:
    """Return how a grammar's text is read, as :func:`grammar_of` takes it."""
    return {name: getattr(grammar, name) for name in _OPTIONS} | {"files": dict(grammar.files)}


def grammar_of(text: str, options: Mapping[str, Any]) -> Grammar:
    """Read a grammar from its text and what :func:`options_of` returned."""
    if tuple(options) != _OPTIONS:
        raise ValueError("no options")
    return GrammarSource(text, **options).grammar()


def load(path: str | PathLike[str], vocabulary: Tokens) -> Grammar:
    """Read a grammar that was saved for the same vocabulary."""
    return _grammar_of(path, _FILE.load(path, vocabulary))


def saved_grammar(path: str | PathLike[str]) -> Grammar | None:
    """Read the grammar in a file, whatever the vocabulary."""
    metadata = _FILE.read(path)
    return None if metadata is None else _grammar_of(path, metadata)


def _grammar_of(path: str | PathLike[str], metadata: dict[str, str]) -> Grammar:
    try:
        return grammar_of(metadata["grammar"], json.loads(metadata["options"]))
    except (ValueError, TypeError, AttributeError, UsageError, RecursionError):
        raise _FILE.damaged(path, "its options are not in order") from None
