from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from sfgen import Sampler
from sfgen.errors import ModelError, UsageError

SCORES = np.array([0.0, 1.0, -2.0, 1.0], dtype=np.float32)


def test_greedy_takes_the_first_of_the_best() -> None:
    draws = Sampler().start()
    assert [draws.choose(SCORES) for _ in range(3)] == [(1, None)] * 3


def test_the_same_seed_gives_the_same_choices() -> None:
    series = [
        [draws.choose(SCORES)[0] for _ in range(50)] for draws in (Sampler(1.0, 7).start(), Sampler(1.0, 7).start())
    ]
    assert series[0] == series[1]
    other = Sampler(1.0, 8).start()
    assert series[0] != [other.choose(SCORES)[0] for _ in range(50)]


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_choices_are_as_frequent_as_their_probabilities(temperature: float) -> None:
    count = 20_000
    draws = Sampler(temperature, 0).start()
    chosen, probabilities = zip(*(draws.choose(SCORES) for _ in range(count)), strict=True)
    expected = np.exp(SCORES.astype(float) / temperature)
    expected /= expected.sum()
    seen = Counter(chosen)
    chi_square = sum((seen[i] - count * p) ** 2 / (count * p) for i, p in enumerate(expected))
    assert chi_square < 16.27  # the 0.999 quantile for 3 degrees of freedom
    assert all(p == pytest.approx(expected[i]) for i, p in zip(chosen, probabilities, strict=True))


def test_what_has_no_probability_is_never_chosen() -> None:
    draws = Sampler(5.0, 3).start()
    scores = np.array([-np.inf, 0.0, -np.inf, 0.0])
    assert {draws.choose(scores)[0] for _ in range(200)} == {1, 3}


@pytest.mark.filterwarnings("error")
def test_near_temperature_zero_the_best_is_chosen() -> None:
    draws = Sampler(1e-308, 1).start()
    assert {draws.choose(SCORES)[0] for _ in range(100)} == {1, 3}


def test_a_seed_is_drawn_when_absent() -> None:
    first, second = Sampler(1.0), Sampler(1.0)
    assert first.seed is not None
    assert first.seed != second.seed
    assert Sampler().seed is None


@pytest.mark.parametrize("scores", [[np.nan, 1.0], [-np.inf, -np.inf], [1.0, np.inf]])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_unusable_scores_are_an_error(scores: list[float], temperature: float) -> None:
    with pytest.raises(ModelError):
        Sampler(temperature, 0).start().choose(np.array(scores))


@pytest.mark.parametrize("temperature", [-1.0, float("nan"), float("inf")])
def test_impossible_temperatures(temperature: float) -> None:
    with pytest.raises(UsageError, match="temperature"):
        Sampler(temperature)


def test_a_negative_seed() -> None:
    with pytest.raises(UsageError, match="seed"):
        Sampler(1.0, -1)
