"""``sfgen index --template``: the holes of a template; a file to keep it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from sfgen.errors import UsageError
from sfgen.printable import on_one_line
from sfgen_cli.report.tables import show
from sfgen_cli.report.text_source import IndexRequest, save_for_vocabulary, with_vocabulary
from sfgen_cli.shell.output import stdout_is_a_terminal, write_json
from sfgen_cli.shell.progress import progress

if TYPE_CHECKING:
    from sfgen import Template


def run_template(request: IndexRequest) -> None:
    """Show the holes of a template, or save it.

    Raises:
        UsageError: An option has no meaning here.
        SfgenError: The file cannot be read or written.
    """
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
    """What ``--json`` prints. Keys stay; more may be added."""
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
