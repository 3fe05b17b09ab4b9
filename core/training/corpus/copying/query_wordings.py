"""Questions about a table put together from what is wanted and on what condition, with the query of each."""

from __future__ import annotations

from random import Random

_ALL = (
    "Show the {table}",
    "Show me the {table}",
    "List all {table}",
    "List the {table}",
    "Give me the {table}",
    "Which are the {table}",
    "Find all {table}",
    "Get the {table}",
    "Display the {table}",
    "Select the {table}",
    "I need the {table}",
    "I am looking for the {table}",
    "Can you show me the {table}",
    "Please list the {table}",
    "Let me see the {table}",
    "Return all {table}",
    "Print the {table}",
    "All {table}",
    "Are there {table}",
)
_COUNTED = (
    "How many {table} are there",
    "Count the {table}",
    "Count all the {table}",
    "What is the number of {table}",
    "Give me the number of {table}",
    "Tell me how many {table} there are",
    "How many are the {table}",
    "I want to know the number of {table}",
    "Please tell me the number of {table}",
    "Could you count the {table}",
    "Please give me a count of the {table}",
    "The number of {table}",
    "How large is the number of {table}",
    "Count, please: {table}",
)
_COLUMN = (
    "Show the {what} of the {table}",
    "List the {what} of all {table}",
    "Give me the {what} of the {table}",
    "What is the {what} of the {table}",
    "Name the {what} of the {table}",
    "I want to know the {what} of the {table}",
    "Find the {what} of {table}",
    "Please show the {what} of all {table}",
    "Only the {what} of the {table}",
    "For all {table}, show the {what}",
    "Which {what} do I find in {table}",
)
_IS = (
    "whose {text} is {word}",
    "with the {text} {word}",
    "with {word} as {text}",
    "with {word} as their {text}",
    "that have the {text} {word}",
    "that have {word} for {text}",
    "where the {text} is {word}",
    "where {text} equals {word}",
    "in which {text} is {word}",
    "having {word} in {text}",
    "which have {word} as the {text}",
    "for which the {text} is {word}",
    "of the {text} {word}",
)
_MORE = ("above {value}", "over {value}", "of more than {value}", "greater than {value}", "higher than {value}")
_LESS = ("below {value}", "under {value}", "of less than {value}", "smaller than {value}", "lower than {value}")
_COMPARED = ("with a {number} ", "that have a {number} ", "having a {number} ", "which have a {number} ")
_WHOSE = ("whose {number} is ", "where the {number} is ", "where {number} is ", "for which the {number} is ")
_ORDERS = (", sorted by {order}", ", ordered by {order}", " in the order of {order}", ", by {order}")
_AGGREGATES = {
    "max": ("highest", "greatest", "largest", "biggest", "maximal", "top"),
    "min": ("lowest", "smallest", "least", "minimal"),
    "avg": ("average", "mean"),
    "sum": ("total", "summed up"),
}
_AGGREGATED = (
    "What is the {kind} {number} of the {table}",
    "What is the {kind} {number} of all {table}",
    "Tell me the {kind} {number} of the {table}",
    "Give me the {kind} {number} of {table}",
    "Show the {kind} {number} among the {table}",
    "The {kind} {number} of the {table}",
    "Find the {kind} {number} of the {table}",
    "Which is the {kind} {number}",
    "How much is the {kind} {number} of the {table}",
)


def composed_query(random: Random) -> tuple[str, str]:
    """Templates of a question and of its query, with the fields of ``queries.asked``."""
    draw = random.random()
    if draw < 0.2:
        name = random.choice(list(_AGGREGATES))
        question = random.choice(_AGGREGATED).replace("{kind}", random.choice(_AGGREGATES[name]))
        return _ended(random, question), f"SELECT {name}({{number}}) FROM {{table}}"
    if draw < 0.45:
        question, what = random.choice(_COUNTED), "count(*)"
    elif draw < 0.65:
        what = random.choice(("{text}", "{number}"))
        question = random.choice(_COLUMN).replace("{what}", what)
    else:
        question, what = random.choice(_ALL), "*"
    query = f"SELECT {what} FROM {{table}}"
    conditions = [_condition(random, text) for text in random.choice(((), (True,), (True,), (False,), (True, False)))]
    question = f"{question} {' and '.join(said for said, _ in conditions)}".rstrip()
    if conditions:
        query += f" WHERE {' AND '.join(meant for _, meant in conditions)}"
    elif what == "*" and random.random() < 0.3:
        order = random.choice(("{text}", "{number}"))
        question += random.choice(_ORDERS).replace("{order}", order)
        query += f" ORDER BY {order}"
    return _ended(random, question), query


def _condition(random: Random, text: bool) -> tuple[str, str]:
    """What a question says, and what the query has."""
    if text:
        return random.choice(_IS), "{text} = '{word}'"
    sign, ways = random.choice(((">", _MORE), ("<", _LESS)))
    way = random.choice(ways)
    if random.random() < 0.5:
        return random.choice(_WHOSE) + way.removeprefix("of "), f"{{number}} {sign} {{value}}"
    return random.choice(_COMPARED) + way, f"{{number}} {sign} {{value}}"


def _ended(random: Random, question: str) -> str:
    asks = question.startswith(("What", "Which", "How", "Can", "Are", "Could"))
    return question + ("?" if asks else random.choice((".", ".", ".", "")))
