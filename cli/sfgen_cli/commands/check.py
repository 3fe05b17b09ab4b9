"""``sfgen check``: is there something in these texts that should not be there?"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from sfgen.errors import UsageError, caret_lines
from sfgen_cli import options
from sfgen_cli.constraints import read_bans
from sfgen_cli.flatten import flattened
from sfgen_cli.output import note, visible, write, write_json

if TYPE_CHECKING:
    from sfgen_cli.findings import Finding

_STDIN = "-"
_EXAMPLE = "For example: sfgen check --words talk,listen 'Can we talk?'"


@flattened
def check(
    texts: Annotated[
        list[str] | None,
        typer.Argument(
            help="The texts, each by itself; none or [bold]-[/]: all of stdin, as one text.",
            metavar="TEXT…",
            show_default=False,
        ),
    ] = None,
    *,
    bans: options.BanOptions,
    json: options.Json = False,
    quiet: Annotated[
        bool,
        typer.Option("--quiet", "-q", help="Write nothing and stop at the first match.", rich_help_panel="Output"),
    ] = False,
) -> None:
    r"""Find banned words in texts that are already there.

    [bold]sfgen check --words talk,listen 'Can we talk?'[/]

    [bold]sfgen ban --words talk 'Can we talk?' | sfgen check --words talk --quiet && echo clean[/]

    It finds what [bold]sfgen ban[/] with the same options would not have written, and tells each place: line and column
    from 1, the byte from 0. The exit code is 1 if there is a match, else 0. No model is loaded.
    """
    if not bans:
        raise UsageError("no words to look for", hint=_EXAMPLE)
    sources = list(_texts(texts or [_STDIN], stdin_taken=str(bans.words_file) == _STDIN))
    banned = read_bans(bans)
    from sfgen_cli.findings import findings

    count = 0
    for number, lines in enumerate(sources, 1):
        for finding in findings(lines, banned):
            count += 1
            if quiet:
                raise typer.Exit(1)
            if json:
                write_json(_record(finding, number))
            else:
                _show(finding, number if len(sources) > 1 else None)
    if count:
        note(f"sfgen: {count} match{'es' if count > 1 else ''}", quiet=quiet)
        raise typer.Exit(1)


def _texts(texts: list[str], *, stdin_taken: bool) -> Iterator[Iterable[bytes]]:
    """The lines of each text, as bytes.

    Raises:
        UsageError: Stdin is a terminal, or is wanted twice.
    """
    if texts.count(_STDIN) + stdin_taken > 1:
        raise UsageError("stdin can be read once only", hint="Give the text as argument, or the words as --words.")
    for text in texts:
        if text != _STDIN:
            yield io.BytesIO(os.fsencode(text))
        elif sys.stdin is not None and sys.stdin.isatty():
            raise UsageError("no text to look at", hint=_EXAMPLE)
        else:
            yield _stdin_lines()


def _stdin_lines() -> Iterable[bytes]:
    """Line by line, so that a match is told as soon as its line is there."""
    if sys.stdin is None:
        return ()
    stream = getattr(sys.stdin, "buffer", None)
    return (line.encode() for line in sys.stdin) if stream is None else stream


def _record(finding: Finding, number: int) -> dict[str, object]:
    """What ``--json`` prints for one match. Keys stay; more may be added."""
    return {
        "text": number,
        "line": finding.line,
        "column": finding.column,
        "start": finding.start,
        "end": finding.end,
        "word": finding.word,
        "found": finding.found,
    }


def _show(finding: Finding, number: int | None) -> None:
    text = "" if number is None else f"text {number}, "
    where = f"{text}line {finding.line}, column {finding.column}, byte {finding.start}"
    write("\n".join([f"{where}: {visible(finding.word)}", *_marked(finding), ""]))


def _marked(finding: Finding) -> tuple[str, str]:
    """The line with carets under the match, as far as it is shown."""
    from rich.cells import cell_len

    line, caret = caret_lines(finding.context, finding.position)
    found = finding.found.partition("\n")[0]
    size = cell_len(caret_lines(found, None, width=len(line))[0]) - 2  # written as the line is
    room = cell_len(line) - len(caret)
    return line, caret + "^" * min(size - 1, room)
