"""The slots of a template: the form of a value in a sentence and in a record, and the names that its key may have."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from training.corpus.dates import clock, day
from training.corpus.lexicon import MONTHS, WEEKDAYS, words

from .words import NUMBER_WORDS, Words

Leaf: TypeAlias = str | int | float | bool


class Filled(NamedTuple):
    """A value in the form of the sentence, and in that of the record."""

    text: str
    value: Leaf


class Slot(NamedTuple):
    """A slot: how to fill it, and the names that its key may have, in lower case with underscores."""

    fill: Callable[[Words], Filled]
    keys: tuple[str, ...]


def notations(date: datetime.date) -> tuple[str, ...]:
    """The ways in which a sentence writes a date; the record has the first."""
    month = MONTHS[date.month - 1]
    return (
        date.isoformat(),
        f"{date.day} {month} {date.year}",
        f"{month} {date.day}, {date.year}",
    )


def _date(source: Words) -> Filled:
    date = day(source.random)
    iso, *others = notations(date)
    return Filled(iso if source.random.random() < 0.6 else source.random.choice(others), iso)


def _money(source: Words) -> Filled:
    value = source.amount()
    text = f"{value}" if isinstance(value, int) else f"{value:.2f}"
    return Filled(
        source.random.choice(("${}", "€{}", "£{}", "{} euros", "{} dollars", "{} EUR", "{}")).format(text), value
    )


def _copied(make: Callable[[Words], str]) -> Callable[[Words], Filled]:
    def fill(source: Words) -> Filled:
        text = make(source)
        return Filled(text, text)

    return fill


def _integer(first: int, last: int) -> Callable[[Words], Filled]:
    def fill(source: Words) -> Filled:
        value = source.random.randint(first, last)
        return Filled(str(value), value)

    return fill


def _count(source: Words) -> Filled:
    return Filled(*source.number())


def _in_letters(source: Words) -> Filled:
    """A number in letters."""
    value = source.random.randint(2, 12)
    return Filled(NUMBER_WORDS[value - 2], value)


def _decimal(source: Words) -> Filled:
    value = source.random.randint(1, 99) + source.random.randint(1, 9) / 10
    return Filled(str(value), value)


def _told(yes: tuple[str, ...], no: tuple[str, ...]) -> Callable[[Words], Filled]:
    """A clause that says whether something is so."""

    def fill(source: Words) -> Filled:
        value = source.random.random() < 0.5
        return Filled(source.random.choice(yes if value else no), value)

    return fill


def _one_of(text: str) -> Callable[[Words], Filled]:
    return _copied(lambda source: source.random.choice(words(text)))


_WHO = ("name", "name", "name", "person", "full_name", "who")
SLOTS: dict[str, Slot] = {
    "name": Slot(_copied(Words.name), _WHO),
    "first": Slot(_copied(Words.first_name), ("first_name", "first_name", "given_name", "first", "name")),
    "last": Slot(_copied(Words.surname), ("last_name", "last_name", "surname", "family_name", "last")),
    "age": Slot(_integer(1, 99), ("age", "age", "age", "years", "years_old", "age_in_years")),
    "job": Slot(_copied(Words.job), ("job", "job", "profession", "occupation", "work", "role", "position")),
    "city": Slot(_copied(Words.city), ("city", "city", "town", "place", "location", "home", "lives_in", "where")),
    "country": Slot(_copied(Words.country), ("country", "country", "nation", "land", "from")),
    "email": Slot(_copied(Words.email), ("email", "email", "mail", "e_mail", "contact")),
    "phone": Slot(_copied(Words.phone), ("phone", "phone", "telephone", "phone_number", "tel")),
    "company": Slot(_copied(Words.company), ("company", "company", "employer", "firm", "organisation", "org")),
    "street": Slot(_copied(Words.street), ("street", "address", "street", "street_address")),
    "zip": Slot(_copied(lambda source: source.digits(5)), ("zip", "postcode", "zip_code", "postal_code")),
    "student": Slot(
        _told(("is a student", "is still a student"), ("is not a student", "is no longer a student")),
        ("student", "is_student"),
    ),
    "married": Slot(_told(("is married",), ("is not married", "is single")), ("married", "is_married")),
    "hobby": Slot(
        _one_of(
            "chess football painting dancing cooking photography astronomy tennis swimming sailing knitting poetry"
        ),
        ("hobby", "hobby", "likes", "interest", "sport"),
    ),
    "language": Slot(
        _copied(lambda source: source.word(("ish", "ese", "ian", "ic")).capitalize()),
        ("language", "language", "speaks", "mother_tongue"),
    ),
    "customer": Slot(_copied(Words.name), ("customer", "customer", "buyer", "client", "ordered_by")),
    "product": Slot(_copied(Words.product), ("product", "product", "item", "article", "thing", "what")),
    "count": Slot(_count, ("quantity", "quantity", "count", "pieces", "how_many")),
    "few": Slot(_in_letters, ("quantity", "count", "amount", "number", "pieces", "how_many")),
    "price": Slot(_money, ("price", "price", "price", "cost", "amount", "costs")),
    "total": Slot(_money, ("total", "total", "amount", "sum", "price")),
    "stock": Slot(_count, ("stock", "in_stock", "stock", "available", "left")),
    "few_left": Slot(_in_letters, ("stock", "in_stock", "stock", "available", "left")),
    "colour": Slot(_copied(Words.colour), ("colour", "color", "colour")),
    "material": Slot(_copied(Words.material), ("material", "made_of", "material")),
    "paid": Slot(
        _told(("has paid", "has already paid", "paid at once"), ("has not paid yet", "has not paid", "did not pay")),
        ("paid", "paid", "is_paid", "has_paid"),
    ),
    "code": Slot(_copied(Words.code), ("id", "code", "number", "order", "order_id", "reference", "ticket")),
    "date": Slot(_date, ("date", "date", "date", "day", "on", "when")),
    "time": Slot(
        _copied(lambda source: clock(source.random)), ("time", "time", "time", "hour", "at", "starts_at", "start")
    ),
    "weekday": Slot(_copied(lambda source: source.random.choice(WEEKDAYS)), ("day", "weekday", "day", "on")),
    "event": Slot(
        _one_of("concert meeting exam party wedding lecture workshop dinner interview match exhibition conference"),
        ("event", "event", "what", "type", "kind"),
    ),
    "room": Slot(_copied(Words.code), ("room", "room", "place", "hall")),
    "guest": Slot(_copied(Words.name), ("guest", "with", "speaker", "person", "who")),
    "book": Slot(_copied(Words.title), ("title", "title", "book")),
    "author": Slot(_copied(Words.name), ("author", "author", "writer", "by", "written_by")),
    "year": Slot(_integer(1700, 2030), ("year", "year", "published", "since", "in")),
    "pages": Slot(_integer(40, 1200), ("pages", "pages", "page_count", "length")),
    "singer": Slot(_copied(Words.name), ("artist", "singer", "artist", "by", "band", "musician")),
    "start": Slot(_copied(Words.city), ("from", "from", "origin", "departure", "start")),
    "goal": Slot(_copied(Words.city), ("to", "to", "destination", "arrival", "goal")),
    "platform": Slot(_integer(1, 30), ("platform", "platform", "track", "gate")),
    "flight": Slot(_copied(Words.code), ("flight", "train", "number", "id", "line")),
    "pet": Slot(_copied(Words.first_name), ("name", "name", "pet", "called")),
    "animal": Slot(_copied(Words.animal), ("animal", "animal", "kind", "species", "type", "pet")),
    "owner": Slot(_copied(Words.name), ("owner", "owner", "belongs_to", "person")),
    "degrees": Slot(_integer(-20, 40), ("temperature", "temperature", "degrees", "celsius")),
    "sky": Slot(_one_of("sunny cloudy rainy windy snowy foggy stormy dry icy"), ("sky", "weather", "condition")),
    "weight": Slot(_decimal, ("weight", "weight", "kilos", "kg", "weight_kg")),
    "distance": Slot(_count, ("distance", "kilometres", "km", "distance_km", "length")),
    "file": Slot(
        _copied(lambda source: f"{source.word()}.{source.random.choice(words('txt csv json log pdf png'))}"),
        ("file", "file", "filename", "path", "attachment"),
    ),
    "site": Slot(_copied(Words.site), ("url", "url", "website", "site", "link", "page")),
    "sender": Slot(_copied(Words.name), ("sender", "from", "sender", "author")),
    "receiver": Slot(_copied(Words.name), ("receiver", "to", "recipient", "receiver")),
    "service": Slot(_copied(Words.word), ("service", "service", "server", "component", "host")),
    "level": Slot(_one_of("ERROR WARNING INFO DEBUG"), ("level", "level", "severity")),
    "seconds": Slot(_integer(1, 900), ("seconds", "duration", "took", "time_s")),
    "goals": Slot(_integer(0, 9), ("goals", "score", "points", "home_goals")),
    "team": Slot(_copied(Words.city), ("team", "team", "club", "home", "winner")),
}
"""Symbol of a template to its slot. Keys that are named twice are drawn twice as often."""
