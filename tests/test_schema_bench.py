"""The benchmark of JSON schemas: its values are valid, every engine reads its schemas, and a report comes out.

``tests/bench`` itself is no part of the tests: it measures. What it measures with must not be wrong unnoticed.
"""

from __future__ import annotations

import gc
import json
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.bench.cold import ColdStart
from tests.bench.engines import CannotRead, Engine
from tests.bench.schema_cases import CASES, WARM_UP, Case
from tests.bench.schema_engines import ENGINES
from tests.bench.schema_generation import SCHEMAS, TASKS
from tests.bench.schema_report import Run, report
from tests.bench.schema_values import texts
from tests.bench.vocabularies import Cutter
from tests.bench.walk_measure import Agreement, Measurement, Walks, measure, walk_together, warm_up
from tests.oracles.schema_oracle import Oracle

from sfgen.models.tiny import DIRECTORY

PERSON = CASES[0]
SCHEMA = json.dumps(PERSON.schema)


@pytest.fixture(scope="module")
def cutter() -> Cutter:
    return Cutter("tiny", Path(DIRECTORY))


@pytest.fixture(scope="module")
def engines(cutter: Cutter) -> dict[str, Engine]:
    """Those that are installed."""
    found = {}
    for name, engine in ENGINES.items():
        try:
            version(engine.package)
        except PackageNotFoundError:
            continue
        found[name] = engine(cutter.vocabulary, cutter.json)
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_values_are_valid_and_varied(case: Case) -> None:
    oracle = Oracle(case.schema)
    found = texts(case.schema, 30)
    assert [oracle.fault(text) for text in found] == [""] * 30
    assert len(set(found)) >= 15
    assert found == texts(case.schema, 30)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_engine_walks_the_values(case: Case, engines: dict[str, Engine], cutter: Cutter) -> None:
    end = cutter.vocabulary.end_token_ids[0]
    for name, engine in engines.items():
        compiled = engine.compile(json.dumps(case.schema))
        for text in texts(case.schema, 3):
            walk = compiled.start()
            for token in (*cutter.cut(text), end):
                assert walk.allows(token), f"{name}: {cutter.vocabulary.tokens[token]!r} in {text!r}"
                walk.advance(token)


def test_a_run_has_a_report(engines: dict[str, Engine], cutter: Cutter) -> None:
    gc.freeze()  # a collection in a fork would copy every page
    end = cutter.vocabulary.end_token_ids[0]
    walks = [[*cutter.cut(text), end] for text in texts(PERSON.schema, 3)]
    for engine in engines.values():
        warm_up(engine, cutter.vocabulary, WARM_UP)
    together, agreement = walk_together(
        list(engines.values()), cutter.vocabulary, "tiny", PERSON.name, SCHEMA, walks=2, steps=40, limit=60
    )
    assert together
    assert agreement.steps >= len(together)
    found = []
    for name, engine in engines.items():
        measurement = Measurement(name, "tiny", PERSON.name)
        for _ in range(2):
            measure(engine, cutter.vocabulary, SCHEMA, WARM_UP, Walks(walks, together), measurement, limit=60)
        assert not measurement.failure
        assert measurement.refused == 0
        assert len(measurement.masks) >= sum(map(len, walks))
        assert len(measurement.firsts) == 2
        found.append(measurement)
    text = report(_run(found, [agreement]))
    assert f"| {PERSON.name} |" in text
    assert "| tiny: slowest mask | under 2 ms |" in text


class _Refuses(Engine):
    name = package = "llguidance"

    def __init__(self) -> None: ...

    def compile(self, pattern: str) -> Any:
        raise CannotRead("not today")


def test_an_engine_that_refuses_is_a_line_in_the_report(cutter: Cutter) -> None:
    measurement = Measurement("llguidance", "tiny", PERSON.name)
    measure(_Refuses(), cutter.vocabulary, SCHEMA, WARM_UP, Walks([]), measurement, limit=60)
    assert "* llguidance, person: refused: not today" in report(_run([measurement], []))


def test_ratios_and_targets() -> None:
    ours = Measurement(
        "sfgen", "tiny", "person", compiles=[0.001], firsts=[0.004], masks=np.full(10, 2e-6), memory=[10]
    )
    theirs = Measurement(
        "xgrammar", "tiny", "person", compiles=[0.01], firsts=[0.008], masks=np.full(10, 3e-6), memory=[40]
    )
    agreement = Agreement("tiny", "person", 10, {"xgrammar": 9}, {"xgrammar": 5}, {"xgrammar": 0}, {})
    text = report(_run([ours, theirs], [agreement]))
    assert "| tiny: slowest mask | under 2 ms | 0.002 ms, person | met |" in text
    assert "| tiny: masks p50, xgrammar over sfgen | above 1 | 1.5 | met |" in text
    assert "| 1.50 / 1.50 / 1.50 / 1.50 | 2.00 | 4.00 |" in text
    assert "| person | 10 | 9 | 5 | 0 |" in text


def _run(measurements: list[Measurement], agreements: list[Agreement]) -> Run:
    versions = {found.engine: "1.0" for found in measurements}
    return Run(measurements, agreements, [ColdStart("sfgen", 0.1, 0.01, 0.001)], "tiny", {"tiny": 4096}, 3, 2, 2, 60.0,
               60.0, "", versions)  # fmt: skip


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_whole_generations_are_judged(task: Any) -> None:
    for text in texts(SCHEMAS[task.name][0], 5):
        assert task.is_met_by(text)
        assert not task.is_met_by(text[:-1])
        assert not task.is_met_by(text.replace('{"', '{"other": 1, "', 1))
