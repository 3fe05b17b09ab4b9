"""Draw the pictures of the README from real runs, with Rich's own SVG export.

Usage: ``make pictures``
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from sfgen import BannedWords, Dfa, Event, Index, RolledBack, TokenChosen, load_model, stream
from sfgen.automata.edges import walk
from sfgen.decoding import BlockClosed
from sfgen.trace.lines import Scene
from sfgen_cli.live.view import LiveView, svg
from sfgen_cli.report.path import PathPicture

FOLDER = Path(__file__).parent
FLOAT = r"([0-9]+)?\.[0-9]+"
RECORD = r'\{"name":"[A-Z][a-z]{2,9}","age":[1-9][0-9]\}'
SECONDS = 0.02  # that a token takes: the clock must not change the picture


def main() -> None:
    """Write ``gen.svg`` (in the middle of a record), ``ban.svg`` (just after a rollback) and ``path.svg``."""
    model = load_model("tiny")
    size = len(model.vocabulary)

    index = Index(Dfa.from_regex(RECORD), model.vocabulary)
    events = stream(model, "A person: ", index=index, observe=True)
    view = LiveView(Scene("A person: ", "tiny", size, pattern=RECORD))
    show_until(view, events, lambda event: isinstance(event, TokenChosen) and event.position == 7)
    draw("gen", svg(view, "sfgen gen --regex … 'A person: '", name="gen"))

    banned = BannedWords(["talk", "listen"])
    events = stream(model, "Can we talk?", banned=banned, observe=True)
    view = LiveView(Scene("Can we talk?", "tiny", size, words=banned.words))
    show_until(view, events, lambda event: isinstance(event, RolledBack) and event.word == "talk")
    show_until(view, events, lambda event: isinstance(event, BlockClosed))
    draw("ban", svg(view, "sfgen ban --words talk,listen 'Can we talk?'", name="ban"))

    dfa = Dfa.from_regex(FLOAT)
    path = PathPicture(dfa, walk(dfa, "23.37"))
    draw("path", svg(path.at(3), f"sfgen index --regex '{FLOAT}' --path 23.37 --live", name="path"))


def show_until(view: LiveView, events: Iterable[Event], is_last: Callable[[Event], bool]) -> None:
    """Show events until one of them is the last of the picture."""
    for event in events:
        view.show(event, (view.moment.events + 1) * SECONDS)
        if is_last(event):
            break


def draw(name: str, picture: str) -> None:
    """Keep a picture."""
    (FOLDER / f"{name}.svg").write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
