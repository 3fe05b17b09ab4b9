"""``gen --choices … --scores``: how likely each choice is, as a table with bars, lines with tabs, or JSON."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from sfgen.printable import on_one_line
from sfgen_cli.run.generation import check_beforehand, load_weights, without_weights
from sfgen_cli.run.request import Request
from sfgen_cli.shell import process
from sfgen_cli.shell.output import stdout_is_a_terminal, write, write_json
from sfgen_cli.shell.progress import progress

if TYPE_CHECKING:
    from sfgen.scoring.loop import Scored


def write_scores(request: Request) -> None:
    """Score the choices after the prompt, and write the scores."""
    request.check()
    process.import_numpy()
    process.let_threads_sleep(request.options.model)
    with progress(quiet=request.options.quiet) as say:
        loaded = without_weights(request, say, check_beforehand(request, say))
        loop = loaded.scoring_loop(request.prompt)
        load_weights(loaded, say)
        say("scoring the choices")
        started = time.perf_counter()
        scored: Scored = loaded.score(loop)
    if request.options.json:
        from sfgen.jobs.record import scores_record

        seconds, rendered = time.perf_counter() - started, loaded.rendered(request.prompt)
        write_json(scores_record(request.job, request.prompt, scored, seconds=seconds, rendered=rendered))
    elif stdout_is_a_terminal():
        write_table(scored)
    else:
        write_lines(scored)


_BAR, _SHORTEST_BAR = 30, 4  # cells
_SHORTEST_CHOICE = 6
_BETWEEN, _EDGES = 3, 2  # cells between two columns, and beside the table
_EIGHTHS = " ▏▎▍▌▋▊▉"


def write_lines(scored: Scored) -> None:
    """Write a line for each choice: text, share, log-probability.

    The last is the logarithm of its own probability.
    """
    lines = [f"{_in_a_field(score.text)}\t{score.probability:.6g}\t{score.logprob:.6g}\n" for score in scored.scores]
    write("".join(lines))


def write_table(scored: Scored) -> None:
    """Write a table of the choices with their shares as bars.

    In a narrow terminal the bars get shorter and vanish, then choices are cut; numbers never are. Below the table
    stands what the model gives to all of them.
    """
    from rich import box
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    numbers = {
        "share": [f"{100 * score.probability:.2f} %" for score in scored.scores],
        "logprob": [f"{score.logprob:.3f}" for score in scored.scores],
        "tokens": [str(len(score.tokens)) for score in scored.scores],
    }
    choices = [on_one_line(score.text) for score in scored.scores]
    console = Console(file=sys.stdout, highlight=False)
    taken = sum(max(map(len, [name, *column])) + _BETWEEN for name, column in numbers.items()) + _EDGES
    longest = max(map(cell_len, ["choice", *choices]))
    shown = max(_SHORTEST_CHOICE, min(longest, console.width - taken))
    cells = min(_BAR, console.width - taken - shown - _BETWEEN)
    has_bar = cells >= _SHORTEST_BAR
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("choice", no_wrap=True, width=shown)
    table.add_column("share", justify="right", no_wrap=True)
    if has_bar:
        table.add_column("", no_wrap=True, width=cells)
    table.add_column("logprob", justify="right", no_wrap=True)
    table.add_column("tokens", justify="right", no_wrap=True)
    rows = zip(scored.scores, choices, *numbers.values(), strict=True)
    for score, choice, share, logprob, tokens in rows:
        table.add_row(Text(choice), share, *([bar(score.probability, cells)] if has_bar else []), logprob, tokens)
    console.width = max(console.width, taken + shown)
    console.print(table)
    console.print(f"all together: {100 * scored.total_probability:.3g} % of what the model would write")


def bar(share: float, cells: int = _BAR) -> str:
    """Draw a bar of a length in proportion to a share; the whole is as long as ``cells``.

    >>> bar(0.1), bar(0.05), len(bar(1)), bar(0.5, 4)
    ('███', '█▌', 30, '██')
    """
    whole, part = divmod(round(share * cells * 8), 8)
    return "█" * whole + _EIGHTHS[part].strip()


def _in_a_field(text: str) -> str:
    """A text in a line of fields: tabs, newlines and backslashes are escaped.

    >>> print(_in_a_field("a\\tb"))
    a\\tb
    """
    return on_one_line(text.replace("\\", "\\\\"))
