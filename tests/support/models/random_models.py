"""Tiny transformers models with random weights, one for each shape of architecture and of cache."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

TOKENIZERS = Path(__file__).resolve().parents[2] / "data" / "tokenizers"

_SMALL = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "intermediate_size": 24,
    "max_position_embeddings": 128,
}
_GPT2 = {"n_layer": 2, "n_head": 2, "n_embd": 16, "n_positions": 128}
_FULL_HEADS = {**_SMALL, "num_key_value_heads": 2}
_ALTERNATING = ["sliding_attention", "full_attention"]

ARCHITECTURES: dict[str, tuple[str, str, dict[str, Any]]] = {
    # name: (configuration class, tokenizer, settings)
    "gpt2": ("GPT2Config", "gpt2", _GPT2),
    "llama": ("LlamaConfig", "llama3", _SMALL),
    "mistral": ("MistralConfig", "llama2", {**_SMALL, "sliding_window": 5}),
    "gemma2": ("Gemma2Config", "gemma2", {**_SMALL, "head_dim": 8, "sliding_window": 5}),
    "gemma3": (
        "Gemma3TextConfig", "gemma2", {**_SMALL, "head_dim": 8, "sliding_window": 5, "layer_types": _ALTERNATING},
    ),
    "qwen2": ("Qwen2Config", "qwen", _SMALL),
    "qwen3": ("Qwen3Config", "qwen", {**_SMALL, "head_dim": 8}),
    "phi": ("PhiConfig", "gpt2", _SMALL),
    "phi3": ("Phi3Config", "llama2", {**_SMALL, "sliding_window": 5}),
    "falcon": ("FalconConfig", "gpt2", {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}),
    "falcon-alibi": (
        "FalconConfig", "gpt2", {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "alibi": True},
    ),
    "opt": ("OPTConfig", "gpt2", {**_SMALL, "ffn_dim": 24, "word_embed_proj_dim": 16}),
    "bloom": ("BloomConfig", "gpt2", {"hidden_size": 16, "n_layer": 2, "n_head": 2}),
    "mpt": ("MptConfig", "gpt2", {"d_model": 16, "n_layers": 2, "n_heads": 2, "max_seq_len": 128}),
    "gpt-neo": (
        "GPTNeoConfig",
        "gpt2",
        {"hidden_size": 16, "num_layers": 2, "num_heads": 2, "attention_types": [[["global", "local"], 1]],
         "window_size": 5, "max_position_embeddings": 128},
    ),
    "gpt-neox": ("GPTNeoXConfig", "gpt2", _SMALL),
    "gptj": ("GPTJConfig", "gpt2", {**_GPT2, "rotary_dim": 4}),
    "stablelm": ("StableLmConfig", "gpt2", _SMALL),
    "olmo2": ("Olmo2Config", "gpt2", _SMALL),
    "gpt-oss": (
        "GptOssConfig",
        "gpt2",
        {**_SMALL, "head_dim": 8, "num_local_experts": 2, "num_experts_per_tok": 1, "sliding_window": 5,
         "layer_types": _ALTERNATING, "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}},
    ),
    "deepseek-v3": (
        "DeepseekV3Config",
        "llama3",
        {**_FULL_HEADS, "q_lora_rank": 8, "kv_lora_rank": 8, "qk_rope_head_dim": 4, "qk_nope_head_dim": 4,
         "v_head_dim": 8, "n_routed_experts": 2, "num_experts_per_tok": 1, "n_group": 1, "topk_group": 1,
         "moe_intermediate_size": 8, "first_k_dense_replace": 1, "n_shared_experts": 1},
    ),
    "mamba": ("MambaConfig", "gpt2", {"hidden_size": 16, "num_hidden_layers": 2, "state_size": 4}),
    "mamba2": (
        "Mamba2Config",
        "gpt2",
        {"hidden_size": 16, "num_hidden_layers": 2, "state_size": 4, "num_heads": 4, "head_dim": 8, "n_groups": 1,
         "chunk_size": 4},
    ),
    "falcon-mamba": ("FalconMambaConfig", "gpt2", {"hidden_size": 16, "num_hidden_layers": 2, "state_size": 4}),
    "jamba": (
        "JambaConfig",
        "llama2",
        {**_SMALL, "num_experts": 2, "num_experts_per_tok": 1, "mamba_d_state": 4, "mamba_dt_rank": 4,
         "attn_layer_period": 2, "attn_layer_offset": 1, "expert_layer_period": 2, "expert_layer_offset": 1},
    ),
    "bamba": (
        "BambaConfig",
        "gpt2",
        {**_SMALL, "mamba_n_heads": 4, "mamba_d_head": 8, "mamba_n_groups": 1, "mamba_d_state": 4,
         "attn_layer_indices": [1], "mamba_chunk_size": 4},
    ),
    "falcon-h1": (
        "FalconH1Config",
        "gpt2",
        {**_SMALL, "mamba_n_heads": 4, "mamba_d_head": 8, "mamba_n_groups": 1, "mamba_d_state": 4, "mamba_d_ssm": 32,
         "head_dim": 8, "mamba_chunk_size": 4},
    ),
    "lfm2": ("Lfm2Config", "gpt2", {**_SMALL, "layer_types": ["conv", "full_attention"]}),
    "qwen3-next": (
        "Qwen3NextConfig",
        "qwen",
        {**_SMALL, "head_dim": 8, "layer_types": ["linear_attention", "full_attention"], "linear_num_key_heads": 1,
         "linear_num_value_heads": 2, "linear_key_head_dim": 8, "linear_value_head_dim": 8, "num_experts": 0,
         "mlp_only_layers": [0, 1]},
    ),
    "recurrent-gemma": (
        "RecurrentGemmaConfig",
        "gemma2",
        {"hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 2, "num_key_value_heads": 1,
         "intermediate_size": 24, "lru_width": 16, "attention_window_size": 6, "head_dim": 8},
    ),
    "rwkv": ("RwkvConfig", "gpt2", {"hidden_size": 16, "num_hidden_layers": 2, "attention_hidden_size": 16}),
    "minimax": (
        "MiniMaxConfig",
        "gpt2",
        {**_SMALL, "head_dim": 8, "num_local_experts": 2, "num_experts_per_tok": 1, "block_size": 4,
         "layer_types": ["linear_attention", "full_attention"]},
    ),
    # Without a cache that can be passed on.
    "openai-gpt": ("OpenAIGPTConfig", "gpt2", _GPT2),
}  # fmt: skip


def random_model(architecture: str, **changes: Any) -> Any:
    """A model in memory, made once if it is made without ``changes`` to its configuration."""
    return _made(architecture, changes) if changes else _unchanged(architecture)


@functools.cache
def _unchanged(architecture: str) -> Any:
    return _made(architecture, {})


def _made(architecture: str, changes: dict[str, Any]) -> Any:
    import torch
    import transformers

    from sfgen.vocabulary.pretrained import quiet_transformers

    class_name, _, settings = ARCHITECTURES[architecture]
    settings = {"vocab_size": 64, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": None, **settings}
    # large enough for the scores to differ
    config = getattr(transformers, class_name)(**{"initializer_range": 0.4, **settings, **changes})
    torch.manual_seed(7)
    with quiet_transformers():
        auto: Any = transformers.AutoModelForCausalLM  # untyped
        model: Any = auto.from_config(config).eval()
    for name, weight in model.named_parameters():
        if weight.dim() > 1 and not weight.any():  # RWKV starts from embeddings of zero, which hide every mistake
            torch.nn.init.normal_(weight, std=0.4)
            assert "embedding" in name or "bias" in name
    return model


def save(architecture: str, directory: Path, *, rows: int = 0) -> Path:
    """Write a model and a tokenizer of its family as a directory.

    Args:
        architecture: One of ``ARCHITECTURES``.
        directory: Where to.
        rows: The rows of the output layer; as many as the tokenizer has tokens if not given.
    """
    import transformers

    from sfgen.vocabulary.pretrained import quiet_transformers

    with quiet_transformers():
        tokenizer: Any = transformers.AutoTokenizer.from_pretrained(TOKENIZERS / ARCHITECTURES[architecture][1])
        model = random_model(
            architecture,
            vocab_size=rows or len(tokenizer),
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
        )
        model.save_pretrained(directory)
        tokenizer.save_pretrained(directory)
    return directory
