"""Commands that find the real model loaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.support.real.model import FILE, gguf_model


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands of this process, and those that are forked from it, find the model loaded; it has one thread."""
    model = gguf_model()
    monkeypatch.setattr("sfgen.models.load_model", lambda *_, **__: model)


@pytest.fixture
def command(loaded: None, sfgen: Callable[..., Any]) -> Callable[..., Any]:
    """``command("gen", "--regex", "a+")``: the command line with the real model, inside the test process."""
    return lambda name, *arguments: sfgen(name, "-m", str(FILE), *arguments)
