"""``--when``: calls of tools inside free text, in records, files, traces and views."""

from __future__ import annotations

import json
import re
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


def test_templates_have_no_prompt_and_no_groups_there(sfgen: Sfgen, tmp_path: Path) -> None:
    for command in (["--template", "No. {{n: regex [0-9]{2}}}"], ["-r", "No[.] (?P<n>[0-9]{2})"]):
        (record,) = sfgen(*WRITE, *command, "--json").records
        assert record["prompt"] == ""
        assert record["calls"]
        assert all(re.fullmatch("No[.] [0-9]{2}", call) for call in record["calls"])
        assert "groups" not in record
    (tmp_path / "prompts").write_text('{"prompt": "Can we talk?"}\n')
    (record,) = sfgen(*WRITE, "-r", "(?P<n>[0-9])", "--input", tmp_path / "prompts").records
    assert "groups" not in record
    (tmp_path / "prompts").write_text("Can we talk?\n")
    files = ["--input", tmp_path / "prompts", "--lines", "--output", tmp_path / "out.csv"]
    assert sfgen(*WRITE, "-r", "(?P<n>[0-9])", *files).code == 0
    assert "groups" not in (tmp_path / "out.csv").read_text().splitlines()[0]


def test_calls_by_a_template_are_its_values_or_texts(sfgen: Sfgen) -> None:
    schema = '{"enum": ["Rome", "Oslo"]}'
    (record,) = sfgen(*WRITE, "--template", f"{{{{city: schema {schema}}}}}", "--json", "Can we talk?").records
    assert record["calls"]
    assert all(call["city"] in ("Rome", "Oslo") for call in record["calls"])


def test_a_hole_in_a_call_has_its_own_temperature(sfgen: Sfgen) -> None:
    def calls(temperature: str, seed: int) -> list[str]:
        template = f"{{{{n temperature {temperature}: regex [a-z]{{9}}}}}}"
        seeded = ["--template", template, "-t", "0", "--seed", str(seed), "--json", "Can we talk?"]
        found: list[str] = sfgen("gen", "--when", " ", "--max-tokens", "20", *seeded).records[0]["calls"]
        return found

    assert len({tuple(calls("9", seed)) for seed in range(4)}) > 1
    assert calls("0", 1) == calls("0", 2) != []
