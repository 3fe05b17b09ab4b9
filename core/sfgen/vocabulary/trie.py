"""The prefix tree over all tokens' bytes, as flat arrays.

A trie shares the work of tokens that begin alike: the automaton walker reads each common prefix once, and a byte that
leads nowhere skips every token below it. The nodes lie in pre-order (a parent, then its children by rising byte, each
with all that is below it), so a walk is one pass over the arrays, and skipping a subtree is one assignment.

The tokens ``a``, ``ab``, ``abc``, ``b`` and a second ``ab``, with the ids 0 to 4::

    (root)                      node            0    1    2    3
      ├── a       ids 0         bytes           a    b    c    b
      │   └── b   ids 1, 4      depths          1    2    3    1
      │       └── c  ids 2      subtree_ends    3    3    3    4
      └── b       ids 3         heights         2    1    0    0
                                token_starts    0    1    3    4    5
                                token_ids       0    1 4  2    3
                                first_tokens    0    1    2    3

The root is no node of the arrays: it has no byte. Walking with a stack of automaton states goes like this::

    node = 0
    while node < len(trie):
        state = next_state(states[trie.depths[node] - 1], trie.bytes[node])
        if state is dead:
            node = trie.subtree_ends[node]      # nothing below can live
        else:
            states[trie.depths[node]] = state   # states[0] is where the walk began
            ...                                 # the tokens of this node are allowed
            node += 1

``first_tokens`` and ``repeated_tokens`` tell the same as ``token_starts`` and ``token_ids``, in the form that a walk
reads fastest: nearly every node has one token or none, so the walk looks at the first token only and the few others
are added at its end.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

Token = bytes | None
"""The bytes of a token; ``None`` for one that is never text."""

NO_TOKEN = np.uint32(1 << 31)
"""What stands in ``first_tokens`` where no token ends: an id with the highest bit set."""


@dataclass(frozen=True, eq=False, slots=True)
class TokenTrie:
    """A pre-order trie over the bytes of tokens; every array is read-only.

    Made by :meth:`from_tokens`. ``n`` is the number of nodes, the root not counted.

    Attributes:
        bytes: ``uint8[n]``, the byte on the edge into the node.
        depths: ``int32[n]``, the number of bytes from the root, so at least 1.
        subtree_ends: ``int32[n]``, the first node after all that is below the node.
        heights: ``uint8[n]``, how many bytes the longest token below has after this node; 255 stands for 255 and more.
        token_starts: ``int32[n + 1]``; the tokens that end at node ``i`` are
            ``token_ids[token_starts[i]:token_starts[i + 1]]``.
        token_ids: ``int32``, one entry for each token in the trie; ids with equal bytes are side by side, rising.
        first_tokens: ``uint32[n]``, the smallest id that ends at node ``i``; ``NO_TOKEN`` where none does.
        repeated_tokens: ``int32[m, 2]``, a pair (smallest id, other id) for each further id with the same bytes.
        roots: ``int32[257]``; tokens that begin with byte ``b`` are the nodes from ``roots[b]`` to ``roots[b + 1]``.
        single_bytes: ``bool[256]``, the bytes that are a token by themselves.
        max_depth: The bytes of the longest token; 0 when there is none.
        vocabulary_size: The number of ids, those that are not in the trie included.

    >>> trie = TokenTrie.from_tokens([b"a", b"ab", b"abc", b"b", b"ab", None])
    >>> bytes(trie.bytes), trie.depths.tolist(), trie.subtree_ends.tolist()
    (b'abcb', [1, 2, 3, 1], [3, 3, 3, 4])
    >>> trie.token_starts.tolist(), trie.token_ids.tolist()
    ([0, 1, 3, 4, 5], [0, 1, 4, 2, 3])
    >>> len(trie), trie.max_depth, trie.vocabulary_size, bytes(np.flatnonzero(trie.single_bytes).tolist())
    (4, 3, 6, b'ab')
    >>> trie.heights.tolist(), trie.first_tokens.tolist(), trie.repeated_tokens.tolist(), trie.roots[97:100].tolist()
    ([2, 1, 0, 0], [0, 1, 2, 3], [[1, 4]], [0, 3, 4])
    """

    bytes: NDArray[np.uint8]
    depths: NDArray[np.int32]
    subtree_ends: NDArray[np.int32]
    token_starts: NDArray[np.int32]
    token_ids: NDArray[np.int32]
    heights: NDArray[np.uint8]
    first_tokens: NDArray[np.uint32]
    repeated_tokens: NDArray[np.int32]
    roots: NDArray[np.int32]
    single_bytes: NDArray[np.bool_]
    max_depth: int
    vocabulary_size: int

    @classmethod
    def from_tokens(cls, tokens: Sequence[Token], excluded: Collection[int] = ()) -> TokenTrie:
        """Build the trie of ``tokens``, where the id of a token is its position.

        Sorted byte strings are the tokens in pre-order, so each string adds the nodes past its longest common prefix
        with the one before.

        Args:
            tokens: The bytes of each id; ``None`` and ``b""`` are no text and are left out.
            excluded: Ids to leave out as well.
        """
        left_out = frozenset(excluded)
        texts = [token or b"" for token in tokens]
        ids = [token_id for token_id, token in enumerate(texts) if token and token_id not in left_out]
        ids.sort(key=texts.__getitem__)  # a stable sort: equal bytes keep their ids rising
        present = [texts[token_id] for token_id in ids]
        text = np.frombuffer(b"".join(present), dtype=np.uint8)
        lengths = np.fromiter(map(len, present), dtype=np.int64, count=len(present))
        token_ids = np.array(ids, dtype=np.int32)
        arrays = _build(text, lengths, token_ids)
        single_bytes = np.zeros(256, dtype=np.bool_)
        single_bytes[[token[0] for token in present if len(token) == 1]] = True
        for array in (*arrays, token_ids, single_bytes):
            array.flags.writeable = False
        labels, depths, subtree_ends, token_starts, heights, first_tokens, repeated_tokens, roots = arrays
        return cls(
            labels,
            depths,
            subtree_ends,
            token_starts,
            token_ids,
            heights,
            first_tokens,
            repeated_tokens,
            roots,
            single_bytes,
            max_depth=int(lengths.max(initial=0)),
            vocabulary_size=len(tokens),
        )

    def __len__(self) -> int:
        """The number of nodes, the root not counted."""
        return len(self.bytes)


@njit(cache=True, nogil=True)
def _build(text, lengths, token_ids):  # type: ignore[no-untyped-def]
    """The arrays of the trie of sorted strings, in the order of ``TokenTrie``, less ``token_ids``.

    Args:
        text: The strings end to end, uint8.
        lengths: The length of each, int64, at least 1.
        token_ids: The id of each, int32.
    """
    strings = len(lengths)
    common = np.zeros(strings + 1, dtype=np.int64)  # bytes that each string shares with the one before
    deepest = 0
    nodes = 0
    repeated = 0
    start = 0
    for k in range(strings):
        shared = 0
        if k > 0:
            previous = start
            start += lengths[k - 1]
            while shared < lengths[k - 1] and shared < lengths[k] and text[previous + shared] == text[start + shared]:
                shared += 1
        common[k] = shared
        deepest = max(deepest, lengths[k])
        nodes += lengths[k] - shared
        repeated += shared == lengths[k]

    labels = np.empty(nodes, dtype=np.uint8)
    depths = np.empty(nodes, dtype=np.int32)
    subtree_ends = np.empty(nodes, dtype=np.int32)
    token_starts = np.zeros(nodes + 1, dtype=np.int32)
    heights = np.zeros(nodes, dtype=np.uint8)
    first_tokens = np.empty(nodes, dtype=np.uint32)
    repeated_tokens = np.empty((repeated, 2), dtype=np.int32)
    roots = np.zeros(257, dtype=np.int32)
    path = np.empty(deepest + 1, dtype=np.int64)  # path[d]: the node at depth d on the way to the current string
    node = 0
    start = 0
    open_depth = 0
    repeated = 0
    for k in range(strings + 1):
        # The nodes of the last string that this one does not share are complete; after the last string all are.
        kept = common[k]
        while open_depth > kept:
            last = path[open_depth]
            subtree_ends[last] = node
            open_depth -= 1
            if open_depth > 0 and heights[last] >= heights[path[open_depth]]:
                heights[path[open_depth]] = heights[last] + (heights[last] < 255)
        if k == strings:
            break
        for depth in range(kept + 1, lengths[k] + 1):
            labels[node] = text[start + depth - 1]
            depths[node] = depth
            first_tokens[node] = NO_TOKEN
            path[depth] = node
            node += 1
            if depth == 1:
                roots[int(text[start]) + 1] = -1
        open_depth = lengths[k]
        last = path[open_depth]
        token_starts[last + 1] += 1
        if first_tokens[last] == NO_TOKEN:
            first_tokens[last] = token_ids[k]
        else:
            repeated_tokens[repeated, 0] = first_tokens[last]
            repeated_tokens[repeated, 1] = token_ids[k]
            repeated += 1
        start += lengths[k]
    for i in range(nodes):
        token_starts[i + 1] += token_starts[i]
    after = 0
    for byte in range(256):
        if roots[byte + 1] == -1:
            after = subtree_ends[after]
        roots[byte + 1] = after
    return labels, depths, subtree_ends, token_starts, heights, first_tokens, repeated_tokens, roots
