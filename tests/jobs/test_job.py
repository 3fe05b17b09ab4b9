"""Jobs from Python: records, files, resume, and what each of them is compared by."""

from __future__ import annotations

import dataclasses
import json
import multiprocessing
import pickle
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.command.many_prompts import BAD, FAILING, GOOD, SmallModel, joined, timeless, written
from tests.support.processes.elsewhere import run_pickled

import sfgen
from sfgen import GenerationConfig, Job, Sampler
from sfgen.errors import ForeignOutput, GenerationError, InputError, OutputExists, UsageError
from sfgen_cli.shell.ending import run

DATE = "20[0-9]{2}-(0[1-9]|1[0-2])"
CONFIG = GenerationConfig(index=DATE, sampler=Sampler(1.0, seed=5), max_tokens=9)
PROMPTS: list[Any] = ["Date: ", {"prompt": "On ", "id": [7]}, "In "]


def test_records_are_those_of_texts_made_one_by_one() -> None:
    found = list(sfgen.job_records(Job("uniform", CONFIG, samples=2), PROMPTS, batch_size=3))
    expected = []
    for line, prompt in enumerate(PROMPTS, 1):
        for sample in (0, 1):
            seed = 5 + (line - 1) * 2 + sample
            text = prompt if isinstance(prompt, str) else prompt["prompt"]
            result = sfgen.generate("uniform", text, CONFIG, sampler=Sampler(1.0, seed))
            expected.append((line, sample, seed, text, result.text, list(result.token_ids)))
    keys = ("line", "sample", "seed", "prompt", "text", "token_ids")
    assert [tuple(record[key] for key in keys) for record in found] == expected
    assert [record.get("id") for record in found] == [None, None, [7], [7], None, None]
    assert {record["pattern"] for record in found} == {DATE}


def test_the_command_line_writes_the_same_bytes(tmp_path: Path) -> None:
    (tmp_path / "prompts").write_bytes(joined([GOOD[0], BAD[2], GOOD[1]]))
    common = ["-m", "uniform", "--max-tokens", "9", "--seed", "5", "-n", "2", "--ban-words", "talk", "--quiet"]
    files = ["--input", str(tmp_path / "prompts"), "--output", str(tmp_path / "by_command")]
    assert run(["gen", "-r", DATE, *common, *files]) == 1
    config = replace(CONFIG, banned=["talk"])
    summary = sfgen.run_job(Job("uniform", config, samples=2), tmp_path / "prompts", tmp_path / "by_job")
    assert timeless((tmp_path / "by_job").read_bytes()) == timeless((tmp_path / "by_command").read_bytes())
    assert (summary.written, summary.failed, summary.lines) == (4, 1, 3)


@given(lines=st.lists(st.sampled_from([*GOOD, *BAD[:6], *FAILING]), min_size=1, max_size=6), part=st.floats(0, 1))
def test_a_job_that_was_cut_off_anywhere_goes_on_to_the_same_file(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], part: float
) -> None:
    folder = tmp_path_factory.mktemp("job")
    (folder / "prompts").write_bytes(joined(lines))
    job = Job(SmallModel(), GenerationConfig(sampler=Sampler(1.0, seed=3), max_tokens=5), samples=2)
    whole = sfgen.run_job(job, folder / "prompts", folder / "texts")
    content = (folder / "texts").read_bytes()
    cut = round(part * len(content))
    (folder / "texts").write_bytes(content[:cut])
    rest = sfgen.run_job(job, folder / "prompts", folder / "texts", resume=True, batch_size=2)
    assert timeless((folder / "texts").read_bytes()) == timeless(content)
    assert rest.written + rest.failed + rest.kept == whole.written + whole.failed
    assert rest.kept == content[:cut].count(b"\n")


OTHER: dict[str, Any] = {
    "index": "20[0-9]{2}",
    "banned": ["talk"],
    "sampler": Sampler(1.0, seed=6),
    "max_tokens": 8,
    "fast_forward": False,
    "logprobs": True,
    "word_bias": {"talk": -1},
    "heal": False,
    "after": "\n",
    "when": "\n",
}
OTHER_FREE: dict[str, Any] = {"stop": ["."], "index": DATE}
OTHER_BANNED: dict[str, Any] = {"strategy": "mask", "max_rollbacks": 9, "max_block": 9, "banned": ["listen"]}
OTHER_AFTER: dict[str, Any] = {"after_tokens": 3, "after_counts": True}
OTHER_EXACT: dict[str, Any] = {"max_passes": 9_999}
NO_PART_OF_A_TEXT = {"hold", "observe", "max_memory"}


def test_every_field_of_a_configuration_is_compared(tmp_path: Path) -> None:
    changes = [
        *((CONFIG, name, value) for name, value in OTHER.items()),
        *((replace(CONFIG, index=None), name, value) for name, value in OTHER_FREE.items()),
        *((replace(CONFIG, banned=["talk"]), name, value) for name, value in OTHER_BANNED.items()),
        *((replace(CONFIG, after=" "), name, value) for name, value in OTHER_AFTER.items()),
        *((replace(CONFIG, strategy="exact"), name, value) for name, value in OTHER_EXACT.items()),
    ]
    assert {name for _, name, _ in changes} == {field.name for field in fields(GenerationConfig)} - NO_PART_OF_A_TEXT
    for number, (config, name, value) in enumerate(changes):
        output = tmp_path / f"{number}.jsonl"
        sfgen.run_job(Job("uniform", config), PROMPTS, output)
        before = output.read_bytes()
        other = replace(config, **{name: value})
        with pytest.raises(ForeignOutput, match="line 1, is not of this run") as caught:
            sfgen.run_job(Job("uniform", other), PROMPTS, output, resume=True)
        assert caught.value.path == output
        assert output.read_bytes() == before, name


@pytest.mark.parametrize(
    "change", [{"samples": 2}, {"model": "tiny"}, {"model": sfgen.ModelSpec("uniform", dtype="float32")}]
)
def test_what_else_a_job_says_is_compared(tmp_path: Path, change: dict[str, Any]) -> None:
    output = tmp_path / "texts.jsonl"
    job = Job("uniform", CONFIG)
    sfgen.run_job(job, PROMPTS, output)
    with pytest.raises(ForeignOutput):
        sfgen.run_job(replace(job, **change), PROMPTS, output, resume=True)
    others: list[Any] = ["Date: ", {"prompt": "On ", "id": [8]}]
    with pytest.raises(ForeignOutput, match=r"its id is \[7\], and now it would be \[8\]"):
        sfgen.run_job(job, others, output, resume=True)


def test_constraints_without_a_name_are_known_again(tmp_path: Path) -> None:
    one, other = (sfgen.Dfa.from_choices(list(texts)) for texts in ("ab", "ac"))
    schemas = [sfgen.JsonSchema(text) for text in ("name", "age int")]
    grammars = [sfgen.Grammar.from_gbnf(f'root ::= "{text}"') for text in "ab"]
    pairs: list[list[Any]] = [[one, other], schemas, grammars]
    for number, (before, after) in enumerate(pairs):
        output = tmp_path / f"{number}.jsonl"
        sfgen.run_job(Job("uniform", replace(CONFIG, index=before, max_tokens=99)), ["a"], output)
        kept = sfgen.run_job(Job("uniform", replace(CONFIG, index=before, max_tokens=99)), ["a"], output, resume=True)
        assert (kept.kept, kept.written) == (1, 0)
        with pytest.raises(ForeignOutput):
            sfgen.run_job(Job("uniform", replace(CONFIG, index=after, max_tokens=99)), ["a"], output, resume=True)


def test_an_index_is_as_good_as_its_constraint(tmp_path: Path) -> None:
    model = sfgen.load_model("uniform")
    index = sfgen.Index(sfgen.Dfa.from_regex(DATE), model.vocabulary)
    given, named = (
        [{**record, "seconds": 0} for record in sfgen.job_records(Job(of, replace(CONFIG, index=what)), PROMPTS)]
        for of, what in ((model, index), ("uniform", DATE))
    )
    assert given == named


def test_what_fails_has_an_error_and_strict_stops(tmp_path: Path) -> None:
    job = Job(SmallModel(), GenerationConfig(max_tokens=4))
    prompts: list[Any] = ["a", "A", {"text": "b"}, "b"]
    records = list(sfgen.job_records(job, prompts))
    assert ["error" in record for record in records] == [False, True, True, False]
    with pytest.raises(GenerationError, match="the prompts, line 2: the vocabulary has no token") as caught:
        sfgen.run_job(job, prompts, tmp_path / "texts", strict=True)
    assert "Traceback" not in str(caught.value)
    assert len(written((tmp_path / "texts").read_bytes())) == 1
    with pytest.raises(InputError, match='line 1: no "prompt"'):
        sfgen.run_job(job, prompts[2:], tmp_path / "others", strict=True)


def test_a_file_is_neither_lost_nor_mixed_up(tmp_path: Path) -> None:
    output = tmp_path / "texts"
    output.write_text("my diary\n")
    job = Job("uniform", CONFIG)
    with pytest.raises(OutputExists, match="holds something already") as caught:
        sfgen.run_job(job, PROMPTS, output)
    assert "resume=True" in caught.value.hint
    for arguments in ({"replace": True}, {"trace": tmp_path / "trace"}):
        with pytest.raises(UsageError, match="cannot be used together"):
            sfgen.run_job(job, PROMPTS, output, resume=True, **arguments)
    assert output.read_text() == "my diary\n"
    assert sfgen.run_job(job, PROMPTS, output, replace=True).written == 3


def test_a_trace_has_a_sample_for_each_text(tmp_path: Path) -> None:
    job = Job("tiny", replace(CONFIG, banned=["talk"]), samples=2)
    sfgen.run_job(job, PROMPTS, tmp_path / "texts", trace=tmp_path / "trace", batch_size=2)
    recordings = sfgen.read_trace(tmp_path / "trace").recordings
    texts = [record["text"] for record in written((tmp_path / "texts").read_bytes())]
    assert sorted(recording.text for recording in recordings) == sorted(f"{text}\n" for text in texts)
    assert [recording.scene.line for recording in recordings] == [1, 1, 2, 2, 3, 3]


def test_a_job_can_be_sent_to_another_process(tmp_path: Path) -> None:
    vocabulary = sfgen.load_model("uniform").vocabulary
    schema = sfgen.JsonSchema({"enum": ["a", {"b": 1}]})
    banned = sfgen.BannedWords(["talk"], ["[x-z]"], normalize=True)
    jobs = [
        Job("uniform", replace(CONFIG, banned=banned), samples=2),
        Job("uniform", replace(CONFIG, index=sfgen.Index(sfgen.Dfa.from_regex(DATE), vocabulary))),
        Job("uniform", replace(CONFIG, index=schema, max_tokens=30)),
        Job("uniform", replace(CONFIG, index=sfgen.Grammar.from_lark('start: "a" start | "b"'), max_tokens=30)),
    ]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        for number, job in enumerate(jobs):
            there, here = tmp_path / f"there{number}", tmp_path / f"here{number}"
            assert pool.apply(run_pickled, (pickle.dumps(job), PROMPTS, str(there))) == []
            sfgen.run_job(job, PROMPTS, here)
            assert timeless(there.read_bytes()) == timeless(here.read_bytes())
            if not isinstance(job.config.index, sfgen.Index):  # these are equal if they are the same
                assert pickle.loads(pickle.dumps(job.config)) == job.config


def test_a_configuration_is_one_value() -> None:
    config = GenerationConfig(banned=["talk"], stop="x")
    assert config == GenerationConfig(banned=sfgen.BannedWords(["talk"]), stop=["x"])
    assert hash(config) == hash(GenerationConfig(banned=iter(["talk"]), stop=("x",)))
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.max_tokens = 1  # type: ignore[misc]
    assert json.loads(json.dumps(config.stop)) == ["x"]
