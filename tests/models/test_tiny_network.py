"""The forward pass in numpy, against that of transformers on the same random weights; and its parts alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.models.random_models import random_model
from tests.support.running.tried import tried

from sfgen.models.tiny import network
from sfgen.models.tiny.kv_cache import KvCache
from sfgen.models.tiny.network import Floats, Network

SHAPES: dict[str, dict[str, Any]] = {
    "a key for each query": {"num_attention_heads": 4, "num_key_value_heads": 4, "head_dim": 4},
    "a key for two queries": {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 6},
    "a key for all queries": {"num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 8},
    "other positions": {"head_dim": 8, "rope_parameters": {"rope_type": "default", "rope_theta": 50.0}},
    "another norm": {"head_dim": 8, "rms_norm_eps": 0.3, "num_hidden_layers": 3},
}
TOKENS = st.lists(st.integers(0, 63), min_size=1, max_size=9)


@pytest.fixture(scope="module", params=SHAPES)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Network, Any]:
    """The same weights in numpy and in transformers."""
    model = random_model("llama", tie_word_embeddings=True, **SHAPES[request.param])
    for name, weight in model.named_parameters():
        if "norm" in name:  # they are all 1 at first
            weight.data.uniform_(0.5, 1.5)
    directory = tmp_path_factory.mktemp("llama")
    model.save_pretrained(directory)
    return Network.from_directory(directory), model


def empty_cache(made: Network) -> KvCache:
    return KvCache(len(made.layers), made.kv_heads, made.head_size)


def expected(model: Any, token_ids: Sequence[int]) -> Floats:
    """The scores after each token, by transformers."""
    import torch

    with torch.inference_mode():
        scores: Floats = model(input_ids=torch.tensor([list(token_ids)]), use_cache=False).logits[0].numpy()
    return scores


def assert_close(found: Floats, wanted: Floats) -> None:
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


@tried("few")
@given(texts=st.lists(TOKENS, min_size=1, max_size=5))
def test_pass_after_pass(pair: tuple[Network, Any], texts: list[list[int]]) -> None:
    made, model = pair
    cache = empty_cache(made)
    found = [network.scores(made, network.read(made, cache, text)) for text in texts]
    whole = [token for text in texts for token in text]
    assert_close(np.concatenate(found), expected(model, whole))
    assert cache.length == len(whole)


@tried("few")
@given(token_ids=TOKENS, rows=st.lists(st.integers(0, 63), max_size=9))
def test_scores_of_some_tokens(pair: tuple[Network, Any], token_ids: list[int], rows: list[int]) -> None:
    made, model = pair
    states = network.read(made, empty_cache(made), token_ids)
    assert_close(network.scores(made, states, np.array(rows, dtype=np.int32)), expected(model, token_ids)[:, rows])


@tried("some")
@given(token_ids=TOKENS, other=TOKENS, data=st.data())
def test_a_cache_can_be_cut_anywhere(
    pair: tuple[Network, Any], token_ids: list[int], other: list[int], data: st.DataObject
) -> None:
    made, model = pair
    cache = empty_cache(made)
    network.read(made, cache, token_ids)
    cache.length = data.draw(st.integers(0, len(token_ids)))
    kept = token_ids[: cache.length]
    found = network.scores(made, network.read(made, cache, other))
    assert_close(found, expected(model, [*kept, *other])[len(kept) :])


def test_a_cache_grows_and_keeps_what_it_holds(pair: tuple[Network, Any]) -> None:
    made, model = pair
    token_ids = np.random.default_rng(3).integers(0, 64, 128).tolist()
    cache, found = empty_cache(made), []
    for start in range(0, 128, 3):
        found.append(network.read(made, cache, token_ids[start : start + 3]))
    assert_close(network.scores(made, np.concatenate(found)), expected(model, token_ids))


class TestParts:
    def test_a_softmax_of_large_numbers(self) -> None:
        found = network.softmax(np.array([[1e4, 1e4, -np.inf], [0, 0, 0]], dtype=np.float32))
        np.testing.assert_array_almost_equal(found, [[0.5, 0.5, 0], [1 / 3] * 3])

    @pytest.mark.filterwarnings("error")
    def test_the_activation(self) -> None:
        import torch

        numbers = np.array([-1e4, -100, -20, -1, -1e-3, 0, 0.5, 3, 90, 1e4], dtype=np.float32)
        wanted = torch.nn.functional.silu(torch.from_numpy(numbers)).numpy()
        np.testing.assert_allclose(network.silu(numbers), wanted, rtol=1e-6, atol=1e-5)

    def test_what_a_token_sees(self) -> None:
        assert network.causal_mask(5, 1) is None
        mask = network.causal_mask(2, 3)
        assert mask is not None
        assert (mask == 0).astype(int).tolist() == [[1, 1, 1, 0, 0], [1, 1, 1, 1, 0], [1, 1, 1, 1, 1]]
        assert set(mask[mask != 0]) == {-np.inf}

    @given(size=st.integers(1, 6), start=st.integers(0, 50), step=st.integers(0, 50))
    def test_products_of_turned_pairs_depend_on_the_distance_alone(self, size: int, start: int, step: int) -> None:
        generator = np.random.default_rng(size)
        query, key = generator.normal(size=(2, 1, 1, 2 * size)).astype(np.float32)
        frequencies = generator.uniform(0.01, 1, size).astype(np.float32)

        def at(vector: Floats, position: int) -> Floats:
            turned: Floats = network.rotated(vector, network.rotations(frequencies, np.array([position])))[0, 0]
            return turned

        at_zero = at(query, 0) @ at(key, step)
        np.testing.assert_allclose(at(query, start) @ at(key, start + step), at_zero, atol=1e-4)


def test_the_directory_of_the_embedded_model_is_read_whole() -> None:
    from sfgen.models.tiny import DIRECTORY

    made = Network.from_directory(Path(DIRECTORY))
    assert (len(made.layers), made.heads, made.kv_heads, made.head_size) == (6, 4, 4, 64)
    arrays = [made.embeddings, made.norm, *(each for layer in made.layers for each in vars(layer).values())]
    assert {each.dtype for each in arrays} == {np.dtype(np.float32)}
    assert 3_000_000 < sum(each.size for each in arrays) <= 4_000_000
