"""Prompts from tables, and records in them: against the csv module of Python, cut off anywhere."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.command.many_prompts import SmallModel
from tests.support.running.tried import tried

import sfgen
from sfgen import GenerationConfig, Job, Sampler
from sfgen.errors import ForeignOutput, InputError, OutputExists, UsageError
from sfgen.jobs.prompts import CsvTable
from sfgen.jobs.record_format import KNOWN, CsvRows

JOB = Job("uniform", GenerationConfig(index='[a",\n]{3}', sampler=Sampler(1.0, seed=5)))
CELLS = st.text(st.sampled_from('ab ",\n\r;é\u2028\x1b'), max_size=6)


def rows(file: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(file.read_text(), newline=""), strict=True))


# ---- in ------------------------------------------------------------------------------------------------------------


@tried("many")
@given(
    table=st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=6),
    writing=st.sampled_from([("\n", csv.QUOTE_ALL), ("\r\n", csv.QUOTE_ALL), ("\r\n", csv.QUOTE_MINIMAL)]),
)
def test_a_table_is_read_as_python_reads_it(table: list[tuple[str, str, str]], writing: tuple[str, Any]) -> None:
    end, quoting = writing
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator=end, quoting=quoting).writerows([("city", "prompt", "id"), *table])
    data = text.getvalue().encode()
    records = list(CsvTable("a", io.BytesIO(data)).records())
    assert [(record.input["input"]["city"], record.prompt, record.id["id"]) for record in records] == table
    lines = data.decode().split("\n")
    for record, (city, _, _) in zip(records, table, strict=True):  # the line in which the row begins
        cell = io.StringIO(newline="")
        csv.writer(cell, lineterminator=end, quoting=quoting).writerow([city, ""])
        assert lines[record.line - 1].startswith(cell.getvalue().split(",")[0].split("\n")[0])


def test_rows_that_are_wrong_do_not_stop_the_others() -> None:
    data = b'\xef\xbb\xbfprompt,id,sfgen\r\na,1,\r\nb,2\n\nc\xff,3,\nd,4,"{""regex"": ""a""}"\n'
    data += b'e,5,{\nf,6,,\n"g"x,7,\nh,8,7\ni,9,\n"j'
    records = list(CsvTable("a", io.BytesIO(data)).records())
    assert [(record.line, record.prompt) for record in records] == [
        *((2, "a"), (3, None), (5, None), (6, "d"), (7, None), (8, None), (9, None), (10, None), (11, "i"), (12, None))
    ]
    assert records[3].own is not None
    assert records[3].own.constraint is not None
    faults = [record.fault for record in records if record.prompt is None]
    for fault, what in zip(
        faults,
        [
            "row has 2 cells, and the first line has 3 cells",
            "not valid UTF-8",
            "not '{'",
            "row has 4 cells",
            "no row",
            "must be an object",
            "no row",
        ],
        strict=True,
    ):
        assert what in fault


def test_a_line_that_is_too_long_is_one_row_that_is_wrong() -> None:
    lines: list[bytes | None] = [b"prompt,id\n", None, b"a,1\n", b'"b\n', None, b'c",2\n', b"d,3\n"]
    records = list(CsvTable("a", lines).records())
    assert [(record.line, record.prompt) for record in records] == [(2, None), (3, "a"), (4, None), (7, "d")]
    quoted: list[bytes | None] = [b"prompt\n", b'"' + b"x" * (16 * 2**20 + 5) + b"\n", b"a\n"]
    assert [record.prompt for record in CsvTable("a", quoted).records()] == [None, "a"]


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"Prompt,id\na,1\n", 'has no column prompt; its first line has "Prompt", "id"'),
        (b"prompt;id\na;1\n", "has no column prompt"),
        (b"\nprompt\na\n", "its first line has nothing"),
        (b"prompt,id,prompt\na,1,b\n", 'has two columns "prompt"'),
        (b'"prompt', "line 1: no row of a table"),
    ],
)
def test_a_table_without_prompts_is_an_error_of_the_run(tmp_path: Path, data: bytes, what: str) -> None:
    (tmp_path / "a.csv").write_bytes(data)
    (tmp_path / "texts").write_text("my diary\n")
    with pytest.raises(InputError, match=what):
        sfgen.run_job(JOB, tmp_path / "a.csv", tmp_path / "texts", replace=True)
    assert (tmp_path / "texts").read_text() == "my diary\n"


def test_an_empty_table_has_no_records(tmp_path: Path) -> None:
    for data in (b"", b"prompt\n", b"prompt,a\n\n"):
        (tmp_path / "a.csv").write_bytes(data)
        assert sfgen.run_job(JOB, tmp_path / "a.csv", tmp_path / "b.csv", replace=True).written == 0
        assert (tmp_path / "b.csv").read_text().startswith("id,line,text,prompt,")


def test_a_table_is_no_plain_lines(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("prompt\na\n")
    with pytest.raises(UsageError, match="is a table, whose lines are no prompts"):
        sfgen.run_job(JOB, tmp_path / "a.csv", tmp_path / "texts", plain=True)


# ---- out -----------------------------------------------------------------------------------------------------------


@tried("some")
@given(st.lists(st.dictionaries(st.sampled_from(["a", "b", "c"]), CELLS | st.integers() | st.none()), max_size=4))
def test_a_row_is_read_as_it_was_written(records: list[dict[str, Any]]) -> None:
    table = CsvRows(("a", "b", "c"))
    lines = [table.line(record) for record in records]
    data = "".join(f"{line}\n" for line in [table.header, *lines])
    found = list(csv.DictReader(io.StringIO(data, newline=""), strict=True))
    expected = [
        {name: str(record.get(name, "") if record.get(name) is not None else "") for name in "abc"}
        for record in records
    ]
    assert found == expected
    for record, line in zip(expected, lines, strict=True):
        assert table.parsed(line.encode()) == {name: cell for name, cell in record.items() if cell}
        for count in range(4):
            assert line.startswith(table.beginning(record, "abc"[:count]).decode()) or count == 3


def test_the_texts_are_those_of_json_lines(tmp_path: Path) -> None:
    prompts: list[Any] = [
        {"prompt": 'x "y",\nz', "id": "é\ud800", "n": 1},
        "b",
        {"text": "no prompt"},
        {"prompt": "c", "id": 0},
    ]
    sfgen.run_job(JOB, prompts, tmp_path / "a.csv")
    sfgen.run_job(JOB, prompts, tmp_path / "a.jsonl")
    records = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    columns = ["id", "line", "text", "prompt", "input", "finish_reason", "seed", "run", "error"]
    found = rows(tmp_path / "a.csv")
    assert [list(row) for row in found] == [columns] * 4
    for row, record in zip(found, records, strict=True):
        assert row["text"] == record.get("text", "")
        assert row["prompt"] == record.get("prompt", "")
        assert row["error"] == record.get("error", "")
        assert row["seed"] == str(record.get("seed", ""))
    assert [row["id"] for row in found] == ["é\\ud800", "", "", "0"]
    assert [row["input"] for row in found] == ['{"n": 1}', "", '{"text": "no prompt"}', ""]


def test_columns_that_are_passed_on_are_columns_again(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('city,prompt,id,"a.b, c"\nOslo,x,1,"2,3"\n')
    schema = sfgen.JsonSchema({"type": "object", "properties": {"age": {"enum": [1, 2]}}, "required": ["age"]})
    job = Job("uniform", GenerationConfig(index=schema, sampler=Sampler(1.0, seed=5)), samples=2)
    sfgen.run_job(job, tmp_path / "a.csv", tmp_path / "b.csv")
    first, second = rows(tmp_path / "b.csv")
    assert list(first) == [
        *("id", "line", "sample", "text", "prompt", "value", "input.city", "input.a.b, c", "finish_reason", "seed"),
        *("run", "error"),
    ]
    assert (first["input.city"], first["input.a.b, c"], first["line"], second["sample"]) == ("Oslo", "2,3", "2", "1")
    assert json.loads(first["value"]) == json.loads(first["text"])
    sfgen.run_job(job, tmp_path / "a.csv", tmp_path / "c.csv", fields="value.age,input.city")
    assert (tmp_path / "c.csv").read_text().splitlines()[0] == "value.age,input.city,error"
    assert [row["value.age"] for row in rows(tmp_path / "c.csv")] == [
        str(json.loads(row["value"])["age"]) for row in (first, second)
    ]
    sfgen.run_job(job, tmp_path / "a.csv", tmp_path / "d.csv", fields="all")
    assert list(rows(tmp_path / "d.csv")[0]) == list(KNOWN)


@given(part=st.floats(0, 1), fields=st.sampled_from([None, "all", "text,line,sample,seed,run,id"]))
def test_a_table_that_was_cut_off_anywhere_goes_on_to_the_same_file(
    tmp_path_factory: pytest.TempPathFactory, part: float, fields: str | None
) -> None:
    folder = tmp_path_factory.mktemp("table")
    (folder / "a.csv").write_text('prompt,id,city\na,1,Oslo\n"b\nc",2,"Rome, ""x"""\nA,3,\nh,,\n')
    job = Job(SmallModel(), GenerationConfig(sampler=Sampler(1.0, seed=3), max_tokens=5), samples=2)
    sfgen.run_job(job, folder / "a.csv", folder / "b.csv", fields=fields)
    whole = (folder / "b.csv").read_bytes()
    cut = round(part * len(whole))
    (folder / "b.csv").write_bytes(whole[:cut])
    sfgen.run_job(job, folder / "a.csv", folder / "b.csv", fields=fields, resume=True, batch_size=2)
    found = rows(folder / "b.csv")
    assert [{**row, "seconds": ""} for row in found] == [
        {**row, "seconds": ""} for row in csv.DictReader(io.StringIO(whole.decode(), newline=""))
    ]
    if fields != "all":
        assert (folder / "b.csv").read_bytes() == whole


def test_what_is_not_of_this_run_is_not_touched(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    sfgen.run_job(JOB, ["a", "b"], file)
    whole = file.read_bytes()
    with pytest.raises(OutputExists):
        sfgen.run_job(JOB, ["a", "b"], file)
    with pytest.raises(ForeignOutput, match='its prompt is "b", and now it would be "c"'):
        sfgen.run_job(JOB, ["a", "c"], file, resume=True)
    other = Job("uniform", GenerationConfig(index="[ab]", sampler=Sampler(1.0, seed=5)))
    with pytest.raises(ForeignOutput, match="an option is another"):
        sfgen.run_job(other, ["a", "b"], file, resume=True)
    with pytest.raises(ForeignOutput, match="its columns are id,line"):
        sfgen.run_job(JOB, ["a", "b"], file, fields="text,line,seed,run", resume=True)
    assert file.read_bytes() == whole
    for data in (b"my diary", b"my diary\n", b"id,line,text\n", b"\xff", b"id,li\n", whole + b"x", whole + b'"'):
        file.write_bytes(data)
        with pytest.raises(ForeignOutput):
            sfgen.run_job(JOB, ["a", "b"], file, resume=True)
        assert file.read_bytes() == data
