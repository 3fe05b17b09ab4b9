"""Several texts at once: their loops run in lock-step, and one forward pass answers all of them.

A round advances every loop to its next request, passing its events on, and then runs one forward pass for all rows that
wait. The next loop takes a row whose loop has ended, with the tokens that the row has read: the common beginning of two
prompts, such as instructions or examples, is not read again. A loop whose next step is made by another thread yields
its future: the others go on, and it is asked again in the next round.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from sfgen import arguments
from sfgen.decoding.choice import Choice, Chosen, HostRow, RowAnswer, ScoreRow, choose_in_table
from sfgen.decoding.events import Ask, AskAgain, Event
from sfgen.decoding.loop import Loop
from sfgen.decoding.plain_forms import model_of
from sfgen.errors import SfgenError, as_sfgen_error
from sfgen.models.sessions import SeparateRows, last_in_parts, last_of_all
from sfgen.protocols import (
    Answer,
    Batch,
    BatchScoresEverywhere,
    BatchScoresLast,
    BatchScoresRows,
    BatchScoresTogether,
    HasBatch,
    Int32,
    Model,
)

LEAST_SHARED = 4
"""The fewest tokens that two prompts must share for them not to be read again: fewer cost nothing."""

LONGEST_WAIT = 0.02
"""Seconds that a round waits for the steps of other threads, if all loops do; then new loops may begin."""

Told = TypeVar("Told")
ToldBy = TypeVar("ToldBy", covariant=True)


class Asks(Protocol[ToldBy]):
    """A loop that yields requests for scores, and events."""

    def run(self) -> Generator[Ask | AskAgain | Future[Any] | ToldBy, Any, Any]:
        """Yield requests, which are sent scores; events, which are not; and futures of steps that are not made yet."""


def batch_of(model: Model | str | Path, rows: int) -> Batch:
    """Return the model's own batch, or one session for each row.

    A model's own ``batch(rows)`` costs nothing before its first forward pass, as ``session()`` may do.

    Args:
        model: The model, or the name of one to load.
        rows: The number of rows.

    Raises:
        UsageError: ``rows`` is not a whole number of at least 1.
        SfgenError: As ``load_model``, for a name.
    """
    model, rows = model_of(model), arguments.whole_number("rows", rows, least=1)
    return model.batch(rows) if isinstance(model, HasBatch) else SeparateRows(model, rows)


def drive(loop: Loop, model: Model) -> Iterator[Event]:
    """Run the loop of a single text, as a batch of one."""
    told: Iterator[tuple[int, Event | SfgenError]] = drive_batch([loop], batch_of(model, 1))
    for _, event in told:
        if isinstance(event, SfgenError):
            raise event
        yield event


@dataclass
class _Row(Generic[Told]):
    """One row of the batch, and the loop that runs in it."""

    number: int  # of the loop
    steps: Generator[Ask | AskAgain | Future[Any] | Told, Any, Any]
    answer: Answer | RowAnswer | None = None
    request: Ask | None = None
    awaited: Future[Any] | None = None  # its step, where another thread makes it
    # the tokens that the row has read: those of the loop before, until this one asks
    read: list[int] = field(default_factory=list)
    is_new: bool = True  # whether the loop has not asked yet

    def begin_request(self, batch: Batch, slot: int) -> Sequence[int]:
        """Rewind the row to the start of the request; return the tokens of it that must be read."""
        assert self.request is not None, "every loop that runs has come to a request"
        token_ids, keep = self.request.token_ids, self.request.keep
        if self.is_new:
            self.is_new = False
            keep = _shared(self.read, token_ids, self.request.positions)
            token_ids = token_ids[keep:]
            if not self.read:
                return token_ids
        if keep is not None:
            batch.rewind(slot, keep)
            del self.read[keep:]
        return token_ids


def drive_batch(
    loops: Iterable[Asks[Told] | None], batch: Batch, rows: int | None = None, *, keep: bool = False
) -> Iterator[tuple[int, Told | SfgenError]]:
    """Run loops in lock-step, sharing forward passes.

    Args:
        loops: The loops, as ``prepare`` makes them, one for each text. ``None`` among them: there is no other one yet,
            and the running ones continue; if none runs, it waits for the next.
        batch: Empty, and with a row for each loop, or ``rows`` of them.
        rows: How many loops run at once; all if not given. The next one is taken from ``loops`` when a row is free.
        keep: Whether a free row keeps what it has read until a loop takes it. So the next turn of a conversation does
            not read its earlier turns again: see ``_Waiting._best``.

    Yields:
        The number of a loop, from 0 on, with an event of its, as it comes. The last of a loop is ``Finished``, or the
        error that has ended it; the others go on.

    Raises:
        Exception: Any error that is not an ``SfgenError`` ends all. The loops are then closed, as when the iterator is.
    """
    loops = arguments.items("loops", loops, "a list of what sfgen.decoding.prepare made")
    arguments.given("batch", batch, "a batch", "extend", "rewind", hint="Make one with sfgen.decoding.batch_of.")
    rows = rows if rows is None else arguments.whole_number("rows", rows, least=1)
    keep = arguments.flag("keep", keep)
    if rows is None:
        loops = list(loops)
        rows = len(loops)
    waiting: _Waiting[Told] = _Waiting(iter(loops), batch, {slot: [] for slot in range(rows)}, keep, is_over=rows == 0)
    running: dict[int, _Row[Told]] = {}
    narrow = batch if isinstance(batch, BatchScoresRows) else None
    together = batch if isinstance(batch, BatchScoresTogether) else None  # asked once: it takes 12 µs
    # Separate rows give each text the scores that it has alone, to the last bit, so they share no prefix.
    shares = keep or (rows > 1 and not isinstance(batch, SeparateRows))
    try:
        while running or not waiting.is_over:
            waiting.begin_all(running)
            to_ask = sorted(running)
            for slot in to_ask:  # it grows: what is over makes room for others, which ask in the same round
                if (yield from _to_next_request(running[slot], slot, narrow)):
                    continue
                waiting.free[slot] = running.pop(slot).read
                if not shares:
                    waiting.forget()
                begun = waiting.begin(running)
                to_ask += [] if begun is None else [begun]
                if not keep:
                    waiting.forget()
            asking = {slot: row for slot, row in running.items() if row.request is not None}
            if asking:
                _ask(asking, batch, narrow, together)
            else:
                awaited = [row.awaited for row in running.values() if row.awaited is not None]
                wait(awaited, LONGEST_WAIT, FIRST_COMPLETED)
    finally:
        for row in running.values():
            row.steps.close()


@dataclass
class _Waiting(Generic[Told]):
    """The loops that have not begun, and the rows that they may take."""

    loops: Iterator[Asks[Told] | None]
    batch: Batch
    free: dict[int, list[int]]  # the rows that no loop has, with the tokens they have read; first the longest free
    keep: bool  # whether they keep what they have read
    begun: int = 0  # the number of loops that have begun
    is_empty: bool = False  # whether none is there in this round
    is_over: bool = False  # whether there will be no other

    def begin_all(self, running: dict[int, _Row[Told]]) -> None:
        """Begin a round: give the free rows to the next loops."""
        self.is_empty = False
        while self.free and self.begin(running) is not None:
            pass

    def begin(self, running: dict[int, _Row[Told]]) -> int | None:
        """Give a free row to the next loop, if there is one; return the row."""
        if self.is_empty or self.is_over:
            return None
        try:
            loop = next(self.loops)
        except StopIteration:
            self.is_over = True
            return None
        if loop is None:
            self.is_empty = True
            return None
        arguments.given("each of loops", loop, "what sfgen.decoding.prepare made", "run")
        slot = self._best(getattr(loop, "prompt_ids", ()))
        running[slot] = _Row(self.begun, loop.run(), read=self.free.pop(slot))
        self.begun += 1
        return slot

    def _best(self, prompt: Sequence[int]) -> int:
        """Return the free row for a prompt: the one that has read most of it."""
        shared = {slot: _shared(read, prompt) for slot, read in self.free.items()}
        if self.keep:
            # All conversations begin alike. A row with little more than that in common is that of another one, which
            # may go on: it is taken only where no row is empty, and of those as good the one longest free.
            own = [slot for slot, read in self.free.items() if _continues(shared[slot], read, prompt)]
            empty = [slot for slot, read in self.free.items() if not read]
            return max(own or empty or self.free, key=lambda slot: shared[slot])
        return max(self.free, key=lambda slot: (shared[slot], -slot))

    def forget(self) -> None:
        """Let free rows forget what they have read."""
        for slot, read in self.free.items():
            if read:
                self.batch.rewind(slot, 0)
                self.free[slot] = []


def _to_next_request(
    row: _Row[Told], slot: int, narrow: BatchScoresRows | None
) -> Generator[tuple[int, Told | SfgenError], None, bool]:
    """Pass a loop's events on until its next request, or a step of another thread; false if it ended instead.

    An ``AskAgain`` is answered at once, since nothing is read.
    """
    answer, row.answer, row.request, row.awaited = row.answer, None, None, None
    while True:
        if isinstance(answer, SfgenError):
            row.steps.close()
            yield row.number, answer
            return False
        try:
            step = row.steps.send(answer)
        except StopIteration:
            return False
        except (SfgenError, MemoryError) as error:
            yield row.number, as_sfgen_error(error, "the text")
            return False
        answer = None
        if isinstance(step, Ask):
            row.request = step
            return True
        if isinstance(step, Future):
            row.awaited = step
            return True
        if isinstance(step, AskAgain):
            answer = narrow.score_again(slot, step.rows) if narrow is not None else None
        else:
            yield row.number, step


def _ask(
    running: Mapping[int, _Row[Told]],
    batch: Batch,
    narrow: BatchScoresRows | None,
    together: BatchScoresTogether | None,
) -> None:
    """Answer all open requests with one forward pass."""
    requests: dict[int, Sequence[int]] = {}
    answers: dict[int, Answer | RowAnswer] = {}
    wanted: dict[int, Int32 | None] = {}
    read: dict[int, Sequence[int]] = {}
    for slot, row in running.items():
        token_ids = read[slot] = row.begin_request(batch, slot)
        assert row.request is not None, "it has begun"
        if row.request.positions > 1:
            answers[slot] = _read_last(batch, slot, token_ids, row.request.positions)
        else:
            requests[slot], wanted[slot] = token_ids, row.request.rows
    try:
        if requests:
            if together is not None:
                answers |= _read_together(running, together, requests, wanted)
            else:
                answers |= batch.extend(requests) if narrow is None else narrow.extend_rows(requests, wanted)
    except (SfgenError, MemoryError) as error:
        answers |= dict.fromkeys(requests, as_sfgen_error(error, "the text"))
    for slot, row in running.items():
        row.answer = answers[slot]
        if isinstance(row.answer, SfgenError):  # the loop ends, and nobody knows how much was read
            batch.rewind(slot, 0)
            row.read = []
        else:
            row.read += read[slot]


def _read_together(
    running: Mapping[int, _Row[Told]],
    batch: BatchScoresTogether,
    requests: Mapping[int, Sequence[int]],
    wanted: Mapping[int, Int32 | None],
) -> Mapping[int, Answer | RowAnswer]:
    """Read tokens in several rows, whose scores lie in one table, and choose the next tokens."""
    slots, table, others = batch.extend_together(requests, wanted)
    choices = [_choice_of(running[slot]) for slot in slots]
    answers: dict[int, Answer | RowAnswer] = dict(others)
    for slot, answer in zip(slots, choose_all(table, choices), strict=True):
        request, scores = running[slot].request, None
        if request is None or request.choose is None:  # scores are all that was asked for
            scores = answer.row.on_host()
        answers[slot] = answer if scores is None else scores
    return answers


def choose_all(table: Any, choices: Sequence[Choice | None]) -> list[RowAnswer]:
    """Choose a token for each row of a table that has a choice.

    Args:
        table: Scores, float ``[rows, vocabulary]``: a numpy array, or a tensor on a device.
        choices: By row; ``None``: nothing is chosen.
    """
    rows: list[ScoreRow]
    pairs = [(row, choice) for row, choice in enumerate(choices) if choice is not None and _fits(choice, table)]
    wanted, asked = [row for row, _ in pairs], [choice for _, choice in pairs]
    found: list[Chosen | None] = [None] * len(choices)
    if isinstance(table, np.ndarray):
        rows = [HostRow(scores) for scores in table]
        made = choose_in_table(table, wanted, asked)
    else:
        from sfgen.decoding.choice_device import DeviceRow, choose_on_device

        rows = [DeviceRow(scores) for scores in table]
        made = choose_on_device(table, wanted, asked)
    for row, chosen in zip(wanted, made, strict=True):
        found[row] = chosen
    return [RowAnswer(*each) for each in zip(rows, found, choices, strict=True)]


def _fits(choice: Choice, table: Any) -> bool:
    """Return whether all tokens of a mask have scores; the loop refuses other tables."""
    size = int(table.shape[1])
    is_within = size % 32 == 0 or not int(choice.mask[-1]) >> size % 32
    return choice.mask.size == (size + 31) // 32 and is_within and not choice.is_weighed


def _choice_of(row: _Row[Told]) -> Choice | None:
    """Return a row's choice of its next token; ``None``: it wants scores alone, or its loop is about to fail."""
    assert row.request is not None, "it asks"
    try:
        return None if row.request.choose is None else row.request.choose()
    except Exception:  # made during the forward pass: the loop comes upon the same error
        return None


def _shared(before: Sequence[int], token_ids: Sequence[int], positions: int = 1) -> int:
    """Count the tokens of a prompt that a row has read already, all but the last ones, whose scores are wanted."""
    most = min(len(before), max(0, len(token_ids) - positions))
    different = (at for at in range(most) if before[at] != token_ids[at])
    shared = next(different, most)
    return shared if shared >= LEAST_SHARED else 0


def _continues(shared: int, read: Sequence[int], prompt: Sequence[int]) -> bool:
    """Return whether a prompt goes on with what a row has read, or asks for another answer to it."""
    return shared > 0 and (2 * shared > len(read) or 4 * shared >= 3 * len(prompt))


def _read_last(batch: Batch, row: int, token_ids: Sequence[int], positions: int) -> Answer:
    """Read tokens in one row; return the scores after the last of them, float ``[positions, vocabulary]``."""
    try:
        if isinstance(batch, BatchScoresLast):
            return batch.extend_last(row, token_ids, positions)
        if isinstance(batch, BatchScoresEverywhere):
            answer = batch.extend_all(row, token_ids)
            return answer if isinstance(answer, SfgenError) else last_of_all(answer, len(token_ids), positions)
        scores = []
        for part in last_in_parts(token_ids, positions):
            answer = batch.extend({row: part})[row]
            if isinstance(answer, SfgenError):
                return answer
            scores.append(answer)
    except (SfgenError, MemoryError) as error:
        return as_sfgen_error(error, "the text")
    return np.stack(scores)
