"""Controls that cannot be told apart become one, and promises too; those that lead nowhere are dropped.

Controls are the states of an automaton whose output is what they commit and whether the text may end. Equal ones are
found by partition refinement (Hopcroft, 1971). Promises are equal where the same control begins behind them in every
context; that can make more controls equal, so it goes round until nothing changes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfgen.automata.minimize import equal_states
from sfgen.lalr.controls import Controls
from sfgen.lalr.tables import NO_STATE


class Merged(NamedTuple):
    """Controls over symbols.

    Attributes:
        step: int32 ``[controls, symbols]``; ``NO_STATE`` for none.
        starts: int32 ``[contexts, promises]``; ``NO_STATE`` for none.
        commits: Terminals and promises of each control.
        may_end: bool ``[controls]``.
        holds_at_end: bool ``[promises]``.
    """

    step: NDArray[np.int32]
    starts: NDArray[np.int32]
    commits: list[tuple[tuple[int, int], ...]]
    may_end: NDArray[np.bool_]
    holds_at_end: NDArray[np.bool_]


def merge(controls: Controls, symbols: int, contexts: int) -> Merged:
    """Minimize the controls by merging equal ones.

    Args:
        controls: All controls.
        symbols: The number of symbols.
        contexts: The number of contexts.
    """
    step = np.full((len(controls.rows), symbols), NO_STATE, dtype=np.int32)
    for control, row in enumerate(controls.rows):
        step[control, list(row)] = list(row.values())
    holds = np.array(controls.promises_hold_at_end, dtype=np.bool_)
    starts = np.full((contexts, len(holds)), NO_STATE, dtype=np.int32)
    for (context, promise), control in controls.starts.items():
        starts[context, promise] = control
    merged = Merged(step, starts, controls.commits, np.array(controls.may_end, dtype=np.bool_), holds)
    while True:
        smaller = _round(merged)
        if smaller.starts.shape == merged.starts.shape and smaller.commits == merged.commits:
            return smaller
        merged = smaller


def _round(merged: Merged) -> Merged:
    merged = _without_needless_promises(merged)
    outputs: dict[tuple[tuple[tuple[int, int], ...], bool], int] = {}
    output = np.full(len(merged.step), -1, dtype=np.int32)
    for control, (commits, may_end) in enumerate(zip(merged.commits, merged.may_end.tolist(), strict=True)):
        if commits or may_end:
            output[control] = outputs.setdefault((commits, may_end), len(outputs))
    block_of = _blocks(merged.step, output, len(outputs), np.unique(merged.starts[merged.starts >= 0]))
    blocks = int(block_of.max(initial=-1)) + 1
    member = np.zeros(blocks, dtype=np.intp)
    member[block_of[block_of >= 0]] = np.flatnonzero(block_of >= 0)
    after = np.append(block_of, np.int32(NO_STATE))
    return Merged(
        after[merged.step[member]],
        after[merged.starts],
        [merged.commits[control] for control in member.tolist()],
        merged.may_end[member],
        merged.holds_at_end,
    )


def _without_needless_promises(merged: Merged) -> Merged:
    """Equal promises once, and no commit whose promise lets nothing follow. Promise 0 stays the first."""
    columns = np.concatenate([merged.starts, merged.holds_at_end[None].astype(np.int32)])
    _, chosen, which = np.unique(columns, axis=1, return_index=True, return_inverse=True)
    order = np.argsort(chosen)  # by the first promise of each kind
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    number_of = rank[which.reshape(-1)]
    first = chosen[order]
    starts, holds = merged.starts[:, first], merged.holds_at_end[first]
    is_possible = (starts >= 0).any(axis=0) | holds
    commits = [
        tuple(sorted({(t, int(number_of[promise])) for t, promise in of_control if is_possible[number_of[promise]]}))
        for of_control in merged.commits
    ]
    return merged._replace(starts=starts, holds_at_end=holds, commits=commits)


def _blocks(
    step: NDArray[np.int32], output: NDArray[np.int32], outputs: int, starts: NDArray[np.int32]
) -> NDArray[np.int32]:
    """The block of each control, numbered in their order; -1 for those that reach no output, or are not reached."""
    controls, symbols = step.shape
    # Two more symbols. One leads from a control to its output, and from there along a chain whose length tells the
    # outputs apart; the other along a chain through which all starts are reached.
    chain = max(outputs, 1)
    first = 1 + len(starts)  # behind the start and its chain stand the controls, then the outputs
    end = first + controls
    table = np.full((end + chain, symbols + 2), -1, dtype=np.int32)
    table[0 : len(starts), symbols + 1] = np.arange(1, first)
    table[1:first, symbols] = first + starts
    table[first:end, :symbols] = np.where(step >= 0, step + first, -1)
    table[first:end, symbols] = np.where(output >= 0, output + end, -1)
    table[end + 1 :, symbols] = np.arange(end, end + chain - 1)
    accepting = np.zeros(len(table), dtype=np.bool_)
    accepting[end] = True
    _, block_of = equal_states(table, accepting)
    blocks = block_of[first:end]
    alive = np.flatnonzero(blocks >= 0)
    _, chosen, which = np.unique(blocks[alive], return_index=True, return_inverse=True)
    order = np.argsort(chosen)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    found = np.full(controls, -1, dtype=np.int32)
    found[alive] = rank[which]
    return found
