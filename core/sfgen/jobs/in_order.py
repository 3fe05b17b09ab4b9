"""What comes in any order is handed on in the order of its places."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator

from sfgen.jobs.lines import Slot
from sfgen.jobs.texts import Outcome


class InOrder:
    """A buffer that passes outcomes on in the order of their slots.

    Args:
        hand_on: Called with the outcome of each slot, in their order, as soon as it and all before it are known.
    """

    def __init__(self, hand_on: Callable[[Outcome], None]) -> None:
        self._hand_on = hand_on
        self._places: deque[tuple[int, int]] = deque()  # from the first that is not handed on
        self._known: dict[tuple[int, int], Outcome] = {}

    def __len__(self) -> int:
        """The number of places that were noted and not handed on."""
        return len(self._places)

    def note(self, slot: Slot) -> None:
        """Note that this slot comes next."""
        self._places.append(slot.key)

    def noted(self, slots: Iterable[Slot]) -> Iterator[Slot]:
        """Yield the same slots, noting each when it is taken."""
        for slot in slots:
            self.note(slot)
            yield slot

    def add(self, outcome: Outcome) -> None:
        """Add the outcome of a slot that was noted."""
        self._known[outcome.slot.key] = outcome
        while self._places and self._places[0] in self._known:
            self._hand_on(self._known.pop(self._places.popleft()))
