"""Oracle of distances: the fewest bytes that complete a remainder, also where texts must differ from each other.

Independent of the engine's distances: it counts over the rules of the grammar, and over no network.

Fewer items, members and repetitions never take more bytes and never make it harder to be distinct, so only as many as
must be are counted. What remains are the branches of alternations: the *ways*. A way has a number of bytes and the
distinct calls in it; the shortest texts that make all these differ are a basis of least weight of a transversal matroid
(Edmonds and Fulkerson 1965, "Transversals and matroid partition"), which the greedy algorithm finds.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from itertools import islice
from typing import TypeAlias, TypeVar

from tests.oracles.grammar_remainders import Done, Names, Remainder, Rest, counted_step, leaf_of

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
)

Node = TypeVar("Node", bound=Hashable)

Called: TypeAlias = tuple[tuple[str, bytes], ...]
"""Distinct calls, sorted: the rule of each, and the bytes of its text that are read already."""

Ways: TypeAlias = dict[Called, int]
"""For the distinct calls of some ways the fewest bytes of all else; no ways: there is no text."""

_EMPTY: Ways = {(): 0}


class Least:
    """A table of the fewest bytes that complete a remainder."""

    def __init__(self, grammar: GrammarRules) -> None:
        self._grammar = grammar
        self._rules: dict[str, int] = {}
        self._states: dict[int, dict[int, int]] = {}
        self._counted: dict[int, dict[tuple[int, int], int]] = {}
        self._rests: dict[Rest, Ways] = {}
        self._machines: dict[int, list[Ways]] = {}
        self._known: dict[Remainder, int | None] = {}
        is_new = True
        while is_new:  # to the least fixpoint: a rule's bytes from those of the rules that it calls
            found = {
                rule: least
                for rule, expression in grammar.rules.items()
                if (least := self._least(self._ways(expression), frozenset())) is not None
            }
            is_new = found != self._rules
            self._machines.clear()
            self._rules = found

    def of_rule(self, rule: str) -> int | None:
        """Return the fewest bytes of a rule's texts; ``None``: none."""
        return self._rules.get(rule)

    def of(self, remainder: Remainder) -> int | None:
        """Return the fewest bytes that complete a remainder; ``None``: nothing does."""
        if remainder not in self._known:
            rest, names = remainder
            self._known[remainder] = self._least(self._ways_of_rest(rest), names)
        return self._known[remainder]

    def _least(self, ways: Ways, names: Names) -> int | None:
        found = [count + more for called, count in ways.items() if (more := self._distinct(called, names)) is not None]
        return min(found, default=None)

    # ---- the ways of an expression ---------------------------------------------------------------------------------

    def _ways_of_rest(self, rest: Rest | None) -> Ways:
        if rest is None:
            return _EMPTY
        if rest not in self._rests:
            self._rests[rest] = _both(self._ways(rest.expression, rest.done), self._ways_of_rest(rest.next))
        return self._rests[rest]

    def _ways(self, expression: Expression, done: Done | None = None) -> Ways:
        """The ways to complete an expression of which ``done`` was read; ``None``: nothing."""
        match expression, done:
            case Literal(data), (int() | None) as count:
                return _bytes(len(data) - (count or 0))
            case Bytes(), _:
                return _bytes(1)
            case Leaf(dfa), (int() | None) as state:
                return _bytes(self._to_end(dfa).get(state or 0))
            case CountedText() as text, None:
                return _bytes(self._to_counted_end(text).get((0, 0)))
            case CountedText() as text, (int(state), int(counted)):
                return _bytes(self._to_counted_end(text).get((state, counted)))
            case Call(rule, distinct=True), (bytes() | None) as read:
                return {((rule, read or b""),): -len(read or b"")}
            case Call(rule), _:
                return _bytes(self._rules.get(rule))
            case Alternation(branches), _:
                return _any(self._ways(branch) for branch in branches)
            case Concatenation(parts), (int() | None) as count:
                return _all(self._ways(part) for part in parts[count or 0 :])
            case Repeat(child, minimum, maximum), (int() | None) as count:
                if maximum is not None and maximum < minimum:
                    return {}
                return _times(self._ways(child), minimum - (count or 0))
            case Series() as series, None:
                return self._ways_of_series(series, 0, 0)
            case Series() as series, (int(number), int(begun)):
                return self._ways_of_series(series, number, begun)
            case StateMachine() as machine, (int() | None) as state:
                return self._ways_of_machine(machine)[state or 0]
            case CountedList() as counted, (int() | None) as count:
                return self._ways_of_list(counted, -1 if count is None else count)
            case AnyOrder() as members, None:
                return self._ways_of_members(members, frozenset(), -1)
            case AnyOrder() as members, (frozenset() as seen, int(count)):
                return self._ways_of_members(members, seen, count)
        raise AssertionError(f"{expression} cannot stand at {done!r}")

    def _ways_of_series(self, series: Series, number: int, begun: int) -> Ways:
        needed = [member.expression for member in series.members[number:] if member.is_needed]
        separators = _times(self._ways(series.separator), len(needed) - (not begun)) if needed else _EMPTY
        return _all([separators, *map(self._ways, needed)])

    def _ways_of_machine(self, machine: StateMachine) -> list[Ways]:
        """The ways from each state to the end: to the least fixpoint, ways that have all of another one left out."""
        if id(machine) not in self._machines:
            steps = [[(self._ways(each), target) for each, target in state] for state in machine.states]
            found: list[Ways] = [{} for _ in steps]
            is_new = True
            while is_new:
                after = [
                    _fewest(_any(ways if target is None else _both(ways, found[target]) for ways, target in state))
                    for state in steps
                ]
                is_new, found = after != found, after
            self._machines[id(machine)] = found
        return self._machines[id(machine)]

    def _ways_of_list(self, counted: CountedList, count: int) -> Ways:
        if counted.maximum is not None and counted.maximum < counted.minimum:
            return {}
        items = max(0, counted.minimum - max(count, 0))
        separators = items - (1 if items and count <= 0 else 0)
        fixed = len(counted.closing) + separators * len(counted.separator)
        if count < 0:
            fixed += len(counted.opening)
        return _both(_bytes(fixed), _times(self._ways(counted.item), items))

    def _ways_of_members(self, members: AnyOrder, read: frozenset[int], count: int) -> Ways:
        """The missing members that are needed, and of the others the cheapest names, or others, as many as lack."""
        is_begun, count = count >= 0, max(count, 0)
        free = [member for number, member in enumerate(members.members) if number not in read]
        needed = [member for member in free if member.is_needed]
        least = max(members.minimum - count - len(needed), 0)
        found: list[Ways] = []
        if not is_begun and not needed and not least:
            found.append(_bytes(len(members.empty)))
        if not count and not needed:
            least = max(least, 1)
        if members.maximum is not None and count + len(needed) + least > members.maximum:
            return _any(found)
        ways = [self._member(_bytes(len(member.name)), members.colon, member.value) for member in free]
        optional = sorted(
            (way[()] for way, member in zip(ways, free, strict=True) if not member.is_needed and () in way)
        )
        others = _any(self._member(self._ways(other.name), members.colon, other.value) for other in members.others)
        separators = _times(self._ways(members.separator), len(needed) + least - (not count))
        fixed = _bytes(len(members.closing) + (0 if is_begun else len(members.opening)))
        musts = _all(way for way, member in zip(ways, free, strict=True) if member.is_needed)
        for named in range(min(least, len(optional)) + 1):
            if members.others or named == least:
                rest = [_bytes(sum(optional[:named])), _times(others, least - named)]
                found.append(_all([separators, fixed, musts, *rest]))
        return _any(found)

    def _member(self, name: Ways, colon: Expression, value: Call) -> Ways:
        return _all([name, self._ways(colon), self._ways(value)])

    # ---- automata --------------------------------------------------------------------------------------------------

    def _to_end(self, dfa: Dfa) -> dict[int, int]:
        """The fewest bytes from each state that has an end."""
        if id(dfa) not in self._states:
            before: dict[int, list[int]] = {}
            for state, row in enumerate(dfa.transitions.tolist()):
                for target in row:
                    before.setdefault(target, []).append(state)
            ends = [state for state in range(len(dfa)) if dfa.accepting[state]]
            self._states[id(dfa)] = _levels(ends, before)
        return self._states[id(dfa)]

    def _to_counted_end(self, text: CountedText) -> dict[tuple[int, int], int]:
        """The fewest bytes from each state and count that has an end."""
        if id(text) not in self._counted:
            representatives = list(dict(zip(text.dfa.byte_classes.tolist(), range(256), strict=True)).values())
            before: dict[tuple[int, int], list[tuple[int, int]]] = {}
            waiting, seen = [(0, 0)], {(0, 0)}
            for at in waiting:
                for byte in representatives:
                    after = counted_step(text, *at, byte)
                    if after is not None:
                        before.setdefault(after, []).append(at)
                        if after not in seen:
                            seen.add(after)
                            waiting.append(after)
            self._counted[id(text)] = _levels([at for at in seen if text.dfa.accepting[at[0]]], before)
        return self._counted[id(text)]

    # ---- texts that differ -----------------------------------------------------------------------------------------

    def _distinct(self, called: Called, names: Names) -> int | None:
        """The fewest bytes of texts of these calls that differ from each other and from the names; ``None``: none do.

        Texts are taken as they get longer, each where with it all taken ones can still be shared out among the calls.
        """
        count = len(called)
        candidates: dict[bytes, list[int]] = {}
        for number, call in enumerate(called):
            for text in islice((text for text in self._texts(*call) if text not in names), count):
                candidates.setdefault(text, []).append(number)
        taker: dict[int, bytes] = {}
        for text in sorted(candidates, key=lambda text: (len(text), text)):
            _share_out(text, candidates, taker, set())
        return sum(map(len, taker.values())) if len(taker) == count else None

    def _texts(self, rule: str, begun: bytes) -> Iterator[bytes]:
        """The texts of a leaf that begin so, as they get longer."""
        dfa = leaf_of(self._grammar, rule)
        to_end = self._to_end(dfa)
        state = dfa.walk(begun)
        heap = [(to_end[state], begun, state, False)] if state in to_end else []
        while heap:
            _, text, state, is_whole = heapq.heappop(heap)
            if is_whole:
                yield text
                continue
            if dfa.accepting[state]:
                heapq.heappush(heap, (len(text) - len(begun), text, state, True))
            for byte in range(256):
                after = dfa.step(state, byte)
                if after in to_end:
                    longer = text + bytes([byte])
                    heapq.heappush(heap, (len(longer) - len(begun) + to_end[after], longer, after, False))


def _share_out(text: bytes, candidates: dict[bytes, list[int]], taker: dict[int, bytes], tried: set[int]) -> bool:
    """Give a text to a call, where need be by giving that call's text to another (an augmenting path)."""
    for call in candidates[text]:
        if call not in tried:
            tried.add(call)
            if call not in taker or _share_out(taker[call], candidates, taker, tried):
                taker[call] = text
                return True
    return False


def _bytes(count: int | None) -> Ways:
    return {} if count is None else {(): count}


def _any(each: Iterable[Ways]) -> Ways:
    found: Ways = {}
    for ways in each:
        for called, count in ways.items():
            found[called] = min(count, found.get(called, count))
    return found


def _both(first: Ways, second: Ways) -> Ways:
    pairs = ((a, m, b, n) for a, m in first.items() for b, n in second.items())
    return _any({tuple(sorted(a + b)): m + n} for a, m, b, n in pairs)


def _all(each: Iterable[Ways]) -> Ways:
    found = _EMPTY
    for ways in each:
        found = _both(found, ways)
    return found


def _fewest(ways: Ways) -> Ways:
    """The ways that do not have all the calls of another one with as few bytes."""
    counted = {called: Counter(called) for called in ways}
    return {
        called: count
        for called, count in ways.items()
        if not any(other != called and ways[other] <= count and counted[other] <= counted[called] for other in ways)
    }


def _times(ways: Ways, count: int) -> Ways:
    """One after the other ``count`` times; 0 or fewer: the empty text."""
    if count > 0 and len(ways) == 1:  # as often is, and then the count may be high
        [(called, least)] = ways.items()
        return {tuple(sorted(called * count)): least * count}
    return _all([ways] * count)


def _levels(ends: list[Node], before: dict[Node, list[Node]]) -> dict[Node, int]:
    """The fewest steps from each node to an end: a search by breadth, backwards."""
    steps, waiting = dict.fromkeys(ends, 0), list(ends)
    for node in waiting:
        for earlier in before.get(node, ()):
            if earlier not in steps:
                steps[earlier] = steps[node] + 1
                waiting.append(earlier)
    return steps
