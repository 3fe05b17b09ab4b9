"""A context-free grammar that writes text: symbols are replaced by one of their alternatives until none is left.

In a template ``<animal>`` is replaced by an alternative of the rule ``animal``, ``<Animal>`` by the same with a capital
first letter. ``<pet=animal>`` also remembers what was drawn, so that a later ``<pet>`` in the same text is the same
animal; what is remembered is different from everything remembered before it. ``a(n)`` becomes the article that fits
the next word.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from random import Random

_SYMBOL = re.compile(r"<(?:(?P<key>[a-z_]+)=)?(?P<symbol>[A-Za-z_]+)>")
_ARTICLE = re.compile(r"\b([Aa])\(n\) (?=(\w+))")
_VOWEL_SOUND = re.compile(r"(?!uni|use|eu|one)[aeiou]|hour|honest", re.IGNORECASE)
_DRAWS = 20  # redraws before two remembered words may be the same


class Grammar:
    """Rules from a symbol to its alternatives; every alternative is as likely as the others.

    >>> grammar = Grammar({"sentence": ["The <pet=animal> is a(n) <pet>."], "animal": ["owl"]})
    >>> grammar.write(Random(0), "sentence")
    'The owl is an owl.'
    """

    def __init__(self, *rules: Mapping[str, Sequence[str]]) -> None:
        self.rules = {symbol: tuple(choices) for part in rules for symbol, choices in part.items()}

    def write(self, random: Random, symbol: str, **remembered: str) -> str:
        """One text for ``symbol``; ``remembered`` fixes symbols that the templates may name."""
        return self.fill(random, f"<{symbol}>", **remembered)

    def fill(self, random: Random, template: str, **remembered: str) -> str:
        """The template with all its symbols replaced; otherwise as :meth:`write`."""
        return with_articles(self._expand(random, template, remembered))

    def _expand(self, random: Random, template: str, remembered: dict[str, str]) -> str:
        def replacement(match: re.Match[str]) -> str:
            symbol = match["symbol"]
            text = self._draw(random, symbol.lower(), match["key"], remembered)
            return text[:1].upper() + text[1:] if symbol[0].isupper() else text

        return _SYMBOL.sub(replacement, template)

    def _draw(self, random: Random, symbol: str, key: str | None, remembered: dict[str, str]) -> str:
        if key is None and symbol in remembered:
            return remembered[symbol]
        text = self._expand(random, random.choice(self.rules[symbol]), remembered)
        if key is None:
            return text
        for _ in range(_DRAWS):
            if text not in remembered.values():
                break
            text = self._expand(random, random.choice(self.rules[symbol]), remembered)
        remembered[key] = text
        return text


def with_articles(text: str) -> str:
    """The text with each ``a(n)`` as the article that fits the next word."""
    return _ARTICLE.sub(lambda match: match[1] + ("n " if _VOWEL_SOUND.match(match[2]) else " "), text)
