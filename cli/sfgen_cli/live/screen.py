"""The place on the terminal where a view is drawn again and again, and erased at the end."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

from rich.console import Console, ConsoleOptions, ConsoleRenderable
from rich.control import Control
from rich.live import Live
from rich.segment import ControlType, Segment

from sfgen_cli.shell.process import uninterrupted

if TYPE_CHECKING:
    from sfgen_cli.live.frame import Frame

FRAMES_A_SECOND = 10


class _Code:
    """A control sequence. Terminals that do not know it pass it over."""

    def __init__(self, code: str) -> None:
        self._code = code

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterable[Segment]:
        yield Segment(self._code, None, [(ControlType.CARRIAGE_RETURN,)])


_BEGIN, _END = _Code("\x1b[?2026h"), _Code("\x1b[?2026l")
"""A terminal shows the output between them at once, not row by row."""


class Drawable(Protocol):
    """A picture of the present moment that is drawn repeatedly."""

    @property
    def version(self) -> object:
        """Changes when the picture may have changed."""

    def __rich__(self) -> Frame:
        """The picture."""


class Screen(Live):
    """Draws a view ten times a second, if something has happened."""

    def __init__(self, view: Drawable) -> None:
        self._view = view
        self._frame: Frame | None = None
        self._shown: Frame | None = None  # the one that stands on the terminal
        self._drawn: object = None  # its version and size
        self._width = 0
        super().__init__(
            console=stderr_console(),
            transient=True,
            refresh_per_second=FRAMES_A_SECOND,
            vertical_overflow="crop",
            get_renderable=self._picture,
        )

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        try:
            super().__exit__(exc_type, exc_val, exc_tb)
        finally:
            self.console.show_cursor(True)  # also if Ctrl-C came in the middle of that

    def refresh(self) -> None:
        """Draw the view, unless that would change nothing."""
        with self._lock, uninterrupted():
            wanted = (self._view.version, self.console.size)
            if wanted != self._drawn:
                super().refresh()
                self._shown = self._frame
                self._drawn = wanted

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        """Go back to where the picture begins.

        That works also if the terminal was made narrower since.
        """
        width, widths = self.console.width, self._shown.widths if self._shown is not None else []
        above = rows_more(widths, width) if width < self._width and reflows(os.environ) else 0
        self._width = width
        reset, *others = super().process_renderables(renderables)
        up = Control(*[(ControlType.CURSOR_UP, 1), (ControlType.ERASE_IN_LINE, 2)] * above)
        return [_BEGIN, reset, up, *others, _END]

    def _picture(self) -> Frame:
        self._frame = self._view.__rich__()
        return self._frame


def rows_more(widths: Iterable[int], width: int) -> int:
    """Count the rows that a picture gained in a narrower terminal."""
    return sum((row - 1) // width for row in widths if row)


def reflows(environment: Mapping[str, str]) -> bool:
    """Return whether a narrower terminal breaks rows anew.

    Most do; those that do not cut them.

    >>> reflows({"TERM": "xterm-256color"}), reflows({"TERM": "xterm", "XTERM_VERSION": "XTerm(390)"})
    (True, False)
    """
    is_screen = "STY" in environment and "TMUX" not in environment
    return not (is_screen or "XTERM_VERSION" in environment or environment.get("TERM") == "linux")


def stderr_console() -> Console:
    """Open the console at stderr, with the size that it has.

    COLUMNS and LINES tell a size that it had once.
    """
    environment = dict(os.environ)
    try:
        size = os.get_terminal_size(2)
    except OSError:
        size = os.terminal_size((0, 0))
    if size.columns and size.lines:
        environment.pop("COLUMNS", None)
        environment.pop("LINES", None)
    return Console(stderr=True, _environ=environment)
