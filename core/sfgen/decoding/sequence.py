"""The text of one sequence while it is written, with all that walks along with it: guide, ban, stop strings.

Here is what may stand at the next place, and what happens to guide and ban when a token is taken or taken back. Which
token it is and when to go back is the business of the loop and of the ban's strategy.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from sfgen.decoding.ban import Ban
from sfgen.decoding.detokenizer import is_whole, whole_length
from sfgen.decoding.fast_forward import TAIL, FastForward
from sfgen.decoding.mask_prefetch import is_worth_it
from sfgen.decoding.search_tree import Node, Path
from sfgen.decoding.stops import StopStrings
from sfgen.protocols import BannedText, Guide, Int32
from sfgen.vocabulary import Vocabulary

_SHOWN = 60  # bytes of the text in a message


@dataclass
class Text:
    """One text.

    Args:
        prompt_ids: The tokens of the prompt.
        vocabulary: The bytes of the tokens.
        guide: What may follow; it must itself leave room for an end within ``max_tokens``.
        max_tokens: The most tokens to generate; the end token does not count.
        forward: Tells the tokens that must follow; ``None``: each token is chosen from the guide's mask.
        ban: What must not be written; ``None``: nothing is banned.
        stops: End the text.

    Attributes:
        path: The tokens.
        end: Where a stop string begins that is whole, in bytes: the text ends there.
    """

    prompt_ids: Sequence[int]
    vocabulary: Vocabulary
    guide: Guide
    max_tokens: int
    forward: FastForward | None = None
    ban: Ban | None = None
    stops: StopStrings = field(default_factory=lambda: StopStrings(()))

    def __post_init__(self) -> None:
        self.path = Path(self.ban.matcher.mark() if self.ban else None)
        self.end: int | None = None
        self._coming: deque[int] = deque()  # tokens that must follow here

    def __len__(self) -> int:
        """The number of tokens."""
        return len(self.path)

    @property
    def known(self) -> list[int]:
        """All tokens, the prompt's included."""
        return [*self.prompt_ids, *self.path.token_ids]

    @property
    def shown(self) -> str:
        """The end of the text, for a message."""
        return bytes(self.path.data[-_SHOWN:]).decode("utf-8", "replace")

    # ---- what may follow -------------------------------------------------------------------------------------------

    def find_allowed(self) -> Node:
        """The place of the next token; what may stand there is found, if it is not known."""
        node = self.path.here
        if node.allowed is None:
            forced = self._forced()
            node.allowed = self.guide.allowed_tokens() if forced is None else np.array([forced], dtype=np.int32)
            if self.ban is not None:
                node.doomed = self.ban.doomed(node.allowed)
        return node

    def takes_time(self) -> bool:
        """Whether there surely is a choice at the next place, and it takes time to find out which."""
        return (
            self.path.here.allowed is None
            and self._forced() is None
            and is_worth_it(self.guide, self.ban.clean if self.ban is not None else None)
        )

    def _forced(self) -> int | None:
        """The token that must stand at the next place; ``None`` where there may be a choice."""
        if self.forward is not None and not self._coming:
            tail = [*self.prompt_ids[-TAIL:], *self.path.token_ids[-TAIL:]][-TAIL:]
            tokens = self.forward.tokens(self.guide, tail)
            # What the ban refuses is left to the mask, where its strategy finds another way.
            if self.ban is None or self.ban.takes(tokens):
                self._coming += tokens
        return self._coming[0] if self._coming else None

    # ---- tokens are taken, and taken back --------------------------------------------------------------------------

    def take(self, token: int, *, forced: bool, doomed: bool) -> BannedText | None:
        """Append a token; the banned match that is then complete, or that whatever follows completes."""
        node = self.path.here
        data = self.vocabulary.tokens[token] or b""
        self.guide.advance(token)
        if self._coming and self._coming.popleft() != token:
            self._coming.clear()
        banned = self.ban.advance(token, data, doomed) if self.ban else None
        self.path.append(token, data, forced=forced, mark=self.ban.matcher.mark() if self.ban else None)
        self.end = self.stops.find(self.path.data, node.offset) if self.stops.strings else None
        if banned is None and self.ban is not None and self._is_dead(self.ban):
            return self.ban.matcher.finish()
        return banned

    def _is_dead(self, ban: Ban) -> bool:
        """Whether the text ends inside a character, and whatever that becomes completes a banned match."""
        data = self.path.data
        # A stop string that begins in the character may end the text before it.
        return not is_whole(data) and self.end is None and self.stops.open_from(data) == len(data) and ban.is_dead()

    def cut(self, position: int) -> tuple[tuple[int, ...], bytes]:
        """Take back the tokens from ``position`` on; return them and their bytes."""
        tokens, data = self.path.cut(position)
        self.end = None
        self._coming.clear()
        self.guide.rollback(len(tokens))
        if self.ban is not None:
            self.ban.rollback(position, self.path.here.mark)
        return tokens, data

    # ---- banned text -----------------------------------------------------------------------------------------------

    @property
    def end_is_banned(self) -> bool:
        """Whether a banned match is complete if the text ends after the last token."""
        return self.ban is not None and self.ban.matcher.finish() is not None

    def banned_at_end(self) -> BannedText | None:
        """The banned match that is complete if the text ends after the last token, or before a stop string in it."""
        if self.ban is None:
            return None
        if self.end is None:
            return self.ban.matcher.finish()
        return self._banned_if_ended(self.ban, self.end)

    def _banned_if_ended(self, ban: Ban, end: int) -> BannedText | None:
        """The banned match that is complete if the text ends at the byte ``end``. The matcher stands anywhere then."""
        # Read the last token before the end again, as far as it belongs to the text.
        last = self.path.places[self.path.position_of(end)]
        ban.matcher.reset(last.mark)
        return ban.matcher.advance(bytes(self.path.data[last.offset : end])) or ban.matcher.finish()

    def clean_until(self, end: int, start: int) -> int:
        """The last place up to ``end`` at which the text has no banned match if it ends there.

        Args:
            end: Nothing before this byte is taken back.
            start: Such a place further to the left.
        """
        if self.ban is None:
            return end
        end = whole_length(self.path.data[:end])
        mark = self.ban.matcher.mark()
        try:
            while end > start and (banned := self._banned_if_ended(self.ban, end)) is not None:
                end = min(end - 1, max(start, banned.start))
        finally:
            self.ban.matcher.reset(mark)
        return end

    def end_tokens(self) -> Int32:
        """The tokens that end the text."""
        return np.array(self.vocabulary.end_token_ids, dtype=np.int32)

    def guilty(self, node: Node, token: int, *, siblings: bool) -> Callable[[], Int32]:
        """Finds what is known to lead to banned text at a node where ``token`` did; with ``siblings``, all at once."""
        is_cut = not is_whole(self.path.data)

        def find() -> Int32:
            assert self.ban is not None
            found = [np.array([token], dtype=np.int32)]
            if node.doomed is not None:
                found.append(node.all_allowed()[node.doomed])
            elif siblings:
                self.ban.matcher.reset(node.mark)
                found.append(self._without_stops(node, self.ban.completing()))
                if is_cut:
                    found.append(self._without_stops(node, self.ban.dead_tokens()))
                if self.ban.matcher.finish() is not None:
                    found.append(self.end_tokens())
            return np.concatenate(found)

        return find

    def _without_stops(self, node: Node, tokens: Int32) -> Int32:
        """The tokens that cannot end the text by a stop string before it comes to a match."""
        if not self.stops.strings:
            return tokens
        before = bytes(self.path.data[: node.offset])
        texts = [before + (self.vocabulary.tokens[token] or b"") for token in tokens]
        is_stopped = [
            self.stops.find(text, node.offset) is not None
            or (not is_whole(text) and self.stops.open_from(text) < len(text))
            for text in texts
        ]
        return tokens[~np.array(is_stopped, dtype=np.bool_)]
