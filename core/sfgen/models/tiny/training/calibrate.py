"""Make a trained model less sure of itself: temperature scaling (Guo et al. 2017), written into its weights.

::

    python -m sfgen.models.tiny.training.calibrate WORK/weights 1.15

Trained to the end, it is surer of its own templates than new sentences bear out. Its scores are the last norm times the
embedding, so a norm divided by a temperature divides them all: the likeliest token stays the likeliest.
"""

from __future__ import annotations

import argparse
from pathlib import Path

LAST_NORM = "model.norm.weight"


def divide_scores(directory: Path, temperature: float) -> None:
    """Divide a model's scores by a temperature, in its weights.

    Args:
        directory: A transformers directory, which is changed.
        temperature: Above 1 the model becomes less sure of itself.
    """
    from safetensors.torch import load_file, save_file

    path = directory / "model.safetensors"
    weights = load_file(path)
    norm = weights[LAST_NORM]
    weights[LAST_NORM] = (norm.float() / temperature).to(norm.dtype)
    save_file(weights, path, metadata={"format": "pt"})


def main(arguments: list[str] | None = None) -> None:
    """Calibrate from the command line."""
    parser = argparse.ArgumentParser(prog="python -m sfgen.models.tiny.training.calibrate", description=__doc__)
    parser.add_argument("directory", type=Path, help="weights, as training writes them")
    parser.add_argument("temperature", type=float, help="what the scores are divided by")
    options = parser.parse_args(arguments)
    divide_scores(options.directory, options.temperature)


if __name__ == "__main__":
    main()
