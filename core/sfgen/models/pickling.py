"""Models that are not pickled: what holds gigabytes, or lives in a library in C, is loaded again by its name."""

from __future__ import annotations

from sfgen.errors import ModelError


def not_pickled(name: str) -> ModelError:
    """Return the error for pickling or copying a model."""
    return ModelError(
        f"the model {name} cannot be pickled or copied",
        hint="Send its name, and load it in the other process: sfgen.load_model(name).",
    )
