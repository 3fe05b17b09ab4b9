"""What ``generate`` of transformers returns, as text; and vocabularies for models of few tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sfgen import Vocabulary

PAD, BEGIN, END, OTHER_END = 0, 1, 2, 3

_TEXT = (
    *(bytes([byte]) for byte in b"abcdeklstxwinguo 0123.-!,"),
    *(b"ab", b"ta", b"lk", b"talk", b" ta", b" talk", b"talk.", b"king", b"ing", b"01", b"12", b"0.", b"a ", b". "),
    *("é".encode(), "聊".encode(), b"\xc3", b"\xa9", b"\xe8\x81", b"\x8a", b"\xe8", b"\x81", b"k\xe8", b"\xa9 talk "),
    *(b"not ", b"but", b"list", b"en", b"lis", b"ten"),
)

_JSON = (
    *(bytes([byte]) for byte in range(0x20, 0x7F)),
    *(b'{"', b'": ', b'": "', b'", "', b'"}', b'"]', b"}, {", b"], [", b", ", b": ", b'["', b"[[", b"]]", b"}]", b"}}"),
    *(
        b"true",
        b"null",
        b"10",
        b"25",
        b"0.",
        b"na",
        b"name",
        b"value",
        b"children",
        b"next",
        b"ab",
        b"ing",
        b' "',
        b'": {"',
    ),
    *("é".encode(), "聊".encode(), b"\xc3", b"\xa9", b"\xe8\x81", b"\x8a", b"\xe8", b"\x81", b"\\n", b'\\"', b"a\xe8"),
)


def small_vocabulary(size: int = 64, ends: Sequence[int] = (END, OTHER_END)) -> Vocabulary:
    """Single letters, words in pieces, halves of characters, and ids that are never text."""
    special: list[bytes | None] = [None] * 4
    tokens: list[bytes | None] = [*special, *_TEXT]
    return Vocabulary([*tokens, *special * 16][:size], end_token_ids=ends)


def json_vocabulary(size: int = 144) -> Vocabulary:
    """ASCII, pieces of JSON that run over the ends of its parts, halves of characters, and ids that are never text."""
    special: list[bytes | None] = [None] * 4
    return Vocabulary([*special, *_JSON, *special * 8][:size], end_token_ids=[END, OTHER_END])


def small_model(architecture: str = "llama", **changes: Any) -> Any:
    """A model with random weights for the small vocabulary, or with ``vocab_size`` for another one."""
    from tests.support.models.random_models import random_model

    model = random_model(architecture, **changes)
    model.generation_config.eos_token_id = [END, OTHER_END]
    model.generation_config.pad_token_id = PAD
    return model


def prompts(vocabulary: Vocabulary, texts: Sequence[bytes], *, padding: str = "left") -> dict[str, Any]:
    """Texts as the inputs of ``generate``, a begin token first, cut into the longest tokens, padded on one side."""
    import torch

    rows = [[BEGIN, *cut(vocabulary, text)] for text in texts]
    width = max(map(len, rows))
    ids, mask = [], []
    for row in rows:
        pad = [PAD] * (width - len(row))
        ids.append(pad + row if padding == "left" else row + pad)
        ones = [1] * len(row)
        mask.append([0] * len(pad) + ones if padding == "left" else ones + [0] * len(pad))
    return {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(mask)}


def cut(vocabulary: Vocabulary, text: bytes) -> list[int]:
    """A text as tokens, the longest first."""
    ids = vocabulary.ids
    found = []
    while text:
        length = max(length for length in range(1, len(text) + 1) if text[:length] in ids)
        found.append(ids[text[:length]])
        text = text[length:]
    return found


def written(vocabulary: Vocabulary, ids: Any, prompt_length: int) -> list[bytes]:
    """The text of each row, up to its first end token; behind that there is nothing but ends and padding."""
    texts = []
    for row in ids[:, prompt_length:].tolist():
        end = next((place for place, token in enumerate(row) if token in (END, OTHER_END)), len(row))
        assert all(vocabulary.tokens[token] is None for token in row[end:]), row
        texts.append(b"".join(vocabulary.tokens[token] or b"" for token in row[:end]))
    return texts
