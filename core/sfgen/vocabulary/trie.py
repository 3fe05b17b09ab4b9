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

``checked_tokens`` and ``checked_id`` check tokens and ids from callers.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from itertools import compress, islice

import numpy as np
from numpy.typing import NDArray

from sfgen import arguments
from sfgen.errors import UsageError, VocabularyError
from sfgen.kernels import Int, Int32s, Int32sOut, UInt8s, UInt8sOut, UInt32sOut, kernel

Token = bytes | None
"""The bytes of a token; ``None`` for one that is never text."""

NO_TOKEN = np.uint32(1 << 31)
"""The entry of ``first_tokens`` where no token ends: an id with the highest bit set."""

_WORD = 8
"""The bytes of a number by which tokens are sorted."""
_FIRST_BYTES = np.array([(1 << 64) - (1 << 8 * (8 - count)) for count in range(9)], dtype=np.uint64)
"""By a count the mask of that many bytes of such a number, the first ones."""


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class TokenTrie:
    """A pre-order trie over the bytes of tokens.

    Made by :meth:`from_tokens`. ``n`` is the number of nodes, the root not counted.

    Attributes:
        bytes: ``uint8[n]``, the byte on the edge into the node.
        depths: ``int32[n]``, the number of bytes from the root, so at least 1.
        subtree_ends: ``int32[n]``, the first node after all that is below the node.
        heights: ``uint8[n]``, how many bytes the longest token below has after this node; 255 stands for 255 and more.
        token_starts: ``int32[n + 1]``; the tokens that end at node ``i`` are ``token_ids[token_starts[i]:token_starts[i
            + 1]]``.
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
        """Build the trie of tokens, whose ids are their positions.

        Sorted byte strings are the tokens in pre-order, so each string adds the nodes past its longest common prefix
        with the one before.

        Args:
            tokens: The bytes of each id; ``None`` and ``b""`` are not text and are left out.
            excluded: Ids to leave out as well.

        Raises:
            VocabularyError: A token is not bytes, or an id is not a whole number.
        """
        tokens = checked_tokens(tokens)
        vocabulary_size = len(tokens)
        left_out = frozenset(arguments.token_ids("excluded", excluded, error=VocabularyError))
        is_text = np.fromiter(map(bool, tokens), dtype=np.bool_, count=vocabulary_size)
        is_text[list(left_out.intersection(range(vocabulary_size)))] = False
        token_ids = np.flatnonzero(is_text).astype(np.int32)
        present = [token for token in compress(tokens, is_text.tobytes()) if token]
        del tokens  # a large vocabulary takes much memory here, so nothing is kept for longer than it is needed
        text = np.frombuffer(joined(present) + bytes(2 * _WORD), dtype=np.uint8)
        lengths = np.fromiter(map(len, present), dtype=np.int32, count=len(present))
        starts = np.cumsum(lengths, dtype=np.int32) - lengths
        order = _sorted(present, text, starts, lengths)
        del present
        token_ids, starts, lengths = token_ids[order], starts[order], lengths[order]
        del order
        nodes, max_depth = _count(text, starts, lengths), int(lengths.max(initial=0))
        labels, heights = np.empty(nodes, dtype=np.uint8), np.zeros(nodes, dtype=np.uint8)
        depths, subtree_ends = np.empty(nodes, dtype=np.int32), np.empty(nodes, dtype=np.int32)
        token_starts = np.full(nodes + 1, len(lengths), dtype=np.int32)
        first_tokens, path = np.full(nodes, NO_TOKEN, dtype=np.uint32), np.zeros(max_depth + 1, dtype=np.int32)
        _build(
            text, starts, lengths, token_ids, path,
            labels, depths, subtree_ends, heights, token_starts, first_tokens,
        )  # fmt: skip
        roots, single_bytes = _first_level(labels, depths, first_tokens)
        trie = cls(
            labels,
            depths,
            subtree_ends,
            token_starts,
            token_ids,
            heights,
            first_tokens,
            _repeated(token_ids, token_starts[:-1][first_tokens < NO_TOKEN]),
            roots,
            single_bytes,
            max_depth=max_depth,
            vocabulary_size=vocabulary_size,
        )
        trie._protect()
        return trie

    def __len__(self) -> int:
        """The number of nodes, the root not counted."""
        return len(self.bytes)

    def along(self, data: builtins.bytes) -> list[int]:
        """Return the nodes along some bytes, while tokens begin so.

        These are the nodes of ``data[:1]``, ``data[:2]`` and so on.

        >>> trie = TokenTrie.from_tokens([b"a", b"abc", b"b"])
        >>> trie.along(b"abd"), trie.along(b"c")
        ([0, 1], [])
        """
        nodes: list[int] = []
        data = arguments.data("data", data)
        start, end = (self.roots.item(data[0]), self.roots.item(data[0] + 1)) if data else (0, 0)
        for byte in data:
            while start < end and self.bytes.item(start) != byte:
                start = self.subtree_ends.item(start)
            if start >= end:
                break
            nodes.append(start)
            start, end = start + 1, self.subtree_ends.item(start)
        return nodes

    def below(self, node: int) -> TokenTrie:
        """Return the trie of the tokens below a node, without their beginnings.

        The ids are the same.

        Args:
            node: A node. The tokens that end there have nothing more, and are left out.

        Raises:
            UsageError: There is no such node.

        >>> trie = TokenTrie.from_tokens([b"a", b"abc", b"b", b"ab"])
        >>> rest = trie.below(trie.along(b"a")[-1])
        >>> bytes(rest.bytes), rest.depths.tolist(), rest.subtree_ends.tolist(), rest.token_ids.tolist()
        (b'bc', [1, 2], [2, 2], [3, 1])
        """
        if (node := arguments.whole_number("node", node, least=0)) >= len(self):
            raise UsageError(f"there is no node {node}: the trie has {len(self)}")
        start, end = node + 1, int(self.subtree_ends[node])
        nodes = slice(start, end)
        depths = self.depths[nodes] - self.depths[node]
        subtree_ends = self.subtree_ends[nodes] - np.int32(start)
        token_starts = self.token_starts[start : end + 1]
        first, last = int(token_starts[0]), int(token_starts[-1])
        token_ids = self.token_ids[first:last]
        first_tokens = self.first_tokens[nodes]
        is_repeated = np.isin(self.repeated_tokens[:, 0], token_ids)
        roots, single_bytes = _first_level(self.bytes[nodes], depths, first_tokens)
        trie = replace(
            self,
            bytes=self.bytes[nodes],
            depths=depths,
            subtree_ends=subtree_ends,
            token_starts=token_starts - np.int32(first),
            token_ids=token_ids,
            heights=self.heights[nodes],
            first_tokens=first_tokens,
            repeated_tokens=self.repeated_tokens[is_repeated],
            roots=roots,
            single_bytes=single_bytes,
            max_depth=int(depths.max(initial=0)),
        )
        trie._protect()
        return trie

    def _protect(self) -> None:
        """Make every array read-only."""
        for field in fields(self):
            array = getattr(self, field.name)
            if isinstance(array, np.ndarray):
                array.flags.writeable = False


def leading_to(trie: TokenTrie, marked: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Tell of each node whether it or a node below it is marked."""
    before = np.cumsum(np.append(0, marked))
    leads: NDArray[np.bool_] = before[trie.subtree_ends] > before[:-1]
    return leads


def _first_level(
    labels: NDArray[np.uint8], depths: NDArray[np.int32], first_tokens: NDArray[np.uint32]
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """``roots`` and ``single_bytes`` of the nodes of a trie."""
    first_level = np.flatnonzero(depths == 1)
    single_bytes = np.zeros(256, dtype=np.bool_)
    single_bytes[labels[first_level[first_tokens[first_level] < NO_TOKEN]]] = True
    starts = np.append(first_level, len(depths)).astype(np.int32)
    return starts[np.searchsorted(labels[first_level], np.arange(257))], single_bytes


def _repeated(token_ids: NDArray[np.int32], firsts: NDArray[np.int32]) -> NDArray[np.int32]:
    """``repeated_tokens``."""
    is_other = np.ones(len(token_ids), dtype=np.bool_)
    is_other[firsts] = False
    others = np.flatnonzero(is_other).astype(np.int32)
    before = firsts[np.searchsorted(firsts, others) - 1]
    return np.stack([token_ids[before], token_ids[others]], axis=1)


def _sorted(
    present: Sequence[builtins.bytes], text: NDArray[np.uint8], starts: NDArray[np.int32], lengths: NDArray[np.int32]
) -> NDArray[np.int64]:
    """The order of byte strings; equal ones keep their order.

    They are sorted by their first sixteen bytes as two numbers, which takes a fifth of the time that comparing them
    takes. The few that these leave equal are compared. A string and itself with zero bytes after it are among them.
    """
    words = np.lib.stride_tricks.sliding_window_view(text, _WORD)
    first, second = (_as_number(words[starts + skipped], lengths - skipped) for skipped in (0, _WORD))
    order = np.lexsort((second, first))
    is_same = _are_same(first[order]) & _are_same(second[order])
    del first, second
    is_tied = np.zeros(len(order), dtype=np.bool_)
    is_tied[1:] |= is_same
    is_tied[:-1] |= is_same
    order[is_tied] = sorted(order[is_tied].tolist(), key=present.__getitem__)
    return order


def _are_same(numbers: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Mark the numbers, all but the first, that equal the one before."""
    same: NDArray[np.bool_] = numbers[1:] == numbers[:-1]
    return same


def _as_number(words: NDArray[np.uint8], lengths: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Eight bytes, ``uint8[n, 8]``, as a number that sorts like them; those beyond a length are zero."""
    numbers = words.view(">u8").ravel().astype(np.uint64)
    numbers &= _FIRST_BYTES[np.clip(lengths, 0, _WORD)]
    return numbers


@kernel
def _count(text: UInt8s, starts: Int32s, lengths: Int32s) -> Int:
    """Count the nodes of the trie of sorted strings, whose arrays need no more memory then; see ``_build``."""
    nodes = np.int64(0)
    for k in range(len(lengths)):
        kept = np.int64(0)
        while k > 0 and kept < min(lengths[k - 1], lengths[k]) and text[starts[k - 1] + kept] == text[starts[k] + kept]:
            kept += 1
        nodes += lengths[k] - kept
    return nodes


@kernel
def _build(
    text: UInt8s, starts: Int32s, lengths: Int32s, token_ids: Int32s, path: Int32sOut,
    labels: UInt8sOut, depths: Int32sOut, subtree_ends: Int32sOut, heights: UInt8sOut,
    token_starts: Int32sOut, first_tokens: UInt32sOut,
) -> Int:  # fmt: skip
    """List the nodes of the trie of sorted strings; return their number."""
    # path: room for a node at each depth, those on the way to the string that is read. The outputs are as in
    # `TokenTrie`; heights is zero before, first_tokens NO_TOKEN, token_starts the number of strings.
    nodes = np.int64(0)
    previous = np.int64(0)
    open_depth = np.int64(0)
    for k in range(len(lengths) + 1):  # with an empty string after the last
        start, length = np.int64(0), np.int64(0)
        if k < len(lengths):
            start, length = np.int64(starts[k]), np.int64(lengths[k])
        kept = np.int64(0)  # bytes that the string shares with the one before
        while kept < open_depth and kept < length and text[previous + kept] == text[start + kept]:
            kept += 1
        # The other nodes of the one before are complete.
        while open_depth > kept:
            last = path[open_depth]
            subtree_ends[last] = nodes
            open_depth -= 1
            above = path[open_depth]
            if open_depth > 0 and heights[last] >= heights[above]:
                heights[above] = min(np.int64(heights[last]) + 1, 255)
        while open_depth < length:
            labels[nodes] = text[start + open_depth]
            open_depth += 1
            depths[nodes] = open_depth
            token_starts[nodes] = k
            path[open_depth] = nodes
            nodes += 1
        if length > 0 and first_tokens[path[length]] == NO_TOKEN:
            first_tokens[path[length]] = token_ids[k]
        previous = start
    return nodes


_PART = 1024
"""The tokens that are joined at once."""


def checked_tokens(tokens: Sequence[bytes | None]) -> tuple[bytes | None, ...]:
    """Check the bytes of each id; ``b""`` becomes ``None``."""
    hint = "Give the bytes of each id in a list; Vocabulary.from_tokenizer reads a tokenizer."
    listed: tuple[bytes | None, ...] = tuple(
        arguments.items("tokens", tokens, "a list of bytes or None", hint=hint, error=VocabularyError)
    )
    for token_id, token in enumerate(listed):
        if token is not None and not isinstance(token, bytes):
            raise VocabularyError(
                f"token {token_id} is {type(token).__name__}, and must be bytes or None: {token!r:.80}",
                hint="Write text as bytes: 'talk'.encode()" if isinstance(token, str) else "",
            )
    return tuple(token or None for token in listed) if b"" in listed else listed


def joined(tokens: Iterable[bytes | None]) -> bytes:
    """Join the bytes of tokens; ``None`` has none.

    ``bytes.join`` needs 80 bytes for each of what it joins, 20 MB for all tokens of a large vocabulary. So they are
    joined in parts.

    >>> joined([b"he", None, b"llo"])
    b'hello'
    """
    left = filter(None, tokens)
    return b"".join(iter(lambda: b"".join(islice(left, _PART)), b""))


def checked_id(token_id: int, size: int) -> int:
    """Check a token id."""
    if isinstance(token_id, bool):
        raise VocabularyError(f"a token id must be an integer, and {token_id!r} is not")
    try:
        index = operator.index(token_id)
    except TypeError:
        raise VocabularyError(f"a token id must be an integer, and {token_id!r:.80} is not") from None
    if not 0 <= index < size:
        raise VocabularyError(f"there is no token {index}: the vocabulary has {size} tokens, with ids from 0 on")
    return index
