"""Traces: what a run writes comes back as it was, whatever was in it and however the run ended."""

from __future__ import annotations

import dataclasses
import errno
import io
import json
import os
import re
import signal
import subprocess
import tempfile
import time
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from tests.support.command.processes import forked
from tests.support.models.scripted import ScriptedModel, random_scores
from tests.support.running.tried import tried
from tests.support.traces import Run, runs, write_runs

from sfgen import BannedWords, Dfa, Event, Index, Sampler, Vocabulary, load_model, stream
from sfgen.decoding.rollback_decision import AnyStrategyName
from sfgen.errors import SfgenError
from sfgen.trace import Failure, TraceError, TraceFile, read_trace, tracing
from sfgen.trace.events import EVENTS
from sfgen.trace.lines import Scene
from sfgen.trace.values import from_json, to_json

Sfgen = Callable[..., Any]


def same(failure: Failure | None, error: SfgenError | None) -> bool:
    if failure is None or error is None:
        return failure is None and error is None
    return (failure.message, failure.details, failure.hint) == (error.message, error.details, error.hint)


# ---- what was written comes back -------------------------------------------------------------------------------------


@given(runs(), runs())
@tried("some")
def test_every_event_comes_back(first: Run, second: Run) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        write_runs(path, [first, second])
        data = path.read_bytes()
        trace = read_trace(path)
    assert trace.cut_line is None
    for recording, (scene, events, error) in zip(trace.recordings, (first, second), strict=True):
        assert recording.scene == scene
        assert recording.events == events
        assert same(recording.failure, error)
    # Any reader of JSON can read it, and a terminal can show it.
    for line in data.decode().splitlines():
        assert line == line.encode("utf-8", "strict").decode()
        json.loads(line)
        assert not re.search("[\x00-\x1f\x7f-\x9f\u2028\u2029]", line)


@pytest.mark.parametrize("text", ["\ud83d\udca9", "💩", "a\udcff", "", "\x00\uffff\u2028"])
def test_text_that_no_json_can_carry_comes_back(text: str) -> None:
    """Two surrogates side by side would be read as one character."""
    written = json.loads(json.dumps(to_json(text)))
    assert from_json(str, written) == text
    assert isinstance(written, dict) == any("\ud800" <= character <= "\udfff" for character in text)


def test_all_kinds_of_events_are_written_by_name() -> None:
    assert set(EVENTS.values()) == set(typing.get_args(Event))
    assert list(EVENTS) == [
        "token_chosen",
        "prefix_scored",
        "rolled_back",
        "block_moved",
        "block_closed",
        "thought_released",
        "text_released",
        "finished",
    ]


def random_run(seed: int) -> tuple[Scene, Iterator[Event]]:
    """A run of a random model under a random constraint."""
    random = Random(seed)
    tokens = [b"a", b"b", b" ", b"ab", b"ba ", "聊".encode()[:1], "聊".encode()[1:]][: random.randint(2, 7)]
    vocabulary = Vocabulary([*tokens, b"<end>"], end_token_ids=[len(tokens)])
    words = random.choice([(), ("ab",), ("ab", "b b"), ("a", "聊")])
    pattern = random.choice([None, None, "[ab ]*", "(ab|ba ){1,9}"])
    strategy: AnyStrategyName = random.choice(typing.get_args(AnyStrategyName))
    events = stream(
        ScriptedModel(vocabulary, random_scores(len(vocabulary), seed), {"": [0]}),
        "",
        index=None if pattern is None else Index(Dfa.from_regex(pattern), vocabulary),
        banned=BannedWords(words, match=random.choice(["word", "substring"])) if words else None,
        sampler=Sampler(random.choice([0.0, 1.0]), seed),
        stop=random.choice([(), ("ba",), ("b a", " ")]) if pattern is None else (),
        max_tokens=random.randint(1, 25),
        strategy=strategy,
        after=random.choice([None, None, "b"]) if strategy != "exact" else None,
        after_tokens=random.randint(0, 9),
        when=random.choice([None, "a"]) if strategy != "exact" and pattern is not None else None,
        max_block=random.choice([1, 3, 32]),
        max_rollbacks=random.choice([1, 5, 50]),
        hold=random.random() < 0.5,
        observe=True,
    )
    return Scene("", "scripted", len(vocabulary), pattern=pattern, words=words), events


def test_no_real_run_is_refused(tmp_path: Path) -> None:
    """The reader is strict about what can follow what; whatever a loop tells, it can."""
    kinds: set[type[Event]] = set()
    failed = 0
    for seed in range(300):
        try:
            scene, events = random_run(seed)
        except SfgenError:  # it is known to be impossible
            continue
        told: list[Event] = []
        error = None
        try:
            with TraceFile(tmp_path / "run.jsonl") as file, tracing(file, scene) as tracer:
                for event in events:
                    told.append(event)
                    tracer.show(event, 0.25)
        except SfgenError as raised:
            error = raised
            failed += 1
        (recording,) = read_trace(tmp_path / "run.jsonl").recordings
        assert [event for _, event in recording.events] == told
        assert same(recording.failure, error)
        kinds.update(map(type, told))
    assert kinds == set(EVENTS.values())
    assert 0 < failed < 200


RECORD = r'\{"name":"[A-Z][a-z]{2,9}","age":[1-9][0-9]\}'


@pytest.mark.parametrize(
    ("arguments", "scene"),
    [
        (["gen", "-r", RECORD, "A person: "], {"prompt": "A person: ", "pattern": RECORD}),
        (["gen", "--choices", "hot,cold", "-n", "3", "--seed", "1", ""], {"choices": ("hot", "cold"), "seed": 1}),
        (["gen", "-r", "[a-z]{3}", "--engine", "fsm", "-m", "uniform", ""], {"model": "uniform"}),
        (["gen", "-r", "(talk|tell|listen)", "--ban-words", "talk", "Can we "], {"words": ("talk",)}),
        (["ban", "--words", "talk,listen", "Can we talk?"], {"words": ("talk", "listen")}),
        (["ban", "--words", "talk,listen", "--strategy", "mask", "--json", "x"], {"model": "tiny", "seed": None}),
        (["ban", "--pattern", "to [a-z]+", "--stop", "\n", "-t", "1", "x"], {"banned_patterns": ("to [a-z]+",)}),
    ],
)
def test_a_run_writes_its_scene_and_its_result(
    arguments: list[str], scene: dict[str, Any], sfgen: Sfgen, tmp_path: Path
) -> None:
    done = sfgen(*arguments, "--trace", str(tmp_path / "run.jsonl"))
    assert done.code == 0
    recordings = read_trace(tmp_path / "run.jsonl").recordings
    assert [recording.sample for recording in recordings] == list(range(len(recordings)))
    assert all(recording.result is not None and recording.failure is None for recording in recordings)
    assert dataclasses.replace(recordings[0].scene, **scene) == recordings[0].scene
    for recording in recordings:
        assert [seconds for seconds, _ in recording.events] == sorted(seconds for seconds, _ in recording.events)
    texts = [recording.text for recording in recordings]
    if "--json" in arguments:
        assert texts == [record["text"] + "\n" for record in done.records]
    else:
        assert "".join(texts) == done.out


def test_a_traced_run_writes_the_same_text(sfgen: Sfgen, tmp_path: Path) -> None:
    arguments = ["ban", "--words", "talk,listen", "--seed", "4", "Can we talk?"]
    traced = sfgen(*arguments, "--trace", str(tmp_path / "run.jsonl"))
    assert traced == sfgen(*arguments)


def test_what_the_model_found_likely_is_in_it(sfgen: Sfgen, tmp_path: Path) -> None:
    sfgen("ban", "--words", "talk,listen", "--trace", str(tmp_path / "run.jsonl"), "Can we talk?")
    lines = [json.loads(line) for line in (tmp_path / "run.jsonl").read_text(encoding="utf-8").splitlines()]
    assert lines[0]["trace"] == 1
    assert lines[0]["words"] == ["talk", "listen"]
    tokens = [line for line in lines if line.get("event") == "token_chosen"]
    assert all(len(token["outlook"]["before"]) == 5 for token in tokens)
    assert any("talk" in token["watch"]["words"] for token in tokens)
    assert {line["event"] for line in lines[1:]} >= {"rolled_back", "block_closed", "finished"}


def test_samples_may_stand_side_by_side(tmp_path: Path) -> None:
    scenes = [Scene(prompt, "tiny", 4096) for prompt in ("a", "b")]
    model = load_model("tiny")
    with TraceFile(tmp_path / "run.jsonl") as file:
        tracers = [file.begin(scene) for scene in scenes]
        streams = [list(stream(model, scene.prompt, max_tokens=4)) for scene in scenes]
        for events in zip(*streams, strict=False):
            for tracer, event in zip(tracers, events, strict=True):
                tracer.show(event, 0.5)
        tracers[1].fail(SfgenError("no more", hint="Stop."))
        tracers[1].fail(SfgenError("told once only"))
    first, second = read_trace(tmp_path / "run.jsonl").recordings
    assert (first.scene, second.scene) == tuple(scenes)
    assert [event for _, event in second.events] == streams[1][: len(second.events)]
    assert second.failure is None or second.failure.message == "no more"
    assert (second.failure is None) == (second.result is not None)


# ---- the file --------------------------------------------------------------------------------------------------------


def test_a_trace_of_an_earlier_run_is_replaced(sfgen: Sfgen, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    assert sfgen("gen", "--choices", "hot,cold", "-n", "4", "--trace", str(path)).code == 0
    assert sfgen("gen", "--choices", "hotel", "--trace", str(path)).code == 0
    (recording,) = read_trace(path).recordings
    assert recording.text == "hotel\n"


def test_a_run_that_does_not_begin_replaces_nothing(sfgen: Sfgen, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    sfgen("gen", "--choices", "hot", "--trace", str(path))
    before = path.read_bytes()
    assert sfgen("gen", "-r", "(", "--trace", str(path)).code == 1
    assert path.read_bytes() == before
    assert sfgen("gen", "-r", "(", "--trace", str(tmp_path / "new.jsonl")).code == 1
    assert not (tmp_path / "new.jsonl").exists()


def test_a_file_that_is_no_trace_is_not_replaced(sfgen: Sfgen, tmp_path: Path) -> None:
    path = tmp_path / "prompt.txt"
    path.write_text("Can we talk?", encoding="utf-8")
    done = sfgen("gen", "--choices", "hot", "--trace", str(path))
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"sfgen: {path} holds something else than a trace, and is not replaced\n")
    assert path.read_text(encoding="utf-8") == "Can we talk?"
    path.write_bytes(b"")
    assert sfgen("gen", "--choices", "hot", "--trace", str(path)).code == 0


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("-", 2, "--trace needs the name of a file: stdout is for the text"),
        (".", 1, "cannot write the trace .: Is a directory"),
        ("no/folder/run.jsonl", 1, "cannot write the trace no/folder/run.jsonl: No such file or directory"),
    ],
)
def test_what_cannot_be_written_is_told_before_the_model_is_loaded(
    name: str, code: int, said: str, sfgen: Sfgen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = sfgen("gen", "-m", "no/such/model", "--trace", name)
    assert (done.code, done.out) == (code, "")
    assert done.err.startswith(f"sfgen: {said}\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full to write to")
def test_a_full_disk_is_told(sfgen: Sfgen) -> None:
    done = sfgen("gen", "--choices", "hot", "--trace", "/dev/full")
    assert (done.code, done.out) == (1, "")
    assert done.err == "sfgen: cannot write the trace /dev/full: No space left on device\n"


class Filling(io.BytesIO):
    """A file on a disk that may be full."""

    is_full = True

    def write(self, data: Any) -> int:
        if self.is_full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().write(data)


def test_a_disk_that_gets_full_is_told() -> None:
    """In the middle of a run too."""
    disk = Filling()
    with TraceFile(disk) as file:
        with pytest.raises(TraceError, match="No space left"):
            file.begin(Scene("", "tiny", 9))
        disk.is_full = False
        tracer = file.begin(Scene("", "tiny", 9))
        disk.is_full = True
        with pytest.raises(TraceError, match="No space left"):
            tracer.fail(SfgenError("no more"))


# ---- how it ends -----------------------------------------------------------------------------------------------------


def test_an_error_is_the_last_line(sfgen: Sfgen, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    done = sfgen("ban", "--words", "talk,listen", "--max-rollbacks", "0", "--trace", str(path), "Can we talk?")
    assert done.code == 1
    (recording,) = read_trace(path).recordings
    assert recording.result is None
    assert recording.failure is not None
    assert done.err == f"sfgen: {recording.failure.message}\n{recording.failure.hint}\n"
    assert recording.text == done.out
    assert json.loads(path.read_text(encoding="utf-8").splitlines()[-1])["event"] == "error"


def test_what_is_no_error_of_sfgen_is_written_too(tmp_path: Path) -> None:
    for error, message in ((KeyboardInterrupt(), "interrupted"), (BrokenPipeError(32, "gone"), "gone")):
        with (
            pytest.raises(type(error)),
            TraceFile(tmp_path / "run.jsonl") as file,
            tracing(file, Scene("", "tiny", 9)),
        ):
            raise error
        (recording,) = read_trace(tmp_path / "run.jsonl").recordings
        assert recording.failure is not None
        assert message in recording.failure.message


def test_a_killed_run_leaves_a_trace(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    process = forked(
        ["gen", "-m", "uniform", "-r", "[a-z]{250}", "-n", "100000", "--trace", str(path)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 120
    while (not path.exists() or path.stat().st_size < 100_000) and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    trace = read_trace(path)
    assert sum(len(recording.events) for recording in trace.recordings) > 10
    assert all(recording.result is not None for recording in trace.recordings[:-1])


def test_cut_anywhere_it_can_be_read(tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    events = list(stream(load_model("tiny"), "Can we talk?", banned=BannedWords(["talk"]), max_tokens=6, observe=True))
    with TraceFile(whole) as file, tracing(file, Scene("聊", "tiny", 4096)) as tracer:
        for event in events:
            tracer.show(event, 0.5)
    data = whole.read_bytes()
    first = data.index(b"\n")
    for length in [*range(first + 300), *range(first + 300, len(data), 97), *range(len(data) - 300, len(data) + 1)]:
        cut.write_bytes(data[:length])
        if length < first:
            with pytest.raises(TraceError):
                read_trace(cut)
            continue
        trace = read_trace(cut)
        (recording,) = trace.recordings
        lines = data[:length].count(b"\n")
        is_whole = data[length : length + 1] in (b"\n", b"")  # the newline alone is no loss
        assert trace.cut_line == (None if is_whole or data[:length].endswith(b"\n") else lines + 1)
        expected = lines - 1 + (is_whole and not data[:length].endswith(b"\n"))
        assert [event for _, event in recording.events] == events[: max(0, expected)]
