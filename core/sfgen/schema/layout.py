"""The white space between the parts of arrays and objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sfgen.grammar.rules import EMPTY, Concatenation, Expression, Literal, Repeat
from sfgen.schema.options import WritingOptions

BLANK = Repeat(Literal(b" "), 0, 1)
"""A blank or none."""


class Layout:
    """What stands between the parts of a value, by the depth at which it begins.

    Args:
        options: The spacing and the indent.
    """

    def __init__(self, options: WritingOptions) -> None:
        self.indent = options.indent
        self.is_open = options.spacing == "any"
        """Whether each blank may be left out, so that what is written is not fixed."""
        self._blank = b" " if options.spacing == "spaced" else b""
        self.colon = self._spaced(b":")
        """What stands behind a name."""

    def depth_below(self, depth: int) -> int:
        """The depth of what is inside; it matters only where lines are indented."""
        return 0 if self.indent is None else depth + 1

    def comma(self, depth: int) -> Expression:
        """What stands between two parts of a value."""
        return self._spaced(b",") if self.indent is None else Literal(self.comma_bytes(depth))

    def comma_bytes(self, depth: int) -> bytes:
        """What stands between two parts, a blank that is open left out."""
        return b"," + (self._blank if self.indent is None else self._line(depth + 1))

    def opening(self, bracket: bytes, depth: int) -> bytes:
        """A bracket and what stands before the first part."""
        return bracket + self._line(depth + 1)

    def closing(self, bracket: bytes, depth: int) -> bytes:
        """What stands behind the last part, and a bracket."""
        return self._line(depth) + bracket

    def name(self, written: bytes) -> Expression:
        """A name that is known, and what stands behind it."""
        if isinstance(self.colon, Literal):
            return Literal(written + self.colon.data)
        return Concatenation((Literal(written), self.colon))

    def _spaced(self, mark: bytes) -> Expression:
        return Concatenation((Literal(mark), BLANK)) if self.is_open else Literal(mark + self._blank)

    def _line(self, depth: int) -> bytes:
        return b"" if self.indent is None else b"\n" + b" " * (self.indent * depth)


def joined(*parts: Expression) -> Expression:
    """The parts one after the other; literals that stand side by side become one."""
    found: list[Expression] = []
    for part in _flat(parts):
        if isinstance(part, Literal) and found and isinstance(found[-1], Literal):
            found[-1] = Literal(found[-1].data + part.data)
        elif part != EMPTY:
            found.append(part)
    return found[0] if len(found) == 1 else Concatenation(tuple(found))


def _flat(parts: Iterable[Expression]) -> Iterator[Expression]:
    for part in parts:
        if isinstance(part, Concatenation):
            yield from part.parts
        else:
            yield part
