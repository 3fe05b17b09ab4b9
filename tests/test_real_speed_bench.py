"""The benchmark of speed with a real model: its tasks are what they say, its ratios are right; the model is not run."""

from __future__ import annotations

import json
import re

import pytest
from tests.bench.real.speed.engine import Measured
from tests.bench.real.speed.on_llama_cpp import pattern_of
from tests.bench.real.speed.passes import Passes
from tests.bench.real.speed.report import report
from tests.bench.real.speed.rounds import LLAMA_CPP, Found, Row
from tests.bench.real.speed.tasks import KINDS, Task, all_tasks, oracle

import sfgen

TASKS = all_tasks()
SCHEMAS = [task for task in TASKS.values() if task.schema]
GRAMMARS = [task for task in TASKS.values() if task.lark]
EXPRESSIONS = ["1 + 2\n", "(1 - 2.5) * -3\n", "((4))\n", "1+2\n", "1 + \n", "* 2\n", "1 + 2", "(1\n", "2.\n"]
SELECTS = [
    "SELECT * FROM a;\n", "SELECT a, COUNT(*) FROM b WHERE (c = 'd' AND e < 1.5) OR f LIKE 'x' LIMIT 3;\n",
    "SELECT a FROM b ORDER BY c DESC;\n", "SELECT FROM a;\n", "select * from a;\n", "SELECT * FROM a WHERE b = 'c;\n",
    "SELECT a FROM b LIMIT 'c';\n",
]  # fmt: skip


def test_there_are_ten_schemas_two_grammars_and_fifty_labels() -> None:
    assert len(SCHEMAS) == 10
    assert len(GRAMMARS) == 2
    assert {len(set(task.labels)) for task in TASKS.values() if task.labels} == {50}
    assert {task.kind for task in TASKS.values()} == set(KINDS)


@pytest.mark.parametrize("task", SCHEMAS, ids=lambda task: task.name)
def test_the_example_of_a_prompt_is_valid_and_without_a_property_it_is_not(task: Task) -> None:
    example = json.loads(task.prompt.splitlines()[2])
    assert oracle(task)(json.dumps(example))
    example.popitem()
    assert not oracle(task)(json.dumps(example))


@pytest.mark.parametrize("task", GRAMMARS, ids=lambda task: task.name)
def test_both_notations_of_a_grammar_say_the_same(task: Task) -> None:
    gbnf, lark = sfgen.Grammar.from_gbnf(task.gbnf), sfgen.Grammar.from_lark(task.lark)
    answers = re.findall(r"(?:Formula|SQL):\n(.+\n)", task.prompt)
    assert len(answers) == 2
    assert all(map(oracle(task), answers))
    texts = [*answers, *EXPRESSIONS, *SELECTS]
    expected = [oracle(task)(text) for text in texts]
    assert True in expected
    assert False in expected
    assert [gbnf.accepts(text) for text in texts] == [lark.accepts(text) for text in texts] == expected


def test_the_answers_of_a_prompt_are_labels_and_the_pattern_matches_labels_alone() -> None:
    task = TASKS["label 1"]
    answers = re.findall(r"(?<=Label:\n).+", task.prompt)
    assert len(answers) == 3
    assert all(map(oracle(task), answers))
    assert all(re.fullmatch(pattern_of(task), label) for label in task.labels)
    assert not re.fullmatch(pattern_of(task), "refund")


def test_a_pass_has_its_time_and_the_second_one_is_marked() -> None:
    passes = Passes()
    assert passes.call(len, "abc") == 3
    assert not passes.second_begins
    assert passes.add(len, "ab") == 2
    assert len(passes.seconds) == 1
    passes.call(len, "")
    assert len(passes.seconds) == 2
    assert passes.second_begins > 0


def test_the_report_divides_what_was_written_in_the_same_round() -> None:
    ours = [_written("abcd", seconds) for seconds in (1.0, 2.0)]
    theirs = [_written("ab", seconds) for seconds in (2.0, 2.0)]  # a quarter of the speed, then half
    found = Found(LLAMA_CPP)
    for name, runs in (("sfgen", ours), ("outlines", theirs)):
        found.rows[name, "person"] = Row(name, TASKS["person"], 0.5, runs, valid=1)
    found.rows["guidance", "person"] = Row("guidance", TASKS["person"], failure="no such thing")
    text = report([found])
    assert "| outlines | 3.00 (3.00) |  |  |  |  |" in text
    assert "| outlines | 1.00 (1.00) |  |  |" in text  # the first token
    assert "* guidance, person: no such thing" in text


def _written(text: str, writing: float) -> Measured:
    return Measured(text, 2, 2, whole=writing + 1, first=1.5, prompt=1.0, forward=1.5, wall=writing + 1)
