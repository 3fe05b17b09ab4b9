"""Tokenizers, above all published ones, read once for all tests that ask for them. No test changes them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from sfgen import Vocabulary
from sfgen.vocabulary.pretrained import load_tokenizer


@cache
def loaded(directory: Path) -> tuple[Any, Vocabulary]:
    """The tokenizer in a directory, and its vocabulary."""
    tokenizer = load_tokenizer(directory)
    return tokenizer, Vocabulary.from_tokenizer(tokenizer)
