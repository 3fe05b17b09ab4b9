"""A template as a constraint: literal text with holes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from os import PathLike, fspath
from typing import Any

from sfgen import arguments
from sfgen.automata import Dfa
from sfgen.errors import PatternTooLarge, TemplateError
from sfgen.grammar.network.rules import GrammarTooLarge
from sfgen.template.parts import Assembly, Constraint, Copied, Holes, Literal, MadePart
from sfgen.template.sequence import SMALLER, Sequence
from sfgen.template.syntax import parse_template

_SHOWN = 60  # characters of a template in a repr


class Template(Sequence):
    r"""Literal text with holes that a model fills: a ``sfgen.Sequence`` as text.

    ``sfgen.template.syntax`` describes the syntax. The text of each hole matches its pattern, its choices, its schema
    or its grammar by itself. A text that can be divided in several ways is divided so that the first hole is as long as
    it can be, then the second, and so on.

    Safe to share between threads. Equal templates are equal.

    Args:
        text: The template.
        directory: The folder of the files that its holes name; ``None``: the current one.
        origin: The name of its file for errors; the file is not read.

    Raises:
        TemplateError: It cannot be read, a hole cannot be filled, it passes a limit, or a file that a hole names cannot
            be read; says where.

    >>> template = Template("{{name: regex [A-Z][a-z]+}} is {{age: regex [0-9]+}}.")
    >>> template.accepts("Ada is 36."), template.accepts("Ada is old.")
    (True, False)
    >>> [(group.name, group.span) for group in template.groups("Ada is 36.")]
    [('name', (0, 3)), ('age', (7, 9))]
    """

    @arguments.with_known_names
    def __init__(self, text: str, *, directory: str | PathLike[str] | None = None, origin: str | None = None) -> None:
        arguments.text("template", text)
        if directory is not None:
            directory = fspath(arguments.path("directory", directory))
        if origin is not None:
            arguments.text("origin", origin)
        nodes = parse_template(text, origin)
        parts = Assembly(text, origin, Holes(text, origin, directory).constraint_of).of(nodes)
        self._text, self._origin = text, origin
        self._set(parts)
        self._checked_size()

    @classmethod
    def inline(cls, text: str) -> Template:
        """Build a template of a client, whose holes may not name files.

        Args:
            text: The template.

        Raises:
            TemplateError: As for the class; or a hole names a file.

        >>> Template.inline("{{a: schema name}}").shortest()
        b'{"name": ""}'
        """
        holes = Holes(arguments.text("template", text), reads_files=False)
        made = cls._of_text(text, None, Assembly(text, None, holes.constraint_of).of(parse_template(text)))
        made._checked_size()
        return made

    @classmethod
    def of_constraints(cls, text: str, constraints: Mapping[str, Constraint]) -> Template:
        """Build a template with given constraints for some of its holes.

        They replace the constraints that are written in these holes.

        Args:
            text: The template.
            constraints: The constraints of holes, by their names.

        Raises:
            TemplateError: As for the class.

        >>> from sfgen import JsonSchema
        >>> Template.of_constraints("{{a: schema here.json}}", {"a": JsonSchema("name")}).shortest()
        b'{"name": ""}'
        """
        for constraint in arguments.mapping("constraints", constraints).values():
            members = ("accepts", "shortest", "to_dict", "refusal")
            arguments.given("each of constraints", constraint, "a Dfa, a JsonSchema or a Grammar", *members)
        holes = Holes(arguments.text("template", text), known=constraints)
        made = cls._of_text(text, None, Assembly(text, None, holes.constraint_of).of(parse_template(text)))
        made._checked_size()
        return made

    @classmethod
    def _of_text(
        cls, text: str, origin: str | None, parts: Iterable[MadePart], narrowed: Dfa | None = None
    ) -> Template:
        """A template of parts that are already made."""
        made = cls._of(parts, narrowed)
        made._text, made._origin = text, origin
        return made

    def _with(self, parts: Iterable[MadePart], narrowed: Dfa | None = None) -> Template:
        return Template._of_text(self._text, self._origin, parts, narrowed)

    def __reduce__(self) -> tuple[Any, ...]:
        return Template._of_text, (self._text, self._origin, self._parts, self._narrowed)

    def __repr__(self) -> str:
        """One line, with the beginning of the template.

        >>> Template("It is {{weather: choices hot, cold}}.")
        Template('It is {{weather: choices hot, cold}}.')
        """
        return f"Template({self._text if len(self._text) <= _SHOWN else self._text[: _SHOWN - 1] + '…'!r})"

    def __hash__(self) -> int:
        return hash(self._text)

    @cached_property
    def _key(self) -> tuple[Any, ...]:
        return self._text, *super()._key

    # ---- what it is made of ----------------------------------------------------------------------------------------

    @property
    def text(self) -> str:
        """The template as it is written."""
        return self._text

    @property
    def origin(self) -> str | None:
        """The name of its file, for messages; ``None`` if there is none."""
        return self._origin

    def split(self) -> tuple[str, Template]:
        """Split off the text before the first hole, as a prompt.

        Returns:
            The prompt, and the template of what follows it.

        >>> prompt, rest = Template("It is {{weather: choices hot, cold}}.").split()
        >>> prompt, rest.accepts("hot.")
        ('It is ', True)
        """
        first = self._parts[0]
        if not isinstance(first, Literal):
            return "", self
        parts = [
            Copied(part.source - 1, part.position) if isinstance(part, Copied) else part for part in self._parts[1:]
        ]
        return first.data.decode(), self._with(parts)

    def _checked_size(self) -> None:
        try:
            self._make()
        except PatternTooLarge as error:
            raise TemplateError(error.reason, self._text, hint=SMALLER, origin=self._origin) from None
        except GrammarTooLarge as error:
            reason = f"its rules pass the limit of {error.limit}"
            raise TemplateError(reason, self._text, hint=SMALLER, origin=self._origin) from None

    @property
    def _refused(self) -> dict[str, str]:
        return {"template": self._text}

    def to_dict(self) -> dict[str, Any]:
        """Return the template as plain data for JSON.

        The schemas and grammars of its holes are in it.

        >>> Template("{{a: regex [0-9]}}").to_dict()
        {'template': '{{a: regex [0-9]}}', 'begins_with_hole': True, 'holes': {}}
        """
        holes = {hole.name: hole.constraint.to_dict() for hole in self.holes if not isinstance(hole.constraint, Dfa)}
        # This is needed for a template whose beginning became the prompt.
        begins = not isinstance(self._parts[0], Literal)
        return {"template": self._text, "begins_with_hole": begins, "holes": holes}
