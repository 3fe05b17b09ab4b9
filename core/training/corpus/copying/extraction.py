"""A sentence, and the record of what it says: many keys, orders and shapes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from random import Random
from typing import Any, NamedTuple

from training.corpus.grammar import with_articles

from .composed import composed
from .pair import Pair
from .phrases import phrased
from .slots import SLOTS, Leaf
from .templates import DISTRACTIONS, TEMPLATES
from .wordings import framed
from .words import Words

_SLOT = re.compile(r"\{([a-z]+)\}")
_LAYOUTS = (
    {"separators": (", ", ": ")},
    {"separators": (",", ":")},
    {"indent": 2},
)
_LAYOUT_SHARES = (12, 5, 3)
SEPARATORS = ("", "", "", "", "", "", " ", " ", "\n", "\n", "\n", "\n\n", "\nJSON: ", "\nJSON:\n", "\nRecord: ", " -> ")
"""What may stand between a sentence and its record."""
_REQUESTS = (
    "",
    "",
    "",
    "",
    "",
    "",
    "Write as JSON: ",
    "JSON of: ",
    "Make a record: ",
    "Text: ",
    "Extract: ",
    "Input: ",
)


_LOWER = ("{product}", "{sky}", "{few", "{event}")
"""Slots of words in lower case, which have a capital letter where they open a sentence."""


class Sentence(NamedTuple):
    """A sentence whose slots are filled.

    Attributes:
        text: The sentence.
        values: Slot to value, in the order of the sentence.
    """

    text: str
    values: dict[str, Leaf]


def filled(source: Words, template: str) -> Sentence:
    """Fill the slots of a template."""
    values: dict[str, Leaf] = {}

    def fill(match: re.Match[str]) -> str:
        text, value = SLOTS[match[1]].fill(source)
        values[match[1]] = value
        return text

    text = with_articles(_SLOT.sub(fill, template))
    return Sentence(text[:1].upper() + text[1:] if template.startswith(_LOWER) else text, values)


def keys_of(random: Random, slots: list[str]) -> dict[str, str]:
    """Draw the name of each slot's key; no two are equal."""
    camel = random.random() < 0.1
    found: dict[str, str] = {}
    for slot in slots:
        free = [key for key in SLOTS[slot].keys if key not in found.values()] or [slot]
        found[slot] = random.choice(free)
    return {slot: _camel(key) if camel else key for slot, key in found.items()}


def _camel(key: str) -> str:
    return re.sub(r"_([a-z])", lambda match: match[1].upper(), key)


def chosen_slots(random: Random, values: Mapping[str, Leaf]) -> list[str]:
    """The slots of the record, in their order."""
    slots = list(values)
    if len(slots) > 1 and random.random() < 0.4:
        slots = [slots[place] for place in sorted(random.sample(range(len(slots)), random.randint(1, len(slots) - 1)))]
    if random.random() < 0.4:
        random.shuffle(slots)
    return slots


def written(random: Random, value: Any) -> str:
    """JSON, in one of three layouts."""
    return json.dumps(value, ensure_ascii=False, **random.choices(_LAYOUTS, _LAYOUT_SHARES)[0])


def record_of(sentence: Sentence, keys: Mapping[str, str], *, strings: bool = False) -> dict[str, Leaf]:
    """The record with these keys, by slot; ``strings``: numbers are written as strings."""
    record = {key: sentence.values[slot] for slot, key in keys.items()}
    if strings:
        return {key: value if isinstance(value, bool) else str(value) for key, value in record.items()}
    return record


def extraction(random: Random) -> Pair:
    """A sentence, or some of one kind or of two, and what they say as JSON."""
    source = Words(random)
    draw = random.random()
    template = _template(random)
    if draw < 0.07:
        return _several(source, template)
    sentence = filled(source, template)
    if 0.07 < draw < 0.17:
        sentence = _with_another(source, sentence)
    keys = keys_of(random, chosen_slots(random, sentence.values))
    value: Any = record_of(sentence, keys, strings=random.random() < 0.05)
    shape = random.random()
    if shape < 0.04:
        value = {random.choice(("record", "data", "result", "person", "item")): value}
    elif shape < 0.07:
        value = [value]
    return Pair(
        random.choice(_REQUESTS) + around(random, sentence.text) + random.choice(SEPARATORS), written(random, value)
    )


def _template(random: Random) -> str:
    """A template that was written out, that was put together, or that a grammar wrote; at times inside a frame."""
    draw = random.random()
    if draw < 0.3:
        template = random.choice(TEMPLATES[random.choice(_SUBJECTS)])
    else:
        template = composed(random) if draw < 0.5 else phrased(random)
    if random.random() < 0.5:
        template = template.replace("{count}", "{few}", 1).replace("{stock}", "{few_left}", 1)
    if random.random() < 0.08 and template.startswith(("{", "The ", "Our ")) and template.count(".") == 1:
        clause = template.removesuffix(".")
        return framed(random, clause if clause.startswith("{") else clause[:1].lower() + clause[1:])
    return template


def _with_another(source: Words, sentence: Sentence) -> Sentence:
    """A sentence of another kind behind this one; none of its slots, nor of their keys, are those of this one."""
    other = filled(source, source.random.choice(TEMPLATES[source.random.choice(_SUBJECTS)]))
    keys = {key for slot in sentence.values for key in SLOTS[slot].keys}
    if any(slot in sentence.values or keys.intersection(SLOTS[slot].keys) for slot in other.values):
        return sentence
    joint = source.random.choice((" ", "\n"))
    return Sentence(f"{sentence.text}{joint}{other.text}", sentence.values | other.values)


def around(random: Random, text: str) -> str:
    """The text, one time out of six beside a sentence that has nothing to do with it."""
    draw = random.random()
    if "\n" in text or draw > 1 / 6:
        return text
    other = random.choice(DISTRACTIONS)
    return f"{other} {text}" if draw < 1 / 12 else f"{text} {other}"


def _several(source: Words, template: str) -> Pair:
    random = source.random
    sentences = [filled(source, template) for _ in range(random.randint(2, 3))]
    keys = keys_of(random, chosen_slots(random, sentences[0].values))
    joint = random.choice((" ", "\n", "\n"))
    value = [record_of(sentence, keys) for sentence in sentences]
    return Pair(joint.join(sentence.text for sentence in sentences) + random.choice(SEPARATORS), written(random, value))


_SUBJECTS = ("person", *TEMPLATES, "person", "person", "person", "order", "event")
