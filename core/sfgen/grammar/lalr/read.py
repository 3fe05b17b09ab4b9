"""Read bytes with the lexer and the parser, from position to position.

This is the plain definition of a grammar's texts. The kernels of ``walk`` do the same for many tokens at once.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Generic, NamedTuple, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from sfgen.grammar.lalr.distances import FAR, TextDistances
from sfgen.grammar.lalr.safe_labels import safety_of
from sfgen.grammar.lalr.stack import BOTTOM, StateStacks
from sfgen.grammar.lalr.tables import NO_STATE, Lexer, ParseTables
from sfgen.grammar.shell.read import StepReader


class LalrConfiguration(NamedTuple):
    """A lexer state, and a node of the parser's stack."""

    lexer_state: int
    node: int


LalrPosition: TypeAlias = tuple[LalrConfiguration, ...]
"""All configurations after a text that can be completed, ascending; at least one, and usually one."""


Lexed = TypeVar("Lexed", bound=tuple[object, ...])
"""A configuration whose first entry is the lexer state."""


class LexerReader(StepReader[tuple[Lexed, ...]], Generic[Lexed]):
    """Reads bytes with a lexer; a subclass reads its terminals."""

    def __init__(self, lexer: Lexer, kinds: bytes) -> None:
        super().__init__(kinds)
        self.lexer = lexer
        self._classes = lexer.byte_classes.tobytes()
        self._step: list[list[int]] = lexer.step.tolist()
        self._may_end: list[bool] = lexer.may_end.tolist()
        self._holds_at_end: list[bool] = lexer.obligation_holds_at_end.tolist()

    @abstractmethod
    def commits(self, configuration: Lexed) -> Iterable[Lexed]:
        """Return the gaps after the terminals that may end here."""

    @abstractmethod
    def _accepts(self, configuration: Lexed) -> bool:
        """Return whether the text may end at a configuration."""

    def accepts(self, position: tuple[Lexed, ...]) -> bool:
        """Return whether the text may end at a position."""
        return any(map(self._accepts, position))

    def _possible(self, position: tuple[Lexed, ...]) -> set[int]:
        """Return the byte classes that the lexer reads, whether the parser takes its terminals or not."""
        possible = set[int]()
        for configuration in position:
            for here in (configuration, *self.commits(configuration)):
                step = self._step[cast("int", here[0])]
                possible |= {byte_class for byte_class, after in enumerate(step) if after != NO_STATE}
        return possible


class LalrReader(LexerReader[LalrConfiguration]):
    """Reads bytes. Safe to share between threads.

    Attributes:
        usable: The bytes that completions may use, bool ``[256]``; ``None`` for all.
        to_end: The fewest bytes to the end over these bytes.
    """

    def __init__(
        self,
        tables: ParseTables,
        lexer: Lexer,
        stacks: StateStacks,
        distances: TextDistances,
        usable: NDArray[np.bool_] | None = None,
    ) -> None:
        super().__init__(lexer, lexer.byte_classes.tobytes())
        self.tables = tables
        self.stacks = stacks
        self.distances = distances
        self.usable = usable
        self.to_end = distances if usable is None else TextDistances(tables, lexer, stacks, usable=usable)
        self._starts: list[list[int]] = lexer.starts.tolist()
        self._context_of: list[int] = tables.context_of.tolist()
        terminals, obligations = lexer.commit_terminals.tolist(), lexer.commit_obligations.tolist()
        self._known_terminals: dict[int, tuple[list[int], list[int]]] = {}
        starts = lexer.commit_starts.tolist()
        self._commits = [
            list(zip(terminals[begin:end], obligations[begin:end], strict=True)) for begin, end in pairwise(starts)
        ]
        self.start: LalrPosition = (LalrConfiguration(self.lexer_state_at(BOTTOM, 0), BOTTOM),)

    def lexer_state_at(self, node: int, obligation: int) -> int:
        """Return the lexer state at the gap above a node; ``NO_STATE`` if nothing can follow."""
        return self._starts[self._context_of[self.stacks.states[node]]][obligation]

    def with_bytes(self, usable: NDArray[np.bool_]) -> LalrReader:
        """Return a reader whose completions use only some bytes, bool ``[256]``."""
        return LalrReader(self.tables, self.lexer, self.stacks, self.distances, usable)

    def commits_of(self, lexer_state: int) -> list[tuple[int, int]]:
        """List the terminals that may end at a lexer state, with their obligations."""
        return self._commits[lexer_state]

    def commits(self, configuration: LalrConfiguration) -> list[LalrConfiguration]:
        """List the gaps after the terminals that may end here."""
        gaps = []
        for terminal, obligation in self._commits[configuration.lexer_state]:
            node = self.stacks.after(configuration.node, terminal)
            lexer_state = NO_STATE if node == NO_STATE else self.lexer_state_at(node, obligation)
            if lexer_state != NO_STATE:
                gaps.append(LalrConfiguration(lexer_state, node))
        return gaps

    def _read(self, position: LalrPosition, byte_class: int) -> LalrPosition | None:
        reached = dict[LalrConfiguration, None]()
        for configuration in position:
            for lexer_state, node in (configuration, *self.commits(configuration)):
                after = self._step[lexer_state][byte_class]
                if after != NO_STATE:
                    reached[LalrConfiguration(after, node)] = None
        alive = [each for each in reached if self.is_alive(*each)]
        return tuple(sorted(alive)) or None

    def is_alive(self, lexer_state: int, node: int) -> bool:
        """Return whether a configuration can be completed: by a safe label, else by its distance."""
        safe, others = self._terminals_of(lexer_state)
        if self._takes_any(node, safe):
            return True
        return self._takes_any(node, others) and self.distances.of(lexer_state, node) < FAR

    def _takes_any(self, node: int, terminals: list[int]) -> bool:
        return any(self.stacks.after(node, terminal) != NO_STATE for terminal in terminals)

    def _terminals_of(self, lexer_state: int) -> tuple[list[int], list[int]]:
        """Return the terminals of the safe labels that a lexer state reaches, and those of its other labels."""
        known = self._known_terminals.get(lexer_state)
        if known is None:
            is_reached, is_safe = self.distances.cost[lexer_state] < FAR, safety_of(self.distances).labels
            terminals = self.distances.terminals
            safe, others = (np.unique(terminals[is_reached & labels]).tolist() for labels in (is_safe, ~is_safe))
            known = self._known_terminals[lexer_state] = safe, others
        return known

    def united(self, positions: Sequence[LalrPosition]) -> LalrPosition:
        """Unite one or more positions."""
        return tuple(sorted({each for position in positions for each in position}))

    def _accepts(self, configuration: LalrConfiguration) -> bool:
        lexer_state, node = configuration
        if self._may_end[lexer_state] and self.stacks.is_complete(node):
            return True
        for terminal, obligation in self._commits[lexer_state]:
            if self._holds_at_end[obligation]:
                after = self.stacks.after(node, terminal)
                if after != NO_STATE and self.stacks.is_complete(after):
                    return True
        return False

    def may_end_at(self, lexer_state: int) -> bool:
        """Return whether a terminal, or the text, may end at a lexer state."""
        return bool(self._commits[lexer_state]) or self._may_end[lexer_state]

    def lowest_at_end(self, configuration: LalrConfiguration) -> int:
        """Return the least depth of a node whose state decides whether a terminal or the text may end here."""
        lexer_state, node = configuration
        stacks, end = self.stacks, self.stacks.end_of_text
        lowest = stacks.lowest(node, end) if self._may_end[lexer_state] else stacks.depths[node]
        for terminal, obligation in self._commits[lexer_state]:
            lowest = min(lowest, stacks.lowest(node, terminal))
            after = stacks.after(node, terminal)
            if after != NO_STATE and self._holds_at_end[obligation]:
                lowest = min(lowest, stacks.lowest(after, end))
        return lowest
