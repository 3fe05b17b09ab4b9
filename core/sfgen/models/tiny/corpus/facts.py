"""Short sentences that say one thing: weather, feelings, places, animals, capitals."""

from __future__ import annotations

from random import Random

from .grammar import Grammar
from .lexicon import RULES
from .questions import CAPITALS

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
        "Today it is <temperature>, but tomorrow it will be <temperature>.",
        "The summer was <hot> and the winter was <hot>.",
        "It rains <when_now>.",
        "It snowed <past> in <city>.",
        "The sun is shining.",
    ),
    "temperature": ("hot", "hot", "hot", "hot", "cold", "cold", "cold", "cold", "warm", "cool", "windy"),
    "hot": ("hot", "cold"),
    "sky": ("dry", "wet", "sunny", "cloudy", "windy", "dark"),
    "when_now": ("today", "this morning", "tonight", "here", "in the garden", "at the lake", "this week"),
    "life": (
        "The <animal> sleeps under the <thing>.",
        "A(n) <quality> <animal> sat in the <place>.",
        "<Name> likes <subject>.",
        "<Name> is a(n) <job> in <city>.",
        "<Name> has a(n) <colour> <thing>.",
        "<Name> and <other=name> work at the <place>.",
        "The <place> is <quality> and <other=quality>.",
        "The <thing> on the table is <colour>.",
        "There are <number> people in the <place>.",
        "My <thing> is broken.",
        "I drink <drink> <time_of_day>.",
        "We eat <food> on <weekday>.",
        "She speaks slowly and clearly.",
        "He talked about <subject> for an hour.",
        "They listened to the radio <past>.",
        "The children play in the <place>.",
        "The door of the <place> is <colour>.",
        "A(n) <animal> cannot read.",
        "The shop opens at <hour>.",
        "This is a(n) <quality> <thing>.",
    ),
}
_GRAMMAR = Grammar(RULES, _RULES)


def fact(random: Random) -> str:
    """One to three short sentences."""
    if random.random() < 0.15:
        country, city = random.choice(tuple(CAPITALS.items()))
        return random.choice((f"The capital of {country} is {city}.", f"{city} is the capital of {country}."))
    kind = random.choice(("weather", "weather", "life"))
    count = random.choice((1, 1, 2, 3))
    return " ".join(dict.fromkeys(_GRAMMAR.write(random, kind) for _ in range(count)))
