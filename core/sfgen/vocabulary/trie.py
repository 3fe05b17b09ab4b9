"""The prefix tree over all tokens' bytes, as flat arrays.

A trie shares the work of tokens that begin alike: the automaton walker reads each common prefix once, and a byte that
leads nowhere skips every token below it. The nodes lie in pre-order (a parent, then its children by rising byte, each
with all that is below it), so a walk is one pass over the arrays, and skipping a subtree is one assignment.

The tokens ``a``, ``ab``, ``abc``, ``b`` and a second ``ab``, with the ids 0 to 4::

    (root)                      node            0    1    2    3
      ├── a       ids 0         bytes           a    b    c    b
      │   └── b   ids 1, 4      depths          1    2    3    1
      │       └── c  ids 2      subtree_ends    3    3    3    4
      └── b       ids 3         token_starts    0    1    3    4    5
                                token_ids       0    1 4  2    3

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
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

Token = bytes | None
"""The bytes of a token; ``None`` for one that is never text."""


@dataclass(frozen=True, eq=False, slots=True)
class TokenTrie:
    """A pre-order trie over the bytes of tokens; every array is read-only.

    Made by :meth:`from_tokens`. ``n`` is the number of nodes, the root not counted.

    Attributes:
        bytes: ``uint8[n]``, the byte on the edge into the node.
        depths: ``int32[n]``, the number of bytes from the root, so at least 1.
        subtree_ends: ``int32[n]``, the first node after all that is below the node.
        token_starts: ``int32[n + 1]``; the tokens that end at node ``i`` are
            ``token_ids[token_starts[i]:token_starts[i + 1]]``.
        token_ids: ``int32``, one entry for each token in the trie; ids with equal bytes are side by side, rising.
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
    """

    bytes: NDArray[np.uint8]
    depths: NDArray[np.int32]
    subtree_ends: NDArray[np.int32]
    token_starts: NDArray[np.int32]
    token_ids: NDArray[np.int32]
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
        common = _common_prefixes(text, lengths)
        labels, depths, subtree_ends, token_starts = _build(text, lengths, common)
        single_bytes = np.zeros(256, dtype=np.bool_)
        single_bytes[[token[0] for token in present if len(token) == 1]] = True
        for array in (labels, depths, subtree_ends, token_starts, token_ids, single_bytes):
            array.flags.writeable = False
        max_depth = int(lengths.max(initial=0))
        return cls(labels, depths, subtree_ends, token_starts, token_ids, single_bytes, max_depth, len(tokens))

    def __len__(self) -> int:
        """The number of nodes, the root not counted."""
        return len(self.bytes)


@njit(cache=True)
def _common_prefixes(text: NDArray[np.uint8], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of bytes that each string shares with the one before; the strings lie end to end in ``text``."""
    common = np.zeros(len(lengths), dtype=np.int64)
    start = 0
    for k in range(1, len(lengths)):
        previous = start
        start += lengths[k - 1]
        limit = min(lengths[k - 1], lengths[k])
        shared = 0
        while shared < limit and text[previous + shared] == text[start + shared]:
            shared += 1
        common[k] = shared
    return common


@njit(cache=True)
def _build(
    text: NDArray[np.uint8], lengths: NDArray[np.int64], common: NDArray[np.int64]
) -> tuple[NDArray[np.uint8], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """``bytes``, ``depths``, ``subtree_ends`` and ``token_starts`` of the trie of sorted strings."""
    nodes = lengths.sum() - common.sum()
    labels = np.empty(nodes, dtype=np.uint8)
    depths = np.empty(nodes, dtype=np.int32)
    subtree_ends = np.empty(nodes, dtype=np.int32)
    token_starts = np.zeros(nodes + 1, dtype=np.int32)
    deepest = 0
    for length in lengths:
        deepest = max(deepest, length)
    path = np.empty(deepest + 1, dtype=np.int64)  # path[d]: the node at depth d on the way to the current string
    node = 0
    start = 0
    open_depth = 0
    for k in range(len(lengths)):
        for depth in range(common[k] + 1, open_depth + 1):
            subtree_ends[path[depth]] = node
        for depth in range(common[k] + 1, lengths[k] + 1):
            labels[node] = text[start + depth - 1]
            depths[node] = depth
            path[depth] = node
            node += 1
        open_depth = lengths[k]
        token_starts[path[open_depth] + 1] += 1
        start += lengths[k]
    for depth in range(1, open_depth + 1):
        subtree_ends[path[depth]] = node
    for i in range(nodes):
        token_starts[i + 1] += token_starts[i]
    return labels, depths, subtree_ends, token_starts
