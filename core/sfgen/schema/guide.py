"""The guide of a schema: that of its network, which can tell where in the document it stands and what comes there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Self

from sfgen.grammar.guide import NetworkGuide
from sfgen.grammar.rules import Alternation, Call
from sfgen.grammar.stack import Position
from sfgen.grammar.token_positions import TokenPositions
from sfgen.schema.compile import Compiled
from sfgen.schema.expected import json_path
from sfgen.schema.json_position import START, Expects, JsonPosition, Way
from sfgen.schema.outline import Part
from sfgen.schema.words import alternatives, shown
from sfgen.schema.written_text import write

_MOST_NAMES = 5  # of properties that are named


class SchemaGuide(NetworkGuide):
    """Walks one sequence through the network of a schema; see ``NetworkGuide``.

    Args:
        tokens: The network over a vocabulary.
        compiled: The rules of the schema.
        max_tokens: The number of tokens that the sequence may have; ``None``: no limit.

    Raises:
        LimitTooSmall: The shortest text takes more than ``max_tokens`` tokens.
    """

    def __init__(self, tokens: TokenPositions, compiled: Compiled, max_tokens: int | None = None) -> None:
        super().__init__(tokens, max_tokens)
        self._compiled = compiled
        self._pieces: list[bytes] = []  # what each step read
        self._reached: list[JsonPosition] = [START]  # before the first piece, after it, … as far as was asked

    def advance(self, token_id: int) -> None:
        """Take a token.

        Raises:
            UsageError: The token is not allowed here.
        """
        super().advance(token_id)
        if len(self._positions) > len(self._pieces) + 1:  # it was no end token
            self._pieces.append(self.vocabulary.tokens[token_id] or b"")

    def advance_bytes(self, data: bytes) -> None:
        """Read bytes that are part of no token.

        Raises:
            UsageError: No text goes on so.
        """
        super().advance_bytes(data)
        self._pieces.append(bytes(data))

    def rollback(self, count: int) -> None:
        """Take back the last ``count`` steps; an end token counts as one.

        Raises:
            UsageError: Fewer steps than that were taken.
        """
        super().rollback(count)
        kept = len(self._positions) - 1
        del self._pieces[kept:], self._reached[kept + 1 :]

    def fork(self, *, limited: bool = True) -> Self:
        """A second guide at the same position, which goes its own way; without ``limited``, without a limit."""
        twin = super().fork(limited=limited)
        twin._pieces, twin._reached = self._pieces.copy(), self._reached.copy()
        return twin

    def describe(self) -> str:
        """Where in the document the text stands, and what is expected there: ``$.address.street: a string``."""
        for piece in self._pieces[len(self._reached) - 1 :]:
            self._reached.append(self._reached[-1].read(piece))
        there = self._reached[-1]
        return f"{json_path(there.way)}: {self._expected(there, self._positions[-1])}"

    def _expected(self, there: JsonPosition, position: Position) -> str:
        rules = rules_at(self._compiled, there.way)
        running = {self.tokens.network.names[self.tokens.network.rule_of[state]] for state, _, _ in position}
        rules = [rule for rule in rules if rule in running] or rules
        match there.expects:
            case Expects.NAME:
                return _names(part for rule in rules for part in _following(self._compiled.parts[rule], there))
            case Expects.COLON:
                return "a colon"
            case Expects.MORE:
                return "nothing more" if there.is_whole else "a comma or the end"
            case _:
                return alternatives(self._compiled.descriptions[rule] for rule in rules)


def rules_at(compiled: Compiled, way: Way) -> list[str]:
    """The rules whose texts the value at a way through a document can be; branches of unions are told apart.

    >>> from sfgen.schema.compile import compile_schema
    >>> from sfgen.schema.options import WritingOptions
    >>> from sfgen.schema.read import read_schema
    >>> compiled = compile_schema(read_schema("name, tags str[]"), WritingOptions())
    >>> [compiled.descriptions[rule] for rule in rules_at(compiled, ("tags", 7))]
    ['a string']
    """
    rules = _branches(compiled, [compiled.grammar.start])
    for step in way:
        rules = _branches(compiled, [part.rule for rule in rules for part in _leading(compiled.parts[rule], step)])
    return rules


def _leading(parts: Iterable[Part], step: str | int) -> list[Part]:
    """The parts that a name or an index leads to."""
    several = list(parts)
    if isinstance(step, int):
        named = [part for part in several if part.label == f"[{step}]"]
        return named or [part for part in several if part.label == "[]"]
    named = [part for part in several if part.label == step and not part.name]
    return named or [part for part in several if part.name]


def _branches(compiled: Compiled, rules: Iterable[str]) -> list[str]:
    """The rules without unions: in place of each, what it is a union of."""
    found: dict[str, None] = {}
    seen, waiting = set[str](), list(rules)[::-1]
    while waiting:
        rule = waiting.pop()
        if rule in seen:
            continue
        seen.add(rule)
        if is_union(compiled, rule):
            waiting += [part.rule for part in reversed(compiled.parts[rule])]
        else:
            found[rule] = None
    return list(found)


def is_union(compiled: Compiled, rule: str) -> bool:
    """Whether a rule is one of several others, and nothing besides."""
    expression = compiled.grammar.rules[rule]
    return isinstance(expression, Alternation) and all(isinstance(branch, Call) for branch in expression.branches)


def _following(parts: Sequence[Part], there: JsonPosition) -> list[Part]:
    """The properties of an object whose names may come next: those behind the last one, up to one that is needed."""
    labels = [part.label for part in parts if not part.name]
    first = labels.index(there.last_name) + 1 if there.last_name in labels else 0
    behind = [*parts[first:]] if there.last_name is None or first else [part for part in parts if part.name]
    needed = next((number for number, part in enumerate(behind) if part.is_needed), len(behind))
    return [part for part in behind[: needed + 1] if part.name or write(part.label).startswith(there.token)]


def _names(parts: Iterable[Part]) -> str:
    """What the name of a property may be."""
    several = list(parts)
    names = list(dict.fromkeys(shown(part.label) for part in several if not part.name))
    more = ["another name"] if any(part.name for part in several) else []
    if len(names) > _MOST_NAMES:
        more = [f"one of {len(names) - _MOST_NAMES} more", *more]
    words = [*names[:_MOST_NAMES], *more]
    return f"the name {alternatives(words)}" if names else "a name"
