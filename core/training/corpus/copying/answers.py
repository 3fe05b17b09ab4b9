"""Facts and a question about one of them: who, where, what, either or, yes or no."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from training.corpus.grammar import with_articles

from .pair import Pair
from .relations import drawn_fact
from .told_facts import FACTS, Fact
from .wordings import MORE_SECOND, MORE_SENTENCES, MORE_TOLD, QUESTION_FRAMES, told_in_sentences
from .words import Words


def drawn_pairs(source: Words, fact: Fact, count: int) -> list[dict[str, str]]:
    """The contents of some facts of a kind, each about another person and another thing."""
    drawn: list[dict[str, str]] = []
    while len(drawn) < count:
        pair = {key: make(source) for key, make in zip("ab", fact.makes, strict=True)}
        taken = {value for one in drawn for value in one.values()}
        if len({*taken, *pair.values()}) == len(taken) + 2:
            drawn.append(pair)
    return drawn


def told(source: Words, fact: Fact, count: int, templates: tuple[str, ...]) -> tuple[list[str], list[dict[str, str]]]:
    """Some sentences of a kind, made of these templates, and what was drawn for them."""
    drawn = drawn_pairs(source, fact, count)
    return [with_pair(source.random.choice(templates), pair) for pair in drawn], drawn


def with_pair(template: str, pair: dict[str, str]) -> str:
    """A template with what was drawn."""
    return with_articles(template.format_map(pair))


class Scene(NamedTuple):
    """The text before a question.

    Attributes:
        fact: The kind that is asked for.
        sentences: What is told: of that kind, in any order, sometimes of another kind, too.
        drawn: What was drawn for those of the kind.
    """

    fact: Fact
    sentences: list[str]
    drawn: list[dict[str, str]]


def scene(source: Words, count: int) -> Scene:
    """Facts of one kind in many wordings, a few times with something else that is said of the same people."""
    random = source.random
    place = random.randrange(len(FACTS)) if random.random() < 0.75 else None
    fact, clauses = _worded(random, place)
    drawn = drawn_pairs(source, fact, count)
    said = [with_pair(random.choice(clauses), pair) for pair in drawn]
    if place in _OF_PEOPLE and random.random() < 0.25:
        said = _with_more(source, place or 0, drawn, said)
    sentences = told_in_sentences(random, said)
    if len(sentences) > 1 and random.random() < 0.1:
        return Scene(fact, [f"- {sentence}" for sentence in sentences], drawn)
    return Scene(fact, sentences, drawn)


_OF_PEOPLE = (0, 1, 3, 4)
"""Places of the facts that are said of a person by name."""


def _worded(random: Random, place: int | None) -> tuple[Fact, tuple[str, ...]]:
    """A kind of fact, with all its questions, and the clauses that are used: often one or two of them."""
    if place is None:
        fact = drawn_fact(random)
        clauses: tuple[str, ...] = fact.told
    else:
        fact = FACTS[place]
        own = [_clause(template) for template in fact.told]
        clauses = (*own, *own, *MORE_TOLD[place], *MORE_SENTENCES[place])
        fact = fact._replace(second=(*fact.second, *fact.second, *MORE_SECOND[place]))
    if random.random() < 0.6:
        clauses = tuple(random.choices(clauses, k=2))
    return fact, clauses


def _clause(template: str) -> str:
    """A sentence as a clause, which may stand inside another."""
    text = template.removesuffix(".")
    return text if text.startswith(("{", "I ")) else text[:1].lower() + text[1:]


def _with_more(source: Words, place: int, drawn: list[dict[str, str]], said: list[str]) -> list[str]:
    """The clauses, each beside one of another kind about the same person."""
    random = source.random
    other = random.choice([number for number in _OF_PEOPLE if number != place])
    fact, clauses = _worded(random, other)
    others = drawn_pairs(source, fact, len(drawn))
    more = [
        with_pair(random.choice(clauses), {"a": pair["a"], "b": another["b"]})
        for pair, another in zip(drawn, others, strict=True)
    ]
    if random.random() < 0.5:
        return [clause for both in zip(said, more, strict=True) for clause in both]
    return [*more, *said] if random.random() < 0.5 else [*said, *more]


def _joint(random: Random) -> str:
    return random.choice((" ", " ", " ", "\n"))


def _asked(random: Random, fact: Fact, key: str, pair: dict[str, str]) -> str:
    question = with_pair(random.choice(fact.first if key == "a" else fact.second), pair)
    return random.choice(QUESTION_FRAMES).format(question=question[:1].upper() + question[1:])


def answer(random: Random) -> Pair:
    """One to five facts, a question, the answer: a word or two."""
    found = scene(Words(random), random.choice((1, 2, 2, 3, 3, 4, 5)))
    chosen, key = random.choice(found.drawn), random.choice("abb")
    question = _asked(random, found.fact, key, chosen)
    joint = "\n" if found.sentences[0].startswith("- ") else _joint(random)
    if random.random() < 0.1:
        return Pair(f"{joint.join(found.sentences)}\nQ: {question}\nA: ", f"{chosen[key]}{random.choice(('', '.'))}")
    prompt = joint.join([*found.sentences, question])
    return Pair(prompt + random.choice((" ", " ", " ", "\n")), chosen[key] + random.choice((".", "", "", "")))


def answers(random: Random) -> Pair:
    """Two to six facts and a question about most of them, one after the other, each with its answer."""
    found = scene(Words(random), random.choice((2, 3, 3, 4, 4, 5, 6)))
    layout = random.choice(("\n{question} ", "\n{question} ", "\nQ: {question}\nA: ", " {question} ", "\n{question}\n"))
    text = _joint(random).join(found.sentences)
    spans: list[tuple[int, int]] = []
    end = random.choice(("", "", "."))
    asked: list[tuple[str, str]] = []
    for pair in random.sample(found.drawn, max(2, len(found.drawn) - random.randint(0, 1))):
        key = random.choice("abbb")
        asked.append((layout.format(question=_asked(random, found.fact, key, pair)), pair[key] + end))
    for question, written in asked[:-1]:
        text += question
        spans.append((len(text), len(text) + len(written)))
        text += written
    return Pair(text + asked[-1][0], asked[-1][1], tuple(spans))


def answer_sentence(random: Random) -> Pair:
    """Facts, a question, and the fact that answers it, again as it was told."""
    source = Words(random)
    fact = random.choice(FACTS)
    sentences, drawn = told(source, fact, random.choice((1, 2, 2, 3)), fact.told)
    place = random.randrange(len(drawn))
    question = _asked(random, fact, random.choice("ab"), drawn[place])
    prompt = _joint(random).join([*sentences, question])
    return Pair(prompt + random.choice((" ", "\n")), sentences[place].removesuffix(random.choice((".", ""))))


def either_or(random: Random) -> Pair:
    """Facts, and which of two to four is right: what they say, in the words of the facts."""
    found = scene(Words(random), random.choice((2, 2, 3, 4)))
    key, place = random.choice("abb"), random.randrange(len(found.drawn))
    offered = [pair[key] for pair in found.drawn]
    random.shuffle(offered)
    question = _asked(random, found.fact, key, found.drawn[place])
    listed = f"{', '.join(offered[:-1])} or {offered[-1]}"
    form = random.choice(("{question} {listed}? ", "{question}\n{listed}: ", "{listed}?\n{question} ", "{question} "))
    prompt = _joint(random).join([*found.sentences, form.format(question=question, listed=listed)])
    return Pair(prompt, found.drawn[place][key])


def filled_gap(random: Random) -> Pair:
    """Facts, and the beginning of one of them again, to be completed."""
    source = Words(random)
    place = random.choice([number for number, fact in enumerate(FACTS) if any(map(_ends, fact.told))])
    fact, clauses = _worded(random, place)
    drawn = drawn_pairs(source, fact, random.choice((1, 2, 3, 4)))
    sentences = told_in_sentences(random, [with_pair(random.choice(clauses), pair) for pair in drawn])
    chosen = random.choice(drawn)
    template = random.choice([template for template in fact.told if _ends(template)])
    begun = with_pair(template, chosen).removesuffix(f"{chosen['b']}.")
    return Pair(_joint(random).join([*sentences, begun]), f"{chosen['b']}{random.choice(('', '.'))}")


def _ends(template: str) -> bool:
    return template.endswith("{b}.")


def yes_or_no(random: Random) -> Pair:
    """Facts, and whether something is so."""
    source = Words(random)
    found = scene(source, random.choice((1, 2, 2, 3)))
    chosen = dict(random.choice(found.drawn))
    right = random.random() < 0.5
    if not right:
        others = [pair["b"] for pair in found.drawn if pair["b"] != chosen["b"]]
        while True:
            other = random.choice(others) if others and random.random() < 0.6 else found.fact.makes[1](source)
            if other != chosen["b"]:
                break
        chosen["b"] = other
    question = with_pair(random.choice(found.fact.whether), chosen)
    shape = random.choice((("Yes", "No"), ("Yes", "No"), ("yes", "no"), ("Yes.", "No."), ("true", "false")))
    prompt = _joint(random).join([*found.sentences, question])
    prompt += random.choice((" ", " ", "\n", " yes or no? ", "\nAnswer: "))
    return Pair(prompt, shape[0] if right else shape[1])
