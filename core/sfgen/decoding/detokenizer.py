"""The incremental detokenizer: from bytes that are never rolled back to whole characters for the reader."""

from __future__ import annotations

import codecs


class Release:
    """An incremental detokenizer: emits whole characters only.

    >>> release = Release()
    >>> data = "né".encode()
    >>> release.until(data, 2), release.until(data, 3), release.length
    ('n', 'é', 3)
    """

    def __init__(self) -> None:
        self.length = 0
        """How many bytes were emitted, those of a half character included."""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def until(self, data: bytes | bytearray, end: int, *, final: bool = False) -> str:
        """Emit the new whole characters up to a byte.

        Args:
            data: The bytes of the text.
            end: Where the text to emit ends, in bytes.
            final: Whether half a character at the end is emitted, too, as a replacement character.
        """
        text = self._decoder.decode(bytes(data[self.length : end]), final)
        self.length = end
        return text


def whole_length(data: bytes | bytearray) -> int:
    """Return the length in bytes without half a character at the end.

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
    """Tell whether the text ends between two characters.

    >>> [is_whole("é".encode()[:length]) for length in range(3)]
    [True, False, True]
    """
    return whole_length(data) == len(data)
