"""Saved indexes: a safetensors file with an automaton, and a header with its pattern and its vocabulary's digest.

Nothing in the file is executed, and everything in it is checked when it is loaded. Masks are made when they are asked
for, as for any index. The checksum detects damage; it is not a signature. The automaton of a forged file is believed:
it may forbid tokens, and may not belong to its pattern, but every generated text is one that the automaton accepts.

The package safetensors reads the file: the header's JSON, and where each array lies. Its writer changes the order of
the string map, so the header is written here. The string map has these fields:

    format                   the version of this format; it comes first
    sfgen                    the version of sfgen that wrote it
    pattern, flags           the pattern, where the index has one, and the flags that ``re`` must read it with
    pattern_as_json          in place of the pattern one that is no text, since it has a lone surrogate
    vocabulary_fingerprint   the digest of all tokens' bytes and of the end tokens
    states, tokens           how many there are
    checksum                 SHA-256 of the header, with zeros in this place, and of all arrays

So every changed byte of the header is detected, even one that means nothing in JSON. Files of format 2 also have token
masks, the ``rows``, which the checksum does not cover and nobody reads.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from itertools import accumulate, pairwise
from math import prod
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

import sfgen
from sfgen import arguments
from sfgen.automata import Dfa
from sfgen.errors import DeadEnd, IndexFileError, OtherVocabulary, PatternError, UnusableIndex
from sfgen.index.atomic_write import OpenFile, destination_of, in_the_way, write_whole
from sfgen.index.distance import UNREACHABLE, byte_distances
from sfgen.index.saved_text import NO_CHECKSUM, encode_header
from sfgen.index.token_automaton import TokenAutomaton
from sfgen.protocols import Tokens
from sfgen.regex.parse import replace_properties
from sfgen.regex.scan import scan
from sfgen.vocabulary import Vocabulary

Kind = TypeVar("Kind", bound=TokenAutomaton)

_OF_THE_WRITER = {"format", "sfgen", "rows", "checksum"}  # fields that may differ in two files of the same index


def save(index: TokenAutomaton, path: str | PathLike[str], *, force: bool = False) -> None:
    """Write an index to a file."""
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
    """Read an index from a file."""
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
    """Return the pattern of a saved index, if it has one."""
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
    """Whether a file holds an index with these fields and arrays."""
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


# ---- the header ------------------------------------------------------------------------------------------------------

FORMAT = "sfgen-index-3"

DTYPES = {  # in the order of the file: those of four bytes first, so that all are aligned
    "transitions": "I32",  # [states, classes]
    "byte_classes": "U8",  # [256]
    "accepting": "BOOL",  # [states]
}
_FORMAT_WITH_MASKS = "sfgen-index-2"
_DTYPES_WITH_MASKS = {
    "transitions": "I32",
    "row_of_state": "I32",  # [states]
    "counts": "I32",  # [rows]
    "row_checksums": "U32",  # [rows]
    "rows": "U32",  # [rows, words]
    "byte_classes": "U8",
    "accepting": "BOOL",
}
NUMPY_DTYPES: dict[str, np.dtype[Any]] = {
    "I32": np.dtype("<i4"),
    "U32": np.dtype("<u4"),
    "U8": np.dtype("u1"),
    "BOOL": np.dtype("?"),
}

_BEGINNING = b'{"__metadata__":{"format":"sfgen-index-'
_FORMAT_SAID = re.compile(rb'\{"__metadata__":\{"format":"(sfgen-index-[0-9]{1,9})"')
# Neither stands anywhere else: in a string of JSON the quotes would be escaped.
_END_OF_ARRAY = re.compile(rb'"data_offsets":\[[0-9]+,([0-9]{1,18})\]')
_CHECKSUM = b'"checksum":"%s"'
_MOST = 2**31 - 1  # states, tokens, masks

Arrays = dict[str, NDArray[np.generic]]


class Sizes(NamedTuple):
    """The sizes of a saved index: states, byte classes, token ids; and different masks, which format 2 has.

    >>> Sizes(states=3, classes=2, tokens=33).shapes["transitions"]
    (3, 2)
    """

    states: int
    classes: int
    tokens: int
    rows: int | None = None

    @property
    def dtypes(self) -> dict[str, str]:
        """The type of each array, in the order of the file."""
        return DTYPES if self.rows is None else _DTYPES_WITH_MASKS

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of each array."""
        shapes: dict[str, tuple[int, ...]] = {
            "transitions": (self.states, self.classes), "byte_classes": (256,), "accepting": (self.states,)
        }  # fmt: skip
        if self.rows is not None:
            shapes["row_of_state"] = (self.states,)
            shapes["counts"] = shapes["row_checksums"] = (self.rows,)
            shapes["rows"] = self.rows, (self.tokens + 31) // 32
        return shapes

    @property
    def offsets(self) -> dict[str, tuple[int, int]]:
        """The first byte of each array after the header, and its end."""
        lengths = [prod(self.shapes[name]) * NUMPY_DTYPES[dtype].itemsize for name, dtype in self.dtypes.items()]
        return dict(zip(self.dtypes, pairwise(accumulate(lengths, initial=0)), strict=True))


class Header(NamedTuple):
    """The header of a saved index.

    Attributes:
        metadata: The string map.
        sizes: How large the arrays are.
        encoded: Its bytes, the length before it included.
    """

    metadata: dict[str, str]
    sizes: Sizes
    encoded: bytes

    @property
    def pattern(self) -> str | None:
        """The pattern that the index was made from; ``None``: another constraint."""
        as_json = self.metadata.get("pattern_as_json")
        return self.metadata.get("pattern") if as_json is None else str(json.loads(as_json))


def _encode(metadata: Mapping[str, str], sizes: Sizes) -> bytes:
    """The bytes of a header, the length before it included."""
    tensors = {
        name: {"dtype": dtype, "shape": sizes.shapes[name], "data_offsets": sizes.offsets[name]}
        for name, dtype in sizes.dtypes.items()
    }
    return encode_header(metadata, tensors)


def sealed(metadata: Mapping[str, str], sizes: Sizes, arrays: Iterable[bytes | memoryview]) -> bytes:
    """Encode a header with its checksum."""
    open_header = _encode({**metadata, "checksum": NO_CHECKSUM}, sizes)
    checksum = _digest(open_header, arrays)
    return open_header.replace(_CHECKSUM % NO_CHECKSUM.encode(), _CHECKSUM % checksum.encode())


def read_whole(file: OpenFile) -> tuple[Header, Arrays]:
    """Read and check the header of an index file and its arrays; not the masks, where it has any."""
    encoded = _header_bytes(file)
    try:
        with safe_open(file.own_path, framework="numpy") as content:
            metadata = content.metadata() or {}
            found = {name: content.get_slice(name) for name in content.keys()}  # noqa: SIM118  # it is no dictionary
            sizes = _sizes(metadata, {name: (array.get_dtype(), array.get_shape()) for name, array in found.items()})
            arrays = {name: content.get_tensor(name) for name in sizes.dtypes if name != "rows"}
    except (SafetensorError, LookupError, ValueError):
        raise UnusableIndex(file.path, "is damaged: its header is not in order") from None
    header = Header(metadata, sizes, encoded)
    if not _is_sealed(header, [array.data for array in arrays.values()]):
        raise UnusableIndex(file.path, "is damaged: it does not agree with its checksum")
    return header, {name: arrays[name] for name in DTYPES}


def _header_bytes(file: OpenFile) -> bytes:
    """Return the bytes of the header, with the length before it.

    The file must have the length that the header states.
    """
    foreign = IndexFileError(f"{file.path} is not an index that sfgen saved")
    beginning = file.read(0, min(file.size, 8 + len(_BEGINNING)))
    if beginning[8:] != _BEGINNING:
        raise foreign
    length = int.from_bytes(beginning[:8], "little")
    if length > file.size - 8:
        raise _cut_off(file, "its header is not whole")
    encoded = file.read(0, 8 + length)
    said = _FORMAT_SAID.match(encoded, 8)
    if said is None:
        raise foreign
    format_ = said[1].decode()
    if format_ not in (FORMAT, _FORMAT_WITH_MASKS):
        raise UnusableIndex(file.path, f"has the format {format_}; this sfgen reads {FORMAT}")
    end = len(encoded) + max((int(stop) for stop in _END_OF_ARRAY.findall(encoded)), default=0)
    if file.size < end:
        raise _cut_off(file, f"it has {file.size:,} of {end:,} bytes")
    if file.size > end:
        raise UnusableIndex(file.path, f"is damaged: {file.size - end:,} bytes follow its end")
    return encoded


def _is_sealed(header: Header, arrays: Iterable[bytes | memoryview]) -> bool:
    """Whether the checksum is that of the header and the arrays."""
    checksum = header.metadata["checksum"]
    open_header = header.encoded.replace(_CHECKSUM % checksum.encode(), _CHECKSUM % NO_CHECKSUM.encode())
    return checksum == _digest(open_header, arrays)


def _sizes(metadata: Mapping[str, str], found: Mapping[str, tuple[str, list[int]]]) -> Sizes:
    """Return the sizes in a header."""
    states, classes = found["transitions"][1]
    rows = found["counts"][1][0] if metadata["format"] == _FORMAT_WITH_MASKS else None
    sizes = Sizes(states, classes, int(metadata["tokens"]), rows)
    is_in_order = (
        1 <= states <= _MOST
        and 1 <= classes <= 256
        and 0 <= sizes.tokens <= _MOST
        and (rows is None or 1 <= rows <= _MOST)
        and {name: (dtype, tuple(shape)) for name, (dtype, shape) in found.items()}
        == {name: (dtype, sizes.shapes[name]) for name, dtype in sizes.dtypes.items()}
        and all(metadata[name] == str(getattr(sizes, name)) for name in ("states", "tokens"))
        and (rows is None or metadata["rows"] == str(rows))
        and all(re.fullmatch("[0-9a-f]{64}", metadata[name]) for name in ("vocabulary_fingerprint", "checksum"))
    )
    if not is_in_order:
        raise ValueError
    return sizes


def _digest(header: bytes, arrays: Iterable[bytes | memoryview]) -> str:
    digest = hashlib.sha256(header)
    for array in arrays:
        digest.update(array)
    return digest.hexdigest()


def _cut_off(file: OpenFile, reason: str) -> IndexFileError:
    return UnusableIndex(file.path, f"is cut off: {reason}")
