"""Read from a model's configuration whether it continues text, and how much text it can read."""

from __future__ import annotations

from typing import Any

from sfgen.errors import ModelError
from sfgen.models.transformers_internals import fills_gaps, is_causal, reads_pictures

_LIMITS = ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "model_max_length")
"""The names by which architectures give the length of the longest text."""
_UNLIMITED = frozenset({"rwkv"})
"""Recurrent models: their configuration gives the length that they were trained on, which is not a limit."""
_HINT = "Name a model that continues text, such as GPT-2, Llama, Mistral, Qwen or Gemma."


def auto_class(config: Any, name: str) -> Any:
    """Choose the transformers class that loads a configuration."""
    from transformers import AutoModelForCausalLM, AutoModelForImageTextToText

    check_continues_text(config, name)
    kind = config.model_type
    if _has_own_code(config) or is_causal(kind):
        return AutoModelForCausalLM
    if reads_pictures(kind):  # they also read texts without pictures
        return AutoModelForImageTextToText
    raise ModelError(f"{name} is not a causal language model: transformers has none of the type {kind}", hint=_HINT)


def check_continues_text(config: Any, name: str) -> None:
    """Refuse a model that does not continue text: an encoder-decoder, or an encoder, which fills in blanks."""
    kind = config.model_type
    if getattr(config, "is_encoder_decoder", False):
        raise ModelError(
            f"{name} is not a causal language model: {kind} reads one text and writes another (encoder and decoder)",
            hint=_HINT,
        )
    if not _has_own_code(config) and _fills_gaps(config):
        raise ModelError(
            f"{name} is not a causal language model: {kind} is an encoder, which does not continue text",
            hint=_HINT,
        )


def check_class(network: Any, name: str) -> None:
    """Refuse a loaded model that does not score the next token."""
    check_continues_text(network.config, name)
    if not _has_own_code(network.config) and not network.can_generate():
        raise ModelError(
            f"{name} is not a causal language model: {type(network).__name__} does not score the next token",
            hint="Load it with AutoModelForCausalLM.from_pretrained().",
        )


def context_length(config: Any) -> int | None:
    """Return the most tokens that a model can read; ``None`` where nothing limits it."""
    text = config.get_text_config(decoder=True)
    if text.model_type in _UNLIMITED:
        return None
    said = (_setting(text, key) for key in _LIMITS)
    limit = next((value for value in said if isinstance(value, int) and value > 0), None)  # -1 is no limit
    rope = _setting(text, "rope_parameters")
    if limit is None or not isinstance(rope, dict):
        return limit
    for each in (rope, *rope.values()):
        # These two stretch the length in the configuration; with the other kinds it is stretched already.
        if isinstance(each, dict) and each.get("rope_type") in ("yarn", "dynamic"):
            base = each.get("original_max_position_embeddings") or limit
            limit = max(limit, int(base * (each.get("factor") or 1)))
    return limit


def tokens_known(model: Any) -> int:
    """Return the number of token ids that a model can read."""
    # They are the rows of its input layer, whose weights may be packed.
    embeddings = model.get_input_embeddings()
    rows = getattr(embeddings, "num_embeddings", None)
    return int(embeddings.weight.shape[0] if rows is None else rows)


def _has_own_code(config: Any) -> bool:
    return "AutoModelForCausalLM" in (getattr(config, "auto_map", None) or {})


def _fills_gaps(config: Any) -> bool:
    """Return whether a model is an encoder."""
    # It may load as a causal model, but each token has seen those after it.
    kind = config.model_type
    if getattr(config, "is_decoder", False) if is_causal(kind) else reads_pictures(kind):
        return False
    return fills_gaps(kind) or kind == "bert-generation"


def _setting(config: Any, key: str) -> Any:
    try:
        return getattr(config, key, None)
    except (NotImplementedError, ValueError):  # some configurations have properties that only raise
        return None
