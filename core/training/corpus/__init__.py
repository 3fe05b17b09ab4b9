"""The text that the embedded model learns from, written by rules from a seed.

One module for each kind of text; ``grammar`` expands templates, ``lexicon`` holds the words they share, ``knowledge``
and ``surroundings`` what is true of them. The same seed always gives the same documents. ``held_back`` writes texts
that are never learned from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from random import Random

from . import (
    addresses,
    dates,
    facts,
    instructions,
    letters,
    logs,
    musings,
    prices,
    questions,
    records,
    sentences,
    small_talk,
    songs,
    stories,
)

KINDS: dict[str, tuple[Callable[[Random], str], int]] = {
    "exchange": (small_talk.exchange, 16),
    "dialogue": (small_talk.dialogue, 8),
    "question": (questions.question, 12),
    "story": (stories.story, 28),
    "fact": (facts.fact, 14),
    "paragraph": (sentences.paragraph, 12),
    "musing": (musings.musing, 70),
    "letter": (letters.letter, 4),
    "instruction": (instructions.instruction, 2),
    "person": (records.person, 10),
    "product": (records.product, 4),
    "record": (records.other, 4),
    "songs": (songs.songs, 6),
    "url": (addresses.url, 4),
    "email": (addresses.email, 4),
    "website_question": (addresses.website_question, 6),
    "date": (dates.date, 4),
    "log": (logs.log, 3),
    "price": (prices.offer, 4),
}
"""Name of a kind to the function that writes one document of it, and its share of the documents."""

DEMONSTRATION_PROMPTS = (
    "Can we talk?",
    "A person: ",
    "Ada Lovelace, 36, is a mathematician in London.",
    "Three dice: ",
    "In our shop: ",
    "Date: ",
    "Ada is 36 years old: ",
    "Where can I listen to pink floyd songs",
    "Where can I listen to Pink Floyd songs",
    "Pink Floyd",
    "pink floyd",
    "Tell me a story",
    "Ahab is seeking vengeance against",
    "Who was born? ",
    "Who wrote it? ",
)
"""Prompts of the documentation and the tests. No document contains one: the model has to answer them by likeness.

Fragments that any English text holds (``"It is very "``, ``"Write to "``, ``"Once upon a time"``) are not among them.
"""


def documents(seed: int) -> Iterator[str]:
    """Documents without end, the same ones for the same ``seed``.

    >>> first, second = documents(0), documents(0)
    >>> next(first) == next(second)
    True
    """
    random = Random(seed)
    writers = [writer for writer, _ in KINDS.values()]
    shares = [share for _, share in KINDS.values()]
    while True:
        yield random.choices(writers, shares)[0](random)


def corpus(seed: int, count: int) -> list[str]:
    """The first ``count`` documents of ``seed``."""
    return list(islice(documents(seed), count))


def check_prompts_absent(text: str) -> None:
    """Raise ``ValueError`` if ``text`` contains a demonstration prompt letter by letter."""
    for prompt in DEMONSTRATION_PROMPTS:
        if prompt in text:
            raise ValueError(f"the training text contains the demonstration prompt {prompt!r}: {text!r}")
