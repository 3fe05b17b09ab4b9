"""A picture of a view: what a terminal would show, as SVG that stands alone."""

from __future__ import annotations

import html
import io
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType

WIDTH = 90
"""Columns of a picture."""

_HEIGHT = 50  # rows that a view may take
_CHARACTER = 12.2  # the width of a column in Rich's pictures


def svg(view: RenderableType, title: str, *, width: int = WIDTH, name: str | None = None) -> str:
    """Render the view as SVG, by Rich's own export.

    It fetches nothing, whatever text is in the view.

    Args:
        view: What is drawn.
        title: Above it.
        width: In columns.
        name: What the picture's ids begin with. With a name of its own a picture changes only where what it shows does;
            without one the name follows from the contents.
    """
    from rich import console as rich_console

    from sfgen.automata.svg_text import for_any_reader

    # Whatever terminal this runs on, the picture is the same.
    console = rich_console.Console(
        record=True,
        width=width,
        height=_HEIGHT,
        file=io.StringIO(),
        force_terminal=True,
        color_system="truecolor",
        legacy_windows=False,
    )
    console.print(view)
    # Without the fonts that Rich would fetch from elsewhere. Its manual names the variable; its types do not.
    frame_of_rich: str = vars(rich_console)["CONSOLE_SVG_FORMAT"]
    frame = re.sub(r"@font-face \{\{.*?\}\}\s*", "", frame_of_rich, flags=re.DOTALL)
    picture = console.export_svg(title=title, code_format=frame, unique_id=name)
    return for_any_reader(_with_true_widths(picture))


def _with_true_widths(picture: str) -> str:
    """Rich gives each character one column; wide ones take two, and combining ones none."""
    from rich.cells import cell_len

    def corrected(found: re.Match[str]) -> str:
        columns = cell_len(html.unescape(found["text"]))
        return f'textLength="{columns * _CHARACTER:g}"{found["rest"]}>{found["text"]}</text>'

    return re.sub(r'textLength="[^"]*"(?P<rest>[^<>]*)>(?P<text>[^<]*)</text>', corrected, picture)
