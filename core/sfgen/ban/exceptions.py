"""Allowed spans: longer words that excuse the banned ones within them.

A banned match is excused if an allowed match begins no later and ends no earlier: ``class`` excuses ``ass``, ``small
talk`` excuses ``talk``. While an allowed match that covers a complete banned one may itself still become complete, the
banned one is *pending*: it is neither reported nor forgotten. It is certain, and reported, as soon as no partial match
of an allowed word begins early enough.

An allowed match that becomes complete ends at the last character at the earliest, so it covers every match that ended
before, if it begins early enough. Of many pending matches the one that begins first is therefore the hardest to
excuse, and the only one that must be remembered; likewise of all allowed matches with the same end. (Characters that
are dropped make an exception: a pattern's match may end with one, and then nothing that ended before it covers it.)
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterable
from typing import NamedTuple, TypeAlias

from sfgen.ban.readings import BranchMark, Readings
from sfgen.ban.word_matcher import Found, WordAutomata

Span: TypeAlias = tuple[int, int]
"""Start and end."""


class UnderWay(NamedTuple):
    """The partial matches of banned words, ordered by the state.

    Args:
        starts: Where each match began that is not complete.
        waiting: Groups of matches that have ended; which of them are complete depends on what follows.
    """

    starts: list[int]
    waiting: list[list[Span]]


class AllowedMark(NamedTuple):
    """The state of allowed spans at one position.

    Attributes:
        threads: The marks of the allowed words' readings.
        spans: The complete allowed matches that may cover one to come, as start and end in bytes.
        pending: The complete banned matches that may still be excused.
    """

    threads: tuple[BranchMark, ...]
    spans: tuple[Span, ...]
    pending: tuple[Found, ...]


class AllowedSpans:
    """The allowed matches in one text, and the matches they may excuse.

    Args:
        automata: The allowed words.
        position: Where the text begins, in bytes.
    """

    def __init__(self, automata: WordAutomata, position: int) -> None:
        self.threads = Readings(automata, position)
        self._spans: tuple[Span, ...] = ()  # complete, and may cover what is not complete
        self._pending: tuple[Found, ...] = ()

    def settle(self, found: list[Found], allowed: list[Found], last: int, waiting: list[Span]) -> list[Found]:
        """Judge what one character has completed.

        Args:
            found: The banned matches.
            allowed: The allowed ones.
            last: The end of the last folded character.
            waiting: Banned matches that have ended and are not complete.

        Returns:
            The matches that are certain now.
        """
        if not (found or allowed or self._pending or self._spans):
            return []
        spans = _largest([*self._spans, *((start, end) for end, _, start, _ in allowed)])
        candidates = [match for match in (*self._pending, *found) if not _is_covered((match[2], match[0]), spans)]
        begun = self.threads.open_from()
        certain = [match for match in candidates if begun is None or match[2] < begun]
        pending = [match for match in candidates if begun is not None and match[2] >= begun]
        self._pending = _hardest(pending, last)
        self._spans = tuple(
            span for span in spans if span[1] >= last or any(_is_covered(waits, [span]) for waits in waiting)
        )
        return certain

    def at_end(self, found: Iterable[Found], allowed: Iterable[Found]) -> list[Found]:
        """Return the matches that are certain if the text ends here.

        Args:
            found: The banned matches that the end completes.
            allowed: The allowed matches that it completes.
        """
        spans = [*self._spans, *((start, end) for end, _, start, _ in allowed)]
        return [match for match in (*self._pending, *found) if not _is_covered((match[2], match[0]), spans)]

    def open_from(self) -> int | None:
        """Return where the earliest pending match begins, or ``None``."""
        return min(self.pending_starts(), default=None)

    def pending_starts(self) -> list[int]:
        """Return where each pending match begins, ordered by ``state``."""
        return [start for _, _, start, _ in self._pending]

    def state(self, under_way: UnderWay, last: int) -> Hashable:
        """Return what decides which partial matches will be excused.

        That is the order in which they began.

        Args:
            under_way: The partial matches of banned words.
            last: The end of the last folded character.
        """
        begun = self.threads.starts()
        ended = min((start for start, end in self._spans if end >= last), default=None)
        order = sorted({*begun, *([] if ended is None else [ended])})

        def rank(start: int) -> int:
            return bisect_right(order, start)

        waiting = []
        for group in under_way.waiting:
            open_spans = [span for span in group if not _is_covered(span, self._spans)]
            waiting.append(
                tuple(
                    min((rank(start) for start, end in open_spans if (end > last) == late), default=-1)
                    for late in (False, True)
                )
            )
        return (
            self.threads.state,
            tuple(map(rank, begun)),
            -1 if ended is None else rank(ended),
            tuple(map(rank, under_way.starts)),
            tuple(waiting),
            tuple((rank(start), end > last) for end, _, start, _ in self._pending),
        )

    def mark(self) -> AllowedMark:
        """Return the state, for ``reset``."""
        return AllowedMark(self.threads.mark(), self._spans, self._pending)

    def reset(self, mark: AllowedMark) -> None:
        """Return to a mark."""
        threads, self._spans, self._pending = mark
        self.threads.reset(threads)


def _is_covered(match: Span, spans: Iterable[Span]) -> bool:
    start, end = match
    return any(allowed_start <= start and end <= allowed_end for allowed_start, allowed_end in spans)


def _largest(spans: list[Span]) -> list[Span]:
    """The spans that lie in no other."""
    kept: list[Span] = []
    for span in sorted(set(spans), key=lambda span: (span[0], -span[1])):
        if not _is_covered(span, kept):
            kept.append(span)
    return kept


def _hardest(pending: list[Found], last: int) -> tuple[Found, ...]:
    """One match that is excused only if all are; two where some end behind the last folded character."""
    groups = ([match for match in pending if (match[0] > last) == late] for late in (False, True))
    return tuple(min(group, key=lambda match: (match[2], match)) for group in groups if group)
