"""What a model's configuration says of it: whether it continues text at all, and how much text it can read."""

from __future__ import annotations

from typing import Any

from sfgen.errors import ModelError

_LIMITS = ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "model_max_length")
"""What architectures call the longest text."""
_UNLIMITED = frozenset({"rwkv"})
"""Recurrent models whose configuration names the length that they were trained on, which limits nothing."""
_HINT = "Name a model that continues text, such as GPT-2, Llama, Mistral, Qwen or Gemma."


def auto_class(config: Any, name: str) -> Any:
    """The class of transformers that loads a model of this configuration.

    Args:
        config: The configuration that ``AutoConfig`` read.
        name: What messages call the model.

    Raises:
        ModelError: It is no model that continues text.
    """
    from transformers import AutoModelForCausalLM, AutoModelForImageTextToText
    from transformers.models.auto import modeling_auto as known

    kind = config.model_type
    if getattr(config, "is_encoder_decoder", False):
        raise ModelError(
            f"{name} is no causal language model: {kind} reads one text and writes another (encoder and decoder)",
            hint=_HINT,
        )
    if "AutoModelForCausalLM" in (getattr(config, "auto_map", None) or {}):  # with code of its own
        return AutoModelForCausalLM
    if kind in known.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        # Encoders are loaded as causal models, too, but each of their tokens has seen those after it.
        fills_gaps = kind in known.MODEL_FOR_MASKED_LM_MAPPING_NAMES or kind == "bert-generation"
        if not fills_gaps or getattr(config, "is_decoder", False):
            return AutoModelForCausalLM
    elif kind in known.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES:  # they also read texts without pictures
        return AutoModelForImageTextToText
    elif kind not in known.MODEL_FOR_MASKED_LM_MAPPING_NAMES:
        raise ModelError(f"{name} is no causal language model: transformers has none of the type {kind}", hint=_HINT)
    raise ModelError(
        f"{name} is no causal language model: {kind} is an encoder, which fills gaps and continues nothing", hint=_HINT
    )


def context_length(config: Any) -> int | None:
    """The most tokens that the model can read; ``None`` where nothing limits it (recurrent models, most with ALiBi)."""
    text = config.get_text_config(decoder=True)
    if text.model_type in _UNLIMITED:
        return None
    said = (_setting(text, key) for key in _LIMITS)
    limit = next((value for value in said if isinstance(value, int) and value > 0), None)  # -1 is no limit
    rope = _setting(text, "rope_parameters")
    if limit is None or not isinstance(rope, dict):
        return limit
    for each in (rope, *rope.values()):
        # These two stretch what the configuration counts; the other kinds are in its count already.
        if isinstance(each, dict) and each.get("rope_type") in ("yarn", "dynamic"):
            base = each.get("original_max_position_embeddings") or limit
            limit = max(limit, int(base * (each.get("factor") or 1)))
    return limit


def tokens_known(model: Any) -> int:
    """How many tokens a model can read, from 0 on: the rows of its input layer."""
    return int(model.get_input_embeddings().weight.shape[0])


def _setting(config: Any, key: str) -> Any:
    try:
        return getattr(config, key, None)
    except (NotImplementedError, ValueError):  # some configurations have properties that only complain
        return None
