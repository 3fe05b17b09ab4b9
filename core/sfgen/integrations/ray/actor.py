"""The actors of a job: those that make texts, and the journal of slots that were begun and not finished.

If a process dies, Ray gives its whole block of records to another one, and so on. The journal is an actor of its own,
without weights, which outlives them: a process that takes over a block asks it first. A slot that was begun by a dead
process may have killed it.
"""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from sfgen import arguments
from sfgen.errors import ModelError, SfgenError
from sfgen.jobs.loaded_job import load
from sfgen.jobs.record import Slot
from sfgen.jobs.texts import Outcome, Texts
from sfgen.jobs.workers import MOST_DEATHS, MOST_FAILED_STARTS, Assignment, give_up
from sfgen.schema.scalars.formats import jsonschema


def installed_ray() -> Any:
    """Import Ray with Ray Data and return it.

    Ray imports the package jsonschema.
    """
    try:
        jsonschema()  # else Ray's own import of it takes a second more
        import ray
        import ray.data
    except ImportError as error:
        raise ModelError(f"Ray is not installed: {error}", hint="pip install 'sfgen[ray]'") from None
    return ray


class ActorTexts:
    """The texts of some slots, made in any process."""

    def __init__(self, assignment: Assignment, journal: Any = None) -> None:
        self._assignment = assignment
        self._journal = journal
        self._process = uuid.uuid4().hex  # a restarted actor is another process
        actor = self._actor()
        try:
            if not self._asked("start", actor, default=True):
                raise ModelError(
                    "the processes that should load the model have died, one after the other",
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
        for slot, count in zip(
            slots, deaths, strict=True
        ):  # slots that may have killed a process are made first, each alone
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
            self._journal.done.remote([outcome.slot.key])  # not awaited: at worst a slot is made alone once

    def _announced(self, slots: Iterable[Slot]) -> Iterator[Slot]:
        for slot in slots:
            self._asked("begin", slot.key, self._process)
            yield slot

    def _actor(self) -> str:
        """The identifier of this process's actor; it stays the same when Ray restarts it."""
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


Key: TypeAlias = tuple[int, int]
"""The line and the sample of a slot."""


@dataclass
class Journal:
    """A journal of the slots that the processes of one job have begun.

    Attributes:
        refusal: The error of loading the model; ``None`` if no process has reported one.
    """

    refusal: SfgenError | None = None
    _begun: dict[Key, str] = field(default_factory=dict)  # and not done: by which process
    _by_process: defaultdict[str, set[Key]] = field(default_factory=lambda: defaultdict(set))
    _deaths: Counter[Key] = field(default_factory=Counter)
    _starts: Counter[str] = field(default_factory=Counter)  # by actor: in a row, of which none has loaded the model

    def start(self, actor: str) -> bool:
        """Note that a process begins to load the model."""
        self._starts[arguments.text("actor", actor)] += 1
        return self._starts[actor] <= MOST_FAILED_STARTS and self.refusal is None

    def loaded(self, actor: str) -> None:
        """Note that a process has loaded the model."""
        self._starts.pop(arguments.text("actor", actor), None)

    def refuse(self, error: SfgenError) -> None:
        """Note that the model cannot be loaded, so that no other process tries; the first error is kept."""
        self.refusal = self.refusal or error

    def why(self) -> SfgenError | None:
        """Return the error of loading the model, or ``None``."""
        return self.refusal

    def deaths(self, keys: Sequence[Key], process: str) -> list[int]:
        """Count the processes that have died over each slot.

        It must be called before any of them is begun.
        """
        for dead in {self._begun[key] for key in keys if self._begun.get(key, process) != process}:
            for key in self._by_process.pop(dead):
                del self._begun[key]
                self._deaths[key] += 1
        return [self._deaths[key] for key in keys]

    def begin(self, key: Key, process: str) -> None:
        """Note that a process begins to make the text of a slot."""
        self._begun[key] = process
        self._by_process[process].add(key)

    def done(self, keys: Sequence[Key]) -> None:
        """Note that the outcomes of these slots are known."""
        for key in keys:
            process = self._begun.pop(key, None)
            if process is not None:
                self._by_process[process].discard(key)


def open_journal() -> Any:
    """Start the journal of one job as an actor of the cluster.

    It lives as long as there is a reference to it.

    Returns:
        Ray's handle of the actor.

    >>> journal = Journal()
    >>> journal.begin((1, 0), "first"), journal.begin((2, 0), "first"), journal.done([(1, 0)])
    (None, None, None)
    >>> journal.deaths([(1, 0), (2, 0)], "second")
    [0, 1]

    Raises:
        ModelError: Ray is not installed.
    """
    ray = installed_ray()
    return ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1)(Journal).remote()


def check_journal(journal: object) -> None:
    """Refuse what is not a journal."""
    arguments.given("journal", journal, "open_journal()", "deaths", "begin", "done")
