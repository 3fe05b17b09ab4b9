from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.support.running.tried import rounds, tried

from sfgen import Sampler
from sfgen.decoding.sampler import Draws
from sfgen.errors import ModelError, UsageError

SCORES = np.array([0.0, 1.0, -2.0, 1.0], dtype=np.float32)


def textbook(
    scores: list[float], temperature: float, top_k: int | None, top_p: float | None, min_p: float | None
) -> list[float]:
    """What the rules say, one token after the other."""
    highest = max(scores)
    weights = [math.exp((score - highest) / temperature) for score in scores]
    kept = sorted(range(len(scores)), key=lambda token: (-scores[token], token))
    if top_k is not None:
        kept = kept[:top_k]
    if top_p is not None:
        total, nucleus = math.fsum(weights[token] for token in kept), list[int]()
        kept.sort(key=lambda token: (-weights[token], token))  # scores that differ by next to nothing weigh the same
        for token in kept:
            if nucleus and math.fsum(weights[other] for other in nucleus) >= top_p * total:
                break
            nucleus.append(token)
        kept = nucleus
    if min_p is not None:
        kept = [token for token in kept if weights[token] >= min_p * weights[kept[0]]]
    total = math.fsum(weights[token] for token in kept)
    return [weights[token] / total if token in kept else 0.0 for token in range(len(scores))]


# Shares that no sum of equal weights can hit: there a rounding error would decide.
SHARES = st.integers(0, 99).map(lambda number: (number + 0.37) / 100)
FEW_VALUES = st.sampled_from([-math.inf, -3.0, 0.0, 0.0, 0.5, 2.0])


@tried("many")
@given(
    scores=st.lists(st.floats(-20, 20, width=32) | FEW_VALUES, min_size=1, max_size=12),
    temperature=st.sampled_from([0.3, 1.0, 2.5]),
    top_k=st.none() | st.integers(1, 13),
    top_p=st.none() | SHARES,
    min_p=st.none() | SHARES,
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_the_probabilities_are_those_of_the_textbook(
    scores: list[float], temperature: float, top_k: int | None, top_p: float | None, min_p: float | None, dtype: Any
) -> None:
    if max(scores) == -math.inf:
        return
    sampler = Sampler(temperature, 1, top_k=top_k, top_p=top_p, min_p=min_p)
    got = sampler.probabilities(np.array(scores, dtype=dtype))
    assert got.dtype == np.float64
    assert got.tolist() == pytest.approx(textbook(scores, temperature, top_k, top_p, min_p), abs=1e-12)


@pytest.mark.parametrize("seed", range(40))
def test_transformers_agrees(seed: int) -> None:
    """Where no two tokens are equally likely the definitions are the same."""
    import torch
    from transformers import (
        LogitsProcessorList,
        MinPLogitsWarper,
        TemperatureLogitsWarper,
        TopKLogitsWarper,
        TopPLogitsWarper,
    )

    random = np.random.default_rng(seed)
    scores = random.normal(0, 3, random.integers(2, 3000))
    scores[random.random(scores.size) < 0.1] = -np.inf
    if np.isinf(scores.max()):
        scores[0] = 0.0
    options: dict[str, Any] = {}
    warpers: Any = LogitsProcessorList([TemperatureLogitsWarper(0.7)])
    if seed % 2:
        options["top_k"] = int(random.integers(1, 200))
        warpers.append(TopKLogitsWarper(options["top_k"]))
    if seed % 3:
        options["top_p"] = float(random.uniform(0.05, 0.99))
        warpers.append(TopPLogitsWarper(options["top_p"]))
    if seed % 5 < 2:
        options["min_p"] = float(random.uniform(0.001, 0.9))
        warpers.append(MinPLogitsWarper(options["min_p"]))
    expected = torch.softmax(warpers(None, torch.tensor(scores[None])), dim=-1)[0].numpy()
    got = Sampler(0.7, 1, **options).probabilities(scores)
    assert np.array_equal(got > 0, expected > 0)
    assert got == pytest.approx(expected)


def kept(scores: list[float] | NDArray[np.floating], **options: Any) -> list[int]:
    return np.flatnonzero(Sampler(1.0, 1, **options).probabilities(np.asarray(scores))).tolist()


def test_ties_at_the_border_go_to_the_lower_ids() -> None:
    assert kept([1.0, 5.0, 1.0, 1.0, 5.0], top_k=3) == [0, 1, 4]
    assert kept([0.0] * 10, top_k=4) == [0, 1, 2, 3]
    assert kept([0.0] * 4, top_p=0.5) == [0, 1]
    assert kept([0.0] * 4, top_p=0.51) == [0, 1, 2]
    assert kept(np.log([0.2, 0.4, 0.2, 0.2]), top_p=0.55) == [0, 1]
    # min-p compares with the highest alone: all of them stay, or none.
    assert kept(np.log([0.2, 0.4, 0.2, 0.2]), min_p=0.4999) == [0, 1, 2, 3]
    assert kept(np.log([0.2, 0.4, 0.2, 0.2]), min_p=0.5001) == [1]


def test_the_ends_of_the_ranges() -> None:
    scores = [2.0, 0.0, 2.0, -np.inf, -40.0]
    assert kept(scores) == kept(scores, top_k=99, top_p=1.0, min_p=0.0) == [0, 1, 2, 4]
    assert kept(scores, top_p=0.0) == kept(scores, top_k=1) == [0]
    assert kept(scores, min_p=1.0) == [0, 2]


def test_each_rule_looks_at_what_the_one_before_left() -> None:
    scores = np.log([0.4, 0.3, 0.2, 0.1])
    assert kept(scores, top_p=0.55) == [0, 1]
    assert kept(scores, top_p=0.55, top_k=2) == [0]  # 0.4 of 0.7 is enough
    cold = Sampler(0.25, 1, top_p=0.55).probabilities(scores)
    assert np.flatnonzero(cold).tolist() == [0]  # the temperature comes before the nucleus


@pytest.mark.parametrize("options", [{}, {"top_k": 1}, {"top_p": 0.3}, {"min_p": 0.3}, {"top_k": 2, "top_p": 0.0}])
@pytest.mark.parametrize(
    ("scores", "possible"),
    [
        ([7.0], {0}),
        ([-1e38, 3e38, -3e38], {1}),
        ([1e308, -1e308, 0.0], {0}),
        ([-np.inf, -1e308, -np.inf], {1}),
        ([-1000.0, -1001.0, -999.5], {0, 1, 2}),
    ],
)
@pytest.mark.filterwarnings("error")
def test_extreme_scores(options: dict[str, Any], scores: list[float], possible: set[int]) -> None:
    sampler = Sampler(1.0, 3, **options)
    probabilities = sampler.probabilities(np.array(scores))
    assert probabilities.sum() == pytest.approx(1)
    assert set(np.flatnonzero(probabilities)) <= possible
    draws = sampler.start()
    for _ in range(20):
        token, probability = draws.choose(np.array(scores))
        assert token in possible
        assert probability == probabilities[token] > 0


def test_greedy_takes_the_first_of_the_best() -> None:
    for options in ({}, {"top_k": 2, "top_p": 0.1, "min_p": 1.0}):
        sampler = Sampler(**options)  # type: ignore[arg-type]
        draws = sampler.start()
        assert [draws.choose(SCORES) for _ in range(3)] == [(1, None)] * 3
        assert sampler.probabilities(SCORES).tolist() == [0, 1, 0, 0]


def test_the_same_seed_gives_the_same_choices() -> None:
    def series(sampler: Sampler) -> list[int]:
        draws = sampler.start()
        return [draws.choose(SCORES)[0] for _ in range(50)]

    for options in ({}, {"top_k": 3}, {"top_p": 0.9}, {"min_p": 0.1}):
        sampler = Sampler(1.0, 7, **options)
        assert series(sampler) == series(Sampler(1.0, 7, **options))
        assert series(sampler) != series(replace(sampler, seed=8))


@pytest.mark.parametrize(
    ("temperature", "options"),
    [(0.5, {}), (1.0, {}), (3.0, {}), (1.0, {"top_k": 3}), (3.0, {"top_p": 0.8}), (1.0, {"min_p": 0.3})],
)
def test_choices_are_as_frequent_as_their_probabilities(temperature: float, options: dict[str, Any]) -> None:
    count = rounds(50_000)
    draws = Sampler(temperature, 0, **options).start()
    chosen, probabilities = zip(*(draws.choose(SCORES) for _ in range(count)), strict=True)
    expected = textbook(SCORES.tolist(), temperature, *(options.get(name) for name in ("top_k", "top_p", "min_p")))
    seen = Counter(chosen)
    assert set(seen) == {token for token, p in enumerate(expected) if p}
    chi_square = sum((seen[token] - count * p) ** 2 / (count * p) for token, p in enumerate(expected) if p)
    assert chi_square < 16.27  # the 0.999 quantile for 3 degrees of freedom
    assert all(p == pytest.approx(expected[token]) for token, p in zip(chosen, probabilities, strict=True))


@pytest.mark.parametrize("value", [0.0, 0.5, 1 - 2**-53])
@pytest.mark.parametrize("score", [0.0, -700.0, 3e38])
def test_what_has_no_weight_is_never_drawn(monkeypatch: pytest.MonkeyPatch, value: float, score: float) -> None:
    monkeypatch.setattr(Draws, "share", lambda *_: value)
    draws, none = Sampler(1.0, 0).start(), -math.inf
    assert draws.choose(np.array([none, none, score, none, none])) == (2, 1.0)
    expected = 1 if value < 0.5 else 3
    assert draws.choose(np.array([none, score, none, score, none])) == (expected, 0.5)


def test_what_has_no_probability_is_never_chosen() -> None:
    draws = Sampler(5.0, 3).start()
    scores = np.array([-np.inf, 0.0, -np.inf, 0.0])
    assert {draws.choose(scores)[0] for _ in range(200)} == {1, 3}


@pytest.mark.filterwarnings("error")
def test_near_temperature_zero_the_best_is_chosen() -> None:
    for options in ({}, {"top_k": 3}, {"top_p": 0.9}, {"min_p": 0.1}):
        draws = Sampler(1e-308, 1, **options).start()
        assert {draws.choose(SCORES)[0] for _ in range(100)} == {1, 3}


def test_a_seed_is_drawn_when_absent() -> None:
    first, second = Sampler(1.0), Sampler(1.0)
    assert first.seed is not None
    assert first.seed != second.seed
    assert Sampler().seed is None


@pytest.mark.parametrize("scores", [[np.nan, 1.0], [1.0, np.nan], [-np.inf, -np.inf], [1.0, np.inf]])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_unusable_scores_are_an_error(scores: list[float], temperature: float) -> None:
    sampler = Sampler(temperature, 0, top_k=1, top_p=0.5, min_p=0.5)
    with pytest.raises(ModelError):
        sampler.start().choose(np.array(scores))
    with pytest.raises(ModelError):
        sampler.probabilities(np.array(scores))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("temperature", value) for value in (-1.0, math.nan, math.inf)),
        *(("seed", value) for value in (-1,)),
        *(("top_k", value) for value in (0, -3, 2.5, math.nan)),
        *(("top_p", value) for value in (-0.1, 1.1, math.nan, math.inf)),
        *(("min_p", value) for value in (-0.1, 1.1, math.nan, math.inf)),
    ],
)
def test_a_value_outside_its_range_is_refused_by_name(name: str, value: float) -> None:
    with pytest.raises(UsageError, match=f"^{name.replace('_', '-')} must be"):
        Sampler(**{name: value})  # type: ignore[arg-type]
