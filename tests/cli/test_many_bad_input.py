"""``--input`` as a process, with what nobody should give it: one error for one record, or one for the run."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.command.many_prompts import written
from tests.support.command.processes import run_forked

GOOD: dict[str, Any] = {"prompt": "a"}
GEN = ["gen", "-m", "uniform", "-r", "[a-z]{30}", "--seed", "7"]


def sfgen(
    *arguments: str | Path, file_limit: int | None = None, memory: int | None = None
) -> subprocess.CompletedProcess[bytes]:
    def limit() -> None:
        if file_limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_limit, file_limit))
        if memory is not None:
            resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))

    if memory is None:
        return run_forked(list(map(str, arguments)), timeout=240, preexec_fn=limit)
    command = [sys.executable, "-m", "sfgen_cli", *map(str, arguments)]  # with no memory but its own
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=240, preexec_fn=limit
    )


def test_each_bad_record_is_one_error_and_the_others_go_on(tmp_path: Path) -> None:
    bad = [
        {"prompt": "b", "sfgen": {"regex": "a", "grammar": 'root ::= "a"'}},
        {"prompt": "b", "sfgen": {"schema": {"type": "text"}}},
        {"prompt": "b", "sfgen": {"schema": {"$ref": "file:///etc/passwd"}}},
        {"prompt": "b", "sfgen": {"regex": "(a{1000}){1000}"}},
        {"sfgen": {"messages": [{"role": "system", "content": "a"}]}},
        {"prompt": 7},
        {"prompt": "b", "sfgen": {"messages": [{"role": "user", "content": "a"}]}},
    ]
    lines = [json.dumps(GOOD), *(line for record in bad for line in (json.dumps(record), json.dumps(GOOD)))]
    data = "\n".join(lines).encode() + b'\n{"prompt": "\xf0\x9f\x98"}\n{"prompt": "' + b"x" * 50_000_000 + b'"}\n'
    (tmp_path / "p.jsonl").write_bytes(data + json.dumps(GOOD).encode() + b"\n")
    done = sfgen(*GEN, "--input", tmp_path / "p.jsonl", "--output", tmp_path / "o.jsonl")
    records = written((tmp_path / "o.jsonl").read_bytes())
    assert [("text" in record, "error" in record) for record in records] == [
        *[(True, False), (False, True)] * 7,
        *[(True, False), (False, True), (False, True), (True, False)],
    ]
    said = [record["error"] for record in records if "error" in record]
    for error, what in zip(
        said,
        [
            *("regex and grammar cannot be used together", "is not a type", "$ref", "limit", "no message of a user"),
            *(
                '"prompt" is a number, not a string',
                "no chat template",
                "not valid UTF-8: byte 13",
                "longer than 16,777,216",
            ),
        ],
        strict=True,
    ):
        assert what in error
    told = done.stderr.decode().splitlines()
    assert done.returncode == 1
    assert len(told) == len(said) + 1
    assert told[-1] == f"sfgen: 9 written to {tmp_path}/o.jsonl, 9 failed"
    assert all(len(line) < 400 for line in told)


@pytest.mark.parametrize("ending", ["jsonl", "csv", "jsonl.gz", "csv.gz"])
def test_a_disk_that_gets_full_is_told_once_and_resume_goes_on(tmp_path: Path, ending: str) -> None:
    (tmp_path / "p.jsonl").write_text("".join(json.dumps({"prompt": f"P {number}"}) + "\n" for number in range(60)))
    files: list[str | Path] = ["--input", tmp_path / "p.jsonl", "--output", tmp_path / f"o.{ending}"]
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    done = sfgen(*GEN, *files, file_limit=1500)
    told = done.stderr.decode().splitlines()
    assert done.returncode == 1
    assert told[-2:] == [
        f"sfgen: cannot write to {tmp_path}/o.{ending}: File too large",
        "All lines before are whole: --resume goes on after them.",
    ]
    assert 900 < (tmp_path / f"o.{ending}").stat().st_size <= 1500
    again = sfgen(*GEN, *files, "--resume")
    assert again.returncode == 0
    assert "there before" in again.stderr.decode()
    whole: list[str | Path] = ["--input", tmp_path / "p.jsonl", "--output", tmp_path / f"whole.{ending}"]
    assert sfgen(*GEN, *whole).returncode == 0
    assert _unpacked(tmp_path / f"o.{ending}") == _unpacked(tmp_path / f"whole.{ending}")


def _unpacked(file: Path) -> bytes:
    import gzip

    return gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz"])
def test_a_file_of_another_version_is_told_before_anything_is_written(tmp_path: Path, ending: str) -> None:
    import gzip

    (tmp_path / "p.jsonl").write_text('{"prompt": "a"}\n{"prompt": "b"}\n')
    output = tmp_path / f"o.{ending}"
    files: list[str | Path] = ["--input", tmp_path / "p.jsonl", "--output", output]
    sfgen(*GEN, *files)
    changed = _unpacked(output).replace(b'"version": 1', b'"version": 9').replace(b'"run": "', b'"run": "0')
    output.write_bytes(gzip.compress(changed) if ending.endswith("gz") else changed)
    before = output.read_bytes()
    done = sfgen(*GEN, *files, "--resume")
    assert done.returncode == 1
    assert "line 1, is not of this run: it was written by another version of sfgen" in done.stderr.decode()
    assert output.read_bytes() == before


def test_a_table_with_a_quote_that_is_never_closed(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_bytes(b'prompt,id\na,1\n"b,2\n' + b"c,3\n" * 1000)
    done = sfgen(*GEN, "--input", tmp_path / "p.csv", "--fields", "line,error")
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        {"line": 2},
        {"line": 3, "error": "no row of a table: unexpected end of data"},
    ]
