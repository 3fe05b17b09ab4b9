"""The undocumented parts of transformers, torch and accelerate that are used, each with a fallback.

No other file uses them. If a new version lacks one, a model is read in a slower way, or transformers itself reports
that a model is of the wrong kind.
"""

from __future__ import annotations

from typing import Any


def is_causal(model_type: str) -> bool:
    """Return whether a type is a causal language model; true where transformers cannot tell."""
    names = _names_of("CAUSAL_LM")
    return names is None or model_type in names


def reads_pictures(model_type: str) -> bool:
    """Return whether a type reads text and pictures; false where transformers cannot tell."""
    return model_type in (_names_of("IMAGE_TEXT_TO_TEXT") or ())


def fills_gaps(model_type: str) -> bool:
    """Return whether a type fills in blanks of a text; false where transformers cannot tell."""
    return model_type in (_names_of("MASKED_LM") or ())


def attention_kind(config: Any) -> str | None:
    """Return how a model computes attention (``eager``, ``sdpa``, …), or ``None``."""
    return getattr(config, "_attn_implementation", None)


def has_hooks(module: Any) -> bool:
    """Return whether a torch module has hooks on its call; true where torch cannot tell."""
    return any(getattr(module, name, True) for name in ("_forward_hooks", "_forward_pre_hooks"))


def accelerate_hook(module: Any) -> Any:
    """Return accelerate's hook around a module, or ``None``."""
    return getattr(module, "_hf_hook", None)


def uncompiled(model: Any) -> Any:
    """Return the model that ``torch.compile`` wraps, or the model itself."""
    return getattr(model, "_orig_mod", model)


def _names_of(task: str) -> Any:
    """Return the model types that transformers has for a task; ``None`` if it is gone."""
    try:
        from transformers.models.auto import modeling_auto
    except ImportError:
        return None
    return getattr(modeling_auto, f"MODEL_FOR_{task}_MAPPING_NAMES", None)
