"""Templates: whether texts match one, where and why they do not, and its holes in ``sfgen index``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from sfgen import Template
from sfgen.errors import UsageError
from sfgen.groups import Texts, texts_by_name
from sfgen.index.threads import Position
from sfgen.printable import line_with_caret, on_one_line
from sfgen_cli.report.matching import Complaint, whole
from sfgen_cli.report.tables import show
from sfgen_cli.report.text_source import IndexRequest, save_for_vocabulary, with_vocabulary
from sfgen_cli.shell.output import stdout_is_a_terminal, write_json
from sfgen_cli.shell.progress import progress

if TYPE_CHECKING:
    from sfgen import Template

_SHOWN = 30  # characters of what the template itself has


@dataclass(frozen=True, slots=True)
class CheckedFilling:
    """The findings about one text.

    Attributes:
        text: The text, in which bytes that are not UTF-8 are lone surrogates.
        matches: Whether it is one of the template.
        position: How many characters could be read.
        expected: What may stand behind them: holes by their names, and what the template itself has.
        groups: The texts of the holes; ``None`` where it does not match.
    """

    text: str
    matches: bool
    position: int
    expected: tuple[str, ...]
    groups: Texts | None

    def record(self, line: int | None) -> dict[str, Any]:
        """Return its part of the JSON output, besides its line.

        Keys stay; more may be added.
        """
        return {
            "matches": self.matches,
            "position": self.position,
            "expected": None if self.matches else list(self.expected),
            "groups": self.groups,
        }

    def complaints(self, line: int | None) -> list[Complaint]:
        """Explain why the template refuses the text, by one complaint.

        ``line`` is its line in the file, if it is one.
        """
        if self.matches:
            return []
        number, column, shown = line_with_caret(whole(self.text), self.position)
        words = "expected " + " or ".join(self.expected)
        if self.position == len(self.text):
            words = f"the text ends too early: {words}"
        return [Complaint({"line": number if line is None else line, "column": column}, words, shown)]


class TemplateMatching:
    """A template, ready to check many texts."""

    said, said_with_bans = "match the template", "match the template and are clean"
    each_line = False
    last_newline_may_go = True

    def __init__(self, template: Template) -> None:
        self._template = template

    def matches(self, text: str) -> bool:
        """Return whether a text matches the template, and nothing else."""
        return self._template.accepts(text)

    def check(self, text: str) -> CheckedFilling:
        """Check a text, and collect what the report says of it."""
        reader, position, read = self._template.reader, self._template.reader.start, 0
        for character in text:
            after = reader.read(position, character.encode("utf-8", "surrogatepass"))
            if after is None:
                break
            position, read = after, read + 1
        groups = self._template.groups(text) if self.matches(text) else None
        found = None if groups is None else texts_by_name(groups, text)
        return CheckedFilling(text, groups is not None, read, self._expected(position), found)

    def _expected(self, position: Position) -> tuple[str, ...]:
        reader, found = self._template.reader, list[str]()
        for thread in position:
            rest, hole = reader.rest(thread), reader.hole((thread,))
            if hole is not None:
                found.append(f"{{{{{hole.name}: {hole.hole.kind} …}}}}")
            elif rest is None:
                found.append("the end of the text")
            else:
                shown = rest.decode("utf-8", "replace")
                found.append(repr(shown if len(shown) <= _SHOWN else shown[: _SHOWN - 1] + "…"))
        return tuple(dict.fromkeys(found))


def run_template(request: IndexRequest) -> None:
    """Show the holes of a template, or save it."""
    from sfgen.template.file import load, save

    constraint, looks = request.constraint, request.looks
    what = "--template" if constraint else "a saved template"
    looks.refuse_about_patterns(what, has_states=False)
    if looks.at_automaton:
        raise UsageError(
            f"{looks.name} and {what} cannot be used together: only the holes of a template are shown",
            hint="Leave it out; sfgen check --template says where a text does not match.",
        )
    with progress(quiet=request.quiet) as say:
        template, vocabulary = with_vocabulary(request, say, read=lambda: constraint.read_template, load=load)
    if request.save:
        record = partial(_record, template)
        save_for_vocabulary(request, template, vocabulary, save, told="a template over", record=record)
    elif looks.form == "json":
        write_json(_record(template))
    else:
        _table(template)


def _record(template: Template) -> dict[str, Any]:
    """Return a template as ``--json`` prints it. Keys stay; more may be added."""
    return {
        "template": template.text,
        "holes": [
            {
                "name": hole.name,
                "kind": hole.hole.kind,
                "with": hole.hole.argument,
                "temperature": hole.hole.temperature,
                "repetition": hole.repetition,
            }
            for hole in template.holes
        ],
        "states": None if template.dfa is None else len(template.dfa),
        "shortest": template.shortest().decode(),
    }


def _table(template: Template) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    facts = {"template": on_one_line(template.text), "shortest": repr(template.shortest().decode())}
    if template.dfa is not None:
        facts["states"] = f"{len(template.dfa):,}"
    table = Table(box=box.SIMPLE_HEAD if stdout_is_a_terminal() else None, pad_edge=False)
    for column in ("hole", "kind", "temperature", "filled with"):
        table.add_column(column, no_wrap=not stdout_is_a_terminal(), overflow="fold")
    for hole in template.holes:
        name = hole.name if hole.repetition is None else f"{hole.name} {hole.repetition + 1}"
        temperature = "" if hole.hole.temperature is None else f"{hole.hole.temperature:g}"
        table.add_row(name, hole.hole.kind, temperature, Text(on_one_line(hole.hole.argument)))
    show(facts, table)
