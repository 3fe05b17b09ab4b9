"""How far it is from a control of the lexer to each terminal: the fewest bytes until it can be committed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfgen.lalr.tables import Lexer

FAR = 1 << 29
"""In place of a distance where there is no way. Three of them fit into an int32."""


def labels_of(lexer: Lexer) -> tuple[tuple[int, int], ...]:
    """List the distinct pairs of a terminal and a promise, sorted.

    Only those that are committed count.
    """
    commits = zip(lexer.commit_terminals.tolist(), lexer.commit_promises.tolist(), strict=True)
    return tuple(sorted(set(commits)))


def byte_costs(
    lexer: Lexer, labels: tuple[tuple[int, int], ...], usable: NDArray[np.bool_] | None = None
) -> NDArray[np.int32]:
    """Compute the fewest bytes from each control to each label's commit.

    All labels are searched at once, breadth first, from the commits backwards.

    Args:
        lexer: The lexer.
        labels: The labels, as ``labels_of`` has them.
        usable: The bytes that may be used, bool ``[256]``; ``None`` for all.

    Returns:
        int32 ``[controls, labels + 1]``, in bytes; the last column is the end of the text; ``FAR`` where there is no
        way.
    """
    controls, width = len(lexer.step), len(labels) + 1
    costs = np.full(controls * width, FAR, dtype=np.int32)
    columns = {label: column for column, label in enumerate(labels)}
    committed = zip(lexer.commit_terminals.tolist(), lexer.commit_promises.tolist(), strict=True)
    owners = np.repeat(np.arange(controls), np.diff(lexer.commit_starts))
    front = owners * width + np.array([columns[label] for label in committed], dtype=np.intp)
    front = np.unique(np.concatenate([front, np.flatnonzero(lexer.may_end) * width + width - 1]))
    costs[front] = 0
    starts, sources = _sources(lexer, usable)
    cost = 0
    while len(front):
        cost += 1
        targets, label = np.divmod(front, width)
        counts = starts[targets + 1] - starts[targets]
        firsts = np.cumsum(counts) - counts
        at = np.arange(counts.sum()) + np.repeat(starts[targets] - firsts, counts)
        front = sources[at] * width + np.repeat(label, counts)
        front = np.unique(front[costs[front] == FAR])
        costs[front] = cost
    return costs.reshape(controls, width)


def _sources(lexer: Lexer, usable: NDArray[np.bool_] | None) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """From which controls one byte leads to each: where those of each control begin, and all of them."""
    controls = len(lexer.step)
    bytes_ = lexer.byte_classes if usable is None else lexer.byte_classes[usable]
    step = lexer.step[:, np.unique(bytes_)]
    source, at = np.nonzero(step >= 0)
    edges = np.unique(step[source, at].astype(np.intp) * controls + source)
    targets, sources = np.divmod(edges, controls)
    return np.searchsorted(targets, np.arange(controls + 1)), sources


def by_terminal(costs: NDArray[np.int32], terminals: NDArray[np.intp], count: int) -> NDArray[np.int32]:
    """Find the least cost to some label of each terminal.

    Args:
        costs: The costs of each label, int32 ``[rows, labels + 1]``.
        terminals: The terminal of each label, ascending.
        count: The number of terminals.

    Returns:
        int32 ``[rows, terminals]``; ``FAR`` for a terminal without a label.
    """
    if np.array_equal(terminals, np.arange(count)):  # each has one label, as most have
        return costs
    found = np.full((len(costs), count), FAR, dtype=np.int32)
    firsts = np.flatnonzero(np.diff(terminals, prepend=-1))
    found[:, terminals[firsts]] = np.minimum.reduceat(costs, firsts, axis=1)
    return found
