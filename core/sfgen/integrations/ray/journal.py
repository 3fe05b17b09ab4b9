"""Which slots of a job were begun and are not done: what was begun by a process that is dead may have killed it.

Ray gives a whole block of records to another process when one dies, and again when that dies. The journal is an actor
of its own, without weights, which outlives them: whoever takes over the block asks it first.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from sfgen import arguments
from sfgen.errors import SfgenError
from sfgen.integrations.ray.installed import installed_ray
from sfgen.jobs.workers import MOST_FAILED_STARTS

Key: TypeAlias = tuple[int, int]
"""The line and the sample of a slot."""


@dataclass
class Journal:
    """A journal of what the processes of one job have begun.

    Attributes:
        refusal: Why the model cannot be loaded; ``None``: no process has said so.
    """

    refusal: SfgenError | None = None
    _begun: dict[Key, str] = field(default_factory=dict)  # and not done: by which process
    _by_process: defaultdict[str, set[Key]] = field(default_factory=lambda: defaultdict(set))
    _deaths: Counter[Key] = field(default_factory=Counter)
    _starts: Counter[str] = field(default_factory=Counter)  # by actor: in a row, of which none has loaded the model

    def start(self, actor: str) -> bool:
        """Note that a process begins to load the model.

        Args:
            actor: The actor that it is a process of: Ray starts another one in place of each that has died.

        Returns:
            False where too many of this actor have died so: it should give up.
        """
        self._starts[arguments.text("actor", actor)] += 1
        return self._starts[actor] <= MOST_FAILED_STARTS and self.refusal is None

    def loaded(self, actor: str) -> None:
        """Note that a process has loaded the model.

        Args:
            actor: The actor that it is a process of.
        """
        self._starts.pop(arguments.text("actor", actor), None)

    def refuse(self, error: SfgenError) -> None:
        """Note that the model cannot be loaded, so that no other tries; the first reason stays."""
        self.refusal = self.refusal or error

    def why(self) -> SfgenError | None:
        """Return why the model cannot be loaded, or ``None``."""
        return self.refusal

    def deaths(self, keys: Sequence[Key], process: str) -> list[int]:
        """Count the processes that have died over each slot.

        It must be called before any of them is begun.

        Args:
            keys: The keys of the slots of a block, which one process works on at a time.
            process: That process: those that others have begun here are dead.
        """
        for dead in {self._begun[key] for key in keys if self._begun.get(key, process) != process}:
            for key in self._by_process.pop(dead):
                del self._begun[key]
                self._deaths[key] += 1
        return [self._deaths[key] for key in keys]

    def begin(self, key: Key, process: str) -> None:
        """Note that a process begins to make the text of a slot.

        Args:
            key: The key of the slot.
            process: The process.
        """
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

    It lives as long as somebody holds it.

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
    """Refuse what is not a journal.

    Raises:
        UsageError: It is something else.
    """
    arguments.given("journal", journal, "open_journal()", "deaths", "begin", "done")
