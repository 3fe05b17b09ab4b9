"""A process that makes texts of a job for another one: ``python -m sfgen.jobs.worker``.

It reads pickles from stdin: its ``Assignment``, then slots of the output. It writes pickles to what was its stdout:
``Ready`` once, then the outcome of each slot, in any order; or the ``SfgenError`` with which its begin failed. It ends
at once when its stdin ends, since then nobody waits for it.
"""

from __future__ import annotations

import gc
import os
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue
from typing import IO

from sfgen.errors import SfgenError
from sfgen.jobs.loaded_job import load
from sfgen.jobs.record import Slot
from sfgen.jobs.texts import Outcome, Texts
from sfgen.jobs.workers import Assignment, Ready


def main() -> None:
    """Run the worker: read work from stdin, write outcomes to stdout."""
    told = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # prints of other code must not mix with the answers
    asked = sys.stdin.buffer
    assignment: Assignment = pickle.load(asked)
    slots: SimpleQueue[Slot] = SimpleQueue()
    threading.Thread(target=_receive, args=(asked, slots), daemon=True).start()

    def tell(answer: Outcome | Ready | SfgenError) -> None:
        pickle.dump(answer, told, pickle.HIGHEST_PROTOCOL)
        told.flush()

    try:
        loaded = load(assignment.job)
        loaded.load_weights()
        gc.freeze()  # loaded objects stay: the collector need not walk them in the middle of a text
    except SfgenError as error:
        tell(error)
        return
    tell(Ready())
    texts = Texts(loaded, assignment.lines, None, tell)
    for _ in texts.steps(_as_they_come(slots, lambda: texts.is_idle), assignment.batch_size):
        pass


def _as_they_come(slots: SimpleQueue[Slot], is_idle: Callable[[], bool]) -> Iterator[Slot | None]:
    """Yield the slots; ``None`` while none has come and a text is being written."""
    while True:
        try:
            yield slots.get(block=is_idle())
        except Empty:
            yield None


def _receive(asked: IO[bytes], slots: SimpleQueue[Slot]) -> None:
    """Put slots into the queue; end the process if the other one has ended."""
    try:
        while True:
            slots.put(pickle.load(asked))
    except (EOFError, OSError, pickle.UnpicklingError):
        os._exit(1)


if __name__ == "__main__":
    main()
