"""What the process that writes the records and those that make the texts tell each other."""

from __future__ import annotations

from dataclasses import dataclass

from sfgen.jobs.job import Job
from sfgen.jobs.lines import Lines


@dataclass(frozen=True)
class Assignment:
    """What a worker is told first.

    Attributes:
        job: What is done with each prompt.
        lines: What is written of a text.
        batch_size: How many texts are worked on at once.
    """

    job: Job
    lines: Lines
    batch_size: int


@dataclass(frozen=True)
class Ready:
    """What a worker says once its model is loaded."""
