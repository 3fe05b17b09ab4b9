"""A prompt and the answer that stands in it."""

from __future__ import annotations

from typing import NamedTuple


class Pair(NamedTuple):
    """What is given, and what is to be written.

    Attributes:
        prompt: What is read. It counts little in training: nobody can foresee an invented name.
        answer: What is written after it, to the end of the document.
    """

    prompt: str
    answer: str
