"""The text that the model learns from: all kinds of pairs and free texts, each with its share."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from random import Random

from training.corpus import KINDS

from .answers import answer, answer_sentence, answers, either_or, filled_gap, yes_or_no
from .calls import call
from .extraction import extraction
from .labels import label
from .lists import listing
from .notes import note_answer, note_record
from .pair import Pair
from .queries import query
from .substitutes import common_word, without

PAIRS: dict[str, tuple[Callable[[Random], Pair], int]] = {
    "extraction": (extraction, 280),
    "note_record": (note_record, 60),
    "note_answer": (note_answer, 50),
    "listing": (listing, 50),
    "label": (label, 120),
    "answer": (answer, 170),
    "answers": (answers, 150),
    "answer_sentence": (answer_sentence, 20),
    "either_or": (either_or, 100),
    "filled_gap": (filled_gap, 40),
    "yes_or_no": (yes_or_no, 50),
    "query": (query, 60),
    "call": (call, 70),
}
"""Name of a kind to the function that writes a pair of it, and its share."""
PROSE = ("exchange", "dialogue", "story", "fact", "paragraph", "musing", "letter", "instruction")
"""The kinds of free text in which a word may be replaced."""
MOST_DRAWS = 12
"""How often a text of prose is drawn again that says something twice: who reads none, writes none."""
REPLACED_SHARE = 0.35
"""The share of the prose in which one common word is replaced everywhere."""
FREE_SHARE = 750
"""The share of texts without a prompt: small talk, stories and all else that ``corpus.KINDS`` names."""


def pairs(random: Random) -> Iterator[Pair]:
    """Pairs without end; a free text is a pair whose prompt is empty."""
    names = [*PAIRS, "free"]
    shares = [*(share for _, share in PAIRS.values()), FREE_SHARE]
    free_shares = [share for _, share in KINDS.values()]
    while True:
        name = random.choices(names, shares)[0]
        if name == "free":
            yield Pair("", free_text(random, random.choices(list(KINDS), free_shares)[0]))
        else:
            yield PAIRS[name][0](random)


def free_text(random: Random, kind: str) -> str:
    """A text of one of ``corpus.KINDS``, sometimes without one of the common words."""
    if kind not in PROSE:
        return KINDS[kind][0](random)
    for _ in range(MOST_DRAWS):
        text = KINDS[kind][0](random)
        if not repeats(text):
            break
    word = common_word(text, random) if random.random() < REPLACED_SHARE else None
    return text if word is None else without(text, word, random)


def repeats(text: str) -> bool:
    """Whether three words come again, one after the other."""
    words = [word.lower() for word in re.findall(r"\w+", text)]
    threes = list(zip(words, words[1:], words[2:], strict=False))
    return len(set(threes)) < len(threes)
