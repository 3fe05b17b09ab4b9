"""What transformers, torch and accelerate know of a model and do not document, with an answer where they do not.

Only this file names it. Where a new version has it no longer, a model is read in a slower way, or what a model is for
is left to transformers to say.
"""

from __future__ import annotations

from typing import Any


def is_causal(model_type: str) -> bool:
    """Tell whether transformers has a causal language model of a type.

    It is true where transformers cannot tell.
    """
    names = _names_of("CAUSAL_LM")
    return names is None or model_type in names


def reads_pictures(model_type: str) -> bool:
    """Tell whether a type of model reads text and pictures.

    It is false where transformers cannot tell.
    """
    return model_type in (_names_of("IMAGE_TEXT_TO_TEXT") or ())


def fills_gaps(model_type: str) -> bool:
    """Tell whether a type of model fills gaps in a text.

    It is false where transformers cannot tell.
    """
    return model_type in (_names_of("MASKED_LM") or ())


def attention_kind(config: Any) -> str | None:
    """Return how a model computes attention: ``eager``, ``sdpa``, ….

    ``None`` where its configuration does not say it.
    """
    return getattr(config, "_attn_implementation", None)


def has_hooks(module: Any) -> bool:
    """Tell whether a torch module has hooks on its call.

    It is true where torch cannot tell.
    """
    return any(getattr(module, name, True) for name in ("_forward_hooks", "_forward_pre_hooks"))


def accelerate_hook(module: Any) -> Any:
    """Return accelerate's hook around a module, or ``None``."""
    return getattr(module, "_hf_hook", None)


def uncompiled(model: Any) -> Any:
    """Return the model that ``torch.compile`` wraps.

    It is the model itself where it was not compiled, or where torch cannot tell.
    """
    return getattr(model, "_orig_mod", model)


def _names_of(task: str) -> Any:
    """The types of models that transformers has for a task, with the names of their classes; ``None`` if it is gone."""
    try:
        from transformers.models.auto import modeling_auto
    except ImportError:
        return None
    return getattr(modeling_auto, f"MODEL_FOR_{task}_MAPPING_NAMES", None)
