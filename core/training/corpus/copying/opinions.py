"""Opinions about things, places and people, put together: what, how good or bad, and a second thought."""

from __future__ import annotations

from random import Random

from training.corpus.grammar import Grammar

_RULES: dict[str, tuple[str, ...]] = {
    "positive": (
        "<What> <is> <much><good>.",
        "<What> <is> <much><good>.",
        "<What> <is> <much><good> and <good>.",
        "<What> <is> <much><good>, <so_good>.",
        "<What> <is> not <bad> at all.",
        "I <love> <what>.",
        "We <love> <what>, <so_good>.",
        "<So_good>: <what> <is> <good>.",
        "<Good>, really <good>!",
        "What a <good> <sort>!",
        "<Thanks> <What> <is> <good>.",
        "I was sad, but <what> made me happy.",
        "Everything was <good> in {city}.",
        "{city} is a <good> town.",
        "{city} is <good>.",
        "{name} was <good_person>.",
        "{name} was <good_person>, and <what> <is> <good>.",
    ),
    "negative": (
        "<What> <is> <much><bad>.",
        "<What> <is> <much><bad>.",
        "<What> <is> <much><bad> and <bad>.",
        "<What> <is> <much><bad>, <so_bad>.",
        "<What> <is> not <good> at all.",
        "I <hate> <what>.",
        "We <hate> <what>, <so_bad>.",
        "<So_bad>: <what> <is> <bad>.",
        "<Bad>, really <bad>!",
        "What a <bad> <sort>!",
        "<Sorry> <What> <is> <bad>.",
        "I was happy, but <what> made me sad.",
        "Everything was <bad> in {city}.",
        "{city} is a <bad> town.",
        "{city} is <bad>.",
        "{name} was <bad_person>.",
        "{name} was <bad_person>, and <what> <is> <bad>.",
    ),
    "what": (
        *("the {product}", "the {product}", "this {product}", "your {product}", "my new {product}", "our {product}"),
        *(
            "the hotel in {city}",
            "the trip to {city}",
            "our week in {city}",
            "the shop in {city}",
            "the food in {city}",
        ),
        *("the film", "the concert", "the book", "the service", "the soup", "the room", "the music", "the staff"),
    ),
    "sort": ("day", "film", "story", "shop", "place", "hotel", "meal", "concert", "idea", "town", "game"),
    "is": ("is", "is", "has been", "looks", "seems", "turned out"),
    "much": ("", "", "", "very ", "really ", "so ", "just ", "simply "),
    "good": (
        *("good", "great", "wonderful", "excellent", "perfect", "lovely", "beautiful", "fantastic", "amazing", "fine"),
        *("brilliant", "superb", "delightful", "pleasant", "splendid"),
    ),
    "bad": (
        *("bad", "terrible", "awful", "horrible", "dreadful", "poor", "boring", "ugly", "disgusting", "annoying"),
        *("disappointing", "useless", "nasty", "dirty", "miserable"),
    ),
    "love": ("love", "like", "enjoyed", "really like", "recommend", "adore"),
    "hate": ("hate", "dislike", "regret", "cannot stand", "do not like", "would not recommend"),
    "so_good": (
        "I am happy",
        "we will come again",
        "I would buy it again",
        "we had a good time",
        "ten points",
        "it is my favourite",
        "everybody likes it",
        "I want more of it",
        "well done",
    ),
    "so_bad": (
        "I am angry",
        "we will never come again",
        "I want my money back",
        "we had a bad time",
        "no points",
        "take it away",
        "nobody likes it",
        "I cannot bear it",
        "a waste of time",
    ),
    "thanks": ("Many thanks!", "Well done!", "Bravo!", "How nice!", "Hurrah!"),
    "sorry": ("What a pity!", "Oh no!", "Shame on you!", "Never again!", "Alas!"),
    "good_person": ("friendly", "kind and quick", "polite", "very helpful", "patient with us"),
    "bad_person": ("rude", "unkind and slow", "impolite", "not helpful", "angry with us"),
}
_GRAMMAR = Grammar(_RULES)


def opinion(random: Random, label: str) -> str:
    """A template of an opinion that is ``"positive"`` or ``"negative"``."""
    return _GRAMMAR.write(random, label)
