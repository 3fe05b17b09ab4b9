"""The written form of JSON strings: one for each text, that of ``json.dumps``.

Automata of strings are built for *decoded* texts and then converted to *written* ones: each quote, backslash and
control character becomes its escape, and the whole is put in quotes. All other characters are written raw, so each text
has exactly one written form, and equal decoded automata give equal written ones.

Lengths are counted on written forms, by a product with an automaton that counts. For small numbers it consists of
copies of the automaton of all strings, one for each number of characters, and each character leads to the next copy.
Large numbers are counted by a register, for which the automaton only marks the states after a character.
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
"""The letter after the backslash, for characters with a short escape."""

_ESCAPED = [*range(0x20), ord('"'), ord("\\")]
"""The characters that are never written raw."""

_START, _END, _INSIDE = 0, 1, 2
_KEPT = 256  # automata

MAX_CELLS = 32_000_000
"""The most cells of a table, states × byte classes, before minimisation."""

_MAX_COPIED = 2_000  # states, up to which copies are better than a register
_MAX_WORK = 50_000_000  # table cells that a search may read
_TOGETHER = 4096  # states whose rows are processed at once, to limit memory
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
            hint="Surrogates come in pairs: a high and a low one make a character.",
        ) from None


@cache
def any_text() -> Dfa:
    """Build the decoded automaton of all texts, of characters without surrogates."""
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
    r"""Build the minimal automaton of the JSON strings of decoded texts, with quotes.

    >>> strings = written(Dfa.from_choices(['say "hi"']))
    >>> strings.accepts(r'"say \"hi\""'), strings.accepts('"say "hi""'), strings.accepts(r'"\u0073ay \"hi\""')
    (True, False, False)
    """
    byte_classes, decoded_classes = _written_classes(decoded)
    escaping = _reading(decoded, _ESCAPED)
    by_number = _reading(decoded, [character for character in _ESCAPED if character not in _SHORT])
    # There is a state after a backslash for each state that reads an escaped character, and states after \u, \u0, \u00,
    # \u000 and \u001 for each state that reads a character with a numeric escape.
    first = _INSIDE + len(decoded)
    numbers = np.arange(first, first + len(escaping) + 5 * len(by_number), dtype=np.int32)
    backslash = numbers[: len(escaping)]
    *unicode, zero, one = numbers[len(escaping) :].reshape(5, -1)

    table = np.empty((first + len(numbers), len(decoded_classes)), dtype=np.int32)
    table[:_INSIDE] = table[first:] = -1
    inside = table[_INSIDE:first]
    # There may be millions of transitions, so this is the only copy.
    np.take(decoded.transitions, decoded_classes, axis=1, out=inside, mode="clip")
    np.add(inside, np.int32(_INSIDE), out=inside, where=inside >= 0)
    inside[:, byte_classes[_ESCAPED]] = -1  # these characters are never raw

    def lead(sources: NDArray[np.integer] | int, byte: str, targets: NDArray[np.int32] | int) -> None:
        table[sources, byte_classes[ord(byte)]] = targets

    lead(_START, '"', _INSIDE)
    lead(np.flatnonzero(decoded.accepting) + _INSIDE, '"', _END)
    lead(escaping + _INSIDE, "\\", backslash)
    after_backslash = backslash[np.searchsorted(escaping, by_number)]
    for sources, byte, targets in zip(
        (after_backslash, *unicode, unicode[-1]), "u0001", (*unicode, zero, one), strict=True
    ):
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
    """Return the transitions and byte classes of all strings as a list and bytes, which Python reads fastest."""
    return any_string().transitions.tolist(), any_string().byte_classes.tobytes()


def written_without(texts: Collection[str]) -> Dfa:
    """Build the minimal automaton of all JSON strings except those of some texts.

    It equals ``written`` of their complement, but is built directly: a trie of the texts, with transitions into the
    automaton of all strings where a string leaves the trie.

    >>> strings = written_without(["id", "idle"])
    >>> strings.accepts('"id"'), strings.accepts('"idl"'), strings.accepts('"idles"')
    (False, True, True)
    """
    strings, (rows_of, class_of) = any_string(), _string_steps()
    # The trie: the children of each node, the parent and byte of each node, and its state among all strings.
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
    """Return the states with a transition by one of some ASCII characters, ascending."""
    is_reading = np.zeros(len(decoded), dtype=np.bool_)
    for label in np.unique(decoded.byte_classes[characters]).tolist():
        is_reading |= decoded.transitions[:, label] >= 0
    return np.flatnonzero(is_reading)


def _written_classes(decoded: Dfa) -> tuple[NDArray[np.uint8], NDArray[np.intp]]:
    """Divide bytes into classes by those of the decoded automaton, and by the characters of escapes."""
    # Returned: the class of each byte, uint8 [256], and the decoded class of each class, intp [classes]. They are
    # numbered by their smallest byte.
    kinds = np.zeros(256, dtype=np.intp)
    kinds[_ESCAPED] = 1  # a quote and a backslash get their own classes below
    alone = sorted(set(b'"\\u0123456789abcdef' + "".join(_SHORT.values()).encode()))
    kinds[alone] = np.arange(2, 2 + len(alone))
    codes = (decoded.byte_classes.astype(np.intp) * 256 + kinds).tolist()
    number_of = {code: number for number, code in enumerate(dict.fromkeys(codes))}
    return np.array([number_of[code] for code in codes], dtype=np.uint8), np.array(list(number_of)) // 256


# ---- lengths ---------------------------------------------------------------------------------------------------------


def counted_text(minimum: int, maximum: int | None) -> CountedText:
    """Make the rule of JSON strings whose characters a register counts."""
    # All lengths share one automaton. It is not minimal: the state after the opening quote and the state after a
    # character are different, as only the second one counts.
    dfa, counts, needs_minimum = _counted_automaton()
    return CountedText(dfa, counts, needs_minimum, minimum, maximum)


@cache
def _counted_automaton() -> tuple[Dfa, NDArray[np.bool_], NDArray[np.bool_]]:
    """Build the automaton of all strings, and mark its states between characters and at the end."""
    # The marks are bool [states]: a character ends in the state; the string ends in the state.
    strings = written(any_text())
    opened, closed, between = strings.walk(b'"'), strings.walk(b'""'), len(strings)
    following = np.where(strings.transitions == opened, np.int32(between), strings.transitions)
    following[0] = strings.transitions[0]  # the opening quote is not counted
    table = np.concatenate([following, following[opened][None]])
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
    """Return the bytes of the longest text; ``None`` if there is none, or if the search takes too long."""
    states = np.arange(len(dfa))
    if (dfa.transitions == states[:, None]).any():
        return None
    reached = np.zeros(1, dtype=np.intp)
    work = 0
    for length in range(len(dfa)):
        work += len(dfa) + len(reached) * dfa.transitions.shape[1]
        if work > _MAX_WORK // 4:
            return None
        is_next = np.zeros(len(dfa) + 1, dtype=np.bool_)  # the last cell is for missing transitions, which are -1
        is_next[dfa.transitions[reached]] = True
        reached = np.flatnonzero(is_next[:-1])
        if not len(reached):
            return length
    return None  # a longer text visits a state twice, so there is a cycle


def _copies(minimum: int, maximum: int | None) -> Deterministic:
    """Build the automaton of all strings with a number of characters, by copies."""
    one = counted_text(minimum, maximum)
    last = minimum if maximum is None else maximum
    states, classes = one.dfa.transitions.shape
    if states * (last + 1) > MAX_DFA_STATES:
        raise _too_large()
    copies = np.arange(last + 1, dtype=np.int32)[:, None, None]
    following = copies + one.counts[one.dfa.transitions]  # arbitrary where there is no transition
    if maximum is None:
        following = np.minimum(following, last)  # higher counts are equivalent
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
    """Make the rule of an automaton's strings with a register; return also the fewest characters of a string."""
    # In a minimal automaton a state can be entered both after a character and inside an escape. If there is such a
    # state, the product with the counting automaton of all strings separates the two.
    every, dfa = counted_text(0, None), strings
    other = _others(dfa, every.dfa)
    if other is None:
        try:
            dfa = Dfa(*product(_arrays(strings), _arrays(every.dfa), Keep.BOTH, ""))
        except PatternTooLarge:
            raise _too_large() from None
        other = _others(dfa, every.dfa)
        assert other is not None, "each state of the product belongs to one state of the other automaton"
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
    """Find the state of ``every`` that goes with each state of ``dfa``; ``None`` if a state has several."""
    other = np.full(len(dfa), -1, dtype=np.intp)
    other[0] = 0
    # Pairs of byte classes that occur, since one automaton may divide bytes that the other does not.
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
        hint="Use a smaller minLength or maxLength, or put the length into the pattern.",
    )
