"""What a person should know of a schema: each thing once, with the keywords and the places that it is about."""

from __future__ import annotations

from collections.abc import Iterable

_MOST_NAMED = 5  # of keywords or places that one line lists


class Notes:
    """Collects what is to be said.

    >>> notes = Notes()
    >>> for pointer in ("", "/items", "/not"):
    ...     notes.add("not a keyword, ignored", "titel", pointer)
    >>> notes.lines()
    ('not a keyword, ignored: "titel", at the top, /items, /not',)
    """

    def __init__(self) -> None:
        self._found: dict[str, tuple[dict[str, None], dict[str, None]]] = {}

    def say(self, said: str) -> None:
        """Say something of the whole."""
        self._found.setdefault(said, ({}, {}))

    def add(self, said: str, keyword: str, pointer: str) -> None:
        """Say something of a keyword in the schema at a pointer.

        Args:
            said: What a person should know.
            keyword: The keyword that it is about.
            pointer: Where the schema stands.
        """
        keywords, places = self._found.setdefault(said, ({}, {}))
        keywords[f'"{keyword[:40]}"'] = None
        places[pointer or "the top"] = None

    def lines(self) -> tuple[str, ...]:
        """Write a line for each thing that was said."""
        return tuple(
            f"{said}: {_listed(keywords)}, at {_listed(places)}" if keywords else said
            for said, (keywords, places) in self._found.items()
        )


def _listed(words: Iterable[str]) -> str:
    """The first few of some words, and how many more there are."""
    first = list(words)
    more = f" and {len(first) - _MOST_NAMED} more" if len(first) > _MOST_NAMED else ""
    return ", ".join(first[:_MOST_NAMED]) + more
