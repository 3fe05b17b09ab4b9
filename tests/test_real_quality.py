"""The measurement of answers: its items can be answered, and what is told of them is so."""

from __future__ import annotations

import itertools
import json
from random import Random

import jsonschema
import numpy as np
import pytest
from tests.bench.real.quality.generator import DATA, ITEMS, Item, as_lines, generated, read_items
from tests.bench.real.quality.measured import Judged, judged
from tests.bench.real.quality.remembered import RememberedModel
from tests.bench.real.quality.report import verdict
from tests.bench.real.quality.statistics import Comparison, compared
from tests.bench.real.quality.tasks import LAYOUTS, TASKS, Task, backwards, compact, spaced
from tests.bench.real.quality.writers import Free, Ours

import sfgen
from sfgen.models.tiny.model import TinyModel

each_task = pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)


@pytest.fixture(scope="module")
def model() -> TinyModel:
    return TinyModel()


# ---- the items -----------------------------------------------------------------------------------------------------


@each_task
def test_the_generator_writes_the_items_that_are_kept(task: Task) -> None:
    assert as_lines(generated(task.name)) == (DATA / f"{task.name}.jsonl").read_text(encoding="utf-8")


@each_task
def test_all_items_differ_from_each_other_and_from_the_examples(task: Task) -> None:
    texts = {item.text for item in read_items(task.name)}
    assert len(texts) == ITEMS
    assert not texts & {example.text for example in task.examples}


@each_task
def test_every_answer_is_one_that_may_be_written(task: Task) -> None:
    validator = jsonschema.Draft202012Validator(task.schema)
    in_all_forms = [
        (spaced, sfgen.JsonSchema(task.schema)),
        (compact, sfgen.JsonSchema(task.schema, spacing="compact")),
    ]
    for answer in [item.answer for item in read_items(task.name)] + [example.answer for example in task.examples]:
        assert validator.is_valid(answer), answer
        for write, constraint in in_all_forms:
            assert constraint.accepts(write(answer)), answer


def test_what_an_order_is_asked_for_stands_in_it() -> None:
    for item in read_items("extraction"):
        assert all(item.answer[name] in item.text for name in ("customer", "product", "city")), item


def test_examples_stand_before_the_text_that_is_asked_about() -> None:
    task = TASKS["function_call"]
    for layout in LAYOUTS.values():
        prompt = layout.prompt(task, "Do it.")
        assert prompt.endswith("\n\nText: Do it.\n" + ("Thought:" if layout.thinks else "JSON:"))
        shown = [json.loads(line.removeprefix("JSON:")) for line in prompt.splitlines() if line.startswith("JSON: ")]
        assert shown == [example.answer for example in task.examples]


def test_backwards_turns_the_order_of_every_object() -> None:
    assert json.dumps(backwards({"a": 1, "b": {"c": 2, "d": [3]}})) == '{"b": {"d": [3], "c": 2}, "a": 1}'


# ---- what is right -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (' {"place": "Oslo", "topic": "food"}\n\nText', Judged(True, True, 1.0)),
        ('It is {"topic": "food", "place": "Oslo"}', Judged(True, True, 1.0)),
        ('{"place": "Oslo", "topic": "sport"}', Judged(True, False, 0.5)),
        ('{"place": "Oslo", "topic": "cooking"}', Judged(False, False, 0.5)),
        ('{"place": "Oslo", "topic": "food", "day": 1}', Judged(False, False, 1.0)),
        ('{"place": "Oslo", "topic": "food"', Judged(False, False, 0.0)),
        ("Oslo, food", Judged(False, False, 0.0)),
    ],
)
def test_the_first_object_is_compared_with_the_answer(text: str, expected: Judged) -> None:
    item = Item("The soup was cold in Oslo.", {"place": "Oslo", "topic": "food"})
    assert judged(TASKS["classification"], item, text) == expected


def test_pairs_are_counted() -> None:
    first, second = [True, True, False, False, True], [True, False, True, False, False]
    assert compared(first, second) == Comparison(items=5, gained=2, lost=1)


@pytest.mark.parametrize(("gained", "lost"), [(0, 0), (1, 0), (3, 9), (7, 7), (10, 1)])
def test_the_exact_test_counts_all_ways_to_fall(gained: int, lost: int) -> None:
    changed = gained + lost
    as_far = [abs(2 * sum(way) - changed) >= abs(gained - lost) for way in itertools.product((0, 1), repeat=changed)]
    assert Comparison(100, gained, lost).p_value() == pytest.approx(sum(as_far) / 2**changed)


def test_the_interval_is_that_of_drawing_items_again() -> None:
    values = np.array([1] * 30 + [-1] * 12 + [0] * 158)
    draws = np.random.default_rng(5).choice(values, size=(20_000, len(values))).mean(axis=1)
    expected = np.quantile(draws, [0.025, 0.975])
    assert Comparison(200, 30, 12).interval(0.95) == pytest.approx(tuple(expected), abs=0.006)


def test_a_setting_is_better_only_where_enough_items_say_so() -> None:
    found = [verdict(Comparison(*counts)) for counts in ((600, 60, 5), (600, 5, 60), (600, 9, 5), (300, 60, 5))]
    assert found == ["better", "worse", "no difference shown", "better, on too few items"]


# ---- who writes ----------------------------------------------------------------------------------------------------


def test_remembered_scores_are_those_of_a_session_that_reads_all(model: TinyModel) -> None:
    remembered, random = RememberedModel(model), Random(0)
    session, tokens = remembered.session(), model.encode("It is very ")
    before: list[int] = []
    for _ in range(20):
        scores = session.extend(tokens)
        before += tokens
        assert np.allclose(scores, model.session().extend(before), atol=1e-3)
        scores[:] = 0  # who asks may write into them
        keep = random.randrange(3, len(before) + 1)
        session.rewind(keep)
        del before[keep:]
        tokens = [random.choice(model.encode("Ada has a cold hotel"))]


def test_both_ways_of_writing_are_greedy(model: TinyModel) -> None:
    prompt, schema = (
        "Ada Lovelace, 36, is a mathematician in London.",
        sfgen.JsonSchema("name, age int").to_dict()["schema"],
    )
    remembered = RememberedModel(model)
    assert Ours("sfgen", "").write(remembered, prompt, schema) == '{"name": "Ada Lovelace", "age": 36}'
    free = Free().write(remembered, prompt, schema)
    expected = sfgen.generate(model, prompt, max_tokens=120).text
    assert expected.startswith(free)
    assert free == expected.partition("\n\n")[0] or free + "\n\n" == expected
