"""JSON strings as they are written: one written form for each text, which is what ``json.dumps`` writes.

Automata of strings are made on the *decoded* text, what a string says, and then *written*: each quote, backslash and
control character becomes its escape, and quotes go around the whole. All other characters are written raw, so each
text has exactly one written form, and two automata that agree on the texts agree on what is written.
"""

from __future__ import annotations

import json
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from sfgen.automata import Dfa
from sfgen.automata.algebra import all_texts
from sfgen.automata.determinize import Deterministic
from sfgen.automata.minimize import minimize
from sfgen.errors import SchemaError
from sfgen.grammar.rules import CountedText

_SHORT = {ord('"'): '"', ord("\\"): "\\", 8: "b", 9: "t", 10: "n", 12: "f", 13: "r"}
"""What stands behind the backslash in a short escape."""

_ESCAPED = [*range(0x20), ord('"'), ord("\\")]
"""The characters that are never written raw."""

_START, _END, _INSIDE = 0, 1, 2
_KEPT = 256  # automata


def write(value: str) -> bytes:
    r"""Write a text as a JSON string, with its quotes.

    Raises:
        SchemaError: The text has a lone surrogate, which UTF-8 cannot hold.

    >>> write('a "ü"\n')
    b'"a \\"\xc3\xbc\\"\\n"'
    """
    try:
        return json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise SchemaError(
            f"the text {value!a:.60} has a lone surrogate, which is no character",
            hint="A surrogate stands only in a pair: one high and one low make a character.",
        ) from None


@cache
def any_text() -> Dfa:
    """Build the decoded automaton of every text: all characters but surrogates."""
    return Dfa(*all_texts())


@cache
def no_text() -> Dfa:
    """Build the automaton of the empty language."""
    return any_text() - any_text()


@lru_cache(maxsize=_KEPT)
def written(decoded: Dfa) -> Dfa:
    r"""Build the minimal automaton of the JSON strings of decoded texts.

    Their quotes are read, too.

    >>> strings = written(Dfa.from_choices(['say "hi"']))
    >>> strings.accepts(r'"say \"hi\""'), strings.accepts('"say "hi""'), strings.accepts(r'"\u0073ay \"hi\""')
    (True, False, False)
    """
    byte_classes, decoded_classes = _written_classes(decoded)
    escaping = _reading(decoded, _ESCAPED)
    by_number = _reading(decoded, [character for character in _ESCAPED if character not in _SHORT])
    # Behind a backslash for each state in which an escape may stand; behind \u, \u0, \u00, \u000 and \u001 for each in
    # which one by a number may.
    first = _INSIDE + len(decoded)
    numbers = np.arange(first, first + len(escaping) + 5 * len(by_number), dtype=np.int32)
    backslash = numbers[: len(escaping)]
    *unicode, zero, one = numbers[len(escaping) :].reshape(5, -1)

    table = np.empty((first + len(numbers), len(decoded_classes)), dtype=np.int32)
    table[:_INSIDE] = table[first:] = -1
    inside = table[_INSIDE:first]
    # There may be millions of transitions: no copy of them but this one is made.
    np.take(decoded.transitions, decoded_classes, axis=1, out=inside, mode="clip")
    np.add(inside, np.int32(_INSIDE), out=inside, where=inside >= 0)
    inside[:, byte_classes[_ESCAPED]] = -1  # never raw

    def lead(sources: NDArray[np.integer] | int, byte: str, targets: NDArray[np.int32] | int) -> None:
        table[sources, byte_classes[ord(byte)]] = targets

    lead(_START, '"', _INSIDE)
    lead(np.flatnonzero(decoded.accepting) + _INSIDE, '"', _END)
    lead(escaping + _INSIDE, "\\", backslash)
    behind = backslash[np.searchsorted(escaping, by_number)]
    for sources, byte, targets in zip((behind, *unicode, unicode[-1]), "u0001", (*unicode, zero, one), strict=True):
        lead(sources, byte, targets)
    for character in _ESCAPED:
        sources, byte = backslash, _SHORT.get(character, f"{character % 16:x}")
        if character not in _SHORT:
            sources = one if character >= 16 else zero
        targets = decoded.transitions[escaping if character in _SHORT else by_number, decoded.byte_classes[character]]
        lead(sources, byte, np.where(targets >= 0, targets + np.int32(_INSIDE), targets))
    accepting = np.arange(len(table)) == _END
    return Dfa(*minimize(Deterministic(table, byte_classes, accepting)))


def _reading(decoded: Dfa, characters: list[int]) -> NDArray[np.intp]:
    """The states that read one of some ASCII characters, ascending."""
    is_reading = np.zeros(len(decoded), dtype=np.bool_)
    for label in np.unique(decoded.byte_classes[characters]).tolist():
        is_reading |= decoded.transitions[:, label] >= 0
    return np.flatnonzero(is_reading)


def _written_classes(decoded: Dfa) -> tuple[NDArray[np.uint8], NDArray[np.intp]]:
    """Classes of bytes that tell apart what the decoded automaton does, what is escaped and what escapes are made of.

    Returns:
        The class of each byte, uint8 [256], and the decoded class of the bytes of each class, [classes]. They are
        numbered by their smallest byte.
    """
    kinds = np.zeros(256, dtype=np.intp)
    kinds[_ESCAPED] = 1  # of these, a quote and a backslash have a class of their own
    alone = sorted(set(b'"\\u0123456789abcdef' + "".join(_SHORT.values()).encode()))
    kinds[alone] = np.arange(2, 2 + len(alone))
    codes = (decoded.byte_classes.astype(np.intp) * 256 + kinds).tolist()
    number_of = {code: number for number, code in enumerate(dict.fromkeys(codes))}
    return np.array([number_of[code] for code in codes], dtype=np.uint8), np.array(list(number_of)) // 256


def counted_text(minimum: int, maximum: int | None) -> CountedText:
    """Make the rule of JSON strings whose characters a register counts.

    All lengths share one automaton. It is not minimal: the state behind the opening quote, into which no character
    leads, is apart from the state behind a character.

    Args:
        minimum: The fewest characters (code points).
        maximum: The most; ``None``: any number.
    """
    dfa, counts, needs_minimum = _counted_automaton()
    return CountedText(dfa, counts, needs_minimum, minimum, maximum)


@cache
def _counted_automaton() -> tuple[Dfa, NDArray[np.bool_], NDArray[np.bool_]]:
    """The automaton of all strings, the state between its characters, and the state at its end, bool [states]."""
    strings = written(any_text())
    opened, closed, between = strings.walk(b'"'), strings.walk(b'""'), len(strings)
    behind = np.where(strings.transitions == opened, np.int32(between), strings.transitions)
    behind[0] = strings.transitions[0]  # the opening quote is no character
    table = np.concatenate([behind, behind[opened][None]])
    states = np.arange(len(table))
    dfa = Dfa(table, strings.byte_classes, states == closed)
    return dfa, _frozen(states == between), _frozen(states == closed)


def _frozen(flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The same array, which nobody can change."""
    flags.setflags(write=False)
    return flags
