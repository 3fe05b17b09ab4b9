"""Stop strings: where a text that is still being written ends.

They are looked for in the bytes of the generated text, so it does not matter how the tokens cut it: across tokens,
inside one, within a character. The prompt does not belong to it. The text ends before the first stop string that is
whole; where several are whole at the same byte, before the longest of them. So the text depends on the bytes alone and
never contains a stop string.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sfgen import arguments
from sfgen.errors import UsageError


@dataclass(frozen=True)
class StopStrings:
    """The stop strings of a text, as UTF-8; none is empty.

    Args:
        strings: The UTF-8 of each.

    >>> stops = StopStrings.of(["\\n\\n", "\\nEND"])
    >>> stops.find(b"one\\ntwo\\n\\nthree"), stops.open_from(b"one\\nEN"), stops.open_from(b"one")
    (7, 3, 3)
    """

    strings: tuple[bytes, ...]

    @classmethod
    def of(cls, stop: str | Iterable[str]) -> StopStrings:
        """Encode stop strings, or a single one.

        Raises:
            UsageError: It is something else, an empty text, or one that cannot be written in UTF-8.
        """
        stop = arguments.texts("stop", stop)
        for text in stop:
            if not text:
                raise UsageError("a stop string is empty: every text would end at once", hint="Leave it out.")
        try:
            return cls(tuple(dict.fromkeys(text.encode() for text in stop)))
        except UnicodeEncodeError as error:
            raise UsageError(f"a stop string is not valid text: {error.object!r}", hint="Give it in UTF-8.") from None

    def find(self, data: bytes | bytearray, searched: int = 0) -> int | None:
        """Return where the first whole stop string begins, or ``None``.

        Args:
            data: The text.
            searched: Bytes at its start that are known to hold no stop string.
        """
        found = []
        for string in self.strings:
            start = data.find(string, max(0, searched - len(string) + 1))
            if start >= 0:
                found.append((start + len(string), start))
        return min(found)[1] if found else None

    def open_from(self, data: bytes | bytearray) -> int:
        """Return where the earliest partial match of a stop string begins.

        Args:
            data: A text without a stop string.

        Returns:
            An offset in bytes; the length of the text if there is none.
        """
        longest = max(map(len, self.strings), default=0)
        for start in range(max(0, len(data) - longest + 1), len(data)):
            end = bytes(data[start:])
            if any(string.startswith(end) for string in self.strings):
                return start
        return len(data)
