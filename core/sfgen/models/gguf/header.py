"""The header of a GGUF file: what it says of its model, and where its weights lie.

A file begins with its metadata, names with values, and a table of tensors; the weights follow. Nothing in it may point
beyond its end, and llama.cpp, a program in C, is not asked about a file where something does. The format is described
in the repository of ggml (docs/gguf.md).
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypeAlias

from sfgen.errors import ModelError
from sfgen.models.gguf.tensor_types import BLOCKS

Value: TypeAlias = int | float | bool | str

MAGIC = b"GGUF"
_AGAIN = "Copy or download the file again."
_INSIDE = "it ends inside its header"
_VERSIONS = (2, 3)
_MOST_DIMENSIONS = 4
_LONGEST_TEXT = 1 << 26
"""More than any name, template or tokenizer.json has; the length of a damaged text may be that of all the weights."""
_SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
_STRING, _ARRAY = 8, 9
_WHOLE = frozenset({4, 5})
"""The types of whole numbers with 32 bits."""


class List(NamedTuple):
    """A list in the metadata.

    Attributes:
        kind: The type of its values.
        length: How many there are.
        start: Where the first begins.
        end: Where the last ends.
    """

    kind: int
    length: int
    start: int
    end: int


@dataclass(frozen=True)
class Header:
    """The metadata and the tensor names of a GGUF file.

    Attributes:
        path: The file.
        size: Its size in bytes.
        metadata: The values by name; lists are left out.
        tensors: The names of the tensors.
        lists: Where the lists lie, by name; what is in them is read when it is asked for.
    """

    path: Path
    size: int
    metadata: dict[str, Value] = field(repr=False)
    tensors: frozenset[str] = field(repr=False)
    lists: dict[str, List] = field(repr=False)

    @property
    def chat_template(self) -> str:
        """The chat template; empty if there is none."""
        return self.text("tokenizer.chat_template")

    @property
    def tool_template(self) -> str:
        """The chat template for conversations with tools; empty if there is no other for them."""
        return self.text("tokenizer.chat_template.tool_use")

    @property
    def tokenizer(self) -> str:
        """The kind of the tokenizer; empty if there is none.

        ``gpt2`` is byte-level BPE, ``llama`` is SentencePiece's BPE.
        """
        return self.text("tokenizer.ggml.model")

    @property
    def begin_token(self) -> int | None:
        """The token that begins a text; ``None`` if the file names none."""
        return self._number("tokenizer.ggml.bos_token_id")

    @property
    def end_token(self) -> int | None:
        """A token that ends a text; ``None`` if the file names none."""
        return self._number("tokenizer.ggml.eos_token_id")

    @cached_property
    def end_tokens(self) -> frozenset[int]:
        """The tokens that the file names as the end of a text, of a turn and of a message."""
        named = (self._number(f"tokenizer.ggml.{kind}_token_id") for kind in ("eos", "eot", "eom"))
        return frozenset(token for token in named if token is not None)

    @property
    def named_tokens(self) -> frozenset[int]:
        """All tokens that the file names, for whatever they are."""
        names = [name for name in self.metadata if name.endswith("_token_id")]
        return frozenset(token for name in names if (token := self._number(name)) is not None)

    @property
    def is_float32(self) -> bool:
        """Whether the file says that all its weights are float32."""
        return self._number("general.file_type") == 0

    @property
    def has_rotations_by_length(self) -> bool:
        """Whether rotary frequencies depend on the length of the context (LongRoPE)."""
        return "rope_factors_long.weight" in self.tensors

    @property
    def parts(self) -> int:
        """The number of files of the model."""
        return self._number("split.count") or 1

    @property
    def part(self) -> int:
        """The number of this file, from 0."""
        return self._number("split.no") or 0

    def text(self, name: str) -> str:
        """Return a text value by name, or the empty text."""
        value = self.metadata.get(name, "")
        return value if isinstance(value, str) else ""

    def length(self, name: str) -> int:
        """Return the length of a list by name; 0 if there is none."""
        return self.lists[name].length if name in self.lists else 0

    def texts(self, name: str) -> list[bytes]:
        """Read a list of texts; an empty one if there is none of that name."""
        found = self.lists.get(name)
        if found is None or found.kind != _STRING:
            return []
        texts, position, length = [], 0, struct.Struct("<Q").unpack_from
        data = self._bytes(found)
        for _ in range(found.length):
            start = position + 8
            position = start + length(data, position)[0]
            texts.append(data[start:position])
        return texts

    def numbers(self, name: str) -> list[int]:
        """Read a list of whole numbers with 32 bits; an empty one if there is none of that name."""
        found = self.lists.get(name)
        if found is None or found.kind not in _WHOLE:
            return []
        return list(struct.unpack(f"<{found.length}{_SCALARS[found.kind][1]}", self._bytes(found)))

    def _bytes(self, found: List) -> bytes:
        with self.path.open("rb") as file:
            file.seek(found.start)
            return file.read(found.end - found.start)

    def _number(self, name: str) -> int | None:
        value = self.metadata.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None


def is_gguf(path: Path) -> bool:
    """Tell whether a file's content is GGUF, whatever its name."""
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def read_header(path: Path, name: str) -> Header:
    """Read the header of a GGUF file and check the file's size.

    All tensors that it names must lie inside the file.

    Args:
        path: The file.
        name: What messages call it.

    Raises:
        ModelError: It cannot be read, is not a GGUF file of a known version, or is cut short.
    """
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _read(_Cursor(data, name), path)
    except OSError as error:
        raise ModelError(f"no model {name}: {error.strerror}") from error
    except ValueError as error:  # an empty file cannot be mapped
        raise ModelError(f"no model {name}: the file is empty", hint=_AGAIN) from error


def _read(cursor: _Cursor, path: Path) -> Header:
    if cursor.take(len(MAGIC)) != MAGIC:
        raise ModelError(f"no model {cursor.name}: it is no GGUF file", hint=_AGAIN)
    version = cursor.number("<I")
    if version not in _VERSIONS:
        if version >> 16:  # a small number, read from the wrong end
            raise ModelError(
                f"no model {cursor.name}: the file was made for machines of the other byte order",
                hint="Download the model for this machine.",
            )
        raise ModelError(
            f"no model {cursor.name}: version {version} of GGUF is not supported, only 2 and 3",
            hint="Convert the model again with a llama.cpp of today.",
        )
    tensors, values = cursor.number("<Q"), cursor.number("<Q")
    metadata: dict[str, Value] = {}
    lists: dict[str, List] = {}
    for _ in range(values):
        key = cursor.string()
        value = _value(cursor, cursor.number("<I"))
        if isinstance(value, List):
            lists[key] = value
        else:
            metadata[key] = value
    ends = [_tensor_end(cursor) for _ in range(tensors)]
    alignment = metadata.get("general.alignment", 32)
    if not isinstance(alignment, int) or alignment <= 0:
        raise cursor.damaged(f"its alignment is {alignment!r}")
    start = -(-cursor.position // alignment) * alignment
    for tensor, end in ends:
        if start + end > cursor.size:
            raise ModelError(
                f"no model {cursor.name}: the file is cut short: {tensor} ends at byte {start + end:,}, "
                f"and the file at {cursor.size:,}",
                hint=_AGAIN,
            )
    return Header(path, cursor.size, metadata, frozenset(dict(ends)), lists)


def _value(cursor: _Cursor, kind: int) -> Value | List:
    """A value of the metadata; a list is passed over."""
    if kind == _STRING:
        return cursor.string()
    if kind != _ARRAY:
        return cursor.number(_scalar(cursor, kind))
    kind, count = cursor.number("<I"), cursor.number("<Q")
    start = cursor.position
    if kind == _STRING:
        cursor.pass_strings(count)
    else:
        cursor.take_no(count * struct.calcsize(_scalar(cursor, kind)))
    return List(kind, count, start, cursor.position)


def _scalar(cursor: _Cursor, kind: int) -> str:
    if kind not in _SCALARS:
        raise cursor.damaged(f"it has a value of the unknown type {kind}")
    return _SCALARS[kind]


def _tensor_end(cursor: _Cursor) -> tuple[str, int]:
    """The name of a tensor, and the byte after its last one, counted from the first byte of all tensors."""
    name = cursor.string()
    dimensions = cursor.number("<I")
    if dimensions > _MOST_DIMENSIONS:
        raise cursor.damaged(f"{name} has {dimensions} dimensions")
    elements = 1
    for _ in range(dimensions):
        elements *= cursor.number("<Q")
    block, size = BLOCKS.get(cursor.number("<I"), (1, 0))  # of a type that came later, only where it begins is known
    return name, cursor.number("<Q") + -(-elements // block) * size


class _Cursor:
    """Reads a file from its beginning on, never beyond its end."""

    def __init__(self, data: mmap.mmap, name: str) -> None:
        self._data = data
        self.name = name
        self.size = len(data)
        self.position = 0

    def take(self, count: int) -> bytes:
        start = self.position
        self.take_no(count)
        return self._data[start : self.position]

    def take_no(self, count: int) -> None:
        """Pass over some bytes."""
        if count > self.size - self.position:
            raise self.damaged(_INSIDE)
        self.position += count

    def number(self, form: str) -> int:
        size = struct.calcsize(form)
        number: int = struct.unpack(form, self.take(size))[0]
        return number

    def string(self) -> str:
        length = self.number("<Q")
        if length > _LONGEST_TEXT and length <= self.size - self.position:
            raise self.damaged(f"a name or a text in its header would have {length:,} bytes")
        return self.take(length).decode("utf-8", "replace")

    def pass_strings(self, count: int) -> None:
        """Pass over a list of texts; a tokenizer has half a million."""
        data, position, last = self._data, self.position, self.size - 8
        length = struct.Struct("<Q").unpack_from
        for _ in range(count):
            if position > last:
                raise self.damaged(_INSIDE)
            position += 8 + length(data, position)[0]
        if position > self.size:
            raise self.damaged(_INSIDE)
        self.position = position

    def damaged(self, reason: str) -> ModelError:
        return ModelError(f"no model {self.name}: the file is damaged or cut short: {reason}", hint=_AGAIN)
