"""How far each terminal is from the controls of the lexer, whatever it promises."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfgen.lalr.distances import FAR, Distances
from sfgen.lalr.tables import ParseTables


def terminal_costs(
    tables: ParseTables, distances: Distances, labels: NDArray[np.bool_] | None = None
) -> NDArray[np.int32]:
    """Compute the fewest bytes from each control to each terminal's end.

    No other terminal may end before.

    Args:
        tables: The tables.
        distances: The distances.
        labels: The labels that count, bool ``[labels + 1]``; without, all do.

    Returns:
        int32 ``[controls, terminals]``; ``FAR`` where the control cannot come to the terminal. The last one is the end.
    """
    found = np.full((len(tables.terminals), len(distances.cost)), FAR, dtype=np.int32)
    terminals = [*[terminal for terminal, _ in distances.labels], len(tables.terminals) - 1]
    cost = distances.cost if labels is None else np.where(labels, distances.cost, np.int32(FAR))
    np.minimum.at(found, terminals, cost.T)
    return np.ascontiguousarray(found.T)
