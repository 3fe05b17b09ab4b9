"""Random, mutated and wrong schemas get a right answer or one clear message; more by ``tests.bench.schema_fuzz``."""

from __future__ import annotations

from functools import cache

import pytest
from tests.support.running.tried import rounds
from tests.support.schemas.odd import KINDS, OddSchema, odd_schemas
from tests.support.schemas.verdicts import Answer, answer, fault_of_texts, more_texts


@cache
def some() -> list[OddSchema]:
    return odd_schemas(rounds(500), 7, with_large=False)


@pytest.mark.parametrize("kind", KINDS)
def test_a_right_answer_or_one_clear_message(kind: str) -> None:
    answers: list[Answer] = []
    for odd in some():
        if odd.kind == kind:
            found = answer(odd)
            answers.append(found)
            assert not found.fault, (odd.name, odd.source)
            if not found.message:
                fault = fault_of_texts(odd, [*found.texts, *more_texts(odd)])
                assert not fault, (odd.name, odd.source, odd.options)
    assert any(found.message for found in answers)
    is_mostly_refused = kind in ("bytes", "broken texts", "wrong values")  # and what is installed differs
    assert is_mostly_refused or any(found.texts for found in answers)


def test_the_same_ones_for_the_same_number() -> None:
    first, again, others = (odd_schemas(30, number, with_large=False) for number in (1, 1, 2))
    assert [odd.source for odd in first] == [odd.source for odd in again]
    assert first != others
