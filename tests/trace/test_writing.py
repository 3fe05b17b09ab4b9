"""A trace that is written from Python: to a path or an open file, of any stream; and what is refused."""

from __future__ import annotations

import gzip
import io
import re
from pathlib import Path
from typing import Any, BinaryIO

import pytest

import sfgen
import sfgen.trace
from sfgen import SfgenError, TextReleased
from sfgen.errors import UsageError
from sfgen.trace import Scene, TraceError, TraceFile, parse_trace, read_trace, tracing

SCENE = Scene("a", "uniform", 9)


def written(file: Path | str | BinaryIO) -> list[sfgen.Event]:
    """Trace a short run; what it told."""
    model = sfgen.load_model("uniform")
    scene = Scene("It is ", "uniform", len(model.vocabulary), choices=("hot", "cold"))
    told = []
    with TraceFile(file) as trace, tracing(trace, scene) as tracer:
        for event in sfgen.stream(model, scene.prompt, index="hot|cold", observe=True):
            told.append(event)
            tracer.show(event)
    return told


def check(trace: sfgen.trace.Trace, told: list[sfgen.Event]) -> None:
    (recording,) = trace.recordings
    assert [event for _, event in recording.events] == told
    assert recording.result == told[-1].result  # type: ignore[union-attr]
    assert recording.scene.choices == ("hot", "cold")
    seconds = [when for when, _ in recording.events]
    assert seconds == sorted(seconds)


def test_the_example_of_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"::\n\n((?:    .*\n|\n)+)", sfgen.trace.__doc__ or "")
    (code,) = blocks
    found: dict[str, Any] = {}
    exec("\n".join(line[4:] for line in code.splitlines()), found)
    recording = found["recording"]
    assert recording == sfgen.read_trace("run.jsonl").recordings[0]
    assert recording.result.text
    assert recording.scene.words == ("talk",)
    assert any(event.watch for _, event in recording.events if isinstance(event, sfgen.TokenChosen))


@pytest.mark.parametrize("kind", [str, Path])
def test_to_a_path(kind: Any, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    told = written(kind(path))
    check(sfgen.read_trace(kind(path)), told)


def test_to_an_open_file(tmp_path: Path) -> None:
    with (tmp_path / "run.jsonl").open("w+b") as file:
        told = written(file)
        assert not file.closed
        file.seek(0)
        check(parse_trace(file), told)
    check(read_trace(tmp_path / "run.jsonl"), told)


def test_to_a_compressed_file(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "run.gz", "wb") as file:
        told = written(file)  # type: ignore[arg-type]
    with gzip.open(tmp_path / "run.gz") as file:
        check(parse_trace(file), told)  # type: ignore[arg-type]


def test_an_open_file_is_written_from_where_it_stands() -> None:
    file = io.BytesIO(b"before\n")
    file.seek(0, io.SEEK_END)
    told = written(file)
    assert file.getvalue().startswith(b'before\n{"trace": 1, ')
    file.seek(len(b"before\n"))
    check(parse_trace(file), told)


def test_each_line_is_there_at_once(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with path.open("wb") as file, TraceFile(file) as trace, tracing(trace, SCENE) as tracer:
        assert path.read_bytes().count(b"\n") == 1
        tracer.show(TextReleased("a"))
        assert path.read_bytes().count(b"\n") == 2


class Slow(io.RawIOBase):
    """A file that takes a few bytes at a time, and then no more.

    Args:
        room: How many it takes in all.
    """

    def __init__(self, room: int) -> None:
        self.data, self.room = b"", room

    def write(self, data: Any) -> int | None:
        taken = bytes(data[: min(7, self.room - len(self.data))])
        self.data += taken
        return len(taken) or None


def test_a_file_may_take_a_line_piece_by_piece() -> None:
    file = Slow(10**6)
    told = written(file)  # type: ignore[arg-type]
    check(parse_trace(io.BytesIO(file.data)), told)


@pytest.mark.parametrize("room", [0, 100])
def test_a_file_that_takes_no_more_is_told(room: int) -> None:
    with pytest.raises(TraceError, match=r"^cannot write the trace: it accepts no data"):
        TraceFile(Slow(room)).begin(SCENE)  # type: ignore[arg-type]


def test_a_file_that_is_closed_meanwhile_is_told() -> None:
    file = io.BytesIO()
    tracer = TraceFile(file).begin(SCENE)
    file.close()
    with pytest.raises(TraceError, match=r"^cannot write the trace: I/O operation on closed file"):
        tracer.show(TextReleased("a"))


def test_files_that_cannot_take_a_trace(tmp_path: Path) -> None:
    closed = io.BytesIO()
    closed.close()
    with pytest.raises(TraceError, match="file is closed"):
        TraceFile(closed)
    with pytest.raises(TraceError, match="stream is closed"):
        parse_trace(closed)
    for file in (io.StringIO(), 5, None):
        with pytest.raises(UsageError, match=r"^file must be a path or an open binary file"):
            TraceFile(file)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"^stream must be an open binary file"):
        parse_trace(io.StringIO("{}"))  # type: ignore[arg-type]
    path = tmp_path / "run.jsonl"
    path.touch()
    with path.open("rb") as reading, pytest.raises(TraceError, match=r"^cannot write the trace: "):
        TraceFile(reading).begin(SCENE)


@pytest.mark.parametrize(
    ("scene", "said"),
    [
        (Scene("a", "tiny", 0), "scene: vocabulary_size: expected a whole number of at least 1, found 0"),
        (Scene("a", "tiny", 9, seed=-1), "scene: seed: expected a whole number of at least 0, found -1"),
        (Scene("a", "tiny", 9, words="talk"), "scene: words: expected a list, found 'talk'"),  # type: ignore[arg-type]
        (Scene("a", "tiny", 9, pattern=sfgen.Dfa.from_regex("a")), "scene: pattern: a trace has no Dfa"),  # type: ignore[arg-type]
        ("a prompt", "scene must be an sfgen.trace.Scene, not 'a prompt'"),
    ],
)
def test_a_scene_that_could_not_be_read_is_not_written(scene: Any, said: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with pytest.raises(UsageError) as raised, TraceFile(path) as file:
        file.begin(scene)
    assert raised.value.message.startswith(said)
    assert not path.exists()


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), 1e10, "1", True])
def test_what_is_no_time_is_not_written(seconds: Any) -> None:
    file = io.BytesIO()
    tracer = TraceFile(file).begin(SCENE)
    length = len(file.getvalue())
    with pytest.raises(UsageError, match=r"^seconds must be a number of seconds"):
        tracer.show(TextReleased("a"), seconds)
    with pytest.raises(UsageError, match=r"^event must be an event, as sfgen\.stream gives them"):
        tracer.show("talk")  # type: ignore[arg-type]
    assert len(file.getvalue()) == length


def fail() -> None:
    raise SfgenError("no more", hint="Stop.")


def test_an_error_that_ends_a_stream_is_in_it() -> None:
    file = io.BytesIO()
    with TraceFile(file) as trace, pytest.raises(SfgenError, match="no more"), tracing(trace, SCENE):
        fail()
    file.seek(0)
    (recording,) = parse_trace(file).recordings
    assert recording.failure == sfgen.trace.Failure("no more", (), "Stop.")
