"""Jobs of the real model, by the library and by the command line: batches, seeds, a run that is cut and gone on with.

And the rest of what the command does beside: traces and replays, errors, a pipe that is closed.
"""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.oracles.banned_text import banned_words_in
from tests.support.command.processes import forked, run_forked
from tests.support.real.circumstances import TAPESTRY
from tests.support.real.model import FILE, gguf_model, needs_directory, needs_file, transformers_model
from tests.support.running.tried import some_of

from sfgen import GenerationConfig, Job, RolledBack, generate, job_records, run_job
from sfgen.models.spec import ModelSpec
from sfgen.trace import read_trace

pytestmark = needs_file()

PROMPTS = [
    "The capital of France is",
    "Once upon a time there was a",
    "We talk and listen, and then we",
    "The largest planet is",
    "",
    "日本の首都は",
]
WORDS = ["talk", "listen", "Paris", "girl"]
Command = Callable[..., Any]


# ---- batches and seeds ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", some_of([4, 2], 1))
def test_the_texts_of_a_batch_keep_all_promises(size: int) -> None:
    """Quantised weights round otherwise in a batch, so that texts may differ; in float32 they do not."""
    config = GenerationConfig(max_tokens=10, banned=WORDS)
    for prompt, record in zip(PROMPTS, job_records(Job(gguf_model(), config), PROMPTS, batch_size=size), strict=True):
        assert record["text"]
        assert not banned_words_in(str(record["text"]), WORDS, prompt=prompt)
    regex = " [A-Z]?[a-z ]{3,30}"
    matching = Job(gguf_model(), GenerationConfig(regex=regex, max_tokens=10))
    for record in job_records(matching, PROMPTS, batch_size=size):
        assert re.fullmatch(regex, str(record["text"]))


class TestInFloat32:
    """The copy for transformers."""

    pytestmark = needs_directory()

    @pytest.mark.parametrize("parameters", [{}, {"banned": WORDS}, {"regex": " [A-Z]?[a-z ]{3,30}"}], ids=str)
    def test_texts_of_a_batch_are_those_of_one_by_one(self, parameters: dict[str, Any]) -> None:
        config = GenerationConfig(max_tokens=10, **parameters)
        prompts = [prompt for prompt in PROMPTS if prompt]
        alone = [generate(transformers_model(), prompt, config).text for prompt in prompts]
        for size in some_of([4, 2, 7], 1):
            records = job_records(Job(transformers_model(), config), prompts, batch_size=size)
            assert [record["text"] for record in records] == alone


def test_a_sample_depends_on_its_seed_alone() -> None:
    """Sample j of line i is drawn from S + (i - 1) * N + j."""
    config = GenerationConfig(temperature=0.8, seed=100, max_tokens=6, banned=WORDS)
    records = list(job_records(Job(gguf_model(), config, samples=2), PROMPTS[:3]))
    assert [record["seed"] for record in records] == [100, 101, 102, 103, 104, 105]
    for record in records:
        alone = generate(gguf_model(), PROMPTS[record["line"] - 1], config, seed=record["seed"])
        assert alone.text == record["text"]


# ---- a run that is cut ---------------------------------------------------------------------------------------------


def test_a_run_that_was_cut_anywhere_goes_on_to_the_same_file(command: Command, tmp_path: Path) -> None:
    """Cut between two lines, inside one, inside a character, before the first, behind the last."""
    source, output = tmp_path / "prompts.jsonl", tmp_path / "texts.jsonl"
    source.write_text("".join(json.dumps({"prompt": prompt, "id": prompt[:4]}) + "\n" for prompt in PROMPTS))
    arguments = [
        "ban", "--words", ",".join(WORDS), "--input", str(source), "--output", str(output), "--max-tokens", "6",
        "--seed", "3", "-n", "2", "--quiet",
    ]  # fmt: skip
    assert command(*arguments).code == 0
    whole = output.read_bytes()
    lines = whole.splitlines(keepends=True)
    assert len(lines) == 2 * len(PROMPTS)
    cuts = [0, len(b"".join(lines[:5])), len(b"".join(lines[:7])) + 11, len(whole) - 3, len(whole)]
    for cut in some_of(cuts, 3):
        output.write_bytes(whole[:cut])
        done = command(*arguments, "--resume")
        assert done.code == 0, done.err
        assert output.read_bytes() == whole
    output.write_bytes(b"".join(lines[:3]))
    done = command(*arguments[:2], "talk", *arguments[3:], "--resume")
    assert done.code != 0
    assert "line 1" in done.err
    assert output.read_bytes() == b"".join(lines[:3])


def test_a_process_that_is_killed_leaves_a_file_that_goes_on(tmp_path: Path) -> None:
    """Killed once the first records are there; the library goes on where the command was."""
    output = tmp_path / "texts.jsonl"
    config = GenerationConfig(max_tokens=8, banned=WORDS, temperature=1, seed=1)
    job = Job(ModelSpec(str(FILE), device="cpu", threads=1), config)
    prompts = [{"prompt": prompt} for prompt in PROMPTS * 3]
    expected = [record["text"] for record in job_records(Job(gguf_model(), config), prompts)]
    source = tmp_path / "prompts.jsonl"
    source.write_text("".join(json.dumps(prompt) + "\n" for prompt in prompts))
    arguments = [
        "ban", "-m", str(FILE), "--device", "cpu", "--threads", "1", "--words", ",".join(WORDS), "--input", str(source),
        "--output", str(output), "--max-tokens", "8", "--seed", "1", "--quiet",
    ]  # fmt: skip
    with forked(arguments) as process:
        while process.poll() is None and (not output.exists() or output.read_bytes().count(b"\n") < 3):
            with contextlib.suppress(Exception):
                process.wait(0.05)
        process.kill()
    there = output.read_bytes().count(b"\n")
    assert there >= 3
    summary = run_job(job, prompts, output, resume=True)
    assert summary.kept + summary.written == len(prompts)
    assert summary.kept >= 3
    assert [json.loads(line)["text"] for line in output.read_text().splitlines()] == expected


# ---- the command ---------------------------------------------------------------------------------------------------


def test_the_command_and_the_library_write_the_same(command: Command) -> None:
    prompt = PROMPTS[2]
    for strategy in some_of(["resample", "mask", "first-token", "exact"], 3):
        arguments = [
            "ban",
            "--words",
            ",".join(WORDS),
            "--strategy",
            strategy,
            "--seed",
            "4",
            "--max-tokens",
            "8",
            prompt,
        ]
        [record] = command(*arguments, "--json").records
        named: dict[str, Any] = {"banned": WORDS, "strategy": strategy, "seed": 4, "max_tokens": 8}
        result = generate(gguf_model(), prompt, **named)
        assert record["text"] == result.text
        assert len(record["rollbacks"]) == len(result.rollbacks)
        assert not banned_words_in(result.text, WORDS, prompt=prompt)
        assert command(*arguments).out == result.text + "\n"


def test_check_finds_clean_texts_clean(command: Command) -> None:
    free, clean = (
        command("gen", "--max-tokens", "12", *options, TAPESTRY).out
        for options in ([], ["--ban-words", "tapestry", "--ban-pattern", r"\d"])
    )
    for text, code in ((free, 1), (clean, 0)):
        done = run_forked(["check", "--ban-words", "tapestry", "--ban-pattern", r"\d"], input=text.encode())
        assert done.returncode == code


def test_free_and_banned_text_side_by_side(command: Command) -> None:
    done = command("ban", "--words", "tapestry", "--max-tokens", "8", "--compare", TAPESTRY)
    assert done.code == 0
    for words in ([], ["tapestry"]):
        text = generate(gguf_model(), TAPESTRY, max_tokens=8, banned=words).text
        assert text.strip().split("\n")[0] in done.out
    assert re.search("took|taken back", done.out)


def test_routes_are_all_the_ways_to_spell_the_word(command: Command) -> None:
    """Each is made of tokens that together write the word; there are as many as a count of all cuts tells."""
    done = command("ban", "--words", "delve", "--routes", "--max-routes", "10000")
    assert done.code == 0
    tokens = gguf_model().vocabulary.tokens
    routes = [re.findall(r"\d+", line.rpartition("'")[2]) for line in done.out.splitlines() if line.startswith("'")]
    spelled = [b"".join(tokens[int(token)] or b"" for token in route) for route in routes]
    assert {data.strip().lower() for data in spelled} == {b"delve"}
    known = gguf_model().vocabulary.ids

    def cuts(rest: bytes) -> int:
        return 1 if not rest else sum(cuts(rest[end:]) for end in range(1, len(rest) + 1) if rest[:end] in known)

    assert sum(data == b"delve" for data in spelled) == cuts(b"delve")
    behind_a_space = cuts(b" delve") - cuts(b"delve")  # but for those that are the word's, behind the space alone
    assert sum(data == b" delve" for data in spelled) == behind_a_space


# ---- traces --------------------------------------------------------------------------------------------------------


def test_a_trace_tells_the_run_and_replays_its_text(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    done = command("ban", "--words", "tapestry", "--max-tokens", "10", "--trace", str(path), TAPESTRY)
    assert done.code == 0, done.err
    [recording] = read_trace(path).recordings
    assert recording.text.rstrip("\n") == done.out.rstrip("\n")
    result = generate(gguf_model(), TAPESTRY, banned=["tapestry"], max_tokens=10)
    backs = [event for _, event in recording.events if isinstance(event, RolledBack)]
    assert [(back.position, back.word, back.token_ids) for back in backs] == [
        (back.position, back.word, back.token_ids) for back in result.rollbacks
    ]
    assert len(backs) >= 1
    replayed = run_forked(["replay", str(path)])
    assert replayed.returncode == 0
    assert replayed.stdout.decode() == done.out


# ---- errors and pipes ----------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("loaded")
def test_a_reader_that_goes_away_ends_the_command_quietly() -> None:
    arguments = ["ban", "-m", str(FILE), "--words", "the", "--max-tokens", "400", "--seed", "1", "Once upon a time"]
    with forked(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read(5)
        process.stdout.close()
        err = process.stderr.read()
        code = process.wait(120)
    assert code in (0, 141, -13)
    assert b"Traceback" not in err
    assert b"rror" not in err


def test_a_ban_without_a_way_out_is_an_error_that_names_the_word(command: Command) -> None:
    done = command("gen", "--regex", " (Paris|Rome)", "--ban-words", "Paris,Rome", PROMPTS[0])
    assert done.code != 0
    assert not done.out
    assert "banned" in done.err
