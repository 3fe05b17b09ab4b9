"""A Lark grammar with its lexer, loaded from the user's cache folder where possible.

lark takes half a second for its own grammar of Python, and the lexer takes as long. The name of a file is a hash of the
text, the start rule, the options, the folder of imports, and the code that makes the content; imported files are
compared when it is loaded. Results do not depend on the cache: a damaged file is made again. A loaded grammar imports
lark only when lark has to check a text.

A file contains a SHA-256 digest of the rest, then arrays, one of which is JSON. Nothing in it is executed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import unicodedata
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import sfgen
from sfgen.cache_folders import is_usable, user_folders
from sfgen.errors import SfgenError
from sfgen.grammar.lalr.distances import KnownDistances, TextDistances
from sfgen.grammar.lalr.indentation import Indentation, LayoutTerminals
from sfgen.grammar.lalr.lark_package import Importer, LarkGrammar, read_lark
from sfgen.grammar.lalr.lexer import make_lexer
from sfgen.grammar.lalr.safe_labels import safety_of
from sfgen.grammar.lalr.stack import StateStacks
from sfgen.grammar.lalr.tables import Context, Lexer, ParseTables, Rule, Terminal
from sfgen.index.atomic_write import write_whole

FOLDER = "grammars"
"""The name of the cache in the user's cache folder."""

MAX_FILES = 200
"""The most files that are kept; the oldest are deleted first."""

_SUFFIX = ".tables"
_CODE = ("grammar/lalr", "grammar/shell", "automata", "regex")
"""The packages whose code makes the content."""

_DIGEST = 32  # bytes
_HEADER = "header"
_COST, _SAFE, _KERNELS = "cost", "safe", "kernels"
_TABLES = ("actions", "gotos", "context_of")


class CompiledGrammar(NamedTuple):
    """A grammar and its lexer.

    Attributes:
        grammar: The grammar.
        lexer: The scanners of its terminals.
        distances: The part of the distances that masks need; ``None``: not known yet, or the grammar has no text.
    """

    grammar: LarkGrammar
    lexer: Lexer
    distances: KnownDistances | None = None


class _Stored(NamedTuple):
    """The content of a file.

    Attributes:
        tables: The tables.
        lexer: The lexer.
        distances: The part of the distances that masks need; ``None`` if the grammar has no text.
        imported: The texts of the imported files, by their paths.
        missing: The paths at which lark looked for a file and found none.
    """

    tables: ParseTables
    lexer: Lexer
    distances: KnownDistances | None
    imported: dict[str, str]
    missing: tuple[str, ...]


def compile_lark(
    text: str,
    start: str = "start",
    *,
    max_blanks: int | None = None,
    directory: str | os.PathLike[str] | None = None,
    files: Mapping[str, str] | None = None,
    indentation: Indentation | None = None,
) -> CompiledGrammar:
    """Read a Lark grammar and make its lexer, or load both from the cache.

    ``directory`` or ``files`` contains the files that it imports; ``max_blanks`` is as in
    :func:`~sfgen.grammar.lalr.lexer.make_lexer`.
    """
    path = _path(text, start, max_blanks, directory, files, indentation)
    stored = None if path is None else _load(path, Importer(text, directory, files))
    if stored is not None:
        grammar = LarkGrammar.of_tables(text, start, stored.imported, stored.tables, indentation)
        return CompiledGrammar(grammar, stored.lexer, stored.distances)
    grammar = read_lark(text, start, directory=directory, files=files, indentation=indentation)
    layout = None if indentation is None else LayoutTerminals.of(grammar.tables, indentation, text)
    lexer = make_lexer(grammar.tables, max_blanks, text, layout)
    distances = None
    if path is not None:
        distances = _known_distances(grammar.tables, lexer)
        missing = tuple(sorted(grammar.importer.missing))
        _store(path, _Stored(grammar.tables, lexer, distances, grammar.imported, missing))
    return CompiledGrammar(grammar, lexer, distances)


def _known_distances(tables: ParseTables, lexer: Lexer) -> KnownDistances | None:
    distances = TextDistances(tables, lexer, StateStacks(tables))
    if distances.is_empty:
        return None
    safety = safety_of(distances)
    items = [(state, *item) for state, kernel in enumerate(distances.items.kernels) for item in kernel]
    kernels = np.array(items, dtype=np.int32).reshape(-1, 3)
    return KnownDistances(distances.cost, safety.labels, safety.most_per_node, kernels)


def cache_folder() -> Path | None:
    """Return the folder of cached grammars; ``None`` if none is writable."""
    return next((folder / FOLDER for folder in user_folders() if is_usable(folder / FOLDER)), None)


def _path(
    text: str,
    start: str,
    max_blanks: int | None,
    directory: str | os.PathLike[str] | None,
    files: Mapping[str, str] | None,
    indentation: Indentation | None,
) -> Path | None:
    folder = cache_folder()
    if folder is None:
        return None
    where: object = None
    if "%import" in text:
        where = dict(files) if files is not None else None if directory is None else os.path.realpath(directory)
    # A pattern's meaning depends on Python's version, and \w on that of Unicode.
    made_by = [sfgen.__version__, _lark_version(), list(sys.version_info[:3]), unicodedata.unidata_version, _code()]
    options = None if indentation is None else asdict(indentation)
    key = json.dumps([made_by, text, start, max_blanks, where, options], sort_keys=True)
    return folder / (hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest() + _SUFFIX)


@cache
def _lark_version() -> str:
    try:
        return version("lark")
    except PackageNotFoundError:
        return ""


@cache
def _code() -> str:
    """Return a digest of the code that makes the content."""
    digest = hashlib.sha256()
    for package in _CODE:
        for path in sorted((Path(sfgen.__file__).parent / package).glob("*.py")):
            with contextlib.suppress(OSError):
                digest.update(path.read_bytes())
    return digest.hexdigest()


def _load(path: Path, importer: Importer) -> _Stored | None:
    try:
        stored = _from_bytes(path.read_bytes())
    except OSError:
        return None
    if stored is None:
        return None
    try:
        same = all(importer.read(name) == content for name, content in stored.imported.items())
        same = same and all(importer.read(name) is None for name in stored.missing)
    except SfgenError:  # an imported file that is no longer UTF-8
        return None
    return stored if same else None


def _store(path: Path, stored: _Stored) -> None:
    with contextlib.suppress(SfgenError, OSError):
        write_whole(path, [_to_bytes(stored)])
        kept = sorted(path.parent.glob("*" + _SUFFIX), key=lambda file: file.stat().st_mtime)
        for file in kept[:-MAX_FILES]:
            file.unlink(missing_ok=True)


def _to_bytes(stored: _Stored) -> bytes:
    """Serialize a grammar's tables and lexer."""
    from safetensors.numpy import save

    tables, lexer, distances, imported, missing = stored
    header = {
        "terminals": tables.terminals,
        "nonterminals": tables.nonterminals,
        "rules": tables.rules,
        "start": tables.start,
        "end": tables.end,
        "contexts": [(ordered, list(unless.items())) for ordered, unless in tables.contexts],
        "ignored": sorted(tables.ignored),
        "quotations": tables.quotations,
        "imported": imported,
        "missing": missing,
    }
    arrays = {name: getattr(tables, name) for name in _TABLES} | lexer._asdict()
    if distances is not None:
        header["most_per_node"] = distances.most_per_node
        arrays |= {_COST: distances.cost, _SAFE: distances.safe, _KERNELS: distances.kernels}
    arrays[_HEADER] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    data = save({name: np.ascontiguousarray(array) for name, array in arrays.items()})
    return hashlib.sha256(data).digest() + data


def _from_bytes(data: bytes) -> _Stored | None:
    """Deserialize the bytes of a file; ``None`` if it is damaged."""
    from safetensors.numpy import load

    if hashlib.sha256(data[_DIGEST:]).digest() != data[:_DIGEST]:
        return None
    arrays = load(data[_DIGEST:])
    header: dict[str, Any] = json.loads(arrays.pop(_HEADER).tobytes())
    tables = ParseTables(
        terminals=tuple(Terminal(*terminal) for terminal in header["terminals"]),
        nonterminals=tuple(header["nonterminals"]),
        rules=tuple(Rule(nonterminal, tuple(symbols)) for nonterminal, symbols in header["rules"]),
        start=header["start"],
        end=header["end"],
        contexts=tuple(
            Context(tuple(ordered), {terminal: tuple(others) for terminal, others in unless})
            for ordered, unless in header["contexts"]
        ),
        ignored=frozenset(header["ignored"]),
        quotations=tuple(map(tuple, header["quotations"])),
        **{name: arrays.pop(name) for name in _TABLES},
    )
    distances = None
    if _COST in arrays:
        distances = KnownDistances(arrays.pop(_COST), arrays.pop(_SAFE), header["most_per_node"], arrays.pop(_KERNELS))
    return _Stored(tables, Lexer(**arrays), distances, header["imported"], tuple(header["missing"]))
