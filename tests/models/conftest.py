"""Tiny transformers models with random weights, saved as directories, each with a tokenizer of its family."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from random_models import save

ModelDirectory = Callable[..., Path]


@pytest.fixture(scope="session", autouse=True)
def one_torch_thread() -> Iterator[None]:
    """For models this small, threads cost more than they bring: on a busy machine seventy times more."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def model_directory(tmp_path_factory: pytest.TempPathFactory) -> ModelDirectory:
    """``model_directory("gpt2")``: a directory with a random model; ``rows`` sets the rows of its output layer."""
    made: dict[tuple[str, int], Path] = {}

    def make(architecture: str, *, rows: int = 0) -> Path:
        if (architecture, rows) not in made:
            made[architecture, rows] = save(architecture, tmp_path_factory.mktemp(architecture), rows=rows)
        return made[architecture, rows]

    return make
