"""The benchmark of whole generations: every engine that is installed writes texts that match, and a report comes out.

``tests/bench`` itself is no part of the tests: it measures. What it measures with must not be wrong unnoticed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.bench.generation_engines import ENGINES, GenerationEngine, Task, Written, freely, one_by_one
from tests.bench.generation_measure import BASELINE, FREE, Row, count_valid, measure_rounds, rows_of
from tests.bench.generation_models import Subject, tiny
from tests.bench.generation_plot import plot
from tests.bench.generation_report import Run, report

TASK = Task("small", r'\{"a":"(left|right)[a-z]{2,6}"\}', 24)


@pytest.fixture(scope="module")
def subject() -> Iterator[Subject]:
    """The embedded vocabulary with a model of one small layer."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    found = tiny()
    yield replace(found, model=found.sketch)
    torch.set_num_threads(threads)


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_writes_what_matches(name: str, subject: Subject) -> None:
    engine = ENGINES[name]
    try:
        version(engine.package)
    except PackageNotFoundError:
        pytest.skip(f"{engine.package} is not installed: make .venv/.installed-bench")
    if name == "outlines":
        pytest.skip("its mask is compiled by torch for ten seconds; the benchmark itself tries it")
    write, write_many = engine(subject).prepare(TASK)
    texts = [write(subject.model, seed) for seed in range(3)]
    assert all(re.fullmatch(TASK.pattern, written.text) for written in texts), texts
    assert len({written.text for written in texts}) > 1
    for written in texts:
        assert 0 < written.first <= written.seconds
        assert written.passes > 0
        assert written.tokens <= TASK.limit
    many = write_many(subject.model, 4, 1)
    assert len(many) == 4
    assert all(re.fullmatch(TASK.pattern, text) for text in many), many


def test_free_generation_writes_so_many_tokens(subject: Subject) -> None:
    written = freely(subject, 7, seed=1)
    assert (written.tokens, written.passes) == (7, 7)


def test_the_baseline_takes_a_pass_for_each_canonical_token(subject: Subject) -> None:
    text = '{"a":"lefthand"}'
    written = one_by_one(subject, text)
    assert written.text == text
    assert written.passes == len(subject.canonical(text)) > 2


class _Breaks(GenerationEngine):
    name = package = "breaks"
    interface = "nothing"

    def __init__(self, subject: Subject) -> None: ...

    def prepare(self, task: Task) -> tuple[Any, Any]:
        def write(model: Any, seed: int) -> Written:
            if seed == 1:
                raise ValueError("no more")
            return Written("{}", 1, 0.5, 0.1, 1)

        return write, lambda model, count, seed: ["{}"] * count


def test_an_engine_that_fails_is_a_row_with_the_reason(subject: Subject) -> None:
    engines = {"sfgen": ENGINES["sfgen"](subject), "breaks": _Breaks(subject)}
    rows = rows_of([FREE, BASELINE, *engines], subject, TASK)
    writers = measure_rounds(subject, TASK, engines, rows, rounds=2)
    count_valid(subject.model, TASK, writers, rows, samples=2)
    assert rows["breaks"].failure == "ValueError: no more"
    assert len(rows["breaks"].speeds) == 1
    assert "breaks" not in writers
    assert (rows["sfgen"].valid, rows["sfgen"].samples_valid) == (2, 2)
    assert len(rows[FREE].speeds) == len(rows[BASELINE].speeds) == 2
    run = _run(list(rows.values()))
    text = report(run)
    assert "breaks (tiny small): ValueError: no more" in text
    assert "| sfgen |" in text
    ElementTree.fromstring(plot(run))


def test_targets_are_held_against_the_figures() -> None:
    rows = [
        Row("sfgen", "tiny", "names", speeds=[30.0, 50.0, 40.0], firsts=[1.0] * 3, passes=[0.1] * 3),
        Row(BASELINE, "tiny", "names", speeds=[10.0, 10.0, 10.0], firsts=[1.0] * 3, passes=[0.4] * 3),
        Row("xgrammar", "tiny", "names", speeds=[41.0, 41.0, 41.0], firsts=[1.0] * 3, passes=[0.4] * 3),
    ]
    text = report(_run(rows))
    assert "| tiny, names: times the baseline | at least 4 | 4.00 (3.00 to 5.00) | met |" in text
    assert "fastest peer (xgrammar) | above 1 | 0.98 (0.73 to 1.22) | **missed** |" in text


def _run(rows: list[Row]) -> Run:
    return Run(
        rows, patterns={TASK.name: TASK.pattern}, limits={TASK.name: TASK.limit}, prompt="", rounds=3,
        threads={"tiny": 1}, seconds=60.0, machine="", versions={}, interfaces={},
    )  # fmt: skip
