"""JSON records of people and products, compact (``{"name":"Anna","age":34}``) or indented by two spaces."""

from __future__ import annotations

import json
from random import Random

from .lexicon import CITIES, COLOURS, JOBS, NAMES, QUALITIES, SURNAMES, THINGS

Value = str | int | float | bool | list[str]

_PERSON_LABELS = (
    "Person: ",
    "Here is a person: ",
    "This is a person: ",
    "A person as JSON: ",
    "A new person: ",
    "A young person: ",
    "One person: ",
    "The person: ",
    "Somebody: ",
    "Name and age: ",
    "User: ",
    "A user: ",
    "A customer: ",
    "A friend: ",
    "A student: ",
    "The record of a person:\n",
    "Person:\n",
)
_PEOPLE_LABELS = ("People: ", "Some friends: ", "Our customers:\n", "")
_PRODUCT_LABELS = (
    "Product: ",
    "A product: ",
    "Here is a product: ",
    "For sale: ",
    "In stock: ",
    "Item: ",
    "Product:\n",
    "New in our shop:\n",
)


def written(record: dict[str, Value] | list[dict[str, Value]], random: Random) -> str:
    """The record as JSON text, compact two times out of three."""
    if random.random() < 2 / 3:
        return json.dumps(record, separators=(",", ":"))
    return json.dumps(record, indent=2)


def person(random: Random) -> str:
    """A person or a list of people, with or without a label in front."""
    if random.random() < 0.1:
        people = [_person(random, extra=False) for _ in range(random.randint(2, 4))]
        return random.choice(_PEOPLE_LABELS) + written(people, random)
    return _labelled(random, _PERSON_LABELS, written(_person(random, extra=random.random() < 0.4), random))


def product(random: Random) -> str:
    """A product with its price, with or without a label in front."""
    name = f"{random.choice(COLOURS + QUALITIES[:10])} {random.choice(THINGS)}"
    record: dict[str, Value] = {
        "product": name,
        "price": round(random.randint(1, 199) + random.choice((0.5, 0.95, 0.99)), 2),
    }
    if random.random() < 0.6:
        record["stock"] = random.randint(0, 250)
    if random.random() < 0.4:
        record["colours"] = random.sample(COLOURS, random.randint(1, 3))
    if random.random() < 0.3:
        record["available"] = random.random() < 0.7
    return _labelled(random, _PRODUCT_LABELS, written(record, random))


def _person(random: Random, *, extra: bool) -> dict[str, Value]:
    record: dict[str, Value] = {"name": random.choice(NAMES), "age": min(99, 18 + int(random.expovariate(1 / 20)))}
    if not extra:
        return record
    name = str(record["name"])
    if random.random() < 0.5:
        record["city"] = random.choice(CITIES)
    if random.random() < 0.5:
        record["job"] = random.choice(JOBS)
    if random.random() < 0.3:
        record["name"] = f"{name} {random.choice(SURNAMES)}"
    if random.random() < 0.3:
        record["email"] = f"{name.lower()}@{random.choice(SURNAMES).lower()}.{random.choice(('com', 'org', 'net'))}"
    if random.random() < 0.2:
        record["student"] = random.random() < 0.5
    return record


def _labelled(random: Random, labels: tuple[str, ...], text: str) -> str:
    return text if random.random() < 0.25 else random.choice(labels) + text
