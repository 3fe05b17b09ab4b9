"""A constraint of several constraints one after the other: made by users, or of a template."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Self

from sfgen import arguments
from sfgen.automata import Dfa
from sfgen.errors import PatternTooLarge, UsageError
from sfgen.grammar.language.grammar import Grammar
from sfgen.grammar.network.distances import RuleDistances, portable, with_distances
from sfgen.grammar.network.network import Network, network_of
from sfgen.grammar.network.positions import NetworkPositions
from sfgen.grammar.network.read import NetworkReader
from sfgen.grammar.network.rules import GrammarTooLarge
from sfgen.grammar.shell.guide import GrammarGuide, KeptByVocabulary
from sfgen.groups import Group
from sfgen.index import DfaIndex
from sfgen.index.dfa_guide import DfaGuide
from sfgen.index.sequence import SequenceGuide
from sfgen.index.sequence_parts import Ending
from sfgen.index.thread_tokens import ThreadTokens
from sfgen.protocols import Guide, Superset
from sfgen.schema.json_schema import JsonSchema
from sfgen.substring.substring import Substring
from sfgen.template.composition import Segment, automaton_of, grammar_of, segments_of, sequence_of, superset_of
from sfgen.template.parts import Constraint, Copied, Filled, Literal, MadePart, earliest
from sfgen.template.reader import TemplateReader
from sfgen.template.syntax import Hole
from sfgen.vocabulary import Vocabulary

if TYPE_CHECKING:
    from sfgen.ban import BannedWords

_KEPT = 16  # the most sequences without banned words that are kept

_UNNAMED = Hole("", "regex", "", 0, 0)

SMALLER = "Use shorter texts, smaller counts and fewer repetitions."


@dataclass(frozen=True)
class SequencePart:
    """One part of a sequence.

    Args:
        constraint: A literal text, or a constraint: ``Dfa``, ``JsonSchema``, ``Grammar`` or ``Substring``.
        name: The name of its text among the groups; ``None``: it is not a group.
        ends: Its end: ``"anywhere"`` its text is complete, so that the next part may begin in several places;
            ``"earliest"``, when its text is complete for the first time; or at its ``"longest"``, after which no text
            follows that could belong to it.
        temperature: Its own temperature; ``None``: that of the generation.
    """

    constraint: str | Constraint
    name: str | None = None
    ends: Ending = "anywhere"
    temperature: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.constraint, str | Dfa | JsonSchema | Grammar | Substring):
            wanted = "a text, a Dfa, a JsonSchema, a Grammar or a Substring"
            raise arguments.refusal("constraint", wanted, self.constraint)
        arguments.one_of("ends", self.ends, ("anywhere", "earliest", "longest"))
        if isinstance(self.constraint, Grammar) and self.constraint.tokens:
            raise UsageError(
                f"a grammar in a sequence cannot have tokens, and this one has the token {self.constraint.tokens[0]}",
                hint="Write the text of the token in quotes, or use the grammar without a sequence.",
            )
        if self.name is not None and not arguments.utf8("name", arguments.text("name", self.name)):
            reason = "is empty" if not self.name else f"has a surrogate code point: {self.name!r:.60}"
            raise UsageError(f"the name of a part {reason}", hint="Leave it out.")
        if self.temperature is not None:
            arguments.number("temperature", self.temperature, "a number of at least 0")


@dataclass(frozen=True)
class Backreference:
    """A copy of an earlier part's text.

    Args:
        name: The name of that part.
    """

    name: str

    def __post_init__(self) -> None:
        arguments.text("name", self.name)


class Sequence:
    r"""Constraints one after the other: a ``sfgen.protocols.GuidingConstraint``.

    A text that can be divided in several ways is divided so that the first part is as long as it can be, then the
    second, and so on. If all parts are automata, the sequence is one automaton; of schemas and grammars in GBNF it is
    one grammar; others are read along all ways to divide a text.

    Safe to share between threads. Equal sequences are equal.

    Args:
        parts: The parts: literal texts, constraints, ``SequencePart`` with a name or an ending of its own,
            ``Backreference`` for a copy of a named part's text, and other sequences or templates, whose parts are
            inserted.

    Raises:
        UsageError: There is no part, or one of a wrong type; two have one name; the longest text of a part may include
            the text after it; or the sequence passes a limit.

    >>> thought = SequencePart(Dfa.from_regex("(?s:.*)</think>"), "thought", ends="earliest")
    >>> sequence = Sequence(["<think>", thought, SequencePart(Dfa.from_choices(["yes", "no"]), "answer")])
    >>> sequence.accepts("<think>Hm.</think>yes"), sequence.accepts("<think>Hm.</think></think>no")
    (True, False)
    >>> [(group.name, group.span) for group in sequence.groups("<think>Hm.</think>no")]
    [('thought', (7, 18)), ('answer', (18, 20))]
    """

    def __init__(self, parts: Iterable[str | Constraint | SequencePart | Backreference | Sequence]) -> None:
        self._set(_PartMaker().of(arguments.items("parts", parts, "a list of parts")))
        try:
            self._make()
        except PatternTooLarge as error:
            raise UsageError(error.reason, hint=SMALLER) from None
        except GrammarTooLarge as error:
            raise UsageError(f"its rules pass the limit of {error.limit}", hint=SMALLER) from None

    def _set(self, parts: Iterable[MadePart], narrowed: Dfa | None = None) -> None:
        self._parts = tuple(parts)
        self._narrowed = narrowed
        self._division: tuple[bytes, list[tuple[int, int]] | None] | None = None  # the last text and its division
        self._indexes = KeptByVocabulary[DfaIndex]()
        self._positions = KeptByVocabulary[NetworkPositions]()
        self._threads = KeptByVocabulary[ThreadTokens]()

    @classmethod
    def _of(cls, parts: Iterable[MadePart], narrowed: Dfa | None = None) -> Self:
        """A sequence of parts that are already made."""
        made = object.__new__(cls)
        made._set(parts, narrowed)
        return made

    def _with(self, parts: Iterable[MadePart], narrowed: Dfa | None = None) -> Self:
        """The same kind of sequence with other parts."""
        return self._of(parts, narrowed)

    def __reduce__(self) -> tuple[Any, ...]:
        return Sequence._of, (self._parts, self._narrowed)

    def __compiled__(self) -> tuple[Any, ...]:
        made: dict[str, Any] = {"dfa": self.dfa}
        if self.dfa is None:
            made["network"] = self.network
        if self.dfa is None and self.network is None:
            made["segments"] = self.segments
        distances = None if made.get("network") is None else portable(made["network"])[1]
        return _of_compiled, (self.__reduce__(), made, distances)

    def __repr__(self) -> str:
        """One line.

        >>> Sequence(["It is ", SequencePart(Dfa.from_choices(["hot", "cold"]), "weather")])
        Sequence of 2 parts, with weather
        """
        names = ", ".join(hole.name for hole in self.holes if hole.name)
        count = len(self._parts)
        return f"Sequence of {count} part{'s' * (count != 1)}{names and f', with {names}'}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and type(self) is type(other) and self._key == other._key

    def __hash__(self) -> int:
        return hash(tuple(part.data for part in self._parts if isinstance(part, Literal)))

    @cached_property
    def _key(self) -> tuple[Any, ...]:
        return tuple(map(_compared, self._parts)), None if self._narrowed is None else self._narrowed.digest

    # ---- its parts -------------------------------------------------------------------------------------------------

    @property
    def parts(self) -> tuple[MadePart, ...]:
        """Its parts, one after the other, with blocks repeated."""
        return self._parts

    @property
    def holes(self) -> tuple[Filled, ...]:
        """The parts that a model fills."""
        return tuple(part for part in self._parts if isinstance(part, Filled))

    @property
    def narrowed(self) -> Dfa | None:
        """Its automaton, if banned words were taken out."""
        return self._narrowed

    @property
    def temperatures(self) -> Collection[float]:
        """The temperatures that holes have of their own."""
        return {hole.hole.temperature for hole in self.holes if hole.hole.temperature is not None}

    @property
    def has_values(self) -> bool:
        """Whether a named hole is JSON, and so has a value."""
        return any(hole.name and isinstance(hole.constraint, JsonSchema) for hole in self.holes)

    # ---- its language ----------------------------------------------------------------------------------------------

    @cached_property
    def dfa(self) -> Dfa | None:
        """The automaton of its texts, where there is one.

        ``None`` if a hole has a schema or a grammar, or is copied.
        """
        return automaton_of(self._parts) if self._narrowed is None else self._narrowed

    @cached_property
    def network(self) -> Network | None:
        """The rules of its texts, where there are some.

        ``None`` if there is an automaton, or if the parts are not one grammar.
        """
        grammar = None if self.dfa is not None else grammar_of(self._parts)
        return None if grammar is None else network_of(grammar)

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """Its parts in segments, if it has neither automaton nor rules."""
        return segments_of(self._parts)

    @cached_property
    def reader(self) -> TemplateReader:
        """Reads its parts."""
        return TemplateReader(self._parts)

    def _make(self) -> None:
        """Make its automaton, rules or segments."""
        if self.dfa is None and self.network is None:
            _ = self.segments

    def accepts(self, text: str | bytes) -> bool:
        """Return whether a whole text is one of the sequence.

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

        >>> Sequence([SequencePart(Dfa.from_choices(["yes", "no"]), "a"), ", ", Backreference("a"), "!"]).shortest()
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
        """Return the sequence as plain data for JSON.

        >>> Sequence(["a", SequencePart(Dfa.from_regex("b"), "b"), Backreference("b")]).to_dict()
        {'sequence': ['a', {'name': 'b', 'ends': 'anywhere', 'pattern': 'b'}, {'again': 'b'}]}
        """
        return {"sequence": [self._told(part) for part in self._parts]}

    def _told(self, part: MadePart) -> str | dict[str, Any]:
        if isinstance(part, Literal):
            return part.data.decode()
        if isinstance(part, Copied):
            return {"again": self._named(part.source)}
        facts = {"name": part.name or None, "ends": part.ends}
        if isinstance(part.constraint, Dfa) and part.constraint.pattern is not None:
            return {**facts, "pattern": part.constraint.pattern}
        return {**facts, **part.constraint.to_dict()}

    def _named(self, number: int) -> str:
        """The name of a part that is copied."""
        part = self._parts[number]
        assert isinstance(part, Filled), "named parts are copied"
        return part.name

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
            return DfaGuide(self._indexes.of(vocabulary, self._index), max_tokens)._told_by(self.reader)
        if self.network is not None:
            return GrammarGuide(self._positions.of(vocabulary, self._tokens), max_tokens)._told_by(self.reader)
        tokens = self._threads.of(vocabulary, lambda each: sequence_of(self._parts, self.segments, each))
        return SequenceGuide(tokens, max_tokens)._told_by(self.reader)

    def _index(self, vocabulary: Vocabulary) -> DfaIndex:
        assert self.dfa is not None, "its holes are regular"
        return DfaIndex(self.dfa, vocabulary)

    def _tokens(self, vocabulary: Vocabulary) -> NetworkPositions:
        assert self.network is not None, "it has rules"
        return NetworkPositions(self.network, vocabulary)

    def without_banned(self, banned: BannedWords, prompt: bytes = b"") -> Self | None:
        """Take the banned words out, as far as can be done beforehand.

        If all holes are regular, no banned word is left. Else each string of a schema has none when it is read by
        itself.

        Args:
            banned: The banned words.
            prompt: The text before it.

        Returns:
            ``None`` if no banned word can be taken out, or not out of all strings: then a matcher must check the text.

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
        parts = _without_banned(self, banned)
        return None if parts is None else self._with(parts)

    def superset(self) -> Superset | None:
        """Return an automaton of all texts, and perhaps of others.

        ``None`` if none is small enough.
        """
        return self._superset

    @cached_property
    def _superset(self) -> Superset | None:
        return superset_of(self._parts) if self.dfa is None else Superset(self.dfa, True)

    # ---- a finished text -------------------------------------------------------------------------------------------

    def divided(self, data: bytes) -> list[tuple[int, int]] | None:
        """Divide a finished text into its parts: start and end in bytes.

        Returns:
            ``None`` if it is not a text of the sequence.
        """
        known = self._division
        if known is None or known[0] != data:
            spans = self.reader.divided(arguments.data("data", data))
            known = data, None if spans is None else [(start, end) for _, start, end in spans[:-1]]
            self._division = known
        return known[1]

    def groups(self, text: str | bytes) -> tuple[Group, ...] | None:
        """Find the holes in a text of the sequence, in order.

        Returns:
            ``None`` if it is not a text of the sequence.
        """
        data = arguments.utf8("text", text)
        spans = None if data is None else self.divided(data)
        if data is None or spans is None:
            return None
        groups, characters, at = [], 0, 0
        for part, (start, end) in zip(self._parts, spans, strict=True):
            characters += len(data[at:start].decode())
            length, at = len(data[start:end].decode()), end
            if isinstance(part, Filled) and part.name:
                groups.append(Group(part.name, characters, characters + length, part.repetition is not None))
            characters += length
        return tuple(groups)

    def value(self, text: str | bytes) -> dict[str, Any] | None:
        """Parse the JSON of the holes with a schema, by name.

        Holes in blocks give lists. The value is ``None`` if no named hole has a schema.

        >>> Sequence([SequencePart(JsonSchema({"enum": [[1, 2]]}), "point")]).value("[1, 2]")
        {'point': [1, 2]}
        """
        if not self.has_values:
            return None
        values: dict[str, Any] = {}
        for part, data in self._filled(text):
            if isinstance(part.constraint, JsonSchema) and part.name:
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
            ``None`` if no judge refuses it; else the sequence, and which judge refuses which part.
        """
        if self.divided(arguments.data("data", data)) is None:
            return {**self._refused, "refused by": "its parts"}
        for part, given in self._filled(data):
            refusal = part.constraint.refusal(given)
            if refusal is not None:
                return {"hole": part.name, **refusal} if part.name else refusal
        return None

    @property
    def _refused(self) -> dict[str, str]:
        """The name of the sequence in a refusal."""
        return {"constraint": "a sequence of parts"}

    def _filled(self, text: str | bytes) -> list[tuple[Filled, bytes]]:
        """The holes, each with its text in a text of the sequence."""
        data = arguments.utf8("text", text) or b""
        spans = self.divided(data) or []
        return [
            (part, data[slice(*span)])
            for part, span in zip(self._parts, spans, strict=False)
            if isinstance(part, Filled)
        ]


@lru_cache(maxsize=_KEPT)
def _without_banned(sequence: Sequence, banned: BannedWords) -> tuple[MadePart, ...] | None:
    """The parts with clean schemas, for a sequence without automaton; ``None`` if no schema, or not each, can be clean.

    Cached, since it is called for each of many texts.
    """
    parts, clean = list(sequence.parts), dict[int, JsonSchema | None]()
    for number, part in enumerate(parts):
        if isinstance(part, Filled) and isinstance(part.constraint, JsonSchema):
            key = id(part.constraint)
            if key not in clean:
                clean[key] = part.constraint.without_banned(banned)
            made = clean[key]
            if made is None:
                return None
            parts[number] = replace(part, constraint=made)
    return tuple(parts) if clean else None


def _of_compiled(reduced: tuple[Any, ...], known: Mapping[str, Any], distances: RuleDistances | None) -> Sequence:
    """The sequence of a compiled form."""
    made: Sequence = reduced[0](*reduced[1])
    made.__dict__.update(known)  # cached properties
    if distances is not None:
        with_distances(known["network"], distances)
    return made


def _compared(part: MadePart) -> Any:
    """A key that equal parts share; for automata the digest, since two of them are never equal."""
    if isinstance(part, Filled) and isinstance(part.constraint, Dfa):
        return part.hole, part.constraint.digest, part.repetition, part.ends
    return part


class _PartMaker:
    """Makes parts of the arguments of users."""

    def __init__(self) -> None:
        self._parts: list[MadePart] = []
        self._numbers: dict[str, int] = {}  # the numbers of named parts

    def of(self, given: Iterable[Any]) -> tuple[MadePart, ...]:
        """Make all parts."""
        for part in given:
            self._add(part)
        if not any(isinstance(part, Filled) for part in self._parts):
            raise UsageError("no part is a constraint: there is nothing to write", hint="Give a Dfa among the parts.")
        return tuple(self._with_ending(number) for number in range(len(self._parts)))

    def _with_ending(self, number: int) -> MadePart:
        """A part; for an automaton that ends early, with only the texts that do so."""
        part = self._parts[number]
        if not isinstance(part, Filled) or part.ends == "anywhere":
            return part
        constraint = part.constraint
        if part.ends == "earliest":
            return replace(part, constraint=earliest(constraint)) if isinstance(constraint, Dfa) else part
        TemplateReader(self._parts).check_longest(number - len(self._parts) - 1)
        return part

    def _add(self, part: Any) -> None:
        if isinstance(part, Sequence):
            self._add_all(part)
        elif isinstance(part, Backreference):
            if part.name not in self._numbers:
                raise UsageError(
                    f"there is no earlier part named {part.name!r:.60}", hint="Give an earlier part a name."
                )
            self._parts.append(Copied(self._numbers[part.name], 0))
        else:
            part = part if isinstance(part, SequencePart) else SequencePart(part)
            if isinstance(part.constraint, str) and part.name is None:
                data = arguments.utf8("part", part.constraint)
                if data is None:
                    raise UsageError("a surrogate code point in a part is not text")
                self._parts += [Literal(data)] if data else []
                return
            constraint = Dfa.from_choices([part.constraint]) if isinstance(part.constraint, str) else part.constraint
            hole = Hole(part.name or "", "regex", "", 0, 0, part.temperature)
            self._fill(Filled(hole, constraint, None, part.ends), self._numbers)

    def _add_all(self, sequence: Sequence) -> None:
        begin, names = len(self._parts), set(self._numbers)
        for part in sequence.parts if sequence.narrowed is None else [Filled(_UNNAMED, sequence.narrowed)]:
            if isinstance(part, Filled):
                self._fill(part, names)
            else:
                self._parts.append(replace(part, source=part.source + begin) if isinstance(part, Copied) else part)

    def _fill(self, part: Filled, names: Container[str]) -> None:
        """Add a part that the model fills; refuse a name that another part has."""
        if part.name in names:
            raise UsageError(f"two parts are named {part.name!r:.60}", hint="Give each a name of its own.")
        if part.name:
            self._numbers[part.name] = len(self._parts)
        self._parts.append(part)
