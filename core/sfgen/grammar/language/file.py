"""Write grammars to files for one vocabulary, and read them.

The file has the format of ``sfgen.index.saved_text``. Its field ``grammar`` is the text. Its field ``options`` is JSON:
``format``, ``start``, ``max_blanks``, ``files`` (the imported texts by name), and ``indenter``, the options of the
indenter if they are unusual.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

from sfgen.errors import UsageError
from sfgen.grammar.language.grammar import Grammar, GrammarSource
from sfgen.index.saved_text import SavedText
from sfgen.protocols import Tokens

_OPTIONS = ("format", "start", "max_blanks", "files")
_INDENTER = "indenter"


def save(grammar: Grammar, vocabulary: Tokens, path: str | PathLike[str], *, force: bool = False) -> None:
    """Write a grammar and its options, for one vocabulary."""
    _FILE.save(grammar.text, options_of(grammar), vocabulary, path, force=force)


def options_of(grammar: Grammar) -> dict[str, Any]:
    """Return the options of a grammar's text, as :func:`grammar_of` takes them."""
    own = {name: value for name, value in grammar.to_dict().items() if name == _INDENTER}
    return {name: getattr(grammar, name) for name in _OPTIONS} | {"files": dict(grammar.files)} | own


def grammar_of(text: str, options: Mapping[str, Any]) -> Grammar:
    """Read a grammar from its text and the options of :func:`options_of`."""
    if tuple(options) not in (_OPTIONS, (*_OPTIONS, _INDENTER)):
        raise ValueError("not the options of a grammar")
    return GrammarSource(text, **options).grammar()


def load(path: str | PathLike[str], vocabulary: Tokens) -> Grammar:
    """Read a grammar that was saved for the same vocabulary."""
    return _FILE.load(path, vocabulary)


def saved_grammar(path: str | PathLike[str]) -> Grammar | None:
    """Read the grammar in a file for any vocabulary; ``None`` if the file contains something else."""
    return _FILE.saved(path)


_FILE = SavedText("grammar", 1, ("grammar", "options"), grammar_of, damage=(UsageError,))
