"""The text that a page of a run shows, and the one that its events have, step by step."""

from __future__ import annotations

from tests.support.command.browser import Browser

from sfgen import RolledBack, TokenChosen
from sfgen.trace import Recording
from sfgen_cli.live.moment import is_step


def texts_at_steps(recording: Recording) -> list[bytes]:
    """The text before the first step, and after each."""
    tokens: list[bytes] = []
    found = [b""]
    for _, event in recording.events:
        if isinstance(event, TokenChosen):
            tokens.append(event.data)
        elif isinstance(event, RolledBack):
            del tokens[event.position :]
        if is_step(event):
            found.append(b"".join(tokens))
    return found + found[-1:] * (recording.failure is not None)


def text_of(browser: Browser) -> str:
    """The text that stands; what was taken back is shown beside it."""
    tokens = browser.evaluate("[...document.querySelectorAll('.token[data-step]')].map(token => token.textContent)")
    return "".join(tokens)


def step_of(browser: Browser) -> int:
    return int(browser.evaluate("document.getElementById('step').value"))


def check_looks(browser: Browser, element: str, *, dark: bool) -> None:
    """The element has light letters on a dark ground, or the other way round, and nothing moves."""
    colours = browser.evaluate(
        f"['backgroundColor', 'color'].map(name => getComputedStyle({element})[name].match(/\\d+/g).slice(0, 3)"
        ".reduce((sum, part) => sum + Number(part), 0) / 765)"
    )
    assert (colours[0] < 0.2 and colours[1] > 0.8) if dark else (colours[0] > 0.8 and colours[1] < 0.2)
    durations = "[...document.querySelectorAll('*')].map(one => getComputedStyle(one).transitionDuration)"
    assert set(browser.evaluate(durations)) == {"0s"}
