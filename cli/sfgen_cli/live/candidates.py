"""The table of candidates: what the model finds likely at a position, before and after the mask."""

from __future__ import annotations

from collections.abc import Sequence

from sfgen.decoding import Candidate
from sfgen_cli.live.moment import Asked, Moment
from sfgen_cli.live.rows import STRUCK, Row, columns, fitted, fitted_row, flowed, quoted
from sfgen_cli.live.still_allowed import why_allowed

_FORBIDDEN = "red"
_BEST = 5
_NOT_ASKED = "forced: nothing else could stand here, so the model is not asked"


def likely(moment: Moment, width: int, *, side_by_side: bool) -> list[Row]:
    """Draw the likeliest tokens with bars, before and after the mask.

    They are dimmed if the last step was another one.

    Args:
        moment: The run at one moment.
        width: Columns of a row.
        side_by_side: "Before" stands to the left of "after", not above it.
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


def percent(share: float) -> str:
    """Write a share for people.

    >>> [percent(share) for share in (0, 0.00001, 0.4567, 1, float("nan"))]
    ['0 %', '<0.1 %', '45.7 %', '100 %', '?']
    """
    if not share >= 0:
        return "?"
    if share == 0 or share >= 1:
        return "100 %" if share else "0 %"
    return f"{100 * share:.1f} %" if share >= 0.0005 else "<0.1 %"
