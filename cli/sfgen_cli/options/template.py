"""The option ``--template``: literal text with holes, in a file or the text itself."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfgen.errors import InputError
from sfgen.printable import on_one_line
from sfgen_cli.options.prompts import read_stdin, read_text, without_newline
from sfgen_cli.shell import process

if TYPE_CHECKING:
    from sfgen import Template as TemplateConstraint

_STDIN = "-"
_WAYS = "A template is a file, or the text itself, with a hole in it: 'It is {{weather: choices hot, cold}}.'"

Template = Annotated[
    str | None,
    typer.Option(
        metavar="TEMPLATE",
        help="Text with holes: [bold]{{name: regex .+}}[/], [bold]{{mood: choices good, bad}}[/], "
        "[bold]{{who: schema name, age int}}[/], [bold]{{sum: grammar sum.gbnf}}[/], "
        r"[bold]{{why: text until \"\\n\" max 40}}[/]; [bold]{{name}}[/] writes the same text again, and "
        "[bold]{% for x in a, b %}{{x}}{% endfor %}[/] repeats. A file ([bold]-[/] is stdin), of which one trailing "
        "newline is removed, or the text itself, which has [bold]{{[/] in it. Without a prompt and a conversation what "
        "stands before the first hole is the prompt.",
        rich_help_panel="Constraint (one of them, or none)",
        show_default=False,
    ),
]


def read_template(given: str) -> tuple[TemplateConstraint, str]:
    """Read the template that is given.

    Returns:
        The template, and what people call it.

    Raises:
        InputError: Its file cannot be read.
        TemplateError: It cannot be read as a template, or a file that it names cannot be read.
    """
    process.import_numpy()
    from sfgen import Template

    if given == _STDIN:
        return Template(without_newline(read_stdin())), "stdin"
    if names_a_file(given):
        try:
            text = without_newline(read_text(Path(given)))
        except InputError as error:
            raise InputError(error.message, hint=error.hint or _WAYS) from None
        return Template(text, directory=os.path.dirname(given) or os.curdir, origin=given), given
    return Template(given), on_one_line(given)


def names_a_file(text: str) -> bool:
    r"""Tell whether what is given as a template names a file.

    >>> [names_a_file(text) for text in ("letter.txt", "{{a: regex b}}", "a\nb", "")]
    [True, False, False, False]
    """
    return text != "" and not any(mark in text for mark in ("{{", "{%", "\n"))
