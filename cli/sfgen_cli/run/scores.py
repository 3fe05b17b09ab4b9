"""``gen --choices … --scores``: how likely each choice is."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from sfgen_cli.report.score_table import write_lines, write_table
from sfgen_cli.run.generation import check_beforehand, load_weights, without_weights
from sfgen_cli.run.request import Request
from sfgen_cli.shell import process
from sfgen_cli.shell.output import stdout_is_a_terminal, write_json
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
