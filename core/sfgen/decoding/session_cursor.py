"""What a session has read, and so what it must read next.

Jump-forward tokens are read together with the next token that is scored; tokens that were rolled back are forgotten
only then, and stay if the same were chosen again.
"""

from __future__ import annotations

from collections.abc import Sequence

from sfgen.decoding.events import Ask
from sfgen.protocols import Int32


class SessionCursor:
    """What a session has read of one text, and its next requests.

    >>> cursor = SessionCursor()
    >>> cursor.ask([1, 2])
    Ask(token_ids=(1, 2), keep=None, rows=None)
    >>> cursor.ask([1, 2, 3, 4])
    Ask(token_ids=(3, 4), keep=None, rows=None)
    >>> cursor.cut(2)
    >>> cursor.ask([1, 2, 3, 5]), cursor.asked
    (Ask(token_ids=(5,), keep=3, rows=None), 3)
    """

    def __init__(self) -> None:
        self.asked = 0
        """How many there were."""
        self._read: Sequence[int] = ()  # by the session
        self._right = 0  # the first of them, which are surely those of the text

    def ask(self, known: Sequence[int], rows: Int32 | None = None) -> Ask:
        """Return the request for the scores of the next token.

        The last known token is read in any case, also where the session has read it before: its scores are wanted.

        Args:
            known: All tokens of prompt and text.
            rows: The tokens to score, int32 ``[k]``; ``None``: all.
        """
        keep, most = self._right, min(len(self._read), len(known) - 1)
        while keep < most and self._read[keep] == known[keep]:
            keep += 1
        keep = max(0, min(keep, most))
        request = Ask(tuple(known[keep:]), keep if keep < len(self._read) else None, rows)
        self._read = known
        self._right = len(known)
        self.asked += 1
        return request

    def has_read(self, length: int) -> bool:
        """Tell whether the session has read this many tokens of the text.

        Args:
            length: In tokens, those of the prompt included.
        """
        return self._right >= length

    def cut(self, length: int) -> None:
        """Note that the text was cut.

        Args:
            length: The tokens that stay, those of the prompt included.
        """
        self._right = min(self._right, length)
