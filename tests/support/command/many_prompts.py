"""Runs of many prompts: small models, inputs with every kind of fault, and outputs to compare."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from tests.support.models.scripted import ScriptedModel, random_scores

from sfgen import Vocabulary
from sfgen.errors import InputError

LETTERS = b"abcdefgh "

GOOD = [
    b'{"prompt": "a"}',
    b'{"id": 7, "prompt": "b c"}',
    b'{"id": "x\\ud800\\u2028", "prompt": ""}',
    b'  {"prompt": "gg", "id": {"a": [1.5, null, true]}, "other": [1]}\t',
    b'{"id": null, "prompt": "h"}\r',
]
"""Records with a prompt that the model can write."""

BAD = [
    b"oops",
    b"[1]",
    b"{}",
    b'{"id": 3, "text": "a"}',
    b'{"id": 0.5, "prompt": null}',
    b'{"prompt": "\\ud800"}',
    b'{"id": NaN, "prompt": "a"}',
    b'{"id": 1e999, "prompt": "a"}',
    b'{"id": ' + b"[" * 150 + b"]" * 150 + b', "prompt": "a"}',
    b"[" * 100_000,
    b'{"id": ' + b"9" * 5000 + b', "prompt": "a"}',
    b'{"prompt": "\xff"}',
    b'{"prompt": "a"',
    b'"a"',
]
"""Records without."""

FAILING = [b'{"prompt": "abcdefghabcdefghabcdefgh"}', b'{"id": [], "prompt": "A"}']
"""Records that fail with ``SmallModel``: a prompt longer than its context, and one that it cannot write."""

BLANK = [b"", b"  \t", b"\r"]


class SmallModel(ScriptedModel):
    """Scores that look random, over a few letters; a short context.

    Attributes:
        encoded: The prompts that texts have been begun for.
    """

    context_length = 20

    def __init__(self, seed: int = 0) -> None:
        vocabulary = Vocabulary([*(bytes([letter]) for letter in LETTERS), b"ab", b"ba c", None], end_token_ids=[11])
        super().__init__(vocabulary, random_scores(12, seed))
        self.encoded: list[str] = []

    def encode(self, text: str) -> list[int]:
        self.encoded.append(text)
        strange = set(text.encode()) - set(LETTERS)
        if strange:
            raise InputError(f"the vocabulary has no token for {min(strange)}")
        return super().encode(text)


def written(data: bytes) -> list[dict[str, Any]]:
    """The records of an output, of which every line must be whole."""
    assert data == b"" or data.endswith(b"\n")
    return [json.loads(line) for line in data.decode().split("\n")[:-1]]


def timeless(data: bytes) -> bytes:
    """An output without what no two runs have in common."""
    return re.sub(rb'"seconds": [0-9.e+-]+', b'"seconds": 0', data)


def joined(lines: Iterable[bytes]) -> bytes:
    """An input of these lines."""
    return b"".join(line + b"\n" for line in lines)
