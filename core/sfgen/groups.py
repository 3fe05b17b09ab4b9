"""Named parts of a finished text: the groups of a pattern, the holes of a template."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from sfgen.number_ranges import Count

Part = TypeVar("Part")

Texts: TypeAlias = Mapping[str, str | list[str | None] | None]
"""The text of each group by name; ``None`` for one that took no part, a list where it stands in a repeated block."""

Span: TypeAlias = tuple[int, int]
"""The first character of a part of a text, and the one behind its last."""

Spans: TypeAlias = Mapping[str, Span | list[Span | None] | None]
"""The span of each group by name, as ``Texts``."""


@dataclass(frozen=True, slots=True)
class Group:
    """A named part of a text.

    Attributes:
        name: Its name.
        start: Its first character, counted from the start of the text; ``None`` if it took no part.
        end: The character after its last one; ``None`` if it took no part.
        is_repeated: Whether it stands in a repeated block: there is one for each repetition, in order.
    """

    name: str
    start: Count | None
    end: Count | None
    is_repeated: bool = False

    @property
    def span(self) -> Span | None:
        """Its first character and the one after its last.

        ``None`` if it took no part.
        """
        return None if self.start is None or self.end is None else (self.start, self.end)

    def of(self, text: str) -> str | None:
        """Return its part of the whole text; ``None`` if it took none."""
        return None if self.span is None else text[slice(*self.span)]


def texts_by_name(groups: Sequence[Group], text: str) -> Texts:
    """Return the texts of groups by name.

    >>> texts_by_name([Group("name", 0, 3), Group("age", None, None)], "Ada is old")
    {'name': 'Ada', 'age': None}
    >>> texts_by_name([Group("digit", 0, 1, True), Group("digit", 1, 2, True)], "42")
    {'digit': ['4', '2']}
    """
    return _by_name((group, group.of(text)) for group in groups)


def spans_by_name(groups: Sequence[Group]) -> Spans:
    """Return the positions of groups by name, in characters.

    >>> spans_by_name([Group("name", 0, 3), Group("age", None, None)])
    {'name': (0, 3), 'age': None}
    """
    return _by_name((group, group.span) for group in groups)


def _by_name(parts: Iterable[tuple[Group, Part | None]]) -> dict[str, Part | list[Part | None] | None]:
    by_name: dict[str, Part | list[Part | None] | None] = {}
    for group, part in parts:
        before = by_name.get(group.name)
        by_name[group.name] = [*(before if isinstance(before, list) else []), part] if group.is_repeated else part
    return by_name
