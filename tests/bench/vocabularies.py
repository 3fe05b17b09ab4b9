"""The vocabularies to measure on, and texts cut into their tokens."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sfgen import Vocabulary
from sfgen.models.tiny import DIRECTORY
from sfgen.vocabulary.pretrained import load_tokenizer

NAMES = ("gpt2", "llama3", "gemma2")
EMBEDDED = "tiny"


class Cutter:
    """A vocabulary with the tokenizer it came from."""

    def __init__(self, name: str, directory: Path) -> None:
        self.name = name
        self.tokenizer: Any = load_tokenizer(directory)
        self.json: str = self.tokenizer.backend_tokenizer.to_str()
        self.vocabulary = Vocabulary.from_tokenizer(self.tokenizer)
        self._ids = {token: token_id for token_id, token in enumerate(self.vocabulary.tokens) if token}
        self._longest = max(map(len, self._ids))

    def cut(self, text: str) -> list[int]:
        """The tokens of a text: the tokenizer's own where they write exactly this text, else the longest that fit."""
        data = text.encode()
        tokens = self.vocabulary.tokens
        ids: list[int] = self.tokenizer.backend_tokenizer.encode(text, add_special_tokens=False).ids
        if b"".join(tokens[token_id] or b"" for token_id in ids) == data:
            return ids
        ids = []
        while data:
            length = next(size for size in range(self._longest, 0, -1) if data[:size] in self._ids)
            ids.append(self._ids[data[:length]])
            data = data[length:]
        return ids


def find(names: Sequence[str]) -> dict[str, Path]:
    """Where the named vocabularies are; without any, the embedded model's."""
    here = Path(__file__).resolve()
    folder = Path(os.environ.get("SFGEN_TOKENIZERS") or here.parents[3] / "shared" / "tokenizers")
    found = {name: folder / name for name in NAMES if name in names and (folder / name).is_dir()}
    if not found or EMBEDDED in names:
        if not found and EMBEDDED not in names:
            print(f"no tokenizers in {folder}: measuring on the embedded vocabulary", file=sys.stderr)
        found[EMBEDDED] = Path(DIRECTORY)
    return found
