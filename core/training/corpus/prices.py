"""Prices, receipts and short offers in four currencies."""

from __future__ import annotations

from random import Random

from .grammar import Grammar
from .lexicon import RULES

_RULES: dict[str, tuple[str, ...]] = {
    "offer": (
        "Price: <price>",
        "Price: <price>",
        "The <thing> costs <price>.",
        "The <thing_quality> <thing> costs <price>.",
        "How much is the <thing>? It is <price>.",
        "How much does the <colour> <thing> cost? It costs <price>.",
        "A(n) <colour> <thing> for only <price>!",
        "<Name> paid <price> for a(n) <thing>.",
        "A cup of <drink> costs <price> in <city>.",
        "The ticket to <city> is <price> <when>.",
        "<price>",
        "Total: <price>",
        "Fresh <food>, <price> a kilo",
        "How much does a(n) <thing> cost in <somewhere>? About <price>.",
        "This <thing> is too expensive: <price>!",
    ),
}
_GRAMMAR = Grammar(RULES, _RULES)


def amount(random: Random) -> float:
    """An amount with two decimals, small ones more often."""
    return random.randint(1, random.choice((10, 50, 200))) + random.choice((0.0, 0.49, 0.5, 0.95, 0.99))


def price(random: Random, value: float) -> str:
    """The amount in one of the currencies."""
    return random.choice((f"${value:.2f}", f"€{value:.2f}", f"£{value:.2f}", f"{value:.2f} EUR"))


def offer(random: Random) -> str:
    """One line with a price, or a receipt whose total is right."""
    if random.random() < 0.8:
        return _GRAMMAR.write(random, "offer", price=price(random, amount(random)))
    values = [amount(random) for _ in range(random.randint(2, 3))]
    foods = random.sample(RULES["food"], len(values))
    lines = [f"{food}: ${value:.2f}" for food, value in zip(foods, values, strict=True)]
    return "\n".join(["Receipt", *lines, f"total: ${sum(values):.2f}"])
