"""What may stand in a place, in plain words: ``an integer from 0 to 150``."""

from __future__ import annotations

from sfgen.schema.arrays import ArrayLimits
from sfgen.schema.bounds import shown as number
from sfgen.schema.groups import Group
from sfgen.schema.numbers import NumberLimits
from sfgen.schema.outline import Names, Outline, Outlines, Union, Values
from sfgen.schema.strings import StringLimits
from sfgen.schema.words import TYPE_WORDS, alternatives, shown

_MOST_NAMES = 6  # of properties that are named


def described(outlines: Outlines) -> dict[str, str]:
    """Describe in plain words what each rule writes."""
    return {name: _words(outline, outlines) for name, outline in outlines.items()}


def _words(outline: Outline, outlines: Outlines, depth: int = 0) -> str:
    match outline.content:
        case Values(values):
            return f"one of {alternatives(map(shown, values))}" if len(values) > 1 else shown(values[0])
        case Names(declared, found, not_found):
            words = [f"a name like {' and '.join(f'/{pattern}/' for pattern in found)}" if found else "a name"]
            words += [f"other than {alternatives(map(shown, declared))}"] if declared and not found else []
            words += [f"not like {' or '.join(f'/{pattern}/' for pattern in not_found)}"] if not_found else []
            return ", ".join(words) if len(words) > 2 else " ".join(words)
        case Union():
            if depth or len(outline.parts) == 0:
                return "one of several"
            branches = [_words(outlines[part.rule], outlines, 1) for part in outline.parts]
            return "any value" if len(set(branches)) == len(TYPE_WORDS) - 1 else alternatives(branches)
        case Group(limits=NumberLimits() as limits):
            return _number(limits)
        case Group(limits=StringLimits() as limits):
            return _string(limits)
        case Group(limits=ArrayLimits() as limits):
            return "an array" + _range(limits.minimum, limits.maximum, "items")
        case Group("object"):
            names = [part.label for part in outline.parts if not part.name]
            more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
            return f"an object with {', '.join(names[:_MOST_NAMES])}{more}" if names else "an object"
        case Group(kind):
            return TYPE_WORDS[kind]


def _number(limits: NumberLimits) -> str:
    low, high = limits.minimum, limits.maximum
    words = [TYPE_WORDS["integer" if limits.is_integer else "number"]]
    if low is not None and high is not None:
        words.append(f"from {number(low)} to {number(high)}")
    else:
        words += [] if low is None else [f"of at least {number(low)}"]
        words += [] if high is None else [f"of at most {number(high)}"]
    words += [] if limits.exclusive_minimum is None else [f"above {number(limits.exclusive_minimum)}"]
    words += [] if limits.exclusive_maximum is None else [f"below {number(limits.exclusive_maximum)}"]
    words += [f"that is a multiple of {number(multiple)}" for multiple in limits.multiples]
    return " ".join(words)


def _string(limits: StringLimits) -> str:
    words = "a string" + _range(limits.minimum, limits.maximum, "characters")
    kinds = [*limits.formats, *(f"pattern {pattern}" for pattern in limits.patterns)]
    kinds += ["quoted from a document"] if limits.quoted else []
    return f"{words} ({', '.join(kinds)})" if kinds else words


def _range(minimum: int, maximum: int | None, of: str) -> str:
    if maximum is None:
        return f" of at least {minimum} {of}" if minimum else ""
    if minimum == maximum:
        return f" of {minimum} {of}"
    return f" of {minimum} to {maximum} {of}" if minimum else f" of at most {maximum} {of}"
