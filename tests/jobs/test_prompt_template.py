"""Prompts that a template makes of the keys of each record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.running.tried import tried

import sfgen
from sfgen.errors import ForeignOutput, InputError, UsageError
from sfgen.jobs.prompt_record import PromptTemplate

KEYS = ("prompt", "stars", "city")
CONFIG = sfgen.GenerationConfig(index="good|bad")
REVIEW = "Review: {prompt}\nSentiment:"

literals = st.text("a{} \n", max_size=5)
pieces = st.lists(st.tuples(literals, st.sampled_from(KEYS)), min_size=1, max_size=4)


def job(template: str, **changes: Any) -> sfgen.Job:
    return sfgen.Job("uniform", CONFIG, prompt_template=template, **changes)


def prompts(template: str, *records: Any) -> list[str]:
    return [str(record.get("prompt", record.get("error"))) for record in sfgen.job_records(job(template), records)]


@tried("some")
@given(pieces, literals, st.fixed_dictionaries(dict.fromkeys(KEYS, st.text("b{}", max_size=3))))
def test_it_is_filled_as_python_formats(pieces: list[tuple[str, str]], end: str, values: dict[str, str]) -> None:
    def doubled(text: str) -> str:
        return text.replace("{", "{{").replace("}", "}}")

    template = "".join(f"{doubled(text)}{{{key}}}" for text, key in pieces) + doubled(end)
    assert PromptTemplate(template).filled(values) == template.format(**values)


def test_values_that_are_no_texts_stand_there_as_json() -> None:
    record = {"id": 7, "prompt": "Nice", "n": 3, "yes": True, "listed": ["é", None], "of": {"most": 5}, "of.all": 1}
    template = "{prompt} {n} {yes} {listed} {of} {of.most} {of.all} {id} { n }"
    (found,) = prompts(template, record)
    assert found == 'Nice 3 true ["é", null] {"most": 5} 5 1 7 3'


def test_a_key_that_is_missing_is_the_error_of_its_record() -> None:
    found = prompts(
        "{prompt} {stars}", {"prompt": "a", "stars": 1}, {"prompt": "b"}, {"stars": None, "prompt": "c"}, "d"
    )
    assert found == [
        "a 1", 'no "stars" in the object, which has "prompt"', '"stars" is null, and the prompt needs it',
        'no "stars" in the object, which has "prompt"',
    ]  # fmt: skip
    assert prompts("{stars}", {"stars": 2}, {"prompt": 5, "stars": "\ud800"}) == [
        "2", '"prompt" has half of a surrogate pair, at character 1',
    ]  # fmt: skip


def test_a_value_that_is_no_json_is_the_error_of_its_record() -> None:
    assert prompts("{x}", {"x": {1, 2}}, {"x": 1}) == ["it has a value that cannot be written as JSON", "1"]


def test_records_have_what_the_prompt_was_made_of() -> None:
    given: list[Any] = ["Great food", {"id": "x", "prompt": "Cold soup", "city": "Oslo", "sfgen": {"regex": "c"}}]
    first, second = sfgen.job_records(job(REVIEW), given)
    assert (first["prompt"], first["input"]) == ("Review: Great food\nSentiment:", {"prompt": "Great food"})
    assert first["text"] == sfgen.generate("uniform", first["prompt"], CONFIG).text
    assert (second["id"], second["input"]) == ("x", {"prompt": "Cold soup", "city": "Oslo"})
    assert (second["prompt"], second["text"]) == ("Review: Cold soup\nSentiment:", "c")
    assert first["options"]["prompt_template"] == REVIEW


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("a{", "a brace of prompt_template has no pair: line 1, column 2"),
        ("a}", "has no pair: line 1, column 2"),
        ("a\n{prompt}}", "has no pair: line 2, column 9"),
        ('{"a": {prompt}}', "has no pair: line 1, column 1"),
        ("{}", "names no key: line 1, column 1"),
        ("{ }", "names no key"),
        ('Text: Ada\nJSON: {"age": 36}\n{prompt}', "begins JSON, not a key: line 2, column 7"),
        ('{ "age": 36}{prompt}', "begins JSON, not a key: line 1, column 1"),
        ("Sentiment:", "names no key: all prompts would be the same"),
        ("{{prompt}}", "names no key: all prompts would be the same"),
        ("{prompt}\ud800", "has half of a surrogate pair"),
    ],
)
def test_what_is_no_template(template: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        job(template)


def test_files_of_each_kind(tmp_path: Path) -> None:
    lines, table, plain = (tmp_path / name for name in ("a.jsonl", "a.csv", "a.txt"))
    lines.write_text('{"prompt": "a", "city": "Oslo"}\n{"prompt": "b"}\n{"city": "Rome"}\n')
    table.write_text("city,prompt\nOslo,a\n,b\n")
    plain.write_text("a\nb\n")

    def written(source: Path, template: str, **changes: Any) -> list[dict[str, Any]]:
        output = tmp_path / f"{source.name}.out"
        sfgen.run_job(job(template), source, output, **{"replace": True, **changes})
        return [json.loads(line) for line in output.read_text().splitlines()]

    found = written(lines, "{prompt} in {city}:")
    assert [record.get("prompt") for record in found] == ["a in Oslo:", None, None]
    assert [record["input"] for record in found] == [{"prompt": "a", "city": "Oslo"}, {"prompt": "b"}, {"city": "Rome"}]
    assert [record["prompt"] for record in written(lines, "In {city}:", strict=False) if "prompt" in record] == [
        "In Oslo:", "In Rome:",
    ]  # fmt: skip
    assert [record["prompt"] for record in written(plain, "<{prompt}>", plain=True)] == ["<a>", "<b>"]
    assert [record["prompt"] for record in written(table, "{prompt} in {city}:")] == ["a in Oslo:", "b in :"]
    sfgen.run_job(job("{prompt}!"), table, tmp_path / "out.csv")
    header, first, *_ = (tmp_path / "out.csv").read_text().splitlines()
    cells = dict(zip(header.split(","), first.split(","), strict=True))
    assert (cells["prompt"], cells["input.prompt"], cells["input.city"]) == ("a!", "a", "Oslo")
    with pytest.raises(UsageError, match=r"has \{city\}, and a line of text is \{prompt\} alone"):
        written(plain, "{city}", plain=True)
    with pytest.raises(InputError, match="has no column country; its first line has"):
        written(table, "{country}")


def test_a_table_without_prompts_may_have_what_the_template_needs(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("city\nOslo\n")
    sfgen.run_job(job("In {city}:"), tmp_path / "a.csv", tmp_path / "out")
    assert json.loads((tmp_path / "out").read_text())["prompt"] == "In Oslo:"


def test_a_run_goes_on_with_the_same_template_only(tmp_path: Path) -> None:
    output = tmp_path / "out"
    sfgen.run_job(job(REVIEW), ["a"], output)
    assert sfgen.run_job(job(REVIEW), ["a", "b"], output, resume=True).written == 1
    with pytest.raises(ForeignOutput, match="its prompt is"):
        sfgen.run_job(job("{prompt}"), ["a", "b"], output, resume=True)
    with pytest.raises(ForeignOutput, match="its prompt_template is"):
        sfgen.run_job(job("Review: { prompt }\nSentiment:"), ["a", "b"], output, resume=True)


def test_choices_are_scored_behind_it() -> None:
    scored = sfgen.Job("uniform", prompt_template="{prompt}:", choices=["a", "bc"])
    (record,) = sfgen.job_records(scored, ["x"])
    expected = sfgen.score("uniform", "x:", ["a", "bc"])
    assert [score["logprob"] for score in record["scores"]] == [score.logprob for score in expected]
