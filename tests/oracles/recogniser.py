"""Oracle of the pushdown engine: a recogniser of grammars by sets of stacks.

Independent of the engine's networks, tables, distances and kernels. It shares with it the rules of a grammar
(``sfgen.grammar.network.rules``), the automata of their leaves, and the loop of a guide (``BaseGuide``).

A *frame* is one text of a rule that is being read: what is still to be read of it, the names that were read in it, and
the frame that called it. A position is the set of all frames that may read the next byte, one for each way to read the
text so far. Frames that no text completes are dropped, so a position has an end.

Direct left recursion is read by going on: where a rule begins with a call of itself, a text of it may be followed by
what follows that call, and both together are a text of it (Moore 2000, "Removing left recursion from context-free
grammars"). Left recursion through other rules is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from tests.oracles.grammar_remainders import Names, Remainder, Rests, called_rules, calls, reads_a_byte
from tests.oracles.least_bytes import Least

from sfgen import arguments
from sfgen.errors import UsageError
from sfgen.grammar.network.rules import GrammarRules
from sfgen.index import BaseGuide
from sfgen.vocabulary import Vocabulary

_NO_NAMES: Names = frozenset()


class Frame:
    """One text of a rule that is being read.

    ``Recogniser`` makes them, equal ones once.
    """

    __slots__ = ("caller", "least", "names", "rest", "rule")

    def __init__(self, remainder: Remainder, rule: str, caller: Frame | None, least: int) -> None:
        self.rest, self.names = remainder
        self.rule = rule
        self.caller = caller
        self.least = least
        """The fewest bytes that complete it and all that called it."""

    def __repr__(self) -> str:
        return f"{self.rule}[{self.rest or ''}]" + (f" < {self.caller}" if self.caller else "")


Position: TypeAlias = frozenset[Frame]
"""All ways to have read a text; never empty. Compare only those of one recogniser."""


class Recogniser:
    """A recogniser of a grammar that follows all ways at once.

    It reads byte by byte.

    Attributes:
        start: The position of the empty text.
        left_recursive: The rules that call themselves before they read a byte.

    >>> from sfgen.grammar.network.rules import Alternation, Call, Concatenation, GrammarRules, Literal
    >>> pair = Concatenation((Literal(b"("), Call("pair"), Literal(b")")))
    >>> recogniser = Recogniser(GrammarRules({"pair": Alternation((pair, Literal(b"x")))}, "pair"))
    >>> recogniser.accepts("((x))"), recogniser.accepts("((x)")
    (True, False)
    >>> inside = recogniser.read(recogniser.start, b"((")
    >>> recogniser.least_bytes(inside), recogniser.step(inside, ord(")"))
    (3, None)
    """

    def __init__(self, grammar: GrammarRules) -> None:
        self.grammar = grammar
        reachable = _reachable(grammar)
        self._rests = Rests(grammar)
        self._least = Least(grammar)
        if self._least.of_rule(grammar.start) is None:
            raise UsageError(
                f"the rule {grammar.start!r} has no text at all",
                hint="Look for a rule that calls itself in every branch, and for more distinct texts than there are.",
            )
        self._frames: dict[tuple[Remainder, str, Frame | None], Frame] = {}
        self._entered: dict[tuple[str, Frame | None], list[Frame]] = {}
        self._after: dict[tuple[Frame, int], set[Frame]] = {}
        leading = {rule: list(self._leading_calls(rule)) for rule in reachable}
        _refuse_circles({rule: {called for called, _ in found} - {rule} for rule, found in leading.items()})
        self.left_recursive = {rule for rule, found in leading.items() if any(called == rule for called, _ in found)}
        self._after_itself = {
            rule: [remainder for called, remainder in found if called == rule and remainder[0] is not None]
            for rule, found in leading.items()
        }
        self._end = Frame((None, _NO_NAMES), grammar.start, None, 0)
        start = self._enter(grammar.start, None)
        has_empty = self._least.of_rule(grammar.start) == 0
        self.start: Position = frozenset([*start, self._end] if has_empty else start)

    # ---- what it tells ---------------------------------------------------------------------------------------------

    def step(self, position: Position, byte: int) -> Position | None:
        """Return the position after a byte; ``None`` if it is refused."""
        after = frozenset(each for frame in position for each in self._read(frame, byte))
        return after or None

    def read(self, position: Position, data: bytes) -> Position | None:
        """Return the position after some bytes; ``None`` if they are refused."""
        after: Position | None = position
        for byte in data:
            after = after and self.step(after, byte)
        return after

    def accepts_at(self, position: Position) -> bool:
        """Return whether the text may end at a position."""
        return self._end in position

    def accepts(self, text: str | bytes) -> bool:
        """Return whether a whole text is one of the grammar.

        A string with a lone surrogate is not a text and never is.
        """
        data = arguments.utf8("text", text)
        position = None if data is None else self.read(self.start, data)
        return position is not None and self.accepts_at(position)

    def least_bytes(self, position: Position) -> int:
        """Return the fewest bytes from a position to an end."""
        return min(frame.least for frame in position)

    # ---- steps -----------------------------------------------------------------------------------------------------

    def _read(self, frame: Frame, byte: int) -> set[Frame]:
        """The frames that may read the next byte after this one."""
        if frame is self._end or frame.rest is None:
            return set()
        if (frame, byte) not in self._after:
            after: set[Frame] = set()
            for rest in self._rests.after(frame.rest, byte):
                after |= self._ready((rest, frame.names), frame.rule, frame.caller)
            self._after[frame, byte] = after
        return self._after[frame, byte]

    def _ready(self, remainder: Remainder, rule: str, caller: Frame | None) -> set[Frame]:
        """The frames that may read the next byte where this remains of a rule's text of which some bytes were read."""
        found: set[Frame] = set()
        waiting, seen = [(remainder, rule, caller)], {(remainder, rule, caller)}
        while waiting:
            remainder, rule, caller = waiting.pop()
            ended: list[tuple[Remainder, str, Frame | None]] = []
            for rest, names in self._beginnings(remainder):
                if rest is None:
                    ended += [(more, rule, caller) for more in self._after_itself[rule]]
                    if caller is None:
                        found.add(self._end)
                    else:
                        ended.append(((caller.rest, caller.names), caller.rule, caller.caller))
                elif (called := calls(rest)) is None:
                    found.add(self._frame((rest, names), rule, caller))
                else:
                    found.update(self._enter(called, self._caller((rest.next, names), rule, caller)))
            for each in ended:
                if each not in seen:
                    seen.add(each)
                    waiting.append(each)
        return found

    def _enter(self, rule: str, caller: Frame | None) -> list[Frame]:
        """The frames that may read the first byte of a text of a rule."""
        if (rule, caller) not in self._entered:
            found: list[Frame] = []
            for rest, names in self._beginnings((self._rests.of_rule(rule), _NO_NAMES)):
                if rest is None:
                    continue  # whoever calls a rule that has the empty text goes on without it
                called = calls(rest)
                if called is None:
                    found.append(self._frame((rest, names), rule, caller))
                elif called != rule:
                    found += self._enter(called, self._caller((rest.next, names), rule, caller))
            self._entered[rule, caller] = found
        return self._entered[rule, caller]

    def _beginnings(self, remainder: Remainder) -> Iterator[Remainder]:
        """What a remainder becomes before a byte is read: it reads one, calls a rule, or ends.

        A call of a rule that has the empty text is left out too. What no text completes is dropped.
        """
        waiting, seen = [remainder], {remainder}
        while waiting:
            rest, names = waiting.pop()
            if self._least.of((rest, names)) is None:
                continue
            if rest is None:
                yield rest, names
                continue
            called = calls(rest)
            if called is not None or reads_a_byte(rest):
                yield rest, names
            after = list(self._rests.without_reading(rest, names))
            if called is not None and self._least.of_rule(called) == 0:
                after.append((rest.next, names))
            for each in after:
                if each not in seen:
                    seen.add(each)
                    waiting.append(each)

    def _caller(self, remainder: Remainder, rule: str, caller: Frame | None) -> Frame | None:
        """The frame to go back to; that of the caller itself where nothing remains (a tail call)."""
        if remainder[0] is None and not self._after_itself[rule]:
            return caller
        return self._frame(remainder, rule, caller)

    def _frame(self, remainder: Remainder, rule: str, caller: Frame | None) -> Frame:
        key = remainder, rule, caller
        if key not in self._frames:
            least = self._least.of(remainder)
            assert least is not None, "what no text completes is dropped"
            self._frames[key] = Frame(remainder, rule, caller, least + (caller.least if caller else 0))
        return self._frames[key]

    def _leading_calls(self, rule: str) -> Iterator[tuple[str, Remainder]]:
        """The rules that a rule calls before it reads a byte, and what remains of it after each."""
        for rest, names in self._beginnings((self._rests.of_rule(rule), _NO_NAMES)):
            called = None if rest is None else calls(rest)
            if rest is not None and called is not None:
                yield called, (rest.next, names)


def _reachable(grammar: GrammarRules) -> list[str]:
    """The rules that can come up, the first one first."""
    found = [grammar.start]
    for rule in found:
        if rule not in grammar.rules:
            raise UsageError(f"there is no rule {rule!r}", hint="Write it, or call another.")
        found += sorted(called_rules(grammar.rules[rule]) - set(found))
    return found


def _refuse_circles(leading: dict[str, set[str]]) -> None:
    """See to it that no rules call each other in a circle before a byte is read."""
    while True:
        called = set[str]().union(*leading.values())
        circles = {rule: after & leading.keys() for rule, after in leading.items() if after and rule in called}
        if circles == leading:
            break
        leading = circles
    if circles:
        raise UsageError(
            f"the rules {', '.join(sorted(circles))} call each other before they read a byte (indirect left recursion)",
            hint="Write the first call of each out as what it calls.",
        )


class RecogniserGuide(BaseGuide[Position]):
    """A guide of one sequence by a recogniser, without lookahead."""

    limit_hint = "The recogniser does not look ahead: allow more tokens, or use the engine."
    dead_end_hint = "The recogniser does not look ahead: use the engine."

    def __init__(self, recogniser: Recogniser, vocabulary: Vocabulary, max_tokens: int | None = None) -> None:
        self.recogniser = recogniser
        super().__init__(vocabulary, recogniser.start, max_tokens)

    def _read(self, position: Position, data: bytes) -> Position | None:
        return self.recogniser.read(position, data)

    def _accepts(self, position: Position) -> bool:
        return self.recogniser.accepts_at(position)

    def _describe(self, position: Position) -> str:
        return " | ".join(sorted({frame.rule for frame in position}))


class RecogniserIndex:
    """A grammar over one vocabulary by its recogniser, without an index.

    Every token is tried at every step.

    >>> from sfgen.grammar.network.rules import Call, Concatenation, GrammarRules, Literal, Repeat
    >>> nested = Concatenation((Literal(b"["), Repeat(Call("list"), 0, 2), Literal(b"]")))
    >>> grammar = GrammarRules({"list": nested}, "list")
    >>> guide = RecogniserIndex(grammar, Vocabulary([b"[", b"]", b"[]", b"[[[", b"]]", None], [5])).guide()
    >>> for token in (0, 2, 2, 1):
    ...     print(guide.allowed_tokens().tolist())
    ...     guide.advance(token)
    [0, 2, 3]
    [0, 1, 2, 3]
    [0, 1, 2, 3]
    [1]
    """

    def __init__(self, grammar: GrammarRules, vocabulary: Vocabulary) -> None:
        self.recogniser = Recogniser(grammar)
        self.vocabulary = arguments.instance("vocabulary", vocabulary, Vocabulary)

    def guide(self, max_tokens: int | None = None) -> RecogniserGuide:
        """Return a new guide for one sequence."""
        return RecogniserGuide(self.recogniser, self.vocabulary, max_tokens)

    def refusal(self, data: bytes) -> dict[str, str] | None:
        """Check a finished text with the recogniser."""
        if self.recogniser.accepts(data):
            return None
        return {"rule": self.recogniser.grammar.start, "refused by": "the recogniser"}
