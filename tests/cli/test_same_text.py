"""The same seed writes the same text, whoever looks on and however many texts are written at once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sfgen.models.transformers_forward import PartialLmHead

Sfgen = Callable[..., Any]
PATTERN = r'\{"name":"[A-Z][a-z]{2,9}","age":[1-9][0-9]\}'


@pytest.fixture(autouse=True)
def few_rows_are_scored_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    """What differs in the last bit of a score differs in the first one here."""
    plain = PartialLmHead.scores

    def scores(self: PartialLmHead, hidden: Any, rows: Any) -> Any:
        found = plain(self, hidden, rows)
        return found if rows is None else -found

    monkeypatch.setattr(PartialLmHead, "scores", scores)


def test_traced_as_json_and_in_a_batch(sfgen: Sfgen, tmp_path: Path) -> None:
    common = ["gen", "--regex", PATTERN, "--seed", "3"]
    plain = sfgen(*common, "A person: ").out.removesuffix("\n")
    assert json.loads(plain)
    assert sfgen(*common, "--trace", tmp_path / "trace.jsonl", "A person: ").out.removesuffix("\n") == plain
    assert sfgen(*common, "--json", "A person: ").records[0]["text"] == plain
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text('{"prompt": "A person: "}\n{"prompt": "Two: "}\n{"prompt": "Who is it? "}\n')
    for trace in ([], ["--trace", tmp_path / "many.jsonl"]):
        for size in ("1", "3"):
            assert sfgen(*common, "--input", prompts, "--batch-size", size, *trace).records[0]["text"] == plain


def test_shown_live(sfgen: Sfgen, monkeypatch: pytest.MonkeyPatch) -> None:
    common = ["gen", "--regex", PATTERN, "--seed", "4", "A person: "]
    plain = sfgen(*common).out
    monkeypatch.setattr("sfgen_cli.run.generation.wants_live", lambda request: True)  # as on a terminal
    assert sfgen(*common).out == plain
