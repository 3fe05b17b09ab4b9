"""The options of constraints; the files of ``--template`` and ``--substring-of``."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from sfgen.errors import InputError, UsageError
from sfgen.printable import on_one_line, shown_name
from sfgen_cli.options.prompts import read_stdin, read_text, without_newline
from sfgen_cli.shell import process

if TYPE_CHECKING:
    from sfgen import Substring
    from sfgen import Template as TemplateConstraint


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
        help='With --schema: the document from which strings with the keyword [bold]"x-substring-of": "NAME"[/] are '
        "quoted; repeatable. The other options of quotations apply to it, too.",
        rich_help_panel=_PANEL,
        show_default=False,
    ),
]
SubstringUnit = Annotated[
    Unit | None,
    typer.Option(
        help="With --substring-of: the units of a quotation. character: it begins and ends anywhere; word: it has "
        "whole words, which white space separates; line: it has whole lines, the last one without its line "
        "end. Default: character.",
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
    """Read the document that is given."""
    options = {"--substring-unit": unit, "--substring-least": least, "--substring-most": most}
    if file is None:
        for name, value in options.items():
            if value is not None:
                raise UsageError(
                    f"{name} needs a document: it says how one is quoted",
                    hint="Leave it out, or give a document with --substring-of.",
                )
        return None, None
    return _read(file, unit, least, most), "stdin" if str(file) == "-" else str(file)


def read_documents(
    given: Iterable[str], unit: Unit | None, least: int | None, most: int | None
) -> dict[str, Substring]:
    """Read the documents that strings of a schema are quoted from, by name."""
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


_STDIN = "-"
_WAYS = "A template is a file, or the text itself, with a hole in it: 'It is {{weather: choices hot, cold}}.'"

Template = Annotated[
    str | None,
    typer.Option(
        metavar="TEMPLATE",
        help="Text with holes: [bold]{{name: regex .+}}[/], [bold]{{mood: choices good, bad}}[/], "
        "[bold]{{who: schema name, age int}}[/], [bold]{{sum: grammar sum.gbnf}}[/], "
        r'[bold]{{why: text until "\n" max 40}}[/]; [bold]{{name}}[/] writes the same text again, and '
        "[bold]{% for x in a, b %}{{x}}{% endfor %}[/] repeats. A file ([bold]-[/] is stdin), of which one trailing "
        "newline is removed, or the text itself, which has [bold]{{[/] in it. Without a prompt and a conversation what "
        "stands before the first hole is the prompt.",
        rich_help_panel="Constraint (one of them, or none)",
        show_default=False,
    ),
]


def read_template(given: str) -> tuple[TemplateConstraint, str]:
    """Read the template that is given."""
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
    r"""Return whether what is given as a template names a file.

    >>> [names_a_file(text) for text in ("letter.txt", "{{a: regex b}}", "a\nb", "")]
    [True, False, False, False]
    """
    return text != "" and not any(mark in text for mark in ("{{", "{%", "\n"))


CONSTRAINT = "Constraint (one of them, or none)"
Regex = Annotated[
    str | None,
    typer.Option(
        "--regex",
        "-r",
        metavar="PATTERN",
        help="Python regular expression. The text satisfies [bold]re.fullmatch(PATTERN, text, re.ASCII)[/]: \\w is "
        "a-z, A-Z, 0-9 and _, which is what most patterns mean; (?u) in it takes all scripts.",
        rich_help_panel=CONSTRAINT,
    ),
]
RegexFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="The pattern from a file, newlines and all; [bold]-[/] is stdin.",
        rich_help_panel=CONSTRAINT,
    ),
]
Choices = Annotated[
    list[str] | None,
    typer.Option(
        metavar="A,B",
        help=r"One of these texts; repeatable, [bold]\,[/] is a comma, a space behind a comma is part of the choice.",
        rich_help_panel=CONSTRAINT,
    ),
]
ChoicesFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="One of the lines of a file; [bold]-[/] is stdin.", rich_help_panel=CONSTRAINT),
]
IndexFile = Annotated[
    Path | None,
    typer.Option(
        "--index", metavar="FILE", help="An index saved by [bold]sfgen index --save[/].", rich_help_panel=CONSTRAINT
    ),
]
Schema = Annotated[
    str | None,
    typer.Option(
        metavar="SCHEMA",
        help="JSON Schema: a file ([bold]-[/] is stdin), or the schema itself: JSON, which begins with [bold]{[/] or "
        "is [bold]true[/], or names and types as in [bold]'name, age int'[/]: [bold]float, bool, date, …[/]; "
        "[bold]str[][/] is a list, [bold]nick?[/] may be missing, [bold]size (S|M|L)[/] is one of these, "
        "[bold]address {street, zip}[/] a record, [bold]items[] {name, n int}[/] a list of records, and what stands "
        "behind a colon a description. It is a file if there is one of that name, if it ends in .json, or if it has a "
        "/ but no comma, brace or bar and no colon before a space.",
        rich_help_panel=CONSTRAINT,
    ),
]
SchemaDir = Annotated[
    str | None,
    typer.Option(
        metavar="DIR",
        help="With --schema. The directory of other files that it refers to, by their [bold]$id[/] or their path; "
        "[bold]URL=DIR[/]: also by the path behind that URL. Nothing is ever fetched.",
        rich_help_panel=CONSTRAINT,
        show_default=False,
    ),
]
Like = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="JSON like these records: JSON Lines, or one JSON list; [bold]-[/] is stdin. The schema is inferred from "
        "them; [bold]sfgen index --like FILE --format schema[/] prints it.",
        rich_help_panel=CONSTRAINT,
    ),
]
Tools = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help='A call of one of these tools, [bold]{"name": …, "arguments": {…}}[/]: a JSON list of functions as '
        "OpenAI, Anthropic and MCP have it; [bold]-[/] is stdin.",
        rich_help_panel=CONSTRAINT,
    ),
]
ToolFormat = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="With --tools: how calls are written. [bold]auto[/]: as the model's chat template has them, with --chat; "
        'json: [bold]{"name": …, "arguments": {…}}[/]; hermes, llama3, mistral, qwen3-coder, harmony, '
        "deepseek-v3.1, pythonic, …: as these models have them. Records have a call in one form, as value, whatever "
        "the text is. With --when auto calls stand in free text. Default: json.",
        rich_help_panel=CONSTRAINT,
        show_default=False,
    ),
]
Pydantic = Annotated[
    str | None,
    typer.Option(
        metavar="MODULE:CLASS",
        help="The JSON Schema of a class that pydantic reads: a model, a dataclass, a TypedDict, an Enum, or the "
        "name of an annotation. MODULE is one that can be imported, from the current folder first, or a file: "
        "[bold]person.py:Person[/]. Its code runs.",
        rich_help_panel=CONSTRAINT,
    ),
]
ReferenceName = Literal["fsm", "naive"]
EngineName = Literal["fast", "fsm", "naive"]
Engine = Annotated[
    EngineName | None,
    typer.Option(
        help="How the pattern is followed. fast: an index of the tokens, which looks ahead; fsm: an index made with "
        "the algorithms of Willard and Louf (2023), over an automaton of the interegular package; naive: every token "
        "is tried at every step. The last two are for comparison: they do not look ahead, and so may fail at "
        "[bold]--max-tokens[/]. Default: fast.",
        rich_help_panel=CONSTRAINT,
        show_default=False,
    ),
]
NoFastForward = Annotated[
    bool,
    typer.Option(
        "--no-fast-forward",
        help="Run the model for each token, also where the pattern allows one text only. Otherwise such text "
        "(jump-forward tokens) takes no forward pass of its own, and is spelled as the tokenizer would spell it.",
        rich_help_panel=CONSTRAINT,
    ),
]


Scores = Annotated[
    bool,
    typer.Option(
        "--scores",
        help="With --choices or --choices-file. Write the probability of each choice in place of a text: as a whole "
        "text with its end, at temperature 1, divided by that of all choices. A table with bars on a terminal; "
        "piped, a line for each, the likeliest first: the choice, its share and the logarithm of its own "
        "probability, with tabs between.",
        rich_help_panel=CONSTRAINT,
    ),
]


@dataclass(frozen=True)
class ConstraintOptions:
    """The options of what a text must match.

    Each field is an option of ``gen``, ``check`` and ``index``; at most one is given.
    """

    regex: Regex = None
    regex_file: RegexFile = None
    choices: Choices = None
    choices_file: ChoicesFile = None
    schema: Schema = None
    schema_dir: SchemaDir = None
    pydantic: Pydantic = None
    like: Like = None
    tools: Tools = None
    tool_format: ToolFormat = None
    template: Template = None
    document: Document = None
    substring_of: SubstringOf = None
    substring_unit: SubstringUnit = None
    substring_least: SubstringLeast = None
    substring_most: SubstringMost = None

    @property
    def files(self) -> dict[str, Path | str | None]:
        """The files that may be stdin, by the option that names them."""
        return {
            "--regex-file": self.regex_file,
            "--choices-file": self.choices_file,
            "--schema": self.schema,
            "--like": self.like,
            "--tools": self.tools,
            "--template": self.template,
            "--substring-of": self.substring_of,
            **{f"--document {each}": each.partition("=")[2] for each in self.document or ()},
        }

    @property
    def code_file(self) -> str | None:
        """The file of the Python class that is the schema, if it is in one."""
        return None if self.pydantic is None else self.pydantic.rpartition(":")[0]
