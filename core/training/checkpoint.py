"""A directory from which training goes on: tokenizer, weights, their running mean, optimizer, step."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from .optimizer import Optimizer

if TYPE_CHECKING:
    import torch

    from .transformer import Llama

MEAN_DECAY = 0.999
"""How much of the running mean a step keeps, once it has begun."""


class State:
    """The state of training: model, optimizer, mean, step.

    Attributes:
        model: The transformer.
        optimizer: Of its weights.
        mean: The running mean of the weights (Polyak and Juditsky 1992); it foresees better than the last ones.
        step: How many steps were taken. With the seed it says which batch is next, so no other chance is kept.
        first_step: The step before which the optimizer knew nothing: 0, or that of the weights it began from.
    """

    def __init__(self, model: Llama) -> None:
        self.model = model
        self.optimizer = Optimizer(model)
        self.mean: dict[str, torch.Tensor] = {
            name: parameter.detach().clone() for name, parameter in model.named_parameters()
        }
        self.step = self.first_step = 0

    def count_step(self) -> None:
        """Update the running mean of the weights, after a step."""
        import torch

        self.step += 1
        decay = min(MEAN_DECAY, (1 + self.step) / (10 + self.step))
        with torch.no_grad():
            for name, parameter in self.model.named_parameters():
                self.mean[name].lerp_(parameter, 1 - decay)

    def save(self, directory: Path) -> None:
        """Write a checkpoint, replacing the old one only when complete."""
        import torch

        partial = directory / "checkpoint.partial"
        torch.save(
            {
                "model": dict(self.model.named_parameters()),
                "mean": self.mean,
                "optimizer": self.optimizer.state_dict(),
                "step": self.step,
                "first_step": self.first_step,
            },
            partial,
        )
        partial.replace(directory / "checkpoint.pt")

    def load(self, directory: Path) -> bool:
        """Load the checkpoint of a directory, if there is one."""
        import torch

        path = directory / "checkpoint.pt"
        if not path.exists():
            return False
        found = torch.load(path, weights_only=True)
        with torch.no_grad():
            for name, parameter in self.model.named_parameters():
                parameter.copy_(found["model"][name])
        self.mean = found["mean"]
        self.optimizer.load_state_dict(found["optimizer"])
        self.step, self.first_step = found["step"], found["first_step"]
        return True

    def begin_from(self, weights: Path, step: int) -> None:
        """Begin from the weights of a transformers directory.

        The optimizer begins without history.
        """
        import torch
        from safetensors.torch import load_file

        found = load_file(weights / "model.safetensors")
        with torch.no_grad():
            for name, parameter in self.model.named_parameters():
                parameter.copy_(found[name])
                self.mean[name].copy_(parameter)
        self.step = self.first_step = step


def log(directory: Path, **values: object) -> None:
    """Append a line to ``log.jsonl``, and print it."""
    line = json.dumps(values)
    with (directory / "log.jsonl").open("a", encoding="utf-8") as file:
        file.write(line + "\n")
    print(line, flush=True)
