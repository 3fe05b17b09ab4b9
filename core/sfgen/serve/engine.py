"""One model's engine: a thread that writes the texts of all requests as the rows of one batch.

A requested text waits in a bounded queue. A free row takes the first one at once, while the other rows go on. Each
event of a text goes to the event loop of its request. A text whose client has left, or that has taken too long, ends
before the next forward pass, and its row is free. The row keeps the tokens that it has read, so that a next request of
the same conversation continues from there.

The batch is that of jobs (``sfgen.decoding.drive_batch``), so a request and a job get the same text, if the model gives
the same scores in every batch (``cli/guides/equal-results.md``; llama.cpp's quantised models do not). A fault in a text
ends that text. A fault of the model ends the texts of that forward pass; later texts get a new batch.

A step outside of the model, such as the token mask of a grammar that can be read in very many ways, may take seconds.
The first steps under a constraint, and those after a slow step, are made in another thread, and the other texts go on.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from functools import cache
from typing import Any, Protocol, TypeAlias

from sfgen.decoding import Finished, batch_of, drive_batch
from sfgen.decoding.events import Ask, AskAgain, Event
from sfgen.decoding.loop import Loop
from sfgen.errors import GenerationError, InternalError, SfgenError, UsageError
from sfgen.protocols import Model, Scores

_MOST_RETRY = 600
_MOST_STEP = 60  # seconds that the end waits for one step
_NEW = 0.2  # the weight of the last finished text in the mean duration of texts
_PATIENCE = 0.01  # seconds that the other texts wait for a step in another thread
_SLOW = 0.03  # seconds from which on a step is slow
_FIRST = 4  # first steps under a constraint that another thread makes; later ones cost less in this thread
_WARY = 32  # steps in another thread after a slow one
_SLOW_AT_ONCE = 64  # steps in other threads; those of abandoned texts run to their end

Step: TypeAlias = Ask | AskAgain | Event


class Busy(SfgenError):
    """More texts wait than the engine keeps.

    Attributes:
        retry_after: Seconds until the texts that wait now will have rows, if texts take as long as before.
    """

    def __init__(self, waiting: int, retry_after: int, what: str = "texts") -> None:
        self.retry_after = retry_after
        super().__init__(f"{waiting} {what} are waiting already", hint=f"Ask again in {retry_after} seconds.")


class TooManyTexts(UsageError):
    """A request for more texts than the engine ever keeps."""

    def __init__(self, texts: int, most: int) -> None:
        super().__init__(
            f"the request asks for {texts} texts, and this server keeps at most {most}",
            hint="Lower n, or give fewer prompts.",
        )


class Stopping(SfgenError):
    """The server takes no further requests."""

    def __init__(self) -> None:
        super().__init__("the server is stopping", hint="Ask another one, or ask again later.")


class TooSlow(GenerationError):
    """A text that took longer than a request may."""

    def __init__(self, what: str, seconds: float, hint: str = "Ask for a shorter text.") -> None:
        super().__init__(f"{what} took longer than {seconds:g} seconds", hint=hint)


class SlowMask(TooSlow):
    """A constraint with a token mask that took too long."""

    def __init__(self, seconds: float) -> None:
        super().__init__("a token mask", seconds, "Use a constraint with fewer ways to read the same text.")


class Counts(Protocol):
    """Counts the results of a text."""

    def told(self, event: Event) -> None:
        """Take an event of the text that its request has received."""

    def failed(self, error: SfgenError | None) -> None:
        """Take the error that has ended the text; ``None``: its client has left."""


class RunningText:
    """One text of a request, from the queue to its end.

    Args:
        loop: The decode loop, made by ``sfgen.decoding.prepare``.
        seconds: The most time that it may take, waiting included; ``None``: no limit.
        mask_seconds: The most time of one step outside of the model, such as a token mask; ``None``: no limit.
        counts: Receives its events.
    """

    def __init__(
        self,
        loop: Loop,
        seconds: float | None = None,
        mask_seconds: float | None = None,
        counts: Counts | None = None,
    ) -> None:
        self.prompt_ids: Sequence[int] = loop.prompt_ids
        self.begun: float | None = None  # when it took a row
        self.is_over = False  # whether its row is free; set by the engine's thread
        self._text = loop
        self._seconds, self._mask_seconds = seconds, mask_seconds
        self._counts = counts
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self._listener = asyncio.get_running_loop()
        self._told: deque[Event | SfgenError] = deque()
        self._has_told = asyncio.Event()
        self._is_waking = False  # whether the listener was woken and has not yet taken the events
        self._is_left = threading.Event()
        self._wary = _FIRST if getattr(loop, "constrained", True) else 0  # next steps that another thread makes
        self._awaited: Future[Step | None] | None = None  # the current one of these steps, until it is done

    async def events(self) -> AsyncIterator[Event]:
        """Yield the events of the text.

        Raises:
            SfgenError: The error that ended it.
        """
        timer = None
        if self._deadline is not None:  # it may be in the queue, or in a long step, and end only later
            late = TooSlow("the request", self._seconds or 0)
            timer = self._listener.call_later(max(0, self._deadline - time.monotonic()), self.tell, late)
        has_ended, error = False, None
        try:
            while True:
                while self._told:
                    told = self._told.popleft()
                    if isinstance(told, SfgenError):
                        error = told
                        raise told
                    has_ended = isinstance(told, Finished)
                    if self._counts is not None:
                        self._counts.told(told)
                    yield told
                    if has_ended:
                        return
                self._has_told.clear()
                await self._has_told.wait()
        finally:
            if self._counts is not None and not has_ended:
                self._counts.failed(error)
            self.leave()
            if timer is not None:
                timer.cancel()

    def leave(self) -> None:
        """Abandon the text: it ends before its next forward pass, if it has not ended."""
        self._is_left.set()

    @property
    def is_left(self) -> bool:
        """Whether it was abandoned."""
        return self._is_left.is_set()

    def tell(self, told: Event | SfgenError) -> None:
        """Pass an event or the error to the request; from any thread."""
        self._told.append(told)
        if self._is_waking:
            return
        self._is_waking = True  # before the call, so that later events are seen by it
        try:
            self._listener.call_soon_threadsafe(self._wake)
        except RuntimeError:  # the event loop is closed
            self._is_left.set()

    def _wake(self) -> None:
        self._is_waking = False
        self._has_told.set()

    def run(self) -> Generator[Step | Future[Any], Scores | None, Any]:
        """Run the loop as it would run alone, until it is abandoned or its time is over."""
        steps = self._text.run()
        answer: Scores | None = None
        try:
            while not self.is_left:
                step = yield from self._next(steps, answer)
                if step is None:
                    return
                answer = yield step
        finally:
            self.is_over = True
            if self._awaited is None:
                steps.close()
            else:  # another thread is executing the loop
                self._awaited.add_done_callback(lambda _: steps.close())

    def _next(
        self, steps: Generator[Step, Scores | None, Any], answer: Scores | None
    ) -> Generator[Future[Any], Scores | None, Step | None]:
        """Return the next step, and yield while another thread makes it; ``None``: there is none."""
        self._check_time()
        begun = time.monotonic()
        if self._wary:
            awaited = self._awaited = _threads().submit(_step, steps, answer)
            try:
                step = awaited.result(_PATIENCE)
            except NotYet:
                while not awaited.done():
                    if self.is_left:
                        return None
                    self._check_time()
                    self._check_step(begun)
                    yield awaited
                step = awaited.result()
            self._awaited = None
        else:
            step = _step(steps, answer)
        self._wary = _WARY if time.monotonic() - begun > _SLOW else max(0, self._wary - 1)
        self._check_step(begun)
        return step

    def _check_time(self) -> None:
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise TooSlow("the request", self._seconds or 0)

    def _check_step(self, begun: float) -> None:
        if self._mask_seconds is not None and time.monotonic() - begun > self._mask_seconds:
            raise SlowMask(self._mask_seconds)


def _step(steps: Generator[Step, Scores | None, Any], answer: Scores | None) -> Step | None:
    """Go on to the next step; ``None``: there is none."""
    try:
        return steps.send(answer)
    except StopIteration:
        return None
    except (SfgenError, MemoryError):
        raise
    except Exception as error:  # a fault of this text alone
        raise InternalError(f"{type(error).__name__}: {error}") from error


@cache
def _threads() -> ThreadPoolExecutor:
    """The threads that make slow steps, of all engines."""
    return ThreadPoolExecutor(_SLOW_AT_ONCE, "sfgen-slow")


class Engine:
    """The thread that generates the texts of one model.

    Args:
        model: The model; only the thread asks it for scores.
        rows: The most texts that are written at once.
        max_waiting: The most texts that wait; one more is refused.

    Attributes:
        rows: As given.
    """

    def __init__(self, model: Model, rows: int, max_waiting: int) -> None:
        self.rows = rows
        self._model = model
        self._max_waiting = max_waiting
        # All of these are guarded by the lock; only the thread changes `_running`.
        self._changed = threading.Condition()
        self._line: deque[RunningText] = deque()
        self._running: dict[int, RunningText] = {}  # by their numbers in the batch
        self._is_stopping = False
        self._failure: BaseException | None = None
        self._mean: float | None = None  # mean seconds that a text has a row
        self._thread = threading.Thread(target=self._run, name="sfgen-engine", daemon=True)
        self._thread.start()

    # ---- called from other threads ---------------------------------------------------------------------------------

    def put(self, texts: Sequence[RunningText]) -> None:
        """Put texts into the queue: all of them, or none.

        Raises:
            TooManyTexts: They are more than the queue can hold.
            Busy: Too many texts are waiting.
            Stopping: The engine is stopping.
            InternalError: The engine has failed.
        """
        most = self._max_waiting + self.rows
        if len(texts) > most:
            raise TooManyTexts(len(texts), most)
        with self._changed:
            self.check()
            if self._is_stopping:
                raise Stopping
            self._forget_left()
            if len(self._line) + len(texts) > self._max_waiting + self.rows - self._rows_taken():
                raise Busy(len(self._line), self._retry_after())
            self._line.extend(texts)
            self._changed.notify()

    def check(self) -> None:
        """Raise the error that has ended the engine, if one has.

        Raises:
            InternalError: The engine has failed.
        """
        with self._changed:
            if self._failure is not None:
                raise InternalError(f"the engine has failed: {self._failure}")

    @property
    def load(self) -> tuple[int, int]:
        """The number of texts with rows, and of those that wait."""
        with self._changed:
            self._forget_left()
            return self._rows_taken(), len(self._line)

    def stop(self, grace: float) -> bool:
        """Take no further texts, and let waiting and running ones finish.

        Args:
            grace: The seconds after which the others are ended.

        Returns:
            Whether all have finished by themselves.
        """
        self.close()
        self._thread.join(grace)
        is_over = not self._thread.is_alive()
        with self._changed:
            for text in [*self._line, *self._running.values()]:
                text.tell(Stopping())
                text.leave()
            self._line.clear()
            self._changed.notify()
        self._thread.join(_MOST_STEP)
        return is_over

    def close(self) -> None:
        """Take no further texts."""
        with self._changed:
            self._is_stopping = True
            self._changed.notify()

    # ---- with the lock ---------------------------------------------------------------------------------------------

    def _rows_taken(self) -> int:
        return sum(not text.is_over for text in self._running.values())

    def _retry_after(self) -> int:
        """The seconds until the waiting texts will have rows."""
        seconds = (self._mean or 0) * max(1, len(self._line)) / self.rows
        return min(_MOST_RETRY, max(1, math.ceil(seconds)))

    def _forget_left(self) -> None:
        """Remove abandoned texts from the queue; one with a row frees it itself."""
        if any(text.is_left for text in self._line):
            self._line = deque(text for text in self._line if not text.is_left)

    def _forget_over(self) -> None:
        """Remove texts whose rows are free from the running ones."""
        now = time.monotonic()
        for number in [number for number, text in self._running.items() if text.is_over]:
            begun = self._running.pop(number).begun or now
            self._mean = now - begun if self._mean is None else (1 - _NEW) * self._mean + _NEW * (now - begun)

    # ---- the thread ------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while self._has_text():
                try:
                    self._write()
                except Exception as error:  # of the model or of the batch: the texts of this pass end
                    self._fail(error)
        except BaseException as error:  # no request may wait for ever
            with self._changed:
                self._failure = error
            self._fail(error)

    def _has_text(self) -> bool:
        """Wait until the queue has a text; false if there will be none."""
        with self._changed:
            self._forget_left()
            while not self._line:
                if self._is_stopping:
                    return False
                self._changed.wait()
                self._forget_left()
            return True

    def _write(self) -> None:
        """Write texts in one batch until the engine stops."""
        told: Iterator[tuple[int, Event | SfgenError]]
        told = drive_batch(self._texts(), batch_of(self._model, self.rows), self.rows, keep=True)
        for number, event in told:
            self._running[number].tell(event)

    def _fail(self, error: BaseException) -> None:
        """End the running texts with an error; if none could begin, the waiting ones."""
        with self._changed:
            texts = list(self._running.values())
            if not self._running or self._failure is not None:
                texts += self._line
                self._line.clear()
            for text in texts:
                text.is_over = True
                text.tell(InternalError(f"the model has failed: {type(error).__name__}: {error}"))
            self._running.clear()

    def _texts(self) -> Iterator[RunningText | None]:
        """The texts in the order in which they take rows; ``None``: none waits, but others run."""
        number = 0
        while True:
            with self._changed:
                self._forget_over()
                self._forget_left()
                if not self._line and not self._running and not self._has_text():
                    return
                text = self._line.popleft() if self._line else None
                if text is not None:
                    text.begun = time.monotonic()
                    self._running[number] = text
                    number += 1
            yield text
