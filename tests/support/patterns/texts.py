"""Texts on which two engines would differ over a pattern: what it matches, by three ways to know, and near misses."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from itertools import product
from random import Random
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as sre_parser  # type: ignore[attr-defined]
from typing import Any

import numpy as np

from sfgen.automata import Dfa


def short_texts(letters: str) -> Iterator[str]:
    """Every text of the letters up to a length: about a hundred."""
    longest = {1: 7, 2: 6, 3: 4, 4: 3}.get(len(letters), 2)
    for length in range(longest + 1):
        yield from map("".join, product(letters, repeat=length))


def mutated(text: str, letters: str, random: Random) -> str:
    """The text with a character or two put in, left out, exchanged or doubled."""
    characters = list(text)
    for _ in range(random.randint(1, 2)):
        place = random.randrange(len(characters) + 1)
        match random.randrange(5):
            case 0 if place < len(characters):
                del characters[place]
            case 1 if place < len(characters):
                characters[place] = random.choice([*other_cases(characters[place]), random.choice(letters)])
            case 2 if place < len(characters):
                characters.insert(place, characters[place])
            case 3:
                characters.append("\n")
            case _:
                characters.insert(place, random.choice(letters))
    return "".join(characters)


def other_cases(character: str) -> list[str]:
    """Characters that differ from it by their case only, the odd ones too."""
    families = ["kK\u212a", "sS\u017f", "iI\u0130\u0131", "\u00b5\u03bc\u039c", "\u00df\u1e9e", "\u03c3\u03c2\u03a3"]
    family = "".join(family for family in families if character in family)
    changed = [character.lower(), character.upper(), character.title(), *family]
    return [other for other in changed if len(other) == 1 and other != character] or [character]


class TreeSampler:
    """Texts that a pattern may match, by a walk over the tree that ``re`` itself makes of it.

    Anchors and lookarounds are walked past, except that a lookahead's own text is sometimes taken for what follows; so
    not every text matches. This knows nothing of automata: it finds what an automaton has lost.
    """

    def __init__(self, pattern: str, letters: str) -> None:
        self.letters = letters
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                self.tree = sre_parser.parse(pattern, re.ASCII)
            except ValueError as error:
                if isinstance(error, re.error):
                    raise
                self.tree = sre_parser.parse(pattern, 0)

    def text(self, random: Random) -> str:
        return self.sequence(self.tree, self.tree.state.flags, random)

    def sequence(self, items: Any, flags: int, random: Random) -> str:
        return "".join(self.node(operator, argument, flags, random) for operator, argument in items)

    def node(self, operator: Any, argument: Any, flags: int, random: Random) -> str:
        if operator is sre.LITERAL:
            return (
                random.choice(other_cases(chr(argument))) if flags & re.I and random.random() < 0.5 else chr(argument)
            )
        if operator in (sre.NOT_LITERAL, sre.ANY):
            return random.choice(self.letters)
        if operator is sre.IN:
            return self.member(random.choice(argument), argument[0][0] is sre.NEGATE, flags, random)
        if operator is sre.BRANCH:
            return self.sequence(random.choice(argument[1]), flags, random)
        if operator is sre.SUBPATTERN:
            return self.sequence(argument[3], (flags | argument[1]) & ~argument[2], random)
        if operator is sre.ATOMIC_GROUP:
            return self.sequence(argument, flags, random)
        if operator in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            fewest, most, items = argument
            count = random.randint(int(fewest), max(int(fewest), min(int(most), int(fewest) + 2)))
            return "".join(self.sequence(items, flags, random) for _ in range(count))
        if operator is sre.ASSERT and argument[0] > 0 and random.random() < 0.2:
            return self.sequence(argument[1], flags, random)
        return ""

    def member(self, member: Any, negated: bool, flags: int, random: Random) -> str:
        kind, value = member
        if negated or kind is sre.CATEGORY:
            return random.choice(self.letters + " _0aZ-\n\u00e9\u0660")
        if kind is sre.RANGE:
            return chr(random.choice([value[0], value[1], random.randint(*value)]))
        return self.node(kind, value, flags, random)


class LanguageSampler:
    """Texts that an automaton accepts, by random walks that turn home after a while."""

    def __init__(self, dfa: Dfa) -> None:
        self.dfa = dfa
        self.bytes_of = [
            np.flatnonzero(dfa.byte_classes == label).tolist() for label in range(dfa.transitions.shape[1])
        ]
        self.distance = np.where(dfa.accepting, 0, len(dfa))
        frontier = dfa.accepting
        while frontier.any():
            # The last row stands for -1, no transition.
            leads = np.append(frontier, False)[dfa.transitions].any(axis=1)
            nearer = leads & (self.distance == len(dfa))
            self.distance[nearer] = self.distance[frontier][0] + 1
            frontier = nearer

    def text(self, random: Random, longest: int = 12) -> str:
        data, state = bytearray(), 0
        turn = random.randrange(longest + 1)
        while True:
            row = self.dfa.transitions[state]
            labels = np.flatnonzero(row >= 0)
            if self.dfa.accepting[state] and (len(data) >= turn or not len(labels) or random.random() < 0.1):
                return data.decode()
            if len(data) >= turn:
                labels = labels[self.distance[row[labels]] < self.distance[state]]
            label = random.choice(labels.tolist())
            data.append(random.choice(self.bytes_of[label]))
            state = int(row[label])
