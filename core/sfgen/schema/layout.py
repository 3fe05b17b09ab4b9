"""The white space between the parts of arrays and objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sfgen.grammar.rules import EMPTY, Concatenation, Expression, Literal, Repeat
from sfgen.schema.options import WritingOptions

BLANK = Repeat(Literal(b" "), 0, 1)
"""A blank or none."""


class Layout:
    """The white space between the parts of a value, by depth.

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
        """Return the depth of what is inside.

        It matters only where lines are indented.
        """
        return 0 if self.indent is None else depth + 1

    def comma(self, depth: int) -> Expression:
        """Make the expression between two parts of a value."""
        return self._spaced(b",") if self.indent is None else Literal(self.comma_bytes(depth))

    def comma_bytes(self, depth: int) -> bytes:
        """Write what stands between two parts, without an optional blank."""
        return b"," + (self._blank if self.indent is None else self._line(depth + 1))

    def opening(self, bracket: bytes, depth: int) -> bytes:
        """Write a bracket and what stands before the first part.

        Args:
            bracket: ``[`` or ``{``.
            depth: The depth at which the value begins.
        """
        return bracket + self._line(depth + 1)

    def closing(self, bracket: bytes, depth: int) -> bytes:
        """Write what stands behind the last part, and a bracket.

        Args:
            bracket: ``]`` or ``}``.
            depth: The depth at which the value begins.
        """
        return self._line(depth) + bracket

    def name(self, written: bytes) -> Expression:
        """Make the expression of a known name and its colon."""
        if isinstance(self.colon, Literal):
            return Literal(written + self.colon.data)
        return Concatenation((Literal(written), self.colon))

    def _spaced(self, mark: bytes) -> Expression:
        return Concatenation((Literal(mark), BLANK)) if self.is_open else Literal(mark + self._blank)

    def _line(self, depth: int) -> bytes:
        return b"" if self.indent is None else b"\n" + b" " * (self.indent * depth)


def joined(*parts: Expression) -> Expression:
    """Concatenate expressions; neighbouring literals become one."""
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
