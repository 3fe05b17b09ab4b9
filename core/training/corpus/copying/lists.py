"""A sentence that lists people, things, prices or dates, and the list."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random

from .pair import Pair
from .slots import SLOTS, Filled
from .words import Words


def _slot(name: str) -> Callable[[Words], Filled]:
    return SLOTS[name].fill


_LISTS: tuple[tuple[Callable[[Words], Filled], tuple[str, ...], tuple[str, ...]], ...] = (
    (
        _slot("name"),
        (
            "{all} came to the party.",
            "I met {all} in {city}.",
            "The team: {all}.",
            "{all} work in {city}.",
            "We thank {all}.",
            "Letters from {all} have arrived.",
            "The winners are {all}.",
            "Invite {all}, please.",
            "Yesterday {all} went to {city} by train.",
        ),
        ("People", "Names", "Who", "All names", "Persons", "Guests"),
    ),
    (
        _slot("city"),
        (
            "We travel to {all}.",
            "{name} has lived in {all}.",
            "The train stops in {all}.",
            "There are shops in {all}.",
            "{name} wants to see {all}.",
            "From here you can go to {all}.",
        ),
        ("Cities", "Places", "Towns", "Where", "All places"),
    ),
    (
        _slot("product"),
        (
            "Please buy {all}.",
            "{name} ordered {all}.",
            "We need {all}.",
            "In the box there are {all}.",
            "For sale: {all}.",
            "On the table in {city} lie {all}.",
        ),
        ("Items", "Things", "Products", "Shopping list", "What"),
    ),
    (
        _slot("price"),
        (
            "The prices are {all}.",
            "{name} paid {all}.",
            "It cost {all} in {city}.",
            "Three bills came: {all}.",
        ),
        ("Prices", "Amounts", "Numbers", "Costs"),
    ),
    (
        _slot("date"),
        ("We are closed on {all}.", "The lessons are on {all}.", "{name} comes on {all}.", "Free days: {all}."),
        ("Dates", "Days", "When"),
    ),
    (
        _slot("email"),
        ("Write to {all}.", "{name} has the addresses {all}.", "Copies went to {all}."),
        ("E-mails", "Addresses", "Mails", "Contacts"),
    ),
    (
        _slot("count"),
        (
            "{name} drew {all}.",
            "The numbers are {all}.",
            "Add {all}.",
            "Three dice show {all}.",
            "Rooms {all} are free.",
        ),
        ("Numbers", "All numbers", "Values"),
    ),
)


def listing(random: Random) -> Pair:
    """A sentence with a list, and the list as JSON or as lines."""
    source = Words(random)
    fill, templates, labels = random.choice(_LISTS)
    found = [fill(source) for _ in range(random.choice((2, 2, 3, 3, 4, 5)))]
    joined = in_words(random, [one.text for one in found])
    text = random.choice(templates).format(all=joined, name=source.name(), city=source.city())
    label = random.choice((*labels, ""))
    if label and random.random() < 0.7:
        prompt = f"{text}\n{label}:{random.choice((' ', ' ', chr(10)))}"
    elif label:
        prompt = f"{label}: {text}{random.choice((chr(10), chr(10), ' ', ''))}"
    else:
        prompt = text + random.choice(("", " ", "\n"))
    values = [one.value for one in found]
    if random.random() < 0.25:
        return Pair(prompt, "\n".join(f"- {value}" for value in values))
    layout = random.choice(((", ", ": "), (", ", ": "), (",", ":")))
    value: object = {random.choice(labels).lower().replace(" ", "_"): values} if random.random() < 0.3 else values
    return Pair(prompt, json.dumps(value, ensure_ascii=False, separators=layout))


def in_words(random: Random, texts: list[str]) -> str:
    """A list as a sentence has it: with commas and an "and", or with something else."""
    if random.random() < 0.7:
        return f"{', '.join(texts[:-1])} and {texts[-1]}"
    return random.choice((", ", "; ", " and ")).join(texts)
