"""Generation beside an event loop of asyncio: each text is made in a thread of its own.

The thread does all the work, from loading the model on, and hands the events over; the event loop only waits. The texts
of one model are made one after the other, in the order in which they were asked for: each has the scores that it would
have alone, and so the same result. A text goes on while its events wait to be read: a task that asks for another text
between two events does not block itself.
"""

from __future__ import annotations

import contextvars
import os
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable, Hashable, Iterator, Mapping
from contextlib import aclosing, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from sfgen.decoding.config import GenerationConfig, configured, takes_fields
from sfgen.decoding.events import Event, Finished, Result
from sfgen.decoding.generation import stream
from sfgen.decoding.plain_forms import model_of
from sfgen.errors import InternalError
from sfgen.models.messages import Prompt
from sfgen.protocols import Model


@takes_fields(GenerationConfig)
async def astream(
    model: Model | str | Path, prompt: Prompt, config: GenerationConfig | None, changes: Mapping[str, Any]
) -> AsyncGenerator[Event, None]:
    """Generate one text in a thread, event by event.

    It takes what ``stream`` takes, and yields and raises the same: ``async for event in sfgen.astream("tiny", "Hi")``.
    Texts of one model are made one after the other. If the iteration is cancelled or closed, the text ends after the
    current token, and the model is free. A loop that is left by ``break`` is closed by ``contextlib.aclosing``, or when
    nothing refers to the iterator any more.

    Args:
        model: As of ``stream``; one that is named is loaded in the thread.
        prompt: As of ``stream``.
        config: As of ``stream``; its parameters can be given by name, too.

    Yields:
        As ``stream``.

    Raises:
        SfgenError: As ``stream``, all of them at the first event.
    """
    text = _Text(model, partial(_events, model, prompt, config, changes, hold=False))
    async with aclosing(text.events()) as events:
        async for event in events:
            yield event


@takes_fields(GenerationConfig)
async def agenerate(
    model: Model | str | Path, prompt: Prompt, config: GenerationConfig | None, changes: Mapping[str, Any]
) -> Result:
    """Generate one text in a thread.

    It takes what ``generate`` takes, and returns and raises the same: ``await sfgen.agenerate("tiny", "Hi")``. Texts of
    one model are made one after the other. If it is cancelled, the text ends after the current token, and the model is
    free.

    Args:
        model: As of ``generate``; one that is named is loaded in the thread.
        prompt: As of ``generate``.
        config: As of ``generate``; its parameters can be given by name, too.

    Returns:
        The result, as of ``generate``.

    Raises:
        SfgenError: As ``generate``.
        InternalError: As ``generate``: a fault of sfgen.
    """
    text = _Text(model, partial(_events, model, prompt, config, changes, hold=True))
    async with aclosing(text.events()) as events:
        async for event in events:
            if isinstance(event, Finished):
                return event.result
    raise InternalError("generation ended without a result")


def _events(
    model: Model | str | Path,
    prompt: Prompt,
    config: GenerationConfig | None,
    changes: Mapping[str, Any],
    *,
    hold: bool,
) -> Iterator[Event]:
    model = model_of(model)
    config = configured(config, changes)
    return stream(model, prompt, replace(config, hold=True) if hold else config)


class _Text:
    """A text that a thread makes, for one coroutine."""

    def __init__(self, model: Model | str | Path, make: Callable[[], Iterator[Event]]) -> None:
        self.model = model
        self._make = make
        self._is_cancelled = threading.Event()
        self._thread: threading.Thread | None = None

    async def events(self) -> AsyncGenerator[Event, None]:
        """Yield the events of the thread; in any case the thread has ended afterwards."""
        import asyncio  # 25 ms, which a program without an event loop need not wait

        self._loop = asyncio.get_running_loop()
        self._told: asyncio.Queue[Event | BaseException | None] = asyncio.Queue()
        self._context = contextvars.copy_context()
        _join_line(self)
        is_over = False
        try:
            while (told := await self._told.get()) is not None:
                if isinstance(told, BaseException):
                    raise told
                yield told
            is_over = True
        finally:
            self._is_cancelled.set()
            if not _leave_before_turn(self):
                while not is_over:
                    is_over = await self._told.get() is None
                if self._thread is not None:
                    self._thread.join()  # it has nothing left to do

    def begin(self) -> None:
        """Start the thread: it is the text's turn."""
        thread = threading.Thread(target=self._context.run, args=(self._run,), name="sfgen-text", daemon=True)
        try:
            self._thread = thread
            thread.start()
        except RuntimeError as error:  # the system starts no further thread
            self._thread = None
            self._tell(error)
            _end_turn(self)
            self._tell(None)

    def _run(self) -> None:
        try:
            self._make_text()
        except BaseException as error:  # the coroutine raises it
            self._tell(error)
        finally:
            _end_turn(self)
            self._tell(None)

    def _make_text(self) -> None:
        if self._is_cancelled.is_set():
            return
        events = self._make()
        for event in events:
            self._tell(event)
            if self._is_cancelled.is_set():
                return

    def _tell(self, told: Event | BaseException | None) -> None:
        with suppress(RuntimeError):  # the event loop is closed: nobody listens
            self._loop.call_soon_threadsafe(self._told.put_nowait, told)


# ---- turns -----------------------------------------------------------------------------------------------------------

_lines: dict[Hashable, deque[_Text]] = {}
"""The texts of each model, in the order in which they were asked for; the first one is being made."""

_lock = threading.Lock()


def _forget_turns() -> None:
    """Forget all texts in a forked process, which does not have their threads."""
    global _lock
    _lock = threading.Lock()
    _lines.clear()


if hasattr(os, "register_at_fork"):  # there is none on Windows, which forks no process
    os.register_at_fork(after_in_child=_forget_turns)


def _key(text: _Text) -> Hashable:
    """Return a key of texts that are made one after the other; a model lives as long as its texts."""
    return str(text.model) if isinstance(text.model, str | Path) else id(text.model)


def _join_line(text: _Text) -> None:
    """Begin a text, or put it into the queue of its model."""
    with _lock:
        line = _lines.setdefault(_key(text), deque())
        line.append(text)
        is_first = len(line) == 1
    if is_first:
        text.begin()


def _leave_before_turn(text: _Text) -> bool:
    """Take a text out of its line; false if its turn has come before."""
    with _lock:
        line = _lines.get(_key(text), deque())
        if text not in line or line[0] is text:
            return False
        line.remove(text)
        return True


def _end_turn(text: _Text) -> None:
    """Begin the text after one that has ended."""
    with _lock:
        line = _lines[_key(text)]
        line.popleft()
        if not line:
            del _lines[_key(text)]
        following = line[0] if line else None
    if following is not None:
        following.begin()
