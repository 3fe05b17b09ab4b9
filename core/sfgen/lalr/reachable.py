"""The terminals that the lexer can come to."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfgen.lalr.tables import NO_STATE, Lexer, ParseTables


def reachable_terminals(tables: ParseTables, lexer: Lexer) -> NDArray[np.bool_]:
    """The terminals that each control can come to without another one before, bool ``[controls, terminals]``."""
    count = len(tables.terminals)
    reach = np.zeros((len(lexer.step), count), dtype=np.bool_)
    controls = np.repeat(np.arange(len(lexer.step)), np.diff(lexer.commit_starts))
    reach[controls, lexer.commit_terminals] = True
    reach[:, count - 1] = lexer.may_end
    sources, labels = np.nonzero(lexer.step != NO_STATE)
    edges = np.unique(np.stack([sources, lexer.step[sources, labels]]), axis=1)
    packed = np.packbits(reach, axis=1)
    while True:
        before = packed.copy()
        np.bitwise_or.at(packed, edges[0], packed[edges[1]])
        if np.array_equal(before, packed):
            return np.unpackbits(packed, axis=1, count=count).view(np.bool_)
