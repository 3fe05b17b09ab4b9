"""interegular's machine of a pattern, and whether it reads the pattern as ``re`` does.

The machine gets numbers that are the same in every run, and is refused beyond limits of size. It is compared with a
second one, which no other part of sfgen makes: a nondeterministic automaton with a state for each character set of the
tree that ``re``'s parser gives, repeats written out (Thompson 1968, "Regular Expression Search Algorithm").
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from sfgen.errors import PatternError, PatternTooLarge
from sfgen.reference.guide import CharacterClasses, character_sets
from sfgen.reference.published import Machine
from sfgen.regex.ast import Alternation, Characters, Concatenation, Node, Repeat, children
from sfgen.regex.characters import Ranges, complement, union

if TYPE_CHECKING:
    from interegular.fsm import FSM, Alphabet


USE_THE_DEFAULT = "Use the default engine, which reads all of Python's patterns that are regular."


_MOST_CHARACTERS = 2_000  # of the pattern, written out


_MOST_SYMBOLS = 50_000  # that are named: interegular lists every character of a range


def check_size(tree: Node, pattern: str) -> None:
    """Refuse a pattern that would take interegular minutes."""
    for size, limit, what in (
        (written_size(tree), _MOST_CHARACTERS, "characters, written out"),
        (sum(map(_named, set(character_sets(tree)))), _MOST_SYMBOLS, "characters in sets"),
    ):
        if size > limit:
            raise PatternTooLarge(
                f"the pattern passes the limit of the engine fsm, {limit:,} {what}", pattern, hint=USE_THE_DEFAULT
            )


def written_size(node: Node) -> int:
    """Return the length of a pattern with its repeats written out."""
    if isinstance(node, Repeat):
        return written_size(node.child) * max(node.minimum + 1, node.maximum or 0)
    return sum(map(written_size, children(node))) or 1


def _named(ranges: Ranges) -> int:
    """Count the characters that a set names: its own, or those that a complement leaves out."""
    inside = sum(last - first + 1 for first, last in ranges)
    return min(inside, 0x110000 - 0x800 - inside)


def made_by_interegular(pattern: str) -> FSM:
    """Make the machine of a pattern, right or wrong."""
    import interegular

    try:
        parsed = interegular.parse_pattern(pattern)
        return _numbered(parsed.to_fsm(), list(_symbols(parsed)))
    except Exception as error:  # its parser also fails in ways that are not meant: on a comment, (?#…)
        kind = "" if isinstance(error, interegular.InvalidSyntax) else f" ({error})"
        raise PatternError(
            f"interegular, on which the engine fsm is built, cannot read the pattern{kind}",
            pattern,
            hint=USE_THE_DEFAULT,
        ) from None


def _numbered(fsm: FSM, symbols: list[Any]) -> FSM:
    """The same machine with numbers of its own: those of symbols in their order, those of states breadth first."""
    from interegular.fsm import FSM, Alphabet

    named = [symbol for symbol in symbols if symbol in fsm.alphabet]
    keys: dict[Any, Any] = {}  # the old number of a symbol → the new one
    alphabet = {
        symbol: keys.setdefault(fsm.alphabet[symbol], len(keys))
        for symbol in dict.fromkeys([*named, *sorted(fsm.alphabet)])
    }
    states: dict[Any, Any] = {fsm.initial: 0}
    rows: dict[Any, Any] = {}
    queue = [fsm.initial]
    for state in queue:
        old = fsm.map.get(state, {})
        row = rows[states[state]] = {}
        for key, new_key in keys.items():
            if key in old:
                if old[key] not in states:
                    states[old[key]] = len(states)
                    queue.append(old[key])
                row[new_key] = states[old[key]]
    finals = {states[state] for state in fsm.finals if state in states}
    return FSM(Alphabet(alphabet), set(states.values()), 0, finals, rows)


def _symbols(part: Any) -> Iterator[Any]:
    """The symbols of a pattern that interegular has parsed: what each character set reads, then what it does not."""
    from interegular.patterns import REFlags

    inner = [
        inner
        for name in ("options", "parts", "base")
        if hasattr(part, name)
        for inner in (getattr(part, name) if name != "base" else [part.base])
    ]
    for each in inner:
        yield from _symbols(each)
    if not inner:
        for symbols in part.get_alphabet(REFlags(0)).by_transition.values():
            yield from sorted(symbols)


def characters_of(alphabet: Alphabet, pattern: str) -> dict[int, Ranges]:
    """Return the characters of each symbol of an alphabet."""
    from interegular.fsm import anything_else

    ranges: dict[int, Ranges] = {}
    for number, symbols in alphabet.by_transition.items():
        characters = [symbol for symbol in symbols if symbol is not anything_else]
        if any(len(character) != 1 for character in characters):  # under (?i) it makes one symbol SS of ß
            raise PatternError(
                "interegular, on which the engine fsm is built, reads a character as several",
                pattern,
                hint=USE_THE_DEFAULT,
            )
        ranges[number] = union((ord(character), ord(character)) for character in characters)
    if anything_else in alphabet:
        other = alphabet[anything_else]
        ranges[other] = union(ranges[other], complement(union(*ranges.values())))
    return ranges


def disagreement(machine: Machine, symbols: list[Ranges], tree: Node) -> str | None:
    """Find a shortest text that only the machine or the pattern accepts.

    Each text is read by both at once: by the machine, which is in a state or (``None``) has stopped, and by the
    pattern, which is in several. The walk is about as long as interegular's own when it made the machine.
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


END = 0


class PatternStates:
    """The states of a pattern's NFA (Thompson 1968).

    There is one for each of its character sets, and 0 for the end.

    Attributes:
        start: The states in which the pattern begins.

    >>> from sfgen.regex import parse
    >>> pattern = PatternStates(parse("ab?"))
    >>> END in pattern.start, END in pattern.after(pattern.start, "a")
    (False, True)
    """

    def __init__(self, tree: Node) -> None:
        # What each state reads, and where it then is; a state that reads nothing is at once in all states after it.
        self._reads: list[Ranges | None] = [()]
        self._next: list[list[int]] = [[]]
        self.start = self._closed([self._add(tree, END)])

    def after(self, states: frozenset[int], letter: str) -> frozenset[int]:
        """Return the states after a character."""
        code = ord(letter)
        return self._closed(
            target
            for state in states
            if any(first <= code <= last for first, last in self._reads[state] or ())
            for target in self._next[state]
        )

    def _closed(self, states: Iterable[int]) -> frozenset[int]:
        """Return these states, with those after them instead of those that read nothing."""
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
