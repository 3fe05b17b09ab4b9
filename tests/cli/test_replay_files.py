"""Whatever is in a file, ``sfgen replay`` shows a view or tells one clear error."""

from __future__ import annotations

import io
import json
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.running.tried import tried
from tests.support.traces import Run, ban_run, frame, is_a_picture, runs, write_runs

from sfgen.errors import SfgenError
from sfgen.trace import parse_trace, read_trace
from sfgen_cli.live.view import LiveView, svg

Sfgen = Callable[..., Any]


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a run with rollbacks."""
    path = tmp_path_factory.mktemp("traces") / "run.jsonl"
    write_runs(path, [ban_run()])
    return path


SCENE = {"trace": 1, "sample": 1, "prompt": "", "model": "tiny", "vocabulary_size": 9}
TOKEN = {
    "sample": 1, "seconds": 0, "event": "token_chosen", "position": 0, "token_id": 3, "data": "a", "state": 0,
    "next_state": 1, "allowed": 2, "forced": False, "probability": 0.5,
}  # fmt: skip
BACK = {
    "sample": 1, "seconds": 0, "event": "rolled_back", "position": 0, "word": "a", "token_ids": [3], "data": "a",
    "state": 0, "probability": None, "place": 0, "ruled_out": 1,
}  # fmt: skip
CANDIDATE = {"token_id": 3, "data": "a", "is_end": False, "before": 0.5, "after": 1.5}
LOOK = {"before": [CANDIDATE | {"after": 1}, CANDIDATE], "after": [], "removed": 0}
DONE = {"sample": 1, "seconds": 0, "event": "error", "message": "no more"}


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"], "is not a trace of sfgen: line 1: not UTF-8 at byte 0"),
        (
            ["# A heading", "", "and more"],
            "is not a trace of sfgen: line 1: not valid JSON: Expecting value at character 1",
        ),
        (['{"prompt": "a"}'], 'is not a trace of sfgen: line 1: it has no key "trace"'),
        (["", "  ", "[1]"], "is not a trace of sfgen: line 3: expected an object, found a list"),
        (["[" * 100_000], "is not a trace of sfgen: line 1: JSON that is nested too deeply"),
        ([SCENE, '{"a":' * 100_000 + "\n"], ", line 2: JSON that is nested too deeply"),
        ([SCENE, '{"a": ' + "9" * 5000 + "}"], ", line 2: a number with too many digits"),
        ([SCENE, '{"a": }', ""], ", line 2: not valid JSON: Expecting value at character 7"),
        ([SCENE | {"trace": 2, "sfgen": "9.1\x1b"}], ", line 1: trace: a trace of version 2, and this sfgen reads"),
        ([SCENE | {"trace": "1"}], ", line 1: trace: expected a whole number of at least 0, found '1'"),
        ([SCENE | {"sample": None}], ", line 1: sample: expected a whole number of at least 0, found null"),
        ([SCENE | {"vocabulary_size": 0}], ", line 1: vocabulary_size: expected a whole number of at least 1, found 0"),
        ([SCENE | {"words": ["a", 1]}], ", line 1: words[1]: expected text, found 1"),
        ([SCENE | {"prompt": {"hex": "0g"}}], ", line 1: prompt.hex: expected pairs of hexadecimal digits, found '0g'"),
        ([SCENE | {"prompt": {"hex": "ff"}}], ", line 1: prompt: expected text, found an object"),
        ([SCENE, SCENE], ", line 2: sample: sample 1 began before"),
        ([SCENE, TOKEN | {"sample": 2}], ", line 2: sample: sample 2 did not begin"),
        ([SCENE, TOKEN | {"event": "\x1b[2J"}], ", line 2: event: there is no event '\\x1b[2J'"),
        ([SCENE, {"sample": 1, "seconds": 1}], ", line 2: event: is missing"),
        ([SCENE, TOKEN | {"seconds": -1}], ", line 2: seconds: expected a number of seconds, found -1"),
        ([SCENE, json.dumps(TOKEN | {"seconds": float("nan")})], ", line 2: seconds: expected a number of seconds"),
        ([SCENE, TOKEN | {"position": 1}], ", line 2: position: 1, and 0 tokens stand before it"),
        ([SCENE, TOKEN | {"position": 10**40}], ", line 2: position: expected a whole number of at least 0, found a"),
        ([SCENE, TOKEN | {"token_id": 9}], ", line 2: token_id: 9, and the vocabulary has 9 tokens"),
        ([SCENE, TOKEN | {"allowed": 10}], ", line 2: allowed: 10, and the vocabulary has 9 tokens"),
        ([SCENE, TOKEN | {"forced": 1}], ", line 2: forced: expected true or false, found 1"),
        ([SCENE, TOKEN | {"state": 2**63}], ", line 2: state: expected a whole number of 64 bits"),
        ([SCENE, TOKEN | {"state": True}], ", line 2: state: expected a whole number of 64 bits, found true"),
        ([SCENE, TOKEN | {"probability": 10**400}], ", line 2: probability: expected a number from 0 to 1, found a"),
        ([SCENE, TOKEN | {"probability": -0.5}], ", line 2: probability: expected a number from 0 to 1, found -0.5"),
        ([SCENE, TOKEN | {"data": None}], ", line 2: data: expected text, found null"),
        ([SCENE, TOKEN | {"data": "\ud800"}], ", line 2: data: expected text without lone surrogates"),
        ([SCENE, TOKEN | {"outlook": LOOK}], ", line 2: outlook.before[1].after: expected a number from 0 to 1, found"),
        ([SCENE, TOKEN | {"watch": {"open_from": 2, "words": []}}], ", line 2: watch.open_from: 2, and the text has 1"),
        ([SCENE, BACK], ", line 2: token_ids: not the tokens that stand from position 0 on"),
        ([SCENE, TOKEN, BACK | {"data": "b"}], ", line 3: data: not what the tokens are that were taken back"),
        ([SCENE, TOKEN, BACK | {"token_ids": [4]}], ", line 3: token_ids: not the tokens that stand"),
        ([SCENE, TOKEN, DONE | {"event": "block_closed", "position": 2}], ", line 3: position: 2, and 1 tokens stand"),
        (
            [SCENE, TOKEN, TOKEN | {"position": 1}, BACK | {"position": 1}],
            ", line 4: place: 0, which is before the posi",
        ),
        ([SCENE, DONE | {"event": "finished"}], ", line 2: result: is missing"),
        ([SCENE, DONE | {"event": "finished", "result": []}], ", line 2: result: expected an object, found a list"),
        ([SCENE, DONE, TOKEN], ", line 3: event: sample 1 ended before"),
    ],
)
def test_a_file_that_is_no_trace(lines: list[Any], said: str, sfgen: Sfgen, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    raw = [json.dumps(line) if isinstance(line, dict) else line for line in lines]
    path.write_bytes(b"".join(line if isinstance(line, bytes) else f"{line}\n".encode() for line in raw))
    done = sfgen("replay", str(path))
    assert (done.code, done.out) == (1, "")
    first, *more = done.err.splitlines()
    assert first.startswith(f"sfgen: {path}")
    assert said in first
    assert len(more) <= 1
    assert "\x1b" not in done.err
    assert len(first) < len(str(path)) + 200


def test_endless_lines_are_not_read(sfgen: Sfgen) -> None:
    if not Path("/dev/zero").exists():
        pytest.skip("there is no /dev/zero to read")
    done = sfgen("replay", "/dev/zero")
    assert done.code == 1
    assert "line 1: it is longer than 67,108,864 bytes" in done.err


def test_what_this_version_does_not_know_is_passed_over(trace: Path, sfgen: Sfgen, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    lines = [json.loads(line) for line in trace.read_text(encoding="utf-8").splitlines()]
    with path.open("w", encoding="utf-8", newline="") as file:
        for line in lines:
            if line.get("outlook"):
                line["outlook"]["more"] = [{}]
            file.write(json.dumps(line | {"more": {"a": [None]}}) + "\r\n\r\n")
    assert read_trace(path) == read_trace(trace)
    # Nor is what a version before did not write missed.
    for line in lines:
        for key in ("outlook", "watch", "forward_passes", "words", "seed"):
            line.pop(key, None)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert sfgen("replay", str(path)).out == sfgen("replay", str(trace)).out


# ---- whatever is in it -----------------------------------------------------------------------------------------------


def look(data: bytes) -> int:
    """Read a trace, draw each of its steps and its picture; how many events it has."""
    count = 0
    for recording in parse_trace(io.BytesIO(data), "run.jsonl").recordings:
        view = LiveView(recording.scene)
        for seconds, event in recording.events:
            view.show(event, seconds)
            shown = frame(view)
            assert not re.search("[\x00-\x09\x0b-\x1a\x1c-\x1f\x7f-\x9f]", shown)
            assert not re.search("\x1b(?!\\[[0-9;]*m)", shown)
            count += 1
        assert is_a_picture(svg(view, recording.scene.prompt))
    return count


@given(runs())
@tried("few")
def test_any_run_can_be_seen(run: Run) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        write_runs(path, [run])
        assert look(path.read_bytes()) == len(run[1])


VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 2**63 - 1, 2**63, 10**30, 0.5, 1.0000005, -0.0, 1e308, "", "a", "\x1b[2J\x9b", "聊",
    "\ud800", {"hex": "e8"}, {"hex": "zz"}, {"hex": ""}, [], {}, [[]], ["a", "a", "a"], [0, 1], {"a": 1},
]  # fmt: skip


def mutated(value: Any, random: Random) -> Any:
    """The value with something else somewhere in it."""
    if isinstance(value, dict) and value and random.random() < 0.9:
        key = random.choice(list(value))
        if random.random() < 0.15:
            return {name: item for name, item in value.items() if name != key}
        return value | {key: mutated(value[key], random)}
    if isinstance(value, list) and value and random.random() < 0.9:
        place = random.randrange(len(value))
        return random.choice(
            [
                [*value[:place], mutated(value[place], random), *value[place + 1 :]],
                [*value[:place], *value[place + 1 :]],
                [*value, value[place]],
            ]
        )
    if isinstance(value, int) and not isinstance(value, bool) and random.random() < 0.5:
        return value + random.choice([-1, 1, 2, 1000])
    return random.choice(VALUES)


def test_any_change_is_an_error_or_another_run(trace: Path) -> None:
    """Values, lines and bytes are changed at random."""
    random = Random(3)
    lines = trace.read_bytes().splitlines(keepends=True)
    outcomes = {"seen": 0, "refused": 0}
    for _ in range(400):
        changed = list(lines)
        for _ in range(random.choice([1, 1, 2])):
            place = random.randrange(len(changed))
            kind = random.random()
            if kind < 0.75:
                try:
                    changed[place] = json.dumps(mutated(json.loads(changed[place]), random)).encode() + b"\n"
                except ValueError:
                    continue  # changed before
            elif kind < 0.85:
                changed[place : place + 1] = random.choice([[], [changed[place]] * 2, [b"\n", changed[place]]])
            else:
                byte = random.randrange(len(changed[place]))
                data = random.choice([b"", b"\xff", b"\0", b"[" * 2000, random.choice(changed)[:9], b"9" * 5000])
                changed[place] = changed[place][:byte] + data + changed[place][byte + 1 :]
        data = b"".join(changed)
        message = refusal(data)
        if message is None:
            outcomes["seen"] += 1
            continue
        outcomes["refused"] += 1
        assert message.startswith("run.jsonl")
        assert "line " in message or "is empty" in message
        assert len(message) < 250
        assert message.isprintable(), data
    assert min(outcomes.values()) > 30, outcomes


def refusal(data: bytes) -> str | None:
    """What is wrong with a trace; ``None`` if it can be read, and its last frame drawn."""
    try:
        recordings = parse_trace(io.BytesIO(data), "run.jsonl").recordings
    except SfgenError as error:
        return error.message
    for recording in recordings:
        view = LiveView(recording.scene)
        for seconds, event in recording.events:
            view.show(event, seconds)
        assert frame(view)
    return None


@given(st.binary(max_size=200), st.sampled_from([b"", json.dumps(SCENE).encode() + b"\n"]))
def test_any_bytes_are_an_error_or_a_trace(data: bytes, before: bytes) -> None:
    message = refusal(before + data)
    assert message is None or message.isprintable()
