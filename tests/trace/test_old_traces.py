"""Traces that were written before are still read, and what is written today has the same form, byte for byte.

The files were written by the commit before the format was derived from the classes: six by commands, ``odd`` by hand.
``exact`` and ``bias`` are of the commits that brought what is new in them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sfgen import Finished, Result, TokenChosen, read_trace
from sfgen.printable import json_text
from sfgen.trace import Recording, Scene, TraceFile
from sfgen.trace.kinds import record_of
from sfgen.trace.values import to_json

TRACES = Path(__file__).parents[1] / "data" / "traces"
TEXTS = {
    "ban": ["\nI am here to help you. What do you want to know\n"],
    "bias": [" I am here to listen. What \n"],
    "exact": ["2017\n"],
    "failed": ["\nI am here to"],
    "grammar": ["(a)\n"],
    "many": ["hot\n", "hot\n"],
    "odd": ["é\n"],
    "pattern": ["cgvpc聊.\n", "yn聊.\n"],
    "thought": ["sad\n"],
    "schema": ['{"name": "Gerald", "age": 20}\n'],
}


def test_every_file_is_tested() -> None:
    assert {path.stem for path in TRACES.iterdir()} == set(TEXTS)


@pytest.mark.parametrize(("name", "texts"), TEXTS.items())
def test_it_is_read(name: str, texts: list[str]) -> None:
    trace = read_trace(TRACES / f"{name}.jsonl")
    assert [recording.text for recording in trace.recordings] == texts
    assert trace.cut_line is None
    for recording in trace.recordings:
        assert (recording.failure is not None) == (name == "failed")
        assert recording.events


def test_values_are_what_they_were() -> None:
    (recording,) = read_trace(TRACES / "odd.jsonl").recordings
    scene, first = recording.scene, recording.events[0][1]
    assert (scene.prompt, scene.seed, scene.line) == ("\ud83d\udca9\x1b\u2028", 10**30, 7)
    assert scene.choices == ("x", "\udcff")
    assert isinstance(first, TokenChosen)
    assert (first.data, first.state, first.next_state, first.outlook) == (b"\xe8\xa9", -1, 2**63 - 1, None)
    assert recording.result is not None
    assert recording.result.value == {"a": [None, 1.5, True]}
    assert recording.result.rollbacks[0].data == b"\x8a"


@pytest.mark.parametrize("name", TEXTS)
def test_written_again_it_is_the_same(name: str, tmp_path: Path) -> None:
    path, again = TRACES / f"{name}.jsonl", tmp_path / "run.jsonl"
    recordings = {recording.sample: recording for recording in read_trace(path).recordings}
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    with TraceFile(again) as file:
        tracers: dict[int, Any] = {}
        positions = dict.fromkeys(recordings, 0)
        for line in lines:  # samples may stand side by side
            sample = line["sample"]
            recording = recordings[sample]
            if "trace" in line:
                tracers[sample] = file.begin(recording.scene)
            elif line["event"] == "error":
                assert recording.failure is not None
                tracers[sample].fail(recording.failure.error)
            else:
                seconds, event = recording.events[positions[sample]]
                tracers[sample].show(event, seconds)
                positions[sample] += 1
    assert compared(again) == compared(path)
    assert all(ended(recording) for recording in recordings.values())


def compared(path: Path) -> list[str]:
    """The lines, with keys that were added since, but for the version and the time at which an error was written."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        fields = json.loads(line)
        assert json_text(fields) == line
        if "sfgen" in fields:
            fields = with_added({**fields, "sfgen": ""}, Scene)
        if fields.get("event") == "finished":
            fields["result"] = with_added(fields["result"], Result)
            for rollback in fields["result"]["rollbacks"]:
                rollback.setdefault("bias", None)
        if fields.get("event") == "rolled_back":
            fields.setdefault("bias", None)
        if fields.get("event") == "token_chosen":
            fields.setdefault("healed", "")
        if fields.get("event") == "error":
            fields["seconds"] = 0
        found.append(json_text(fields))
    return found


def with_added(fields: dict[str, Any], kind: type) -> dict[str, Any]:
    """An object with the keys that were added since, as what is read where they are missing."""
    added = {key.name: to_json(key.default) for key in record_of(kind).keys if not key.is_needed}
    return {**fields, **{name: value for name, value in added.items() if name not in fields}}


def ended(recording: Recording) -> bool:
    return recording.failure is not None or isinstance(recording.events[-1][1], Finished)
