"""JSON strings as they are written: one written form for each text, which is what ``json.dumps`` writes.

Automata of strings are made on the *decoded* text, what a string says, and then *written*: each quote, backslash and
control character becomes its escape, and quotes go around the whole. All other characters are written raw, so each
text has exactly one written form, and two automata that agree on the texts agree on what is written.

Lengths are counted on written forms: an automaton is read side by side with one that counts. For small numbers that is
one automaton of everything: a copy of all strings' automaton for each number of characters, where each character leads
into the next copy. For large ones a register counts, and the automaton is only taken apart into states that a character
ends in and others.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from sfgen.automata import Dfa
from sfgen.automata.algebra import Keep, all_texts, product
from sfgen.automata.completions import least_costs
from sfgen.automata.determinize import MAX_DFA_STATES, Deterministic
from sfgen.automata.minimize import minimize
from sfgen.errors import PatternTooLarge, SchemaError, SchemaTooLarge
from sfgen.grammar.network.rules import CountedText, Leaf

_SHORT = {ord('"'): '"', ord("\\"): "\\", 8: "b", 9: "t", 10: "n", 12: "f", 13: "r"}
"""What stands behind the backslash in a short escape."""

_ESCAPED = [*range(0x20), ord('"'), ord("\\")]
"""The characters that are never written raw."""

_START, _END, _INSIDE = 0, 1, 2
_KEPT = 256  # automata

MAX_CELLS = 32_000_000
"""States times classes of bytes, before equal states are joined."""

_MAX_COPIED = 2_000  # states, up to which an automaton of everything is better than a register
_MAX_WORK = 50_000_000  # cells of tables that are looked at
_TOGETHER = 4096  # states, so that their rows take little memory
_FAR = 1 << 31  # more than any number of bytes


def write(value: str) -> bytes:
    r"""Write a text as a JSON string, with its quotes.

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
def any_string() -> Dfa:
    """Build the automaton of all JSON strings."""
    return written(any_text())


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


@cache
def _string_steps() -> tuple[list[list[int]], bytes]:
    """Return the transitions and byte classes of all strings as Python reads them fastest."""
    return any_string().transitions.tolist(), any_string().byte_classes.tobytes()


def written_without(texts: Collection[str]) -> Dfa:
    """Build the minimal automaton of all JSON strings but those of some texts.

    It is ``written`` of their complement, made at once: the texts become a tree that leads into the automaton of all
    strings where a string leaves it.

    >>> strings = written_without(["id", "idle"])
    >>> strings.accepts('"id"'), strings.accepts('"idl"'), strings.accepts('"idles"')
    (False, True, True)
    """
    strings, (rows_of, class_of) = any_string(), _string_steps()
    # The tree: the steps of each node, by which byte each node is entered from which, and its state among all strings.
    children: list[dict[int, int]] = [{}]
    sources, letters, states, ends = list[int](), list[int](), [0], list[int]()
    for text in texts:
        node = state = 0
        for byte in write(text):
            state = rows_of[state][class_of[byte]]
            after = children[node].setdefault(byte, len(children))
            if after == len(children):
                children.append({})
                sources.append(node)
                letters.append(byte)
                states.append(state)
            node = after
        ends.append(node)
    used = sorted(set(letters))
    alone = np.zeros(256, dtype=np.intp)
    alone[used] = np.arange(1, len(used) + 1)
    codes, classes = np.unique(alone * 256 + strings.byte_classes, return_inverse=True)
    columns = codes % 256
    rows = strings.transitions[:, columns]
    rows = np.where(rows >= 0, rows + np.int32(len(children)), rows)
    table = np.concatenate([rows[states], rows])
    table[sources, classes[letters]] = np.arange(1, len(children))
    accepting = np.concatenate([strings.accepting[states], strings.accepting])
    accepting[ends] = False
    return Dfa(*minimize(Deterministic(table, classes.astype(np.uint8), accepting)))


def _reading(decoded: Dfa, characters: list[int]) -> NDArray[np.intp]:
    """Return the states that read one of some ASCII characters, ascending."""
    is_reading = np.zeros(len(decoded), dtype=np.bool_)
    for label in np.unique(decoded.byte_classes[characters]).tolist():
        is_reading |= decoded.transitions[:, label] >= 0
    return np.flatnonzero(is_reading)


def _written_classes(decoded: Dfa) -> tuple[NDArray[np.uint8], NDArray[np.intp]]:
    """Divide bytes by what the decoded automaton tells apart, and by what escapes are made of."""
    # Returned: the class of each byte, uint8 [256], and the decoded class of each class, intp [classes]. They are
    # numbered by their smallest byte.
    kinds = np.zeros(256, dtype=np.intp)
    kinds[_ESCAPED] = 1  # of these, a quote and a backslash have a class of their own
    alone = sorted(set(b'"\\u0123456789abcdef' + "".join(_SHORT.values()).encode()))
    kinds[alone] = np.arange(2, 2 + len(alone))
    codes = (decoded.byte_classes.astype(np.intp) * 256 + kinds).tolist()
    number_of = {code: number for number, code in enumerate(dict.fromkeys(codes))}
    return np.array([number_of[code] for code in codes], dtype=np.uint8), np.array(list(number_of)) // 256


# ---- lengths ---------------------------------------------------------------------------------------------------------


def counted_text(minimum: int, maximum: int | None) -> CountedText:
    """Make the rule of JSON strings whose characters a register counts."""
    # All lengths share one automaton. It is not minimal: the state behind the opening quote, into which no character
    # leads, is apart from the state behind a character.
    dfa, counts, needs_minimum = _counted_automaton()
    return CountedText(dfa, counts, needs_minimum, minimum, maximum)


@cache
def _counted_automaton() -> tuple[Dfa, NDArray[np.bool_], NDArray[np.bool_]]:
    """Build the automaton of all strings, and mark its states between characters and at the end."""
    # The marks are bool [states].
    strings = written(any_text())
    opened, closed, between = strings.walk(b'"'), strings.walk(b'""'), len(strings)
    behind = np.where(strings.transitions == opened, np.int32(between), strings.transitions)
    behind[0] = strings.transitions[0]  # the opening quote is no character
    table = np.concatenate([behind, behind[opened][None]])
    states = np.arange(len(table))
    dfa = Dfa(table, strings.byte_classes, states == closed)
    return dfa, _frozen(states == between), _frozen(states == closed)


def _frozen(flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Make an array read-only."""
    flags.setflags(write=False)
    return flags


def of_length(strings: Dfa, minimum: int, maximum: int | None) -> Leaf | CountedText:
    """Restrict strings to texts of ``minimum`` to ``maximum`` characters.

    >>> from sfgen.schema.scalars.written_text import written
    >>> short = of_length(written(Dfa.from_regex("(é|ab)*")), 2, 3)
    >>> [short.dfa.accepts(text) for text in ('"é"', '"ab"', '"éab"', '"abab"')]
    [False, True, True, False]
    >>> of_length(written(Dfa.from_regex("(é|ab)*")), 2, 3000).maximum
    3000
    """
    if maximum is not None and (longest := _longest(strings)) is not None and longest <= maximum:
        maximum = None
    if maximum is not None and len(strings) * (maximum + 1) <= _MAX_COPIED:
        return Leaf(_read_beside(strings, _copies(minimum, maximum)))
    enough = strings if minimum == 0 else _read_beside(strings, _copies(minimum, None))
    if maximum is None or enough.is_empty:
        return Leaf(enough)
    counted, fewest = _counted(enough)
    if counted is None:
        return Leaf(_read_beside(strings, _copies(minimum, maximum)))
    if fewest > maximum:
        return Leaf(no_text())
    return CountedText(counted.dfa, counted.counts, counted.needs_minimum, 0, maximum)


def _longest(dfa: Dfa) -> int | None:
    """Measure the longest text in bytes; ``None``: there is none, or it takes too long to know."""
    states = np.arange(len(dfa))
    if (dfa.transitions == states[:, None]).any():
        return None
    reached = np.zeros(1, dtype=np.intp)
    work = 0
    for length in range(len(dfa)):
        work += len(dfa) + len(reached) * dfa.transitions.shape[1]
        if work > _MAX_WORK // 4:
            return None
        is_next = np.zeros(len(dfa) + 1, dtype=np.bool_)  # the last is for no transition
        is_next[dfa.transitions[reached]] = True
        reached = np.flatnonzero(is_next[:-1])
        if not len(reached):
            return length
    return None  # a text that comes to more states than there are goes round


def _copies(minimum: int, maximum: int | None) -> Deterministic:
    """Build the automaton of all strings with texts of some lengths."""
    one = counted_text(minimum, maximum)
    last = minimum if maximum is None else maximum
    states, classes = one.dfa.transitions.shape
    if states * (last + 1) > MAX_DFA_STATES:
        raise _too_large()
    copies = np.arange(last + 1, dtype=np.int32)[:, None, None]
    following = copies + one.counts[one.dfa.transitions]  # whatever that is where there is no transition
    if maximum is None:
        following = np.minimum(following, last)  # more is as good
    table = np.where((one.dfa.transitions >= 0) & (following <= last), one.dfa.transitions + following * states, -1)
    accepting = (copies[:, 0] >= minimum) & one.dfa.accepting
    return Deterministic(table.reshape(-1, classes).astype(np.int32), one.dfa.byte_classes, accepting.reshape(-1))


def _read_beside(strings: Dfa, others: Deterministic) -> Dfa:
    """Intersect two automata, and minimise."""
    try:
        both = product(_arrays(strings), others, Keep.BOTH, "")
    except PatternTooLarge:
        raise _too_large() from None
    if both.transitions.size > MAX_CELLS:
        raise _too_large()
    return Dfa(*minimize(both))


@lru_cache(maxsize=_KEPT)
def _counted(strings: Dfa) -> tuple[CountedText | None, int]:
    """Count the characters of an automaton's strings by a register; return the fewest of one, too."""
    # In a minimal automaton a state can be entered by the last byte of a character and inside of an escape. Where that
    # is so, it is read beside the counting automaton of all strings, and a state is a pair of states.
    every, dfa = counted_text(0, None), strings
    other = _others(dfa, every.dfa)
    if other is None:
        try:
            dfa = Dfa(*product(_arrays(strings), _arrays(every.dfa), Keep.BOTH, ""))
        except PatternTooLarge:
            raise _too_large() from None
        other = _others(dfa, every.dfa)
        assert other is not None, "a state is a pair"
    counts, closed = every.counts[other], every.needs_minimum[other]
    known = np.where(dfa.accepting, np.int64(0), np.int64(_FAR * _FAR))
    by_characters = least_costs(dfa, counts * np.int64(_FAR) + 1, known, _MAX_WORK)
    by_bytes = least_costs(dfa, counts + np.int64(_FAR), known, _MAX_WORK)
    if by_characters is None or by_bytes is None or (by_characters % _FAR != by_bytes // _FAR).any():
        return None, 0
    for flags in (counts, closed):
        flags.setflags(write=False)
    return CountedText(dfa, counts, closed, 0, None), int(by_characters[0] // _FAR)


def _others(dfa: Dfa, every: Dfa) -> NDArray[np.intp] | None:
    """Find the one state of ``every`` beside each state of ``dfa``; ``None``: one has several."""
    other = np.full(len(dfa), -1, dtype=np.intp)
    other[0] = 0
    # Bytes that one of them tells apart: an escape and a raw byte may lead on alike.
    codes = np.unique(dfa.byte_classes.astype(np.intp) * 256 + every.byte_classes)
    own, classes = np.divmod(codes, 256)
    waiting = [np.zeros(1, dtype=np.intp)]
    while waiting:
        front = waiting.pop()
        if len(front) > _TOGETHER:
            waiting.append(front[_TOGETHER:])
            front = front[:_TOGETHER]
        rows = dfa.transitions[front][:, own]
        numbers, labels = np.nonzero(rows >= 0)
        targets = rows[numbers, labels]
        others = every.transitions[other[front[numbers]], classes[labels]]
        is_new = other[targets] < 0
        other[targets[is_new]] = others[is_new]
        if (other[targets] != others).any():
            return None
        if is_new.any():
            waiting.append(np.unique(targets[is_new]))
    return other


def _arrays(dfa: Dfa) -> Deterministic:
    return Deterministic(dfa.transitions, dfa.byte_classes, dfa.accepting)


def _too_large() -> SchemaTooLarge:
    return SchemaTooLarge(
        "the lengths of a string together with its other keywords pass the limit of "
        f"{MAX_DFA_STATES:,} states or {MAX_CELLS:,} transitions",
        hint="Take a smaller minLength or maxLength, or put the length into the pattern.",
    )
