"""Writes a transformers model as a GGUF file, in the names and the layout that llama.cpp expects."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from tests.support.models.gguf_tokenizers import add_tokenizer

Weights: TypeAlias = dict[str, NDArray[np.float32]]
Tensors: TypeAlias = Iterator[tuple[str, NDArray[np.float32]]]

NUMBERS = {"f32": 0, "f16": 1, "q4_0": 2, "q8_0": 7}
"""The types of weights, with the number that llama.cpp gives to a file of them."""


def write_gguf(
    directory: Path, file: Path, *, numbers: str = "f32", split: str = "gpt-2", parts: int = 1, **metadata: str | int
) -> Path:
    """Write a model and its tokenizer.

    Args:
        directory: What ``save_pretrained`` wrote.
        file: Where to; with several parts their names are made of it.
        numbers: One of ``NUMBERS``. Weights of one dimension are float32 always.
        split: See ``gguf_tokenizers.add_tokenizer``.
        parts: In how many files.
        metadata: Further values, with ``__`` for the dots in their names.

    Returns:
        The file, or the first of them.
    """
    from gguf import GGMLQuantizationType, GGUFWriter, quants

    config = json.loads((directory / "config.json").read_text(encoding="utf-8"))
    name, describe, tensors = _ARCHITECTURES[config["model_type"]]
    found = list(tensors(config, _weights(directory)))
    writer: Any = GGUFWriter(file, name, split_max_tensors=-(-len(found) // parts) if parts > 1 else 0)
    writer.add_name(directory.name)
    writer.add_vocab_size(config["vocab_size"])
    writer.add_file_type(NUMBERS[numbers])
    describe(writer, config)
    add_tokenizer(writer, directory, config["vocab_size"], split=split)
    for key, value in metadata.items():
        (writer.add_string if isinstance(value, str) else writer.add_uint32)(key.replace("__", "."), value)
    kind = GGMLQuantizationType[numbers.upper()]
    for tensor, values in found:
        is_small = values.ndim == 1 or "ssm_" in tensor or numbers == "f32"
        values = np.ascontiguousarray(values, np.float32)
        if is_small:
            writer.add_tensor(tensor, values)
        else:
            writer.add_tensor(tensor, quants.quantize(values, kind), raw_dtype=kind)
    writer.write_header_to_file(file)
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file if parts == 1 else file.with_name(f"{file.stem}-00001-of-{parts:05}.gguf")


def _weights(directory: Path) -> Weights:
    from safetensors.torch import load_file

    return {name: weight.float().numpy() for name, weight in load_file(directory / "model.safetensors").items()}


# ---- Llama, Qwen 2, Gemma 2 ------------------------------------------------------------------------------------------


def _describe_attention(writer: Any, config: dict[str, Any]) -> None:
    heads = config["num_attention_heads"]
    size = config.get("head_dim") or config["hidden_size"] // heads
    rotary = config.get("rope_parameters") or config
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(config.get("num_key_value_heads") or heads)
    writer.add_key_length(size)
    writer.add_value_length(size)
    writer.add_rope_dimension_count(size)
    writer.add_rope_freq_base(rotary.get("rope_theta", 10000.0))
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])


def _describe_gemma2(writer: Any, config: dict[str, Any]) -> None:
    _describe_attention(writer, config)
    writer.add_attn_logit_softcapping(config["attn_logit_softcapping"])
    writer.add_final_logit_softcapping(config["final_logit_softcapping"])
    writer.add_sliding_window(config["sliding_window"])


def _llama(config: dict[str, Any], weights: Weights) -> Tensors:
    """Llama: its rotary positions turn pairs of neighbours in ggml, and the two halves of a head in transformers."""
    heads = {"q": config["num_attention_heads"]}
    heads["k"] = config.get("num_key_value_heads") or heads["q"]
    for name, values in _decoder(config, weights, {"input_layernorm": "attn_norm", **_BEFORE_MLP}):
        letter = name.partition("attn_")[2][:1]
        yield name, _paired(values, heads[letter]) if ".attn_" in name and letter in heads else values


def _qwen2(config: dict[str, Any], weights: Weights) -> Tensors:
    yield from _decoder(config, weights, {"input_layernorm": "attn_norm", **_BEFORE_MLP})


def _gemma2(config: dict[str, Any], weights: Weights) -> Tensors:
    """Gemma 2: its norms multiply by one more than their weight."""
    norms = {
        "input_layernorm": "attn_norm", "post_attention_layernorm": "post_attention_norm",
        "pre_feedforward_layernorm": "ffn_norm", "post_feedforward_layernorm": "post_ffw_norm",
    }  # fmt: skip
    for name, values in _decoder(config, weights, norms):
        yield name, values + 1 if "norm" in name else values


_BEFORE_MLP = {"post_attention_layernorm": "ffn_norm"}
_LINEAR = {
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}  # fmt: skip


def _decoder(config: dict[str, Any], weights: Weights, norms: dict[str, str]) -> Tensors:
    yield "token_embd.weight", weights["model.embed_tokens.weight"]
    yield "output_norm.weight", weights["model.norm.weight"]
    if "lm_head.weight" in weights:
        yield "output.weight", weights["lm_head.weight"]
    for layer in range(config["num_hidden_layers"]):
        for theirs, ours in {**norms, **_LINEAR}.items():
            for kind in ("weight", "bias"):
                values = weights.get(f"model.layers.{layer}.{theirs}.{kind}")
                if values is not None:
                    yield f"blk.{layer}.{ours}.{kind}", values


def _paired(values: NDArray[np.float32], heads: int) -> NDArray[np.float32]:
    halves = values.reshape(heads, 2, values.shape[0] // heads // 2, *values.shape[1:])
    return halves.swapaxes(1, 2).reshape(values.shape)


# ---- Mamba -----------------------------------------------------------------------------------------------------------


def _describe_mamba(writer: Any, config: dict[str, Any]) -> None:
    writer.add_context_length(1 << 20)
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(0)
    writer.add_head_count(0)
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_ssm_conv_kernel(config["conv_kernel"])
    writer.add_ssm_inner_size(config["intermediate_size"])
    writer.add_ssm_state_size(config["state_size"])
    writer.add_ssm_time_step_rank(config["time_step_rank"])
    writer.add_layer_norm_rms_eps(config["layer_norm_epsilon"])


def _mamba(config: dict[str, Any], weights: Weights) -> Tensors:
    yield "token_embd.weight", weights["backbone.embeddings.weight"]
    yield "output_norm.weight", weights["backbone.norm_f.weight"]
    names = {
        "norm.weight": "attn_norm.weight", "mixer.in_proj.weight": "ssm_in.weight",
        "mixer.conv1d.weight": "ssm_conv1d.weight", "mixer.conv1d.bias": "ssm_conv1d.bias",
        "mixer.x_proj.weight": "ssm_x.weight", "mixer.dt_proj.weight": "ssm_dt.weight",
        "mixer.dt_proj.bias": "ssm_dt.bias", "mixer.A_log": "ssm_a", "mixer.D": "ssm_d",
        "mixer.out_proj.weight": "ssm_out.weight",
    }  # fmt: skip
    for layer in range(config["num_hidden_layers"]):
        for theirs, ours in names.items():
            values = weights[f"backbone.layers.{layer}.{theirs}"]
            if ours == "ssm_conv1d.weight":  # one filter for each channel
                values = values[:, 0]
            yield f"blk.{layer}.{ours}", -np.exp(values) if ours == "ssm_a" else values


_ARCHITECTURES: dict[
    str, tuple[str, Callable[[Any, dict[str, Any]], None], Callable[[dict[str, Any], Weights], Tensors]]
] = {
    "llama": ("llama", _describe_attention, _llama),
    "qwen2": ("qwen2", _describe_attention, _qwen2),
    "gemma2": ("gemma2", _describe_gemma2, _gemma2),
    "mamba": ("mamba", _describe_mamba, _mamba),
}
"""By transformers' name: llama.cpp's name, what the metadata say, the tensors."""
