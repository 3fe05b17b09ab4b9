"""The tokens that continue a quotation: masks by a walk of the token trie along the sorted suffixes.

Where few suffixes are left, as nearly everywhere but in the first tokens, a walk visits few nodes and its mask is not
kept.
"""

from __future__ import annotations

import threading
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sfgen.index.distance import UNREACHABLE
from sfgen.index.mask_ids import TokenIds
from sfgen.protocols import Int32, Mask
from sfgen.substring import walk
from sfgen.substring.document import Document
from sfgen.vocabulary import Vocabulary

_FEW = 64
"""Suffixes whose mask takes microseconds."""

_KEPT = 32 << 20
"""Bytes of masks that are kept."""

_NONE: Int32 = np.empty(0, dtype=np.int32)
_NO_WAYS = (_NONE, _NONE, _NONE, np.empty(0, dtype=np.int64), _NONE, _NONE, _NONE)


class Position(NamedTuple):
    """Where a quotation stands: at all places of the document where the text so far does.

    Attributes:
        low: The first of the sorted suffixes that begin with the text.
        high: The one behind the last.
        depth: The bytes of the text.
    """

    low: int
    high: int
    depth: int


class SubstringReader:
    """Reads quotations: a ``sfgen.grammar.guide.PositionReader``. It can be shared between threads.

    Args:
        document: What is quoted.
    """

    def __init__(self, document: Document) -> None:
        self.document = document
        self.start = Position(0, len(document.order), 0)
        self._places: tuple[Any, ...] = (document.data, document.order, document.stops)

    def read(self, position: Position, data: bytes) -> Position | None:
        """Return the position after some bytes; ``None`` where no quotation goes on so."""
        low, high = walk.read(*position, np.frombuffer(data, dtype=np.uint8), *self._places)
        return Position(low, high, position.depth + len(data)) if low < high else None

    def accepts(self, position: Position) -> bool:
        """Tell whether the quotation may end at a position."""
        document = self.document
        return bool(walk.accepts(*position, document.least, document.order, document.stops, document.counts))

    def is_final(self, position: Position) -> bool:
        """Tell whether nothing of the document can follow."""
        return bool(walk.only_byte(*position, *self._places) == -2)

    def only_step(self, position: Position) -> tuple[bytes, Position] | None:
        """Return the only byte that can follow, and the position after it."""
        byte = walk.only_byte(*position, *self._places)
        if byte < 0:
            return None
        data = bytes([byte])
        after = self.read(position, data)
        return None if after is None else (data, after)

    def shortest(self, position: Position) -> bytes:
        """Return the shortest text from a position to an end; of several the one with the smaller bytes."""
        document = self.document
        starts = document.order[position.low : position.high].astype(np.int64)
        stops = document.stops[position.low : position.high]
        if position.depth == 0 and document.least == 0:
            return b""
        units = np.maximum(document.counts[starts] + max(document.least, 1), 1) - 1
        at = starts + position.depth
        here = document.counts[np.minimum(at, len(document.data))]
        is_end = (position.depth > 0) & (document.ends[np.maximum(here, 1) - 1] == at)
        ends = document.ends[np.minimum(np.maximum(units, here - is_end), len(document.ends) - 1)]
        lengths = np.where((at <= stops) & (ends >= at), ends - at, np.int64(UNREACHABLE))
        first = int(lengths.argmin())
        return document.data[at[first] : at[first] + lengths[first]].tobytes()


class SubstringTokens:
    """The tokens of quotations: a ``sfgen.grammar.guide.PositionMasks``. It can be shared between threads.

    Args:
        reader: Reads the quotations.
        vocabulary: The tokens.
    """

    def __init__(self, reader: SubstringReader, vocabulary: Vocabulary) -> None:
        self.reader = reader
        self.vocabulary = vocabulary
        document, trie = reader.document, vocabulary.trie
        # Where every byte of the document is a token by itself, no position is a dead end.
        self._steps_byte_by_byte = bool(trie.single_bytes[np.unique(document.data)].all())
        self._ids = TokenIds()
        self._masks: dict[Position, Mask] = {}
        self._bytes = 0
        self._lock = threading.Lock()

    @cached_property
    def _ways(self) -> tuple[Any, ...]:
        """The arrays that tell the fewest tokens; see ``sfgen.substring.walk.tokens_left``."""
        document, trie = self.reader.document, self.vocabulary.trie
        fewest, landings, to_unit, following, jumps, steps = np.empty((6, len(document.counts)), dtype=np.int32)
        walk.spell(
            document.data, document.counts, document.ends, fewest, landings, to_unit, following, jumps, steps,
            trie.bytes, trie.subtree_ends, trie.token_starts, trie.roots,
        )  # fmt: skip
        by_units = np.concatenate([[0], np.cumsum(to_unit[document.ends[:-1]], dtype=np.int64)])
        return fewest, landings, to_unit, by_units, following, jumps, steps

    def mask(self, position: Position) -> Mask:
        """Return the token mask of a position, end tokens included; read-only."""
        found = self._masks.get(position)
        if found is None:
            found = self._make(position, None if self._steps_byte_by_byte else int(UNREACHABLE))
            if position.high - position.low > _FEW:
                with self._lock:
                    self._keep(position, found)
        return found

    def _keep(self, position: Position, mask: Mask) -> None:
        if position not in self._masks:
            self._masks[position] = mask
            self._bytes += mask.nbytes
        while self._bytes > _KEPT and len(self._masks) > 1:
            self._bytes -= self._masks.pop(next(iter(self._masks))).nbytes

    def bounded_mask(self, position: Position, room: int) -> Mask:
        """Return the token mask of a position where at most ``room`` tokens may follow."""
        return self._make(position, room)

    def _make(self, position: Position, room: int | None) -> Mask:
        vocabulary, document = self.vocabulary, self.reader.document
        trie = vocabulary.trie
        mask = np.zeros((len(vocabulary) + 31) // 32, dtype=np.uint32)
        if room != 0:
            lows, highs = np.empty((2, trie.max_depth + 1), dtype=np.int32)
            arguments: tuple[Any, ...] = (
                *position, -1 if room is None else room, mask, lows, highs, document.least, document.data,
                document.order, document.stops, document.counts, document.ends,
                *(_NO_WAYS if room is None else self._ways),
                trie.bytes, trie.depths, trie.subtree_ends, trie.token_starts, trie.token_ids,
            )  # fmt: skip
            walk.allow(*arguments)
        if self.reader.accepts(position):
            for token in vocabulary.end_token_ids:
                mask[token >> 5] |= np.uint32(1 << (token & 31))
        mask.setflags(write=False)
        return mask

    def allowed_tokens(self, mask: Mask) -> Int32:
        """Return the token ids of a mask, ascending; read-only."""
        return self._ids.of(mask)

    def is_made(self, position: Position) -> bool:
        """Tell whether the mask of a position is made, or takes microseconds."""
        return position.high - position.low <= _FEW or position in self._masks

    def fits(self, position: Position, room: int | None) -> bool:
        """Tell whether the quotation can be completed with ``room`` tokens; ``None``: any number."""
        if room is None:
            room = int(UNREACHABLE) - 1
            return self._steps_byte_by_byte or self._least(position, room) <= room
        return self._least(position, room) <= room

    def tokens_left(self, position: Position) -> int:
        """Return the fewest tokens to an end, or a bound above that falls by one with some token."""
        return self._least(position, 0)

    def _least(self, position: Position, enough: int) -> int:
        document = self.reader.document
        found: int = walk.tokens_left(
            *position, enough, document.least, document.order, document.stops, document.counts, document.ends,
            *self._ways,
        )  # fmt: skip
        return found

    def shortest(self, position: Position) -> bytes:
        """Return the shortest text from a position to an end."""
        return self.reader.shortest(position)
