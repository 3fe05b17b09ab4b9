"""Guides of grammars, the same for both engines.

A position contains all ways to read the text so far. An engine implements ``PositionReader`` and ``PositionMasks``
(``sfgen.index.readers``); ``GrammarGuide`` uses them to follow one sequence.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from sfgen import arguments
from sfgen.errors import LimitTooSmall, TextTooLong
from sfgen.index import BaseGuide
from sfgen.index.guide import NO_TOKENS
from sfgen.index.mask_ids import packed
from sfgen.index.readers import PositionMasks
from sfgen.protocols import Int32, Mask
from sfgen.vocabulary import Vocabulary
from sfgen.weak_cache import kept_with_it

Position = TypeVar("Position", bound=Hashable)

Made = TypeVar("Made")

_SHOWN = 60  # characters of a text in a message


class KeptByVocabulary(Generic[Made]):
    """Caches a value for each vocabulary, as long as this cache and the vocabulary live. Threads may share it.

    A value refers to its vocabulary, so it is stored with the vocabulary, under the cache. Each call passes the
    function that makes a value: if the cache kept it, the cache and its owner would refer to each other. Equal
    vocabularies have separate values, as the names of their tokens may differ.

    >>> sizes = KeptByVocabulary[int]()
    >>> sizes.of(Vocabulary([b"a", b"b"]), len)
    2
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def of(self, vocabulary: Vocabulary, make: Callable[[Vocabulary], Made]) -> Made:
        """Return the value of a vocabulary; make it at the first call."""
        arguments.instance("vocabulary", vocabulary, Vocabulary, hint="A model has one: model.vocabulary.")
        with self._lock:
            kept: WeakKeyDictionary[KeptByVocabulary[Made], Made] = _by_cache(vocabulary)
            if self not in kept:
                kept[self] = make(vocabulary)
            return kept[self]


@kept_with_it
def _by_cache(vocabulary: Vocabulary) -> WeakKeyDictionary[KeptByVocabulary[Any], Any]:
    """Return the values of a vocabulary, by cache."""
    return WeakKeyDictionary()


class GrammarGuide(BaseGuide[Position]):
    """Guides one sequence through a grammar; guides share the tables. ``describe`` names positions for views.

    >>> from sfgen.grammar.network.network import network_of
    >>> from sfgen.grammar.network.positions import NetworkPositions
    >>> from sfgen.grammar.network.rules import Call, Concatenation, GrammarRules, Literal, Repeat
    >>> pairs = Concatenation((Literal(b"("), Repeat(Call("pairs"), 0, None), Literal(b")")))
    >>> vocabulary = Vocabulary([b"(", b")", b"))", b"()", None], end_token_ids=[4])
    >>> guide = GrammarGuide(NetworkPositions(network_of(GrammarRules({"pairs": pairs}, "pairs")), vocabulary))
    >>> guide.allowed_tokens().tolist()
    [0, 3]
    >>> guide.advance(0)
    >>> guide.advance(0)
    >>> guide.allowed_tokens().tolist(), guide.tokens_left()
    ([0, 1, 2, 3], 1)
    """

    def __init__(
        self,
        tokens: PositionMasks[Position],
        max_tokens: int | None = None,
        describe: Callable[[Position], str] | None = None,
    ) -> None:
        self.tokens = tokens
        self._reader = tokens.reader
        self._described = describe
        super().__init__(tokens.vocabulary, tokens.reader.start, max_tokens)

    def _check_limit(self, start: Position) -> None:
        if self.max_tokens is None:
            return
        least = self.tokens.tokens_left(start)
        if least > self.max_tokens:
            try:
                text = self.tokens.shortest(start).decode("utf-8", "replace")
            except TextTooLong as error:
                raise LimitTooSmall(
                    f"a limit of {self.max_tokens} tokens is too small: the shortest text has {error.size}",
                    hint=error.hint,
                ) from None
            raise LimitTooSmall(
                f"a limit of {self.max_tokens} tokens is too small: the shortest text takes {least}",
                details=(f"  for example {text[:_SHOWN]}{'…' if len(text) > _SHOWN else ''}",),
                hint=f"Allow at least {least} tokens.",
            )

    def _read(self, position: Position, data: bytes) -> Position | None:
        return self._reader.read(position, data)

    def _accepts(self, position: Position) -> bool:
        return self._reader.accepts(position)

    def _tokens_left(self, position: Position) -> int:
        return self.tokens.tokens_left(position)

    def _describe(self, position: Position) -> str:
        return super()._describe(position) if self._described is None else self._described(position)

    def _is_final(self, position: Position) -> bool:
        return self._reader.is_final(position)

    def _only_step(self, position: Position) -> tuple[bytes, Position] | None:
        return self._reader.only_step(position)

    def mask(self) -> Mask:
        """Return the token mask, uint32 ``[ceil(len(vocabulary) / 32)]``; read-only."""
        if self._ended:
            return packed(NO_TOKENS, len(self.vocabulary))
        room = self.room
        position = self._positions[-1]
        return self.tokens.mask(position) if room is None else self.tokens.bounded_mask(position, room)

    def allowed_tokens(self) -> Int32:
        """Return the ids of the allowed tokens, ascending, int32; read-only."""
        return self.tokens.allowed_tokens(self.mask())

    def is_ready(self) -> bool:
        """Return whether the mask of this position is cached, or is trivial."""
        return self._ended or self.room == 0 or self.tokens.is_made(self._positions[-1], self.room)

    def _after(self, token_id: int) -> Position | None:
        vocabulary, room = self.vocabulary, self.room
        data = vocabulary.tokens[token_id] if 0 <= token_id < len(vocabulary) else None
        if data is None or token_id in vocabulary.end_token_ids or room == 0:
            return None
        after = self._reader.read(self._positions[-1], data)
        if after is None or not self.tokens.fits(after, None if room is None else room - 1):
            return None
        return after
