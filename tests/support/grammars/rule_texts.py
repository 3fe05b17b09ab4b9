"""Random texts of a grammar: what the rules say, drawn straight from the expressions. No engine has a part in it."""

from __future__ import annotations

import random
from functools import cache

import numpy as np

from sfgen.automata import Dfa
from sfgen.grammar.network.rules import (
    Alternation,
    AnyOrder,
    Bytes,
    Call,
    Concatenation,
    CountedList,
    CountedText,
    Expression,
    GrammarRules,
    Leaf,
    Literal,
    Repeat,
    Series,
    StateMachine,
    Step,
)

_NEVER = 10**9
_AGAIN = 0.6  # how often one more item, member or byte follows where none must
_TRIES = 500
_MOST_CALLS = 150  # after which the shallowest way is taken


class RuleTexts:
    """Draws texts of a grammar.

    Args:
        grammar: The grammar. What has no text in it is never drawn.
        rng: Where chance comes from.
        depth: How deep calls may stand in each other before the shallowest way is taken.
    """

    def __init__(self, grammar: GrammarRules, rng: random.Random, depth: int = 12) -> None:
        self._rules = grammar.rules
        self._start = grammar.start
        self._rng = rng
        self._depth = depth
        self._left = _MOST_CALLS
        self._heights = _heights(grammar)
        if self._heights[grammar.start] >= _NEVER:
            raise ValueError("the grammar has no text")

    def draw(self) -> bytes:
        """A text."""
        self._left = _MOST_CALLS
        return self._rule(self._start, self._depth)

    def _rule(self, name: str, depth: int) -> bytes:
        self._left -= 1
        return self._of(self._rules[name], min(depth - 1, self._left), set())

    def _of(self, expression: Expression, depth: int, seen: set[bytes]) -> bytes:
        match expression:
            case Literal(data):
                return data
            case Bytes(ranges):
                low, high = self._rng.choice(ranges)
                return bytes([self._rng.randint(low, high)])
            case Call(rule, distinct):
                return self._distinct(rule, depth, seen) if distinct else self._rule(rule, depth)
            case Concatenation(parts):
                return b"".join(self._of(part, depth, seen) for part in parts)
            case Alternation(branches):
                return self._of(self._branch(branches, depth), depth, seen)
            case Repeat(child, minimum, maximum):
                count = self._count(minimum, maximum, self._fits(child, depth))
                return b"".join(self._of(child, depth, seen) for _ in range(count))
            case Leaf(dfa):
                return _random_walk(dfa, self._rng)
            case Series():
                return self._series(expression, depth, seen)
            case StateMachine(states):
                return self._machine(states, depth, seen)
            case CountedList(opening, item, separator, closing, minimum, maximum):
                count = self._count(minimum, maximum, self._fits(item, depth))
                return opening + separator.join(self._of(item, depth, seen) for _ in range(count)) + closing
            case AnyOrder():
                return self._any_order(expression, depth, seen)
            case CountedText():
                return self._counted(expression)
        raise AssertionError(expression)

    def _series(self, series: Series, depth: int, seen: set[bytes]) -> bytes:
        members = [
            self._of(member.expression, depth, seen)
            for member in series.members
            if member.is_needed or (self._fits(member.expression, depth) and self._rng.random() < 0.5)
        ]
        if series.more is not None and self._fits(series.more, depth):
            members += [self._of(series.more, depth, seen) for _ in range(self._count(0, 5, True))]
        return b"".join(
            self._of(series.separator, depth, seen) * (place > 0) + one for place, one in enumerate(members)
        )

    def _any_order(self, members: AnyOrder, depth: int, seen: set[bytes]) -> bytes:
        chosen = [member for member in members.members if member.is_needed]
        optional = [member for member in members.members if not member.is_needed and self._fits(member.value, depth)]
        self._rng.shuffle(optional)
        most = len(members.members) + 3 if members.maximum is None else members.maximum
        count = self._rng.randint(min(max(members.minimum, len(chosen)), most), most)
        if not members.others:
            count = min(count, len(chosen) + len(optional))
        has_others = any(self._fits(other.value, depth) for other in members.others)
        missing = 0 if has_others else max(0, members.minimum - len(chosen))
        chosen += optional[: self._rng.randint(missing, max(missing, count - len(chosen)))]
        texts = [
            member.name + self._of(members.colon, depth, seen) + self._of(member.value, depth, seen)
            for member in chosen
        ]
        if has_others:
            for _ in range(count - len(chosen)):
                other = self._rng.choice([other for other in members.others if self._fits(other.value, depth)])
                parts = (other.name, members.colon, other.value)
                texts.append(b"".join(self._of(part, depth, seen) for part in parts))
        self._rng.shuffle(texts)
        if not texts:
            return members.empty
        between = [self._of(members.separator, depth, seen) for _ in texts[1:]]
        return members.opening + texts[0] + b"".join(map(bytes.__add__, between, texts[1:])) + members.closing

    def _machine(self, states: tuple[tuple[Step, ...], ...], depth: int, seen: set[bytes]) -> bytes:
        """Random steps that can be completed at this depth; every other one leads nearer to the end."""
        rests = _machine_heights(states, self._heights)
        most = max(depth, rests[0][0])
        state: int | None = 0
        written = b""
        while state is not None:
            ways = [(_rest(step, rests, self._heights), step) for step in states[state]]
            ways = [way for way in ways if way[0][0] <= most]
            if self._rng.random() > _AGAIN:
                least = min(steps for (_, steps), _ in ways)
                ways = [way for way in ways if way[0][1] == least]
            expression, state = self._rng.choice(ways)[1]
            written += self._of(expression, depth, seen)
        return written

    def _distinct(self, rule: str, depth: int, seen: set[bytes]) -> bytes:
        for _ in range(_TRIES):
            text = self._rule(rule, depth)
            if text not in seen:
                seen.add(text)
                return text
        raise AssertionError(f"no new text of {rule!r} was found")

    def _branch(self, branches: tuple[Expression, ...], depth: int) -> Expression:
        heights = [_height(branch, self._heights) for branch in branches]
        fitting = [
            branch for branch, height in zip(branches, heights, strict=True) if height <= max(depth, min(heights))
        ]
        return self._rng.choice(fitting)

    def _fits(self, expression: Expression, depth: int) -> bool:
        return _height(expression, self._heights) <= depth

    def _count(self, minimum: int, maximum: int | None, may_have_more: bool) -> int:
        count = minimum
        while may_have_more and (maximum is None or count < maximum) and self._rng.random() < _AGAIN:
            count += 1
        if maximum is not None and may_have_more and self._rng.random() < 0.05:
            count = min(maximum, minimum + 40)
        return count

    def _counted(self, text: CountedText) -> bytes:
        target = self._count(text.minimum, text.maximum, True)
        rows, classes = text.dfa.transitions.tolist(), text.dfa.byte_classes.tolist()
        rest = _without_counting(text)
        state, count, written = 0, 0, bytearray()
        while not (count == target and text.dfa.accepting[state]):
            steps = [
                (byte, after)
                for byte in range(256)
                if (after := rows[state][classes[byte]]) >= 0
                and (now := count + int(text.counts[after])) <= target
                and (after in rest if now == target else not text.needs_minimum[after])
            ]
            byte, state = self._rng.choice(steps)
            count += int(text.counts[state])
            written.append(byte)
        return bytes(written)


def _without_counting(text: CountedText) -> set[int]:
    """The states from which the text can end without another count."""
    rows = text.dfa.transitions.tolist()
    found = set(np.flatnonzero(text.dfa.accepting).tolist())
    while True:
        more = {
            state
            for state, row in enumerate(rows)
            if state not in found and any(after in found and not text.counts[after] for after in row)
        }
        if not more:
            return found
        found |= more


@cache
def _to_end(dfa: Dfa) -> list[int]:
    """The fewest bytes from each state to an accepting one."""
    rows = dfa.transitions.tolist()
    found = [0 if accepting else _NEVER for accepting in dfa.accepting.tolist()]
    changed = True
    while changed:
        changed = False
        for state, row in enumerate(rows):
            least = min((found[after] + 1 for after in row if after >= 0), default=_NEVER)
            if least < found[state]:
                found[state], changed = least, True
    return found


def _random_walk(dfa: Dfa, rng: random.Random) -> bytes:
    """A random text of an automaton, seldom a long one."""
    distances, rows, classes = _to_end(dfa), dfa.transitions.tolist(), dfa.byte_classes.tolist()
    state, written = 0, bytearray()
    wanted = rng.choice((0, 1, 2, 4, 8, 16))
    while True:
        is_late = len(written) >= wanted
        if distances[state] == 0 and (is_late or rng.random() < 0.2 or all(after < 0 for after in rows[state])):
            return bytes(written)
        steps = [byte for byte in range(256) if rows[state][classes[byte]] >= 0]
        if is_late:
            least = min(distances[rows[state][classes[byte]]] for byte in steps)
            steps = [byte for byte in steps if distances[rows[state][classes[byte]]] == least]
        plain = [byte for byte in steps if 32 <= byte < 127]
        byte = rng.choice(plain if plain and rng.random() < 0.7 else steps)
        written.append(byte)
        state = rows[state][classes[byte]]


def _heights(grammar: GrammarRules) -> dict[str, int]:
    """How deep calls stand in each other at least in a text of each rule."""
    heights = dict.fromkeys(grammar.rules, _NEVER)
    changed = True
    while changed:
        changed = False
        for name, expression in grammar.rules.items():
            height = _height(expression, heights) + 1
            if height < heights[name]:
                heights[name], changed = height, True
    return heights


def _height(expression: Expression, heights: dict[str, int]) -> int:
    match expression:
        case Call(rule):
            return heights[rule]
        case Concatenation(parts):
            return max((_height(part, heights) for part in parts), default=0)
        case Alternation(branches):
            return min((_height(branch, heights) for branch in branches), default=_NEVER)
        case Repeat(child, minimum):
            return _height(child, heights) if minimum else 0
        case Series(members):
            return max((_height(member.expression, heights) for member in members if member.is_needed), default=0)
        case StateMachine(states):
            return _machine_heights(states, heights)[0][0]
        case CountedList(item=item, minimum=minimum):
            return heights[item.rule] if minimum else 0
        case AnyOrder(members):
            return max((heights[member.value.rule] for member in members if member.is_needed), default=0)
        case Leaf(dfa):
            return _NEVER if dfa.is_empty else 0
        case _:
            return 0


def _machine_heights(states: tuple[tuple[Step, ...], ...], heights: dict[str, int]) -> list[tuple[int, int]]:
    """Of each state of a machine how deep calls stand at least on a way to the end, and the steps of that way."""
    found = [(_NEVER, _NEVER)] * len(states)
    changed = True
    while changed:
        changed = False
        for state in reversed(range(len(states))):
            least = min((_rest(step, found, heights) for step in states[state]), default=(_NEVER, _NEVER))
            if least < found[state]:
                found[state], changed = least, True
    return found


def _rest(step: Step, rests: list[tuple[int, int]], heights: dict[str, int]) -> tuple[int, int]:
    height, steps = (0, 0) if step.target is None else rests[step.target]
    return max(height, _height(step.expression, heights)), steps + 1
