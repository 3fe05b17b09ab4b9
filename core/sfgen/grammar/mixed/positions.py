"""A Lark grammar with schemas over one vocabulary: the masks of positions, and the way to the end in tokens.

The mask of a position is a union: outside of schemas the mask of ``LalrPositions``, inside of each schema the mask of
its ``NetworkPositions``, and the tokens that cross a border (see ``borders``). So the masks inside of a schema are made
and cached as those of any schema.

Near a limit the same parts find the tokens that fit. Inside of a schema ``_SchemaWithTail`` finds them, which adds the
text that must follow the schema. Tokens that cross a border are tried one by one.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial

import numpy as np

from sfgen import arguments
from sfgen.errors import DeadEnd
from sfgen.grammar.lalr.completion import LalrCompletion
from sfgen.grammar.lalr.distances import FAR
from sfgen.grammar.lalr.positions import LalrPositions
from sfgen.grammar.lalr.read import LalrConfiguration, LalrPosition, LalrReader
from sfgen.grammar.mixed.borders import Borders
from sfgen.grammar.mixed.reader import Inside, MixedPosition, MixedReader
from sfgen.grammar.network.completion import NetworkCompletion
from sfgen.grammar.network.network import Network
from sfgen.grammar.network.positions import NetworkPositions
from sfgen.grammar.network.read import NetworkReader
from sfgen.grammar.network.stack import NetworkConfiguration, NetworkPosition
from sfgen.grammar.shell.completion import NO_WAY, Shortest
from sfgen.grammar.shell.masks import KeptMasks, TokenMask, TooManyWays, words_of
from sfgen.grammar.shell.read import ReadByBytes
from sfgen.index.distance import LONGEST_TEXT, UNREACHABLE
from sfgen.index.mask_ids import TOKEN_IDS, packed
from sfgen.protocols import Int32, Mask
from sfgen.vocabulary import Vocabulary

_KEPT = 128
"""The most cached pairs of a schema and a configuration after it."""

_MASKS = 16 << 20
"""The most bytes of the cached masks of positions; as many for the tokens that cross borders."""

_MASKS_WITH_TAIL = 1 << 20
"""The most bytes of the masks near a limit that are cached for a schema and a configuration after it."""

OuterReader = Callable[[Sequence[int]], LalrReader]
"""A function that makes the reader outside of schemas, given the lengths of the schemas' shortest texts."""


class MixedPositions:
    """The tokens that each position allows. Immutable, lazy, safe to share between threads.

    Args:
        networks: The networks of the schemas.
        codes: The codes of the schemas, one byte each.
        outer: Makes the reader outside of schemas.
        vocabulary: The tokens, and a token for each code.
    """

    def __init__(
        self, networks: Sequence[Network], codes: Sequence[bytes], outer: OuterReader, vocabulary: Vocabulary
    ) -> None:
        self.vocabulary = arguments.instance("vocabulary", vocabulary, Vocabulary)
        single_bytes = vocabulary.trie.single_bytes
        self._is_exact = bool(single_bytes.all())
        self._schemas = [_writable(network, vocabulary) for network in networks]
        # A schema that the vocabulary cannot write stays in the list, but its code is not usable.
        written = [schema for schema in self._schemas if schema is not None]
        texts = [None if schema is None else schema.shortest(schema.reader.start) for schema in self._schemas]
        lengths = [1 if text is None else len(text) for text in texts]
        self._usable = single_bytes.copy()
        self._usable[[code[0] for code, schema in zip(codes, self._schemas, strict=True) if schema is None]] = False
        of_outer = outer(lengths)
        if not self._usable.all():
            of_outer = of_outer.with_bytes(self._usable)
        repeated = [code * length for code, length in zip(codes, lengths, strict=True)]
        both = zip(self._schemas, networks, strict=True)
        inner = [NetworkReader(network) if schema is None else schema.reader for schema, network in both]
        self.reader = MixedReader(of_outer, inner, repeated)
        self._texts = {code: text for code, text in zip(repeated, texts, strict=True) if text is not None}
        self._repeated = re.compile(b"|".join(map(re.escape, self._texts)) or b"(?!)")
        self._outer = _OuterPositions(of_outer, vocabulary, self.spelled)
        self._borders = Borders(self.reader, self._schemas, vocabulary)
        self._has_distinct = any(schema.has_distinct for schema in written)
        self._not_ends = ~packed(np.array(vocabulary.end_token_ids, dtype=np.int32), len(vocabulary))
        self._masks = KeptMasks[tuple[MixedPosition, int | None], Mask](_MASKS)
        self._crossing = KeptMasks[MixedPosition, Int32](_MASKS)
        self._with_tails: dict[tuple[int, LalrConfiguration], NetworkPositions] = {}
        self._lock = threading.Lock()

    def spelled(self, coded: bytes) -> bytes:
        """Replace the codes in a text by the shortest texts of the schemas, which have the same lengths."""
        return self._repeated.sub(lambda code: self._texts[code[0]], coded)

    # ---- token masks -----------------------------------------------------------------------------------------------

    def mask(self, position: MixedPosition) -> Mask:
        """Return the token mask of a position without a limit, end tokens included; read-only."""
        return self._cached(position, None)

    def bounded_mask(self, position: MixedPosition, room: int) -> Mask:
        """Return the token mask of a position with ``room`` tokens left, end tokens not counted; read-only."""
        return self._cached(position, room)

    def allowed_tokens(self, mask: Mask) -> Int32:
        """Return the token ids of a mask, ascending; read-only."""
        return TOKEN_IDS.of(mask)

    def is_made(self, position: MixedPosition, room: int | None) -> bool:
        """Return whether the mask of a position is cached, with ``room`` tokens left; ``None``: any number."""
        return (position, room) in self._masks

    def _cached(self, position: MixedPosition, room: int | None) -> Mask:
        mask = self._masks.get((position, room))
        if mask is None:
            mask = self._make(position, room)
            mask.setflags(write=False)
            mask = self._masks.keep((position, room), mask)
        return mask

    def _make(self, position: MixedPosition, room: int | None) -> Mask:
        """Unite the masks of the parts of a position, and the tokens that cross a border."""
        mask = np.zeros(words_of(self.vocabulary), dtype=np.uint32)
        if room != 0:
            parts = self.reader.with_borders(position)
            if parts.outer:
                mask |= self._mask_outside(parts.outer, room)
            for each in parts.inside:
                mask |= self._mask_inside(each, room)
            if room is None and parts.inside and self._borders.are_common and _most_are_in(mask):
                crossing = self._find_crossing(parts, mask)
            else:
                crossing = self._crossing_of(position)
            is_new = mask[crossing >> 5] >> (crossing & 31).astype(np.uint32) & 1 == 0
            mask |= self._fitting(position, crossing[is_new], room)
        mask &= self._not_ends
        if self.reader.accepts(position):
            mask |= ~self._not_ends
        return mask

    def _mask_outside(self, outer: LalrPosition, room: int | None) -> Mask:
        return self._outer.mask(outer) if room is None else self._outer.bounded_mask(outer, room)

    def _mask_inside(self, inside: Inside, room: int | None) -> Mask:
        schema = self._schemas[inside.schema]
        if schema is None or not (self._is_exact or any(map(self._can_end, inside.after))):
            return np.zeros_like(self._not_ends)
        if room is None:
            return schema.mask(inside.inner)
        masks = [with_tail.bounded_mask(inside.inner, room) for with_tail in self._endings(inside)]
        return np.bitwise_or.reduce(masks) if masks else np.zeros_like(self._not_ends)

    def _crossing_of(self, position: MixedPosition) -> Int32:
        """Return the tokens that cross a border, perhaps with others; cached."""
        crossing = self._crossing.get(position)
        if crossing is None:
            found = self._find_crossing(self.reader.with_borders(position), None)
            crossing = self._crossing.keep(position, found)
        return crossing

    def _find_crossing(self, parts: MixedPosition, known: Mask | None) -> Int32:
        """Find the tokens that cross a border and are not in ``known``; all tokens if there are too many ways."""
        try:
            return self._borders.crossing(parts, known)
        except TooManyWays:
            return self.vocabulary.text_token_ids

    def _fitting(self, position: MixedPosition, tokens: Int32, room: int | None) -> Mask:
        """Return the mask of those of some tokens after which the text can be completed."""
        if tokens.size and not (room is None and self._is_exact and not self._has_distinct):
            left = None if room is None else room - 1
            read = ReadByBytes(self.reader, position)
            tokens = read.fitting(tokens, self.vocabulary.tokens, lambda after: self.fits(after, left))
        return packed(tokens, len(self.vocabulary))

    # ---- the way to the end ----------------------------------------------------------------------------------------

    def _can_end(self, after: LalrConfiguration) -> bool:
        """Return whether the usable bytes complete the text from a configuration outside of schemas."""
        return self.reader.outer.to_end.of(*after) < FAR

    def _endings(self, inside: Inside) -> Iterator[NetworkPositions]:
        """Yield ``_SchemaWithTail`` of an open schema for each configuration after it that can be completed."""
        schema = self._schemas[inside.schema]
        if schema is not None:
            for after in filter(self._can_end, inside.after):
                yield self._with_tail(inside.schema, schema, after)

    def _with_tail(self, number: int, schema: NetworkPositions, after: LalrConfiguration) -> NetworkPositions:
        """Return the token masks of a schema after which the text continues from a configuration; cached."""
        key = number, after
        with_tail = self._with_tails.get(key)
        if with_tail is None:
            with_tail = _SchemaWithTail(schema, self._outer, after)
            with self._lock:
                if len(self._with_tails) > _KEPT:
                    self._with_tails.clear()
                self._with_tails[key] = with_tail
        return with_tail

    def fits(self, position: MixedPosition, room: int | None) -> bool:
        """Return whether ``room`` tokens are enough to complete the text."""
        if position.outer and self._outer.fits(position.outer, room):
            return True
        return any(
            with_tail.fits(inside.inner, room) for inside in position.inside for with_tail in self._endings(inside)
        )

    def tokens_left(self, position: MixedPosition) -> int:
        """Return the fewest tokens to an end, or an upper bound that falls by one with some token."""
        least = self._outer.tokens_left(position.outer) if position.outer else int(UNREACHABLE)
        for inside in position.inside:
            least = min([least, *(with_tail.tokens_left(inside.inner) for with_tail in self._endings(inside))])
        return least

    def shortest(self, position: MixedPosition) -> bytes:
        """Return the shortest text from a position to an end."""
        ways = list[tuple[int, Callable[[], bytes]]]()
        if position.outer:
            ways.append((self._outer.distance(position.outer), partial(self._outer.shortest, position.outer)))
        for inside in position.inside:
            for with_tail in self._endings(inside):
                ways.append((with_tail.distance(inside.inner), partial(with_tail.shortest, inside.inner)))
        least = min(distance for distance, _ in ways)
        return min((text() for distance, text in ways if distance == least), key=lambda text: (len(text), text))


class _OuterPositions(LalrPositions):
    """The token masks outside of schemas; shortest texts contain texts of the schemas instead of codes."""

    def __init__(self, reader: LalrReader, vocabulary: Vocabulary, spelled: Callable[[bytes], bytes]) -> None:
        self._spelled = spelled
        super().__init__(reader, vocabulary)

    @cached_property
    def _completion(self) -> LalrCompletion:
        return _OuterCompletion(self.reader, self.vocabulary, self._spelled)

    def following(self, configuration: LalrConfiguration) -> tuple[int, Shortest | None]:
        """Return the fewest bytes to the end, and the shortest text if it is not longer than ``LONGEST_TEXT``."""
        distance = self._completion.distance(configuration)
        return distance, self._completion._of(configuration) if distance <= LONGEST_TEXT else None


class _OuterCompletion(LalrCompletion):
    """The shortest texts outside of schemas, with texts of the schemas instead of codes."""

    def __init__(self, reader: LalrReader, vocabulary: Vocabulary, spelled: Callable[[bytes], bytes]) -> None:
        super().__init__(reader, vocabulary)
        self._spelled = spelled

    def _text_of(self, configuration: LalrConfiguration) -> bytes:
        return self._spelled(super()._text_of(configuration))


class _SchemaWithTail(NetworkPositions):
    """The token masks of a schema, with room under a limit for the text that must follow the schema."""

    def __init__(self, schema: NetworkPositions, outer: _OuterPositions, after: LalrConfiguration) -> None:
        self.__dict__.update(schema.__dict__)  # shares reader and masks
        self._bounded = KeptMasks(_MASKS_WITH_TAIL)
        self._distance, tail = outer.following(after)
        self.__dict__["_completion"] = _CompletionWithTail(schema._completion, self._distance, tail)

    def distance(self, position: NetworkPosition) -> int:
        """Return the fewest bytes to the end of the whole text, distinct texts not compared."""
        return super().distance(position) + self._distance

    def _mask_of(self, configuration: NetworkConfiguration) -> TokenMask:
        masked = super()._mask_of(configuration)
        return masked._replace(farthest=masked.farthest + self._distance) if masked.farthest >= 0 else masked


class _CompletionWithTail(NetworkCompletion):
    """The shortest texts from inside a schema to the end of the whole text."""

    def __init__(self, own: NetworkCompletion, distance: int, tail: Shortest | None) -> None:
        self.__dict__.update(own.__dict__)
        self._fewest = {}
        self._own = own
        self._distance_after = distance
        self._tail = tail

    def distance(self, configuration: NetworkConfiguration) -> int:
        """Return the fewest bytes to the end of the whole text, distinct texts not compared."""
        return self._own.distance(configuration) + self._distance_after

    def _of(self, configuration: NetworkConfiguration) -> Shortest:
        assert self._tail is not None, "longer texts are refused before"
        rest = self._own._of(configuration)
        return NO_WAY if rest is NO_WAY else self._before(rest.text, self._tail)


def _most_are_in(mask: Mask) -> bool:
    """Return whether a mask has more than half of the tokens."""
    return int(np.bitwise_count(mask).sum()) > 16 * len(mask)


def _writable(network: Network, vocabulary: Vocabulary) -> NetworkPositions | None:
    """Return the token masks of a schema; ``None`` if the vocabulary cannot write any text of it."""
    try:
        return NetworkPositions(network, vocabulary)
    except DeadEnd:
        return None
