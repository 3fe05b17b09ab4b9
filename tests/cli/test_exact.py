"""``--strategy exact`` on the command line: what it writes, alone and in runs of many prompts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sfgen as library
from sfgen.decoding import PrefixScored
from sfgen.printable import size_of
from sfgen_cli.live.moment import Moment
from sfgen_cli.live.sections import search

Sfgen = Callable[..., Any]
PATTERN = "[A-Z][a-z]{2,4}"
EXACT = ("--strategy", "exact", "--max-tokens", "6")


def test_it_writes_what_the_library_draws(sfgen: Sfgen) -> None:
    records = sfgen("gen", "-r", PATTERN, *EXACT, "--seed", "3", "-n", "3", "--json", "Date: ").records
    config = library.GenerationConfig(index=PATTERN, strategy="exact", max_tokens=6)
    for number, record in enumerate(records):
        result = library.generate("tiny", "Date: ", config, sampler=library.Sampler(1.0, 3 + number))
        assert (record["text"], record["forward_passes"]) == (result.text, result.forward_passes)
        assert record["forced_tokens"] == 0


def test_without_chance_it_is_the_likeliest_text(sfgen: Sfgen) -> None:
    config = library.GenerationConfig(index=PATTERN, strategy="exact", max_tokens=6)
    expected = library.generate("tiny", "Date: ", config).text
    assert sfgen("gen", "-r", PATTERN, *EXACT, "Date: ").out == f"{expected}\n"


@pytest.mark.parametrize("size", ["0", "40 kB", "2GB"])
def test_memory_changes_no_text(sfgen: Sfgen, size: str) -> None:
    common = ["ban", "--words", "talk,listen,help", *EXACT, "--seed", "1", "-n", "3", "Can we talk?"]
    assert sfgen(*common, "--max-memory", size).out == sfgen(*common).out


@pytest.mark.parametrize(
    ("text", "size"), [("512MB", 512_000_000), ("1.5 gb", 1_500_000_000), ("7", 7), ("2k", 2000), ("0", 0)]
)
def test_sizes_are_read(text: str, size: int) -> None:
    assert size_of(text) == size


@pytest.mark.parametrize("text", ["", "MB", "-1", "1TB", "1 2", "١", "1e9", "nan"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size"):
        size_of(text)


def records(path: Path) -> list[dict[str, Any]]:
    return [{**json.loads(line), "seconds": 0} for line in path.read_text(encoding="utf-8").splitlines()]


def test_many_prompts_in_batches_and_after_a_cut_are_the_same(sfgen: Sfgen, tmp_path: Path) -> None:
    (tmp_path / "prompts").write_text("Date: \nA person: \n", encoding="utf-8")
    many = ["--lines", "--fields", "all", "--input", str(tmp_path / "prompts")]
    common = ["gen", "-r", PATTERN, *EXACT, "--seed", "5", "-n", "2", *many]

    def written(name: str, *more: str) -> list[dict[str, Any]]:
        assert sfgen(*common, "--output", str(tmp_path / name), *more).code == 0
        return records(tmp_path / name)

    alone = written("alone")
    assert len(alone) == 4
    assert {record["options"]["strategy"] for record in alone} == {"exact"}
    assert {record["options"]["max_passes"] for record in alone} == {10_000}
    assert written("batch", "--batch-size", "3", "--max-memory", "100kB") == alone
    lines = (tmp_path / "alone").read_bytes().splitlines(keepends=True)
    (tmp_path / "cut").write_bytes(b"".join(lines[:2]) + lines[2][:20])
    assert written("cut", "--resume", "--max-memory", "0") == alone
    done = sfgen(*common, "--output", str(tmp_path / "cut"), "--resume", "--max-passes", "9")
    assert done.code != 0
    assert "is not of this run: its max_passes" in done.err


def test_a_trace_and_the_live_view_tell_of_the_search(sfgen: Sfgen, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    assert sfgen("gen", "-r", PATTERN, *EXACT, "--seed", "3", "--trace", str(path), "Date: ").code == 0
    (recording,) = library.read_trace(path).recordings
    scored = [event for _, event in recording.events if isinstance(event, PrefixScored)]
    assert recording.result is not None
    assert [event.forward_passes for event in scored] == list(range(1, recording.result.forward_passes + 1))
    moment = Moment(recording.scene)
    for seconds, event in recording.events:
        moment.take(event, seconds)
    assert moment.scored == scored[-1]
    assert moment.data.decode() == recording.result.text
    shown = "".join(part for row in search(scored[-1], 100) for part, _ in row)
    assert "is known to be allowed" in shown
    assert sfgen("replay", str(path)).out == f"{recording.result.text}\n"
