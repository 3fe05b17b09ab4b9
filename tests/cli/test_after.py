"""``--after``: a thought before the text, in records, streams, traces, views and runs of many prompts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sfgen.trace import read_trace

Sfgen = Callable[..., Any]
THINK = ["--after", "ANSWER: ", "--after-tokens", "9"]
NUMBER = ["gen", "-r", "[1-9][0-9]?", *THINK]


def test_stdout_has_the_text_alone_and_the_record_both_parts(sfgen: Sfgen) -> None:
    (record,) = sfgen(*NUMBER, "--json", "How old are you?").records
    assert re.fullmatch("[1-9][0-9]?", record["text"])
    assert record["thought"]
    assert "ANSWER" not in record["thought"]
    assert (record["after"], record["pattern"]) == ("ANSWER: ", "[1-9][0-9]?")
    done = sfgen(*NUMBER, "How old are you?")
    assert (done.out, done.err) == (record["text"] + "\n", "")
    assert "thought" not in sfgen("gen", "-r", "a", "--json", "x").records[0]


def test_a_value_is_that_of_the_text(sfgen: Sfgen) -> None:
    (record,) = sfgen("gen", "--schema", "age int", *THINK, "--json", "How old are you?").records
    assert record["value"] == json.loads(record["text"])
    assert isinstance(record["value"]["age"], int)


def test_free_text_is_streamed_without_the_thought(sfgen: Sfgen) -> None:
    free = ["gen", "--after", ".", "--max-tokens", "5", "Once upon a time"]
    (record,) = sfgen(*free, "--json").records
    assert sfgen(*free).out == record["text"] + "\n"
    assert "." not in record["thought"]


def test_a_person_sees_the_thought_on_stderr(sfgen: Sfgen, monkeypatch: pytest.MonkeyPatch) -> None:
    free = ["gen", "--after", ".", "--max-tokens", "5", "--no-live", "Once upon a time"]
    (record,) = sfgen(*free, "--json").records
    monkeypatch.setattr("sfgen_cli.run.generation.stderr_is_a_terminal", lambda: True)
    done = sfgen(*free)
    assert (done.out, done.err) == (record["text"] + "\n", record["thought"] + "\n")
    assert sfgen(*free, "--quiet").err == ""


def test_a_ban_holds_in_both_parts(sfgen: Sfgen) -> None:
    command = ["ban", "--words", "the,a,was", "--after", ".", "--max-tokens", "12", "--seed", "3", "-n", "4", "--json"]
    for record in sfgen(*command, "Once upon a time").records:
        for part in (record["thought"], record["text"]):
            assert not re.search(r"\b(the|a|was)\b", part, re.IGNORECASE)


def test_many_prompts_are_resumed(sfgen: Sfgen, tmp_path: Path) -> None:
    (tmp_path / "prompts").write_text('{"prompt": "How old?"}\n{"prompt": "How far?"}\n')
    command = [*NUMBER, "--input", tmp_path / "prompts", "--seed", "1"]
    whole = sfgen(*command, "--batch-size", "2").records
    single = [
        sfgen(*NUMBER, "--seed", str(1 + line), "--json", p).records[0]
        for line, p in enumerate(["How old?", "How far?"])
    ]
    assert [(r["thought"], r["text"]) for r in whole] == [(r["thought"], r["text"]) for r in single]
    output = tmp_path / "out"
    assert sfgen(*command, "--output", output).code == 0
    first, _ = output.read_text().splitlines()
    output.write_text(first + "\n")
    assert sfgen(*command, "--output", output, "--resume").code == 0
    assert len(output.read_text().splitlines()) == 2
    other = sfgen(*command, "--output", output, "--resume", "--after", "SO: ")
    assert other.code == 1
    assert 'its after is "ANSWER: "' in other.err
    assert "its after_tokens is" in sfgen(*command, "--output", output, "--resume", "--after-tokens", "8").err


def test_a_trace_is_seen_again(sfgen: Sfgen, tmp_path: Path) -> None:
    (record,) = sfgen(*NUMBER, "--json", "--trace", tmp_path / "trace", "How old are you?").records
    (recording,) = read_trace(tmp_path / "trace").recordings
    assert recording.scene.after == "ANSWER: "
    assert recording.result is not None
    assert (recording.result.thought, recording.result.text) == (record["thought"], record["text"])
    done = sfgen("replay", tmp_path / "trace")
    assert (done.code, done.out) == (0, record["text"] + "\n")
    picture = sfgen("replay", tmp_path / "trace", "--svg", "-", "--at", "1").out
    assert "the&#160;thought,&#160;until" in picture.replace(" ", "&#160;")
    picture = sfgen("replay", tmp_path / "trace", "--svg", "-").out
    assert "the&#160;text,&#160;behind" in picture.replace(" ", "&#160;")


def test_the_thought_is_healed_and_echoed(sfgen: Sfgen) -> None:
    (record,) = sfgen(*NUMBER, "--json", "How old are you? ").records
    assert record["healed"] == " "
    assert sfgen(*NUMBER, "--echo", "How old are you? ").out == f"How old are you? {record['text']}\n"


def test_an_engine_to_compare_with_does_the_same(sfgen: Sfgen) -> None:
    fast, naive = (sfgen(*NUMBER, "--json", "--engine", engine, "Hi").records[0] for engine in ("fast", "naive"))
    assert (fast["thought"], fast["text"]) == (naive["thought"], naive["text"])
