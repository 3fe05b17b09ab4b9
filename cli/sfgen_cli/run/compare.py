"""``ban --compare``: the free text and the text without the words, of the same seed, side by side."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sfgen.errors import UsageError
from sfgen.printable import counted, visible
from sfgen_cli.run.generation import load
from sfgen_cli.run.request import Request
from sfgen_cli.shell.output import stdout_is_a_terminal, write, write_json
from sfgen_cli.shell.progress import progress

if TYPE_CHECKING:
    from rich.text import Text

    from sfgen import Result, RolledBack, Sampler
    from sfgen.decoding.loop import Loop
    from sfgen.jobs.loaded_job import LoadedJob
    from sfgen.protocols import Tokens

_FREE = "free text"
_LISTED = 20  # rollbacks, below the texts
_MARKED = 3  # rollbacks at one place of the text
_MARKS = ("[-", "-]")  # as wdiff has them, where the terminal strikes nothing out


@dataclass(frozen=True)
class _Side:
    """One of the two texts.

    Attributes:
        result: What came out.
        record: Its record for ``--json``.
        vocabulary: What its tokens write.
    """

    result: Result
    record: dict[str, Any]
    vocabulary: Tokens


def write_comparison(request: Request) -> None:
    """Generate each sample twice, free and with its bans, and write both."""
    options = request.options
    shown = {
        "--live": options.live,
        "--slow": options.slow,
        "--step": options.step,
        "--trace": options.trace,
        "--after": options.after,
    }
    for name, given in shown.items():
        if given:
            raise UsageError(f"--compare and {name} cannot be used together", hint="Leave one of them out.")
    banned, texts = load(request)
    free = replace(banned, job=replace(banned.job, config=replace(banned.job.config, banned=None, word_bias=None)))
    for number, (sampler, loop) in enumerate(texts):
        with progress(quiet=options.quiet) as say:
            say("writing the free text")
            free_side = _generate(free, request.prompt, sampler, free.loop(request.prompt, sampler))
            say("writing the text without the words")
            sides = (free_side, _generate(banned, request.prompt, sampler, loop))
        if options.json:
            write_json({"free": sides[0].record, "banned": sides[1].record})
            continue
        if number:
            write("\n")
        before = request.echoed
        if stdout_is_a_terminal():
            _write_table(before, *sides)
        else:
            write(_plain(before, *sides))


def _generate(loaded: LoadedJob, prompt: str, sampler: Sampler, loop: Loop) -> _Side:
    from sfgen.decoding import Finished
    from sfgen.jobs.record import record

    started = time.perf_counter()
    for event in loaded.events(loop):
        if isinstance(event, Finished):
            result, seconds = event.result, time.perf_counter() - started
            rendered = loaded.rendered(prompt)
            fields = record(loaded.job, prompt, result, seed=sampler.seed, seconds=seconds, rendered=rendered)
            return _Side(result, fields, loaded.model.vocabulary)
    raise AssertionError("the last event carries the result")


def _plain(before: str, free: _Side, banned: _Side) -> str:
    """Both texts under a line each that says which it is, and what was taken back."""
    rollbacks = banned.result.rollbacks
    lines = [f"--- {_FREE}", before + free.result.text, f"--- {_banned_title(banned)}", before + banned.result.text]
    if rollbacks:
        lines.append("--- taken back, before which token and why")
        lines += [f"{event.position:5}  {visible(event.text)!r}  {_reason(event)}" for event in rollbacks[:_LISTED]]
    if len(rollbacks) > _LISTED:
        lines.append(f"…      {len(rollbacks) - _LISTED} more")
    return "\n".join([*lines, ""])


def _write_table(before: str, free: _Side, banned: _Side) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=sys.stdout, highlight=False)
    marks = ("", "") if console.color_system is not None else _MARKS  # without it no style is shown at all
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, expand=True)
    table.add_column(_FREE, ratio=1)
    table.add_column(Text(_banned_title(banned, marks)), ratio=1)
    table.add_row(Text(visible(before + free.result.text)), Text(visible(before)) + _with_rollbacks(banned, marks))
    console.print(table)


def _with_rollbacks(side: _Side, marks: tuple[str, str] = ("", "")) -> Text:
    """The text; what was taken back stands where it was, struck out, and between the marks."""
    from rich.text import Text

    begin, end = marks
    shown = Text()
    written = 0
    for place, events in sorted(_by_place(side).items()):
        shown.append(visible(side.result.text[written:place]))
        written = place
        for event in events[:_MARKED]:
            taken_back = visible(event.text)
            within = taken_back.strip(" ") or taken_back  # a row may end at a space, not in a mark
            shown.append(taken_back.replace(within, f"{begin}{within}{end}", 1), style="red strike")
        if len(events) > _MARKED:
            shown.append(f"(+{len(events) - _MARKED})", style="red")
    shown.append(visible(side.result.text[written:]))
    return shown


def _by_place(side: _Side) -> dict[int, list[RolledBack]]:
    """The rollbacks by the characters of the text that stand before the first token that was taken back."""
    tokens = [side.vocabulary.tokens[token] or b"" for token in side.result.token_ids]
    healed = len((side.result.healed or "").encode())
    places: dict[int, list[RolledBack]] = {}
    for event in side.result.rollbacks:
        before = len(b"".join(tokens[: event.position])[healed:].decode("utf-8", "ignore"))
        places.setdefault(min(before, len(side.result.text)), []).append(event)
    return places


def _banned_title(side: _Side, marks: tuple[str, str] = ("", "")) -> str:
    begin, end = marks
    return f"without the words, {begin}{counted(len(side.result.rollbacks), 'rollback')}{end}"


def _reason(event: RolledBack) -> str:
    return "nothing else could follow" if event.word is None else visible(event.word)
