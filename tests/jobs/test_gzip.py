"""Compressed prompts and records: read by Python's gzip, cut off at any byte, gone on with."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import random
import resource
import signal
import subprocess
import time
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.command.many_prompts import SmallModel
from tests.support.command.processes import forked, run_forked
from tests.support.running.tried import some_of, tried

import sfgen
from sfgen import GenerationConfig, Job, Sampler
from sfgen.errors import ForeignOutput, InputError, OutputError
from sfgen.jobs.output import OutputFile, is_whole, pieces

JOB = Job(SmallModel(), GenerationConfig(sampler=Sampler(1.0, seed=3), max_tokens=5), samples=2)
PROMPTS: list[Any] = [
    {"prompt": "a", "id": "é"},
    {"text": "b"},
    "b c",
    {"prompt": "gg", "more": ["x" * 50] * 9},
    "A",
    "h",
]


@pytest.fixture(scope="module", params=["a.jsonl.gz", "a.csv.gz"])
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, bytes]:
    """The name of a file, and what a run writes into it."""
    file = tmp_path_factory.mktemp("gzip") / request.param
    sfgen.run_job(JOB, PROMPTS, file)
    return request.param, file.read_bytes()


def test_the_lines_are_those_of_a_file_that_is_not_compressed(written: tuple[str, bytes], tmp_path: Path) -> None:
    name, data = written
    plain = tmp_path / name.removesuffix(".gz")
    sfgen.run_job(JOB, PROMPTS, plain)
    assert gzip.decompress(data) == plain.read_bytes()


def test_cut_at_any_byte_it_goes_on_to_the_same_end(written: tuple[str, bytes], tmp_path: Path) -> None:
    name, data = written
    whole, file = gzip.decompress(data), tmp_path / name
    for size in some_of(range(len(data) + 1), 200):
        file.write_bytes(data[:size])
        kept = zlib.decompressobj(31).decompress(data[:size]) if size else b""
        summary = sfgen.run_job(JOB, PROMPTS, file, resume=True)
        assert gzip.decompress(file.read_bytes()) == whole, size
        lines = kept.count(b"\n") - (name == "a.csv.gz" and b"\n" in kept)
        # A line is kept where the bytes behind it are there, too, at which the file can be cut.
        assert lines - 1 <= summary.kept <= lines, size


@tried("many")
@given(
    parts=st.lists(st.lists(st.text(st.sampled_from('ab"\x00\xff'), max_size=9), max_size=4), max_size=4),
    cut=st.floats(0, 1),
)
def test_runs_append_members(tmp_path_factory: pytest.TempPathFactory, parts: list[list[str]], cut: float) -> None:
    """Several runs write lines, and each may be the last that the system has let write."""
    file = tmp_path_factory.mktemp("members") / "a.gz"
    expected: list[bytes] = []
    for part in parts:
        output = OutputFile(file, keep=True, replace=False)
        assert list(output.lines()) == expected
        output.begin()
        for line in part:
            output.append(line)
        expected += [line.encode() for line in part]
        output.close()
        assert gzip.decompress(file.read_bytes()) == b"".join(line + b"\n" for line in expected)
    data = file.read_bytes() if file.exists() else b""
    if not data:
        return
    file.write_bytes(data[: round(cut * len(data))])
    output = OutputFile(file, keep=True, replace=False)
    kept = list(output.lines())
    assert kept == expected[: len(kept)]
    output.begin()
    output.append("new")
    output.close()
    assert gzip.decompress(file.read_bytes()) == b"".join(line + b"\n" for line in [*kept, b"new"])


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.csv.gz"])
def test_what_gzip_has_compressed_is_gone_on_with_if_it_is_whole(name: str, tmp_path: Path) -> None:
    plain, file = tmp_path / name.removesuffix(".gz"), tmp_path / name
    sfgen.run_job(JOB, PROMPTS, plain)
    whole = plain.read_bytes()
    lines = whole.splitlines(keepends=True)
    file.write_bytes(gzip.compress(b"".join(lines[:5])))
    sfgen.run_job(JOB, PROMPTS, file, resume=True)
    assert gzip.decompress(file.read_bytes()) == whole
    for data in (gzip.compress(whole)[:-1], gzip.compress(whole[:-9]), gzip.compress(b"".join(lines[:4]))[:-12]):
        file.write_bytes(data)
        with pytest.raises(ForeignOutput, match="another program has compressed it, and it is cut off"):
            sfgen.run_job(JOB, PROMPTS, file, resume=True)
        assert file.read_bytes() == data


@pytest.mark.parametrize(
    "data", [b"my diary\n", b"{}\n", b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xff\xff\xff", b"\x1fx"]
)
def test_what_is_not_compressed_is_not_touched(data: bytes, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl.gz"
    file.write_bytes(data)
    with pytest.raises(ForeignOutput, match="not compressed by gzip, or damaged"):
        sfgen.run_job(JOB, PROMPTS, file, resume=True)
    assert file.read_bytes() == data


def test_what_is_behind_a_member_and_is_none_is_not_touched(written: tuple[str, bytes], tmp_path: Path) -> None:
    name, data = written
    file = tmp_path / name
    file.write_bytes(data + b"more")
    with pytest.raises(ForeignOutput, match="not compressed by gzip, or damaged"):
        sfgen.run_job(JOB, PROMPTS, file, resume=True)
    assert file.read_bytes() == data + b"more"


def test_bytes_that_look_like_a_flush_are_none(tmp_path: Path) -> None:
    """Stored blocks have the bytes of the text: a line that ends like a flush is no place to cut at."""
    line = b"\x00\x00\xff\xff\n"
    packer = zlib.compressobj(0, wbits=31)
    data = packer.compress(line * 5) + packer.flush(zlib.Z_SYNC_FLUSH)
    file = tmp_path / "a.gz"
    file.write_bytes(data)
    descriptor = os.open(file, os.O_RDONLY)
    try:
        cuts = [piece.cut for piece in pieces(descriptor) if piece.cut is not None]
        assert [is_whole(descriptor, cut) for cut in cuts] == [False] * 5 + [True]
    finally:
        os.close(descriptor)


def test_killed_at_random_moments_it_goes_on_to_the_same_end(tmp_path: Path) -> None:
    (tmp_path / "prompts.jsonl.gz").write_bytes(
        gzip.compress(b"".join(json.dumps({"prompt": f"P {number}"}).encode() + b"\n" for number in range(120)))
    )
    output, whole = tmp_path / "killed.csv.gz", tmp_path / "whole.csv.gz"
    command = ["gen", "-m", "uniform", "-r", "[a-z]{80}", "--seed", "7", "-q"]
    command += ["--input", str(tmp_path / "prompts.jsonl.gz"), "--output"]
    assert run_forked([*command, str(whole)]).returncode == 0
    expected, size = gzip.decompress(whole.read_bytes()), len(whole.read_bytes())
    draw, killed = random.Random(time.time_ns()), 0
    for _ in range(6):
        before = output.stat().st_size if output.exists() else 0
        process = forked(
            [*command, str(output), "--resume"],
            stdin=subprocess.DEVNULL,
            # Where the tests run in the background, Ctrl-C is ignored, and that is inherited.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        target = before + draw.randrange(1, size // 3)
        while process.poll() is None and not (output.exists() and output.stat().st_size >= target):
            time.sleep(0.001)
        process.send_signal(draw.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGINT]))
        process.wait(60)
        if process.returncode:
            killed += 1
        else:  # it was done before: the next one begins anew
            output.unlink()
    assert killed
    assert run_forked([*command, str(output), "--resume"]).returncode == 0
    assert gzip.decompress(output.read_bytes()) == expected


def test_a_disk_that_gets_full_is_told_and_resume_goes_on(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl.gz"
    prompts = [f"prompt {number}" for number in range(90)]
    job = Job("uniform", GenerationConfig(index="[a-z]{90}", sampler=Sampler(1.0, seed=3)))
    with _files_of_at_most(3000), pytest.raises(OutputError, match="File too large") as caught:
        sfgen.run_job(job, prompts, file)
    assert caught.value.lines_are_whole
    assert 1000 < file.stat().st_size <= 3000
    summary = sfgen.run_job(job, prompts, file, resume=True)
    assert summary.kept > 5
    sfgen.run_job(job, prompts, tmp_path / "b.jsonl.gz")
    assert gzip.decompress(file.read_bytes()) == gzip.decompress((tmp_path / "b.jsonl.gz").read_bytes())


@contextlib.contextmanager
def _files_of_at_most(size: int) -> Any:
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1][1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before[1])
        signal.signal(signal.SIGXFSZ, before[0])


@pytest.mark.parametrize(
    ("name", "data", "plain"),
    [
        ("p.jsonl.gz", b'{"prompt": "a"}\n{"prompt": "b"}', False),
        ("p.csv.gz", b"prompt\na\nb\n", False),
        ("p.txt.gz", b"a\nb\n", True),
    ],
)
def test_prompts_are_unpacked(name: str, data: bytes, plain: bool, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(gzip.compress(data))
    sfgen.run_job(JOB, tmp_path / name, tmp_path / "texts", plain=plain, fields="prompt")
    prompts = [json.loads(line)["prompt"] for line in (tmp_path / "texts").read_text().splitlines()]
    assert prompts == ["a", "a", "b", "b"]


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"plain\n", "not compressed by gzip"),
        (b"\x1f", "not compressed by gzip, or damaged"),
        (gzip.compress(b"a", mtime=0)[:12], "cut off"),
    ],
)
def test_prompts_that_cannot_be_unpacked_are_an_error_of_the_run(data: bytes, what: str, tmp_path: Path) -> None:
    (tmp_path / "p.jsonl.gz").write_bytes(data)
    with pytest.raises(InputError, match=f"cannot read {tmp_path}/p.jsonl.gz: .*{what}"):
        sfgen.run_job(JOB, tmp_path / "p.jsonl.gz", tmp_path / "texts")
    assert not (tmp_path / "texts").exists() or (tmp_path / "texts").read_bytes() == b""


def test_prompts_that_are_cut_off_are_told_where_they_end(tmp_path: Path) -> None:
    lines = b"".join(b'{"prompt": "a", "id": "%d"}\n' % random.Random(number).getrandbits(99) for number in range(2000))
    (tmp_path / "p.jsonl.gz").write_bytes(gzip.compress(lines)[:-20000])
    with pytest.raises(InputError, match="cut off or damaged"):
        sfgen.run_job(JOB, tmp_path / "p.jsonl.gz", tmp_path / "texts", fields="id")
    assert (tmp_path / "texts").read_bytes().endswith(b"\n")
