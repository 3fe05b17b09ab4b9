"""A template as a constraint: literal text with holes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import cached_property, lru_cache
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from sfgen import arguments
from sfgen.automata import Dfa
from sfgen.errors import PatternTooLarge, TemplateError
from sfgen.grammar.network.distances import RuleDistances, portable, with_distances
from sfgen.grammar.network.network import Network, network_of
from sfgen.grammar.network.positions import NetworkPositions
from sfgen.grammar.network.read import NetworkReader
from sfgen.grammar.network.rules import GrammarTooLarge
from sfgen.grammar.shell.guide import KeptByVocabulary
from sfgen.groups import Group
from sfgen.index import DfaIndex
from sfgen.protocols import Guide, Superset
from sfgen.schema.json_schema import JsonSchema
from sfgen.template.composition import Segment, automaton_of, grammar_of, segments_of, superset_of
from sfgen.template.guide import TemplateDfaGuide, TemplateNetworkGuide
from sfgen.template.parts import Assembly, Constraint, Copied, Filled, Holes, Literal, Part
from sfgen.template.reader import TemplateReader
from sfgen.template.syntax import parse_template
from sfgen.template.threads_guide import TemplateThreadsGuide, TemplateTokens
from sfgen.vocabulary import Vocabulary

if TYPE_CHECKING:
    from sfgen.ban import BannedWords

_SHOWN = 60  # characters of a template in a repr
_KEPT = 16  # templates without banned words


class Template:
    r"""Literal text with holes that a model fills: a ``sfgen.protocols.GuidingConstraint``.

    What may stand in it is told in ``sfgen.template.syntax``. Each hole's text is by itself one of its pattern, its
    choices, its schema or its grammar. A text that can be divided in several ways is divided so that the first hole is
    as long as it can be, then the second, and so on.

    Safe to share between threads. Equal templates are equal.

    Args:
        text: The template.
        directory: The folder of the files that its holes name; ``None``: the current one.
        origin: The name of its file, which errors tell; nothing is read from there.

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
        self._set(text, origin, parts)
        self._check_size()

    def _set(self, text: str, origin: str | None, parts: Iterable[Part], narrowed: Dfa | None = None) -> None:
        self._text, self._origin = text, origin
        self._parts = tuple(parts)
        self._narrowed = narrowed
        self._division: tuple[bytes, list[tuple[int, int]] | None] | None = None  # of the text asked about last
        self._indexes = KeptByVocabulary[DfaIndex]()
        self._positions = KeptByVocabulary[NetworkPositions]()
        self._threads = KeptByVocabulary[TemplateTokens]()

    @classmethod
    def inline(cls, text: str) -> Template:
        """Build a template from elsewhere, whose holes name no file.

        Args:
            text: The template.

        Raises:
            TemplateError: As for the class; or a hole names a file.

        >>> Template.inline("{{a: schema name}}").shortest()
        b'{"name": ""}'
        """
        holes = Holes(arguments.text("template", text), reads_files=False)
        made = cls._of(text, None, Assembly(text, None, holes.constraint_of).of(parse_template(text)))
        made._check_size()
        return made

    @classmethod
    def of_constraints(cls, text: str, constraints: Mapping[str, Constraint]) -> Template:
        """Build a template some of whose holes are filled beforehand.

        What is given here counts, whatever stands in these holes.

        Args:
            text: The template.
            constraints: The constraints of holes, by their names.

        Raises:
            TemplateError: As for the class.

        >>> Template.of_constraints("{{a: schema here.json}}", {"a": JsonSchema("name")}).shortest()
        b'{"name": ""}'
        """
        for constraint in arguments.mapping("constraints", constraints).values():
            members = ("accepts", "shortest", "to_dict", "refusal")
            arguments.given("each of constraints", constraint, "a Dfa, a JsonSchema or a Grammar", *members)
        holes = Holes(arguments.text("template", text), known=constraints)
        made = cls._of(text, None, Assembly(text, None, holes.constraint_of).of(parse_template(text)))
        made._check_size()
        return made

    @classmethod
    def _of(cls, text: str, origin: str | None, parts: Iterable[Part], narrowed: Dfa | None = None) -> Template:
        """A template of parts that are known."""
        made = object.__new__(cls)
        made._set(text, origin, parts, narrowed)
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return Template._of, (self._text, self._origin, self._parts, self._narrowed)

    def __compiled__(self) -> tuple[Any, ...]:
        made: dict[str, Any] = {"dfa": self.dfa}
        if self.dfa is None:
            made["network"] = self.network
        if self.dfa is None and self.network is None:
            made["segments"] = self.segments
        distances = None if made.get("network") is None else portable(made["network"])[1]
        return Template._of_compiled, (*self.__reduce__()[1], made, distances)

    @classmethod
    def _of_compiled(
        cls,
        text: str,
        origin: str | None,
        parts: Iterable[Part],
        narrowed: Dfa | None,
        known: Mapping[str, Any],
        distances: RuleDistances | None,
    ) -> Template:
        """Return the template of a compiled form."""
        made = cls._of(text, origin, parts, narrowed)
        made.__dict__.update(known)  # cached properties
        if distances is not None:
            with_distances(known["network"], distances)
        return made

    def __repr__(self) -> str:
        """One line, with the beginning of the template.

        >>> Template("It is {{weather: choices hot, cold}}.")
        Template('It is {{weather: choices hot, cold}}.')
        """
        return f"Template({self._text if len(self._text) <= _SHOWN else self._text[: _SHOWN - 1] + '…'!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Template) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._text)

    @property
    def _key(self) -> tuple[Any, ...]:
        files = [hole.constraint for hole in self.holes if not isinstance(hole.constraint, Dfa)]
        return self._text, len(self._parts), files, None if self._narrowed is None else id(self._narrowed)

    # ---- what it is made of ----------------------------------------------------------------------------------------

    @property
    def text(self) -> str:
        """The template as it is written."""
        return self._text

    @property
    def origin(self) -> str | None:
        """The name of its file, for messages; ``None`` where there is none."""
        return self._origin

    @property
    def parts(self) -> tuple[Part, ...]:
        """Its parts, one after the other, with blocks repeated."""
        return self._parts

    @property
    def holes(self) -> tuple[Filled, ...]:
        """Those of the parts that a model fills."""
        return tuple(part for part in self._parts if isinstance(part, Filled))

    @property
    def temperatures(self) -> Collection[float]:
        """The temperatures that holes have of their own."""
        return {hole.hole.temperature for hole in self.holes if hole.hole.temperature is not None}

    @property
    def has_values(self) -> bool:
        """Tell whether a hole is JSON, and so a value."""
        return any(isinstance(hole.constraint, JsonSchema) for hole in self.holes)

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
        return first.data.decode(), Template._of(self._text, self._origin, parts)

    # ---- its language ----------------------------------------------------------------------------------------------

    @cached_property
    def dfa(self) -> Dfa | None:
        """The automaton of the template's texts, where there is one.

        It is ``None`` where a hole has a schema or a grammar, or is written once more.
        """
        return automaton_of(self._parts) if self._narrowed is None else self._narrowed

    @cached_property
    def network(self) -> Network | None:
        """The rules of the template's texts, where there are some.

        They are ``None`` where there is an automaton, or the parts cannot be put into one grammar.
        """
        grammar = None if self.dfa is not None else grammar_of(self._parts)
        return None if grammar is None else network_of(grammar)

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """Its parts in segments, for where there is neither."""
        return segments_of(self._parts)

    @cached_property
    def reader(self) -> TemplateReader:
        """Reads its parts."""
        return TemplateReader(self._parts)

    def _check_size(self) -> None:
        """Make what it is made of."""
        hint = "Use shorter texts, smaller counts and fewer repetitions."
        try:
            if self.dfa is None and self.network is None:
                _ = self.segments
        except PatternTooLarge as error:
            raise TemplateError(error.reason, self._text, hint=hint, origin=self._origin) from None
        except GrammarTooLarge as error:
            reason = f"its rules pass the limit of {error.limit}"
            raise TemplateError(reason, self._text, hint=hint, origin=self._origin) from None

    def accepts(self, text: str | bytes) -> bool:
        """Tell whether a whole text is one of the template.

        Bytes are its UTF-8.
        """
        if self.dfa is not None:
            return self.dfa.accepts(text)
        data = arguments.utf8("text", text)
        if data is None:
            return False
        return self.reader.reads(data) if self.network is None else NetworkReader(self.network).reads(data)

    def shortest(self) -> bytes:
        """Find a shortest text.

        >>> Template("{{a: choices yes, no}}, {{a}}!").shortest()
        b'no, no!'
        """
        if self._narrowed is not None:
            return self._narrowed.shortest()
        texts: list[bytes] = []
        for part in self._parts:
            if isinstance(part, Literal):
                texts.append(part.data)
            else:
                texts.append(part.constraint.shortest() if isinstance(part, Filled) else texts[part.source])
        return b"".join(texts)

    def to_dict(self) -> dict[str, Any]:
        """Return the template as plain data for JSON.

        The schemas and grammars of its holes are in it.

        >>> Template("{{a: regex [0-9]}}").to_dict()
        {'template': '{{a: regex [0-9]}}', 'begins_with_hole': True, 'holes': {}}
        """
        holes = {hole.name: hole.constraint.to_dict() for hole in self.holes if not isinstance(hole.constraint, Dfa)}
        # Of a template whose beginning became the prompt only this tells.
        begins = not isinstance(self._parts[0], Literal)
        return {"template": self._text, "begins_with_hole": begins, "holes": holes}

    def guide(self, vocabulary: Vocabulary, max_tokens: int | None = None) -> Guide:
        """Return a new guide for one sequence of tokens.

        Args:
            vocabulary: The tokens, a ``sfgen.Vocabulary``.
            max_tokens: The tokens that the sequence may take, end tokens not counted; ``None``: any number.

        Raises:
            LimitTooSmall: No text can be written with ``max_tokens`` tokens.
            DeadEnd: No tokens write any text.
        """
        if self.dfa is not None:
            return TemplateDfaGuide(self._indexes.of(vocabulary, self._index), self.reader, max_tokens)
        if self.network is not None:
            return TemplateNetworkGuide(self._positions.of(vocabulary, self._tokens), self.reader, max_tokens)
        tokens = self._threads.of(vocabulary, lambda each: TemplateTokens(self._parts, self.segments, each))
        return TemplateThreadsGuide(tokens, max_tokens)

    def _index(self, vocabulary: Vocabulary) -> DfaIndex:
        assert self.dfa is not None, "its holes are regular"
        return DfaIndex(self.dfa, vocabulary)

    def _tokens(self, vocabulary: Vocabulary) -> NetworkPositions:
        assert self.network is not None, "it has rules"
        return NetworkPositions(self.network, vocabulary)

    def without_banned(self, banned: BannedWords, prompt: bytes = b"") -> Template | None:
        """Take the banned words out, as far as can be done beforehand.

        Where all holes are regular these are all of them. Of others, the strings of schemas have none, each by itself.

        Args:
            banned: The banned words.
            prompt: The text before it.

        Returns:
            ``None`` where no banned word can be taken out, or not out of all strings: then a matcher must watch over
            the text.

        Raises:
            BannedWordsError: Every text has a banned match.
        """
        from sfgen.ban import BannedWords
        from sfgen.ban.difference import without

        arguments.instance("banned", banned, BannedWords)
        arguments.data("prompt", prompt)
        if self.dfa is not None:
            clean = without(self.dfa, banned, prompt)
            return clean if clean is None else self if clean is self.dfa else self._with(self._parts, clean)
        return _without_banned(self, banned)

    def superset(self) -> Superset | None:
        """Return an automaton of all texts, and perhaps of others.

        It is ``None`` where none is small enough.
        """
        return self._superset

    @cached_property
    def _superset(self) -> Superset | None:
        return superset_of(self._parts) if self.dfa is None else Superset(self.dfa, True)

    def _with(self, parts: Iterable[Part], narrowed: Dfa | None = None) -> Template:
        return Template._of(self._text, self._origin, parts, narrowed)

    # ---- a finished text -------------------------------------------------------------------------------------------

    def divided(self, data: bytes) -> list[tuple[int, int]] | None:
        """Divide a finished text into its parts: start and end in bytes.

        Returns:
            ``None`` if it is not a text of the template.
        """
        known = self._division
        if known is None or known[0] != data:
            known = data, self.reader.divided(arguments.data("data", data))
            self._division = known
        return known[1]

    def groups(self, text: str | bytes) -> tuple[Group, ...] | None:
        """Find the holes in a text of the template, in order.

        Returns:
            ``None`` if it is not a text of the template.
        """
        data = arguments.utf8("text", text)
        spans = None if data is None else self.divided(data)
        if data is None or spans is None:
            return None
        groups, characters, at = [], 0, 0
        for part, (start, end) in zip(self._parts, spans, strict=True):
            characters += len(data[at:start].decode())
            length, at = len(data[start:end].decode()), end
            if isinstance(part, Filled):
                groups.append(Group(part.name, characters, characters + length, part.repetition is not None))
            characters += length
        return tuple(groups)

    def value(self, text: str | bytes) -> dict[str, Any] | None:
        """Parse the JSON of the holes with a schema, by name.

        Holes in blocks give lists. The value is ``None`` where no hole has a schema.

        >>> Template('{{point: schema {"enum": [[1, 2]]}}}').value("[1, 2]")
        {'point': [1, 2]}
        """
        if not self.has_values:
            return None
        values: dict[str, Any] = {}
        for part, data in self._filled(text):
            if isinstance(part.constraint, JsonSchema):
                parsed = part.constraint.value(data)
                values[part.name] = parsed if part.repetition is None else [*values.get(part.name, []), parsed]
        return values

    def readings(self, text: bytes) -> list[str]:
        """List the strings and names in JSON holes, with escapes undone."""
        return [
            reading
            for part, data in self._filled(arguments.data("text", text))
            if isinstance(part.constraint, JsonSchema)
            for reading in part.constraint.readings(data)
        ]

    def refusal(self, data: bytes) -> dict[str, str] | None:
        """Ask the judges of each hole about its part of a text.

        Returns:
            ``None`` if nobody refuses it; else the template, and who refuses what.
        """
        if self.divided(arguments.data("data", data)) is None:
            return {"template": self._text, "refused by": "its parts"}
        for part, given in self._filled(data):
            refusal = part.constraint.refusal(given)
            if refusal is not None:
                return {"hole": part.name, **refusal}
        return None

    def _filled(self, text: str | bytes) -> list[tuple[Filled, bytes]]:
        """The holes, and what each was given in a text of the template."""
        data = arguments.utf8("text", text) or b""
        spans = self.divided(data) or []
        return [
            (part, data[slice(*span)])
            for part, span in zip(self._parts, spans, strict=False)
            if isinstance(part, Filled)
        ]


@lru_cache(maxsize=_KEPT)
def _without_banned(template: Template, banned: BannedWords) -> Template | None:
    """A template that is no automaton, with clean schemas; ``None`` where it has none, or one cannot be made clean.

    Each question is answered once: the same is asked for each of many texts.
    """
    parts, clean = list(template.parts), dict[int, JsonSchema | None]()
    for number, part in enumerate(parts):
        if isinstance(part, Filled) and isinstance(part.constraint, JsonSchema):
            key = id(part.constraint)
            if key not in clean:
                clean[key] = part.constraint.without_banned(banned)
            made = clean[key]
            if made is None:
                return None
            parts[number] = Filled(part.hole, made, part.repetition)
    return template._with(parts) if clean else None
