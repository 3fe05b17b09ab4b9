"""Letting go of text: from bytes that will never be taken back to whole characters for the reader."""

from __future__ import annotations

import codecs


class Release:
    """What was let go of one text so far. Never half a character.

    >>> release = Release()
    >>> data = "né".encode()
    >>> release.until(data, 2), release.until(data, 3), release.length
    ('n', 'é', 3)
    """

    def __init__(self) -> None:
        self.length = 0
        """How many bytes were let go, those of a half character included."""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def until(self, data: bytes | bytearray, end: int, *, final: bool = False) -> str:
        """Let go of the text up to the byte ``end``; the characters that are new and whole (``final``: all of them)."""
        text = self._decoder.decode(bytes(data[self.length : end]), final)
        self.length = end
        return text


def whole_length(data: bytes | bytearray) -> int:
    """The length of the text without the half of a character at its end.

    >>> [whole_length("né".encode()[:length]) for length in range(4)]
    [0, 1, 1, 3]
    """
    for count in range(1, min(len(data), 3) + 1):
        byte = data[-count]
        if byte >= 0xC0:
            is_half = count < (2 if byte < 0xE0 else 3 if byte < 0xF0 else 4)
            return len(data) - count if is_half else len(data)
        if byte < 0x80:
            break
    return len(data)


def is_whole(data: bytes | bytearray) -> bool:
    """Whether the text ends between two characters, and not within one.

    >>> [is_whole("é".encode()[:length]) for length in range(3)]
    [True, False, True]
    """
    return whole_length(data) == len(data)
