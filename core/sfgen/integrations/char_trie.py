"""The tokens of a vocabulary, read character by character, in layers.

A token can be cut anywhere, in the middle of a character too. Of the trie of all tokens those nodes matter that
complete a character. They are laid out here layer by layer (first characters, second characters, ...), so that one
vectorised step goes from a layer to the next for all tokens at once.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sfgen.ban.completing_tokens import characters_of, ranges
from sfgen.vocabulary.trie import TokenTrie

Int32 = NDArray[np.int32]


class Layers(NamedTuple):
    """Where characters end in tokens; such a node of the trie is a *stop* here.

    Attributes:
        edges: Stops of layer i are those from ``edges[i]`` to ``edges[i + 1]``.
        parents: int32 ``[stops]``, the stop before; -1 in the first layer.
        symbols: int32 ``[stops]``, the number of the text that is completed there.
        stops: int32, for each node of the trie the last stop there or above; -1 if there is none.
        tokens: int32, the tokens that are text, in the order of the trie.
        last_stops: int32, for each of ``tokens`` its last stop; -1 if it has none.
        tails: For each of ``tokens`` the bytes after its last stop, the beginning of a character.
        children: int64 ``[stops + 1]``; the stops after stop i are those from ``children[i]`` to ``children[i + 1]``.
        endings: int64 ``[stops + 2]``; the places in ``tokens`` of those whose last stop is i are
            ``by_stop[endings[i + 1]:endings[i + 2]]``. The first are those without a stop.
        by_stop: int64, see ``endings``.
        below: int64 ``[first layer]``, the number of tokens that go through each stop of the first layer.
    """

    edges: tuple[int, ...]
    parents: Int32
    symbols: Int32
    stops: Int32
    tokens: Int32
    last_stops: Int32
    tails: tuple[bytes, ...]
    children: NDArray[np.int64]
    endings: NDArray[np.int64]
    by_stop: NDArray[np.int64]
    below: NDArray[np.int64]


@lru_cache(maxsize=4)
def layers(trie: TokenTrie) -> Layers:
    """The layers of a trie; the last few are kept."""
    characters = characters_of(trie)
    root = len(characters.first) - 1  # the root's children come last
    places = np.arange(characters.first[root], characters.after[root])
    edges, found, parents = [0], [places], [np.full(len(places), -1)]
    while len(places):
        edges.append(edges[-1] + len(places))
        nodes = characters.nodes[places]
        starts, ends = characters.first[nodes], characters.after[nodes]
        parents.append(np.repeat(np.arange(edges[-2], edges[-1]), ends - starts))
        places = ranges(starts, ends)
        found.append(places)
    order = np.concatenate(found)
    nodes = characters.nodes[order]
    stops = np.full(len(trie), -1, dtype=np.int32)
    stops[nodes] = np.arange(len(nodes))
    own = stops >= 0
    tail_lengths = _inherit(trie, stops, own)
    counts = np.diff(trie.token_starts)
    tail_of_node = [b""] * len(trie)
    for node in np.flatnonzero(~own & (counts > 0)).tolist():
        tail_of_node[node] = _tail(trie, node, int(tail_lengths[node]))
    token_nodes = np.repeat(np.arange(len(trie)), counts)
    all_parents = np.concatenate(parents).astype(np.int32)
    first_layer = nodes[: edges[1]] if len(edges) > 1 else nodes
    below = trie.token_starts[trie.subtree_ends[first_layer]] - trie.token_starts[first_layer]
    return Layers(
        tuple(edges),
        all_parents,
        characters.symbols[order],
        stops,
        trie.token_ids,
        stops[token_nodes],
        tuple(tail_of_node[node] for node in token_nodes.tolist()),
        np.searchsorted(all_parents, np.arange(len(nodes) + 1)),
        np.searchsorted(np.sort(stops[token_nodes]), np.arange(-1, len(nodes) + 1)),
        np.argsort(stops[token_nodes], kind="stable"),
        below.astype(np.int64),
    )


def _inherit(trie: TokenTrie, stops: Int32, own: NDArray[np.bool_]) -> Int32:
    """Give nodes that are no stop the last stop above; for each node the number of bytes after its last stop."""
    lengths = np.zeros(len(trie), dtype=np.int32)
    above = np.empty(0, dtype=np.int64)
    by_depth = np.argsort(trie.depths, kind="stable")
    edges = np.searchsorted(trie.depths[by_depth], np.arange(1, trie.max_depth + 2))
    for depth in range(1, trie.max_depth + 1):
        nodes = by_depth[edges[depth - 1] : edges[depth]]
        inside = nodes[~own[nodes]]
        if depth == 1:
            lengths[inside] = 1
        else:
            parents = above[np.searchsorted(above, inside) - 1]
            stops[inside] = stops[parents]
            lengths[inside] = lengths[parents] + 1
        above = nodes
    return lengths


def _tail(trie: TokenTrie, node: int, length: int) -> bytes:
    """The last bytes on the way to a node. The way up is the way back: a parent is the last node that is less deep."""
    data = bytearray()
    depth = int(trie.depths[node]) + 1
    while len(data) < length:
        if trie.depths[node] < depth:
            depth = int(trie.depths[node])
            data.append(int(trie.bytes[node]))
        node -= 1
    return bytes(reversed(data))
