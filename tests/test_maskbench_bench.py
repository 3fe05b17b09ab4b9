"""MaskBench: its protocol tells what is accepted from what is not, and a report comes out of few schemas."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from tests.bench.maskbench import measured, report
from tests.bench.maskbench_cases import SHAPES, Row
from tests.bench.vocabularies import Cutter

from sfgen.models.tiny import DIRECTORY

ROWS = [
    Row("right", {"type": "object", "properties": {"a": {"maximum": 9}}}, (({"a": 5}, True), ({"a": 10}, False))),
    Row("not all written", {"enum": [1, 2]}, ((1, True), (1.0, True), (3, False))),
    Row("refused", {"type": "integer", "not": {"multipleOf": 0.001}}, ((1, True),)),
]


@pytest.fixture(scope="module")
def cutter() -> Cutter:
    return Cutter("tiny", Path(DIRECTORY))


def test_protocol_tells_what_passes(cutter: Cutter) -> None:
    tallies, idle = measured(ROWS, cutter, ["any order", "default"], seconds=60)
    assert [*tallies] == ["any order", "default"]
    assert idle > 0
    for tally in tallies.values():
        assert tally.passing == {"right"}
        assert (tally.missed, tally.wrong, tally.late) == (["not all written"], [], [])
        assert [*tally.refused] == ["refused"]
        assert [*tally.first] == [*tally.masks] == [*tally.steps] == ["right", "not all written"]
        assert all(taken > 0 for case in tally.masks for taken in (*tally.masks[case], *tally.steps[case]))
        # One mask before each token, the first that is refused included.
        assert len(tally.masks["right"]) <= sum(len(cutter.cut(json.dumps(data))) for data, _ in ROWS[0].tests)
    found = report(ROWS, tallies, idle, "tiny", 1, worst=2)
    assert "| any order | 2 | 1 | 1 | 0 | 1 | 0 |" in found
    assert "* refused: refused: " in found


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_are_schemas_with_values(name: str) -> None:
    row = SHAPES[name]()
    assert row == SHAPES[name]()
    jsonschema.Draft7Validator.check_schema({**row.schema, "definitions": {}})
    for data, valid in row.tests:
        assert jsonschema.Draft7Validator(row.schema).is_valid(data) == valid


def test_shapes_have_the_size_that_is_told() -> None:
    tools, cluster = SHAPES["tools"]().schema, json.dumps(SHAPES["cluster"]().schema)
    assert len(tools["items"]["anyOf"]) == 400
    assert all(len(tool["properties"]["arguments"]["properties"]) == 12 for tool in tools["items"]["anyOf"])
    assert 150 <= cluster.count('"$ref"') <= 151
    assert 155_000 < len(cluster) < 159_000
