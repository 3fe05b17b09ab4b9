"""Tokens are bytes, patterns read characters: where a token ends within a character, its first bytes are pending."""

from __future__ import annotations

import codecs

_decoder = codecs.getincrementaldecoder("utf-8")


def split(data: bytes) -> tuple[str, bytes] | None:
    r"""Split bytes into whole characters and an unfinished one.

    Returns:
        ``None`` if no text in UTF-8 begins so.

    >>> split("né".encode()), split(b"n\xc3"), split(b"n\xa9")
    (('né', b''), ('n', b'\xc3'), None)
    """
    decoder = _decoder()
    try:
        text, pending = decoder.decode(data), decoder.getstate()[0]
    except UnicodeDecodeError:
        return None
    # Of a surrogate, which is no text, the decoder sees only by the third byte what it is.
    return None if pending >= b"\xed\xa0" and pending[0] == 0xED else (text, pending)


def characters_from(pending: bytes) -> tuple[int, int]:
    r"""Return the first and last character whose UTF-8 begins so.

    No surrogate is between them, except where no bytes are pending.

    Args:
        pending: The bytes of an unfinished character; none: all characters.

    >>> [hex(code) for code in characters_from(b"\xc3")], [hex(code) for code in characters_from(b"\xed")]
    (['0xc0', '0xff'], ['0xd000', '0xd7ff'])
    """
    if not pending:
        return 0, 0x10FFFF
    length = 2 if pending[0] < 0xE0 else 3 if pending[0] < 0xF0 else 4
    bits = pending[0] & (0x7F >> length)
    for byte in pending[1:]:
        bits = bits << 6 | byte & 0x3F
    missing = 6 * (length - len(pending))
    low, high = bits << missing, (bits + 1) << missing
    # Shorter spellings of a character are not allowed, nor are surrogates, nor what is beyond the last character.
    least, past = {2: (0x80, 0x800), 3: (0x800, 0x10000), 4: (0x10000, 0x110000)}[length]
    if length == 3 and low == 0xD000:
        past = 0xD800
    return max(low, least), min(high, past) - 1
