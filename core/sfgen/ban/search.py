"""Banned patterns in a finished text, looked for by Python's ``re``.

``re`` prefers one of the matches that begin at a place, while any of them is banned. So where it finds one that does
not count, because it ends in the prompt or a longer allowed word excuses it, it is asked again for one that ends
beyond: by the pattern with a lookahead behind it that leaves no more than N characters.

``re`` backtracks, and may not come to an end (see :mod:`sfgen.regex.oracle`). Where it does not, the automata of the
patterns are trusted.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple, TypeAlias, cast

from sfgen.ban.words import BannedWords
from sfgen.regex import oracle
from sfgen.regex.parse import re_tree
from sfgen.regex.python_re import sre_compiler

Span: TypeAlias = tuple[int, int]
"""Where a match begins and ends, in characters."""

SECONDS = 0.25  # for a pattern, and as much again for each million of characters


class Wanted(NamedTuple):
    """The matches that count from one position on.

    Args:
        start: The first position that a match may begin at, in characters.
        end: The first position that it may end at.
    """

    start: int
    end: int


def search(words: BannedWords, text: str, wanted: list[Wanted]) -> list[tuple[int, Span]]:
    """Find matches of the banned patterns that do not overlap.

    If there are any matches, some are found.

    Args:
        words: What is banned.
        text: The text, with the prompt.
        wanted: Which matches count, by rising starts; the first start is 0.

    Returns:
        The number of the pattern and the match, for each.
    """
    seconds = SECONDS * (1 + len(text) / 1e6)
    found: list[tuple[int, Span]] = []
    trusted: dict[int, list[Span]] | None = None
    for number, pattern in enumerate(words.patterns):
        spans = _by_re(pattern, text, wanted, seconds)
        if spans is None:
            trusted = _by_automata(words, text, wanted) if trusted is None else trusted
            spans = _apart(trusted.get(number, ()))
        found += ((number, span) for span in spans)
    return found


def _by_re(pattern: str, text: str, wanted: list[Wanted], seconds: float) -> list[Span] | None:
    """What ``re`` finds; ``None`` if it cannot read the pattern, or does not come to an end in time."""
    compiled = oracle.read_pattern(pattern, ascii_only=False)
    if compiled is None:
        return None
    plain, tree = compiled

    @cache
    def ending(end: int) -> re.Pattern[str]:
        """The pattern, with the end of its match at this position at the earliest."""
        tail = re_tree(f"(?!(?s:.){{{len(text) - end + 1}}})")
        longer = tree[:]
        for item in tail:
            longer.append(item)
        return cast("re.Pattern[str]", sre_compiler.compile(longer))

    def look() -> list[Span]:
        spans: list[Span] = []
        position = 0
        stops = [*(step.start for step in wanted[1:]), len(text)]
        for step, stop in zip(wanted, stops, strict=True):
            position = max(position, step.start)
            while position < stop and step.end <= len(text):
                match = plain.search(text, position)
                if match is None:
                    return spans
                start = match.start()
                if start >= stop:
                    break
                if match.end() < step.end:
                    match = ending(step.end).match(text, start)
                if match is None or match.end() == start:
                    position = start + 1
                else:
                    position = match.end()
                    spans.append((start, position))
        return spans

    return oracle.in_time(look, seconds, oracle.ways(tree, len(text)) * (len(text) + 1) ** 2)


def _by_automata(words: BannedWords, text: str, wanted: list[Wanted]) -> dict[int, list[Span]]:
    """What the automata find, by the number of the pattern."""
    shift = wanted[0].end - 1  # what ends at 0 or before is no match to them
    threads = words.pattern_threads(-shift)
    assert threads is not None
    starts = [step.start for step in wanted]
    found: dict[int, list[Span]] = {}
    steps: Iterable[list[tuple[int, bool, int, int]]] = (
        threads.step("\ufffd" if "\ud800" <= character <= "\udfff" else character, position, position + 1)
        for position, character in enumerate(text, -shift)
    )
    for matches in itertools.chain(steps, (threads.at_end() for _ in range(1))):
        for end, _, start, number in matches:
            span = start + shift, end + shift
            if span[1] >= wanted[bisect_right(starts, span[0]) - 1].end:
                found.setdefault(number, []).append(span)
    return found


def _apart(spans: Iterable[Span]) -> list[Span]:
    """The first spans that do not overlap, the longest of those that begin together."""
    kept: list[Span] = []
    for span in sorted(spans, key=lambda span: (span[0], -span[1])):
        if not kept or span[0] >= kept[-1][1]:
            kept.append(span)
    return kept
