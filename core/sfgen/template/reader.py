"""Read a text of a template without tokens, and tell which hole is open.

It follows all ways to divide a text (``sfgen.index.threads``), and so is the plain definition of a template's texts; if
all holes are regular, an automaton of the whole gives the same answers faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sfgen.automata import Dfa
from sfgen.index.guide import Teller
from sfgen.index.readers import DfaReader
from sfgen.index.sequence_parts import AnyPart, Copy, Ending, Fixed, ReadText
from sfgen.index.threads import Position, Thread, Threads
from sfgen.schema.json_schema import JsonSchema
from sfgen.template.parts import Copied, Filled, Literal, MadePart

BETWEEN = "the template's text"
"""The description of a position without an open hole."""


class TemplateReader(Threads, Teller[Position]):
    """Reads the parts of a template, and tells which hole is open. It can be shared between threads.

    After the last part there is an empty one: there a text is complete.

    >>> from sfgen.template.syntax import Hole
    >>> hole = Filled(Hole("a", "regex", "", 0, 0), Dfa.from_regex("x*"))
    >>> reader = TemplateReader([Literal(b"<"), hole, Literal(b">")])
    >>> reader.reads(b"<xx>"), reader.divided(b"<xx>")[1][1:]
    (True, (1, 3))
    """

    def __init__(self, parts: Sequence[MadePart]) -> None:
        self._made = (*parts, None)
        self._texts: dict[tuple[int, Ending], ReadText] = {}  # blocks repeat holes, so texts are shared
        super().__init__([*(self._part_of(part) for part in parts), ReadText(DfaReader(Dfa.from_choices([""])))])

    def _part_of(self, part: MadePart) -> AnyPart:
        if isinstance(part, Literal):
            return Fixed(part.data)
        if isinstance(part, Copied):
            return Copy(part.source - len(self._made))
        constraint, key = part.constraint, (id(part.constraint), part.read_to)
        if key not in self._texts:
            dfa = constraint if isinstance(constraint, Dfa) else None
            reader = DfaReader(constraint) if isinstance(constraint, Dfa) else constraint.reader
            self._texts[key] = ReadText(reader, part.read_to, dfa=dfa)
        return self._texts[key]

    def rest(self, thread: Thread) -> bytes | None:
        """Return the rest of the literal or copy that a thread reads; ``None`` if it reads neither."""
        return thread.inside if isinstance(self.parts[thread.part], Fixed) else None

    def hole(self, position: Position) -> Filled | None:
        """Return the hole that is open; of several, the first.

        ``None`` in the template's literal text.
        """
        part = self._made[position[0].part]
        return part if isinstance(part, Filled) else None

    def schema_hole(self, position: Position) -> int | None:
        """Return a number for the part that is open, if it is a hole with a schema; of several, the first."""
        hole = self.hole(position)
        return position[0].part if hole is not None and isinstance(hole.constraint, JsonSchema) else None

    # ---- as a teller -----------------------------------------------------------------------------------------------

    def describe(self, reading: Position, position: Any) -> str:
        """Name the hole that is open, and which repetition; of several, the first."""
        hole = self.hole(reading)
        if hole is None:
            return BETWEEN
        if not hole.name:
            return f"part {len(self._made) + reading[0].part + 1}"
        return hole.name if hole.repetition is None else f"{hole.name} {hole.repetition + 1}"

    def temperature(self, reading: Position) -> float | None:
        """Return the temperature of the open hole; ``None``: that of the generation."""
        hole = self.hole(reading)
        return None if hole is None else hole.hole.temperature
