"""The index as plain data, for JSON and for people."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from sfgen.vocabulary import Vocabulary

if TYPE_CHECKING:
    from sfgen.index.builder import Index


def to_dict(index: Index, *, ids: bool = False) -> dict[str, Any]:
    """The states, and for each the tokens it allows with the state they lead to.

    Args:
        index: The index.
        ids: Whether tokens are named by their ids instead of their text.

    Returns:
        ``pattern``, ``vocabulary`` (``size``, ``fingerprint``), ``initial``, ``final``, ``states`` and
        ``transitions``: state → token → next state, with string keys; a state without transitions has an empty one.
    """
    names = [str(token) for token in range(len(index.vocabulary))] if ids else token_names(index.vocabulary)
    transitions = {}
    for state in range(len(index.dfa)):
        tokens, targets = index.transitions(state)
        transitions[str(state)] = {
            names[token]: target for token, target in zip(tokens.tolist(), targets.tolist(), strict=True)
        }
    return {
        "pattern": index.dfa.pattern,
        "vocabulary": {"size": len(index.vocabulary), "fingerprint": index.vocabulary.fingerprint},
        "initial": 0,
        "final": np.flatnonzero(index.dfa.accepting).tolist(),
        "states": len(index.dfa),
        "transitions": transitions,
    }


def token_names(vocabulary: Vocabulary) -> list[str]:
    """A name for each token, no two alike: its text; ``text#id`` where several tokens have the same text.

    >>> token_names(Vocabulary([b"a", b"b", b"a", b"\\xff"]))
    ['a#0', 'b', 'a#2', '\\\\xff']
    """
    names = [vocabulary.text(token) for token in range(len(vocabulary))]
    while True:
        repeated = {name for name, count in Counter(names).items() if count > 1}
        if not repeated:
            return names
        names = [f"{name}#{token}" if name in repeated else name for token, name in enumerate(names)]
