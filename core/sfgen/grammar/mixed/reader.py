"""Reads bytes by a Lark grammar that contains schemas.

A *schema terminal* stands for all texts of a network. For lark's lexer it is a code, a byte that no text contains (see
``sfgen.grammar.shell.token_symbols``). Here the code is *lengthened*: repeated once for each byte of the schema's
shortest text. So the distances and the lengths of shortest texts in ``sfgen.grammar.lalr`` are right, though that
engine does not depend on schemas::

    start: "<call>" %json {"enum": [1, 12]} "</call>"

    text      < c a l l >    1      2     <    /  c a l l >
    outer     ● ● ● ● ● ● ●         ○     ●    ●  ● ● ● ● ●       positions of lark's lexer and parser
    inside                   ●      ●                             positions of the network; each has the outer position
                                                                  ``after``, in which the code is read
                                    ○ = after, since the network accepts there

A position consists of an outer position and any number of inner ones: all ways to read the text so far. A schema's text
may end wherever its network accepts, not only at the longest match.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from sfgen.grammar.lalr.read import LalrPosition, LalrReader
from sfgen.grammar.lalr.tables import NO_STATE, Lexer
from sfgen.grammar.network.read import NetworkReader
from sfgen.grammar.network.stack import NetworkPosition
from sfgen.grammar.shell.read import StepReader

_KEPT = 1 << 16
"""The most positions whose borders are cached."""


class Inside(NamedTuple):
    """A position inside of a schema's text.

    Attributes:
        schema: The number of the schema.
        inner: The position in its network.
        after: The outer position after the schema's text.
    """

    schema: int
    inner: NetworkPosition
    after: LalrPosition


class MixedPosition(NamedTuple):
    """All ways to read a text so far.

    Attributes:
        outer: The ways outside of schemas; may be empty.
        inside: The ways inside of schemas, each network position of a schema once.
    """

    outer: LalrPosition
    inside: tuple[Inside, ...]


class Span(NamedTuple):
    """The text of a schema in a whole text: bytes from ``begin`` to ``end``."""

    schema: int
    begin: int
    end: int


def lengthened(lexer: Lexer, lengths: Mapping[int, int]) -> Lexer:
    """Return a lexer that reads each code of a schema repeated; ``lengths`` has the repetitions by code."""
    steps, rows, count = lexer.step.copy(), list[np.ndarray[tuple[int, int], np.dtype[np.int32]]](), len(lexer.step)
    for code, length in lengths.items():
        label = int(lexer.byte_classes[code])
        for target in np.unique(lexer.step[:, label]).tolist():
            if target == NO_STATE or length == 1:
                continue
            chain = np.full((length - 1, steps.shape[1]), NO_STATE, dtype=np.int32)
            chain[:, label] = [*range(count + 1, count + length - 1), target]
            steps[lexer.step[:, label] == target, label] = count
            rows.append(chain)
            count += length - 1
    more = count - len(steps)
    return lexer._replace(
        step=np.concatenate([steps, *rows]),
        commit_starts=np.append(lexer.commit_starts, np.repeat(lexer.commit_starts[-1:], more)),
        may_end=np.append(lexer.may_end, np.zeros(more, dtype=np.bool_)),
    )


class MixedReader(StepReader[MixedPosition]):
    """Reads bytes by a grammar with schemas. Safe to share between threads.

    Args:
        outer: The reader of the text outside of schemas; its codes are lengthened.
        inner: The readers of the schemas' texts.
        codes: The lengthened code of each schema.
    """

    def __init__(self, outer: LalrReader, inner: Sequence[NetworkReader], codes: Sequence[bytes]) -> None:
        super().__init__(bytes(range(256)))
        self.outer = outer
        self.inner = tuple(inner)
        self.codes = tuple(codes)
        self.start = MixedPosition(outer.start, ())
        self._is_code = frozenset(code[0] for code in codes)
        self._readers: list[LalrReader | NetworkReader] = [outer, *inner]
        columns = np.array([list(reader._classes) for reader in self._readers])
        # Bytes are in one class if they are so in all parts.
        _, classes = np.unique(columns, axis=1, return_inverse=True)
        self._classes = classes.reshape(-1).astype(np.uint8).tobytes()
        self._classes_of = [_inverted(reader._classes, self._classes) for reader in self._readers]
        self._borders: dict[MixedPosition, MixedPosition] = {}

    def _read(self, position: MixedPosition, kind: int) -> MixedPosition | None:
        if kind in self._is_code:
            return None
        position, data = self.with_borders(position), bytes([kind])
        outer = self.outer.read(position.outer, data) if position.outer else None
        inside = list[Inside]()
        for schema, inner, outer_after in position.inside:
            after = self.inner[schema].read(inner, data)
            if after is not None:
                inside.append(Inside(schema, after, outer_after))
        return MixedPosition(outer or (), self._joined(inside)) if outer or inside else None

    def with_borders(self, position: MixedPosition) -> MixedPosition:
        """Add the ways across a border: out of the schemas that may end here, and into those that may begin."""
        known = self._borders.get(position)
        if known is None:
            ended = [each.after for each in position.inside if self.inner[each.schema].accepts(each.inner)]
            outer = self.outer.united([position.outer, *ended]) if ended else position.outer
            known = MixedPosition(outer, self._joined([*position.inside, *self.begun(outer)]))
            if len(self._borders) > _KEPT:
                self._borders.clear()
            self._borders[position] = known
        return known

    def begun(self, outer: LalrPosition) -> list[Inside]:
        """List the schemas that may begin at an outer position."""
        begun = list[Inside]()
        for schema, code in enumerate(self.codes):
            after = self.outer.read(outer, code) if outer else None
            if after is not None:
                begun.append(Inside(schema, self.inner[schema].start, after))
        return begun

    def accepts(self, position: MixedPosition) -> bool:
        """Return whether the text may end at a position."""
        return self.outer.accepts(self.with_borders(position).outer)

    def united(self, positions: Sequence[MixedPosition]) -> MixedPosition:
        """Make one position of several."""
        inside = [each for position in positions for each in position.inside]
        return MixedPosition(self.outer.united([position.outer for position in positions]), self._joined(inside))

    def _joined(self, inside: list[Inside]) -> tuple[Inside, ...]:
        """Join the ways at the same network position of a schema."""
        if len(inside) < 2:
            return tuple(inside)
        after: dict[tuple[int, NetworkPosition], list[LalrPosition]] = {}
        for each in inside:
            after.setdefault((each.schema, each.inner), []).append(each.after)
        return tuple([Inside(*key, self.outer.united(positions)) for key, positions in after.items()])

    def _possible(self, position: MixedPosition) -> set[int]:
        """Return the byte classes that some part of a position may read."""
        outer, inside = self.with_borders(position)
        possible = {label for each in self.outer._possible(outer) for label in self._classes_of[0][each]}
        for schema, inner, _ in inside:
            classes = self._classes_of[1 + schema]
            possible.update(label for each in self.inner[schema]._possible(inner) for label in classes[each])
        return possible

    # ---- the texts of schemas ----------------------------------------------------------------------------------------

    def spans(self, data: bytes) -> list[Span] | None:
        """Find the texts of schemas in a whole text, for one way to read it; ``None`` if the text is refused."""
        ways: dict[LalrPosition | Inside, tuple[Span, ...]] = {self.outer.start: ()}
        begins: dict[Inside, int] = {}
        for place in range(len(data) + 1):
            for way, spans in list(ways.items()):
                if isinstance(way, Inside) and self.inner[way.schema].accepts(way.inner):
                    ways.setdefault(way.after, (*spans, Span(way.schema, begins[way], place)))
            if place == len(data):
                break
            after: dict[LalrPosition | Inside, tuple[Span, ...]] = {}
            begun: dict[Inside, int] = {}
            for way, spans in list(ways.items()):
                if isinstance(way, Inside):
                    continue
                read = None if data[place] in self._is_code else self.outer.read(way, data[place : place + 1])
                if read is not None:
                    after.setdefault(read, spans)
                for fresh in self.begun(way):
                    if fresh not in ways:
                        ways[fresh], begins[fresh] = spans, place
            for way, spans in ways.items():
                if isinstance(way, Inside):
                    inner = self.inner[way.schema].read(way.inner, data[place : place + 1])
                    if inner is not None and (further := way._replace(inner=inner)) not in after:
                        after[further], begun[further] = spans, begins[way]
            ways, begins = after, begun
        for way, spans in ways.items():
            if not isinstance(way, Inside) and self.outer.accepts(way):
                return list(spans)
        return None


def _inverted(classes: bytes, joint: bytes) -> dict[int, set[int]]:
    """Map each class to the joint classes of its bytes."""
    inverted: dict[int, set[int]] = {}
    for each, label in zip(classes, joint, strict=True):
        inverted.setdefault(each, set()).add(label)
    return inverted
