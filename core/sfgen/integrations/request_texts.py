"""The texts of a server's requests: each has a constraint of its own, and comes and goes when it likes.

A server has no way to let one request fail in the middle of a batch: an error there ends them all. So what is wrong
with a request is told before (``ConstraintRequest.check``), and what only the vocabulary or the prompt can tell is
written into the log:

* The limit is too small for any text: the text is written all the same, and the server cuts it at the limit.
* Only banned text could follow, which was not foreseen: the text ends before it is complete.
* Anything else, such as a pattern that no token can write: the text ends at once.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import takewhile
from typing import Protocol

import numpy as np

from sfgen.errors import LimitTooSmall, SfgenError, UsageError
from sfgen.index import Index
from sfgen.index.mask_ids import packed
from sfgen.integrations.banned import Banned
from sfgen.integrations.guided import Guided, WatchedGuide
from sfgen.integrations.request import ConstraintRequest
from sfgen.integrations.state import BatchRow, Rule, Stage
from sfgen.protocols import Int32, Mask
from sfgen.vocabulary import Vocabulary

_KEPT = 32  # indexes, and bans

_log = logging.getLogger(__name__)


class MasksTokens(Protocol):
    """A text, seen from the loop that writes it."""

    def mask(self, written: Sequence[int], drafted: Sequence[int] = ()) -> Mask | None:
        """Return the token mask after some tokens.

        Args:
            written: The tokens of the text.
            drafted: Tokens that are proposed to follow them (speculative decoding).

        Returns:
            Uint32 ``[words]``; ``None``: everything is allowed.
        """


class RequestText:
    """One text of a request.

    It moves, forth or back, to whatever tokens it is given.

    Args:
        rule: What it must keep to.
        prompt: The tokens before it.
        ends: The mask of the end tokens.
    """

    def __init__(self, rule: Rule, prompt: Sequence[int], ends: Mask) -> None:
        self._rule = rule
        self._end_tokens = frozenset(rule.vocabulary.end_token_ids)
        self._ends = ends
        self._row = BatchRow(rule.guide(prompt))
        self._tokens: list[int] = []
        self._taken = 0  # by the guide: all of the tokens, or those before the one that it refused
        self._told = False

    def mask(self, written: Sequence[int], drafted: Sequence[int] = ()) -> Mask | None:
        """Return the token mask after some tokens.

        An end token is allowed where these tokens are not, and a token that keeps the end clean where nothing is.

        Args:
            written: The tokens of the text.
            drafted: Tokens that are proposed to follow them (speculative decoding).

        Returns:
            Uint32 ``[words]``; ``None``: everything is allowed.
        """
        self._go_to([*written, *drafted])
        if self._row.stage is Stage.STRAYED and self._taken < len(written) and not self._told:
            self._told = True
            token, place = self._tokens[self._taken], self._taken
            _log.warning("sfgen: token %d was written behind %d tokens, and is not allowed there", token, place)
        mask = self._rule.mask(self._row)
        if mask is None or self._row.stage is not Stage.OPEN or mask.any():
            return mask
        if not self._told and not drafted:
            self._told = True
            reason = self._rule.dead_end(self._row.guide)
            _log.error("sfgen: the text ends behind %d tokens, and is not complete: %s", len(written), reason)
        way_out = self._row.guide.way_out() if isinstance(self._row.guide, WatchedGuide) else None
        return self._ends if way_out is None else way_out

    def _go_to(self, tokens: list[int]) -> None:
        """Bring the guide behind these tokens."""
        known = len(self._tokens)
        if tokens[:known] != self._tokens:
            pairs = zip(tokens, self._tokens, strict=False)
            known = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
            self._go_back(known)
        for token in tokens[known:]:
            self._row = self._row.after(token, self._end_tokens)
            self._tokens.append(token)
            self._taken += self._row.stage is not Stage.STRAYED

    def _go_back(self, count: int) -> None:
        """Keep the first ``count`` tokens."""
        del self._tokens[count:]
        if count > self._taken:
            return  # the token that was refused is still there
        self._row.guide.rollback(self._taken - count)
        self._taken = count
        ended = not self._end_tokens.isdisjoint(self._tokens)
        self._row = BatchRow(self._row.guide, Stage.ENDED if ended else Stage.OPEN)


class EndedText:
    """A text that ends at once.

    Args:
        ends: The mask of the end tokens.
    """

    def __init__(self, ends: Mask) -> None:
        self._ends = ends

    def mask(self, written: Sequence[int], drafted: Sequence[int] = ()) -> Mask:
        """Return the mask of the end tokens.

        Args:
            written: Any tokens.
            drafted: Any tokens.
        """
        return self._ends


class RequestTexts:
    """The texts of requests over one vocabulary.

    The indexes of the last few constraints and bans are cached.

    Args:
        vocabulary: The tokens.

    Raises:
        UsageError: It has no end token, so that no text could end.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        if not vocabulary.end_token_ids:
            raise UsageError("the vocabulary has no end token, so that no text could end where it is complete")
        self._vocabulary = vocabulary
        self.ends = ends_of(vocabulary.end_token_ids, len(vocabulary))
        self._index = lru_cache(maxsize=_KEPT)(self._make_index)
        self._ban = lru_cache(maxsize=_KEPT)(self._make_ban)

    def begin(self, request: ConstraintRequest, prompt: Sequence[int], limit: int | None) -> MasksTokens:
        """Begin a text.

        Args:
            request: Its constraint.
            prompt: The tokens before it; only where words are banned do they matter.
            limit: The most tokens of the text, without the end token; ``None``: any number.
        """
        for is_cut in (False, True):
            try:
                return RequestText(self._rule(request, limit, is_cut=is_cut), prompt, self.ends)
            except LimitTooSmall as error:
                _log.warning("sfgen: the text of a request will be cut: %s", error)
            except SfgenError as error:
                _log.error("sfgen: the text of a request cannot be written, so it ends at once: %s", error)
                break
        return EndedText(self.ends)

    def _rule(self, request: ConstraintRequest, limit: int | None, *, is_cut: bool) -> Rule:
        if request.constraint is not None:
            index, banned = self._index(replace(request, banned=None)), request.banned_words
            return Guided(index, banned, None, cut_at=limit) if is_cut else Guided(index, banned, limit)
        ban = self._ban(request)
        if ban.is_full:  # texts that are not finished go on with the old one
            self._ban.cache_clear()
            ban = self._ban(request)
        return ban.limited(limit)

    def _make_index(self, request: ConstraintRequest) -> Index:
        constraint = request.constraint
        assert constraint is not None
        index: Index = Index(constraint, self._vocabulary)
        return index

    def _make_ban(self, request: ConstraintRequest) -> Banned:
        banned = request.banned_words
        assert banned is not None  # a request asks for something
        return Banned(banned, self._vocabulary, None)


def ends_of(token_ids: Sequence[int], size: int) -> Mask:
    """Return the mask of some tokens.

    Args:
        token_ids: The tokens.
        size: The number of tokens of the vocabulary.

    Returns:
        Uint32 ``[ceil(size / 32)]``.
    """
    ids: Int32 = np.array(token_ids, dtype=np.int32)
    return packed(ids, size)
