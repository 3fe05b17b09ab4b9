"""The live view: the states while they pass, on stderr. It reads events and changes nothing.

It is drawn ten times a second from what was last seen, by Rich's own thread, and erases itself at the end.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Protocol

from sfgen_cli.output import visible

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

    from sfgen import BannedWords, Event
    from sfgen_cli.constraints import Constraint
    from sfgen_cli.generation import Request

_FRAMES_A_SECOND = 10
_STATES_SHOWN = 12


class View(Protocol):
    """Something that is shown events."""

    def show(self, event: Event) -> None:
        """Take note of one event."""


class Silent:
    """The view of nothing."""

    def show(self, event: Event) -> None:
        """Ignore the event."""


class LiveView:
    """What is known so far, as a panel.

    Args:
        subject: What constrains the text, for the title.
        vocabulary_size: Number of tokens, to compare the allowed ones with.
    """

    def __init__(self, subject: str, vocabulary_size: int) -> None:
        self._subject = subject
        self._vocabulary_size = vocabulary_size
        self._tokens: list[tuple[str, bool]] = []  # text and whether it was forced
        self._step = "waiting for the model"
        self._states: list[int] = []  # before the first token, after it, after the second …
        self._ended = False
        self._rollback = ""
        self._rollbacks = 0

    def show(self, event: Event) -> None:
        """Take note of one event."""
        from sfgen import RolledBack, TokenChosen
        from sfgen.decoding import Finished

        if isinstance(event, TokenChosen):
            text = _shown(event.data)
            self._tokens.append((text, event.forced))
            del self._states[event.position + 1 :]
            self._states = self._states or [event.state]
            self._states.append(event.next_state)
            how = "forced" if event.forced else f"{event.allowed:,} of {self._vocabulary_size:,} allowed"
            self._step = f"state {event.state} → {event.next_state}   {how}   token {event.token_id} {text!r}"
        elif isinstance(event, RolledBack):
            del self._tokens[event.position :], self._states[event.position + 1 :]
            self._rollbacks += 1
            why = f"{event.word!r} is banned" if event.word is not None else "nothing else could follow"
            tokens = f"{event.ruled_out:,} token{'' if event.ruled_out == 1 else 's'}"
            self._rollback = (
                f"↶ {self._rollbacks}   took back {_shown(event.data)!r}: {why}   {tokens} ruled out at {event.place}"
            )
        elif isinstance(event, Finished):
            self._ended = True

    def __rich__(self) -> RenderableType:
        """The panel that shows the present moment."""
        from rich.panel import Panel
        from rich.text import Text

        body = Text()
        for text, forced in self._tokens[-400:]:
            body.append(text, style="cyan" if forced else "bold")
        body.append("▏\n", style="dim")
        body.append(f"{self._step}   {len(self._tokens)} tokens", style="green")
        if any(self._states):  # free text has one state only, 0
            body.append(f"\nstates {self._trail()}", style="dim")
        if self._rollback:
            body.append(f"\n{self._rollback}", style="red")
        return Panel(body, title=self._title(), title_align="left", border_style="dim")

    def _trail(self) -> str:
        states = ["…"] if len(self._states) > _STATES_SHOWN else []
        states += map(str, self._states[-_STATES_SHOWN:])
        return " → ".join([*states, "end"] if self._ended else states)

    def _title(self) -> Text:
        from rich.text import Text

        title = Text(self._subject)
        title.truncate(60, overflow="ellipsis")
        return title


class Slow:
    """A view that rests after each step, for people to follow it.

    Args:
        view: What is shown.
        refresh: Draws it now.
        seconds: How long each step stands.
    """

    def __init__(self, view: View, refresh: Callable[[], None], seconds: float) -> None:
        self._view, self._refresh, self._seconds = view, refresh, seconds

    def show(self, event: Event) -> None:
        """Take note of one event, draw it, and rest."""
        from sfgen import TextReleased

        self._view.show(event)
        if not isinstance(event, TextReleased):  # which changes nothing that is shown
            self._refresh()
            time.sleep(self._seconds)


@contextlib.contextmanager
def live_view(request: Request, vocabulary_size: int, *, wanted: bool) -> Iterator[View]:
    """The view for a run: shown if ``wanted``, else silent."""
    if not wanted:
        yield Silent()
        return
    from rich.console import Console
    from rich.live import Live

    view = LiveView(subject(request.constraint, request.banned), vocabulary_size)
    console: Console = Console(stderr=True)
    with Live(
        console=console, transient=True, refresh_per_second=_FRAMES_A_SECOND, get_renderable=view.__rich__
    ) as live:
        yield Slow(view, live.refresh, request.options.slow / 1000) if request.options.slow else view


def subject(constraint: Constraint, banned: BannedWords | None) -> str:
    """What constrains a run, in a few words."""
    parts = []
    if constraint.pattern is not None:
        parts.append(visible(constraint.pattern))
    elif constraint.choices is not None:
        parts.append(" | ".join(map(visible, constraint.choices)))
    elif constraint.index_file is not None:
        parts.append(str(constraint.index_file))
    if banned is not None:
        parts.append("without " + ", ".join(map(visible, [*banned.words, *banned.patterns])))
    return "   ".join(parts) or "free text"


def _shown(data: bytes) -> str:
    return visible(data.decode("utf-8", "backslashreplace"))
