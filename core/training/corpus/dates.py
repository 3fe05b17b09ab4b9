"""Dates and times in the usual notations, alone, labelled or in a sentence."""

from __future__ import annotations

import datetime
from random import Random

from .grammar import Grammar
from .lexicon import MONTHS, RULES, WEEKDAYS

_FIRST = datetime.date(1950, 1, 1)
_DAYS = 36_500

_RULES: dict[str, tuple[str, ...]] = {
    "sentence": (
        "<date>",
        "<date>",
        "The date: <date>",
        "Date of birth: <date>",
        "Date:\n<date>",
        "date: <date>",
        "Day: <date>",
        "Date and time: <date> <time>",
        "Today is <date>.",
        "The date is <date>.",
        "Born: <date>",
        "<Name> was born on <date>.",
        "The concert in <city> is on <date>.",
        "The letter from <name> arrived on <date>.",
        "Due date: <date>",
        "Start: <date> <time>",
        "Time: <time>",
        "The train to <city> leaves at <time>.",
        "Meeting with <name> <surname>, <date>, <time>",
        "<City>, <date>",
        "When does the shop open? On <date> at <time>.",
        "From <date> the <place> is closed.",
        "Updated: <date>",
        "Departure: <date>, <time>",
        "On <date> <name> <surname> became a(n) <job>.",
        "The exam is on <date>.",
        "The date of the wedding is <date>.",
    ),
}
_GRAMMAR = Grammar(RULES, _RULES)


def day(random: Random) -> datetime.date:
    """A day of the hundred years from 1950 on."""
    return _FIRST + datetime.timedelta(days=random.randrange(_DAYS))


def notation(random: Random, date: datetime.date) -> str:
    """The date in one of seven notations, ISO 8601 most often; written without the locale."""
    month, weekday = MONTHS[date.month - 1], WEEKDAYS[date.weekday()]
    iso = date.isoformat()
    return random.choice(
        (
            iso,
            iso,
            iso,
            f"{date.day} {month} {date.year}",
            f"{month} {date.day}, {date.year}",
            f"{weekday}, {date.day} {month} {date.year}",
            f"{date.day:02}/{date.month:02}/{date.year}",
            f"{date.day:02}.{date.month:02}.{date.year}",
            f"{date.day} {month[:3]} {date.year}",
        )
    )


def clock(random: Random) -> str:
    """A time of day, ``HH:MM``."""
    return f"{random.randrange(24):02}:{random.randrange(60):02}"


def date(random: Random) -> str:
    """A line with a date."""
    return _GRAMMAR.write(random, "sentence", date=notation(random, day(random)), time=clock(random))
