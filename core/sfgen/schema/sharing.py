"""Rules that say the same become one: by partition refinement from the parts up, as in the minimisation of automata."""

from __future__ import annotations

from collections.abc import Hashable

from sfgen.schema.arrays import ArrayLimits
from sfgen.schema.objects import ObjectLimits
from sfgen.schema.outline import Content, Outline, Outlines

MOST_ROUNDS = 30
"""How deep equal rules may lie in each other to be found."""


def shared(outlines: Outlines, start: str) -> str:
    """Merge the rules that say the same, under the first's name.

    Args:
        outlines: The rules; only one of equal ones is left, and what had the others in it has this one.
        start: The rule of the whole.

    Returns:
        The name of the rule of the whole.
    """
    for _ in range(MOST_ROUNDS):
        first: dict[Hashable, str] = {}
        renamed: dict[str, str] = {}
        for name, outline in outlines.items():
            same = first.setdefault(_signature(outline), name)
            if same != name:
                renamed[name] = same
        if not renamed:
            return start
        start = renamed.get(start, start)
        for name in renamed:
            del outlines[name]
        for outline in outlines.values():
            if any(part.rule in renamed for part in outline.parts):
                outline.parts = [part._replace(rule=renamed.get(part.rule, part.rule)) for part in outline.parts]
    return start


def _signature(outline: Outline) -> Hashable:
    """What a rule says, the names of its parts included."""
    return (_without_places(outline.content), outline.depth, tuple(outline.parts))


def _without_places(content: Content) -> Hashable:
    """What a rule says by itself, wherever in the schema its parts stand."""
    limits = getattr(content, "limits", content)
    if isinstance(limits, ArrayLimits):
        counts = tuple((one.minimum, one.maximum) for one in limits.contains)
        some = (limits.minimum, limits.maximum, counts, limits.are_unique)
        return ("array", len(limits.prefix), limits.rest is None, *some)
    if isinstance(limits, ObjectLimits):
        return ("object", limits.minimum, limits.maximum)
    return content
