"""How many processes may die over a job, and what becomes of a record that has killed them."""

from __future__ import annotations

from sfgen.errors import GenerationError
from sfgen.jobs.lines import Lines, Slot
from sfgen.jobs.texts import Outcome

MOST_DEATHS = 2
"""A slot is given up when so many processes have died while they made its text."""

MOST_FAILED_STARTS = 3
"""The job ends when so many processes in a row have died before they had loaded their model."""


def give_up(slot: Slot, lines: Lines, how: str = "") -> Outcome:
    """Make the record of a slot that has killed its processes: an error.

    Args:
        slot: The slot.
        lines: What is written of it.
        how: How the last process ended, where that is known.
    """
    died = f" ({how})" if how else ""
    error = GenerationError(f"the process that made it has died, and a second one, too{died}")
    return Outcome(slot, lines.failed(slot, error.message), error)
