"""Why a candidate stays allowed although its text is a banned word so far.

A ban acts when a banned word is complete. Where it bans whole words, `` talk`` may still become *talking*: it keeps its
share in the table of candidates, and yet it may lose against a less likely token, since what would end the word is
forbidden behind it.
"""

from __future__ import annotations

import re
from functools import lru_cache

from sfgen.decoding import Candidate
from sfgen_cli.live.moment import Asked, Moment
from sfgen_cli.live.rows import quoted
from sfgen_cli.shell.counted import counted

_LEAST = 0.01  # the share from which on a candidate is a riddle
_TOKENS_BEFORE = 20  # that the beginning of a word is looked for in
_LAST_WORD = re.compile(r"\w+\Z")


def why_allowed(moment: Moment, asked: Asked) -> list[str]:
    """Say why a candidate that is a banned word is still there.

    Of the likeliest such candidate; empty if there is none.

    Args:
        moment: The run at one moment.
        asked: The candidates that are shown.
    """
    if not moment.scene.is_ban:
        return []
    riddles = [one for one in asked.outlook.after if one.after >= _LEAST and one.token_id != asked.token_id]
    for candidate in riddles:
        said = _after_a_rollback(moment, asked, candidate) or _untried(moment, asked, candidate)
        if said:
            return said
    return []


def _after_a_rollback(moment: Moment, asked: Asked, candidate: Candidate) -> list[str]:
    """What is said of a candidate that was tried, and taken back for what came behind it."""
    tried = moment.tried.get(asked.position, {}).get(candidate.token_id)
    if tried is None or candidate.data is None or tried.event.bias is not None:
        return []
    written = "it" if tried.kept == candidate.data else quoted(tried.kept)
    longer = "a longer word" if tried.event.word in moment.scene.words else "text that is not banned"
    count = tried.event.ruled_out
    forbidden = counted(count, "token")
    return [
        f"{quoted(candidate.data)} stays allowed: {written} may still become {longer}",
        f"{forbidden} that would end it {'is' if count == 1 else 'are'} forbidden behind it",
    ]


def _untried(moment: Moment, asked: Asked, candidate: Candidate) -> list[str]:
    """What is said of a candidate that ends in a whole banned word."""
    if candidate.data is None:
        return []
    before = b"".join(token.data for token in moment.tokens[max(0, asked.position - _TOKENS_BEFORE) : asked.position])
    if asked.position < _TOKENS_BEFORE:
        before = moment.scene.prompt[-100:].encode("utf-8", "replace") + before
    last = _LAST_WORD.search((before + candidate.data).decode("utf-8", "replace"))
    if last is None or last[0].casefold() not in _folded(moment.scene.words):
        return []
    word = quoted(last[0].encode())
    return [f"{quoted(candidate.data)} stays allowed: it is taken back only if the banned word {word} ends there"]


@lru_cache(maxsize=8)
def _folded(words: tuple[str, ...]) -> frozenset[str]:
    return frozenset(word.casefold() for word in words)
