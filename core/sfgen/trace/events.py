"""The events of a trace by name: the name of the class in small letters."""

from __future__ import annotations

import re
from typing import get_args

from sfgen import arguments
from sfgen.decoding import Event

EVENTS: dict[str, type[Event]] = {
    re.sub("(?<!^)(?=[A-Z])", "_", kind.__name__).lower(): kind for kind in get_args(Event)
}
"""``token_chosen``, ``rolled_back`` and so on."""

_NAMES = {kind: name for name, kind in EVENTS.items()}


def name_of(event: Event) -> str:
    """Name an event as a trace does.

    >>> from sfgen import TextReleased
    >>> name_of(TextReleased("a"))
    'text_released'
    """
    if type(event) not in _NAMES:
        raise arguments.refusal("event", "an event, as sfgen.stream gives them", event)
    return _NAMES[type(event)]
