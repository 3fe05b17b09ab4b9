"""Saved indexes: a safetensors file of arrays, and a header that says what they belong to.

The header (safetensors' own string map) holds the format version, the version of sfgen, the pattern, the fingerprint
and the size of the vocabulary, and a SHA-256 over the arrays. Nothing in the file is executed. Writing goes to a
temporary file beside the destination, which is then renamed, so that no half file is left behind.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

import sfgen
from sfgen.automata import Dfa
from sfgen.errors import IndexFileError
from sfgen.vocabulary import Vocabulary

if TYPE_CHECKING:
    from sfgen.index.builder import Index

FORMAT = "sfgen-index-1"

_DTYPES = {
    "transitions": np.dtype(np.int32),  # [states, classes]
    "byte_classes": np.dtype(np.uint8),  # [256]
    "accepting": np.dtype(np.bool_),  # [states]
    "rows": np.dtype(np.uint32),  # [unique rows, ceil(V / 32)]
    "row_of_state": np.dtype(np.int32),  # [states]
    "counts": np.dtype(np.int32),  # [unique rows]
}
Arrays = dict[str, NDArray[np.generic]]


def save(index: Index, path: str | PathLike[str], *, force: bool = False) -> None:
    """Write ``index``, with the rows of all its states, to ``path``.

    Raises:
        IndexFileError: The place cannot be written, or it holds something other than this very index and ``force``
            is false.
    """
    from safetensors.numpy import save as to_bytes

    destination = Path(path)
    arrays = _arrays_of(index)
    header = {
        "format": FORMAT,
        "sfgen": sfgen.__version__,
        "vocabulary_fingerprint": index.vocabulary.fingerprint,
        "vocabulary_size": str(len(index.vocabulary)),
        "sha256": _digest(arrays),
    }
    if index.dfa.pattern is not None:
        header["pattern"] = index.dfa.pattern
    if destination.exists() and not force and _header_digest(destination) != header["sha256"]:
        raise IndexFileError(
            f"{destination} exists and holds something else", hint="Name another file, or replace it with --force."
        )
    _write_whole(destination, to_bytes(arrays, metadata=header))


def load(path: str | PathLike[str], vocabulary: Vocabulary) -> Index:
    """Read an index.

    Raises:
        IndexFileError: No such file, not an index, damaged, of another format version, or made for another vocabulary.
    """
    from sfgen.index.builder import Index

    source = Path(path)
    header, arrays = _read(source)
    if header["vocabulary_fingerprint"] != vocabulary.fingerprint:
        raise IndexFileError(
            f"{source} was made for another vocabulary",
            details=(
                f"  the file:  {header['vocabulary_size']} tokens, fingerprint {header['vocabulary_fingerprint'][:16]}",
                f"  the model: {len(vocabulary)} tokens, fingerprint {vocabulary.fingerprint[:16]}",
            ),
            hint="Use the model that the index was made for, or make the index again with: sfgen index --save",
        )
    if header["sha256"] != _digest(arrays):
        raise IndexFileError(f"{source} is damaged: its checksum does not agree", hint="Make the index again.")
    rows, row_of_state, counts = arrays["rows"], arrays["row_of_state"], arrays["counts"]
    for array in arrays.values():
        array.setflags(write=False)
    dfa = Dfa(
        transitions=arrays["transitions"].astype(np.int32, copy=False),
        byte_classes=arrays["byte_classes"].astype(np.uint8, copy=False),
        accepting=arrays["accepting"].astype(np.bool_, copy=False),
        pattern=header.get("pattern"),
    )
    index = Index(dfa, vocabulary)
    masks, amounts = list(rows.astype(np.uint32, copy=False)), counts.tolist()
    for state, row in enumerate(row_of_state.tolist()):
        index.adopt_row(state, masks[row], amounts[row])
    return index


def pattern_of(path: str | PathLike[str]) -> str | None:
    """The pattern that a saved index was made from, if it was made from one."""
    return _read(Path(path))[0].get("pattern")


def _arrays_of(index: Index) -> Arrays:
    index.build()
    unique: dict[int, int] = {}  # equal rows are one object
    rows: list[NDArray[np.uint32]] = []
    counts: list[int] = []
    row_of_state: list[int] = []
    for state in range(len(index.dfa)):
        row = index.row(state)
        number = unique.setdefault(id(row), len(rows))
        if number == len(rows):
            rows.append(row)
            counts.append(index.allowed_count(state))
        row_of_state.append(number)
    return {
        "transitions": index.dfa.transitions,
        "byte_classes": index.dfa.byte_classes,
        "accepting": index.dfa.accepting,
        "rows": np.stack(rows),
        "row_of_state": np.array(row_of_state, dtype=np.int32),
        "counts": np.array(counts, dtype=np.int32),
    }


def _digest(arrays: Arrays) -> str:
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(f"{name} {arrays[name].dtype} {arrays[name].shape}".encode())
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()


def _read(source: Path) -> tuple[dict[str, str], Arrays]:
    """Header and arrays, with every name, type and shape checked."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(source, framework="numpy") as file:
            header = file.metadata() or {}
            if header.get("format", "").startswith("sfgen-index-") and header["format"] != FORMAT:
                raise IndexFileError(
                    f"{source} has the format {header['format']}; this sfgen reads {FORMAT}",
                    hint="Make the index again with: sfgen index --save",
                )
            if header.get("format") != FORMAT or set(file.keys()) != set(_DTYPES):
                raise IndexFileError(f"{source} is not an index that sfgen saved")
            arrays = {name: file.get_tensor(name) for name in _DTYPES}
    except FileNotFoundError as error:
        raise IndexFileError(f"no such file: {source}", hint="Make one with: sfgen index --regex P --save") from error
    except (OSError, SafetensorError) as error:
        raise IndexFileError(f"{source} is not an index, or it is damaged: {error}") from error
    _check_shapes(source, header, arrays)
    return header, arrays


def _check_shapes(source: Path, header: dict[str, str], arrays: Arrays) -> None:
    states, rows = arrays["accepting"].shape[:1], arrays["rows"].shape[:1]
    try:
        words = (int(header["vocabulary_size"]) + 31) // 32
        right = (
            {"vocabulary_fingerprint", "sha256"} <= set(header)
            and all(arrays[name].dtype == dtype for name, dtype in _DTYPES.items())
            and arrays["transitions"].ndim == 2
            and arrays["transitions"].shape[:1] == states
            and arrays["byte_classes"].shape == (256,)
            and arrays["accepting"].ndim == 1
            and arrays["rows"].shape == (*rows, words)
            and arrays["row_of_state"].shape == states
            and arrays["counts"].shape == rows
            and _within(arrays["transitions"], -1, states[0])
            and _within(arrays["byte_classes"], 0, arrays["transitions"].shape[1])
            and _within(arrays["row_of_state"], 0, rows[0])
        )
    except (KeyError, ValueError):
        right = False
    if not right:
        raise IndexFileError(f"{source} is damaged: its arrays do not fit together", hint="Make the index again.")


def _within(array: NDArray[np.generic], low: int, high: int) -> bool:
    numbers = array.astype(np.int64)
    return bool(numbers.size and (numbers >= low).all() and (numbers < high).all())


def _header_digest(path: Path) -> str | None:
    try:
        return _read(path)[0]["sha256"]
    except IndexFileError:
        return None


def _write_whole(destination: Path, data: bytes) -> None:
    temporary = None
    try:
        with tempfile.NamedTemporaryFile(dir=destination.parent, prefix=f".{destination.name}.", delete=False) as file:
            temporary = file.name
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        # A temporary file is private; the index gets the permissions that any new file would have.
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, destination)
    except OSError as error:
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)
        reason = error.strerror or str(error)
        raise IndexFileError(
            f"cannot write {destination}: {reason}", hint="Name a place that can be written."
        ) from None
