"""What makes texts in a process of Ray: the job with its model, and the journal that is told of each slot."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sfgen.errors import ModelError, SfgenError
from sfgen.jobs.loaded import load
from sfgen.jobs.record import Slot
from sfgen.jobs.texts import Outcome, Texts
from sfgen.jobs.workers import MOST_DEATHS, Assignment, give_up


class ActorTexts:
    """The texts of some slots, made in any process.

    Args:
        assignment: What is done.
        journal: The actor that is told of each slot; ``None``: nobody is, and what kills a process kills the next.

    Raises:
        SfgenError: The model cannot be loaded; or several processes have died over it and this one does not try.
    """

    def __init__(self, assignment: Assignment, journal: Any = None) -> None:
        self._assignment = assignment
        self._journal = journal
        self._process = uuid.uuid4().hex  # a restarted actor is another process
        actor = self._actor()
        try:
            if not self._asked("start", actor, default=True):
                raise ModelError(
                    "the processes that were to load the model have died, one after the other",
                    hint="Take fewer of them: perhaps the memory does not suffice for several models.",
                )
            loaded = load(assignment.job)
            loaded.load_weights()
        except SfgenError as error:
            self._asked("refuse", error)
            raise
        self._asked("loaded", actor)
        self._known: dict[tuple[int, int], Outcome] = {}  # of the block
        # One for all blocks: it keeps the constraints that records have of their own.
        self._texts = Texts(loaded, assignment.lines, None, self._take)

    def fill(self, slots: Sequence[Slot]) -> list[Outcome]:
        """Return the outcomes of some slots, in their order."""
        known = self._known
        known.clear()
        deaths = self._asked("deaths", [slot.key for slot in slots], self._process, default=[0] * len(slots))
        for slot, count in zip(slots, deaths, strict=True):  # what may have killed a process is made alone, and first
            if count >= MOST_DEATHS:
                known[slot.key] = give_up(slot, self._assignment.lines)
            elif count:
                self._fill([slot], 1)
        self._fill([slot for slot in slots if slot.key not in known], self._assignment.batch_size)
        return [known[slot.key] for slot in slots]

    def _fill(self, slots: Sequence[Slot], at_once: int) -> None:
        for _ in self._texts.steps(self._announced(slots), at_once):
            pass

    def _take(self, outcome: Outcome) -> None:
        self._known[outcome.slot.key] = outcome
        if self._journal is not None:
            self._journal.done.remote([outcome.slot.key])  # nobody waits: at worst a place is made alone once

    def _announced(self, slots: Iterable[Slot]) -> Iterator[Slot]:
        for slot in slots:
            self._asked("begin", slot.key, self._process)
            yield slot

    def _actor(self) -> str:
        """The actor that this process is one of; it stays the same when Ray starts it again."""
        if self._journal is None:
            return ""
        import ray

        return str(ray.get_runtime_context().get_actor_id())

    def _asked(self, method: str, *arguments: Any, default: Any = None) -> Any:
        """Ask the journal, and wait for its answer."""
        if self._journal is None:
            return default
        import ray

        return ray.get(getattr(self._journal, method).remote(*arguments))
