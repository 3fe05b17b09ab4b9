"""How far many prompts have come, on a terminal."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from sfgen_cli.shell.counted import counted

if TYPE_CHECKING:
    from rich.progress import ProgressColumn, TaskID

    from sfgen.jobs.run import Summary

_RATE_SECONDS = 120.0  # a rate is that of so long a time before
_WIDTH = 16


@contextlib.contextmanager
def bar(total: int | None, summary: Summary) -> Iterator[Callable[[], None]]:
    """Show a progress bar on stderr, and erase it at the end.

    It tells texts, rates, time left, errors and rollbacks.

    Args:
        total: The number of texts; ``None`` if it is not known.
        summary: What has been done, now and whenever the function is called.

    Yields:
        A function that updates the bar from the summary.
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
    """What is said behind the time, where there is something to say."""
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
