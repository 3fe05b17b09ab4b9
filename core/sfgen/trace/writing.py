"""Write a trace, line by line, so that a run that is killed leaves one that can be read."""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfgen.errors import SfgenError, UsageError
from sfgen.printable import json_text
from sfgen.trace.errors import TraceError
from sfgen.trace.values import to_json

if TYPE_CHECKING:
    from types import TracebackType

    from sfgen import Event
    from sfgen.trace.scene import Scene

VERSION = 1
_BEGINNING = b'{"trace":'


class TraceFile:
    """The file that the samples of one run are written to, as a context.

    It is opened before the model is loaded, so that what is wrong with it is told at once. The trace of an earlier run
    is replaced when the first sample begins; what is no trace is never replaced.

    Args:
        path: The file.

    Raises:
        UsageError: It is ``-``.
        TraceError: It cannot be written, or holds something else than a trace.
    """

    def __init__(self, path: Path) -> None:
        if str(path) == "-":
            raise UsageError(
                "--trace needs the name of a file: stdout is for the text", hint="For example: --trace run.jsonl"
            )
        self._path = path
        self._samples = 0
        self._is_new = not path.exists()
        try:
            refuse_to_replace(path, _BEGINNING, "a trace")
            self._file = FileIO(path, "a")
        except OSError as error:
            raise self._unwritable(error) from error

    def __enter__(self) -> TraceFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._file.close()
        if self._is_new and not self._samples:  # the run failed before it began
            with contextlib.suppress(OSError):
                self._path.unlink()

    def begin(self, scene: Scene) -> Tracer:
        """Write the first line of a sample; samples may run side by side."""
        from sfgen import __version__

        if not self._samples:
            self._empty()
        number = self._samples
        self._samples += 1
        heading = {"trace": VERSION, "sfgen": __version__, "sample": number}
        self.write({**heading, **to_json(scene)})
        return Tracer(self, number)

    def write(self, fields: dict[str, Any]) -> None:
        """Write one line and let go of it.

        Raises:
            TraceError: The disk is full, or the like.
        """
        line = memoryview(f"{json_text(fields)}\n".encode())
        try:
            while line:  # the file has no buffer, and may take less than the whole
                line = line[self._file.write(line) :]
        except OSError as error:
            raise self._unwritable(error) from error

    def _empty(self) -> None:
        try:
            if stat.S_ISREG(os.fstat(self._file.fileno()).st_mode):
                self._file.truncate(0)
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> TraceError:
        return TraceError(f"cannot write the trace {self._path}: {error.strerror or error}")


class Tracer:
    """The view that writes one sample.

    Args:
        file: Where to.
        sample: Its number, which each of its lines has.
    """

    def __init__(self, file: TraceFile, sample: int) -> None:
        self._file, self._sample = file, sample
        self._started = time.perf_counter()
        self._seconds = 0.0
        self._is_over = False

    def show(self, event: Event, seconds: float) -> None:
        """Write one event."""
        from sfgen.decoding import Finished
        from sfgen.trace.events import name_of

        self._seconds = seconds
        self._is_over = isinstance(event, Finished)
        self._write(seconds, name_of(event), to_json(event))

    def fail(self, error: BaseException) -> None:
        """Write that the sample ended in an error; nothing if it had come to its end before."""
        if self._is_over:
            return
        self._is_over = True
        if isinstance(error, SfgenError):
            fields = {"message": error.message, "details": error.details, "hint": error.hint}
        else:
            name = type(error).__name__
            message = "interrupted" if isinstance(error, KeyboardInterrupt) else f"{name}: {error}".removesuffix(": ")
            fields = {"message": message, "details": (), "hint": ""}
        seconds = max(self._seconds, time.perf_counter() - self._started)
        self._write(seconds, "error", {name: to_json(value) for name, value in fields.items()})

    def _write(self, seconds: float, event: str, fields: dict[str, Any]) -> None:
        self._file.write({"sample": self._sample, "seconds": round(seconds, 6), "event": event, **fields})


@contextlib.contextmanager
def tracing(file: TraceFile, scene: Scene) -> Iterator[Tracer]:
    """One sample of a run as a view that writes it; an error that ends it is written too."""
    tracer = file.begin(scene)
    try:
        yield tracer
    except TraceError:  # the file cannot be written
        raise
    except BaseException as error:
        with contextlib.suppress(TraceError):  # the first error is the one to be told
            tracer.fail(error)
        raise


def refuse_to_replace(path: Path, beginning: bytes, what: str) -> None:
    """Names get mixed up on a command line: a prompt or a program is not overwritten.

    Raises:
        TraceError: The file is there, and does not begin as what is to be written.
    """
    if not path.is_file() or not path.stat().st_size:
        return
    with path.open("rb") as file:
        if file.read(len(beginning)) != beginning:
            raise TraceError(
                f"{path} holds something else than {what}, and is not replaced",
                hint="Name another file, or remove this one first.",
            )
