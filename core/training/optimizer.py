"""The optimizer: Muon for the matrices, AdamW for embeddings and norms; and how fast they learn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

LEARNING_RATE = 2e-3
WARM_UP_STEPS = 100
LAST_PART = 0.2
"""The share of all steps in which the learning rate goes down to nothing."""


class Optimizer:
    """The optimizer: Muon for matrices, AdamW for the rest.

    Muon (Jordan et al. 2024) updates the matrices of the layers, AdamW (Loshchilov and Hutter 2019) embeddings and
    norms.
    """

    def __init__(self, model: Any) -> None:
        import torch

        named = list(model.named_parameters())
        matrices = [parameter for name, parameter in named if parameter.dim() == 2 and "embed" not in name]
        embeddings = [parameter for name, parameter in named if "embed" in name]
        norms = [parameter for _, parameter in named if parameter.dim() == 1]
        self._parts: tuple[torch.optim.Optimizer, ...] = (
            torch.optim.Muon(matrices, lr=LEARNING_RATE, weight_decay=0.1, adjust_lr_fn="match_rms_adamw"),
            torch.optim.AdamW(
                [{"params": embeddings, "weight_decay": 0.01}, {"params": norms, "weight_decay": 0.0}],
                lr=LEARNING_RATE,
                betas=(0.9, 0.98),
            ),
        )

    def step(self, rate: float) -> None:
        """Update the weights by their gradients, and clear these."""
        for part in self._parts:
            for group in part.param_groups:
                group["lr"] = rate
            part.step()
            part.zero_grad(set_to_none=True)

    def state_dict(self) -> list[dict[str, Any]]:
        """Return the state for a checkpoint."""
        return [part.state_dict() for part in self._parts]

    def load_state_dict(self, states: list[dict[str, Any]]) -> None:
        """Load the state of a checkpoint."""
        for part, state in zip(self._parts, states, strict=True):
            part.load_state_dict(state)


def learning_rate(step: int, steps: int, first_step: int = 0) -> float:
    """Return the learning rate of a step (Hu et al. 2024).

    It rises in a line from the first step, is level, and falls in a line in the last fifth.
    """
    up = (step + 1 - first_step) / WARM_UP_STEPS
    down = (steps - step) / (LAST_PART * steps)
    return LEARNING_RATE * max(0.0, min(1.0, up, down))
