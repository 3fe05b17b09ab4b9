"""One formula tells the seed of a text, wherever it is used or shown."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.command.many_prompts import SmallModel

from sfgen import Sampler
from sfgen.jobs import job
from sfgen.jobs.job import first_seed, sampler_of

Sfgen = Callable[..., Any]
GUIDE = Path(__file__).parents[2] / "cli" / "guides" / "many-prompts.md"
COMMAND = ["gen", "-r", "[a-h ]{0,9}", "--seed", "40", "-n", "3"]
LINES = [b'{"prompt": "a"}', b"", b"oops", b'{"prompt": "b c", "id": 1}']


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfgen.models.load_model", lambda *_, **__: SmallModel())


def formula(seed: int, line: int, samples: int, sample: int) -> int:
    """As it is written down."""
    return seed + (line - 1) * samples + sample


@given(*[st.integers(0, 2**40)] * 2, st.integers(1, 50), st.data())
def test_the_formula_and_its_inverse(seed: int, line: int, samples: int, data: st.DataObject) -> None:
    line += 1
    sample = data.draw(st.integers(0, samples - 1))
    drawn = sampler_of(Sampler(0.5, seed), line=line, sample=sample, samples=samples).seed
    assert drawn == formula(seed, line, samples, sample)
    assert first_seed(drawn, line=line, sample=sample, samples=samples) == seed
    assert sampler_of(Sampler(0.0), line=line, sample=sample, samples=samples).seed is None


def test_records_traces_and_a_run_that_goes_on_agree(sfgen: Sfgen, tmp_path: Path) -> None:
    prompts, texts, trace = tmp_path / "p", tmp_path / "o", tmp_path / "t"
    prompts.write_bytes(b"\n".join(LINES))
    done = sfgen(*COMMAND, "--input", prompts, "--trace", trace)
    records = [record for record in done.records if "text" in record]
    assert [(record["line"], record["sample"]) for record in records] == [
        (1, 0),
        (1, 1),
        (1, 2),
        (4, 0),
        (4, 1),
        (4, 2),
    ]
    for record in records:
        assert record["seed"] == formula(40, record["line"], 3, record["sample"])
        # The seed of a record alone writes its text again.
        (again,) = sfgen(*COMMAND[:3], "--seed", str(record["seed"]), "--json", record["prompt"]).records
        assert (again["text"], again["seed"]) == (record["text"], record["seed"])
    headings = [json.loads(line) for line in trace.read_text().splitlines() if '"trace"' in line]
    assert [(heading["line"], heading["seed"]) for heading in headings] == [
        (record["line"], record["seed"]) for record in records
    ]
    assert [heading["sample"] for heading in headings] == list(range(6))
    # Cut off after each line: it goes on with the same seeds.
    sfgen(*COMMAND, "--input", prompts, "--output", texts)
    whole = texts.read_bytes().splitlines(keepends=True)
    for kept in range(len(whole)):
        texts.write_bytes(b"".join(whole[:kept]))
        assert sfgen(*COMMAND, "--input", prompts, "--output", texts, "--resume").code == 1
        assert [json.loads(line).get("seed") for line in texts.read_bytes().splitlines()] == [
            record.get("seed") for record in done.records
        ]


def test_the_samples_of_one_prompt_are_those_of_the_first_line(sfgen: Sfgen, tmp_path: Path) -> None:
    trace = tmp_path / "t"
    records = sfgen(*COMMAND, "--json", "--trace", trace, "a").records
    assert [record["seed"] for record in records] == [formula(40, 1, 3, sample) for sample in range(3)]
    prompts = tmp_path / "p"
    prompts.write_bytes(LINES[0])
    many = sfgen(*COMMAND, "--input", prompts).records
    assert [record["text"] for record in many] == [record["text"] for record in records]
    for record in many:  # the number of a sample is the same everywhere
        shown = sfgen("replay", trace, "--sample", str(record["sample"]))
        assert shown.out == record["text"] + "\n"


def test_the_formula_is_written_down_once_in_each_place(sfgen: Sfgen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    for text in (GUIDE.read_text("utf-8"), sfgen("gen", "--help-all").out, sfgen("ban", "--help-all").out):
        words = " ".join(text.split())  # help has lines of 80 characters
        assert words.count("S + (i − 1)·N + j") == 1
        assert "S + i·N" not in words
    assert "S + (i - 1) * N + j" in str(job.__doc__)
