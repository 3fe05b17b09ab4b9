"""Write a trace line by line, so that a run that is killed leaves a readable trace."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from sfgen import arguments
from sfgen.errors import SfgenError, UsageError
from sfgen.number_ranges import LONGEST_RUN
from sfgen.printable import json_text
from sfgen.trace.errors import MalformedError, TraceError, binary_file
from sfgen.trace.kinds import record_of
from sfgen.trace.lines import FAILURE, VERSION, Failure, Heading, Scene, Stamp
from sfgen.trace.values import read, to_json

if TYPE_CHECKING:
    from types import TracebackType

    from sfgen import Event

_BEGINNING = b'{"trace":'


class TraceFile:
    """A file for the samples of a run, as a context manager.

    A path is opened at once, so that its faults are reported before a model is loaded. The trace of an earlier run is
    replaced when the first sample begins; a file that is not a trace is never replaced. An open file is written from
    its current position, and is left open.

    Args:
        file: A path, or an open binary file.

    Raises:
        UsageError: It is neither.
        TraceError: It cannot be written, or is not a trace.
    """

    def __init__(self, file: Path | str | BinaryIO) -> None:
        self._samples = 0
        self._path: Path | None = None
        if isinstance(file, str | os.PathLike):
            self._path = arguments.path("file", file)
            self._file: BinaryIO | FileIO = self._opened(self._path)
        else:
            self._file = binary_file("file", file, "a path or an open binary file", "write", "flush")

    def __enter__(self) -> TraceFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._path is None:
            return
        self._file.close()
        if self._is_new and not self._samples:  # the run failed before it began
            with contextlib.suppress(OSError):
                self._path.unlink()

    def begin(self, scene: Scene) -> Tracer:
        """Write the first line of a sample.

        Samples may run at the same time.

        Returns:
            The receiver of the sample's events.

        Raises:
            UsageError: A field of the scene is not what its type says.
            TraceError: The file cannot be written.
        """
        from sfgen import __version__

        fields = _fields_of(scene)
        if not self._samples:
            self._empty()
        number = self._samples
        self._samples += 1
        heading = Heading(trace=VERSION, sfgen=__version__, sample=number)
        self._write({**to_json(heading), **fields})
        return Tracer(self._write, number)

    def _write(self, fields: dict[str, Any]) -> None:
        """Write one line and flush it."""
        line = f"{json_text(fields)}\n".encode()
        try:
            while line:  # a file without a buffer may take only a part
                written = self._file.write(line)
                if not written:  # a file that does not block
                    raise BlockingIOError(errno.EAGAIN, "it accepts no data at the moment")
                line = line[written:]
            self._file.flush()
        except (OSError, ValueError) as error:  # a file that was closed meanwhile is a ValueError
            raise self._unwritable(error) from error

    def _opened(self, path: Path) -> FileIO:
        """Open a path to append; refuse to replace anything but a trace."""
        try:
            self._is_new = not path.exists()
            refuse_to_replace(path, _BEGINNING, "a trace")
            return FileIO(path, "a")
        except OSError as error:
            raise self._unwritable(error) from error

    def _empty(self) -> None:
        """Cut away the trace of an earlier run."""
        try:
            if self._path is not None and stat.S_ISREG(os.fstat(self._file.fileno()).st_mode):
                self._file.truncate(0)
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: Exception) -> TraceError:
        """Make the error for a file that cannot be written."""
        name = "" if self._path is None else f" {self._path}"
        return TraceError(f"cannot write the trace{name}: {getattr(error, 'strerror', None) or error}")


def _fields_of(scene: Scene) -> dict[str, Any]:
    """Return a scene as JSON, if it can be read again."""
    arguments.instance("scene", scene, Scene)
    fields: dict[str, Any] = {}
    for key in record_of(Scene).keys:
        value = getattr(scene, key.name)
        try:
            fields[key.name] = to_json(value)
            read(key.kind, fields[key.name], key.name)
        except TypeError:
            raise UsageError(f"scene: {key.name}: a trace has no {type(value).__name__}") from None
        except MalformedError as error:
            raise UsageError(f"scene: {error}") from None
    return fields


class Tracer:
    """Writes one sample: ``TraceFile.begin`` makes it.

    Args:
        write: Writes one line, a dictionary.
        sample: The number of the sample, which each of its lines has.
    """

    def __init__(self, write: Callable[[dict[str, Any]], None], sample: int) -> None:
        arguments.function("write", write)
        self._write_line, self._sample = write, arguments.whole_number("sample", sample, least=0)
        self._started = time.perf_counter()
        self._seconds = 0.0
        self._is_over = False

    def show(self, event: Event, seconds: float | None = None) -> None:
        """Write one event.

        Args:
            event: The event.
            seconds: Its time since the sample began; ``None``: now.

        Raises:
            UsageError: It is not an event, or not a time.
            TraceError: The file cannot be written.
        """
        from sfgen.decoding import Finished
        from sfgen.trace.events import name_of

        name = name_of(event)
        if seconds is None:
            seconds = self._now()
        self._seconds = arguments.number("seconds", seconds, "a number of seconds", most=LONGEST_RUN)
        self._is_over = isinstance(event, Finished)
        self._write(name, event)

    def fail(self, error: BaseException) -> None:
        """Write that the sample ended in an error.

        Nothing is written if it had ended before.

        Raises:
            TraceError: The file cannot be written.
        """
        if not isinstance(error, BaseException):
            raise arguments.refusal("error", "an exception", error)
        if self._is_over:
            return
        self._is_over = True
        if isinstance(error, SfgenError):
            failure = Failure(error.message, error.details, error.hint)
        else:
            name = type(error).__name__
            message = "interrupted" if isinstance(error, KeyboardInterrupt) else f"{name}: {error}".removesuffix(": ")
            failure = Failure(message)
        self._seconds = max(self._seconds, self._now())
        self._write(FAILURE, failure)

    def _now(self) -> float:
        return time.perf_counter() - self._started

    def _write(self, name: str, event: Event | Failure) -> None:
        stamp = Stamp(self._sample, round(self._seconds, 6))
        self._write_line({**to_json(stamp), "event": name, **to_json(event)})


def tracing(file: TraceFile, scene: Scene) -> AbstractContextManager[Tracer]:
    """Write one sample of a run and its end, as a context.

    Args:
        file: The file.
        scene: The run before its first event.

    Returns:
        A context whose value receives the events.

    Raises:
        UsageError: As ``TraceFile.begin``.
        TraceError: The file cannot be written.

    >>> import io, sfgen
    >>> file, model = io.BytesIO(), sfgen.load_model("uniform")
    >>> scene = Scene("It is ", "uniform", len(model.vocabulary), choices=("hot", "cold"))
    >>> with TraceFile(file) as trace, tracing(trace, scene) as tracer:
    ...     for event in sfgen.stream(model, scene.prompt, index="hot|cold"):
    ...         tracer.show(event)
    >>> _ = file.seek(0)
    >>> (recording,) = sfgen.trace.parse_trace(file).recordings
    >>> recording.scene == scene, recording.result.text
    (True, 'cold')
    """
    return _ended(arguments.instance("file", file, TraceFile).begin(scene))


@contextlib.contextmanager
def _ended(tracer: Tracer) -> Iterator[Tracer]:
    """Yield the tracer of a sample, and pass the error that ends the context to it."""
    try:
        yield tracer
    except TraceError:  # the file cannot be written
        raise
    except BaseException as error:
        with contextlib.suppress(TraceError):  # the first error is the one to report
            tracer.fail(error)
        raise


def refuse_to_replace(path: Path, beginning: bytes, what: str) -> None:
    """Refuse to write over a file that sfgen did not write."""
    if not path.is_file() or not path.stat().st_size:
        return
    with path.open("rb") as file:
        if file.read(len(beginning)) != beginning:
            raise TraceError(
                f"{path} holds something else than {what}, and is not replaced",
                hint="Name another file, or remove this one first.",
            )
