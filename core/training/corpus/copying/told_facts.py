"""Facts that a sentence tells, and the questions about them: who, where, what, how much."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from training.corpus.lexicon import words

from .words import Words

_PLACES = words(
    "garden kitchen library station market school office cellar attic museum park harbour church bakery hotel cinema "
    "forest tower castle theatre hospital workshop"
)
_ADJECTIVES = words(
    "hot cold warm big small old new young red blue green black white heavy light fast slow loud quiet happy "
    "sad rich poor strong weak dry wet open closed full empty early late high low dark bright hard soft sweet "
    "sour cheap expensive easy difficult thick thin clean dirty deep shallow brave tired hungry angry free "
    "busy broken ripe fresh"
)
_ROOM_NOUNS = words(
    "soup tea room door street river house water box bag bed car train window tree sea coffee bread lamp book"
)


class Fact(NamedTuple):
    """Something that one says of somebody or something, and how one asks for it.

    Attributes:
        makes: How ``{a}``, whom it is said of, and ``{b}``, what is said, are drawn.
        told: Templates of the sentence.
        first: Questions whose answer is ``{a}``.
        second: Questions whose answer is ``{b}``.
        whether: Questions whose answer is yes or no.
    """

    makes: tuple[Callable[[Words], str], Callable[[Words], str]]
    told: tuple[str, ...]
    first: tuple[str, ...]
    second: tuple[str, ...]
    whether: tuple[str, ...]


def _drawn(texts: tuple[str, ...]) -> Callable[[Words], str]:
    return lambda source: source.random.choice(texts)


def _age(source: Words) -> str:
    return str(source.random.randint(2, 99))


def _money(source: Words) -> str:
    value = source.amount()
    return f"${value}" if isinstance(value, int) else f"${value:.2f}"


FACTS: tuple[Fact, ...] = (
    Fact(
        (Words.first_name, _drawn(_PLACES)),
        ("{a} is in the {b}.", "{a} went to the {b}.", "{a} is waiting in the {b}.", "{a} sits in the {b}."),
        ("Who is in the {b}?", "Who can be found in the {b}?"),
        ("Where is {a}?", "Where can I find {a}?", "In which place is {a}?"),
        ("Is {a} in the {b}?", "Can {a} be found in the {b}?"),
    ),
    Fact(
        (Words.name, Words.city),
        ("{a} lives in {b}.", "{a} comes from {b}.", "{a} has a house in {b}.", "{a} was born in {b}."),
        ("Who is from {b}?", "Who lives in {b}?"),
        ("Where does {a} live?", "Where is {a} from?", "Which town is the home of {a}?"),
        ("Is {a} from {b}?", "Does {a} live in {b}?"),
    ),
    Fact(
        (Words.first_name, Words.noun),
        ("{a} has the {b}.", "{a} bought the {b}.", "{a} took the {b}.", "The {b} belongs to {a}."),
        ("Who has the {b}?", "Whose {b} is it?", "To whom does the {b} belong?"),
        ("What does {a} have?", "Which thing is {a}'s?", "What belongs to {a}?"),
        ("Does {a} have the {b}?", "Is the {b} {a}'s?"),
    ),
    Fact(
        (Words.name, Words.job),
        ("{a} is a(n) {b}.", "{a} works as a(n) {b}.", "The {b} is called {a}."),
        ("Who is the {b}?", "What is the {b} called?", "Who works as a(n) {b}?"),
        ("What is {a}?", "What does {a} work as?", "Which job does {a} have?"),
        ("Is {a} a(n) {b}?", "Does {a} work as a(n) {b}?"),
    ),
    Fact(
        (Words.first_name, _age),
        ("{a} is {b} years old.", "{a} is {b}.", "{a} turned {b} today."),
        ("Who is {b}?", "Who is {b} years old?"),
        ("How old is {a}?", "What is the age of {a}?"),
        ("Is {a} {b} years old?", "Is {a} {b}?"),
    ),
    Fact(
        (Words.noun, Words.colour),
        ("The {a} is {b}.", "I have a {b} {a}.", "There is a {b} {a} on the table."),
        ("What is {b}?", "Which thing is {b}?"),
        ("Which colour has the {a}?", "What colour is the {a}?"),
        ("Is the {a} {b}?",),
    ),
    Fact(
        (_drawn(_ROOM_NOUNS), _drawn(_ADJECTIVES)),
        ("The {a} is {b}.", "The {a} is very {b}.", "This {a} is too {b}.", "I think that the {a} is {b}."),
        ("What is {b}?",),
        ("How is the {a}?", "What is the {a} like?"),
        ("Is the {a} {b}?",),
    ),
    Fact(
        (Words.noun, _money),
        ("The {a} costs {b}.", "The {a} is {b}.", "You can buy the {a} for {b}.", "We sell the {a} for {b}."),
        ("What costs {b}?",),
        ("How much is the {a}?", "What does the {a} cost?", "What is the price of the {a}?"),
        ("Does the {a} cost {b}?",),
    ),
    Fact(
        (Words.first_name, Words.first_name),
        ("{a} wrote to {b}.", "{a} wrote a letter to {b}.", "Yesterday {a} wrote to {b}."),
        ("Who wrote to {b}?", "From whom did {b} get a letter?"),
        ("To whom did {a} write?", "Who got a letter from {a}?"),
        ("Did {a} write to {b}?", "Did {b} get a letter from {a}?"),
    ),
    Fact(
        (Words.noun, _drawn(_PLACES)),
        (
            "The {a} is in the {b}.",
            "There is a(n) {a} in the {b}.",
            "I saw a(n) {a} in the {b}.",
            "In the {b} lies a(n) {a}.",
        ),
        ("What is in the {b}?", "What can be found in the {b}?"),
        ("Where is the {a}?", "Where did I see the {a}?"),
        ("Is the {a} in the {b}?",),
    ),
)
HELD_BACK_TOLD: tuple[tuple[int, tuple[str, ...]], ...] = (
    (0, ("You will find {a} in the {b}.", "{a} stays in the {b}.")),
    (1, ("The home of {a} is {b}.", "{a} moved to {b}.")),
    (2, ("The {b} was given to {a}.", "{a} keeps the {b}.")),
    (3, ("{a} became a(n) {b}.", "Our {b} is {a}.")),
    (4, ("{a} has lived for {b} years.", "{a}, now {b}, is here.")),
    (5, ("Look at the {a}, it is {b}.", "My {a} is {b}.")),
    (6, ("How {b} the {a} is!", "The {a} became {b}.")),
    (7, ("For {b} you get the {a}.", "The price of the {a} is {b}.")),
    (9, ("They put the {a} into the {b}.", "The {a} lies in the {b}.")),
)
"""Place of a fact to sentences that no training text has, for the evaluation."""
