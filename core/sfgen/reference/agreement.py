"""Whether interegular reads a pattern as ``re`` does: its machine beside another one, made in the plainest way.

The other is nondeterministic: a state for each character set of the pattern, with its repeats written out (Thompson
1968, "Regular Expression Search Algorithm"). The pattern is the tree that ``re``'s parser gives, and no automaton of
sfgen has a part in it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from sfgen.reference.classes import CharacterClasses
from sfgen.reference.sub_sequences import Machine
from sfgen.regex.ast import Alternation, Characters, Concatenation, Node, Repeat, children
from sfgen.regex.characters import Ranges

END = 0


def disagreement(machine: Machine, symbols: list[Ranges], tree: Node) -> str | None:
    """Find a shortest text that only the machine or the pattern accepts.

    Each text is read by both at once: by the machine, which is in a state or (``None``) has stopped, and by the
    pattern, which is in several. The walk is about as long as interegular's own when it made the machine.

    Args:
        machine: A machine of interegular.
        symbols: The characters of each symbol of the machine.
        tree: The pattern, of characters, sequences, alternatives and repeats only.

    Returns:
        ``None`` if they accept the same texts.
    """
    pattern = PatternStates(tree)
    letters = CharacterClasses([*character_sets(tree), *symbols]).representatives()
    keys = machine.symbols("".join(letters))
    start: tuple[int | None, frozenset[int]] = (machine.start, pattern.start)
    seen, queue = {start}, deque([(start, "")])
    while queue:
        (state, active), text = queue.popleft()
        if (state in machine.finals) != (END in active):
            return text
        for letter, key in zip(letters, keys, strict=True):
            target = None if state is None else machine.delta[state].get(key)
            pair = target, pattern.after(active, letter)
            if pair not in seen and (target is not None or pair[1]):
                seen.add(pair)
                queue.append((pair, text + letter))
    return None


class PatternStates:
    """The states of a pattern's NFA (Thompson 1968).

    There is one for each of its character sets, and 0 for the end.

    Args:
        tree: Characters, sequences, alternatives and repeats only.

    Attributes:
        start: The states in which the pattern begins.

    >>> from sfgen.regex import parse
    >>> pattern = PatternStates(parse("ab?"))
    >>> END in pattern.start, END in pattern.after(pattern.start, "a")
    (False, True)
    """

    def __init__(self, tree: Node) -> None:
        # What each state reads, and where it then is; a state that reads nothing is at once in all states behind it.
        self._reads: list[Ranges | None] = [()]
        self._next: list[list[int]] = [[]]
        self.start = self._closed([self._add(tree, END)])

    def after(self, states: frozenset[int], letter: str) -> frozenset[int]:
        """Return the states after a character.

        Args:
            states: The states before it.
            letter: The character.
        """
        code = ord(letter)
        return self._closed(
            target
            for state in states
            if any(first <= code <= last for first, last in self._reads[state] or ())
            for target in self._next[state]
        )

    def _closed(self, states: Iterable[int]) -> frozenset[int]:
        """These states; in place of those that read nothing, those behind them."""
        seen = set(states)
        waiting = list(seen)
        while waiting:
            state = waiting.pop()
            if self._reads[state] is None:
                new = [target for target in self._next[state] if target not in seen]
                seen.update(new)
                waiting += new
        return frozenset(state for state in seen if self._reads[state] is not None)

    def _add(self, node: Node, after: int) -> int:
        """Add the states of ``node``, which lead to ``after``; the one where it begins."""
        match node:
            case Characters(ranges):
                return self._state(ranges, [after])
            case Concatenation(parts):
                for part in reversed(parts):
                    after = self._add(part, after)
                return after
            case Alternation(branches):
                return self._state(None, [self._add(branch, after) for branch in branches])
            case Repeat(child, minimum, maximum):
                begin = after
                if maximum is None:
                    begin = self._state(None, [after])
                    self._next[begin].append(self._add(child, begin))
                for _ in range((maximum or minimum) - minimum):
                    begin = self._state(None, [after, self._add(child, begin)])
                for _ in range(minimum):
                    begin = self._add(child, begin)
                return begin
            case _:
                return after

    def _state(self, reads: Ranges | None, following: list[int]) -> int:
        self._reads.append(reads)
        self._next.append(following)
        return len(self._reads) - 1


def character_sets(tree: Node) -> list[Ranges]:
    """List the sets of characters in a pattern."""
    sets, waiting = [], [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Characters):
            sets.append(node.ranges)
        waiting.extend(children(node))
    return sets
