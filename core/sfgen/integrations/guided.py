"""The rules of texts in other packages' decode loops: a constraint, with or without banned words, or a ban alone.

If the constraint is an automaton, the banned words are taken out of it. Else two guides read the text, and a token must
be allowed by both. The first is the guide of the constraint, from whose strings banned words are taken out. The second
excludes banned text: it is the guide of an automaton that accepts all clean texts of the constraint, and perhaps
others, or else the matcher itself. Such an automaton also shows which beginnings lead only to banned text, except where
that depends on the depth of nested rules or on counts, which it does not have.

A processor cannot take tokens back. So a token is also ruled out if a search shows that no clean text can follow it;
the search goes on from token to token while few tokens are allowed.
"""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Hashable, Sequence

import numpy as np

from sfgen import arguments
from sfgen.ban import BannedWords, read_prompt
from sfgen.ban.completing_tokens import ForbiddenTokens
from sfgen.ban.difference import clean_superset, is_wholly_clean, without_banned
from sfgen.ban.state_table import COMPLETE
from sfgen.errors import GenerationError, UsageError
from sfgen.index import BaseGuide, index_of
from sfgen.index.mask_ids import packed, tokens_of_row
from sfgen.index.sequence import Calls, Thought
from sfgen.integrations.masks import widest
from sfgen.integrations.state import BatchRow, RowGuide, Stage
from sfgen.protocols import Guide, GuideSource, HasReadings, Int32, Mask
from sfgen.vocabulary import Vocabulary

_BYTES_KEPT = 32 << 20
_FEW = 32  # the most allowed tokens whose continuations are searched
_MOST_STEPS = 400  # the most steps of one search
_MOST_POSITIONS = 1_000  # the most positions whose masks are cached


def check_strings(constraint: object) -> None:
    """Refuse a constraint of JSON from which the banned words could not be taken out.

    A matcher reads the text of JSON, not the decoded strings in it.
    """
    if isinstance(constraint, HasReadings) and getattr(constraint, "has_values", True):
        raise UsageError(
            "the banned words cannot be taken out of the strings of the schema: the automaton would be too large",
            hint="Ban fewer words, or use sfgen.generate, which can take tokens back.",
        )


class Guided:
    """The rule of an index, with or without banned words."""

    def __init__(
        self,
        source: GuideSource,
        banned: BannedWords | None,
        max_tokens: int | None,
        *,
        cut_at: int | None = None,  # the most tokens of a text that is cut there, complete or not
    ) -> None:
        self.vocabulary = arguments.instance("vocabulary", source.vocabulary, Vocabulary)
        if banned is not None and isinstance(source, Thought | Calls):
            raise UsageError(
                "a logits processor cannot keep banned words out of a text with a thought or calls",
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
            source.guide(max_tokens)  # raises an error now, not at the first text

    def new_texts(self) -> None:
        """Drop caches that have become large."""
        if self._matcher is not None:
            self._matcher.new_texts()

    def guide(self, prompt: Sequence[int]) -> RowGuide:
        """Return a guide without the banned words that may follow a prompt."""
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
    """A guide whose text another guide checks for banned words."""

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
        # By position, shared with forks: whether a clean end can follow, and the masks without dead tokens.
        self._can_end = dict[Hashable, bool]()
        self._masks = dict[Hashable, Mask]()

    @property
    def is_accepting(self) -> bool:
        """Whether the text so far is complete, and clean if it ended here."""
        return self._guide.is_accepting and self._watch.is_accepting

    @property
    def is_hemmed_in(self) -> bool:
        """Whether the ban excludes all tokens that the constraint allows."""
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
        """Read a token."""
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
        """Return tokens after which a text without continuation may end clean; ``None``: at once, or there are none."""
        if self._watch.is_accepting:
            return None
        tokens, watch, vocabulary = list[int](), self._watch.fork(), self._vocabulary
        for token in np.intersect1d(tokens_of_row(self._watch.mask()), vocabulary.text_token_ids).tolist():
            watch.advance(token)
            if watch.is_accepting:
                tokens.append(token)
            watch.rollback(1)
        return packed(np.array(tokens, dtype=np.int32), len(vocabulary)) if tokens else None

    @property
    def _key(self) -> Hashable:
        return self._guide.state, self._watch.state, self._taken if self._is_limited else None

    def _few(self, mask: Mask) -> list[int] | None:
        """The text tokens of a mask; ``None`` if there are many."""
        tokens, ends = tokens_of_row(mask), self._vocabulary.end_token_ids
        return None if len(tokens) > _FEW + len(ends) else np.setdiff1d(tokens, ends).tolist()

    def _is_dead(self, first: int) -> bool:
        """Whether no clean end can follow a token: all positions after it were searched, and none is an end.

        The guide is moved and returned. If many tokens are allowed, a clean end is assumed to follow.
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
        except GenerationError:  # no text of the constraint goes on from here
            return False, []


class _Intersections:
    """Intersections of two masks, with a cache of the last ones: equal arguments give the same object."""

    def __init__(self) -> None:
        # It holds the masks, so that their ids stay valid.
        self._kept: OrderedDict[tuple[int, int], tuple[Mask, Mask, Mask]] = OrderedDict()

    def of(self, mask: Mask, other: Mask) -> Mask:
        """Return the tokens in both masks, in the length of the first; the second must not be shorter."""
        key = id(mask), id(other)
        kept = self._kept.get(key)
        if kept is None:
            both: Mask = mask & other[: len(mask)]
            both.flags.writeable = False
            self._kept[key] = kept = mask, other, both
            if len(self._kept) * 3 * both.nbytes > _BYTES_KEPT:
                self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(key)
        return kept[2]


_MASK_BYTES_KEPT = 8 << 20


class Banned:
    """The rule of a ban: no token completes a banned match.

    A token that is not text is always allowed, except where the end of the text would complete a match: it could be an
    end token that only the caller of ``generate`` knows. Ids beyond the vocabulary are not text, so the masks reach as
    far as an output layer may.
    """

    def __init__(self, banned: BannedWords, vocabulary: Vocabulary, max_tokens: int | None) -> None:
        self.vocabulary = vocabulary
        self.max_tokens = max_tokens
        self._width = widest(len(vocabulary))
        self._ends = packed(np.array(vocabulary.end_token_ids, dtype=np.int32), self._width)
        self._forbidden = ForbiddenTokens(banned.automata, vocabulary.trie)
        self._masks: dict[tuple[int, bool], Mask] = {}  # by state and whether the next token is the last

    def new_texts(self) -> None:
        """Forget the states of earlier texts, if there are many."""
        if self.is_full:
            self._forbidden.forget()
            self._masks.clear()

    @property
    def is_full(self) -> bool:
        """Whether its caches should be dropped between two texts."""
        return self._forbidden.is_full

    def limited(self, max_tokens: int | None) -> Banned:
        """Return the same rule with another token limit, sharing its caches."""
        twin = copy.copy(self)
        twin.max_tokens = max_tokens
        return twin

    def guide(self, prompt: Sequence[int]) -> BannedGuide:
        """Return a guide whose matcher has read the prompt."""
        return BannedGuide(self, self._forbidden.begin(read_prompt(self.vocabulary, prompt)))

    def mask(self, row: BatchRow) -> Mask | None:
        """Return the token mask of a row; ``None`` for a strayed one.

        After an end token there may be more text, which is checked, too.
        """
        return None if row.stage is Stage.STRAYED else row.guide.mask()

    def dead_end(self, guide: RowGuide) -> str:
        """Say why nothing may follow."""
        if guide.mask() is self._ends:
            return "the limit is reached, and the model has no end token of the vocabulary to say so"
        return "only banned text could follow"

    # ---- for the guides --------------------------------------------------------------------------------------------

    def after(self, state: int, data: bytes) -> int | None:
        """Return the state of the matcher after some bytes; ``None`` if a match is complete."""
        target = self._forbidden.next_state(state, data)
        return None if target == COMPLETE else target

    def may_end(self, state: int) -> bool:
        """Return whether the text may end in a state."""
        return not self._forbidden.verdict(state).end

    def mask_of(self, state: int, room: int | None) -> Mask:
        """Return the token mask of a state, uint32 ``[words]``, longer than the vocabulary.

        It is the same object for as long as it is cached. Without ``room`` for a token only end tokens are allowed.
        """
        if room is not None and room <= 0:
            return self._ends
        key = state, room == 1
        mask = self._masks.get(key)
        if mask is None:
            while len(self._masks) * self._ends.nbytes > _MASK_BYTES_KEPT:
                del self._masks[next(iter(self._masks))]
            mask = self._masks[key] = self._made(*key)
        return mask

    def _made(self, state: int, last: bool) -> Mask:
        tokens, end = self._forbidden.verdict(state, last=last)
        allowed = np.full(self._width, not end, dtype=np.bool_)
        allowed[self.vocabulary.text_token_ids] = True
        allowed[tokens] = False
        return packed(np.flatnonzero(allowed).astype(np.int32), self._width)


class BannedGuide(BaseGuide[int]):
    """A guide that checks one text for banned words.

    A position is the number of the matcher's state. The guide reads every token that does not complete a match, also
    tokens that its mask excludes: another processor may have forced one, and the text after it must be checked. A text
    goes on after an end token, as ``generate`` may have other end tokens.
    """

    def __init__(self, rule: Banned, start: int) -> None:
        self._rule = rule
        super().__init__(rule.vocabulary, start, rule.max_tokens)

    def _read(self, position: int, data: bytes) -> int | None:
        return self._rule.after(position, data)

    def _accepts(self, position: int) -> bool:
        return self._rule.may_end(position)

    def _number(self, position: int) -> int:
        return position

    def mask(self) -> Mask:
        """Return the token mask, uint32 ``[words]``, longer than the vocabulary.

        Ids beyond the vocabulary have bits as well, as tokens that are not text.
        """
        return self._rule.mask_of(self._positions[-1], self.room)

    def allowed_tokens(self) -> Int32:
        """Return the allowed tokens of the vocabulary, ascending, int32."""
        tokens = tokens_of_row(self.mask())
        return tokens[tokens < len(self.vocabulary)]

    def advance(self, token_id: int) -> None:
        """Read a token; one that is not text changes nothing."""
        vocabulary, position = self.vocabulary, self._positions[-1]
        data = vocabulary.tokens[token_id] if 0 <= token_id < len(vocabulary) else None
        is_text = data is not None and token_id not in vocabulary.end_token_ids
        after = self._read(position, data) if data is not None and is_text else position
        if after is None:
            raise UsageError(f"token {token_id} completes a banned match")
        self._positions.append(after)
