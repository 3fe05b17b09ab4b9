"""JSON records, compact (``{"name":"Anna","age":34}``) or indented by two spaces: people, products, books."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random

from .dates import clock, day
from .knowledge import ANIMALS, COUNTRIES, JOBS, THINGS
from .lexicon import CITIES, COLOURS, MATERIALS, NAMES, SUBJECTS, SURNAMES, THING_QUALITIES, TOWNS
from .surroundings import FOODS

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
    "An employee: ",
    "A neighbour as JSON: ",
    "The record of a person:\n",
    "Person:\n",
)
_PEOPLE_LABELS = ("People: ", "Some friends: ", "Our customers:\n", "The guests: ", "")
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
_TITLES = ("The {thing} of {city}", "A Book about {subject}", "Letters from {city}", "The Last {thing}", "My {thing}")


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
    return _labelled(random, _PERSON_LABELS, written(_person(random, extra=random.random() < 0.5), random))


def product(random: Random) -> str:
    """A product with its price, with or without a label in front."""
    name = f"{random.choice(COLOURS + THING_QUALITIES)} {random.choice(THINGS).name}"
    record: dict[str, Value] = {
        "product": name,
        "price": round(random.randint(1, 199) + random.choice((0.5, 0.95, 0.99)), 2),
    }
    if random.random() < 0.6:
        record["stock"] = random.randint(0, 250)
    if random.random() < 0.4:
        record["colours"] = random.sample(COLOURS, random.randint(1, 3))
    if random.random() < 0.2:
        record["material"] = random.choice(MATERIALS)
    if random.random() < 0.3:
        record["available"] = random.random() < 0.7
    return _labelled(random, _PRODUCT_LABELS, written(record, random))


def other(random: Random) -> str:
    """A record of some other kind: a country, an animal, a book, an event, the weather, an order."""
    label, make = random.choice(tuple(_OTHERS.items()))
    return _labelled(random, (f"{label}: ", f"{label}:\n", f"{label} as JSON: "), written(make(random), random))


def age(random: Random) -> int:
    """The age of a grown-up person, more often young than old."""
    return min(99, 18 + int(random.expovariate(1 / 20)))


def _person(random: Random, *, extra: bool) -> dict[str, Value]:
    record: dict[str, Value] = {"name": random.choice(NAMES), "age": age(random)}
    if not extra:
        return record
    name = str(record["name"])
    if random.random() < 0.5:
        record["city"] = random.choice(CITIES + TOWNS[:40])
    if random.random() < 0.5:
        record["job"] = random.choice(JOBS).name
    if random.random() < 0.4:
        record["name"] = f"{name} {random.choice(SURNAMES)}"
    if random.random() < 0.3:
        record["email"] = f"{name.lower()}@{random.choice(SURNAMES).lower()}.{random.choice(('com', 'org', 'net'))}"
    if random.random() < 0.2:
        record["student"] = random.random() < 0.5
    if random.random() < 0.2:
        record["likes"] = random.sample(SUBJECTS, random.randint(1, 3))
    return record


def _country(random: Random) -> dict[str, Value]:
    country = random.choice(COUNTRIES)
    record: dict[str, Value] = {"country": country.name, "capital": country.capital}
    if random.random() < 0.6:
        record["language"] = country.language
    if random.random() < 0.6:
        record["continent"] = country.continent
    return record


def _animal(random: Random) -> dict[str, Value]:
    animal = random.choice(ANIMALS)
    record: dict[str, Value] = {"animal": animal.name, "food": animal.food}
    if random.random() < 0.5:
        record["home"] = animal.home
    return record


def _book(random: Random) -> dict[str, Value]:
    thing, city = random.choice(THINGS).name.capitalize(), random.choice(CITIES)
    title = random.choice(_TITLES).format(thing=thing, city=city, subject=random.choice(SUBJECTS[:24]).capitalize())
    author = f"{random.choice(NAMES)} {random.choice(SURNAMES)}"
    record: dict[str, Value] = {"title": title, "author": author, "year": random.randint(1950, 2020)}
    if random.random() < 0.5:
        record["pages"] = random.randint(60, 800)
    return record


def _event(random: Random) -> dict[str, Value]:
    event = random.choice(("concert", "meeting", "exam", "party", "wedding", "football match", "market", "lesson"))
    record: dict[str, Value] = {"event": event, "date": day(random).isoformat(), "time": clock(random)}
    if random.random() < 0.6:
        record["city"] = random.choice(CITIES)
    return record


def _weather(random: Random) -> dict[str, Value]:
    degrees = random.randint(-10, 35)
    sky = random.choice(("sunny", "cloudy", "rainy") if degrees > 3 else ("sunny", "cloudy", "snowy"))
    record: dict[str, Value] = {"city": random.choice(CITIES), "temperature": degrees, "sky": sky}
    if random.random() < 0.4:
        record["wind"] = random.choice(("north", "south", "east", "west"))
    return record


def _order(random: Random) -> dict[str, Value]:
    items = [food.name for food in random.sample(FOODS, random.randint(1, 3))]
    return {"customer": random.choice(NAMES), "items": items, "paid": random.random() < 0.6}


_OTHERS: dict[str, Callable[[Random], dict[str, Value]]] = {
    "Country": _country,
    "Animal": _animal,
    "Book": _book,
    "Event": _event,
    "Weather": _weather,
    "Order": _order,
}


def _labelled(random: Random, labels: tuple[str, ...], text: str) -> str:
    return text if random.random() < 0.25 else random.choice(labels) + text
