"""What a transformers model cannot read, as errors: found before it tries, or raised by torch while it does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sfgen.errors import ModelError, first_line
from sfgen.models.memory import is_out_of_memory


def check_readable(token_ids: Sequence[int], before: int, model: Any, context_length: int | None, name: str) -> None:
    """Refuse tokens that a model cannot read.

    Args:
        token_ids: The tokens.
        before: How many of the text it has read before them.
        model: A causal language model.
        context_length: The most tokens that it can read; ``None``: unknown.
        name: What messages call the model.

    Raises:
        ModelError: No tokens, more than the context holds, or one that the model does not know.
    """
    if not token_ids:
        raise ModelError(f"{name} has nothing to read", hint="Give a prompt of at least one token.")
    count = before + len(token_ids)
    if context_length is not None and count > context_length:
        raise ModelError(
            f"the text is longer than {name} can read: {count} tokens, its context holds {context_length}",
            hint="Give a shorter prompt or a lower --max-tokens.",
        )
    rows = model.get_input_embeddings().weight.shape[0]
    unknown = next((token for token in token_ids if not 0 <= token < rows), None)
    if unknown is not None:  # on a GPU the look-up itself would break everything that follows
        raise ModelError(f"there is no token {unknown}: {name} knows {rows}, from 0 on")


def not_read(error: BaseException, model: Any, name: str, what: str, advice: str) -> ModelError:
    """What torch raised while a model read, in one line.

    Args:
        error: Of torch.
        model: The model.
        name: What messages call it.
        what: What there was not enough memory for, if that was it.
        advice: What to do then, before all else.
    """
    if is_out_of_memory(error):
        return ModelError(
            f"not enough memory on {model.device} for {what}",
            hint=f"{advice}, or try --dtype bfloat16 or --device cpu.",
        )
    dtype = str(model.dtype).removeprefix("torch.")
    return ModelError(
        f"{name} cannot score on {model.device} in {dtype}: {first_line(error)}",
        hint="Try --dtype float32 or --device cpu.",
    )
