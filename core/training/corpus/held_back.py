"""Templates that no training text is made of: the same words as everywhere in the corpus, put together anew.

They tell whether the model has learned the language of the corpus or only its templates. :func:`held_back` writes
them on request; :func:`~training.corpus.documents` never does.
"""

from __future__ import annotations

import json
from random import Random

from .dates import day
from .grammar import Grammar
from .knowledge import THINGS
from .lexicon import COLOURS, NAMES, RULES, SURNAMES
from .records import age
from .sentences import GRAMMAR as PHRASES
from .stories import cast

_SENTENCES = (
    "When <reason>, <who> <did> <where>.",
    "<Who> <did> before <other_who> <did>.",
    "Because <reason>, <other_who> <did>.",
    "Once <who> and <relation> <did> <where>.",
)
_SMALL_TALK = (
    "Could you help me to repair the <thing>? Of course, I have time for you <when>.",
    "Do you want to play the <instrument> with me <when>? With pleasure. Let us meet at the <place> at <hour>.",
    "<Name>: I am afraid of the <animal>.\n<other=name>: Do not worry about it. It cannot <skill>.",
    "How was the train to <city>? It was late, and I was too <feeling> to read a book about <subject>.",
    "I heard that you are a(n) <job> now. Is that true? Yes, I work with <name> in <city>.",
)
_STORIES = (
    "<Hero> and <friend> lived together in a(n) <place_quality> house near <land>. "
    "One day <friend> lost <hers> <prize>. They looked for it at the <spot>, but it was not there. "
    '"I am sorry," said <hero>. "I gave it to the <work>." <Friend> laughed, and they went home together.',
    "Long ago there was a(n) <animal_quality> <beast> in a(n) <place_quality> <spot> near <land>. "
    "A(n) <person_quality> <work> called <hero> wanted to talk to it. "
    '"Sit down," said the <beast>, "and listen to the rain." '
    "<He> listened until the morning, and from that day on <he> was never sad again.",
    "Once upon a time there was a(n) <work> in <land> who wanted to buy a(n) <prize>. "
    "But <he> was poor, and there was not enough money. "
    '"Give me your <thing>," said <friend>, "and I will give you the <prize>." '
    "They drank <drink> together and talked about <subject>.",
)
_GRAMMAR = Grammar(
    RULES,
    PHRASES.rules,
    {
        "sentence": _SENTENCES,
        "small_talk": _SMALL_TALK,
        "story": _STORIES,
        "skill": ("climb trees", "swim", "sing", "see you", "run very fast"),
    },
)
HELD_BACK = ("sentence", "small_talk", "story", "record")
"""The kinds of :func:`held_back`."""


def held_back(kind: str, seed: int, count: int) -> list[str]:
    """Documents of a held-back kind, the same ones for the same ``seed``.

    >>> held_back("record", 0, 3) == held_back("record", 0, 3)
    True
    """
    random = Random(seed)
    return [_document(random, kind) for _ in range(count)]


def _document(random: Random, kind: str) -> str:
    if kind == "record":
        return _record(random)
    return _GRAMMAR.write(random, kind, **(cast(random) if kind == "story" else {}))


def _record(random: Random) -> str:
    """An order of one product: keys of people, products and events, which no training record has together."""
    order = {
        "customer": f"{random.choice(NAMES)} {random.choice(SURNAMES)}",
        "age": age(random),
        "product": f"{random.choice(COLOURS)} {random.choice(THINGS).name}",
        "price": random.randint(1, 99) + 0.5,
        "date": day(random).isoformat(),
        "paid": random.random() < 0.6,
    }
    return "Order: " + json.dumps(order, separators=(",", ":"))
