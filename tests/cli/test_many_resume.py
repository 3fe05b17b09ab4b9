"""A run that was cut off goes on: nothing is lost, nothing is done twice, and nothing of somebody else's is touched."""

from __future__ import annotations

import fcntl
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.command.many_prompts import BAD, BLANK, FAILING, GOOD, SmallModel, joined, timeless, written
from tests.support.running.tried import rounds, some_of, tried

from sfgen_cli.shell.ending import run

Sfgen = Callable[..., Any]

COMMANDS = [
    ["gen", "-r", "[a-h ]{0,9}", "--seed", "5", "-n", "2"],
    ["gen", "--max-tokens", "3"],
    ["ban", "--words", "ab*,c", "--max-tokens", "6", "--seed", "0", "--batch-size", "3"],
]
RECORDS = [GOOD[1], BLANK[0], BAD[4], GOOD[2], FAILING[1], GOOD[3]]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> SmallModel:
    """The model of every run."""
    monkeypatch.delenv("SFGEN_SEED", raising=False)
    model = SmallModel()
    monkeypatch.setattr("sfgen.models.load_model", lambda *_, **__: model)
    return model


class Folder:
    """An input and an output."""

    def __init__(self, path: Path, lines: list[bytes]) -> None:
        self.input, self.output = path / "prompts.jsonl", path / "texts.jsonl"
        self.input.write_bytes(joined(lines))

    def run(self, *arguments: str) -> int:
        return run([*arguments, "--input", str(self.input), "--output", str(self.output)])

    def resume(self, *arguments: str) -> int:
        return self.run(*arguments, "--resume")

    @property
    def data(self) -> bytes:
        return self.output.read_bytes()


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path, RECORDS)


# ---- going on ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_cut_at_any_byte_it_goes_on_to_the_same_end(folder: Folder, small: SmallModel, command: list[str]) -> None:
    code = folder.run(*command)
    whole = folder.data
    begun = list(small.encoded)
    lines = written(whole)
    # Bytes of the first line and where the next begins, and some of the rest.
    first = whole.index(b"\n") + 40
    others = random.Random(0).sample(range(first, len(whole) + 1), rounds(150))
    for size in [*some_of(range(first), 60), *others]:
        folder.output.write_bytes(whole[:size])
        small.encoded.clear()
        assert folder.resume(*command) == code
        assert timeless(folder.data) == timeless(whole), size
        kept = lines[: whole[:size].count(b"\n")]
        assert folder.data.startswith(whole[: whole.rfind(b"\n", 0, size) + 1])  # what was there stays, with its times
        # What was there is not worked on again.
        assert small.encoded == begun[sum("prompt" in line for line in kept) :], size


@tried("some")
@given(
    lines=st.lists(st.sampled_from(GOOD + BAD + FAILING + BLANK), max_size=8),
    command=st.sampled_from(COMMANDS),
    sizes=st.lists(st.tuples(st.floats(0, 1), st.integers(1, 5)), min_size=1, max_size=3),
)
def test_cut_off_again_and_again(
    tmp_path_factory: pytest.TempPathFactory,
    lines: list[bytes],
    command: list[str],
    sizes: list[tuple[float, int]],
) -> None:
    folder = Folder(tmp_path_factory.mktemp("cut"), lines)
    code = folder.run(*command)
    whole = folder.data
    for share, rows in sizes:
        folder.output.write_bytes(folder.data[: round(share * len(whole))])
        assert folder.resume(*command, "--batch-size", str(rows)) == code
        assert timeless(folder.data) == timeless(whole)


def test_without_a_file_it_begins(folder: Folder) -> None:
    folder.resume(*COMMANDS[0])
    whole = folder.data
    folder.output.unlink()
    folder.run(*COMMANDS[0])
    assert timeless(folder.data) == timeless(whole)


def test_a_seed_that_was_drawn_is_taken_up(folder: Folder, capfd: pytest.CaptureFixture[str]) -> None:
    command = ["gen", "-r", "[a-h]{9}", "-n", "3"]
    folder.run(*command)
    whole = folder.data
    for size in (len(whole) // 3, len(whole) - 1, len(whole)):
        folder.output.write_bytes(whole[:size])
        folder.resume(*command)
        assert timeless(folder.data) == timeless(whole)
    capfd.readouterr()
    assert folder.resume(*command, "--seed", "1") == 1
    assert "its seed is " in capfd.readouterr().err


def test_a_finished_run_needs_no_weights(folder: Folder, small: SmallModel) -> None:
    folder.run(*COMMANDS[0])
    small.sessions.clear()
    folder.resume(*COMMANDS[0])
    assert small.sessions == []


def test_failures_of_before_count(folder: Folder, capfd: pytest.CaptureFixture[str]) -> None:
    folder.run(*COMMANDS[1])
    capfd.readouterr()
    assert folder.resume(*COMMANDS[1]) == 1
    out, err = capfd.readouterr()
    assert (out, err) == ("", f"sfgen: nothing left to write to {folder.output}, 5 there before (2 failed)\n")
    lines = folder.data.splitlines(keepends=True)
    folder.output.write_bytes(b"".join(lines[:2]))
    assert folder.resume(*COMMANDS[1]) == 1
    assert capfd.readouterr().err.splitlines()[-1] == (
        f"sfgen: 2 written to {folder.output}, 1 failed, 2 there before (1 failed)"
    )
    assert folder.resume(*COMMANDS[1], "--strict") == 1
    assert f"sfgen: {folder.input}, line 3: " in capfd.readouterr().err


def test_strict_goes_on_when_the_input_is_mended(folder: Folder) -> None:
    assert folder.run(*COMMANDS[1], "--strict") == 1
    assert len(written(folder.data)) == 1
    folder.input.write_bytes(joined([RECORDS[0], b"", *GOOD]))
    assert folder.resume(*COMMANDS[1], "--strict") == 0
    assert [line["line"] for line in written(folder.data)] == [1, 3, 4, 5, 6, 7]


# ---- what is not of this run ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "line", "what"),
    [
        ({"prompt": "b d"}, 1, 'its prompt is "b d", and now it would be "b c" (line 1 of the input)'),
        ({"id": True}, 1, "its id is true, and now it would be 7"),
        ({"id": 7.0}, 1, "its id is 7.0, and now it would be 7"),
        ({"line": 2}, 1, "its line is 2"),
        ({"seed": 3}, 1, "its seed is 3, and now it would be 5"),
        ({"sample": 3}, 2, "its sample is 3"),
        ({"error": "other"}, 3, 'its error is "other"'),
        ({"run": "other"}, 2, "its own instructions, under sfgen in the input, differ"),
        ({"input": {"a": 1}}, 2, 'its input is {"a": 1}, and now it would be none'),
    ],
)
def test_a_changed_line_is_told(
    folder: Folder, capfd: pytest.CaptureFixture[str], change: dict[str, Any], line: int, what: str
) -> None:
    _told(folder, capfd, COMMANDS[0], written_by(folder, COMMANDS[0]), change, line, what)


@pytest.mark.parametrize(
    ("change", "line", "what"),
    [
        ({"prompt": "b d"}, 1, 'its prompt is "b d", and now it would be "b c" (line 1 of the input)'),
        ({"model": "other"}, 1, 'its model is "other"'),
        ({"seed": 3}, 1, "its seed is 3, and now it would be 5"),
        ({"pattern": "a"}, 2, 'its pattern is "a"'),
        ({"choices": ["a"]}, 2, 'its choices is ["a"], and now it would be none'),
        ({"options": {"temperature": 0.5, "max_tokens": 256}}, 2, 'its options is {"temperature": 0.5'),
        ({"error": "other"}, 3, 'its error is "other"'),
    ],
)
def test_a_line_of_before_there_were_runs_is_compared_with_all_its_keys(
    folder: Folder, capfd: pytest.CaptureFixture[str], change: dict[str, Any], line: int, what: str
) -> None:
    lines = written_by(folder, [*COMMANDS[0], "--fields", "all"])
    for fields in lines:
        del fields["run"]
        fields.pop("input", None)
    folder.output.write_bytes(joined(json.dumps(fields).encode() for fields in lines[:4]))
    assert folder.resume(*COMMANDS[0]) == 1  # some records fail
    assert [fields.get("text") for fields in written(folder.data)] == [fields.get("text") for fields in lines]
    assert ["options" in fields for fields in written(folder.data)] == [True, True, False, True] + [False] * 5
    _told(folder, capfd, COMMANDS[0], lines, change, line, what)


def written_by(folder: Folder, command: list[str]) -> list[dict[str, Any]]:
    folder.run(*command)
    return written(folder.data)


def _told(
    folder: Folder,
    capfd: pytest.CaptureFixture[str],
    command: list[str],
    lines: list[dict[str, Any]],
    change: dict[str, Any],
    line: int,
    what: str,
) -> None:
    """What is told of a file in which one line is otherwise."""
    lines[line - 1] |= change
    data = joined(json.dumps(fields).encode() for fields in lines) + b"{"
    folder.output.write_bytes(data)
    capfd.readouterr()
    assert folder.resume(*command) == 1
    err = capfd.readouterr().err
    assert err.startswith(f"sfgen: {folder.output}, line {line}, is not of this run: {what}")
    assert len(err.splitlines()) == 2
    assert folder.data == data  # as it was, half a line and all


@pytest.mark.parametrize(
    "options",
    [
        ["-r", "[a-h ]{0,8}", "--seed", "5", "-n", "2"],
        ["-r", "[a-h ]{0,9}", "--seed", "6", "-n", "2"],
        ["-r", "[a-h ]{0,9}", "--seed", "5", "-n", "3"],
        ["-r", "[a-h ]{0,9}", "--seed", "5"],
        ["-r", "[a-h ]{0,9}", "--seed", "5", "-n", "2", "-t", "0.5"],
        ["-r", "[a-h ]{0,9}", "--seed", "5", "-n", "2", "--top-k", "3"],
        ["-r", "[a-h ]{0,9}", "--seed", "5", "-n", "2", "--max-tokens", "20"],
        ["-r", "[a-h ]{0,9}", "--seed", "5", "-n", "2", "-m", "uniform"],
        ["-r", "[a-h ]{0,9}", "--seed", "5", "-n", "2", "--ban-words", "a"],
        ["-r", "[a-h ]{0,9}", "--seed", "5", "-n", "2", "--engine", "naive"],
        ["-r", "[a-h ]{0,9}", "--seed", "5", "-n", "2", "--no-fast-forward"],
        ["-r", "[a-h ]{0,9}", "--seed", "5", "-n", "2", "--dtype", "float32"],
        ["-r", "[a-h ]{0,9}", "--seed", "5", "-n", "2", "--tokenizer", "other"],
        ["-r", "[a-h ]{0,9}", "--seed", "5", "-n", "2", "--lines"],
        ["--choices", "a,b", "--seed", "5", "-n", "2"],
        ["--seed", "5", "-n", "2"],
        ["-r", "[a-h ]{0,9}"],
    ],
)
def test_other_options_are_another_run(folder: Folder, capfd: pytest.CaptureFixture[str], options: list[str]) -> None:
    folder.run(*COMMANDS[0])
    whole = folder.data
    capfd.readouterr()
    assert folder.resume("gen", *options) == 1
    assert "is not of this run: its " in capfd.readouterr().err
    assert folder.data == whole


@pytest.mark.parametrize(
    ("lines", "number"),
    [
        ([*RECORDS[:1], *RECORDS[2:]], 3),  # a line less: the numbers differ
        ([RECORDS[0], BLANK[0], GOOD[0], *RECORDS[3:]], 3),  # mended
        ([*RECORDS[:-1]], 8),  # shorter
        ([BAD[0], *RECORDS], 1),
        ([], 1),
    ],
)
def test_another_input_is_another_run(
    folder: Folder, capfd: pytest.CaptureFixture[str], lines: list[bytes], number: int
) -> None:
    folder.run(*COMMANDS[0])
    whole = folder.data
    folder.input.write_bytes(joined(lines))
    capfd.readouterr()
    assert folder.resume(*COMMANDS[0]) == 1
    assert f"{folder.output}, line {number}, is not of this run" in capfd.readouterr().err
    assert folder.data == whole


def test_more_input_is_more_to_do(folder: Folder) -> None:
    folder.run(*COMMANDS[0])
    folder.input.write_bytes(joined([*RECORDS, GOOD[0]]))
    folder.resume(*COMMANDS[0])
    whole = folder.data
    folder.output.unlink()
    folder.run(*COMMANDS[0])
    assert timeless(folder.data) == timeless(whole)


@pytest.mark.parametrize(
    "data",
    [
        b"my diary",
        b"my diary\n",
        b"{}\n",
        b"\n",
        b"\xff\xfe",
        b"\0" * 100,
        b"\0" * 100 + b"\n",
        b"x\n" * 10_000,
        b'{"line": 1, ',
        b'{"a"',
    ],
)
def test_a_file_of_something_else_is_not_touched(
    folder: Folder, capfd: pytest.CaptureFixture[str], data: bytes
) -> None:
    folder.output.write_bytes(data)
    for arguments in ([], ["--resume"]):
        assert folder.run(*COMMANDS[0], *arguments) == 1
        out, err = capfd.readouterr()
        assert (out, len(err.splitlines())) == ("", 2)
        assert ("line 1, is not of this run" in err) == bool(arguments)
        assert ("--force" in err) != bool(arguments)
        assert folder.data == data
    assert folder.run(*COMMANDS[0], "--force") == 1  # some records fail
    assert len(written(folder.data)) == 9


def test_half_a_line_too_many_is_not_cut_away(folder: Folder, capfd: pytest.CaptureFixture[str]) -> None:
    folder.run(*COMMANDS[0])
    whole = folder.data
    folder.output.write_bytes(whole + b'{"id"')
    assert folder.resume(*COMMANDS[0]) == 1
    assert "line 10, is not of this run: the input has no record for it" in capfd.readouterr().err
    assert folder.data == whole + b'{"id"'


def test_what_fails_before_the_first_text_leaves_the_file(folder: Folder) -> None:
    folder.output.write_bytes(b"my diary")
    assert folder.run("gen", "-r", "a(?=b)", "--force") == 1
    assert folder.run("gen", "-r", "a{9}", "--max-tokens", "1", "--force") == 1
    assert folder.data == b"my diary"


# ---- the file ------------------------------------------------------------------------------------------------------


def test_two_runs_cannot_write_to_one_file(folder: Folder, capfd: pytest.CaptureFixture[str]) -> None:
    folder.run(*COMMANDS[0])
    whole = folder.data
    with folder.output.open("rb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        for arguments in (["--resume"], ["--force"], []):
            capfd.readouterr()
            assert folder.run(*COMMANDS[0], *arguments) == 1
            assert f"another run is writing to {folder.output}" in capfd.readouterr().err
    assert folder.data == whole
    assert folder.run(*COMMANDS[0], "--force") == 1  # some records fail


def test_an_output_that_cannot_be_written(folder: Folder, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for name, why in ((tmp_path, "Is a directory"), (tmp_path / "none" / "o", "No such file")):
        assert run(["gen", "-r", "a", "--input", str(folder.input), "--output", str(name)]) == 1
        assert capfd.readouterr().err.startswith(f"sfgen: cannot write to {name}: {why}")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_special_files_can_be_written_and_not_resumed(folder: Folder, capfd: pytest.CaptureFixture[str]) -> None:
    folder.output = Path("/dev/null")
    assert folder.run(*COMMANDS[0]) == 1  # some records fail
    assert "6 written to /dev/null" in capfd.readouterr().err
    assert folder.resume(*COMMANDS[0]) == 1
    assert "not a regular file" in capfd.readouterr().err
    folder.output = Path("/dev/full")
    assert folder.run(*COMMANDS[0]) == 1
    assert "sfgen: cannot write to /dev/full: No space left on device" in capfd.readouterr().err
