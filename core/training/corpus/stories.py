"""Short stories of three to nine sentences: a hero, a trouble, a friend, an end."""

from __future__ import annotations

from random import Random

from .grammar import Grammar
from .knowledge import ANIMALS, JOBS, THINGS
from .lexicon import CITIES, MEN, RULES, TOWNS, WOMEN
from .plots import DETAILS, ENDINGS, MANNERS, OPENINGS, PLOTS, REQUESTS, SHORT_PLOTS, SUPERLATIVES, TITLES
from .surroundings import PLACES

_RULES: dict[str, tuple[str, ...]] = {
    "opening": OPENINGS,
    "detail": DETAILS,
    "ending": ENDINGS,
    "title": TITLES,
    "request": REQUESTS,
    "manner": MANNERS,
    "superlative": SUPERLATIVES,
    "pet": ("dog", "cat", "donkey", "parrot", "hen", "goat", "horse", "mouse"),
    "container": ("basket", "box", "suitcase", "hat", "bucket", "bag"),
    "soft": ("blanket", "pillow", "carpet", "sofa", "coat"),
    "elder": ("mother", "father", "grandmother", "grandfather", "aunt", "uncle", "teacher"),
}
GRAMMAR = Grammar(RULES, _RULES)
MIXED_SHARE = 0.35
"""The share of the stories whose parts are those of different plots: who has read them expects less, and more."""
_SWIM_OR_BUZZ = {"whale", "dolphin", "shark", "octopus", "bee", "ant", "spider", "butterfly"}
_BEASTS = tuple(animal.name for animal in ANIMALS if animal.name not in _SWIM_OR_BUZZ)


def cast(random: Random) -> dict[str, str]:
    """Who and what a story is about: the symbols that stay the same from its first sentence to its last."""
    hero, friend = random.choice((WOMEN, MEN)), random.choice((WOMEN, MEN))
    he = ("she", "her", "her") if hero is WOMEN else ("he", "him", "his")
    she = ("she", "her", "her") if friend is WOMEN else ("he", "him", "his")
    work, other_work = random.sample(JOBS, 2)
    spot, other_spot = random.sample(tuple(PLACES), 2)
    known = dict(zip(("he", "him", "his", "she", "her", "hers"), (*he, *she), strict=True))
    known |= {"hero": random.choice(hero), "work": work.name, "other_work": other_work.name}
    known |= {"spot": spot, "other_spot": other_spot}
    known |= {"prize": random.choice(THINGS).name, "beast": random.choice(_BEASTS)}
    known["friend"] = random.choice([name for name in friend if name != known["hero"]])
    known["land"] = random.choice(random.choice((CITIES, TOWNS)))
    known["goal"] = random.choice([city for city in CITIES if city != known["land"]])
    return known


def story(random: Random) -> str:
    """One story, sometimes under a title or after somebody asked for it."""
    known = cast(random)
    plot = random.choice(tuple(PLOTS))
    parts = list(PLOTS[plot])
    if random.random() < MIXED_SHARE:
        parts = [random.choice(others) for others in zip(*PLOTS.values(), strict=False)]
    elif plot in SHORT_PLOTS and random.random() < 0.4:
        parts = [parts[0], parts[1], parts[-1]]
    templates = [random.choice(part) for part in parts]
    if random.random() < 0.5:
        templates.insert(0, "<detail>")
    if random.random() < 0.7:
        templates.append("<ending>")
    text = GRAMMAR.fill(random, " ".join(["<opening>", *templates]), **known)
    draw = random.random()
    if draw < 0.15:
        return f"{GRAMMAR.write(random, 'title', **known)}\n\n{text}"
    if draw < 0.35:
        return f"{GRAMMAR.write(random, 'request', **known)}{random.choice((' ', chr(10)))}{text}"
    return text
