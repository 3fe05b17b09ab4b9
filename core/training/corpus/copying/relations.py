"""Facts with drawn relations and verbs, some of them invented."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from training.corpus.lexicon import words

from .told_facts import Fact
from .words import Words

_RELATIONS = words(
    "boss friend neighbour teacher partner captain doctor rival cousin guest code number key colour size password "
    "symbol name owner goal town room song colleague nickname favourite guide target leader signal answer result"
)
_VERBS = words("sees follows knows helps visits calls paints repairs sells wants carries watches guards likes teaches")


def _relation_of(source: Words) -> str:
    return source.random.choice(_RELATIONS) if source.random.random() < 0.6 else source.word()


def _verb_of(source: Words) -> str:
    return source.random.choice(_VERBS) if source.random.random() < 0.5 else f"{source.word()}s"


def _values(source: Words) -> Callable[[Words], str]:
    return source.random.choice(
        (
            Words.word,
            Words.first_name,
            Words.name,
            Words.city,
            Words.code,
            Words.noun,
            lambda source: str(source.random.randint(1, source.random.choice((9, 99, 999)))),
        )
    )


def relation(source: Words) -> Fact:
    """Facts of one relation: the boss of somebody, the code of a town."""
    kind = _relation_of(source)
    named = source.random.choice(("{a}", "the {a}"))
    whose = Words.noun if named == "the {a}" else source.random.choice((Words.name, Words.first_name, Words.city))
    told = (
        f"the {kind} of {named} is {{b}}",
        f"{named} has the {kind} {{b}}",
        f"{{b}} is the {kind} of {named}",
        f"{named}'s {kind} is {{b}}",
        f"for {named} the {kind} is {{b}}",
        f"{named} was given {{b}} as {kind}",
        f"{named} got {{b}} as {kind}",
        f"{named} has {{b}} for a {kind}",
    )
    return Fact(
        (whose, _values(source)),
        told,
        (f"Whose {kind} is {{b}}?", f"{{b}} is the {kind} of what?", f"Of what is {{b}} the {kind}?"),
        (
            f"What is the {kind} of {named}?",
            f"Which {kind} has {named}?",
            f"Which {kind} does {named} have?",
            f"What is {named}'s {kind}?",
            f"Tell me the {kind} of {named}.",
        ),
        (f"Is {{b}} the {kind} of {named}?", f"Is the {kind} of {named} {{b}}?"),
    )


def verb(source: Words) -> Fact:
    """Facts of one verb: who sees what."""
    done = _verb_of(source)
    do = done.removesuffix("s") if not done.endswith("ches") else done.removesuffix("es")
    thing = source.random.random() < 0.6
    what = "the {b}" if thing else "{b}"
    asked = "What" if thing else "Whom"
    told = (
        f"{{a}} {done} {what}",
        f"{{a}} often {done} {what}",
        f"{{a}} never {done} anybody but {what}",
        f"{what} is what {{a}} {done}" if thing else f"{what} is the one whom {{a}} {done}",
        f"it is {{a}} who {done} {what}",
        f"{{a}}, who is tired, {done} {what}",
    )
    return Fact(
        (Words.first_name, Words.noun if thing else Words.first_name),
        told,
        (f"Who {done} {what}?", f"Tell me who {done} {what}."),
        (f"{asked} does {{a}} {do}?", f"Tell me {asked.lower()} {{a}} {done}.", f"{{a}} {done} {asked.lower()}?"),
        (f"Does {{a}} {do} {what}?",),
    )


def drawn_fact(random: Random) -> Fact:
    """A fact of a relation or of a verb."""
    source = Words(random)
    return relation(source) if random.random() < 0.7 else verb(source)
