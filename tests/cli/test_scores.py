"""``gen --choices … --scores`` and ``--logprobs``, seen from the shell."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from tests.support.command.terminal import Terminal

import sfgen as library
from sfgen.scoring.loop import Scored
from sfgen_cli.run.scores import write_table

Sfgen = Callable[..., Any]
GEN = ["gen", "--choices", "hot,cold,hotel", "--scores"]
PROMPT = "It is very "


def test_lines_with_tabs(sfgen: Sfgen) -> None:
    done = sfgen(*GEN, PROMPT)
    assert (done.code, done.err) == (0, "")
    found = [line.split("\t") for line in done.out.splitlines()]
    expected = library.score("tiny", PROMPT, ["hot", "cold", "hotel"])
    assert [text for text, _, _ in found] == [one.text for one in expected]
    for (_, share, logprob), one in zip(found, expected, strict=True):
        assert math.isclose(float(share), one.probability, rel_tol=1e-5)
        assert math.isclose(float(logprob), one.logprob, rel_tol=1e-5)


def test_a_choice_with_a_tab_stays_in_its_field(sfgen: Sfgen, tmp_path: Path) -> None:
    (tmp_path / "choices").write_text("a\tb\na\\tb\n")
    done = sfgen("gen", "-m", "uniform", "--choices-file", tmp_path / "choices", "--scores", "x")
    assert sorted(line.split("\t")[0] for line in done.out.splitlines()) == [r"a\\tb", r"a\tb"]


def test_one_object(sfgen: Sfgen) -> None:
    (record,) = sfgen(*GEN, "--json", PROMPT).records
    expected = library.score("tiny", PROMPT, ["hot", "cold", "hotel"])
    assert record["scores"] == [
        {"text": one.text, "probability": one.probability, "logprob": one.logprob, "tokens": list(one.tokens)}
        for one in expected
    ]
    assert record["text"] == expected[0].text
    assert (record["prompt"], record["choices"], record["model"]) == (PROMPT, ["hot", "cold", "hotel"], "tiny")
    assert math.isclose(record["total_probability"], sum(math.exp(one.logprob) for one in expected))
    assert "seed" not in record


def test_a_probability_of_zero_is_null(sfgen: Sfgen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfgen.scoring.loop.ScoringLoop._end", staticmethod(_only_hot))
    (record,) = sfgen(*GEN, "--json", PROMPT).records
    assert [(one["text"], one["probability"], one["logprob"]) for one in record["scores"]] == [
        ("hot", 1.0, -1.0), ("cold", 0.0, None), ("hotel", 0.0, None)
    ]  # fmt: skip


def _only_hot(node: Any, logprob: float, logprobs: list[float]) -> None:
    for number in node.ends:
        logprobs[number] = -1.0 if number == 0 else -math.inf


def test_a_table_on_a_terminal() -> None:
    with Terminal(*GEN, PROMPT) as terminal:
        seen = terminal.finish()
    screen = "\n".join(seen.screen)
    assert seen.code == 0
    expected = library.score("tiny", PROMPT, ["hot", "cold", "hotel"])
    rows = [line for line in seen.screen if "%" in line and "together" not in line]
    assert [row.split()[0] for row in rows] == [one.text for one in expected]
    for row, one in zip(rows, expected, strict=True):
        assert f"{100 * one.probability:.2f} %" in row
        assert abs(row.count("█") - 30 * one.probability) <= 1
    assert "all together: " in screen


@pytest.mark.parametrize("columns", [24, 32, 36, 40, 45, 50, 60, 79, 100])
def test_in_a_narrow_terminal_the_bar_gives_way_and_then_the_choices(
    monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    texts = ["hot", "cold", "hottest of all"]
    scored = library.score("tiny", PROMPT, texts)
    screen = StringIO()
    monkeypatch.setattr("sys.stdout", screen)
    monkeypatch.setenv("COLUMNS", str(columns))
    write_table(Scored(tuple(scored), 1, 1))
    lines = [line.rstrip() for line in screen.getvalue().splitlines()]
    assert columns < 37 or max(map(len, lines)) <= columns
    rows = [line for line in lines if "%" in line and "together" not in line]
    bars = [row.count("█") for row in rows]
    shown = [row[1:].partition("  ")[0] for row in rows]
    for row, one in zip(rows, scored, strict=True):
        numbers = [f"{100 * one.probability:.2f}", "%", f"{one.logprob:.3f}", str(len(one.tokens))]
        assert [part for part in row.split() if not set(part) <= set("█▏▎▍▌▋▊▉")][-4:] == numbers
    assert sum(bars) == 0 or shown == [one.text for one in scored]
    assert (bars[0] > 0) == (columns >= 60)
    assert [name in lines[1] for name in ("choice", "share", "logprob", "tokens")] == [True] * 4
    if columns <= 40:
        assert any(text.startswith("hot") and text.endswith("…") for text in shown)


def test_a_file_is_classified(sfgen: Sfgen, tmp_path: Path) -> None:
    prompts = [PROMPT, "We are ", "Today it is "]
    (tmp_path / "prompts").write_text("".join(f"{prompt}\n" for prompt in prompts))
    common = ["--input", tmp_path / "prompts", "--lines", "--quiet"]
    done = sfgen(*GEN, *common)
    found = [(record["line"], record["text"], record["scores"][0]["probability"]) for record in done.records]
    expected = [library.score("tiny", prompt, ["hot", "cold", "hotel"])[0] for prompt in prompts]
    assert found == [(number, one.text, one.probability) for number, one in enumerate(expected, 1)]
    output = tmp_path / "scores"
    assert sfgen(*GEN, *common, "--output", output, "--batch-size", "2").code == 0
    lines = output.read_text().splitlines()
    output.write_text(lines[0] + "\n" + lines[1][:20])
    assert sfgen(*GEN, *common, "--output", output, "--resume").code == 0
    again = [_timeless(line) for line in output.read_text().splitlines()]
    # A prompt that is alone in its batch is read by itself: its scores may have other last digits.
    assert again == [_timeless(line, parse_float=_about) for line in lines]


def _about(digits: str) -> Any:
    return pytest.approx(float(digits), rel=1e-4)


def _timeless(line: str, **how: Any) -> dict[str, Any]:
    return {**json.loads(line, **how), "seconds": 0}


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["-n", "2"], "--samples"),
        (["--ban-words", "a"], "a ban"),
        (["-t", "0"], "--temperature"),
        (["--top-k", "3"], "--top-k"),
        (["--top-p", "0.5"], "--top-p"),
        (["--min-p", "0.5"], "--min-p"),
        (["--logit-bias", "9=1"], "--logit-bias"),
        (["--frequency-penalty", "1"], "--frequency-penalty"),
        (["--presence-penalty", "1"], "--presence-penalty"),
        (["--repetition-penalty", "1.5"], "--repetition-penalty"),
        (["--word-bias", "a=-1"], "--word-bias"),
        (["--max-tokens", "9"], "--max-tokens"),
        (["--stop", "a"], "--stop"),
        (["--logprobs", "--json"], "--logprobs"),
        (["--echo"], "--echo"),
        (["--live"], "--live"),
        (["--slow", "9"], "--slow"),
        (["--step"], "--step"),
        (["--trace", "t"], "--trace"),
        (["--engine", "fast"], "--engine"),
        (["--no-fast-forward"], "--no-fast-forward"),
    ],
)
def test_what_has_no_meaning_beside_scores(sfgen: Sfgen, arguments: list[str], name: str) -> None:
    done = sfgen(*GEN, *arguments, PROMPT)
    assert (done.code, done.out) == (2, "")
    assert f"--scores and {name} cannot be used together" in done.err


@pytest.mark.parametrize("other", [["--regex", "a"], ["--schema", "a int"], []])
def test_other_constraints_are_not_scored(sfgen: Sfgen, other: list[str]) -> None:
    done = sfgen("gen", *other, "--scores", PROMPT)
    assert (done.code, done.out) == (2, "")
    assert "--scores needs --choices or --choices-file" in done.err


def test_a_seed_of_the_environment_is_no_matter(sfgen: Sfgen, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = sfgen(*GEN, PROMPT).out
    monkeypatch.setenv("SFGEN_SEED", "3")
    assert sfgen(*GEN, PROMPT).out == expected


def test_log_probabilities_of_the_tokens(sfgen: Sfgen) -> None:
    command = ["gen", "--regex", '"(hot|cold)"', "--json", PROMPT]
    (plain,), (found,) = sfgen(*command).records, sfgen(*command, "--logprobs").records
    assert found["text"] == plain["text"]
    assert "logprobs" not in plain
    assert [each["token_id"] for each in found["logprobs"]] == found["token_ids"]
    assert all(each["model"] < 0 >= each["mask"] for each in found["logprobs"])
    (banned,) = sfgen("ban", "--words", "talk,listen", "--json", "--logprobs", "Can we talk?").records
    assert len(banned["logprobs"]) == len(banned["token_ids"])


def test_log_probabilities_are_for_records(sfgen: Sfgen) -> None:
    done = sfgen("gen", "--logprobs", PROMPT)
    assert (done.code, done.out) == (2, "")
    assert "--logprobs needs --json or --input" in done.err
