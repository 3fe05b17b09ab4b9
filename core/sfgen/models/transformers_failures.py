"""What torch raises while a transformers model reads, as an error in one line."""

from __future__ import annotations

from typing import Any

from sfgen.errors import ModelError, first_line
from sfgen.models.memory import is_out_of_memory
from sfgen.parameter_text import ParameterText


def not_read(error: BaseException, model: Any, name: str, what: str, advice: str) -> ModelError:
    """Turn what torch raised in a forward pass into one line.

    Args:
        error: Of torch.
        model: The model.
        name: What messages call it.
        what: What needed the memory, if memory ran out.
        advice: What to do then, before all else.
    """
    if is_out_of_memory(error):
        return ModelError(
            f"not enough memory on {model.device} for {what}",
            hint=ParameterText(f"{advice}, or try dtype='bfloat16' or device='cpu'.", "batch_size", "dtype", "device"),
        )
    dtype = str(model.dtype).removeprefix("torch.")
    return ModelError(
        f"{name} cannot score on {model.device} in {dtype}: {first_line(error)}",
        hint=ParameterText("Try dtype='float32' or device='cpu'.", "dtype", "device"),
    )
