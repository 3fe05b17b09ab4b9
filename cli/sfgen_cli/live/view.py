"""The live view: what happens while it happens, on stderr. It reads events and changes nothing.

It is drawn ten times a second from what was last seen, by a thread of its own, and erases itself at the end. What is
known at a moment is in ``moment``, how it is drawn in ``frame``, the drawing itself in ``screen``. ``svg`` draws what a
terminal would show as a picture that stands alone.
"""

from __future__ import annotations

import contextlib
import html
import io
import re
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from sfgen.decoding import Finished
from sfgen_cli.live.frame import Frame, Layout
from sfgen_cli.live.moment import Moment, is_step
from sfgen_cli.shell.keyboard import quiet_terminal
from sfgen_cli.shell.output import note

if TYPE_CHECKING:
    from rich.console import RenderableType

    from sfgen import Event
    from sfgen.trace.lines import Scene, View
    from sfgen_cli.shell.keyboard import Keyboard

STEP_KEYS = "any key: step · c: go on · q: stop"


class LiveView:
    """The picture of a run, which any Rich console can print."""

    def __init__(self, scene: Scene, *, hint: str = "", patient: bool = True) -> None:
        self.moment = Moment(scene)
        self.hint = hint
        self._layout = Layout(self.moment, patient=patient)
        self._lock = threading.Lock()  # events come from one thread, and another one draws

    def show(self, event: Event, seconds: float) -> None:
        """Take note of one event."""
        with self._lock:
            self.moment.take(event, seconds)

    def expect(self, event: Event) -> None:
        """Take note of the event that comes next, if it is known."""
        with self._lock:
            self.moment.expect(event)

    def __rich__(self) -> Frame:
        """The picture of the present moment."""
        return Frame(self._draw)

    @property
    def version(self) -> tuple[int, bool, str]:
        """Changes when the picture may have changed."""
        return self.moment.events, self.moment.coming is not None, self.hint

    def _draw(self, width: int, height: int) -> list[list[tuple[str, str]]]:
        with self._lock:
            return self._layout.rows(width, height, self.hint)


class Paced:
    """A view that rests at each step, for people to follow it.

    It rests when the next step is already there, so that what belongs to a step is seen with it.
    """

    def __init__(self, view: LiveView, refresh: Callable[[], None], rest: Callable[[], None]) -> None:
        self._view, self._refresh, self._rest = view, refresh, rest
        self._is_shown = False  # whether there is a step that was not rested at

    def show(self, event: Event, seconds: float) -> None:
        """Rest at the step before, then take note of an event."""
        if is_step(event):
            self._view.expect(event)
            self.rest()
            self._is_shown = True
        self._view.show(event, seconds)
        if isinstance(event, Finished):
            self.rest()

    def rest(self) -> None:
        """Draw the last step and rest at it, unless that was done."""
        if self._is_shown:
            self._is_shown = False
            self._refresh()
            self._rest()


@contextlib.contextmanager
def live_view(scene: Scene, *, slow: int = 0, step: bool = False) -> Iterator[View]:
    """Show a run on the terminal at stderr; erase it at the end."""
    from sfgen_cli.live.screen import Screen

    is_paced = step or slow > 0
    with quiet_terminal(keys=step) as keyboard:
        view = LiveView(scene, hint=STEP_KEYS if keyboard else "", patient=is_paced)
        with _kept_on_ctrl_c(view), Screen(view) as screen:
            if not is_paced:
                yield view
                return
            paced = Paced(view, screen.refresh, _rest(view, keyboard, slow / 1000))
            try:
                yield paced
            except Exception:
                paced.rest()  # the last step before an error is the one to see
                raise


@contextlib.contextmanager
def _kept_on_ctrl_c(view: LiveView) -> Iterator[None]:
    """Leave the text where the view was: whoever has seen enough of it wants to keep that.

    It goes to stderr, where it was seen; stdout gets no half of a match.
    """
    try:
        yield
    except KeyboardInterrupt:
        if text := view.moment.standing:
            note(text)
        raise


def _rest(view: LiveView, keyboard: Keyboard | None, seconds: float) -> Callable[[], None]:
    """Return the rest at each step."""

    def rest() -> None:
        if keyboard is None or not view.hint:
            time.sleep(seconds)
            return
        key = keyboard.key()
        if key in ("q", "Q", "\x04"):
            raise KeyboardInterrupt
        if key in ("c", "C", ""):
            view.hint = ""

    return rest


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
    """
    from rich import console as rich_console

    from sfgen.automata.pictures import for_any_reader

    # The picture is the same on every terminal.
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
