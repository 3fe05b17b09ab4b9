"""The option ``--substring-of``: a document from which the text is quoted, word for word."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from sfgen.errors import UsageError
from sfgen.printable import shown_name
from sfgen_cli.options.prompts import read_text
from sfgen_cli.shell import process

if TYPE_CHECKING:
    from sfgen import Substring

Unit = Literal["character", "word", "line"]
_PANEL = "Constraint (one of them, or none)"
SubstringOf = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="A quotation: a text that stands in this file, character for character; [bold]-[/] is stdin. The file is "
        "UTF-8, and its line ends count.",
        rich_help_panel=_PANEL,
        show_default=False,
    ),
]
Document = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=FILE",
        help='With --schema: what strings with the keyword [bold]"x-substring-of": "NAME"[/] are quoted from; '
        "repeatable. The other options of quotations say how.",
        rich_help_panel=_PANEL,
        show_default=False,
    ),
]
SubstringUnit = Annotated[
    Unit | None,
    typer.Option(
        help="With --substring-of: of what a quotation is made. character: it begins and ends anywhere; word: where a "
        "word does, between white space; line: where a line does, without its last line end. Default: character.",
        rich_help_panel=_PANEL,
        show_default=False,
    ),
]
SubstringLeast = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=0,
        help="With --substring-of: the fewest characters, words or lines; 0 allows the empty text. Default: 1.",
        rich_help_panel=_PANEL,
        show_default=False,
    ),
]
SubstringMost = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=0,
        help="With --substring-of: the most characters, words or lines. Default: any number.",
        rich_help_panel=_PANEL,
        show_default=False,
    ),
]


def read_substring(
    file: Path | None, unit: Unit | None, least: int | None, most: int | None
) -> tuple[Substring | None, str | None]:
    """Read the document that is given.

    Args:
        file: Its file.
        unit: Of what a quotation is made.
        least: The fewest units.
        most: The most units.

    Returns:
        The document as a constraint, and what people call it; ``None`` where there is none.

    Raises:
        InputError: Its file cannot be read, or is not UTF-8.
        UsageError: It has nothing that could be quoted; an option has no meaning without it.
    """
    options = {"--substring-unit": unit, "--substring-least": least, "--substring-most": most}
    if file is None:
        for name, value in options.items():
            if value is not None:
                raise UsageError(
                    f"{name} says how a document is quoted, and there is none",
                    hint="Leave it out, or give a document with --substring-of.",
                )
        return None, None
    return _read(file, unit, least, most), "stdin" if str(file) == "-" else str(file)


def read_documents(
    given: Iterable[str], unit: Unit | None, least: int | None, most: int | None
) -> dict[str, Substring]:
    """Read the documents that strings of a schema are quoted from, by name.

    Args:
        given: ``NAME=FILE`` of each.
        unit: Of what a quotation is made.
        least: The fewest units.
        most: The most units.

    Raises:
        InputError: A file cannot be read, or is not UTF-8.
        UsageError: One has no name, or stands there twice, or has nothing that could be quoted.
    """
    found: dict[str, Substring] = {}
    for each in given:
        name, sign, file = each.partition("=")
        if not (name and sign and file):
            raise UsageError(
                f"--document {shown_name(each)} does not name a document and its file",
                hint='For example: --document report=report.txt, which the schema calls "report".',
            )
        if name in found:
            raise UsageError(f"--document names {shown_name(name)} twice", hint="Give each document a name of its own.")
        found[name] = _read(Path(file), unit, least, most)
    return found


def _read(file: Path, unit: Unit | None, least: int | None, most: int | None) -> Substring:
    text = read_text(file)
    process.import_numpy()
    from sfgen import Substring

    try:
        return Substring(text, unit or "character", 1 if least is None else least, most)
    except UsageError as error:
        name = "stdin" if str(file) == "-" else shown_name(file)
        raise UsageError(f"{name}: {error.message}", details=error.details, hint=error.hint) from None
