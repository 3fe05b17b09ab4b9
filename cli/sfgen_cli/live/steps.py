"""The steps of a run: each is an event at which a view rests, with the events that only say what follows from it."""

from __future__ import annotations

from collections.abc import Sequence

from sfgen import Event, TextReleased, ThoughtReleased
from sfgen.decoding import BlockClosed


def is_step(event: Event) -> bool:
    """Tell whether a step begins with an event.

    What is released or closed belongs to the step before.
    """
    return not isinstance(event, TextReleased | ThoughtReleased | BlockClosed)


def step_ends(events: Sequence[Event]) -> list[int]:
    """Count the events until the end of each step.

    What stands before the first belongs to it.

    >>> from sfgen.decoding import BlockMoved
    >>> step_ends([BlockMoved(3, 40), BlockClosed(3), TextReleased("a"), BlockMoved(4, 40)])
    [3, 4]
    """
    begins = [index for index, event in enumerate(events) if is_step(event)]
    return [*begins[1:], len(events)] if begins else []
