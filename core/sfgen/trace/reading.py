"""Read a trace from any source: a line that no run can have written is an error."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from sfgen import arguments
from sfgen.trace.errors import MalformedError, NoTrace, TraceError, binary_file, described
from sfgen.trace.lines import Failure, Scene, read_event, read_heading

if TYPE_CHECKING:
    from sfgen import Event, Result, RolledBack, TokenChosen

LONGEST_LINE = 64 * 1024 * 1024
"""The most bytes of a line; no run writes as many."""


@dataclass
class Recording:
    """One sample of a trace.

    Attributes:
        sample: Its number.
        scene: The run before its first event.
        events: Each event with its time in seconds, in order.
        failure: The error that ended it.
    """

    sample: int
    scene: Scene
    events: list[tuple[float, Event]] = field(default_factory=list)
    failure: Failure | None = None

    @property
    def result(self) -> Result | None:
        """The result; ``None`` if the run was killed or failed."""
        from sfgen.decoding import Finished

        last = self.events[-1][1] if self.events else None
        return last.result if isinstance(last, Finished) else None

    @property
    def text(self) -> str:
        """The text with a newline; before the end, what had been emitted."""
        from sfgen import TextReleased

        if self.result is not None:
            return f"{self.result.text}\n"
        return "".join(event.text for _, event in self.events if isinstance(event, TextReleased))


@dataclass(frozen=True)
class Trace:
    """The content of a trace.

    Attributes:
        recordings: Its samples, in the order in which they began.
        cut_line: The number of the last line if it is incomplete, since the run was killed.
    """

    recordings: tuple[Recording, ...]
    cut_line: int | None = None


def read_trace(path: Path | str) -> Trace:
    """Read a whole trace.

    Each sample of the run is a ``Recording``: its ``scene`` (the prompt and its options), its ``events`` with their
    times, as ``sfgen.stream`` yielded them, and its ``result`` or its ``failure``. ``sfgen.trace`` writes traces.

    Args:
        path: The file.

    Raises:
        TraceError: It cannot be read, is not a trace, or is damaged; names the line.
    """
    path = arguments.path("path", path, error=TraceError)
    try:
        with path.open("rb") as stream:
            return parse_trace(stream, str(path))
    except OSError as error:
        raise TraceError(f"cannot read the trace {path}: {error.strerror or error}") from error


def parse_trace(stream: BinaryIO, name: str = "the file") -> Trace:
    """Read a whole trace from an open file.

    Args:
        stream: The file, open for reading bytes.
        name: Its name in errors.

    Raises:
        UsageError: It is not an open binary file.
        TraceError: It is not a trace, or is damaged; names the line.
        OSError: It cannot be read.
    """
    binary_file("stream", stream, "an open binary file", "readline")
    arguments.text("name", name)
    samples: dict[int, _Sample] = {}
    for number, line in _lines(stream, name):
        try:
            fields = _object(line)
        except _NoObjectError as error:
            if not samples:
                raise _foreign(name, number, str(error)) from None
            if not line.endswith(b"\n"):
                return _trace(samples, cut_line=number)
            raise TraceError(f"{name}, line {number}: {error}") from None
        try:
            if "trace" in fields:
                heading, scene = read_heading(fields)
                if heading.sample in samples:
                    raise MalformedError("sample", f"sample {heading.sample} began before")
                samples[heading.sample] = _Sample(Recording(heading.sample, scene))
            elif samples:
                stamp, event = read_event(fields)
                if stamp.sample not in samples:
                    raise MalformedError("sample", f"sample {stamp.sample} did not begin")
                samples[stamp.sample].take(stamp.seconds, event)
            else:
                raise _foreign(name, number, 'it has no key "trace"')
        except MalformedError as error:
            raise TraceError(f"{name}, line {number}: {error}", hint=error.hint) from None
    if not samples:
        raise TraceError(f"{name} is empty: there is no trace in it")
    return _trace(samples)


def _trace(samples: dict[int, _Sample], cut_line: int | None = None) -> Trace:
    """Make the trace of the samples that were read."""
    return Trace(tuple(sample.recording for sample in samples.values()), cut_line)


def _lines(stream: BinaryIO, name: str) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file that are not blank, by number."""
    number = 0
    while line := stream.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise _foreign(name, number, f"it is longer than {LONGEST_LINE:,} bytes")
        if line.strip():
            yield number, line


class _NoObjectError(Exception):
    """A line that is not a JSON object."""


def _object(line: bytes) -> dict[str, Any]:
    """Read a line as a JSON object."""
    try:
        value = json.loads(line.decode())
    except UnicodeDecodeError as error:
        raise _NoObjectError(f"not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise _NoObjectError(f"not valid JSON: {error.msg} at character {error.pos + 1}") from None
    except RecursionError:
        raise _NoObjectError("JSON that is nested too deeply") from None
    except ValueError:  # of a whole number
        raise _NoObjectError("a number with too many digits") from None
    if not isinstance(value, dict):
        raise _NoObjectError(f"expected an object, found {described(value)}")
    return value


def _foreign(name: str, number: int, problem: str) -> NoTrace:
    """Make the error for a file that is not a trace."""
    return NoTrace(
        f"{name} is not a trace of sfgen: line {number}: {problem}",
        hint="A trace is a file that sfgen.trace.TraceFile has written.",
    )


class _Sample:
    """A recording while it is read, with the state that shows whether an event can follow."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._tokens: list[tuple[int, bytes]] = []
        self._size = 0  # bytes
        self._is_over = False

    def take(self, seconds: float, event: Event | Failure) -> None:
        """Take a line that is not the first."""
        if self._is_over:
            raise MalformedError("event", f"sample {self.recording.sample} ended before")
        if isinstance(event, Failure):
            self.recording.failure = event
            self._is_over = True
        else:
            self._follow(event)
            self.recording.events.append((seconds, event))

    def _follow(self, event: Event) -> None:
        """Keep the tokens of the text; refuse an event that cannot follow them."""
        from sfgen import RolledBack, TokenChosen
        from sfgen.decoding import BlockClosed, BlockMoved, Finished

        count = len(self._tokens)
        if isinstance(event, TokenChosen):
            if event.position != count:
                raise MalformedError("position", f"{event.position}, and {count} tokens stand before it")
            self._tokens.append((event.token_id, event.data))
            self._size += len(event.data)
            self._check_vocabulary(event)
            if event.watch is not None and (event.watch.open_from or 0) > self._size:
                raise MalformedError("watch.open_from", f"{event.watch.open_from}, and the text has {self._size} bytes")
        elif isinstance(event, RolledBack):
            taken = self._tokens[event.position :]
            if not taken or event.token_ids != tuple(token for token, _ in taken):
                raise MalformedError("token_ids", f"not the tokens that stand from position {event.position} on")
            if event.data != b"".join(data for _, data in taken):
                raise MalformedError("data", "not what the tokens are that were taken back")
            _check_rollback(event, "")
            del self._tokens[event.position :]
            self._size -= len(event.data)
        elif isinstance(event, BlockMoved | BlockClosed):
            if event.position > count:
                raise MalformedError("position", f"{event.position}, and {count} tokens stand")
        elif isinstance(event, Finished):
            for index, rollback in enumerate(event.result.rollbacks):
                _check_rollback(rollback, f"result.rollbacks[{index}].")
            self._is_over = True

    def _check_vocabulary(self, event: TokenChosen) -> None:
        """Refuse tokens beyond the vocabulary, and more allowed tokens than it has."""
        size = self.recording.scene.vocabulary_size
        if event.token_id >= size:
            raise MalformedError("token_id", f"{event.token_id}, and the vocabulary has {size} tokens")
        if event.allowed > size:
            raise MalformedError("allowed", f"{event.allowed}, and the vocabulary has {size} tokens")


def _check_rollback(event: RolledBack, path: str) -> None:
    """Refuse a rollback that contradicts itself."""
    if not event.token_ids:
        raise MalformedError(f"{path}token_ids", "no token was taken back")
    if event.place < event.position:
        raise MalformedError(f"{path}place", f"{event.place}, which is before the position {event.position}")
