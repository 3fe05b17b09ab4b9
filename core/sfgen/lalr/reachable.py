"""The terminals that the lexer can come to."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfgen.lalr.distances import FAR, Distances
from sfgen.lalr.tables import ParseTables


def reachable_terminals(
    tables: ParseTables, distances: Distances, labels: NDArray[np.bool_] | None = None
) -> NDArray[np.bool_]:
    """The terminals that each control can come to without another one before, bool ``[controls, terminals]``.

    Args:
        tables: The tables.
        distances: The distances.
        labels: The labels that count, bool ``[labels + 1]``; without, all do.
    """
    found = np.zeros((len(distances.cost), len(tables.terminals)), dtype=np.bool_)
    terminals = [*[terminal for terminal, _ in distances.labels], len(tables.terminals) - 1]
    comes_to = distances.cost < FAR if labels is None else (distances.cost < FAR) & labels
    np.logical_or.at(found.T, terminals, comes_to.T)
    return found
