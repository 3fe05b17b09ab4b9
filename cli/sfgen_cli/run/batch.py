"""``--input``: many prompts in one run, a line of JSON for each; the library's job, with words for people."""

from __future__ import annotations

import contextlib
import io
import os
import stat
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import typer

from sfgen.errors import SfgenError
from sfgen.kernels import told_of_compiling
from sfgen.printable import counted, shown_name
from sfgen_cli.options.batch import STDIN_OR_STDOUT, ManyOptions
from sfgen_cli.options.prompts import argument_text
from sfgen_cli.run.generation import check_beforehand, load_weights, tell_of_tools, trace_file, without_weights
from sfgen_cli.run.request import Request
from sfgen_cli.shell import process
from sfgen_cli.shell.keyboard import can_be_drawn_on
from sfgen_cli.shell.output import note, write
from sfgen_cli.shell.progress import Say, progress

if TYPE_CHECKING:
    from rich.progress import ProgressColumn, TaskID

    from sfgen.integrations.ray.cluster import RayCluster
    from sfgen.jobs.loaded_job import LoadedJob
    from sfgen.jobs.output import Output
    from sfgen.jobs.prompt_record import PromptTemplate
    from sfgen.jobs.prompts import PromptFile
    from sfgen.jobs.run import JobRun, Summary
    from sfgen.jobs.texts import Outcome

_NOT_JSON = "--input reads JSON Lines: an object on each line. Plain lines of text need --lines."


def run_many(request: Request, many: ManyOptions) -> None:
    """Answer all prompts of the input."""
    assert many.input is not None, "the command has looked"
    template = None if many.prompt_template is None else argument_text(many.prompt_template)
    options = replace(request.options, json=True, live=False)
    request = replace(request, options=options, prompt_template=template)
    request.check()
    process.import_numpy()
    process.let_threads_sleep(request.options.model)
    from sfgen.jobs.record_format import Fields, check_resumable, written_as
    from sfgen.jobs.run import JobRun

    fields = Fields.of(many.fields)
    path, quiet = None if many.writes_to_stdout else many.output, request.options.quiet
    filling = request.job.prompts_by
    with _opened_input(many.input, plain=many.lines, template=filling) as source, contextlib.ExitStack() as stack:
        format, fields = written_as(path, request.job, source, fields)
        if many.resume:
            check_resumable(request.job, fields)
        output = stack.enter_context(_opened_output(path, keep=many.resume, replace=many.force))
        trace = stack.enter_context(trace_file(request.options))
        crew = stack.enter_context(_crew(many))
        run = JobRun(
            request.job,
            source,
            output,
            many.batch_size,
            many.workers,
            many.strict,
            trace,
            crew,
            fields,
            format,
        )
        words = _Words(run, path, quiet=quiet)
        has_bar = not (quiet or source.is_typed()) and _has_room_for_a_bar(path)
        try:
            with progress(quiet=quiet) as say:
                if has_bar:
                    say(f"counting the records of {source.name}")
                count = source.record_count() if has_bar else None
                loaded = _prepared(request, run, say, resume=many.resume)
            process.at_work()
            with (
                _bar(None if count is None else count * request.job.samples, run.summary)
                if has_bar and loaded
                else contextlib.nullcontext(_show_nothing) as show
            ):
                run.told = lambda outcome: words.tell(outcome, show)
                for _ in run.write(loaded):
                    pass
        except (SfgenError, KeyboardInterrupt):
            words.tell_all(whole=False)
            raise
        words.tell_all(whole=True)
    if run.summary.failed or run.summary.kept_failed:
        raise typer.Exit(1)


def _prepared(request: Request, run: JobRun, say: Say, *, resume: bool) -> LoadedJob | None:
    """The job with everything loaded for it; nothing is loaded where nothing is left to do."""
    compiled: list[bool] = []
    with told_of_compiling(compiled.append):
        made = check_beforehand(request, say, has_prompt=False)
        if resume:
            say(f"comparing the output with {run.source.name}")
            run.resume(is_seed_given=request.options.seed is not None)
        if not run.has_more():
            return None
        loaded = without_weights(request, say, made)
        loaded.check()
        tell_of_tools(loaded, quiet=request.options.quiet)
    if compiled:
        loaded.rehearse()
    if run.is_here:
        load_weights(loaded, say)
    return loaded


def _crew(many: ManyOptions) -> contextlib.AbstractContextManager[RayCluster | None]:
    """Return the crew that makes the texts on other machines; ``None``: this machine makes them."""
    if many.ray is None:
        return contextlib.nullcontext()
    from sfgen.integrations.ray.cluster import connected

    process.at_work()  # a cluster that was begun here is ended
    return connected(many.ray, cpus=many.ray_cpus, gpus=many.ray_gpus)


@contextlib.contextmanager
def _opened_input(file: Path, *, plain: bool, template: PromptTemplate | None) -> Iterator[PromptFile]:
    """The input, open; ``-`` is stdin."""
    from sfgen.jobs.prompts import PromptFile, opened

    if str(file) == STDIN_OR_STDOUT:
        yield PromptFile("stdin", _stdin(), plain=plain, template=template)
        return
    with opened(file, plain=plain, template=template) as source:
        yield source


def _stdin() -> BinaryIO:
    if sys.stdin is None:  # closed by the caller
        return io.BytesIO()
    stream: BinaryIO | None = getattr(sys.stdin, "buffer", None)
    return io.BytesIO(sys.stdin.read().encode("utf-8", "replace")) if stream is None else stream


class _Stdout:
    """Records on stdout."""

    def append(self, line: str) -> None:
        """Write one line and flush it at once."""
        from sfgen.jobs.output import storable

        write(f"{storable(line)}\n")


@contextlib.contextmanager
def _opened_output(path: Path | None, *, keep: bool, replace: bool) -> Iterator[Output]:
    """The output, open; ``None`` is stdout. The others are as for ``OutputFile``."""
    from sfgen.jobs.output import OutputFile

    if path is None:
        yield _Stdout()
        return
    with contextlib.closing(OutputFile(path, keep=keep, replace=replace)) as file:
        yield file


def _has_room_for_a_bar(path: Path | None) -> bool:
    """Whether a terminal is there for people alone: a reader of the pipe may write to the same one, as jq does."""
    if not can_be_drawn_on():
        return False
    if path is not None or sys.stdout is None:
        return True
    return not sys.stdout.isatty() and not stat.S_ISFIFO(os.fstat(sys.stdout.fileno()).st_mode)


def _bar(total: int | None, summary: Summary) -> contextlib.AbstractContextManager[Callable[[], None]]:
    from sfgen_cli.run.batch import bar  # draws in what few runs need

    return bar(total, summary)


def _show_nothing() -> None:
    pass


@dataclass
class _Words:
    """Messages for people about a run.

    Attributes:
        run: The run.
        path: Where the records go; ``None``: to stdout.
        quiet: Whether a run without failures says nothing.
    """

    run: JobRun
    path: Path | None
    quiet: bool
    _is_told: bool = field(default=False)

    def tell(self, outcome: Outcome, show: Callable[[], None]) -> None:
        """Report a record that was written: a failure in words, each one by the bar."""
        if outcome.error is not None:
            note(f"sfgen: {shown_name(self.run.source.name)}, {outcome.slot.place}: {outcome.error.message}")
            if not outcome.slot.prompt.is_object and not self._is_told:  # of use once
                self._is_told = True
                note(_NOT_JSON)
        show()

    def tell_all(self, *, whole: bool) -> None:
        """The last line for people; ``whole``: the run was not cut off."""
        summary = self.run.summary
        is_nothing = summary.written + summary.failed == 0
        if not whole and is_nothing:
            return
        where = f" to {shown_name(self.path)}" if self.path is not None else ""
        parts = [f"{summary.written:,} written{where}", f"{summary.failed:,} failed"]
        if summary.kept:
            failed = f" ({summary.kept_failed:,} failed)" if summary.kept_failed else ""
            before = f"{summary.kept:,} there before{failed}"
            parts = [f"nothing left to write{where}", before] if is_nothing else [*parts, before]
        if where and not whole:
            parts.append("--resume goes on")
        note(f"sfgen: {', '.join(parts)}", quiet=self.quiet)


_RATE_SECONDS = 120.0  # a rate is that of so long a time before
_WIDTH = 16


@contextlib.contextmanager
def bar(total: int | None, summary: Summary) -> Iterator[Callable[[], None]]:
    """Show a progress bar on stderr, and erase it at the end.

    It tells texts, rates, time left, errors and rollbacks.
    """
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    from sfgen_cli.live.screen import stderr_console

    columns: list[ProgressColumn] = [
        BarColumn(_WIDTH),
        TextColumn("{task.completed:,}" + ("" if total is None else " of {task.total:,}"), markup=False),
        _rate("/s", "/min"),
        TimeElapsedColumn() if total is None else TimeRemainingColumn(compact=True),
        TextColumn("{task.fields[more]}", markup=False),
    ]
    shown = Progress(
        *columns,
        console=stderr_console(),
        transient=True,
        redirect_stdout=False,  # records go to stdout whatever is shown here
        refresh_per_second=5,
        speed_estimate_period=_RATE_SECONDS,
    )
    with shown:
        texts = shown.add_task("", total=total, completed=summary.done, more="")
        tokens = shown.add_task("", total=None, visible=False, more="")

        def show() -> None:
            shown.update(tokens, completed=summary.tokens)
            shown.update(texts, completed=summary.done, more=_more(summary, _speed(tokens)))

        def _speed(task: TaskID) -> float | None:
            return next(each.speed for each in shown.tasks if each.id == task)

        yield show


def _more(summary: Summary, speed: float | None) -> str:
    """Say more behind the time, where there is more."""
    rollbacks = counted(summary.rollbacks, "rollback")
    parts = {
        f"{speed or 0:,.0f} tokens/s": bool(speed),
        f"{summary.failed + summary.kept_failed:,} failed": summary.failed + summary.kept_failed > 0,
        rollbacks: summary.rollbacks > 0,
    }
    return " · ".join(part for part, is_said in parts.items() if is_said)


def _rate(a_second: str, a_minute: str) -> ProgressColumn:
    from rich.progress import ProgressColumn, Task
    from rich.text import Text

    class Rate(ProgressColumn):
        """Texts a second, or what is slower a minute."""

        def render(self, task: Task) -> Text:
            speed = task.speed
            if speed is None:
                return Text(f"–{a_second}")
            return Text(f"{speed:,.1f}{a_second}" if speed >= 1 else f"{speed * 60:,.1f}{a_minute}")

    return Rate()
