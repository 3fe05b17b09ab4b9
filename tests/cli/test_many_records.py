"""``--input``: records that say how they are done, keys that are passed on, ``--fields``, tables and gzip."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.command.many_prompts import joined

from sfgen.jobs import record_format
from sfgen_cli.shell.ending import run

Sfgen = Callable[..., Any]
GEN = ["gen", "-m", "uniform", "--seed", "5"]
OWN: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["-r", "[0-9]{4}", "--max-tokens", "40"]),
    ({"regex": "[a-f]{3}"}, ["-r", "[a-f]{3}"]),
    ({"choices": ["hot", "cold,"]}, ["--choices", r"hot,cold\,"]),
    ({"schema": {"enum": ["a", [1, 2]]}}, ["--schema", '{"enum": ["a", [1, 2]]}']),
    ({"schema": "a bool, b bool"}, ["--schema", "a bool, b bool"]),
    ({"grammar": 'root ::= "a" root | "b"'}, ["--grammar", 'root ::= "a" root | "b"']),
    ({"regex": "[ab]{4}", "ban": ["a*"]}, ["-r", "[ab]{4}", "--ban-words", "a*"]),
    ({"regex": "[ab]{4}", "seed": 70, "max_tokens": 4}, ["-r", "[ab]{4}", "--seed", "70", "--max-tokens", "4"]),
]
"""What a record says, and the same as options."""


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    file = tmp_path / "prompts.jsonl"
    records = [{"prompt": "P ", "id": line, "sfgen": own} for line, (own, _) in enumerate(OWN, 1)]
    file.write_bytes(joined(json.dumps(record).encode() for record in [*records, {"prompt": "P ", "city": "Oslo"}]))
    return file


@pytest.mark.parametrize("more", [[], ["--batch-size", "4"], ["--workers", "2"]])
def test_each_record_is_that_of_a_command_of_its_own(sfgen: Sfgen, prompts: Path, more: list[str]) -> None:
    done = sfgen(*GEN, "-r", "[0-9]{4}", "--max-tokens", "40", "--fields", "all", *more, "--input", prompts)
    assert (done.code, done.err) == (0, f"sfgen: {len(OWN) + 1} written, 0 failed\n")
    ours = ("line", "id", "seconds", "options", "run", "schema", "grammar")  # schemas and grammars have other names
    for line, (record, (_, options)) in enumerate(zip(done.records[:-1], OWN, strict=True), 1):
        seed = [] if "--seed" in options else ["--seed", str(5 + line - 1)]
        limit = [] if "--max-tokens" in options else ["--max-tokens", "40"]
        (alone,) = sfgen("gen", "-m", "uniform", *seed, *options, *limit, "--json", "P ").records
        assert {key: value for key, value in record.items() if key not in ours} == {
            key: value for key, value in alone.items() if key not in ours
        }
    assert done.records[-1]["input"] == {"city": "Oslo"}


def test_schemas_of_records_are_written_as_that_of_all(sfgen: Sfgen, tmp_path: Path) -> None:
    record = {"prompt": "P", "sfgen": {"schema": {"const": [1, 2]}}}
    (tmp_path / "p").write_text(json.dumps(record) + "\n")
    spaced, compact = (
        sfgen(*GEN, "--schema", "true", *spacing, "--input", tmp_path / "p").records[0]["text"]
        for spacing in ([], ["--spacing", "compact"])
    )
    assert (spaced, compact) == ("[1, 2]", "[1,2]")


def test_ban_has_them_too(sfgen: Sfgen, prompts: Path) -> None:
    done = sfgen("ban", "-m", "uniform", "--seed", "5", "--words", "x*", "--max-tokens", "40", "--input", prompts)
    assert all("x" not in record["text"] for record in done.records)
    assert done.records[2]["text"] in ("hot", "cold,")


def test_what_is_written_without_being_asked_for(sfgen: Sfgen, prompts: Path) -> None:
    done = sfgen(*GEN, "-r", "[0-9]{4}", "--max-tokens", "40", "--input", prompts)
    assert list(done.records[-1]) == ["line", "text", "prompt", "input", "finish_reason", "seed", "run"]
    assert list(done.records[3]) == ["id", "line", "text", "prompt", "value", "finish_reason", "seed", "run"]
    assert len({record["run"] for record in done.records}) == len(OWN) + 1
    sfgen(*GEN, "-r", "[0-9]{4}", "--input", prompts, "--output", prompts.with_name("o"))
    first, second = (json.loads(line) for line in prompts.with_name("o").read_text().splitlines()[:2])
    assert first["job"]["pattern"] == "[0-9]{4}"
    assert first["job"]["options"] == {"temperature": 1.0, "max_tokens": 256, "draws": 2}
    assert "job" not in second


def test_fields_are_chosen(sfgen: Sfgen, prompts: Path) -> None:
    done = sfgen(*GEN, "-r", "[0-9]{4}", "--fields", "text,value.a, id,input.city", "--input", prompts)
    keys = [list(record) for record in done.records]
    assert keys == [["text", "id"]] * 4 + [["text", "value.a", "id"]] + [["text", "id"]] * 3 + [["text", "input.city"]]
    one = sfgen(*GEN, "-r", "[0-9]{4}", "--json", "P").records[0]
    assert {"model", "pattern", "token_ids"} <= set(one)


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".jsonl.gz"])
def test_tables_and_compressed_files_in_and_out(sfgen: Sfgen, tmp_path: Path, ending: str) -> None:
    rows = [("x", "a, b", "", "Oslo"), ("y", 'c "d"\ne', '{"regex": "[ab]{2}"}', ""), ("z", "f", "oops", "Rome")]
    text = io.StringIO(newline="")
    csv.writer(text).writerows([("id", "prompt", "sfgen", "city"), *rows])
    lines = [{"id": id, "prompt": prompt, "city": city} for id, prompt, _, city in rows]
    lines[1]["sfgen"] = {"regex": "[ab]{2}"}  # type: ignore[assignment]
    lines[2]["sfgen"] = "oops"
    data = text.getvalue().encode() if "csv" in ending else joined(json.dumps(line).encode() for line in lines)
    packed = ending.endswith(".gz")
    source, output = tmp_path / f"in{ending}", tmp_path / f"out{ending}"
    source.write_bytes(gzip.compress(data) if packed else data)
    command = [*GEN, "-r", "[0-9]{4}", "--input", source, "--output", output]
    done = sfgen(*command)
    assert done.code == 1
    assert f'sfgen: {source}, line {5 if "csv" in ending else 3}: "sfgen"' in done.err
    whole = output.read_bytes()
    written = gzip.decompress(whole) if packed else whole
    if "csv" in ending:
        found: list[Any] = list(csv.DictReader(io.StringIO(written.decode(), newline=""), strict=True))
        assert [row["line"] for row in found] == ["2", "3", "5"]
        assert [row["input.city"] for row in found] == ["Oslo", "", "Rome"]
    else:
        found = [json.loads(line) for line in written.splitlines()]
        assert [row["input"]["city"] for row in found] == ["Oslo", "", "Rome"]
    assert [(row["id"], row.get("prompt") or "") for row in found] == [("x", "a, b"), ("y", 'c "d"\ne'), ("z", "")]
    assert [len(row.get("text") or "") for row in found] == [4, 2, 0]
    output.write_bytes(whole[: len(whole) * 2 // 3])
    again = sfgen(*command, "--resume")
    assert again.code == 1
    assert (gzip.decompress(output.read_bytes()) if packed else output.read_bytes()) == written
    kept = output.read_bytes()
    assert "nothing left to write" in sfgen(*command, "--resume").err
    assert (gzip.decompress(output.read_bytes()) if packed else output.read_bytes()) == written
    assert sfgen(*command, "--resume", "-r", "[0-9]{5}").code in (1, 2)
    assert sfgen(*GEN, "-r", "[0-9]{5}", "--input", source, "--output", output, "--resume").code == 1
    assert output.read_bytes() == kept


def test_a_record_of_a_table_says_how_it_is_done(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "p.csv").write_text('prompt,sfgen\na,"{""choices"": [""hot""]}"\n')
    assert run([*GEN, "--input", str(tmp_path / "p.csv"), "--fields", "text"]) == 0
    assert json.loads(capfd.readouterr().out) == {"text": "hot"}


def test_a_prompt_template_is_filled_with_the_keys_of_each_record(sfgen: Sfgen, tmp_path: Path) -> None:
    """It stands beside a template of the text, choices to score, bans and chats: it makes the prompts alone."""
    (tmp_path / "lines").write_text("Great food\nCold soup\n")
    (tmp_path / "records").write_text('{"prompt": "a", "city": "Oslo"}\n{"prompt": "b"}\n')
    template = ["--prompt-template", "Review: {prompt}\nSentiment:"]
    lines = ["-m", "uniform", "--input", tmp_path / "lines", "--lines", *template]
    expected = ["Review: Great food\nSentiment:", "Review: Cold soup\nSentiment:"]
    for command in (
        ["gen", "--choices", "good,bad"],
        ["gen", "--choices", "good,bad", "--scores"],
        ["gen", "--template", " {{mood: choices good,bad}}."],
        ["ban", "--words", "a", "--max-tokens", "3"],
    ):
        done = sfgen(*command, *lines)
        assert [record["prompt"] for record in done.records] == expected
        assert [record["input"] for record in done.records] == [{"prompt": "Great food"}, {"prompt": "Cold soup"}]
        for record in done.records:
            alone = [*command, "-m", "uniform", "--json", record["prompt"]]
            assert sfgen(*alone).records[0]["text"] == record["text"]
    done = sfgen(
        "gen", "-m", "uniform", "-r", "a", "--input", tmp_path / "records", "--prompt-template", "{city}: {{{prompt}}}"
    )
    assert [record.get("prompt", record.get("error")) for record in done.records] == [
        "Oslo: {a}", 'no "city" in the object, which has "prompt"',
    ]  # fmt: skip
    assert done.code == 1


def test_a_wrong_field_is_answered_by_the_names_of_all_each_of_them_whole(sfgen: Sfgen) -> None:
    done = sfgen(*GEN, "--input", "-", "--fields", "text,foo", stdin='{"prompt": "x"}')
    assert done.code == 2
    assert len(done.err.splitlines()) == 4
    message, *names, hint = done.err.splitlines()
    assert message == "sfgen: --fields has 'foo', which no record has"
    listed = " ".join(" ".join(names).split()).removeprefix("There are ").removesuffix(".").split(", ")
    assert listed == list(record_format.KNOWN)
    assert hint == "Keys inside of them are named after a dot: value.age."
