"""``sfgen check``: do these texts match a pattern, and is there something in them that should not be there?"""

from __future__ import annotations

import dataclasses
import io
import os
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from sfgen.errors import UsageError, caret_lines
from sfgen_cli import options
from sfgen_cli.constraints import Constraint, read_bans, read_constraint
from sfgen_cli.flatten import flattened
from sfgen_cli.output import note, visible, write, write_json
from sfgen_cli.progress import progress

if TYPE_CHECKING:
    from sfgen.ban import BannedWords
    from sfgen_cli.findings import Finding
    from sfgen_cli.matching import Checked

_STDIN = "-"
_EXAMPLE = "For example: sfgen check --regex '[a-z]{3}[0-9]' abc0, or: sfgen check --words talk,listen 'Can we talk?'"


@flattened
def check(
    texts: Annotated[
        list[str] | None,
        typer.Argument(
            help="The texts, each by itself; none or [bold]-[/]: stdin, of which each line is a text. With banned "
            "words alone all of stdin is one text.",
            metavar="TEXT…",
            show_default=False,
        ),
    ] = None,
    regex: options.Regex = None,
    regex_file: options.RegexFile = None,
    choices: options.Choices = None,
    choices_file: options.ChoicesFile = None,
    *,
    bans: options.BanOptions,
    json: options.Json = False,
    quiet: Annotated[
        bool,
        typer.Option("--quiet", "-q", help="Write nothing and stop at the first failure.", rich_help_panel="Output"),
    ] = False,
) -> None:
    r"""Tell whether texts match a pattern, or find banned words in texts that are already there.

    Where and why two of three texts do not match:
        sfgen check --regex '[a-z]{3}[0-9]' abc0 ab 0

    Each line of a file or a pipe:
        printf '2026\n20x6\n' | sfgen check --regex '[0-9]{4}'

    Banned words in a text:
        sfgen check --words talk,listen 'Can we talk?'

    A test in a script:
        sfgen ban --words talk 'Can we talk?' | sfgen check --words talk --quiet && echo clean

    With a pattern or choices each text must match as a whole. For one that does not it tells the place, what was
    expected there, and whether the text is at least the start of a match. A line is a text without its newline; a
    carriage return before that belongs to the text.

    With banned words it finds what [bold]sfgen ban[/] with the same options would not have written, and tells each
    place: line and column from 1, the byte from 0. With both, a text must match and be clean.

    The exit code is 0 if all is well, else 1. No model is loaded.
    """
    constraint = read_constraint(regex, regex_file, choices, choices_file)
    if not constraint and not bans:
        raise UsageError("nothing to look for: neither a pattern nor words", hint=_EXAMPLE)
    sources = list(_sources(texts or [_STDIN], stdin_taken=str(bans.words_file) == _STDIN))
    banned = read_bans(bans) if bans else None
    if constraint:
        _check_matches(sources, constraint, banned, json=json, quiet=quiet)
    elif banned is not None:
        _check_bans(sources, banned, json=json, quiet=quiet)


def _sources(texts: list[str], *, stdin_taken: bool) -> Iterator[str | None]:
    """Each argument; ``None`` for stdin.

    Raises:
        UsageError: Stdin is a terminal, or is wanted twice.
    """
    if texts.count(_STDIN) + stdin_taken > 1:
        raise UsageError("stdin can be read once only", hint="Give the text as argument, or the words as --words.")
    for text in texts:
        if text != _STDIN:
            yield text
        elif sys.stdin is not None and sys.stdin.isatty():
            raise UsageError("no text to look at", hint=_EXAMPLE)
        else:
            yield None


def _stdin_lines() -> Iterable[bytes]:
    """Line by line, so that what is wrong is told as soon as its line is there."""
    if sys.stdin is None:
        return ()
    stream = getattr(sys.stdin, "buffer", None)
    return (line.encode() for line in sys.stdin) if stream is None else stream


# ---- a pattern -------------------------------------------------------------------------------------------------------


def _check_matches(
    sources: list[str | None], constraint: Constraint, banned: BannedWords | None, *, json: bool, quiet: bool
) -> None:
    from sfgen_cli.findings import findings
    from sfgen_cli.matching import Matching

    with progress(quiet=quiet) as say:
        say("reading the pattern")
        dfa = constraint.dfa()
    matching = Matching(dfa)
    count = good = 0
    for count, (line, text) in enumerate(_each_text(sources), 1):
        found = []
        if banned is not None:
            found = list(findings(io.BytesIO(text.encode("utf-8", "surrogateescape")), banned))
        if line is not None:
            found = [dataclasses.replace(finding, line=line) for finding in found]
        is_good = not found and matching.matches(text)
        good += is_good
        if quiet:
            if not is_good:
                raise typer.Exit(1)
        elif json:
            record = {"text": count, "line": line, **matching.check(text).record()}
            write_json(record if banned is None else {**record, "banned": [_found(finding) for finding in found]})
        elif not is_good:
            number = count if line is None and len(sources) > 1 else None
            _show_mismatch(matching.check(text), number, line)
            for finding in found:
                _show_finding(finding, number)
    if not count:
        note("sfgen: stdin is empty: there is no text to look at", quiet=quiet)
    else:
        note(f"sfgen: {good} of {count} texts match{'' if banned is None else ' and are clean'}", quiet=quiet)
    if good < count:
        raise typer.Exit(1)


def _each_text(sources: list[str | None]) -> Iterator[tuple[int | None, str]]:
    """Each text with the number of its line; ``None`` for an argument."""
    from sfgen_cli.matching import texts_of_lines

    for source in sources:
        if source is None:
            yield from enumerate(texts_of_lines(_stdin_lines()), 1)
        else:
            # The locale may have told Python of another encoding.
            yield None, os.fsencode(source).decode("utf-8", "surrogateescape")


def _show_mismatch(checked: Checked, number: int | None, line: int | None) -> None:
    if checked.matches:
        return
    places = {
        "text": number,
        "line": line,
        "character": checked.position + 1 if checked.walk.stopped is not None else None,
    }
    where = ", ".join(f"{name} {value}" for name, value in places.items() if value is not None)
    said = checked.in_words()
    write("\n".join([f"{where}: {said}" if where else said, *checked.shown(), ""]))


# ---- banned words ----------------------------------------------------------------------------------------------------


def _check_bans(sources: list[str | None], banned: BannedWords, *, json: bool, quiet: bool) -> None:
    from sfgen_cli.findings import findings

    count = 0
    for number, source in enumerate(sources, 1):
        for finding in findings(_stdin_lines() if source is None else io.BytesIO(os.fsencode(source)), banned):
            count += 1
            if quiet:
                raise typer.Exit(1)
            if json:
                write_json({"text": number, **_found(finding)})
            else:
                _show_finding(finding, number if len(sources) > 1 else None)
    if count:
        note(f"sfgen: {count} match{'es' if count > 1 else ''}", quiet=quiet)
        raise typer.Exit(1)


def _found(finding: Finding) -> dict[str, object]:
    """What ``--json`` prints of one match. Keys stay; more may be added."""
    return {
        "line": finding.line,
        "column": finding.column,
        "start": finding.start,
        "end": finding.end,
        "word": finding.word,
        "found": finding.found,
    }


def _show_finding(finding: Finding, number: int | None) -> None:
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
