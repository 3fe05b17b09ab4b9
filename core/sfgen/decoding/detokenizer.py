"""From the bytes of tokens to the text that is shown to a reader: whole characters, and no stop string.

Stop strings end free text. They are looked for in the bytes of the generated text, so it does not matter how the tokens
cut it: across tokens, inside one, within a character. The prompt does not belong to it. The text ends before the first
stop string that is whole; where several are whole at the same byte, before the longest of them. So the text depends on
the bytes alone and never contains a stop string.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from dataclasses import dataclass

from sfgen import arguments
from sfgen.errors import UsageError


class Detokenizer:
    """An incremental detokenizer: emits whole characters only.

    >>> release = Detokenizer()
    >>> data = "né".encode()
    >>> release.until(data, 2), release.until(data, 3), release.length
    ('n', 'é', 3)
    """

    def __init__(self) -> None:
        self.length = 0
        """The number of bytes emitted, half a character included."""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def until(self, data: bytes | bytearray, end: int, *, final: bool = False) -> str:
        """Emit the new whole characters up to the byte ``end``; ``final``: half a character, too."""
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
    """Return whether the text ends between two characters.

    >>> [is_whole("é".encode()[:length]) for length in range(3)]
    [True, False, True]
    """
    return whole_length(data) == len(data)


@dataclass(frozen=True)
class StopStrings:
    """The stop strings of a text, as UTF-8; none is empty.

    >>> stops = StopStrings.of(["\\n\\n", "\\nEND"])
    >>> stops.find(b"one\\ntwo\\n\\nthree"), stops.open_from(b"one\\nEN"), stops.open_from(b"one")
    (7, 3, 3)
    """

    strings: tuple[bytes, ...]

    @classmethod
    def of(cls, stop: str | Iterable[str]) -> StopStrings:
        """Encode stop strings, or a single one."""
        stop = arguments.texts("stop", stop)
        for text in stop:
            if not text:
                raise UsageError("a stop string is empty: every text would end at once", hint="Leave it out.")
        try:
            return cls(tuple(dict.fromkeys(text.encode() for text in stop)))
        except UnicodeEncodeError as error:
            raise UsageError(f"a stop string is not valid text: {error.object!r}", hint="Give it in UTF-8.") from None

    def find(self, data: bytes | bytearray, searched: int = 0) -> int | None:
        """Return where the first whole stop string begins, or ``None``; the bytes ``searched`` hold none."""
        ends = []
        for string in self.strings:
            start = data.find(string, max(0, searched - len(string) + 1))
            if start >= 0:
                ends.append((start + len(string), start))
        return min(ends)[1] if ends else None

    def open_from(self, data: bytes | bytearray) -> int:
        """Return where the earliest partial match of a stop string begins, else the length of ``data``."""
        longest = max(map(len, self.strings), default=0)
        for start in range(max(0, len(data) - longest + 1), len(data)):
            end = bytes(data[start:])
            if any(string.startswith(end) for string in self.strings):
                return start
        return len(data)
