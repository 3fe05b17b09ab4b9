"""The forward pass of a Llama in numpy, as functions over its weights.

A token's embedding goes through layers of two blocks each, attention and feed-forward network. A block reads its input
through a root mean square norm, and its result is added to the input (Touvron et al. 2023). Scores are dot products
with the embeddings of all tokens. ``T`` is the number of tokens that are read, ``S`` that of the slots that attention
sees.

Numbers are float32, as the weights are. With weights in float64 the computation is in float64: tests compare texts in
this way, which rounding cannot change.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sfgen.models.tiny.kv_cache import KvCache

Floats: TypeAlias = NDArray[np.float32]
Turns: TypeAlias = NDArray[np.complex64]
Attend: TypeAlias = Callable[[int, Floats, Floats, Floats], Floats]


@dataclass(frozen=True)
class Layer:
    """The weights of one layer, float32, multiplied from the right: ``states @ weight``.

    Attributes:
        attention_norm: ``[size]``.
        qkv: Queries, keys and values side by side: ``[size, (heads + 2 * kv_heads) * head_size]``. The numbers of a
            query or a key lie so that two which are turned together are neighbours.
        output: ``[heads * head_size, size]``.
        feed_forward_norm: ``[size]``.
        gate_up: Gate and values of the feed-forward network side by side: ``[size, 2 * inner]``.
        down: ``[inner, size]``.
    """

    attention_norm: Floats
    qkv: Floats
    output: Floats
    feed_forward_norm: Floats
    gate_up: Floats
    down: Floats


@dataclass(frozen=True)
class Network:
    """A Llama (Touvron et al. 2023) with its weights.

    Attributes:
        heads: The number of query heads.
        kv_heads: The number of key and value heads; each serves ``heads / kv_heads`` query heads.
        head_size: The size of a head.
        epsilon: The number that the norms add to the mean square.
        frequencies: The rotation of each pair of a head from one position to the next, in radians: float32 ``[head_size
            / 2]``.
        embeddings: Float32 ``[tokens, size]``.
        layers: The layers.
        norm: Of the last states: float32 ``[size]``.
    """

    heads: int
    kv_heads: int
    head_size: int
    epsilon: np.float32
    frequencies: Floats
    embeddings: Floats
    layers: tuple[Layer, ...]
    norm: Floats

    @classmethod
    def from_directory(cls, directory: Path) -> Network:
        """Read a Llama from its configuration and weights."""
        # Its output layer must be its embedding.
        from safetensors.numpy import load_file

        config: dict[str, Any] = json.loads((directory / "config.json").read_text(encoding="utf-8"))
        weights = {name: array.astype(np.float32) for name, array in load_file(directory / "model.safetensors").items()}
        heads, kv_heads, head_size = (config[key] for key in ("num_attention_heads", "num_key_value_heads", "head_dim"))

        def layer(number: int) -> Layer:
            def rows(*names: str) -> Floats:
                turned = [weights[f"model.layers.{number}.{name}.weight"].T for name in names]
                # Row by row in memory: a product with few states is then several times as fast.
                return np.ascontiguousarray(np.concatenate(turned, axis=-1))

            qkv = rows("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")
            _pair_up(qkv[:, : (heads + kv_heads) * head_size], head_size)
            return Layer(
                attention_norm=rows("input_layernorm"),
                qkv=qkv,
                output=rows("self_attn.o_proj"),
                feed_forward_norm=rows("post_attention_layernorm"),
                gate_up=rows("mlp.gate_proj", "mlp.up_proj"),
                down=rows("mlp.down_proj"),
            )

        exponents = np.arange(0, head_size, 2, dtype=np.float32) / np.float32(head_size)
        # Rounded where transformers rounds: at position 2000 the last digit of a frequency is 0.0001 radians.
        powers = np.power(config["rope_parameters"]["rope_theta"], exponents.astype(np.float64)).astype(np.float32)
        return cls(
            heads=heads,
            kv_heads=kv_heads,
            head_size=head_size,
            epsilon=np.float32(config["rms_norm_eps"]),
            frequencies=np.float32(1) / powers,
            embeddings=weights["model.embed_tokens.weight"],
            layers=tuple(layer(number) for number in range(config["num_hidden_layers"])),
            norm=weights["model.norm.weight"],
        )


def read(network: Network, cache: KvCache, token_ids: Sequence[int]) -> Floats:
    """Read tokens after those in the cache; return their last states, float32 ``[T, size]``."""
    start, count = cache.length, len(token_ids)
    mask = causal_mask(start, count)
    cache.make_room(count)

    def attend(layer: int, queries: Floats, keys: Floats, values: Floats) -> Floats:
        return attention(queries, *cache.write(layer, keys, values), mask)

    states = forward(network, token_ids, np.arange(start, start + count), attend)
    cache.length += count
    return states


def forward(network: Network, token_ids: Sequence[int], positions: NDArray[np.integer], attend: Attend) -> Floats:
    """Run one forward pass, of one text or of several; return float32 ``[T, size]``."""
    # Only attention depends on the texts of the tokens; all other steps treat each token by itself. `attend` has the
    # number of the layer, queries [T, heads, head_size], keys and values [T, kv_heads, head_size], and returns [T,
    # heads * head_size].
    turns = rotations(network.frequencies, positions)
    states = network.embeddings[list(token_ids)]
    for number, layer in enumerate(network.layers):
        normed = rms_norm(states, layer.attention_norm, network.epsilon)
        states = states + attend(number, *heads(network, layer, normed, turns)) @ layer.output
        states = states + feed_forward(layer, rms_norm(states, layer.feed_forward_norm, network.epsilon))
    return rms_norm(states, network.norm, network.epsilon)


def scores(network: Network, states: Floats, tokens: NDArray[np.int32] | None = None) -> Floats:
    """Score the next token after states ``[T, size]``: float32 ``[T, tokens]``."""
    return states @ (network.embeddings if tokens is None else network.embeddings[tokens]).T


def rms_norm(states: Floats, weight: Floats, epsilon: np.float32) -> Floats:
    """Divide states ``[T, size]`` by their root mean square (Zhang and Sennrich 2019)."""
    mean_square = (states * states).sum(axis=-1, keepdims=True) / states.shape[-1]
    normed: Floats = states / np.sqrt(mean_square + epsilon) * weight
    return normed


def heads(network: Network, layer: Layer, states: Floats, turns: Turns) -> tuple[Floats, Floats, Floats]:
    """Project states to queries, keys and values, with rotary positions."""
    # Queries [T, heads, head_size], keys and values [T, kv_heads, head_size].
    each = (states @ layer.qkv).reshape(len(states), -1, network.head_size)
    turned = rotated(each[:, : network.heads + network.kv_heads], turns)
    return turned[:, : network.heads], turned[:, network.heads :], each[:, network.heads + network.kv_heads :]


def rotations(frequencies: Floats, positions: NDArray[np.integer]) -> Turns:
    """Compute the rotary factors of positions, complex64 ``[T, 1, head_size / 2]``."""
    angles = positions.astype(frequencies.dtype)[:, None, None] * frequencies
    turns: Turns = np.exp(1j * angles)
    return turns


def rotated(vectors: Floats, turns: Turns) -> Floats:
    """Rotate pairs of numbers (rotary position embedding, Su et al. 2021)."""
    # A pair is a complex number, and to rotate it is to multiply it.
    turned: Floats = (vectors.view(turns.dtype) * turns).view(vectors.dtype)
    return turned


def attention(queries: Floats, keys: Floats, values: Floats, mask: Floats | None) -> Floats:
    """Compute scaled dot-product attention (Vaswani et al. 2017)."""
    # queries [..., T, heads, head_size]; keys, values [..., kv_heads, S, head_size]; mask [..., T, S], added before the
    # softmax; returns [..., T, heads * head_size]. Several queries may share a key (Ainslie et al. 2023). The first
    # axes are of texts.
    *texts, count, number, size = queries.shape
    kv_heads, slots = keys.shape[-3:-1]
    # [..., kv_heads, shared * T, head_size]: the queries of a key lie below each other.
    grouped = queries.swapaxes(-3, -2).reshape(*texts, kv_heads, number // kv_heads * count, size)
    scaled: Floats = grouped / math.sqrt(size)
    products = scaled @ keys.swapaxes(-2, -1)
    if mask is not None:
        products.reshape(*texts, number, count, slots)[...] += mask[..., None, :, :]
    found = (softmax(products) @ values).reshape(*texts, number, count, size)
    return found.swapaxes(-3, -2).reshape(*texts, count, number * size)


def softmax(logits: Floats) -> Floats:
    """Normalize exponentials to a sum of one along the last axis."""
    powers: Floats = np.exp(logits - logits.max(axis=-1, keepdims=True))
    powers /= powers.sum(axis=-1, keepdims=True)
    return powers


def causal_mask(start: int, count: int) -> Floats | None:
    """Return minus infinity ``[count, start + count]`` where a token would see a later one."""
    if count == 1:
        return None
    return np.triu(np.full((count, start + count), -np.inf, dtype=np.float32), start + 1)


def feed_forward(layer: Layer, states: Floats) -> Floats:
    """Apply the feed-forward network with a gate, SwiGLU (Shazeer 2020)."""
    both = states @ layer.gate_up
    inner = both.shape[-1] // 2
    return (silu(both[:, :inner]) * both[:, inner:]) @ layer.down


def silu(numbers: Floats) -> Floats:
    """Multiply numbers by their logistic function."""
    # It is computed by the tangent, so that no power overflows.
    half = numbers * 0.5
    product: Floats = half + half * np.tanh(half)
    return product


def _pair_up(columns: Floats, head_size: int) -> None:
    """Move, in place, numbers half a head apart that are rotated together next to each other."""
    halves = columns.reshape(len(columns), -1, 2, head_size // 2)
    columns[...] = halves.transpose(0, 1, 3, 2).reshape(columns.shape)
