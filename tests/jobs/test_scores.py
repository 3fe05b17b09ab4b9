"""Jobs that score choices: records, resume, batches, and what has no meaning beside choices."""

from __future__ import annotations

import math
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.command.many_prompts import BAD, FAILING, GOOD, SmallModel, joined, timeless

import sfgen
from sfgen import GenerationConfig, Job, Sampler
from sfgen.errors import ForeignOutput, UsageError

CHOICES = ["ab", "a", "ba c", "h"]


def test_a_record_for_each_prompt() -> None:
    prompts: list[Any] = ["a", {"id": 7, "prompt": "b c"}, "hh"]
    job = Job(SmallModel(), choices=CHOICES)
    for size in (1, 2, 5):
        for number, record in enumerate(sfgen.job_records(job, prompts, batch_size=size)):
            text = prompts[number]["prompt"] if isinstance(prompts[number], dict) else prompts[number]
            expected = sfgen.score(SmallModel(), text, CHOICES)
            assert record["text"] == expected[0].text
            assert record["scores"] == [
                {"text": one.text, "probability": one.probability, "logprob": one.logprob, "tokens": list(one.tokens)}
                for one in expected
            ]
            assert abs(sum(score["probability"] for score in record["scores"]) - 1) < 1e-12
            assert record["choices"] == CHOICES
            assert (record["line"], record["prompt"], record.get("id")) == (
                number + 1,
                text,
                7 if number == 1 else None,
            )
            assert record["prompt_tokens"] == len(SmallModel().encode(text))


@given(lines=st.lists(st.sampled_from([*GOOD, *BAD[:6], *FAILING]), min_size=1, max_size=6), part=st.floats(0, 1))
def test_a_job_that_was_cut_off_anywhere_goes_on_to_the_same_file(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], part: float
) -> None:
    folder = tmp_path_factory.mktemp("job")
    (folder / "prompts").write_bytes(joined(lines))
    job = Job(SmallModel(), choices=CHOICES)
    whole = sfgen.run_job(job, folder / "prompts", folder / "scores")
    content = (folder / "scores").read_bytes()
    (folder / "scores").write_bytes(content[: round(part * len(content))])
    rest = sfgen.run_job(job, folder / "prompts", folder / "scores", resume=True, batch_size=2)
    assert timeless((folder / "scores").read_bytes()) == timeless(content)
    assert rest.written + rest.failed + rest.kept == whole.written + whole.failed


@pytest.mark.parametrize("change", [{"choices": CHOICES[:3]}, {"choices": None}, {"model": "tiny"}])
def test_what_is_compared(tmp_path: Path, change: dict[str, Any]) -> None:
    given: dict[str, Any] = {"model": "uniform", "choices": CHOICES}
    sfgen.run_job(Job(**given), ["a"], tmp_path / "scores")
    with pytest.raises(ForeignOutput):
        sfgen.run_job(Job(**given | change), ["a"], tmp_path / "scores", resume=True)
    assert sfgen.run_job(Job(**given), ["a"], tmp_path / "scores", resume=True).kept == 1
    other_seed = Job(**given, config=GenerationConfig(sampler=Sampler(1.0, 9)))
    assert sfgen.run_job(other_seed, ["a"], tmp_path / "scores", resume=True).kept == 1


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"config": GenerationConfig(index="a+")}, "index"),
        ({"config": GenerationConfig(banned=["a"])}, "banned"),
        ({"config": GenerationConfig(stop=["a"])}, "stop"),
        ({"config": GenerationConfig(logprobs=True)}, "logprobs"),
        ({"samples": 2}, "samples"),
    ],
)
def test_what_has_no_meaning_beside_choices(change: dict[str, Any], name: str) -> None:
    with pytest.raises(UsageError, match=f"choices and {name} cannot be used together"):
        Job("tiny", choices=CHOICES, **change)


@pytest.mark.parametrize(("choices", "message"), [([], "nothing to score"), ("hot,cold", "must be a list of texts")])
def test_nothing_to_score(choices: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Job("tiny", choices=choices)


def test_there_is_no_trace_of_scores(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="choices and trace cannot be used together"):
        sfgen.run_job(Job("tiny", choices=CHOICES), ["a"], tmp_path / "scores", trace=tmp_path / "trace")


def test_a_job_can_be_pickled() -> None:
    job = pickle.loads(pickle.dumps(Job("uniform", choices=iter(CHOICES))))
    assert job.scored == tuple(CHOICES)
    assert [record["text"] for record in sfgen.job_records(job, ["a"])] == ["a"]


def test_log_probabilities_are_compared_and_written(tmp_path: Path) -> None:
    job = Job("uniform", GenerationConfig(index="[0-9]{2}", sampler=Sampler(1.0, seed=3), logprobs=True))
    (record,) = sfgen.job_records(job, ["a"])
    assert [each["token_id"] for each in record["logprobs"]] == record["token_ids"]
    size = len(sfgen.load_model("uniform").vocabulary)
    for each in record["logprobs"]:
        assert abs(each["model"] + math.log(size)) < 1e-9
        assert abs(each["mask"] + math.log(10)) < 1e-9
