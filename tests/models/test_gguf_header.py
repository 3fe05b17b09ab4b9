"""The header of GGUF files against the package gguf; damaged files are refused in Python; the memory of a process."""

from __future__ import annotations

import builtins
import contextlib
import io
import os
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.support.models.gguf import Pair, write_gguf
from tests.support.running.tried import tried

from sfgen.errors import ModelError
from sfgen.models.gguf.header import _BLOCKS, gguf_path, physical_memory, read_files, read_header

GgufPair = Callable[[str], Pair]


@pytest.fixture(scope="module")
def file(gguf_pair: GgufPair) -> Path:
    return gguf_pair("llama-bpe").file


class TestWhatItSays:
    @pytest.mark.parametrize("kind", ["llama-bpe", "llama-spm", "gemma2", "mamba"])
    def test_is_what_the_package_gguf_reads(self, gguf_pair: GgufPair, kind: str) -> None:
        path = gguf_pair(kind).file
        header, reader = read_header(path, "x"), gguf.GGUFReader(path)
        fields = {
            name: field.contents()
            for name, field in reader.fields.items()
            if not name.startswith("GGUF.") and field.types[0] != gguf.GGUFValueType.ARRAY
        }
        assert header.metadata == pytest.approx(fields)
        assert len(fields) > 12
        assert header.tensors == {tensor.name for tensor in reader.tensors}
        assert header.size == path.stat().st_size
        assert header.is_float32
        assert (header.parts, header.part) == (1, 0)
        assert not header.has_rotations_by_length

    def test_the_sizes_of_blocks_are_those_of_the_package_gguf(self) -> None:
        theirs = {int(kind): size for kind, size in gguf.constants.GGML_QUANT_SIZES.items()}
        assert {kind: theirs[kind] for kind in _BLOCKS if kind in theirs} == {
            kind: size for kind, size in _BLOCKS.items() if kind in theirs
        }
        assert set(theirs) - set(_BLOCKS) <= {9}  # Q8_1 is a type of intermediate results

    @pytest.mark.parametrize("numbers", ["f16", "q8_0"])
    def test_other_numbers(self, tmp_path: Path, numbers: str) -> None:
        from sfgen.models.tiny import DIRECTORY

        path = write_gguf(DIRECTORY, tmp_path / "tiny", numbers=numbers)
        assert not read_header(path, "x").is_float32


class TestDamagedFiles:
    @tried("some")
    @given(share=st.floats(0, 1, exclude_max=True))
    @example(share=0.0)
    @example(share=0.5)
    def test_one_that_is_cut_short(self, file: Path, tmp_path: Path, share: float) -> None:
        data = file.read_bytes()
        data = data[: data.rstrip(b"\0").__len__()]  # there may be padding at the end
        cut = tmp_path / "cut"
        cut.write_bytes(data[: int(share * len(data))])
        with pytest.raises(ModelError, match=r"no model x: (the file is (empty|cut short|damaged)|it is not a GGUF)"):
            read_header(cut, "x")

    @given(data=st.data())
    def test_any_other_damage_raises_nothing_else(self, file: Path, tmp_path: Path, data: st.DataObject) -> None:
        """Whatever stands in a header, it is read to its end or refused: nothing hangs, and nothing else is raised."""
        content = bytearray(file.read_bytes())
        for _ in range(data.draw(st.integers(1, 3))):
            at = data.draw(st.one_of(st.integers(4, 400), st.integers(4, 30_000)))
            new = data.draw(st.binary(min_size=1, max_size=8))
            content[at : at + len(new)] = new
        damaged = tmp_path / "damaged"
        damaged.write_bytes(content)
        with contextlib.suppress(ModelError):
            assert read_header(damaged, "x").size == len(content)

    @pytest.mark.parametrize(
        ("start", "message"),
        [
            (b"GGUF" + struct.pack("<I", 1), "version 1 of GGUF"),
            (b"GGUF" + struct.pack(">I", 3), "the other byte order"),
            (b"GGUF" + struct.pack("<IQQ", 3, 0, 1 << 60), "it ends inside its header"),
            (b"GGUF" + struct.pack("<IQQ", 3, 1 << 60, 0), "it ends inside its header"),
            (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1 << 63), "it ends inside its header"),
            (b"GGUF" + struct.pack("<IQQQ1sI", 3, 0, 1, 1, b"a", 77), "the unknown type 77"),
            (b"GGUF" + struct.pack("<IQQQ1sIIQ", 3, 0, 1, 1, b"a", 9, 9, 5), "the unknown type 9"),
            (b"GGUF" + struct.pack("<IQQQ1sIIQ", 3, 0, 1, 1, b"a", 9, 8, 1 << 60), "it ends inside its header"),
            (b"GGUF" + struct.pack("<IQQQ1sIIQ", 3, 0, 1, 1, b"a", 9, 10, 1 << 62), "it ends inside its header"),
            (b"GGUF" + struct.pack("<IQQQ1sI", 3, 1, 0, 1, b"t", 9) + bytes(99), "t has 9 dimensions"),
            (b"GGUF" + struct.pack("<IQQQ17sII", 3, 0, 1, 17, b"general.alignment", 4, 0), "its alignment is 0"),
        ],
    )
    def test_odd_headers(self, tmp_path: Path, start: bytes, message: str) -> None:
        (tmp_path / "odd").write_bytes(start + bytes(64 if "ends inside" not in message else 0))
        with pytest.raises(ModelError, match=message):
            read_header(tmp_path / "odd", "x")

    def test_a_name_that_takes_the_weights_for_its_text(self, tmp_path: Path) -> None:
        """A wrong length may lie inside a file of gigabytes: as much is not read."""
        with (tmp_path / "large").open("wb") as large:
            large.write(b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 100_000_000))
            large.truncate(200_000_000)  # takes no room on the disk
        tracemalloc.start()
        with pytest.raises(ModelError, match="a name or a text in its header has 100,000,000 bytes"):
            read_header(tmp_path / "large", "x")
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert most < 1_000_000

    def test_a_tensor_beyond_the_end_is_named(self, tmp_path: Path) -> None:
        data = b"GGUF" + struct.pack("<IQQQ1sIQIQ", 3, 1, 0, 1, b"t", 1, 100, 0, 32)
        data += bytes(-len(data) % 32)
        (tmp_path / "whole").write_bytes(data + bytes(432))
        assert read_header(tmp_path / "whole", "x").tensors == {"t"}
        (tmp_path / "short").write_bytes(data + bytes(431))
        with pytest.raises(ModelError, match=f"cut short: t ends at byte {len(data) + 432}, and the file at"):
            read_header(tmp_path / "short", "x")

    def test_a_folder(self, tmp_path: Path) -> None:
        with pytest.raises(ModelError, match="no model x: "):
            read_header(tmp_path, "x")


class TestWhichFiles:
    def test_the_content_says_what_it_is_not_the_name(self, file: Path, tmp_path: Path) -> None:
        blob = tmp_path / "sha256-0badcafe"
        blob.write_bytes(file.read_bytes())
        (tmp_path / "other.gguf").write_bytes(b"PK and so on")
        assert gguf_path(blob) == blob
        assert gguf_path(str(blob)) == blob
        assert gguf_path(tmp_path / "other.gguf") is None
        assert gguf_path(tmp_path) is None
        assert gguf_path("tiny") is None

    def test_a_home_directory(self, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOME", str(file.parent))
        assert gguf_path(f"~/{file.name}") == file


class TestSeveralFiles:
    @pytest.fixture
    def first(self, gguf_pair: GgufPair, tmp_path: Path) -> Path:
        return write_gguf(gguf_pair("llama-spm").directory, tmp_path / "model.gguf", parts=3)

    def test_are_one_model(self, first: Path, gguf_pair: GgufPair) -> None:
        files = read_files(first, "x")
        whole = read_header(gguf_pair("llama-spm").file, "x")
        assert [header.part for header in files.headers] == [0, 1, 2]
        assert frozenset[str]().union(*(header.tensors for header in files.headers)) == whole.tensors
        assert files.size == sum(path.stat().st_size for path in first.parent.iterdir())

    @pytest.mark.parametrize(
        ("spoil", "message", "hint"),
        [
            (lambda first: first.rename(first.with_name("a.gguf")), "one of 3 files", "NAME-00001-of-00003.gguf"),
            (lambda first: _third(first), "not the first of its files", "model-00001-of-00003.gguf"),
            (lambda first: _remove(first, _third(first)), "model-00003-of-00003.gguf is missing", "in one folder"),
            (lambda first: _cut(first, _third(first)), "model-00003-of-00003.gguf: the file is", "again"),
        ],
    )
    def test_what_can_be_wrong(self, first: Path, spoil: Callable[[Path], Path], message: str, hint: str) -> None:
        with pytest.raises(ModelError, match=message) as raised:
            read_files(spoil(first), "x")
        assert hint in raised.value.hint


def _third(first: Path) -> Path:
    return first.with_name(first.name.replace("00001-of", "00003-of"))


def _remove(first: Path, other: Path) -> Path:
    other.unlink()
    return first


def _cut(first: Path, other: Path) -> Path:
    other.write_bytes(other.read_bytes()[:100])
    return first


def test_a_model_with_rotations_by_length(tmp_path: Path) -> None:
    import numpy as np

    writer: Any = gguf.GGUFWriter(tmp_path / "long", "phi3")
    writer.add_tensor("rope_factors_long.weight", np.ones(4, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    assert read_header(tmp_path / "long", "x").has_rotations_by_length


@pytest.mark.parametrize(("limit", "expected"), [("max\n", 4096 * 1000), ("2000\n", 2000), (None, 4096 * 1000)])
def test_that_of_the_machine_or_of_the_container(
    limit: str | None, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.open

    def opened(name: Any, *arguments: Any, **options: Any) -> Any:
        if "cgroup" not in str(name):
            return real(name, *arguments, **options)
        if limit is None:
            raise FileNotFoundError
        return io.StringIO(limit)

    monkeypatch.setattr(os, "sysconf", {"SC_PHYS_PAGES": 1000, "SC_PAGE_SIZE": 4096}.__getitem__)
    monkeypatch.setattr(builtins, "open", opened)
    assert physical_memory() == expected


def test_on_a_system_that_does_not_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sysconf")
    assert physical_memory() is None


def test_on_this_machine() -> None:
    memory = physical_memory()
    assert memory is None or memory > 100_000_000
