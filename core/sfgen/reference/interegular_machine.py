"""What interegular makes of a pattern: with numbers that are the same in every run, and within limits of size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sfgen.errors import PatternError, PatternTooLarge
from sfgen.reference.agreement import character_sets
from sfgen.regex.ast import Node, Repeat, children
from sfgen.regex.characters import Ranges, complement, union

if TYPE_CHECKING:
    from interegular.fsm import FSM, Alphabet

USE_THE_DEFAULT = "Use the default engine, which reads all of Python's patterns that are regular."

_MOST_CHARACTERS = 2_000  # of the pattern, written out
_MOST_SYMBOLS = 50_000  # that are named: interegular lists every character of a range


def check_size(tree: Node, pattern: str) -> None:
    """Refuse a pattern that would take interegular minutes.

    Args:
        tree: The pattern as a tree.
        pattern: The pattern, for the message.

    Raises:
        PatternTooLarge: The pattern passes a limit.
    """
    for size, limit, what in (
        (written_size(tree), _MOST_CHARACTERS, "characters, written out"),
        (sum(map(_named, set(character_sets(tree)))), _MOST_SYMBOLS, "characters in sets"),
    ):
        if size > limit:
            raise PatternTooLarge(
                f"the pattern passes the limit of the engine fsm, {limit:,} {what}", pattern, hint=USE_THE_DEFAULT
            )


def made_by_interegular(pattern: str) -> FSM:
    """Make the machine of a pattern, right or wrong.

    Raises:
        PatternError: interegular cannot read it.
    """
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
    """Return the characters of each symbol of an alphabet.

    Args:
        alphabet: The alphabet.
        pattern: The pattern, for the message.

    Raises:
        PatternError: A symbol is not a single character.
    """
    from interegular.fsm import anything_else

    found: dict[int, Ranges] = {}
    for number, symbols in alphabet.by_transition.items():
        characters = [symbol for symbol in symbols if symbol is not anything_else]
        if any(len(character) != 1 for character in characters):  # under (?i) it makes one symbol SS of ß
            raise PatternError(
                "interegular, on which the engine fsm is built, reads a character as several",
                pattern,
                hint=USE_THE_DEFAULT,
            )
        found[number] = union((ord(character), ord(character)) for character in characters)
    if anything_else in alphabet:
        other = alphabet[anything_else]
        found[other] = union(found[other], complement(union(*found.values())))
    return found


def written_size(node: Node) -> int:
    """Return the length of a pattern with its repeats written out."""
    if isinstance(node, Repeat):
        return written_size(node.child) * max(node.minimum + 1, node.maximum or 0)
    return sum(map(written_size, children(node))) or 1


def _named(ranges: Ranges) -> int:
    """How many characters a set names: those that it has, or of a complement those that it leaves out."""
    inside = sum(last - first + 1 for first, last in ranges)
    return min(inside, 0x110000 - 0x800 - inside)
