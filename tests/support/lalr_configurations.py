"""Configurations of a lexer and a parser, byte by byte, as the definition has them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from sfgen.lalr.stack import BOTTOM, Stacks
from sfgen.lalr.tables import NO_STATE, Lexer, ParseTables

Configuration = tuple[int, int]
"""A control and a node."""


class Configurations:
    """What the configurations of a lexer and a parser lead to."""

    def __init__(self, tables: ParseTables, lexer: Lexer, stacks: Stacks) -> None:
        self._tables = tables
        self._lexer = lexer
        self._stacks = stacks
        self._bytes = [int(byte) for byte in range(256) if byte in {int(i) for i in self._one_of_each_class()}]

    def _one_of_each_class(self) -> Iterator[int]:
        seen: set[int] = set()
        for byte, known in enumerate(self._lexer.byte_classes.tolist()):
            if known not in seen:
                seen.add(known)
                yield byte

    def start(self) -> Configuration | None:
        """Where texts begin."""
        control = int(self._lexer.starts[self._tables.context_of[self._tables.start], 0])
        return None if control == NO_STATE else (control, BOTTOM)

    def _committed(self, configuration: Configuration) -> Iterator[tuple[int, int]]:
        """The node and the promise behind each commit."""
        control, node = configuration
        lexer = self._lexer
        for at in range(lexer.commit_starts[control], lexer.commit_starts[control + 1]):
            after = self._stacks.after(node, int(lexer.commit_terminals[at]))
            if after != NO_STATE:
                yield after, int(lexer.commit_promises[at])

    def behind_byte(self, configuration: Configuration, byte: int) -> list[Configuration]:
        """What a byte leads to."""
        lexer = self._lexer
        control, node = configuration
        ways = [(control, node)]
        for after, promise in self._committed(configuration):
            ways.append((int(lexer.starts[self._tables.context_of[self._stacks.states[after]], promise]), after))
        steps = [(int(lexer.step[at, lexer.byte_classes[byte]]), after) for at, after in ways if at != NO_STATE]
        return [(target, after) for target, after in steps if target != NO_STATE]

    def successors(self, configuration: Configuration) -> list[Configuration]:
        """What some byte leads to."""
        return sorted({found for byte in self._bytes for found in self.behind_byte(configuration, byte)})

    def may_end(self, configuration: Configuration) -> bool:
        """Whether the text may end here."""
        control, node = configuration
        if self._lexer.may_end[control] and self._stacks.is_complete(node):
            return True
        return any(
            self._lexer.promise_holds_at_end[promise] and self._stacks.is_complete(after)
            for after, promise in self._committed(configuration)
        )

    def reachable(self, length: int, limit: int) -> list[Configuration]:
        """The configurations behind texts of at most so many bytes, at most ``limit`` of them, the nearest first."""
        start = self.start()
        if start is None:
            return []
        found = {start: 0}
        waiting = deque([start])
        while waiting and len(found) < limit:
            current = waiting.popleft()
            if found[current] < length:
                for other in self.successors(current):
                    if other not in found:
                        found[other] = found[current] + 1
                        waiting.append(other)
        return list(found)

    def distance(self, configuration: Configuration, longest: int) -> int | None:
        """The fewest bytes to the end, by breadth-first search; ``None`` where there is no way of at most so many."""
        front = {configuration}
        seen = set(front)
        for length in range(longest + 1):
            if any(map(self.may_end, front)):
                return length
            front = {other for current in front for other in self.successors(current)} - seen
            seen |= front
        return None
