"""What the process that writes the records and those that make the texts tell each other."""

from __future__ import annotations

from dataclasses import dataclass

from sfgen.jobs.job import Job
from sfgen.jobs.lines import Lines


@dataclass(frozen=True)
class Assignment:
    """The first message to a worker: what it is to do.

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
    """The message of a worker that has loaded its model."""
