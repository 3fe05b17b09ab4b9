"""The text of a grammar with its options, before it is read; which format it is in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import PurePath
from types import MappingProxyType
from typing import cast

from sfgen import arguments
from sfgen.errors import UsageError
from sfgen.language.grammar import Grammar
from sfgen.language.language import FORMATS, Format
from sfgen.parameter_text import ParameterText

DEFAULT_MAX_BLANKS = 1
"""The most ignored characters in a row that are written where nothing else is asked for."""

_MOST_BLANKS = 1000
_GBNF = re.compile(r"^[ \t]*[A-Za-z0-9_-]+[ \t]*::=", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class GrammarSource:
    """A grammar that is not read yet.

    Args:
        text: The grammar.
        format: How it is written; ``None``: the name of its file tells by its ending, else the text does.
        start: The rule that a whole text is a text of; ``None``: ``root`` in GBNF, ``start`` in Lark.
        max_blanks: The most ignored characters in a row that are written, in Lark; ``None``: 1.
        origin: The name of its file; ``None`` where there is none.
        directory: Where files are that it imports; ``None``: it may import none.
        files: The texts that it imports, by name, where they are known already.

    Raises:
        UsageError: An option is not one of its choices, or means nothing in this format.
    """

    text: str
    format: Format | None = None
    start: str | None = None
    max_blanks: int | None = None
    origin: str | None = None
    directory: str | PathLike[str] | None = None
    files: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), hash=False)

    def __post_init__(self) -> None:
        arguments.text("grammar", self.text)
        if self.format is not None:
            arguments.one_of("grammar_format", self.format, FORMATS)
        if self.start is not None:
            arguments.text("grammar_start", self.start)
        if self.max_blanks is None:
            return
        if self.told_format != "lark":
            raise UsageError(
                ParameterText(
                    "max_blanks says how much is written of what a Lark grammar ignores, and GBNF ignores nothing",
                    "max_blanks",
                ),
                hint="Leave it out: in GBNF white space stands in the rules.",
            )
        if arguments.whole_number("max_blanks", self.max_blanks, 0) > _MOST_BLANKS:
            raise UsageError(
                ParameterText(f"max_blanks is at most {_MOST_BLANKS}, not {self.max_blanks}", "max_blanks")
            )

    @property
    def told_format(self) -> Format:
        """The format: named, by the file's ending, or by the text.

        >>> GrammarSource('root ::= "a"').told_format, GrammarSource('start: "a"').told_format
        ('gbnf', 'lark')
        """
        ending = PurePath(self.origin or "").suffix.removeprefix(".").lower()
        if self.format is not None or ending in FORMATS:
            return self.format or cast("Format", ending)
        return "gbnf" if _GBNF.search(self.text) else "lark"

    def grammar(self) -> Grammar:
        """Read it.

        Raises:
            GrammarError: It cannot be read, or means nothing.
            GrammarTooLarge: It passes a limit.
        """
        if self.told_format == "gbnf":
            return Grammar.from_gbnf(self.text, self.start or "root", origin=self.origin)
        return Grammar.from_lark(
            self.text,
            self.start or "start",
            max_blanks=DEFAULT_MAX_BLANKS if self.max_blanks is None else self.max_blanks,
            directory=self.directory,
            files=self.files or None,
            origin=self.origin,
        )
