"""Named groups on the command line: in records of ``gen`` and of ``check``."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

PERSON = "(?P<name>(?P<first>[A-Z])[a-z]{2,9}) is (?P<age>[1-9][0-9]?)(?P<more> or older)?"
Sfgen = Callable[..., Any]


def test_records_of_samples_prompts_and_saved_indexes(sfgen: Sfgen, tmp_path: Path) -> None:
    assert sfgen("index", "--regex", PERSON, "--save", tmp_path / "person.st").code == 0
    (tmp_path / "in").write_text('{"prompt": "A person: "}\n{"prompt": "Another: "}\n')
    common = ["-m", "tiny", "--seed", "3", "-n", "2", "--input", tmp_path / "in"]
    by_pattern = sfgen("gen", "--regex", PERSON, *common).records
    by_file = sfgen("gen", "--index", tmp_path / "person.st", *common).records
    assert len(by_pattern) == 4
    for record, other in zip(by_pattern, by_file, strict=True):
        found = re.fullmatch(PERSON, record["text"])
        assert found is not None
        assert record["groups"] == other["groups"] == found.groupdict()
        assert list(record["groups"]) == ["name", "first", "age", "more"]


def test_check_tells_the_groups_of_a_match(sfgen: Sfgen) -> None:
    texts = ["--text", "Ada is 36", "--text", "Ada is 36 or older", "--text", "Ada"]
    done = sfgen("check", "--regex", PERSON, "--json", *texts)
    groups = {"name": "Ada", "first": "A", "age": "36"}
    assert [record["groups"] for record in done.records] == [
        {**groups, "more": None}, {**groups, "more": " or older"}, None,
    ]  # fmt: skip
    assert "groups" not in sfgen("check", "--regex", "a", "--json", "--text", "a").records[0]
