"""Saved indexes: a safetensors file of an automaton, and a header that says what it belongs to.

Nothing in the file is executed, and everything in it is checked when it is loaded; masks are made when they are asked
for, as those of an index that was never saved. The checksum tells damage; it is no signature. Of a file that somebody
made up, the automaton is believed: such a file may forbid tokens, and may not belong to its pattern, but what is
generated from it is what its automaton accepts.
"""

from __future__ import annotations

import json
import re
from os import PathLike
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

import sfgen
from sfgen import arguments
from sfgen.automata import Dfa
from sfgen.errors import DeadEnd, IndexFileError, OtherVocabulary, PatternError, UnusableIndex
from sfgen.index.atomic_write import destination_of, in_the_way, write_whole
from sfgen.index.distance import UNREACHABLE, byte_distances
from sfgen.index.file_header import (
    DTYPES,
    FORMAT,
    NUMPY_DTYPES,
    Arrays,
    Header,
    Sizes,
    read_whole,
    sealed,
)
from sfgen.index.open_file import OpenFile
from sfgen.index.token_automaton import TokenAutomaton
from sfgen.protocols import Tokens
from sfgen.regex.parse import replace_properties
from sfgen.regex.scan import scan
from sfgen.vocabulary import Vocabulary

Kind = TypeVar("Kind", bound=TokenAutomaton)

_OF_THE_WRITER = {"format", "sfgen", "rows", "checksum"}  # what may differ in two files of the same index


def save(index: TokenAutomaton, path: str | PathLike[str], *, force: bool = False) -> None:
    """Write an index to a file.

    Args:
        index: The index.
        path: The file.
        force: Whether a file with other content is replaced.

    Raises:
        IndexFileError: The file cannot be written, or it holds something other than this very index and ``force`` is
            false.
    """
    target = arguments.path("path", path, error=IndexFileError)
    arguments.flag("force", force)
    destination = destination_of(target)
    arrays: Arrays = {
        "transitions": index.dfa.transitions,
        "byte_classes": index.dfa.byte_classes,
        "accepting": index.dfa.accepting,
    }
    states, classes = index.dfa.transitions.shape
    metadata = {
        "format": FORMAT,
        "sfgen": sfgen.__version__,
        **_pattern_and_flags(index.dfa.pattern),
        "vocabulary_fingerprint": index.vocabulary.fingerprint,
        "states": str(states),
        "tokens": str(len(index.vocabulary)),
    }
    if destination.exists() and not force and not _holds(destination, metadata, arrays):
        raise in_the_way(target)
    content = [_as_written(name, array) for name, array in arrays.items()]
    write_whole(target, [sealed(metadata, Sizes(states, classes, len(index.vocabulary)), content), *content])


def load(path: str | PathLike[str], vocabulary: Tokens, kind: type[Kind]) -> Kind:
    """Read an index from a file.

    Args:
        path: The file.
        vocabulary: The tokens that the index was saved for.
        kind: The class of the index.

    Raises:
        IndexNotFound: There is no such file.
        OtherVocabulary: It was made for another vocabulary.
        UnusableIndex: It is damaged or of another format version.
        IndexFileError: It is not an index, or cannot be read.
    """
    arguments.instance("vocabulary", vocabulary, Vocabulary, hint="A model has one: model.vocabulary.")
    file = OpenFile(arguments.path("path", path, error=IndexFileError))
    header, arrays = _read(file)
    if header.metadata["vocabulary_fingerprint"] != vocabulary.fingerprint:
        saved = header.sizes.tokens, header.metadata["vocabulary_fingerprint"]
        raise OtherVocabulary(path, "index", saved=saved, given=(len(vocabulary), vocabulary.fingerprint))
    if header.sizes.tokens != len(vocabulary):
        raise _unfit(file)
    dfa = Dfa(
        transitions=arrays["transitions"].astype(np.int32, copy=False),
        byte_classes=arrays["byte_classes"].astype(np.uint8, copy=False),
        accepting=arrays["accepting"].astype(np.bool_, copy=False),
        pattern=header.pattern,
    )
    if (byte_distances(dfa) == UNREACHABLE).any():
        raise _unfit(file)
    try:
        return kind(dfa, vocabulary)
    except DeadEnd:
        raise _unfit(file) from None


def pattern_of(path: str | PathLike[str]) -> str | None:
    """Return the pattern of a saved index, if it has one.

    Raises:
        IndexFileError: The file is not an index, is damaged, or cannot be read.
    """
    return _read(OpenFile(arguments.path("path", path, error=IndexFileError)))[0].pattern


# ---- writing ---------------------------------------------------------------------------------------------------------


def _pattern_and_flags(pattern: str | None) -> dict[str, str]:
    """The pattern, and whether ``re`` must read it with ``re.ASCII`` or, as it may say itself, ``re.UNICODE``."""
    if pattern is None:
        return {}
    try:
        pattern.encode()
    except UnicodeEncodeError:  # a lone surrogate: other programs that read the header would refuse it
        return {"pattern_as_json": json.dumps(pattern), **_flags(pattern)}
    return {"pattern": pattern, **_flags(pattern)}


def _flags(pattern: str) -> dict[str, str]:
    try:
        tree = replace_properties(pattern, scan(pattern).properties)[0].parse()
    except (re.error, PatternError, RecursionError):  # that of an automaton which was made in another way
        return {}
    return {"flags": "ASCII" if tree.state.flags & re.ASCII else "UNICODE"}


def _as_written(name: str, array: NDArray[np.generic]) -> memoryview:
    return np.ascontiguousarray(array, dtype=NUMPY_DTYPES[DTYPES[name]]).data


def _holds(path: Path, metadata: dict[str, str], arrays: Arrays) -> bool:
    """Whether a file holds an index of which all this is true."""
    try:
        header, others = _read(OpenFile(path))
    except IndexFileError:
        return False
    same = all(header.metadata.get(key) == metadata.get(key) for key in {*header.metadata, *metadata} - _OF_THE_WRITER)
    return same and all(np.array_equal(arrays[name], others[name]) for name in arrays)


# ---- reading ---------------------------------------------------------------------------------------------------------


def _read(file: OpenFile) -> tuple[Header, Arrays]:
    """The header and the arrays, checked."""
    header, arrays = read_whole(file)
    if not _fit_together(arrays, header.sizes):
        raise _unfit(file)
    return header, arrays


def _fit_together(arrays: Arrays, sizes: Sizes) -> bool:
    return (
        _within(arrays["transitions"], -1, sizes.states)
        and _within(arrays["accepting"].view(np.uint8), 0, 2)
        and np.array_equal(np.unique(arrays["byte_classes"]), np.arange(sizes.classes))
    )


def _within(array: NDArray[np.generic], low: int, high: int) -> bool:
    return bool(array.min() >= low and array.max() < high)


def _unfit(file: OpenFile) -> IndexFileError:
    return UnusableIndex(file.path, "is damaged: its arrays do not fit together")
