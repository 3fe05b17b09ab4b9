"""Texts to walk with: some that match a pattern, made from its syntax tree, and some that do not.

Where a set of characters allows letters, a run of it is cut out of prose, so that tokens are as long as in real text.
Every text is held against ``re``; nothing here knows of any engine. The same pattern gives the same texts in every run.
"""

from __future__ import annotations

import random
import re
from functools import cache
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as sre_parser  # type: ignore[attr-defined]
from typing import Any

PROSE = (
    "the committee met again on Tuesday evening, and nobody could say how long the old bridge would stand. Three "
    "engineers had written from Zürich: the river was rising, the northern pillar had moved two inches since March, "
    "and a small café beside it was closed until further notice. Somebody asked whether the road through the valley "
    "might serve instead; it would take an hour more, but the children could still reach school before nine. Our "
    "neighbours from 東京 only smiled and took another photograph of the water. In the end the chairman promised a "
    "report, everyone went home, and the rain began to fall on roofs, gardens and empty market stalls. "
)
_WORD_STARTS = [match.start() for match in re.finditer(r"\b\w", PROSE)]
_LETTERS = frozenset("etaoinshr")
_CANDIDATES = [chr(code) for code in range(128)] + sorted(set(PROSE) - set(map(chr, range(128))))
_MORE_CHARACTERS, _MORE_GROUPS = 60, 6  # how much more than the least an unlimited repeat becomes at most


def matching(pattern: str, count: int) -> list[str]:
    """Random texts that ``re.fullmatch(pattern, text, re.ASCII)`` accepts."""
    rng = random.Random(f"matching {pattern}")
    parsed = sre_parser.parse(pattern, re.ASCII)
    compiled = re.compile(pattern, re.ASCII)
    texts: list[str] = []
    for _ in range(100 * count):
        text = _Writer(rng, parsed.state.flags).write(parsed)
        if compiled.fullmatch(text):
            texts.append(text)
            if len(texts) == count:
                return texts
    raise ValueError(f"only {len(texts)} matching texts for {pattern!r}")


def refused(pattern: str, count: int) -> list[str]:
    """Texts close to matching ones that ``re`` refuses; fewer than ``count`` where almost everything matches."""
    rng = random.Random(f"refused {pattern}")
    compiled = re.compile(pattern, re.ASCII)
    texts: list[str] = []
    for text in matching(pattern, count) * 20:
        place = rng.randint(0, len(text))
        letter = rng.choice('\n a0Z."\\é')
        changed = rng.choice(
            [
                text[:place],
                text[:place] + text[place + 1 :],
                text[:place] + letter + text[place:],
                text[:place] + letter + text[place + 1 :],
                text + letter,
                text + text,
            ]
        )
        if changed not in texts and not compiled.fullmatch(changed):
            texts.append(changed)
            if len(texts) == count:
                break
    return texts


class _Writer:
    """One text out of one syntax tree of ``re``."""

    def __init__(self, rng: random.Random, flags: int) -> None:
        self.rng = rng
        self.flags = flags
        self.place = 0

    def write(self, items: Any, prose: bool = False) -> str:
        return "".join([self.node(operator, argument, prose) for operator, argument in items])

    def node(self, operator: Any, argument: Any, prose: bool) -> str:
        if operator is sre.LITERAL:
            return chr(argument)
        if operator in (sre.NOT_LITERAL, sre.IN, sre.ANY):
            return self.character(_allowed(operator, _frozen(argument), self.flags), prose)
        if operator is sre.BRANCH:
            # In a repeat the first branch is the common case and the others are escapes and the like.
            branches = argument[1]
            common = prose and branches[0].getwidth()[1] == 1 and self.rng.random() < 0.95
            return self.write(branches[0] if common else self.rng.choice(branches), prose)
        if operator is sre.SUBPATTERN:
            return self.write(argument[3], prose)
        if operator in (sre.MAX_REPEAT, sre.MIN_REPEAT):
            minimum, maximum, repeated = argument
            more = _MORE_CHARACTERS if repeated.getwidth()[1] <= 6 else _MORE_GROUPS
            most = minimum + more if maximum is sre.MAXREPEAT else maximum
            length = minimum + int((most - minimum + 1) * self.rng.random() ** 2)
            self.place = self.rng.choice(_WORD_STARTS)
            return "".join([self.write(repeated, most > 1) for _ in range(length)])
        if operator is sre.AT:
            return ""
        raise ValueError(f"{operator} is not written here")

    def character(self, allowed: frozenset[str], prose: bool) -> str:
        """The next letter of the prose that is allowed; a random one outside repeats and where prose does not fit."""
        if prose and allowed >= _LETTERS:
            while True:
                letter = PROSE[self.place % len(PROSE)]
                self.place += 1
                if letter in allowed:
                    return letter
        printable = sorted(letter for letter in allowed if letter.isprintable())
        return self.rng.choice(printable or sorted(allowed))


def _frozen(argument: Any) -> Any:
    return tuple(argument) if isinstance(argument, list) else argument


@cache
def _allowed(operator: Any, argument: Any, flags: int) -> frozenset[str]:
    """Which of the letters that texts are made of a set contains."""
    items = argument if operator is sre.IN else [(operator, argument)]
    negated = items[0][0] is sre.NEGATE
    found = [letter for letter in _CANDIDATES if any(_contains(item, letter, flags) for item in items) != negated]
    return frozenset(found)


def _contains(item: tuple[Any, Any], letter: str, flags: int) -> bool:
    kind, value = item
    if kind is sre.ANY:
        return letter != "\n" or bool(flags & re.DOTALL)
    if kind is sre.CATEGORY:
        categories = {sre.CATEGORY_DIGIT: r"\d", sre.CATEGORY_SPACE: r"\s", sre.CATEGORY_WORD: r"\w",
                      sre.CATEGORY_NOT_DIGIT: r"\D", sre.CATEGORY_NOT_SPACE: r"\S",
                      sre.CATEGORY_NOT_WORD: r"\W"}  # fmt: skip
        return re.fullmatch(categories[value], letter, re.ASCII) is not None
    codes = {ord(letter)}
    if flags & re.IGNORECASE and letter.isascii():
        codes |= {ord(letter.lower()), ord(letter.upper())}
    if kind is sre.LITERAL:
        return value in codes
    if kind is sre.NOT_LITERAL:
        return value not in codes
    if kind is sre.RANGE:
        return any(value[0] <= code <= value[1] for code in codes)
    return False
