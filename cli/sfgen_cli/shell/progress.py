"""Messages on a terminal about work that takes a while."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from sfgen.delays import Delay, told_of_delays
from sfgen.printable import on_one_line, size_in_words
from sfgen_cli.shell import process
from sfgen_cli.shell.keyboard import can_be_drawn_on
from sfgen_cli.shell.output import note

Say = Callable[[str], None]

PREPARING = "preparing sfgen for this machine (once)"
"""The message while kernels are compiled."""


@contextlib.contextmanager
def progress(*, quiet: bool) -> Iterator[Say]:
    """Show on stderr what is being done, with the seconds.

    On a terminal it is a line that is erased at the end. The function that the ``with`` statement gives sets what it
    says. While kernels are compiled, which happens once on a machine, or something large is imported or downloaded, it
    says that. A download is also told in a line of its own that stays, before it begins, and where nothing can be
    erased too.
    """
    if quiet:
        yield lambda what: None
        return
    if not can_be_drawn_on():
        with told_of_delays(_announce):
            yield lambda what: None
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn

    from sfgen.kernels import told_of_compiling
    from sfgen_cli.live.screen import stderr_console

    console = stderr_console()
    spinner, dots = ("dots", "…") if console.encoding.startswith("utf") else ("line", "...")
    columns = (SpinnerColumn(spinner), TextColumn(f"{{task.description}}{dots} {{task.elapsed:.0f}} s", markup=False))
    # Where Ctrl-C ends the process while this is shown, nobody else erases it.
    with process.farewell(b"\r\x1b[2K\x1b[?25h"), Progress(*columns, console=console, transient=True) as shown:
        task = shown.add_task("starting", total=None)
        step = "starting"

        def show(what: str) -> None:
            shown.update(task, description=on_one_line(what), refresh=True)

        def say(what: str) -> None:
            nonlocal step
            step = what
            show(step)

        def wait(delay: Delay | None) -> None:
            if delay is not None and delay.is_download:
                shown.console.print(_announcement(delay), markup=False, highlight=False, soft_wrap=True)
            show(step if delay is None else delay.what)

        with told_of_compiling(lambda begins: show(PREPARING if begins else step)), told_of_delays(wait):
            yield say


def _announce(delay: Delay | None) -> None:
    if delay is not None and delay.is_download:
        note(_announcement(delay))


def _announcement(delay: Delay) -> str:
    size = "" if delay.size is None else f" ({size_in_words(delay.size)})"
    return f"sfgen: {on_one_line(delay.what)}{size}"
