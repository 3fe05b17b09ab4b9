"""Masks and texts are those that the golden corpus has; what it holds is told in ``README.md`` beside this file."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from tests.support import golden

PARTS = 16
"""The corpus is replayed in so many tests, so that a difference does not hide the others."""


@pytest.mark.parametrize("part", range(PARTS))
def test_the_masks_are_those_recorded(part: int) -> None:
    assert not _different(golden.read("masks")[part::PARTS])


def test_the_masks_of_a_large_vocabulary_are_those_recorded() -> None:
    if not (golden.TOKENIZERS / "llama3").is_dir():
        pytest.skip(f"no tokenizer of Llama 3 in {golden.TOKENIZERS}; SFGEN_TOKENIZERS says where")
    assert not _different(golden.read("large_masks"))


def _different(records: list[Any]) -> list[Any]:
    """The cases whose masks are others now."""
    wrong = []
    for name, case, steps in records:
        guides = golden.guides_of(case, golden.vocabulary(name))
        for prefix, room, digest in steps:
            if golden.digest_of_mask(guides, prefix, room) != digest:
                wrong.append((name, case, prefix, room))
    return wrong


@pytest.mark.parametrize("part", range(PARTS))
def test_the_texts_are_those_recorded(part: int) -> None:
    wrong = []
    for record in golden.read("texts")[part::PARTS]:
        written: Any = golden.batch_of(record) if record["kind"] == "batch" else golden.text_of(record)
        if written != record["expected"]:
            wrong.append((record, written))
    assert not wrong


def test_every_kind_is_in_it() -> None:
    masks = Counter({next(iter(case)): 0 for _, case, _ in golden.read("masks")})
    for _, case, steps in golden.read("masks"):
        masks[next(iter(case))] += len(steps)
    assert masks.total() == 5_000
    assert {"regex", "choices", "schema", "gbnf", "lark", "template", "substring", "after", "when"} <= set(masks)
    texts = golden.read("texts")
    assert sum(len(record["expected"]) if record["kind"] == "batch" else 1 for record in texts) == 1_000
    kinds = {record["kind"] for record in texts}
    assert {"ban, resample", "ban, first-token", "ban, mask", "exact", "batch"} <= kinds
    written = [record["expected"] for record in texts if record["kind"] != "batch"]
    assert sum("error" in each for each in written) < 100, "most must be texts"
