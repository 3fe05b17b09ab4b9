"""GGUF files that are damaged, too large or of another kind, and the package that reads them."""

from __future__ import annotations

import functools
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.errors.case import Before, Case, both, files, patched
from tests.support.models.gguf import pair, write_gguf

_GEN = "gen -m model.gguf -r '[ab]{9}' --max-tokens 20 x"
_LIB = "llama_cpp"


@functools.cache
def _whole() -> tuple[Path, Path]:
    made = pair("llama", "llama3", Path(tempfile.mkdtemp(prefix="sfgen-")), template="{{ messages[0].content }}")
    return made.directory, made.file


def _file(spoil: Callable[[bytes], bytes] = lambda data: data) -> Before:
    """A small model in the file ``model.gguf``, spoilt."""
    return lambda _: Path("model.gguf").write_bytes(spoil(_whole()[1].read_bytes()))


def _replaced(old: bytes, new: bytes) -> Before:
    assert len(old) == len(new)

    def replace(data: bytes) -> bytes:
        assert old in data
        return data.replace(old, new)

    return _file(replace)


def _head(form: str, *values: Any) -> Before:
    return files(model__gguf=b"GGUF" + struct.pack(form, *values))


def _template(text: str) -> Before:
    def make(_: pytest.MonkeyPatch) -> None:
        folder = Path(tempfile.mkdtemp(prefix="sfgen-"))
        write_gguf(pair("llama", "llama3", folder, template=text).directory, Path("model.gguf"), split="llama-bpe")

    return make


def _parts(change: Callable[[], object]) -> Before:
    """The model in two files, changed."""

    def make(_: pytest.MonkeyPatch) -> None:
        write_gguf(_whole()[0], Path("model.gguf"), split="llama-bpe", parts=2)
        change()

    return make


def _without_a_byte(_: pytest.MonkeyPatch) -> None:
    made = pair("llama", "llama2", Path(tempfile.mkdtemp(prefix="sfgen-")))
    Path("model.gguf").write_bytes(made.file.read_bytes().replace(b"<0xF1>", b"<noth>"))


def _without_package(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    find = importlib.util.find_spec

    def found(name: str, package: str | None = None) -> Any:
        return None if name == _LIB else find(name, package)

    monkeypatch.setattr("importlib.util.find_spec", found)


def _library(**changes: Any) -> Before:
    """The package is otherwise than it is."""

    def change(monkeypatch: pytest.MonkeyPatch) -> None:
        import llama_cpp.llama_cpp as found

        from sfgen.models.gguf.library import library

        library.cache_clear()  # and look at it anew
        for name, value in changes.items():
            if value is None:
                monkeypatch.delattr(found, name)
            else:
                monkeypatch.setattr(found, name, value)

    return both(_file(), change)


def _package_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from sfgen.models.gguf.library import library

    library.cache_clear()
    monkeypatch.setitem(sys.modules, "llama_cpp.llama_cpp", None)  # what importing it meets then is an ImportError


GGUF = [
    # --- damaged files
    Case("gen -m model.gguf x", 1, "it is not a GGUF file: it does not begin with GGUF", files(model__gguf="PK")),
    Case(_GEN, 1, "it ends inside its header", _file(lambda data: data[:3000])),
    Case(_GEN, 1, "the file is cut short: ", _file(lambda data: data[:-3000])),
    Case(_GEN, 1, "version 1 of GGUF", _head("<I", 1)),
    Case(_GEN, 1, "machines of the other byte order", _head(">I", 3)),
    Case(_GEN, 1, "the unknown type 77", _head("<IQQQ1sI", 3, 0, 1, 1, b"a", 77)),
    Case(_GEN, 1, "t has 9 dimensions", _head("<IQQQ1sI", 3, 1, 0, 1, b"t", 9)),
    Case(_GEN, 1, "its alignment is 0", _head("<IQQQ17sII", 3, 0, 1, 17, b"general.alignment", 4, 0)),
    # --- several files
    Case("gen -m model-00002-of-00002.gguf x", 1, "is not the first of its files", _parts(lambda: None)),
    Case(
        "gen -m model-00001-of-00002.gguf x",
        1,
        "model-00002-of-00002.gguf is missing",
        _parts(lambda: Path("model-00002-of-00002.gguf").unlink()),
    ),
    Case(
        "gen -m model-00001-of-00002.gguf x",
        1,
        "model-00002-of-00002.gguf: it is not a GGUF file",
        _parts(lambda: Path("model-00002-of-00002.gguf").write_bytes(b"PK\3\4")),
    ),
    Case(
        "gen -m model-00001-of-00002.gguf x",
        1,
        "model-00002-of-00002.gguf: the file is empty",
        _parts(lambda: Path("model-00002-of-00002.gguf").write_bytes(b"")),
    ),
    Case(
        _GEN,
        1,
        "it is one of 2 files, and its name does not say which",
        _parts(lambda: Path("model-00001-of-00002.gguf").rename("model.gguf")),
    ),
    # --- what cannot be used
    Case(
        _GEN,
        1,
        "has the same text for the tokens",
        _replaced(b"\x01\0\0\0\0\0\0\0a", b"\x01\0\0\0\0\0\0\0b"),
        needs=_LIB,
    ),
    Case(_GEN, 1, "not supported: WordPiece (bert)", _replaced(b"\x04\0\0\0\0\0\0\0gpt2", b"\x04\0\0\0\0\0\0\0bert")),
    Case(_GEN, 1, "has no tokenizer", _replaced(b"tokenizer.ggml.model", b"tokenizer.ggml.medal")),
    Case(f"{_GEN} --dtype float32", 1, "model.gguf cannot be used in float32", _file()),
    Case(
        _GEN,
        1,
        "not enough memory for model.gguf: it is",
        both(_file(), patched("sfgen.models.gguf.header.physical_memory", lambda: 9000)),
    ),
    Case(f"{_GEN} --threads 0", 2, "--threads"),
    Case(f"{_GEN} --threads 1025", 2, "1<=x<=1024"),
    # --- the package
    Case(_GEN, 1, "the package llama-cpp-python, which is not installed", both(_file(), _without_package)),
    Case(_GEN, 1, "the package llama-cpp-python cannot be loaded", both(_file(), _package_that_fails), needs=_LIB),
    Case(_GEN, 1, "is not supported: it has no llama_decode", _library(llama_decode=None), needs=_LIB),
    Case(
        f"{_GEN} --device cuda",
        1,
        "no device cuda: the installed llama.cpp was built for CPUs only",
        _library(llama_supports_gpu_offload=lambda: False),
        needs=_LIB,
    ),
    # --- what llama.cpp says
    Case(
        _GEN,
        1,
        "llama.cpp cannot load model.gguf: unknown model architecture: 'lamma'",
        _replaced(b"\x05\0\0\0\0\0\0\0llama", b"\x05\0\0\0\0\0\0\0lamma"),
        needs=_LIB,
    ),
    Case(_GEN, 1, "llama.cpp has no room for", _library(llama_init_from_model=lambda *_: None), needs=_LIB),
    Case(
        _GEN, 1, "it is an encoder, and does not continue text", _library(llama_get_memory=lambda *_: None), needs=_LIB
    ),
    Case(_GEN, 1, "llama.cpp cannot read", _library(llama_decode=lambda *_: -3), needs=_LIB),
    Case(_GEN, 1, "is of kind 4, which is not supported", _library(llama_vocab_type=lambda *_: 4), needs=_LIB),
    Case(_GEN, 1, "no tokens for 1 of the 256 bytes", _without_a_byte, needs=_LIB),
    # --- prompts
    Case(
        "gen -m model.gguf", 1, "the prompt is longer than model.gguf can read", _file(), stdin="x " * 300, needs=_LIB
    ),
    Case("gen -m model.gguf --chat ''", 1, "the chat template of model.gguf writes nothing", _file(), needs=_LIB),
    Case("gen -m model.gguf --chat x", 1, "fails: division by zero", _template("{{ 1 / 0 }}"), needs=_LIB),
]
