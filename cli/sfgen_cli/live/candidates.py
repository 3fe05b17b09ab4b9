"""What the model finds likely: the candidates at one position, before and after the mask, and each token's share.

A candidate may stay allowed although its text is a banned word so far. It keeps its share in the table, and yet it may
lose against a less likely token, since what would end the word is forbidden behind it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import groupby

from sfgen.decoding import Candidate
from sfgen.printable import counted
from sfgen_cli.live.moment import Asked, Moment, Token
from sfgen_cli.live.rows import STRUCK, Row, columns, fitted, fitted_row, flowed, quoted

_FORBIDDEN = "red"
_FORCED = "italic green"
_BEST = 5
_HEIGHTS = "▁▂▃▄▅▆▇█"
_SEEN = 0.0005  # the least share that is told in tenths of a percent
_MARK = "»"  # of a jump-forward token
_BLOCK = 32  # tokens by which the beginning of a long strip moves on, so that it does not move at each token
_NOT_ASKED = "forced: nothing else could stand here, so the model is not asked"
_NOT_TOLD = "how likely these tokens were is not told"


def likely(moment: Moment, width: int, *, side_by_side: bool) -> list[Row]:
    """Draw the likeliest tokens with bars, before and after the mask.

    They are dimmed if the last step was another one.
    """
    asked = moment.shown
    if asked is None:
        return [fitted_row([(_NOT_ASKED, "dim")], width)]
    outlook = asked.outlook
    chosen = None if asked is moment.coming else asked.token_id
    took = removed(asked)
    if not moment.scene.is_constrained:
        rows = _column("the model's best", outlook.before, chosen, width)
    elif side_by_side:
        half = (width - 2) // 2
        before = _column("before the mask", outlook.before, chosen, half)
        after = _column(took, outlook.after, chosen, half)
        rows = [_padded(left, half + 2) + right for left, right in zip(before, after, strict=True)]
    else:
        rows = _column("before the mask", outlook.before, chosen, width)
        rows += _column(took, outlook.after, chosen, width)
    rows += flowed([[(part, "")] for part in why_allowed(moment, asked)], width)
    is_past = asked is not moment.coming and not moment.is_at(asked)
    return [[(part, f"{style} dim") for part, style in row] for row in rows] if is_past else rows


def removed(asked: Asked) -> str:
    """Say how much of the probability the mask took away."""
    return f"after the mask, which took {percent(asked.outlook.removed)}"


def _column(heading: str, candidates: Sequence[Candidate], chosen: int | None, width: int) -> list[Row]:
    rows: list[Row] = [fitted_row([(heading, "dim")], width)]
    is_after = heading.startswith("after")
    bar = max(4, min(24, (width - 10) * 2 // 5))
    for candidate in candidates[:_BEST]:
        share = candidate.after if is_after else candidate.before
        is_forbidden = not is_after and not candidate.after > 0
        sign, style = (
            ("✗", _FORBIDDEN) if is_forbidden else ("▸", "bold") if candidate.token_id == chosen else (" ", "")
        )
        colour = _FORBIDDEN if is_forbidden else "green" if is_after else "cyan"
        rows.append(
            [
                (f"{sign} {percent(share):>7} ", style),
                (_bar(share, bar, "░" if is_forbidden else "█"), colour),
                (" " + fitted(name_of(candidate), max(1, width - 11 - bar)), STRUCK if is_forbidden else style),
            ]
        )
    return rows + [[]] * (1 + _BEST - len(rows))


def _padded(row: Row, width: int) -> Row:
    return [*row, (" " * (width - sum(columns(part) for part, _ in row)), "")]


def name_of(candidate: Candidate) -> str:
    """Name a candidate: its text in quotes, if it has one."""
    if candidate.is_end:
        return "⟨end⟩"
    return f"⟨token {candidate.token_id}⟩" if candidate.data is None else quoted(candidate.data)


def _bar(share: float, width: int, full: str) -> str:
    """A bar with eighths of a column, in ``width`` columns; something is seen of all that is above nothing."""
    eighths = round(min(1.0, share) * width * 8) if share > 0 else 0
    if full != "█":
        return (full * max(share > 0, round(eighths / 8))).ljust(width)
    eighths = max(share > 0, eighths)
    return (full * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()).ljust(width)


def strip(moment: Moment, width: int) -> list[Row]:
    """Draw a column for each token: how likely it was, and below it what the mask took there.

    Before them stand the figures of the last token.
    """
    tokens = moment.tokens
    if not tokens:
        return []
    if all(token.probability is None for token in tokens) and not all(token.forced for token in tokens):
        return [fitted_row([(_NOT_TOLD, "dim")], width)]
    rows = [_strip_row(tokens, lambda token: token.probability, "likely", "cyan", width)]
    if moment.scene.is_constrained:
        rows.append(_strip_row(tokens, lambda token: token.removed, "masked", _FORBIDDEN, width))
    return rows


def _strip_row(
    tokens: Sequence[Token], share_of: Callable[[Token], float | None], what: str, style: str, width: int
) -> Row:
    """The last shares as heights, as many as there is room for."""
    share = share_of(tokens[-1])
    last = "-" if tokens[-1].forced else "?" if share is None else percent(share)
    row: Row = [(f"{last:>7} {what} ", "")]
    room = max(1, width - columns(row[0][0]))
    first = -(-max(0, len(tokens) - room) // _BLOCK) * _BLOCK if room > _BLOCK else max(0, len(tokens) - room)
    for forced, together in groupby(tokens[first:], key=lambda token: token.forced):
        heights = "".join(_MARK if forced else _height(share_of(token)) for token in together)
        row.append((heights, _FORCED if forced else style))
    return row


def _height(share: float | None) -> str:
    """A share as one character; something is seen of all that is not "<0.1 %"."""
    if share is None or not share >= 0:
        return "?"
    return _HEIGHTS[min(8, math.ceil(share * 8)) - 1] if share >= _SEEN else " "


def percent(share: float) -> str:
    """Write a share for people.

    >>> [percent(share) for share in (0, 0.00001, 0.4567, 1, float("nan"))]
    ['0 %', '<0.1 %', '45.7 %', '100 %', '?']
    """
    if not share >= 0:
        return "?"
    if share == 0 or share >= 1:
        return "100 %" if share else "0 %"
    return f"{100 * share:.1f} %" if share >= _SEEN else "<0.1 %"


_LEAST = 0.01  # the share from which on a candidate is a riddle
_TOKENS_BEFORE = 20  # that the beginning of a word is looked for in
_LAST_WORD = re.compile(r"\w+\Z")


def why_allowed(moment: Moment, asked: Asked) -> list[str]:
    """Say why a candidate that is a banned word is still there.

    Of the likeliest such candidate; empty if there is none.
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
    """Say that a candidate was tried, and taken back for what came behind it."""
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
    """Say why a candidate that ends in a whole banned word is allowed."""
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
