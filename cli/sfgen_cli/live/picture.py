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
_RUN = re.compile(
    r'<text(?P<before>[^<>]*?\b)x="(?P<x>[^"]*)"(?P<between>[^<>]*)'
    r'textLength="[^"]*"(?P<rest>[^<>]*)>(?P<text>[^<]*)</text>'
)
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

    from sfgen.automata.pictures import for_any_reader

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
    return for_any_reader(_placed(picture))


def _placed(picture: str) -> str:
    """Begin and end each run of text with what is seen, and give it its true width.

    Some readers drop blanks at the start of a text, whatever they are told. Rich gives each character one column; wide
    ones take two, and combining ones none.
    """
    from rich.cells import cell_len

    def placed(found: re.Match[str]) -> str:
        text = html.unescape(found["text"])
        seen = text.strip()
        if not seen:
            return ""
        left = float(found["x"]) + (len(text) - len(text.lstrip())) * _CHARACTER
        written = html.escape(seen).replace("\u00a0", "&#160;")
        length = f'textLength="{cell_len(seen) * _CHARACTER:g}"'
        return f'<text{found["before"]}x="{left:g}"{found["between"]}{length}{found["rest"]}>{written}</text>'

    return _RUN.sub(placed, picture)
