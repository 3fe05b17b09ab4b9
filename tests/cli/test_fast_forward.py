"""``gen`` asks the model where there is something to choose; ``--no-fast-forward`` at every token."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Sfgen = Callable[..., Any]
PEOPLE = r'\{"name":"(John|Paul)","age":(20|30)\}'


def test_two_choices_are_two_questions(sfgen: Sfgen) -> None:
    (fast,) = sfgen("gen", "-r", PEOPLE, "--json", "A person: ").records
    (plain,) = sfgen("gen", "-r", PEOPLE, "--json", "--no-fast-forward", "A person: ").records
    assert re.fullmatch(PEOPLE, fast["text"])
    assert re.fullmatch(PEOPLE, plain["text"])
    assert fast["forward_passes"] == 2
    assert fast["forward_passes"] + fast["forced_tokens"] == fast["completion_tokens"]
    assert plain["forward_passes"] > fast["forward_passes"]
    assert "fast_forward" not in fast
    assert plain["fast_forward"] is False


@pytest.mark.parametrize("more", [["--choices", "hot,cold"], ["-r", "a(b|c)d", "--ban-words", "abd"]])
def test_it_may_be_turned_off_beside_anything_that_constrains(sfgen: Sfgen, more: list[str]) -> None:
    done = sfgen("gen", *more, "--no-fast-forward", "-n", "3", "--seed", "1", "It is ")
    assert done.code == 0
    assert len(done.out.splitlines()) == 3


def test_a_saved_index_is_followed_in_the_same_way(sfgen: Sfgen, tmp_path: Path) -> None:
    assert sfgen("index", "-r", PEOPLE, "--save", tmp_path / "people").code == 0
    common = ["--json", "--seed", "3", "-n", "4", "A person: "]
    saved = sfgen("gen", "--index", tmp_path / "people", *common).records
    fresh = sfgen("gen", "-r", PEOPLE, *common).records
    for record in (*saved, *fresh):
        del record["seconds"]
    assert saved == fresh


def test_a_trace_tells_what_was_forced(sfgen: Sfgen, tmp_path: Path) -> None:
    (record,) = sfgen("gen", "-r", PEOPLE, "--json", "--trace", tmp_path / "trace", "A person: ").records
    events = [json.loads(line) for line in (tmp_path / "trace").read_text().splitlines()]
    forced = [event["forced"] for event in events if "forced" in event]
    assert sum(forced) == record["forced_tokens"] > 0
    assert len(forced) == record["completion_tokens"]
    assert sfgen("replay", tmp_path / "trace").code == 0


def test_without_a_pattern_it_has_no_meaning(sfgen: Sfgen) -> None:
    done = sfgen("gen", "--no-fast-forward", "Hello")
    assert (done.code, done.out) == (2, "")
    assert "--no-fast-forward needs a pattern" in done.err
