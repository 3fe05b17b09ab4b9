"""Facts and a question about one of them: who, where, what, either or, yes or no."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from sfgen.models.tiny.corpus.grammar import with_articles
from sfgen.models.tiny.corpus.lexicon import words

from .pair import Pair
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


def told(
    source: Words, fact: Fact, count: int, templates: tuple[str, ...] | None = None
) -> tuple[list[str], list[dict[str, str]]]:
    """Some sentences of a kind, all of them of somebody and something else, and what was drawn for them."""
    drawn: list[dict[str, str]] = []
    while len(drawn) < count:
        pair = {key: make(source) for key, make in zip("ab", fact.makes, strict=True)}
        taken = {value for one in drawn for value in one.values()}
        if len({*taken, *pair.values()}) == len(taken) + 2:
            drawn.append(pair)
    random = source.random
    return [with_pair(random.choice(templates or fact.told), pair) for pair in drawn], drawn


def with_pair(template: str, pair: dict[str, str]) -> str:
    """A template with what was drawn."""
    return with_articles(template.format_map(pair))


def _joint(random: Random) -> str:
    return random.choice((" ", " ", " ", "\n"))


def answer(random: Random) -> Pair:
    """One to three facts, a question, the answer: a word or two, sometimes as a sentence."""
    source = Words(random)
    fact = random.choice(FACTS)
    sentences, drawn = told(source, fact, random.choice((1, 2, 2, 3)))
    chosen = random.choice(drawn)
    key = random.choice("ab")
    question = with_pair(random.choice(fact.first if key == "a" else fact.second), chosen)
    joint = _joint(random)
    prompt = joint.join([*sentences, question])
    if random.random() < 0.1:
        return Pair(f"{joint.join(sentences)}\nQ: {question}\nA: ", f"{chosen[key]}{random.choice(('', '.'))}")
    text = chosen[key] if random.random() < 0.6 else sentences[drawn.index(chosen)].removesuffix(".")
    return Pair(prompt + random.choice((" ", " ", "\n")), text + random.choice((".", "", "")))


def either_or(random: Random) -> Pair:
    """Facts, and which of two to four is right: what they say, in the words of the facts."""
    source = Words(random)
    fact = random.choice(FACTS)
    sentences, drawn = told(source, fact, random.choice((2, 2, 3, 4)))
    key, place = random.choice("ab"), random.randrange(len(drawn))
    if random.random() < 0.5:  # only the right one is told; the others are other values
        sentences = [sentences[place]]
    offered = [pair[key] for pair in drawn]
    random.shuffle(offered)
    question = with_pair(random.choice(fact.first if key == "a" else fact.second), drawn[place])
    listed = f"{', '.join(offered[:-1])} or {offered[-1]}"
    form = random.choice(("{question} {listed}? ", "{question}\n{listed}: ", "{listed}?\n{question} ", "{question} "))
    prompt = _joint(random).join([*sentences, form.format(question=question, listed=listed)])
    return Pair(prompt, drawn[place][key])


def filled_gap(random: Random) -> Pair:
    """Facts, and the beginning of one of them again, to be gone on with."""
    source = Words(random)
    fact = random.choice(FACTS)
    templates = [template for template in fact.told if template.endswith("{b}.")]
    if not templates:
        return either_or(random)
    _, drawn = told(source, fact, random.choice((1, 2, 3)))
    sentences = [with_pair(random.choice(fact.told), pair) for pair in drawn]
    chosen = random.choice(drawn)
    begun = with_pair(random.choice(templates), chosen).removesuffix(f"{chosen['b']}.")
    return Pair(_joint(random).join([*sentences, begun]), f"{chosen['b']}{random.choice(('', '.'))}")


def yes_or_no(random: Random) -> Pair:
    """Facts, and whether something is so."""
    source = Words(random)
    fact = random.choice(FACTS)
    sentences, drawn = told(source, fact, random.choice((1, 2, 2, 3)))
    chosen = dict(random.choice(drawn))
    right = random.random() < 0.5
    if not right:
        others = [pair["b"] for pair in drawn if pair["b"] != chosen["b"]]
        while True:
            other = random.choice(others) if others and random.random() < 0.6 else fact.makes[1](source)
            if other != chosen["b"]:
                break
        chosen["b"] = other
    question = with_pair(random.choice(fact.whether), chosen)
    shape = random.choice((("Yes", "No"), ("Yes", "No"), ("yes", "no"), ("Yes.", "No."), ("true", "false")))
    prompt = _joint(random).join([*sentences, question]) + random.choice((" ", " ", "\n", " yes or no? ", "\nAnswer: "))
    return Pair(prompt, shape[0] if right else shape[1])
