"""What is expected in a state: pieces of a pattern that can read the next character, or characters of choices."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sfgen.automata.label import CUT
from sfgen_cli.live.rows import on_one_line

if TYPE_CHECKING:
    from sfgen_cli.live.moment import Moment

_SHOWN = 4
_MOST_CHOICES = 1000
_END = "the end"


def one_of(pieces: Iterable[str], *, may_end: bool) -> str:
    """List what can come next.

    Args:
        pieces: What reads the next character, as a pattern writes it.
        may_end: Whether the text may end.

    >>> one_of(["[0-9]", "-", "[0-9]"], may_end=True), one_of([" "], may_end=False), one_of("abcdef", may_end=False)
    ('[0-9] or - or the end', '[ ]', 'a or b or c or d or …')
    """
    named = ["[ ]" if piece == " " else on_one_line(piece) for piece in dict.fromkeys(pieces)]
    shown = named[:_SHOWN] + [CUT] * (len(named) > _SHOWN)
    return " or ".join([*shown, *[_END] * may_end])


def next_of_choices(moment: Moment) -> str:
    """List what can come next in the choices still possible.

    Empty if there are none, or too many.
    """
    choices = moment.scene.choices
    if choices is None or len(choices) > _MOST_CHOICES or moment.scene.when is not None:
        return ""
    written = b"".join(token.data for token in moment.text_tokens)
    rest = [
        data[len(written) :] for choice in choices if (data := choice.encode("utf-8", "replace")).startswith(written)
    ]
    following = [text[0] for data in rest if (text := data.decode("utf-8", "ignore"))]
    return one_of(following, may_end=b"" in rest)
