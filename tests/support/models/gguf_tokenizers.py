"""Writes the tokenizer of a transformers model into a GGUF file, as the converters of llama.cpp do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sfgen.vocabulary.decoder import byte_token

SPLITS = {"gpt2": "gpt-2", "llama3": "llama-bpe", "qwen": "qwen2"}
"""How llama.cpp calls the expression by which each byte-level tokenizer of the tests splits a text."""
_SPACE = "\u2581"


def add_tokenizer(writer: Any, directory: Path, rows: int, *, split: str = "gpt-2") -> None:
    """Write a tokenizer: byte-level BPE, or SentencePiece's BPE, which is the one with byte tokens.

    Args:
        writer: A ``gguf.GGUFWriter``.
        directory: Where ``tokenizer.json``, ``tokenizer_config.json`` and ``config.json`` lie.
        rows: The rows of the output layer; those without a token are filled up.
        split: How llama.cpp calls the expression that splits a text, for byte-level BPE.
    """
    described = json.loads((directory / "tokenizer.json").read_text(encoding="utf-8"))
    settings = json.loads((directory / "tokenizer_config.json").read_text(encoding="utf-8"))
    vocabulary, added = described["model"]["vocab"], {each["id"]: each for each in described["added_tokens"]}
    has_bytes = "<0x0A>" in vocabulary
    merges = [tuple(each.split(" ")) if isinstance(each, str) else tuple(each) for each in described["model"]["merges"]]
    tokens, kinds = _tokens(vocabulary, added, rows, settings, has_bytes=has_bytes)
    writer.add_tokenizer_model("llama" if has_bytes else "gpt2")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    if has_bytes:
        # SentencePiece joins the pair with the best score; here that is the one that was learned first.
        order = {left + right: -float(number) for number, (left, right) in reversed(list(enumerate(merges)))}
        writer.add_token_scores([order.get(token, -1e6) for token in tokens])
        normalizer = json.dumps(described["normalizer"])
        writer.add_add_space_prefix('"Prepend"' in normalizer)
    else:
        writer.add_tokenizer_pre(split)
        writer.add_token_merges([" ".join(pair) for pair in merges])
    ids = {each["content"]: number for number, each in added.items()}
    begin = ids.get(settings.get("bos_token"))
    writer.add_add_bos_token(
        begin is not None and str(settings["bos_token"]) in json.dumps(described["post_processor"])
    )
    if begin is not None:
        writer.add_bos_token_id(begin)
    if settings.get("eos_token") is not None:
        writer.add_eos_token_id(ids[settings["eos_token"]])
    template = directory / "chat_template.jinja"
    if template.exists():
        writer.add_chat_template(template.read_text(encoding="utf-8"))


def _tokens(
    vocabulary: dict[str, int], added: dict[int, Any], rows: int, settings: dict[str, Any], *, has_bytes: bool
) -> tuple[list[str], list[int]]:
    """The text and the type of each token."""
    from gguf import TokenType

    strings = {number: string for string, number in vocabulary.items()}
    tokens, kinds = [], []
    for number in range(rows):
        if number in added:
            content = added[number]["content"]
            if content == settings.get("unk_token"):
                kind = TokenType.UNKNOWN
            elif added[number]["special"] or (content == "<mask>" and "Gemma" in settings["tokenizer_class"]):
                kind = TokenType.CONTROL
            else:
                kind, content = TokenType.USER_DEFINED, content.replace(_SPACE, " ") if has_bytes else content
        elif number in strings:
            content = strings[number]
            is_byte = has_bytes and byte_token(content) is not None
            kind = TokenType.BYTE if is_byte else TokenType.NORMAL
        else:
            content, kind = f"[PAD{number}]", TokenType.UNUSED
        tokens.append(content)
        kinds.append(kind)
    return tokens, kinds
