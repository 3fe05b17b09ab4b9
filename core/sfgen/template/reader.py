"""A reader of a template's text, byte by byte: it tells the parts that each byte may belong to.

The border of two parts is not always known while a text is written: after ``a`` of a hole ``a*`` and
then the literal ``ab``, either may read the next ``a``. So a position is a set of *threads*, as of a nondeterministic
automaton: one for each way to divide the text so far. This is the plain definition of what a template's texts are;
where all holes are regular, an automaton of the whole says the same faster.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from sfgen.automata import Dfa
from sfgen.grammar.shell.guide import PositionReader
from sfgen.schema.json_schema import JsonSchema
from sfgen.template.parts import Constraint, Copied, Filled, Literal, Part


class Thread(NamedTuple):
    """One way to divide a text so far.

    Attributes:
        part: The number of the part that is open; that behind the last one: the text is complete.
        inside: The position in the part: bytes of a literal, or a position of the hole's reader.
        written: The text of the hole so far, if the hole is copied later; else nothing.
        copies: The texts of holes that are still to be written once more, by the numbers of their parts.
    """

    part: int
    inside: Hashable
    written: bytes = b""
    copies: tuple[tuple[int, bytes], ...] = ()


Position: TypeAlias = tuple[Thread, ...]
"""All the ways to divide a text so far, that in which the earliest part is open first; at least one."""


class DfaReader:
    """Reads a text of an automaton: a ``sfgen.grammar.shell.guide.PositionReader`` whose positions are states."""

    start = 0

    def __init__(self, dfa: Dfa) -> None:
        self._dfa = dfa
        # Python reads single numbers from these faster than from arrays.
        self._target, self._classes = dfa.transitions.item, dfa.byte_classes.tobytes()
        self._accepting: list[bool] = dfa.accepting.tolist()
        self._final: list[bool] = ((dfa.transitions < 0).all(axis=1) & dfa.accepting).tolist()

    def read(self, position: int, data: bytes) -> int | None:
        """Return the state after some bytes; ``None`` where they are refused."""
        for byte in data:
            position = self._target(position, self._classes[byte])
            if position < 0:
                return None
        return position

    def accepts(self, position: int) -> bool:
        """Tell whether the text may end in a state."""
        return self._accepting[position]

    def is_final(self, position: int) -> bool:
        """Tell whether nothing can follow."""
        return self._final[position]

    def only_step(self, position: int) -> tuple[bytes, int] | None:
        """Return the only byte that can follow, and the state after it."""
        targets = self._dfa.transitions[position][self._dfa.byte_classes]
        bytes_ = np.flatnonzero(targets >= 0)
        return (bytes([bytes_[0]]), int(targets[bytes_[0]])) if bytes_.size == 1 else None


class TemplateReader:
    """Reads the texts of some parts, one after the other.

    It can be shared between threads.
    """

    def __init__(
        self, parts: Sequence[Part], reader_of: Callable[[Constraint], PositionReader[Any]] | None = None
    ) -> None:
        self.parts = tuple(parts)
        make = reader_of or _reader_of
        self._readers = [make(part.constraint) if isinstance(part, Filled) else None for part in self.parts]
        self.last_copy = {part.source: number for number, part in enumerate(self.parts) if isinstance(part, Copied)}
        """Of each hole that is written once more, the last part that does so."""
        self.start: Position = self._position(self._closure(self._begin(0, ())))

    def _begin(self, part: int, copies: tuple[tuple[int, bytes], ...]) -> Thread:
        """The start of a part."""
        kept = tuple(copy for copy in copies if self.last_copy[copy[0]] >= part)
        inside: Hashable = 0
        if part < len(self.parts) and isinstance(self.parts[part], Filled):
            inside = self.hole_reader(part).start
        return Thread(part, inside, b"", kept)

    def hole_reader(self, part: int) -> PositionReader[Any]:
        """Return the reader of a hole, by the number of its part."""
        reader = self._readers[part]
        assert reader is not None, "it is a hole"
        return reader

    @staticmethod
    def _position(threads: Iterable[Thread]) -> Position:
        return tuple(sorted(dict.fromkeys(threads), key=lambda thread: thread.part))

    # ---- the threads -----------------------------------------------------------------------------------------------

    def literal(self, thread: Thread) -> bytes | None:
        """Return all bytes of the literal or copy that a thread reads.

        They are ``None`` in a hole, and at the end.
        """
        if thread.part == len(self.parts):
            return None
        part = self.parts[thread.part]
        if isinstance(part, Literal):
            return part.data
        return dict(thread.copies)[part.source] if isinstance(part, Copied) else None

    def _closure(self, thread: Thread) -> Iterator[Thread]:
        """A thread as far as it can go on, and the starts of the parts behind it if its own may end here."""
        while thread.part < len(self.parts):
            literal = self.literal(thread)
            if literal is not None:
                if thread.inside != len(literal):
                    yield thread
                    return
                thread = self._begin(thread.part + 1, thread.copies)
                continue
            reader = self.hole_reader(thread.part)
            ends = reader.accepts(thread.inside)
            if not (ends and self._is_over(thread, reader)):
                yield thread
            if not ends:
                return
            copies = thread.copies
            if thread.part in self.last_copy:
                copies = (*copies, (thread.part, thread.written))
            thread = self._begin(thread.part + 1, copies)
        yield thread

    def _is_over(self, thread: Thread, reader: PositionReader[Any]) -> bool:
        """Whether a hole that may end ends here, as far as that is known quickly."""
        part = self.parts[thread.part]
        if isinstance(part, Filled) and part.ends == "earliest":
            return True
        return isinstance(reader, DfaReader) and reader.is_final(thread.inside)  # type: ignore[arg-type]

    def _after(self, thread: Thread, byte: bytes) -> Thread | None:
        """A thread after one byte; ``None`` where it cannot read it."""
        if thread.part == len(self.parts):
            return None
        literal = self.literal(thread)
        if literal is not None:
            offset = thread.inside
            assert isinstance(offset, int), "inside of a literal it counts bytes"
            return thread._replace(inside=offset + 1) if literal[offset : offset + 1] == byte else None
        inside = self.hole_reader(thread.part).read(thread.inside, byte)
        if inside is None:
            return None
        return Thread(
            thread.part, inside, thread.written + byte if thread.part in self.last_copy else b"", thread.copies
        )

    # ---- positions -------------------------------------------------------------------------------------------------

    def read(self, position: Position, data: bytes) -> Position | None:
        """Return the position after some bytes; ``None`` where they are refused."""
        for byte in data:
            read = (self._after(thread, _BYTES[byte]) for thread in position)
            position = self._position(then for after in read if after is not None for then in self._closure(after))
            if not position:
                return None
        return position

    def accepts(self, position: Position) -> bool:
        """Tell whether the text may end at a position."""
        return position[-1].part == len(self.parts)

    def reads(self, data: bytes) -> bool:
        """Tell whether a whole text is one of the template."""
        position = self.read(self.start, data)
        return position is not None and self.accepts(position)

    def hole(self, position: Position) -> Filled | None:
        """Return the hole that is open; of several, the first.

        It is ``None`` in the template's own text.
        """
        first = position[0].part
        part = self.parts[first] if first < len(self.parts) else None
        return part if isinstance(part, Filled) else None

    def schema_hole(self, position: Position) -> int | None:
        """Return the number of the part that is open, if it is a hole with a schema; of several, the first."""
        hole = self.hole(position)
        return position[0].part if hole is not None and isinstance(hole.constraint, JsonSchema) else None

    # ---- a finished text -------------------------------------------------------------------------------------------

    def divided(self, data: bytes) -> list[tuple[int, int]] | None:
        """Divide a finished text into its parts: start and end in bytes; ``None`` if it is not a text of the template.

        A text that can be divided in several ways is divided so that the first hole is as long as it can be, then the
        second, and so on.
        """

        known: dict[tuple[int, int], list[int]] = {}

        def ends(part: int, start: int) -> list[int]:
            """List the ends of a hole that begins at a byte, the farthest first."""
            if (part, start) in known:
                return known[part, start]
            hole, reader = self.parts[part], self.hole_reader(part)
            position: Any = reader.start
            reached = [start] if reader.accepts(position) else []
            for at in range(start, len(data)):
                if reached and isinstance(hole, Filled) and hole.ends == "earliest":
                    break
                position = reader.read(position, _BYTES[data[at]])
                if position is None:
                    break
                if reader.accepts(position):
                    reached.append(at + 1)
            known[part, start] = reached[::-1]
            return known[part, start]

        def ways(spans: list[tuple[int, int]]) -> Iterator[int]:
            """Iterate over the ends of the part behind these."""
            number, start = len(spans), spans[-1][1] if spans else 0
            part = self.parts[number]
            if isinstance(part, Filled):
                return iter(ends(number, start))
            literal = part.data if isinstance(part, Literal) else data[slice(*spans[part.source])]
            return iter([start + len(literal)] if data.startswith(literal, start) else [])

        # Depth first; a place that was left without success is not entered again with the same copies.
        spans: list[tuple[int, int]] = []
        waiting, dead = [ways(spans)], set[Hashable]()
        while waiting:
            start = spans[-1][1] if spans else 0
            end = next(waiting[-1], None)
            if end is None:
                dead.add(self._place(spans, data))
                waiting.pop()
                if spans:
                    spans.pop()
                continue
            spans.append((start, end))
            if len(spans) == len(self.parts):
                if end == len(data):
                    return spans
                spans.pop()
            elif self._place(spans, data) in dead:
                spans.pop()
            else:
                waiting.append(ways(spans))
        return None

    def _place(self, spans: list[tuple[int, int]], data: bytes) -> Hashable:
        """The key of a search state: all that the rest of the reading depends on."""
        copies = [data[slice(*spans[source])] for source, last in self.last_copy.items() if source < len(spans) <= last]
        return len(spans), spans[-1][1] if spans else 0, tuple(copies)


_BYTES = [bytes([byte]) for byte in range(256)]


def first_bytes(parts: Sequence[Part], begin: int) -> frozenset[int]:
    """Return the bytes with which a text of some parts can begin, from one of them on.

    >>> sorted(first_bytes([Literal(b"a"), Literal(b"b")], 1))
    [98]
    """
    found = set[int]()
    for part in parts[begin:]:
        source = parts[part.source] if isinstance(part, Copied) else part
        if isinstance(source, Literal):
            return frozenset({*found, source.data[0]})
        assert isinstance(source, Filled), "copies are of holes"
        reader = _reader_of(source.constraint)
        found |= {byte for byte, data in enumerate(_BYTES) if reader.read(reader.start, data) is not None}
        if not reader.accepts(reader.start):
            break
    return frozenset(found)


def _reader_of(constraint: Constraint) -> PositionReader[Any]:
    return DfaReader(constraint) if isinstance(constraint, Dfa) else constraint.reader
