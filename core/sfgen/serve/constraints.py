"""Compile the constraints and bans of requests in other processes, and keep them.

A process of a pool compiles a constraint in bounded time and memory, so that no other request waits for it, even if it
takes a minute or is refused. The process returns a compiled form, and only the parts that depend on the vocabulary are
made here. Short constraints have a process of their own, and do not wait for large ones. Only short lists of choices
and small patterns are compiled here: that takes less time than asking a process.

These processes also compile bans, except for a few words and texts, and take banned words out of constraints. Each
result is made once, even for many requests at a time, and is kept by its digest; the least recently used ones are
dropped beyond a number of bytes. When no request waits for a result any more, its process ends. All processes start
with the server, so that the first request need not wait for that.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import pickle
import signal
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Coroutine, Hashable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooLong
from contextlib import suppress
from functools import partial
from hashlib import sha256
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

from pebble import ProcessExpired, ProcessPool

from sfgen.ban.difference import Start
from sfgen.compiled_form import CompiledForm, of_compiled_form
from sfgen.errors import GenerationError, OutOfMemory, SfgenError
from sfgen.index import DfaIndex, Index
from sfgen.jobs.own_jobs import size_of
from sfgen.jobs.prompt_record import OwnConstraint
from sfgen.protocols import Model
from sfgen.serve import compile_worker
from sfgen.serve.engine import Busy, Stopping
from sfgen.serve.request_threads import in_request_thread
from sfgen.vocabulary import Vocabulary

if TYPE_CHECKING:
    from concurrent.futures import Future

    from sfgen.ban import BannedWords
    from sfgen.serve.compile_worker import Ban

Made = TypeVar("Made")

LARGE = 256
"""The number of characters from which on a constraint or a ban counts as large."""

MOST_UNDER_WAY = 64
"""The most constraints that are being compiled or wait for that."""

WORKERS = {True: 2, False: 1}
"""The number of processes for large constraints, and for short ones."""

WORKER_BYTES = 2**31
NICE = 10
"""The niceness of these processes: if processors are scarce, texts are written first."""

FORMS = 2
"""The memory of a constraint, as a multiple of its compiled form: arrays are views of the form, and states have tables
beside."""

_NOTHING = 1024  # bytes that are assumed for a result without an index

REFUSED_KEPT = 1024
REFUSED_BYTES = 2**14  # the most bytes of an error that is kept; a larger one is made again
REFUSED_SECONDS = 60.0  # errors are dropped after this time, since time and memory depend on the moment

Key: TypeAlias = tuple[Hashable, ...]


def _key(own: OwnConstraint, vocabulary: Vocabulary) -> Key:
    return vocabulary.fingerprint, sha256(f"{own.kind} {own.numbers} {own.written}".encode()).digest()


def _names(own: OwnConstraint, vocabulary: Vocabulary) -> tuple[str, ...]:
    """The names of special tokens, for tool calls: in some models calls contain special tokens."""
    return tuple(vocabulary.names.values()) if own.kind == "tools" else ()


class CompileTimeout(GenerationError):
    """A constraint that takes longer to compile than a request allows."""

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"the constraint takes longer than {seconds:g} seconds to compile",
            hint="Use a smaller constraint: smaller counts, fewer rules, fewer alternatives.",
        )


class _Making:
    """A result that is being compiled, and the number of requests that wait for it."""

    def __init__(self) -> None:
        self.task: asyncio.Task[Any]
        self.begun = time.monotonic()
        self.waiters = 0
        self.needs_worker = True
        self.nbytes = 0  # memory of its compiled form and of the constraint made from it


class Constraints:
    """The constraints of all requests of a server, compiled once each.

    Its methods, except ``close``, are for one event loop.

    Args:
        seconds: The time for compiling one, and for taking banned words out of it.
        most_bytes: The most memory of constraints that are kept, by an estimate.
        compiled: Called with the seconds that each one took, refused ones included.

    Attributes:
        made: The number of constraints that were made.
    """

    def __init__(
        self, seconds: float, most_bytes: int, compiled: Callable[[float], None] = lambda seconds: None
    ) -> None:
        self.made = 0
        self._compiled = compiled
        self._seconds = seconds
        self._most_bytes = most_bytes
        self._kept: OrderedDict[Key, tuple[Any, int]] = OrderedDict()  # each with its bytes
        self._bytes = 0
        self._refused: OrderedDict[Key, tuple[bytes, float]] = OrderedDict()  # pickled errors, each with its time
        self._under_way: dict[Key, _Making] = {}
        self._quick = ThreadPoolExecutor(1, "sfgen-compile")
        self._slow = ThreadPoolExecutor(1, "sfgen-compile-large")
        self._context = _context()  # the imports of its processes begin now
        self._workers: dict[bool, ProcessPool] = {}  # the pools for large and for short constraints
        self._pools: dict[bool, asyncio.Task[ProcessPool]] = {}  # the same, once they have started
        self._is_closed = False
        self._closing = threading.Lock()

    @property
    def nbytes(self) -> int:
        """The memory of constraints that are kept."""
        return self._bytes

    def begin(self) -> None:
        """Start the processes, so that the first request need not wait for them."""
        for is_large in WORKERS:
            self._pool(is_large).add_done_callback(lambda task: task.cancelled() or task.exception())

    async def of(self, own: OwnConstraint, vocabulary: Vocabulary) -> Index:
        """Return the guides of a constraint over a vocabulary.

        Raises:
            CompileTimeout: It takes too long.
            OutOfMemory: It takes too much memory.
            Busy: Too many others are compiled.
            SfgenError: It cannot be read or compiled.
        """
        return await self._once(_key(own, vocabulary), lambda making: self._make(making, own, vocabulary))

    async def banned(self, ban: Ban) -> BannedWords:
        """Return banned words and patterns, compiled.

        Raises:
            CompileTimeout: They take too long.
            OutOfMemory: They take too much memory.
            Busy: Too many others are compiled.
            SfgenError: One of them cannot be read, or bans everything.
        """
        if ban.length < LARGE and all(map(compile_worker.is_quick, ban.patterns)):
            return await in_request_thread(ban.compiled)
        return await self._once((ban.digest,), lambda making: self._ban(making, ban))

    async def without(self, own: OwnConstraint, ban: Ban, start: Start, index: Index) -> Index | None:
        """Return the guides of a constraint without banned words, for texts after a prompt.

        ``None``: they cannot be taken out, so a matcher must check the text. The ``index`` of the constraint itself:
        none of its texts has a banned word.

        Raises:
            CompileTimeout: It takes too long.
            OutOfMemory: It takes too much memory.
            Busy: Too many others are compiled.
            BannedWordsError: Every text has a banned word.
        """
        key = *_key(own, index.vocabulary), ban.digest, start.state
        return await self._once(key, lambda making: self._clean(making, own, ban, start, index))

    async def rehearsed(
        self, own: OwnConstraint, ban: Ban, vocabulary: Vocabulary
    ) -> tuple[Index, BannedWords, Index | None]:
        """Return a constraint, a ban, and the constraint without it, made as for requests, but neither kept nor
        counted.

        Raises:
            SfgenError: As ``without``.
        """
        index, banned = await self._make(_Making(), own, vocabulary), await self._ban(_Making(), ban)
        return index, banned, await self._clean(_Making(), own, ban, Start(banned, b""), index)

    async def _once(self, key: Key, make: Callable[[_Making], Coroutine[Any, Any, Made]]) -> Made:
        """Return a kept result, or make it once for all requests."""
        if key in self._kept:
            return cast("Made", self._used(key))
        self._refuse_again(key)
        making = self._under_way.get(key) or self._begin(key, make)
        making.waiters += 1
        try:
            return cast("Made", await asyncio.shield(making.task))
        except asyncio.CancelledError:
            if making.task.cancelled() and self._is_closed:
                raise Stopping from None
            raise
        finally:
            making.waiters -= 1
            if not making.waiters and making.needs_worker and not making.task.done():
                making.task.cancel()  # and with it the process that compiles
                self._under_way.pop(key, None)

    def _begin(self, key: Key, make: Callable[[_Making], Coroutine[Any, Any, object]]) -> _Making:
        if self._is_closed:
            raise Stopping
        if len(self._under_way) >= MOST_UNDER_WAY:
            raise Busy(len(self._under_way), max(1, round(self._seconds / WORKERS[True])), "constraints")
        making = self._under_way[key] = _Making()
        making.task = asyncio.create_task(make(making))
        making.task.add_done_callback(partial(self._keep, key, making))
        return making

    async def _make(self, making: _Making, own: OwnConstraint, vocabulary: Vocabulary) -> Index:
        is_large = len(own.written) >= LARGE
        if not is_large and compile_worker.is_cheap(own):
            making.needs_worker = False
            return await self._here(is_large, partial(compile_worker.compile_index, own, vocabulary))
        form = await self._in_worker(is_large, making, compile_worker.compile_constraint, own, _names(own, vocabulary))
        return await self._here(is_large, partial(compile_worker.index_of_form, form, vocabulary))

    async def _clean(self, making: _Making, own: OwnConstraint, ban: Ban, start: Start, index: Index) -> Index | None:
        is_large = len(own.written) + ban.length >= LARGE
        names = _names(own, index.vocabulary)
        form = await self._in_worker(
            is_large, making, compile_worker.compile_without_banned, own, ban, start.prompt, names
        )
        return await self._here(is_large, partial(compile_worker.clean_index_of_form, form, index))

    async def _ban(self, making: _Making, ban: Ban) -> BannedWords:
        is_large = ban.length >= LARGE
        form = await self._in_worker(is_large, making, compile_worker.compile_ban, ban)
        return await self._here(is_large, partial(of_compiled_form, form))

    def _pool(self, is_large: bool) -> asyncio.Task[ProcessPool]:
        """The pool for large or for short constraints; the first call starts its processes, in a thread."""
        begun = self._pools.get(is_large)
        if begun is None or (begun.done() and (begun.cancelled() or begun.exception())):
            begun = self._pools[is_large] = asyncio.create_task(asyncio.to_thread(self._begun, is_large))
        return begun

    def _begun(self, is_large: bool) -> ProcessPool:
        """Start the processes of a pool, which takes up to a second for their imports.

        Raises:
            Stopping: The server is stopping, and nothing more may be started.
        """
        with self._closing:
            if self._is_closed:
                raise Stopping
            pool = self._workers[is_large] = ProcessPool(
                WORKERS[is_large],
                context=self._context,
                initializer=compile_worker.set_up_process,
                initargs=[WORKER_BYTES, NICE],
            )
            pool.schedule(compile_worker.confirm_start)
            return pool

    async def _here(self, is_large: bool, make: Callable[[], Made]) -> Made:
        """Call a function in a thread of this process."""
        return await asyncio.get_running_loop().run_in_executor(self._slow if is_large else self._quick, make)

    async def _in_worker(
        self, is_large: bool, making: _Making, work: Callable[..., SfgenError | CompiledForm], *given: Any
    ) -> CompiledForm:
        """Let a process of the pool compile; return the compiled form.

        Raises:
            CompileTimeout: It takes too long.
            OutOfMemory: It takes too much memory.
            Stopping: The server is stopping, and nothing more may be started.
            SfgenError: It cannot be read or compiled.
        """
        running: Future[SfgenError | CompiledForm]
        begun = self._pool(is_large)
        await asyncio.wait([begun])  # not a shield: from Python 3.14 on that tells on stderr of what fails behind it
        pool = begun.result()
        if self._is_closed:
            raise Stopping
        running = pool.schedule(work, args=given, timeout=self._seconds)
        try:
            result = await asyncio.wrap_future(running)
        except TooLong:
            raise CompileTimeout(self._seconds) from None
        except (ProcessExpired, MemoryError, RecursionError):
            raise OutOfMemory("the constraint") from None
        if isinstance(result, SfgenError):
            raise result
        making.needs_worker, making.nbytes = False, FORMS * result.nbytes
        return result

    # ---- what is kept ----------------------------------------------------------------------------------------------

    def _used(self, key: Key) -> Any:
        """Return a kept result, and update its size: masks are made while texts are written."""
        made, before = self._kept.pop(key)
        self._bytes -= before
        self._add(key, made, before)
        return made

    def _add(self, key: Key, made: Any, least: int) -> None:
        size = max(least, size_of(made) if isinstance(made, Index) else _NOTHING)
        if isinstance(made, DfaIndex):
            size = max(size, made.dfa.transitions.nbytes + made.masks_nbytes)
        self._kept[key] = made, size
        self._bytes += size
        while len(self._kept) > 1 and self._bytes > self._most_bytes:
            _, (_, size) = self._kept.popitem(last=False)
            self._bytes -= size

    def _keep(self, key: Key, making: _Making, task: asyncio.Task[Any]) -> None:
        """Keep the result of a task."""
        if self._under_way.get(key) is making:
            del self._under_way[key]
        if task.cancelled():
            return
        self._compiled(time.monotonic() - making.begun)
        error = task.exception()
        if error is None:
            self.made += 1
            self._add(key, task.result(), making.nbytes)
        elif isinstance(error, SfgenError) and not isinstance(error, Stopping):
            told = pickle.dumps(error)  # the error itself refers to the requests that have received it
            if len(told) <= REFUSED_BYTES:
                self._refused[key] = told, time.monotonic()
            if len(self._refused) > REFUSED_KEPT:
                self._refused.popitem(last=False)

    def _refuse_again(self, key: Key) -> None:
        """Refuse a constraint that was refused before, without compiling it again.

        Raises:
            SfgenError: It was refused before.
        """
        told, when = self._refused.get(key, (None, 0.0))
        if told is None:
            return
        error: SfgenError = pickle.loads(told)
        if isinstance(error, CompileTimeout | OutOfMemory) and time.monotonic() - when > REFUSED_SECONDS:
            del self._refused[key]
            return
        self._refused.move_to_end(key)
        raise error

    def close(self) -> None:
        """End the threads and the processes; waiting requests get an error."""
        self._is_closed = True
        for making in list(self._under_way.values()):
            with suppress(RuntimeError):  # the event loop is closed
                making.task.get_loop().call_soon_threadsafe(making.task.cancel)
        for thread in (self._quick, self._slow):
            thread.shutdown(wait=False, cancel_futures=True)
        with self._closing:  # a server's end calls this from two threads, and a pool may be closed only once
            while self._workers:
                pool: Any = self._workers.popitem()[1]  # pebble's methods have no types
                pool.stop()
                pool.join()


class WithoutTokens:
    """A model without some tokens: in its vocabulary they are not text, so they are never allowed.

    A text that cannot be written without them is refused before it begins.

    >>> from sfgen.models import load_model
    >>> tiny = load_model("tiny")
    >>> [token is None for token in WithoutTokens(tiny, [300]).vocabulary.tokens[299:302]]
    [False, True, False]
    """

    def __init__(self, model: Model, never: Collection[int]) -> None:
        vocabulary = model.vocabulary
        tokens = [None if token in never else data for token, data in enumerate(vocabulary.tokens)]
        names = vocabulary.names if isinstance(vocabulary, Vocabulary) else None
        self.vocabulary = Vocabulary(tokens, vocabulary.end_token_ids, names=names)
        self._model = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)


def _context() -> Any:
    """The context for processes that start without this one's threads, with their imports done once if possible."""
    if sys.platform == "win32":
        return multiprocessing.get_context("spawn")
    from multiprocessing import forkserver, resource_tracker

    context: Any = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["sfgen.serve.forkserver_preload"])
    with suppress(OSError):  # no process could be started: it is tried again when one is needed
        resource_tracker.ensure_running()  # on Python 3.11 it unblocks signals, so it goes first
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            forkserver.ensure_running()  # it and its processes inherit the mask: a terminal's Ctrl-C is for the server
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    class Process(context.Process):  # type: ignore[misc]
        """A process that does not run the program's main module again, which may be a script that starts a server."""

        @staticmethod
        def _Popen(process_obj: Any) -> Any:  # noqa: N802
            process_obj.__class__ = context.Process  # it is pickled
            main = sys.modules["__main__"]
            sys.modules["__main__"] = ModuleType("__main__")
            try:
                return context.Process._Popen(process_obj)
            finally:
                sys.modules["__main__"] = main

    class Context(type(context)):  # type: ignore[misc]
        """The same, with such processes, and with locks that exist as long as the context.

        A pool that is stopped drops its locks before it ends its processes: one that still starts would not find them.
        """

        def __init__(self) -> None:
            super().__init__()
            self._locks: list[Any] = []

        def RLock(self) -> Any:  # noqa: N802
            self._locks.append(super().RLock())
            return self._locks[-1]

    Context.Process = Process
    return Context()
