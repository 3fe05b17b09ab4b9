"""The tokens of a vocabulary, read character by character.

A token can be cut anywhere, in the middle of a character too. Only the nodes of the token trie matter that complete a
character; such a node is a *stop*. A byte that cannot continue a half-read character completes it as U+FFFD, and may
complete another character by itself. The rest of a token after its last stop is its *tail*, the beginning of a
character.

Stops are numbered so that the children of each lie side by side, and no child lies before its parent: all stops of one
depth are read in one vectorised step.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfgen.kernels import Int, Int32s, Int32sOut, UInt8s, kernel
from sfgen.vocabulary.trie import TokenTrie

Int32 = NDArray[np.int32]


class CharacterTrie(NamedTuple):
    """A trie of tokens over their characters.

    ``n`` is the number of stops.

    Attributes:
        nodes: int32 ``[n]``, the node of the token trie. The stops without a parent come first.
        parents: int32 ``[n]``, the stop before; -1 for none.
        first: int32 ``[n]``; the stops after stop ``i`` are those from ``first[i]`` to ``after[i]``.
        after: int32 ``[n]``, see ``first``.
        symbols: int32 ``[n]``, the number of the text that is completed there.
        texts: The texts of these numbers.
        roots: The number of stops without a parent.
        below: int32 ``[roots]``, the number of tokens that go through each of these.
        stops: int32, for each node of the token trie its stop; -1 if it is none.
        tokens: int32, the ids of the tokens that are text, by their last stop; those that have none come first.
        edges: int32 ``[n + 2]``; the tokens whose last stop is ``i`` are ``tokens[edges[i + 1]:edges[i + 2]]``.
        tails: int32, for each of ``tokens`` the number of its tail; 0 if it has none.
        tail_texts: The tails of these numbers.
        ends_in_tail: bool ``[n + 1]``, whether a token with this last stop has a tail; the last entry is for tokens
            without a stop.
        leads_to_tail: bool ``[n]``, whether a token that goes through the stop has a tail.
    """

    nodes: Int32
    parents: Int32
    first: Int32
    after: Int32
    symbols: Int32
    texts: tuple[str, ...]
    roots: int
    below: Int32
    stops: Int32
    tokens: Int32
    edges: Int32
    tails: Int32
    tail_texts: tuple[bytes, ...]
    ends_in_tail: NDArray[np.bool_]
    leads_to_tail: NDArray[np.bool_]


@lru_cache(maxsize=4)
def character_trie(trie: TokenTrie) -> CharacterTrie:
    """Build the trie of characters; the last few are cached."""
    parent_nodes, codes, half = (np.empty(len(trie), dtype=np.int32) for _ in range(3))
    wanted, bits, lowest, highest = _beginnings()
    # By depth: what the walk must know of the node above.
    began, missing, code_bits, halves, low, high = np.zeros((6, trie.max_depth + 1), dtype=np.int32)
    _decode(
        trie.bytes, trie.depths, wanted, bits, lowest, highest,
        parent_nodes, codes, half, began, missing, code_bits, halves, low, high,
    )  # fmt: skip
    nodes = np.flatnonzero(codes >= 0).astype(np.int32)
    nodes = nodes[np.argsort(parent_nodes[nodes], kind="stable")]
    stops = np.full(len(trie) + 1, -1, dtype=np.int32)  # the last one is that of node -1, the root
    stops[nodes] = np.arange(len(nodes), dtype=np.int32)
    sorted_parents = parent_nodes[nodes]
    first = np.searchsorted(sorted_parents, nodes).astype(np.int32)
    after = np.searchsorted(sorted_parents, nodes, side="right").astype(np.int32)
    parents = stops[sorted_parents]
    roots = int(np.searchsorted(sorted_parents, 0))
    distinct = np.unique(codes[nodes])
    symbols = np.searchsorted(distinct, codes[nodes]).astype(np.int32)
    starts, ends = trie.token_starts[nodes[:roots]], trie.token_starts[trie.subtree_ends[nodes[:roots]]]
    token_nodes = np.repeat(np.arange(len(trie), dtype=np.int32), np.diff(trie.token_starts))
    last_stops = np.where(codes[token_nodes] >= 0, stops[token_nodes], stops[parent_nodes[token_nodes]])
    del codes, parent_nodes, sorted_parents
    order = np.argsort(last_stops, kind="stable")
    last_stops = last_stops[order]
    halves_behind = half[token_nodes[order]]
    distinct_tails = np.unique(np.append(np.int32(0), halves_behind))
    tails = np.searchsorted(distinct_tails, halves_behind).astype(np.int32)
    del half, halves_behind, token_nodes
    ends_in_tail = np.zeros(len(nodes) + 1, dtype=np.bool_)
    ends_in_tail[last_stops[tails > 0]] = True
    leads_to_tail = ends_in_tail[:-1].copy()
    marked = np.flatnonzero(leads_to_tail)
    while len(marked):
        leads_to_tail[marked] = True
        marked = np.unique(parents[marked])
        marked = marked[marked >= 0]
    return CharacterTrie(
        nodes,
        parents,
        first,
        after,
        symbols,
        tuple("\ufffd" * (code >> 21) + _text(code & _NO_CHARACTER) for code in distinct.tolist()),
        roots,
        ends - starts,
        stops,
        trie.token_ids[order],
        np.searchsorted(last_stops, np.arange(-1, len(nodes) + 1, dtype=np.int32)).astype(np.int32),
        tails,
        tuple(int(tail).to_bytes(3, "big").lstrip(b"\0") for tail in distinct_tails.tolist()),
        ends_in_tail,
        leads_to_tail,
    )


def ranges(starts: NDArray[np.integer], ends: NDArray[np.integer]) -> NDArray[np.int64]:
    """Concatenate ranges of whole numbers."""
    lengths = ends - starts
    return np.repeat(starts - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())


_NO_CHARACTER = (1 << 21) - 1


def _text(code: int) -> str:
    return "" if code == _NO_CHARACTER else chr(code)


@cache
def _beginnings() -> NDArray[np.int32]:
    """For each byte: how many more bytes follow, its bits of the code point, and the range of the next byte.

    Int32 ``[4, 256]``. A byte that begins no character has -1 of them.
    """
    table = np.full((256, 4), (-1, _NO_CHARACTER, 0x80, 0xBF), dtype=np.int32)
    leads = ((0, 0, 0x7F, 0x7F), (1, 0xC2, 0xDF, 0x1F), (2, 0xE0, 0xEF, 0x0F), (3, 0xF0, 0xF4, 0x07))
    for more, first, last, bits in leads:
        codes = np.arange(first, last + 1)
        table[codes, 0] = more
        table[codes, 1] = codes & bits
    # Neither overlong forms, nor surrogates, nor what is past the last code point.
    table[0xE0, 2] = 0xA0
    table[0xED, 3] = 0x9F
    table[0xF0, 2] = 0x90
    table[0xF4, 3] = 0x8F
    return np.ascontiguousarray(table.T)


@kernel
def _decode(
    labels: UInt8s,
    depths: Int32s,
    wanted_by: Int32s,
    bits_of: Int32s,
    lowest_after: Int32s,
    highest_after: Int32s,
    parents: Int32sOut,
    symbols: Int32sOut,
    tails: Int32sOut,
    began: Int32sOut,
    missing: Int32sOut,
    codes: Int32sOut,
    halves: Int32sOut,
    low: Int32sOut,
    high: Int32sOut,
) -> Int:
    """Decode all nodes of a trie as ``codecs`` would; return their number.

    ``symbols`` says what each node completes: ``number << 21 | code`` of U+FFFDs and a code point, -1 for nothing.
    ``parents`` has the last node above that completes anything, ``tails`` the half-read character as a number. A byte
    that cannot go on with a half-read character ends it as U+FFFD and is read anew.
    """
    # By depth: ``began`` has the last node that completed something, ``missing`` the bytes that the half-read character
    # still wants, ``codes`` the known bits of its code point, ``halves`` its bytes, ``low`` and ``high`` the range of
    # its next byte.
    began[0] = -1
    for node in range(len(labels)):
        depth = np.int64(depths[node])
        byte = np.int64(labels[node])
        above = depth - 1
        parents[node] = began[above]
        replaced = np.int64(0)
        wanted = np.int64(missing[above])
        if wanted > 0 and low[above] <= byte and byte <= high[above]:
            wanted -= 1
            half = np.int64(halves[above]) << 8 | byte
            code = np.int64(codes[above]) << 6 | byte & 0x3F
            low[depth] = 0x80
            high[depth] = 0xBF
        else:
            if wanted > 0:
                replaced += 1
            wanted = np.int64(wanted_by[byte])
            half = byte
            code = np.int64(bits_of[byte])
            low[depth] = lowest_after[byte]
            high[depth] = highest_after[byte]
            if wanted < 0:
                replaced += 1
                wanted = np.int64(0)
        missing[depth] = wanted
        codes[depth] = code
        halves[depth] = half
        tails[node] = half if wanted > 0 else np.int64(0)
        began[depth] = began[above]
        symbols[node] = -1
        if wanted == 0 or replaced > 0:
            symbols[node] = replaced << 21 | (code if wanted == 0 else np.int64(_NO_CHARACTER))
            began[depth] = node
    return len(labels)
