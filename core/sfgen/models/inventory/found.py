"""One model that was found, and those that come with sfgen."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

BUILT_IN = {
    "tiny": "comes with sfgen",
    "uniform": "no preference",
    "zip:": "what compresses well after a file",
}
"""The models that come with sfgen, and what each is."""

_TINY = Path(__file__).parent.parent / "tiny" / "weights" / "model.safetensors"


@dataclass(frozen=True)
class FoundModel:
    """A model on this machine.

    Attributes:
        name: What ``load_model`` takes.
        kind: ``built in``, ``transformers`` or ``GGUF``.
        source: Where it was found: ``sfgen``, ``file``, ``hub cache`` or ``Ollama``.
        size: The size of its weights in bytes; ``None``: it has none, or they are not there.
        about: What is known of it besides: the architecture, or its name elsewhere.
        problem: Why it cannot be used as it is; empty if nothing is known to be wrong.
    """

    name: str
    kind: str
    source: str
    size: int | None
    about: str = ""
    problem: str = ""


def built_in_models() -> list[FoundModel]:
    """List the models that come with sfgen."""
    size = _TINY.stat().st_size if _TINY.is_file() else None
    return [
        FoundModel(f"{name}FILE" if name.endswith(":") else name, "built in", "sfgen", size if name == "tiny" else None,
                   about)
        for name, about in BUILT_IN.items()
    ]  # fmt: skip
