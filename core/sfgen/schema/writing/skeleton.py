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
from sfgen.grammar.network.rules import Expression
from sfgen.schema.meaning.conjunction import Conjunction
from sfgen.schema.meaning.groups import Group
from sfgen.schema.meaning.limits import ArrayLimits, ObjectLimits

MOST_ROUNDS = 30
"""How deep equal rules may lie in each other to be found."""


@dataclass(frozen=True)
class Values:
    """Values that a schema names one by one."""

    values: tuple[Any, ...] = field(compare=False)  # the values, as the schema has them
    text: str  # what equal ones have in common

    @classmethod
    def of(cls, values: Iterable[Any]) -> Values:
        """Make the list of distinct values."""
        listed = tuple({repr(value): value for value in values}.values())
        return cls(listed, repr(listed))


@dataclass(frozen=True)
class Union:
    """A choice between other rules."""


@dataclass(frozen=True)
class Names:
    """Property names that are not declared."""

    declared: tuple[str, ...]  # the names that they are not
    found: tuple[str, ...] = ()  # patterns that are found in them
    not_found: tuple[str, ...] = ()  # patterns that are not
    names: Conjunction = ()  # what they are besides, as strings


Content: TypeAlias = Group | Values | Union | Names
"""What the texts of a rule are."""


class RulePart(NamedTuple):
    """A member, an item or a branch in a rule."""

    # What it is there: the name of a property, ``[0]`` or ``[]`` for items, for properties with other names ``*`` or
    # the patterns in slashes, empty for a branch of a union.
    label: str
    rule: str
    is_needed: bool  # whether no text of the rule is without it
    name: str = ""  # the rule of the names, for properties with other names
    hits: tuple[int, ...] = ()  # which wanted members of the object it is


@dataclass(eq=False)
class Skeleton:
    """A rule that is not written as an expression yet."""

    content: Content
    depth: int  # at which its texts begin
    pointer: str  # where in the schema it comes from
    parts: list[RulePart] = field(default_factory=list)
    expression: Expression | None = None  # the texts, where nothing is called
    why_empty: tuple[str, str] | None = None  # why it has no text, if it is known at once: the reason and where it lies

    @property
    def is_union(self) -> bool:
        """Whether one of its parts is enough."""
        return isinstance(self.content, Union)


Skeletons: TypeAlias = dict[str, Skeleton]
"""Rules by name."""


# ---- rules without a text --------------------------------------------------------------------------------------------


def with_texts(skeletons: Mapping[str, Skeleton]) -> set[str]:
    """Name the rules that have a text."""
    callers: dict[str, list[str]] = {}
    missing: dict[str, int] = {}
    counted = set[str]()  # rules that need a number of parts, whichever
    ready: list[str] = []
    for name, skeleton in skeletons.items():
        needed = {part.rule for part in skeleton.parts if part.is_needed or skeleton.is_union}
        if skeleton.why_empty is None and (_lacking(skeleton) or _wanted(skeleton)):
            for part in skeleton.parts:
                for rule in (part.rule, part.name):
                    if rule:
                        callers.setdefault(rule, []).append(name)
            counted.add(name)
            missing[name] = 0 if _has_enough(skeleton, ()) else -1
        elif skeleton.why_empty is not None:
            missing[name] = -1
        elif not needed:
            missing[name] = -1 if skeleton.is_union else 0
        else:
            missing[name] = 1 if skeleton.is_union else len(needed)
            for rule in needed:
                callers.setdefault(rule, []).append(name)
        if missing[name] == 0:
            ready.append(name)
    found = set(ready)
    while ready:
        for caller in callers.get(ready.pop(), ()):
            if caller in counted:
                if caller not in found and _has_enough(skeletons[caller], found):
                    found.add(caller)
                    ready.append(caller)
                continue
            missing[caller] -= 1
            if missing[caller] == 0:
                found.add(caller)
                ready.append(caller)
    return found


def _lacking(skeleton: Skeleton) -> int:
    """Count the parts that an object lacks besides those it needs, or the sorts of items of an array."""
    limits = getattr(skeleton.content, "limits", None)
    if isinstance(limits, ArrayLimits):
        return len(limits.contains)
    if not isinstance(limits, ObjectLimits):
        return 0
    return max(0, limits.minimum - sum(part.is_needed for part in skeleton.parts))


def _wanted(skeleton: Skeleton) -> range:
    """Number the members that an object must have by what they are."""
    limits = getattr(skeleton.content, "limits", None)
    return range(len(limits.wanted) if isinstance(limits, ObjectLimits) else 0)


def _has_enough(skeleton: Skeleton, found: Collection[str]) -> bool:
    """Tell whether the parts that have texts are all that are needed, and as many as there must be."""
    limits = getattr(skeleton.content, "limits", None)
    if isinstance(limits, ArrayLimits):
        return _has_items(skeleton, limits, found)
    written = [part for part in skeleton.parts if part.rule in found and (not part.name or part.name in found)]
    if not all(part.rule in found for part in skeleton.parts if part.is_needed):
        return False
    if not all(any(number in part.hits for part in written) for number in _wanted(skeleton)):
        return False
    written = [part for part in written if part.name or not part.hits]
    needed = sum(part.is_needed for part in skeleton.parts)
    return any(part.name for part in written) or len(written) >= needed + _lacking(skeleton)


def _has_items(skeleton: Skeleton, limits: ArrayLimits, found: Collection[str]) -> bool:
    """Tell whether an array can have enough items, and one of each sort that it must contain."""
    labels = [part.label.partition(" contains ")[::2] for part in skeleton.parts if part.rule in found]
    places = {place for place, _ in labels}
    order = [f"[{index}]" for index in range(len(limits.prefix))]
    first_missing = next((index for index, place in enumerate(order) if place not in places), len(order))
    open_places = {*order[:first_missing], *(["[]"] if first_missing == len(order) else [])}
    most = None if first_missing == len(order) and "[]" in places else first_missing
    asked = [number for number, one in enumerate(limits.contains) if one.minimum]
    return (most is None or most >= limits.minimum) and all(
        any(place in open_places and str(number) in numbers.split(",") for place, numbers in labels) for number in asked
    )


def without_empty(skeletons: Skeletons, full: Collection[str]) -> list[str]:
    """Remove the parts without a text from rules that have one."""
    notes = []
    for name in [name for name in skeletons if name in full]:
        kept = []
        content = skeletons[name].content
        is_object = isinstance(content, Group) and content.type == "object"
        for part in skeletons[name].parts:
            if part.rule in full and (not part.name or part.name in full):
                kept.append(part)
            elif is_object and not part.name and not part.hits:
                reason, pointer = _why(skeletons, part.rule, full)
                if reason:
                    notes.append(f"The property {part.label!r} is never written: {reason} at {pointer or 'the top'}.")
        skeletons[name].parts = kept
    for name in [name for name in skeletons if name not in full]:
        del skeletons[name]
    return notes


def no_text(skeletons: Skeletons, start: str, full: Collection[str]) -> SchemaError:
    """Make the error of a schema that has no text."""
    reason, pointer = _why(skeletons, start, full)
    return SchemaError(
        reason or "nothing satisfies false",
        pointer,
        hint="Nothing can be written by this schema: change what contradicts itself."
        if reason
        else "Nothing can be written by this schema: change false, or do not require it.",
    )


def _why(skeletons: Skeletons, name: str, full: Collection[str]) -> tuple[str, str]:
    """Find the first reason why a rule has no text, and its place; ``false`` needs no words."""
    passed = []
    while name not in passed:
        passed.append(name)
        skeleton = skeletons[name]
        if skeleton.why_empty is not None:
            return skeleton.why_empty
        parts = [part for part in skeleton.parts if (part.is_needed or skeleton.is_union) and part.rule not in full]
        if not parts and _lacking(skeleton):
            if isinstance(getattr(skeleton.content, "limits", None), ArrayLimits):
                return "no item satisfies contains", skeleton.pointer
            return "minProperties is above the number of properties that there may be", skeleton.pointer
        if not parts and _wanted(skeleton):
            return "no property is what not says that one must be", skeleton.pointer
        if not parts:
            return "", skeleton.pointer
        # A part that is empty by itself says more than one that leads back.
        name = next((part.rule for part in parts if skeletons[part.rule].why_empty is not None), parts[0].rule)
    circle = passed[passed.index(name) :]
    labels = [
        part.label
        for rule, following in zip(circle, [*circle[1:], name], strict=True)
        for part in skeletons[rule].parts
        if part.rule == following and part.label
    ]
    what = "/".join(dict.fromkeys(labels))
    return f"required {what!r} needs another one of its own kind within it, without end", skeletons[name].pointer


# ---- rules that say the same -----------------------------------------------------------------------------------------


def shared(skeletons: Skeletons, start: str) -> str:
    """Merge the rules that say the same, under the first's name."""
    for _ in range(MOST_ROUNDS):
        first: dict[Hashable, str] = {}
        renamed: dict[str, str] = {}
        for name, skeleton in skeletons.items():
            same = first.setdefault(_signature(skeleton), name)
            if same != name:
                renamed[name] = same
        if not renamed:
            return start
        start = renamed.get(start, start)
        for name in renamed:
            del skeletons[name]
        for skeleton in skeletons.values():
            if any(part.rule in renamed for part in skeleton.parts):
                skeleton.parts = [part._replace(rule=renamed.get(part.rule, part.rule)) for part in skeleton.parts]
    return start


def _signature(skeleton: Skeleton) -> Hashable:
    """Return what a rule says, the names of its parts included."""
    return (_without_places(skeleton.content), skeleton.depth, tuple(skeleton.parts))


def _without_places(content: Content) -> Hashable:
    """Return what a rule says by itself, wherever in the schema its parts stand."""
    limits = getattr(content, "limits", content)
    if isinstance(limits, ArrayLimits):
        counts = tuple((one.minimum, one.maximum) for one in limits.contains)
        some = (limits.minimum, limits.maximum, counts, limits.are_unique)
        return ("array", len(limits.prefix), limits.rest is None, *some)
    if isinstance(limits, ObjectLimits):
        return ("object", limits.minimum, limits.maximum, len(limits.wanted))
    return content
