"""What a session has read, and so what it must be asked next.

Tokens that were not asked for are read together with the next question; tokens that were taken back are forgotten only
then, and not at all if the same were chosen again.
"""

from __future__ import annotations

from collections.abc import Sequence

from sfgen.decoding.events import Ask
from sfgen.protocols import Int32


class Questions:
    """The questions of one text, in order.

    >>> questions = Questions()
    >>> questions.ask([1, 2])
    Ask(token_ids=(1, 2), keep=None, rows=None)
    >>> questions.ask([1, 2, 3, 4])
    Ask(token_ids=(3, 4), keep=None, rows=None)
    >>> questions.cut(2)
    >>> questions.ask([1, 2, 3, 5]), questions.asked
    (Ask(token_ids=(5,), keep=3, rows=None), 3)
    """

    def __init__(self) -> None:
        self.asked = 0
        """How many there were."""
        self._read: Sequence[int] = ()  # by the session
        self._right = 0  # so many of them are surely those of the text

    def ask(self, known: Sequence[int], rows: Int32 | None = None) -> Ask:
        """The question for the scores after ``known``, all tokens of prompt and text; of the tokens ``rows``, or all.

        At least the last of them is read, also where the session has read it before: its scores are wanted.
        """
        keep, most = self._right, min(len(self._read), len(known) - 1)
        while keep < most and self._read[keep] == known[keep]:
            keep += 1
        keep = max(0, min(keep, most))
        question = Ask(tuple(known[keep:]), keep if keep < len(self._read) else None, rows)
        self._read = known
        self._right = len(known)
        self.asked += 1
        return question

    def has_read(self, length: int) -> bool:
        """Whether the session has read ``length`` tokens of the text, those of the prompt included."""
        return self._right >= length

    def cut(self, length: int) -> None:
        """The text was cut to ``length`` tokens, those of the prompt included."""
        self._right = min(self._right, length)
