"""Single characters as a vocabulary: the tokens of a model that has no tokenizer."""

from __future__ import annotations

from functools import cache

from sfgen.vocabulary import Vocabulary

END = 0x10000
"""The id of the end token."""

_SURROGATES = range(0xD800, 0xE000)
_LEADS_AND_CONTINUATIONS = (*range(0xF0, 0xF5), *range(0x80, 0xC0))


@cache
def character_vocabulary() -> Vocabulary:
    r"""Return the vocabulary of all characters of the Basic Multilingual Plane.

    The id of a character is its code point; the id after the last is the end token.

    Characters beyond that plane, emoji among them, are written in four tokens of one byte each. The ids of these bytes
    are the surrogates that stand for them in Python (PEP 383); the other surrogates are never text. None of the bytes
    begins a character of the plane, and so every text has one tokenization only.

    >>> vocabulary = character_vocabulary()
    >>> vocabulary.text(0xE4), vocabulary.tokens[ord("€")], vocabulary.tokens[0xDCF0], vocabulary.tokens[0xD800]
    ('ä', b'\xe2\x82\xac', b'\xf0', None)
    """
    tokens: list[bytes | None] = [None if code in _SURROGATES else chr(code).encode() for code in range(END)]
    for byte in _LEADS_AND_CONTINUATIONS:
        tokens[ord(bytes([byte]).decode(errors="surrogateescape"))] = bytes([byte])
    return Vocabulary([*tokens, None], end_token_ids=[END], names={END: "<end>"})
