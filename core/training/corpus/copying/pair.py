"""A prompt and the answer that stands in it."""

from __future__ import annotations

from typing import NamedTuple


class Pair(NamedTuple):
    """What is given, and what is to be written.

    Attributes:
        prompt: What is read. It counts little in training: nobody can foresee an invented name.
        answer: What is written after it, to the end of the document.
        answered: Where earlier answers stand in the prompt: first character, and the one after the last.
    """

    prompt: str
    answer: str
    answered: tuple[tuple[int, int], ...] = ()
