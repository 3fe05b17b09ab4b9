"""Example texts of a grammar: derivations of terminals, each terminal written by its shortest text.

The first texts use every expansion of every rule once, each in a derivation that is otherwise as short as possible.
Random ones follow, the same each time.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterator, Sequence

from sfgen.grammar.lalr.distances import FAR
from sfgen.grammar.lalr.read import LalrReader
from sfgen.grammar.lalr.stack import BOTTOM
from sfgen.grammar.lalr.tables import NO_STATE, ParseTables

_DEPTH = 8
"""The depth to which rules are drawn at random; below it, derivations are as short as possible."""

_MOST_TERMINALS = 60

_LONGEST = 1 << 12
"""The most terminals of an expansion that is written out."""


def examples(reader: LalrReader, spelled: Callable[[bytes], bytes] = bytes) -> Iterator[str]:
    """Yield texts endlessly, some of them several times.

    In a grammar with conflicts some may not be texts of it. ``spelled`` replaces the codes of tokens by texts.
    """
    derivations = _Derivations(reader.tables)
    writer = _ExampleWriter(reader, spelled)
    for rule in range(len(reader.tables.rules)):
        terminals = derivations.through(rule)
        text = None if terminals is None else writer.text(terminals)
        if text is not None:
            yield text
    chance = random.Random(0)
    while True:
        terminals = derivations.drawn(chance)
        text = writer.text(terminals) if len(terminals) <= _MOST_TERMINALS else None
        yield text or ""


def fewest_terminals(tables: ParseTables) -> int | None:
    """Count the fewest terminals that the rules derive; ``None`` if they derive no text."""
    return _Derivations(tables).fewest


class _Derivations:
    """Strings of terminals that the rules derive."""

    def __init__(self, tables: ParseTables) -> None:
        self._rules = tables.rules
        self._start = next(
            number for number, state in enumerate(tables.gotos[tables.start].tolist()) if state == tables.end
        )
        self._by_nonterminal: dict[int, list[int]] = {}
        for number, rule in enumerate(self._rules):
            self._by_nonterminal.setdefault(rule.nonterminal, []).append(number)
        self._least = self._shortest_rules()
        self._usable = {
            nonterminal: [rule for rule in rules if self._has_text(rule)]
            for nonterminal, rules in self._by_nonterminal.items()
        }
        self._from_start = self._ways_from_start()

    @property
    def fewest(self) -> int | None:
        """The fewest terminals; ``None`` if there is no text."""
        return self._least[self._start][0] if self._start in self._least else None

    def _shortest_rules(self) -> dict[int, tuple[int, int]]:
        """Return the fewest terminals of each nonterminal, and the rule that has them."""
        shortest: dict[int, tuple[int, int]] = {}
        has_changed = True
        while has_changed:
            has_changed = False
            for number, rule in enumerate(self._rules):
                parts = [1 if symbol >= 0 else shortest.get(-1 - symbol, (None, 0))[0] for symbol in rule.symbols]
                if None in parts:
                    continue
                length = sum(part for part in parts if part is not None)
                if rule.nonterminal not in shortest or length < shortest[rule.nonterminal][0]:
                    shortest[rule.nonterminal] = length, number
                    has_changed = True
        return shortest

    def _ways_from_start(self) -> dict[int, tuple[int, int] | None]:
        """Return the rule that leads to each reachable nonterminal, and the position in it; ``None`` for the start."""
        ways: dict[int, tuple[int, int] | None] = {self._start: None}
        waiting = deque([self._start])
        while waiting:
            for number in self._by_nonterminal.get(waiting.popleft(), ()):
                for position, symbol in enumerate(self._rules[number].symbols):
                    if symbol < 0 and -1 - symbol not in ways:
                        ways[-1 - symbol] = number, position
                        waiting.append(-1 - symbol)
        return ways

    def shortest(self, symbols: Sequence[int]) -> list[int]:
        """Return a shortest string of terminals that some symbols derive."""
        terminals, waiting = list[int](), list(reversed(symbols))
        while waiting:
            symbol = waiting.pop()
            if symbol >= 0:
                terminals.append(symbol)
            else:
                waiting += reversed(self._rules[self._least[-1 - symbol][1]].symbols)
        return terminals

    def through(self, rule: int) -> list[int] | None:
        """Return a short string of terminals that uses a rule; ``None`` if there is none."""
        nonterminal = self._rules[rule].nonterminal
        if nonterminal not in self._from_start or not self._has_text(rule):
            return None
        terminals = self.shortest(self._rules[rule].symbols)
        while (way := self._from_start[nonterminal]) is not None:
            above, position = way
            if not self._has_text(above):
                return None
            symbols = self._rules[above].symbols
            terminals = self.shortest(symbols[:position]) + terminals + self.shortest(symbols[position + 1 :])
            nonterminal = self._rules[above].nonterminal
        return terminals

    def _has_text(self, rule: int) -> bool:
        """Return whether the rule derives a string that is not too long."""
        parts = [
            1 if symbol >= 0 else self._least.get(-1 - symbol, (None, 0))[0] for symbol in self._rules[rule].symbols
        ]
        known = [part for part in parts if part is not None]
        return len(known) == len(parts) and sum(known) <= _LONGEST

    def drawn(self, chance: random.Random) -> list[int]:
        """Draw a string of terminals."""
        terminals, waiting = list[int](), [(-1 - self._start, 0)]
        while waiting and len(terminals) <= _MOST_TERMINALS:
            symbol, depth = waiting.pop()
            if symbol >= 0:
                terminals.append(symbol)
                continue
            rule = chance.choice(self._usable[-1 - symbol]) if depth < _DEPTH else self._least[-1 - symbol][1]
            waiting += [(each, depth + 1) for each in reversed(self._rules[rule].symbols)]
        return terminals


class _ExampleWriter:
    """Writes terminals as characters."""

    def __init__(self, reader: LalrReader, spelled: Callable[[bytes], bytes]) -> None:
        self._reader = reader
        self._spelled = spelled
        self._reach = reader.distances.to_terminals() < FAR
        self._rows: list[list[int]] = reader.lexer.step.tolist()
        classes = reader.lexer.byte_classes.tobytes()
        self._by_byte = sorted({(_most_readable(classes, byte_class), byte_class) for byte_class in set(classes)})
        self._known_endings: dict[tuple[int, int], list[tuple[bytes, int]]] = {}

    def text(self, terminals: Sequence[int]) -> str | None:
        """Return a short text that the lexer reads as some terminals; ``None`` if none is found."""
        reader, data = self._reader, bytearray()
        node, lexer_state = BOTTOM, reader.start[0].lexer_state
        for number, terminal in enumerate(terminals):
            after = reader.stacks.after(node, terminal)
            if after == NO_STATE:
                return None
            following = terminals[number + 1] if number + 1 < len(terminals) else len(reader.tables.terminals) - 1
            way = self._lexeme(lexer_state, after, terminal, following)
            if way is None:
                return None
            text, lexer_state = way
            data += text
            node = after
        try:
            return self._spelled(bytes(data)).decode()
        except UnicodeDecodeError:
            return None

    def _lexeme(self, lexer_state: int, node: int, terminal: int, following: int) -> tuple[bytes, int] | None:
        """Return the shortest bytes of a terminal before another one, and the lexer state after them."""
        for text, obligation in self._endings(lexer_state, terminal):
            gap = self._reader.lexer_state_at(node, obligation)
            if gap != NO_STATE and self._reach[gap, following]:
                return text, gap
        return None

    def _endings(self, lexer_state: int, terminal: int) -> list[tuple[bytes, int]]:
        """Return the shortest bytes of a terminal for each of its obligations, the shortest first.

        The parser's stack does not matter, so they are found once.
        """
        key = lexer_state, terminal
        if key not in self._known_endings:
            texts: dict[int, bytes] = {}
            seen, waiting = {lexer_state}, deque([(lexer_state, b"")])
            while waiting:
                current, text = waiting.popleft()
                for ended, obligation in self._reader.commits_of(current):
                    if ended == terminal:
                        texts.setdefault(obligation, text)
                for (_, byte), byte_class in self._by_byte:
                    after = self._rows[current][byte_class]
                    if after != NO_STATE and after not in seen and self._reach[after, terminal]:
                        seen.add(after)
                        waiting.append((after, text + bytes([byte])))
            self._known_endings[key] = [(text, obligation) for obligation, text in texts.items()]
        return self._known_endings[key]


def _most_readable(classes: bytes, byte_class: int) -> tuple[int, int]:
    """Return the rank and the most readable byte of a class: a letter, else a digit, else another byte."""
    order = {byte: rank for rank, byte in enumerate(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ")}
    return min((order.get(byte, 100 + byte), byte) for byte in range(256) if classes[byte] == byte_class)
