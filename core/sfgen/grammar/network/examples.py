"""Example texts of a grammar: the shortest text, then one for each part that a text may have.

A text is a derivation of the rules. A fixpoint gives the shortest text of each rule. A text with a given part follows
the shortest path of calls from the start rule to the part; all else in it is a shortest text. After all parts the same
texts are made again with other values.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterator, Mapping, Set

from sfgen.automata.dfa import Dfa
from sfgen.automata.examples import examples as texts_of_automaton
from sfgen.grammar.network.registers.expressions import RegisterRule, without_register
from sfgen.grammar.network.rules import (
    NOTHING,
    Alternation,
    Bytes,
    Call,
    Concatenation,
    Expression,
    GrammarRules,
    Leaf,
    Literal,
    Member,
    Repeat,
    Series,
    StateMachine,
)
from sfgen.index.distance import LONGEST_TEXT

_MOST_VALUES = 50  # different values of one automaton
_MOST_STEPS = 100_000  # calls on all paths together


def every_text(grammar: GrammarRules) -> Iterator[str]:
    """Yield different texts, the shortest first, then one for each part.

    A part is a call, a member or a branch. In some texts values are equal that must differ: the caller checks them.

    >>> from sfgen.grammar.network.rules import Repeat
    >>> next(every_text(GrammarRules({"a": Repeat(Literal(b"a"), 2, None)}, "a")))
    'aa'
    """
    seen = set[str]()
    rules, values = _with_part_rules(grammar), _Values()
    for number in range(_MOST_VALUES):
        before = len(seen)
        for text in _Texts(rules, grammar.start, number, values).covering():
            if text not in seen:
                seen.add(text)
                yield text
        if number and len(seen) == before:
            return


def most_new_rules_first(reached: Mapping[str, Set[str]]) -> list[str]:
    """Order texts by the number of new rules that each reaches; ``reached`` has the rules of each text.

    The first text stays first; texts that reach no new rule come last.

    >>> most_new_rules_first({"": {"a"}, "x": {"a", "b"}, "y": {"a", "c", "d"}, "z": {"d"}})
    ['', 'y', 'x', 'z']
    """
    waiting, known, ordered = list(reached), set[str](), list[str]()
    while waiting:
        text = waiting[0] if not ordered else max(waiting, key=lambda each: len(reached[each] - known))
        if ordered and reached[text] <= known:
            break
        waiting.remove(text)
        ordered.append(text)
        known |= reached[text]
    return ordered + waiting


class _Values:
    """Example texts of automata, cached."""

    def __init__(self) -> None:
        self._found: dict[Dfa, tuple[int, list[str]]] = {}  # the number of texts that were requested, and the texts

    def of(self, dfa: Dfa, number: int) -> bytes:
        """Return the text of an automaton with a number, modulo the number of texts; 0 is the shortest."""
        if not number:
            return dfa.shortest()
        asked, texts = self._found.get(dfa, (0, []))
        if number >= asked:
            asked = 2 * number + 2
            texts = texts_of_automaton(dfa, asked)
            self._found[dfa] = asked, texts
        return texts[number % len(texts)].encode()


class _Texts:
    """Texts of a grammar in which each automaton and each choice of values has the value with one number."""

    def __init__(self, rules: dict[str, Expression], start: str, number: int, values: _Values) -> None:
        self._rules = rules
        self._start = start
        self._number = number
        self._values = values
        self._shortest: dict[str, bytes] = {}
        self._find_shortest()

    def covering(self) -> Iterator[str]:
        """Yield the shortest text, then one for each part, the nearest to the start first, up to a limit of steps."""
        steps = 0
        yield self._shortest[self._start].decode()
        ways: dict[str, list[str]] = {self._start: [self._start]}
        for rule in (queue := [self._start]):
            for called in dict.fromkeys(_calls(self._rules[rule])):
                if called not in ways:
                    ways[called] = [*ways[rule], called]
                    queue.append(called)
                steps += len(ways[rule])
                if steps > _MOST_STEPS:
                    return
                text = self._through([*ways[rule], called])
                if text is not None:
                    yield text.decode()

    def _through(self, way: list[str]) -> bytes | None:
        """Return a short text that contains a path of rules, each of which calls the next."""
        text: bytes | None = self._shortest.get(way[-1])
        for caller, called in reversed(list(itertools.pairwise(way))):
            if text is None:
                return None
            text = self._text_with(self._rules[caller], called, text)
        return text

    # ---- shortest texts --------------------------------------------------------------------------------------------

    def _find_shortest(self) -> None:
        callers = dict[str, list[str]]()
        for name, expression in self._rules.items():
            for called in dict.fromkeys(_calls(expression)):
                callers.setdefault(called, []).append(name)
        waiting = deque(reversed(self._rules))
        while waiting:
            name = waiting.popleft()
            text = self._short_text(self._rules[name])
            if text is not None and (name not in self._shortest or len(text) < len(self._shortest[name])):
                self._shortest[name] = text
                waiting += callers.get(name, ())

    def _short_text(self, expression: Expression) -> bytes | None:
        """Return a shortest text of an expression, given the known texts of the rules."""
        match expression:
            case Literal(data):
                return data
            case Bytes(ranges):
                bytes_ = [byte for low, high in ranges for byte in range(low, high + 1)]
                return bytes([bytes_[self._number % len(bytes_)]])
            case Call(rule):
                return self._shortest.get(rule)
            case Leaf(dfa):
                return self._values.of(dfa, self._number)
            case Concatenation(parts):
                return _joined([self._short_text(part) for part in parts])
            case Alternation(branches):
                texts = [self._short_text(branch) for branch in branches]
                is_of_values = self._number > 0 and len(texts) > 1 and not any(_calls(expression))
                return texts[self._number % len(texts)] if is_of_values else _shorter(texts)
            case Repeat(child, minimum):
                return _times(self._short_text(child), minimum)
            case Series(members, separator):
                return self._series(
                    [self._short_text(member.expression) for member in members if member.is_needed], separator
                )
            case _:
                return None  # ``_with_part_rules`` has replaced all other kinds

    def _series(self, members: list[bytes | None], separator: Expression) -> bytes | None:
        between = self._short_text(separator)
        parts = [part for member in members for part in (between, member)][1:]
        return _joined(parts)

    # ---- texts with a part in them ---------------------------------------------------------------------------------

    def _text_with(self, expression: Expression, rule: str, text: bytes) -> bytes | None:
        """Return a short text in which a call of a rule reads ``text``; ``None`` if there is no such call."""
        match expression:
            case Call(called):
                return text if called == rule else None
            case Concatenation(parts):
                return _shorter(
                    _joined([*map(self._short_text, parts[:at]), inner, *map(self._short_text, parts[at + 1 :])])
                    for at, part in enumerate(parts)
                    if (inner := self._text_with(part, rule, text)) is not None
                )
            case Alternation(branches):
                return _shorter(self._text_with(branch, rule, text) for branch in branches)
            case Repeat(child, minimum, maximum):
                inner = None if maximum == 0 else self._text_with(child, rule, text)
                return None if inner is None else _joined([inner, _times(self._short_text(child), max(0, minimum - 1))])
            case Series():
                return self._series_text_with(expression, rule, text)
            case _:
                return None

    def _series_text_with(self, series: Series, rule: str, text: bytes) -> bytes | None:
        members = [*series.members, *([Member(series.more, False)] if series.more is not None else [])]
        texts = []
        for chosen, member in enumerate(members):
            inner = self._text_with(member.expression, rule, text)
            if inner is not None:
                written = [
                    inner if at == chosen else self._short_text(other.expression)
                    for at, other in enumerate(members)
                    if at == chosen or other.is_needed
                ]
                texts.append(self._series(written, series.separator))
        return _shorter(texts)


def _with_part_rules(grammar: GrammarRules) -> dict[str, Expression]:
    """Make a separate rule of each part, so that equal calls can be distinguished.

    Parts are calls, members of series, repeated expressions, and branches with calls.
    """
    rules = dict[str, Expression]()

    def as_rule(expression: Expression) -> Call:
        name = f"place {len(rules)}"  # no rule has this name
        while name in grammar.rules:
            name += "'"
        rules[name] = expression
        return Call(name)

    def read(expression: Expression) -> Expression:
        match expression:
            case Call():
                return as_rule(expression)
            case Concatenation(parts):
                return Concatenation(tuple(map(read, parts)))
            case Alternation(branches) if any(_calls(expression)):
                return Alternation(tuple(as_rule(read(branch)) for branch in branches))
            case Repeat(child, minimum, maximum):
                return Repeat(as_rule(read(child)), minimum, maximum)
            case Series(members, separator, more):
                return Series(
                    tuple(Member(as_rule(read(member.expression)), member.is_needed) for member in members),
                    separator,
                    None if more is None else as_rule(read(more)),
                )
            case StateMachine(states):  # a rule for each state
                calls = [as_rule(NOTHING) for _ in states]
                for call, steps in zip(calls, states, strict=True):
                    ways = [(read(each), *(() if target is None else (calls[target],))) for each, target in steps]
                    rules[call.rule] = Alternation(tuple(as_rule(Concatenation(way)) for way in ways))
                return calls[0]
            case _ if isinstance(expression, RegisterRule):
                return read(without_register(expression))
            case _:
                return expression

    rewritten = {name: read(expression) for name, expression in grammar.rules.items()}
    return {**rewritten, **rules}


def _calls(expression: Expression) -> Iterator[str]:
    """Yield the rules that an expression calls."""
    match expression:
        case Call(rule):
            yield rule
        case Concatenation(several) | Alternation(several):
            for part in several:
                yield from _calls(part)
        case Repeat(child):
            yield from _calls(child)
        case Series(members, _, more):
            for member in members:
                yield from _calls(member.expression)
            if more is not None:
                yield from _calls(more)
        case StateMachine(states):
            for steps in states:
                for step in steps:
                    yield from _calls(step.expression)


def _joined(parts: list[bytes | None]) -> bytes | None:
    """Concatenate the parts; ``None`` if one is unknown or the text is too long."""
    known = [part for part in parts if part is not None]
    return b"".join(known) if len(known) == len(parts) and sum(map(len, known)) <= LONGEST_TEXT else None


def _times(part: bytes | None, number: int) -> bytes | None:
    """Repeat a part; ``None`` if it is unknown or the text is too long."""
    return part * number if part is not None and len(part) * number <= LONGEST_TEXT else b"" if not number else None


def _shorter(texts: Iterator[bytes | None] | list[bytes | None]) -> bytes | None:
    """Return the shortest of the known texts, the first of several."""
    return min((text for text in texts if text is not None), key=len, default=None)
