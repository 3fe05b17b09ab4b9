"""The choice of a token for all rows at once: by kernels and by torch, beside the sampler's own probabilities."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.support.running.tried import tried

from sfgen import Sampler
from sfgen.decoding.batch import choose_all
from sfgen.decoding.choice import Changes, Choice, Chosen, HostRow, ScoreRow
from sfgen.decoding.choice_kernels import BLOCK, exponentials, uniform
from sfgen.decoding.sampler import Draws
from sfgen.errors import ModelError
from sfgen.index.mask_ids import packed
from sfgen.kernels import Float64s, Float64sOut, Int, Int64sOut, kernel

OPTIONS = st.fixed_dictionaries(
    {"temperature": st.sampled_from([0.0, 0.3, 1.0, 2.5])},
    optional={
        "top_k": st.sampled_from([1, 2, 7, 40, 4000]),
        "top_p": st.sampled_from([0.0, 0.37, 0.93, 1.0]),
        "min_p": st.sampled_from([0.0, 0.0213, 0.507, 1.0]),
    },
)
SIZES = st.sampled_from([1, 5, 33, 700, 3 * BLOCK + 17])


def table_of(seed: int, rows: int, size: int, steps: int, kind: str = "float32") -> NDArray[Any]:
    """Scores of which many are equal where there are few steps."""
    scores = np.random.default_rng(seed).normal(0, 3, (rows, size))
    return ((scores * steps).round() / steps).astype(kind)


def allowed_of(seed: int, size: int, share: float) -> NDArray[np.int32]:
    generator = np.random.default_rng(seed)
    allowed = np.flatnonzero(generator.random(size) < share).astype(np.int32)
    return allowed if allowed.size else np.array([size // 2], dtype=np.int32)


def choice_of(sampler: Sampler, allowed: NDArray[np.int32], size: int, share: float, **more: Any) -> Choice:
    return Choice(packed(allowed, size), allowed.size, sampler, sampler.temperature, share, **more)


def distribution(row: ScoreRow, choice: Choice, size: int) -> NDArray[np.float64]:
    """The probability of each token, by the draws themselves: each token where the sum of those before is passed."""
    if not choice.is_drawn:
        found = np.zeros(size)
        found[row.choose(choice).token] = 1.0
        return found
    found, share, last = np.zeros(size), 0.0, -1
    while share < 1 - 1e-9:
        chosen = row.choose(replace(choice, share=min(share + 1e-11, 1 - 2**-53)))
        assert chosen.token >= last, "tokens come in their order"
        assert chosen.probability is not None
        if chosen.token == last:  # very unlikely ones before it were passed over
            share += 1e-10
            continue
        last, found[chosen.token] = chosen.token, chosen.probability
        share += chosen.probability
    return found


def device_row(scores: NDArray[Any]) -> ScoreRow:
    import torch

    from sfgen.decoding.choice_device import DeviceRow

    return DeviceRow(torch.tensor(scores))


WHERE = [HostRow, device_row]


@pytest.mark.parametrize("row_of", WHERE)
@tried("usual")
@given(
    seed=st.integers(0, 2**32),
    size=st.sampled_from([1, 5, 33, 70]),
    share=st.sampled_from([0.1, 0.9, 1.0]),
    steps=st.sampled_from([1, 2, 1000]),
    options=OPTIONS,
    kind=st.sampled_from(["float16", "float32", "float64"]),
    penalised=st.booleans(),
)
def test_draws_have_the_probabilities_of_the_sampler(
    row_of: Any, seed: int, size: int, share: float, steps: int, options: dict[str, Any], kind: str, penalised: bool
) -> None:
    scores, allowed = table_of(seed, 1, size, steps, kind)[0], allowed_of(seed, size, share)
    sampler = Sampler(seed=1, **options)
    if penalised:
        tokens = [seed % size, seed // 7 % size]
        sampler = replace(sampler, logit_bias={tokens[0]: 2.5}, presence_penalty=0.5, repetition_penalty=1.3)
        changes = Changes.of(sampler, [tokens[1]], tokens)
        expected = sampler.probabilities(changes.changed(scores)[allowed])
    else:
        changes, expected = None, sampler.probabilities(scores[allowed])
    found = distribution(row_of(scores), choice_of(sampler, allowed, size, 0, changes=changes), size)
    np.testing.assert_allclose(found[allowed], expected, rtol=1e-9, atol=1e-8)
    assert found.sum() == pytest.approx(1)


@pytest.mark.parametrize("row_of", WHERE)
@tried("usual")
@given(
    seed=st.integers(0, 2**32),
    size=st.sampled_from([1, 5, 33, 70]),
    spread=st.sampled_from([1, 300]),
    options=OPTIONS,
    takes_best=st.booleans(),
    few=st.booleans(),
)
def test_what_is_known_of_tokens_multiplies_their_weights(
    row_of: Any, seed: int, size: int, spread: int, options: dict[str, Any], takes_best: bool, few: bool
) -> None:
    """Also where all that is left is so unlikely that its weight is 0 beside the others."""
    generator = np.random.default_rng(seed)
    scores, allowed = table_of(seed, 1, size, 1000, "float64")[0] * spread, allowed_of(seed, size, 0.8)
    sampler = Sampler(seed=1, **{**options, "temperature": options["temperature"] or 1.0})
    barred = np.flatnonzero(generator.random(size) < 0.4).astype(np.int32)
    tokens = generator.choice(allowed, min(3, allowed.size), replace=False).astype(np.int32)
    factors = np.log(generator.random(tokens.size))
    choice = choice_of(
        sampler, allowed, size, 0.0, barred=packed(barred, size), factors=(tokens, factors), takes_best=takes_best
    )
    logs = np.full(size, -np.inf)
    logs[allowed] = sampler.log_probabilities(scores[allowed])
    logs[tokens] += factors
    logs[barred] = -np.inf
    row = HostRow(scores[allowed], allowed) if few and row_of is HostRow else row_of(scores)
    chosen = row.choose(choice)
    if logs.max() == -np.inf:
        assert chosen.token == -1
        return
    assert chosen.log_left == pytest.approx(float(np.logaddexp.reduce(logs)), abs=1e-9)
    if takes_best:
        assert logs[chosen.token] == pytest.approx(logs.max(), abs=1e-9)
        assert chosen.probability is None
    else:
        expected = np.exp(logs - np.logaddexp.reduce(logs))
        np.testing.assert_allclose(distribution(row, choice, size), expected, rtol=1e-7, atol=1e-8)


@tried("usual")
@given(
    seed=st.integers(0, 2**32),
    size=SIZES,
    shares=st.lists(st.sampled_from([0.01, 0.9, 1.0]), min_size=1, max_size=9),
    steps=st.sampled_from([1, 1000]),
    options=st.lists(OPTIONS, min_size=9, max_size=9),
)
def test_rows_do_not_depend_on_their_neighbours(
    seed: int, size: int, shares: list[float], steps: int, options: list[dict[str, Any]]
) -> None:
    """Each is chosen as by itself, to the last bit; torch chooses the same but for rounding."""
    import torch

    table = table_of(seed, len(shares), size, steps)
    samplers = [Sampler(seed=1, **each) for each in options[: len(shares)]]
    numbers = np.random.default_rng(seed).random(len(shares))
    choices = [
        choice_of(sampler, allowed_of(seed + row, size, share), size, float(number))
        for row, (sampler, share, number) in enumerate(zip(samplers, shares, numbers, strict=True))
    ]
    some = [choice if row % 4 < 3 else None for row, choice in enumerate(choices)]
    together = choose_all(table, some)
    on_device = choose_all(torch.tensor(table), some)
    for row, (found, there, choice) in enumerate(zip(together, on_device, some, strict=True)):
        if choice is None:
            assert found.chosen is None is there.chosen
            continue
        alone = HostRow(table[row].copy()).choose(choice)
        assert found.chosen == alone
        assert there.chosen is not None
        assert there.chosen.token == alone.token
        assert there.chosen.probability == pytest.approx(alone.probability)
        allowed = allowed_of(seed + row, size, shares[row])
        few = HostRow(table[row][allowed], allowed).choose(choice)
        assert few.token == alone.token
        assert (few.probability is None) == (alone.probability is None)
        assert few.probability == pytest.approx(alone.probability)


def test_rows_on_a_device_are_chosen_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is made of their scores is bounded, and what the device has no room for is a lack of memory."""
    import torch

    from sfgen.decoding import choice_device

    table, allowed, sizes = table_of(1, 7, 5_000, 1000), np.arange(5_000, dtype=np.int32), list[int]()
    choices = [choice_of(Sampler(row % 3, 0), allowed, 5_000, row / 7) for row in range(7)]
    expected = [answer.chosen for answer in choose_all(torch.tensor(table), choices)]
    drawn = choice_device._drawn

    def counted(weights: Any, shares: Any) -> tuple[Any, Any]:
        sizes.append(len(weights))
        return drawn(weights, shares)

    monkeypatch.setattr(choice_device, "_drawn", counted)
    for most, parts in ((2**24, [4]), (3 * 5_000, [3, 1]), (1, [1, 1, 1, 1])):
        monkeypatch.setattr(choice_device, "MOST_SCORES", most)
        sizes.clear()
        assert [answer.chosen for answer in choose_all(torch.tensor(table), choices)] == expected
        assert sizes == parts

    def has_no_room(*_: Any) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(choice_device, "_drawn", has_no_room)
    with pytest.raises(MemoryError):
        choose_all(torch.tensor(table), choices)
    with pytest.raises(MemoryError):
        device_row(table[1]).choose(choices[1])


@pytest.mark.parametrize("row_of", WHERE)
@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("takes_best", [False, True])
def test_unusable_scores_are_an_error(row_of: Any, temperature: float, takes_best: bool) -> None:
    allowed = np.array([0, 1], dtype=np.int32)
    for first, message in ((math.nan, "not numbers"), (math.inf, "token inf"), (-math.inf, "token -inf")):
        scores = np.array([first, 0.0 if first > 0 or math.isnan(first) else -math.inf, 3.0], dtype=np.float32)
        choice = choice_of(Sampler(temperature, 0), allowed, 3, 0.5, takes_best=takes_best and temperature > 0)
        with pytest.raises(ModelError, match=message):
            row_of(scores).choose(choice)
    scores = np.array([1.0, 2.0, math.nan], dtype=np.float32)  # of a token that is not allowed
    assert row_of(scores).choose(choice_of(Sampler(0), allowed, 3, 0.5)).token == 1


@pytest.mark.parametrize("row_of", WHERE)
@pytest.mark.parametrize("share", [0.0, 0.5, 1 - 2**-53])
@pytest.mark.parametrize("place", [0, BLOCK - 1, BLOCK, 3 * BLOCK, 5_000 - 1])
def test_what_has_no_weight_is_never_drawn(row_of: Any, share: float, place: int) -> None:
    scores = np.full(5_000, -np.inf, dtype=np.float32)
    scores[place] = -7.0
    chosen = row_of(scores).choose(choice_of(Sampler(1.0, 0), np.arange(5_000, dtype=np.int32), 5_000, share))
    assert chosen == Chosen(place, 1.0)


def test_a_row_tells_its_scores() -> None:
    scores = table_of(3, 1, 50, 1000)[0]
    allowed = allowed_of(3, 50, 0.5)
    barred = allowed[: allowed.size // 2]
    choice = choice_of(Sampler(1.0, 0), allowed, 50, 0.0, barred=packed(barred, 50))
    choice.changes = Changes.of(Sampler(repetition_penalty=1.5), [int(allowed[-1])], [])
    left = allowed[barred.size :]
    changed = choice.changes.changed(scores)
    expected = changed[left] - np.logaddexp.reduce(changed[left])
    for row in (HostRow(scores), HostRow(scores[allowed], allowed), device_row(scores)):
        assert [row.log_share(token, choice) for token in left.tolist()] == pytest.approx(expected.tolist())
        own = row.own(choice)
        for each in (row, own):
            assert each.among(left).tolist() == [each.score(token) for token in left.tolist()] == scores[left].tolist()


@kernel
def exponentials_of(
    logs: Float64s, count: Int, weights: Float64sOut, powers: Int64sOut, as_numbers: Float64sOut
) -> Int:
    """The part as a kernel."""
    return exponentials(logs, count, weights, powers, as_numbers)


def test_exponentials_are_those_of_numpy() -> None:
    logs = np.concatenate([-np.geomspace(1e-300, 700, 5_000), [0.0, -np.inf, -745.0, -1e300]])
    weights, powers = np.empty(logs.size), np.empty(logs.size)
    exponentials_of(logs, logs.size, weights, powers.view(np.int64), powers)
    np.testing.assert_allclose(weights[:-3], np.exp(logs[:-3]), rtol=1e-15)
    assert not weights[-3:].any()


# ---- random numbers --------------------------------------------------------------------------------------------------


@tried("usual")
@given(words=st.lists(st.integers(0, 2**64 - 1), min_size=5, max_size=5))
def test_random_numbers_are_those_of_philox(words: list[int]) -> None:
    first, second, position, visit, purpose = words
    counter = (position | visit << 64 | purpose << 128) - 1  # numpy counts before it draws
    generator = np.random.Philox(key=first | second << 64, counter=counter % 2**256)
    assert uniform(*words) == (int(generator.random_raw(1)[0]) >> 11) * 2.0**-53


def test_random_numbers_depend_on_seed_position_and_visit_alone() -> None:
    one, other = Draws(Sampler(1.0, 7)), Draws(Sampler(1.0, 7))
    backwards = [other.share(position) for position in reversed(range(50))]
    assert [one.share(position) for position in range(50)] == backwards[::-1]
    assert one.share(3) == other.share(3) != one.share(3)
    numbers = [Draws(Sampler(1.0, seed)).share(position) for seed in (*range(100), 2**80) for position in range(300)]
    assert len(set(numbers)) == len(numbers)
    counts, _ = np.histogram(numbers, bins=10, range=(0, 1))
    expected = len(numbers) / 10
    assert ((counts - expected) ** 2 / expected).sum() < 27.88  # the 0.999 quantile for 9 degrees of freedom
