"""JSON lists of songs by invented bands: title, album, year and the best place in two charts."""

from __future__ import annotations

import json
from random import Random

from .grammar import Grammar
from .lexicon import RULES

_RULES: dict[str, tuple[str, ...]] = {
    "band": (
        "The <Quality> <Animal>s",
        "The <Colour> <Thing>s",
        "<Colour> <Animal>",
        "<Quality> <Place>",
        "<Name> and the <Animal>s",
        "<City> <Weekday>",
        "<Name> <Surname>",
    ),
    "animal": ("Fox", "Owl", "Bear", "Crow", "Bird", "Swan", "Frog", "Horse", "Duck", "Rabbit"),
    "thing": ("Lantern", "Ladder", "Mirror", "Candle", "Stone", "Ring", "Umbrella", "Window", "Letter"),
    "title": (
        "<Quality> <Night>",
        "<Colour> <Thing>",
        "<Night> in <City>",
        "<Night> on <Weekday>",
        "Letter to <Name>",
        "Goodbye <Name>",
        "Dance with <Name>",
        "Waiting for the <Night>",
        "Talk to the <Night>",
        "Under the <Colour> <Night>",
        "My <Quality> <Animal>",
        "<Number> <Colour> <Thing>s",
        "Where the <Night> Goes",
        "Listen to the <Animal>",
        "One More <Night>",
        "<City>",
    ),
    "night": (
        "Night",
        "Morning",
        "Rain",
        "River",
        "Summer",
        "Winter",
        "Road",
        "Moon",
        "Ocean",
        "Train",
        "Wind",
        "Fire",
    ),
    "album": (
        "The <Colour> <Thing>",
        "Songs from <City>",
        "<Quality> <Night>s",
        "A(n) <Night> in <Month>",
        "<Name>",
        "Back to the <Night>",
        "<Night> and <Other>",
        "No More <Thing>s",
    ),
    "other": ("Stone", "Smoke", "Silence", "Dust", "Gold", "Snow"),
    "introduction": (
        "What were the most popular singles of <band>?",
        "What were <band>'s <number> most popular singles?",
        "What were <band>'s <number> most popular singles.",
        "What are the best songs by <band>?",
        "What are the best songs by <band>?",
        "A list of songs by <band>:",
        "Songs by <band>:",
        "Singles of <band> as JSON:",
        "Songs:",
        "A list of songs:",
        "The charts:",
    ),
}
_GRAMMAR = Grammar(RULES, _RULES)
_FORMATS = ("Format the output like", "Write them like this:", "As JSON, for example")


def band(random: Random) -> str:
    """The name of an invented band or singer."""
    return _GRAMMAR.write(random, "band")


def songs(random: Random) -> str:
    """A list of songs, mostly under a line that introduces it, sometimes after another list that shows the format."""
    draw = random.random()
    if draw < 0.3:
        return _list(random)
    introduction = _GRAMMAR.write(random, "introduction")
    if draw < 0.5:
        return f"{introduction} {random.choice(_FORMATS)}\n{_list(random)}\n{_list(random)}"
    return f"{introduction}\n{_list(random)}"


def _list(random: Random) -> str:
    year = random.randint(1958, 2019)
    records = []
    for _ in range(random.choice((1, 2, 2, 3))):
        year = min(2020, year + random.randint(0, 3))
        records.append(_song(random, year))
    return json.dumps(records, indent=2)


def _song(random: Random, year: int) -> dict[str, str | int]:
    song: dict[str, str | int] = {"title": _GRAMMAR.write(random, "title")}
    if random.random() < 0.75:
        song["album"] = _GRAMMAR.write(random, "album")
    song["year"] = year
    best = 1 + int(random.expovariate(1 / 20))
    if random.random() < 0.9:
        song["us-chart-max"] = min(200, best)
    if random.random() < 0.9:
        song["uk-chart-max"] = min(200, max(1, best + random.randint(-10, 15)))
    return song
