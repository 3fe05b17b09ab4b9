"""Short statements about one thing: the weather, an animal, a job, a country, a thing; one to four of them."""

from __future__ import annotations

from random import Random

from .grammar import Grammar
from .knowledge import ANIMALS, COUNTRIES, JOBS, THINGS
from .lexicon import RULES
from .surroundings import FOODS, OPPOSITES, PLACES

_RULES: dict[str, tuple[str, ...]] = {
    "weather": (
        "It is <temperature> today.",
        "It is <temperature> outside.",
        "It is <temperature> in <city>.",
        "It is <temperature> <time_of_day>.",
        "It is very <temperature> <when_now>.",
        "It is <temperature> and <sky>.",
        "It was <temperature> <past>.",
        "The weather is <temperature>.",
        "The weather in <city> is <temperature>.",
        "The weather is <temperature> <when_now>.",
        "The <drink> is <hot>.",
        "The soup is still <hot>.",
        "The water in the lake is <hot>.",
        "In <month> it is often <temperature>.",
        "Today it is <first=temperature>, but tomorrow it will be <other=temperature>.",
        "It rains <when_now>.",
        "It snowed <past> in <city>.",
        "The sun is shining.",
        "The wind blows from the <direction>.",
        "There are <cloud> clouds over <somewhere>.",
    ),
    "temperature": ("hot", "hot", "hot", "hot", "cold", "cold", "cold", "cold", "warm", "cool", "windy"),
    "hot": ("hot", "cold"),
    "sky": ("dry", "wet", "sunny", "cloudy", "windy", "dark"),
    "cloud": ("white", "grey", "dark", "heavy"),
    "direction": ("north", "south", "east", "west"),
    "when_now": ("today", "this morning", "tonight", "here", "in the garden", "at the lake", "this week"),
    "life": (
        "<Name> likes <subject>.",
        "<Name> has a(n) <colour> <thing>.",
        "<Name> and <other=name> work together.",
        "The <place> is <place_quality>.",
        "The <place> is <place_quality>, but the <other=place> is <place_quality>.",
        "The <thing> on the table is <colour>.",
        "There are <number> people in the <place>.",
        "My <thing> is broken.",
        "I drink <drink> <time_of_day>.",
        "We eat <food> on <weekday>.",
        "<Name> speaks slowly and clearly.",
        "He talked about <subject> for an hour.",
        "They listened to the radio <past>.",
        "The children play in the <place>.",
        "The door of the <place> is <colour>.",
        "The shop opens at <hour>.",
        "This is a(n) <thing_quality> <thing>.",
        "<Name> was born in <somewhere> in <month>.",
        "<Name> <surname> lives in <somewhere>.",
        "It is <hour>.",
        "It is <weekday>.",
        "It is a(n) <thing_quality> <thing>.",
        "It is time to go.",
        "It is good to see you.",
    ),
    "about_animal": (
        "The <it> lives <home>.",
        "The <it> eats <meal>.",
        "The <it> can <skill>.",
        "A(n) <it> lives <home> and eats <meal>.",
        "A(n) <it> can <skill>.",
        "The <it> is an animal that can <skill>.",
        "The <it> is a(n) <animal_quality> animal.",
    ),
    "about_job": (
        "<Name> is a(n) <it>.",
        "A(n) <it> works <where>.",
        "A(n) <it> <does>.",
        "<Name> <surname> is a(n) <it> in <somewhere>.",
        "<Name> works as a(n) <it> in <city>.",
        "A good <it> always has a(n) <tool>.",
        "The <it> works <where> and <does>.",
    ),
    "about_country": (
        "The capital of <land> is <capital>.",
        "<Capital> is the capital of <land>.",
        "<Land> is a country in <continent>.",
        "In <land> most people speak <language>.",
        "<Name> comes from <land> and speaks <language>.",
        "<Name> lives in <capital>, the capital of <land>.",
        "<Capital> is a city in <land>.",
    ),
    "about_thing": (
        "You need a(n) <it> to <use>.",
        "With a(n) <it> you can <use>.",
        "This <it> is made of <stuff>.",
        "A(n) <it> is often made of <stuff>.",
        "<Name> bought a(n) <it> to <use>.",
        "The <it> belongs to <person>.",
    ),
    "about_food_one": (
        "<It> is <taste>.",
        "<It> tastes best with <drink>.",
        "<Name> likes <it> very much.",
        "<It> with <food> is my favourite dish.",
        "This <it> is very <taste>.",
    ),
    "about_food_many": (
        "<It> are <taste>.",
        "<It> taste best with <drink>.",
        "<Name> likes <it> very much.",
        "<It> with <food> are my favourite dish.",
        "These <it> are very <taste>.",
    ),
    "about_opposite": (
        "The opposite of <it> is <opposite>.",
        "<It> is the opposite of <opposite>.",
        "What is not <it> is <opposite>.",
    ),
    "about_place": (
        "<Name> is waiting <at> the <it>.",
        "We met <at> the <it> <past>.",
        "There is a(n) <place_quality> <it> in <somewhere>.",
        "<At> the <it> there are <number> people.",
        "The <it> of <somewhere> is <place_quality>.",
    ),
}
GRAMMAR = Grammar(RULES, _RULES)


def row(random: Random) -> tuple[str, dict[str, str]]:
    """A rule of statements and a row of the tables that fills it."""
    table = random.randrange(7)
    if table == 0:
        animal = random.choice(ANIMALS)
        return "about_animal", {"it": animal.name, "home": animal.home, "meal": animal.food, "skill": animal.skill}
    if table == 1:
        job = random.choice(JOBS)
        return "about_job", {"it": job.name, "where": job.where, "does": job.work, "tool": job.tool}
    if table == 2:
        country = random.choice(COUNTRIES)
        known = {"land": country.name, "capital": country.capital}
        return "about_country", known | {"language": country.language, "continent": country.continent}
    if table == 3:
        thing = random.choice(THINGS)
        return "about_thing", {"it": thing.name, "use": thing.use, "stuff": thing.material}
    if table == 4:
        food = random.choice(FOODS)
        return ("about_food_many" if food.plural else "about_food_one"), {"it": food.name, "taste": food.taste}
    if table == 5:
        pair = random.choice(tuple(OPPOSITES.items()))
        first, second = random.choice((pair, pair[::-1]))
        return "about_opposite", {"it": first, "opposite": second}
    place = random.choice(tuple(PLACES))
    return "about_place", {"it": place, "at": PLACES[place]}


def fact(random: Random) -> str:
    """One to four statements; those from one table speak of the same animal, job, country or thing."""
    draw = random.random()
    if draw < 0.55:
        kind = "weather" if draw < 0.3 else "life"
        count = random.choice((1, 1, 2, 3))
        return " ".join(dict.fromkeys(GRAMMAR.write(random, kind) for _ in range(count)))
    rule, known = row(random)
    count = random.choice((1, 2, 3, 4)) if rule != "about_opposite" else 1
    templates = random.sample(GRAMMAR.rules[rule], min(count, len(GRAMMAR.rules[rule])))
    return GRAMMAR.fill(random, " ".join(templates), **known)
