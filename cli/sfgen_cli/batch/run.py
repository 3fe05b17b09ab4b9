"""``--input``: many prompts in one run, a line of JSON for each.

The lines come in the order of the input, each as soon as it and all before it are done. Several texts can be under way
at once; what comes out does not depend on that, nor on where an earlier run was cut off. (A model that adds up numbers
in another order for another batch gives scores that differ in the last digits. Where a choice is as close as that, it
can come out otherwise; with one text at a time it cannot.)
"""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import typer

from sfgen.errors import GenerationError, InputError, SfgenError
from sfgen.kernels import told_of_compiling
from sfgen.printable import json_text, on_one_line
from sfgen_cli.batch.input import Source
from sfgen_cli.batch.input import opened as opened_input
from sfgen_cli.batch.lines import Lines, Slot
from sfgen_cli.batch.output import Output, OutputFile
from sfgen_cli.batch.output import opened as opened_output
from sfgen_cli.options.batch import ManyOptions
from sfgen_cli.run.generation import Run, check_beforehand, trace_file, without_weights
from sfgen_cli.run.request import Request
from sfgen_cli.shell import process
from sfgen_cli.shell.output import note, stderr_is_a_terminal
from sfgen_cli.shell.progress import Say, progress

if TYPE_CHECKING:
    from sfgen.decoding import Event
    from sfgen.decoding.loop import Loop
    from sfgen.trace import TraceFile, Tracer


def run_many(request: Request, many: ManyOptions) -> None:
    """Answer all prompts of the input; ``request`` says how, its prompt does not matter.

    Raises:
        typer.Exit: Some records failed, and have been told.
        SfgenError: Nothing could be done at all, the output cannot be written or is not of this run, or with
            ``strict`` a record failed.
    """
    assert many.input is not None, "the command has looked"
    request = replace(request, options=replace(request.options, json=True, live=False))
    request.check()
    path, quiet = None if many.writes_to_stdout else many.output, request.options.quiet
    with (
        opened_input(many.input, plain=many.lines) as source,
        opened_output(path, keep=many.resume, replace=many.force) as output,
        trace_file(request.options) as trace,
    ):
        tally = _Tally(source, output, strict=many.strict, quiet=quiet)
        has_bar = not (quiet or source.is_typed()) and _has_room_for_a_bar(output)
        try:
            with progress(quiet=quiet) as say:
                if has_bar:
                    say(f"counting the lines of {source.name}")
                total = source.line_count() if has_bar else None
                lines, slots, run = _prepared(request, tally, say, resume=many.resume)
            if run is not None:
                with _bar(total, tally.lines) if has_bar else contextlib.nullcontext(_show_nothing) as show:
                    _Texts(run, lines, trace, tally, show).write(slots, at_once=many.batch_size)
        except (SfgenError, KeyboardInterrupt):
            tally.tell(whole=False)
            raise
        tally.tell(whole=True)
    if tally.failed or tally.kept_failed:
        raise typer.Exit(1)


def _prepared(request: Request, tally: _Tally, say: Say, *, resume: bool) -> tuple[Lines, Iterator[Slot], Run | None]:
    """What is to be done, with everything loaded for it; nothing is loaded where nothing is left to do."""
    process.import_numpy()
    sampler = request.samplers()[0]
    compiled: list[bool] = []
    with told_of_compiling(compiled.append):
        made = check_beforehand(request, say, has_prompt=False)
    lines, output = Lines(request, request.options.samples, sampler), tally.output
    if isinstance(output, OutputFile) and resume:
        say(f"comparing {output.path} with {tally.source.name}")
        if request.options.seed is None:
            lines = lines.with_seed_of(output.lines())
        slots = lines.continued(output, lines.slots(tally.source.entries()), tally.seen)
        following = next(slots, None)
        if following is None:
            output.begin()
            return lines, iter(()), None
        slots = itertools.chain([following], slots)
    else:
        slots = lines.slots(tally.source.entries())
    with told_of_compiling(compiled.append):
        run = without_weights(request, say, made)
        if run.index is not None:
            run.index.guide(request.options.max_tokens)  # tells if there is no match that short, whatever the prompt is
    if compiled:
        run.rehearse()
    run.load_weights(say)
    if isinstance(output, OutputFile):
        output.begin()
    return lines, slots, run


def _has_room_for_a_bar(output: Output) -> bool:
    """Whether a terminal is there for people alone: what reads a pipe may write to the same one, as jq does."""
    if not stderr_is_a_terminal():
        return False
    if isinstance(output, OutputFile) or sys.stdout is None:
        return True
    return not sys.stdout.isatty() and not stat.S_ISFIFO(os.fstat(sys.stdout.fileno()).st_mode)


def _bar(total: int | None, done: int) -> contextlib.AbstractContextManager[Callable[[int], None]]:
    from sfgen_cli.batch.progress_bar import bar  # draws in what few runs need

    return bar(total, done)


def _show_nothing(lines: int) -> None:
    pass


@dataclass
class _Tally:
    """What has been written, and what failed.

    Attributes:
        source: Where the records come from.
        output: Where they go.
        strict: Whether the first failure is the end.
        quiet: Whether a run without failures says nothing.
        lines: Lines of the input that are done with.
        written: Texts that this run has written.
        failed: Records, or samples of them, that this run has written an error for.
        kept: Texts and errors that an earlier run has written.
        kept_failed: Those of them that are errors.
    """

    source: Source
    output: Output
    strict: bool
    quiet: bool
    lines: int = 0
    written: int = 0
    failed: int = 0
    kept: int = 0
    kept_failed: int = 0
    _hints: set[str] = field(default_factory=set)

    def seen(self, slot: Slot, error: str | None) -> None:
        """A line of an earlier run."""
        if error is not None and self.strict:
            raise self._fatal(GenerationError(error), slot)
        self.lines = slot.entry.line
        self.kept += 1
        self.kept_failed += error is not None

    def count(self, slot: Slot, *, has_failed: bool) -> None:
        """A line that this run has written."""
        self.lines = slot.entry.line
        if has_failed:
            self.failed += 1
        else:
            self.written += 1

    def report(self, slot: Slot, error: SfgenError) -> None:
        """Tell of a failure, before its line is written.

        Raises:
            SfgenError: The same failure, if it is to be the end.
        """
        if self.strict:
            raise self._fatal(error, slot)
        note(f"sfgen: {self._place(slot)}: {on_one_line(error.message)}")
        if slot.entry.hint and slot.entry.hint not in self._hints:  # of use once
            self._hints.add(slot.entry.hint)
            note(slot.entry.hint)

    def tell(self, *, whole: bool) -> None:
        """The last line for people; ``whole``: the run was not cut off."""
        is_nothing = self.written + self.failed == 0
        if not whole and is_nothing:
            return
        where = f" to {self.output.path}" if isinstance(self.output, OutputFile) else ""
        parts = [f"{self.written:,} written{where}", f"{self.failed:,} failed"]
        if self.kept:
            failed = f" ({self.kept_failed:,} failed)" if self.kept_failed else ""
            before = f"{self.kept:,} there before{failed}"
            parts = [f"nothing left to write{where}", before] if is_nothing else [*parts, before]
        if where and not whole:
            parts.append("--resume goes on")
        note(f"sfgen: {', '.join(parts)}", quiet=self.quiet)

    def _fatal(self, error: SfgenError, slot: Slot) -> SfgenError:
        kind = InputError if slot.entry.prompt is None else GenerationError
        return kind(f"{self._place(slot)}: {error.message}", details=error.details, hint=error.hint)

    def _place(self, slot: Slot) -> str:
        return f"{self.source.name}, {slot.place}"


@dataclass
class _Text:
    """A place of the output while it is not written.

    Attributes:
        slot: The place.
        started: When work on it began.
        tracer: Who is told of its events.
        line: What is to stand there; ``None``: not known yet.
        error: Why it is no text.
    """

    slot: Slot
    started: float = 0.0
    tracer: Tracer | None = None
    line: dict[str, Any] | None = None
    error: SfgenError | None = None


class _Texts:
    """Generates texts, several at once, and writes them in order."""

    def __init__(
        self, run: Run, lines: Lines, trace: TraceFile | None, tally: _Tally, show: Callable[[int], None]
    ) -> None:
        self._run = run
        self._lines = lines
        self._trace = trace
        self._tally = tally
        self._show = show
        self._waiting: deque[_Text] = deque()  # in the order of the output, from the first that is not written

    def write(self, slots: Iterable[Slot], *, at_once: int) -> None:
        """Fill all places."""
        from sfgen.decoding.batch import batch_of, drive_batch

        model = self._run.model
        batch = batch_of(model, at_once)
        running: dict[int, _Text] = {}
        for number, step in drive_batch(self._loops(slots, running), batch, at_once):
            if self._took(running[number], step):
                del running[number]
                self._write_done()

    def _loops(self, slots: Iterable[Slot], running: dict[int, _Text]) -> Iterator[Loop]:
        """The loops of the places in order; ``running`` gets the place of each. What cannot begin is done with."""
        number = 0
        for slot in slots:
            text = _Text(slot)
            self._waiting.append(text)
            loop = self._begun(text)
            if loop is None:
                self._write_done()  # nothing else may come for a long time
                continue
            running[number] = text
            number += 1
            yield loop

    def _begun(self, text: _Text) -> Loop | None:
        entry = text.slot.entry
        if entry.prompt is None:
            self._fail(text, InputError(entry.fault, hint=entry.hint))
            return None
        text.started = time.perf_counter()
        try:
            run = self._run.of_prompt(entry.prompt)
            loop = run.loop(text.slot.sampler)
        except SfgenError as error:
            self._fail(text, error)
            return None
        if self._trace is not None:
            text.tracer = self._trace.begin(replace(run.scene(text.slot.sampler), line=entry.line))
        return loop

    def _took(self, text: _Text, step: Event | SfgenError) -> bool:
        """Take note of an event of a text, or of its error; true if that was the last."""
        from sfgen.decoding import Finished

        if isinstance(step, SfgenError):
            self._fail(text, step)
            return True
        seconds = time.perf_counter() - text.started
        if text.tracer is not None:
            text.tracer.show(step, seconds)
        if not isinstance(step, Finished):
            return False
        text.line = self._lines.written(text.slot, step.result, seconds)
        return True

    def _fail(self, text: _Text, error: SfgenError) -> None:
        text.error = error
        text.line = self._lines.failed(text.slot, error.message)
        if text.tracer is not None:
            text.tracer.fail(error)

    def _write_done(self) -> None:
        """Write what is done, up to the first that is not."""
        while self._waiting and self._waiting[0].line is not None:
            text = self._waiting.popleft()
            if text.error is not None:
                self._tally.report(text.slot, text.error)
            self._tally.output.append(json_text(text.line))
            self._tally.count(text.slot, has_failed=text.error is not None)
            self._show(text.slot.entry.line)
