"""The tokenizers under test: small ones from tests/data, and published ones where they are at hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.support.models import vocabularies

from sfgen.vocabulary import Vocabulary

SMALL = Path(__file__).resolve().parent.parent / "data" / "tokenizers"


@dataclass(frozen=True)
class Loaded:
    """A tokenizer with the vocabulary that was read from it."""

    name: str
    hf_tokenizer: Any
    vocabulary: Vocabulary

    @property
    def backend(self) -> Any:
        return self.hf_tokenizer.backend_tokenizer

    def encode(self, text: str) -> list[int]:
        ids: list[int] = self.backend.encode(text, add_special_tokens=False).ids
        return ids

    def join(self, ids: list[int]) -> bytes:
        return b"".join(self.vocabulary.tokens[token_id] or b"" for token_id in ids)

    def id_of(self, string: str) -> int:
        token_id = self.backend.token_to_id(string)
        assert token_id is not None, string
        return int(token_id)


@cache
def load(directory: Path, name: str) -> Loaded:
    return Loaded(name, *vocabularies.loaded(directory))


@pytest.fixture(scope="session")
def small() -> Callable[[str], Loaded]:
    """``small("gemma2")``: the small tokenizer of that family."""
    return lambda name: load(SMALL / name, name)


@pytest.fixture(scope="session")
def real(real_tokenizer_directory: Callable[[str], Path]) -> Callable[[str], Loaded]:
    """``real("gemma2")``: the published tokenizer, or a skipped test."""
    return lambda name: load(real_tokenizer_directory(name), name)


FAMILIES = ["gpt2", "gpt2_prefix", "llama3", "qwen", "gemma2", "llama2", "unigram"]


@pytest.fixture(
    scope="session",
    params=[("small", name) for name in FAMILIES] + [("real", name) for name in ("gpt2", "llama3", "gemma2")],
    ids=lambda param: "-".join(param),
)
def loaded(request: pytest.FixtureRequest, small: Callable[[str], Loaded], real: Callable[[str], Loaded]) -> Loaded:
    """Every tokenizer that can be read, one after the other."""
    kind, name = request.param
    return small(name) if kind == "small" else real(name)
