"""Patterns as programs whose ways have an order: the first way that matches is the one that ``re`` takes.

Thompson's construction (1968), in which what leads on without reading is tried in the order of the pattern: the
branches of an alternation from left to right, another time round before the way out of a greedy repeat, behind it for a
lazy one (Pike; Cox, "Regular Expression Matching: the Virtual Machine Approach", 2009). Programs read symbols: each is
a set of characters that no pattern tells apart.
"""

from __future__ import annotations

from bisect import bisect_right

from sfgen.errors import InternalError
from sfgen.grammar.rules import GrammarTooLarge
from sfgen.regex.ast import Alternation, Characters, Concatenation, Empty, Look, Node, Repeat, width

MAX_PROGRAM_STATES = 100_000
"""States of the programs of all terminals."""


class Programs:
    """The programs of all terminals, under one numbering of states.

    A state either reads (it has edges), or leads on without reading (it has epsilons), or is an end.

    Attributes:
        edges: From each state that reads: first and last symbol, and the target.
        epsilons: From each of the others, in order: the target, and the guard. Guard 0 is none, ``k`` says that
            lookaround ``k - 1`` must hold, ``-k`` that it must not.
        heads: The states before something repeated that may be empty, and the state behind it.
        exits: From these states behind, where to go on when nothing was read since the head.
        behind: Of each lookaround whether it is a lookbehind.
        starts: The first state of each lookaround; the next is its end.
        terminal_of: The terminal that ends in a state.
    """

    def __init__(self) -> None:
        self.edges: dict[int, list[tuple[int, int, int]]] = {}
        self.epsilons: dict[int, list[tuple[int, int]]] = {}
        self.heads: dict[int, int] = {}
        self.exits: dict[int, int] = {}
        self.behind: list[bool] = []
        self.starts: list[int] = []
        self.terminal_of: dict[int, int] = {}
        self._states = 2  # lookarounds of plain patterns keep 0 and 1 for themselves
        self._looks: dict[tuple[bool, Node], int] = {}
        self._name = ""
        self._firsts: list[int] = []
        self._terminals: list[int] = []

    def add(self, tree: Node, terminal: int, name: str) -> int:
        """Compile a terminal's program; return its first state.

        Args:
            tree: Over symbols, without anchors and atomic groups.
            terminal: The terminal.
            name: Its name, for messages.

        Raises:
            GrammarTooLarge: More than :data:`MAX_PROGRAM_STATES` states.
        """
        self._name = name
        self._firsts.append(self._states)
        self._terminals.append(terminal)
        end = self._state()
        self.terminal_of[end] = terminal
        return self._fragment(tree, end)

    def terminal_at(self, state: int) -> int:
        """Return the terminal in whose program a state is."""
        return self._terminals[bisect_right(self._firsts, state) - 1]

    def _state(self) -> int:
        self._states += 1
        if self._states > MAX_PROGRAM_STATES:
            raise GrammarTooLarge(self._name, f"{MAX_PROGRAM_STATES:,} states for the terminals", "terminal")
        return self._states - 1

    def _choice(self, *targets: int) -> int:
        state = self._state()
        self.epsilons[state] = [(target, 0) for target in targets]
        return state

    def _fragment(self, node: Node, end: int) -> int:
        """The state from which ``node`` is read, and then ``end`` comes."""
        match node:
            case Empty():
                return end
            case Characters(ranges):
                state = self._state()
                self.edges[state] = [(low, high, end) for low, high in ranges]
                return state
            case Concatenation(parts):
                for part in reversed(parts):
                    end = self._fragment(part, end)
                return end
            case Alternation(branches):
                return self._choice(*[self._fragment(branch, end) for branch in branches])
            case Repeat():
                return self._repeat(node, end)
            case Look(child, behind, negative):
                number = self._look(behind, child)
                state = self._state()
                self.epsilons[state] = [(end, -number if negative else number)]
                return state
            case _:
                raise InternalError(f"{type(node).__name__} is not settled")

    def _look(self, behind: bool, child: Node) -> int:
        key = behind, child
        if key not in self._looks:
            start = self._state()
            end = self._state()
            self.epsilons[start] = [(self._fragment(child, end), 0)]  # those inside get their numbers first
            self.behind.append(behind)
            self.starts.append(start)
            self._looks[key] = len(self.starts)
        return self._looks[key]

    def _repeat(self, node: Repeat, end: int) -> int:
        child, minimum, maximum = node.child, node.minimum, node.maximum
        if maximum is None:
            head = self._state()
            self._optional(node, head, head, end)
            end = head
        else:
            out = end
            for _ in range(maximum - minimum):
                head = self._state()
                self._optional(node, head, end, out)
                end = head
        for _ in range(minimum):
            end = self._fragment(child, end)
        return end

    def _optional(self, node: Repeat, head: int, again: int, out: int) -> None:
        """Make ``head`` the state that reads once more and then comes to ``again``, or goes ``out``."""
        behind = again
        if width(node.child)[0] == 0:
            # `re` does not try once more where the last time was empty.
            behind = self._choice(again, out)
            self.heads[head] = behind
            self.exits[behind] = out
        once = self._fragment(node.child, behind)
        self.epsilons[head] = [(out, 0), (once, 0)] if node.lazy else [(once, 0), (out, 0)]
