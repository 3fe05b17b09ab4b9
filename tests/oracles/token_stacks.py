"""Grammars over tokens, read by stacks of what is still to be read, one token after another. Nothing of sfgen is used.

A grammar is rules of alternatives, and these are items: one byte of some, one token of some, or a rule. A stack holds
the items that are still to be read; a position is a set of stacks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Byte:
    """One byte of some."""

    values: frozenset[int]


@dataclass(frozen=True)
class Token:
    """One token of some."""

    ids: frozenset[int]


Item: TypeAlias = Byte | Token | str
Stack: TypeAlias = tuple[Item, ...]
"""What is still to be read, the next item last."""

Stacks: TypeAlias = frozenset[Stack]


class TokenStacks:
    """Reads tokens; rules must not begin with themselves, and each has a text."""

    def __init__(
        self, rules: Mapping[str, Sequence[Sequence[Item]]], tokens: Sequence[bytes | None], ends: Iterable[int]
    ) -> None:
        self._rules, self._tokens, self._ends = rules, tokens, frozenset(ends)
        self.start = self._opened([("root",)])

    def _opened(self, stacks: Iterable[Stack]) -> Stacks:
        """Replace rules on top by their alternatives."""
        found, waiting = set[Stack](), list(stacks)
        seen = set(waiting)
        while waiting:
            stack = waiting.pop()
            if stack and isinstance(stack[-1], str):
                more = {stack[:-1] + tuple(reversed(items)) for items in self._rules[stack[-1]]} - seen
                seen |= more
                waiting += more
            else:
                found.add(stack)
        return frozenset(found)

    def read(self, stacks: Stacks, token: int) -> Stacks:
        """Return the stacks behind a token; none where it is refused."""
        if token in self._ends:
            return frozenset()
        asked = [stack[:-1] for stack in stacks if stack and isinstance(stack[-1], Token) and token in stack[-1].ids]
        spelled = stacks if self._tokens[token] else frozenset[Stack]()
        for byte in self._tokens[token] or b"":
            behind = [each[:-1] for each in spelled if each and isinstance(each[-1], Byte) and byte in each[-1].values]
            spelled = self._opened(behind)
        return self._opened(asked) | spelled

    def accepts(self, stacks: Stacks) -> bool:
        """Return whether the text may end."""
        return () in stacks

    def allowed(self, stacks: Stacks) -> list[int]:
        """List the tokens that may follow, end tokens included."""
        return [
            token
            for token in range(len(self._tokens))
            if (self.accepts(stacks) if token in self._ends else bool(self.read(stacks, token)))
        ]

    def fewest(self, stacks: Stacks, most: int) -> int | None:
        """Return the fewest tokens to an end; ``None`` where they are more than ``most``."""
        level, seen = {stacks}, {stacks}
        for count in range(most + 1):
            if any(self.accepts(each) for each in level):
                return count
            level = {self.read(each, token) for each in level for token in self.allowed(each)} - seen - {frozenset()}
            seen |= level
        return None
