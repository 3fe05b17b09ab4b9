"""The index as plain data, for JSON and for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from sfgen import arguments
from sfgen.errors import UsageError
from sfgen.index.token_automaton import TokenAutomaton
from sfgen.vocabulary import Vocabulary


def to_dict(index: TokenAutomaton, *, ids: bool = False) -> dict[str, Any]:
    """Convert an index to plain data.

    Args:
        index: The index.
        ids: Whether tokens are named by their ids instead of their text.

    Returns:
        What :func:`heading` gives, and ``transitions``: state → token → next state, with string keys; a state without
        transitions has an empty one.

    >>> from sfgen import Dfa, Index
    >>> to_dict(Index(Dfa.from_regex("ab?"), Vocabulary([b"a", b"b", b"ab"])))["transitions"]
    {'0': {'a': 1, 'ab': 2}, '1': {'b': 2}, '2': {}}
    """
    arguments.flag("ids", ids)
    return {**heading(index), "transitions": {str(row["state"]): row["tokens"] for row in rows(index, ids=ids)}}


def heading(index: TokenAutomaton) -> dict[str, Any]:
    """Describe an index without its transitions.

    Returns:
        ``pattern``, ``vocabulary`` (``size``, ``fingerprint``), ``initial``, ``final`` and ``states``, their number.
    """
    return {
        "pattern": index.dfa.pattern,
        "vocabulary": {"size": len(index.vocabulary), "fingerprint": index.vocabulary.fingerprint},
        "initial": 0,
        "final": np.flatnonzero(index.dfa.accepting).tolist(),
        "states": len(index.dfa),
    }


def rows(index: TokenAutomaton, *, ids: bool = False, states: Iterable[int] | None = None) -> Iterator[dict[str, Any]]:
    """Yield the states one by one, for JSON Lines.

    The mask of a state is made when it is its turn.

    Args:
        index: The index.
        ids: Whether tokens are named by their ids instead of their text.
        states: Which states; all by default.

    Returns:
        ``state``; ``final``, whether the text may end there; and ``tokens``, with string keys: token → next state.

    Raises:
        UsageError: There is no such state.

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

    Args:
        vocabulary: The tokens.
        ids: Whether a name is just the id.

    Returns:
        By token id: its text, ``text#id`` where several have the same text, or its id.

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
