"""How many processes may die over a job, and what becomes of a record that has killed them."""

from __future__ import annotations

from sfgen.errors import GenerationError
from sfgen.jobs.lines import Lines, Slot
from sfgen.jobs.texts import Outcome

MOST_DEATHS = 2
"""The deaths of processes while they made a slot's text after which it is given up."""

MOST_FAILED_STARTS = 3
"""The deaths in a row, before the model was loaded, after which the job ends."""


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
