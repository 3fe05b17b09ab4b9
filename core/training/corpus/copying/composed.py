"""Templates put together from a subject and what is said of it: a sentence or several, in any order."""

from __future__ import annotations

from random import Random
from typing import NamedTuple


class Subject(NamedTuple):
    """A subject, with the clauses that can be said of it.

    Attributes:
        named: How it is named first, with its slot.
        again: How it is named in the sentences after the first.
        clauses: What is said of it.
    """

    named: tuple[str, ...]
    again: tuple[str, ...]
    clauses: tuple[str, ...]


SUBJECTS: tuple[Subject, ...] = (
    Subject(
        (
            "{name}",
            "{name}",
            "{name}",
            "My friend {name}",
            "My colleague {name}",
            "Our customer {name}",
            "A certain {name}",
        ),
        ("He", "She", "He", "She", "Our friend"),
        (
            "is {age} years old",
            "is {age}",
            "is a(n) {job}",
            "works as a(n) {job}",
            "earns a living as a(n) {job}",
            "lives in {city}",
            "has a flat in {city}",
            "was born in {city}",
            "comes from {country}",
            "works for {company}",
            "has found work at {company}",
            "likes {hobby}",
            "speaks {language}",
            "has the telephone number {phone}",
            "can be reached at {email}",
            "was born in {year}",
            "was born on {date}",
            "has a(n) {animal}",
            "drives a {colour} car",
            "{student}",
            "{married}",
            "lives at {street}",
            "weighs {weight} kilos",
            "wants to travel to {goal}",
            "writes for {site}",
        ),
    ),
    Subject(
        ("The {product}", "The {product}", "Our {product}", "A(n) {product}", "This {product}"),
        ("It", "It", "It also", "The thing"),
        (
            "costs {price}",
            "is sold for {price}",
            "is made of {material}",
            "comes in {colour}",
            "weighs {weight} kilos",
            "is sold by {company}",
            "comes from {city}",
            "was made in {country}",
            "was made in {year}",
            "has the number {code}",
            "was ordered by {customer}",
            "was sold {count} times",
            "will be delivered on {date}",
            "is on sale until {weekday}",
            "can be seen at {site}",
        ),
    ),
    Subject(
        ("The {event}", "The {event}", "Our {event}", "A(n) {event}", "This year's {event}"),
        ("It", "It", "The whole thing"),
        (
            "takes place in {city}",
            "is held in {city}",
            "begins at {time}",
            "starts at {time}",
            "is on {date}",
            "takes place on {date}",
            "will be opened by {guest}",
            "is organised by {company}",
            "costs {price}",
            "is in room {room}",
            "has {count} guests",
            "is announced at {site}",
        ),
    ),
    Subject(
        ("{company}", "{company}", "The firm {company}", "The company {company}"),
        ("It", "The company", "The firm"),
        (
            "was founded in {year}",
            "was founded by {name}",
            "has its seat in {city}",
            "is at home in {city}",
            "sells {product}",
            "has {count} employees",
            "belongs to {owner}",
            "made a profit of {total}",
            "can be reached at {email}",
            "has the telephone number {phone}",
            "works in {country}",
        ),
    ),
    Subject(
        ('"{book}"', '"{book}"', 'The book "{book}"', 'The story "{book}"'),
        ("It", "The book"),
        (
            "was written by {author}",
            "is by {author}",
            "came out in {year}",
            "was published in {year}",
            "has {pages} pages",
            "costs {price}",
            "plays in {city}",
            "tells of {name}",
            "was translated from {language}",
        ),
    ),
    Subject(
        ("{pet} the {animal}", "{pet}", "The {animal} {pet}"),
        ("It", "The little one"),
        (
            "belongs to {owner}",
            "lives with {owner}",
            "is {age} years old",
            "weighs {weight} kilos",
            "was found in {city}",
            "is {colour}",
        ),
    ),
    Subject(
        ("The train {flight}", "Flight {flight}", "{flight}", "The bus {flight}"),
        ("It", "It then"),
        (
            "goes to {goal}",
            "leaves {start}",
            "comes from {start}",
            "leaves at {time}",
            "goes from {start} to {goal}",
            "costs {price}",
            "waits on platform {platform}",
            "was booked by {name}",
            "runs on {weekday}",
            "leaves on {date}",
        ),
    ),
    Subject(
        ("Order {code}", "The order {code}", "Ticket {code}", "Invoice {code}"),
        ("It", "It"),
        (
            "was placed by {customer}",
            "comes from {customer}",
            "came on {date}",
            "is from {date}",
            "is over {total}",
            "has {count} items",
            "goes to {city}",
            "will be sent to {street}",
            "was answered by {sender}",
            "was sent to {email}",
        ),
    ),
)
_PAIRED = (
    "{first} and {second}",
    "{first} and {second}",
    "{first}, {second}",
    "{first} but {second}",
    "{first} and also {second}",
)


def composed(random: Random) -> str:
    """A template with two to four clauses, in one sentence or several, each of whose slots stands there once."""
    subject = random.choice(SUBJECTS)
    named = random.choice(subject.named)
    chosen: list[str] = []
    for clause in random.sample(subject.clauses, len(subject.clauses)):
        if len(chosen) == 4 or (len(chosen) == 2 and random.random() < 0.5):
            break
        if not _slots(clause) & _slots(" ".join((named, *chosen))):
            chosen.append(clause)
    text = named
    if len(chosen) > 2 and random.random() < 0.3:
        return f"{named} {', '.join(chosen[:-1])} and {chosen[-1]}."
    if len(chosen) > 1 and random.random() < 0.25:
        which = "who" if "He" in subject.again else "which"
        return f"{named}, {which} {' and '.join(chosen[:-1])}, {chosen[-1]}."
    while chosen:
        if len(chosen) > 1 and random.random() < 0.5:
            first, second = chosen.pop(), chosen.pop()
            text += " " + random.choice(_PAIRED).replace("{first}", first).replace("{second}", second)
        else:
            text += " " + chosen.pop()
        text += "."
        if chosen:
            text += " " + random.choice(subject.again)
    return text


def _slots(template: str) -> set[str]:
    return {part.partition("}")[0] for part in template.split("{")[1:]}
