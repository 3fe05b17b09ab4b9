"""Make one language from the parts of a template: an automaton if all holes are regular, else rules of one grammar.

The language of a template with a copy of a hole is in general neither regular nor context-free. But if the hole has few
texts, such as some choices, it is a union of a few templates without the copy, over the parts from the hole to its last
copy.

A template that is neither is a sequence (``sfgen.index.sequence``) of *segments* (``segments_of``): a segment is a run
of regular parts, made one automaton, so that tokens that cross from one part into the next need no special treatment;
or one hole that is copied, or has a schema or a grammar; or one copy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from sfgen.automata import Dfa
from sfgen.grammar.network import rules
from sfgen.grammar.network.regular import regular_superset
from sfgen.grammar.network.rules import Expression
from sfgen.index import Index
from sfgen.index.sequence_parts import Constrained, Copy, Ending, TokenPart
from sfgen.index.thread_tokens import ThreadTokens
from sfgen.index.threads import Threads
from sfgen.protocols import Superset
from sfgen.schema.json_schema import JsonSchema
from sfgen.schema.scalars.written_text import any_text
from sfgen.substring.substring import Substring
from sfgen.template.parts import Constraint, Copied, Filled, Literal, MadePart
from sfgen.vocabulary import Vocabulary

MAX_TEXTS = 256
"""The most ways to fill holes that are copied."""

Made = TypeVar("Made")

_TOP = "template"


class NoneOfOne(Exception):
    """The parts have no automaton, and no rules of one grammar.

    There is a copy of a hole with too many texts, a grammar for Lark, or a quoted document.
    """


class Algebra(Protocol[Made]):
    """The operations that build a language."""

    def literal(self, data: bytes) -> Made:
        """Make the language of one text."""

    def hole(self, constraint: Constraint) -> Made:
        """Make the language of a hole."""

    def sequence(self, made: Sequence[Made]) -> Made:
        """Concatenate languages; at least one."""

    def either(self, made: Sequence[Made]) -> Made:
        """Unite languages; at least one."""


class Automata:
    """Languages as automata: an ``Algebra``."""

    def literal(self, data: bytes) -> Dfa:
        """Build the automaton of one text."""
        return Dfa.from_choices([data.decode()])

    def hole(self, constraint: Constraint) -> Dfa:
        """Return the automaton of a hole."""
        if not isinstance(constraint, Dfa):
            raise NoneOfOne
        return constraint

    def sequence(self, made: Sequence[Dfa]) -> Dfa:
        """Concatenate automata."""
        return _halved(made, lambda left, right: left + right)

    def either(self, made: Sequence[Dfa]) -> Dfa:
        """Unite automata."""
        return _halved(made, lambda left, right: left | right)


class RulesOfHoles:
    """Languages as expressions: an ``Algebra``.

    Attributes:
        rules: The rules that they call.
    """

    def __init__(self, *, takes_all: bool = False) -> None:
        self._takes_all = takes_all
        self.rules: dict[str, Expression] = {}
        self._starts: dict[int, tuple[Constraint, rules.Call]] = {}

    def literal(self, data: bytes) -> Expression:
        """Make the expression of one text."""
        return rules.Literal(data)

    def hole(self, constraint: Constraint) -> Expression:
        """Call the start rule of a hole's rules, which are added once."""
        if id(constraint) not in self._starts:
            self._starts[id(constraint)] = constraint, self._add(constraint)
        return self._starts[id(constraint)][1]

    def sequence(self, made: Sequence[Expression]) -> Expression:
        """Concatenate expressions."""
        return rules.Concatenation(tuple(made))

    def either(self, made: Sequence[Expression]) -> Expression:
        """Make an alternation of expressions."""
        return rules.Alternation(tuple(made))

    def _add(self, constraint: Constraint) -> rules.Call:
        """Add the rules of a hole under new names; return the call of its start rule."""
        prefix = f"{len(self._starts)}."
        if isinstance(constraint, Dfa):
            self.rules[prefix] = rules.Leaf(constraint)
            return rules.Call(prefix)
        if isinstance(constraint, Substring):
            grammar = None  # its automaton would have the size of the document
        else:
            grammar = constraint.compiled.grammar if isinstance(constraint, JsonSchema) else constraint.expressions
        if grammar is None and self._takes_all:
            self.rules[prefix] = rules.Leaf(any_text())
            return rules.Call(prefix)
        if grammar is None:
            raise NoneOfOne
        for name, expression in grammar.rules.items():
            self.rules[prefix + name] = renamed(expression, prefix)
        return rules.Call(prefix + grammar.start)


def renamed(expression: Any, prefix: str) -> Any:
    """Prefix the names of the rules that an expression calls.

    >>> renamed(rules.Repeat(rules.Call("a"), 0, 1), "x.")
    Repeat(child=Call(rule='x.a', distinct=False), minimum=0, maximum=1)
    """
    if isinstance(expression, rules.Call):
        return replace(expression, rule=prefix + expression.rule)
    if isinstance(expression, rules.Step):
        return rules.Step(renamed(expression.expression, prefix), expression.target)
    if isinstance(expression, tuple):
        return tuple(renamed(each, prefix) for each in expression)
    if isinstance(expression, Dfa) or not is_dataclass(expression) or isinstance(expression, type):
        return expression
    inner = {field.name: getattr(expression, field.name) for field in fields(expression)}
    return type(expression)(**{name: renamed(value, prefix) for name, value in inner.items()})


def automaton_of(parts: Sequence[MadePart]) -> Dfa | None:
    """Build the automaton of all texts of the parts; ``None`` if they have no automaton.

    >>> from sfgen.template.syntax import Hole
    >>> automaton_of([Literal(b"a"), Literal(b"b")]).shortest()
    b'ab'
    """
    try:
        return _Composition(parts, Automata()).whole()
    except NoneOfOne:
        return None


def grammar_of(parts: Sequence[MadePart], *, takes_all: bool = False) -> rules.GrammarRules | None:
    """Build the rules of all texts of the parts; ``None`` if they have no rules.

    ``takes_all``: a hole without rules has any text.
    """
    algebra = RulesOfHoles(takes_all=takes_all)
    try:
        whole = _Composition(parts, algebra).whole()
    except NoneOfOne:
        return None
    return rules.GrammarRules({_TOP: whole, **algebra.rules}, _TOP)


def superset_of(parts: Sequence[MadePart]) -> Superset | None:
    """Build an automaton of all texts of the parts, and perhaps of others; ``None`` if none is small enough.

    If they are neither one automaton nor one grammar, copies may differ from their holes, and a hole with a grammar for
    Lark or a quotation has any text.

    >>> from sfgen.template.syntax import Hole
    >>> superset_of([Literal(b"a"), Literal(b"b")]).dfa.shortest()
    b'ab'
    """
    grammar = grammar_of(parts)
    if grammar is not None:
        return regular_superset(grammar)
    holes = [parts[part.source] if isinstance(part, Copied) else part for part in parts]
    freed = [replace(part, ends="anywhere") if isinstance(part, Filled) else part for part in holes]
    grammar = grammar_of(freed, takes_all=True)
    superset = None if grammar is None else regular_superset(grammar)
    return None if superset is None else superset._replace(is_exact=False)


class _Composition(Generic[Made]):
    """Puts the languages of parts together."""

    def __init__(self, parts: Sequence[MadePart], algebra: Algebra[Made]) -> None:
        self._parts, self._algebra = parts, algebra
        self._last = {part.source: number for number, part in enumerate(parts) if isinstance(part, Copied)}

    def whole(self) -> Made:
        """The language of all parts."""
        return self._between(0, len(self._parts), {}, 1)

    def _between(self, begin: int, end: int, copies: Mapping[int, bytes], ways: int) -> Made:
        """The language of some parts."""
        made = []
        while begin < end:
            part = self._parts[begin]
            if begin in self._last:
                behind = self._span(begin)
                made.append(self._union(begin, behind, copies, ways))
                begin = behind
                continue
            if isinstance(part, Filled):
                if part.ends == "earliest" and not isinstance(part.constraint, Dfa):
                    raise NoneOfOne
                made.append(self._algebra.hole(part.constraint))
            else:
                made.append(self._algebra.literal(part.data if isinstance(part, Literal) else copies[part.source]))
            begin += 1
        return self._algebra.sequence(made) if made else self._algebra.literal(b"")

    def _span(self, hole: int) -> int:
        """The part after the last copy of a hole, and of the holes that begin before that copy."""
        end, part = self._last[hole] + 1, hole
        while part < end:
            end = max(end, self._last.get(part, 0) + 1)
            part += 1
        return end

    def _union(self, hole: int, end: int, copies: Mapping[int, bytes], ways: int) -> Made:
        part = self._parts[hole]
        assert isinstance(part, Filled), "copies are of holes"
        texts = few_texts(part.constraint, MAX_TEXTS // ways)
        if texts is None:
            raise NoneOfOne
        return self._algebra.either(
            [
                self._algebra.sequence(
                    [
                        self._algebra.literal(text),
                        self._between(hole + 1, end, {**copies, hole: text}, ways * len(texts)),
                    ]
                )
                for text in texts
            ]
        )


def few_texts(constraint: Constraint, most: int) -> list[bytes] | None:
    """List all texts of an automaton that has at most ``most``; ``None`` for any other constraint.

    >>> few_texts(Dfa.from_regex("(a|b)c?"), 4), few_texts(Dfa.from_regex("a*b"), 99)
    ([b'a', b'b', b'ac', b'bc'], None)
    """
    if not isinstance(constraint, Dfa):
        return None
    texts, beginnings = list[bytes](), [(0, b"")]
    for _ in range(len(constraint)):
        texts += [text for state, text in beginnings if constraint.accepting[state]]
        beginnings = [
            (target, text + bytes([byte]))
            for state, text in beginnings
            for byte, target in enumerate(constraint.transitions[state][constraint.byte_classes].tolist())
            if target >= 0
        ]
        if len(texts) + len(beginnings) > most:  # each beginning belongs to some text
            return None
    return None if beginnings else texts


def _halved(made: Sequence[Made], join: Callable[[Made, Made], Made]) -> Made:
    """Join neighbours in rounds until one is left, so that each part is joined only log2(n) times."""
    made = list(made)
    while len(made) > 1:
        pairs = [join(left, right) for left, right in zip(made[::2], made[1::2], strict=False)]
        made = pairs + made[len(pairs) * 2 :]
    return made[0]


class Segment(NamedTuple):
    """Consecutive parts that are read as one.

    Attributes:
        begin: The number of the first one.
        end: The number of the part after the last one.
        dfa: Their automaton; ``None`` for a single part that is copied, a copy, or not regular.
    """

    begin: int
    end: int
    dfa: Dfa | None


def segments_of(parts: Sequence[MadePart]) -> tuple[Segment, ...]:
    """Divide a template into segments, in order."""
    copied = {part.source for part in parts if isinstance(part, Copied)}
    segments, begin = list[Segment](), 0
    while begin < len(parts):
        end = begin
        while end < len(parts) and end not in copied and _is_regular(parts[end]):
            end += 1
        segments.append(Segment(begin, max(end, begin + 1), automaton_of(parts[begin:end]) if end > begin else None))
        begin = segments[-1].end
    return tuple(segments)


def _is_regular(part: MadePart) -> bool:
    return isinstance(part, Literal) or (isinstance(part, Filled) and isinstance(part.constraint, Dfa))


def sequence_of(parts: Sequence[MadePart], segments: Sequence[Segment], vocabulary: Vocabulary) -> ThreadTokens:
    """Make the sequence of a template's segments over a vocabulary."""
    size = len(segments)
    if segments[-1].dfa is None:  # a sequence must end with a constraint: here with an empty one
        segments = [*segments, Segment(len(parts), len(parts), Dfa.from_choices([""]))]
        size += 1
    number_of = {segment.begin: number - size for number, segment in enumerate(segments)}
    made, texts = list[TokenPart](), dict[tuple[int, Ending], Constrained]()
    for begin, _, dfa in segments:
        part = parts[begin] if dfa is None else None
        if isinstance(part, Copied):
            made.append(Copy(number_of[part.source]))
            continue
        constraint = part.constraint if isinstance(part, Filled) else dfa
        ends: Ending = part.read_to if isinstance(part, Filled) else "anywhere"
        assert constraint is not None, "what has no automaton is a copy or a hole"
        if (id(constraint), ends) not in texts:  # blocks repeat holes
            texts[id(constraint), ends] = Constrained(Index(constraint, vocabulary), ends)
        made.append(texts[id(constraint), ends])
    return ThreadTokens(Threads(made))
