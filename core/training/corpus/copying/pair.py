"""A prompt, and an answer whose content is in the prompt."""

from __future__ import annotations

from typing import NamedTuple


class Pair(NamedTuple):
    """A prompt and its answer.

    Attributes:
        prompt: What is read. It counts little in training: nobody can foresee an invented name.
        answer: What is written after it, to the end of the document.
        answered: Where earlier answers stand in the prompt: first character, and the one after the last.
    """

    prompt: str
    answer: str
    answered: tuple[tuple[int, int], ...] = ()
