"""The options of ``--grammar``: which grammar, in which format, and from which rule on."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from sfgen.errors import InputError, UsageError
from sfgen.printable import on_one_line
from sfgen_cli.options.constraint import CONSTRAINT
from sfgen_cli.options.prompts import read_stdin, read_text

if TYPE_CHECKING:
    from sfgen import Grammar

_STDIN = "-"
_ENDINGS = (".gbnf", ".lark")
_RULE = re.compile(r"^\s*(?:[A-Za-z0-9_-]+\s*::=|[?!]?[A-Za-z_][A-Za-z0-9_]*(?:\.-?[0-9]+)?\s*:(?![/\\]))")
_WAYS = 'A grammar is a file, or the text itself: \'root ::= "yes" | "no"\'.'


@dataclass(frozen=True)
class GrammarOptions:
    """The options of a grammar; each field is one."""

    grammar: Annotated[
        str | None,
        typer.Option(
            metavar="GRAMMAR",
            help="A context-free grammar, in GBNF or for Lark: a file ([bold]-[/] is stdin), or the text itself. It is "
            "a file if there is one of that name or if it ends in .gbnf or .lark; it is the text if it has several "
            "lines or begins with a rule.",
            rich_help_panel=CONSTRAINT,
        ),
    ] = None
    grammar_start: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help="With --grammar: the rule that the whole text must match. Default: root in GBNF, start for Lark.",
            rich_help_panel=CONSTRAINT,
            show_default=False,
        ),
    ] = None
    grammar_format: Annotated[
        Literal["lark", "gbnf"] | None,
        typer.Option(
            help="With --grammar: how it is written. Default: what the ending of the file says, else gbnf if there is "
            "a rule with ::= in it.",
            rich_help_panel=CONSTRAINT,
            show_default=False,
        ),
    ] = None

    indenter: Annotated[
        str | None,
        typer.Option(
            metavar="OPTIONS",
            help="With a grammar for Lark that declares an indent and a dedent: options of lark's Indenter, as in "
            "[bold]'NL_type=END INDENT_type=IN DEDENT_type=OUT'[/]; several brackets are separated by commas. "
            "Options that are left out are those of its PythonIndenter.",
            rich_help_panel=CONSTRAINT,
            show_default=False,
        ),
    ] = None

    @property
    def blanks(self) -> int | None:
        """The most ignored characters in a row that are written.

        ``None``: nothing is said of that.
        """
        return None

    def check(self) -> None:
        """Refuse these options where there is no grammar."""
        given = {
            "--grammar-start": self.grammar_start,
            "--grammar-format": self.grammar_format,
            "--indenter": self.indenter,
            "--max-blanks": self.blanks,
        }
        for name, value in given.items():
            if value is not None and self.grammar is None:
                raise UsageError(
                    f"{name} needs a grammar: it says how one is read",
                    hint="Leave it out, or give a grammar with --grammar.",
                )

    def text(self) -> GrammarText | None:
        """Read the text of the grammar; ``None`` where none is given.

        It is in a file, in stdin or on the command line.
        """
        self.check()
        given = self.grammar
        if given is None:
            return None
        if given == _STDIN:
            return GrammarText(read_stdin(), None, "stdin", self)
        if not names_a_file(given):
            return GrammarText(given, None, on_one_line(given), self)
        try:
            return GrammarText(read_text(Path(given)), given, given, self)
        except InputError as error:
            raise InputError(error.message, hint=error.hint or _WAYS) from None


@dataclass(frozen=True)
class WrittenGrammarOptions(GrammarOptions):
    """The same, and how a text of the grammar is written."""

    max_blanks: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            help="With a grammar for Lark: write at most N ignored characters in a row, such as spaces. Default: 1.",
            rich_help_panel=CONSTRAINT,
            show_default=False,
        ),
    ] = None

    @property
    def blanks(self) -> int | None:
        """The most ignored characters in a row that are written.

        ``None``: nothing is said of that.
        """
        return self.max_blanks


@dataclass(frozen=True)
class GrammarText:
    """A grammar that is not read yet.

    Attributes:
        text: The grammar.
        file: Its file; ``None`` if it is not in a file.
        name: What people call it.
        options: How it is read.
    """

    text: str
    file: str | None
    name: str
    options: GrammarOptions

    def read(self) -> Grammar:
        """Read it."""
        from sfgen.grammar.language.grammar import GrammarSource

        options = self.options
        return GrammarSource(
            self.text,
            options.grammar_format,
            options.grammar_start,
            options.blanks,
            origin=self.file,
            directory=None if self.file is None else os.path.dirname(self.file) or os.curdir,
            indenter=None if options.indenter is None else indenter_options(options.indenter),
        ).grammar()


def indenter_options(text: str) -> dict[str, Any]:
    """Read options of an indenter.

    >>> indenter_options("NL_type=END OPEN_PAREN_types=LPAR,LSQB tab_len=2")
    {'NL_type': 'END', 'OPEN_PAREN_types': ['LPAR', 'LSQB'], 'tab_len': 2}
    """
    options = dict[str, Any]()
    for part in text.split():
        name, sign, value = part.partition("=")
        if not sign:
            raise UsageError(f"--indenter has NAME=VALUE, not {part}", hint="For example --indenter 'NL_type=END'.")
        number = int(value) if name == "tab_len" and value.isdecimal() else value
        options[name] = [each for each in value.split(",") if each] if name.endswith("_types") else number
    return options


def names_a_file(text: str) -> bool:
    r"""Return whether what is given as a grammar names a file.

    >>> [names_a_file(text) for text in ("sql.lark", "no-such", 'root ::= "a"', 'start: "a"', "a\nb")]
    [True, True, False, False, False]
    """
    if "\n" in text or "\r" in text:
        return False
    return text.endswith(_ENDINGS) or os.path.isfile(text) or not _RULE.match(text)
