"""Read the headers of a GGUF model's files, and refuse damaged files before llama.cpp reads them.

A file begins with its metadata, names with values, and a table of tensors; the weights follow. No offset may point
beyond the end of the file: such a file is not given to llama.cpp, a program in C. The format is described in the
repository of ggml (docs/gguf.md). A model may be cut into several files, of which the first has the metadata.
"""

from __future__ import annotations

import mmap
import os
import re
import struct
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypeAlias

from sfgen.errors import ModelError, VocabularyError
from sfgen.models.gguf.library import check_installed
from sfgen.parameter_text import ParameterText
from sfgen.printable import size_in_words

Value: TypeAlias = int | float | bool | str

MAGIC = b"GGUF"

PART_NAME = re.compile(r"(.*)-(\d{5})-of-(\d{5})\.gguf")
"""The name of one of several files: it ends with its number, from 1 on, and the number of files."""

_AGAIN = "Copy or download the file again."
_INSIDE = "it ends inside its header"
_VERSIONS = (2, 3)
_MOST_DIMENSIONS = 4
_LONGEST_TEXT = 1 << 26
"""The most bytes of a text, more than any name, template or tokenizer.json has; a length in a damaged file may be
huge."""
_TOKENIZERS = {
    "gpt2": "byte-level BPE", "llama": "SentencePiece's BPE", "gemma4": "SentencePiece's BPE", "bert": "WordPiece",
    "t5": "SentencePiece's Unigram", "rwkv": "RWKV's trie", "plamo2": "PLaMo's",
}  # fmt: skip
_SUPPORTED = frozenset({"gpt2", "llama", "gemma4"})
_SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
_STRING, _ARRAY = 8, 9
_WHOLE = frozenset({4, 5})
"""The types of whole numbers with 32 bits."""

_BLOCKS: dict[int, tuple[int, int]] = {
    0: (1, 4),  # F32
    1: (1, 2),  # F16
    2: (32, 18),  # Q4_0
    3: (32, 20),  # Q4_1
    6: (32, 22),  # Q5_0
    7: (32, 24),  # Q5_1
    8: (32, 34),  # Q8_0
    10: (256, 84),  # Q2_K
    11: (256, 110),  # Q3_K
    12: (256, 144),  # Q4_K
    13: (256, 176),  # Q5_K
    14: (256, 210),  # Q6_K
    15: (256, 292),  # Q8_K
    16: (256, 66),  # IQ2_XXS
    17: (256, 74),  # IQ2_XS
    18: (256, 98),  # IQ3_XXS
    19: (256, 50),  # IQ1_S
    20: (32, 18),  # IQ4_NL
    21: (256, 110),  # IQ3_S
    22: (256, 82),  # IQ2_S
    23: (256, 136),  # IQ4_XS
    24: (1, 1),  # I8
    25: (1, 2),  # I16
    26: (1, 4),  # I32
    27: (1, 8),  # I64
    28: (1, 8),  # F64
    29: (256, 56),  # IQ1_M
    30: (1, 2),  # BF16
    34: (256, 54),  # TQ1_0
    35: (256, 66),  # TQ2_0
    39: (32, 17),  # MXFP4
    40: (64, 36),  # NVFP4
    41: (128, 18),  # Q1_0
}
"""For each type of weights the number of weights in a block, and its size in bytes. Types that are missing here are
newer."""


class List(NamedTuple):
    """A list in the metadata; only its place in the file is kept.

    Attributes:
        kind: The type of its values.
        length: The number of values.
        start: The offset of the first value.
        end: The offset after the last one.
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
        lists: The lists by name; their values are read when they are needed.
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
        """The kind of the tokenizer (``gpt2`` is byte-level BPE, ``llama`` SentencePiece's)."""
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
        """The tokens that end a text, a turn or a message, by the file."""
        named = (self._number(f"tokenizer.ggml.{kind}_token_id") for kind in ("eos", "eot", "eom"))
        return frozenset(token for token in named if token is not None)

    @property
    def named_tokens(self) -> frozenset[int]:
        """All tokens that the file names, for any purpose."""
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
        """Read a list of 32-bit whole numbers; an empty one if there is none of that name."""
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
    """Return whether a file's content is GGUF; its name does not matter."""
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def read_header(path: Path, name: str) -> Header:
    """Read the header of a GGUF file and check the file's size."""
    # All tensors that it names must lie inside the file.
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _read(_Cursor(data, name), path)
    except OSError as error:
        raise ModelError(f"no model {name}: {error.strerror}") from error
    except ValueError as error:  # an empty file cannot be mapped
        raise ModelError(f"no model {name}: the file is empty", hint=_AGAIN) from error


def _read(cursor: _Cursor, path: Path) -> Header:
    if cursor.take(len(MAGIC)) != MAGIC:
        raise ModelError(f"no model {cursor.name}: it is not a GGUF file", hint=_AGAIN)
    version = cursor.number("<I")
    if version not in _VERSIONS:
        if version >> 16:  # a small number in the other byte order
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
    """Read a value of the metadata; a list is passed over."""
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
    """Read the name of a tensor, and its end, counted from the first byte of all tensors."""
    name = cursor.string()
    dimensions = cursor.number("<I")
    if dimensions > _MOST_DIMENSIONS:
        raise cursor.damaged(f"{name} has {dimensions} dimensions")
    elements = 1
    for _ in range(dimensions):
        elements *= cursor.number("<Q")
    block, size = _BLOCKS.get(cursor.number("<I"), (1, 0))  # of a newer type only the begin is known
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
            raise self.damaged(f"a name or a text in its header has {length:,} bytes")
        return self.take(length).decode("utf-8", "replace")

    def pass_strings(self, count: int) -> None:
        """Pass over a list of texts; a tokenizer may have half a million."""
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


@dataclass(frozen=True)
class GgufFiles:
    """A GGUF model on disk.

    Attributes:
        name: The name in messages.
        headers: The header of each of its files; the first has the metadata.
    """

    name: str
    headers: tuple[Header, ...]

    @property
    def first(self) -> Header:
        """The header with the metadata."""
        return self.headers[0]

    @property
    def size(self) -> int:
        """The size of all files in bytes."""
        return sum(header.size for header in self.headers)

    @property
    def has_rotations_by_length(self) -> bool:
        """Whether rotary frequencies depend on the length of the context."""
        return any(header.has_rotations_by_length for header in self.headers)


def gguf_path(name: str | Path) -> Path | None:
    """Return the path of a GGUF file, or ``None``."""
    # The content of the file counts, not its name.
    path = Path(os.path.expanduser(name))
    return path if os.path.isfile(path) and is_gguf(path) else None  # Path.is_file raises where a name is too long


def read_files(path: Path, name: str) -> GgufFiles:
    """Read the headers of a model in one file or several."""
    first = read_header(path, name)
    if first.parts == 1:
        return GgufFiles(name, (first,))
    match = PART_NAME.fullmatch(path.name)
    if match is None:
        raise ModelError(
            f"no model {name}: it is one of {first.parts} files, and its name does not say which",
            hint=f"Give the files the names that they had: NAME-00001-of-{first.parts:05}.gguf and so on.",
        )
    names = [f"{match[1]}-{number:05}-of-{match[3]}.gguf" for number in range(1, first.parts + 1)]
    if first.part != 0:
        raise ModelError(f"no model {name}: it is not the first of its files", hint=f"Give {path.with_name(names[0])}")
    missing = [each for each in names if not path.with_name(each).is_file()]
    if missing:
        raise ModelError(f"no model {name}: {missing[0]} is missing", hint="All of its files must lie in one folder.")
    others = [read_header(path.with_name(each), str(path.with_name(each))) for each in names[1:]]
    return GgufFiles(name, (first, *others))


def check_tokenizer(kind: str, name: str) -> None:
    """Refuse a tokenizer that is missing or of an unsupported kind."""
    if not kind or kind in ("none", "no_vocab"):
        raise VocabularyError(f"the file {name} has no tokenizer", hint="Use a GGUF file with the tokenizer in it.")
    if kind not in _SUPPORTED:
        called = f"{_TOKENIZERS[kind]} ({kind})" if kind in _TOKENIZERS else kind
        raise VocabularyError(
            f"the tokenizer of {name} is of a kind that is not supported: {called}",
            hint="Use a model with a byte-level BPE or SentencePiece BPE tokenizer.",
        )


def check_gguf(path: Path, name: str, *, device: str = "auto", dtype: str = "auto") -> GgufFiles:
    """Read the headers of a model, and refuse what cannot be used."""
    files = read_files(path, name)
    check_tokenizer(files.first.tokenizer, name)
    if dtype != "auto":
        raise ModelError(
            f"{name} cannot be used in {dtype}: the numbers in a GGUF file are not converted",
            hint=ParameterText("Leave dtype out, or use the model in the format of transformers.", "dtype"),
        )
    memory = physical_memory()
    if memory is not None and files.size > memory and device in ("auto", "cpu"):
        raise ModelError(
            f"not enough memory for {name}: it is {size_in_words(files.size)}, and this machine has "
            f"{size_in_words(memory)}",
            hint="Use a smaller model, or one with smaller numbers, such as Q4_K_M.",
        )
    check_installed()
    return files


def physical_memory() -> int | None:
    """Return the bytes of memory that this process may use; ``None`` if unknown."""
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not on every system
        return None
    return min(memory, _limit_of_group() or memory) if memory > 0 else None


def _limit_of_group() -> int | None:
    """Read the memory limit of a container's control group; ``None``: no limit."""
    try:
        with open("/sys/fs/cgroup/memory.max", encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):  # another system, or the word "max"
        return None
