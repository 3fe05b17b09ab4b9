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
