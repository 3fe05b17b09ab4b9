"""A question about a table, and the SQL that answers it."""

from __future__ import annotations

from random import Random

from .pair import Pair
from .query_wordings import composed_query
from .words import Words

_TEXT_COLUMNS = (
    "city",
    "name",
    "country",
    "colour",
    "status",
    "kind",
    "author",
    "team",
    "customer",
    "owner",
    "product",
)
_NUMBER_COLUMNS = ("price", "age", "year", "weight", "stock", "pages", "points", "total", "size", "distance", "salary")
_TABLES = ("orders", "flights", "books", "people", "users", "songs", "cars", "houses", "animals", "trips", "students")
TEMPLATES: tuple[tuple[str, str], ...] = (
    ("How many {table} are there?", "SELECT count(*) FROM {table}"),
    ("Count the {table}.", "SELECT count(*) FROM {table}"),
    ("Number of {table}?", "SELECT count(*) FROM {table}"),
    ("Show all {table}.", "SELECT * FROM {table}"),
    ("List the {table}.", "SELECT * FROM {table}"),
    ("Give me all {table}.", "SELECT * FROM {table}"),
    ("Show the {text} of all {table}.", "SELECT {text} FROM {table}"),
    ("List the {number} of the {table}.", "SELECT {number} FROM {table}"),
    ("Which {text} do the {table} have?", "SELECT {text} FROM {table}"),
    ("Show {text} and {number} of all {table}.", "SELECT {text}, {number} FROM {table}"),
    ("How many {table} have the {text} {word}?", "SELECT count(*) FROM {table} WHERE {text} = '{word}'"),
    ("Count the {table} with the {text} {word}.", "SELECT count(*) FROM {table} WHERE {text} = '{word}'"),
    ("Show the {table} whose {text} is {word}.", "SELECT * FROM {table} WHERE {text} = '{word}'"),
    ("Which {table} have the {text} {word}?", "SELECT * FROM {table} WHERE {text} = '{word}'"),
    ("Find {table} where the {text} is {word}.", "SELECT * FROM {table} WHERE {text} = '{word}'"),
    ("Show the {number} of {table} with the {text} {word}.", "SELECT {number} FROM {table} WHERE {text} = '{word}'"),
    ("What is the {number} where {text} is {word}?", "SELECT {number} FROM {table} WHERE {text} = '{word}'"),
    ("Which {table} have a {number} above {value}?", "SELECT * FROM {table} WHERE {number} > {value}"),
    ("Show {table} with a {number} of more than {value}.", "SELECT * FROM {table} WHERE {number} > {value}"),
    ("List the {table} whose {number} is over {value}.", "SELECT * FROM {table} WHERE {number} > {value}"),
    ("How many {table} have a {number} above {value}?", "SELECT count(*) FROM {table} WHERE {number} > {value}"),
    ("Which {table} have a {number} below {value}?", "SELECT * FROM {table} WHERE {number} < {value}"),
    ("Show {table} with a {number} of less than {value}.", "SELECT * FROM {table} WHERE {number} < {value}"),
    ("How many {table} have a {number} under {value}?", "SELECT count(*) FROM {table} WHERE {number} < {value}"),
    ("Which {table} have the {number} {value}?", "SELECT * FROM {table} WHERE {number} = {value}"),
    ("Show the {text} of {table} with {number} {value}.", "SELECT {text} FROM {table} WHERE {number} = {value}"),
    ("Show the {text} where the {number} is above {value}.", "SELECT {text} FROM {table} WHERE {number} > {value}"),
    ("What is the highest {number} of the {table}?", "SELECT max({number}) FROM {table}"),
    ("What is the greatest {number}?", "SELECT max({number}) FROM {table}"),
    ("What is the lowest {number} of the {table}?", "SELECT min({number}) FROM {table}"),
    ("What is the smallest {number}?", "SELECT min({number}) FROM {table}"),
    ("What is the average {number} of the {table}?", "SELECT avg({number}) FROM {table}"),
    ("Average {number}?", "SELECT avg({number}) FROM {table}"),
    ("What is the sum of {number}?", "SELECT sum({number}) FROM {table}"),
    ("What is the total {number} of all {table}?", "SELECT sum({number}) FROM {table}"),
    ("Show {table} sorted by {number}.", "SELECT * FROM {table} ORDER BY {number}"),
    ("List the {table} in the order of {number}.", "SELECT * FROM {table} ORDER BY {number}"),
    (
        "Show the {value} {table} with the highest {number}.",
        "SELECT * FROM {table} ORDER BY {number} DESC LIMIT {value}",
    ),
    ("Which {text} are there?", "SELECT DISTINCT {text} FROM {table}"),
    (
        "Which {table} have the {text} {word} and a {number} above {value}?",
        "SELECT * FROM {table} WHERE {text} = '{word}' AND {number} > {value}",
    ),
    (
        "Show {table} with {text} {word} and {number} below {value}.",
        "SELECT * FROM {table} WHERE {text} = '{word}' AND {number} < {value}",
    ),
)
"""Questions and what they ask for."""

HELD_BACK: tuple[tuple[str, str], ...] = (
    ("How many of the {table} have {word} as their {text}?", "SELECT count(*) FROM {table} WHERE {text} = '{word}'"),
    ("I want to see the {table} with a {number} above {value}.", "SELECT * FROM {table} WHERE {number} > {value}"),
    ("Tell me the {text} of all the {table}.", "SELECT {text} FROM {table}"),
    ("What is the highest {number} in {table}?", "SELECT max({number}) FROM {table}"),
    ("Find the {table} whose {number} is less than {value}.", "SELECT * FROM {table} WHERE {number} < {value}"),
    ("Please count all {table}.", "SELECT count(*) FROM {table}"),
)
"""Questions that no training text asks, for the evaluation."""


def asked(source: Words, template: tuple[str, str]) -> tuple[str, str]:
    """The description of a table with a question about it, and the query."""
    random = source.random
    invented = random.random() < 0.4 or source.held_back
    texts = [source.word() if invented else random.choice(_TEXT_COLUMNS) for _ in range(random.randint(1, 2))]
    numbers = [source.word() if invented else random.choice(_NUMBER_COLUMNS) for _ in range(random.randint(1, 2))]
    table = source.word() + "s" if invented else random.choice(_TABLES)
    columns = list(dict.fromkeys(["id", *texts, *numbers] if random.random() < 0.4 else [*texts, *numbers]))
    random.shuffle(columns)
    fields = {
        "table": table,
        "text": random.choice(texts),
        "number": random.choice(numbers),
        "word": random.choice((source.city, source.word, source.first_name, source.colour))().replace("'", ""),
        "value": random.randint(1, random.choice((9, 99, 999, 9999))),
    }
    described = random.choice(
        ("{table}({columns})", "Table {table}: {columns}", "{table}: {columns}", "Table {table} ({columns}).")
    ).format(table=table, columns=", ".join(columns))
    question, query = (part.format_map(fields) for part in template)
    return f"{described}\n{question}", query


def query(random: Random) -> Pair:
    """A table, a question, its SQL."""
    template = random.choice(TEMPLATES) if random.random() < 0.4 else composed_query(random)
    question, answer = asked(Words(random), template)
    return Pair(
        question + random.choice(("\n", "\n", "\nSQL: ", " ", "", "\n\n")), answer + random.choice(("", "", ";"))
    )
