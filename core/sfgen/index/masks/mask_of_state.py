"""The token mask of one state, in one pass over the token trie.

The trie lists its nodes in pre-order, so a walk from left to right with one automaton state per depth visits every
token that the automaton can read, and a byte that it refuses skips all that is below. This is Algorithm 3 and 4 of
Willard and Louf (2023) for all tokens at once: shared beginnings are read once.

The kernels read the automaton as one flat table of unsigned numbers. A row of the table is a state, a column a byte
class; after the last state comes one more that is dead. An entry is the offset of the target's row in the flat table,
so a step is one addition and one look-up. The highest bit of an entry is set where no token may end in the target: in
the dead state, and in states that are not a *goal*. After the columns of the byte classes come those of the kinds of
characters (see ``sfgen.vocabulary.shapes``): the state to which all characters of a kind lead, and, for some of the
kinds, the state to which most of them lead. They are filled at their first use.

The kernels release the GIL, and index with unsigned numbers, for which numba need not check whether an index counts
from the end: that alone makes them five times as fast.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfgen.automata import Dfa
from sfgen.kernels import (
    Flag,
    Flags,
    Int,
    Int32s,
    Int32sOut,
    Int32Table,
    Place,
    UInt8s,
    UInt32s,
    UInt32sOut,
    kernel,
    part,
)
from sfgen.protocols import Int32, Mask
from sfgen.vocabulary import TokenTrie, Vocabulary
from sfgen.vocabulary.shapes import COLUMNS

UInt32 = NDArray[np.uint32]

OFFSET = np.uint32(0x7FFFFFFF)
"""The bits of an entry that are the offset of the target's row."""

NO_END = np.uint32(0x80000000)
"""The bit of an entry that is set where no token may end."""

UNKNOWN = np.uint32(0xFFFFFFFF)
"""The entry of a kind that was not looked at yet."""

MIXED = np.uint32(0xFFFFFFFE)
"""The entry of a kind whose characters lead to different states."""

JOINED = np.uint32(0xFFFFFFFD)
"""The entry of a kind whose characters lead to states that are walked as one; see ``sfgen.index.masks.state_sets``."""


def walking_table(transitions: NDArray[np.int32], goal: NDArray[np.bool_] | None, more: int = 0) -> UInt32:
    """Build the table of an automaton.

    >>> table = walking_table(np.array([[1, -1], [-1, 0]], dtype=np.int32), np.array([True, False]))
    >>> (table & OFFSET).tolist(), (table >> 31).tolist()
    ([[2, 4], [4, 0], [4, 4]], [[1, 1], [1, 0], [1, 1]])
    """
    states, classes = transitions.shape
    width = classes + more
    entries = np.arange(0, (states + 1) * width, width, dtype=np.uint32)
    if goal is not None:
        entries[:-1][~goal] |= NO_END
    entries[-1] |= NO_END
    table = np.full((states + 1, width), UNKNOWN, dtype=np.uint32)
    table[:states, :classes] = entries[transitions]  # -1 is the last entry: dead
    table[states] = entries[-1]
    return table


class TrieWalk:
    """A walk of a token trie through an automaton.

    Threads may share it.

    Attributes:
        table: The automaton as kernels read it, uint32 ``[(states + 1) * width]``; see the head.
        width: The number of columns of the table.
        end_tokens: The ids of the end tokens, int32.
        words: The number of 32-bit words of a token mask.
    """

    def __init__(
        self, dfa: Dfa, vocabulary: Vocabulary, goal: NDArray[np.bool_] | None = None, *, with_ends: bool = True
    ) -> None:
        self.dfa = dfa
        self.vocabulary = vocabulary
        self.table = walking_table(dfa.transitions, goal, COLUMNS).reshape(-1)
        self.width = dfa.transitions.shape[1] + COLUMNS
        self.end_tokens: Int32 = np.array(vocabulary.end_token_ids if with_ends else (), dtype=np.int32)
        self.words = (len(vocabulary) + 31) // 32
        trie = vocabulary.trie
        self._depth = trie.max_depth + 1  # a state for each depth of a walk
        self._arguments: tuple[Any, ...] = (
            self.table, self.width, dfa.byte_classes, dfa.accepting, self.end_tokens, trie.bytes, trie.depths,
            trie.subtree_ends, trie.first_tokens, trie.repeated_tokens, trie.roots,
        )  # fmt: skip

    def mask(self, state: int, budget: int | None = None) -> tuple[Mask, int, int]:
        """Make the mask of an existing state; return it, its number of tokens and its digest."""
        # The number is -1, and the mask useless, where a budget of trie nodes did not suffice.
        mask: Mask = np.zeros(self.words, dtype=np.uint32)
        limit = len(self.vocabulary.trie) if budget is None else budget
        count, mixed = make_mask(state, limit, mask, np.empty(self._depth, dtype=np.uint32), *self._arguments)
        return mask, count, mixed

    def transitions(
        self, state: int, budget: int | None = None, most: int | None = None, trie: TokenTrie | None = None
    ) -> tuple[int, Int32, UInt32]:
        """List at most ``most`` text tokens that a state allows, in trie order, and the offsets of their targets."""
        # The number is -1 where the budget of trie nodes did not suffice; both arrays have room for more.
        trie = self.vocabulary.trie if trie is None else trie
        limit = len(trie) if budget is None else budget
        most = len(trie.token_ids) if most is None else most
        tokens, targets = np.empty(most, dtype=np.int32), np.empty(most, dtype=np.uint32)
        count: int = list_transitions(
            state, limit, most, np.empty(self._depth, dtype=np.uint32), tokens, targets,
            self.table, self.width, self.dfa.byte_classes,
            trie.bytes, trie.depths, trie.subtree_ends, trie.token_starts, trie.token_ids, trie.roots,
        )  # fmt: skip
        return count, tokens, targets


@kernel
def make_mask(
    state: Int, budget: Int, mask: UInt32sOut, stack: UInt32sOut,
    table: UInt32s, width: Int, byte_classes: UInt8s, accepting: Flags, end_tokens: Int32s,
    labels: UInt8s, depths: Int32s, subtree_ends: Int32s, first_tokens: UInt32s, repeated_tokens: Int32Table,
    roots: Int32s,
) -> tuple[Int, Int]:  # fmt: skip
    """Make the token mask of a state by walking the trie; return its number of tokens and its digest."""
    # budget: the trie nodes that may be visited; where they do not suffice the number is -1, and the mask useless
    # mask: uint32 [words], all zero; bit t % 32 of word t // 32 will say whether token t is allowed
    # stack: room for a state at each depth of the trie, and one more
    # table, width: the flat table and its columns; byte_classes: [256]; accepting: [states]
    # end_tokens: the ids that are allowed in accepting states; labels and all others: as in TokenTrie
    count = fill(
        state, budget, mask, stack, table, width, byte_classes, labels, depths, subtree_ends, first_tokens, roots
    )
    if count < 0:
        return count, np.uint64(0)
    count += finish(accepting[state], end_tokens, repeated_tokens, mask)
    return count, digest(mask)


@part
def fill(
    state: Int, budget: Int, mask: UInt32sOut, stack: UInt32sOut, table: UInt32s, width: Int, byte_classes: UInt8s,
    labels: UInt8s, depths: Int32s, subtree_ends: Int32s, first_tokens: UInt32s, roots: Int32s,
) -> Int:  # fmt: skip
    """Set the tokens that a state can read in an empty mask.

    Where several tokens have the same bytes, only the first is set; ``finish`` sets the others.
    """
    dead = np.uint32(np.uint32(table.size - width) | NO_END)
    count, left = np.int64(0), budget
    start = np.uintp(state * width)
    stack[0] = start
    for byte in range(256):
        first, end = np.uintp(roots[byte]), np.uintp(roots[byte + 1])
        if first < end and table[start + np.uintp(byte_classes[byte])] != dead:
            more, left = fill_span(
                first, end, left, mask, stack, table, width, byte_classes, labels, depths, subtree_ends, first_tokens
            )
            count += more
            if left < 0:
                return -1
    return count


@part
def fill_span(
    first: Place, end: Place, left: Int, mask: UInt32sOut, stack: UInt32sOut, table: UInt32s, width: Int,
    byte_classes: UInt8s, labels: UInt8s, depths: Int32s, subtree_ends: Int32s, first_tokens: UInt32s,
) -> tuple[Int, Int]:  # fmt: skip
    """Set the tokens under a span of trie nodes; return how many were not set, and the budget that is left."""
    # The state above the first node is in the stack; what is left is negative where it did not suffice.
    dead = np.uint32(np.uint32(table.size - width) | NO_END)
    count = np.int64(0)
    node = first
    while node < end:
        left -= 1
        if left < 0:
            break
        depth = np.uintp(depths[node])
        before = np.uintp(stack[depth - np.uintp(1)])
        target = table[before + np.uintp(byte_classes[np.uintp(labels[node])])]
        if target == dead:
            node = np.uintp(subtree_ends[node])
            continue
        stack[depth] = target & OFFSET
        token = first_tokens[node]
        bit = ((token | target) >> np.uint32(31)) ^ np.uint32(1)  # a token ends here, and may
        word, low = np.uintp((token & OFFSET) >> np.uint32(5)), token & np.uint32(31)
        count += np.int64(bit & ~(mask[word] >> low))
        mask[word] |= np.uint32(bit << low)
        node += np.uintp(1)
    return count, left


@part
def finish(accepts: Flag, end_tokens: Int32s, repeated_tokens: Int32Table, mask: UInt32sOut) -> Int:
    """Add end tokens and tokens with equal bytes to a mask; return how many."""
    count = np.int64(0)
    one, low = np.uint32(1), np.uint32(31)
    for pair in range(repeated_tokens.shape[0]):
        token, other = np.uint32(repeated_tokens[pair, 0]), np.uint32(repeated_tokens[pair, 1])
        bit = np.uint32(mask[np.uintp(token >> np.uint32(5))] >> (token & low)) & one
        word = np.uintp(other >> np.uint32(5))
        count += np.int64(bit & ~(mask[word] >> (other & low)))
        mask[word] |= np.uint32(bit << (other & low))
    if accepts:
        for number in range(end_tokens.size):
            token = np.uint32(end_tokens[number])
            mask[np.uintp(token >> np.uint32(5))] |= np.uint32(one << (token & low))
            count += 1
    return count


@part
def key(word: Int) -> Any:
    """Return a pseudorandom factor for a word of a mask.

    The digest of a mask is made of these.
    """
    mixed = np.uint64(word + 1) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    return mixed ^ (mixed >> np.uint64(27))


@part
def digest(mask: UInt32s) -> Any:
    """Compute a 64-bit digest of a mask.

    It is the sum of the words, each times its key; so each token adds its bit times that key.
    """
    total = np.uint64(0)
    for word in range(mask.size):
        total += np.uint64(mask[word]) * key(word)
    return total


@kernel
def list_transitions(
    state: Int, budget: Int, most: Int, stack: UInt32sOut, tokens: Int32sOut, targets: UInt32sOut,
    table: UInt32s, width: Int, byte_classes: UInt8s,
    labels: UInt8s, depths: Int32s, subtree_ends: Int32s, token_starts: Int32s, token_ids: Int32s, roots: Int32s,
) -> Int:  # fmt: skip
    """List the text tokens that a state allows, in trie order.

    It takes three times as long as ``fill``, whose walk is the same: a list cannot be written without a branch.
    """
    dead = np.uint32(np.uint32(table.size - width) | NO_END)
    left = budget
    count = np.int64(0)
    start = np.uintp(state * width)
    stack[0] = start
    for byte in range(256):
        node, end = np.uintp(roots[byte]), np.uintp(roots[byte + 1])
        if node == end or table[start + np.uintp(byte_classes[byte])] == dead:
            continue
        while node < end:
            left -= 1
            if left < 0:
                return -1
            depth = np.uintp(depths[node])
            before = np.uintp(stack[depth - np.uintp(1)])
            target = table[before + np.uintp(byte_classes[np.uintp(labels[node])])]
            if target == dead:
                node = np.uintp(subtree_ends[node])
                continue
            stack[depth] = target & OFFSET
            if target < NO_END:
                for position in range(token_starts[node], token_starts[node + np.uintp(1)]):
                    tokens[count] = token_ids[position]
                    targets[count] = target
                    count += 1
                    if count == most:
                        return count
            node += np.uintp(1)
    return count
