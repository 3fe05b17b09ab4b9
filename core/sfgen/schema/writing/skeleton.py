"""The skeletons of rules: what a schema's rules have in them, before they are written as expressions.

Rules without a text are left out where they can be, and explained where they cannot. A rule has a text if a union has a
part with one, and anything else has one in each part that it needs, and as many parts as it must have at least. The
least solution is found by a worklist: what needs itself, as an object with a required property of its own kind, has
none. Rules that say the same become one, by partition refinement from the parts up, as automata are minimised.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from sfgen.errors import SchemaError
from sfgen.grammar.rules import Expression
from sfgen.schema.meaning.conjunction import Conjunction
from sfgen.schema.meaning.groups import Group
from sfgen.schema.meaning.limits import ArrayLimits, ObjectLimits


@dataclass(frozen=True)
class Values:
    """Values that a schema names one by one."""

    values: tuple[Any, ...] = field(compare=False)  # the values, as the schema has them
    text: str

    @classmethod
    def of(cls, values: Iterable[Any]) -> Values:
        """Make the list of distinct values."""
        listed = tuple({repr(value): value for value in values}.values())
        return cls(listed, repr(listed))


@dataclass(frozen=True)
class Union:
    """One of several."""


@dataclass(frozen=True)
class Names:
    """Names that are not declared, written."""

    declared: tuple[str, ...]
    found: tuple[str, ...] = ()
    not_found: tuple[str, ...] = ()
    names: Conjunction = ()  # what they are besides, as strings


Content: TypeAlias = Group | Values | Union | Names
"""What the texts of a rule are."""


class Part(NamedTuple):
    """What a rule has in it."""

    # what it is there: the name of a property, ``[0]`` or ``[]`` for items, for properties with other names ``*`` or
    # the patterns in slashes, empty for a branch of a union
    label: str
    rule: str
    is_needed: bool
    name: str = ""


@dataclass(eq=False)
class Outline:
    """A rule that is not written yet."""

    content: Content
    depth: int
    pointer: str
    parts: list[Part] = field(default_factory=list)
    expression: Expression | None = None  # the texts, where nothing is called
    why_empty: tuple[str, str] | None = None  # why it has no text, if it is known at once: the reason and where it lies

    @property
    def is_union(self) -> bool:
        """Whether one of its parts is enough."""
        return isinstance(self.content, Union)


Outlines: TypeAlias = dict[str, Outline]
"""Rules by name."""


MOST_ROUNDS = 30
"""How deep equal rules may lie in each other to be found."""


def shared(outlines: Outlines, start: str) -> str:
    """Merge the rules that say the same, under the first's name."""
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


def with_texts(outlines: Mapping[str, Outline]) -> set[str]:
    """Name the rules that have a text."""
    callers: dict[str, list[str]] = {}
    missing: dict[str, int] = {}
    counted = set[str]()  # rules that need a number of parts, whichever
    ready: list[str] = []
    for name, outline in outlines.items():
        needed = {part.rule for part in outline.parts if part.is_needed or outline.is_union}
        lacking = _lacking(outline)
        if outline.why_empty is None and lacking:
            for part in outline.parts:
                for rule in (part.rule, part.name):
                    if rule:
                        callers.setdefault(rule, []).append(name)
            counted.add(name)
            missing[name] = 0 if _has_enough(outline, ()) else -1
        elif outline.why_empty is not None:
            missing[name] = -1
        elif not needed:
            missing[name] = -1 if outline.is_union else 0
        else:
            missing[name] = 1 if outline.is_union else len(needed)
            for rule in needed:
                callers.setdefault(rule, []).append(name)
        if missing[name] == 0:
            ready.append(name)
    found = set(ready)
    while ready:
        for caller in callers.get(ready.pop(), ()):
            if caller in counted:
                if caller not in found and _has_enough(outlines[caller], found):
                    found.add(caller)
                    ready.append(caller)
                continue
            missing[caller] -= 1
            if missing[caller] == 0:
                found.add(caller)
                ready.append(caller)
    return found


def _lacking(outline: Outline) -> int:
    """How many parts an object must have besides those that it needs, or sorts of items an array."""
    limits = getattr(outline.content, "limits", None)
    if isinstance(limits, ArrayLimits):
        return len(limits.contains)
    if not isinstance(limits, ObjectLimits):
        return 0
    return max(0, limits.minimum - sum(part.is_needed for part in outline.parts))


def _has_enough(outline: Outline, found: Collection[str]) -> bool:
    """Whether the parts that have texts are all that are needed, and as many as there must be."""
    limits = getattr(outline.content, "limits", None)
    if isinstance(limits, ArrayLimits):
        return _has_items(outline, limits, found)
    written = [part for part in outline.parts if part.rule in found and (not part.name or part.name in found)]
    if not all(part.rule in found for part in outline.parts if part.is_needed):
        return False
    needed = sum(part.is_needed for part in outline.parts)
    return any(part.name for part in written) or len(written) >= needed + _lacking(outline)


def _has_items(outline: Outline, limits: ArrayLimits, found: Collection[str]) -> bool:
    """Whether an array may have as many items as it must, and of each sort that it must contain one."""
    labels = [part.label.partition(" contains ")[::2] for part in outline.parts if part.rule in found]
    places = {place for place, _ in labels}
    order = [f"[{index}]" for index in range(len(limits.prefix))]
    first_missing = next((index for index, place in enumerate(order) if place not in places), len(order))
    open_places = {*order[:first_missing], *(["[]"] if first_missing == len(order) else [])}
    most = None if first_missing == len(order) and "[]" in places else first_missing
    asked = [number for number, one in enumerate(limits.contains) if one.minimum]
    return (most is None or most >= limits.minimum) and all(
        any(place in open_places and str(number) in numbers.split(",") for place, numbers in labels) for number in asked
    )


def without_empty(outlines: Outlines, full: Collection[str]) -> list[str]:
    """Remove the parts without a text from rules that have one."""
    notes = []
    for name in [name for name in outlines if name in full]:
        kept = []
        content = outlines[name].content
        is_object = isinstance(content, Group) and content.type == "object"
        for part in outlines[name].parts:
            if part.rule in full and (not part.name or part.name in full):
                kept.append(part)
            elif is_object and not part.name:
                reason, pointer = _why(outlines, part.rule, full)
                if reason:
                    notes.append(f"The property {part.label!r} is never written: {reason} at {pointer or 'the top'}.")
        outlines[name].parts = kept
    for name in [name for name in outlines if name not in full]:
        del outlines[name]
    return notes


def no_text(outlines: Outlines, start: str, full: Collection[str]) -> SchemaError:
    """Make the error of a schema that has no text."""
    reason, pointer = _why(outlines, start, full)
    return SchemaError(
        reason or "nothing satisfies false",
        pointer,
        hint="Nothing can be written by this schema: change what contradicts itself."
        if reason
        else "Nothing can be written by this schema: change false, or do not require it.",
    )


def _why(outlines: Outlines, name: str, full: Collection[str]) -> tuple[str, str]:
    """The first reason why a rule has no text, and where; without words where the schema says ``false``."""
    passed = []
    while name not in passed:
        passed.append(name)
        outline = outlines[name]
        if outline.why_empty is not None:
            return outline.why_empty
        parts = [part for part in outline.parts if (part.is_needed or outline.is_union) and part.rule not in full]
        if not parts and _lacking(outline):
            if isinstance(getattr(outline.content, "limits", None), ArrayLimits):
                return "no item satisfies contains", outline.pointer
            return "minProperties is above the number of properties that there may be", outline.pointer
        if not parts:
            return "", outline.pointer
        # What is empty by itself says more than what leads back.
        name = next((part.rule for part in parts if outlines[part.rule].why_empty is not None), parts[0].rule)
    circle = passed[passed.index(name) :]
    labels = [
        part.label
        for rule, following in zip(circle, [*circle[1:], name], strict=True)
        for part in outlines[rule].parts
        if part.rule == following and part.label
    ]
    what = "/".join(dict.fromkeys(labels))
    return f"required {what!r} needs another one of its own kind within it, without end", outlines[name].pointer
