"""Schemas that other people wrote: each is read or refused by pointer and keyword, and what is written is valid."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from functools import cache
from typing import Any

import pytest
from tests.oracles.schema_oracle import Oracle
from tests.support.running.tried import rounds
from tests.support.schemas.published import NPM, part_of, real_schemas

from sfgen import Index, JsonSchema, Sampler, generate, load_model
from sfgen.errors import LimitTooSmall, SchemaError
from sfgen.models.uniform import UniformModel

PARTS, SEEDS = rounds(9), rounds(6)


@cache
def model() -> Any:
    return UniformModel(load_model("tiny").vocabulary)


def test_real_schemas_are_read_or_refused_and_texts_are_valid(capsys: pytest.CaptureFixture[str]) -> None:
    counts: Counter[str] = Counter()
    refusals: Counter[str] = Counter()
    slowest = (0.0, "")
    faults: list[str] = []
    for name, schema in real_schemas(PARTS):
        counts["schemas"] += 1
        began = time.perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # notes on unknown words
                constraint = JsonSchema(schema)
                index = Index(constraint, model().vocabulary)
                assert constraint.network  # made when it is first asked for
        except SchemaError as error:
            slowest = max(slowest, (time.perf_counter() - began, name))
            refusals[error.reason[:60]] += 1
            if error.pointer is None or not error.reason:
                faults.append(f"{name}: refused without a pointer: {error}")
            continue
        slowest = max(slowest, (time.perf_counter() - began, name))
        counts["read"] += 1
        oracle = Oracle(schema)
        for text in texts(index, name, faults):
            counts["texts"] += 1
            fault = oracle.fault(text)
            if fault:
                faults.append(f"{name}: {text[:200]!r}: {fault}")
    with capsys.disabled():
        share = counts["read"] / counts["schemas"]
        print(f"\nreal schemas: {counts['read']} of {counts['schemas']} read ({share:.0%}), {counts['texts']} texts")
        print(f"  slowest: {slowest[0]:.2f} s, {slowest[1]}{'' if NPM.exists() else '; those of npm are not here'}")
        for reason, count in refusals.most_common(8):
            print(f"  {count:3} refused: {reason}")
    assert not faults, "\n".join(faults[:20])
    assert counts["schemas"] > (100 if NPM.exists() else 60)
    assert counts["texts"] == SEEDS * counts["read"]


def texts(index: Index, name: str, faults: list[str]) -> list[str]:
    """Random texts, each as short a limit as the schema lets it have and some tokens more."""
    limit = 40
    found: list[str] = []
    while len(found) < SEEDS:
        try:
            result = generate(model(), "x", index=index, sampler=Sampler(1.0, seed=len(found)), max_tokens=limit)
        except LimitTooSmall:
            limit *= 2
            if limit > 5000:
                faults.append(f"{name}: no text within {limit} tokens")
                break
            continue
        found.append(result.text)
    return found


def test_a_part_takes_along_what_it_refers_to() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "definitions": {
            "a": {"items": {"$ref": "#/definitions/b~1c"}},
            "b/c": {"properties": {"again": {"$ref": "#/definitions/a"}}},
            "d": {"$ref": "other.json"},
            "e": {"type": "null"},
        },
    }
    found = part_of(schema, "definitions", "a")
    assert found is not None
    assert found["$ref"] == "#/definitions/a"
    assert found["definitions"].keys() == {"a", "b/c"}
    assert part_of(schema, "definitions", "d") is None
