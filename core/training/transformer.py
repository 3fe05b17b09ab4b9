"""The Llama that is trained: what transformers computes, in a form that torch compiles to half the time.

Its parameters have the names that transformers gives them, so that what is learned is an ordinary checkpoint.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional


class Shape(NamedTuple):
    """The sizes of a Llama whose output layer is its embedding.

    Attributes:
        tokens: The number of token ids.
        size: The dimension of a state.
        inner: The dimension inside the feed-forward network.
        layers: The number of layers.
        heads: The number of attention heads.
    """

    tokens: int = 2048
    size: int = 256
    inner: int = 384
    layers: int = 6
    heads: int = 4

    @property
    def head_size(self) -> int:
        """The size of one head."""
        return self.size // self.heads


class Attention(nn.Module):
    """Causal attention with rotary positions.

    See Vaswani et al. 2017 and Su et al. 2021.
    """

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (
            nn.Linear(shape.size, shape.size, bias=False) for _ in range(4)
        )

    def forward(self, states: torch.Tensor, turns: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        """Compute attention of states ``[rows, tokens, size]``."""
        # turns: cosines and sines of the positions, each [tokens, head_size]. Written out: torch's own function for
        # processors takes one and a half times as long there and back.
        rows, tokens, size = states.shape
        queries, keys, values = (
            project(states).view(rows, tokens, self.heads, -1).transpose(1, 2)
            for project in (self.q_proj, self.k_proj, self.v_proj)
        )
        products = turned(queries, turns) @ turned(keys, turns).transpose(-1, -2)
        unseen = torch.full((tokens, tokens), -torch.inf, device=states.device).triu(1)
        shares = (products.float() / math.sqrt(size // self.heads) + unseen).softmax(-1)
        seen = shares.to(values.dtype) @ values
        found: torch.Tensor = self.o_proj(seen.transpose(1, 2).reshape(rows, tokens, size))
        return found


class FeedForward(nn.Module):
    """The feed-forward network with a gate, SwiGLU (Shazeer 2020)."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.gate_proj, self.up_proj = (nn.Linear(shape.size, shape.inner, bias=False) for _ in range(2))
        self.down_proj = nn.Linear(shape.inner, shape.size, bias=False)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Apply the network to ``[rows, tokens, size]``, keeping the shape."""
        found: torch.Tensor = self.down_proj(functional.silu(self.gate_proj(states)) * self.up_proj(states))
        return found


class Layer(nn.Module):
    """Attention and feed-forward network with norms and residuals.

    Each stands behind a norm (Zhang and Sennrich 2019) and is added to its input.
    """

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.input_layernorm = nn.RMSNorm(shape.size, eps=1e-6)
        self.self_attn = Attention(shape)
        self.post_attention_layernorm = nn.RMSNorm(shape.size, eps=1e-6)
        self.mlp = FeedForward(shape)

    def forward(self, states: torch.Tensor, turns: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        """Compute the layer for states ``[rows, tokens, size]``."""
        # turns: cosines and sines of the positions, each [tokens, head_size].
        states = states + self.self_attn(self.input_layernorm(states), turns)
        found: torch.Tensor = states + self.mlp(self.post_attention_layernorm(states))
        return found


class Inside(nn.Module):
    """A Llama without its output layer."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(shape.tokens, shape.size)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.norm = nn.RMSNorm(shape.size, eps=1e-6)


class Llama(nn.Module):
    """The transformer; its weights are drawn from torch's generator."""

    frequencies: torch.Tensor

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.model = Inside(shape)
        exponents = torch.arange(0, shape.head_size, 2) / shape.head_size
        self.register_buffer("frequencies", 10_000.0**-exponents, persistent=False)
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1:
                last = name.endswith(("o_proj.weight", "down_proj.weight"))
                nn.init.normal_(parameter, std=0.02 / (math.sqrt(2 * shape.layers) if last else 1))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Score all next tokens of int64 ``[rows, tokens]``: ``[rows, tokens, vocabulary]``."""
        angles = torch.arange(tokens.shape[1], device=tokens.device)[:, None] * self.frequencies
        angles = torch.cat((angles, angles), dim=-1)
        turns = angles.cos(), angles.sin()
        states = self.model.embed_tokens(tokens)
        for layer in self.model.layers:
            states = layer(states, turns)
        return functional.linear(self.model.norm(states), self.model.embed_tokens.weight)


def loss(network: Llama, tokens: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Compute the weighted mean cross-entropy in nats."""
    # tokens: int64, weights: float32, each [rows, tokens + 1].
    scores = network(tokens[:, :-1])
    each = functional.cross_entropy(scores.flatten(0, 1).float(), tokens[:, 1:].flatten(), reduction="none")
    counted = weights[:, 1:].flatten()
    return (each * counted).sum() / counted.sum()


def turned(vectors: torch.Tensor, turns: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    """Rotate pairs of numbers, those half a head apart, by their position."""
    # vectors [rows, heads, tokens, head_size]; turns: cosines and sines, each [tokens, head_size].
    first, second = vectors.chunk(2, dim=-1)
    return (vectors * turns[0] + torch.cat((-second, first), dim=-1) * turns[1]).to(vectors.dtype)
