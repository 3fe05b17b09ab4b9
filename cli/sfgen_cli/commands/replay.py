"""``sfgen replay``: see a run again from its trace, or draw one step of it."""

from __future__ import annotations

import contextlib
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfgen.errors import UsageError
from sfgen.printable import on_one_line, shown_name
from sfgen_cli.options.generation import Quiet
from sfgen_cli.options.prompts import refuse_overwriting
from sfgen_cli.shell.keyboard import check_stepping, is_watched
from sfgen_cli.shell.output import complain, note, write, write_name
from sfgen_cli.shell.usage import told

if TYPE_CHECKING:
    from sfgen.trace import Recording, Trace

LONGEST_PAUSE = 1.0  # seconds; a run may have waited for longer, and nobody wants to wait for that again
_PICTURE = "Picture and page"
_STDIO = "-"


def replay(
    file: Annotated[
        Path,
        typer.Argument(help="A trace, written with [bold]--trace[/]; [bold]-[/] reads stdin.", show_default=False),
    ],
    *,
    sample: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            help="One sample of the run, counted from 0. Default: all; for a picture the first.",
            show_default=False,
        ),
    ] = None,
    slow: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="MS",
            help="Rest MS milliseconds at each step. Default: the pace of the run itself, without longer pauses.",
            show_default=False,
        ),
    ] = None,
    step: Annotated[bool, typer.Option("--step", help="Wait for a key of the terminal at each step.")] = False,
    quiet: Quiet = False,
    svg: Annotated[
        Path | None,
        typer.Option(
            metavar="OUT",
            help="Write a picture instead, and print its name; [bold]-[/]: the picture to stdout.",
            rich_help_panel=_PICTURE,
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="OUT",
            help="Write one page to step through in a browser, and print its name; [bold]-[/]: the page to stdout.",
            rich_help_panel=_PICTURE,
        ),
    ] = None,
    at: Annotated[
        int | None,
        typer.Option(
            metavar="STEP",
            help="Which step the picture shows: 1 is after the first event, -2 the last but one. Default: the last.",
            rich_help_panel=_PICTURE,
            show_default=False,
        ),
    ] = None,
) -> None:
    """See a run again from its trace, draw one step of it, or make a page of all.

    Keep a run, and see it again at a fifth of a second a step:
        sfgen ban --words talk,listen --trace run.jsonl 'Can we talk?' && sfgen replay run.jsonl --slow 200

    A picture of the last step but one:
        sfgen replay run.jsonl --svg run.svg --at -2

    A page with every step of all samples, which needs no network:
        sfgen replay run.jsonl --html run.html

    The text alone, as the run wrote it:
        sfgen replay run.jsonl | wc -w

    The view is shown on a terminal, and the text is written after it; where there is no terminal, or with
    [bold]--quiet[/], the text alone. No model is loaded, and nothing is generated.
    """
    _check(file, slow, svg, html, at, step=step, quiet=quiet)
    refuse_overwriting({"FILE": file}, {"--svg": svg, "--html": html})
    trace = _read(file)
    name = "stdin" if str(file) == _STDIO else shown_name(file)
    recordings = _chosen(trace, sample, name)
    if trace.cut_line is not None:
        note(f"sfgen: line {trace.cut_line} of {name} is cut short, and left out", quiet=quiet)
    if svg is not None:
        _draw(recordings[0], svg, at)
        return
    if html is not None:
        _make_page(recordings, html)
        return
    failed = [_play(recording, name, slow, step=step, quiet=quiet) for recording in recordings]
    if any(failed):
        raise typer.Exit(1)


def _check(
    file: Path, slow: int | None, svg: Path | None, html: Path | None, at: int | None, *, step: bool, quiet: bool
) -> None:
    """Refuse options that have no meaning together."""
    if svg is not None and html is not None:
        raise UsageError("--svg and --html cannot be used together", hint="Draw the picture and make the page in turn.")
    if html is not None and at is not None:
        raise UsageError("--at and --html cannot be used together", hint="A page has every step.")
    if svg is None and at is not None:
        raise UsageError(
            "--at needs --svg: it says which step the picture shows",
            hint=f"For example: sfgen replay {file} --svg run.svg --at {at}",
        )
    for name, given in (("--slow", slow is not None), ("--step", step)):
        if given and svg is not None:
            raise UsageError(f"{name} and --svg cannot be used together", hint="A picture does not move.")
        if given and html is not None:
            raise UsageError(
                f"{name} and --html cannot be used together", hint="A page has its own pace, and its keys."
            )
        if given and quiet:
            raise UsageError(f"{name} and --quiet cannot be used together", hint="It slows the live view down.")
    if step:
        check_stepping()


def _read(file: Path) -> Trace:
    from sfgen.trace import NoTrace, TraceError, parse_trace, read_trace

    try:
        if str(file) != _STDIO:
            return read_trace(file)
        if sys.stdin is None:
            raise TraceError("cannot read the trace from stdin: it is closed")
        return parse_trace(sys.stdin.buffer, "stdin")
    except NoTrace as error:
        error.hint = "A trace is what gen and ban write with --trace."
        raise


def _chosen(trace: Trace, sample: int | None, name: str) -> list[Recording]:
    if sample is None:
        return list(trace.recordings)
    chosen = [recording for recording in trace.recordings if recording.sample == sample]
    if not chosen:
        count = len(trace.recordings)
        raise UsageError(
            f"there is no sample {sample} in {name}: it has {count} sample{'' if count == 1 else 's'}",
            hint="The numbers count from 0.",
        )
    return chosen


def _play(recording: Recording, name: str, slow: int | None, *, step: bool, quiet: bool) -> bool:
    """Show one sample and write its text; whether it ended in an error."""
    if not quiet and is_watched(asked_for=slow is not None or step):
        _show(recording, slow, step=step)
    write(recording.text)
    if recording.failure is not None:
        error = recording.failure.error
        complain(*told(error))
    elif recording.result is None:
        note(f"sfgen: the run was killed: {name} has no end of sample {recording.sample}", quiet=quiet)
    return recording.failure is not None


class _NoEndError(Exception):
    """The recording stops before the end of the run."""


def _show(recording: Recording, slow: int | None, *, step: bool) -> None:
    from sfgen_cli.live.view import live_view

    moments = [0.0, *(seconds for seconds, _ in recording.events)]
    pauses = [min(max(0.0, after - before), LONGEST_PAUSE) for before, after in pairwise(moments)]
    own_pace = slow is None and not step
    # The view rests at its last step when the run ends, or when an error ends it: here one does.
    with contextlib.suppress(_NoEndError), live_view(recording.scene, slow=slow or 0, step=step) as view:
        for pause, (seconds, event) in zip(pauses, recording.events, strict=True):
            if own_pace:
                time.sleep(pause)
            view.show(event, seconds)
        if recording.result is None:
            raise _NoEndError


def _draw(recording: Recording, path: Path, at: int | None) -> None:
    """Write the picture of one step."""
    from sfgen_cli.live.view import LiveView, svg

    view, until = LiveView(recording.scene), _events_until(recording, at)
    for seconds, event in recording.events[:until]:
        view.show(event, seconds)
    if until < len(recording.events):
        view.expect(recording.events[until][1])
    _write_out(svg(view, on_one_line(recording.scene.prompt)[:80] or "sfgen"), path, b"<svg", "picture")


def _make_page(recordings: list[Recording], path: Path) -> None:
    """Write the page of some samples."""
    from sfgen_cli.page.page import BEGINNING, page

    _write_out(page(recordings), path, BEGINNING, "page")


def _write_out(written: str, path: Path, beginning: bytes, what: str) -> None:
    """Write a picture or a page to a file or to stdout; a file that holds something else is not replaced."""
    from sfgen.trace import TraceError
    from sfgen.trace.writing import refuse_to_replace

    if str(path) == _STDIO:
        write(written)
        return
    try:
        refuse_to_replace(path, beginning, f"a {what}")
        path.write_text(written, encoding="utf-8", newline="\n")
    except OSError as error:
        raise TraceError(f"cannot write the {what} {path}: {error.strerror or error}") from error
    write_name(path)


def _events_until(recording: Recording, at: int | None) -> int:
    """Count the events until a step is whole."""
    from sfgen_cli.live.moment import step_ends

    ends = step_ends([event for _, event in recording.events])
    count = len(ends)
    if at is None:
        return len(recording.events)
    if not 1 <= abs(at) <= count:
        raise UsageError(
            f"there is no step {at} in sample {recording.sample}: it has {count} step{'' if count == 1 else 's'}",
            hint=f"--at takes 1 to {count}, or -{count} to -1 counted from the end." if count else "",
        )
    return ends[at - 1 if at > 0 else at]
