"""A grammar of lark with its lexer, read from the user's cache folder where it was made before.

For its own grammar of Python lark takes half a second, and the lexer as long. A file is for one text, one start, the
files that were imported and all code that has a part in it; nothing that is in the folder is needed, and what is
damaged is made again. lark is not imported for what was found: only when it has to judge a text.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import unicodedata
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import sfgen
from sfgen.cache_folders import is_usable, user_folders
from sfgen.errors import SfgenError
from sfgen.index.atomic_write import write_whole
from sfgen.lalr.lark_package import Importer, LarkGrammar, read_lark
from sfgen.lalr.lexer import make_lexer
from sfgen.lalr.tables import Context, Lexer, ParseTables, Rule, Terminal

FOLDER = "grammars"
"""Its name in the user's cache folder."""

MAX_FILES = 200
"""The most files that are kept there; the oldest go first."""

_SUFFIX = ".tables"
_CODE = ("lalr", "automata", "regex")
"""The packages that have a part in what is kept."""


class CompiledGrammar(NamedTuple):
    """A grammar and its lexer.

    Attributes:
        grammar: The grammar.
        lexer: The scanners of its terminals.
    """

    grammar: LarkGrammar
    lexer: Lexer


def compile_lark(
    text: str,
    start: str = "start",
    *,
    max_blanks: int | None = None,
    directory: str | os.PathLike[str] | None = None,
    files: Mapping[str, str] | None = None,
) -> CompiledGrammar:
    """Read a Lark grammar and make its lexer, or load both.

    They are loaded from the cache where they were made before.
    """
    path = _path(text, start, max_blanks, directory, files)
    stored = None if path is None else _load(path, Importer(text, directory, files))
    if stored is not None:
        importer = Importer(text, files=stored.imported)
        importer.found.update(stored.imported)
        return CompiledGrammar(LarkGrammar(text, start, importer, stored.tables), stored.lexer)
    grammar = read_lark(text, start, directory=directory, files=files)
    lexer = make_lexer(grammar.tables, max_blanks, text)
    if path is not None:
        _store(path, Stored(grammar.tables, lexer, grammar.imported, tuple(sorted(grammar.importer.missing))))
    return CompiledGrammar(grammar, lexer)


def cache_folder() -> Path | None:
    """Return the folder of cached grammars; ``None`` where none is writable."""
    return next((folder / FOLDER for folder in user_folders() if is_usable(folder / FOLDER)), None)


def _path(
    text: str,
    start: str,
    max_blanks: int | None,
    directory: str | os.PathLike[str] | None,
    files: Mapping[str, str] | None,
) -> Path | None:
    folder = cache_folder()
    if folder is None:
        return None
    where: object = None
    if "%import" in text:
        where = dict(files) if files is not None else None if directory is None else os.path.realpath(directory)
    # What `re` makes of a pattern depends on Python's version, and \w on that of Unicode.
    made_by = [sfgen.__version__, _lark_version(), list(sys.version_info[:3]), unicodedata.unidata_version, _code()]
    key = json.dumps([made_by, text, start, max_blanks, where], sort_keys=True)
    return folder / (hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest() + _SUFFIX)


@cache
def _lark_version() -> str:
    try:
        return version("lark")
    except PackageNotFoundError:
        return ""


@cache
def _code() -> str:
    """A digest of the code that makes what is kept, so that no change of it is missed."""
    digest = hashlib.sha256()
    for package in _CODE:
        for path in sorted((Path(sfgen.__file__).parent / package).glob("*.py")):
            with contextlib.suppress(OSError):
                digest.update(path.read_bytes())
    return digest.hexdigest()


def _load(path: Path, importer: Importer) -> Stored | None:
    try:
        stored = from_bytes(path.read_bytes())
    except OSError:
        return None
    if stored is None:
        return None
    try:
        same = all(importer.read(name) == content for name, content in stored.imported.items())
        same = same and all(importer.read(name) is None for name in stored.missing)
    except SfgenError:  # a file that is not UTF-8 any more
        return None
    return stored if same else None


def _store(path: Path, stored: Stored) -> None:
    with contextlib.suppress(SfgenError, OSError):
        write_whole(path, [to_bytes(stored)])
        kept = sorted(path.parent.glob("*" + _SUFFIX), key=lambda file: file.stat().st_mtime)
        for file in kept[:-MAX_FILES]:
            file.unlink(missing_ok=True)


_DIGEST = 32  # bytes
_OUTLINE = "outline"
_TABLES = ("actions", "gotos", "context_of")


class Stored(NamedTuple):
    """What a file holds.

    Attributes:
        tables: The tables.
        lexer: The lexer.
        imported: The texts of the files that the grammar imports, by their paths.
        missing: The paths at which lark looked for a file and found none.
    """

    tables: ParseTables
    lexer: Lexer
    imported: dict[str, str]
    missing: tuple[str, ...]


def to_bytes(stored: Stored) -> bytes:
    """Serialize a grammar's tables and lexer."""
    from safetensors.numpy import save

    tables, lexer, imported, missing = stored
    outline = {
        "terminals": tables.terminals,
        "nonterminals": tables.nonterminals,
        "rules": tables.rules,
        "start": tables.start,
        "end": tables.end,
        "contexts": [(ordered, list(unless.items())) for ordered, unless in tables.contexts],
        "ignored": sorted(tables.ignored),
        "imported": imported,
        "missing": missing,
    }
    arrays = {name: getattr(tables, name) for name in _TABLES} | lexer._asdict()
    arrays[_OUTLINE] = np.frombuffer(json.dumps(outline).encode(), dtype=np.uint8)
    data = save({name: np.ascontiguousarray(array) for name, array in arrays.items()})
    return hashlib.sha256(data).digest() + data


def from_bytes(data: bytes) -> Stored | None:
    """Deserialize the bytes of a file; ``None`` if it is damaged."""
    from safetensors.numpy import load

    if hashlib.sha256(data[_DIGEST:]).digest() != data[:_DIGEST]:
        return None
    arrays = load(data[_DIGEST:])
    outline: dict[str, Any] = json.loads(arrays.pop(_OUTLINE).tobytes())
    tables = ParseTables(
        terminals=tuple(Terminal(*terminal) for terminal in outline["terminals"]),
        nonterminals=tuple(outline["nonterminals"]),
        rules=tuple(Rule(nonterminal, tuple(symbols)) for nonterminal, symbols in outline["rules"]),
        start=outline["start"],
        end=outline["end"],
        contexts=tuple(
            Context(tuple(ordered), {terminal: tuple(others) for terminal, others in unless})
            for ordered, unless in outline["contexts"]
        ),
        ignored=frozenset(outline["ignored"]),
        **{name: arrays.pop(name) for name in _TABLES},
    )
    return Stored(tables, Lexer(**arrays), outline["imported"], tuple(outline["missing"]))
