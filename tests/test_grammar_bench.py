"""The benchmark of grammars: its texts are lark's, every engine reads them, and a report comes out.

``tests/bench`` itself is no part of the tests: it measures. What it measures with must not be wrong unnoticed.
"""

from __future__ import annotations

import gc
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
import pytest
from tests.bench.engines import Engine
from tests.bench.grammar_cases import CASES, WARM_UP, Case
from tests.bench.grammar_engines import ENGINES
from tests.bench.grammar_report import Run, report
from tests.bench.vocabularies import Cutter
from tests.bench.walk_measure import Agreement, Measurement, Walks, measure, walk_together, warm_up

from sfgen import Grammar
from sfgen.models.tiny import DIRECTORY

SUMS = CASES[1]
WARM = [WARM_UP.file]


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


every_case = pytest.mark.parametrize("case", [*CASES, WARM_UP], ids=lambda case: case.file)


@every_case
def test_texts_are_right_and_varied(case: Case) -> None:
    texts = case.texts(20)
    assert [case.language.is_written(text) for text in texts] == [True] * 20
    assert len(set(texts)) >= 12
    assert texts == case.texts(20)


@every_case
def test_both_forms_that_sfgen_reads_mean_the_same(case: Case) -> None:
    """As far as these texts tell; words of the grammar are names too in GBNF."""
    ours, gbnf = Grammar.from_lark(case.lark), Grammar.from_gbnf(case.gbnf)
    for text in case.texts(20):
        assert gbnf.accepts(text)
        for wrong in (text + "}", text[: len(text) // 2] + "\x00" + text[len(text) // 2 :], ")" + text):
            assert not ours.accepts(wrong)
            assert not gbnf.accepts(wrong)


@pytest.mark.parametrize("case", CASES[:3], ids=lambda case: case.file)
def test_every_engine_walks_the_texts(case: Case, engines: dict[str, Engine], cutter: Cutter) -> None:
    end = cutter.vocabulary.end_token_ids[0]
    for name, engine in engines.items():
        compiled = engine.compile(case.file)
        for text in case.texts(6):
            walk = compiled.start()
            for token in (*cutter.cut(text), end):
                assert walk.allows(token), f"{name}: {cutter.vocabulary.tokens[token]!r} in {text!r}"
                walk.advance(token)


def test_a_run_has_a_report(engines: dict[str, Engine], cutter: Cutter) -> None:
    gc.freeze()  # a collection in a fork would copy every page
    end = cutter.vocabulary.end_token_ids[0]
    walks = [[*cutter.cut(text), end] for text in SUMS.texts(3)]
    for engine in engines.values():
        warm_up(engine, cutter.vocabulary, WARM)
    together, agreement = walk_together(
        list(engines.values()), cutter.vocabulary, "tiny", SUMS.name, SUMS.file, walks=2, steps=30, limit=120
    )
    assert together
    assert agreement.steps >= len(together)
    run = _run(list(engines))
    run.agreements.append(agreement)
    for name, engine in engines.items():
        measurement = Measurement(name, "tiny", SUMS.name)
        for _ in range(2):
            measure(engine, cutter.vocabulary, SUMS.file, WARM, Walks(walks, together), measurement, limit=120)
        assert not measurement.failure
        assert measurement.refused == 0
        assert len(measurement.masks) >= sum(map(len, walks))
        assert len(measurement.compiles) == len(measurement.firsts) == 2
        run.measurements.append(measurement)
    text = report(run)
    for name in engines:
        assert f"| {SUMS.name} | {name} | " in text
    assert f"| tiny, {SUMS.name}: slowest mask | under 5 ms |" in text


def test_ratios_and_targets() -> None:
    python, run = CASES[3].name, _run(["sfgen", "xgrammar"])
    new = Measurement("sfgen", "tiny", python, compiles=[0.1], firsts=[0.7], masks=np.full(3, 1.0), memory=[1])
    run.new["tiny", python, "sfgen"] = new
    run.slow.append(("tiny", python, "xgrammar"))
    run.measurements += [
        Measurement("sfgen", "tiny", python, compiles=[0.1], firsts=[0.2], masks=np.full(10, 2e-6), memory=[10]),
        Measurement("xgrammar", "tiny", python, compiles=[0.2], firsts=[0.4], masks=np.full(10, 3e-6), memory=[40]),
        Measurement("xgrammar", "tiny", SUMS.name, failure="refused: not today"),
    ]
    run.agreements.append(Agreement("tiny", python, 10, {"xgrammar": 9}, {"xgrammar": 5}, {"xgrammar": 0}, {}))
    text = report(run)
    assert f"| tiny, {python}: slowest mask | under 5 ms | 0.002 ms | met |" in text
    assert f"| tiny, {python}: masks p99, xgrammar over sfgen | above 1 | 1.5 | met |" in text
    assert f"| tiny, {python}: text to first mask, tables kept on disk | under 300 ms | 200 ms | met |" in text
    assert f"| {python} | sfgen | 10 | 2 | 2 | 2 | 2 | 100 | 200 | 700 | 1e-05 |" in text
    assert f"| {python} | 1.50 / 1.50 / 1.50 / 1.50 | 2.00 | 4.00 |" in text
    assert f"* xgrammar, {SUMS.name}: refused: not today" in text
    assert f"* xgrammar, {python}: not done in 60 s; its figures are those of 3 texts, walked once" in text
    assert f"| {python} | 10 | 9 | 5 | 0 |" in text


def _run(engines: list[str]) -> Run:
    return Run({"tiny": 4096}, 3, 3, 2, 2, 60.0, "", dict.fromkeys(engines, "1.0"))
