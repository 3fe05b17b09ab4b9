"""Free text by the real model: as llama.cpp writes it by itself."""

from __future__ import annotations

from real_model import gguf_model, needs_file

from sfgen import Sampler, generate

pytestmark = needs_file()


def test_it_knows_a_fact() -> None:
    result = generate(gguf_model(), "The capital of France is", sampler=Sampler(0.0), max_tokens=12)
    assert "France" in result.text
