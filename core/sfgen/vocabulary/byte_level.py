"""Byte-level vocabularies: every byte has a printable character of its own.

GPT-2's byte-level BPE (Radford et al., 2019) writes its vocabulary in characters that can be printed: a byte whose
Latin-1 character is visible stands for itself, and the 68 others take the characters from U+0100 on, in order. The
space becomes ``Ġ``, the newline ``Ċ``. Llama-3, Qwen and most later vocabularies use the same map.
"""

from __future__ import annotations


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
    """Map a token's characters to the bytes that they stand for.

    A token with a character outside the map is not a byte-level token, and is its own UTF-8 text: so the decoder of the
    ``tokenizers`` library reads it, and so tokens look that were added by hand.

    >>> byte_level_bytes("Ġtalk"), byte_level_bytes("Ãī"), byte_level_bytes("日本")
    (b' talk', b'\\xc3\\x89', b'\\xe6\\x97\\xa5\\xe6\\x9c\\xac')
    """
    try:
        return bytes([_BYTES[character] for character in token])
    except KeyError:
        return token.encode()
