"""Parts one after the other: the tokens that may follow, and the fewest to an end.

The tokens that may follow a thread either stay in its part, and the part's own guide knows them, or *cross* into the
parts after it. Tokens that cross are looked for where the next part begins: after a literal, below one node of the
trie; after a marker, among the few tokens that complete it; after a text whose end is not known, by a walk along the
nodes of the trie that lead to a byte with which the next part can begin.

A limit counts the tokens that write something in a part that counts: the end of a prompt that is written again, and a
thought, do not count. The fewest tokens to an end are counted as if each part were written separately, an upper bound;
a literal that does not count may also be completed by a token that crosses. So every token is allowed after which the
parts can be completed separately.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable
from functools import cached_property, partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfgen import arguments
from sfgen.errors import DeadEnd, UsageError
from sfgen.index.dfa_guide import DfaGuide
from sfgen.index.distance import UNREACHABLE
from sfgen.index.guide import BYTES, NO_TOKENS
from sfgen.index.mask_ids import packed
from sfgen.index.sequence_parts import Constrained, Copy, Fixed, Free, InFree, TokenPart
from sfgen.index.threads import Position, Thread, Threads, by_part
from sfgen.index.trie_ways import Kept, TrieWays, kept_of, spelled
from sfgen.protocols import Int32, Mask
from sfgen.vocabulary import TokenTrie, Vocabulary

Made = TypeVar("Made")

_MASKS = 32
"""The masks of tokens that are kept."""

_FEW = 64
"""With at most so many tokens inside a part, a plain walk over the trie finds those that cross."""


class Ends(NamedTuple):
    """Tokens by their ends.

    Attributes:
        trie: The ends; ``None``: whole tokens.
        skipped: The bytes before them.
    """

    trie: TokenTrie | None
    skipped: int


WHOLE = Ends(None, 0)
"""Whole tokens."""


class ThreadTokens:
    """The tokens that may follow a position. Lazy, safe to share between threads.

    >>> from sfgen import Dfa, Index, Vocabulary
    >>> vocabulary = Vocabulary([b" ", b"1", b" 1", b" 12", b"2", b" a", None], end_token_ids=[6])
    >>> threads = Threads([Fixed(b" ", counts=False), Constrained(Index(Dfa.from_regex("[12]{2}"), vocabulary))])
    >>> ThreadTokens(threads).tokens(threads.start, 3).tolist()
    [0, 2, 3]
    """

    def __init__(self, threads: Threads) -> None:
        self.threads = threads
        self.parts: tuple[TokenPart, ...] = tuple(part for part in threads.parts if isinstance(part, TokenPart))
        texts = [part for part in self.parts if isinstance(part, Constrained)]
        self.last = texts[-1]
        if len({part.source.vocabulary.fingerprint for part in texts}) > 1:
            raise UsageError("the parts are over different vocabularies", hint="Make them over the same one.")
        self.vocabulary: Vocabulary = arguments.instance("vocabulary", texts[0].source.vocabulary, Vocabulary)
        # Results about parts before a source are cached beside it: there are many sequences, one for each prompt.
        is_shared = len(texts) == 1 and texts[0].is_alone
        self._kept = kept_of(texts[0].source) if is_shared else Kept()
        self._has_longest = any(part.ending == "longest" for part in texts)
        self._keys: dict[int, int] = {}
        self._behind: dict[int, int] = {}
        self._ways = TrieWays(self.vocabulary.trie)
        self._all_bytes = bool(self.vocabulary.trie.single_bytes.all())
        for number, part in enumerate(self.parts, -len(self.parts)):
            if isinstance(part, Constrained) and part.ending == "longest" and self.behind(number):
                threads.check_longest(number)

    def _key(self, part: int) -> int:
        """A number for a part and those that may follow it, distinct among all parts before the same source."""
        known = self._keys.get(part)
        if known is None:
            first = part if self.threads.back is None else min(part, self.threads.back - len(self.parts))
            key = part, tuple(each.key for each in self.parts[first:])
            known = self._keys[part] = self._kept.number(key)
        return known

    # ---- tokens that are read --------------------------------------------------------------------------------------

    def after_token(self, position: Position, token_id: int) -> tuple[Position, bool] | None:
        """Return the position after a text token, and whether it counts to a limit; ``None`` where it is refused."""
        if not 0 <= token_id < len(self.vocabulary) or token_id in self.vocabulary.end_token_ids:
            return None
        data = self.vocabulary.tokens[token_id]
        if data is None:
            ways = [way for each in position if (way := self._after_special(each, token_id)) is not None]
            begun = dict.fromkeys(thread for after, _ in ways for thread in after)
            return (by_part(begun), any(counts for _, counts in ways)) if ways else None
        thread = position[0]
        part = self.parts[thread.part]
        if len(position) == 1 and isinstance(part, Free):
            state, left = thread.inside
            if left == 0 and part.takes_special(thread.inside):
                return None
            if left != 0 and (after_it := part.marker._after(state, data)[0]) < len(part.marker.data):
                inside = part.after_token(InFree(after_it, left))  # as below, and faster
                return (Thread(thread.part, inside, thread.memory),), part.counts
        after, counts = self.threads.read_on(position, data, is_token=True)
        return None if after is None else (after, counts)

    def _after_special(self, thread: Thread, token_id: int) -> tuple[Position, bool] | None:
        """As :meth:`after_token`, for the special token of a marker; a longest text may end before it."""
        part = self.parts[thread.part]
        if isinstance(part, Constrained) and part.ending == "longest" and self.threads.following(thread.part):
            behind = self.threads.begun_behind(thread)[0]
            free = self.parts[behind.part]
            if isinstance(free, Free) and part.lets_go(thread.inside, free.marker.data[:1]):
                return self._after_special(behind, token_id)
        if isinstance(part, Free | Fixed) and _special(part) == token_id and part.takes_special(thread.inside):
            return self.threads.begun_behind(thread), part.counts
        return None

    def bytes_of(self, token_id: int) -> bytes:
        """Return the bytes that a token writes; the special token of a marker writes the marker."""
        data = self.vocabulary.tokens[token_id]
        if data is not None:
            return data
        special = (part for part in self.parts if isinstance(part, Free | Fixed) and _special(part) == token_id)
        return next(part.marker.data if isinstance(part, Free) else part.data for part in special)

    # ---- the fewest tokens -----------------------------------------------------------------------------------------

    def needs(self, position: Position) -> int:
        """Return the fewest tokens that count to an end, if each part is written separately: an upper bound."""
        return min(self._needs(thread) for thread in position)

    def _needs(self, thread: Thread) -> int:
        part = self.parts[thread.part]
        if part.stops(thread.inside):
            return 0
        if thread.part in self.threads.last_copy:
            if not self._all_bytes and isinstance(part, Constrained) and not part.fits(thread.inside, None):
                return int(UNREACHABLE)
            rest = part.rest(thread.inside)
            least = self.spelled(rest) + self._copied(thread, rest)
        else:
            least = self._least(thread.part, thread.inside) + self._copied(thread)
        return min(least + self.behind(thread.part), int(UNREACHABLE))

    def _least(self, number: int, inside: Any) -> int:
        """The fewest tokens that count for the rest of a part; where it is copied later, those of a shortest rest."""
        part = self.parts[number]
        if not part.counts:
            return 0
        if isinstance(part, Constrained) and number not in self.threads.last_copy:
            return part.least(inside)
        is_special = isinstance(part, Free | Fixed) and part.takes_special(inside)
        return 1 if is_special else self.spelled(part.rest(inside))

    def behind(self, number: int) -> int:
        """Return the fewest tokens that count for the parts after one, without copies."""
        if number not in self._behind:
            after = self.threads.following(number)
            part = self.parts[after] if after else None
            least = 0
            if part is not None and not isinstance(part, Copy):
                least = 0 if part.stops(part.start) else self._least(after, part.start) + self.behind(after)
            elif part is not None:
                least = self.behind(after)
            self._behind[number] = min(least, int(UNREACHABLE))
        return self._behind[number]

    def _copied(self, thread: Thread, rest: bytes = b"") -> int:
        """The fewest tokens of the copies after a thread's part, which ends with ``rest`` if it is copied itself."""
        if not self.threads.last_copy:
            return 0
        texts, least = dict(thread.memory), 0
        if thread.part in texts:
            texts[thread.part] += rest
        for part in self.parts[thread.part + 1 :] if thread.part < -1 else ():
            if isinstance(part, Copy):
                least += self.spelled(texts[part.source] if part.source in texts else self._shortest(part.source))
        return min(least, int(UNREACHABLE))

    def _shortest(self, number: int) -> bytes:
        """A shortest text of a part that is copied."""
        part = self.parts[number]
        return self._kept.find(("shortest", number), lambda: part.rest(part.start))

    def spelled(self, text: bytes) -> int:
        """Count the fewest tokens that write a text alone."""
        fewest: int = self._kept.find(("spelled", text), lambda: spelled(text, self.vocabulary.trie))
        return fewest

    def fits(self, position: Position, room: int | None) -> bool:
        """Return whether ``room`` tokens that count complete the text; ``None``: any number."""
        if room is None and self._all_bytes:
            return True
        if len(position) == 1:
            return self._fits(position[0], room)
        return any(self._fits(thread, room) for thread in position)

    def _fits(self, thread: Thread, room: int | None) -> bool:
        part = self.parts[thread.part]
        if isinstance(part, Constrained) and not self.behind(thread.part) and not self.threads.last_copy:
            return part.fits(thread.inside, room)  # without counting the fewest tokens, which takes long
        if not part.counts:
            return self.fits(self.threads.begun_behind(thread), room) and self._can_write(thread, room)
        return self._needs(thread) <= _most(room)

    def _can_write(self, thread: Thread, room: int | None) -> bool:
        """Whether tokens can write the rest of a part that does not count, and the parts after it."""
        part = self.parts[thread.part]
        if isinstance(part, Constrained) or self._all_bytes:
            return True
        return self._can_complete(thread.part, part.rest(thread.inside), room)

    def _can_complete(self, number: int, rest: bytes, room: int | None) -> bool:
        """Whether tokens can write the rest of a literal or a marker; the last token may cross."""
        part = self.parts[number]
        data = part.marker.data if isinstance(part, Free) else part.start
        key = "completable", self._key(number), room
        found: list[bool] = self._kept.find(key, lambda: self._completable(number, data, room))
        return found[len(data) - len(rest)]

    def _completable(self, number: int, data: bytes, room: int | None) -> list[bool]:
        """For each number of bytes of a literal, whether it can be completed after them; computed from its end."""
        trie, size, part = self.vocabulary.trie, len(data), self.parts[number]
        thread = Thread(number, part.start)
        found = [False] * size + [self.fits(self.threads.begun_behind(thread), room)]
        for offset in reversed(range(size)):
            nodes = trie.along(data[offset:])
            if isinstance(part, Fixed) and part.token is not None:
                found[offset] = found[size] and not offset
                continue
            is_special = isinstance(part, Free) and part.takes_special(InFree(offset, 0))
            found[offset] = (
                (is_special and found[size])
                or any(
                    found[end] and trie.token_starts[node] < trie.token_starts[node + 1]
                    for end, node in enumerate(nodes, offset + 1)
                )
                or bool(self._crossing(thread, data[offset:], WHOLE, room).size)
            )
        return found

    # ---- the tokens that may follow --------------------------------------------------------------------------------

    def tokens(self, position: Position, room: int | None, ends: Ends = WHOLE) -> Int32:
        """Return the text tokens that may follow a position, ascending.

        Args:
            position: The position.
            room: The tokens that count which may still be written; ``None``: any number.
            ends: The tokens, by the ends of them that begin here.
        """
        if room is not None and self.threads.last_copy and self._farthest(position) < room:
            room = None
        if len(position) > 1:
            return self._in_all_ways(position, room, ends)
        thread = position[0]
        part = self.parts[thread.part]
        if isinstance(part, Constrained):
            return self._in_texts(part, position, room, ends)
        if isinstance(part, Free):
            return self._in_free(part, thread, room, ends)
        if part.token is not None:
            room_behind = _less(room, part.counts)
            fits = ends is WHOLE and room_behind != -1 and part.takes_special(thread.inside)
            fits = fits and self.fits(self.threads.begun_behind(thread), room_behind)
            return np.array([part.token] if fits else [], dtype=np.int32)
        return self._along(thread, part.rest(thread.inside), room, ends)

    def _along(self, thread: Thread, rest: bytes, room: int | None, ends: Ends) -> Int32:
        """The tokens that write the rest of a literal, or some of it, or more than it."""
        part, trie = self.parts[thread.part], self._trie(ends)

        def make() -> Int32:
            left, tokens = _less(room, part.counts), [NO_TOKENS]
            for size, node in enumerate(trie.along(rest), 1):
                ids = trie.token_ids[trie.token_starts[node] : trie.token_starts[node + 1]]
                if ids.size and (left is None or left >= 0) and self._goes_on(thread, rest[size:], left):
                    tokens.append(ids)
            return _ascending([*tokens, self._crossing(thread, rest, ends, room)])

        if ends is not WHOLE or (part.counts and room is not None) or thread.memory:
            return make()
        found: Int32 = self._kept.find((self._key(thread.part), rest, room), make)
        return found

    def _goes_on(self, thread: Thread, rest: bytes, room: int | None) -> bool:
        """Whether the rest of a literal, and the parts after it, can be written from here, between two tokens."""
        if room is None and self._all_bytes:
            return True
        if self.parts[thread.part].counts:
            return self.spelled(rest) + self.behind(thread.part) + self._copied(thread) <= _most(room)
        if rest and not self._all_bytes:
            return self._can_complete(thread.part, rest, room)
        return self.fits(self.threads.begun_behind(thread), room)

    def _crossing(self, thread: Thread, rest: bytes, ends: Ends, room: int | None) -> Int32:
        """The tokens that write the rest of a literal and something after it."""
        trie = self._trie(ends)
        nodes = trie.along(rest)
        if len(nodes) < len(rest):
            return NO_TOKENS
        below = trie.below(nodes[-1])
        if not len(below):
            return NO_TOKENS
        return self.tokens(self.threads.begun_behind(thread), room, Ends(below, ends.skipped + len(rest)))

    @cached_property
    def counts_last_alone(self) -> bool:
        """Whether only the last part counts to a limit, and no other follows it."""
        return self.threads.back is None and not any(part.counts for part in self.parts[:-1])

    def check_markers(self, room: int | None) -> None:
        """Refuse a marker that cannot be written before anything counts.

        Raises:
            DeadEnd: The vocabulary cannot write a marker that must be written.
        """
        for number, part in enumerate(self.parts, -len(self.parts)):
            if isinstance(part, Free) and not part.counts and not self._fits(Thread(number, part.start), room):
                raise DeadEnd(
                    f"the tokens of the vocabulary cannot write {part.marker.data.decode('utf-8', 'replace')!r}, "
                    "after which the constraint begins",
                    hint="Choose another text, or a model whose tokenizer can write it.",
                )

    def crosses(self, room: int | None) -> bool:
        """Return whether some token has all of the literal at the start, and more."""
        part, thread = self.parts[0], self.threads.start[0]
        return isinstance(part, Fixed) and self._crossing(thread, part.data, WHOLE, room).size > 0

    def _in_free(self, part: Free, thread: Thread, room: int | None, ends: Ends) -> Int32:
        number, inside = thread.part, thread.inside
        assert isinstance(inside, InFree), "it is a place in free text"
        if inside.left == 0:
            if not part.takes_special(inside):
                return self._along(thread, part.rest(inside), room, ends)
            room_behind = _less(room, part.counts)
            fits = ends is WHOLE and room_behind != -1 and self.fits(self.threads.begun_behind(thread), room_behind)
            return np.array([part.marker.token] if fits else [], dtype=np.int32)
        if part.counts and room == 0:
            return NO_TOKENS
        key = "free", self._key(number), inside.state
        find = self._kept.find if ends is WHOLE else _made
        tokens, begins = find(key, lambda: self._found_in_free(part, number, inside.state, ends))
        if room is None and self._all_bytes:
            return tokens

        def fitting() -> Int32:
            late = [token for token, after, counts in begins if not self.fits(after, _less(room, counts))]
            late += self._dead_ends(part, number, inside.state, tokens, room, ends)
            return np.setdiff1d(tokens, late, assume_unique=True).astype(np.int32) if late else tokens

        return fitting() if part.counts else find((*key, room), fitting)

    def _found_in_free(
        self, part: Free, number: int, state: int, ends: Ends
    ) -> tuple[Int32, list[tuple[int, Position, bool]]]:
        """The tokens that can be read in free text; for those that complete the marker also their targets.

        And whether they count.
        """
        marker, vocabulary, trie = part.marker, self.vocabulary, self._trie(ends)
        every, thread = np.sort(trie.token_ids), Thread(number, InFree(state, None))
        begins, refused = list[tuple[int, Position, bool]](), list[int]()
        for token in set(marker.completing(state, trie, vocabulary)) & set(every.tolist()):
            data = (vocabulary.tokens[token] or b"")[ends.skipped :]
            if marker._after(state, data)[0] == len(marker.data):
                after, counts = self.threads.read_on((thread,), data, is_token=True)
                if after is None:
                    refused.append(token)
                else:
                    begins.append((token, after, counts))
        if ends is WHOLE and marker.token is not None and part.takes_special(InFree(state, None)):
            begins.append((marker.token, self.threads.begun_behind(thread), part.counts))
            every = np.union1d(every, [marker.token])
        tokens = np.setdiff1d(every, refused, assume_unique=True).astype(np.int32)
        tokens.setflags(write=False)
        return tokens, begins

    def _dead_ends(self, part: Free, number: int, state: int, tokens: Int32, room: int | None, ends: Ends) -> list[int]:
        """The tokens after which the marker can no longer be written."""
        marker, left = part.marker, _less(room, part.counts)
        dead = set[int]()
        for each in range(0 if part.stops(part.start) else len(marker.data)):
            if not self.fits((Thread(number, InFree(each, None)),), left):
                dead.add(each)
        if not dead:
            return []
        texts = ((token, (self.vocabulary.tokens[token] or b"")[ends.skipped :]) for token in tokens.tolist())
        return [token for token, data in texts if data and marker._after(state, data)[0] in dead]

    def _in_texts(self, part: Constrained, position: Position, room: int | None, ends: Ends) -> Int32:
        thread = position[0]
        after = self.threads.following(thread.part)
        if ends is not WHOLE or part.ending == "earliest":
            trie = self._trie(ends)
            known = None if after or part.ending == "earliest" else part.ends_of_tokens(thread.inside, trie, room)
            return self._walked(position, room, ends) if known is None else known
        tokens = self._within(part, thread, room)
        if not after:
            return tokens
        if part.ending == "longest":
            return _ascending([tokens, self._leaving(part, thread, room)])
        return self._with_crossing(position, tokens, room)

    def _within(self, part: Constrained, thread: Thread, room: int | None) -> Int32:
        """The tokens that stay in a text."""
        is_copied, behind = thread.part in self.threads.last_copy, self.behind(thread.part)
        if not is_copied:
            behind += self._copied(thread)
        if behind >= UNREACHABLE:
            return NO_TOKENS
        tokens = part.text_tokens(thread.inside, None if room is None else room - behind)
        if not is_copied or (room is None and self._all_bytes):
            return tokens
        # Each token makes the copies longer. Longer ones lead no less far: the longest that fit are found by halves.
        far = partial(self._farthest_inside, part, thread)
        most = bisect_left(range(1, self.vocabulary.trie.max_depth + 1), _most(room), key=far)
        fits = self._lengths[tokens] <= most
        for place in np.flatnonzero(~fits).tolist():
            after = self.after_token((thread,), int(tokens[place]))
            fits[place] = after is not None and self.fits(after[0], _less(room, True))
        return tokens[fits]

    @cached_property
    def _lengths(self) -> NDArray[np.int32]:
        """The bytes of each token."""
        return np.array([len(data or b"") for data in self.vocabulary.tokens], dtype=np.int32)

    def _farthest(self, position: Position) -> int:
        """An upper bound of the fewest tokens to an end after any token."""
        if not self._all_bytes:
            return int(UNREACHABLE)
        return max(self._farthest_behind(thread) for thread in position)

    def _farthest_behind(self, thread: Thread) -> int:
        """A bound on the fewest tokens to an end after any token that begins at a thread."""
        longest, least, texts = self.vocabulary.trie.max_depth, 0, dict(thread.memory)
        for number in range(thread.part, 0):
            part = self.parts[number]
            if isinstance(part, Constrained):
                least += part.farthest
            elif isinstance(part, Copy):
                source = self.parts[part.source]
                assert isinstance(source, Constrained), "texts of constraints are copied"
                is_whole = part.source in texts and part.source != thread.part
                least += len(texts.get(part.source, b"")) + (0 if is_whole else longest + source.farthest)
            else:
                least += len(part.rest(part.start))
        return min(least, int(UNREACHABLE))

    def _farthest_inside(self, part: Constrained, thread: Thread, longest: int) -> int:
        """A bound on the fewest tokens to an end after any token of ``longest`` bytes that stays in a text."""
        if not self._all_bytes:
            return int(UNREACHABLE)
        rest, written = part.farthest, len(thread.memory[-1][1])
        behind = self.parts[thread.part + 1 :]
        own = sum(isinstance(each, Copy) and each.source == thread.part for each in behind)
        return rest + own * (written + longest + rest) + self.behind(thread.part) + self._copied(thread)

    def _in_all_ways(self, position: Position, room: int | None, ends: Ends) -> Int32:
        """The tokens of several threads."""
        if ends is not WHOLE:
            return self._walked(position, room, ends)
        found = [NO_TOKENS]
        for thread in position:
            part = self.parts[thread.part]
            if isinstance(part, Constrained):
                if part.ending != "anywhere":
                    return _ascending([self._walked(position, room), self._specials(position, room)])
                found.append(self._within(part, thread, room))
            else:
                found.append(self.tokens((thread,), room))
        return self._with_crossing(position, _ascending(found), room)

    def _specials(self, position: Position, room: int | None) -> Int32:
        """The special tokens that may follow several threads."""
        specials = {_special(part) for part in self.parts if isinstance(part, Free | Fixed)}
        found = list[int]()
        for token in sorted(token for token in specials if token is not None):
            way = self.after_token(position, token)
            if way is not None and room != 0 and self.fits(way[0], _less(room, way[1])):
                found.append(token)
        return np.array(found, dtype=np.int32)

    def _leaving(self, part: Constrained, thread: Thread, room: int | None) -> Int32:
        """The tokens after a longest text that is complete: those with which it cannot go on."""
        inside = thread.inside
        if not part.ends(inside):
            return NO_TOKENS
        tokens = self.tokens(self.threads.begun_behind(thread), room)
        markers = tuple(each.marker for each in self.parts if isinstance(each, Free))
        first_bytes = self._kept.find(("first bytes", markers), self._first_bytes_of_tokens)
        leaves = self._kept.find(
            ("leaves", self._key(thread.part), inside),
            lambda: np.array([part.lets_go(inside, byte) for byte in BYTES] + [False]),
        )
        leaving: Int32 = tokens[leaves[first_bytes[tokens]]]
        return leaving

    def _first_bytes_of_tokens(self) -> NDArray[np.int16]:
        """The first byte of each token, int16 ``[vocabulary]``; -1: none."""
        texts = list(self.vocabulary.tokens)
        for part in self.parts:
            if isinstance(part, Free) and part.marker.token is not None:
                texts[part.marker.token] = part.marker.data
        return np.array([text[0] if text else -1 for text in texts], dtype=np.int16)

    def mask(self, tokens: Int32, *, may_end: bool) -> Mask:
        """Return the mask of some tokens, and of end tokens if the text may end; masks of cached tokens are cached."""
        masks = self._kept.masks
        known = masks.get((id(tokens), may_end))
        if known is None:
            ends = np.array(self.vocabulary.end_token_ids if may_end else (), dtype=np.int32)
            if len(masks) >= _MASKS:
                masks.clear()
            known = tokens, packed(np.concatenate([tokens, ends]), len(self.vocabulary))
            masks[id(tokens), may_end] = known  # which holds the tokens, so that their id stays their own
        return known[1]

    # ---- tokens that cross where the end of a part is not known ----------------------------------------------------

    def _with_crossing(self, position: Position, tokens: Int32, room: int | None) -> Int32:
        """Add to tokens that stay inside parts those that reach from one part into the next."""
        if tokens.size <= _FEW:
            return _ascending([tokens, self._walked(position, room)])
        found = [tokens]
        for thread in position:
            part = self.parts[thread.part]
            if not isinstance(part, Constrained):
                continue  # those that cross are among the tokens of a literal
            firsts = self._first_bytes_behind(thread)
            exits = self._exits(part, thread, firsts) if part.is_automaton else None
            if exits is None or len(exits) > _FEW:
                found.append(self._walked((thread,), room, ways=self._ways.to_others(firsts, tokens)))
                continue
            for node, data, inside in exits:
                moved = self.threads.moved(thread, inside, data)
                below = self._kept.find(("below", node), partial(self.vocabulary.trie.below, node))
                found.append(self.tokens(self.threads.begun_behind(moved), room, Ends(below, len(data))))
        return _ascending(found)

    def _exits(self, part: Constrained, thread: Thread, firsts: frozenset[int]) -> list[tuple[int, bytes, int]]:
        """The nodes of the trie at which a text of an automaton may end, above a byte with which the next can begin.

        With the bytes up to there, and the state.
        """
        assert isinstance(part.machine, DfaGuide), "it has an automaton"
        dfa = part.machine.index.dfa
        return self._kept.find(
            ("exits", self._key(thread.part), thread.inside, firsts),
            lambda: self._ways.exits(dfa, thread.inside, firsts, _FEW + 1),
        )

    def _first_bytes_behind(self, thread: Thread) -> frozenset[int]:
        """The bytes with which the parts after a thread's part can begin."""
        after = self.threads.following(thread.part)
        part = self.parts[after] if after else None
        text = dict(thread.memory).get(part.source) if isinstance(part, Copy) else None
        return frozenset(text[:1]) if text else self.threads.first_bytes(after)

    def _walked(self, position: Position, room: int | None, ends: Ends = WHOLE, ways: bytes | None = None) -> Int32:
        """The tokens that can be read and completed, by a walk of the trie that skips all below a refused byte."""
        found, path, node, trie = list[int](), [position], 0, self._trie(ends)
        depths, subtree_ends, starts = trie.depths, trie.subtree_ends, trie.token_starts
        left = _less(room, True)
        while node < len(trie) and room != 0:
            depth = int(depths[node])
            after = self.threads.read(path[depth - 1], BYTES[trie.bytes[node]]) if ways is None or ways[node] else None
            if after is None:
                node = int(subtree_ends[node])
                continue
            path[depth:] = [after]
            if starts[node] < starts[node + 1] and self.fits(after, left):
                tokens = trie.token_ids[starts[node] : starts[node + 1]].tolist()
                if not self._has_longest or self._is_token(position, tokens[0], ends.skipped):
                    found += tokens
            node += 1
        return np.array(sorted(found), dtype=np.int32)

    def _is_token(self, position: Position, token: int, skipped: int) -> bool:
        """Whether a token, by its end, does not hold the end of a longest text and something after it."""
        data = (self.vocabulary.tokens[token] or b"")[skipped:]
        return self.threads.read_on(position, data, is_token=True)[0] is not None

    def _trie(self, ends: Ends) -> TokenTrie:
        return self.vocabulary.trie if ends.trie is None else ends.trie


def _special(part: Free | Fixed) -> int | None:
    """The special token that writes a part."""
    return part.marker.token if isinstance(part, Free) else part.token


def _most(room: int | None) -> int:
    return int(UNREACHABLE) - 1 if room is None else room


def _less(room: int | None, counts: bool) -> int | None:
    """The number of tokens that are left after one more."""
    return None if room is None else room - counts


def _made(key: Hashable, make: Callable[[], Made]) -> Made:
    """Make a value that is not cached."""
    return make()


def _ascending(found: list[Int32]) -> Int32:
    """All tokens of some lists, each once."""
    lists = [tokens for tokens in found if tokens.size]
    if len(lists) <= 1:
        return lists[0].astype(np.int32, copy=False) if lists else NO_TOKENS
    tokens = np.concatenate(lists)
    if tokens.size < _FEW:
        return np.unique(tokens).astype(np.int32)
    is_one = np.zeros(int(tokens.max()) + 1, dtype=np.bool_)
    is_one[tokens] = True
    return np.flatnonzero(is_one).astype(np.int32)
