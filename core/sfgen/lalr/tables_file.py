"""The tables of a grammar and its lexer as bytes, to be kept between runs: arrays, and everything else as JSON.

The bytes begin with their SHA-256, so that whatever happened to a file is noticed. Nothing in them is run.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, NamedTuple

import numpy as np

from sfgen.lalr.tables import Context, Lexer, ParseTables, Rule, Terminal

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
