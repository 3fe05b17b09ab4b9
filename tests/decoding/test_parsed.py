"""``Result.parsed``: the instance of the Python type whose schema a text is written by."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest
from pydantic import BaseModel, Field, field_validator

from sfgen import Finished, JsonSchema, Result, Sampler, load_model, stream
from sfgen.decoding import batch_of, drive_batch, prepare
from sfgen.errors import NotAnInstance
from sfgen.index import Chain, Index
from sfgen.trace.values import from_json, to_json


@dataclass
class Point:
    x: int
    y: bool


class Picky(BaseModel):
    number: int = Field(ge=0, le=9)

    @field_validator("number")
    @classmethod
    def is_even(cls, value: int) -> int:
        ASKED.append(value)
        if value % 2:
            raise ValueError("odd")
        return value


ASKED: list[int] = []


def finished(events: Any) -> Result:
    (result,) = [event.result for event in events if isinstance(event, Finished)]
    assert isinstance(result, Result)
    return result


def test_of_a_stream() -> None:
    result = finished(stream("tiny", "x", index=JsonSchema(Point)))
    assert isinstance(result.parsed, Point)
    assert result.value == {"x": result.parsed.x, "y": result.parsed.y}


def test_of_each_row_of_a_batch() -> None:
    model = load_model("tiny")
    index = Index(JsonSchema(list[Point]), model.vocabulary)
    loops = [
        prepare(model, prompt, index=index, sampler=Sampler(1.0, seed=seed), max_tokens=60)
        for seed, prompt in enumerate(["a", "b", "c"])
    ]
    results = [event.result for _, event in drive_batch(loops, batch_of(model, 2), 2) if isinstance(event, Finished)]
    assert len(results) == 3
    for result in results:
        assert [(point.x, point.y) for point in result.parsed] == [(one["x"], one["y"]) for one in result.value]
        assert all(isinstance(point, Point) for point in result.parsed)


def test_validators_run_when_it_is_asked_for_and_only_then() -> None:
    ASKED.clear()
    found = []
    for seed in range(12):
        sampler = Sampler(1.0, seed=seed)
        found.append(finished(stream("uniform", "x", index=JsonSchema(Picky), sampler=sampler)))
    assert ASKED == []
    even = [result for result in found if result.value["number"] % 2 == 0]
    odd = [result for result in found if result.value["number"] % 2]
    assert even
    assert odd
    for result in even:
        assert result.parsed == result.parsed == Picky(number=result.value["number"])
    for result in odd:
        with pytest.raises(NotAnInstance, match="number: Value error, odd"):
            _ = result.parsed
        assert result.text.startswith('{"number": ')


def test_of_a_chain_is_none() -> None:
    vocabulary = load_model("tiny").vocabulary
    chain = Chain([Index(JsonSchema(bool), vocabulary), Index(JsonSchema(bool), vocabulary)])
    result = finished(stream("tiny", "x", index=chain))
    assert (result.value, result.parsed) == (None, None)


def test_it_is_no_part_of_what_is_compared_shown_or_kept_in_a_trace() -> None:
    result = finished(stream("tiny", "x", index=JsonSchema(Point)))
    bare = replace(result, instance=None)
    assert result == bare
    assert repr(result) == repr(bare)
    assert to_json(result) == to_json(bare)
    again = from_json(Result, {**to_json(result), "instance": {"parser": "x", "data": "y"}})
    assert again == result
    assert again.parsed == result.value
