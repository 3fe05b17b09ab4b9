"""An index to save, and files of indexes, read by safetensors itself and written by hand: a second opinion."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from safetensors import safe_open

from sfgen import Dfa, Index, Vocabulary
from sfgen.index import DfaIndex

Arrays = dict[str, NDArray[Any]]

OLD_FILE = Path(__file__).resolve().parent.parent / "data" / "saved-index-2.safetensors"
"""The index of ``PATTERN`` over ``VOCABULARY`` with its masks, as sfgen wrote it in its second format."""

VOCABULARY = Vocabulary([b"hot", b"cold", b"h", b"o", b"t", b"el", b"c", b"l", b"d", b"e", None], end_token_ids=[10])
PATTERN = "(hot|cold|hotel)"

ORDER = {
    "transitions": "I32",
    "byte_classes": "U8",
    "accepting": "BOOL",
}
_KEYS = ["format", "sfgen", "pattern", "flags", "vocabulary_fingerprint", "states", "tokens"]


def fresh(pattern: str = PATTERN) -> DfaIndex:
    return Index(Dfa.from_regex(pattern), VOCABULARY)


def assert_same(loaded: DfaIndex, index: DfaIndex) -> None:
    """Both say the same of every state."""
    assert loaded.dfa.pattern == index.dfa.pattern
    assert loaded.dfa.transitions.tolist() == index.dfa.transitions.tolist()
    assert loaded.dfa.byte_classes.tolist() == index.dfa.byte_classes.tolist()
    assert loaded.dfa.accepting.tolist() == index.dfa.accepting.tolist()
    for state in range(len(index.dfa)):
        assert loaded.row(state).tolist() == index.row(state).tolist()
        assert loaded.row(state) is loaded.row(state)
        assert loaded.allowed_count(state) == index.allowed_count(state)
        assert [array.tolist() for array in loaded.transitions(state)] == [
            array.tolist() for array in index.transitions(state)
        ]


@contextmanager
def another_user() -> Iterator[None]:
    """Root may write everywhere, so be somebody else for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def taken_apart(path: Path) -> tuple[dict[str, str], Arrays]:
    """The string map and the arrays of a file; the arrays may be written to."""
    with safe_open(path, framework="numpy") as file:
        return file.metadata(), {name: file.get_tensor(name).copy() for name in file.keys()}  # noqa: SIM118


def put_together(metadata: dict[str, str], arrays: Arrays) -> bytes:
    """A file with a right checksum."""
    tensors: dict[str, object] = {}
    end = 0
    for name, dtype in ORDER.items():
        start, end = end, end + arrays[name].nbytes
        tensors[name] = {"dtype": dtype, "shape": list(arrays[name].shape), "data_offsets": [start, end]}
    known = {key: metadata[key] for key in _KEYS if key in metadata}  # safetensors' reader mixes them up
    text = json.dumps({"__metadata__": {**known, "checksum": "0" * 64}, **tensors}, separators=(",", ":"))
    header = text.encode()
    header += b" " * (-len(header) % 8)
    return with_header(header, [arrays[name].tobytes() for name in ORDER])


def with_header(header: bytes, arrays: list[bytes]) -> bytes:
    """A file with a header in which the checksum is 64 zeros; they are replaced by the right one."""
    length = len(header).to_bytes(8, "little")
    checksum = hashlib.sha256(length + header + b"".join(arrays)).hexdigest().encode()
    return length + header.replace(b'"checksum":"' + b"0" * 64, b'"checksum":"' + checksum) + b"".join(arrays)


def place_of(path: Path, name: str) -> int:
    """Where in a file an array begins."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    return 8 + length + int(json.loads(data[8 : 8 + length])[name]["data_offsets"][0])


def flip(path: Path, place: int, bits: int = 1) -> None:
    """Change one byte of a file where it lies."""
    with open(path, "r+b") as file:
        file.seek(place)
        byte = file.read(1)[0]
        file.seek(place)
        file.write(bytes([byte ^ bits]))
