"""``--workers``: what is seen from outside when a run of several processes is killed, stopped or misused."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.command.many_prompts import timeless
from tests.support.command.processes import forked, gone, workers_of
from tests.support.running.tried import rounds

Sfgen = Callable[..., Any]
OPTIONS = ["gen", "-m", "uniform", "-r", "[a-z]{60}", "--seed", "7"]
RECORDS = 150


@pytest.fixture(scope="module")
def prompts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("workers") / "prompts.jsonl"
    file.write_text(
        "".join(json.dumps({"prompt": f"Prompt {number}", "id": number}) + "\n" for number in range(RECORDS))
    )
    return file


def begun(prompts: Path, output: Path, *more: str) -> subprocess.Popen[bytes]:
    files = ["--input", str(prompts), "--output", str(output)]
    return forked(
        [*OPTIONS, *files, "--workers", "2", *more],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def has_grown(output: Path, process: subprocess.Popen[bytes], size: int) -> list[int]:
    """Wait until so much is written; the workers then, or none if the run was over before."""
    while process.poll() is None:
        if output.exists() and output.stat().st_size > size and (found := workers_of(process.pid)):
            return found
        time.sleep(0.005)
    return []


def test_killed_and_gone_on_with(prompts: Path, sfgen: Sfgen, tmp_path: Path) -> None:
    whole, output = tmp_path / "whole.jsonl", tmp_path / "killed.jsonl"
    assert sfgen(*OPTIONS, "--input", prompts, "--output", whole).code == 0
    step, killed = len(whole.read_bytes()) // 8, 0
    for _ in range(rounds(20)):
        process = begun(prompts, output, "--resume")
        workers = has_grown(output, process, (output.stat().st_size if output.exists() else 0) + step)
        process.kill()
        process.communicate()
        assert gone(workers), "whoever has nobody to write for ends"
        killed += bool(workers)
    assert killed
    assert sfgen(*OPTIONS, "--input", prompts, "--output", output, "--resume").code == 0
    assert timeless(output.read_bytes()) == timeless(whole.read_bytes())


def test_stopped_by_a_key(prompts: Path, tmp_path: Path) -> None:
    output = tmp_path / "stopped.jsonl"
    process = begun(prompts, output)
    workers = has_grown(output, process, 1000)
    assert len(workers) == 2
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"--resume goes on" in err
    assert b"Traceback" not in err
    assert gone(workers)
    data = output.read_bytes()
    assert data.endswith(b"\n")
    assert [json.loads(line)["line"] for line in data.splitlines()] == list(range(1, data.count(b"\n") + 1))


def test_stdin_that_waits_can_be_left(tmp_path: Path) -> None:
    """The records of what has come are written, and Ctrl-C ends the waiting for more."""
    process = forked(
        [*OPTIONS, "--input", "-", "--workers", "2"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b'{"prompt": "a"}\n')
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["line"] == 1
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Fatal" not in err
    assert b"Traceback" not in err


def test_it_is_for_many_prompts_and_no_trace(prompts: Path, sfgen: Sfgen, tmp_path: Path) -> None:
    done = sfgen(*OPTIONS, "--workers", "2", "a")
    assert done.code == 2
    assert "--workers needs --input" in done.err
    done = sfgen(*OPTIONS, "--workers", "2", "--input", prompts, "--trace", tmp_path / "trace.jsonl")
    assert done.code == 2
    assert "--workers and --trace" in done.err
