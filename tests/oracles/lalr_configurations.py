"""Oracle of Lark's engine: configurations of a lexer and a parser, byte by byte, as the definition has them.

Independent of the engine's masks, kernels and distances. It shares with it the lexer, the parse tables and the stacks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from sfgen.grammar.lalr.stack import BOTTOM, StateStacks
from sfgen.grammar.lalr.tables import NO_STATE, Lexer, ParseTables

Configuration = tuple[int, int]
"""A lexer state and a node."""


class Configurations:
    """What the configurations of a lexer and a parser lead to."""

    def __init__(self, tables: ParseTables, lexer: Lexer, stacks: StateStacks) -> None:
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
        lexer_state = int(self._lexer.starts[self._tables.context_of[self._tables.start], 0])
        return None if lexer_state == NO_STATE else (lexer_state, BOTTOM)

    def _committed(self, configuration: Configuration) -> Iterator[tuple[int, int]]:
        """The node and the obligation behind each commit."""
        lexer_state, node = configuration
        lexer = self._lexer
        for at in range(lexer.commit_starts[lexer_state], lexer.commit_starts[lexer_state + 1]):
            after = self._stacks.after(node, int(lexer.commit_terminals[at]))
            if after != NO_STATE:
                yield after, int(lexer.commit_obligations[at])

    def behind_byte(self, configuration: Configuration, byte: int) -> list[Configuration]:
        """What a byte leads to."""
        lexer = self._lexer
        lexer_state, node = configuration
        ways = [(lexer_state, node)]
        for after, obligation in self._committed(configuration):
            ways.append((int(lexer.starts[self._tables.context_of[self._stacks.states[after]], obligation]), after))
        steps = [(int(lexer.step[at, lexer.byte_classes[byte]]), after) for at, after in ways if at != NO_STATE]
        return [(target, after) for target, after in steps if target != NO_STATE]

    def successors(self, configuration: Configuration) -> list[Configuration]:
        """What some byte leads to."""
        return sorted({found for byte in self._bytes for found in self.behind_byte(configuration, byte)})

    def may_end(self, configuration: Configuration) -> bool:
        """Whether the text may end here."""
        lexer_state, node = configuration
        if self._lexer.may_end[lexer_state] and self._stacks.is_complete(node):
            return True
        return any(
            self._lexer.obligation_holds_at_end[obligation] and self._stacks.is_complete(after)
            for after, obligation in self._committed(configuration)
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
