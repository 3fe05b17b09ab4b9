"""Which keys of a record are written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.command.many_prompts import SmallModel, timeless, written
from tests.support.running.tried import some_of

import sfgen
from sfgen import GenerationConfig, Job, Sampler
from sfgen.errors import ForeignOutput, UsageError
from sfgen.jobs.loaded_job import load
from sfgen.jobs.record_format import KNOWN, SLIM, Fields

CONFIG = GenerationConfig(
    index="(?P<who>[A-Z])[a-z]{2}", banned=["xx"], sampler=Sampler(1.0, seed=5), max_tokens=9, logprobs=True
)
JOBS = [
    Job("uniform", CONFIG, samples=2),
    Job(
        "uniform",
        GenerationConfig(
            index=sfgen.JsonSchema({"type": "object", "properties": {"age": {"enum": [1, 2]}}, "required": ["age"]})
        ),
    ),
    Job(SmallModel(), GenerationConfig(max_tokens=3, stop=["b"], heal=True)),
    Job("uniform", GenerationConfig(index="[0-9]", after="a", after_tokens=4)),
    Job("uniform", GenerationConfig(index="[0-9]", when="a", max_tokens=4)),
    Job("uniform", GenerationConfig(index=sfgen.Grammar.from_gbnf('root ::= "a"'), fast_forward=False)),
    Job("uniform", GenerationConfig(index=sfgen.Template("a {{b: regex [0-9]}}"))),
    Job(SmallModel(), choices=["a", "b"]),
]
PROMPTS: list[Any] = ["a", {"prompt": "b", "id": 7, "more": 1}, {"text": "c"}]


@pytest.mark.parametrize("job", JOBS)
def test_every_key_that_records_have_can_be_named(job: Job, tmp_path: Path) -> None:
    summary = sfgen.run_job(job, PROMPTS, tmp_path / "all", fields="all")
    assert (summary.written, summary.failed) == (2 * job.samples, 1)
    everything = written((tmp_path / "all").read_bytes())
    there = {key for record in everything for key in record}
    assert there <= set(KNOWN)
    absent = some_of([key for key in KNOWN if key not in there], 3)
    for name in [*sorted(there - {"error"}), *absent]:
        sfgen.run_job(job, PROMPTS, tmp_path / name, fields=[name])
        for found, record in zip(written(timeless((tmp_path / name).read_bytes())), everything, strict=True):
            expected = {key: record[key] for key in (name, "error") if key in record}
            if name == "run":
                expected["run"] = found["run"]  # of which the fields are a part
            assert found == {**expected, **({"seconds": 0} if "seconds" in expected else {})}


@pytest.mark.parametrize("job", JOBS)
def test_the_usual_ones_are_some_of_all(job: Job, tmp_path: Path) -> None:
    sfgen.run_job(job, PROMPTS, tmp_path / "usual")
    sfgen.run_job(job, PROMPTS, tmp_path / "all", fields="all")
    lines = written((tmp_path / "usual").read_bytes()), written((tmp_path / "all").read_bytes())
    facts = lines[0][0].pop("job")
    for found, record in zip(*lines, strict=True):
        assert {**found, "run": ""} == {key: ("" if key == "run" else record[key]) for key in SLIM if key in record}
    assert facts["model"] == lines[1][0]["model"]
    assert facts["options"] == lines[1][0]["options"]


def test_records_in_memory_have_all_of_them(tmp_path: Path) -> None:
    sfgen.run_job(JOBS[0], PROMPTS, tmp_path / "all", fields="all")
    found = [
        {key: value for key, value in record.items() if key != "seconds"}
        for record in sfgen.job_records(JOBS[0], PROMPTS)
    ]
    there = written((tmp_path / "all").read_bytes())
    assert found == [{key: value for key, value in record.items() if key not in ("seconds", "run")} for record in there]


def test_what_is_within_is_named_behind_a_dot(tmp_path: Path) -> None:
    prompts: list[Any] = [{"prompt": "a", "place": {"city": "Oslo", "a.b": 1}, "c.d": 2}, {"prompt": "b"}]
    fields = "value.age,input.place.city,input.place.a.b,input.c.d,value.none"
    sfgen.run_job(JOBS[1], prompts, tmp_path / "some", fields=fields)
    first, second = written((tmp_path / "some").read_bytes())
    age = first["value.age"]
    assert first == {"value.age": age, "input.place.city": "Oslo", "input.place.a.b": 1, "input.c.d": 2}
    assert age in (1, 2)
    assert set(second) == {"value.age"}


@given(st.lists(st.sampled_from(KNOWN), min_size=1), st.dictionaries(st.sampled_from(KNOWN), st.integers()))
def test_a_choice_keeps_its_order(names: list[str], record: dict[str, int]) -> None:
    chosen = Fields.of(names).chosen(record)
    order = [*dict.fromkeys(names), *([] if "error" in names else ["error"])]
    assert list(chosen) == [name for name in order if name in record]
    assert Fields.of(" , ".join(names)) == Fields.of(names)


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ("", "names no field"),
        (" , ", "names no field"),
        ([], "names no field"),
        ("txt", "'txt', which no record has"),
        ("text,all", "all beside other names"),
        ("text.length", "text has no keys"),
        ("nothing.age", "which no record has"),
        (7, "fields must be"),
        (["a", 7], "which is not text"),
    ],
)
def test_names_that_mean_nothing(fields: Any, what: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=what):
        sfgen.run_job(JOBS[0], PROMPTS, tmp_path / "texts", fields=fields)
    assert not (tmp_path / "texts").exists()


def test_a_name_that_is_nearly_right_is_guessed() -> None:
    with pytest.raises(UsageError) as caught:
        Fields.of("finish_reson")
    assert caught.value.hint.startswith("Did you mean finish_reason?")


def test_resume_needs_what_it_compares(tmp_path: Path) -> None:
    sfgen.run_job(JOBS[0], PROMPTS, tmp_path / "some", fields="text,line,sample,seed,run")
    kept = sfgen.run_job(JOBS[0], PROMPTS, tmp_path / "some", fields="text,line,sample,seed,run", resume=True)
    assert (kept.kept, kept.written) == (5, 0)
    data = (tmp_path / "some").read_bytes()
    for missing in ("line", "sample", "seed", "run"):
        names = [name for name in ("text", "line", "sample", "seed", "run") if name != missing]
        with pytest.raises(UsageError, match=f"and fields leaves out {missing}"):
            sfgen.run_job(JOBS[0], PROMPTS, tmp_path / "some", fields=names, resume=True)
    sfgen.run_job(JOBS[7], PROMPTS, tmp_path / "scores", fields="text,line,run")
    assert sfgen.run_job(JOBS[7], PROMPTS, tmp_path / "scores", fields="text,line,run", resume=True).kept == 3
    assert (tmp_path / "some").read_bytes() == data


@pytest.mark.parametrize("fields", [None, "all", "text,sample,line,seed,run"])
def test_other_fields_are_another_run(tmp_path: Path, fields: str | None) -> None:
    sfgen.run_job(JOBS[0], PROMPTS, tmp_path / "some", fields=fields)
    data = (tmp_path / "some").read_bytes()
    for other in (None, "all", "text,sample,line,seed,run"):
        if other == fields:
            assert sfgen.run_job(JOBS[0], PROMPTS, tmp_path / "some", fields=other, resume=True).kept == 5
            continue
        with pytest.raises(ForeignOutput):
            sfgen.run_job(JOBS[0], PROMPTS, tmp_path / "some", fields=other, resume=True)
    assert (tmp_path / "some").read_bytes() == data


@pytest.mark.parametrize(
    ("fields", "what"), [(None, "its max_tokens is 9, and now it would be 8"), ("all", "its max_tokens is 9, and")]
)
def test_an_option_that_is_another_is_named(tmp_path: Path, fields: str | None, what: str) -> None:
    job = Job("uniform", GenerationConfig(index="[a-z]", max_tokens=9))
    sfgen.run_job(job, ["a", "b"], tmp_path / "some", fields=fields)
    other = Job("uniform", GenerationConfig(index="[a-z]", max_tokens=8))
    with pytest.raises(ForeignOutput, match=what):
        sfgen.run_job(other, ["a", "b"], tmp_path / "some", fields=fields, resume=True)


def test_lines_of_another_version_are_told(tmp_path: Path) -> None:
    sfgen.run_job(JOBS[1], PROMPTS, tmp_path / "some")
    line, rest = (tmp_path / "some").read_text().split("\n", 1)
    line = line.replace('"version": 1', '"version": 2').replace('"run": "', '"run": "0')
    (tmp_path / "some").write_text(f"{line}\n{rest}")
    with pytest.raises(ForeignOutput, match="written by another version of sfgen"):
        sfgen.run_job(JOBS[1], PROMPTS, tmp_path / "some", resume=True)


def test_texts_that_another_version_drew_are_told(tmp_path: Path) -> None:
    """Where nothing is drawn, and where a text is drawn as a whole, another version drew nothing else."""
    drawn = sfgen.GenerationConfig(index="[a-z]{3}", seed=1, max_tokens=4, temperature=1)
    for number, (config, is_told) in enumerate([
        (drawn, True), (replace(drawn, sampler=sfgen.Sampler()), False), (replace(drawn, strategy="exact"), False),
    ]):  # fmt: skip
        job, output = sfgen.Job("uniform", config), tmp_path / str(number)
        sfgen.run_job(job, ["a", "b"], output)
        assert load(job).scene("a", job.sampler).draws == (2 if is_told else None), "in traces, too"
        line, rest = output.read_text().split("\n", 1)
        assert ('"draws": 2' in line) == is_told
        if is_told:
            line = line.replace(', "draws": 2', "").replace('"run": "', '"run": "0')
            output.write_text(f"{line}\n{rest}")
            with pytest.raises(ForeignOutput, match="draws other texts from the same seeds"):
                sfgen.run_job(job, ["a", "b"], output, resume=True)


def test_a_run_goes_on_where_a_number_is_written_otherwise(tmp_path: Path) -> None:
    """The command line reads all numbers as floats; in Python 1 is as good as 1.0."""
    for whole, parts in (({"temperature": 1}, {"temperature": 1.0}), ({"top_p": 1}, {"top_p": 1.0})):
        jobs = [sfgen.Job("tiny", sfgen.GenerationConfig(seed=1, max_tokens=2, **named)) for named in (whole, parts)]
        output = tmp_path / next(iter(whole))
        assert sfgen.run_job(jobs[0], ["a", "b"], output).written == 2
        assert sfgen.run_job(jobs[1], ["a", "b"], output, resume=True).kept == 2
