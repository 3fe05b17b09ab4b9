"""``sfgen check``: whether texts match a constraint, and whether they contain banned words."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from sfgen.errors import InputError, UsageError
from sfgen.printable import caret_lines, on_one_line, visible
from sfgen_cli.options.bans import BanOptions, read_bans
from sfgen_cli.options.constraint import ConstraintOptions
from sfgen_cli.options.grammar import GrammarOptions
from sfgen_cli.options.prompts import reader_of_stdin, without_newline
from sfgen_cli.options.requested_constraint import (
    RequestedConstraint,
    doubts,
    looks_like_a_pattern_for_a_file,
    read_constraint,
)
from sfgen_cli.report.checked_texts import Source, sources
from sfgen_cli.shell.command_classes import Named, flattened
from sfgen_cli.shell.output import ReaderGone, complain, note, write, write_json
from sfgen_cli.shell.progress import progress
from sfgen_cli.shell.usage import quoted, told

if TYPE_CHECKING:
    from sfgen.ban import BannedWords
    from sfgen_cli.report.calls import CallsMatching
    from sfgen_cli.report.checked_texts import Finding
    from sfgen_cli.report.grammar import GrammarMatching
    from sfgen_cli.report.matching import Complaint, Matching
    from sfgen_cli.report.schema import Validating
    from sfgen_cli.report.substring import SubstringMatching
    from sfgen_cli.report.template import TemplateMatching

    Comparing: TypeAlias = (
        Matching | Validating | GrammarMatching | TemplateMatching | SubstringMatching | CallsMatching
    )

_EXAMPLE = "For example: sfgen check --words talk,listen notes.txt, or: sfgen check --regex '[a-z]{3}' --text abc"
_TROUBLE = 2
_TEXTS = "Texts"


@flattened
def check(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            help="Files to check; none or [bold]-[/]: stdin. With a pattern or choices each line is a text; with a "
            "schema, a grammar or banned words alone a file is one text.",
            metavar="FILE…",
            rich_help_panel=_TEXTS,
            show_default=False,
        ),
    ] = None,
    text: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT",
            help="A text itself, in place of a file or after the files; repeatable.",
            rich_help_panel=_TEXTS,
            show_default=False,
        ),
    ] = None,
    lines: Annotated[
        bool,
        typer.Option(
            "--lines",
            help="Each line of a file is a text, also with a schema, a grammar or banned words: a match that spans "
            "lines is not found. Lines of a file whose name ends in .jsonl are texts without this option.",
            rich_help_panel=_TEXTS,
        ),
    ] = False,
    allow_empty: Annotated[
        bool,
        typer.Option(
            "--allow-empty",
            help="Where lines are texts, accept a file without lines; otherwise it is an error: nothing was checked.",
            rich_help_panel=_TEXTS,
        ),
    ] = False,
    *,
    given: ConstraintOptions,
    grammar: GrammarOptions,
    bans: Annotated[BanOptions, Named("ban-", short=True)],
    json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="One JSON object about each text, or with banned words alone about each match.",
            rich_help_panel="Output",
        ),
    ] = False,
    quiet: Annotated[
        bool,
        typer.Option(
            "--quiet", "-q", help="Write nothing but errors, and stop at the first failure.", rich_help_panel="Output"
        ),
    ] = False,
) -> None:
    r"""Check texts against a pattern, a schema or a grammar, or find banned words in them.

    Where and why two of three texts do not match:
        sfgen check --regex '[a-z]{3}[0-9]' --text abc0 --text ab --text 0

    Each line of a file or a pipe:
        printf '2026\n20x6\n' | sfgen check --regex '[0-9]{4}'

    A JSON document by a schema:
        sfgen check --schema 'name, age int' --text '{"name": "Ada", "age": "36"}'

    The place at which a text stops matching a grammar:
        sfgen check --grammar 'root ::= [0-9] ("+" [0-9])*' --text '1+2+'

    Banned words in a file:
        echo 'Can we talk?' > notes.txt && sfgen check --words talk,listen notes.txt

    A test in a script:
        sfgen ban --words talk 'Can we talk?' | sfgen check --words talk --quiet && echo clean

    With a pattern or choices each text must match as a whole. Of one that does not, the report has the place,
    the characters expected there, and whether the text is at least the start of a match. A line is a text without its
    newline; a carriage return before the newline belongs to the text.

    With a schema each document must be valid by the package jsonschema, formats included. The report names each fault
    by its JSON path, line and column, with the value expected there.

    With a template a file is one text. The report has the place at which it stops matching and the text expected
    there; with [bold]--json[/] also the text of each hole.

    With a grammar each text must match its start rule. Of one that does not, the report has line and column, the rules
    open there, and the text expected. A file may end with a newline that the grammar does not have.

    With banned words the report has each match that [bold]sfgen ban[/] with the same options would not have written:
    line and column from 1, the byte from 0. A text without any is clean. With a constraint and banned words, a text
    must match and be clean.

    The exit code is as grep's: 0 if all texts match and are clean, 1 if one does not or is not, 2 if a text could not
    be checked: a missing file, a file without lines where lines are texts, a bad pattern. No model is loaded.
    """
    reader = reader_of_stdin({**given.files, "--grammar": grammar.grammar, "--words-file": bans.words_file})
    constraint = read_constraint(given, grammar)
    if not constraint and not bans:
        raise _nothing_to_look_for(files or [])
    texts = sources(files or [], text or [], reader=reader)
    banned = read_bans(bans, quiet=quiet)
    matching = None
    if constraint:
        for doubt in doubts(constraint, given.choices or ()):
            note(f"sfgen: {doubt}", quiet=quiet)
        matching = _matching(constraint, quiet=quiet)
    by_line = lines or (matching is not None and matching.each_line)
    several = len(texts) > 1
    _Check(matching, banned, by_line=by_line, may_be_empty=allow_empty, json=json, quiet=quiet, several=several).run(
        texts
    )


def _nothing_to_look_for(files: list[str]) -> UsageError:
    message = "nothing to look for: neither a pattern nor words"
    if files and looks_like_a_pattern_for_a_file(files[0]):
        rest = [quoted(name, instead="FILE") for name in files[1:]]
        return UsageError(
            message,
            hint=" ".join(["If it is a pattern: sfgen check --regex", quoted(files[0], instead="PATTERN"), *rest]),
        )
    return UsageError(message, hint=_EXAMPLE)


def _matching(constraint: RequestedConstraint, *, quiet: bool) -> Comparing:
    with progress(quiet=quiet) as say:
        if constraint.grammar is not None:
            from sfgen_cli.report.grammar import GrammarMatching

            say("reading the grammar")
            return GrammarMatching(constraint.grammar.read())
        if constraint.template is not None:
            from sfgen_cli.report.template import TemplateMatching

            return TemplateMatching(constraint.template)
        if constraint.substring is not None:
            from sfgen_cli.report.substring import SubstringMatching

            return SubstringMatching(constraint.substring)
        calls = constraint.tool_calls
        if calls is not None:
            from sfgen_cli.report.calls import CallsMatching

            say("reading the tools")
            return CallsMatching(calls)
        if constraint.schema is None:
            from sfgen_cli.report.matching import Matching

            say("reading the pattern")
            return Matching(constraint.dfa())
        from sfgen_cli.report.schema import Validating

        say("reading the schema")
        validating = Validating(constraint.schema, constraint.schema_dir, constraint.documents)
    for line in validating.notes:
        note(f"sfgen: {on_one_line(line)}", quiet=quiet)
    return validating


@dataclass(frozen=True)
class _Text:
    """One text.

    Attributes:
        number: Its number in the run, from 1.
        source: Where it comes from.
        line: The number of its line there, from 1; ``None``: it is all of the source.
        lines: Its bytes, cut after newlines; to be read once.
    """

    number: int
    source: Source
    line: int | None
    lines: Iterable[bytes]


@dataclass
class _Check:
    """A run of the command.

    Attributes:
        matching: The pattern, the schema or the grammar, if there is one.
        banned: The banned words, if there are any.
        by_line: Whether each line of a file is a text.
        may_be_empty: Whether there may be no line.
        json: Whether data are written, and not words for people.
        quiet: Whether nothing is written.
        several: Whether there is more than one source.
        count: How many texts there were.
        good: How many of them match and are clean.
        matches: How many banned matches there were.
        is_bad: Whether a text did not match or was not clean, reported or not.
    """

    matching: Comparing | None
    banned: BannedWords | None
    by_line: bool
    may_be_empty: bool
    json: bool
    quiet: bool
    several: bool
    count: int = 0
    good: int = 0
    matches: int = 0
    is_bad: bool = False

    def run(self, given: list[Source]) -> None:
        """Check all texts. A file that cannot be read is reported, and the others are checked.

        Raises:
            typer.Exit: With 1, a text does not match or is not clean; with 2, something could not be read.
            ReaderGone: Nobody reads stdout any more.
        """
        is_trouble = False
        for source in given:
            try:
                with source.opened() as lines:
                    self._look(source, lines)
            except InputError as error:
                complain(*told(error))
                is_trouble = True
            except BrokenPipeError as error:
                raise ReaderGone(exit_code=int(self.is_bad)) from error
        if self.matching is not None:
            said = self.matching.said if self.banned is None else self.matching.said_with_bans
            note(f"sfgen: {self.good} of {self.count} texts {said}", quiet=self.quiet or not self.count)
        elif self.matches:
            note(f"sfgen: {self.matches} match{'es' if self.matches > 1 else ''}", quiet=self.quiet)
        if is_trouble or self.is_bad:
            raise typer.Exit(_TROUBLE if is_trouble else 1)

    def _look(self, source: Source, lines: Iterable[bytes]) -> None:
        """Check the texts of a source.

        Raises:
            InputError: It has none; a check of nothing has not succeeded.
        """
        before = self.count
        if self.banned is not None and source.is_json_lines:
            hint = f"its texts alone: jq -r .text {quoted(source.file or '', instead='FILE')} | sfgen check …"
            note(f"sfgen: {source.name} is read as it stands, with JSON's escapes; {hint}", quiet=self.quiet)
        for text in self._texts(source, lines):
            is_good = self._is_clean(text) if self.matching is None else self._does_match(text, self.matching)
            self.count += 1
            self.good += is_good
            if self.quiet and not is_good:
                raise typer.Exit(1)
        if self.count == before and not self.may_be_empty:
            raise InputError(
                f"{source.name} has no text in it: nothing was checked",
                hint="If that is right, give --allow-empty.",
            )

    def _texts(self, source: Source, lines: Iterable[bytes]) -> Iterator[_Text]:
        if not source.is_read_by_line(asked_for=self.by_line):
            yield _Text(self.count + 1, source, None, lines)
            return
        from sfgen_cli.report.matching import texts_of_lines

        for number, text in enumerate(texts_of_lines(lines), 1):
            if source.is_json_lines and self.matching is not None and not text.strip():
                continue
            yield _Text(self.count + 1, source, number, io.BytesIO(text.encode("utf-8", "surrogateescape")))

    # ---- one text ----------------------------------------------------------------------------------------------------

    def _is_clean(self, text: _Text) -> bool:
        """Look for banned words; each match is reported at once."""
        before = self.matches
        for finding in self._findings(text):
            self.matches += 1
            self.is_bad = True
            if self.quiet:
                break
            if self.json:
                write_json({"file": text.source.file, "text": text.number, **_found(finding)})
            else:
                self._show_finding(finding, text)
        return self.matches == before

    def _does_match(self, text: _Text, matching: Comparing) -> bool:
        """Compare a text with the pattern, the schema or the grammar, and look for banned words if there are any."""
        data = text.source.whole(text.lines)
        content = data.decode("utf-8", "surrogateescape")
        if matching.last_newline_may_go and text.source.file is not None and not matching.matches(content):
            shorter = without_newline(content)
            content = shorter if matching.matches(shorter) else content
        found = list(self._findings(dataclasses.replace(text, lines=io.BytesIO(data))))
        is_good = not found and matching.matches(content)
        self.is_bad |= not is_good
        if self.json and not self.quiet:
            heading = {"file": text.source.file, "text": text.number, "line": text.line}
            banned = {} if self.banned is None else {"banned": [_found(finding) for finding in found]}
            write_json({**heading, **matching.check(content).record(text.line), **banned})
        elif not self.quiet and not is_good:
            for complaint in matching.check(content).complaints(text.line):
                self._show_complaint(complaint, text)
            for finding in found:
                self._show_finding(finding, text)
        return is_good

    def _findings(self, text: _Text) -> Iterator[Finding]:
        from sfgen_cli.report.checked_texts import findings

        for finding in findings(text.lines, self.banned) if self.banned is not None else ():
            yield finding if text.line is None else dataclasses.replace(finding, line=text.line)

    # ---- for people --------------------------------------------------------------------------------------------------

    def _show_complaint(self, complaint: Complaint, text: _Text) -> None:
        where, said = self._where(text, complaint.places), visible(complaint.words)
        write("\n".join([f"{where}: {said}" if where else said, *complaint.shown, ""]))

    def _show_finding(self, finding: Finding, text: _Text) -> None:
        where = self._where(text, {"line": finding.line, "column": finding.column, "byte": finding.start})
        write("\n".join([f"{where}: {visible(finding.word)}", *_marked(finding), ""]))

    def _where(self, text: _Text, places: Mapping[str, object]) -> str:
        """Name a place for people; a single text and stdin alone have no name in it."""
        named = [f"{name} {value}" for name, value in places.items() if value is not None]
        if text.source.file is None:
            return ", ".join([*([f"text {text.number}"] if self.several else []), *named])
        return ", ".join([*([text.source.name] if self.several or text.source.name != "stdin" else []), *named])


def _found(finding: Finding) -> dict[str, object]:
    """Return one match as ``--json`` prints it. Keys stay; more may be added."""
    return {
        "line": finding.line,
        "column": finding.column,
        "start": finding.start,
        "end": finding.end,
        "word": finding.word,
        "found": finding.found,
    }


def _marked(finding: Finding) -> tuple[str, str]:
    """The line with carets under the match, as far as it is shown."""
    from rich.cells import cell_len

    line, caret = caret_lines(finding.context, finding.position)
    found = finding.found.partition("\n")[0]
    size = cell_len(caret_lines(found, None, width=len(line))[0]) - 2  # written as the line is
    room = cell_len(line) - len(caret)
    return line, caret + "^" * min(size - 1, room)
