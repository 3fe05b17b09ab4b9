"""Questions and answers: what words mean, who does what, capitals, seasons, small sums."""

from __future__ import annotations

from random import Random

from .grammar import Grammar
from .lexicon import NUMBERS, RULES

CAPITALS = {
    "France": "Paris",
    "Germany": "Berlin",
    "Spain": "Madrid",
    "Italy": "Rome",
    "Austria": "Vienna",
    "Portugal": "Lisbon",
    "Norway": "Oslo",
    "Ireland": "Dublin",
    "Poland": "Warsaw",
    "Greece": "Athens",
    "Finland": "Helsinki",
    "Sweden": "Stockholm",
    "Hungary": "Budapest",
    "Belgium": "Brussels",
    "Denmark": "Copenhagen",
    "Japan": "Tokyo",
    "Egypt": "Cairo",
    "Kenya": "Nairobi",
    "Peru": "Lima",
    "Chile": "Santiago",
}
"""Countries and their capitals; all the cities are in the shared lexicon."""

_MEANINGS = {
    "baker": "bakes bread and cakes",
    "teacher": "works at a school and helps children to learn",
    "doctor": "helps people who are ill",
    "farmer": "works in the fields and keeps animals",
    "gardener": "looks after plants and trees",
    "pilot": "flies a plane",
    "sailor": "works on a ship",
    "carpenter": "makes tables and chairs out of wood",
    "librarian": "works in a library and knows every book",
    "tailor": "makes coats and dresses",
    "cook": "prepares food for other people",
    "mechanic": "repairs cars and engines",
    "nurse": "works in a hospital",
    "journalist": "writes for a newspaper",
    "musician": "plays music for others",
}
_USES = {
    "lamp": "to see in the dark",
    "umbrella": "to stay dry in the rain",
    "key": "to open a door",
    "clock": "to know the time",
    "map": "to find the way",
    "knife": "to cut bread",
    "kettle": "to boil water",
    "camera": "to take pictures",
    "ladder": "to climb up to the roof",
    "pencil": "to write or to draw",
    "blanket": "to keep warm at night",
    "suitcase": "to carry clothes on a journey",
    "candle": "to light a room",
    "basket": "to carry apples home from the market",
}
_HOMES = {
    "fish": "in the water",
    "bird": "in a nest",
    "bear": "in the forest",
    "horse": "in a stable",
    "frog": "in a pond",
    "fox": "in a den in the forest",
    "squirrel": "in a tree",
    "mouse": "in a small hole",
    "cow": "on a farm",
    "turtle": "near the sea",
    "owl": "in an old tree",
}
_COUNTED = (*NUMBERS[:9],)
_VALUES = {word: value for value, word in enumerate(("zero", "one", *_COUNTED))}

_RULES: dict[str, tuple[str, ...]] = {
    "country": tuple(CAPITALS),
    "who": (
        "Who lives in this house? <Person> lives here with a(n) <animal>.",
        "Who wrote this letter? It was written by <name> <surname>.",
        "Who is <name> <surname>? <Name> is a(n) <job> from <city>.",
        "Who opened the <thing>? I think it was <person>.",
        "Whose <thing> is this? It belongs to <person>.",
    ),
    "where": (
        "Where is the <place>? It is next to the <other=place>.",
        "Where is my <thing>? It is under the <other=thing>.",
        "Where does <name> live? In a(n) <quality> house near <city>.",
        "Where can I buy <food>? At the market, on <weekday> and <other=weekday>.",
        "Where did you learn to play the <instrument>? In <city>, from a(n) <quality> teacher.",
    ),
    "when_question": (
        "When does the train to <city> leave? It leaves at <hour>.",
        "When does the <place> open? It opens at <hour> <time_of_day>.",
        "When is the concert? It is on <weekday> at <hour>.",
        "When did <name> arrive? <Past>, with the last train from <city>.",
        "What time is it? It is <hour>.",
        "What day is it today? Today is <weekday>.",
    ),
    "why": (
        "Why is the <animal> in the <place>? It is looking for <food>.",
        "Why are you late? The train from <city> was late.",
        "Why is the window open? It is hot in here.",
        "Why do you wear a coat? It is cold outside.",
        "Why is <name> so <quality>? Nobody knows.",
        "Why do you smile? I had a letter from <person>.",
    ),
    "how": (
        "How do I get to the <place>? Take the bus number <number> and get off at the <other=place>.",
        "How do you make <food>? You need time, <other=food> and a hot oven.",
        "How far is it to <city>? About <number> hours by train.",
        "How old is your <animal>? It is <number> years old.",
        "How many people work at the <place>? There are <number> of us.",
        "How was the concert in <city>? The singer was <quality>, and the music was loud.",
    ),
}
_GRAMMAR = Grammar(RULES, _RULES)
_OPEN = tuple(_RULES)[1:]


def question(random: Random) -> str:
    """One question with its answer, sometimes marked with ``Q:`` and ``A:``."""
    if random.random() < 0.55:
        asked, _, answered = _GRAMMAR.write(random, random.choice(_OPEN)).partition("? ")
        asked += "?"
    else:
        asked, answered = random.choice((_capital, _sum, _meaning, _use, _home))(random)
    if random.random() < 0.25:
        return f"Q: {asked}\nA: {answered}"
    return f"{asked}{random.choice((' ', ' ', chr(10)))}{answered}"


def _capital(random: Random) -> tuple[str, str]:
    country, city = random.choice(tuple(CAPITALS.items()))
    return random.choice(
        (
            (f"What is the capital of {country}?", f"The capital of {country} is {city}."),
            (f"Which city is the capital of {country}?", f"It is {city}."),
            (f"In which country is {city}?", f"{city} is the capital of {country}."),
        )
    )


def _sum(random: Random) -> tuple[str, str]:
    first = random.choice(_COUNTED[:6])
    second = random.choice([word for word in _COUNTED if _VALUES[word] + _VALUES[first] <= 10])
    total = next(word for word in _COUNTED if _VALUES[word] == _VALUES[first] + _VALUES[second])
    return f"How much is {first} and {second}?", f"{first.capitalize()} and {second} make {total}."


def _meaning(random: Random) -> tuple[str, str]:
    job, work = random.choice(tuple(_MEANINGS.items()))
    article = "an" if job[0] in "aeiou" else "a"
    return random.choice(
        (
            (f"What does {article} {job} do?", f"{article.capitalize()} {job} {work}."),
            (f"What is {article} {job}?", f"{article.capitalize()} {job} is somebody who {work}."),
        )
    )


def _use(random: Random) -> tuple[str, str]:
    thing, use = random.choice(tuple(_USES.items()))
    article = "an" if thing[0] in "aeiou" else "a"
    return f"What do you need {article} {thing} for?", f"You need {article} {thing} {use}."


def _home(random: Random) -> tuple[str, str]:
    animal, home = random.choice(tuple(_HOMES.items()))
    article = "an" if animal[0] in "aeiou" else "a"
    return f"Where does {article} {animal} live?", f"{article.capitalize()} {animal} lives {home}."
