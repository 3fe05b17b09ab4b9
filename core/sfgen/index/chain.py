"""One constraint after the other: a literal before a pattern, a pattern and then something else.

Where the first part ends is not always known: after ``a`` of ``a*`` and then ``ab``, either part may read the next
``a``. So a position is a set of guides, as in a nondeterministic automaton: one for each way to divide the text.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

from sfgen import arguments
from sfgen.errors import UsageError
from sfgen.index.distance import UNREACHABLE
from sfgen.index.guide import BaseGuide
from sfgen.protocols import Guide, GuideSource
from sfgen.vocabulary import Vocabulary


class Chain:
    """A source of guides through the concatenation of constraints.

    Args:
        parts: Indexes, or other sources of guides, over one vocabulary; at least one.

    Raises:
        UsageError: No part, or parts over different vocabularies.

    >>> from sfgen import Dfa, Index
    >>> vocabulary = Vocabulary([b"1", b"2", b" ", b"is ", b"s 1", b"i", b"s", None], end_token_ids=[7])
    >>> literal, number = Index(Dfa.from_choices(["is "]), vocabulary), Index(Dfa.from_regex("[12]+"), vocabulary)
    >>> guide = Chain([literal, number]).guide()
    >>> guide.allowed_tokens().tolist(), guide.forced_bytes()
    ([3, 5], b'is ')
    >>> guide.advance(5)
    >>> guide.allowed_tokens().tolist(), guide.tokens_left()
    ([4, 6], 3)
    """

    def __init__(self, parts: Iterable[GuideSource]) -> None:
        self.parts = tuple(arguments.items("parts", parts, "a list of indexes"))
        if not self.parts:
            raise UsageError("a chain needs at least one part", hint="Give a list of indexes.")
        for part in self.parts:
            arguments.given("each of parts", part, "an index", "vocabulary", "guide", "refusal")
        self.vocabulary: Vocabulary = self.parts[0].vocabulary
        if len({part.vocabulary.fingerprint for part in self.parts}) > 1:
            raise UsageError(
                "the parts of a chain are over different vocabularies", hint="Make them over the same one."
            )
        # The fewest tokens of each part from its start, and of all parts behind it.
        starts = [part.guide().tokens_left() for part in self.parts]
        self._behind = [_sum(starts[number + 1 :]) for number in range(len(starts))]

    def guide(self, max_tokens: int | None = None) -> ChainGuide:
        """Return a new guide at the start, for one sequence.

        Args:
            max_tokens: The most tokens of the text, without the end token; ``None``: any number.

        Raises:
            LimitTooSmall: The parts, each written by itself, take more than ``max_tokens`` tokens.
        """
        return ChainGuide(self, max_tokens)

    def refusal(self, data: bytes) -> dict[str, str] | None:
        """Check whether a text divides into parts that no judge refuses.

        Returns:
            ``None`` if it does; else the chain and what refuses, for a report.
        """
        if self._divides(arguments.data("data", data), 0):
            return None
        return {"constraint": repr(self.parts), "refused by": "the chain's parts"}

    def _divides(self, text: bytes, number: int) -> bool:
        if number == len(self.parts) - 1:
            return self.parts[number].refusal(text) is None
        return any(
            self.parts[number].refusal(text[:end]) is None and self._divides(text[end:], number + 1)
            for end in range(len(text) + 1)
        )


class Places:
    """The set of guides of a text, one for each division; immutable."""

    def __init__(self, guides: Iterable[tuple[int, Guide]]) -> None:
        self.guides: dict[tuple[int, Hashable], Guide] = {}
        for part, guide in guides:
            self.guides.setdefault((part, guide.position), guide)
        self._key = frozenset(self.guides)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Places) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __iter__(self) -> Iterator[tuple[int, Guide]]:
        return ((part, guide) for (part, _), guide in self.guides.items())


class ChainGuide(BaseGuide[Places]):
    """A guide of one sequence through a chain.

    The fewest tokens to an end are counted as if each part were written by itself: an upper bound, since a token may
    reach from one part into the next. Near the limit, and where the vocabulary cannot write every byte, what only such
    a token could complete is left out.
    """

    def __init__(self, chain: Chain, max_tokens: int | None = None) -> None:
        self.chain = arguments.instance("chain", chain, Chain)
        super().__init__(chain.vocabulary, Places(self._with_next([(0, chain.parts[0].guide())])), max_tokens)

    def _with_next(self, guides: Iterable[tuple[int, Guide]]) -> Iterator[tuple[int, Guide]]:
        """These guides, and the start of the next part for each that may end."""
        for part, guide in guides:
            yield part, guide
            while guide.is_accepting and part + 1 < len(self.chain.parts):
                part, guide = part + 1, self.chain.parts[part + 1].guide()
                yield part, guide

    def _read(self, position: Places, data: bytes) -> Places | None:
        for byte in data:
            position = Places(self._with_next(_after(position, bytes([byte]))))
            if not position.guides:
                return None
        return position

    def _accepts(self, position: Places) -> bool:
        last = len(self.chain.parts) - 1
        return any(part == last and guide.is_accepting for part, guide in position)

    def _tokens_left(self, position: Places) -> int:
        return min(_sum([guide.tokens_left(), self.chain._behind[part]]) for part, guide in position)

    def _is_final(self, position: Places) -> bool:
        return all(guide.is_finished for _, guide in position)

    def _only_step(self, position: Places) -> tuple[bytes, Places] | None:
        """The byte that all guides must go on with; without trying all bytes, unless one of them may end and go on."""
        forced = set()
        for _, guide in position:
            if not guide.is_finished:
                if guide.is_accepting:
                    return super()._only_step(position)
                forced.add(guide.forced_bytes(1))
        if len(forced) != 1 or b"" in forced:
            return None
        byte = forced.pop()
        after = self._read(position, byte)
        return None if after is None else (byte, after)

    def _describe(self, position: Places) -> str:
        return " | ".join(f"{part + 1}: {guide.describe()}" for part, guide in position)


def _after(position: Places, byte: bytes) -> Iterator[tuple[int, Guide]]:
    for part, guide in position:
        twin = guide.fork()
        try:
            twin.advance_bytes(byte)
        except UsageError:
            continue
        yield part, twin


def _sum(lengths: Iterable[int]) -> int:
    return min(sum(lengths), int(UNREACHABLE))
