"""The bytes of one token in mid-sentence, by the tokenizer's own decoder.

A fast tokenizer carries a description of its decoder: a list of steps that turn token strings into text. Here each step
becomes a function on a single token. That is right only if the text is the concatenation of its tokens' texts; a step
that breaks this is refused with the reason.

Steps at the start of a text only (drop the first space) are left out: they do not belong to a token, and generation
continues a text.

GPT-2's byte-level BPE (Radford et al., 2019) writes its vocabulary in characters that can be printed: a byte whose
Latin-1 character is visible stands for itself, and the 68 others take the characters from U+0100 on, in order. The
space becomes ``Ġ``, the newline ``Ċ``. Llama-3, Qwen and most later vocabularies use the same map.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sfgen.errors import VocabularyError


def byte_characters() -> dict[int, str]:
    """Map each of the 256 bytes to its printable character.

    >>> characters = byte_characters()
    >>> characters[ord("A")], characters[ord(" ")], characters[ord("\\n")], len(set(characters.values()))
    ('A', 'Ġ', 'Ċ', 256)
    """
    visible = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    hidden = (byte for byte in range(256) if byte not in visible)
    return {byte: chr(byte) for byte in visible} | {byte: chr(0x100 + order) for order, byte in enumerate(hidden)}


_BYTES = {character: byte for byte, character in byte_characters().items()}


def byte_level_bytes(token: str) -> bytes:
    """Map a token's characters to their bytes.

    A token with a character outside the map is not a byte-level token, and is its own UTF-8 text. The decoder of the
    ``tokenizers`` library reads it in this way, and tokens that were added by hand look like this.

    >>> byte_level_bytes("Ġtalk"), byte_level_bytes("Ãī"), byte_level_bytes("日本")
    (b' talk', b'\\xc3\\x89', b'\\xe6\\x97\\xa5\\xe6\\x9c\\xac')
    """
    try:
        return bytes([_BYTES[character] for character in token])
    except KeyError:
        return token.encode()


Description = dict[str, Any]  # one decoder as its JSON object: {"type": "ByteFallback"}


Step = Callable[[str], str | bytes]


# As strict and as lax as the library: hexadecimal digits of either case, and a sign before a single digit.
_BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2}|\+[0-9A-Fa-f])>")


def byte_token(token: str) -> int | None:
    """Return the byte of a byte-fallback token such as ``<0xE4>``.

    ``None`` for any other token.

    >>> byte_token("<0xE4>"), byte_token("<0x>")
    (228, None)
    """
    match = _BYTE_TOKEN.fullmatch(token)
    return int(match[1], 16) if match else None


@dataclass(frozen=True)
class TokenDecoder:
    """A function from a token's string to its bytes in mid-sentence.

    >>> gemma = [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}]
    >>> decoder = TokenDecoder.from_description({"type": "Sequence", "decoders": gemma})
    >>> decoder("▁talk"), decoder("<0xE4>")
    (b' talk', b'\\xe4')
    """

    steps: tuple[Step, ...]  # the steps of the decoder, each a function on a single token
    has_byte_tokens: bool  # whether tokens such as <0xE4> are read as bytes

    @classmethod
    def from_description(cls, description: Description | None) -> TokenDecoder:
        """Read a decoder's description, ``decoder`` in a ``tokenizer.json``."""
        if description is None:
            raise _refused("it has no decoder, and so a space would stand between any two tokens")
        steps: list[Step] = []
        is_fused = False  # the step sees the whole text as one string
        is_bytes = False  # some tokens are bytes already
        has_byte_tokens = False
        for part in _flatten(description):
            kind = part["type"]
            if kind == "Fuse":
                is_fused = True
            elif kind == "Strip" and part["stop"] != 0:
                raise _refused("its decoder strips the end of tokens or of the text")
            elif kind == "Strip" and is_fused:
                continue  # it strips the start of the text only
            elif is_bytes:
                raise _refused(f"its decoder goes on with {kind} after tokens became bytes")
            elif kind == "Replace":
                steps.append(_replace(part, is_fused))
            elif is_fused:
                raise _refused(f"its decoder applies {kind} to the whole text at once")
            elif kind == "ByteFallback":
                steps.append(_byte_fallback)
                is_bytes = has_byte_tokens = True
            elif kind == "ByteLevel":
                steps.append(byte_level_bytes)
                is_bytes = is_fused = True
            elif kind == "Metaspace":
                steps.append(_metaspace(part["replacement"]))
            elif kind == "Strip":
                steps.append(_strip_start(part["content"], part["start"]))
            else:
                raise _refused(_REASONS.get(kind, f"its decoder has a step that sfgen does not know, {kind}"))
        return cls(tuple(steps), has_byte_tokens)

    def __call__(self, token: str) -> bytes:
        """The bytes that ``token`` writes."""
        text: str | bytes = token
        for step in self.steps:
            if isinstance(text, bytes):
                break
            text = step(text)
        return text if isinstance(text, bytes) else text.encode()


_REASONS = {
    "WordPiece": "WordPiece puts spaces between words by rules that look at the neighbouring tokens",
    "BPEDecoder": "its decoder puts a space after a word, except after the last one",
    "CTC": "CTC merges repeated tokens, so a token's text depends on its neighbours",
}


def _refused(reason: str) -> VocabularyError:
    return VocabularyError(
        f"the bytes of this tokenizer's tokens cannot be told: {reason}",
        hint="Byte-level BPE and SentencePiece tokenizers (GPT-2, Llama, Gemma, Qwen, Mistral, T5) can be read",
    )


def _flatten(description: Description) -> list[Description]:
    if description["type"] != "Sequence":
        return [description]
    return [step for part in description["decoders"] for step in _flatten(part)]


def _replace(part: Description, is_fused: bool) -> Step:
    pattern, content = part["pattern"].get("String"), part["content"]
    if not pattern:
        raise _refused("its decoder replaces by a pattern that is no plain string")
    if is_fused and len(pattern) > 1:
        raise _refused(f"its decoder replaces {pattern!r} across the borders of tokens")
    return lambda token: token.replace(pattern, content)


def _metaspace(replacement: str) -> Step:
    return lambda token: token.replace(replacement, " ")


def _byte_fallback(token: str) -> str | bytes:
    byte = byte_token(token)
    return token if byte is None else bytes([byte])


def _strip_start(content: str, count: int) -> Step:
    def strip(token: str) -> str:
        kept = token.lstrip(content)
        return content * max(0, len(token) - len(kept) - count) + kept

    return strip
