"""Texts that must satisfy a constraint, and may have none of the banned words.

Where the constraint is an automaton, the banned words are taken out of it. Elsewhere two guides walk side by side, and
a token must be allowed by both. The first one is that of the constraint, whose strings have no banned word as they are
read. The second one knows no banned text: it is that of an automaton of clean texts among which are all clean texts of
the constraint, or else the matcher itself. The former also knows which beginnings lead to banned text only, but for
what it forgets of the constraint: how deep rules are nested, and what is counted.

A processor cannot take tokens back. So a token is also left out where a search shows that nothing clean can follow it;
the search goes from token to token as long as few are allowed.
"""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Hashable, Sequence

import numpy as np

from sfgen import arguments
from sfgen.ban import BannedWords, read_prompt
from sfgen.ban.difference import clean_superset, is_wholly_clean, without_banned
from sfgen.errors import GenerationError, UsageError
from sfgen.index import index_of
from sfgen.index.calls import Calls
from sfgen.index.mask_ids import packed, tokens_of_row
from sfgen.index.thought import Thought
from sfgen.integrations.banned import Banned
from sfgen.integrations.state import BatchRow, RowGuide, Stage
from sfgen.protocols import Guide, GuideSource, HasReadings, Mask
from sfgen.vocabulary import Vocabulary

_BYTES_KEPT = 32 << 20
_FEW = 32  # tokens that are followed, where no more are allowed
_MOST_STEPS = 400  # of one search
_MOST_POSITIONS = 1_000  # whose masks are cached


def check_strings(constraint: object) -> None:
    """Refuse a constraint out of which no banned words could be taken, if it writes JSON.

    A matcher reads the text, and not what its strings say.

    Raises:
        UsageError: It writes JSON.
    """
    if isinstance(constraint, HasReadings) and getattr(constraint, "has_values", True):
        raise UsageError(
            "the banned words cannot be taken out of the strings of the schema: the automaton would be too large",
            hint="Ban fewer words, or use sfgen.generate, which can take tokens back.",
        )


class Guided:
    """The rule of an index, which is the source of its guides.

    Args:
        source: What a text must match.
        banned: What must not be in it; ``None``: nothing is banned.
        max_tokens: The most tokens of a text, without the end token; ``None``: any number.
        cut_at: The most tokens of a text that is cut there though it may not be complete; ``None``: it is not cut.

    Raises:
        LimitTooSmall: No match can be written with ``max_tokens`` tokens.
        UsageError: Words are banned in a source that writes more than one text.
    """

    def __init__(
        self,
        source: GuideSource,
        banned: BannedWords | None,
        max_tokens: int | None,
        *,
        cut_at: int | None = None,
    ) -> None:
        self.vocabulary = arguments.instance("vocabulary", source.vocabulary, Vocabulary)
        if banned is not None and isinstance(source, Thought | Calls):
            raise UsageError(
                "a logits processor cannot keep to banned words where a thought or calls are written beside the text",
                hint="Use sfgen.generate, or ban nothing.",
            )
        self._source = source
        self._banned = banned
        self._max_tokens = max_tokens
        self._cut_at = cut_at
        self._matcher: Banned | None = None  # made where it is needed
        self._both = _Intersections()
        ends = np.array(self.vocabulary.end_token_ids, dtype=np.int32)
        self._ends = packed(ends, len(self.vocabulary)) if ends.size else None
        if max_tokens is not None:
            source.guide(max_tokens)  # an error now, and not at the first text

    def new_texts(self) -> None:
        """Drop caches that have become large."""
        if self._matcher is not None:
            self._matcher.new_texts()

    def guide(self, prompt: Sequence[int]) -> RowGuide:
        """Return a guide without the banned words that may follow a prompt.

        Raises:
            UsageError: They cannot be taken out of the strings of a schema.
            BannedWordsError: Nothing would be left.
            LimitTooSmall: No match that is left can be written within the limit.
        """
        if self._banned is None:
            return self._source.guide(self._max_tokens)
        before = read_prompt(self.vocabulary, prompt)
        clean = without_banned(self._source, self._banned, before)
        if clean is not None and is_wholly_clean(clean) and self._cut_at is None:
            return clean.guide(self._max_tokens)
        if clean is None:
            check_strings(getattr(self._source, "constraint", None))
        source = self._source if clean is None else clean
        is_cut, is_limited = self._cut_at is not None, self._max_tokens is not None
        superset = None if is_cut else clean_superset(getattr(source, "constraint", None), self._banned, before)
        if superset is not None and superset.is_exact:
            return index_of(superset.dfa, self.vocabulary).guide(self._max_tokens)
        if superset is not None:
            watch: Guide = index_of(superset.dfa, self.vocabulary).guide(self._max_tokens)
        else:
            if self._matcher is None:
                self._matcher = Banned(self._banned, self.vocabulary, self._cut_at if is_cut else self._max_tokens)
            watch = self._matcher.guide(prompt)
        guide = source.guide(self._max_tokens)
        return WatchedGuide(guide, watch, self.vocabulary, self._both, is_limited=is_limited, is_cut=is_cut)

    def mask(self, row: BatchRow) -> Mask | None:
        """Return the token mask of a row; after its end, end tokens."""
        return row.guide.mask() if row.stage is Stage.OPEN else self._ends

    def dead_end(self, guide: RowGuide) -> str:
        """Say why nothing may follow."""
        if isinstance(guide, WatchedGuide) and guide.is_hemmed_in:
            return "only banned text could follow, or text beyond the limit"
        if guide.is_accepting:
            return "the text is complete, and the model has no end token of the vocabulary to say so"
        return "the model has no score for any of the tokens that could follow"


class WatchedGuide:
    """A guide whose text another guide watches for banned words.

    Args:
        guide: The guide of the constraint.
        watch: The guide of clean texts.
        vocabulary: The tokens.
        both: The masks of both.
        is_limited: Whether the guide of the constraint has a token limit.
        is_cut: Whether the text is cut at the limit of the second guide though it may not be complete.
    """

    def __init__(
        self,
        guide: Guide,
        watch: Guide,
        vocabulary: Vocabulary,
        both: _Intersections,
        *,
        is_limited: bool,
        is_cut: bool,
    ) -> None:
        self._guide, self._watch, self._vocabulary, self._both = guide, watch, vocabulary, both
        self._is_limited, self._is_cut = is_limited or is_cut, is_cut
        self._taken = 0
        # By position, and shared with forks: whether a clean end can follow, and the masks without dead tokens.
        self._can_end = dict[Hashable, bool]()
        self._masks = dict[Hashable, Mask]()

    @property
    def is_accepting(self) -> bool:
        """Whether the text so far is complete, and clean if it ends here."""
        return self._guide.is_accepting and self._watch.is_accepting

    @property
    def is_hemmed_in(self) -> bool:
        """Whether the constraint allows some token, and the ban takes all of them."""
        return not self.mask().any() and bool(self._guide.mask().any())

    def mask(self) -> Mask:
        """Return the token mask, uint32 ``[ceil(len(vocabulary) / 32)]``; read-only.

        It is the same object for as long as it is cached.
        """
        key = self._key
        mask = self._masks.get(key)
        if mask is None:
            mask = self._both.of(self._guide.mask(), self._watch.mask())
            twin = self.fork()
            few = None if self._is_cut else self._few(mask)
            dead = [token for token in few or () if twin._is_dead(token)]
            if dead:
                left = np.setdiff1d(tokens_of_row(mask), dead).astype(np.int32)
                mask = packed(left, 32 * len(mask))
            if len(self._masks) >= _MOST_POSITIONS:
                self._masks.clear()
            self._masks[key] = mask
        return mask

    def advance(self, token_id: int) -> None:
        """Read a token.

        Raises:
            UsageError: The constraint does not allow it, or it completes a banned match.
        """
        self._guide.advance(token_id)
        try:
            self._watch.advance(token_id)
        except UsageError:
            self._guide.rollback(1)
            raise
        self._taken += 1

    def rollback(self, count: int) -> None:
        """Undo the last ``count`` steps."""
        self._guide.rollback(count)
        self._watch.rollback(count)
        self._taken -= count

    def fork(self) -> WatchedGuide:
        """Return an independent guide at the same position."""
        twin = copy.copy(self)
        twin._guide, twin._watch = self._guide.fork(), self._watch.fork()
        return twin

    def way_out(self) -> Mask | None:
        """Return tokens after which the text may be broken off without a banned word, where no token is allowed.

        Returns:
            ``None`` where it may be broken off here, or after no token.
        """
        if self._watch.is_accepting:
            return None
        found, watch, vocabulary = list[int](), self._watch.fork(), self._vocabulary
        for token in np.intersect1d(tokens_of_row(self._watch.mask()), vocabulary.text_token_ids).tolist():
            watch.advance(token)
            if watch.is_accepting:
                found.append(token)
            watch.rollback(1)
        return packed(np.array(found, dtype=np.int32), len(vocabulary)) if found else None

    @property
    def _key(self) -> Hashable:
        return self._guide.state, self._watch.state, self._taken if self._is_limited else None

    def _few(self, mask: Mask) -> list[int] | None:
        """The text tokens of a mask; ``None`` where they are many."""
        tokens, ends = tokens_of_row(mask), self._vocabulary.end_token_ids
        return None if len(tokens) > _FEW + len(ends) else np.setdiff1d(tokens, ends).tolist()

    def _is_dead(self, first: int) -> bool:
        """Whether no clean end can follow a token: all positions behind it were seen, and none is an end.

        The guide is moved, and comes back. Where many tokens are allowed a clean end is taken to follow.
        """
        ways, keys, seen = [iter([first])], list[Hashable](), set[Hashable]()
        while ways:
            token = next(ways[-1], None)
            if token is None:
                ways.pop()
                if ways:
                    self.rollback(1)
                    keys.pop()
                continue
            self.advance(token)
            keys.append(self._key)
            known = self._can_end.get(keys[-1])
            following: list[int] | None = []
            if known is None and keys[-1] not in seen:
                seen.add(keys[-1])
                known, following = self._followed()
            if known or following is None or len(seen) > _MOST_STEPS:
                self.rollback(len(keys))
                if len(seen) <= _MOST_STEPS:
                    self._can_end.update(dict.fromkeys(keys, True))
                return False
            ways.append(iter(following))
        self._can_end.update(dict.fromkeys(seen, False))
        return True

    def _followed(self) -> tuple[bool, list[int] | None]:
        """Whether the text may end here, and the tokens that may follow; ``None``: many."""
        if self.is_accepting:
            return True, []
        try:
            return False, self._few(self._both.of(self._guide.mask(), self._watch.mask()))
        except GenerationError:  # the constraint itself leads nowhere
            return False, []


class _Intersections:
    """Intersections of two masks, the last ones of which are cached: equal questions have one object as answer."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[int, int], tuple[Mask, Mask, Mask]] = OrderedDict()  # which keeps their ids alive

    def of(self, mask: Mask, other: Mask) -> Mask:
        """Return the tokens of both, as long as the first; the second is as long or longer."""
        key = id(mask), id(other)
        found = self._kept.get(key)
        if found is None:
            both: Mask = mask & other[: len(mask)]
            both.flags.writeable = False
            self._kept[key] = found = mask, other, both
            if len(self._kept) * 3 * both.nbytes > _BYTES_KEPT:
                self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(key)
        return found[2]
