"""The trie of shapes: tokens as an automaton sees them that treats all small letters alike.

Most automata do: where ``a`` leads from one state to another, so does ``b``. So the characters are put into *kinds*:
the small letters, the capital letters, the digits, and some groups of the characters with two, three or four bytes in
UTF-8, by their first byte; every other byte is a kind by itself. The *shape* of a token is the kinds of its characters:
`` house`` and `` mouse`` have one shape. A vocabulary of 256,000 tokens has 7,000 shapes.

Their trie has a node for each beginning of a shape, in the order of ``TokenTrie``, and is walked in the same way. Each
node has the tokens of the shape, and the nodes of the token trie whose bytes have that shape: where a state does tell
the characters of a kind apart, a walk continues from these.

A byte that belongs to no whole character of its token is a kind by itself, also where a token begins or ends within a
character.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfgen.kernels import Int, Int32s, Int32sOut, UInt8s, UInt8sOut, UInt32s, UInt32sOut, kernel
from sfgen.vocabulary.trie import NO_TOKEN, TokenTrie
from sfgen.weak_cache import kept_while_it_lives

RULES = np.array(
    [  # the label of the kind, the number of bytes, and the lowest and the highest of each
        (ord("a"), 1, ord("a"), ord("z"), 0, 0, 0, 0, 0, 0),
        (ord("A"), 1, ord("A"), ord("Z"), 0, 0, 0, 0, 0, 0),
        (ord("0"), 1, ord("0"), ord("9"), 0, 0, 0, 0, 0, 0),
        *((ord(label), 2, low, high, 0x80, 0xBF, 0, 0, 0, 0) for label, low, high in (
            ("b", 0xC2, 0xC2), ("c", 0xC3, 0xC3), ("d", 0xC4, 0xCB), ("e", 0xCC, 0xCD), ("f", 0xCE, 0xCF),
            ("g", 0xD0, 0xD1), ("h", 0xD2, 0xDF),
        )),
        (ord("i"), 3, 0xE0, 0xE0, 0xA0, 0xBF, 0x80, 0xBF, 0, 0),
        (ord("j"), 3, 0xED, 0xED, 0x80, 0x9F, 0x80, 0xBF, 0, 0),
        *((ord(label), 3, low, high, 0x80, 0xBF, 0x80, 0xBF, 0, 0) for label, low, high in (
            ("k", 0xE1, 0xE1), ("l", 0xE2, 0xE2), ("m", 0xE3, 0xE3), ("n", 0xE4, 0xE4), ("o", 0xE5, 0xE9),
            ("p", 0xEA, 0xEA), ("q", 0xEB, 0xEC), ("r", 0xEE, 0xEF),
        )),
        (ord("s"), 4, 0xF0, 0xF0, 0x90, 0xBF, 0x80, 0xBF, 0x80, 0xBF),
        (ord("t"), 4, 0xF1, 0xF3, 0x80, 0xBF, 0x80, 0xBF, 0x80, 0xBF),
        (ord("t"), 4, 0xF4, 0xF4, 0x80, 0x8F, 0x80, 0xBF, 0x80, 0xBF),
    ],
    dtype=np.int32,
)  # fmt: skip
"""The bytes of the characters of each kind that has several. The label of a kind is a byte that is never a kind by
itself."""

KINDS = np.unique(RULES[:, 0], return_index=True)[1]
KINDS = RULES[np.sort(KINDS), 0]
"""The labels of these kinds, in the order of their rules; first of those whose characters are one byte."""

LABELS, BYTE_KINDS = 22, 3
"""The number of these kinds, and of those whose characters are one byte."""

COLUMNS = LABELS + BYTE_KINDS
"""The columns that a walking table has for them: where the characters lead, and of one byte also where most of them."""

DENSE = (
    8  # the tokens of a shape are also kept as a mask, where there are more of them than groups of N words in a mask
)


@dataclass(frozen=True, eq=False, slots=True)
class Shapes:
    """The trie of the shapes of a token trie.

    Every array is read-only. ``n`` is the number of nodes.

    Attributes:
        labels: ``uint8[n]``, the kind: one of ``KINDS``, or the byte.
        depths: ``int32[n]``, as in ``TokenTrie``, like the next one.
        subtree_ends: ``int32[n]``.
        token_starts: ``int32[n + 1]``; the tokens of node ``i`` are ``tokens[token_starts[i]:token_starts[i + 1]]``.
        tokens: ``uint32``; of tokens with equal bytes only the smallest id.
        node_starts: ``int32[n + 1]``; where the last character of node ``i`` begins in the token trie is at the nodes
            ``nodes[node_starts[i]:node_starts[i + 1]]``, by rising byte. A byte of 0x80 and more that is a kind by
            itself has none.
        nodes: ``int32``.
        dense: ``int32[n]``, where in ``rows`` the tokens of the node are; -1 for a few, which are not there.
        rows: ``uint32[m, words]``, token masks; the last one is that of all tokens.
        no_shapes: ``uint8[n]``, zeros: no shape is allowed.
        no_tokens: ``uint32[words]``, zeros: the mask without tokens.

    >>> from sfgen.vocabulary import Vocabulary
    >>> shapes = shapes_of(Vocabulary([b"a", b"to", b"We", b"be", b"b1", "ä".encode(), b"a\\xc3"]).trie)
    >>> bytes(shapes.labels), shapes.depths.tolist(), shapes.token_starts.tolist(), shapes.tokens.tolist()
    (b'Aaa\\xc30ac', [1, 2, 1, 2, 2, 2, 1], [0, 0, 1, 2, 3, 4, 6, 7], [2, 0, 6, 4, 3, 1, 5])
    """

    labels: NDArray[np.uint8]
    depths: NDArray[np.int32]
    subtree_ends: NDArray[np.int32]
    token_starts: NDArray[np.int32]
    tokens: NDArray[np.uint32]
    node_starts: NDArray[np.int32]
    nodes: NDArray[np.int32]
    dense: NDArray[np.int32]
    rows: NDArray[np.uint32]
    no_shapes: NDArray[np.uint8]
    no_tokens: NDArray[np.uint32]

    def __len__(self) -> int:
        """The number of nodes."""
        return len(self.labels)


@kept_while_it_lives
def shapes_of(trie: TokenTrie) -> Shapes:
    """Return the shapes of a token trie, made once.

    It takes some milliseconds.
    """
    size = len(trie)
    first_bytes = np.arange(256, dtype=np.uint8)
    for label, _, low, high, *_ in RULES.tolist():
        first_bytes[low : high + 1] = label
    path = np.empty(3 * trie.max_depth + 3, dtype=np.int32)
    by_byte = np.argsort(trie.bytes, kind="stable").astype(np.int32)
    shape_of = np.empty(size, dtype=np.int32)
    known, room = -1, size // 16 + 1  # there are far fewer shapes than nodes, as a rule
    while known < 0:
        begins = np.zeros(size, dtype=np.int32)
        above, kinds = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.uint8)
        slots = np.full(1 << (2 * room).bit_length(), -1, dtype=np.int32)
        known = _number_shapes(trie.bytes, trie.depths, first_bytes, path, shape_of, begins, above, kinds, slots)
        room *= 4
    del slots
    sizes, positions = np.zeros(known, dtype=np.int32), np.full(known, -1, dtype=np.int32)
    labels, depths = np.empty(known, dtype=np.uint8), np.empty(known, dtype=np.int32)
    subtree_ends = np.empty(known, dtype=np.int32)
    token_starts, node_starts = np.zeros(known + 2, dtype=np.int32), np.zeros(known + 2, dtype=np.int32)
    tokens, nodes = np.empty(size, dtype=np.uint32), np.empty(size, dtype=np.int32)
    number = _lay_out(
        trie.first_tokens, by_byte, shape_of, begins, above, kinds, sizes, positions,
        labels, depths, subtree_ends, token_starts, tokens, node_starts, nodes,
    )  # fmt: skip
    words = (trie.vocabulary_size + 31) // 32
    counts = np.diff(token_starts[: number + 1])
    many = np.flatnonzero(counts > words // DENSE)
    dense = np.full(number, -1, dtype=np.int32)
    dense[many] = np.arange(many.size)
    spans = [*zip(token_starts[many].tolist(), token_starts[many + 1].tolist(), strict=True), (0, token_starts[number])]
    rows = np.empty((many.size + 1, words), dtype=np.uint32)
    for row, (begin, end) in zip(rows, spans, strict=True):
        bits = np.zeros(32 * words, dtype=np.uint8)
        bits[tokens[begin:end]] = 1
        row[:] = np.packbits(bits, bitorder="little").view("<u4")
    tokens.resize(token_starts[number], refcheck=False)
    nodes.resize(node_starts[number], refcheck=False)
    made = Shapes(
        labels[:number].copy(),
        depths[:number].copy(),
        subtree_ends[:number].copy(),
        token_starts[: number + 1].copy(),
        tokens,
        node_starts[: number + 1].copy(),
        nodes,
        dense,
        rows,
        np.zeros(number, dtype=np.uint8),
        np.zeros(words, dtype=np.uint32),
    )
    for name in Shapes.__slots__:
        getattr(made, name).setflags(write=False)
    return made


@kernel
def _number_shapes(
    labels: UInt8s, depths: Int32s, first_bytes: UInt8s, path: Int32sOut,
    shape_of: Int32sOut, begins: Int32sOut, above: Int32sOut, kinds: UInt8sOut, slots: Int32sOut,
) -> Int:  # fmt: skip
    """Number the shapes of all nodes of a token trie as they come; the root is number 0.

    Return their number; -1 where there is no room for more.
    """
    # labels, depths: As in ``TokenTrie``.
    # first_bytes: The kind of the character that each byte may begin.
    # path: Room for three numbers at each depth of the trie, and three more.
    # shape_of: Out; the number of each node's shape.
    # begins: Zero; where a whole character begins, the number of the shape that it ends.
    # above, kinds: Out; of each shape, the root's too, the one without its last kind, and that kind.
    # slots: A hash table of the shapes, larger than that room; its size is a power of two; -1 is free.
    known = np.int64(1)
    path[0] = 0
    path[1] = 0
    path[2] = 0
    for node in range(len(labels)):
        depth = depths[node]
        byte = np.int64(labels[node])
        before = np.int64(path[3 * depth - 3])
        label = byte
        begin = np.int64(node)
        begun = np.int64(path[3 * depth - 2])  # of a character that is not complete: its first byte, and where that is
        if byte < 0x80:
            label = np.int64(first_bytes[byte])
            begun = np.int64(0)
        elif byte >= 0xC0:
            begun = depth << 8 | byte if 0xC2 <= byte <= 0xF4 else np.int64(0)
        elif begun > 0:
            first, position = begun & 255, depth - (begun >> 8)
            if position == 1 and (
                (first == 0xE0 and byte < 0xA0)
                or (first == 0xED and byte > 0x9F)
                or (first == 0xF0 and byte < 0x90)
                or (first == 0xF4 and byte > 0x8F)
            ):
                begun = np.int64(0)
            elif position == 1 + (first >= 0xE0) + (first >= 0xF0):
                label = np.int64(first_bytes[first])
                before = np.int64(path[3 * (begun >> 8) - 3])
                begin = np.int64(path[3 * (begun >> 8) + 2])
                begun = np.int64(0)
        slot = ((before << 8 | label) * 0x9E3779B1 >> 8) & (len(slots) - 1)
        while slots[slot] >= 0 and (above[slots[slot]] != before or kinds[slots[slot]] != label):
            slot = (slot + 1) & (len(slots) - 1)
        if slots[slot] < 0:
            if known == len(above):
                return np.int64(-1)
            slots[slot] = known
            above[known] = before
            kinds[known] = label
            known += 1
        shape_of[node] = slots[slot]
        if label != byte or byte < 0x80:
            begins[begin] = slots[slot]
        path[3 * depth] = slots[slot]
        path[3 * depth + 1] = begun
        path[3 * depth + 2] = node
    return known


@kernel
def _lay_out(
    first_tokens: UInt32s, by_byte: Int32s, shape_of: Int32s, begins: Int32s, above: Int32s, kinds: UInt8s,
    sizes: Int32sOut, positions: Int32sOut, labels: UInt8sOut, depths: Int32sOut, subtree_ends: Int32sOut,
    token_starts: Int32sOut, tokens: UInt32sOut, node_starts: Int32sOut, nodes: Int32sOut,
) -> Int:  # fmt: skip
    """Lay out in pre-order the shapes that tokens have, and those above; return their number."""
    # first_tokens: As in ``TokenTrie``; by_byte: the nodes of the token trie by rising byte.
    # sizes: Zero; room for the number of nodes of each shape's subtree.
    # positions: -1; room for the place of each shape.
    # labels and the rest: Out; as in ``Shapes``, with room for all shapes; the starts are zero, with one more place.
    for node in range(len(shape_of)):
        if first_tokens[node] < NO_TOKEN:
            positions[shape_of[node]] = 0
    for shape in range(len(sizes) - 1, 0, -1):  # a shape comes after the one that it goes on from
        if positions[shape] == 0 or sizes[shape] > 0:
            sizes[shape] += 1
            sizes[above[shape]] += sizes[shape]
    positions[0] = -1
    for shape in range(1, len(sizes)):
        if sizes[shape] == 0:
            continue
        before = above[shape]
        # Of a shape that is laid out, `sizes` is from now on where the next one below it goes.
        position = np.int64(sizes[before]) if before > 0 else np.int64(token_starts[0])
        end = position + sizes[shape]
        if before > 0:
            sizes[before] = end
        else:
            token_starts[0] = end
        positions[shape] = position
        sizes[shape] = position + 1
        labels[position] = kinds[shape]
        depths[position] = depths[positions[before]] + 1 if before > 0 else 1
        subtree_ends[position] = end
    number = np.int64(token_starts[0])
    token_starts[0] = 0
    for turn in range(2):
        for rank in range(len(shape_of)):
            node = by_byte[rank]
            begun = begins[node]
            if begun > 0 and sizes[begun] > 0:
                position = np.int64(positions[begun])
                if turn == 0:
                    node_starts[position + 2] += 1
                else:
                    nodes[node_starts[position + 1]] = node
                    node_starts[position + 1] += 1
            if first_tokens[node] < NO_TOKEN:
                position = np.int64(positions[shape_of[node]])
                if turn == 0:
                    token_starts[position + 2] += 1
                else:
                    tokens[token_starts[position + 1]] = first_tokens[node]
                    token_starts[position + 1] += 1
        if turn == 0:
            for after in range(2, number + 2):
                node_starts[after] += node_starts[after - 1]
                token_starts[after] += token_starts[after - 1]
    return number
