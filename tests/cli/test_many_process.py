"""Many prompts as a process: killed, interrupted, fed through a pipe, seen on a terminal, out of room."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import random
import re
import resource
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pyte
import pytest
from tests.support.command.many_prompts import joined, timeless, written
from tests.support.command.processes import forked, run_forked
from tests.support.running.tried import rounds

SLOW = ["gen", "-m", "uniform", "-r", "[a-z]{80}", "--seed", "7"]
RECORDS = 120


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an input, ``prompts.jsonl``, and what an undisturbed run makes of it, ``whole.jsonl``."""
    folder = tmp_path_factory.mktemp("many")
    lines = [json.dumps({"prompt": f"Prompt {number} ", "id": f"n{number}"}).encode() for number in range(RECORDS)]
    lines[50] = b"oops"
    (folder / "prompts.jsonl").write_bytes(joined(lines))
    assert _finished(_begun(folder, "whole.jsonl")) == 1
    assert len(written((folder / "whole.jsonl").read_bytes())) == RECORDS
    return folder


def _begun(folder: Path, output: str, *arguments: str) -> subprocess.Popen[bytes]:
    files = ["--input", str(folder / "prompts.jsonl"), "--output", str(folder / output)]
    return forked(
        [*SLOW, *files, *arguments],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def _finished(process: subprocess.Popen[bytes]) -> int:
    process.communicate(timeout=120)
    return process.returncode


def _wait_for(output: Path, size: int, process: subprocess.Popen[bytes]) -> None:
    """Until the output has grown to ``size``, or the run is over."""
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        if output.exists() and output.stat().st_size >= size:
            return
        time.sleep(0.001)


def test_killed_at_random_moments_it_goes_on_to_the_same_end(folder: Path) -> None:
    draw = random.Random(time.time_ns())  # other moments in every run
    whole = (folder / "whole.jsonl").read_bytes()
    output = folder / "killed.jsonl"
    kept = [0]
    for _ in range(rounds(30)):
        # At a place in the output, the first time always; sometimes at any moment, while it is loaded or compared.
        before = output.stat().st_size if output.exists() else 0
        process = _begun(folder, output.name, "--resume", "--batch-size", str(draw.choice([1, 1, 5])))
        if len(kept) == 1 or draw.random() < 0.8:
            _wait_for(output, before + draw.randrange(1, len(whole) // 3), process)
            time.sleep(draw.random() * 0.02)
        else:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(draw.random())
        process.kill()
        code = _finished(process)
        data = output.read_bytes() if output.exists() else b""
        assert timeless(whole).startswith(timeless(data[: data.rfind(b"\n") + 1]))
        kept.append(data.count(b"\n"))
        assert kept[-1] >= kept[-2]
        if code != -signal.SIGKILL:
            break
    assert _finished(_begun(folder, output.name, "--resume")) == 1  # one record is no prompt
    assert timeless(output.read_bytes()) == timeless(whole), kept
    assert any(0 < count < RECORDS for count in kept), kept  # it was cut off in the middle


def test_ctrl_c_leaves_whole_lines_and_resume_goes_on(folder: Path) -> None:
    output = folder / "interrupted.jsonl"
    process = _begun(folder, output.name, "--batch-size", "3")
    _wait_for(output, 3000, process)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    count = len(written(output.read_bytes()))
    assert 0 < count < RECORDS
    told = err.decode().splitlines()
    assert told[-1] == "sfgen: interrupted"
    assert re.fullmatch(rf"sfgen: \d+ written to {output}, [01] failed, --resume goes on", told[-2])
    assert _finished(_begun(folder, output.name, "--resume")) == 1
    assert timeless(output.read_bytes()) == timeless((folder / "whole.jsonl").read_bytes())


def test_a_second_run_on_the_same_output_is_refused(folder: Path) -> None:
    output = folder / "locked.jsonl"
    first = forked([*SLOW, "--input", "-", "--output", str(output)], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    assert first.stdin is not None
    first.stdin.write((folder / "prompts.jsonl").read_bytes())
    first.stdin.flush()
    _wait_for(output, 1, first)
    second = _begun(folder, output.name, "--resume")
    _, err = second.communicate(timeout=60)
    assert (second.returncode, b"another run is writing to" in err) == (1, True)
    assert _finished(first) == 1  # it waited for the end of its input, and one record is no prompt
    assert timeless(output.read_bytes()) == timeless((folder / "whole.jsonl").read_bytes())


def test_a_disk_that_gets_full_is_told_and_resume_goes_on(folder: Path) -> None:
    output = folder / "full.jsonl"
    limit = 10_000  # bytes of a file: in the middle of a line
    files = ["--input", str(folder / "prompts.jsonl"), "--output", str(output)]
    done = run_forked([*SLOW, *files], preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    assert done.returncode == 1
    told = done.stderr.decode().splitlines()
    assert told[-2:] == [
        f"sfgen: cannot write to {output}: File too large",
        "All lines before are whole: --resume goes on after them.",
    ]
    assert 5000 < len(output.read_bytes()) <= limit
    assert written(output.read_bytes())  # whole lines
    assert _finished(_begun(folder, output.name, "--resume")) == 1
    assert timeless(output.read_bytes()) == timeless((folder / "whole.jsonl").read_bytes())


@pytest.mark.parametrize("rows", [1, 3])
def test_what_comes_through_a_pipe_is_answered_before_it_ends(rows: int) -> None:
    process = forked(
        ["gen", "-m", "uniform", "-r", "[a-z]{3}", "--input", "-", "--batch-size", str(rows)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdin.write(b"oops\n")  # what is no record is told at once
    process.stdin.flush()
    assert _line(process.stderr.fileno()).startswith(b"sfgen: stdin, line 1: not valid JSON")
    assert json.loads(_line(process.stdout.fileno()))["line"] == 1
    for number in range(4):
        for row in range(rows):
            process.stdin.write(b'{"prompt": "a", "id": %d}\n' % (number * rows + row))
            process.stdin.flush()
        # Texts wait until all rows have something to do; with the last one begun, the first is done.
        assert json.loads(_line(process.stdout.fileno()))["id"] == number
    out, err = process.communicate(timeout=60)
    assert [json.loads(line)["id"] for line in out.splitlines()] == list(range(4, 4 * rows))
    assert err.endswith(f"sfgen: {4 * rows} written, 1 failed\n".encode())
    assert process.returncode == 1


def _line(descriptor: int) -> bytes:
    """The next line, read without a buffer."""
    line = b""
    while not line.endswith(b"\n"):
        assert select.select([descriptor], [], [], 60)[0], f"nothing came after {line!r}"
        piece = os.read(descriptor, 1)
        assert piece, "the other side is closed"
        line += piece
    return line


def test_a_reader_that_goes_away_is_no_error(folder: Path) -> None:
    process = forked(
        [*SLOW, "--input", str(folder / "prompts.jsonl")],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(timeout=60) == 0
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()


# ---- on a terminal -------------------------------------------------------------------------------------------------


def _on_a_terminal(folder: Path, *arguments: str | Path, stdout_too: bool = False) -> tuple[bytes, bytes]:
    """What a run writes to the terminal, and to stdout where that is none."""
    here, there = pty.openpty()
    with open(folder / "stdout", "w+b") as file:
        process = forked(
            list(map(str, arguments)),
            stdin=subprocess.DEVNULL,
            stdout=there if stdout_too else file,
            stderr=there,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "80"},
        )
        os.close(there)
        shown = b"".join(_pieces(here))
        process.wait(timeout=60)
        file.seek(0)
        return shown, file.read()


def _pieces(descriptor: int) -> Iterator[bytes]:
    with contextlib.suppress(OSError), os.fdopen(descriptor, "rb", buffering=0) as stream:
        while piece := stream.read(4096):
            yield piece


def test_a_bar_with_rate_and_time_left_that_is_erased(folder: Path) -> None:
    shown, out = _on_a_terminal(folder, *SLOW, "--input", folder / "prompts.jsonl")
    lines = written((folder / "whole.jsonl").read_bytes())
    del lines[0]["job"]  # is for who goes on with a file
    assert written(out) == lines
    text = _without_escapes(shown).decode()
    assert re.search(rf"[1-9]\d* of {RECORDS} [\d.]+/s \d+:\d\d [\d,]+ tokens/s · 1 failed", text), text[-500:]
    assert "line51:notvalidJSON" in "".join(text.split())  # the path before it is long, and lines are broken
    assert _seen(shown)[-1] == f"sfgen: {RECORDS - 1} written, 1 failed"
    assert not any(f" of {RECORDS}" in row for row in _seen(shown))


def test_no_bar_where_what_reads_the_pipe_may_write_to_the_terminal_too(folder: Path) -> None:
    here, there = pty.openpty()
    run = forked(
        [*SLOW, "--input", str(folder / "prompts.jsonl")],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=there,
        env={**os.environ, "TERM": "xterm"},
    )
    reader = subprocess.Popen(["cat"], stdin=run.stdout, stdout=there)
    os.close(there)
    assert run.stdout is not None
    run.stdout.close()
    shown = b"".join(_pieces(here))
    assert run.wait(timeout=60) in (0, 1)
    assert reader.wait(timeout=60) == 0
    assert "━".encode() not in shown
    assert shown.count(b'"text"') == RECORDS - 1


def _without_escapes(shown: bytes) -> bytes:
    return re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", shown)


def _seen(shown: bytes) -> list[str]:
    """The lines of the terminal, as one sees them in the end."""
    screen = pyte.Screen(80, 24)
    pyte.ByteStream(screen).feed(shown)
    return [row.rstrip() for row in screen.display if row.strip()]


def test_no_bar_where_it_would_be_in_the_way(folder: Path) -> None:
    few = folder / "few.jsonl"
    few.write_bytes(joined([b'{"prompt": "a"}'] * 3))
    for arguments, stdout_too in ((["--quiet"], False), ([], True)):
        shown, out = _on_a_terminal(folder, *SLOW, *arguments, "--input", few, stdout_too=stdout_too)
        assert b" of 3" not in shown
        lines = _without_escapes(shown if stdout_too else out).replace(b"\r", b"\n").splitlines()
        assert len([line for line in lines if line.startswith(b'{"line"')]) == 3
