"""Notes of keys and values, most of them invented: as a record, or as the answer to what one of them is."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random

from .extraction import SEPARATORS, written
from .pair import Pair
from .slots import Leaf
from .words import Words

_LAYOUTS: tuple[tuple[str, str], ...] = (
    ("{key}: {value}", "\n"),
    ("{key} = {value}", "\n"),
    ("{key}: {value}", ", "),
    ("{key}={value}", " "),
    ("The {key} is {value}.", " "),
    ("Its {key} is {value}.", " "),
    ("{key} is {value}", ", "),
    ("{key} | {value}", "\n"),
    ("- {key}: {value}", "\n"),
    ("We know the {key}: {value}.", " "),
    ("{value} is the {key}.", " "),
    ("{key} -> {value}", "; "),
    ("As {key} we have {value}.", " "),
    ("{value} ({key})", ", "),
    ("The {key} was {value}.", " "),
    ("Write down {value} as {key}.", "\n"),
)
_ASKED = (
    "What is the {key}?",
    "Which {key}?",
    "{key}?",
    "Tell me the {key}.",
    "Q: What is the {key}?\nA:",
    "And the {key}?",
)


def _values(source: Words) -> tuple[Callable[[], Leaf], ...]:
    random = source.random
    return (
        source.word,
        source.word,
        source.name,
        source.city,
        source.noun,
        source.colour,
        source.code,
        lambda: random.randint(0, random.choice((9, 99, 9999))),
        lambda: random.randint(0, random.choice((9, 99, 9999))),
        source.amount,
    )


def notes(source: Words) -> dict[str, Leaf]:
    """Two to five keys and their values."""
    found: dict[str, Leaf] = {}
    for _ in range(source.random.choice((2, 3, 3, 4, 5))):
        key = source.word() if source.random.random() < 0.5 else source.noun().replace(" ", "_")
        found[key] = source.random.choice(_values(source))()
    return found


def as_text(random: Random, found: dict[str, Leaf]) -> str:
    """The notes as lines, as sentences, or as a table of two lines."""
    if random.random() < 0.15:
        comma = random.choice((",", ";", "\t", " | "))
        return f"{comma.join(found)}\n{comma.join(map(str, found.values()))}"
    layout, joint = random.choice(_LAYOUTS)
    return joint.join(layout.format(key=key, value=value) for key, value in found.items())


def note_record(random: Random) -> Pair:
    """Notes, and some of them as a record; sometimes the notes are a record themselves."""
    found = notes(Words(random))
    text = json.dumps(found, ensure_ascii=False) if random.random() < 0.1 else as_text(random, found)
    keys = list(found)
    if random.random() < 0.5:
        keys = random.sample(keys, random.randint(1, len(keys)))
    return Pair(text + random.choice(SEPARATORS), written(random, {key: found[key] for key in keys}))


def note_answer(random: Random) -> Pair:
    """Notes, a question about one of them, its value."""
    found = notes(Words(random))
    key = random.choice(list(found))
    asked = random.choice(_ASKED).format(key=key)
    prompt = as_text(random, found) + random.choice(("\n", "\n", " ", "\n\n")) + asked
    return Pair(prompt + random.choice((" ", " ", "\n")), f"{found[key]}")
