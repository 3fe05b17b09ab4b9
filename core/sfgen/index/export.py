"""The index for people and other programs: as plain data, in numbers, and as a picture.

All functions need the masks of all states, one after the other: a tenth of a second for 10 000 states over a large
vocabulary, or a second where many states tell letters apart.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfgen import arguments
from sfgen.automata.graph import STATES_DRAWN, Graph, character_graph, drawn
from sfgen.automata.label import CUT, columns, seen
from sfgen.errors import UsageError
from sfgen.index.token_automaton import TokenAutomaton
from sfgen.vocabulary import Vocabulary


def to_dict(index: TokenAutomaton, *, ids: bool = False) -> dict[str, Any]:
    """Convert an index to plain data.

    >>> from sfgen import Dfa, Index
    >>> to_dict(Index(Dfa.from_regex("ab?"), Vocabulary([b"a", b"b", b"ab"])))["transitions"]
    {'0': {'a': 1, 'ab': 2}, '1': {'b': 2}, '2': {}}
    """
    arguments.flag("ids", ids)
    return {**heading(index), "transitions": {str(row["state"]): row["tokens"] for row in rows(index, ids=ids)}}


def heading(index: TokenAutomaton) -> dict[str, Any]:
    """Describe an index without its transitions."""
    return {
        "pattern": index.dfa.pattern,
        "vocabulary": {"size": len(index.vocabulary), "fingerprint": index.vocabulary.fingerprint},
        "initial": 0,
        "final": np.flatnonzero(index.dfa.accepting).tolist(),
        "states": len(index.dfa),
    }


def rows(index: TokenAutomaton, *, ids: bool = False, states: Iterable[int] | None = None) -> Iterator[dict[str, Any]]:
    """Yield the states one by one, for JSON Lines.

    The mask of a state is made when the state is yielded.

    >>> from sfgen import Dfa, Index
    >>> for row in rows(Index(Dfa.from_regex("ab?"), Vocabulary([b"a", b"b", b"ab"]))):
    ...     print(row)
    {'state': 0, 'final': False, 'tokens': {'a': 1, 'ab': 2}}
    {'state': 1, 'final': True, 'tokens': {'b': 2}}
    {'state': 2, 'final': True, 'tokens': {}}
    """
    names = token_names(index.vocabulary, ids=ids)
    for state in range(len(index.dfa)) if states is None else states:
        if not 0 <= state < len(index.dfa):
            raise UsageError(f"there is no state {state}", hint=f"The states are 0 to {len(index.dfa) - 1}.")
        tokens, targets = index.transitions(state)
        yield {
            "state": state,
            "final": index.is_accepting(state),
            "tokens": {names[token]: target for token, target in zip(tokens.tolist(), targets.tolist(), strict=True)},
        }


def token_names(vocabulary: Vocabulary, *, ids: bool = False) -> list[str]:
    """Name each token uniquely.

    >>> token_names(Vocabulary([b"a", b"b", b"a", b"\\xff"]))
    ['a#0', 'b', 'a#2', '\\\\xff']
    """
    if ids:
        return [str(token) for token in range(len(vocabulary))]
    names = [vocabulary.text(token) for token in range(len(vocabulary))]
    while True:
        repeated = {name for name, count in Counter(names).items() if count > 1}
        if not repeated:
            return names
        names = [f"{name}#{token}" if name in repeated else name for token, name in enumerate(names)]


@dataclass(frozen=True)
class Statistics:
    """The size of an index.

    Attributes:
        states: States of the automaton.
        reached: The number of states that tokens lead to; a state inside a token that cannot be cut is not among them.
        transitions: Text tokens that may follow, summed over the states that are reached.
        accepting: The states in which the text may end.
        forced_runs: The texts without a choice inside, of at least one whole character, each once.
        nbytes: Memory that the automaton and the masks of all states would take, in bytes.
    """

    states: int
    reached: int
    transitions: int
    accepting: tuple[int, ...]
    forced_runs: tuple[str, ...]
    nbytes: int


_STEP = 256  # states between two calls of `progress`


def statistics(index: TokenAutomaton, progress: Callable[[int, int], None] | None = None) -> Statistics:
    """Measure an index, making the masks of all its states.

    >>> from sfgen import Dfa, Index, Vocabulary
    >>> vocabulary = Vocabulary([b"h", b"ot", b"hot", b"el", None], end_token_ids=[4])
    >>> found = statistics(Index(Dfa.from_regex("(hot|hotel)"), vocabulary))
    >>> found.states, found.reached, found.transitions, found.accepting, found.forced_runs
    (6, 4, 4, (3, 5), ('hot', 'l'))
    """
    dfa, total = index.dfa, len(index.dfa)
    counts = []  # the tokens that each state allows
    sizes: dict[tuple[int, int], int] = {}  # the bytes of each different mask, which may not all be kept
    for state in range(total):
        mask, count, digest = index.made(state)
        counts.append(count)
        sizes[count, digest] = mask.nbytes
        if progress is not None and (state + 1 == total or state % _STEP == _STEP - 1):
            progress(state + 1, total)
    met = reached(index)
    ends = len(index.vocabulary.end_token_ids)
    transitions = sum(counts[state] - (ends if dfa.accepting[state] else 0) for state in met)
    return Statistics(
        states=len(dfa),
        reached=len(met),
        transitions=transitions,
        accepting=tuple(np.flatnonzero(dfa.accepting).tolist()),
        forced_runs=_forced_runs(index),
        nbytes=sum(sizes.values()) + dfa.transitions.nbytes + dfa.byte_classes.nbytes + dfa.accepting.nbytes,
    )


def reached(index: TokenAutomaton) -> list[int]:
    """Return the states that tokens lead to, the start included."""
    if index.steps_byte_by_byte:
        return list(range(len(index.dfa)))
    seen = {0}
    queue = [0]
    for state in queue:
        new = set(np.unique(index.transitions(state)[1]).tolist()) - seen
        seen |= new
        queue += new
    return sorted(seen)


def _forced_runs(index: TokenAutomaton) -> tuple[str, ...]:
    """The texts between two choices, in the order of the states where they begin."""
    dfa = index.dfa
    steps = [index.only_step(state) for state in range(len(dfa))]
    # A run begins where one comes from a choice, or from a place where the text may end.
    begins = np.zeros(len(dfa), dtype=np.bool_)
    begins[0] = True
    free = np.array([step is None for step in steps])
    targets = np.unique(dfa.transitions[free])
    begins[targets[targets >= 0]] = True
    runs: dict[str, None] = {}
    for first in np.flatnonzero(begins & ~free).tolist():
        runs.setdefault(_whole_characters(index.forced_bytes(first)))
    runs.pop("", None)
    return tuple(runs)


def _whole_characters(data: bytes) -> str:
    r"""Drop halves of characters at the ends.

    >>> _whole_characters("né".encode()[:2]), _whole_characters("én".encode()[1:])
    ('n', 'n')
    """
    return data.decode("utf-8", "ignore")


_WIDTH = 28  # columns of the tokens on an edge
_ESCAPED = {"\\": "\\\\", '"': '\\"', CUT: r"\u2026"}
_ISOLATE, _END_ISOLATE = "\u2068", "\u2069"


def graph(index: TokenAutomaton, *, tokens: bool, ids: bool, max_states: int) -> Graph:
    """Draw an index by tokens or by characters."""
    arguments.flag("ids", ids)
    if arguments.flag("tokens", tokens):
        return token_graph(index, ids=ids, max_states=max_states)
    return character_graph(index.dfa, max_states=max_states)


def token_graph(index: TokenAutomaton, *, ids: bool = False, max_states: int = STATES_DRAWN) -> Graph:
    r"""Draw the states that tokens lead to.

    An edge stands for all tokens from one state to another, without end tokens.

    >>> from sfgen import Dfa, Index, Vocabulary
    >>> vocabulary = Vocabulary([b"1", b"12", b".", b".5", b"a", None], end_token_ids=[5])
    >>> for edge in token_graph(Index(Dfa.from_regex(r"[0-9]+\.[0-9]"), vocabulary)).edges:
    ...     print(*edge)
    0 1 "1", "12"
    1 1 "1", "12"
    1 2 "."
    1 3 ".5"
    2 3 "1"
    """
    name = token_labels(index.vocabulary, ids=ids)

    def leaving(state: int) -> Iterator[tuple[int, str]]:
        tokens, targets = index.transitions(state)
        by_target: dict[int, list[int]] = {}  # in the order of their first tokens
        for token, target in zip(tokens.tolist(), targets.tolist(), strict=True):
            by_target.setdefault(target, []).append(token)
        for target, group in by_target.items():
            yield target, _listed(name, group)

    return drawn(index.dfa, leaving, lambda: len(reached(index)), max_states)


def _listed(name: Callable[[int], str], tokens: list[int]) -> str:
    """The names of some of the tokens, and how many more there are."""
    shown = [name(tokens[0])]
    left = _WIDTH - columns(shown[0])
    for token in tokens[1:]:
        text = name(token)
        left -= columns(text) + 2
        if left < 0:
            break
        shown.append(text)
    more = len(tokens) - len(shown)
    return ", ".join(shown) + (f" {CUT} {more:,} more" if more else "")


def token_labels(vocabulary: Vocabulary, *, ids: bool) -> Callable[[int], str]:
    """Return a function that names tokens for people."""
    if ids:
        return str
    names = token_names(vocabulary)

    def name(token: int) -> str:
        text = quoted(vocabulary.tokens[token] or b"")
        return text if names[token] == vocabulary.text(token) else f"{text}#{token}"

    return name


def quoted(token: bytes) -> str:
    r"""Quote the text of a token, escaping what is invisible.

    A long text is cut.

    >>> print(quoted(b"na"), quoted(b' "\n'), quoted("é".encode()[:1]), quoted(b"\\"), quoted(b"=" * 50))
    "na" " \"\n" "\xc3" "\\" "=========================…"
    """
    text = token.decode(errors="surrogateescape")
    shown = []
    for character, written in zip(text, seen(text), strict=True):
        if "\udc80" <= character <= "\udcff":  # a byte that is no UTF-8
            written = f"\\x{ord(character) - 0xDC00:02x}"
        shown.append(_ESCAPED.get(character, written))
    if sum(map(columns, shown)) > _WIDTH - 2:
        left = _WIDTH - 3
        for length, written in enumerate(shown):
            left -= columns(written)
            if left < 0:
                shown[length:] = [CUT]
                break
    if any(unicodedata.bidirectional(character) in ("R", "AL") for character in text):
        # Words that are written from right to left would reverse the commas and the numbers after them, too.
        shown = [_ISOLATE, *shown, _END_ISOLATE]
    return f'"{"".join(shown)}"'
