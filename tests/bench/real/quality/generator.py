"""Items whose right answers are known: the generator of ``tests/data/real/*.jsonl``.

Usage: ``python -m tests.bench.real.quality.generator`` writes the files anew. The same seed gives the same items.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

from . import words

DATA = Path(__file__).resolve().parents[3] / "data" / "real"
ITEMS = 200
"""Of each task."""
_SEED = 46


@dataclass(frozen=True)
class Item:
    """A text, and the right answer to it.

    Attributes:
        text: What is asked about.
        answer: What is to be written as JSON.
    """

    text: str
    answer: dict[str, Any]


def extraction(random: Random) -> Item:
    """An order in a sentence: who buys how many of what, and where it is to be sent."""
    name, other_name = (f"{first} {last}" for first, last in zip(*_two_names(random), strict=True))
    city, other_city = random.sample(words.CITIES, 2)
    product, other_product = random.sample(words.PRODUCTS, 2)
    (spelled, quantity), (other_spelled, _) = random.sample(sorted(words.QUANTITIES.items()), 2)
    text = random.choice(words.ORDERS).format(
        name=name, other_name=other_name, city=city, other_city=other_city, product=product,
        other_product=other_product, n=spelled if random.random() < 0.5 else quantity, other_n=other_spelled,
        price=random.randrange(20, 400), house=random.randrange(2, 90),
    )  # fmt: skip
    answer = {"customer": name, "product": product, "quantity": quantity, "city": city}
    return Item(text, answer)


def classification(random: Random) -> Item:
    """A piece of news: where it comes from, and what it is about."""
    topic, city = random.choice(sorted(words.TOPICS)), random.choice(words.CITIES)
    event = random.choice(words.TOPICS[topic])
    text = random.choice(words.NEWS).format(
        event=event, event_first=_capital(event), city=city, day=random.choice(words.DAYS),
        first=random.choice(words.FIRST_NAMES),
    )  # fmt: skip
    return Item(text, {"place": city, "topic": topic})


def function_call(random: Random) -> Item:
    """A request that one of four functions meets, with its arguments."""
    name = random.choice(sorted(words.REQUESTS))
    slots, arguments = _ARGUMENTS[name](random)
    return Item(random.choice(words.REQUESTS[name]).format(**slots), {"name": name, "arguments": arguments})


def _message(random: Random) -> tuple[dict[str, Any], dict[str, Any]]:
    first, other_first = random.sample(words.FIRST_NAMES, 2)
    message = random.choice(words.MESSAGES)
    return {"first": first, "other_first": other_first, "message": message}, {"to": first, "text": message}


def _music(random: Random) -> tuple[dict[str, Any], dict[str, Any]]:
    artist, other_artist = random.sample(words.ARTISTS, 2)
    room, other_room = random.sample(words.ROOMS, 2)
    slots = {"artist": artist, "other_artist": other_artist, "room": room, "other_room": other_room}
    return slots, {"artist": artist, "room": room}


def _table(random: Random) -> tuple[dict[str, Any], dict[str, Any]]:
    place, other_place = random.sample(words.RESTAURANTS, 2)
    day, other_day = random.sample(words.DAYS, 2)
    spelled, people = random.choice([pair for pair in sorted(words.QUANTITIES.items()) if pair[1] <= 9])
    slots = {"place": place, "other_place": other_place, "day": day, "other_day": other_day, "people": spelled}
    return slots, {"place": place, "people": people, "day": day}


def _conversion(random: Random) -> tuple[dict[str, Any], dict[str, Any]]:
    source, target, other = random.sample(sorted(words.CURRENCIES), 3)
    amount = random.choice((random.randrange(5, 900), round(random.uniform(1, 99), 2)))
    slots = {
        "amount": amount,
        "source": source,
        "target": target,
        "other_currency": other,
        "day": random.choice(words.DAYS),
    }
    return slots, {"amount": amount, "from": words.CURRENCIES[source], "to": words.CURRENCIES[target]}


_ARGUMENTS: dict[str, Callable[[Random], tuple[dict[str, Any], dict[str, Any]]]] = {
    "send_message": _message, "play_music": _music, "book_table": _table, "convert": _conversion
}  # fmt: skip


def _two_names(random: Random) -> tuple[list[str], list[str]]:
    return random.sample(words.FIRST_NAMES, 2), random.sample(words.LAST_NAMES, 2)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


GENERATORS: dict[str, Callable[[Random], Item]] = {
    "extraction": extraction, "classification": classification, "function_call": function_call
}  # fmt: skip


def generated(task: str, count: int = ITEMS) -> list[Item]:
    """So many different items of a task, the same ones each time."""
    random = Random(f"{_SEED} {task}")
    found: dict[str, Item] = {}
    while len(found) < count:
        item = GENERATORS[task](random)
        found.setdefault(item.text, item)
    return list(found.values())


def as_lines(items: list[Item]) -> str:
    """The items as JSON Lines."""
    return "".join(json.dumps(asdict(item), ensure_ascii=False) + "\n" for item in items)


def read_items(task: str) -> list[Item]:
    """The items that lie in the repository."""
    lines = (DATA / f"{task}.jsonl").read_text(encoding="utf-8").splitlines()
    return [Item(**json.loads(line)) for line in lines]


def main() -> None:
    """Write the files."""
    DATA.mkdir(parents=True, exist_ok=True)
    for task in GENERATORS:
        (DATA / f"{task}.jsonl").write_text(as_lines(generated(task)), encoding="utf-8")


if __name__ == "__main__":
    main()
