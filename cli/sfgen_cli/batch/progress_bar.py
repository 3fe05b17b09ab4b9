"""How far many prompts have come, on a terminal."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import ProgressColumn

_RATE_SECONDS = 120.0  # the rate is that of so long a time before


@contextlib.contextmanager
def bar(total: int | None, done: int) -> Iterator[Callable[[int], None]]:
    """A bar on stderr with rate and time left; it is erased at the end.

    Args:
        total: The number of lines of the input; ``None`` if nobody knows it.
        done: So many have been done before.

    Yields:
        A function that is told how many lines have been done.
    """
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    from sfgen_cli.live.screen import stderr_console

    columns: list[ProgressColumn] = [
        BarColumn(),
        TextColumn("{task.completed:,}" + ("" if total is None else " of {task.total:,}"), markup=False),
        _rate(),
        TimeElapsedColumn() if total is None else TimeRemainingColumn(compact=True),
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
        task = shown.add_task("", total=total, completed=done)
        yield lambda lines: shown.update(task, completed=lines)


def _rate() -> ProgressColumn:
    from rich.progress import ProgressColumn, Task
    from rich.text import Text

    class Rate(ProgressColumn):
        """Lines a second, or what is slower a minute."""

        def render(self, task: Task) -> Text:
            speed = task.speed
            if speed is None:
                return Text("–/s")
            return Text(f"{speed:,.1f}/s" if speed >= 1 else f"{speed * 60:,.1f}/min")

    return Rate()
