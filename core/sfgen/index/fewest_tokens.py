"""The fewest tokens that write a text: a shortest way through its bytes, from the end to the beginning."""

from __future__ import annotations

import numpy as np

from sfgen.kernels import Int, Int32s, Int32sOut, UInt8s, kernel

LONGEST_TEXT = 1 << 16
"""The most bytes of a shortest text that is written out: of a longer one, its bytes bound its tokens."""


@kernel
def fewest_tokens(
    text: UInt8s, offsets: Int, tokens: Int32sOut, labels: UInt8s, ends: Int32s, token_starts: Int32s, roots: Int32s
) -> Int:
    """Compute the fewest tokens that write each suffix of a text.

    Args:
        text: Its bytes.
        offsets: The offsets to compute, from 0; the results for later ones are given.
        tokens: Where results go: entry ``i`` is the fewest tokens that write ``text[i:]``.
        labels, ends, token_starts, roots: ``bytes``, ``subtree_ends``, ``token_starts`` and ``roots`` of a
            ``TokenTrie``.
    """
    for start in range(offsets - 1, -1, -1):
        best = np.int64(tokens[start])
        node, stop = np.int64(roots[text[start]]), np.int64(roots[text[start] + 1])
        offset = start
        while node < stop:
            if labels[node] == text[offset]:
                offset += 1
                if token_starts[node] < token_starts[node + 1]:
                    best = min(best, np.int64(tokens[offset]) + 1)
                if offset == text.size:
                    break
                stop = np.int64(ends[node])
                node += 1
            else:
                node = np.int64(ends[node])
        tokens[start] = best
    return 0
