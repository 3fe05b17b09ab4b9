"""Small models as GGUF files, in the names and the layout that llama.cpp expects, their tokenizers included."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from tests.support.models.random_models import TOKENIZERS, random_model

from sfgen.vocabulary.decoder import byte_token

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
        split: See ``add_tokenizer``.
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


SPLITS = {"gpt2": "gpt-2", "llama3": "llama-bpe", "qwen": "qwen2"}
"""How llama.cpp calls the expression by which each byte-level tokenizer of the tests splits a text."""
_SPACE = "\u2581"


def add_tokenizer(writer: Any, directory: Path, rows: int, *, split: str = "gpt-2") -> None:
    """Write a tokenizer: byte-level BPE, or SentencePiece's BPE, which is the one with byte tokens.

    Args:
        writer: A ``gguf.GGUFWriter``.
        directory: Where ``tokenizer.json``, ``tokenizer_config.json`` and ``config.json`` lie.
        rows: The rows of the output layer; those without a token are filled up.
        split: How llama.cpp calls the expression that splits a text, for byte-level BPE.
    """
    described = json.loads((directory / "tokenizer.json").read_text(encoding="utf-8"))
    settings = json.loads((directory / "tokenizer_config.json").read_text(encoding="utf-8"))
    vocabulary, added = described["model"]["vocab"], {each["id"]: each for each in described["added_tokens"]}
    has_bytes = "<0x0A>" in vocabulary
    merges = [tuple(each.split(" ")) if isinstance(each, str) else tuple(each) for each in described["model"]["merges"]]
    tokens, kinds = _tokens(vocabulary, added, rows, settings, has_bytes=has_bytes)
    writer.add_tokenizer_model("llama" if has_bytes else "gpt2")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    if has_bytes:
        # SentencePiece joins the pair with the best score; here that is the one that was learned first.
        order = {left + right: -float(number) for number, (left, right) in reversed(list(enumerate(merges)))}
        writer.add_token_scores([order.get(token, -1e6) for token in tokens])
        normalizer = json.dumps(described["normalizer"])
        writer.add_add_space_prefix('"Prepend"' in normalizer)
    else:
        writer.add_tokenizer_pre(split)
        writer.add_token_merges([" ".join(pair) for pair in merges])
    ids = {each["content"]: number for number, each in added.items()}
    begin = ids.get(settings.get("bos_token"))
    writer.add_add_bos_token(
        begin is not None and str(settings["bos_token"]) in json.dumps(described["post_processor"])
    )
    if begin is not None:
        writer.add_bos_token_id(begin)
    if settings.get("eos_token") is not None:
        writer.add_eos_token_id(ids[settings["eos_token"]])
    template = directory / "chat_template.jinja"
    if template.exists():
        writer.add_chat_template(template.read_text(encoding="utf-8"))


def _tokens(
    vocabulary: dict[str, int], added: dict[int, Any], rows: int, settings: dict[str, Any], *, has_bytes: bool
) -> tuple[list[str], list[int]]:
    """The text and the type of each token."""
    from gguf import TokenType

    strings = {number: string for string, number in vocabulary.items()}
    tokens, kinds = [], []
    for number in range(rows):
        if number in added:
            content = added[number]["content"]
            if content == settings.get("unk_token"):
                kind = TokenType.UNKNOWN
            elif added[number]["special"] or (content == "<mask>" and "Gemma" in settings["tokenizer_class"]):
                kind = TokenType.CONTROL
            else:
                kind, content = TokenType.USER_DEFINED, content.replace(_SPACE, " ") if has_bytes else content
        elif number in strings:
            content = strings[number]
            is_byte = has_bytes and byte_token(content) is not None
            kind = TokenType.BYTE if is_byte else TokenType.NORMAL
        else:
            content, kind = f"[PAD{number}]", TokenType.UNUSED
        tokens.append(content)
        kinds.append(kind)
    return tokens, kinds


END_TOKENS = {
    "gpt2": ["<|endoftext|>"], "llama3": ["<|end_of_text|>", "<|eot_id|>"], "qwen": ["<|endoftext|>", "<|im_end|>"],
    "llama2": ["</s>"], "gemma2": ["<eos>"],
}  # fmt: skip
"""The tokens that llama.cpp takes for end tokens, by their names: those that models of the family name, too."""


@dataclass(frozen=True)
class Pair:
    """One model, twice.

    Attributes:
        directory: As transformers reads it.
        file: As llama.cpp does.
    """

    directory: Path
    file: Path


def pair(architecture: str, tokenizer: str, folder: Path, *, template: str = "", **changes: Any) -> Pair:
    """Write a model twice.

    Args:
        architecture: One of ``random_models.ARCHITECTURES`` that this file knows.
        tokenizer: One of ``END_TOKENS``.
        folder: Where to.
        template: A chat template.
        changes: Of the model's configuration.
    """
    import transformers

    from sfgen.vocabulary.pretrained import quiet_transformers

    directory = folder / f"{architecture}-{tokenizer}"
    with quiet_transformers():
        loaded: Any = transformers.AutoTokenizer.from_pretrained(TOKENIZERS / tokenizer)
        ends = [loaded.convert_tokens_to_ids(token) for token in END_TOKENS[tokenizer]]
        settings = {"vocab_size": len(loaded) + 3, "bos_token_id": loaded.bos_token_id, "eos_token_id": ends, **changes}
        random_model(architecture, **settings).save_pretrained(directory)
    for file in (TOKENIZERS / tokenizer).iterdir():
        shutil.copy(file, directory)
    if template:
        (directory / "chat_template.jinja").write_text(template, encoding="utf-8")
    file = directory.with_suffix(".gguf")
    return Pair(directory, write_gguf(directory, file, split=SPLITS.get(tokenizer, "")))
