"""Generate the texts of a job, or its scores, several at once, and pass them on in the order of their slots."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sfgen.decoding import Finished, batch_of, drive_batch
from sfgen.errors import InputError, SfgenError, as_sfgen_error
from sfgen.jobs.own_jobs import OwnJobs
from sfgen.jobs.record import Lines, Slot
from sfgen.scoring.loop import Scored

if TYPE_CHECKING:
    from sfgen.decoding import Event
    from sfgen.decoding.loop import Loop
    from sfgen.jobs.job import Job
    from sfgen.jobs.loaded_job import LoadedJob
    from sfgen.scoring.loop import ScoringLoop
    from sfgen.trace import TraceFile, Tracer
from collections import deque


@dataclass
class Outcome:
    """The outcome of one slot of the output.

    Attributes:
        slot: The slot.
        record: Its record; empty until it is known.
        error: The error that left it without a text; ``None`` if there is a text.
        tokens: The number of tokens of the text.
        rollbacks: The number of rollbacks.
    """

    slot: Slot
    record: dict[str, Any] = field(default_factory=dict)
    error: SfgenError | None = None
    tokens: int = 0
    rollbacks: int = 0


class Texts:
    """The generation of the texts of some slots."""

    def __init__(
        self, loaded: LoadedJob, lines: Lines, trace: TraceFile | None, done: Callable[[Outcome], None]
    ) -> None:
        self._loaded = loaded
        self._own = OwnJobs(loaded)
        self._lines = lines
        self._trace = trace
        self._done = done
        self._running: dict[int, _RunningText] = {}  # by the number of the loop

    @property
    def is_idle(self) -> bool:
        """Whether no text is being written."""
        return not self._running

    def steps(self, slots: Iterable[Slot | None], at_once: int) -> Iterator[None]:
        """Fill all slots; yield after each step of a text."""
        batch = batch_of(self._loaded.model, at_once)
        told: Iterator[tuple[int, Event | Scored | SfgenError]] = drive_batch(self._loops(slots), batch, at_once)
        for number, step in told:
            if self._took(self._running[number], step):
                self._done(self._running.pop(number).outcome)
            yield

    def _loops(self, slots: Iterable[Slot | None]) -> Iterator[Loop | ScoringLoop | None]:
        """Yield the loops of the slots in order; a slot that cannot begin is finished with an error."""
        number = 0
        for slot in slots:
            if slot is None:
                yield None
                continue
            outcome = Outcome(slot)
            try:
                loaded = self._loaded_for(slot)
                loop = self._loop(loaded, slot)
                rendered = loaded.rendered(slot.prompt.prompt or "")
            except (SfgenError, MemoryError) as error:
                self._fail(outcome, as_sfgen_error(error, "the record"))
                self._done(outcome)  # passed on now: the next outcome may take long
                continue
            tracer = self._tracer(loaded, slot)
            self._running[number] = _RunningText(outcome, loaded.job, rendered, time.perf_counter(), tracer)
            number += 1
            yield loop

    def _loaded_for(self, slot: Slot) -> LoadedJob:
        """Return the job of a record."""
        if slot.prompt.prompt is None:
            raise InputError(slot.prompt.fault, hint=slot.prompt.hint)
        return self._loaded if slot.prompt.own is None else self._own.of(slot.prompt.own)

    def _loop(self, loaded: LoadedJob, slot: Slot) -> Loop | ScoringLoop:
        prompt = slot.prompt.prompt or ""
        if loaded.job.scored is not None:
            return loaded.scoring_loop(prompt)
        return loaded.loop(prompt, slot.sampler, observe=self._trace is not None)

    def _tracer(self, loaded: LoadedJob, slot: Slot) -> Tracer | None:
        if self._trace is None:
            return None
        scene = loaded.scene(slot.prompt.prompt or "", slot.sampler, line=slot.prompt.line)
        return self._trace.begin(scene)

    def _took(self, text: _RunningText, step: Event | Scored | SfgenError) -> bool:
        """Take an event of a text, or its error; return whether that was the last."""
        if isinstance(step, SfgenError):
            if text.tracer is not None:
                text.tracer.fail(step)
            self._fail(text.outcome, step)
            return True
        seconds = time.perf_counter() - text.started
        if isinstance(step, Scored):
            text.outcome.record = self._lines.scored(text.outcome.slot, text.job, step, seconds, text.rendered)
            return True
        if text.tracer is not None:
            text.tracer.show(step, seconds)
        if not isinstance(step, Finished):
            return False
        text.outcome.record = self._lines.written(text.outcome.slot, text.job, step.result, seconds, text.rendered)
        text.outcome.tokens, text.outcome.rollbacks = len(step.result.token_ids), len(step.result.rollbacks)
        return True

    def _fail(self, outcome: Outcome, error: SfgenError) -> None:
        outcome.error = error
        outcome.record = self._lines.failed(outcome.slot, error.message)


@dataclass(frozen=True)
class _RunningText:
    """A text while it is written.

    Attributes:
        outcome: Its outcome.
        job: The job of its record.
        rendered: Its prompt as written by the chat template; ``None`` without a chat.
        started: The time when work on it began.
        tracer: Receives its events.
    """

    outcome: Outcome
    job: Job
    rendered: str | None
    started: float
    tracer: Tracer | None


class InOrder:
    """A buffer that passes outcomes on in the order of their slots."""

    def __init__(self, hand_on: Callable[[Outcome], None]) -> None:
        self._hand_on = hand_on
        self._places: deque[tuple[int, int]] = deque()  # from the first one that is not passed on
        self._known: dict[tuple[int, int], Outcome] = {}

    def __len__(self) -> int:
        """Count the slots that were noted and not passed on."""
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
