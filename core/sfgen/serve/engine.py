"""One model's engine: a thread that writes the texts of all requests as the rows of one batch.

A text that is asked for waits in a bounded line. A row that is free takes the first one at once, in the middle of a
round; the others go on. Each event of a text goes to the event loop of whoever asked for it. A text that nobody waits
for any more, or that has taken too long, ends before the next forward pass, and its row is free.

The batch is the one that jobs run (``sfgen.decoding.drive_batch``), so that a text is the same whoever asks for it.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Generator, Iterator, Sequence
from typing import Any

from sfgen.decoding import Finished, batch_of, drive_batch
from sfgen.decoding.events import Ask, AskAgain, Event
from sfgen.decoding.loop import Loop
from sfgen.errors import GenerationError, InternalError, SfgenError
from sfgen.protocols import Model, Scores


class Busy(SfgenError):
    """More texts wait than the engine keeps.

    Attributes:
        retry_after: Seconds after which a row may be free, for the answer to the client.
    """

    def __init__(self, waiting: int, retry_after: int) -> None:
        self.retry_after = retry_after
        super().__init__(f"{waiting} texts are waiting already", hint=f"Ask again in {retry_after} seconds.")


class Stopping(SfgenError):
    """The server takes no further requests."""

    def __init__(self) -> None:
        super().__init__("the server is stopping", hint="Ask another one, or ask again later.")


class TooSlow(GenerationError):
    """A text that took longer than a request may."""

    def __init__(self, what: str, seconds: float) -> None:
        super().__init__(f"{what} took longer than {seconds:g} seconds", hint="Ask for a shorter text.")


class RunningText:
    """One text of a request, from the line to its end.

    Args:
        loop: What ``sfgen.decoding.prepare`` made.
        seconds: The time that it may take, waiting included; ``None``: any.
        mask_seconds: The time that one step of it may take beside the model, such as a token mask; ``None``: any.
    """

    def __init__(self, loop: Loop, seconds: float | None = None, mask_seconds: float | None = None) -> None:
        self.prompt_ids: Sequence[int] = loop.prompt_ids
        self._text = loop
        self._seconds, self._mask_seconds = seconds, mask_seconds
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self._told: asyncio.Queue[Event | SfgenError] = asyncio.Queue()
        self._listener = asyncio.get_running_loop()
        self._is_left = threading.Event()

    async def events(self) -> AsyncIterator[Event]:
        """Yield the events of the text.

        Raises:
            SfgenError: Whatever ended it.
        """
        try:
            while True:
                told = await self._told.get()
                if isinstance(told, SfgenError):
                    raise told
                yield told
                if isinstance(told, Finished):
                    return
        finally:
            self.leave()

    def leave(self) -> None:
        """End the text before its next forward pass, if it has not ended: nobody waits for it."""
        self._is_left.set()

    @property
    def is_left(self) -> bool:
        """Whether nobody waits for it."""
        return self._is_left.is_set()

    def tell(self, told: Event | SfgenError) -> None:
        """Hand an event or the error to whoever waits; from any thread."""
        try:
            self._listener.call_soon_threadsafe(self._told.put_nowait, told)
        except RuntimeError:  # the event loop is closed
            self._is_left.set()

    def run(self) -> Generator[Ask | AskAgain | Event, Scores | None, Any]:
        """Run the loop as it would run alone, as long as somebody waits and there is time."""
        steps = self._text.run()
        answer: Scores | None = None
        try:
            while not self.is_left:
                if self._deadline is not None and time.monotonic() > self._deadline:
                    raise TooSlow("the request", self._seconds or 0)
                begun = time.monotonic()
                try:
                    step = steps.send(answer)
                except StopIteration:
                    return
                except (SfgenError, MemoryError):
                    raise
                except Exception as error:  # a fault, which concerns this text alone
                    raise InternalError(f"{type(error).__name__}: {error}") from error
                if self._mask_seconds is not None and time.monotonic() - begun > self._mask_seconds:
                    raise TooSlow("a token mask", self._mask_seconds)
                answer = yield step
        finally:
            steps.close()


class Engine:
    """The thread of one model.

    Args:
        model: The model; only the thread asks it for scores.
        rows: The most texts that are written at once.
        max_waiting: The most texts that wait; one more is refused.

    Attributes:
        rows: The same.
    """

    def __init__(self, model: Model, rows: int, max_waiting: int) -> None:
        self.rows = rows
        self._model = model
        self._max_waiting = max_waiting
        self._line: deque[RunningText] = deque()
        self._running: dict[int, RunningText] = {}
        self._changed = threading.Condition()
        self._is_stopping = False
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="sfgen-engine", daemon=True)
        self._thread.start()

    # ---- asked from other threads ----------------------------------------------------------------------------------

    def put(self, texts: Sequence[RunningText]) -> None:
        """Let texts wait for rows: all of them, or none.

        Raises:
            Busy: Too many wait.
            Stopping: The engine takes none any more.
            InternalError: The engine has failed.
        """
        with self._changed:
            if self._failure is not None:
                raise InternalError(f"the engine has failed: {self._failure}")
            if self._is_stopping:
                raise Stopping
            self._forget_left()
            free = self.rows - len(self._running)
            if len(self._line) + len(texts) > self._max_waiting + max(0, free):
                raise Busy(len(self._line), 1)
            self._line.extend(texts)
            self._changed.notify()

    @property
    def load(self) -> tuple[int, int]:
        """How many texts are written, and how many wait."""
        with self._changed:
            return len(self._running), len(self._line)

    def stop(self, grace: float) -> bool:
        """Take no further texts, and let those that wait or run end.

        Args:
            grace: Seconds after which they are ended.

        Returns:
            Whether all have ended by themselves.
        """
        with self._changed:
            self._is_stopping = True
            self._changed.notify()
        self._thread.join(grace)
        is_over = not self._thread.is_alive()
        with self._changed:
            for text in [*self._line, *self._running.values()]:
                text.tell(Stopping())
                text.leave()
            self._changed.notify()
        self._thread.join(grace)
        return is_over

    # ---- the thread ------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            told: Iterator[tuple[int, Event | SfgenError]]
            told = drive_batch(self._texts(), batch_of(self._model, self.rows), self.rows, keep=True)
            for number, event in told:
                text = self._running.get(number)
                if text is not None:
                    text.tell(event)
                if isinstance(event, Finished | SfgenError):
                    self._end(number)
        except BaseException as error:  # a fault: nobody may wait for ever
            with self._changed:
                self._failure = error
                for text in [*self._line, *self._running.values()]:
                    text.tell(InternalError(f"the engine has failed: {error}"))
                self._line.clear()
                self._running.clear()

    def _texts(self) -> Iterator[RunningText | None]:
        """The texts in the order in which they take rows; ``None``: none waits, and others run."""
        number = 0
        while True:
            with self._changed:
                self._forget_left()
                while not self._line and not self._running:
                    if self._is_stopping:
                        return
                    self._changed.wait()
                    self._forget_left()
                text = self._line.popleft() if self._line else None
                if text is not None:
                    self._running[number] = text
                    number += 1
            yield text

    def _forget_left(self) -> None:
        """Take out of the line, and out of what runs, the texts that nobody waits for."""
        self._line = deque(text for text in self._line if not text.is_left)
        for number in [number for number, text in self._running.items() if text.is_left]:
            del self._running[number]

    def _end(self, number: int) -> None:
        with self._changed:
            self._running.pop(number, None)
