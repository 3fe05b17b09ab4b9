"""What a request's text must match, compiled beside the engine and kept.

What is small is compiled at once, in a thread. What is large is judged first by another process, in a bounded time and
a bounded memory: a schema that is refused, or that would take a minute, costs no other request anything. What passed is
compiled here and kept by its digest, those used last in a bounded number of bytes.
"""

from __future__ import annotations

import asyncio
import multiprocessing
from collections import OrderedDict
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooLong
from functools import partial
from typing import TYPE_CHECKING, Any

from pebble import ProcessExpired, ProcessPool

from sfgen.errors import GenerationError, OutOfMemory, SfgenError
from sfgen.index import Index
from sfgen.jobs.own_jobs import read_constraint, size_of
from sfgen.jobs.prompt_record import OwnConstraint
from sfgen.protocols import Model
from sfgen.vocabulary import Vocabulary

if TYPE_CHECKING:
    from concurrent.futures import Future

LARGE = 2_000
"""Characters of a constraint from which on another process judges it first."""

_JUDGES = 2
_JUDGE_BYTES = 2**31


class CompileTimeout(GenerationError):
    """A constraint that takes longer to compile than a request allows."""

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"the constraint takes longer than {seconds:g} seconds to compile",
            hint="Let it be smaller: smaller counts, fewer rules, fewer alternatives.",
        )


class Constraints:
    """The constraints of all requests of a server, compiled once each.

    Args:
        seconds: The time in which a large one must be compiled.
        most_bytes: The memory that those may take that are kept, as far as it can be told beforehand.
    """

    def __init__(self, seconds: float, most_bytes: int) -> None:
        self._seconds = seconds
        self._most_bytes = most_bytes
        self._kept: OrderedDict[tuple[str, OwnConstraint], tuple[Index, int]] = OrderedDict()
        self._bytes = 0
        self._under_way: dict[tuple[str, OwnConstraint], asyncio.Task[Index]] = {}
        self._thread = ThreadPoolExecutor(1, "sfgen-compile")
        self._judges: ProcessPool | None = None

    async def of(self, own: OwnConstraint, vocabulary: Vocabulary) -> Index:
        """Return the guides of a constraint over a vocabulary.

        Raises:
            CompileTimeout: It is large, and takes too long.
            SfgenError: It cannot be read or compiled.
        """
        key = vocabulary.fingerprint, own
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key][0]
        if key not in self._under_way:
            task = asyncio.create_task(self._make(own, vocabulary))
            self._under_way[key] = task
            task.add_done_callback(partial(self._keep, key))
        return await asyncio.shield(self._under_way[key])

    async def _make(self, own: OwnConstraint, vocabulary: Vocabulary) -> Index:
        if len(own.written) >= LARGE:
            await self._judge(own)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, _compiled, own, vocabulary)

    async def _judge(self, own: OwnConstraint) -> None:
        """Let another process compile a constraint.

        Raises:
            CompileTimeout: It takes too long.
            OutOfMemory: It takes too much memory.
            SfgenError: It cannot be read or compiled.
        """
        if self._judges is None:
            context = multiprocessing.get_context("spawn")
            self._judges = ProcessPool(_JUDGES, context=context, initializer=_limit_memory, initargs=[_JUDGE_BYTES])
        judged: Future[SfgenError | None] = self._judges.schedule(_judged, args=[own], timeout=self._seconds)
        try:
            error = await asyncio.wrap_future(judged)
        except TooLong:
            raise CompileTimeout(self._seconds) from None
        except (ProcessExpired, MemoryError):
            raise OutOfMemory("the constraint") from None
        if error is not None:
            raise error

    def _keep(self, key: tuple[str, OwnConstraint], task: asyncio.Task[Index]) -> None:
        del self._under_way[key]
        if task.cancelled() or task.exception() is not None:
            return
        source = task.result()
        size = size_of(source) + len(key[1].written)
        self._kept[key] = source, size
        self._bytes += size
        while len(self._kept) > 1 and self._bytes > self._most_bytes:
            _, (_, size) = self._kept.popitem(last=False)
            self._bytes -= size

    def close(self) -> None:
        """End the thread and the processes."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        if self._judges is not None:
            judges: Any = self._judges  # pebble's methods have no types
            judges.stop()
            judges.join()


class WithoutTokens:
    """A model that never writes some tokens: to all that is written they are no text, so that none is ever allowed.

    A text that cannot be written without them is refused before it is begun.

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


def _compiled(own: OwnConstraint, vocabulary: Vocabulary) -> Index:
    source = Index(read_constraint(own), vocabulary)
    source.guide()  # what nothing can be written of is refused now
    return source


def _judged(own: OwnConstraint) -> SfgenError | None:
    """Compile a constraint in a process of its own; the error is handed over."""
    try:
        read_constraint(own).shortest()
    except SfgenError as error:
        return error
    return None


def _limit_memory(most: int) -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (most, most))
