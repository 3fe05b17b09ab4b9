"""``--when``: calls of tools inside free text, in records, files, traces and views."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sfgen.trace import read_trace

Sfgen = Callable[..., Any]
TOOLS = [{"name": "weather", "parameters": {"type": "object", "properties": {"city": {"enum": ["Rome", "Oslo"]}}}}]
WRITE = ["gen", "--when", ". ", "--max-tokens", "60"]


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    (tmp_path / "tools.json").write_text(json.dumps(TOOLS))
    return tmp_path / "tools.json"


def test_a_record_has_the_calls_and_the_text(sfgen: Sfgen, tools: Path) -> None:
    (record,) = sfgen(*WRITE, "--tools", tools, "--json", "Can we talk?").records
    assert record["calls"]
    for call in record["calls"]:
        assert call["name"] == "weather"
        assert json.dumps(call["name"]) in record["text"]
    assert (record["when"], "value" in record) == (". ", False)
    assert sfgen(*WRITE, "--tools", tools, "Can we talk?").out == record["text"] + "\n"
    (texts,) = sfgen(*WRITE, "-r", "[0-9]{2}", "--json", "Can we talk?").records
    assert all(len(call) == 2 and call.isdigit() for call in texts["calls"])


def test_many_prompts_traces_and_views(sfgen: Sfgen, tools: Path, tmp_path: Path) -> None:
    (tmp_path / "prompts").write_text('{"prompt": "Can we talk?"}\n{"prompt": "Can we talk?"}\n')
    command = [*WRITE, "--tools", tools, "--input", tmp_path / "prompts", "--output", tmp_path / "out"]
    assert sfgen(*command, "--batch-size", "2", "--trace", tmp_path / "trace").code == 0
    records = [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]
    (alone,) = sfgen(*WRITE, "--tools", tools, "--json", "Can we talk?").records
    assert (records[0]["text"], records[0]["calls"]) == (alone["text"], alone["calls"])
    assert sfgen(*command, "--resume").code == 0
    assert 'its when is ". "' in sfgen(*command, "--resume", "--when", "! ").err
    recordings = read_trace(tmp_path / "trace").recordings
    assert [list(recording.result.calls or ()) for recording in recordings if recording.result] == [
        record["calls"] for record in records
    ]
    assert {recording.scene.when for recording in recordings} == {". "}
    picture = sfgen("replay", tmp_path / "trace", "--sample", "0", "--svg", "-", "--at", "3").out
    assert "free&#160;text" in picture.replace(" ", "&#160;")
