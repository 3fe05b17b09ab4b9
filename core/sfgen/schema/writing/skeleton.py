"""The skeletons of rules: their content and parts, before they are written as expressions.

Rules without a text are removed if they are optional; else an error explains why there is no text. A union has a text
if one of its parts has one. Any other rule has a text if each required part has one, and if enough parts have one. A
worklist finds the least fixed point: a rule that requires itself, such as an object with a required property of its own
kind, has no text. Equal rules are merged by partition refinement from the parts up, as in the minimisation of automata.
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
"""The most rounds of merging equal rules; a round merges one level of nesting."""


@dataclass(frozen=True)
class Values:
    """The values of ``enum`` and ``const``."""

    values: tuple[Any, ...] = field(compare=False)  # the values, as the schema has them
    text: str  # their ``repr``, by which lists of values are compared

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

    declared: tuple[str, ...]  # the declared names, which are excluded
    found: tuple[str, ...] = ()  # patterns that match them
    not_found: tuple[str, ...] = ()  # patterns that do not match them
    names: Conjunction = ()  # further schemas of the names, as strings


Content: TypeAlias = Group | Values | Union | Names
"""The kinds of content of a rule."""


class RulePart(NamedTuple):
    """A part of a rule: a member, an item or a branch of a union."""

    # The role of the part: the name of a property, ``[0]`` or ``[]`` for items, ``*`` or the patterns in slashes for
    # undeclared properties, empty for a branch of a union.
    label: str
    rule: str  # the rule of the value
    is_needed: bool  # whether every text of the rule has this part
    name: str = ""  # the rule of the names, for undeclared properties
    hits: tuple[int, ...] = ()  # the numbers of the wanted members of the object that it is


@dataclass(eq=False)
class Skeleton:
    """A rule before it is written as an expression."""

    content: Content
    depth: int  # the depth of its texts in the document
    pointer: str  # the pointer of its schema
    parts: list[RulePart] = field(default_factory=list)
    expression: Expression | None = None  # the texts of a rule that calls no others
    why_empty: tuple[str, str] | None = None  # a reason why it has no text, whatever its parts are, and its pointer

    @property
    def is_union(self) -> bool:
        """Whether a text needs only one of the parts."""
        return isinstance(self.content, Union)


Skeletons: TypeAlias = dict[str, Skeleton]
"""Rules by name."""


# ---- rules without a text --------------------------------------------------------------------------------------------


def with_texts(skeletons: Mapping[str, Skeleton]) -> set[str]:
    """Find the rules that have a text."""
    callers: dict[str, list[str]] = {}
    missing: dict[str, int] = {}
    counted = set[str]()  # rules that need a number of parts, whichever these are
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
    """Count the optional parts that an object needs for ``minProperties``, or the ``contains`` of an array."""
    limits = getattr(skeleton.content, "limits", None)
    if isinstance(limits, ArrayLimits):
        return len(limits.contains)
    if not isinstance(limits, ObjectLimits):
        return 0
    return max(0, limits.minimum - sum(part.is_needed for part in skeleton.parts))


def _wanted(skeleton: Skeleton) -> range:
    """Return the numbers of an object's wanted members."""
    limits = getattr(skeleton.content, "limits", None)
    return range(len(limits.wanted) if isinstance(limits, ObjectLimits) else 0)


def _has_enough(skeleton: Skeleton, found: Collection[str]) -> bool:
    """Return whether all required parts, and enough others, are among the rules with a text."""
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
    """Return whether an array can have enough items, and an item for each ``contains``."""
    labels = [part.label.partition(" contains ")[::2] for part in skeleton.parts if part.rule in found]
    places = {place for place, _ in labels}
    order = [f"[{index}]" for index in range(len(limits.prefix))]
    first_missing = next((index for index, place in enumerate(order) if place not in places), len(order))
    open_places = {*order[:first_missing], *(["[]"] if first_missing == len(order) else [])}
    most = None if first_missing == len(order) and "[]" in places else first_missing
    required = [number for number, one in enumerate(limits.contains) if one.minimum]
    return (most is None or most >= limits.minimum) and all(
        any(place in open_places and str(number) in numbers.split(",") for place, numbers in labels)
        for number in required
    )


def remove_empty(skeletons: Skeletons, full: Collection[str]) -> list[str]:
    """Remove rules and parts without a text; return notes about the properties among them."""
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


def no_text_error(skeletons: Skeletons, start: str, full: Collection[str]) -> SchemaError:
    """Make the error of a schema without a text."""
    reason, pointer = _why(skeletons, start, full)
    return SchemaError(
        reason or "nothing satisfies false",
        pointer,
        hint="No text satisfies this schema: change one of the keywords that contradict each other."
        if reason
        else "No text satisfies this schema: change false, or do not require it.",
    )


def _why(skeletons: Skeletons, name: str, full: Collection[str]) -> tuple[str, str]:
    """Find the first reason why a rule has no text, and its pointer; the reason is empty for ``false``."""
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
            return "minProperties is above the number of properties that are allowed", skeleton.pointer
        if not parts and _wanted(skeleton):
            return "not requires a property that cannot exist", skeleton.pointer
        if not parts:
            return "", skeleton.pointer
        # The reason of a part that is empty by itself is more useful than a cycle.
        name = next((part.rule for part in parts if skeletons[part.rule].why_empty is not None), parts[0].rule)
    circle = passed[passed.index(name) :]
    labels = [
        part.label
        for rule, following in zip(circle, [*circle[1:], name], strict=True)
        for part in skeletons[rule].parts
        if part.rule == following and part.label
    ]
    what = "/".join(dict.fromkeys(labels))
    return f"required {what!r} must contain another one of its own kind, without end", skeletons[name].pointer


# ---- equal rules -----------------------------------------------------------------------------------------------------


def merge_equal(skeletons: Skeletons, start: str) -> str:
    """Merge equal rules under the name of the first; return the name of the start."""
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
    """Return a key that equal rules share: the content, the depth and the parts."""
    return (_without_places(skeleton.content), skeleton.depth, tuple(skeleton.parts))


def _without_places(content: Content) -> Hashable:
    """Return a rule's own content, without the subschemas of its parts."""
    limits = getattr(content, "limits", content)
    if isinstance(limits, ArrayLimits):
        counts = tuple((one.minimum, one.maximum) for one in limits.contains)
        some = (limits.minimum, limits.maximum, counts, limits.are_unique)
        return ("array", len(limits.prefix), limits.rest is None, *some)
    if isinstance(limits, ObjectLimits):
        return ("object", limits.minimum, limits.maximum, len(limits.wanted))
    return content
