"""Many prompts in one run: what is written for each, and what is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.command.many_prompts import BAD, BLANK, FAILING, GOOD, SmallModel, joined, timeless, written
from tests.support.running.tried import tried

from sfgen.jobs.prompts import LONGEST_LINE
from sfgen_cli.shell.ending import run

Sfgen = Callable[..., Any]
UNIFORM = ["-m", "uniform", "-r", "[a-z]{3}"]


@pytest.fixture
def prompts(tmp_path: Path) -> Callable[..., Path]:
    """Writes an input."""

    def write(*lines: bytes, end: bytes = b"\n") -> Path:
        file = tmp_path / "prompts.jsonl"
        file.write_bytes(b"\n".join(lines) + end)
        return file

    return write


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> SmallModel:
    """The model of every run."""
    model = SmallModel()
    monkeypatch.setattr("sfgen.models.load_model", lambda *_, **__: model)
    return model


# ---- records -------------------------------------------------------------------------------------------------------


def test_a_line_for_each_prompt_in_order_with_its_id(sfgen: Sfgen, prompts: Callable[..., Path]) -> None:
    done = sfgen("gen", *UNIFORM, "--seed", "4", "--input", prompts(*GOOD))
    assert (done.code, done.err) == (0, "sfgen: 5 written, 0 failed\n")
    lines = [json.loads(line) for line in done.out.split("\n")[:-1]]
    assert [line["line"] for line in lines] == [1, 2, 3, 4, 5]
    assert [line["prompt"] for line in lines] == ["a", "b c", "", "gg", "h"]
    assert [line.get("id", "none") for line in lines] == [*("none", 7, "x\ud800\u2028", {"a": [1.5, None, True]}, None)]
    assert [line["seed"] for line in lines] == [4, 5, 6, 7, 8]
    assert all("sample" not in line and len(line["text"]) == 3 for line in lines)
    assert "\u2028" not in done.out


def test_a_record_is_that_of_a_run_of_its_own(sfgen: Sfgen, prompts: Callable[..., Path]) -> None:
    common = ["ban", "--words", "the,of", "--max-tokens", "8", "--stop", ",", "--top-k", "50"]
    file = prompts(b'{"prompt": "It is "}', b'{"prompt": "Can we "}')
    many = sfgen(*common, "--seed", "4", "--fields", "all", "--input", file).records
    for seed, prompt, record in zip((4, 5), ("It is ", "Can we "), many, strict=True):
        (alone,) = sfgen(*common, "--seed", str(seed), "--json", prompt).records
        options = {
            "temperature": 1.0,
            "max_tokens": 8,
            "draws": 2,
            "top_k": 50,
            "max_block": 32,
            "max_rollbacks": 10_000,
        }
        head = {"line": record["line"], "options": options, "run": many[0]["run"]}
        assert record == {**alone, **head, "seconds": record["seconds"]}


def test_several_samples_have_a_line_each(sfgen: Sfgen, prompts: Callable[..., Path]) -> None:
    file = prompts(b'{"prompt": "a", "id": 1}', b"oops", b'{"prompt": "a", "id": 2}')
    records = sfgen("gen", *UNIFORM, "--seed", "10", "-n", "3", "--input", file).records
    places = [(record["line"], record.get("sample"), record.get("seed")) for record in records]
    assert places == [(1, 0, 10), (1, 1, 11), (1, 2, 12), (2, None, None), (3, 0, 16), (3, 1, 17), (3, 2, 18)]
    for record in records[:3]:
        alone = sfgen("gen", *UNIFORM, "--seed", str(record["seed"]), "--json", "a").records[0]
        assert alone["text"] == record["text"]


def test_lines_are_prompts_as_they_stand(sfgen: Sfgen, prompts: Callable[..., Path]) -> None:
    data = "\ufeffžluť ".encode(), b"", b'{"prompt": "a"}\r', b"  b\t", b"\xff", b"last\r"
    done = sfgen("gen", *UNIFORM, "--lines", "--input", prompts(*data, end=b""))
    assert [record.get("prompt") for record in done.records] == [
        *("žluť ", "", '{"prompt": "a"}', "  b\t", None, "last\r")
    ]
    assert done.code == 1
    assert "prompts.jsonl, line 5: not valid UTF-8: byte 1 of the line" in done.err


def test_an_input_without_records_is_no_error(sfgen: Sfgen, prompts: Callable[..., Path]) -> None:
    for lines in ([b""], BLANK):
        done = sfgen("gen", *UNIFORM, "--input", prompts(*lines))
        assert (done.code, done.out, done.err) == (0, "", "sfgen: 0 written, 0 failed\n")
    assert sfgen("gen", *UNIFORM, "--input", "-", stdin=None).code == 0  # stdin is closed


def test_stdin_as_input(sfgen: Sfgen) -> None:
    done = sfgen("gen", *UNIFORM, "--input", "-", stdin=b'{"prompt": "a"}\noops')
    assert [record["line"] for record in done.records] == [1, 2]
    assert done.err.startswith("sfgen: stdin, line 2: not valid JSON")


def test_stdin_is_left_alone_beside_a_file(sfgen: Sfgen, prompts: Callable[..., Path]) -> None:
    command = ["ban", "-m", "uniform", "--max-tokens", "2", "--fields", "banned.words,banned", "--words-file", "-"]
    done = sfgen(*command, "--input", prompts(*GOOD), stdin="a\n")
    assert [record["banned"]["words"] for record in done.records] == [["a"]] * 5
    assert [record["banned.words"] for record in done.records] == [["a"]] * 5


# ---- what fails ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_record_is_reported_and_the_others_are_written(
    sfgen: Sfgen, prompts: Callable[..., Path], bad: bytes
) -> None:
    file = prompts(b'{"prompt": "a", "id": 1}', b"", bad, b'{"prompt": "b", "id": 2}')
    done = sfgen("gen", *UNIFORM, "--quiet", "--input", file)
    assert done.code == 1
    first, failed, last = done.records
    assert (first["id"], last["id"], last["prompt"]) == (1, 2, "b")
    assert failed["line"] == 3
    assert set(failed) <= {"id", "line", "input", "run", "error"}
    assert "text" not in failed
    told = done.err.splitlines()
    assert told[0].startswith(f"sfgen: {file}, line 3: ")
    assert len(told[0]) < 300
    assert len(told) <= 2
    assert "Traceback" not in done.err


def test_the_id_of_a_bad_record_is_kept(sfgen: Sfgen, prompts: Callable[..., Path]) -> None:
    done = sfgen("gen", *UNIFORM, "--input", prompts(b'{"id": [3], "text": "a"}', b'{"id": 0.5, "prompt": null}'))
    first, second = done.records
    run = first.pop("run")
    why = 'no "prompt" in the object, which has "id", "text"'
    assert first == {"id": [3], "line": 1, "input": {"text": "a"}, "error": why}
    assert second == {"id": 0.5, "line": 2, "run": run, "error": '"prompt" is null, not a string'}
    assert done.err.endswith("sfgen: 0 written, 2 failed\n")


def test_a_line_that_is_too_long_is_no_record(sfgen: Sfgen, prompts: Callable[..., Path]) -> None:
    good = b'{"prompt": "a"}'
    longest = good + b" " * (LONGEST_LINE - len(good))
    file = prompts(longest, longest + b" ", b"x" * (2 * LONGEST_LINE + 5), good, longest + b" " * 9, end=b"")
    done = sfgen("gen", *UNIFORM, "--input", file)
    assert ["error" in record for record in done.records] == [False, True, True, False, True]
    assert [record["line"] for record in done.records] == [1, 2, 3, 4, 5]
    assert f"line 2: longer than {LONGEST_LINE:,} bytes" in done.err


def test_plain_lines_by_mistake_are_told_how_once(sfgen: Sfgen, prompts: Callable[..., Path]) -> None:
    done = sfgen("gen", *UNIFORM, "--input", prompts(b"It is", b"We are"))
    assert done.err.count("need --lines") == 1
    assert len(done.err.splitlines()) == 4


def test_what_fails_in_generation_does_not_stop_the_rest(
    sfgen: Sfgen, small: SmallModel, prompts: Callable[..., Path]
) -> None:
    file = prompts(GOOD[0], *FAILING, GOOD[1])
    done = sfgen("gen", "--seed", "3", "-n", "2", "-r", "[a-h]{9}", "--fields", "all", "--input", file)
    assert done.code == 1
    places = [(record["line"], record["sample"], record["seed"], "error" in record) for record in done.records]
    assert places == [
        (1, 0, 3, 0),
        (1, 1, 4, 0),
        (2, 0, 5, 1),
        (2, 1, 6, 1),
        (3, 0, 7, 1),
        (3, 1, 8, 1),
        (4, 0, 9, 0),
        (4, 1, 10, 0),
    ]
    failed = done.records[2]
    assert failed["error"].startswith("the prompt is longer than")
    assert (failed["prompt"], failed["pattern"]) == (json.loads(FAILING[0])["prompt"], "[a-h]{9}")
    assert f"sfgen: {file}, line 2, sample 0: the prompt is longer than" in done.err
    assert done.err.endswith("sfgen: 4 written, 4 failed\n")


def test_what_a_ban_makes_impossible_is_of_one_record(
    sfgen: Sfgen, small: SmallModel, prompts: Callable[..., Path]
) -> None:
    every = ",".join("abcdefgh")
    file = prompts(b'{"prompt": "a"}', b'{"prompt": "b "}', b'{"prompt": "c"}')
    done = sfgen("gen", "-r", "b", "--ban-words", "ab", "--input", file)
    assert ["error" in record for record in done.records] == [True, False, False]  # "b b" and "cb" are other words
    assert done.code == 1
    done = sfgen("ban", "--words", every, "--match", "substring", "--max-rollbacks", "0", "--input", file)
    assert all("gave up after 0 rollbacks" in record["error"] for record in done.records)
    assert len(done.records) == 3


def test_strict_stops_at_the_first(sfgen: Sfgen, small: SmallModel, prompts: Callable[..., Path]) -> None:
    for bad in (BAD[0], FAILING[0]):
        small.encoded.clear()
        file = prompts(GOOD[0], bad, GOOD[1])
        done = sfgen("gen", "-r", "[a-h]", "--strict", "--input", file)
        assert (done.code, len(done.records)) == (1, 1)
        assert f"sfgen: {file}, line 2: " in done.err
        assert "b c" not in small.encoded


def test_strict_writes_all_before_the_first_also_in_a_batch(
    sfgen: Sfgen, small: SmallModel, prompts: Callable[..., Path]
) -> None:
    for bad in (BAD[0], FAILING[0]):
        file = prompts(*GOOD, bad, *GOOD)
        done = sfgen("gen", "-r", "[a-h]{1,9}", "--seed", "1", "--strict", "--batch-size", "4", "--input", file)
        assert done.code == 1
        assert [record["line"] for record in done.records] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["gen", "-r", "a(?=b)"], "pattern: "),
        (["gen", "-r", "[a-h]{9}", "--max-tokens", "3"], "shortest match"),
        (["gen", "-r", "a", "--stop", "b"], "--stop cannot be used with a pattern"),
        (["gen", "-t", "-1"], "temperature"),
        (["gen", "--index", "no-such-file"], "no-such-file"),
    ],
)
def test_what_is_wrong_with_all_records_is_told_once(
    sfgen: Sfgen, small: SmallModel, prompts: Callable[..., Path], arguments: list[str], what: str
) -> None:
    done = sfgen(*arguments, "--input", prompts(*GOOD))
    assert done.code in (1, 2)
    assert done.out == ""
    assert done.err.count(what) == 1
    assert "line 1" not in done.err


def test_an_input_that_cannot_be_read(sfgen: Sfgen, tmp_path: Path) -> None:
    for file, why in ((tmp_path / "none", "No such file"), (tmp_path, "Is a directory")):
        done = sfgen("gen", *UNIFORM, "--input", file)
        assert (done.code, done.out) == (1, "")
        assert done.err.startswith(f"sfgen: cannot read {file}: {why}")


# ---- options -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["gen", "a prompt"], "a prompt and --input"),
        (["gen", "-"], "a prompt and --input"),
        (["gen", "--prompt-file", "p.txt"], "--prompt-file and --input"),
        (["gen", "--echo"], "--echo and --input"),
        (["gen", "--live"], "--live and --input"),
        (["gen", "--slow", "10"], "--slow and --input"),
        (["gen", "--step"], "--step and --input"),
        (["ban", "--words", "a", "--compare"], "--compare and --input"),
        (["ban", "--words", "a", "--routes"], "--routes and --input"),
        (["gen", "--resume"], "--resume needs --output"),
        (["gen", "--resume", "--output", "-"], "--resume needs --output"),
        (["gen", "--force"], "--force needs --output"),
        (["gen", "--force", "--resume", "--output", "o"], "--resume and --force"),
        (["gen", "--trace", "t", "--resume", "--output", "o"], "--resume and --trace"),
        (["gen", "--trace", "./o", "--output", "o"], "--output and --trace name the same file"),
        (["gen", "--batch-size", "0"], "--batch-size"),
    ],
)
def test_what_has_no_meaning_beside_input(
    sfgen: Sfgen, prompts: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, arguments: list[str], what: str
) -> None:
    file = prompts(*GOOD)
    monkeypatch.chdir(file.parent)
    done = sfgen(*arguments, "--input", file)
    assert (done.code, done.out) == (2, "")
    assert what in done.err
    assert len(done.err.splitlines()) <= 2
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize(
    "option",
    [
        *(["--lines"], ["--output", "o"], ["--resume"], ["--force"], ["--batch-size", "2"], ["--strict"]),
        ["--fields", "all"],
    ],
)
def test_what_needs_input(sfgen: Sfgen, option: list[str]) -> None:
    for command in (["gen"], ["ban", "--words", "a"]):
        done = sfgen(*command, *option, "a prompt")
        assert (done.code, done.out) == (2, "")
        assert f"{option[0]} needs --input" in done.err


def test_one_text_goes_to_a_file_by_the_shell(sfgen: Sfgen) -> None:
    done = sfgen("gen", "--output", "my file", "hi")
    hint = "To write one text to a file, put > 'my file' in place of --output 'my file'. For example: sfgen gen --input"
    assert done.err.splitlines()[1].startswith(hint)
    assert "place of" not in sfgen("gen", "--output", "-", "hi").err


def test_names_that_are_taken(sfgen: Sfgen, prompts: Callable[..., Path]) -> None:
    file = prompts(*GOOD)
    done = sfgen("gen", *UNIFORM, "--input", file, "--output", file, "--force")
    assert (done.code, "name the same file" in done.err) == (2, True)
    assert file.read_bytes() == joined(GOOD)
    both = sfgen("ban", "--words-file", "-", "--input", "-", stdin="a")
    assert (both.code, "cannot both come from stdin" in both.err) == (2, True)
    again = sfgen("gen", *UNIFORM, "--input", "-", "--output", file.parent / "o", "--resume")
    assert (again.code, "stdin is read once" in again.err) == (2, True)


def test_quiet_says_nothing_but_failures(sfgen: Sfgen, prompts: Callable[..., Path]) -> None:
    assert sfgen("gen", *UNIFORM, "-q", "--input", prompts(*GOOD)).err == ""


def test_a_trace_has_a_sample_for_each_text(sfgen: Sfgen, small: SmallModel, prompts: Callable[..., Path]) -> None:
    file = prompts(GOOD[0], BAD[0], GOOD[1], GOOD[4])
    trace = file.parent / "trace.jsonl"
    for size in ("1", "3"):
        done = sfgen("gen", "--seed", "1", "-r", "[a-h]{1,9}", "--batch-size", size, "--trace", trace, "--input", file)
        events = [json.loads(line) for line in trace.read_text().splitlines()]
        assert [event["prompt"] for event in events if "trace" in event] == ["a", "b c", "h"]
        ends = sorted(
            (event["sample"], event["result"]["text"]) for event in events if event.get("event") == "finished"
        )
        texts = [record["text"] for record in done.records if "text" in record]
        assert ends == list(enumerate(texts))
        lines = [record["line"] for record in done.records if "text" in record]
        assert [event["line"] for event in events if "trace" in event] == lines == [1, 3, 4]


def test_a_trace_tells_what_failed(sfgen: Sfgen, small: SmallModel, prompts: Callable[..., Path]) -> None:
    file = prompts(GOOD[0], GOOD[1])
    trace = file.parent / "trace.jsonl"
    every = ",".join("abcdefgh")
    sfgen("ban", "--words", every, "--match", "substring", "--max-rollbacks", "0", "--trace", trace, "--input", file)
    events = [json.loads(line) for line in trace.read_text().splitlines()]
    assert [event["sample"] for event in events if event.get("event") == "error"] == [0, 1]


# ---- batches -------------------------------------------------------------------------------------------------------

lines = st.lists(st.one_of(st.sampled_from(GOOD), st.sampled_from(BAD + FAILING + BLANK)), max_size=9)


@tried("some")
@given(
    lines=lines,
    command=st.sampled_from(
        [
            ["gen", "-r", "[a-h ]{0,12}"],
            ["gen", "--max-tokens", "9"],
            ["gen", "--choices", "ab,abba c,h", "--ban-words", "abba"],
            ["ban", "--words", "ab*,c", "--max-tokens", "12"],
            ["ban", "--words", "a,b,c,d", "--match", "substring", "--max-rollbacks", "3", "--strategy", "first-token"],
        ]
    ),
    samples=st.integers(1, 3),
    seed=st.one_of(st.none(), st.integers(0, 2**40)),
    size=st.integers(2, 12),
)
def test_a_batch_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory,
    lines: list[bytes],
    command: list[str],
    samples: int,
    seed: int | None,
    size: int,
) -> None:
    folder = tmp_path_factory.mktemp("batch")
    file = folder / "prompts.jsonl"
    file.write_bytes(joined(lines))
    drawn = ["-t", "0"] if seed is None else ["--seed", str(seed)]
    outputs = []
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("SFGEN_SEED", raising=False)
        for rows in (1, size):
            patch.setattr("sfgen.models.load_model", lambda *_, **__: SmallModel(len(lines)))
            output = folder / f"{rows}.jsonl"
            common = ["-q", "-n", str(samples), "--input", str(file), "--output", str(output)]
            code = run([*command, *drawn, *common, "--batch-size", str(rows)])
            outputs.append((code, timeless(output.read_bytes())))
    assert outputs[0] == outputs[1]
    records = written(outputs[0][1])
    assert outputs[0][0] == any("error" in record for record in records)
    expected = [
        (number, sample)
        for number, line in enumerate(lines, 1)
        if line not in BLANK
        for sample in (range(samples) if samples > 1 and line not in BAD else (None,))
    ]
    assert [(record["line"], record.get("sample")) for record in records] == expected
