"""What a template is made of when its blocks are repeated and its holes are known: parts, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from sfgen.automata import Dfa
from sfgen.errors import TemplateError
from sfgen.language.grammar import Grammar
from sfgen.schema.json_schema import JsonSchema
from sfgen.substring.substring import Substring
from sfgen.template.syntax import Again, Block, Hole, Node, Text

Constraint: TypeAlias = Dfa | JsonSchema | Grammar | Substring
"""What a hole is filled with."""

MAX_PARTS = 10_000
"""The most parts of a template."""

MAX_STEPS = 100_000
"""The most texts, names and blocks that are gone through when its blocks are repeated."""

MAX_BYTES = 1 << 20
"""The most bytes of its texts, those of repeated blocks counted each time."""


@dataclass(frozen=True, slots=True)
class Literal:
    """Bytes of the template themselves."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Filled:
    """A hole.

    Attributes:
        hole: The hole as it stands in the template.
        constraint: What it is filled with.
        repetition: The number of the repetition of its block, from 0; ``None``: it stands in no block.
    """

    hole: Hole
    constraint: Constraint
    repetition: int | None = None

    @property
    def name(self) -> str:
        """The name of the hole."""
        return self.hole.name


@dataclass(frozen=True, slots=True)
class Copied:
    """What a hole was given, once more.

    Attributes:
        source: The number of the part that is this hole.
        position: Where the name stands in the template, in characters.
    """

    source: int
    position: int


Part: TypeAlias = Literal | Filled | Copied


@dataclass(frozen=True, slots=True)
class _Scope:
    """What names mean at one place.

    Attributes:
        items: The items of the blocks that are open.
        holes: The numbers of the parts that are holes.
    """

    items: Mapping[str, str]
    holes: dict[str, int]


class Assembly:
    """Puts parts together.

    Args:
        text: The template, for errors.
        origin: The name of its file.
        constraint_of: Reads what a hole is filled with.
    """

    def __init__(self, text: str, origin: str | None, constraint_of: Callable[[Hole], Constraint]) -> None:
        self._text, self._origin, self._constraint_of = text, origin, constraint_of
        self._constraints: dict[Hole, Constraint] = {}
        self._repetitions: dict[str, int] = {}
        self._names: dict[str, int] = {}  # of holes and items, and where they stand
        self.parts: list[Part] = []
        self._literal = bytearray()  # of the part that comes next
        self._steps = self._bytes = 0

    def of(self, nodes: Iterable[Node]) -> tuple[Part, ...]:
        """Assemble the parts of a template's nodes.

        Raises:
            TemplateError: A name means two things, or nothing; there is no hole; or it is too large.
        """
        self._add(nodes, _Scope({}, {}))
        self._end_literal()
        if not any(isinstance(part, Filled) for part in self.parts):
            raise TemplateError(
                "there is no hole in it: nothing is left to write",
                self._text,
                hint="A hole is {{name: regex [a-z]+}}.",
                origin=self._origin,
            )
        for part, behind in zip(self.parts, [*self.parts[1:], None], strict=True):
            self._check_end(part, behind)
        return tuple(self.parts)

    def _add(self, nodes: Iterable[Node], scope: _Scope) -> None:
        for node in nodes:
            self._steps += 1
            if isinstance(node, Text):
                self._add_literal(node.text)
            elif isinstance(node, Hole):
                self._add_hole(node, scope)
            elif isinstance(node, Block):
                self._add_block(node, scope)
            elif node.name in scope.items:
                self._add_literal(scope.items[node.name])
            elif node.name in scope.holes:
                self._end_literal()
                self.parts.append(Copied(scope.holes[node.name], node.position))
            else:
                raise self._unknown(node)
            for number, most, what in (
                (len(self.parts), MAX_PARTS, "parts"),
                (self._steps, MAX_STEPS, "texts and names"),
                (self._bytes, MAX_BYTES, "bytes"),
            ):
                if number > most:
                    hint = "Repeat less: blocks inside of blocks multiply."
                    raise self._error(f"with its blocks repeated it passes the limit of {most:,} {what}", 0, hint)

    def _add_literal(self, text: str) -> None:
        try:
            data = text.encode()
        except UnicodeEncodeError:
            raise self._error("a surrogate code point in it is not text", 0) from None
        self._literal += data
        self._bytes += len(data)

    def _end_literal(self) -> None:
        """Make a part of the text before another part."""
        if self._literal:
            self.parts.append(Literal(bytes(self._literal)))
            self._literal.clear()

    def _add_hole(self, hole: Hole, scope: _Scope) -> None:
        self._take_name(hole.name, hole.position)
        if hole not in self._constraints:
            self._constraints[hole] = self._constraint_of(hole)
        self._end_literal()
        repetition = None
        if scope.items:
            repetition = self._repetitions.get(hole.name, 0)
            self._repetitions[hole.name] = repetition + 1
        scope.holes[hole.name] = len(self.parts)
        self.parts.append(Filled(hole, self._constraints[hole], repetition))

    def _add_block(self, block: Block, scope: _Scope) -> None:
        self._take_name(block.name, block.position)
        for item in block.items:
            self._add(block.body, _Scope({**scope.items, block.name: item}, dict(scope.holes)))

    def _take_name(self, name: str, position: int) -> None:
        """Note where a name gets its meaning."""
        if self._names.setdefault(name, position) != position:
            hint = f"Write {{{{{name}}}}} for the same text again, or take another name."
            raise self._error(f"the name {name!r} has a meaning already", position, hint)

    def _unknown(self, again: Again) -> TemplateError:
        name = again.name
        if name in self._names and self._names[name] < again.position:
            hint = "What is in a block is different in each repetition: write it again inside."
            return self._error(f"{name!r} has its meaning inside a block only", again.position, hint)
        hint = f"A hole is written as {{{{{name}: regex [a-z]+}}}}, and then {{{{{name}}}}} writes the same text again."
        return self._error(f"no hole named {name!r} stands before", again.position, hint)

    def _check_end(self, part: Part, behind: Part | None) -> None:
        """A text that ends before another text must be followed by it."""
        if not isinstance(part, Filled) or part.hole.until is None:
            return
        until = part.hole.until
        if not isinstance(behind, Literal) or not behind.data.startswith(until.encode()):
            hint = f"Write it behind the hole; until {until!r} is where the hole ends, and does not write it."
            raise self._error(f"the template does not go on with {until!r} here", part.hole.position, hint)

    def _error(self, reason: str, position: int, hint: str = "") -> TemplateError:
        return TemplateError(reason, self._text, position, hint=hint, origin=self._origin)
