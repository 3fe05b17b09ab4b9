"""Questions and answers: what the tables of :mod:`knowledge` hold, who does what where, small sums."""

from __future__ import annotations

from random import Random

from .grammar import Grammar
from .knowledge import ANIMALS, COUNTRIES, JOBS, THINGS
from .lexicon import NUMBERS, RULES
from .surroundings import OPPOSITES

_COUNTED = NUMBERS[:9]
_VALUES = {word: value for value, word in enumerate(("zero", "one", *_COUNTED))}

_RULES: dict[str, tuple[str, ...]] = {
    "who": (
        "Who lives in this house? <Person> lives here with a(n) <animal>.",
        "Who wrote this letter? It was written by <name> <surname>.",
        "Who is <it=name> <surname>? <It> is a(n) <job> from <somewhere>.",
        "Who opened the <thing>? I think it was <person>.",
        "Whose <thing> is this? It belongs to <person>.",
        "Who painted this picture? A(n) <person_quality> painter from <city>.",
    ),
    "where": (
        "Where is the <place>? It is next to the <other=place>.",
        "Where is my <thing>? It is under the <other=thing>.",
        "Where does <name> live? In a(n) <place_quality> house near <somewhere>.",
        "Where can I buy <food>? At the market, on <weekday>.",
        "Where did you learn to play the <instrument>? In <city>, from a(n) <person_quality> teacher.",
        "Where are you from? I am from <somewhere>.",
        "Where is <it=name>? I saw <it> at the <place> <past>.",
    ),
    "when_question": (
        "When does the train to <somewhere> leave? It leaves at <hour>.",
        "When does the <place> open? It opens at <hour> <time_of_day>.",
        "When is the concert? It is on <weekday> at <hour>.",
        "When did <name> arrive? <Past>, with the last train from <somewhere>.",
        "What time is it? It is <hour>.",
        "What day is it today? Today is <weekday>.",
        "When is your birthday? It is in <month>.",
    ),
    "why": (
        "Why is the <animal> in the <place>? It is looking for <food>.",
        "Why are you late? The train from <somewhere> was late.",
        "Why is the window open? It is hot in here.",
        "Why do you wear a coat? It is cold outside.",
        "Why is <name> so <feeling>? Nobody knows.",
        "Why do you smile? I had a letter from <person>.",
        "Why are you so <feeling>? Because I lost my <thing>.",
        "Why do you learn <language>? Because I want to travel to <land>.",
    ),
    "how": (
        "How do I get to the <place>? Take the bus number <number> and get off at the <other=place>.",
        "How do you make <food>? You need time, <other=food> and a hot oven.",
        "How far is it to <somewhere>? About <number> hours by train.",
        "How old is your <pet>? It is <small_number> years old.",
        "How many people work at the <place>? There are <number> of us.",
        "How was the concert in <city>? The singer was <person_quality>, and the music was loud.",
        "How long have you been in <city>? For <number> years.",
    ),
    "pet": ("dog", "cat", "horse", "rabbit", "parrot", "donkey", "turtle"),
}
_GRAMMAR = Grammar(RULES, _RULES)
_OPEN = ("who", "where", "when_question", "why", "how")


def question(random: Random) -> str:
    """One question with its answer, sometimes marked with ``Q:`` and ``A:``."""
    if random.random() < 0.4:
        country = random.choice(COUNTRIES)
        known = {"land": country.name, "language": country.language}
        asked, _, answered = _GRAMMAR.write(random, random.choice(_OPEN), **known).partition("? ")
        asked += "?"
    else:
        asked, answered = random.choice(_TABLES)(random)
    if random.random() < 0.25:
        return f"Q: {asked}\nA: {answered}"
    return f"{asked}{random.choice((' ', ' ', chr(10)))}{answered}"


def _chosen(random: Random, *pairs: str, **known: str) -> tuple[str, str]:
    asked, _, answered = _GRAMMAR.fill(random, random.choice(pairs), **known).partition("? ")
    return f"{asked}?", answered


def _country(random: Random) -> tuple[str, str]:
    country = random.choice(COUNTRIES)
    return _chosen(
        random,
        "What is the capital of <land>? The capital of <land> is <town>.",
        "What is the capital of <land>? <Town>.",
        "Which city is the capital of <land>? It is <town>.",
        "In which country is <town>? <Town> is the capital of <land>.",
        "Which language do people speak in <land>? Most of them speak <language>.",
        "Where is <land>? It is in <continent>.",
        land=country.name,
        town=country.capital,
        language=country.language,
        continent=country.continent,
    )


def _sum(random: Random) -> tuple[str, str]:
    first = random.choice(_COUNTED[:6])
    second = random.choice([word for word in _COUNTED if _VALUES[word] + _VALUES[first] <= 10])
    total = next(word for word in _COUNTED if _VALUES[word] == _VALUES[first] + _VALUES[second])
    return f"How much is {first} and {second}?", f"{first.capitalize()} and {second} make {total}."


def _job(random: Random) -> tuple[str, str]:
    job = random.choice(JOBS)
    return _chosen(
        random,
        "What does a(n) <it> do? A(n) <it> <does>.",
        "What is a(n) <it>? A(n) <it> is somebody who <does>.",
        "Where does a(n) <it> work? A(n) <it> works <where>.",
        "Who <does>? The <it> <does>.",
        "What does a(n) <it> need? A(n) <it> needs a(n) <tool>.",
        it=job.name,
        does=job.work,
        where=job.where,
        tool=job.tool,
    )


def _thing(random: Random) -> tuple[str, str]:
    thing = random.choice(THINGS)
    return _chosen(
        random,
        "What do you need a(n) <it> for? You need a(n) <it> to <use>.",
        "What can you do with a(n) <it>? With a(n) <it> you can <use>.",
        "What is this <it> made of? It is made of <stuff>.",
        "What do I need to <use>? You need a(n) <it>.",
        it=thing.name,
        use=thing.use,
        stuff=thing.material,
    )


def _animal(random: Random) -> tuple[str, str]:
    animal = random.choice(ANIMALS)
    return _chosen(
        random,
        "Where does a(n) <it> live? A(n) <it> lives <home>.",
        "What does a(n) <it> eat? It eats <meal>.",
        "What can a(n) <it> do? It can <skill>.",
        "Which animal can <skill>? The <it> can <skill>.",
        it=animal.name,
        home=animal.home,
        meal=animal.food,
        skill=animal.skill,
    )


def _opposite(random: Random) -> tuple[str, str]:
    pair = random.choice(tuple(OPPOSITES.items()))
    first, second = random.choice((pair, pair[::-1]))
    return f"What is the opposite of {first}?", f"The opposite of {first} is {second}."


_TABLES = (_country, _sum, _job, _thing, _animal, _opposite)
