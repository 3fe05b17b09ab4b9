"""The text of one sequence while it is written, with its guide, ban and stop strings.

It finds the allowed tokens of the next position, and keeps guide and ban in step when a token is taken or taken back.
The loop chooses the token, and the ban's strategy decides when to go back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sfgen.decoding.ban import Ban, Bias, Occurrence
from sfgen.decoding.detokenizer import StopStrings, is_whole, whole_length
from sfgen.decoding.jump_forward import TAIL, FastForward
from sfgen.decoding.mask_prefetch import is_worth_it
from sfgen.decoding.search_tree import Node, Path
from sfgen.index.marker import Marker
from sfgen.index.mask_ids import CountedMask, one_token, tokens_of_row
from sfgen.protocols import BannedText, Guide, Int32, Mask
from sfgen.vocabulary import Vocabulary

_SHOWN = 60  # bytes of the text in a message
_MOST_STEPS = 64  # and tokens at each, of an ending that is looked for


@dataclass
class Text:
    """One text while it is written."""

    prompt_ids: Sequence[int]
    vocabulary: Vocabulary
    guide: Guide  # what may follow; it must itself leave room for an end within ``max_tokens``
    max_tokens: int  # without the end token
    forward: FastForward | None = None  # ``None``: each token is chosen from the guide's mask
    ban: Ban | None = None
    stops: StopStrings = field(default_factory=lambda: StopStrings(()))
    healed: bytes = b""  # the end of the prompt, which is not in ``prompt_ids``: the guide leads through it first
    has_temperatures: bool = False  # whether the guide has a temperature of its own at each position
    marker: Marker | None = None  # ends the thought before the text; ``None``: the text begins at once
    special: Mapping[int, bytes] = field(default_factory=dict)  # the bytes of special tokens that stand for a text
    counts_thought: bool = False  # whether ``max_tokens`` counts the tokens of the thought, too

    def __post_init__(self) -> None:
        self.path = Path(self.ban.matcher.mark() if self.ban else None, self.healed)
        self.end: int | None = None  # the first byte of a whole stop string: the text ends there
        self.start: int | None = (
            0 if self.marker is None else None
        )  # the first byte of the text; ``None``: in the thought
        self._coming: deque[int] = deque()  # tokens that must follow here
        self._last = CountedMask(one_token(0, 1), 1, 0)  # the mask that was counted last

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

    @property
    def in_thought(self) -> bool:
        """Whether the thought goes on."""
        return self.start is None

    @property
    def thought_end(self) -> int | None:
        """The first byte of the marker after the thought; ``None``: no thought, or it goes on."""
        return None if self.marker is None or self.start is None else self.start - len(self.marker.data)

    @property
    def text_tokens(self) -> int:
        """The number of tokens that write some of the text."""
        if self.marker is None:
            return self.path.text_tokens
        if self.start is None:
            return 0
        first = len(self.path)
        while first and self.path.nodes[first].offset > self.start:
            first -= 1
        return len(self.path) - first

    @property
    def counted_tokens(self) -> int:
        """The number of tokens that the limit counts."""
        return self.path.text_tokens if self.counts_thought else self.text_tokens

    @property
    def open_from(self) -> int:
        """The first byte of a marker or stop string partially matched."""
        data = self.path.data
        if self.marker is not None and self.start is None:
            return self.marker.open_from(data)
        return self.stop_open_from(data)

    def stop_open_from(self, data: bytes | bytearray) -> int:
        """Return where the earliest partial match of a stop string begins, else the length of ``data``."""
        if not self.stops.strings or self.start is None:
            return len(data)
        return self.start + self.stops.open_from(data[self.start :] if self.start else data)

    def bytes_of(self, token: int) -> bytes:
        """Return the bytes that a token writes."""
        return self.special.get(token) or self.vocabulary.tokens[token] or b""

    # ---- what may follow -------------------------------------------------------------------------------------------

    def find_allowed(self) -> Node:
        """Return the next token's node, with its allowed tokens."""
        node = self.path.here
        if node.allowed is None:
            forced = self._forced()
            node.allowed = self._counted(self.guide.mask()) if forced is None else self._only(forced)
            if self.has_temperatures:
                node.temperature = getattr(self.guide, "temperature", None)
            if self.ban is not None and self.ban.clean is not None:
                node.dead = self.ban.dead(node.mask)
        return node

    def _counted(self, mask: Mask) -> CountedMask:
        """Count the tokens of a mask; many positions have the same one."""
        if mask is not self._last.mask or mask.flags.writeable:
            self._last = CountedMask.of(mask)
        return self._last

    def _only(self, token: int) -> CountedMask:
        return CountedMask(one_token(token, len(self.vocabulary)), 1, token)

    def takes_time(self) -> bool:
        """Return whether the next mask takes long and a choice is certain."""
        return (
            self.path.here.allowed is None
            and self._forced() is None
            and is_worth_it(self.guide, self.ban.clean if self.ban is not None else None)
        )

    def _forced(self) -> int | None:
        """Return the token that must stand at the next position; ``None``: there may be a choice."""
        if self.forward is not None and not self._coming:
            tail = [*self.prompt_ids[-TAIL:], *self.path.token_ids[-TAIL:]][-TAIL:]
            tokens = self.forward.tokens(self.guide, tail)
            # Tokens that the ban refuses are left to the mask, where its strategy finds another way.
            if self.ban is None or self.ban.takes(tokens):
                self._coming += tokens
        return self._coming[0] if self._coming else None

    # ---- tokens are taken, and taken back --------------------------------------------------------------------------

    def take(self, token: int, *, forced: bool, dead: bool) -> BannedText | None:
        """Append a token; return the banned match that is then complete, or that every continuation completes."""
        node = self.path.here
        data = self.bytes_of(token)
        self.guide.advance(token)
        if self._coming and self._coming.popleft() != token:
            self._coming.clear()
        if self.start is None and self.marker is not None:
            self.start = self._start_in(self.marker, token, data[node.unhealed :])
        banned = self._watched(self.ban, token, data[node.unhealed :], dead) if self.ban else None
        self.path.append(token, data, forced=forced, mark=self.ban.matcher.mark() if self.ban else None)
        self.end = self._stop_in(self.path.data, node.offset)
        if banned is None and self.ban is not None and self.start is not None and node.offset < self.start:
            banned = self._banned_in_thought(self.ban)
        if banned is None and self.ban is not None and self._is_dead(self.ban):
            return self.ban.matcher.finish()
        return banned

    def _start_in(self, marker: Marker, token: int, data: bytes) -> int | None:
        """Return where the text begins, if a token completes the marker."""
        written, size = len(self.path.data), len(marker.data)
        if token == marker.token:
            return written + size
        before = bytes(self.path.data[max(0, written - size + 1) :])
        index = (before + data).find(marker.data)
        return None if index < 0 else written - len(before) + index + size

    def _watched(self, ban: Ban, token: int, data: bytes, dead: bool) -> BannedText | None:
        """Let the ban read a token; return the match that it completes."""
        offset = len(self.path.data)
        if self.start is None or not offset < self.start <= offset + len(data) or self.marker is None:
            return ban.advance(token, data, dead)
        banned = ban.advance(token, data[: self.start - offset], dead)
        ban.matcher.begin_text()
        return ban.matcher.advance(data[self.start - offset :]) if banned is None else banned

    def _banned_in_thought(self, ban: Ban) -> BannedText | None:
        """Return the banned match that is complete if the thought ends before its marker."""
        if self.thought_end is None:
            return None
        mark = ban.matcher.mark()
        try:
            return self._banned_if_ended(ban, self.thought_end)
        finally:
            ban.matcher.reset(mark)

    def _stop_in(self, data: bytes | bytearray, searched: int) -> int | None:
        """Return where the first whole stop string begins; bytes before ``searched`` are known to hold none."""
        if not self.stops.strings or self.start is None:
            return None
        index = self.stops.find(data[self.start :] if self.start else data, max(0, searched - self.start))
        return None if index is None else self.start + index

    def _is_dead(self, ban: Ban) -> bool:
        """Return whether the text ends inside a character whose every ending completes a banned match."""
        data = self.path.data
        # A stop string that begins in the character may end the text before it.
        return not is_whole(data) and self.end is None and self.open_from == len(data) and ban.is_dead()

    def cut(self, position: int) -> tuple[tuple[int, ...], bytes]:
        """Remove the tokens from an index on; return them and their bytes."""
        tokens, data = self.path.cut(position)
        self.end = None
        if self.marker is not None and self.start is not None and len(self.path.data) < self.start:
            self.start = None
        self._coming.clear()
        self.guide.rollback(len(tokens))
        if self.ban is not None:
            self.ban.rollback(position, self.path.here.mark)
        return tokens, data

    # ---- banned text -----------------------------------------------------------------------------------------------

    @property
    def end_is_banned(self) -> bool:
        """Whether the end of the text would complete a banned match."""
        return self.ban is not None and self.ban.matcher.finish() is not None

    def banned_at_end(self) -> BannedText | None:
        """Return the match that is complete if the text ends here, or before its stop string."""
        if self.ban is None:
            return None
        if self.end is None:
            return self.ban.matcher.finish()
        return self._banned_if_ended(self.ban, self.end)

    def _banned_if_ended(self, ban: Ban, end: int) -> BannedText | None:
        """Return the match that is complete if the text ends at a byte; leaves the matcher anywhere."""
        # Read the last token before the end again, as far as it belongs to the text.
        last = self.path.nodes[self.path.position_of(end)]
        ban.matcher.reset(last.mark)
        data, start = bytes(self.path.data[last.offset : end]), self.start
        if self.marker is not None and start is not None and last.offset < start <= end:
            banned = ban.matcher.advance(data[: start - last.offset])
            ban.matcher.begin_text()
            return banned or ban.matcher.advance(data[start - last.offset :]) or ban.matcher.finish()
        return ban.matcher.advance(data) or ban.matcher.finish()

    def shortest_ending(self) -> bytes | None:
        """Return a short text up to an end, always by the token nearest to one; ``None``: not found soon."""
        guide, written = self.guide.fork(limited=False), b""
        for _ in range(_MOST_STEPS):
            forced = guide.forced_bytes(_MOST_STEPS)
            if forced:
                guide.advance_bytes(forced)
                written += forced
                continue
            if guide.is_accepting:
                return written
            left = list[tuple[int, int]]()
            for token in guide.allowed_tokens()[:_MOST_STEPS].tolist():
                guide.advance(token)
                left.append((guide.tokens_left(), token))
                guide.rollback(1)
            if not left:
                return None
            guide.advance(min(left)[1])
            written += self.bytes_of(min(left)[1])
        return None

    def occurrences(self, bias: Bias, *, ends: bool) -> tuple[Occurrence, ...]:
        """Return the occurrences of words with a bias; ``ends``: the text ends here."""
        occurrences = bias.found(self.path.here)
        if not ends:
            return occurrences
        if self.end is None or self.ban is None:
            return bias.found_at_end(self.path.here)
        self._banned_if_ended(self.ban, self.end)  # what stands after it was read, and counts if it was complete
        return (*occurrences, *(each for each in bias.matcher.at_end() if each not in occurrences))

    def lowered(self, bias: Bias, node: Node, token: int, log_bias: float) -> list[tuple[Int32, float]]:
        """List tokens at a node, each with the sum of the biases that it brings, or with a higher number."""
        lowered = [(np.array([token], dtype=np.int32), log_bias)]
        if not node.unhealed and self.start is not None:  # else a matcher reads parts of a token
            lowered.append((self._without_stops(node, bias.completing(node)), bias.weakest))
            at_end = bias.found_at_end(node)[len(bias.found(node)) :]
            lowered.append((self.end_tokens(), bias.log_weight(at_end)))
        return lowered

    def clean_until(self, end: int, start: int) -> int:
        """Return the last offset in bytes at which the text may end unbanned, from ``start`` to ``end``."""
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
        """Return the tokens that end the text, int32."""
        return np.array(self.vocabulary.end_token_ids, dtype=np.int32)

    def completing(self, node: Node, token: int, *, siblings: bool) -> Callable[[], Int32]:
        """Return a search for the completing tokens at a node, where ``token`` led to banned text.

        ``siblings``: all of them are searched for, not only known ones.
        """
        is_cut = not is_whole(self.path.data)

        def find() -> Int32:
            assert self.ban is not None
            tokens = [np.array([token], dtype=np.int32)]
            if node.dead is not None:
                tokens.append(tokens_of_row(node.dead))
            elif siblings and not node.unhealed:  # there, the matcher reads the end of a token only
                self.ban.matcher.reset(node.mark)
                tokens.append(self._without_stops(node, self.ban.completing()))
                if is_cut:
                    tokens.append(self._without_stops(node, self.ban.dead_tokens()))
                if self.ban.matcher.finish() is not None:
                    tokens.append(self.end_tokens())
            return np.concatenate(tokens)

        return find

    def _without_stops(self, node: Node, tokens: Int32) -> Int32:
        """Drop the tokens that may end the text by a stop string before a match is complete."""
        if not self.stops.strings or self.start is None:
            return tokens
        before = bytes(self.path.data[: node.offset])
        texts = [before + self.bytes_of(token) for token in tokens]
        is_stopped = [
            self._stop_in(text, node.offset) is not None
            or (not is_whole(text) and self.stop_open_from(text) < len(text))
            for text in texts
        ]
        return tokens[~np.array(is_stopped, dtype=np.bool_)]
