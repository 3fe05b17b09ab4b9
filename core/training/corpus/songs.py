"""JSON lists of songs by invented bands: title, album, year and the best place in two charts."""

from __future__ import annotations

import json
from random import Random

from .grammar import Grammar
from .lexicon import RULES

_RULES: dict[str, tuple[str, ...]] = {
    "quality": (
        "small",
        "big",
        "old",
        "new",
        "young",
        "quiet",
        "happy",
        "sad",
        "bright",
        "dark",
        "warm",
        "strange",
        "beautiful",
        "heavy",
        "wild",
        "lonely",
        "empty",
        "golden",
        "broken",
        "secret",
        "endless",
        "silent",
        "crazy",
    ),
    "band": (
        "The <Quality> <Animal>s",
        "The <Colour> <Thing>s",
        "<Colour> <Animal>",
        "<Quality> <Place>",
        "<Name> and the <Animal>s",
        "<City> <Weekday>",
        "<Name> <Surname>",
        "<Name> <Surname>",
        "The <Animal>s",
        "<Material> <Animal>s",
        "<Surname> and <other_name=surname>",
    ),
    "animal": (
        "Fox",
        "Owl",
        "Bear",
        "Crow",
        "Bird",
        "Swan",
        "Frog",
        "Horse",
        "Duck",
        "Rabbit",
        "Tiger",
        "Eagle",
        "Lion",
        "Monkey",
    ),
    "thing": (
        "Lantern",
        "Ladder",
        "Mirror",
        "Candle",
        "Stone",
        "Ring",
        "Umbrella",
        "Window",
        "Letter",
        "Drum",
        "Bell",
        "Key",
    ),
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
        "Nobody Knows <Name>",
        "The <Thing> Song",
        "Dreaming of <City>",
        "Back to <City>",
        "<Night> and <Other>",
        "I Lost My <Thing>",
        "When the <Night> Comes",
        "Do You Hear the <Night>?",
        "Come Home, <Name>",
        "<Number> Days in <City>",
        "Never Again",
        "A(n) <Quality> Heart",
        "All the <Thing>s",
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
        "The <Quality> Side",
        "<City> Nights",
        "<Colour> and <Colour>",
        "The Best of <band>",
        "<Number> Songs",
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
    name, draw = band(random), random.random()
    if draw < 0.25:
        return _list(random, name)
    introduction = _GRAMMAR.write(random, "introduction", band=name)
    if draw < 0.5:
        joint = random.choice(("\n", "\n", ""))  # "]" may stand at the end of a prompt
        return f"{introduction} {random.choice(_FORMATS)}\n{_list(random, band(random))}{joint}{_list(random, name)}"
    return f"{introduction}\n{_list(random, name)}"


def _list(random: Random, name: str) -> str:
    year = random.randint(1958, 2019)
    records = []
    for _ in range(random.choice((1, 2, 2, 3))):
        year = min(2020, year + random.randint(0, 3))
        records.append(_song(random, year, name))
    return json.dumps(records, indent=2)


def _song(random: Random, year: int, name: str) -> dict[str, str | int]:
    song: dict[str, str | int] = {"title": _GRAMMAR.write(random, "title")}
    if random.random() < 0.75:
        song["album"] = _GRAMMAR.write(random, "album", band=name)
    song["year"] = year
    best = 1 + int(random.expovariate(1 / 20))
    if random.random() < 0.9:
        song["us-chart-max"] = min(200, best)
    if random.random() < 0.9:
        song["uk-chart-max"] = min(200, max(1, best + random.randint(-10, 15)))
    return song
